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

use super::{Cause, Evidence, LossClassifier};
use crate::{OptionInfo, Options, RoundTrips};

/// The exponent k of inequality (1). The paper does not give it.
pub const K: OptionInfo = OptionInfo::thousandths(
    "k",
    1000,
    (500, 8000, 500),
    "k in inequality (1) of Park & Jang: the greater, the more losses are congestion",
);

/// Inequality (1) of Park & Jang.
#[derive(Clone, Copy, Debug)]
pub struct ParkJang {
    /// 2·k.
    halves: u64,
}

/// 1 as a fraction.
const ONE: u128 = 1 << 62;

impl ParkJang {
    /// The name in the registry.
    pub const NAME: &str = "park-jang";

    /// With [`K`] from the options.
    pub fn new(options: &Options) -> Self {
        Self { halves: options.get(&K) / 500 }
    }

    /// (T_min / T_cur)^k in 2^62ths.
    fn power(&self, least: u64, current: u64) -> u128 {
        if least >= current {
            return ONE;
        }
        let ratio = u128::from(least) * ONE / u128::from(current);
        let whole = (0..self.halves / 2).fold(ONE, |power, _| power * ratio / ONE);
        if self.halves.is_multiple_of(2) {
            return whole;
        }
        whole * (ratio * ONE).isqrt() / ONE
    }

    /// Inequality (1), multiplied by T_dev: T_cur − T_avg + T_dev > 2·(T_min/T_cur)^k·T_dev.
    fn is_congestion(&self, times: &RoundTrips) -> bool {
        // A century and more: the products below fit.
        let nanos = |span: msctp_units::Span| span.as_nanos().min(1 << 62);
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
    use msctp_units::Span;

    use super::*;

    fn with(k: u64) -> ParkJang {
        ParkJang::new(&Options::new().with(&K, k))
    }

    fn times(current: u64, average: u64, deviation: u64, least: u64) -> RoundTrips {
        let ms = Span::from_millis;
        RoundTrips { current: ms(current), average: ms(average), deviation: ms(deviation), least: ms(least) }
    }

    fn cause(k: u64, round_trips: RoundTrips) -> Cause {
        with(k).classify(&Evidence { round_trips: Some(round_trips), truth: None })
    }

    #[test]
    fn inequality_1_by_hand() {
        use Cause::{Congestion, Wireless};
        // An empty path: the right side is 1.
        assert_eq!(cause(1000, times(100, 100, 10, 100)), Wireless, "0 > 1");
        assert_eq!(cause(1000, times(110, 100, 10, 110)), Wireless, "1 > 1");
        assert_eq!(cause(1000, times(111, 100, 10, 111)), Congestion, "1.1 > 1");
        // Twice the least round trip, k = 1: 2/2 − 1 = 0
        assert_eq!(cause(1000, times(200, 200, 10, 100)), Wireless, "0 > 0");
        assert_eq!(cause(1000, times(201, 200, 10, 100)), Congestion, "0.1 > −0.005");
        // k = 2: 2/4 − 1 = −0.5
        assert_eq!(cause(2000, times(200, 205, 10, 100)), Wireless, "−0.5 > −0.5");
        assert_eq!(cause(2000, times(200, 204, 10, 100)), Congestion, "−0.4 > −0.5");
        // k = 0.5, four times the least: 2/2 − 1 = 0; k = 1.5: 2/8 − 1 = −0.75
        assert_eq!(cause(500, times(400, 400, 8, 100)), Wireless, "0 > 0");
        assert_eq!(cause(500, times(401, 400, 8, 100)), Congestion);
        assert_eq!(cause(1500, times(400, 406, 8, 100)), Wireless, "−0.75 > −0.75");
        assert_eq!(cause(1500, times(400, 405, 8, 100)), Congestion, "−0.625 > −0.75");
        // A round trip far below its average is no queue.
        assert_eq!(cause(3000, times(300, 400, 8, 100)), Wireless, "the right side is never below −1");
    }

    #[test]
    fn without_a_round_trip_it_is_congestion() {
        let evidence = Evidence { round_trips: None, truth: Some(Cause::Wireless) };
        assert_eq!(with(1000).classify(&evidence), Cause::Congestion);
    }

    #[test]
    fn by_default_k_is_1() {
        assert_eq!(ParkJang::new(&Options::new()).halves, 2);
    }

    proptest::proptest! {
        /// Against (1) as it is written, where floating point can tell the sides apart.
        #[test]
        fn inequality_1_as_it_is_written(
            least in 1u64..1_000_000_000, above in 0u64..2_000_000_000,
            average in 1u64..2_000_000_000, deviation in 1u64..500_000_000, halves in 1u64..=6,
        ) {
            let ns = Span::from_nanos;
            let current = least + above;
            let times =
                RoundTrips { current: ns(current), average: ns(average), deviation: ns(deviation), least: ns(least) };
            let left = (current as f64 - average as f64) / deviation as f64;
            let right = 2.0 * (least as f64 / current as f64).powf(halves as f64 / 2.0) - 1.0;
            proptest::prop_assume!((left - right).abs() > 1e-9);
            let expected = if left > right { Cause::Congestion } else { Cause::Wireless };
            proptest::prop_assert_eq!(cause(halves * 500, times), expected);
        }

        #[test]
        fn any_times(current: u64, average: u64, deviation: u64, least: u64, halves in 1u64..=16) {
            let ns = Span::from_nanos;
            let times =
                RoundTrips { current: ns(current), average: ns(average), deviation: ns(deviation), least: ns(least) };
            // More k never turns congestion into wireless.
            if halves > 1 && cause((halves - 1) * 500, times) == Cause::Congestion {
                proptest::prop_assert_eq!(cause(halves * 500, times), Cause::Congestion);
            }
        }
    }
}
