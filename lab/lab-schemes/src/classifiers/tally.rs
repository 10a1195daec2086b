//! [`Tally`]: counts a classifier's verdicts against the simulator's truth.

use msctp_congestion::classifier::Cause;

/// Verdicts on losses by their truth, which only a simulator knows. For measurement, not for a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Losses by a radio link classified as wireless.
    pub wireless_as_wireless: u64,
    /// Losses by a radio link classified as congestion: the window was reduced without need.
    pub wireless_as_congestion: u64,
    /// Losses by a queue classified as wireless: the window was wrongly kept.
    pub congestion_as_wireless: u64,
    /// Losses by a queue classified as congestion.
    pub congestion_as_congestion: u64,
    /// Losses classified as wireless whose cause is unknown, or whose packet was not lost.
    pub unknown_as_wireless: u64,
    /// Losses classified as congestion whose cause is unknown, or whose packet was not lost.
    pub unknown_as_congestion: u64,
}

impl Tally {
    /// Counts a verdict.
    pub fn count(&mut self, truth: Option<Cause>, verdict: Cause) {
        use Cause::{Congestion, Wireless};
        let counter = match (truth, verdict) {
            (Some(Wireless), Wireless) => &mut self.wireless_as_wireless,
            (Some(Wireless), Congestion) => &mut self.wireless_as_congestion,
            (Some(Congestion), Wireless) => &mut self.congestion_as_wireless,
            (Some(Congestion), Congestion) => &mut self.congestion_as_congestion,
            (None, Wireless) => &mut self.unknown_as_wireless,
            (None, Congestion) => &mut self.unknown_as_congestion,
        };
        *counter += 1;
    }

    /// Returns all verdicts.
    pub fn total(&self) -> u64 {
        self.wireless_as_wireless
            + self.wireless_as_congestion
            + self.congestion_as_wireless
            + self.congestion_as_congestion
            + self.unknown_as_wireless
            + self.unknown_as_congestion
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_its_own_counter() {
        let mut tally = Tally::default();
        let truths = [None, Some(Cause::Wireless), Some(Cause::Congestion)];
        for (times, truth) in truths.into_iter().enumerate() {
            for _ in 0..=times {
                tally.count(truth, Cause::Wireless);
            }
            tally.count(truth, Cause::Congestion);
        }
        assert_eq!((tally.unknown_as_wireless, tally.unknown_as_congestion), (1, 1));
        assert_eq!((tally.wireless_as_wireless, tally.wireless_as_congestion), (2, 1));
        assert_eq!((tally.congestion_as_wireless, tally.congestion_as_congestion), (3, 1));
        assert_eq!(tally.total(), 9);
    }
}
