//! Trace of a connection, recorded with [`Config::trace`](crate::Config::trace). The protocol never reads it.

use msctp_congestion::classifier::Cause;
use msctp_congestion::{LossKind, RoundTrips};
use msctp_units::{Span, Time};

/// A trace event with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event.
    pub at: Time,
    /// The event.
    pub kind: TraceKind,
}

/// A trace event. Sequence positions are offsets in the stream: 0 the SYN, 1 the first byte. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// The control variables changed.
    Window {
        /// Congestion window; the inflation of fast recovery is not in it.
        cwnd: u64,
        /// Slow-start threshold; `u64::MAX`: arbitrarily high.
        ssthresh: u64,
        /// Bytes in the network by the sender's estimate.
        flight_size: u64,
    },
    /// A round trip was measured.
    Rtt {
        /// The measurement.
        sample: Span,
        /// Smoothed.
        srtt: Span,
        /// Retransmission timeout.
        rto: Span,
    },
    /// A segment with data or FIN was sent.
    Sent {
        /// First offset.
        offset: u64,
        /// User data.
        len: u32,
        /// The segment had been sent before.
        retransmission: bool,
    },
    /// A segment with data or FIN was received.
    Received {
        /// First offset, of the peer's stream.
        offset: u64,
        /// User data.
        len: u32,
    },
    /// An acknowledgment was received.
    AckReceived {
        /// Everything below is acknowledged.
        ack: u64,
        /// SACK blocks it had.
        blocks: u32,
        /// The acknowledgment was a duplicate.
        duplicate: bool,
    },
    /// An acknowledgment was sent, alone or with data.
    AckSent {
        /// Everything below is acknowledged, of the peer's stream.
        ack: u64,
        /// SACK blocks it had.
        blocks: u32,
    },
    /// A loss was detected and the window cut.
    Loss {
        /// Detection of the loss.
        kind: LossKind,
        /// Bytes outstanding at that time.
        flight_size: u64,
    },
    /// The loss classifier classified a loss.
    Verdict {
        /// First offset of the lost segment.
        offset: u64,
        /// Its verdict.
        cause: Cause,
    },
    /// LD recovery began: the segment is retransmitted, the window kept (Park & Jang §2.1).
    LdRecovery,
    /// Fast recovery or LD recovery ended.
    RecoveryExit,
    /// The retransmission timer expired.
    Timeout {
        /// The timeout that follows, backed off.
        rto: Span,
    },
    /// The last timeout was spurious and was undone (RFC 5682).
    SpuriousTimeout,
    /// The round-trip statistics restart from this measurement (Park & Jang §2.2).
    RttStartedOver {
        /// Measured.
        sample: Span,
        /// Their values after it.
        times: RoundTrips,
    },
    /// The handshake was done.
    Connected,
    /// The connection ended.
    Ended,
}
