//! [`ParkJang`]: the loss differentiation of Park & Jang §2.1, after Lim & Jang (2008).
//!
//! A loss is congestion when the round trip is long for its usual spread, the longer the nearer it is to the
//! least:
//!
//! ```text
//! (T_cur − T_avg) / T_dev  >  2·(T_min / T_cur)^k − 1        (1)
//! ```
//!
//! Computed in integers, so that the answer is the same on every machine: T_min/T_cur is a fraction of 2^62,
//! rounded down; k is a multiple of ½, so its power is products and one integer square root, each rounded
//! down; the division by T_dev is a multiplication on the other side. So the right side comes out too small
//! by less than 2^-50 for round trips up to a million times the least: a millionth of a nanosecond for a
//! T_dev of a second. Two equal sides may count as congestion then.

use msctp_congestion::classifier::{Cause, Evidence, LossClassifier};
use msctp_congestion::{Make, RoundTrips};
use msctp_units::Span;

/// Options of [`ParkJang`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkJangConfig {
    /// 2·k of inequality (1); 2 by default, because the paper gives no value. A greater k classifies more
    /// losses as congestion.
    pub twice_k: u8,
}

impl Default for ParkJangConfig {
    fn default() -> Self {
        Self { twice_k: 2 }
    }
}

impl Make<(), dyn LossClassifier> for ParkJangConfig {
    fn make(&self, (): &()) -> Box<dyn LossClassifier> {
        Box::new(ParkJang::new(self))
    }
}

/// Inequality (1) of Park & Jang.
#[derive(Clone, Copy, Debug)]
pub struct ParkJang {
    twice_k: u8,
}

/// 1 as a fraction.
const ONE: u128 = 1 << 62;

impl ParkJang {
    /// Its name in the catalogue.
    pub const NAME: &str = "park-jang";

    /// Creates a classifier.
    pub fn new(config: &ParkJangConfig) -> Self {
        Self { twice_k: config.twice_k }
    }

    /// Returns (T_min / T_cur)^k in units of 2^−62.
    fn power(&self, least: u64, current: u64) -> u128 {
        if least >= current {
            return ONE;
        }
        let ratio = u128::from(least) * ONE / u128::from(current);
        let whole = (0..self.twice_k / 2).fold(ONE, |power, _| power * ratio / ONE);
        if self.twice_k.is_multiple_of(2) {
            return whole;
        }
        whole * (ratio * ONE).isqrt() / ONE
    }

    /// Evaluates inequality (1), multiplied by T_dev: T_cur − T_avg + T_dev > 2·(T_min/T_cur)^k·T_dev.
    fn is_congestion(&self, times: &RoundTrips) -> bool {
        // A century and more: the products below fit.
        let nanos = |span: Span| span.as_nanos().min(1 << 62);
        let (current, average) = (nanos(times.current), nanos(times.average));
        let deviation = nanos(times.deviation);
        let Some(left) = (current + deviation).checked_sub(average) else { return false };
        u128::from(left) * ONE > 2 * self.power(nanos(times.least), current) * u128::from(deviation)
    }
}

impl LossClassifier for ParkJang {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn classify(&mut self, evidence: &Evidence) -> Cause {
        match evidence.round_trips {
            Some(times) if !self.is_congestion(&times) => Cause::Wireless,
            _ => Cause::Congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(twice_k: u8) -> ParkJang {
        ParkJang::new(&ParkJangConfig { twice_k })
    }

    fn times(current: u64, average: u64, deviation: u64, least: u64) -> RoundTrips {
        let ms = Span::from_millis;
        RoundTrips { current: ms(current), average: ms(average), deviation: ms(deviation), least: ms(least) }
    }

    fn cause(twice_k: u8, round_trips: RoundTrips) -> Cause {
        with(twice_k).classify(&Evidence { sequence: 0, unacknowledged: 0, round_trips: Some(round_trips) })
    }

    #[test]
    fn inequality_1_by_hand() {
        use Cause::{Congestion, Wireless};
        // An empty path: the right side is 1.
        assert_eq!(cause(2, times(100, 100, 10, 100)), Wireless, "0 > 1");
        assert_eq!(cause(2, times(110, 100, 10, 110)), Wireless, "1 > 1");
        assert_eq!(cause(2, times(111, 100, 10, 111)), Congestion, "1.1 > 1");
        // Twice the least round trip, k = 1: 2/2 − 1 = 0
        assert_eq!(cause(2, times(200, 200, 10, 100)), Wireless, "0 > 0");
        assert_eq!(cause(2, times(201, 200, 10, 100)), Congestion, "0.1 > −0.005");
        // k = 2: 2/4 − 1 = −0.5
        assert_eq!(cause(4, times(200, 205, 10, 100)), Wireless, "−0.5 > −0.5");
        assert_eq!(cause(4, times(200, 204, 10, 100)), Congestion, "−0.4 > −0.5");
        // k = 0.5, four times the least: 2/2 − 1 = 0; k = 1.5: 2/8 − 1 = −0.75
        assert_eq!(cause(1, times(400, 400, 8, 100)), Wireless, "0 > 0");
        assert_eq!(cause(1, times(401, 400, 8, 100)), Congestion);
        assert_eq!(cause(3, times(400, 406, 8, 100)), Wireless, "−0.75 > −0.75");
        assert_eq!(cause(3, times(400, 405, 8, 100)), Congestion, "−0.625 > −0.75");
        // A round trip far below its average is no queue.
        assert_eq!(cause(6, times(300, 400, 8, 100)), Wireless, "the right side is never below −1");
    }

    #[test]
    fn a_loss_without_a_round_trip_is_congestion() {
        let evidence = Evidence { sequence: 0, unacknowledged: 0, round_trips: None };
        assert_eq!(with(2).classify(&evidence), Cause::Congestion);
    }

    proptest::proptest! {
        /// Against (1) as it is written, where floating point can tell the sides apart.
        #[test]
        fn the_verdict_is_that_of_inequality_1(
            least in 1u64..1_000_000_000, above in 0u64..2_000_000_000,
            average in 1u64..2_000_000_000, deviation in 1u64..500_000_000, halves in 1u8..=6,
        ) {
            let ns = Span::from_nanos;
            let current = least + above;
            let times =
                RoundTrips { current: ns(current), average: ns(average), deviation: ns(deviation), least: ns(least) };
            let left = (current as f64 - average as f64) / deviation as f64;
            let right = 2.0 * (least as f64 / current as f64).powf(f64::from(halves) / 2.0) - 1.0;
            proptest::prop_assume!((left - right).abs() > 1e-9);
            let expected = if left > right { Cause::Congestion } else { Cause::Wireless };
            proptest::prop_assert_eq!(cause(halves, times), expected);
        }

        #[test]
        fn a_greater_k_never_turns_congestion_into_wireless(current: u64, average: u64, deviation: u64, least: u64, halves in 1u8..=16) {
            let ns = Span::from_nanos;
            let times =
                RoundTrips { current: ns(current), average: ns(average), deviation: ns(deviation), least: ns(least) };
            // More k never turns congestion into wireless.
            if halves > 1 && cause(halves - 1, times) == Cause::Congestion {
                proptest::prop_assert_eq!(cause(halves, times), Cause::Congestion);
            }
        }
    }
}
