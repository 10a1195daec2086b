//! Parameters and counters of an [`EgprsLink`](super::EgprsLink).

use msctp_units::Span;

use super::{BLOCK_PERIOD, CodingScheme};
use crate::arq::InvalidRadio;
use crate::loss::Probability;
use msctp_queue::QueueLimit;

/// Properties of one direction of an EGPRS radio link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgprsConfig {
    /// Channel coding of new blocks.
    pub scheme: CodingScheme,
    /// Packet data channels (timeslots), 1 to 8: each carries a radio block per [`BLOCK_PERIOD`].
    pub pdchs: u32,
    /// One-way delay from the end of a block on the air to its use at the other side, in the base station
    /// subsystem and the mobile.
    pub delay: Span,
    /// WS: RLC data blocks from the oldest unacknowledged to the newest, 1 to 1024. 3GPP TS 44.060 §9.1.9: 64
    /// in GPRS, 64 to 1024 in EGPRS, of which a mobile with three PDCHs may have 384.
    pub window: u32,
    /// Number of RLC data blocks from one poll to the next, at least 1. The sender also polls when it has no
    /// new data or may not send it, unless a report is in flight.
    pub poll_period: u32,
    /// Time from the start of the polling block to the start of the block reserved for the report, at least
    /// one [`BLOCK_PERIOD`]. TS 44.060 §10.4.5: 8 or 9 to 26 TDMA frames (40 to 120 ms).
    pub rrbp: Span,
    /// Probability that a report is lost.
    pub report_loss: Probability,
    /// Octets of LLC and SNDCP added to each packet. The RLC block's length indicator adds one octet more.
    pub frame_overhead: u32,
    /// Time from a packet's arrival at an idle link to the first block, to set up the temporary block flow.
    pub establishment: Span,
    /// Time from the last acknowledgement to the end of the temporary block flow (delayed release, TS 44.060
    /// §9.3.1a).
    pub release: Span,
    /// Limit of the packets whose transmission has not begun.
    pub queue: QueueLimit,
}

impl Default for EgprsConfig {
    /// Returns the downlink of a mobile with three PDCHs and CS4. The report is sent 13 TDMA frames (60 ms)
    /// after the poll. LLC takes 6 octets (TS 44.064: address 1, control 2, checksum 3) and SNDCP 4 (TS
    /// 44.065, unacknowledged mode) of each packet.
    fn default() -> Self {
        Self {
            scheme: CodingScheme::Cs4,
            pdchs: 3,
            delay: Span::ZERO,
            window: 384,
            poll_period: 20,
            rrbp: Span::from_millis(60),
            report_loss: Probability::ZERO,
            frame_overhead: 10,
            establishment: Span::from_millis(200),
            release: Span::from_secs(1),
            queue: QueueLimit::Packets(50),
        }
    }
}

impl EgprsConfig {
    /// Checks that everything is in range.
    ///
    /// # Errors
    /// [`InvalidRadio`] for the first parameter that is out of range.
    pub fn check(&self) -> Result<(), InvalidRadio> {
        let range = |what, value: u64, least: u64, most: u64, want| {
            if (least..=most).contains(&value) { Ok(()) } else { Err(InvalidRadio { what, value, want }) }
        };
        range("pdchs", self.pdchs.into(), 1, 8, "1 to 8 timeslots")?;
        range("window", self.window.into(), 1, 1024, "1 to 1024 blocks")?;
        range("poll_period", self.poll_period.into(), 1, u32::MAX.into(), "at least 1 block")?;
        let least = BLOCK_PERIOD.as_nanos();
        range("rrbp", self.rrbp.as_nanos(), least, u64::MAX, "at least 20000000 ns, one block period")
    }
}

/// Counters of an EGPRS link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgprsStats {
    /// Radio blocks sent.
    pub radio_blocks: u64,
    /// RLC data blocks sent for the first time.
    pub blocks: u64,
    /// RLC data blocks retransmitted because a report named them as missing.
    pub retransmitted: u64,
    /// RLC data blocks retransmitted because no new data was queued.
    pub sent_early: u64,
    /// RLC data blocks, or halves of them, lost on the channel.
    pub block_errors: u64,
    /// Time in which new data waited because the window was full, in whole block periods.
    pub stalled: Span,
    /// Polls sent.
    pub polls: u64,
    /// Polls that the receiver could not read.
    pub polls_lost: u64,
    /// Reports lost on the return path.
    pub reports_lost: u64,
    /// Temporary block flows set up.
    pub flows: u64,
    /// Changes of cell.
    pub handovers: u64,
}
