//! The metrics that are compared, under the reference's names.

use serde::{Deserialize, Serialize};

/// A metric. Its documentation states how ns-2's figure was measured; msctp's is measured at the same point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// Payload in order at the receiver until the end, as a rate since the start of the run, in kbit/s.
    Goodput,
    /// Payload in order at the receiver from 30 s to 60 s, after the handover, as a rate in kbit/s.
    GoodputAfter30,
    /// Payload in order at the receiver until the end, in bytes.
    DeliveredBytes,
    /// Time at which the first packet with data is at the router behind the sender's access link, in s.
    FirstData,
    /// Time at which the receiver sends the SACK that acknowledges this many packets in order, in s.
    TCum(u32),
    /// Packets with retransmitted data.
    Rtx,
    /// Packets dropped by the bottleneck's queue on the way to the receiver.
    QueueDrops,
    /// SACKs sent by the receiver.
    AckPackets,
    /// T3-rtx expirations.
    Timeouts,
    /// Number of SACKs that started at least one fast retransmit.
    FastRtxEvents,
}

impl Metric {
    /// All metrics, in the order of the document.
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

    /// Returns the name in `validation/ns2.csv`.
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

    /// Returns the metric of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns true if the metric needs the trace of single chunks.
    #[must_use]
    pub fn needs_chunks(self) -> bool {
        matches!(self, Self::FirstData | Self::TCum(_))
    }

    /// Returns the digits shown after the point.
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
    fn names_are_unique_and_parse_back() {
        for metric in Metric::ALL {
            assert_eq!(Metric::named(&metric.name()), Some(metric));
        }
        assert_eq!(Metric::named("goodput"), None);
    }
}
