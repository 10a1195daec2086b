//! Measurements of the runs as plain numbers: the only input of the claims and figures. Times are in seconds,
//! sizes in bytes.

use serde::{Deserialize, Serialize};

/// The classifier's decisions against the simulator's reasons for the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Lost on the wireless link, classified as wireless.
    pub wireless_as_wireless: u64,
    /// Lost on the wireless link, classified as congestion: the window was cut needlessly.
    pub wireless_as_congestion: u64,
    /// Lost to congestion, classified as wireless: the window was kept wrongly.
    pub congestion_as_wireless: u64,
    /// Lost to congestion, classified as congestion.
    pub congestion_as_congestion: u64,
    /// Not lost, whatever the classification.
    pub not_lost: u64,
}

impl Confusion {
    /// Returns the share of “wireless” classifications that were right; `None` without any.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.wireless_as_wireless, self.wireless_as_wireless + self.congestion_as_wireless)
    }

    /// Returns the share of wireless losses that were classified as such; `None` without any.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.wireless_as_wireless, self.wireless_as_wireless + self.wireless_as_congestion)
    }

    /// Returns the share of congestion losses that were classified as wireless; `None` without any.
    #[must_use]
    pub fn missed_congestion(&self) -> Option<f64> {
        share(self.congestion_as_wireless, self.congestion_as_wireless + self.congestion_as_congestion)
    }

    /// Adds both counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            wireless_as_wireless: self.wireless_as_wireless + other.wireless_as_wireless,
            wireless_as_congestion: self.wireless_as_congestion + other.wireless_as_congestion,
            congestion_as_wireless: self.congestion_as_wireless + other.congestion_as_wireless,
            congestion_as_congestion: self.congestion_as_congestion + other.congestion_as_congestion,
            not_lost: self.not_lost + other.not_lost,
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The measurements of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// User bytes delivered.
    pub delivered: u64,
    /// User bytes delivered to the competing flow; `None` without one.
    pub competitor: Option<u64>,
    /// Losses detected by duplicate ACKs or gap blocks.
    pub gap_losses: u64,
    /// Their classification.
    pub confusion: Confusion,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Expirations found to be spurious.
    pub spurious: u64,
    /// Segments or chunks retransmitted.
    pub retransmitted: u64,
    /// Packets dropped by full queues in the direction of the data.
    pub queue_drops: u64,
}

/// One loss as observed by the sender (the paper's Fig. 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Microscope {
    /// Time between two packets sent: the paper's unit of time.
    pub slot: f64,
    /// Round-trip time before the loss.
    pub rtt: f64,
    /// Time of the first duplicate ACK.
    pub first_duplicate: f64,
    /// Time of the third duplicate ACK.
    pub third_duplicate: f64,
    /// Time at which the lost segment was retransmitted.
    pub retransmission: f64,
    /// The sender's segments and ACKs around the loss.
    pub events: Vec<Event>,
}

/// An event at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Time.
    pub at: f64,
    /// Number of the segment, from 1; for an ACK, of the next expected segment.
    pub number: u64,
    /// The kind.
    pub kind: EventKind,
}

/// The kind of an event at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A segment was sent for the first time.
    Sent,
    /// A segment was retransmitted.
    Retransmitted,
    /// An ACK was received.
    Acked,
}

/// The measurements of a transfer over an LTE link layer that retransmits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Blocks retransmitted by the link layer.
    pub retransmitted_blocks: u64,
    /// Packets lost in the network, at any place and for any reason.
    pub lost: u64,
    /// Duplicate ACKs the sender received.
    pub duplicate_acks: u64,
    /// Losses detected by them.
    pub gap_losses: u64,
    /// Longest round-trip time the sender measured.
    pub longest_rtt: f64,
}

/// The measurements of a transfer with one change of network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Packets of the transfer lost at the handover, in either direction.
    pub lost: u64,
    /// Expirations of the retransmission timer at the handover.
    pub timeouts: u64,
    /// Expirations recognised as spurious.
    pub recognised: u64,
    /// Congestion window before the first expiration.
    pub window_before: u64,
    /// Congestion window when the last expiration was recognised, or else after it.
    pub window_after: u64,
    /// True if the sender went through slow start after a timeout.
    pub slow_start: bool,
    /// The classifier's parameters after the reset that follows a spurious timeout.
    pub reset: Option<Reset>,
    /// User bytes delivered.
    pub delivered: u64,
}

/// The classifier's parameters at the ACK of the first new segment after a spurious timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// Round-trip time measured at that ACK.
    pub rtt: f64,
    /// T_min.
    pub min: f64,
    /// T_avg.
    pub avg: f64,
    /// T_dev.
    pub dev: f64,
}
