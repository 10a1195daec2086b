//! [`SackClock`]: when a SACK is due (RFC 9260 §6.2, §6.7). Independent of its content.

use msctp_units::{Span, Time};

/// The delayed acknowledgement of RFC 9260 §6.2.
#[derive(Debug)]
pub(super) struct SackClock {
    delay: Span,
    frequency: u32,
    /// Number of packets with DATA since the last SACK.
    packets: u32,
    /// True if a SACK is due now.
    immediate: bool,
    deadline: Option<Time>,
    /// True if no DATA chunk has been received yet.
    first: bool,
    /// The packet being processed has DATA.
    packet_has_data: bool,
}

impl SackClock {
    /// Creates a clock: a SACK at least every `frequency` packets and within `delay`.
    pub(super) fn new(delay: Span, frequency: u32) -> Self {
        Self {
            delay,
            frequency,
            packets: 0,
            immediate: false,
            deadline: None,
            first: true,
            packet_has_data: false,
        }
    }

    /// Records a processed DATA chunk. `hasten` means that its SACK must not be delayed.
    pub(super) fn on_data(&mut self, hasten: bool) {
        self.packet_has_data = true;
        self.immediate |= hasten;
    }

    /// Notes the end of a packet.
    pub(super) fn end_packet(&mut self, now: Time) {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# An SCTP receiver MUST NOT generate more than one SACK chunk for every incoming packet, other than
        //# to update the offered window
        if !core::mem::take(&mut self.packet_has_data) {
            return;
        }
        self.packets += 1;
        // RFC 9260 §5.1: after the first DATA chunk an endpoint MUST immediately respond with a SACK. §6.2:
        // at least every second packet, and within the delay of the first unacknowledged chunk.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //# the endpoint MUST immediately respond with a SACK chunk to acknowledge the DATA chunk.
        let first = core::mem::take(&mut self.first);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# The SCTP endpoint MUST always acknowledge the reception of each valid DATA chunk when the DATA
        //# chunk received is inside its receive window.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# an SCTP transmitter MUST NOT be more aggressive in sending SACK chunks than the following
        //# algorithms allow.
        if first || self.packets >= self.frequency || self.delay.is_zero() {
            self.immediate = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.delay);
        }
    }

    /// Requests a SACK without DATA (window update, RFC 9260 §6.2).
    pub(super) fn hasten(&mut self) {
        self.immediate = true;
    }

    /// Returns whether a SACK must be sent now.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.immediate || self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns whether there is something to acknowledge, so that a SACK is bundled with outbound DATA
    /// (RFC 9260 §6.1).
    pub(super) fn is_pending(&self) -> bool {
        self.immediate || self.packets > 0
    }

    /// Returns when the delay of unacknowledged DATA ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Records that a SACK was written.
    pub(super) fn sent(&mut self) {
        self.packets = 0;
        self.immediate = false;
        self.deadline = None;
    }
}
