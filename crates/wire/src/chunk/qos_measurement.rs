//! QoS_Measurement: a private chunk that reports radio link quality. Not defined by an RFC.

use core::net::IpAddr;

use super::chunk;
use crate::param::{Param, Params};

/// Reports the quality of the radio link below one of the sender's addresses.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0xBE  |    Flags=0    |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                  QoS Parameters (TLVs)                        /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// The parameters have the common form (RFC 9260 §3.2.1), each at most once, in any order. They are Report
/// Number, IPv4 or IPv6 Address (of the link), Coding Scheme, Nominal Rate, Block Error Rate, Link Round-Trip
/// Time, Link One-Way Delay and Cell Identity. A receiver skips unknown ones.
///
/// The type's two highest bits are 10: a receiver that does not know the chunk skips it and does not report
/// it (RFC 9260 §3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosMeasurement<'a> {
    /// The report.
    pub params: Params<'a>,
}

chunk!(QosMeasurement<'a> = QOS_MEASUREMENT { ..params });

impl<'a> QosMeasurement<'a> {
    /// The address whose link is reported, if it is named before a framing error.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.params.find(|param| param.address())
    }

    /// The Report Number, if there is one before a framing error.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.params.find(|param| match param {
            Param::ReportNumber(number) => Some(number),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::param::{CodingScheme, UnknownParam};
    use crate::unknown::UnknownAction;
    use crate::{Chunk, ChunkError, FramingError, ParamError};

    #[rustfmt::skip]
    const BYTES: [u8; 76] = [
        0xbe, 0, 0, 76, // type, flags, length
        0xbe, 0x01, 0, 8, 0, 0, 0, 7, // Report Number
        0, 5, 0, 8, 10, 0, 1, 2, // IPv4 Address
        0xbe, 0x02, 0, 8, 0, 1, 4, 1, // Coding Scheme: GPRS, CS4 down, CS1 up
        0xbe, 0x03, 0, 12, 0, 0, 0, 0, 0, 0, 0xea, 0x60, // Nominal Rate: 60 kbit/s
        0xbe, 0x04, 0, 8, 0, 0, 0x27, 0x10, // Block Error Rate: 0.01
        0xbe, 0x05, 0, 8, 0, 3, 0x0d, 0x40, // Link Round-Trip Time: 200 ms
        0xbe, 0x06, 0, 8, 0, 1, 0x86, 0xa0, // Link One-Way Delay: 100 ms
        0xbe, 0x07, 0, 12, 0, 0, 0, 0, 0, 0, 0, 2, // Cell Identity
    ];

    fn params() -> [Param<'static>; 8] {
        [
            Param::ReportNumber(7),
            Param::Ipv4Address(Ipv4Addr::new(10, 0, 1, 2)),
            Param::CodingScheme(CodingScheme { technology: 1, down: 4, up: 1 }),
            Param::NominalRate(60_000),
            Param::BlockErrorRate(10_000),
            Param::LinkRoundTrip(200_000),
            Param::LinkOneWay(100_000),
            Param::CellIdentity(2),
        ]
    }

    #[test]
    fn bytes_of_the_layout() {
        let params = params();
        let chunk = QosMeasurement { params: Params::from(&params) };
        check(&BYTES, Chunk::QosMeasurement(chunk));
        assert_eq!(chunk.address(), Some(Ipv4Addr::new(10, 0, 1, 2).into()));
        assert_eq!(chunk.number(), Some(7));
        check(&[0xbe, 0, 0, 4], Chunk::QosMeasurement(QosMeasurement { params: Params::EMPTY }));
    }

    #[test]
    fn receivers_without_it_skip_it_without_a_report() {
        let action = UnknownAction { stop: false, report: false };
        assert_eq!(ChunkType::QOS_MEASUREMENT.unknown_action(), action);
        assert_eq!(ChunkType::QOS_MEASUREMENT.to_string(), "QoS_Measurement");
        for param in params().iter().filter(|param| param.address().is_none()) {
            assert_eq!(param.typ().unknown_action(), action, "{:?}", param.typ());
        }
    }

    #[test]
    fn unknown_inner_parameters_are_skipped() {
        let bytes = [0xbe, 0, 0, 20, 0xbe, 0xff, 0, 6, 9, 9, 0, 0, 0xbe, 0x01, 0, 8, 0, 0, 0, 3];
        let unknown = UnknownParam::new(&bytes[4..12]).unwrap();
        let params = [Param::Unknown(unknown), Param::ReportNumber(3)];
        let chunk = QosMeasurement { params: Params::from(&params) };
        check(&bytes, Chunk::QosMeasurement(chunk));
        assert_eq!((chunk.number(), chunk.address()), (Some(3), None));
    }

    /// Every cut of the chunk and every value of each Length field is a value or a typed error, here those
    /// inside too.
    #[test]
    fn every_truncation_and_every_inner_length() {
        for len in 0..BYTES.len() {
            assert!(matches!(malformed(&BYTES[..len]), ChunkError::Framing(_)), "{len}");
            // As long as its header says: the parameters are cut instead.
            let Some(length) = u16::try_from(len).ok().filter(|len| *len >= 4) else { continue };
            let mut cut = BYTES[..len].to_vec();
            cut[2..4].copy_from_slice(&length.to_be_bytes());
            let Ok(Chunk::QosMeasurement(chunk)) = Chunk::parse(&cut) else { panic!("{len}") };
            let starts = [4, 12, 20, 28, 40, 48, 56, 64];
            let errors = chunk.params.iter().filter(Result::is_err).count();
            assert_eq!(errors, usize::from(!starts.contains(&len)), "{len}");
        }
        let mut altered = BYTES;
        for start in [4, 12, 20, 28, 40, 48, 56, 64] {
            for length in 0..=u16::MAX {
                altered[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
                let Ok(Chunk::QosMeasurement(chunk)) = Chunk::parse(&altered) else { panic!("{start}") };
                let read = chunk.params.iter().nth(starts_before(start)).expect("an item");
                if altered == BYTES {
                    assert_eq!(read, Ok(params()[starts_before(start)]));
                } else {
                    let error = read.expect_err("a wrong length");
                    let framing = usize::from(length) < 4 || usize::from(length) > BYTES.len() - start;
                    assert_eq!(matches!(error, ParamError::Framing(_)), framing, "{start} {length}: {error}");
                }
            }
            altered = BYTES;
        }
    }

    fn starts_before(start: usize) -> usize {
        [4, 12, 20, 28, 40, 48, 56, 64].iter().filter(|&&other| other < start).count()
    }

    #[test]
    fn a_parameter_cut_off_by_the_chunk() {
        let bytes = [0xbe, 0, 0, 10, 0xbe, 0x01, 0, 8, 0, 0, 0, 0];
        let Ok(Chunk::QosMeasurement(chunk)) = Chunk::parse(&bytes) else { panic!("not parsed") };
        let error = FramingError::LengthTooLong { typ: 0xbe01, length: 8, left: 6 };
        assert!(chunk.params.iter().eq([Err(ParamError::Framing(error))]));
        assert_eq!((chunk.number(), chunk.address()), (None, None));
    }
}
