//! [`None`]: no loss differentiation.

use super::{Cause, Evidence, LossClassifier};

/// Every loss is congestion, as RFC 5681 and RFC 9260 have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct None;

impl None {
    /// The name in the registry.
    pub const NAME: &str = "none";
}

impl LossClassifier for None {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn classify(&mut self, _evidence: &Evidence) -> Cause {
        Cause::Congestion
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_congestion() {
        for truth in [Option::None, Some(Cause::Wireless), Some(Cause::Congestion)] {
            assert_eq!(None.classify(&Evidence { round_trips: Option::None, truth }), Cause::Congestion);
        }
    }
}
