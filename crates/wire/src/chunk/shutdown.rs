//! SHUTDOWN (RFC 9260 §3.3.8).

use super::chunk;
use crate::serial::Tsn;

/// Begins the graceful close.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 7   |  Chunk Flags  |           Length = 8          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Cumulative TSN Ack                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// Last TSN received before a break in the sequence.
    pub cum_tsn_ack: Tsn,
}

chunk!(Shutdown = SHUTDOWN { cum_tsn_ack: Tsn });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let chunk = Shutdown { cum_tsn_ack: Tsn::new(0x0102_0304) };
        check(&[7, 0, 0, 8, 1, 2, 3, 4], Chunk::Shutdown(chunk));
    }

    #[test]
    fn the_value_is_one_number() {
        for len in [3, 5] {
            let fault = Malformed::WrongLength { len: len.into(), expected: 4 };
            let error = ChunkError::Malformed { typ: ChunkType::SHUTDOWN, fault };
            assert_eq!(malformed(&[7, 0, 0, 4 + len, 0, 0, 0, 0, 0]), error);
        }
    }
}
