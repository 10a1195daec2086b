//! Measurements of a handover run as plain numbers: the only input of the claims and figures.

use serde::{Deserialize, Serialize};

/// Time between two samples of a curve, in seconds.
pub const STEP: f64 = 0.1;

/// The measurements of a handover run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// User bytes delivered in the whole run.
    pub total_bytes: u64,
    /// User bytes delivered from the switch on (from [`SWITCH`](super::grid::SWITCH) to the end).
    pub after_bytes: u64,
    /// Time of the sender's switch of the primary path, in seconds.
    pub switch_at: f64,
    /// Congestion window that the scheme gave the new path at the switch, in bytes.
    pub start_cwnd: u64,
    /// Slow-start threshold that the scheme gave the new path, in bytes.
    pub start_ssthresh: u64,
    /// The last estimate before the switch.
    pub estimate: Option<LastEstimate>,
    /// Congestion window of the primary path in bytes, every [`STEP`] from 0.
    pub cwnd: Vec<f64>,
    /// User bytes delivered in each [`STEP`].
    pub delivered: Vec<f64>,
    /// Times of T3-rtx expirations on the new path after the switch, in seconds.
    pub timeouts: Vec<f64>,
    /// Times of fast retransmits on the new path after the switch, in seconds.
    pub fast_retransmits: Vec<f64>,
    /// The first fall of the new path's window after the switch.
    pub first_fall: Option<Fall>,
    /// DATA chunks retransmitted in the whole run.
    pub retransmitted: u64,
    /// Packets the target link's queue dropped in the whole run, background included.
    pub queue_drops: u64,
}

/// The estimator's result at the switch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastEstimate {
    /// C in bit/s.
    pub capacity: f64,
    /// B in bit/s.
    pub available: f64,
    /// RTT_min in seconds.
    pub min_rtt: f64,
}

/// A fall of the window to less than three quarters of its highest value since the switch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fall {
    /// Time in seconds.
    pub at: f64,
    /// True if T3-rtx expired at that time; otherwise the cause was a fast retransmit.
    pub by_timeout: bool,
}

impl Handover {
    /// Computes the mean of the window over `from ≤ t < to` seconds, in bytes; `None` without samples.
    #[must_use]
    pub fn mean_cwnd(&self, from: f64, to: f64) -> Option<f64> {
        let samples = samples(&self.cwnd, from, to);
        (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
    }

    /// Returns the least window over `from ≤ t < to` seconds, in bytes; `None` without samples.
    #[must_use]
    pub fn least_cwnd(&self, from: f64, to: f64) -> Option<f64> {
        samples(&self.cwnd, from, to).iter().copied().reduce(f64::min)
    }
}

/// Returns the samples of a curve with `from ≤ t < to` seconds.
pub(super) fn samples(curve: &[f64], from: f64, to: f64) -> &[f64] {
    let index = |t: f64| ((t / STEP).round().max(0.0) as usize).min(curve.len());
    &curve[index(from)..index(to).max(index(from))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_selected_by_time() {
        let run = Handover { cwnd: (0..600).map(f64::from).collect(), ..Handover::default() };
        assert_eq!(run.mean_cwnd(30.0, 30.2), Some(300.5));
        assert_eq!(run.least_cwnd(30.0, 35.0), Some(300.0));
        assert_eq!(run.mean_cwnd(60.0, 65.0), None);
        assert_eq!(run.mean_cwnd(35.0, 30.0), None);
    }
}
