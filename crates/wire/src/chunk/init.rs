//! INIT (RFC 9260 §3.3.2).

use super::chunk;
use crate::ids::VerificationTag;
use crate::param::Params;
use crate::serial::Tsn;

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
/// Forbidden values (tag 0, no streams, a window below 1500) are accepted by the parser. The association
/// answers them with an ABORT that carries the tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Init<'a> {
    /// Tag that the receiver must put into every packet that it returns; not 0.
    pub initiate_tag: VerificationTag,
    /// Receive buffer space in bytes, at least 1500.
    pub a_rwnd: u32,
    /// Number of streams on which the sender wants to send; not 0.
    pub outbound_streams: u16,
    /// Number of streams on which the sender lets the peer send; not 0.
    pub inbound_streams: u16,
    /// First TSN the sender will use.
    pub initial_tsn: Tsn,
    /// Parameters (RFC 9260 §3.3.2.1 and extensions).
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1
    //# Any Type-Length-Value fields MUST be placed after the fixed-length fields.
    pub params: Params<'a>,
}

chunk!(Init<'a> = INIT {
    initiate_tag: VerificationTag,
    a_rwnd: u32,
    outbound_streams: u16,
    inbound_streams: u16,
    initial_tsn: Tsn,
    ..params
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError, List, Param};

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1
    //= type=test
    //# Any Type-Length-Value fields MUST be placed after the fixed-length fields.
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
