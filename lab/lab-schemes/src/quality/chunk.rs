//! [`Report`]: the QoS_Measurement chunk, a private chunk that reports radio link quality.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 0xBE  |    Flags=0    |             Length            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                                                               \
//! /                  QoS Parameters (TLVs)                        /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The parameters have the common form (RFC 9260 §3.2.1), each at most once, in any order:
//!
//! | type | parameter | value |
//! |---|---|---|
//! | 0xbe01 | Report Number | 32 bits, increments per report |
//! | 5, 6 | IPv4 or IPv6 Address | whose link it is; none: the packet's source |
//! | 0xbe02 | Coding Scheme | technology 16 bits, scheme down 8 bits, scheme up 8 bits |
//! | 0xbe03 | Nominal Rate | 64 bits, bit/s |
//! | 0xbe04 | Block Error Rate | 32 bits, blocks per million |
//! | 0xbe05 | Link Round-Trip Time | 32 bits, µs |
//! | 0xbe06 | Link One-Way Delay | 32 bits, µs |
//! | 0xbe07 | Cell Identity | 64 bits |
//!
//! The two highest bits of the types are 10: a receiver that does not know them skips them without a report
//! (RFC 9260 §3.2).

use core::net::IpAddr;

use msctp_proto::handover::{CodingScheme, LinkQuality};
use msctp_units::{Rate, Span};
use msctp_wire::{ChunkType, Param, Params};

/// The chunk's type.
pub const QOS_MEASUREMENT: ChunkType = ChunkType(0xbe);

/// Parameters of one report that are read; more are ignored. Those defined are eight.
pub const MAX_PARAMS: usize = 32;

const REPORT_NUMBER: u16 = 0xbe01;
const CODING_SCHEME: u16 = 0xbe02;
const NOMINAL_RATE: u16 = 0xbe03;
const BLOCK_ERROR_RATE: u16 = 0xbe04;
const LINK_ROUND_TRIP: u16 = 0xbe05;
const LINK_ONE_WAY: u16 = 0xbe06;
const CELL_IDENTITY: u16 = 0xbe07;
const IPV4_ADDRESS: u16 = 5;
const IPV6_ADDRESS: u16 = 6;

/// A report of the quality of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its Report Number.
    pub number: Option<u32>,
    /// Address of the link; `None`: the source address of the packet.
    pub address: Option<IpAddr>,
    /// The quality.
    pub quality: LinkQuality,
}

fn push(value: &mut Vec<u8>, typ: u16, content: &[u8]) {
    value.extend(typ.to_be_bytes());
    value.extend((content.len() as u16 + 4).to_be_bytes());
    value.extend(content);
}

fn micros(span: Span) -> [u8; 4] {
    ((span.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32).to_be_bytes()
}

fn read_u32(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

fn read_u64(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}

fn read_micros(value: &[u8]) -> Option<Span> {
    read_u32(value).map(|us| Span::from_micros(u64::from(us)))
}

/// Keeps the first value of each parameter.
fn first<T>(field: &mut Option<T>, value: Option<T>) {
    if field.is_none() {
        *field = value;
    }
}

impl Report {
    /// Returns the value of the chunk: its parameters. All have a multiple of 4 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(76);
        let quality = &self.quality;
        if let Some(number) = self.number {
            push(&mut value, REPORT_NUMBER, &number.to_be_bytes());
        }
        match self.address {
            Some(IpAddr::V4(address)) => push(&mut value, IPV4_ADDRESS, &address.octets()),
            Some(IpAddr::V6(address)) => push(&mut value, IPV6_ADDRESS, &address.octets()),
            None => {}
        }
        if let Some(CodingScheme { technology, down, up }) = quality.coding_scheme {
            let [high, low] = technology.to_be_bytes();
            push(&mut value, CODING_SCHEME, &[high, low, down, up]);
        }
        if let Some(rate) = quality.rate {
            push(&mut value, NOMINAL_RATE, &rate.as_bps().to_be_bytes());
        }
        if let Some(ppm) = quality.block_error_ppm {
            push(&mut value, BLOCK_ERROR_RATE, &ppm.to_be_bytes());
        }
        if let Some(span) = quality.round_trip {
            push(&mut value, LINK_ROUND_TRIP, &micros(span));
        }
        if let Some(span) = quality.one_way {
            push(&mut value, LINK_ONE_WAY, &micros(span));
        }
        if let Some(cell) = quality.cell {
            push(&mut value, CELL_IDENTITY, &cell.to_be_bytes());
        }
        value
    }

    /// Reads the value of a chunk. Fields out of range count as missing, unknown, malformed and surplus
    /// parameters are skipped.
    #[must_use]
    pub fn read(value: &[u8]) -> Self {
        let mut read = Self::default();
        for param in Params::from_wire(value).iter().take(MAX_PARAMS).flatten() {
            let unknown = match param {
                Param::Ipv4Address(address) => {
                    first(&mut read.address, Some(address.into()));
                    continue;
                }
                Param::Ipv6Address(address) => {
                    first(&mut read.address, Some(address.into()));
                    continue;
                }
                Param::Unknown(unknown) => unknown,
                _ => continue,
            };
            let (value, quality) = (unknown.value(), &mut read.quality);
            match unknown.typ().0 {
                REPORT_NUMBER => first(&mut read.number, read_u32(value)),
                CODING_SCHEME => first(&mut quality.coding_scheme, coding_scheme(value)),
                NOMINAL_RATE => first(&mut quality.rate, read_u64(value).map(Rate::from_bps)),
                BLOCK_ERROR_RATE => first(&mut quality.block_error_ppm, read_u32(value)),
                LINK_ROUND_TRIP => first(&mut quality.round_trip, read_micros(value)),
                LINK_ONE_WAY => first(&mut quality.one_way, read_micros(value)),
                CELL_IDENTITY => first(&mut quality.cell, read_u64(value)),
                _ => {}
            }
        }
        read.address = read.address.filter(|address| !address.is_unspecified());
        read.quality = read.quality.sane();
        read
    }
}

fn coding_scheme(value: &[u8]) -> Option<CodingScheme> {
    let &[high, low, down, up] = value else { return None };
    Some(CodingScheme { technology: u16::from_be_bytes([high, low]), down, up })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const VALUE: [u8; 72] = [
        0xbe, 0x01, 0, 8, 0, 0, 0, 7, // Report Number
        0, 5, 0, 8, 10, 0, 1, 2, // IPv4 Address
        0xbe, 0x02, 0, 8, 0, 1, 4, 1, // Coding Scheme: GPRS, CS4 down, CS1 up
        0xbe, 0x03, 0, 12, 0, 0, 0, 0, 0, 0, 0xea, 0x60, // Nominal Rate: 60 kbit/s
        0xbe, 0x04, 0, 8, 0, 0, 0x27, 0x10, // Block Error Rate: 0.01
        0xbe, 0x05, 0, 8, 0, 3, 0x0d, 0x40, // Link Round-Trip Time: 200 ms
        0xbe, 0x06, 0, 8, 0, 1, 0x86, 0xa0, // Link One-Way Delay: 100 ms
        0xbe, 0x07, 0, 12, 0, 0, 0, 0, 0, 0, 0, 2, // Cell Identity
    ];

    fn full() -> Report {
        let quality = LinkQuality {
            coding_scheme: Some(CodingScheme { technology: CodingScheme::GPRS, down: 4, up: 1 }),
            rate: Some(Rate::from_kbps(60)),
            block_error_ppm: Some(10_000),
            round_trip: Some(Span::from_millis(200)),
            one_way: Some(Span::from_millis(100)),
            cell: Some(2),
        };
        Report { number: Some(7), address: Some([10, 0, 1, 2].into()), quality }
    }

    #[test]
    fn bytes_of_the_layout() {
        assert_eq!(full().encode(), VALUE);
        assert_eq!(Report::read(&VALUE), full());
        assert_eq!((Report::default().encode(), Report::read(&[])), (vec![], Report::default()));
        let v6 = Report { address: Some("2001:db8::1".parse().unwrap()), ..full() };
        assert_eq!(Report::read(&v6.encode()), v6);
    }

    #[test]
    fn receivers_without_it_skip_it_without_a_report() {
        let action = QOS_MEASUREMENT.unknown_action();
        assert_eq!((action.stop, action.report), (false, false));
    }

    /// A truncated report loses what was cut off and nothing before it; any bytes are read without a panic.
    #[test]
    fn every_truncation_and_every_inner_length() {
        for len in 0..VALUE.len() {
            let read = Report::read(&VALUE[..len]);
            assert_eq!(read.number.is_some(), len >= 8, "{len}");
            assert_eq!(read.quality.rate.is_some(), len >= 36, "{len}");
            assert_eq!(read.quality.cell, None, "{len}");
        }
        for start in [0, 8, 16, 24, 36, 44, 52, 60] {
            for length in 0..=u16::MAX {
                let mut altered = VALUE;
                altered[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
                assert!((Report::read(&altered) == full()) == (altered == VALUE), "{start} {length}");
            }
        }
    }

    #[test]
    fn the_first_of_each_parameter_counts_and_the_number_read_is_bounded() {
        let rate = |bps: u64| LinkQuality { rate: Some(Rate::from_bps(bps)), ..LinkQuality::default() };
        let two =
            [1000, 2000].map(|bps| Report { quality: rate(bps), ..Report::default() }.encode()).concat();
        assert_eq!(Report::read(&two).quality, rate(1000));
        let unspecified = Report { address: Some([0; 4].into()), ..Report::default() };
        assert_eq!(Report::read(&unspecified.encode()).address, None);
        let unknown = [0xbe, 0xff, 0, 4];
        let cell = &VALUE[60..];
        assert_eq!(Report::read(&[&unknown.repeat(MAX_PARAMS), cell].concat()), Report::default());
        let read = Report::read(&[&unknown.repeat(MAX_PARAMS - 1), cell].concat());
        assert_eq!(read.quality.cell, Some(2));
    }

    #[test]
    fn out_of_range_fields_count_as_missing() {
        let bad = LinkQuality { rate: Some(Rate::from_bps(u64::MAX)), ..full().quality };
        let read = Report::read(&Report { quality: bad, ..full() }.encode());
        assert_eq!(read.quality, LinkQuality { rate: None, ..full().quality });
    }
}
