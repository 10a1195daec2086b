//! STREAM CREDIT, a private chunk (docs/internals/stream-credit.md).

use super::chunk;
use crate::list::{Item, List};
use crate::read::{be16, be32};

/// A stream and how much may be sent on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamLimit {
    /// The stream.
    pub stream: u16,
    /// Number of bytes that may be sent on the stream since the association began, modulo 2^32.
    pub limit: u32,
}

impl Item for StreamLimit {
    const SIZE: usize = 6;

    fn read(bytes: &[u8]) -> Self {
        Self { stream: be16(bytes, 0), limit: be32(bytes, 2) }
    }

    fn write(self, out: &mut Vec<u8>) {
        self.stream.write(out);
        self.limit.write(out);
    }
}

/// Announces how much the peer may send on streams.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0xbd  |  Chunk Flags  |      Length = 8 + 6 * N       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                    Limit of all first bytes                   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Stream Number 1        |            Limit 1            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Limit 1 (continued)      |        Stream Number 2 ...    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamCredit<'a> {
    /// Number of bytes that may be sent of the first bytes of all streams together, modulo 2^32: those up to
    /// the limit that a stream has before a STREAM CREDIT lists it.
    pub firsts: u32,
    /// Streams with a limit of their own.
    pub limits: List<'a, StreamLimit>,
}

impl StreamCredit<'_> {
    /// Length in bytes of a chunk without limits of streams, header included.
    pub const MIN_LEN: usize = 8;
}

chunk!(StreamCredit<'a> = STREAM_CREDIT { firsts: u32, ..limits });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_layout() {
        let limits = [StreamLimit { stream: 3, limit: 0x0102_0304 }];
        let chunk = StreamCredit { firsts: 0x0002_0000, limits: List::from(&limits) };
        let bytes = [0xbd, 0, 0, 14, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 0, 0];
        check(&bytes, Chunk::StreamCredit(chunk));
        let alone = StreamCredit { firsts: 7, limits: List::from(&[]) };
        check(&[0xbd, 0, 0, 8, 0, 0, 0, 7], Chunk::StreamCredit(alone));
    }

    #[test]
    fn limits_must_be_whole() {
        let fault = |fault| ChunkError::Malformed { typ: ChunkType::STREAM_CREDIT, fault };
        let half = malformed(&[0xbd, 0, 0, 12, 0, 0, 0, 7, 0, 1, 0, 0]);
        assert_eq!(half, fault(Malformed::NotWhole { len: 4, unit: 6 }));
        let short = malformed(&[0xbd, 0, 0, 6, 0, 0, 0, 0]);
        assert_eq!(short, fault(Malformed::TooShort { len: 2, min: 4 }));
    }
}
