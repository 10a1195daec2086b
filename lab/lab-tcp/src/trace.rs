//! Trace of a connection, recorded with [`Config::trace`](crate::Config::trace). The protocol never reads it.

use msctp_congestion::classifier::Cause;
use msctp_congestion::{LossKind, RoundTrips};
use msctp_units::{Span, Time};

/// A trace event with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event.
    pub at: Time,
    /// Kind of the event, with its data.
    pub kind: TraceKind,
}

/// A trace event. Sequence positions are offsets in the stream: 0 the SYN, 1 the first byte. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// The control variables changed.
    Window {
        /// Congestion window, without the inflation of fast recovery.
        cwnd: u64,
        /// Slow-start threshold; `u64::MAX`: arbitrarily high.
        ssthresh: u64,
        /// Bytes in the network, as the sender estimates.
        flight_size: u64,
    },
    /// A round trip was measured.
    Rtt {
        /// The measurement.
        sample: Span,
        /// Smoothed round-trip time after the measurement.
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
        /// First offset, in the peer's stream.
        offset: u64,
        /// User data.
        len: u32,
    },
    /// An acknowledgment was received.
    AckReceived {
        /// Everything below is acknowledged.
        ack: u64,
        /// Number of SACK blocks in the segment.
        blocks: u32,
        /// The acknowledgment was a duplicate.
        duplicate: bool,
    },
    /// An acknowledgment was sent, alone or with data.
    AckSent {
        /// Offset in the peer's stream below which everything is acknowledged.
        ack: u64,
        /// Number of SACK blocks in the acknowledgment.
        blocks: u32,
    },
    /// A loss was detected, and the window was reduced.
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
        /// Verdict of the classifier.
        cause: Cause,
    },
    /// LD recovery began: the segment is retransmitted, and the window kept (Park & Jang §2.1).
    LdRecovery,
    /// Fast recovery or LD recovery ended.
    RecoveryExit,
    /// The retransmission timer expired.
    Timeout {
        /// The following timeout, including back-off.
        rto: Span,
    },
    /// The last timeout was spurious and was undone (RFC 5682).
    SpuriousTimeout,
    /// The round-trip statistics restart from this measurement (Park & Jang §2.2).
    RttStartedOver {
        /// Measured round-trip time.
        sample: Span,
        /// Values after the restart.
        times: RoundTrips,
    },
    /// The handshake was done.
    Connected,
    /// The connection ended.
    Ended,
}
