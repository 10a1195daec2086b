//! SHUTDOWN COMPLETE (RFC 9260 §3.3.13).

use super::{ChunkType, EncodeChunk, T_BIT};
use crate::error::Malformed;
use crate::read::exactly;

/// Acknowledges a SHUTDOWN ACK: the association is gone.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 14   |  Reserved   |T|           Length = 4          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ShutdownComplete {
    /// T bit: the Verification Tag is that of the packet being answered, not the one that the peer expects.
    pub tag_reflected: bool,
}

impl ShutdownComplete {
    pub(super) fn parse(flags: u8, value: &[u8]) -> Result<Self, Malformed> {
        exactly(value, 0).map(|_| Self { tag_reflected: flags & T_BIT != 0 })
    }
}

impl EncodeChunk for ShutdownComplete {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::SHUTDOWN_COMPLETE
    }

    fn flags(&self) -> u8 {
        u8::from(self.tag_reflected) * T_BIT
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
        check(&[14, 0, 0, 4], Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: false }));
        check(&[14, 1, 0, 4], Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: true }));
    }

    #[test]
    fn the_value_is_empty() {
        let fault = Malformed::WrongLength { len: 1, expected: 0 };
        let error = ChunkError::Malformed { typ: ChunkType::SHUTDOWN_COMPLETE, fault };
        assert_eq!(malformed(&[14, 0, 0, 5, 0]), error);
    }
}
