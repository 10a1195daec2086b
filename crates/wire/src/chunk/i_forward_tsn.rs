//! I-FORWARD-TSN (RFC 8260 §2.3.1).

use super::{ChunkType, EncodeChunk, put32};
use crate::error::Malformed;
use crate::ids::StreamId;
use crate::list::{Item, List};
use crate::read::{at_least, be16, be32};
use crate::serial::{Mid, Tsn};

/// Bytes of the fixed fields.
const FIXED: usize = 4;

/// A stream of which ordered or unordered messages were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SkippedMessages {
    /// Stream Identifier.
    pub stream: StreamId,
    /// U: it is about unordered messages.
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
        put32(out, u32::from(self.stream.get()) << 16 | u32::from(self.unordered));
        put32(out, self.mid.get());
    }
}

/// FORWARD TSN of an association with interleaving.
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
    /// TSNs up to this one count as received.
    pub new_cum_tsn: Tsn,
    /// Messages that were skipped, by stream and order.
    pub skipped: List<'a, SkippedMessages>,
}

impl<'a> IForwardTsn<'a> {
    pub(super) fn parse(_flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, skipped) = at_least(value, FIXED)?.split_at(FIXED);
        Ok(Self { new_cum_tsn: Tsn::new(be32(fixed, 0)), skipped: List::from_wire(skipped)? })
    }
}

impl EncodeChunk for IForwardTsn<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::I_FORWARD_TSN
    }

    fn value_len(&self) -> usize {
        FIXED + self.skipped.encoded_len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        put32(out, self.new_cum_tsn.get());
        self.skipped.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
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
