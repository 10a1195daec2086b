//! The trace: one typed stream of internal events, for plots and tests. Recorded only if `Config::trace` is
//! on; the protocol never reads it.

use core::net::IpAddr;

use msctp_congestion::RoundTrips;
use msctp_congestion::classifier::Cause;
use msctp_units::{Rate, Span, Time};

use crate::addr::{PathAddr, PathId};
use crate::stats::{AssociationState, PathState};

/// One entry of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event.
    pub at: Time,
    /// The event.
    pub kind: TraceKind,
}

/// Which way a chunk went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Sent by this end.
    Out,
    /// Received by this end.
    In,
}

/// Cause of a primary switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrimaryCause {
    /// This end's application (RFC 9260 §11.1.6).
    Local,
    /// The peer by Set Primary (RFC 5061 §4.2.4).
    Peer,
    /// The old one was inactive or potentially failed (RFC 9260 §6.4.1, RFC 7829 §3.2); it stays the one
    /// preferred.
    Failover,
    /// The error count of the old primary exceeded the threshold of RFC 7829 §5.
    Switchover,
    /// The old one was removed.
    Removed,
    /// The handover policy.
    Policy,
}

/// An event of an association. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceKind {
    /// The association changed its state.
    State {
        /// Previous state.
        from: AssociationState,
        /// New state.
        to: AssociationState,
    },
    /// The window of a path, given when it or the bytes in flight changed.
    Window {
        /// Path.
        path: PathId,
        /// Congestion window.
        cwnd: u64,
        /// Slow-start threshold.
        ssthresh: u64,
        /// Bytes outstanding on the path.
        flight_size: u64,
        /// RFC 9260 §7.2.2.
        partial_bytes_acked: u64,
    },
    /// A round-trip time was measured.
    Rtt {
        /// Path.
        path: PathId,
        /// The measurement.
        sample: Span,
        /// Smoothed, after it.
        srtt: Span,
        /// Timeout, after it.
        rto: Span,
    },
    /// T3-rtx expired.
    T3Timeout {
        /// Path.
        path: PathId,
        /// Timeout, after back-off.
        rto: Span,
    },
    /// Chunks were marked for fast retransmit (RFC 9260 §7.2.4).
    FastRetransmit {
        /// Path they had been sent on.
        path: PathId,
        /// First of them.
        tsn: u32,
    },
    /// A packet with DATA arrived with the mark Congestion Experienced (`Config::ecn`).
    Marked {
        /// Path; `None` when it came on an unknown pair of addresses.
        path: Option<PathId>,
        /// Lowest TSN of the packet, which the ECNE carries.
        tsn: u32,
    },
    /// An ECNE reduced the window of a path (RFC 4960 Appendix A).
    EcnReduction {
        /// The path its TSN had been sent on.
        path: PathId,
        /// The TSN.
        tsn: u32,
    },
    /// A tail loss probe is sent (RFC 8985 §7.3).
    LossProbe {
        /// Path.
        path: PathId,
        /// The chunk that is retransmitted; `None`: new data.
        tsn: Option<u32>,
    },
    /// Data left a silent path, as after an expiration of its T3-rtx, because another path answered a probe.
    Silence {
        /// Path.
        path: PathId,
        /// The other one.
        by: PathId,
    },
    /// The loss classifier judged a loss (`Config::loss_classifier`).
    Verdict {
        /// Path the chunk had been sent on.
        path: PathId,
        /// The first chunk lost.
        tsn: u32,
        /// Its verdict.
        cause: Cause,
    },
    /// The last expiration of T3-rtx was spurious and was undone (`Config::spurious_timeouts`).
    SpuriousTimeout {
        /// Path.
        path: PathId,
    },
    /// The round-trip statistics start over after a spurious timeout.
    RttStartedOver {
        /// Path.
        path: PathId,
        /// The measurement.
        sample: Span,
        /// The statistics after it.
        times: RoundTrips,
    },
    /// An estimate of a path's bandwidth was made.
    Estimate {
        /// Path.
        path: PathId,
        /// Capacity C.
        capacity: Rate,
        /// Available bandwidth B.
        available: Rate,
        /// Minimum round-trip time.
        min_rtt: Span,
        /// Probes lost in the round, in parts per million.
        loss_ppm: u32,
    },
    /// A path appeared.
    PathAdded {
        /// Path.
        path: PathId,
        /// Its addresses.
        at: PathAddr,
    },
    /// A path went away.
    PathRemoved {
        /// Path.
        path: PathId,
    },
    /// A path changed its state.
    PathState {
        /// Path.
        path: PathId,
        /// Previous state.
        from: PathState,
        /// New state.
        to: PathState,
    },
    /// The primary path changed.
    Primary {
        /// Previous primary path.
        from: PathId,
        /// New primary path.
        to: PathId,
        /// The cause.
        cause: PrimaryCause,
    },
    /// The handover policy gave a path its starting state.
    StartState {
        /// Path.
        path: PathId,
        /// Congestion window.
        cwnd: u64,
        /// Slow-start threshold.
        ssthresh: u64,
    },
    /// The handover policy asked for probing on a path or ended it.
    Probing {
        /// Path.
        path: PathId,
        /// True when it begins.
        on: bool,
    },
    /// The handover policy began or ended sending in copy.
    Bicast {
        /// Path that gets the copies; `None` when it ends.
        to: Option<PathId>,
    },
    /// A DATA chunk.
    Data {
        /// Sent or received.
        direction: Direction,
        /// Path; `None` when it came on an unknown pair of addresses.
        path: Option<PathId>,
        /// Its TSN.
        tsn: u32,
        /// User bytes.
        len: u32,
        /// Retransmitted, or received before.
        again: bool,
    },
    /// A SACK chunk.
    Sack {
        /// Sent or received.
        direction: Direction,
        /// Path; `None` when it came on an unknown pair of addresses.
        path: Option<PathId>,
        /// Cumulative TSN ack.
        cum_tsn_ack: u32,
        /// Advertised window.
        a_rwnd: u32,
        /// Number of gap blocks.
        gap_blocks: u16,
        /// Number of duplicate TSNs.
        duplicates: u16,
    },
    /// Any other chunk.
    Control {
        /// Sent or received.
        direction: Direction,
        /// Path; `None` when it came on an unknown pair of addresses.
        path: Option<PathId>,
        /// Chunk type (RFC 9260 §3.2).
        chunk_type: u8,
        /// Its length field.
        len: u16,
    },
    /// The handover policy wrote an entry of its own ([`Action::Note`](crate::handover::Action)).
    PolicyNote {
        /// Its name.
        name: &'static str,
        /// An address it concerns.
        address: Option<IpAddr>,
        /// Its value.
        value: u64,
    },
    /// The handover policy set the window of a running path.
    Adjusted {
        /// Path.
        path: PathId,
        /// Congestion window.
        cwnd: u64,
        /// Slow-start threshold.
        ssthresh: u64,
    },
    /// A local address was added to or removed from the association.
    LocalAddress {
        /// The address.
        address: IpAddr,
        /// True when it was added.
        added: bool,
    },
}
