//! INIT (RFC 9260 §3.3.2).

use super::{ChunkType, EncodeChunk, put32};
use crate::error::Malformed;
use crate::ids::VerificationTag;
use crate::param::Params;
use crate::read::{at_least, be16, be32};
use crate::serial::Tsn;

/// Bytes of the fixed fields of INIT and INIT ACK.
pub(super) const FIXED: usize = 16;

/// Initiation of an association.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 1    |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         Initiate Tag                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |           Advertised Receiver Window Credit (a_rwnd)          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Number of Outbound Streams   |   Number of Inbound Streams   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          Initial TSN                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /              Optional/Variable-Length Parameters              /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// Values that the RFC forbids (tag 0, no streams, a window under 1500) are values here: the answer to them is an
/// ABORT with that tag, which is the association's affair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Init<'a> {
    /// Tag that the receiver must put into every packet it sends back; not 0.
    pub initiate_tag: VerificationTag,
    /// Receive buffer space in bytes, at least 1500.
    pub a_rwnd: u32,
    /// Streams the sender wants to send on; not 0.
    pub outbound_streams: u16,
    /// Streams the sender lets the peer send on; not 0.
    pub inbound_streams: u16,
    /// First TSN the sender will use.
    pub initial_tsn: Tsn,
    /// Parameters (RFC 9260 §3.3.2.1 and extensions).
    pub params: Params<'a>,
}

impl<'a> Init<'a> {
    pub(super) fn parse(_flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, params) = at_least(value, FIXED)?.split_at(FIXED);
        Ok(Self {
            initiate_tag: VerificationTag::new(be32(fixed, 0)),
            a_rwnd: be32(fixed, 4),
            outbound_streams: be16(fixed, 8),
            inbound_streams: be16(fixed, 10),
            initial_tsn: Tsn::new(be32(fixed, 12)),
            params: Params::from_wire(params),
        })
    }
}

impl EncodeChunk for Init<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::INIT
    }

    fn value_len(&self) -> usize {
        FIXED + self.params.encoded_len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        put32(out, self.initiate_tag.get());
        put32(out, self.a_rwnd);
        out.extend_from_slice(&self.outbound_streams.to_be_bytes());
        out.extend_from_slice(&self.inbound_streams.to_be_bytes());
        put32(out, self.initial_tsn.get());
        self.params.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, ChunkError, List, Param};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let mut bytes = [
            1, 0, 0, 34, // type, flags, length
            0x11, 0x22, 0x33, 0x44, // initiate tag
            0, 1, 0, 0, // a_rwnd
            0, 10, 0xff, 0xff, // streams out, in
            0x55, 0x66, 0x77, 0x88, // initial TSN
            0, 9, 0, 8, 0, 0, 0x03, 0xe8, // Cookie Preservative, 1000 ms
            0x80, 0x08, 0, 6, 0xc1, 0x80, 0, 0, // Supported Extensions: ASCONF, ASCONF-ACK; padding
        ];
        let params = [
            Param::CookiePreservative(1000),
            Param::SupportedExtensions(List::from(&[ChunkType::ASCONF, ChunkType::ASCONF_ACK])),
        ];
        let init = Init {
            initiate_tag: VerificationTag::new(0x1122_3344),
            a_rwnd: 65536,
            outbound_streams: 10,
            inbound_streams: 65535,
            initial_tsn: Tsn::new(0x5566_7788),
            params: Params::from(&params),
        };
        check(&bytes, Chunk::Init(init));
        // RFC 9260 §3.2: accept the chunk whether or not the final padding is in the Chunk Length.
        bytes[3] = 36;
        assert_eq!(Chunk::parse(&bytes), Ok(Chunk::Init(init)));
    }

    #[test]
    fn fixed_fields_must_fit() {
        let mut bytes = [0; 20];
        bytes[0] = 1;
        bytes[3] = 19;
        let fault = Malformed::TooShort { len: 15, min: 16 };
        assert_eq!(malformed(&bytes), ChunkError::Malformed { typ: ChunkType::INIT, fault });
    }
}
