//! Parameters (RFC 9260 §3.2.1), one file per family.

pub(crate) mod address;
mod asconf;
mod auth;
mod cookie;
mod dtls;
mod extension;
mod heartbeat;
mod padding;
mod reconfig;
#[cfg(test)]
mod testing;
mod unrecognized;

pub use asconf::{AddressRequest, ErrorCauseIndication};
pub use dtls::{DtlsKeyManagement, DtlsRoles};
pub use padding::Padding;
pub use reconfig::{AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ResetCodes, StreamCode};

pub use crate::codes::ParamType;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::codes::ChunkType;
use crate::ids::{CorrelationId, HmacId};
use crate::list::List;
use crate::serial::ReconfigSerial;
use crate::tlv::TlvList;
use crate::tlv_enum::tlv_enum;
use crate::unknown::UnknownAction;

/// A list of parameters.
pub type Params<'a> = TlvList<'a, Param<'a>>;

tlv_enum! {
    /// A parameter of any type.
    ///
    /// Parsing accepts any parameter in any chunk; the association checks which belong where.
    Param, ParamType, ParamError { typ }, UnknownParam;
    values {
        /// Sender-Specific Heartbeat Info (RFC 9260 §3.3.5).
        HeartbeatInfo(&'a [u8]) = HEARTBEAT_INFO;
        /// IPv4 Address (RFC 9260 §3.3.2.1.1).
        Ipv4Address(Ipv4Addr) = IPV4_ADDRESS;
        /// IPv6 Address (RFC 9260 §3.3.2.1.2).
        Ipv6Address(Ipv6Addr) = IPV6_ADDRESS;
        /// State Cookie (RFC 9260 §3.3.3.1.1).
        StateCookie(&'a [u8]) = STATE_COOKIE;
        /// Unrecognized Parameter (RFC 9260 §3.3.3.1.2): the whole parameter, readable with
        /// [`Params::from_wire`].
        UnrecognizedParameter(&'a [u8]) = UNRECOGNIZED_PARAMETER;
        /// Cookie Preservative (RFC 9260 §3.3.2.1.3): suggested increment of the cookie's life span in
        /// milliseconds.
        CookiePreservative(u32) = COOKIE_PRESERVATIVE;
        /// Host Name Address (RFC 9260 §3.3.2.1.4): deprecated, never sent, answered with an ABORT.
        HostName(&'a [u8]) = HOST_NAME;
        /// Supported Address Types (RFC 9260 §3.3.2.1.5).
        SupportedAddressTypes(List<'a, ParamType>) = SUPPORTED_ADDRESS_TYPES;
        /// Zero Checksum Acceptable (RFC 9653 §4): the alternate error detection method's identifier.
        ZeroChecksumAcceptable(u32) = ZERO_CHECKSUM_ACCEPTABLE;
        /// RANDOM (RFC 4895 §3.1).
        Random(&'a [u8]) = RANDOM;
        /// CHUNKS (RFC 4895 §3.2): chunk types that the peer must authenticate.
        ChunkList(List<'a, ChunkType>) = CHUNK_LIST;
        /// HMAC-ALGO (RFC 4895 §3.3), in the sender's order of preference.
        HmacAlgo(List<'a, HmacId>) = HMAC_ALGO;
        /// Padding (RFC 4820 §4).
        Padding(Padding) = PADDING;
        /// DTLS Key Management (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.1).
        DtlsKeyManagement(DtlsKeyManagement<'a>) = DTLS_KEY_MANAGEMENT;
        /// Supported Extensions (RFC 5061 §4.2.7).
        SupportedExtensions(List<'a, ChunkType>) = SUPPORTED_EXTENSIONS;
        /// Add IP Address (RFC 5061 §4.2.1).
        AddIpAddress(AddressRequest) = ADD_IP_ADDRESS;
        /// Delete IP Address (RFC 5061 §4.2.2).
        DeleteIpAddress(AddressRequest) = DELETE_IP_ADDRESS;
        /// Error Cause Indication (RFC 5061 §4.2.3).
        ErrorCauseIndication(ErrorCauseIndication<'a>) = ERROR_CAUSE_INDICATION;
        /// Set Primary IP Address (RFC 5061 §4.2.4).
        SetPrimaryAddress(AddressRequest) = SET_PRIMARY_ADDRESS;
        /// Success Indication (RFC 5061 §4.2.5).
        SuccessIndication(CorrelationId) = SUCCESS_INDICATION;
        /// Adaptation Layer Indication (RFC 5061 §4.2.6).
        AdaptationLayerIndication(u32) = ADAPTATION_LAYER_INDICATION;
        /// Outgoing SSN Reset Request (RFC 6525 §4.1).
        OutgoingReset(OutgoingReset<'a>) = OUTGOING_RESET;
        /// Incoming SSN Reset Request (RFC 6525 §4.2).
        IncomingReset(IncomingReset<'a>) = INCOMING_RESET;
        /// SSN/TSN Reset Request (RFC 6525 §4.3), with its number.
        TsnReset(ReconfigSerial) = TSN_RESET;
        /// Re-configuration Response (RFC 6525 §4.4).
        ReconfigResponse(ReconfigResponse) = RECONFIG_RESPONSE;
        /// Add Outgoing Streams Request (RFC 6525 §4.5).
        AddOutgoingStreams(AddStreams) = ADD_OUTGOING_STREAMS;
        /// Add Incoming Streams Request (RFC 6525 §4.6).
        AddIncomingStreams(AddStreams) = ADD_INCOMING_STREAMS;
        /// Codes of the streams of a reset request, in a RE-CONFIG of its own before the request's. Of this
        /// project.
        ResetCodes(ResetCodes<'a>) = RESET_CODES;
    }
    markers {
        /// Reserved for ECN Capable (RFC 9260 §3.3.2).
        EcnCapable = ECN_CAPABLE;
        /// Forward-TSN-Supported (RFC 3758 §3.1).
        ForwardTsnSupported = FORWARD_TSN_SUPPORTED;
    }
}

impl Param<'_> {
    /// Returns the address, if this is an IPv4 or IPv6 Address parameter.
    pub fn address(&self) -> Option<IpAddr> {
        match *self {
            Param::Ipv4Address(address) => Some(address.into()),
            Param::Ipv6Address(address) => Some(address.into()),
            _ => None,
        }
    }
}

impl From<IpAddr> for Param<'_> {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Param::Ipv4Address(address),
            IpAddr::V6(address) => Param::Ipv6Address(address),
        }
    }
}

impl UnknownParam<'_> {
    /// Returns how a receiver treats the parameter (RFC 9260 §3.2.1, table 3).
    pub fn action(&self) -> UnknownAction {
        self.typ().unknown_action()
    }
}
