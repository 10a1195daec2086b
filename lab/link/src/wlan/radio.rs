//! [`Radio`]: receive power by distance, and the share of time with too weak a signal.
//!
//! Powers are integers in thousandths of a decibel. The few logarithms and exponentials are `libm`'s, whose
//! results are the same on every machine; they are rounded to integers at once.

use crate::loss::Probability;

/// A power in thousandths of dBm, or a ratio in thousandths of dB.
pub type MilliDb = i32;

/// Picoseconds that light takes for a metre: 10¹² / 299,792,458.
const LIGHT_PS_PER_M: u64 = 3_336;

/// Returns the propagation time over a distance in millimetres, in nanoseconds, rounded to the nearest.
pub(super) fn propagation_ns(distance_mm: u64) -> u64 {
    let ps = u128::from(distance_mm) * u128::from(LIGHT_PS_PER_M) / 1000;
    u64::try_from((ps + 500) / 1000).unwrap_or(u64::MAX)
}

/// Transmitter, path and receiver: log-distance path loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radio {
    /// Transmit power, antenna gains included, in mdBm.
    pub tx_power: MilliDb,
    /// Path loss at one metre, in mdB.
    pub reference_loss: MilliDb,
    /// Path-loss exponent, in thousandths: 2000 in free space.
    pub exponent: u32,
    /// Receive power in mdBm below which no frame is received.
    pub sensitivity: MilliDb,
}

impl Radio {
    /// Returns a radio with transmit power and path loss at one metre of ns-2's default radio (0.28 W at 914
    /// MHz), an exponent of 2.8, and the sensitivity that makes the cell's radius `coverage_mm` millimetres.
    pub fn covering(coverage_mm: u64) -> Self {
        let radio = Self { tx_power: 24_500, reference_loss: 31_700, exponent: 2_800, sensitivity: 0 };
        radio.with_coverage(coverage_mm)
    }

    /// Returns the same radio with the sensitivity that makes the cell's radius `coverage_mm` millimetres.
    #[must_use]
    pub fn with_coverage(self, coverage_mm: u64) -> Self {
        Self { sensitivity: self.receive_power(coverage_mm), ..self }
    }

    /// Returns the receive power at a distance in millimetres: `tx_power − reference_loss − 10·n·log₁₀(d / 1
    /// m)`, rounded to the nearest mdB. A distance below a metre counts as a metre.
    pub fn receive_power(&self, distance_mm: u64) -> MilliDb {
        let metres = distance_mm.max(1000) as f64 / 1000.0;
        let loss = libm::round(10.0 * f64::from(self.exponent) * libm::log10(metres));
        // At most 10 · 2³² · 17: within f64's integers, and clamped to i32 by the cast.
        (i64::from(self.tx_power) - i64::from(self.reference_loss) - loss as i64)
            .clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }

    /// Returns the receive power relative to the sensitivity, in mdB; negative out of coverage.
    pub fn margin(&self, distance_mm: u64) -> MilliDb {
        self.receive_power(distance_mm).saturating_sub(self.sensitivity)
    }

    /// Returns whether the receive power at this distance, in millimetres, is at least the sensitivity.
    pub fn covers(&self, distance_mm: u64) -> bool {
        self.margin(distance_mm) >= 0
    }
}

/// Returns the share of time for which a fading signal with this mean margin is below the sensitivity.
///
/// The share is `1 − exp(−10^(−margin / slope))`, the outage probability of Rayleigh fading if `slope` is 10
/// dB. A smaller slope models a receiver that fades less (diversity): the share falls by a decade every
/// `slope`.
pub(super) fn outage(margin: MilliDb, slope: MilliDb) -> f64 {
    let decades = -f64::from(margin) / f64::from(slope.max(1));
    -libm::expm1(-libm::exp10(decades))
}

/// Returns the same as a probability to draw with.
pub(super) fn outage_probability(margin: MilliDb, slope: MilliDb) -> Probability {
    Probability::new("outage", outage(margin, slope).clamp(0.0, 1.0)).unwrap_or(Probability::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_falls_by_the_exponent_per_decade_of_distance() {
        let radio = Radio { tx_power: 20_000, reference_loss: 40_000, exponent: 3_500, sensitivity: -90_000 };
        assert_eq!(radio.receive_power(1_000), -20_000);
        assert_eq!(radio.receive_power(10), -20_000, "nearer than a metre");
        assert_eq!(radio.receive_power(10_000), -55_000);
        assert_eq!(radio.receive_power(100_000), -90_000);
        // 35 · log10(2) = 10.536 dB.
        assert_eq!(radio.receive_power(200_000), -100_536);
        assert!(radio.covers(100_000) && !radio.covers(100_100));
    }

    #[test]
    fn the_sensitivity_follows_from_the_radius() {
        for metres in [1, 30, 250, 10_000] {
            let radio = Radio::covering(metres * 1000);
            assert_eq!(radio.margin(metres * 1000), 0);
            assert!(!radio.covers(metres * 1001 + 1));
        }
    }

    /// Under Rayleigh fading, the signal is below the threshold for 1 − 1/e of the time at a mean margin of 0
    /// dB, and for 1 % of it at 20 dB.
    #[test]
    fn outage_is_rayleighs_at_ten_decibels_a_decade() {
        for (margin, want) in [(0, 0.632_120_558_8), (10_000, 0.095_162_582), (20_000, 0.009_950_166)] {
            assert!((outage(margin, 10_000) - want).abs() < 1e-9, "{margin}");
        }
        assert!((outage(10_000, 5_000) - outage(20_000, 10_000)).abs() < 1e-12);
        assert!(outage(-40_000, 10_000) > 0.999_999);
    }

    #[test]
    fn light_takes_334_ns_for_a_hundred_metres() {
        assert_eq!(propagation_ns(100_000), 334);
        assert_eq!(propagation_ns(0), 0);
    }
}
