//! STREAM BLOCKED, a private chunk (docs/internals/stream-credit.md).

use super::chunk;
use crate::ids::StreamId;
use crate::list::List;

/// Asks for a STREAM CREDIT: this end has more to send on these streams than their limits allow.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0xbc  |  Chunk Flags  |      Length = 4 + 2 * N       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Stream Number 1        |        Stream Number 2 ...    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBlocked<'a> {
    /// The streams.
    pub streams: List<'a, StreamId>,
}

chunk!(StreamBlocked<'a> = STREAM_BLOCKED { ..streams });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_layout() {
        let streams = [StreamId::new(1), StreamId::new(0xfffe), StreamId::new(9)];
        let chunk = StreamBlocked { streams: List::from(&streams) };
        check(&[0xbc, 0, 0, 10, 0, 1, 0xff, 0xfe, 0, 9, 0, 0], Chunk::StreamBlocked(chunk));
        let fault = Malformed::NotWhole { len: 1, unit: 2 };
        let error = ChunkError::Malformed { typ: ChunkType::STREAM_BLOCKED, fault };
        assert_eq!(malformed(&[0xbc, 0, 0, 5, 0, 0, 0, 0]), error);
    }
}
