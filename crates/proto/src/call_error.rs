//! [`CallError`]: the errors of application calls, with those of the parts that the calls reach.

use core::net::IpAddr;

use msctp_protection::EpochError;

use crate::addr::PathId;
use crate::auth::KeyError;
use crate::handover::InvalidQuality;
use crate::path::AddressError;
use crate::reconfig::MAX_NAMED_STREAMS;
use crate::stats::AssociationState;

/// The reason why an application call other than `send` was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The call needs an established association.
    #[error("not possible in state {state}: want an established association")]
    WrongState {
        /// State of the association.
        state: AssociationState,
    },
    /// No path has this identifier.
    #[error("{0} is not a path of this association: want one of Association::paths")]
    UnknownPath(PathId),
    /// Data may not go to an address that was never confirmed (RFC 9260 §5.4).
    #[error("{0} is not confirmed yet: wait for Event::PathState")]
    UnconfirmedPath(PathId),
    /// The address cannot be added.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The address does not belong to this end.
    #[error("{0} is not a local address of this association: add it first")]
    UnknownAddress(IpAddr),
    /// The address already exists.
    #[error("{0} is already a local address of this association")]
    AddressExists(IpAddr),
    /// RFC 5061 §5.3: the last address, or the last from which the peer can be reached, cannot be deleted.
    #[error("{0} is the last local address that reaches the peer: add another one first")]
    LastAddress(IpAddr),
    /// The peer knows the address as a translated one, so that no request can delete it by name.
    #[error(
        "{0} is translated by a NAT, so the peer cannot delete it by name: keep only another address instead"
    )]
    TranslatedAddress(IpAddr),
    /// The peer did not announce ASCONF in its list of supported extensions (RFC 5061 §4.2.7), or does not
    /// authenticate it where that is required (§4.1.1).
    #[error("the peer does not support dynamic addresses (RFC 5061) with authentication (RFC 4895)")]
    PeerLacksAsconf,
    /// The peer did not announce stream reconfiguration, or this end did not (RFC 6525).
    #[error("stream reconfiguration (RFC 6525) was not negotiated")]
    PeerLacksReconfig,
    /// No such stream.
    #[error("stream {stream}: want 0 to {}, there are {streams}", .streams.saturating_sub(1))]
    UnknownStream {
        /// The stream requested.
        stream: u16,
        /// Number of streams in that direction.
        streams: u16,
    },
    /// More streams than one request can name.
    #[error("{streams} streams in one request: want at most {}, or none, which is all", MAX_NAMED_STREAMS)]
    TooManyStreamsNamed {
        /// Number of streams named.
        streams: usize,
    },
    /// The queue of stream requests is full.
    #[error("too many stream requests are queued: wait for Event::Streams")]
    TooManyStreamRequests,
    /// A link quality with a field out of range.
    #[error(transparent)]
    Quality(#[from] InvalidQuality),
    /// An invalid operation on a shared key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No key management outside of the core was agreed on (`KeyManagement::external`), or it has established
    /// no receive keys yet.
    #[error("no keys of KeyManagement::external were established: establish them first")]
    NotExternalKeys,
    /// Data in clear follows the message that completed the first keys. An attacker sent it.
    #[error("data in clear follows the last message of the first key agreement: abort the association")]
    ForgedData,
    /// Key material of an epoch that is not the next one.
    #[error(transparent)]
    Epoch(#[from] EpochError),
    /// The keys cannot be changed now.
    #[error(
        "there are no pre-shared keys, or the peer has not followed the last change yet: try again later"
    )]
    NoNextKeys,
    /// The queue of address requests is full.
    #[error("{0} address requests are queued: wait for Event::AddressChange")]
    TooManyRequests(usize),
    /// An ICMP message quotes no packet of this association (RFC 8899 §4.6.1).
    #[error("the ICMP message quotes no packet of this association: want its ports and verification tag")]
    NotQuoted,
}
