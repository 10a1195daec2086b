//! Notifications of an association to its application (RFC 9260 §11.2).

use core::net::IpAddr;

use bytes::Bytes;
use msctp_units::Span;

use crate::addr::{PathAddr, PathId};
use crate::asconf::AddressRequest;
use crate::auth::AuthEvent;
use crate::inbound::PartialAbort;
use crate::message::SendFailure;
use crate::reconfig::StreamEvent;
use crate::stats::PathState;
use crate::trace::PrimaryCause;

/// A notification to the application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is up (RFC 9260 §11.2.4). Reported again after a restart of the peer, and where the
    /// peer begins the set-up again before this end has keys: key management then begins again, with another
    /// [`key_agreement`](crate::Association::key_agreement).
    Connected {
        /// Negotiated number of streams on which this end may send.
        outbound_streams: u16,
        /// Negotiated number of streams on which the peer may send.
        inbound_streams: u16,
    },
    /// The peer restarted the association (RFC 9260 §11.2.7). Earlier [`Event::SendFailed`] events reported
    /// the undelivered messages. [`recv`](crate::Association::recv) reports the restart at its position among
    /// the messages.
    Restarted,
    /// There is a message to `recv`. Reported once each time the receive queue becomes non-empty.
    Readable,
    /// There is an item to [`recv_on`](crate::Association::recv_on) for the reader of this stream. Reported
    /// again only after `recv_on` has returned `None`. For drivers: the crate `msctp` does not pass it on.
    StreamReadable(u16),
    /// The receive buffer (`Config::receive_buffer`) is full of data that the application has not read, so
    /// that the peer can send no further packet on any stream. Reported again only after three quarters were
    /// free.
    ReceiveBufferFull,
    /// There is a message to [`recv_key_message`](crate::Association::recv_key_message). Reported again only
    /// after that has returned `None`. For drivers: the crate `msctp` does not pass it on.
    KeyMessage,
    /// There is room in the send buffer again after a
    /// [`SendError::BufferFull`](crate::SendError::BufferFull).
    Writable,
    /// The peer's application has read from this stream, after a
    /// [`SendError::BufferFull`](crate::SendError::BufferFull) because it had not
    /// ([`lacks_credit`](crate::Association::lacks_credit)).
    StreamWritable(u16),
    /// A message was not delivered, as far as this end knows (RFC 9260 §11.2.2).
    SendFailed(SendFailure),
    /// The peer abandoned a message of which parts were delivered (RFC 3758 §3.6; SCTP_PARTIAL_DELIVERY_EVENT
    /// of the sockets API).
    PartialDeliveryAborted(PartialAbort),
    /// Streams were reset or added, or the peer answered a request for a change (RFC 6525).
    Streams(StreamEvent),
    /// A path was added.
    PathAdded {
        /// Identifier of the path.
        path: PathId,
        /// Addresses of the path.
        at: PathAddr,
    },
    /// A path was removed because one of its addresses was deleted.
    PathRemoved {
        /// Identifier of the path.
        path: PathId,
        /// Addresses of the path.
        at: PathAddr,
    },
    /// A path was confirmed, became potentially failed, inactive or active again (RFC 9260 §11.2.3, RFC 7829
    /// §7.1).
    PathState {
        /// Identifier of the path.
        path: PathId,
        /// The path's new state.
        state: PathState,
    },
    /// The PMTU of a path changed (RFC 8899).
    PathMtu {
        /// Identifier of the path.
        path: PathId,
        /// Largest IP packet in bytes, header included.
        pmtu: u32,
    },
    /// Another path became the primary, or carries its data ([`PrimaryCause::Failover`]). The last such event
    /// names the path that carries new data.
    PrimaryChanged {
        /// The new primary, or the path that carries its data.
        path: PathId,
        /// The cause.
        cause: PrimaryCause,
    },
    /// The peer answered a request to change addresses.
    AddressChange {
        /// The request.
        request: AddressRequest,
        /// True if the peer applied the request. False if it did not, or if that is unknown: the network of a
        /// translated address failed before the answer, while other requests were queued. The request may be
        /// repeated.
        accepted: bool,
    },
    /// The first packet of the peer was opened, so that the peer has the keys (`Config::protection`).
    Protected,
    /// Keys changed, or the peer does not support AUTH (RFC 6458).
    Authentication(AuthEvent),
    /// The peer sent an ERROR chunk with this cause (RFC 9260 §11.2.6).
    PeerError {
        /// Cause code (RFC 9260 §3.3.10).
        cause: u16,
    },
    /// The peer shuts down, and `send` accepts no more messages.
    PeerShutdown,
    /// The association was shut down gracefully after the delivery of all data (RFC 9260 §11.2.8).
    Closed,
    /// The association ended without a graceful shutdown (RFC 9260 §11.2.5).
    Lost(LossReason),
}

/// Why an association was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// INIT or COOKIE ECHO was retransmitted `max_init_retransmits` times without an answer (RFC 9260 §4).
    SetupTimeout,
    /// The association's error counter exceeded `assoc_max_retrans` (RFC 9260 §8.1).
    PeerUnreachable,
    /// The peer acknowledged no user data, although it may have answered HEARTBEATs: the network deletes
    /// larger packets, or the peer acknowledges nothing (RFC 9260 §8.1). T3-rtx expired more than
    /// `assoc_max_retrans` times in that many `rto_max`. A peer without room for data is not such a one.
    DataUnacknowledged {
        /// Time since T3-rtx expired first.
        after: Span,
    },
    /// The shutdown was not answered in time (RFC 9260 §9.2, T5).
    ShutdownTimeout,
    /// The peer sent ABORT.
    PeerAborted {
        /// Code of the first error cause, if any (RFC 9260 §3.3.10).
        cause: Option<u16>,
        /// The application's code in a User-Initiated Abort, if the peer is msctp and gave one
        /// ([`AbortReason`](crate::AbortReason)).
        code: Option<u32>,
        /// Upper layer abort reason of a User-Initiated Abort without the code, else empty.
        reason: Bytes,
    },
    /// Set-up failed: the INIT was answered by an ABORT without a cause, as a host answers it at whose SCTP
    /// port nobody listens (RFC 9260 §8.4).
    NoListener,
    /// No packet of the peer arrived for this long (`Config::idle_timeout`), in spite of HEARTBEATs.
    IdleTimeout {
        /// The idle timeout.
        after: Span,
    },
    /// Set-up failed: the host answered with ICMP "port unreachable", so the UDP port is closed (RFC 6951
    /// §5.5).
    PortUnreachable {
        /// The last address of the peer that was tried.
        address: IpAddr,
    },
    /// This end called `abort`.
    Aborted,
    /// The keys that protect packets have reached their limit, and no others were established (RFC 9147
    /// §4.5.3).
    KeysUsedUp,
    /// The peer lost its keys: it restarted, or its idle timeout passed. Its host answered several probes
    /// with ABORTs in clear, and no protected packet arrived.
    PeerLostKeys,
    /// Set-up failed: the pre-shared keys of both ends differ, or INIT or INIT ACK was changed on the way.
    KeysDiffer,
    /// Set-up failed: the first keys of both ends differ, because INIT, INIT ACK or the messages that agree
    /// on keys were changed on the way.
    SetUpChanged,
    /// Set-up failed: the peer's protection is that of an earlier version, whose keys depend only on a part
    /// of the set-up.
    EarlierVersion,
    /// Code of the association panicked, such as that of a controller or a policy of the application, and the
    /// driver went on without the association
    /// ([`Endpoint::remove_panicked`](crate::Endpoint::remove_panicked)).
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// This end aborted because the peer violated the protocol.
    ProtocolViolation {
        /// Error cause in the ABORT (RFC 9260 §3.3.10).
        cause: u16,
        /// Description of the violation.
        what: &'static str,
    },
}
