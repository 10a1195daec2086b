//! What an association tells its application (RFC 9260 §11.2).

use core::net::IpAddr;

use bytes::Bytes;
use msctp_units::Span;

use crate::inbound::PartialAbort;
use crate::outbound::Unsent;
use crate::{AuthEvent, OutMessage, PathAddr, PathId, PathState, PrimaryCause, StreamEvent};

/// Something the application may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is up (RFC 9260 §11.2.4).
    Connected {
        /// Streams this end may send on, after negotiation.
        outbound_streams: u16,
        /// Streams the peer may send on, after negotiation.
        inbound_streams: u16,
    },
    /// The peer restarted and the association began anew (RFC 9260 §11.2.7). Messages under way were reported by
    /// [`Event::SendFailed`] first. Who only reads learns of it in its place among the messages, from
    /// [`recv`](crate::Association::recv).
    Restarted,
    /// There is a message to `recv`. Given once each time the queue stops being empty.
    Readable,
    /// There is room in the send buffer again after a [`SendError::BufferFull`](crate::SendError::BufferFull).
    Writable,
    /// A message was not delivered, as far as this end knows (RFC 9260 §11.2.2).
    SendFailed(SendFailure),
    /// A message of which parts were delivered will not be completed: the peer gave it up (RFC 3758 §3.6; the sockets API has SCTP_PARTIAL_DELIVERY_EVENT).
    PartialDeliveryAborted(PartialAbort),
    /// Streams were reset or added, or the peer answered a request for that (RFC 6525).
    Streams(StreamEvent),
    /// A path appeared.
    PathAdded {
        /// Its name.
        path: PathId,
        /// Its addresses.
        at: PathAddr,
    },
    /// A path went away because one of its addresses was deleted.
    PathRemoved {
        /// Its name.
        path: PathId,
        /// Its addresses.
        at: PathAddr,
    },
    /// A path was confirmed, became potentially failed, inactive or active again (RFC 9260 §11.2.3, RFC 7829 §7.1).
    PathState {
        /// Its name.
        path: PathId,
        /// What it is now.
        state: PathState,
    },
    /// A path carries packets of another size from now on (RFC 8899).
    PathMtu {
        /// Its name.
        path: PathId,
        /// Largest IP packet in bytes, header included.
        pmtu: u32,
    },
    /// Another path is the primary, or takes its data ([`PrimaryCause::Failover`]). The last of these events names the path
    /// that carries new data.
    PrimaryChanged {
        /// The new primary, or the path that takes its data.
        path: PathId,
        /// Why.
        cause: PrimaryCause,
    },
    /// The peer answered a request to change addresses.
    AddressChange {
        /// The request.
        request: AddressRequest,
        /// True when the peer did it. False when it did not, or when that is not known: of a translated address whose network died
        /// before the answer came, while other requests waited. It may be asked for again.
        accepted: bool,
    },
    /// Keys changed, or AUTH is not spoken (RFC 6458).
    Authentication(AuthEvent),
    /// The peer sent an ERROR chunk with this cause (RFC 9260 §11.2.6).
    PeerError {
        /// Cause code (RFC 9260 §3.3.10).
        cause: u16,
    },
    /// The peer wants to shut down; no more messages are taken.
    PeerShutdown,
    /// Shut down in good order, all data delivered (RFC 9260 §11.2.8).
    Closed,
    /// The association is gone without shutdown (RFC 9260 §11.2.5).
    Lost(LossReason),
}

/// A message that could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// The message. Its `data` may be empty when it was sent in part.
    pub message: OutMessage,
    /// True when no part of it ever left (RFC 9260 §11.1.14), false when it was sent but not acknowledged (§11.1.15).
    pub unsent: bool,
    /// User bytes of it that were sent at least once; where the association is gone, of a message sent in fragments only
    /// those of the last one.
    pub sent: u64,
    /// It was given up because its [`Reliability`](crate::Reliability) ended, not because the association did.
    pub abandoned: bool,
}

impl SendFailure {
    /// A message that was in the queue, or the rest of it.
    pub(crate) fn of_unsent(unsent: Unsent) -> Self {
        let mut message = unsent.message;
        if unsent.sent > 0 {
            message.data = Bytes::new();
        }
        Self { message, unsent: unsent.sent == 0, sent: unsent.sent, abandoned: false }
    }
}

/// Why an association was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// INIT or COOKIE ECHO was repeated max_init_retransmits times without an answer (RFC 9260 §4).
    SetupTimeout,
    /// The association's error counter exceeded assoc_max_retrans (RFC 9260 §8.1).
    PeerUnreachable,
    /// The shutdown was not answered in time (RFC 9260 §9.2, T5).
    ShutdownTimeout,
    /// The peer sent ABORT.
    PeerAborted {
        /// Code of the first error cause, when there was one (RFC 9260 §3.3.10).
        cause: Option<u16>,
        /// Upper layer abort reason of a User-Initiated Abort, else empty.
        reason: Bytes,
    },
    /// Nothing was heard of the peer for this long (`Config::idle_timeout`), HEARTBEATs notwithstanding.
    IdleTimeout {
        /// The idle timeout.
        after: Span,
    },
    /// Set-up failed because the host answered with ICMP "port unreachable" (RFC 6951 §5.5): nobody listens at the UDP port.
    PortUnreachable {
        /// The last of the peer's addresses that was tried.
        address: IpAddr,
    },
    /// This end called `abort`.
    Aborted,
    /// The peer broke the protocol so that this end had to abort.
    ProtocolViolation {
        /// The cause sent in the ABORT (RFC 9260 §3.3.10).
        cause: u16,
        /// What was wrong.
        what: &'static str,
    },
}

/// A change of addresses asked of the peer (RFC 5061).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRequest {
    /// Add this local address.
    Add(IpAddr),
    /// Delete this local address.
    Delete(IpAddr),
    /// Send to this local address from now on.
    SetPrimary(IpAddr),
    /// Delete all addresses of this end but this one, from which the request leaves (RFC 5061 §4.2.2, the wildcard).
    KeepOnly(IpAddr),
}
