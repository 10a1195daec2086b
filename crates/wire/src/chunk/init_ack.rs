//! INIT ACK (RFC 9260 §3.3.3).

use super::chunk;
use crate::ids::VerificationTag;
use crate::param::{Param, Params};
use crate::serial::Tsn;

/// Answer to an INIT; carries the State Cookie.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 2    |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         Initiate Tag                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |               Advertised Receiver Window Credit               |
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitAck<'a> {
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
    /// Parameters; the State Cookie is mandatory (RFC 9260 §3.3.3.1).
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1
    //# Any Type-Length-Value fields MUST be placed after the fixed-length fields.
    pub params: Params<'a>,
}

chunk!(InitAck<'a> = INIT_ACK {
    initiate_tag: VerificationTag,
    a_rwnd: u32,
    outbound_streams: u16,
    inbound_streams: u16,
    initial_tsn: Tsn,
    ..params
});

impl<'a> InitAck<'a> {
    /// Returns the State Cookie, if a well-formed one precedes any framing error.
    pub fn state_cookie(&self) -> Option<&'a [u8]> {
        self.params.find(|param| match param {
            Param::StateCookie(cookie) => Some(cookie),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::check;

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1
    //= type=test
    //# Any Type-Length-Value fields MUST be placed after the fixed-length fields.
    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [
            2, 0, 0, 27, // type, flags, length
            0x11, 0x22, 0x33, 0x44, // initiate tag
            0, 0, 0x05, 0xdc, // a_rwnd
            0, 1, 0, 2, // streams out, in
            0, 0, 0, 9, // initial TSN
            0, 7, 0, 7, 0xaa, 0xbb, 0xcc, 0, // State Cookie, padding
        ];
        let params = [Param::StateCookie(&[0xaa, 0xbb, 0xcc])];
        let init_ack = InitAck {
            initiate_tag: VerificationTag::new(0x1122_3344),
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 2,
            initial_tsn: Tsn::new(9),
            params: Params::from(&params),
        };
        check(&bytes, Chunk::InitAck(init_ack));
        assert_eq!(init_ack.state_cookie(), Some(&[0xaa, 0xbb, 0xcc][..]));
        assert_eq!(InitAck { params: Params::EMPTY, ..init_ack }.state_cookie(), None);
    }
}
