//! [`Lateness`]: the time by which packets were delivered late.

use msctp_units::Span;
use serde::Serialize;

/// A histogram whose class bounds are 1/8 apart: a quantile is exact to 13 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    classes: Vec<u64>,
    count: u64,
    greatest: Span,
}

/// Quantiles of lateness, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Packets delivered to hosts.
    pub packets: u64,
    /// The median.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

/// Classes per doubling.
const STEPS: u32 = 8;

/// Returns the class of a number of nanoseconds: exact below 8, then eight classes per doubling.
fn class(ns: u64) -> usize {
    let steps = u64::from(STEPS);
    if ns < steps {
        return ns as usize;
    }
    let doubling = ns.ilog2() - STEPS.ilog2();
    (steps * u64::from(doubling) + (ns >> doubling)) as usize
}

/// Returns the greatest number of nanoseconds in a class.
fn bound(class: usize) -> u64 {
    let (class, steps) = (class as u64, u64::from(STEPS));
    if class < steps {
        return class;
    }
    let doubling = class / steps - 1;
    let mantissa = class % steps + steps;
    (mantissa << doubling) + ((1 << doubling) - 1)
}

impl Lateness {
    /// Creates an empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self { classes: vec![0; class(u64::MAX) + 1], count: 0, greatest: Span::ZERO }
    }

    /// Counts a packet.
    pub fn add(&mut self, late: Span) {
        self.classes[class(late.as_nanos())] += 1;
        self.count += 1;
        self.greatest = self.greatest.max(late);
    }

    /// Returns the quantile `num / den`; zero without packets.
    #[must_use]
    pub fn quantile(&self, num: u64, den: u64) -> Span {
        let wanted = (u128::from(self.count) * u128::from(num)).div_ceil(u128::from(den.max(1)));
        let mut seen = 0;
        let reached = self.classes.iter().position(|&count| {
            seen += u128::from(count);
            seen >= wanted
        });
        match reached {
            Some(class) if self.count > 0 => Span::from_nanos(bound(class)).min(self.greatest),
            _ => Span::ZERO,
        }
    }

    /// Returns the quantiles that the summary reports.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            packets: self.count,
            median: self.quantile(1, 2).as_secs_f64(),
            p99: self.quantile(99, 100).as_secs_f64(),
            max: self.greatest.as_secs_f64(),
        }
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_a_class_whose_bound_is_at_most_an_eighth_above() {
        for ns in (0..5000).chain([1 << 20, (1 << 40) + 12345, u64::MAX]) {
            let bound = bound(class(ns));
            assert!(bound >= ns && bound - ns <= ns / 8, "{ns}: {bound}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_numbers() {
        let mut late = Lateness::new();
        assert_eq!(late.quantile(1, 2), Span::ZERO);
        for us in 1..=1000 {
            late.add(Span::from_micros(us));
        }
        let near = |span: Span, us: u64| (us * 1000..=us * 1125).contains(&span.as_nanos());
        assert!(near(late.quantile(1, 2), 500));
        assert!(near(late.quantile(99, 100), 990));
        assert_eq!(late.quantile(1, 1), Span::from_micros(1000));
    }
}
