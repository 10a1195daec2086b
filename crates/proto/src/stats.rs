//! What can be read off an association at any time. Plain numbers, no behaviour.

use core::fmt;

use msctp_units::{Rate, Span};

use crate::{PathAddr, PathId, Reliability};

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
    /// Never answered a HEARTBEAT: no data may go there.
    Unconfirmed,
    /// Confirmed and working.
    Active,
    /// Its error counter exceeded the threshold of RFC 7829 (`Config::failover`): data takes an active path if there is one.
    PotentiallyFailed,
    /// Its error counter exceeded path_max_retrans.
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

/// A path at one moment. Sizes in bytes of user data as congestion control counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStats {
    /// Its name.
    pub id: PathId,
    /// Its addresses.
    pub at: PathAddr,
    /// Unconfirmed, active, potentially failed, inactive.
    pub state: PathState,
    /// New data goes here.
    pub primary: bool,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` while it is as high as it can be.
    pub ssthresh: u64,
    /// Bytes sent here and not yet acknowledged.
    pub flight_size: u64,
    /// RFC 9260 §7.2.2.
    pub partial_bytes_acked: u64,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Round-trip time variation; `None` before the first measurement.
    pub rttvar: Option<Span>,
    /// Retransmission time-out, backed off.
    pub rto: Span,
    /// Least round-trip time seen.
    pub min_rtt: Option<Span>,
    /// Largest IP packet sent here.
    pub pmtu: u32,
    /// Consecutive errors (RFC 9260 §8.2).
    pub error_count: u32,
    /// Available bandwidth by the last estimate, when there was one.
    pub available: Option<Rate>,
    /// Capacity by the last estimate, when there was one.
    pub capacity: Option<Rate>,
    /// SCTP packets sent here so far.
    pub packets_sent: u64,
    /// Bytes of those, from the common header on.
    pub bytes_sent: u64,
    /// SCTP packets that came over this path so far, of those with the right verification tag.
    pub packets_received: u64,
    /// Bytes of those, from the common header on.
    pub bytes_received: u64,
    /// DATA chunks retransmitted here so far, wherever they were sent before.
    pub chunks_retransmitted: u64,
    /// DATA chunks sent here and declared lost so far: by gap blocks, by time (RACK), or by T3-rtx. Those that arrived all the same
    /// count too.
    pub chunks_lost: u64,
    /// Rate at which the congestion controller spaces packets; `None`: it does not.
    pub pacing_rate: Option<Rate>,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Tail loss probes (`RecoveryConfig::loss_recovery`).
    pub loss_probes: u64,
    /// T3-rtx expirations that were spurious and were undone (`Config::frto`).
    pub spurious_timeouts: u64,
    /// Fast retransmits after which the window was kept (`Config::loss_classifier`).
    pub ld_recoveries: u64,
}

/// Messages given up under one policy (RFC 7496 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonedCount {
    /// Nothing of them was sent.
    pub unsent: u64,
    /// Something of them was sent.
    pub sent: u64,
}

/// Messages given up, by policy (RFC 3758 §4.1, RFC 7496 §3).
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
    /// No message was.
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

/// What explicit congestion notification did since an association began; zeros where it was not agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnStats {
    /// Both ends offered it (`Config::ecn`).
    pub agreed: bool,
    /// Packets with DATA that came marked with Congestion Experienced. None at all, while the links before are known to mark,
    /// means that somebody on the way wipes the bits out ("bleaching").
    pub marked_packets: u64,
    /// ECNE chunks sent: every SACK repeats one until it is answered.
    pub echoes_sent: u64,
    /// ECNE chunks received, those of no effect included.
    pub echoes_received: u64,
    /// Windows that were reduced for one.
    pub reductions: u64,
    /// CWR chunks sent.
    pub answers_sent: u64,
    /// CWR chunks received.
    pub answers_received: u64,
}

/// Losses that the loss classifier judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Judged to be congestion.
    pub congestion: u64,
    /// Judged to be wireless.
    pub wireless: u64,
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
    /// DATA chunks sent again.
    pub data_chunks_retransmitted: u64,
    /// DATA chunks sent in copy on a second path (bicasting).
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
    /// Packets dropped: checksum, length or framing wrong.
    pub malformed_packets: u64,
    /// Packets dropped: verification tag wrong (RFC 9260 §8.5).
    pub wrong_tag_packets: u64,
    /// Replies not sent: to an address that is not confirmed at most three bytes go for each that came from it.
    pub replies_withheld: u64,
    /// Chunks dropped that the peer sends again (ASCONF, COOKIE ECHO of a restart): the application has to take its events or
    /// messages first.
    pub chunks_held_off: u64,
    /// Chunks ignored: value or framing wrong.
    pub malformed_chunks: u64,
    /// Chunks ignored: not expected in this state.
    pub unexpected_chunks: u64,
    /// Chunks ignored because they were not authenticated, and AUTH chunks that were not valid (RFC 4895 §6.3).
    pub unauthenticated_chunks: u64,
    /// Chunks of an unknown type.
    pub unknown_chunks: u64,
    /// Messages given up because their reliability ended.
    pub abandoned: Abandoned,
    /// Losses that the loss classifier judged (`Config::loss_classifier`).
    pub verdicts: Verdicts,
    /// Errors in a row over all paths (RFC 9260 §8.1).
    pub error_count: u32,
}
