//! Requests and responses of RE-CONFIG (RFC 6525 §4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 13       | Parameter Length = 16 + 2 * N |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Re-configuration Request Sequence Number            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Re-configuration Response Sequence Number           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                Sender's Last Assigned TSN                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Stream Number 1 (optional)   |    Stream Number 2 (optional) |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 16       |      Parameter Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Re-configuration Response Sequence Number             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            Result                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                   Sender's Next TSN (optional)                |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Receiver's Next TSN (optional)               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 17, 18   |      Parameter Length = 12    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Re-configuration Request Sequence Number             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Number of new streams    |         Reserved              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::error::Malformed;
use crate::ids::StreamId;
use crate::layout::{Value, layout};
use crate::list::{Item, List};
use crate::read::{at_least, be16, be32, exactly};
use crate::serial::{ReconfigSerial, Tsn};

/// Value of Outgoing SSN Reset Request (RFC 6525 §4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutgoingReset<'a> {
    /// Number of this request.
    pub serial: ReconfigSerial,
    /// Number of the Incoming SSN Reset Request that it answers; else the next number expected from the peer,
    /// minus one.
    pub response_to: ReconfigSerial,
    /// The last TSN that the sender assigned.
    pub last_tsn: Tsn,
    /// Streams of the sender to reset; empty means all.
    pub streams: List<'a, StreamId>,
}

layout!(OutgoingReset<'a> { serial: ReconfigSerial, response_to: ReconfigSerial, last_tsn: Tsn, ..streams });

/// Value of Incoming SSN Reset Request (RFC 6525 §4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncomingReset<'a> {
    /// Number of this request.
    pub serial: ReconfigSerial,
    /// Streams of the receiver to reset; empty means all.
    pub streams: List<'a, StreamId>,
}

layout!(IncomingReset<'a> { serial: ReconfigSerial, ..streams });

/// Value of Re-configuration Response (RFC 6525 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigResponse {
    /// Number of the answered request.
    pub serial: ReconfigSerial,
    /// Result: one of the constants of this type.
    pub result: u32,
    /// Sender's Next TSN and Receiver's Next TSN, both or none. Present in the response to an SSN/TSN Reset
    /// Request.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

impl ReconfigResponse {
    /// Success - Nothing to do.
    pub const NOTHING_TO_DO: u32 = 0;
    /// Success - Performed.
    pub const PERFORMED: u32 = 1;
    /// Result: denied (RFC 6525 §4.4).
    pub const DENIED: u32 = 2;
    /// Error - Wrong SSN.
    pub const WRONG_SSN: u32 = 3;
    /// Error - Request already in progress.
    pub const ALREADY_IN_PROGRESS: u32 = 4;
    /// Error - Bad Sequence Number.
    pub const BAD_SEQUENCE_NUMBER: u32 = 5;
    /// In progress.
    pub const IN_PROGRESS: u32 = 6;
}

impl Value<'_> for ReconfigResponse {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let next_tsns = match at_least(value, 8)?.len() {
            8 => None,
            _ => {
                let value = exactly(value, 16)?;
                Some((Tsn::new(be32(value, 8)), Tsn::new(be32(value, 12))))
            }
        };
        Ok(Self { serial: ReconfigSerial::new(be32(value, 0)), result: be32(value, 4), next_tsns })
    }
    fn encoded_len(&self) -> usize {
        if self.next_tsns.is_some() { 16 } else { 8 }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.serial.write(out);
        self.result.write(out);
        if let Some((sender, receiver)) = self.next_tsns {
            sender.write(out);
            receiver.write(out);
        }
    }
}

/// Value of Add Outgoing Streams Request and Add Incoming Streams Request (RFC 6525 §4.5, §4.6).
///
/// The 16 reserved bits are sent as zero and ignored when received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddStreams {
    /// Number of this request.
    pub serial: ReconfigSerial,
    /// Streams to add.
    pub streams: u16,
}

impl Value<'_> for AddStreams {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let value = exactly(value, 8)?;
        Ok(Self { serial: ReconfigSerial::new(be32(value, 0)), streams: be16(value, 4) })
    }
    fn encoded_len(&self) -> usize {
        8
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.serial.write(out);
        (u32::from(self.streams) << 16).write(out);
    }
}

/// A stream that is abandoned, and the application's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamCode {
    /// The stream.
    pub stream: u16,
    /// The code, without interpretation.
    pub code: u32,
}

impl Item for StreamCode {
    const SIZE: usize = 6;

    fn read(bytes: &[u8]) -> Self {
        Self { stream: be16(bytes, 0), code: be32(bytes, 2) }
    }

    fn write(self, out: &mut Vec<u8>) {
        self.stream.write(out);
        self.code.write(out);
    }
}

/// Value of Reset Codes: why streams of a reset request are abandoned.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Parameter Type = 0xbf52   | Parameter Length = 8 + 6 * N  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Re-configuration Request Sequence Number             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Stream Number 1        |            Code 1             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Code 1 (continued)     |        Stream Number 2 ...    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResetCodes<'a> {
    /// Number of the reset request.
    pub serial: ReconfigSerial,
    /// The streams that are abandoned, of those that the request names.
    pub codes: List<'a, StreamCode>,
}

layout!(ResetCodes<'a> { serial: ReconfigSerial, ..codes });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Param;
    use crate::param::testing::{check, fault};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let streams = [StreamId::new(3), StreamId::new(0xfffe), StreamId::new(9)];
        let reset = OutgoingReset {
            serial: ReconfigSerial::new(1),
            response_to: ReconfigSerial::new(2),
            last_tsn: Tsn::new(u32::MAX),
            streams: List::from(&streams),
        };
        let bytes = [0, 13, 0, 22, 0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 255, 0, 3, 0xff, 0xfe, 0, 9, 0, 0];
        check(&bytes, Param::OutgoingReset(reset));
        let reset = IncomingReset { serial: ReconfigSerial::new(1), streams: List::from(&streams[..2]) };
        check(&[0, 14, 0, 12, 0, 0, 0, 1, 0, 3, 0xff, 0xfe], Param::IncomingReset(reset));
        check(&[0, 15, 0, 8, 0, 0, 0, 1], Param::TsnReset(ReconfigSerial::new(1)));
        let response = ReconfigResponse {
            serial: ReconfigSerial::new(1),
            result: ReconfigResponse::IN_PROGRESS,
            next_tsns: None,
        };
        check(&[0, 16, 0, 12, 0, 0, 0, 1, 0, 0, 0, 6], Param::ReconfigResponse(response));
        let response =
            ReconfigResponse { next_tsns: Some((Tsn::new(7), Tsn::new(8))), result: 1, ..response };
        check(
            &[0, 16, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 8],
            Param::ReconfigResponse(response),
        );
        let add = AddStreams { serial: ReconfigSerial::new(1), streams: 0x0102 };
        check(&[0, 17, 0, 12, 0, 0, 0, 1, 1, 2, 0, 0], Param::AddOutgoingStreams(add));
        check(&[0, 18, 0, 12, 0, 0, 0, 1, 1, 2, 0, 0], Param::AddIncomingStreams(add));
        let codes = [StreamCode { stream: 3, code: 0x0102_0304 }];
        let codes = ResetCodes { serial: ReconfigSerial::new(1), codes: List::from(&codes) };
        check(&[0xbf, 0x52, 0, 14, 0, 0, 0, 1, 0, 3, 1, 2, 3, 4, 0, 0], Param::ResetCodes(codes));
    }

    #[test]
    fn lengths_must_be_right() {
        assert_eq!(fault(&[0, 13, 0, 12, 0, 0, 0, 1, 0, 0, 0, 2]), Malformed::TooShort { len: 8, min: 12 });
        assert_eq!(fault(&[0, 14, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0]), Malformed::NotWhole { len: 1, unit: 2 });
        let half = [0, 16, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7];
        assert_eq!(fault(&half), Malformed::WrongLength { len: 12, expected: 16 });
        let half = [0xbf, 0x52, 0, 12, 0, 0, 0, 1, 0, 3, 1, 2];
        assert_eq!(fault(&half), Malformed::NotWhole { len: 4, unit: 6 });
    }
}
