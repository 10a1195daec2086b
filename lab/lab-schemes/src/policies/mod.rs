//! Handover policies from the literature, by name. A new policy is one file and one line of `POLICIES`.

mod adaptive;
mod clairvoyant;
mod config;
mod conservative;
mod inherit;
mod large_window;
mod oracle;
mod preparation;
mod qos_measurement;
mod start_rule;
#[cfg(test)]
pub(crate) mod testing;

pub use adaptive::Adaptive;
pub use clairvoyant::Clairvoyant;
pub use config::{PolicyConfig, ProbeRule, SwitchSsthresh, Truth};
pub use conservative::Conservative;
pub use inherit::Inherit;
pub use large_window::LargeInitialWindow;
pub use oracle::Oracle;
pub use qos_measurement::{BdpDelay, QosMeasurement, note};
pub use start_rule::{ByRule, StartRule};

use msctp_proto::handover::{HandoverPolicy, PolicyFactory};
use msctp_schemes::Anticipate;

use crate::catalogue::{Entry, UnknownName};
use crate::wbest::InvalidWBest;

/// A policy with a name. Its options are those of [`PolicyConfig`], which all of them share.
pub type PolicyInfo = Entry<fn(&PolicyConfig) -> Box<dyn HandoverPolicy>>;

#[rustfmt::skip]
const POLICIES: &[PolicyInfo] = &[
    PolicyInfo { name: Conservative::NAME, summary: "the new path's own or initial window (plain mSCTP)", options: &[], make: |c| Box::new(Conservative::new(c)) },
    PolicyInfo { name: Inherit::NAME, summary: "the old path's window (C-SCTP)", options: &[], make: |c| Box::new(Inherit::new(c)) },
    PolicyInfo { name: LargeInitialWindow::NAME, summary: "a larger initial window (Eklund et al. 2012)", options: &[], make: |c| Box::new(LargeInitialWindow::new(c)) },
    PolicyInfo { name: Adaptive::NAME, summary: "the window the estimated bandwidth allows (Kim & Koh 2009)", options: &[], make: |c| Box::new(Adaptive::new(c)) },
    PolicyInfo { name: Anticipate::NAME, summary: "measures every path, moves to a better one and starts at its measured rate", options: &[], make: |c| Box::new(anticipate(c)) },
    PolicyInfo { name: QosMeasurement::NAME, summary: "the window follows the radio link the peer reports (Afif et al.)", options: &[], make: |c| Box::new(QosMeasurement::new(c)) },
    PolicyInfo { name: Oracle::NAME, summary: "the window that is truly free, as told: a yardstick, not a protocol", options: &[], make: |c| Box::new(Oracle::new(c)) },
    PolicyInfo { name: Clairvoyant::NAME, summary: "the rate that is truly free, as told, a yardstick, with controller held", options: &[], make: |c| Box::new(Clairvoyant::new(c)) },
];

fn anticipate(config: &PolicyConfig) -> Anticipate {
    let mut policy = Anticipate::default().with_probe_budget(config.probe_budget);
    policy.leaves_dead_links = config.switch_on_link_down;
    policy
}

/// Returns all policies, in a fixed order, the default first.
pub fn policies() -> &'static [PolicyInfo] {
    POLICIES
}

/// Returns whether this policy is a yardstick of the laboratory: without [`PolicyConfig::truths`] it starts
/// every path as `conservative` does.
#[must_use]
pub fn needs_truth(name: &str) -> bool {
    [Oracle::NAME, Clairvoyant::NAME].contains(&name)
}

/// Returns a factory of the policy called `name`.
///
/// # Errors
/// [`PolicyError::Unknown`] if there is none of that name, with the nearest; [`PolicyError::Probing`] if the
/// estimator's parameters are out of range.
pub fn policy(name: &str, config: &PolicyConfig) -> Result<PolicyFactory, PolicyError> {
    let make = Entry::find(POLICIES, "handover policy", name)?.make;
    config.validate()?;
    let config = config.clone();
    Ok(PolicyFactory::new(move || make(&config)))
}

/// Why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// There is no policy of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The estimator's parameters are out of range.
    #[error(transparent)]
    Probing(#[from] InvalidWBest),
}

impl PolicyError {
    /// Describes the allowed values.
    pub fn want(&self) -> String {
        match self {
            Self::Unknown(error) => error.want(),
            Self::Probing(error) => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wbest::WBestConfig;

    #[test]
    fn every_registered_policy_can_be_made_under_its_own_name() {
        for info in policies() {
            let factory = policy(info.name, &PolicyConfig::default()).unwrap();
            assert_eq!(factory.make().name(), info.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one_or_the_list() {
        let error = policy("adaptiv", &PolicyConfig::default()).unwrap_err();
        assert_eq!(error.to_string(), "no handover policy is called \"adaptiv\"; did you mean \"adaptive\"?");
        let error = policy("foo", &PolicyConfig::default()).unwrap_err();
        let names: Vec<&str> = policies().iter().map(|info| info.name).collect();
        assert_eq!(
            error.to_string(),
            format!("no handover policy is called \"foo\"; want one of {}", names.join(", "))
        );
    }

    #[test]
    fn bad_probing_parameters_are_refused() {
        let wbest = WBestConfig { train: 0, ..WBestConfig::default() };
        let error = policy("adaptive", &PolicyConfig { wbest, ..PolicyConfig::default() }).unwrap_err();
        assert!(error.to_string().contains("train is 0, want 2 to 1000"), "{error}");
    }
}
