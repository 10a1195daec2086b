//! I-DATA (RFC 8260 §2.1).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::ids::{Ppid, StreamId};
use crate::list::Item;
use crate::read::{at_least, be16, be32};
use crate::serial::{Mid, Tsn};
use crate::tlv::HEADER;

use super::data::DataFlags;

/// Length in bytes of the fixed fields of the value.
const FIXED: usize = 16;

/// Position of a fragment in its message; the B bit selects the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// The first fragment (B set), with fragment sequence number 0. Only this one has the Payload Protocol
    /// Identifier.
    First(Ppid),
    /// A later fragment. Its Fragment Sequence Number begins at 1 and wraps at 2^32.
    Later(u32),
}

/// Payload data of an association with interleaving: one message or a fragment of one.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 64   |  Res  |I|U|B|E|       Length = Variable       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                              TSN                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Stream Identifier      |           Reserved            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Message Identifier                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Payload Protocol Identifier / Fragment Sequence Number     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                           User Data                           /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IData<'a> {
    /// Transmission Sequence Number.
    pub tsn: Tsn,
    /// Stream Identifier.
    pub stream: StreamId,
    /// Message Identifier. Ordered and unordered messages of a stream are numbered separately.
    pub mid: Mid,
    /// First or later fragment.
    pub fragment: Fragment,
    /// U: deliver without reordering.
    pub unordered: bool,
    /// E: last fragment of a message.
    pub end: bool,
    /// I: requests an immediate SACK (RFC 7053).
    pub immediate: bool,
    /// User data, at least one byte.
    pub payload: &'a [u8],
}

impl<'a> IData<'a> {
    /// Bytes of an I-DATA chunk beside its user data: chunk header and fixed fields, without padding.
    pub const OVERHEAD: usize = HEADER + FIXED;

    pub(super) fn parse(flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, payload) = at_least(value, FIXED)?.split_at(FIXED);
        let tsn = Tsn::new(be32(fixed, 0));
        // As for DATA (RFC 9260 §3.3.1): "L MUST be greater than 0".
        if payload.is_empty() {
            return Err(Malformed::NoUserData { tsn });
        }
        let flags = DataFlags::from_bits(flags);
        let last = be32(fixed, 12);
        Ok(Self {
            tsn,
            stream: StreamId::new(be16(fixed, 4)),
            mid: Mid::new(be32(fixed, 8)),
            fragment: if flags.begin { Fragment::First(Ppid::new(last)) } else { Fragment::Later(last) },
            unordered: flags.unordered,
            end: flags.end,
            immediate: flags.immediate,
            payload,
        })
    }
}

impl EncodeChunk for IData<'_> {
    #[inline]
    fn chunk_type(&self) -> ChunkType {
        ChunkType::I_DATA
    }

    #[inline]
    fn flags(&self) -> u8 {
        let begin = matches!(self.fragment, Fragment::First(_));
        DataFlags { unordered: self.unordered, begin, end: self.end, immediate: self.immediate }.bits()
    }

    #[inline]
    fn value_len(&self) -> usize {
        FIXED + self.payload.len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        debug_assert!(!self.payload.is_empty(), "an I-DATA chunk must hold user data");
        self.tsn.write(out);
        (u32::from(self.stream.get()) << 16).write(out);
        self.mid.write(out);
        match self.fragment {
            Fragment::First(ppid) => ppid.write(out),
            Fragment::Later(fsn) => fsn.write(out),
        }
        out.extend_from_slice(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError};

    const BYTES: [u8; 24] =
        [64, 0x0a, 0, 23, 0xde, 0xad, 0xbe, 0xef, 0, 7, 0, 0, 1, 2, 3, 4, 0, 0, 0, 51, b'a', b'b', b'c', 0];

    fn i_data() -> IData<'static> {
        IData {
            tsn: Tsn::new(0xdead_beef),
            stream: StreamId::new(7),
            mid: Mid::new(0x0102_0304),
            fragment: Fragment::First(Ppid::new(51)),
            unordered: false,
            end: false,
            immediate: true,
            payload: b"abc",
        }
    }

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&BYTES, Chunk::IData(i_data()));
        assert_eq!(i_data().encoded_len(), IData::OVERHEAD + 3);
    }

    #[test]
    fn the_b_bit_says_what_the_last_field_is() {
        let mut bytes = BYTES;
        bytes[1] = 0x05;
        let later =
            IData { fragment: Fragment::Later(51), unordered: true, end: true, immediate: false, ..i_data() };
        check(&bytes, Chunk::IData(later));
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let mut bytes = BYTES;
        (bytes[1], bytes[10], bytes[11]) = (0xfa, 0xff, 0xff);
        assert_eq!(Chunk::parse(&bytes), Ok(Chunk::IData(i_data())));
    }

    #[test]
    fn no_user_data_names_the_tsn() {
        let mut bytes = BYTES;
        bytes[3] = 20;
        let fault = Malformed::NoUserData { tsn: Tsn::new(0xdead_beef) };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::I_DATA, fault });
    }
}
