//! The accuracy of the estimator (the paper's §4.1, Fig. 5): the true available bandwidth, and the estimates.

use std::fmt;

use msctp_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use super::grid::Movement;

/// Duration of an estimation run.
pub const DURATION: Span = Span::from_secs(150);

/// Intervals without a change of the background (the paper, §4.1): from, to (seconds), number of active
/// sources.
pub const PHASES: [Phase; 6] = [
    Phase { from: 0.0, to: 25.0, sources: 0 },
    Phase { from: 25.0, to: 50.0, sources: 1 },
    Phase { from: 50.0, to: 75.0, sources: 2 },
    Phase { from: 75.0, to: 100.0, sources: 3 },
    Phase { from: 100.0, to: 125.0, sources: 1 },
    Phase { from: 125.0, to: 150.0, sources: 0 },
];

/// An interval in which the background does not change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Start in seconds.
    pub from: f64,
    /// End in seconds.
    pub to: f64,
    /// Number of active sources.
    pub sources: u32,
}

/// One estimation run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct EstimationKey {
    /// The mobile's movement: the target's link is measured.
    pub movement: Movement,
    /// Seed of every random stream.
    pub seed: u64,
}

impl fmt::Display for EstimationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "estimation, {}, seed {}", self.movement.words(), self.seed)
    }
}

/// An estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Time in seconds.
    pub at: f64,
    /// C in bit/s.
    pub capacity: f64,
    /// B in bit/s, smoothed.
    pub available: f64,
    /// Share of the train that was lost, 0 to 1.
    pub loss: f64,
}

/// The estimates of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimation {
    /// Estimates, by time.
    pub points: Vec<Point>,
}

/// Returns the rate of one source (the paper, §4.1).
#[must_use]
pub fn source_rate(movement: Movement) -> Rate {
    match movement {
        Movement::ToWlan => Rate::from_mbps(2),
        Movement::To3g => Rate::from_kbps(100),
    }
}

/// Returns the true available bandwidth in `phase`: the link's rate less that of the sources, in bit/s.
#[must_use]
pub fn truth(movement: Movement, phase: &Phase) -> f64 {
    let taken = source_rate(movement).as_bps() * u64::from(phase.sources);
    (movement.target_rate().as_bps() - taken) as f64
}

impl Estimation {
    /// Computes the mean of the estimates made in `phase` except its first `settle` seconds, in bit/s; `None`
    /// without estimates.
    #[must_use]
    pub fn mean_in(&self, phase: &Phase, settle: f64) -> Option<f64> {
        let from = phase.from + settle;
        let inside: Vec<f64> = self
            .points
            .iter()
            .filter(|point| point.at >= from && point.at < phase.to)
            .map(|point| point.available)
            .collect();
        (!inside.is_empty()).then(|| inside.iter().sum::<f64>() / inside.len() as f64)
    }

    /// Returns the latest estimate at `t` seconds, in bit/s; `None` before the first.
    #[must_use]
    pub fn standing_at(&self, t: f64) -> Option<f64> {
        self.points.iter().take_while(|point| point.at <= t).last().map(|point| point.available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_is_the_rate_less_that_of_the_sources() {
        assert_eq!(truth(Movement::ToWlan, &PHASES[3]), 5e6);
        assert_eq!(truth(Movement::To3g, &PHASES[3]), 84e3);
        assert_eq!(truth(Movement::To3g, &PHASES[5]), 384e3);
        assert!(PHASES.windows(2).all(|pair| pair[0].to == pair[1].from), "no gap between phases");
    }

    #[test]
    fn estimates_are_averaged_by_phase_after_settling() {
        let point = |at, available| Point { at, capacity: 11e6, available, loss: 0.0 };
        let run = Estimation {
            points: vec![point(26.0, 1.0), point(31.0, 8e6), point(40.0, 9e6), point(50.0, 2.0)],
        };
        assert_eq!(run.mean_in(&PHASES[1], 5.0), Some(8.5e6));
        assert_eq!(run.mean_in(&PHASES[0], 5.0), None);
        assert_eq!(run.standing_at(45.0), Some(9e6));
        assert_eq!(run.standing_at(25.0), None);
    }
}
