//! ASCONF-ACK (RFC 5061 §4.1.2).

use super::chunk;
use crate::param::Params;
use crate::serial::AsconfSerial;

/// Answers an ASCONF.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0x80  |  Chunk Flags  |          Chunk Length         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Sequence Number                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                  ASCONF Parameter Response#1                  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                              ....                             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                  ASCONF Parameter Response#N                  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AsconfAck<'a> {
    /// Sequence Number of the ASCONF being answered.
    pub serial: AsconfSerial,
    /// Success Indications and Error Cause Indications. A request without a response succeeded.
    pub responses: Params<'a>,
}

chunk!(AsconfAck<'a> = ASCONF_ACK { serial: AsconfSerial, ..responses });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::param::ErrorCauseIndication;
    use crate::{Cause, Causes, Chunk, ChunkError, CorrelationId, Param};

    #[test]
    fn the_example_of_the_rfc() {
        let delete = [0xc0, 0x02, 0, 16, 0x01, 0x02, 0x34, 0x76, 0, 5, 0, 8, 192, 0, 2, 1];
        let mut bytes = vec![
            0x80, 0, 0, 44, // type, flags, length
            0, 0, 0, 7, // sequence number
            0xc0, 0x05, 0, 8, 1, 2, 3, 4, // Success Indication
            0xc0, 0x03, 0, 28, 0x01, 0x02, 0x34, 0x76, // Error Cause Indication
            0, 0xa0, 0, 20, // Request to Delete Last Remaining IP Address
        ];
        bytes.extend_from_slice(&delete);
        let causes = [Cause::DeleteLastAddress(&delete)];
        let responses = [
            Param::SuccessIndication(CorrelationId::new(0x0102_0304)),
            Param::ErrorCauseIndication(ErrorCauseIndication {
                correlation_id: CorrelationId::new(0x0102_3476),
                causes: Causes::from(&causes),
            }),
        ];
        let ack = AsconfAck { serial: AsconfSerial::new(7), responses: Params::from(&responses) };
        check(&bytes, Chunk::AsconfAck(ack));
        check(&[0x80, 0, 0, 8, 0, 0, 0, 7], Chunk::AsconfAck(AsconfAck { responses: Params::EMPTY, ..ack }));
    }

    #[test]
    fn fixed_fields_must_fit() {
        let fault = Malformed::TooShort { len: 0, min: 4 };
        assert_eq!(malformed(&[0x80, 0, 0, 4]), ChunkError::Malformed { typ: ChunkType::ASCONF_ACK, fault });
    }
}
