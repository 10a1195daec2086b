//! [`LinkQuality`]: what is known of a radio link.

use core::fmt;

use msctp_units::{Rate, Span};

/// Modulation and coding scheme in use, numbered as in the technology's standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodingScheme {
    /// Radio technology: 0 unknown, 1 GPRS (CS1 to CS4 are 1 to 4), 2 EGPRS (MCS1 to MCS9 are 1 to 9).
    pub technology: u16,
    /// Scheme towards the host; 0 if unknown.
    pub down: u8,
    /// Scheme away from the host; 0 if unknown.
    pub up: u8,
}

impl CodingScheme {
    /// Technology GPRS.
    pub const GPRS: u16 = 1;
    /// Technology EGPRS.
    pub const EGPRS: u16 = 2;
}

/// The quality of the link below one address, in the direction *towards* the host that has the address.
///
/// Its source may be a modem or driver, the simulator's radio model, or the peer. Unknown values are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkQuality {
    /// Modulation and coding in use.
    pub coding_scheme: Option<CodingScheme>,
    /// Rate of the link with the coding scheme when no block is in error, 1 bit/s to 1 Tbit/s.
    pub rate: Option<Rate>,
    /// Blocks in error, per million, at most 1,000,000.
    pub block_error_ppm: Option<u32>,
    /// Round-trip time over the link alone, 1 µs to 60 s.
    pub round_trip: Option<Span>,
    /// One-way delay over the link alone, 1 µs to 60 s.
    pub one_way: Option<Span>,
    /// Number of the cell, which differs from those of its neighbours.
    pub cell: Option<u64>,
}

const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);
const MIN_DELAY: Span = Span::from_micros(1);
/// Maximum delay, equal to RTO.Max: no path with a longer round-trip time works.
const MAX_DELAY: Span = Span::from_secs(60);

fn rate_is_sane(rate: &Rate) -> bool {
    !rate.is_zero() && *rate <= MAX_RATE
}

fn errors_are_sane(ppm: &u32) -> bool {
    *ppm <= 1_000_000
}

fn delay_is_sane(delay: &Span) -> bool {
    (MIN_DELAY..=MAX_DELAY).contains(delay)
}

impl LinkQuality {
    /// Returns the round-trip time over the link, or twice its one-way delay.
    pub fn delay(&self) -> Option<Span> {
        self.round_trip.or_else(|| self.one_way.map(|one_way| one_way * 2))
    }

    /// Returns the quality without the fields that are out of range.
    #[must_use]
    pub fn sane(self) -> Self {
        Self {
            coding_scheme: self.coding_scheme,
            rate: self.rate.filter(rate_is_sane),
            block_error_ppm: self.block_error_ppm.filter(errors_are_sane),
            round_trip: self.round_trip.filter(delay_is_sane),
            one_way: self.one_way.filter(delay_is_sane),
            cell: self.cell,
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// A field is out of range. The error names the first.
    pub fn validate(&self) -> Result<(), InvalidQuality> {
        let sane = self.sane();
        let wrong = |field, want| Err(InvalidQuality { field, want });
        if sane.rate != self.rate {
            return wrong("rate", "1bps to 1000Gbps");
        }
        if sane.block_error_ppm != self.block_error_ppm {
            return wrong("block_error_ppm", "at most 1000000");
        }
        if sane.round_trip != self.round_trip {
            return wrong("round_trip", "1us to 60s");
        }
        if sane.one_way != self.one_way {
            return wrong("one_way", "1us to 60s");
        }
        Ok(())
    }
}

/// A field of a [`LinkQuality`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidQuality {
    /// Name of the field.
    pub field: &'static str,
    /// The allowed values.
    pub want: &'static str,
}

impl core::error::Error for InvalidQuality {}

impl fmt::Display for InvalidQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the link quality is out of range: want {}", self.field, self.want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> LinkQuality {
        LinkQuality {
            coding_scheme: Some(CodingScheme { technology: CodingScheme::GPRS, down: 4, up: 1 }),
            rate: Some(Rate::from_kbps(60)),
            block_error_ppm: Some(10_000),
            round_trip: Some(Span::from_millis(200)),
            one_way: Some(Span::from_millis(80)),
            cell: Some(7),
        }
    }

    #[test]
    fn out_of_range_values_are_rejected_or_removed() {
        let bad = |change: fn(&mut LinkQuality)| {
            let mut quality = full();
            change(&mut quality);
            (quality.validate().unwrap_err().field, quality.sane())
        };
        let without = |change: fn(&mut LinkQuality)| {
            let mut quality = full();
            change(&mut quality);
            quality
        };
        assert_eq!(bad(|q| q.rate = Some(Rate::ZERO)), ("rate", without(|q| q.rate = None)));
        let huge = Rate::from_bps(1_000_000_000_001);
        assert_eq!(LinkQuality { rate: Some(huge), ..full() }.sane().rate, None);
        let ppm = bad(|q| q.block_error_ppm = Some(1_000_001));
        assert_eq!(ppm, ("block_error_ppm", without(|q| q.block_error_ppm = None)));
        let rtt = bad(|q| q.round_trip = Some(Span::from_millis(60_001)));
        assert_eq!(rtt, ("round_trip", without(|q| q.round_trip = None)));
        let one_way = bad(|q| q.one_way = Some(Span::ZERO));
        assert_eq!(one_way, ("one_way", without(|q| q.one_way = None)));
        assert_eq!(full().validate(), Ok(()));
        let shown = LinkQuality { rate: Some(Rate::ZERO), ..full() }.validate().unwrap_err().to_string();
        assert_eq!(shown, "rate of the link quality is out of range: want 1bps to 1000Gbps");
    }

    #[test]
    fn the_delay_is_the_round_trip_or_twice_one_way() {
        assert_eq!(full().delay(), Some(Span::from_millis(200)));
        assert_eq!(LinkQuality { round_trip: None, ..full() }.delay(), Some(Span::from_millis(160)));
        assert_eq!(LinkQuality::default().delay(), None);
    }
}
