//! [`ParetoFades`]: bad periods in time with Pareto-distributed lengths; the weaker the signal, the more of
//! them.
//!
//! The periods are a function of seed and distance alone: traffic does not move them, so that two transports
//! that are compared meet the same channel.

use std::collections::VecDeque;

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::radio::{MilliDb, outage};

/// Bad periods, in which every frame that is on the air is lost.
///
/// A period's length is Pareto-distributed: longer than x with probability (shortest / x)^shape, cut at
/// `longest`. Good periods are exponential, with the mean that makes the channel bad for the share of time
/// that `1 − exp(−10^(−margin / slope))` gives for the receive power's margin at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParetoFades {
    /// Additional margin, in mdB, at which the share of bad time falls to a tenth.
    pub slope: MilliDb,
    /// Minimum length of a bad period, more than zero.
    pub shortest: Span,
    /// Maximum length of a bad period, at least `shortest`. Longer ones are cut.
    pub longest: Span,
    /// Pareto's shape, more than 0 and not 1.
    pub shape: f64,
}

impl ParetoFades {
    /// Returns the mean length of a bad period in seconds: `s + s·(1 − (s/l)^(a−1))/(a−1)`.
    pub fn mean_secs(&self) -> f64 {
        let (s, l, a) = (self.shortest.as_secs_f64(), self.longest.as_secs_f64(), self.shape);
        s + s * (1.0 - libm::pow(s / l, a - 1.0)) / (a - 1.0)
    }
}

/// Time for which the margin counts as constant while the channel is good.
const STEP: Span = Span::from_millis(50);

/// The process.
#[derive(Clone, Debug)]
pub(super) struct Fades {
    config: ParetoFades,
    mean_secs: f64,
    rng: ChaCha8Rng,
    /// Bad periods that may still affect frames, in order.
    bad: VecDeque<(Time, Time)>,
    /// Time up to which the periods are drawn.
    decided: Time,
}

impl Fades {
    pub(super) fn new(config: ParetoFades, seed: [u8; 32]) -> Self {
        Self {
            config,
            mean_secs: config.mean_secs(),
            rng: ChaCha8Rng::from_seed(seed),
            bad: VecDeque::new(),
            decided: Time::ZERO,
        }
    }

    /// Returns whether a bad period overlaps [`from`, `to`]. `from` never goes back, and `margin` returns the
    /// margin at a time.
    pub(super) fn touch(&mut self, from: Time, to: Time, margin: impl Fn(Time) -> MilliDb) -> bool {
        while self.decided <= to {
            self.decide(&margin);
        }
        while self.bad.front().is_some_and(|&(_, end)| end <= from) {
            self.bad.pop_front();
        }
        self.bad.front().is_some_and(|&(start, _)| start <= to)
    }

    /// Draws one more step or bad period.
    fn decide(&mut self, margin: impl Fn(Time) -> MilliDb) {
        let share = outage(margin(self.decided), self.config.slope);
        // Bad for `mean` on average, good for `mean · (1 − share) / share`: memoryless, so that a new step
        // draws anew.
        let good_secs = self.mean_secs * (1.0 - share) / share;
        let until_bad = Span::from_secs_f64(-libm::log(self.uniform()) * good_secs).unwrap_or(Span::MAX);
        if until_bad >= STEP {
            self.decided += STEP;
            return;
        }
        let pareto = self.config.shortest.as_secs_f64() * libm::pow(self.uniform(), -1.0 / self.config.shape);
        let length = Span::from_secs_f64(pareto).unwrap_or(Span::MAX).min(self.config.longest);
        let start = self.decided + until_bad;
        self.decided = start + length.max(Span::from_nanos(1));
        self.bad.push_back((start, self.decided));
    }

    /// Draws uniformly above 0 and below 1.
    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ParetoFades {
        ParetoFades {
            slope: 10_000,
            shortest: Span::from_millis(20),
            longest: Span::from_secs(2),
            shape: 1.5,
        }
    }

    /// Returns all bad periods of `secs` seconds.
    fn periods(seed: u8, secs: u64, margin: MilliDb) -> Vec<(Time, Time)> {
        let mut fades = Fades::new(config(), [seed; 32]);
        fades.touch(Time::ZERO, Time::ZERO + Span::from_secs(secs), |_| margin);
        fades.bad.into_iter().collect()
    }

    #[test]
    fn lengths_are_paretos_and_the_share_of_bad_time_is_the_outage() {
        // 10 dB: 9.52 % of the time.
        let all = periods(1, 400_000, 10_000);
        let lengths: Vec<f64> = all.iter().map(|(from, to)| to.since(*from).as_secs_f64()).collect();
        let n = lengths.len() as f64;
        assert!(n > 100_000.0, "{n}");
        for (x, want) in [(0.04, 0.353_553), (0.08, 0.125), (0.32, 0.015_625)] {
            let share = lengths.iter().filter(|&&length| length > x).count() as f64 / n;
            // Within four standard errors.
            assert!((share - want).abs() < 4.0 * (want * (1.0 - want) / n).sqrt(), "{x}: {share}");
        }
        let total: f64 = lengths.iter().sum();
        let want_mean = 0.02 + 0.02 * (1.0 - 0.1) / 0.5;
        assert!((config().mean_secs() - want_mean).abs() < 1e-12);
        assert!((total / n / want_mean - 1.0).abs() < 0.02, "mean {}", total / n);
        assert!((total / 400_000.0 / 0.095_162_6 - 1.0).abs() < 0.02, "share {}", total / 400_000.0);
        assert!(lengths.iter().all(|&l| (0.02..=2.0).contains(&l)));
    }

    #[test]
    fn the_fading_periods_do_not_depend_on_the_queries() {
        let mut often = Fades::new(config(), [3; 32]);
        let mut seldom = often.clone();
        let margin = |at: Time| 20_000 - (at.as_nanos() / 5_000_000) as MilliDb;
        for ms in 0..60_000u64 {
            let (from, to) = (Time::from_nanos(ms * 1_000_000), Time::from_nanos(ms * 1_000_000 + 300_000));
            let there = often.touch(from, to, margin);
            if ms % 977 == 0 {
                assert_eq!(there, seldom.touch(from, to, margin), "{ms} ms");
            }
        }
    }

    #[test]
    fn a_period_touches_what_overlaps_it() {
        let all = periods(5, 100, 5_000);
        let (start, end) = all[3];
        let near = |from: Time, to: Time| Fades::new(config(), [5; 32]).touch(from, to, |_| 5_000);
        let ns = Span::from_nanos(1);
        assert!(near(start, start) && near(end - ns, end - ns));
        assert!(near(start - ns, end) && near(start - ns, start + ns));
        assert!(!near(end, end) || all[4].0 == end);
        assert!(!near(start - ns, start - ns) || all[2].1 >= start);
    }
}
