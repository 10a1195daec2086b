//! Extensions announced in INIT and INIT ACK.
//!
//! Supported Extensions (RFC 5061 §4.2.7), Adaptation Layer Indication (RFC 5061 §4.2.6),
//! Forward-TSN-Supported (RFC 3758 §3.1), ECN Capable (reserved by RFC 9260 §3.3.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8008   |      Parameter Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | CHUNK TYPE 1  |  CHUNK TYPE 2 |  CHUNK TYPE 3 |  CHUNK TYPE 4 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                             ....                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type = 0xC006          |    Length = 8                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                   Adaptation Code point                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 49152     |  Parameter Length = 4         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::chunk::ChunkType;
    use crate::error::Malformed;
    use crate::list::List;
    use crate::param::Param;
    use crate::param::testing::{check, fault};

    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
    //= type=test
    //# Note: The length MUST NOT include any padding.
    #[test]
    fn bytes_of_the_rfc_layout() {
        let types = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::AUTH];
        check(&[0x80, 0x08, 0, 7, 0xc1, 0x80, 0x0f, 0], Param::SupportedExtensions(List::from(&types)));
        check(&[0xc0, 0x06, 0, 8, 0xde, 0xad, 0xbe, 0xef], Param::AdaptationLayerIndication(0xdead_beef));
        check(&[0xc0, 0x00, 0, 4], Param::ForwardTsnSupported);
        check(&[0x80, 0x00, 0, 4], Param::EcnCapable);
    }

    #[test]
    fn markers_have_no_value() {
        assert_eq!(fault(&[0xc0, 0x00, 0, 8, 0, 0, 0, 0]), Malformed::WrongLength { len: 4, expected: 0 });
    }
}
