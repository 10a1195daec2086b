//! [`Oracle`]: returns the simulator's truth, the upper bound for any classifier.

use super::{Cause, Evidence, LossClassifier};

/// Returns [`Evidence::truth`], or congestion without it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oracle;

impl Oracle {
    /// The name in the registry.
    pub const NAME: &str = "oracle";
}

impl LossClassifier for Oracle {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn classify(&mut self, evidence: &Evidence) -> Cause {
        evidence.truth.unwrap_or(Cause::Congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_truth_or_congestion() {
        let asked = |truth| Oracle.classify(&Evidence { round_trips: None, truth });
        assert_eq!(asked(Some(Cause::Wireless)), Cause::Wireless);
        assert_eq!(asked(Some(Cause::Congestion)), Cause::Congestion);
        assert_eq!(asked(None), Cause::Congestion);
    }
}
