//! SHUTDOWN ACK (RFC 9260 §3.3.9).

use super::chunk;

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

chunk!(ShutdownAck = SHUTDOWN_ACK {});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[8, 0, 0, 4], Chunk::ShutdownAck(ShutdownAck));
        assert_eq!(Chunk::parse(&[8, 0xff, 0, 4]), Ok(Chunk::ShutdownAck(ShutdownAck)), "flags are ignored");
    }

    #[test]
    fn the_value_is_empty() {
        let fault = Malformed::WrongLength { len: 4, expected: 0 };
        let error = ChunkError::Malformed { typ: ChunkType::SHUTDOWN_ACK, fault };
        assert_eq!(malformed(&[8, 0, 0, 8, 0, 0, 0, 0]), error);
    }
}
