//! What is measured in a run, as plain numbers: the only input of the claims and figures.

use serde::{Deserialize, Serialize};

/// Time between two samples of a curve, in seconds.
pub const STEP: f64 = 1.0;

/// One run, measured. Times in seconds, sizes in bytes; curves have a sample every [`STEP`] from 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// How long it was.
    pub duration: f64,
    /// When the radio conditions changed, and to what: `CS3`, or `handover, CS3`.
    pub changes: Vec<(f64, String)>,
    /// When the mobile came into the other cell.
    pub handover_at: f64,
    /// User bytes delivered.
    pub total_bytes: u64,
    /// The association was up to the end, and no ERROR chunk came.
    pub in_order: bool,
    /// Reports the mobile sent.
    pub reports_sent: u64,
    /// Reports the sender took.
    pub reports_taken: u64,
    /// The sender's primary path: congestion window.
    pub cwnd: Vec<f64>,
    /// Its slow-start threshold; 0 stands for "as high as it can be".
    pub ssthresh: Vec<f64>,
    /// Chunks sent for the first time: the highest TSN, counted from the first.
    pub tsn: Vec<f64>,
    /// Chunks cumulatively acknowledged.
    pub cum_tsn: Vec<f64>,
    /// The block sequence number, not modulo anything: RLC data blocks sent to the mobile for the first time.
    pub blocks: Vec<f64>,
    /// When T3-rtx expired at the sender.
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
    /// When the sender's primary path changed.
    pub at: f64,
    /// The old path's window just before.
    pub old_cwnd: u64,
    /// The old path's threshold just before; `u64::MAX`: as high as it can be.
    pub old_ssthresh: u64,
    /// The new path's window just after.
    pub cwnd: u64,
    /// The new path's threshold just after.
    pub ssthresh: u64,
    /// The formula's window, min(BDP of the new cell, old window) and at least 1 PMDCS, computed here from
    /// what was reported and measured; `None` when nothing was reported.
    pub formula: Option<u64>,
}

impl Switch {
    /// RFC 9260 §7.2.1: slow start while cwnd ≤ ssthresh.
    #[must_use]
    pub fn old_in_slow_start(&self) -> bool {
        self.old_cwnd <= self.old_ssthresh
    }

    /// The same of the new path.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }
}

/// A time in which nothing went on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Its beginning.
    pub from: f64,
    /// Its length.
    pub length: f64,
}

impl Stall {
    /// The longest interval between two of `instants`, which ascend, and from the last of them to `end`.
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
    /// The sample of `curve` at `at` seconds; `None` after its end.
    #[must_use]
    pub fn sample(curve: &[f64], at: f64) -> Option<f64> {
        curve.get((at / STEP).round() as usize).copied()
    }

    /// Whether T3-rtx expired in `from ≤ t < to`.
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
    fn times_are_half_open() {
        let run = Run { timeouts: vec![600.0, 640.0], ..Run::default() };
        assert!(run.timed_out(600.0, 630.0) && !run.timed_out(630.0, 640.0));
    }
}
