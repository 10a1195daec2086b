//! [`Time`] and [`Span`]: nanoseconds in a `u64` (584 years).

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

use crate::decimal::{DecimalError, parse_decimal};

const NS_PER_SEC: u64 = 1_000_000_000;

/// Units of a [`Span`] in text, with their nanoseconds. A unit precedes every other one that is its suffix.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", NS_PER_SEC),
    ("min", 60 * NS_PER_SEC),
    ("h", 3600 * NS_PER_SEC),
];

/// An instant: nanoseconds since an origin chosen by the caller. Never read from a clock here.
///
/// An `Option<Time>` is as small as a `Time`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(
    /// The nanoseconds and one: zero is `None`.
    NonZeroU64,
);

/// A length of time in nanoseconds. Never negative; subtraction saturates at zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(NonZeroU64::MIN);
    /// A time later than any that occurs: 2^64 − 2 ns.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// Returns the instant `ns` nanoseconds after the origin; [`Time::MAX`] if that is later.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(ns))
    }

    /// Returns the nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Returns the seconds since the origin, for display and statistics; never for control.
    pub fn as_secs_f64(self) -> f64 {
        Span(self.as_nanos()).as_secs_f64()
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Span {
    /// The span of length zero.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns `us` microseconds, saturating.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// Returns `ms` milliseconds, saturating.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Returns `s` seconds, saturating.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(NS_PER_SEC))
    }

    /// Returns the span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the span in seconds, for display and statistics; never for control.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_SEC as f64
    }

    /// Returns the nearest span to `s` seconds; `None` if `s` is negative, not finite, or too long.
    pub fn from_secs_f64(s: f64) -> Option<Self> {
        let ns = s * NS_PER_SEC as f64 + 0.5;
        (s >= 0.0 && ns.is_finite() && ns < u64::MAX as f64).then_some(Self(ns as u64))
    }

    /// Returns true for a span of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self − other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns `self · num / den` rounded down, saturating; `den` must not be zero.
    pub const fn mul_ratio(self, num: u64, den: u64) -> Self {
        let wide = self.0 as u128 * num as u128 / den as u128;
        Self(if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 })
    }
}

/// The longest span if `duration` is longer (584 years).
impl From<core::time::Duration> for Span {
    fn from(duration: core::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for core::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Default for Time {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, rhs: Span) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, rhs: Span) -> Self {
        Self(NonZeroU64::new(self.0.get().saturating_sub(rhs.0)).unwrap_or(NonZeroU64::MIN))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        self.saturating_sub(rhs)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={self}")
    }
}

impl fmt::Display for Time {
    /// Writes the seconds with nine decimals, as `12.000000345`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.as_nanos();
        write!(f, "{}.{:09}", ns / NS_PER_SEC, ns % NS_PER_SEC)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Span {
    /// Writes the span in the largest unit of s, ms, us, ns that gives an integer, as `20ms`. The text parses
    /// back to the same span.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        if ns.is_multiple_of(NS_PER_SEC) {
            write!(f, "{}s", ns / NS_PER_SEC)
        } else if ns.is_multiple_of(1_000_000) {
            write!(f, "{}ms", ns / 1_000_000)
        } else if ns.is_multiple_of(1_000) {
            write!(f, "{}us", ns / 1_000)
        } else {
            write!(f, "{ns}ns")
        }
    }
}

/// The reason why a string is not a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseSpanError {
    /// The text has no number or an unknown unit, is negative or too long.
    Malformed,
    /// Parts of a nanosecond.
    TooPrecise,
}

impl fmt::Display for ParseSpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => {
                "not a time: want a number of at least 0 with a unit, such as 20ms, \
                 1.5s, 200us, 30ns, 5min or 2h"
            }
            Self::TooPrecise => "more precise than 1 ns: want at most 3 decimals of us, 6 of ms, 9 of s",
        })
    }
}

impl core::error::Error for ParseSpanError {}

impl FromStr for Span {
    type Err = ParseSpanError;

    /// Parses spans such as `20ms`, `1.5 s`, `200us`, `30ns`, `5min` and `2h` exactly. Rejects fractions of a
    /// nanosecond.
    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        let text = text.trim();
        let (number, scale) = UNITS
            .iter()
            .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?.trim_end(), scale)))
            .ok_or(ParseSpanError::Malformed)?;
        match parse_decimal(number, scale) {
            Ok(ns) => Ok(Self(ns)),
            Err(DecimalError::Malformed) => Err(ParseSpanError::Malformed),
            Err(DecimalError::TooPrecise) => Err(ParseSpanError::TooPrecise),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_parse_exactly_and_print_back() {
        for (text, ns) in [
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("0.000000001s", 1),
            ("7 us", 7_000),
            ("0s", 0),
            ("1.5min", 90_000_000_000),
            ("2h", 7_200_000_000_000),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.as_nanos(), ns, "{text}");
            assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }
        for bad in ["", "s", "-1s", "1", "1d", "1e3s", "99999999999999s", "1.s", ".5s"] {
            assert_eq!(bad.parse::<Span>(), Err(ParseSpanError::Malformed), "{bad}");
        }
        for bad in ["0.5ns", "15.649999999999999ms", "0.0000000001s"] {
            assert_eq!(bad.parse::<Span>(), Err(ParseSpanError::TooPrecise), "{bad}");
        }
        assert_eq!("15.650000000000000ms".parse(), Ok(Span::from_micros(15_650)), "zeros are no digits");
    }

    #[test]
    fn an_optional_time_is_as_small_as_a_time() {
        assert_eq!(size_of::<Option<Time>>(), 8);
        assert_eq!((Time::default(), Time::ZERO.as_nanos()), (Time::ZERO, 0));
    }

    #[test]
    fn spans_are_durations() {
        use core::time::Duration;
        assert_eq!(Span::from(Duration::from_millis(1500)), Span::from_millis(1500));
        assert_eq!(Duration::from(Span::from_nanos(1)), Duration::from_nanos(1));
        assert_eq!(Span::from(Duration::MAX), Span::MAX);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::MAX + Span::from_secs(1), Time::MAX);
        assert_eq!((Time::from_nanos(u64::MAX), Time::MAX.as_nanos()), (Time::MAX, u64::MAX - 1));
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Span::ZERO);
        assert_eq!(Time::from_nanos(5) - Span::from_nanos(6), Time::ZERO);
        assert_eq!(Time::from_nanos(5) - Span::from_nanos(4), Time::from_nanos(1));
        assert_eq!(Span::from_secs(1).mul_ratio(3, 2), Span::from_millis(1500));
        assert_eq!(Span::from_secs_f64(-1.0), None);
        assert_eq!(Span::from_secs_f64(0.25), Some(Span::from_millis(250)));
    }
}
