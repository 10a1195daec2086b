//! The segments a connection sends, one at a time: SYN, data, ACK.

use msctp_units::Time;

use crate::header::{self, Flags, Header, Timestamps};
use crate::receiver::block_limit;
use crate::trace::TraceKind;

use super::handshake::offers_sack;
use super::{Connection, Phase};

impl Connection {
    /// Appends the header bytes of the next segment to `out`. Returns the length of its user data, or `None`
    /// if there is nothing to send. The checksum is zero, because the connection does not know its addresses.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<u32> {
        match self.phase {
            Phase::Listen | Phase::Closed => None,
            Phase::SynSent | Phase::SynReceived => self.syn(now, out),
            Phase::TimeWait(_) => self.ack(now, out),
            Phase::Open => {
                // With gaps to report a full segment has no room: the ACK goes by itself.
                if self.sack && self.receiver.gaps() > 0 && self.receiver.ack_is_due(now) {
                    return self.ack(now, out);
                }
                self.data(now, out).or_else(|| self.ack(now, out))
            }
        }
    }

    fn timestamp(&self, now: Time) -> u32 {
        (now.as_nanos() / self.config.timestamp_tick.as_nanos()) as u32
    }

    fn syn(&mut self, now: Time, out: &mut Vec<u8>) -> Option<u32> {
        if !self.handshake.due {
            return None;
        }
        let answers = self.phase == Phase::SynReceived;
        let config = &self.config;
        let window = self.receiver.window(u64::from(config.mss)).max(config.receive_buffer);
        let header = Header {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence: self.iss,
            acknowledgment: if answers { self.irs.wrapping_add(1) } else { 0 },
            flags: if answers { Flags::SYN.and(Flags::ACK) } else { Flags::SYN },
            window: window.min(65_535) as u16,
            mss: config.mss_option.then_some(config.mss),
            // In an answer only what the SYN offered (RFC 7323 §1.3, RFC 2018 §2)
            window_scale: (config.window_scale && (!answers || self.scaling)).then(|| config.window_shift()),
            sack_permitted: if answers { self.sack } else { offers_sack(config) },
            timestamps: (config.timestamps && (!answers || self.timestamps))
                .then(|| Timestamps { value: self.timestamp(now), echo: self.ts_recent }),
        };
        header::write(&header, &[], out);
        self.receiver.advertised(u64::from(header.window));
        self.receiver.acknowledged();
        self.last_ack_sent = self.receiver.next();
        self.handshake.sent(now);
        self.stats.syns_sent += 1;
        Some(0)
    }

    fn data(&mut self, now: Time, out: &mut Vec<u8>) -> Option<u32> {
        let sender = self.sender.as_mut()?;
        let segment = sender.next_segment(now, &mut self.stats, &mut self.trace)?;
        let at = sender.at();
        let len = at.payload(&segment) as u32;
        let last = segment.end >= at.written;
        let fin = segment.end > at.written;
        let room = u64::from(len) < at.smss;
        let mut flags = Flags::ACK;
        if last && len > 0 {
            flags = flags.and(Flags::PSH);
        }
        if fin {
            flags = flags.and(Flags::FIN);
            self.closed_first |= !self.receiver.is_finished();
        }
        let sequence = self.iss.wrapping_add(segment.start as u32);
        let header = self.header(now, flags, sequence);
        // Blocks ride along in a small segment only.
        let most =
            if room { ((u64::from(self.config.mss) - u64::from(len)) / 8).saturating_sub(3) } else { 0 };
        self.finish(now, &header, most as usize, false, out);
        Some(len)
    }

    fn ack(&mut self, now: Time, out: &mut Vec<u8>) -> Option<u32> {
        if !self.receiver.ack_is_due(now) {
            return None;
        }
        let nxt = self.sender.as_ref().map_or(1, |sender| sender.at().nxt);
        let header = self.header(now, Flags::ACK, self.iss.wrapping_add(nxt as u32));
        self.finish(now, &header, usize::MAX, true, out);
        self.stats.acks_sent += 1;
        Some(0)
    }

    /// Returns a header with the current acknowledgment, window and timestamps.
    fn header(&self, now: Time, flags: Flags, sequence: u32) -> Header {
        // Rounded up: the window never shrinks, and is at most 2^shift − 1 bytes too large (RFC 7323 §2.4).
        let window = self.receiver.window(self.smss()).div_ceil(1 << self.own_shift);
        Header {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence,
            acknowledgment: self.irs.wrapping_add(self.receiver.next() as u32),
            flags,
            window: window.min(65_535) as u16,
            timestamps: self
                .timestamps
                .then(|| Timestamps { value: self.timestamp(now), echo: self.ts_recent }),
            ..Header::default()
        }
    }

    /// Adds SACK blocks and writes the header.
    fn finish(&mut self, now: Time, header: &Header, most: usize, alone: bool, out: &mut Vec<u8>) {
        self.wire_blocks.clear();
        if self.sack && self.receiver.gaps() > 0 {
            let limit = block_limit(self.config.sack_limit, header::blocks_that_fit(header), alone);
            self.receiver.blocks(limit.min(most), &mut self.blocks);
            let wire = |offset: u64| self.irs.wrapping_add(offset as u32);
            self.wire_blocks.extend(self.blocks.iter().map(|&(start, end)| (wire(start), wire(end))));
        }
        header::write(header, &self.wire_blocks, out);
        self.receiver.advertised(u64::from(header.window) << self.own_shift);
        self.receiver.acknowledged();
        self.last_ack_sent = self.receiver.next();
        let blocks = self.wire_blocks.len() as u32;
        self.trace.add(now, TraceKind::AckSent { ack: self.receiver.next(), blocks });
    }
}
