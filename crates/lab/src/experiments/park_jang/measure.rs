//! What is measured in the runs, as plain numbers: the only input of the claims and figures. Times in
//! seconds, sizes in bytes.

use serde::{Deserialize, Serialize};

/// What the sender's classifier said of losses, against why the simulator lost the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Lost on the air, taken for wireless.
    pub wireless_as_wireless: u64,
    /// Lost on the air, taken for congestion: the window was cut without need.
    pub wireless_as_congestion: u64,
    /// Lost to congestion, taken for wireless: the window was kept without right.
    pub congestion_as_wireless: u64,
    /// Lost to congestion, taken for congestion.
    pub congestion_as_congestion: u64,
    /// Not lost at all, whatever it was taken for.
    pub not_lost: u64,
}

impl Confusion {
    /// Share of the verdicts “wireless” that were right; `None` when there was none.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.wireless_as_wireless, self.wireless_as_wireless + self.congestion_as_wireless)
    }

    /// Share of the wireless losses that were recognised; `None` when there was none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.wireless_as_wireless, self.wireless_as_wireless + self.wireless_as_congestion)
    }

    /// Share of the congestion losses that were taken for wireless; `None` when there was none.
    #[must_use]
    pub fn missed_congestion(&self) -> Option<f64> {
        share(self.congestion_as_wireless, self.congestion_as_wireless + self.congestion_as_congestion)
    }

    /// Both counted together.
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

/// One transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// User bytes delivered.
    pub delivered: u64,
    /// User bytes delivered to the competing flow, where there is one.
    pub competitor: Option<u64>,
    /// Losses found by duplicate ACKs or gap blocks.
    pub gap_losses: u64,
    /// What the classifier said of them.
    pub confusion: Confusion,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Of those, found to be spurious.
    pub spurious: u64,
    /// Segments or chunks retransmitted.
    pub retransmitted: u64,
    /// Packets dropped by full queues on the way of the data.
    pub queue_drops: u64,
}

/// What one loss looked like at the sender (the paper's Fig. 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Microscope {
    /// Time between two packets sent: the paper's unit of time.
    pub slot: f64,
    /// Round-trip time before the loss.
    pub rtt: f64,
    /// When the first duplicate ACK came.
    pub first_duplicate: f64,
    /// When the third duplicate ACK came.
    pub third_duplicate: f64,
    /// When the lost segment was retransmitted.
    pub retransmission: f64,
    /// What the sender sent and received around it.
    pub events: Vec<Event>,
}

/// Something at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: f64,
    /// Number of the segment, from 1; of an ACK the segment it asks for.
    pub number: u64,
    /// What.
    pub kind: EventKind,
}

/// What happened at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A segment was sent for the first time.
    Sent,
    /// A segment was retransmitted.
    SentAgain,
    /// An ACK came.
    Acked,
}

/// A transfer over an LTE link layer that recovers what the air loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Blocks that the link layer retransmitted.
    pub resent_blocks: u64,
    /// Packets the network lost, at whatever place and for whatever reason.
    pub lost: u64,
    /// Duplicate ACKs the sender received.
    pub duplicate_acks: u64,
    /// Losses the sender found by them.
    pub gap_losses: u64,
    /// Longest round-trip time the sender measured.
    pub longest_rtt: f64,
}

/// A transfer during which the mobile changed its network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Packets of the transfer lost at the handover, in either direction.
    pub lost: u64,
    /// Expirations of the retransmission timer at the handover.
    pub timeouts: u64,
    /// Of those, recognised as spurious.
    pub recognised: u64,
    /// Congestion window before the first of them.
    pub window_before: u64,
    /// Congestion window when the last of them was recognised; else after it.
    pub window_after: u64,
    /// The sender went through slow start after a timeout.
    pub slow_start: bool,
    /// The classifier's parameters after the reset that follows a spurious timeout.
    pub reset: Option<Reset>,
    /// User bytes delivered.
    pub delivered: u64,
}

/// The classifier's parameters at the ACK of the first new segment after a spurious timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// Round-trip time measured then.
    pub rtt: f64,
    /// T_min.
    pub min: f64,
    /// T_avg.
    pub avg: f64,
    /// T_dev.
    pub dev: f64,
}
