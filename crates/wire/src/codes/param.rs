//! The Parameter Type field.

use crate::unknown::UnknownAction;

code_field! {
    /// Parameter Type (RFC 9260 §3.2.1, tables 6 and 8 to 10, and the extensions' own registrations).
    ParamType(u16), "type {:#06x}";
    /// RFC 9260 §3.3.5.
    HEARTBEAT_INFO = 1, "Heartbeat Info";
    /// RFC 9260 §3.3.2.1.1.
    IPV4_ADDRESS = 5, "IPv4 Address";
    /// RFC 9260 §3.3.2.1.2.
    IPV6_ADDRESS = 6, "IPv6 Address";
    /// RFC 9260 §3.3.3.1.1.
    STATE_COOKIE = 7, "State Cookie";
    /// RFC 9260 §3.3.3.1.2.
    UNRECOGNIZED_PARAMETER = 8, "Unrecognized Parameter";
    /// RFC 9260 §3.3.2.1.3.
    COOKIE_PRESERVATIVE = 9, "Cookie Preservative";
    /// RFC 9260 §3.3.2.1.4.
    HOST_NAME = 11, "Host Name Address";
    /// RFC 9260 §3.3.2.1.5.
    SUPPORTED_ADDRESS_TYPES = 12, "Supported Address Types";
    /// RFC 6525 §4.1.
    OUTGOING_RESET = 13, "Outgoing SSN Reset Request";
    /// RFC 6525 §4.2.
    INCOMING_RESET = 14, "Incoming SSN Reset Request";
    /// RFC 6525 §4.3.
    TSN_RESET = 15, "SSN/TSN Reset Request";
    /// RFC 6525 §4.4.
    RECONFIG_RESPONSE = 16, "Re-configuration Response";
    /// RFC 6525 §4.5.
    ADD_OUTGOING_STREAMS = 17, "Add Outgoing Streams Request";
    /// RFC 6525 §4.6.
    ADD_INCOMING_STREAMS = 18, "Add Incoming Streams Request";
    /// RFC 9260 §3.3.2, table 6.
    ECN_CAPABLE = 0x8000, "ECN Capable";
    /// RFC 9653 §4.
    ZERO_CHECKSUM_ACCEPTABLE = 0x8001, "Zero Checksum Acceptable";
    /// RFC 4895 §3.1.
    RANDOM = 0x8002, "RANDOM";
    /// RFC 4895 §3.2.
    CHUNK_LIST = 0x8003, "CHUNKS";
    /// RFC 4895 §3.3.
    HMAC_ALGO = 0x8004, "HMAC-ALGO";
    /// RFC 4820 §4.
    PADDING = 0x8005, "Padding";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.1.
    DTLS_KEY_MANAGEMENT = 0x8006, "DTLS Key Management";
    /// RFC 5061 §4.2.7.
    SUPPORTED_EXTENSIONS = 0x8008, "Supported Extensions";
    /// Of this project: application error codes of reset streams.
    RESET_CODES = 0xbf52, "Reset Codes";
    /// RFC 3758 §3.1.
    FORWARD_TSN_SUPPORTED = 0xc000, "Forward-TSN-Supported";
    /// RFC 5061 §4.2.1.
    ADD_IP_ADDRESS = 0xc001, "Add IP Address";
    /// RFC 5061 §4.2.2.
    DELETE_IP_ADDRESS = 0xc002, "Delete IP Address";
    /// RFC 5061 §4.2.3.
    ERROR_CAUSE_INDICATION = 0xc003, "Error Cause Indication";
    /// RFC 5061 §4.2.4.
    SET_PRIMARY_ADDRESS = 0xc004, "Set Primary Address";
    /// RFC 5061 §4.2.5.
    SUCCESS_INDICATION = 0xc005, "Success Indication";
    /// RFC 5061 §4.2.6.
    ADAPTATION_LAYER_INDICATION = 0xc006, "Adaptation Layer Indication";
}

impl ParamType {
    /// Returns how a receiver that does not know the type treats the parameter (RFC 9260 §3.2.1, table 3).
    pub const fn unknown_action(self) -> UnknownAction {
        UnknownAction::of_highest_byte(self.0.to_be_bytes()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_extensions_are_skipped_and_those_of_rfc_5061_reported() {
        assert_eq!(ParamType::RANDOM.unknown_action(), UnknownAction { stop: false, report: false });
        assert_eq!(
            ParamType::SET_PRIMARY_ADDRESS.unknown_action(),
            UnknownAction { stop: false, report: true }
        );
        assert_eq!(ParamType(0x0fff).unknown_action(), UnknownAction { stop: true, report: false });
        assert_eq!(ParamType(0x4000).unknown_action(), UnknownAction { stop: true, report: true });
        assert_eq!(ParamType(0x4000).to_string(), "type 0x4000");
        assert_eq!(ParamType(0xc004).to_string(), "Set Primary Address");
    }
}
