//! FORWARD TSN (RFC 3758 §3.2).

use super::chunk;
use crate::ids::StreamId;
use crate::list::{Item, List};
use crate::read::be16;
use crate::serial::{Ssn, Tsn};

/// A stream with skipped messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SkippedStream {
    /// Stream Identifier.
    pub stream: StreamId,
    /// Largest Stream Sequence Number skipped.
    pub ssn: Ssn,
}

impl Item for SkippedStream {
    const SIZE: usize = 4;
    fn read(bytes: &[u8]) -> Self {
        Self { stream: StreamId::new(be16(bytes, 0)), ssn: Ssn::new(be16(bytes, 2)) }
    }
    fn write(self, out: &mut Vec<u8>) {
        self.stream.write(out);
        self.ssn.write(out);
    }
}

/// Advances the receiver's cumulative TSN past abandoned messages.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 192  |  Flags = 0x00 |       Length = Variable       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       New Cumulative TSN                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |            Stream-1           |       Stream Sequence-1       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               /
/// /                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |            Stream-N           |       Stream Sequence-N       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// TSN up to which all count as received.
    pub new_cum_tsn: Tsn,
    /// Ordered messages that were skipped, by stream.
    pub skipped: List<'a, SkippedStream>,
}

chunk!(ForwardTsn<'a> = FORWARD_TSN { new_cum_tsn: Tsn, ..skipped });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [0xc0, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 2, 0, 3, 0xff, 0xff];
        let skipped = [
            SkippedStream { stream: StreamId::new(1), ssn: Ssn::new(2) },
            SkippedStream { stream: StreamId::new(3), ssn: Ssn::new(65535) },
        ];
        check(
            &bytes,
            Chunk::ForwardTsn(ForwardTsn { new_cum_tsn: Tsn::new(9), skipped: List::from(&skipped) }),
        );
    }

    #[test]
    fn streams_must_be_whole() {
        let fault = Malformed::NotWhole { len: 2, unit: 4 };
        let error = ChunkError::Malformed { typ: ChunkType::FORWARD_TSN, fault };
        assert_eq!(malformed(&[0xc0, 0, 0, 10, 0, 0, 0, 9, 0, 1]), error);
        let fault = Malformed::TooShort { len: 2, min: 4 };
        let error = ChunkError::Malformed { typ: ChunkType::FORWARD_TSN, fault };
        assert_eq!(malformed(&[0xc0, 0, 0, 6, 0, 0]), error);
    }
}
