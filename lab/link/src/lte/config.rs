//! Parameters and counters of an [`LteLink`](super::LteLink).

use msctp_units::{Rate, Span};

use crate::arq::InvalidRadio;
use crate::loss::Probability;
use msctp_queue::QueueLimit;

/// Transmission time interval, in each of which a transport block is sent.
pub const TTI: Span = Span::from_millis(1);

/// Largest configurable number of transmissions of a transport block.
pub const MAX_ATTEMPTS: usize = 28;

/// Properties of one direction of an LTE radio bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LteConfig {
    /// Rate that the scheduler grants, headers included. A transport block has the whole octets of this rate
    /// in a [`TTI`], 125 at 1 Mbps. A rate too low for the headers and one octet sends nothing until it
    /// changes.
    pub rate: Rate,
    /// Delay from the end of a transport block on the air to its use at the other side, one way. Its ACK or
    /// NACK is part of the HARQ round trip.
    pub delay: Span,
    /// HARQ processes, 1 to 16, and the HARQ round trip in TTIs: a transport block is retransmitted this much
    /// later. 8 in FDD (3GPP TS 36.213 §7).
    pub harq_processes: u32,
    /// Maximum transmissions of a transport block, the first included, 1 to 28. HARQ then abandons the block
    /// (TS 36.321 §5.4.2.2, maxHARQ-Tx).
    pub max_attempts: u32,
    /// Soft combining: after k lost attempts, the next is lost with this probability to the power k.
    /// [`Probability::ONE`] makes attempts independent.
    pub combining: Probability,
    /// Probability that the sender receives a NACK as an ACK and abandons the transport block.
    pub nack_as_ack: Probability,
    /// Octets of RLC and MAC header in a transport block.
    pub pdu_header: u32,
    /// Octets of PDCP header and RLC length indicator with each packet.
    pub packet_header: u32,
    /// PDUs from the oldest unacknowledged to the newest, 1 to 512: AM_Window_Size, 512 (TS 36.322 §7.2).
    pub window: u32,
    /// pollPDU: new PDUs from one poll to the next, at least 1.
    pub poll_pdus: u32,
    /// pollByte: octets of new PDUs from one poll to the next, at least 1.
    pub poll_bytes: u64,
    /// t-PollRetransmit: time to wait for the answer to a poll, more than zero.
    pub poll_retransmit: Span,
    /// t-StatusProhibit: minimum time between status reports. If it is shorter than a status report and a
    /// retransmission with all its HARQ attempts, the receiver requests a PDU twice.
    pub status_prohibit: Span,
    /// t-Reordering: time for which HARQ may still fill a gap, more than zero. It should be at least a HARQ
    /// round trip for each attempt after the first. Otherwise the receiver requests PDUs that are in flight.
    pub reordering: Span,
    /// maxRetxThreshold: retransmissions of a PDU after which its packets are lost, at least 1.
    pub max_retx: u32,
    /// Delay from the creation of a status report to its use at the sender, which includes the wait for a
    /// grant and the transmission.
    pub status_delay: Span,
    /// Probability that a status report is lost.
    pub status_loss: Probability,
    /// Limit of the packets whose transmission has not begun.
    pub queue: QueueLimit,
}

impl Default for LteConfig {
    /// Returns Park & Jang's link of 1 Mbps.
    ///
    /// Timers and maxRetxThreshold are the defaults of TS 36.331 §9.2.1.1, which are those of the signalling
    /// bearers, except for t-StatusProhibit. Data bearers have one, and it must cover HARQ. Headers: RLC 2
    /// and MAC 1; PDCP 2 and a length indicator of 12 bits, rounded up.
    fn default() -> Self {
        Self {
            rate: Rate::from_mbps(1),
            delay: Span::from_millis(3),
            harq_processes: 8,
            max_attempts: 4,
            combining: Probability::ONE,
            nack_as_ack: Probability::ZERO,
            pdu_header: 3,
            packet_header: 4,
            window: 512,
            poll_pdus: 32,
            poll_bytes: 25_000,
            poll_retransmit: Span::from_millis(45),
            status_prohibit: Span::from_millis(45),
            reordering: Span::from_millis(35),
            max_retx: 4,
            status_delay: Span::from_millis(8),
            status_loss: Probability::ZERO,
            queue: QueueLimit::Packets(50),
        }
    }
}

impl LteConfig {
    /// Checks that everything is in range.
    ///
    /// # Errors
    /// [`InvalidRadio`] for the first parameter that is out of range.
    pub fn check(&self) -> Result<(), InvalidRadio> {
        let range = |what, value: u64, most: u64, want| {
            if (1..=most).contains(&value) { Ok(()) } else { Err(InvalidRadio { what, value, want }) }
        };
        range("harq_processes", self.harq_processes.into(), 16, "1 to 16")?;
        range("max_attempts", self.max_attempts.into(), MAX_ATTEMPTS as u64, "1 to 28 transmissions")?;
        range("window", self.window.into(), 512, "1 to 512 PDUs")?;
        range("poll_pdus", self.poll_pdus.into(), u64::MAX, "at least 1 PDU")?;
        range("poll_bytes", self.poll_bytes, u64::MAX, "at least 1 octet")?;
        range("poll_retransmit", self.poll_retransmit.as_nanos(), u64::MAX, "more than 0 ns")?;
        range("reordering", self.reordering.as_nanos(), u64::MAX, "more than 0 ns")?;
        range("max_retx", self.max_retx.into(), u64::MAX, "at least 1 retransmission")
    }

    /// Returns the octets of packets in a transport block.
    pub(super) fn data_octets(&self) -> u64 {
        self.rate.bytes_in(TTI).saturating_sub(self.pdu_header.into())
    }
}

/// Counters of an LTE link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LteStats {
    /// Transport blocks, each counted once.
    pub transport_blocks: u64,
    /// Transmissions of transport blocks.
    pub attempts: u64,
    /// Transport blocks decoded at the first, second, … attempt.
    pub decoded: [u64; MAX_ATTEMPTS],
    /// Transport blocks that HARQ abandoned.
    pub harq_failures: u64,
    /// New PDUs.
    pub pdus: u64,
    /// PDUs retransmitted by RLC.
    pub retransmitted: u64,
    /// Polls sent.
    pub polls: u64,
    /// Number of times that t-PollRetransmit expired.
    pub poll_timeouts: u64,
    /// Status reports sent.
    pub statuses: u64,
    /// Status reports lost.
    pub statuses_lost: u64,
    /// PDUs abandoned after maxRetxThreshold.
    pub discarded_pdus: u64,
    /// Changes of cell.
    pub handovers: u64,
}
