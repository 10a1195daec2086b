//! Measurements of a run as plain numbers: the only input of the claims and figures.

use serde::{Deserialize, Serialize};

/// Time between two samples of a curve, in seconds.
pub const STEP: f64 = 1.0;

/// The measurements of a run. Times are in seconds, sizes in bytes; curves have a sample every [`STEP`] from
/// 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Duration.
    pub duration: f64,
    /// Changes of the radio conditions: time, and the new state as `CS3`, or `handover, CS3`.
    pub changes: Vec<(f64, String)>,
    /// Time at which the mobile entered the other cell.
    pub handover_at: f64,
    /// User bytes delivered.
    pub total_bytes: u64,
    /// True if the association was up to the end and no ERROR chunk was sent.
    pub in_order: bool,
    /// Reports sent by the mobile.
    pub reports_sent: u64,
    /// Reports accepted by the sender.
    pub reports_taken: u64,
    /// Congestion window of the sender's primary path.
    pub cwnd: Vec<f64>,
    /// Slow-start threshold of the sender's primary path; 0: unlimited.
    pub ssthresh: Vec<f64>,
    /// Chunks sent for the first time: the highest TSN, counted from the first.
    pub tsn: Vec<f64>,
    /// Chunks cumulatively acknowledged.
    pub cum_tsn: Vec<f64>,
    /// RLC data blocks sent to the mobile for the first time: the block sequence number without the modulo.
    pub blocks: Vec<f64>,
    /// Times of T3-rtx expirations at the sender.
    pub timeouts: Vec<f64>,
    /// The window at the primary switch.
    pub switch: Switch,
    /// The longest time in which no new TSN was sent.
    pub tsn_stall: Stall,
    /// The longest time in which no new RLC data block was sent, to a [`STEP`].
    pub block_stall: Stall,
}

/// The windows around the handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// Time of the sender's primary switch.
    pub at: f64,
    /// The old path's window just before.
    pub old_cwnd: u64,
    /// The old path's threshold just before; `u64::MAX`: unlimited.
    pub old_ssthresh: u64,
    /// The new path's window just after.
    pub cwnd: u64,
    /// The new path's threshold just after.
    pub ssthresh: u64,
    /// The formula's window, min(BDP of the new cell, old window) and at least 1 PMDCS, computed here from
    /// reports and measurements; `None` without reports.
    pub formula: Option<u64>,
}

impl Switch {
    /// Returns true if the old path was in slow start: cwnd ≤ ssthresh (RFC 9260 §7.2.1).
    #[must_use]
    pub fn old_in_slow_start(&self) -> bool {
        self.old_cwnd <= self.old_ssthresh
    }

    /// Returns true if the new path was in slow start.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }
}

/// An interval without progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Start.
    pub from: f64,
    /// Length.
    pub length: f64,
}

impl Stall {
    /// Returns the longest interval between two of `instants`, which ascend, or from the last of them to
    /// `end`.
    #[must_use]
    pub fn longest(instants: &[f64], end: f64) -> Self {
        let mut longest = Self::default();
        let last = instants.last().map(|&last| (last, end));
        for (from, to) in instants.windows(2).map(|pair| (pair[0], pair[1])).chain(last) {
            if to - from > longest.length {
                longest = Self { from, length: to - from };
            }
        }
        longest
    }
}

impl Run {
    /// Returns the sample of `curve` at `at` seconds; `None` after its end.
    #[must_use]
    pub fn sample(curve: &[f64], at: f64) -> Option<f64> {
        curve.get((at / STEP).round() as usize).copied()
    }

    /// Returns true if T3-rtx expired in `from ≤ t < to`.
    #[must_use]
    pub fn timed_out(&self, from: f64, to: f64) -> bool {
        self.timeouts.iter().any(|at| (from..to).contains(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stall_may_be_the_last() {
        assert_eq!(Stall::longest(&[1.0, 2.0, 7.0, 8.0], 9.0), Stall { from: 2.0, length: 5.0 });
        assert_eq!(Stall::longest(&[1.0, 2.0], 9.0), Stall { from: 2.0, length: 7.0 });
        assert_eq!(Stall::longest(&[], 9.0), Stall::default());
    }

    #[test]
    fn time_ranges_are_half_open() {
        let run = Run { timeouts: vec![600.0, 640.0], ..Run::default() };
        assert!(run.timed_out(600.0, 630.0) && !run.timed_out(630.0, 640.0));
    }
}
