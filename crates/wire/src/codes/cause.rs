//! The Cause Code field.

code_field! {
    /// Cause Code (RFC 9260 §3.3.10, table 11, and the extensions' own registrations).
    CauseCode(u16), "cause {:#06x}";
    /// RFC 9260 §3.3.10.1.
    INVALID_STREAM_IDENTIFIER = 1, "Invalid Stream Identifier";
    /// RFC 9260 §3.3.10.2.
    MISSING_MANDATORY_PARAMETER = 2, "Missing Mandatory Parameter";
    /// RFC 9260 §3.3.10.3.
    STALE_COOKIE = 3, "Stale Cookie";
    /// RFC 9260 §3.3.10.4.
    OUT_OF_RESOURCE = 4, "Out of Resource";
    /// RFC 9260 §3.3.10.5.
    UNRESOLVABLE_ADDRESS = 5, "Unresolvable Address";
    /// RFC 9260 §3.3.10.6.
    UNRECOGNIZED_CHUNK_TYPE = 6, "Unrecognized Chunk Type";
    /// RFC 9260 §3.3.10.7.
    INVALID_MANDATORY_PARAMETER = 7, "Invalid Mandatory Parameter";
    /// RFC 9260 §3.3.10.8.
    UNRECOGNIZED_PARAMETERS = 8, "Unrecognized Parameters";
    /// RFC 9260 §3.3.10.9.
    NO_USER_DATA = 9, "No User Data";
    /// RFC 9260 §3.3.10.10.
    COOKIE_RECEIVED_WHILE_SHUTTING_DOWN = 10, "Cookie Received While Shutting Down";
    /// RFC 9260 §3.3.10.11.
    RESTART_WITH_NEW_ADDRESSES = 11, "Restart of an Association with New Addresses";
    /// RFC 9260 §3.3.10.12.
    USER_INITIATED_ABORT = 12, "User-Initiated Abort";
    /// RFC 9260 §3.3.10.13.
    PROTOCOL_VIOLATION = 13, "Protocol Violation";
    /// draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4.
    RESTART_WITH_NEW_PORT = 14, "Restart of an Association with New Encapsulation Port";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.1.
    MISSING_DTLS_SUPPORT = 100, "Missing DTLS Chunk Support";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.2.
    NO_COMMON_KEY_MANAGEMENT = 101, "No Common DTLS Key Management Method";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.3.
    TIE_BREAKER_COLLISION = 102, "DTLS Key Management Tie Breaker Collision";
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.4.
    INCOMPATIBLE_KEY_MANAGEMENT_ROLES = 103, "Incompatible DTLS Key Management Roles";
    /// RFC 5061 §4.3.1.
    DELETE_LAST_ADDRESS = 0x00a0, "Request to Delete Last Remaining IP Address";
    /// RFC 5061 §4.3.2.
    RESOURCE_SHORTAGE = 0x00a1, "Operation Refused Due to Resource Shortage";
    /// RFC 5061 §4.3.3.
    DELETE_SOURCE_ADDRESS = 0x00a2, "Request to Delete Source IP Address";
    /// RFC 5061 §4.3.4.
    ILLEGAL_ASCONF_ACK = 0x00a3, "Association Aborted Due to Illegal ASCONF-ACK";
    /// RFC 5061 §4.3.5.
    NO_AUTHORIZATION = 0x00a4, "Request Refused - No Authorization";
    /// RFC 4895 §4.1.
    UNSUPPORTED_HMAC = 0x0105, "Unsupported HMAC Identifier";
}
