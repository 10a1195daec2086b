//! Error causes (RFC 9260 §3.3.10), one file per family.
//!
//! Causes quote parameters and chunks as bytes. Parse them with
//! [`Params::from_wire`](crate::Params::from_wire) or [`Chunk::parse`](crate::Chunk::parse).
//! [`Params::from_wire`](crate::Params::from_wire) or [`Chunk::parse`](crate::Chunk::parse).

mod abort;
mod address;
mod asconf;
mod auth;
mod chunk;
mod cookie;
mod dtls;
mod encapsulation;
mod parameter;
mod resource;
mod stream;
#[cfg(test)]
mod testing;

pub use encapsulation::EncapsulationPorts;
pub use parameter::MissingParams;

pub use crate::codes::CauseCode;

use crate::ids::{HmacId, StreamId};
use crate::serial::Tsn;
use crate::tlv::TlvList;
use crate::tlv_enum::tlv_enum;

/// A list of error causes.
pub type Causes<'a> = TlvList<'a, Cause<'a>>;

tlv_enum! {
    /// An error cause of any code.
    Cause, CauseCode, CauseError { code }, UnknownCause;
    values {
        /// Invalid Stream Identifier (RFC 9260 §3.3.10.1).
        InvalidStreamIdentifier(StreamId) = INVALID_STREAM_IDENTIFIER;
        /// Missing Mandatory Parameter (RFC 9260 §3.3.10.2).
        MissingMandatoryParameter(MissingParams<'a>) = MISSING_MANDATORY_PARAMETER;
        /// Stale Cookie (RFC 9260 §3.3.10.3): microseconds since the State Cookie expired, 0 if unknown.
        StaleCookie(u32) = STALE_COOKIE;
        /// Unresolvable Address (RFC 9260 §3.3.10.5): the address or host name parameter.
        UnresolvableAddress(&'a [u8]) = UNRESOLVABLE_ADDRESS;
        /// Unrecognized Chunk Type (RFC 9260 §3.3.10.6): the chunk.
        UnrecognizedChunkType(&'a [u8]) = UNRECOGNIZED_CHUNK_TYPE;
        /// Unrecognized Parameters (RFC 9260 §3.3.10.8): the parameters.
        UnrecognizedParameters(&'a [u8]) = UNRECOGNIZED_PARAMETERS;
        /// No User Data (RFC 9260 §3.3.10.9): TSN of the DATA chunk.
        NoUserData(Tsn) = NO_USER_DATA;
        /// Restart of an Association with New Addresses (RFC 9260 §3.3.10.11): the new address parameters.
        RestartWithNewAddresses(&'a [u8]) = RESTART_WITH_NEW_ADDRESSES;
        /// Restart of an Association with New Encapsulation Port
        /// (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4).
        RestartWithNewPort(EncapsulationPorts) = RESTART_WITH_NEW_PORT;
        /// User-Initiated Abort (RFC 9260 §3.3.10.12): Upper Layer Abort Reason.
        UserInitiatedAbort(&'a [u8]) = USER_INITIATED_ABORT;
        /// Protocol Violation (RFC 9260 §3.3.10.13): Additional Information.
        ProtocolViolation(&'a [u8]) = PROTOCOL_VIOLATION;
        /// Request to Delete Last Remaining IP Address (RFC 5061 §4.3.1): the parameter of the ASCONF.
        DeleteLastAddress(&'a [u8]) = DELETE_LAST_ADDRESS;
        /// Operation Refused Due to Resource Shortage (RFC 5061 §4.3.2): the parameter of the ASCONF.
        ResourceShortage(&'a [u8]) = RESOURCE_SHORTAGE;
        /// Request to Delete Source IP Address (RFC 5061 §4.3.3): the parameter of the ASCONF.
        DeleteSourceAddress(&'a [u8]) = DELETE_SOURCE_ADDRESS;
        /// Request Refused - No Authorization (RFC 5061 §4.3.5): the parameter of the ASCONF.
        NoAuthorization(&'a [u8]) = NO_AUTHORIZATION;
        /// Unsupported HMAC Identifier (RFC 4895 §4.1).
        UnsupportedHmac(HmacId) = UNSUPPORTED_HMAC;
    }
    markers {
        /// Out of Resource (RFC 9260 §3.3.10.4).
        OutOfResource = OUT_OF_RESOURCE;
        /// Invalid Mandatory Parameter (RFC 9260 §3.3.10.7).
        InvalidMandatoryParameter = INVALID_MANDATORY_PARAMETER;
        /// Cookie Received While Shutting Down (RFC 9260 §3.3.10.10).
        CookieReceivedWhileShuttingDown = COOKIE_RECEIVED_WHILE_SHUTTING_DOWN;
        /// Missing DTLS Chunk Support (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.1).
        MissingDtlsSupport = MISSING_DTLS_SUPPORT;
        /// No Common DTLS Key Management Method (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.2).
        NoCommonKeyManagement = NO_COMMON_KEY_MANAGEMENT;
        /// DTLS Key Management Tie Breaker Collision (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.3).
        TieBreakerCollision = TIE_BREAKER_COLLISION;
        /// Incompatible DTLS Key Management Roles (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3.4).
        IncompatibleKeyManagementRoles = INCOMPATIBLE_KEY_MANAGEMENT_ROLES;
        /// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061 §4.3.4).
        IllegalAsconfAck = ILLEGAL_ASCONF_ACK;
    }
}
