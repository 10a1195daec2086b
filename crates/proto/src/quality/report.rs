//! [`LinkQuality`]: what is known of a radio link; to and from the parameters of a QoS_Measurement chunk.

use core::fmt;
use core::net::IpAddr;

use msctp_units::{Rate, Span};
use msctp_wire::{Param, Params, QosMeasurement};
use smallvec::SmallVec;

use super::{CodingScheme, MAX_PARAMS};

/// The quality of the link below one address, in the direction *towards* the host that has the address.
///
/// The same type wherever it comes from: a modem or driver, the simulator's radio model, or the peer. What is not known is
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkQuality {
    /// Modulation and coding in use.
    pub coding_scheme: Option<CodingScheme>,
    /// What the link carries with it when no block is in error, 1 bit/s to 1 Tbit/s.
    pub rate: Option<Rate>,
    /// Blocks in error, per million, at most 1,000,000.
    pub block_error_ppm: Option<u32>,
    /// Round-trip time over the link alone, 1 µs to 60 s.
    pub round_trip: Option<Span>,
    /// One-way delay over the link alone, 1 µs to 60 s.
    pub one_way: Option<Span>,
    /// The cell: a number that no neighbouring cell has.
    pub cell: Option<u64>,
}

const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);
const MIN_DELAY: Span = Span::from_micros(1);
/// RTO.Max: no path with a longer round trip works.
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
    /// The round-trip time over the link, or twice its one-way delay.
    pub fn delay(&self) -> Option<Span> {
        self.round_trip.or_else(|| self.one_way.map(|one_way| one_way * 2))
    }

    /// The same without the fields that are out of range.
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
    /// The first field that is out of range.
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

    /// The parameters of a chunk that reports this of `address`.
    pub(crate) fn params(&self, number: u32, address: IpAddr) -> SmallVec<[Param<'static>; 8]> {
        let us = |span: Span| (span.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32;
        let mut params = SmallVec::new();
        params.push(Param::ReportNumber(number));
        params.push(Param::from(address));
        params.extend(self.coding_scheme.map(Param::CodingScheme));
        params.extend(self.rate.map(|rate| Param::NominalRate(rate.as_bps())));
        params.extend(self.block_error_ppm.map(Param::BlockErrorRate));
        params.extend(self.round_trip.map(|span| Param::LinkRoundTrip(us(span))));
        params.extend(self.one_way.map(|span| Param::LinkOneWay(us(span))));
        params.extend(self.cell.map(Param::CellIdentity));
        params
    }
}

/// A field of a [`LinkQuality`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidQuality {
    /// Its name.
    pub field: &'static str,
    /// What would be right.
    pub want: &'static str,
}

impl core::error::Error for InvalidQuality {}

impl fmt::Display for InvalidQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the link quality is out of range: want {}", self.field, self.want)
    }
}

/// What a QoS_Measurement chunk says, as far as it can be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Its Report Number.
    pub number: Option<u32>,
    /// Whose link it is; `None`: that of the address the packet came from.
    pub address: Option<IpAddr>,
    /// The quality, without fields that are out of range.
    pub quality: LinkQuality,
}

impl Received {
    /// Reads a chunk: the first parameter of each type counts; unknown, malformed and surplus ones are passed over.
    pub fn read(chunk: &QosMeasurement<'_>) -> Self {
        Self::of(chunk.params)
    }

    fn of(params: Params<'_>) -> Self {
        let mut read = Self::default();
        let us = |us: u32| Span::from_micros(u64::from(us));
        for param in params.iter().take(MAX_PARAMS).flatten() {
            let quality = &mut read.quality;
            match param {
                Param::ReportNumber(number) => first(&mut read.number, number),
                Param::Ipv4Address(address) => first(&mut read.address, address.into()),
                Param::Ipv6Address(address) => first(&mut read.address, address.into()),
                Param::CodingScheme(scheme) => first(&mut quality.coding_scheme, scheme),
                Param::NominalRate(bps) => first(&mut quality.rate, Rate::from_bps(bps)),
                Param::BlockErrorRate(ppm) => first(&mut quality.block_error_ppm, ppm),
                Param::LinkRoundTrip(delay) => first(&mut quality.round_trip, us(delay)),
                Param::LinkOneWay(delay) => first(&mut quality.one_way, us(delay)),
                Param::CellIdentity(cell) => first(&mut quality.cell, cell),
                _ => {}
            }
        }
        read.address = read.address.filter(|address| !address.is_unspecified());
        read.quality = read.quality.sane();
        read
    }
}

fn first<T>(field: &mut Option<T>, value: T) {
    field.get_or_insert(value);
}

#[cfg(test)]
mod tests {
    use msctp_wire::{Chunk, EncodeChunk};

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

    fn over_the_wire(quality: LinkQuality, number: u32, address: IpAddr) -> Received {
        let params = quality.params(number, address);
        let mut bytes = Vec::new();
        QosMeasurement { params: Params::from(&params[..]) }.encode(&mut bytes);
        let Ok(Chunk::QosMeasurement(chunk)) = Chunk::parse(&bytes) else { panic!("not the chunk") };
        Received::read(&chunk)
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        for quality in [full(), LinkQuality::default(), LinkQuality { rate: None, ..full() }] {
            for address in [IpAddr::from([10, 0, 1, 2]), "2001:db8::1".parse().unwrap()] {
                let expected = Received { number: Some(9), address: Some(address), quality };
                assert_eq!(over_the_wire(quality, 9, address), expected);
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_not_told() {
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
    fn the_first_of_each_counts_and_only_so_many_are_read() {
        let params = [Param::NominalRate(1000), Param::NominalRate(2000), Param::Ipv4Address([0; 4].into())];
        let read = Received::of(Params::from(&params));
        assert_eq!((read.quality.rate, read.address), (Some(Rate::from_bps(1000)), None));
        let mut many = vec![Param::EcnCapable; MAX_PARAMS];
        many.push(Param::CellIdentity(1));
        assert_eq!(Received::of(Params::from(&many[..])), Received::default());
        assert_eq!(Received::of(Params::from(&many[1..])).quality.cell, Some(1));
    }

    #[test]
    fn the_delay_is_the_round_trip_or_twice_one_way() {
        assert_eq!(full().delay(), Some(Span::from_millis(200)));
        assert_eq!(LinkQuality { round_trip: None, ..full() }.delay(), Some(Span::from_millis(160)));
        assert_eq!(LinkQuality::default().delay(), None);
    }
}
