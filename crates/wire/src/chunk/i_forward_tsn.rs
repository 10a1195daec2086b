//! I-FORWARD-TSN (RFC 8260 §2.3.1).

use super::chunk;
use crate::ids::StreamId;
use crate::list::{Item, List};
use crate::read::{be16, be32};
use crate::serial::{Mid, Tsn};

/// A stream with skipped ordered or unordered messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SkippedMessages {
    /// Stream Identifier.
    pub stream: StreamId,
    /// U: the skipped messages are unordered.
    pub unordered: bool,
    /// Largest Message Identifier skipped.
    pub mid: Mid,
}

/// The 15 reserved bits are zero when sent and ignored when received.
impl Item for SkippedMessages {
    const SIZE: usize = 8;
    fn read(bytes: &[u8]) -> Self {
        Self {
            stream: StreamId::new(be16(bytes, 0)),
            unordered: be16(bytes, 2) & 1 != 0,
            mid: Mid::new(be32(bytes, 4)),
        }
    }
    fn write(self, out: &mut Vec<u8>) {
        self.stream.write(out);
        u16::from(self.unordered).write(out);
        self.mid.write(out);
    }
}

/// FORWARD TSN for an association that interleaves messages.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 194  | Flags = 0x00  |      Length = Variable        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       New Cumulative TSN                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       Stream Identifier       |          Reserved           |U|
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Message Identifier                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IForwardTsn<'a> {
    /// TSN up to which all count as received.
    pub new_cum_tsn: Tsn,
    /// Messages that were skipped, by stream and order.
    pub skipped: List<'a, SkippedMessages>,
}

chunk!(IForwardTsn<'a> = I_FORWARD_TSN { new_cum_tsn: Tsn, ..skipped });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [0xc2, 0, 0, 24, 0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0xff, 0xff, 0xff, 0xff];
        let skipped = [
            SkippedMessages { stream: StreamId::new(1), unordered: false, mid: Mid::new(2) },
            SkippedMessages { stream: StreamId::new(3), unordered: true, mid: Mid::new(u32::MAX) },
        ];
        let chunk = IForwardTsn { new_cum_tsn: Tsn::new(9), skipped: List::from(&skipped) };
        check(&bytes, Chunk::IForwardTsn(chunk));
    }

    #[test]
    fn streams_must_be_whole() {
        let fault = Malformed::NotWhole { len: 4, unit: 8 };
        let error = ChunkError::Malformed { typ: ChunkType::I_FORWARD_TSN, fault };
        assert_eq!(malformed(&[0xc2, 0, 0, 12, 0, 0, 0, 9, 0, 1, 0, 0]), error);
    }
}
