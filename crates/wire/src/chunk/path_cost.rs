//! PATH COST, a private chunk (docs/internals/path-cost.md).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::read::{at_least, be32};

const BACKUP: u8 = 0x01;
const METERED: u8 = 0x02;

/// Says what packets to and from one of the sender's addresses cost it.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0xbb  |  Reserved |M|B|           Length = 8          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            Version                            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCost {
    /// B bit: use the address only while none without the bit works.
    pub backup: bool,
    /// M bit: the sender pays by the byte.
    pub metered: bool,
    /// Number of changes of the sender's costs so far; the chunk with the highest is the latest.
    pub version: u32,
}

impl PathCost {
    pub(super) fn parse(flags: u8, value: &[u8]) -> Result<Self, Malformed> {
        at_least(value, 4)?;
        Ok(Self { backup: flags & BACKUP != 0, metered: flags & METERED != 0, version: be32(value, 0) })
    }
}

impl EncodeChunk for PathCost {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::PATH_COST
    }

    fn flags(&self) -> u8 {
        (u8::from(self.backup) * BACKUP) | (u8::from(self.metered) * METERED)
    }

    fn value_len(&self) -> usize {
        4
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend(self.version.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_layout() {
        let cost = |backup, metered| Chunk::PathCost(PathCost { backup, metered, version: 0x0102_0304 });
        check(&[0xbb, 0, 0, 8, 1, 2, 3, 4], cost(false, false));
        check(&[0xbb, 1, 0, 8, 1, 2, 3, 4], cost(true, false));
        check(&[0xbb, 2, 0, 8, 1, 2, 3, 4], cost(false, true));
        let fault = Malformed::TooShort { len: 3, min: 4 };
        let error = ChunkError::Malformed { typ: ChunkType::PATH_COST, fault };
        assert_eq!(malformed(&[0xbb, 0, 0, 7, 1, 2, 3, 0]), error);
    }
}
