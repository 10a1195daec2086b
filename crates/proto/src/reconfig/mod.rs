//! Stream reconfiguration (RFC 6525): the state of requests in both directions. Does not touch chunks and
//! packets: the association sends requests and answers, and changes the streams.
//!
//! Supports resets of outgoing and incoming streams, and added streams. Answers an SSN/TSN Reset Request
//! (§4.3) with “Denied”, which the RFC allows.

mod incoming;
mod outgoing;

pub(crate) use self::incoming::{Answer, Deferred, Held, Incoming};
pub use self::incoming::{MAX_RESET_CODES, NAMES_PER_CODE};
pub(crate) use self::outgoing::{Outgoing, Settled, Step};
use crate::inbound::StreamEnd;

/// Whether streams can be reset and added (RFC 6525).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconfiguration {
    /// The extension is not announced.
    Off,
    /// This end may reset and add streams. The peer's requests are denied (RFC 6525 §5.2.2, §5.2.3, §5.2.5,
    /// §5.2.6).
    Own,
    /// The peer may reset its streams, add streams up to `max_inbound_streams`, and request the same of this
    /// end. The default.
    #[default]
    Accept,
}

/// Maximum number of streams that one request can name. They fit a packet of any path (`MIN_PMTU`) beside
/// headers and AUTH. A request that names none applies to all streams.
pub const MAX_NAMED_STREAMS: usize = 192;

/// A request to reset or add streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRequest {
    /// Reset these outgoing streams to SSN 0 (RFC 6525 §5.1.2): at most [`MAX_NAMED_STREAMS`], or all if none
    /// is named. They send nothing meanwhile.
    ResetOutgoing(Vec<u16>),
    /// Request that the peer reset these outgoing streams (RFC 6525 §5.1.3): at most [`MAX_NAMED_STREAMS`],
    /// or all if none is named.
    ResetIncoming(Vec<u16>),
    /// Add this number of outgoing streams (RFC 6525 §5.1.5).
    AddOutgoing(u16),
    /// Request that the peer add this number of outgoing streams (RFC 6525 §5.1.6).
    AddIncoming(u16),
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigOutcome {
    /// The request was applied, or there was nothing to do.
    Performed,
    /// The peer denied the request.
    Denied,
    /// The association shut down or restarted before the peer answered.
    GivenUp,
    /// The peer answered with an error: the Result of its response (RFC 6525 §4.4).
    Failed(u32),
}

/// A change of streams (RFC 6525 §6, RFC 6458 style notifications).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer answered a request of this end.
    Answered {
        /// The request.
        request: StreamRequest,
        /// Outcome of the request.
        outcome: ReconfigOutcome,
    },
    /// The peer reset these streams to SSN 0, or all if none is named. All earlier messages can be read
    /// first.
    IncomingReset(Vec<u16>),
    /// The peer asks for a reset of these streams of this end (RFC 6525 §5.1.3), or of all if none is named:
    /// its readers are gone. The reset is under way, and queued messages will be sent after it unless they
    /// are [abandoned](crate::Association::abandon_unsent).
    ResetRequested(Vec<StreamEnd>),
    /// The peer added streams: their number, and the new total.
    IncomingAdded(u16),
}
