//! DATA (RFC 9260 §3.3.1).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::ids::{Ppid, StreamId};
use crate::read::{at_least, be16, be32};
use crate::serial::{Ssn, Tsn};
use crate::tlv::HEADER;

/// Length in bytes of the fixed fields of the value.
const FIXED: usize = 12;

const E_BIT: u8 = 0x01;
const B_BIT: u8 = 0x02;
const U_BIT: u8 = 0x04;
const I_BIT: u8 = 0x08;

/// The flags of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DataFlags {
    /// U: deliver the chunk without reordering; it has no Stream Sequence Number.
    pub unordered: bool,
    /// B: first fragment of a message.
    pub begin: bool,
    /// E: last fragment of a message.
    pub end: bool,
    /// I: requests an immediate SACK (RFC 7053).
    pub immediate: bool,
}

impl DataFlags {
    /// Flags of an unfragmented ordered message (B and E set).
    pub const UNFRAGMENTED: Self = Self { unordered: false, begin: true, end: true, immediate: false };

    /// Parses the flags. The four reserved bits are ignored.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            unordered: bits & U_BIT != 0,
            begin: bits & B_BIT != 0,
            end: bits & E_BIT != 0,
            immediate: bits & I_BIT != 0,
        }
    }

    /// Returns the Chunk Flags field.
    #[inline]
    pub const fn bits(self) -> u8 {
        (self.unordered as u8) * U_BIT
            + (self.begin as u8) * B_BIT
            + (self.end as u8) * E_BIT
            + (self.immediate as u8) * I_BIT
    }
}

/// Payload data: one message or a fragment of one.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 0    |  Res  |I|U|B|E|            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                              TSN                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Stream Identifier S      |   Stream Sequence Number n    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                  Payload Protocol Identifier                  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                 User Data (seq n of Stream S)                 /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Transmission Sequence Number.
    pub tsn: Tsn,
    /// Stream Identifier.
    pub stream: StreamId,
    /// Stream Sequence Number, which is ignored if [`DataFlags::unordered`] is set.
    pub ssn: Ssn,
    /// Payload Protocol Identifier.
    pub ppid: Ppid,
    /// Flags: unordered, begin, end, immediate.
    pub flags: DataFlags,
    /// User data, at least one byte.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Size of a DATA chunk in bytes without user data and padding.
    pub const OVERHEAD: usize = HEADER + FIXED;

    /// Returns the fixed fields, in the low 96 bits.
    #[inline]
    fn fields(&self) -> u128 {
        debug_assert!(!self.payload.is_empty(), "a DATA chunk must hold user data (RFC 9260 §3.3.1)");
        u128::from(self.tsn.get()) << 64
            | u128::from(self.stream.get()) << 48
            | u128::from(self.ssn.get()) << 32
            | u128::from(self.ppid.get())
    }

    #[inline]
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //# where L MUST be greater than 0.
    pub(super) fn parse(flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, payload) = at_least(value, FIXED)?.split_at(FIXED);
        let tsn = Tsn::new(be32(fixed, 0));
        // RFC 9260 §3.3.1: "L MUST be greater than 0".
        if payload.is_empty() {
            return Err(Malformed::NoUserData { tsn });
        }
        Ok(Self {
            tsn,
            stream: StreamId::new(be16(fixed, 4)),
            ssn: Ssn::new(be16(fixed, 6)),
            ppid: Ppid::new(be32(fixed, 8)),
            flags: DataFlags::from_bits(flags),
            payload,
        })
    }
}

impl EncodeChunk for Data<'_> {
    #[inline]
    fn chunk_type(&self) -> ChunkType {
        ChunkType::DATA
    }

    #[inline]
    fn flags(&self) -> u8 {
        self.flags.bits()
    }

    #[inline]
    fn value_len(&self) -> usize {
        FIXED + self.payload.len()
    }

    #[inline]
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //# The following format MUST be used for the DATA chunk:
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fields().to_be_bytes()[HEADER..]);
        out.extend_from_slice(self.payload);
    }

    /// Writes header and fields at once, since this is the hot path.
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let length = self.encoded_len();
        debug_assert!(
            length <= usize::from(u16::MAX),
            "DATA chunk of {length} bytes does not fit its Length field"
        );
        let header =
            u32::from_be_bytes([ChunkType::DATA.0, self.flags.bits(), 0, 0]) | u32::from(length as u16);
        out.extend_from_slice(&(u128::from(header) << 96 | self.fields()).to_be_bytes());
        out.extend_from_slice(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError};

    const BYTES: [u8; 20] =
        [0, 0x0b, 0, 19, 0xde, 0xad, 0xbe, 0xef, 0, 7, 1, 2, 0, 0, 0, 51, b'a', b'b', b'c', 0];

    fn data() -> Data<'static> {
        Data {
            tsn: Tsn::new(0xdead_beef),
            stream: StreamId::new(7),
            ssn: Ssn::new(0x0102),
            ppid: Ppid::new(51),
            flags: DataFlags { unordered: false, begin: true, end: true, immediate: true },
            payload: b"abc",
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //= type=test
    //# The following format MUST be used for the DATA chunk:
    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&BYTES, Chunk::Data(data()));
        assert_eq!(data().encoded_len(), Data::OVERHEAD + 3);
    }

    #[test]
    fn every_combination_of_flags() {
        for bits in 0..16 {
            assert_eq!(DataFlags::from_bits(bits).bits(), bits);
            assert_eq!(DataFlags::from_bits(bits | 0xf0).bits(), bits);
        }
        assert_eq!(DataFlags { unordered: true, ..DataFlags::default() }.bits(), 4);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //= type=test
    //# where L MUST be greater than 0.
    #[test]
    fn no_user_data_names_the_tsn() {
        let mut bytes = BYTES;
        bytes[3] = 16;
        let fault = Malformed::NoUserData { tsn: Tsn::new(0xdead_beef) };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::DATA, fault });
    }

    #[test]
    fn fixed_fields_must_fit() {
        let mut bytes = BYTES;
        bytes[3] = 15;
        let fault = Malformed::TooShort { len: 11, min: 12 };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::DATA, fault });
    }
}
