//! Statistics of an association. Plain numbers, no behaviour.

use core::fmt;

use msctp_units::{Rate, Span};

use crate::addr::{PathAddr, PathId};
use crate::cost::Cost;
use crate::message::Reliability;
use crate::rare::rare_state;

/// States of an association (RFC 9260 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of RFC 9260 figure 3")]
pub enum AssociationState {
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

impl fmt::Display for AssociationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        })
    }
}

/// State of a path (RFC 9260 §5.4, §8.2, RFC 7829 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathState {
    /// The path has never answered a HEARTBEAT, so that it may not carry data.
    Unconfirmed,
    /// Confirmed and working.
    Active,
    /// The error counter exceeded the threshold of RFC 7829 (`Config::failover`). Data moves to an active
    /// path if there is one.
    PotentiallyFailed,
    /// The error counter exceeded `path_max_retrans`.
    Inactive,
}

impl fmt::Display for PathState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Active => "active",
            Self::PotentiallyFailed => "potentially failed",
            Self::Inactive => "inactive",
        })
    }
}

/// A snapshot of a path. Sizes in bytes of user data as congestion control counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStats {
    /// Identifier of the path.
    pub id: PathId,
    /// Addresses of the path.
    pub at: PathAddr,
    /// The peer's UDP port on this path (RFC 6951 §5.1); `None` without UDP.
    pub udp_port: Option<u16>,
    /// State: unconfirmed, active, potentially failed or inactive.
    pub state: PathState,
    /// True if the path is the primary.
    pub primary: bool,
    /// What the path costs either end
    /// ([`Association::set_address_cost`](crate::Association::set_address_cost)).
    pub cost: Cost,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` while it is arbitrarily high.
    pub ssthresh: u64,
    /// Bytes sent on this path and not yet acknowledged.
    pub flight_size: u64,
    /// RFC 9260 §7.2.2.
    pub partial_bytes_acked: u64,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Round-trip time variation; `None` before the first measurement.
    pub rttvar: Option<Span>,
    /// Retransmission timeout, including back-off.
    pub rto: Span,
    /// Minimum round-trip time seen.
    pub min_rtt: Option<Span>,
    /// Largest IP packet sent here.
    pub pmtu: u32,
    /// Consecutive errors (RFC 9260 §8.2).
    pub error_count: u32,
    /// Available bandwidth from the last estimate, if there was one.
    pub available: Option<Rate>,
    /// Capacity from the last estimate, if there was one.
    pub capacity: Option<Rate>,
    /// Number of SCTP packets sent on this path so far.
    pub packets_sent: u64,
    /// Bytes of these packets, from the common header on.
    pub bytes_sent: u64,
    /// SCTP packets received on this path with a valid verification tag.
    pub packets_received: u64,
    /// Bytes of these packets, from the common header on.
    pub bytes_received: u64,
    /// DATA chunks retransmitted on this path, regardless of the path that sent them first.
    pub chunks_retransmitted: u64,
    /// DATA chunks sent on this path and declared lost so far: by gap blocks, by time (RACK), or by T3-rtx.
    /// Includes chunks that arrived after all.
    pub chunks_lost: u64,
    /// Pacing rate of the congestion controller; `None` if it does not pace.
    pub pacing_rate: Option<Rate>,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Tail loss probes (`Config::loss_recovery`).
    pub loss_probes: u64,
    /// Spurious T3-rtx expirations that were undone (`Config::spurious_timeouts`).
    pub spurious_timeouts: u64,
    /// Fast retransmits after which the window was kept (`Config::loss_classifier`).
    pub ld_recoveries: u64,
}

/// Number of messages abandoned under one policy (RFC 7496 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonedCount {
    /// Messages abandoned before any part was sent.
    pub unsent: u64,
    /// Messages abandoned after a part was sent.
    pub sent: u64,
}

/// Messages abandoned, by policy (RFC 3758 §4.1, RFC 7496 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abandoned {
    /// Timed reliability.
    pub lifetime: AbandonedCount,
    /// Limited retransmissions.
    pub retransmissions: AbandonedCount,
    /// Priority.
    pub priority: AbandonedCount,
}

impl Abandoned {
    /// Counts of zero.
    pub(crate) const NONE: Self = {
        let none = AbandonedCount { unsent: 0, sent: 0 };
        Self { lifetime: none, retransmissions: none, priority: none }
    };

    pub(crate) fn count(&mut self, reliability: Reliability, unsent: bool) {
        let count = match reliability {
            Reliability::Full => return,
            Reliability::Lifetime(_) => &mut self.lifetime,
            Reliability::Retransmissions(_) => &mut self.retransmissions,
            Reliability::Priority(_) => &mut self.priority,
        };
        if unsent {
            count.unsent += 1;
        } else {
            count.sent += 1;
        }
    }
}

/// Counters of explicit congestion notification since the association began; zeros if it was not negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnStats {
    /// True if both ends offered ECN (`Config::ecn`).
    pub agreed: bool,
    /// Packets with DATA received with a Congestion Experienced mark. If there are none although links on the
    /// path mark, a middlebox clears the bits ("bleaching").
    pub marked_packets: u64,
    /// ECNE chunks sent. Every SACK repeats one until it is answered.
    pub echoes_sent: u64,
    /// ECNE chunks received, including those without effect.
    pub echoes_received: u64,
    /// Window reductions caused by an ECNE.
    pub reductions: u64,
    /// CWR chunks sent.
    pub answers_sent: u64,
    /// CWR chunks received.
    pub answers_received: u64,
}

/// Losses by the verdict of the loss classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Judged to be congestion.
    pub congestion: u64,
    /// Judged to be wireless.
    pub wireless: u64,
}

/// The counters of [`AssociationStats`] that grow with traffic.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounts {
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) data_chunks_sent: u64,
    pub(crate) data_chunks_retransmitted: u64,
    pub(crate) data_chunks_copied: u64,
    pub(crate) data_chunks_received: u64,
    pub(crate) duplicate_tsns_received: u64,
    pub(crate) sacks_sent: u64,
    pub(crate) sacks_received: u64,
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_delivered: u64,
}

rare_state! {
    /// The counters of [`AssociationStats`] that most associations leave at 0.
    pub(crate) struct FaultCounts {
        pub(crate) malformed_packets: u64 = 0,
        pub(crate) wrong_tag_packets: u64 = 0,
        pub(crate) replies_withheld: u64 = 0,
        pub(crate) chunks_held_off: u64 = 0,
        pub(crate) malformed_chunks: u64 = 0,
        pub(crate) unexpected_chunks: u64 = 0,
        pub(crate) unauthenticated_chunks: u64 = 0,
        pub(crate) unprotected_packets: u64 = 0,
        pub(crate) undecryptable_packets: u64 = 0,
        pub(crate) unknown_chunks: u64 = 0,
    }
}

/// Counters of an association since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssociationStats {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// SCTP packets accepted (right checksum and verification tag).
    pub packets_received: u64,
    /// DATA chunks sent for the first time.
    pub data_chunks_sent: u64,
    /// DATA chunks retransmitted.
    pub data_chunks_retransmitted: u64,
    /// DATA chunks sent in copy on another path: bicasting, and
    /// [`PathUse::Redundant`](crate::PathUse::Redundant).
    pub data_chunks_copied: u64,
    /// DATA chunks received for the first time.
    pub data_chunks_received: u64,
    /// DATA chunks received again.
    pub duplicate_tsns_received: u64,
    /// SACK chunks sent.
    pub sacks_sent: u64,
    /// SACK chunks received.
    pub sacks_received: u64,
    /// User bytes acknowledged by the peer.
    pub bytes_acked: u64,
    /// User bytes given to the application.
    pub bytes_delivered: u64,
    /// Packets dropped because of a wrong checksum, length or framing.
    pub malformed_packets: u64,
    /// Packets dropped because of a wrong verification tag (RFC 9260 §8.5).
    pub wrong_tag_packets: u64,
    /// Replies dropped by the amplification limit: three bytes per byte received from an unconfirmed address.
    pub replies_withheld: u64,
    /// Dropped chunks that the peer retransmits. ASCONFs and COOKIE ECHOs of a restart are dropped until the
    /// application reads its events or messages. INITs and stale cookies are dropped above
    /// `EndpointConfig::max_replies_per_second`.
    pub chunks_held_off: u64,
    /// Chunks ignored: value or framing wrong.
    pub malformed_chunks: u64,
    /// Chunks ignored because they are not expected in this state.
    pub unexpected_chunks: u64,
    /// Chunks ignored because they were not authenticated, and AUTH chunks that were not valid (RFC 4895
    /// §6.3).
    pub unauthenticated_chunks: u64,
    /// Packets in clear that were discarded because protection is on (`Config::protection`).
    pub unprotected_packets: u64,
    /// Protected packets that could not be opened: forged, repeated, or under unknown keys.
    pub undecryptable_packets: u64,
    /// Chunks of an unknown type.
    pub unknown_chunks: u64,
    /// Messages abandoned because their reliability expired.
    pub abandoned: Abandoned,
    /// Losses that the loss classifier judged (`Config::loss_classifier`).
    pub verdicts: Verdicts,
    /// Consecutive errors over all paths (RFC 9260 §8.1).
    pub error_count: u32,
}
