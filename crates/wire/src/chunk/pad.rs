//! PAD (RFC 4820 §3).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::tlv::HEADER;

/// Enlarges a packet; the receiver discards it.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0x84  |    Flags=0    |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                          Padding Data                         /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pad {
    /// Bytes of Padding Data, at most 65,531. They are zero when sent, and ignored when received.
    pub padding_len: u16,
}

impl Pad {
    /// Returns the PAD chunk that takes `bytes` bytes in a packet; `None` unless `bytes` is a multiple of 4
    /// from 4 to 65,532.
    pub fn filling(bytes: usize) -> Option<Self> {
        let padding_len = u16::try_from(bytes.checked_sub(HEADER)?).ok()?;
        (bytes.is_multiple_of(4) && bytes <= usize::from(u16::MAX)).then_some(Self { padding_len })
    }

    pub(super) fn parse(_flags: u8, value: &[u8]) -> Result<Self, Malformed> {
        // A Chunk Length has 16 bits, so its value's length has no more.
        Ok(Self { padding_len: value.len() as u16 })
    }
}

impl EncodeChunk for Pad {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::PAD
    }

    fn value_len(&self) -> usize {
        self.padding_len.into()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.value_len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0x84, 0, 0, 4], Chunk::Pad(Pad { padding_len: 0 }));
        check(&[0x84, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0], Chunk::Pad(Pad { padding_len: 5 }));
        assert_eq!(Chunk::parse(&[0x84, 0, 0, 6, 1, 2, 3, 4]), Ok(Chunk::Pad(Pad { padding_len: 2 })));
    }

    #[test]
    fn filling_takes_exactly_that_many_bytes() {
        for bytes in [4, 8, 1480, 65532] {
            assert_eq!(Pad::filling(bytes).unwrap().padded_len(), bytes);
        }
        for bytes in [0, 3, 5, 65536, usize::MAX] {
            assert_eq!(Pad::filling(bytes), None, "{bytes}");
        }
    }
}
