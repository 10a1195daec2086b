//! What is compared: the quantities of the reference, by the names it gives them.

use serde::{Deserialize, Serialize};

/// A quantity. Its doc says how ns-2's figure was taken; ours is taken at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// In-order payload at the receiver until the end, as a rate since the start of the run, in kbit/s.
    Goodput,
    /// The same between 30 s and 60 s: after the handover.
    GoodputAfter30,
    /// In-order payload at the receiver until the end, in bytes.
    DeliveredBytes,
    /// When the first packet with data is at the router behind the sender's access link, in s.
    FirstData,
    /// When the receiver sends the SACK that acknowledges so many packets in order, in s.
    TCum(u32),
    /// Packets with retransmitted data.
    Rtx,
    /// Packets dropped by the bottleneck's queue on the way to the receiver.
    QueueDrops,
    /// SACKs the receiver sent.
    AckPackets,
    /// T3-rtx expirations.
    Timeouts,
    /// SACKs that started at least one fast retransmit.
    FastRtxEvents,
}

impl Metric {
    /// All of them, in the order of the document.
    pub const ALL: [Self; 13] = [
        Self::Goodput,
        Self::GoodputAfter30,
        Self::DeliveredBytes,
        Self::FirstData,
        Self::TCum(10),
        Self::TCum(100),
        Self::TCum(1000),
        Self::TCum(10_000),
        Self::Rtx,
        Self::QueueDrops,
        Self::AckPackets,
        Self::Timeouts,
        Self::FastRtxEvents,
    ];

    /// The name in `validation/ns2.csv`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Goodput => "goodput_kbps",
            Self::GoodputAfter30 => "goodput_30_60_kbps",
            Self::DeliveredBytes => "delivered_bytes",
            Self::FirstData => "first_data_t",
            Self::TCum(packets) => return format!("t_cum{packets}"),
            Self::Rtx => "rtx",
            Self::QueueDrops => "qdrop",
            Self::AckPackets => "ack_pkts",
            Self::Timeouts => "timeouts",
            Self::FastRtxEvents => "fast_rtx_events",
        }
        .to_owned()
    }

    /// The metric of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Is it read from the trace of single chunks?
    #[must_use]
    pub fn needs_chunks(self) -> bool {
        matches!(self, Self::FirstData | Self::TCum(_))
    }

    /// Digits after the point when it is shown.
    #[must_use]
    pub fn digits(self) -> usize {
        match self {
            Self::FirstData | Self::TCum(_) => 4,
            Self::Goodput | Self::GoodputAfter30 => 1,
            Self::Rtx => 1,
            Self::Timeouts => 2,
            Self::DeliveredBytes | Self::QueueDrops | Self::AckPackets | Self::FastRtxEvents => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_metric_and_differ() {
        for metric in Metric::ALL {
            assert_eq!(Metric::named(&metric.name()), Some(metric));
        }
        assert_eq!(Metric::named("goodput"), None);
    }
}
