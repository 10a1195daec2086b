//! [`Schemes`]: handover policies, controllers and link models of the caller's, by name in a scenario.

use msctp_congestion::ControllerFactory;
use msctp_proto::handover::PolicyFactory;

use super::LinkFactory;

/// Handover policies, congestion controllers and link models that a scenario may name besides those of the
/// catalogue.
///
/// Such a scheme has no options: it ignores those of `[sctp.NAME.policy]`, and rejects `controller_options`.
/// A caller's link model has the keys of a plain link.
#[derive(Clone, Debug, Default)]
pub struct Schemes {
    policies: Vec<(String, PolicyFactory)>,
    controllers: Vec<(String, ControllerFactory)>,
    links: Vec<(String, LinkFactory)>,
}

impl Schemes {
    /// Returns no schemes.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a policy for `handover_policy = "NAME"`. The names of the catalogue take precedence.
    #[must_use]
    pub fn with_policy(mut self, name: &str, factory: PolicyFactory) -> Self {
        self.policies.push((name.to_owned(), factory));
        self
    }

    /// Adds a controller for `controller = "NAME"`. The names of the catalogue take precedence.
    #[must_use]
    pub fn with_controller(mut self, name: &str, factory: ControllerFactory) -> Self {
        self.controllers.push((name.to_owned(), factory));
        self
    }

    /// Adds a link model for a link's `type = "NAME"`. The names of the simulator take precedence.
    #[must_use]
    pub fn with_link(mut self, name: &str, factory: LinkFactory) -> Self {
        self.links.push((name.to_owned(), factory));
        self
    }

    /// Returns the policies with their names.
    pub(super) fn policies(&self) -> impl Iterator<Item = (&str, &PolicyFactory)> {
        self.policies.iter().map(|(name, factory)| (name.as_str(), factory))
    }

    /// Returns the controllers with their names.
    pub(super) fn controllers(&self) -> impl Iterator<Item = (&str, &ControllerFactory)> {
        self.controllers.iter().map(|(name, factory)| (name.as_str(), factory))
    }

    /// Returns the link models with their names.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &LinkFactory)> {
        self.links.iter().map(|(name, factory)| (name.as_str(), factory))
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::{Reno, RenoConfig};
    use msctp_proto::handover::{Action, HandoverPolicy, PathView, View};

    use super::*;
    use crate::scenario::Scenario;

    #[derive(Debug)]
    struct Own;

    impl HandoverPolicy for Own {
        fn name(&self) -> &'static str {
            "own"
        }

        fn on_primary_switch(
            &mut self,
            _old: &PathView,
            _new: &PathView,
            _view: &View<'_>,
            _actions: &mut Vec<Action>,
        ) -> Option<msctp_congestion::StartState> {
            None
        }
    }

    fn read(overrides: &[&str]) -> Result<Scenario, String> {
        let schemes = Schemes::none()
            .with_policy("mine:own", PolicyFactory::new(|| Box::new(Own)))
            .with_controller("mine:aimd", ControllerFactory::new(|path| Box::new(Reno::new(path))));
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        let text = include_str!("../../../../scenarios/handover.toml");
        let open = |_: &str| Err("no files".to_owned());
        Scenario::with_schemes(text, "handover.toml", &overrides, &open, &schemes)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_names_own_schemes_beside_those_of_the_catalogue() {
        let both = ["sctp.default.handover_policy=mine:own", "sctp.default.controller=mine:aimd"];
        let config = read(&both).unwrap().sctp.remove(0).config;
        assert_eq!(config.handover_policy.make().name(), "own");
        assert_ne!(config.controller, RenoConfig::default().into(), "the function, not the entry");
        let config = read(&["sctp.default.handover_policy=inherit"]).unwrap().sctp.remove(0).config;
        assert_eq!(config.handover_policy.make().name(), "inherit");
    }

    #[test]
    fn a_mistyped_own_name_is_corrected_and_options_are_rejected() {
        let error = read(&["sctp.default.handover_policy=mine:oun"]).unwrap_err();
        assert!(error.contains("did you mean \"mine:own\""), "{error}");
        let error = read(&["sctp.default.controller=mine:aimt"]).unwrap_err();
        assert!(error.contains("did you mean \"mine:aimd\""), "{error}");
        let options = ["sctp.default.controller=mine:aimd", "sctp.default.controller_options.beta=0.5"];
        let error = read(&options).unwrap_err();
        assert!(error.contains("controller_options") && error.contains("beta"), "{error}");
    }
}
