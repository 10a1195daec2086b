//! The Chunk Type field.

use crate::unknown::UnknownAction;

code_field! {
    /// Chunk Type (RFC 9260 §3.2, table 1, and the extensions' own registrations).
    ChunkType(u8), "type {:#04x}";
    /// RFC 9260 §3.3.1.
    DATA = 0, "DATA";
    /// RFC 9260 §3.3.2.
    INIT = 1, "INIT";
    /// RFC 9260 §3.3.3.
    INIT_ACK = 2, "INIT ACK";
    /// RFC 9260 §3.3.4.
    SACK = 3, "SACK";
    /// RFC 9260 §3.3.5.
    HEARTBEAT = 4, "HEARTBEAT";
    /// RFC 9260 §3.3.6.
    HEARTBEAT_ACK = 5, "HEARTBEAT ACK";
    /// RFC 9260 §3.3.7.
    ABORT = 6, "ABORT";
    /// RFC 9260 §3.3.8.
    SHUTDOWN = 7, "SHUTDOWN";
    /// RFC 9260 §3.3.9.
    SHUTDOWN_ACK = 8, "SHUTDOWN ACK";
    /// RFC 9260 §3.3.10.
    ERROR = 9, "ERROR";
    /// RFC 9260 §3.3.11.
    COOKIE_ECHO = 10, "COOKIE ECHO";
    /// RFC 9260 §3.3.12.
    COOKIE_ACK = 11, "COOKIE ACK";
    /// Reserved by RFC 9260 §3.2.
    ECNE = 12, "ECNE";
    /// Reserved by RFC 9260 §3.2.
    CWR = 13, "CWR";
    /// RFC 9260 §3.3.13.
    SHUTDOWN_COMPLETE = 14, "SHUTDOWN COMPLETE";
    /// RFC 4895 §5.1.
    AUTH = 0x0f, "AUTH";
    /// RFC 8260 §2.1.
    I_DATA = 0x40, "I-DATA";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.2.
    DTLS = 0x41, "DTLS";
    /// RFC 5061 §4.1.2.
    ASCONF_ACK = 0x80, "ASCONF-ACK";
    /// RFC 6525 §3.1.
    RE_CONFIG = 0x82, "RE-CONFIG";
    /// RFC 4820 §3.
    PAD = 0x84, "PAD";
    /// RFC 3758 §3.2.
    FORWARD_TSN = 0xc0, "FORWARD TSN";
    /// RFC 5061 §4.1.1.
    ASCONF = 0xc1, "ASCONF";
    /// RFC 8260 §2.3.1.
    I_FORWARD_TSN = 0xc2, "I-FORWARD-TSN";
    /// Private (docs/internals/path-cost.md); a receiver that does not know it skips it without a report.
    PATH_COST = 0xbb, "PATH COST";
    /// Private (docs/internals/stream-credit.md); a receiver that does not know it skips it without a report.
    STREAM_BLOCKED = 0xbc, "STREAM BLOCKED";
    /// Private (docs/internals/stream-credit.md); a receiver that does not know it skips it without a report.
    STREAM_CREDIT = 0xbd, "STREAM CREDIT";
}

impl ChunkType {
    /// Returns how a receiver that does not know the type treats the chunk (RFC 9260 §3.2, table 2).
    pub const fn unknown_action(self) -> UnknownAction {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# the receiver that does not understand this chunk MUST skip the chunk and continue processing
        UnknownAction::of_highest_byte(self.0)
    }

    /// Returns whether the chunk must not be bundled with any other chunk (RFC 9260 §3;
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
    pub const fn must_be_alone(self) -> bool {
        matches!(self, Self::INIT | Self::INIT_ACK | Self::SHUTDOWN_COMPLETE | Self::DTLS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_four_chunks_must_be_alone() {
        let alone: Vec<_> = (0..=255).map(ChunkType).filter(|typ| typ.must_be_alone()).collect();
        let expected = [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::DTLS];
        assert_eq!(alone, expected);
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
    //= type=test
    //# the receiver that does not understand this chunk MUST skip the chunk and continue processing
    #[test]
    fn extension_types_encode_the_unknown_action() {
        // RFC 5061 §4.1.1: skip and report; RFC 4820 §3: skip; RFC 4895 §5: discard it and all that follow.
        assert_eq!(ChunkType::ASCONF.unknown_action(), UnknownAction { stop: false, report: true });
        assert_eq!(ChunkType::PAD.unknown_action(), UnknownAction { stop: false, report: false });
        assert_eq!(ChunkType::AUTH.unknown_action(), UnknownAction { stop: true, report: false });
        // draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.2: discard it and all that follow, and report.
        assert_eq!(ChunkType::DTLS.unknown_action(), UnknownAction { stop: true, report: true });
        assert_eq!(ChunkType::FORWARD_TSN.unknown_action(), UnknownAction { stop: false, report: true });
        for private in [ChunkType::PATH_COST, ChunkType::STREAM_BLOCKED, ChunkType::STREAM_CREDIT] {
            assert_eq!(private.unknown_action(), UnknownAction { stop: false, report: false });
        }
    }

    #[test]
    fn names() {
        assert_eq!(ChunkType(0xc1).to_string(), "ASCONF");
        assert_eq!(ChunkType(0x55).to_string(), "type 0x55");
    }
}
