//! [`OutboundConfig`]: the options of the sending half, and the types of those that concern loss recovery.

use msctp_congestion::classifier::ClassifierFactory;
use msctp_units::Span;

/// Options of the sending half of one association; `Config` documents them.
#[derive(Clone, Debug)]
pub(crate) struct OutboundConfig<'a> {
    /// The stream scheduler's name.
    pub scheduler: &'a str,
    /// Bytes of user messages that wait or are not yet acknowledged.
    pub send_buffer: u32,
    /// Max.Burst in packets; 0: no limit.
    pub max_burst: u32,
    /// Cuts fragments so that packets are full: several then leave in one batch of equal lengths.
    pub full_packets: bool,
    /// Send messages that fit one packet in copy on other networks.
    pub copies_small: bool,
    /// Path of retransmissions after a timeout.
    pub retransmission_path: RetransmissionPath,
    /// Detection of lost chunks.
    pub loss_recovery: LossRecovery,
    /// Response to a spurious expiration of T3-rtx.
    pub spurious_timeouts: SpuriousTimeouts,
    /// Makes the loss classifier; `None`: every loss is congestion.
    pub loss_classifier: Option<&'a ClassifierFactory>,
    /// The shortest silence that counts as one; `None`: no silence detection.
    pub silence: Option<Span>,
    /// The peer's SACK delay, estimated by this end's.
    pub sack_delay: Span,
    /// Fills the trace.
    pub trace: bool,
}

/// Loss detection and Fast Recovery algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// By counting: the third miss indication (RFC 9260 §7.2.4), else T3-rtx. The default.
    #[default]
    Rfc9260,
    /// As `Rfc9260`, with proportional rate reduction (RFC 9937). In Fast Recovery the bytes in flight fall
    /// to the threshold in proportion to the delivered data, instead of by a pause of half a window. No
    /// effect on controllers without a threshold.
    Prr,
    /// By time: RACK-TLP (RFC 8985) in SCTP's terms. A chunk is lost when one sent later on the same path has
    /// arrived and a reordering window has passed; a probe after two round trips finds losses at the end of
    /// the data. T3-rtx stays as the last resort.
    Rack,
    /// As `Rack`, with proportional rate reduction (RFC 8985 §9.3).
    RackPrr,
}

impl LossRecovery {
    /// Returns whether losses are detected by time.
    pub(crate) fn uses_rack(self) -> bool {
        matches!(self, Self::Rack | Self::RackPrr)
    }

    /// Returns whether Fast Recovery reduces the flight in proportion.
    pub(crate) fn uses_prr(self) -> bool {
        matches!(self, Self::Prr | Self::RackPrr)
    }
}

/// Response to a spurious expiration of T3-rtx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpuriousTimeouts {
    /// Nothing: expirations are not examined. The default.
    #[default]
    Ignore,
    /// Detect and undo it: F-RTO (RFC 5682) in SCTP's terms.
    Undo,
    /// As `Undo`; the round trip of the first new data then restarts the RTT estimator.
    UndoAndRestartRtt,
}

/// Path of a chunk whose T3-rtx expired (RFC 9260 §6.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetransmissionPath {
    /// An active path other than the last one, if there is one. RFC 9260 §6.4, the default.
    #[default]
    Alternate,
    /// The same path while it is active.
    Same,
}
