//! [`Configs`]: the core's options of every profile, made once and shared by the associations that use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use msctp_proto::Config;

use super::Scenario;

/// The core's options by the name of their profile.
#[derive(Debug)]
pub(crate) struct Configs {
    named: BTreeMap<String, Arc<Config>>,
    default: Arc<Config>,
}

impl Configs {
    /// Makes the options of all profiles of a scenario.
    pub(crate) fn of_profiles(scenario: &Scenario) -> Self {
        let names = scenario.sctp.iter().map(|profile| profile.name.clone());
        Self {
            named: names.map(|name| (name.clone(), Arc::new(scenario.config(Some(&name))))).collect(),
            default: Arc::new(scenario.config(None)),
        }
    }

    /// Returns the options of a profile, or the default ones without a profile.
    pub(crate) fn of(&self, profile: Option<&str>) -> Arc<Config> {
        Arc::clone(profile.and_then(|name| self.named.get(name)).unwrap_or(&self.default))
    }
}
