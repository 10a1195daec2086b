//! Handover policies by name. A new policy is one file and one line here.

use core::fmt;

use msctp_congestion::estimator::InvalidWBest;
use msctp_congestion::{Choice, Registered, UnknownName};

use super::{
    Adaptive, Conservative, HandoverPolicy, Inherit, LargeInitialWindow, Oracle, PolicyConfig, QosMeasurement,
};

/// A policy that [`create`] can make. Its options are those of [`PolicyConfig`], which all of them share.
pub type PolicyInfo = Registered<fn(&PolicyConfig) -> Box<dyn HandoverPolicy>>;

/// What makes each association's policy: one of [`policies`] by name, or one's own ([`Choice::own`]).
pub type PolicyChoice = Choice<PolicyConfig, dyn HandoverPolicy>;

/// The registry.
#[rustfmt::skip]
const POLICIES: &[PolicyInfo] = &[
    PolicyInfo { name: Conservative::NAME, summary: "the new path's own or initial window (plain mSCTP)", options: &[], make: |c| Box::new(Conservative::new(c)) },
    PolicyInfo { name: Inherit::NAME, summary: "the old path's window (C-SCTP)", options: &[], make: |c| Box::new(Inherit::new(c)) },
    PolicyInfo { name: LargeInitialWindow::NAME, summary: "a larger initial window (Eklund et al. 2012)", options: &[], make: |c| Box::new(LargeInitialWindow::new(c)) },
    PolicyInfo { name: Adaptive::NAME, summary: "the window the estimated bandwidth allows (Kim & Koh 2009)", options: &[], make: |c| Box::new(Adaptive::new(c)) },
    PolicyInfo { name: QosMeasurement::NAME, summary: "the window follows the radio link the peer reports (Afif et al.)", options: &[], make: |c| Box::new(QosMeasurement::new(c)) },
    PolicyInfo { name: Oracle::NAME, summary: "the window that is truly free, as told: a yardstick, not a protocol", options: &[], make: |c| Box::new(Oracle::new(c)) },
];

/// All policies, in a fixed order, the default first.
pub fn policies() -> &'static [PolicyInfo] {
    POLICIES
}

/// Makes the chosen policy for one association.
///
/// # Errors
/// [`PolicyError::Unknown`] if there is none of that name, with the nearest that there is; [`PolicyError::Probing`] if
/// the estimator's parameters are out of range.
pub fn create(choice: &PolicyChoice, config: &PolicyConfig) -> Result<Box<dyn HandoverPolicy>, PolicyError> {
    let maker = choice.maker(POLICIES, "handover policy").map_err(PolicyError::Unknown)?;
    config.validate()?;
    Ok(maker.make(config))
}

/// Why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// There is no policy of this name.
    Unknown(UnknownName),
    /// The estimator's parameters are out of range.
    Probing(InvalidWBest),
}

impl PolicyError {
    /// What would be right, in words.
    pub fn want(&self) -> String {
        match self {
            Self::Unknown(error) => error.want(),
            Self::Probing(error) => error.to_string(),
        }
    }
}

impl From<InvalidWBest> for PolicyError {
    fn from(error: InvalidWBest) -> Self {
        Self::Probing(error)
    }
}

impl core::error::Error for PolicyError {}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Probing(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::estimator::WBestConfig;

    use super::*;

    #[test]
    fn every_registered_policy_can_be_made_under_its_own_name() {
        for info in policies() {
            assert_eq!(create(&info.name.into(), &PolicyConfig::default()).unwrap().name(), info.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one_and_the_list() {
        let error = create(&"adaptiv".into(), &PolicyConfig::default()).unwrap_err();
        let names: Vec<&str> = policies().iter().map(|info| info.name).collect();
        assert_eq!(
            error.to_string(),
            format!(
                "no handover policy is called \"adaptiv\"; the nearest is \"adaptive\" (there are: {})",
                names.join(" ")
            )
        );
    }

    #[test]
    fn bad_probing_parameters_are_refused() {
        let wbest = WBestConfig { train: 0, ..WBestConfig::default() };
        let error =
            create(&"adaptive".into(), &PolicyConfig { wbest, ..PolicyConfig::default() }).unwrap_err();
        assert!(error.to_string().contains("train is 0, want 2 to 1000"), "{error}");
    }
}
