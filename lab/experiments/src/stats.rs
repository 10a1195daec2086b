//! Means with 95 % confidence intervals, and paired differences between two treatments of the same seeds.
//!

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with the half-width of its two-sided 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Half-width of the interval `mean ± half_width`. Infinite for a single value, whose spread is unknown.
    pub half_width: f64,
}

impl Mean {
    /// Computes mean and interval of `values`; `None` without a value or if one is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len();
        // Rounding must not cause a spread of equal values.
        let equal = values.iter().all(|value| *value == values[0]);
        let mean = if equal { values[0] } else { values.iter().sum::<f64>() / n as f64 };
        if n == 1 {
            return Some(Self { n, mean, half_width: f64::INFINITY });
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let half_width = t_975(n - 1) * (variance / n as f64).sqrt();
        Some(Self { n, mean, half_width })
    }

    /// Returns the lower end of the interval.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Returns the upper end of the interval.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Returns the one-sided p-value of the hypothesis that the mean is at most `value`.
    #[must_use]
    pub fn p_above(&self, value: f64) -> f64 {
        if self.half_width == 0.0 {
            return if self.mean >= value { 0.0 } else { 1.0 };
        }
        if self.n < 2 {
            return 1.0;
        }
        let t = (self.mean - value) * t_975(self.n - 1) / self.half_width;
        StudentsT::new(0.0, 1.0, (self.n - 1) as f64).map_or(1.0, |student| student.sf(t))
    }

    /// Returns the one-sided p-value of the hypothesis that the mean is at least `value`.
    #[must_use]
    pub fn p_below(&self, value: f64) -> f64 {
        self.scaled(-1.0).p_above(-value)
    }

    /// Converts the mean to another unit: mean and half-width times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self { n: self.n, mean: self.mean * factor, half_width: self.half_width * factor.abs() }
    }
}

/// Computes the differences `a[i] − b[i]` of two treatments with the same random numbers, as [`Mean`].
/// Pairing removes the common part of the spread. `None` if the lengths differ, or as in [`Mean::of`].
#[must_use]
pub fn paired_difference(a: &[f64], b: &[f64]) -> Option<Mean> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Mean::of(&differences)
}

/// The ratio of two independent means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The first mean divided by the second.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Ratio {
    /// Computes the ratio of the means of `a` and `b`, both positive. The two-sided 95 % interval is on the
    /// logarithmic scale: relative variances of the means add (delta method), with Welch–Satterthwaite
    /// degrees of freedom. Returns `None` if one has fewer than two values, or a mean that is not positive.
    #[must_use]
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        let part = |values: &[f64]| {
            let mean = Mean::of(values).filter(|mean| mean.n > 1 && mean.mean > 0.0)?;
            let error = mean.half_width / t_975(mean.n - 1) / mean.mean;
            Some((mean.mean, error * error, (mean.n - 1) as f64))
        };
        let ((a, va, fa), (b, vb, fb)) = (part(a)?, part(b)?);
        let (ratio, variance) = (a / b, va + vb);
        if variance == 0.0 {
            return Some(Self { ratio, low: ratio, high: ratio });
        }
        let freedom = (variance * variance / (va * va / fa + vb * vb / fb)).floor().max(1.0);
        let spread = (t_975(freedom as usize) * variance.sqrt()).exp();
        Some(Self { ratio, low: ratio / spread, high: ratio * spread })
    }
}

/// Computes the median; `None` without a value or if one is not finite.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[upper] } else { f64::midpoint(sorted[upper - 1], sorted[upper]) })
}

/// Returns the 97.5 % point of Student's t with `freedom` degrees of freedom (at least 1).
pub(crate) fn t_975(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_points_are_those_of_the_tables() {
        for (freedom, point) in [(1, 12.7062), (2, 4.3027), (9, 2.2622), (39, 2.0227)] {
            assert!((t_975(freedom) - point).abs() < 1e-4, "{freedom}: {}", t_975(freedom));
        }
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // mean 5, variance 20/3, standard error 1.2910, t(3) = 3.1824
        let mean = Mean::of(&[2.0, 4.0, 6.0, 8.0]).unwrap();
        assert_eq!(mean.mean, 5.0);
        assert!((mean.half_width - 4.1085).abs() < 1e-3, "{mean:?}");
        assert!((mean.low() - 0.8915).abs() < 1e-3);
    }

    #[test]
    fn the_p_value_is_that_of_the_interval() {
        let mean = Mean::of(&[2.0, 4.0, 6.0, 8.0]).unwrap();
        assert!((mean.p_above(mean.low()) - 0.025).abs() < 1e-6, "the interval ends at 2.5 %");
        assert!((mean.p_below(mean.high()) - 0.025).abs() < 1e-6);
        // t = 5 / 1.2910 = 3.873 with 3 degrees of freedom
        assert!((mean.p_above(0.0) - 0.01523).abs() < 1e-4, "{}", mean.p_above(0.0));
        assert_eq!(Mean::of(&[7.0; 3]).unwrap().p_above(6.0), 0.0);
        assert_eq!(Mean::of(&[7.0]).unwrap().p_above(6.0), 1.0);
    }

    #[test]
    fn one_value_has_an_infinite_interval_and_none_has_no_mean() {
        assert_eq!(Mean::of(&[3.0]).unwrap().half_width, f64::INFINITY);
        assert_eq!(Mean::of(&[]), None);
        assert_eq!(Mean::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_width_zero() {
        assert_eq!(Mean::of(&[7.0; 10]).unwrap().half_width, 0.0);
        assert_eq!(Mean::of(&[0.1; 3]).unwrap().half_width, 0.0);
    }

    #[test]
    fn the_interval_of_a_ratio_contains_it_and_narrows_with_more_values() {
        let (a, b) = ([9.0, 10.0, 11.0], [4.0, 5.0, 6.0]);
        let few = Ratio::of(&a, &b).unwrap();
        assert_eq!(few.ratio, 2.0);
        // Relative standard errors 1/10/√3 and 1/5/√3: together 0.1291; Welch's 2.94 degrees of freedom, t(2)
        // = 4.3027.
        assert!((few.high / few.ratio - (4.3027_f64 * 0.1291).exp()).abs() < 2e-3, "{few:?}");
        assert!((few.low * few.high - 4.0).abs() < 1e-9);
        let many = Ratio::of(&a.repeat(10), &b.repeat(10)).unwrap();
        assert!(many.low > few.low && many.high < few.high);
        assert_eq!(Ratio::of(&[3.0; 4], &[2.0; 4]), Some(Ratio { ratio: 1.5, low: 1.5, high: 1.5 }));
        assert_eq!(Ratio::of(&[1.0], &b), None);
        assert_eq!(Ratio::of(&[0.0, 0.0], &b), None);
    }

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn pairing_detects_a_small_difference_under_a_large_common_spread() {
        let base = [10.0, 50.0, 90.0, 30.0, 70.0];
        let better: Vec<f64> = base.iter().zip([1.0, 1.1, 0.9, 1.0, 1.05]).map(|(b, d)| b + d).collect();
        let paired = paired_difference(&better, &base).unwrap();
        assert!(paired.low() > 0.8, "{paired:?}");
        let (a, b) = (Mean::of(&better).unwrap(), Mean::of(&base).unwrap());
        assert!(a.low() < b.high(), "unpaired, the two cannot be told apart");
        assert_eq!(paired_difference(&base, &base[1..]), None);
    }
}
