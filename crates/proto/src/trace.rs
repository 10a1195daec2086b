//! The trace: one typed stream of internal events, for plots and tests. Recorded only if `Config::trace` is
//! on; the protocol never reads it.

use core::fmt;
use core::net::IpAddr;

use msctp_congestion::RoundTrips;
use msctp_congestion::classifier::Cause;
use msctp_units::{Rate, Span, Time};

use crate::addr::{PathAddr, PathId};
use crate::grounds::Grounds;
use crate::stats::{AssociationState, PathState};

/// One entry of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event.
    pub at: Time,
    /// Kind of the event, with its data.
    pub kind: TraceKind,
}

/// Direction of a chunk.
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
    /// The peer, by Set Primary (RFC 5061 §4.2.4).
    Peer,
    /// The old primary was inactive or potentially failed (RFC 9260 §6.4.1, RFC 7829 §3.2). It stays the
    /// preferred one.
    Failover,
    /// The error count of the old primary exceeded the threshold of RFC 7829 §5.
    Switchover,
    /// The old primary was removed.
    Removed,
    /// The handover policy, on these grounds.
    Policy(Grounds),
    /// Its link is preferred to the others' ([`Mobility::prefer`](crate::Mobility::prefer)).
    Link,
    /// The link of the old primary is down, or the path does not answer.
    LinkDown,
}

impl PrimaryCause {
    /// Returns one word for the cause, such as `policy`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Peer => "peer",
            Self::Failover => "failover",
            Self::Switchover => "switchover",
            Self::Removed => "removed",
            Self::Policy(_) => "policy",
            Self::Link => "link",
            Self::LinkDown => "link-down",
        }
    }
}

impl fmt::Display for PrimaryCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("the application chose it"),
            Self::Peer => f.write_str("the peer asked for it"),
            Self::Failover => f.write_str("the other does not answer"),
            Self::Switchover => f.write_str("the other failed too often"),
            Self::Removed => f.write_str("the other is gone"),
            Self::Policy(grounds) => grounds.fmt(f),
            Self::Link => f.write_str("its link is preferred"),
            Self::LinkDown => f.write_str("the other's link is down or silent"),
        }
    }
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
    /// The window of a path, recorded when it or the bytes in flight changed.
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
        /// Smoothed round-trip time after the measurement.
        srtt: Span,
        /// Retransmission timeout after the measurement.
        rto: Span,
    },
    /// T3-rtx expired.
    T3Timeout {
        /// Path.
        path: PathId,
        /// Retransmission timeout after back-off.
        rto: Span,
    },
    /// Chunks were marked for fast retransmit (RFC 9260 §7.2.4).
    FastRetransmit {
        /// Path on which the chunks were sent.
        path: PathId,
        /// First TSN of the chunks.
        tsn: u32,
    },
    /// A packet with DATA arrived with a Congestion Experienced mark (`Config::ecn`).
    Marked {
        /// Path of the packet; `None` if it arrived on an unknown pair of addresses.
        path: Option<PathId>,
        /// Lowest TSN of the packet, which the ECNE carries.
        tsn: u32,
    },
    /// An ECNE reduced the window of a path (RFC 4960 Appendix A).
    EcnReduction {
        /// Path on which the chunk with the ECNE's TSN was sent.
        path: PathId,
        /// TSN in the ECNE.
        tsn: u32,
    },
    /// A tail loss probe is sent (RFC 8985 §7.3).
    LossProbe {
        /// Path.
        path: PathId,
        /// The retransmitted chunk; `None` for new data.
        tsn: Option<u32>,
    },
    /// Data left a silent path, as after an expiration of its T3-rtx, because another path answered a probe.
    Silence {
        /// Path.
        path: PathId,
        /// The path that answered.
        by: PathId,
    },
    /// The loss classifier judged a loss (`Config::loss_classifier`).
    Verdict {
        /// Path on which the chunk was sent.
        path: PathId,
        /// The first chunk lost.
        tsn: u32,
        /// Verdict on the loss.
        cause: Cause,
    },
    /// The last expiration of T3-rtx was spurious and was undone (`Config::spurious_timeouts`).
    SpuriousTimeout {
        /// Path.
        path: PathId,
    },
    /// The round-trip statistics restarted after a spurious timeout.
    RttStartedOver {
        /// Path.
        path: PathId,
        /// The measurement.
        sample: Span,
        /// Statistics after the restart.
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
        /// Share of probes lost in the round, in parts per million.
        loss_ppm: u32,
    },
    /// A path appeared.
    PathAdded {
        /// Path.
        path: PathId,
        /// Addresses of the path.
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
    /// The handover policy started or ended probing on a path.
    Probing {
        /// Path.
        path: PathId,
        /// True if probing begins.
        on: bool,
    },
    /// The peer said what a path costs it, and that changed what the path costs either end.
    PathCost {
        /// Path.
        path: PathId,
        /// Only to be used while none without this mark works well.
        backup: bool,
        /// An end pays by the byte.
        metered: bool,
    },
    /// The handover policy began or ended bicasting.
    Bicast {
        /// Path of the copies; `None` when bicasting ends.
        to: Option<PathId>,
    },
    /// A DATA chunk.
    Data {
        /// Sent or received.
        direction: Direction,
        /// Path of the chunk; `None` if it arrived on an unknown pair of addresses.
        path: Option<PathId>,
        /// TSN of the chunk.
        tsn: u32,
        /// Number of user bytes in the chunk.
        len: u32,
        /// True if the chunk was retransmitted or received before.
        again: bool,
    },
    /// A SACK chunk.
    Sack {
        /// Sent or received.
        direction: Direction,
        /// Path of the chunk; `None` if it arrived on an unknown pair of addresses.
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
        /// Path of the chunk; `None` if it arrived on an unknown pair of addresses.
        path: Option<PathId>,
        /// Chunk type (RFC 9260 §3.2).
        chunk_type: u8,
        /// Length field of the chunk.
        len: u16,
    },
    /// The handover policy wrote an entry ([`Action::Note`](crate::handover::Action)).
    PolicyNote {
        /// Name of the entry.
        name: &'static str,
        /// Address that the entry concerns, if any.
        address: Option<IpAddr>,
        /// Value of the entry.
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
        /// True if the address was added.
        added: bool,
    },
}
