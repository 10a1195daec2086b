//! [`Rate`]: bits per second, decimal prefixes (1 kbps = 1000 bit/s).

use core::fmt;
use core::str::FromStr;

use crate::decimal::{DecimalError, parse_decimal};
use crate::time::Span;

/// A data rate in bit/s. Zero means that nothing passes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Nothing passes.
    pub const ZERO: Self = Self(0);

    /// Returns `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Returns `kbps` thousand bits per second, saturating.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps.saturating_mul(1_000))
    }

    /// Returns `mbps` million bits per second, saturating.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns true when nothing passes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the time to send `bytes` at this rate, rounded to the nearest nanosecond. At rate zero,
    /// returns [`Span::MAX`].
    pub const fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // 64-bit division is several times faster than 128-bit and covers every packet.
        const NS_BITS: u64 = 8 * 1_000_000_000;
        if let Some(scaled) = bytes.checked_mul(NS_BITS)
            && let Some(rounded) = scaled.checked_add(self.0 / 2)
        {
            return Span::from_nanos(rounded / self.0);
        }
        let ns = (bytes as u128 * NS_BITS as u128 + self.0 as u128 / 2) / self.0 as u128;
        Span::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// Returns the number of whole bytes that pass in `span`, rounded down, saturating.
    pub const fn bytes_in(self, span: Span) -> u64 {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / (8 * 1_000_000_000);
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }

    /// Returns the rate of `bytes` per `span`, rounded down, saturating; `None` for a span of zero.
    pub const fn of(bytes: u64, span: Span) -> Option<Self> {
        if span.is_zero() {
            return None;
        }
        let bps = bytes as u128 * 8 * 1_000_000_000 / span.as_nanos() as u128;
        Some(Self(if bps > u64::MAX as u128 { u64::MAX } else { bps as u64 }))
    }

    /// Returns `self · num / den` rounded down, saturating; `den` must not be zero.
    pub const fn mul_ratio(self, num: u64, den: u64) -> Self {
        let wide = self.0 as u128 * num as u128 / den as u128;
        Self(if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 })
    }

    /// Returns `self − other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rate {
    /// Writes the rate in the largest unit of Gbps, Mbps, kbps, bps that gives an integer. The text parses
    /// back to the same rate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, unit) in [(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps")] {
            if self.0 >= scale && self.0.is_multiple_of(scale) {
                return write!(f, "{}{unit}", self.0 / scale);
            }
        }
        write!(f, "{}bps", self.0)
    }
}

/// The reason why a string is not a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseRateError {
    /// The text has no number or an unknown unit, is negative or too large.
    Malformed,
    /// Fractions of 1 bit/s.
    TooPrecise,
}

impl fmt::Display for ParseRateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => {
                "not a rate: want a number of at least 0 with a unit, such as 384kbps, \
                 11Mbps, 1Gbps or 9600bps"
            }
            Self::TooPrecise => {
                "more precise than 1 bps: want at most 3 decimals of kbps, 6 of Mbps, 9 of Gbps"
            }
        })
    }
}

impl core::error::Error for ParseRateError {}

impl FromStr for Rate {
    type Err = ParseRateError;

    /// Parses rates such as `384kbps`, `5.5 Mbps`, `1Gbps` and `9600bps` exactly. Rejects fractions of a bit
    /// per second.
    fn from_str(text: &str) -> Result<Self, ParseRateError> {
        let text = text.trim();
        let (number, scale) = [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)]
            .iter()
            .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?.trim_end(), scale)))
            .ok_or(ParseRateError::Malformed)?;
        match parse_decimal(number, scale) {
            Ok(bps) => Ok(Self(bps)),
            Err(DecimalError::Malformed) => Err(ParseRateError::Malformed),
            Err(DecimalError::TooPrecise) => Err(ParseRateError::TooPrecise),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn rates_parse_exactly_and_print_back() {
        for (text, bps) in
            [("384kbps", 384_000), ("5.5 Mbps", 5_500_000), ("28.8kbps", 28_800), ("1Gbps", 1_000_000_000)]
        {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.as_bps(), bps, "{text}");
            assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }
        for bad in ["", "Mbps", "-1Mbps", "5", "5mbps", "99999999999Gbps"] {
            assert_eq!(bad.parse::<Rate>(), Err(ParseRateError::Malformed), "{bad}");
        }
        for bad in ["0.5bps", "1.0001kbps"] {
            assert_eq!(bad.parse::<Rate>(), Err(ParseRateError::TooPrecise), "{bad}");
        }
    }

    #[test]
    fn time_for_rounds_to_nearest_and_never_overflows() {
        // 1500 B at 11 Mbps: 1090909.09 ns
        assert_eq!(Rate::from_mbps(11).time_for(1500).as_nanos(), 1_090_909);
        assert_eq!(Rate::from_bps(3).time_for(1).as_nanos(), 2_666_666_667);
        assert_eq!(Rate::ZERO.time_for(1), Span::MAX);
        assert_eq!(Rate::from_bps(1).time_for(u64::MAX), Span::MAX);
        assert_eq!(Rate::from_mbps(11).bytes_in(Span::from_millis(70)), 96_250);
        assert_eq!(Rate::of(96_250, Span::from_millis(70)), Some(Rate::from_mbps(11)));
        assert_eq!(Rate::of(1, Span::ZERO), None);
    }
}
