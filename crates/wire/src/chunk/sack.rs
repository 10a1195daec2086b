//! SACK (RFC 9260 §3.3.4).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::list::{Item, List};
use crate::read::{at_least, be16, be32};
use crate::serial::Tsn;

/// Bytes of the fixed fields.
const FIXED: usize = 12;

/// A Gap Ack Block: offsets from the Cumulative TSN Ack of the first and the last of consecutive received
/// TSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GapBlock {
    /// Offset of the lowest TSN of the block, at least 2 in a valid SACK.
    pub start: u16,
    /// Offset of the highest TSN of the block, at least `start` in a valid SACK.
    pub end: u16,
}

impl Item for GapBlock {
    const SIZE: usize = 4;
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Self { start: be16(bytes, 0), end: be16(bytes, 2) }
    }
    #[inline]
    fn write(self, out: &mut Vec<u8>) {
        let ([s0, s1], [e0, e1]) = (self.start.to_be_bytes(), self.end.to_be_bytes());
        out.extend_from_slice(&[s0, s1, e0, e1]);
    }
}

/// Selective acknowledgement.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 3    |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Cumulative TSN Ack                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Advertised Receiver Window Credit (a_rwnd)           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Number of Gap Ack Blocks = N  |  Number of Duplicate TSNs = M |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Gap Ack Block #1 Start     |     Gap Ack Block #1 End      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                                                               /
/// \                              ...                              \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Gap Ack Block #N Start     |     Gap Ack Block #N End      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Duplicate TSN 1                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                                                               /
/// \                              ...                              \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Duplicate TSN M                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// The blocks are as the peer sent them: they may be empty, overlap, or be out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// Last TSN received before a break in the sequence.
    pub cum_tsn_ack: Tsn,
    /// Receive buffer space in bytes.
    pub a_rwnd: u32,
    /// TSNs received beyond the Cumulative TSN Ack.
    pub gap_blocks: List<'a, GapBlock>,
    /// TSNs received repeatedly since the last SACK, once for each repetition.
    pub duplicates: List<'a, Tsn>,
}

impl<'a> Sack<'a> {
    /// Length in bytes of a SACK without gap blocks and duplicates, each of which takes 4 more.
    pub const MIN_LEN: usize = crate::tlv::HEADER + FIXED;

    #[inline]
    pub(super) fn parse(_flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, lists) = at_least(value, FIXED)?.split_at(FIXED);
        let gap_bytes = usize::from(be16(fixed, 8)) * GapBlock::SIZE;
        let duplicate_bytes = usize::from(be16(fixed, 10)) * Tsn::SIZE;
        if lists.len() != gap_bytes + duplicate_bytes {
            let announced = FIXED + gap_bytes + duplicate_bytes;
            return Err(Malformed::CountMismatch { len: value.len(), announced });
        }
        let (gap_blocks, duplicates) = lists.split_at(gap_bytes);
        Ok(Self {
            cum_tsn_ack: Tsn::new(be32(fixed, 0)),
            a_rwnd: be32(fixed, 4),
            gap_blocks: List::from_wire(gap_blocks)?,
            duplicates: List::from_wire(duplicates)?,
        })
    }
}

impl EncodeChunk for Sack<'_> {
    #[inline]
    fn chunk_type(&self) -> ChunkType {
        ChunkType::SACK
    }

    #[inline]
    fn value_len(&self) -> usize {
        FIXED + self.gap_blocks.encoded_len() + self.duplicates.encoded_len()
    }

    #[inline]
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.4
    //# The SACK chunk MUST contain the Cumulative TSN Ack, Advertised Receiver Window Credit (a_rwnd),
    //# Number of Gap Ack Blocks, and Number of Duplicate TSNs fields.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.4
    //# the parameter part of the SACK chunk MUST be constructed as follows
    fn encode_value(&self, out: &mut Vec<u8>) {
        // Both counts fit when the chunk fits a packet: each entry takes 4 bytes.
        let (gaps, duplicates) = (self.gap_blocks.len() as u16, self.duplicates.len() as u16);
        let acks = u64::from(self.cum_tsn_ack.get()) << 32 | u64::from(self.a_rwnd);
        out.extend_from_slice(&acks.to_be_bytes());
        out.extend_from_slice(&(u32::from(gaps) << 16 | u32::from(duplicates)).to_be_bytes());
        self.gap_blocks.encode(out);
        self.duplicates.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError};

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.4
    //= type=test
    //# the parameter part of the SACK chunk MUST be constructed as follows
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.4
    //= type=test
    //# The SACK chunk MUST contain the Cumulative TSN Ack, Advertised Receiver Window Credit (a_rwnd),
    //# Number of Gap Ack Blocks, and Number of Duplicate TSNs fields.
    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [
            3, 0, 0, 24, // type, flags, length
            0, 0, 0, 12, // cumulative TSN ack
            0, 0, 0x12, 0x34, // a_rwnd = 4660
            0, 2, 0, 0, // two blocks, no duplicates
            0, 2, 0, 3, 0, 5, 0, 5,
        ];
        let blocks = [GapBlock { start: 2, end: 3 }, GapBlock { start: 5, end: 5 }];
        let sack = Sack {
            cum_tsn_ack: Tsn::new(12),
            a_rwnd: 4660,
            gap_blocks: List::from(&blocks),
            duplicates: List::EMPTY,
        };
        check(&bytes, Chunk::Sack(sack));
        assert_eq!(sack.encoded_len(), Sack::MIN_LEN + 8);
    }

    #[test]
    fn duplicates_follow_the_blocks() {
        let bytes = [3, 0, 0, 28, 0, 0, 0, 12, 0, 0, 0, 0, 0, 1, 0, 2, 0, 2, 0, 3, 0, 0, 0, 19, 0, 0, 0, 19];
        let duplicates = [Tsn::new(19), Tsn::new(19)];
        let sack = Sack {
            cum_tsn_ack: Tsn::new(12),
            a_rwnd: 0,
            gap_blocks: List::from(&[GapBlock { start: 2, end: 3 }]),
            duplicates: List::from(&duplicates),
        };
        check(&bytes, Chunk::Sack(sack));
    }

    #[test]
    fn counts_must_agree_with_the_length() {
        let mut bytes = [3, 0, 0, 16, 0, 0, 0, 12, 0, 0, 0, 0, 0xff, 0xff, 0, 1];
        let fault = Malformed::CountMismatch { len: 12, announced: 12 + 65536 * 4 };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::SACK, fault });
        bytes[3] = 15;
        let fault = Malformed::TooShort { len: 11, min: 12 };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::SACK, fault });
    }
}
