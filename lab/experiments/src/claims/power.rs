//! The power of a test: with how many of such samples of seeds it would find the smallest relevant effect.
//!
//! The spread is that of the runs, the effect is not: a power of the measured effect would only repeat the
//! p-value (Hoenig and Heisey, The American Statistician 55(1), 2001). The mean of `n` differences is normal
//! around the true effect δ with the standard error σ, which the runs estimate by s = uσ, where νu² is
//! chi-squared with ν = n − 1 degrees of freedom. So the probability that the whole interval lies above −m is
//! `E[Φ((δ + m)/σ − t·u)]`, Student's noncentral distribution (Cohen, Statistical Power Analysis, 1988, §2).
//! That it lies above zero and the mean is at least l is `E[Φ(δ/σ − max(t·u, l/σ))]`, and the probability of
//! an interval inside ±m with δ = 0 is `E[max(0, 2Φ(m/σ − t·u) − 1)]` (TOST: Schuirmann 1987).

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use crate::stats::{Mean, t_975};

/// The smallest relevant effect, and the power of a test for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// The smallest relevant effect, in the unit of the effect. For a test of equivalence, its margin.
    pub relevant: f64,
    /// Probability, from 0 to 1, that as many seeds with this spread show the effect.
    pub power: f64,
}

impl Power {
    /// Computes the probability that the whole interval lies above −`margin` if the effect is `relevant`.
    /// Returns `None` if `relevant` is not above −`margin`, so that the test has nothing to detect.
    #[must_use]
    pub fn above(effect: &Mean, relevant: f64, margin: f64) -> Option<Self> {
        let room = relevant + margin;
        let relevant = if relevant > 0.0 { relevant } else { margin };
        let power = over_spreads(effect, room, 0.0, |at| Normal::standard().cdf(at))?;
        Some(Self { relevant, power })
    }

    /// Computes the probability that the whole interval lies above zero and the mean is at least `least`, if
    /// the effect is `relevant`. Returns `None` for a `relevant` of zero.
    ///
    /// With an effect of just `least` the mean is below it in half of all samples.
    #[must_use]
    pub fn at_least(effect: &Mean, relevant: f64, least: f64) -> Option<Self> {
        let power = over_spreads(effect, relevant, least, |at| Normal::standard().cdf(at))?;
        Some(Self { relevant, power })
    }

    /// Computes the probability that the interval lies inside ±`margin` if there is no effect. Returns `None`
    /// for a margin of zero.
    #[must_use]
    pub fn inside(effect: &Mean, margin: f64) -> Option<Self> {
        let both = |at: f64| (2.0 * Normal::standard().cdf(at) - 1.0).max(0.0);
        let power = over_spreads(effect, margin, 0.0, both)?;
        Some(Self { relevant: margin, power })
    }
}

/// Returns the expectation of `probability(room/σ − max(t·u, least/σ))` over the estimates u of the spread,
/// by Simpson's rule. Returns `None` without room, or without a spread.
fn over_spreads(effect: &Mean, room: f64, least: f64, probability: impl Fn(f64) -> f64) -> Option<f64> {
    if room <= 0.0 || effect.n < 2 || !effect.half_width.is_finite() {
        return None;
    }
    if effect.half_width == 0.0 {
        return Some(if room >= least { 1.0 } else { 0.0 });
    }
    let t = t_975(effect.n - 1);
    let [errors, least] = [room, least].map(|value| value * t / effect.half_width);
    let freedom = (effect.n - 1) as f64;
    let scale = libm::log(2.0) + 0.5 * freedom * libm::log(0.5 * freedom) - ln_gamma(0.5 * freedom);
    let density = |u: f64| {
        // At zero the density of one degree of freedom is finite, of more it is zero.
        let power = if freedom > 1.0 { (freedom - 1.0) * libm::log(u) } else { 0.0 };
        libm::exp(scale + power - 0.5 * freedom * u * u)
    };
    let steps = 2000;
    let width = (1.0 + 9.0 / libm::sqrt(freedom)) / f64::from(steps);
    let at = |step: i32| {
        let u = width * f64::from(step);
        if u == 0.0 && freedom > 1.0 { 0.0 } else { density(u) * probability(errors - least.max(t * u)) }
    };
    let weight = |step: i32| match step {
        0 => 1.0,
        last if last == steps => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=steps).map(|step| weight(step) * at(step)).sum();
    Some((sum * width / 3.0).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a mean of `n` values with this standard deviation.
    fn spread(n: usize, deviation: f64) -> Mean {
        Mean { n, mean: 0.0, half_width: t_975(n - 1) * deviation / (n as f64).sqrt() }
    }

    #[test]
    fn the_power_of_a_paired_t_test_is_that_of_the_tables() {
        // G*Power 3.1, one sample, two-sided at 5 %: n = 10, d = 1; n = 34, d = 0.5; n = 5, d = 1.
        for (n, d, power) in [(10, 1.0, 0.8031), (34, 0.5, 0.8078), (5, 1.0, 0.4014)] {
            let found = Power::above(&spread(n, 1.0), d, 0.0).unwrap();
            assert!((found.power - power).abs() < 2e-3, "n = {n}, d = {d}: {found:?}");
            assert_eq!(found.relevant, d);
        }
    }

    #[test]
    fn the_power_of_a_margin_is_that_of_an_effect_of_its_size() {
        let of = spread(10, 1.0);
        let margin = Power::above(&of, 0.0, 1.0).unwrap();
        assert_eq!(margin, Power::above(&of, 1.0, 0.0).unwrap());
        // Two one-sided tests: less than one of them.
        let inside = Power::inside(&of, 1.0).unwrap();
        assert!((inside.power - (2.0 * margin.power - 1.0)).abs() < 0.02 && inside.power < margin.power);
        assert!(Power::inside(&of, 0.2).unwrap().power < 1e-3, "the interval is wider than the margin");
    }

    #[test]
    fn the_power_of_a_least_mean_is_that_of_the_claim() {
        let of = spread(10, 1.0);
        let at = |relevant, least| Power::at_least(&of, relevant, least).unwrap().power;
        // Without a least mean, or one that every significant mean exceeds, it is that of the interval alone.
        assert_eq!(at(1.0, 0.0), Power::above(&of, 1.0, 0.0).unwrap().power);
        assert!((at(1.0, 0.01) - at(1.0, 0.0)).abs() < 1e-6);
        // The mean of ten is normal with 1/√10 around the effect: at least 2 of 2 in half of the samples, at
        // least 2 of 2.4 in Φ(0.4 √10) = 0.897.
        assert!((at(2.0, 2.0) - 0.5).abs() < 1e-3, "{}", at(2.0, 2.0));
        assert!((at(2.4, 2.0) - 0.897).abs() < 1e-3, "{}", at(2.4, 2.0));
        let equal = Mean { n: 3, mean: 0.0, half_width: 0.0 };
        assert_eq!(Power::at_least(&equal, 1.0, 2.0), Some(Power { relevant: 1.0, power: 0.0 }));
        assert_eq!(Power::at_least(&of, 0.0, 1.0), None);
    }

    #[test]
    fn a_test_without_room_or_spread_has_no_power_to_speak_of() {
        assert_eq!(Power::above(&spread(10, 1.0), 0.0, 0.0), None);
        assert_eq!(Power::inside(&spread(10, 1.0), 0.0), None);
        let one = Mean { n: 1, mean: 0.0, half_width: f64::INFINITY };
        assert_eq!(Power::above(&one, 1.0, 0.0), None);
        let equal = Mean { n: 3, mean: 0.0, half_width: 0.0 };
        assert_eq!(Power::above(&equal, 1.0, 0.0), Some(Power { relevant: 1.0, power: 1.0 }));
        let two = Power::above(&spread(2, 1.0), 1.0, 0.0).unwrap().power;
        assert!(two > 0.0 && two < 0.2, "{two}");
    }
}
