//! SHUTDOWN ACK (RFC 9260 §3.3.9).

use super::{ChunkType, EncodeChunk, no_value};
use crate::error::Malformed;

/// Acknowledges a SHUTDOWN at the end of the shutdown.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 8   |  Chunk Flags  |           Length = 4          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ShutdownAck;

impl ShutdownAck {
    pub(super) fn parse(_flags: u8, value: &[u8]) -> Result<Self, Malformed> {
        no_value(value).map(|()| Self)
    }
}

impl EncodeChunk for ShutdownAck {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::SHUTDOWN_ACK
    }

    fn value_len(&self) -> usize {
        0
    }

    fn encode_value(&self, _out: &mut Vec<u8>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[8, 0, 0, 4], Chunk::ShutdownAck(ShutdownAck));
        assert_eq!(Chunk::parse(&[8, 0xff, 0, 4]), Ok(Chunk::ShutdownAck(ShutdownAck)), "flags are ignored");
    }

    #[test]
    fn there_is_no_value() {
        let fault = Malformed::WrongLength { len: 4, expected: 0 };
        let error = ChunkError::Malformed { typ: ChunkType::SHUTDOWN_ACK, fault };
        assert_eq!(malformed(&[8, 0, 0, 8, 0, 0, 0, 0]), error);
    }
}
