//! Input of segments (RFC 9293 §3.10.7).

use msctp_units::{Span, Time};

use crate::event::{Event, Failure};
use crate::header::{self, Flags, Header, Parsed};
use crate::receiver::Arrival;
use crate::sender::{AckInfo, Sender};
use crate::trace::TraceKind;

use super::{Connection, Phase};

/// Returns the offset nearest to `reference` whose sequence number is `sequence`, when that of offset 0 is
/// `initial`.
pub(super) fn offset_of(sequence: u32, initial: u32, reference: u64) -> Option<u64> {
    let distance = sequence.wrapping_sub(initial.wrapping_add(reference as u32)) as i32;
    reference.checked_add_signed(i64::from(distance))
}

impl Connection {
    /// Handles a segment: its header bytes, followed by the laboratory's extension if there is one, and the
    /// length of its user data. Counts an invalid segment as refused.
    pub fn handle_segment(&mut self, now: Time, header: &[u8], payload_len: u32) {
        let parsed = header::parse(header).ok().filter(|parsed| {
            let header = &parsed.header;
            (header.destination_port, header.source_port) == (self.ports.local, self.ports.remote)
        });
        let Some(parsed) = parsed else {
            self.stats.refused += 1;
            return;
        };
        match self.phase {
            Phase::Closed => self.stats.refused += 1,
            Phase::Listen => self.on_listen(&parsed.header),
            Phase::SynSent => self.on_syn_sent(now, &parsed.header),
            Phase::SynReceived | Phase::Open | Phase::TimeWait(_) => {
                self.on_segment(now, &parsed, payload_len);
            }
        }
    }

    fn on_listen(&mut self, header: &Header) {
        let flags = header.flags;
        if !flags.has(Flags::SYN) || flags.has(Flags::ACK) || flags.has(Flags::RST) {
            self.stats.refused += 1;
            return;
        }
        self.agree(header);
        self.phase = Phase::SynReceived;
        self.handshake.due = true;
    }

    fn on_syn_sent(&mut self, now: Time, header: &Header) {
        let flags = header.flags;
        let answers = flags.has(Flags::ACK) && header.acknowledgment == self.iss.wrapping_add(1);
        if answers && flags.has(Flags::RST) {
            self.end(now, Event::Lost(Failure::Reset));
        } else if answers && flags.has(Flags::SYN) {
            self.agree(header);
            self.open(now);
        } else {
            // A SYN without ACK would be a simultaneous open, which this TCP does not do.
            self.stats.refused += 1;
        }
    }

    fn on_segment(&mut self, now: Time, parsed: &Parsed<'_>, payload_len: u32) {
        let header = &parsed.header;
        let flags = header.flags;
        let Some(offset) = offset_of(header.sequence, self.irs, self.receiver.next()) else {
            self.stats.refused += 1;
            return;
        };
        if flags.has(Flags::RST) {
            // RFC 5961 §3.2: only exactly in order
            if offset == self.receiver.next() && !matches!(self.phase, Phase::TimeWait(_)) {
                self.end(now, Event::Lost(Failure::Reset));
            } else {
                self.stats.refused += 1;
            }
            return;
        }
        if flags.has(Flags::SYN) {
            // The peer has not seen our answer to its SYN, or its SYN is late.
            match self.phase {
                Phase::SynReceived if offset == 0 => self.handshake.due = true,
                _ => self.receiver.force_ack(),
            }
            return;
        }
        if !flags.has(Flags::ACK) {
            self.stats.refused += 1;
            return;
        }
        let una = self.sender.as_ref().map_or(0, |sender| sender.at().una);
        let max = self.sender.as_ref().map_or(1, |sender| sender.at().max);
        match offset_of(header.acknowledgment, self.iss, una) {
            Some(ack) if ack <= max && (ack > 0 || self.sender.is_some()) => {
                self.on_acknowledgment(now, parsed, offset, ack, payload_len);
            }
            _ => {
                // RFC 9293 §3.10.7.4: it acknowledges what was not sent.
                self.stats.refused += 1;
                self.receiver.force_ack();
                return;
            }
        }
        self.take_data(now, offset, payload_len, flags.has(Flags::FIN));
        self.move_on(now);
    }

    fn on_acknowledgment(&mut self, now: Time, parsed: &Parsed<'_>, offset: u64, ack: u64, payload_len: u32) {
        if self.phase == Phase::SynReceived {
            self.open(now);
        }
        let header = &parsed.header;
        let echo = header.timestamps.filter(|_| self.timestamps);
        // RFC 7323 §4.3 (2)
        if let Some(timestamps) = echo
            && offset <= self.last_ack_sent
            && timestamps.value.wrapping_sub(self.ts_recent) as i32 >= 0
        {
            self.ts_recent = timestamps.value;
        }
        let Some(sender) = &mut self.sender else { return };
        if ack < sender.at().una {
            return;
        }
        self.blocks.clear();
        if self.sack {
            let una = sender.at().una;
            let offset = |sequence| offset_of(sequence, self.iss, una);
            let blocks = parsed.blocks().filter_map(|(start, end)| Some((offset(start)?, offset(end)?)));
            self.blocks.extend(blocks.filter(|(start, end)| start < end));
        }
        let tick = self.config.timestamp_tick.as_nanos();
        let ticks = |echo: u32| ((now.as_nanos() / tick) as u32).wrapping_sub(echo);
        let info = AckInfo {
            ack,
            window: u64::from(header.window) << self.peer_shift,
            with_data: payload_len > 0 || header.flags.has(Flags::FIN),
            blocks: &self.blocks,
            rtt: echo.map(|timestamps| Span::from_nanos(tick) * u64::from(ticks(timestamps.echo))),
        };
        sender.on_ack(now, &info, &mut self.stats, &mut self.trace);
    }

    fn take_data(&mut self, now: Time, offset: u64, len: u32, fin: bool) {
        if len == 0 && !fin {
            // RFC 9293 §3.10.7.4: an old segment without data is answered, a keep-alive that is.
            if offset < self.receiver.next() && self.sender.is_some() && offset + 1 == self.receiver.next() {
                self.receiver.force_ack();
            }
            return;
        }
        self.trace.add(now, TraceKind::Received { offset, len });
        let was_finished = self.receiver.is_finished();
        match self.receiver.receive(now, offset, u64::from(len), fin) {
            Arrival::Next => {}
            Arrival::OutOfOrder => self.stats.out_of_order_received += 1,
            Arrival::Known => self.stats.duplicates_received += 1,
            Arrival::Outside => self.stats.refused += 1,
        }
        if self.receiver.is_finished() && !was_finished {
            self.closed_first = self.sender.as_ref().is_some_and(Sender::fin_is_sent);
            self.events.push_back(Event::PeerFinished);
        }
        if let Phase::TimeWait(until) = &mut self.phase {
            // RFC 9293 §3.10.7.4: a FIN again starts the wait again
            *until = now + self.config.time_wait;
        }
    }

    /// Changes the state once both FINs are acknowledged.
    fn move_on(&mut self, now: Time) {
        let acknowledged = self.sender.as_ref().is_some_and(Sender::fin_is_acknowledged);
        if self.phase == Phase::Open && acknowledged && self.receiver.is_finished() {
            self.end(now, Event::Closed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_found_again_across_the_wrap() {
        let initial = u32::MAX - 5;
        for offset in [0_u64, 3, 6, 7, 1000, (1 << 32) - 1, 1 << 32, (1 << 33) + 17] {
            let sequence = initial.wrapping_add(offset as u32);
            for near in [offset, offset + 70_000, offset.saturating_sub(70_000)] {
                assert_eq!(offset_of(sequence, initial, near), Some(offset), "{offset} near {near}");
            }
        }
        assert_eq!(offset_of(initial.wrapping_sub(1), initial, 0), None, "before the SYN");
    }
}
