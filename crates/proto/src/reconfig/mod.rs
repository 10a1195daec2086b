//! Stream reconfiguration (RFC 6525): what one end asks of the other, and what it does when asked. May not touch chunks and
//! packets; the association carries requests and answers, and moves the streams.
//!
//! Done are resets of outgoing and incoming streams and added streams. An SSN/TSN Reset Request (§4.3) is answered
//! “Denied”, as an end may.

mod incoming;
mod outgoing;

pub(crate) use self::incoming::{Answer, Deferred, Incoming};
pub(crate) use self::outgoing::{Outgoing, Settled, Step};

/// Streams that one request can name: they fit a packet of any path (`MIN_PMTU`), whatever headers and AUTH take of it. A request that
/// names none is for all.
pub const MAX_NAMED_STREAMS: usize = 192;

/// What one end can ask of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRequest {
    /// Number the messages of these outgoing streams from 0 again (RFC 6525 §5.1.2), at most [`MAX_NAMED_STREAMS`]; none named: of all. They
    /// send nothing meanwhile.
    ResetOutgoing(Vec<u16>),
    /// Ask the peer to do that with these streams of its own (RFC 6525 §5.1.3), at most [`MAX_NAMED_STREAMS`]; none named: all.
    ResetIncoming(Vec<u16>),
    /// Have so many more streams to send on (RFC 6525 §5.1.5).
    AddOutgoing(u16),
    /// Ask the peer to have so many more streams to send on (RFC 6525 §5.1.6).
    AddIncoming(u16),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigOutcome {
    /// Done, or there was nothing to do.
    Performed,
    /// The peer does not want it.
    Denied,
    /// The association shut down or began anew before the peer was asked, or before it answered.
    GivenUp,
    /// The peer answered with an error: the Result of its response (RFC 6525 §4.4).
    Failed(u32),
}

/// A change of streams (RFC 6525 §6, RFC 6458 style notifications).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer answered a request of ours.
    Answered {
        /// The request.
        request: StreamRequest,
        /// What became of it.
        outcome: ReconfigOutcome,
    },
    /// The peer numbers the messages of these streams of its own from 0 again; none named: of all. All messages from before
    /// can be read first.
    IncomingReset(Vec<u16>),
    /// So many more streams come from the peer; how many there are now.
    IncomingAdded(u16),
}
