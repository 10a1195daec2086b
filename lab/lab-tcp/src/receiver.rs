//! The receiving half: reassembly, the advertised window, SACK blocks, delayed ACKs. It sees offsets and
//! lengths, no headers.

use std::collections::VecDeque;

use msctp_units::{Span, Time};

use crate::config::{Config, SackLimit};
use crate::ranges::Ranges;

/// Kind of a segment with data or FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The segment was the next in order.
    Next,
    /// A segment before it is missing.
    OutOfOrder,
    /// Everything in the segment was received before.
    Known,
    /// The segment lies beyond the window.
    Outside,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The next offset expected: RCV.NXT.
    next: u64,
    /// Data received beyond `next`.
    waiting: Ranges,
    /// An offset in each range of `waiting`, that of the latest arrival first (RFC 2018 §4).
    recent: VecDeque<u64>,
    /// Offset of the peer's FIN.
    fin: Option<u64>,
    /// Edge of the advertised window: everything below it has been advertised.
    edge: u64,
    buffer: u64,
    /// Number of bytes in order that the application has not read.
    unread: u64,
    read: u64,
    /// True if data stays unread until the application reads it.
    held: bool,
    clock: AckClock,
}

/// The delayed ACK (RFC 5681 §4.2).
#[derive(Debug)]
struct AckClock {
    every: u32,
    delay: Span,
    /// Segments since the last ACK.
    segments: u32,
    deadline: Option<Time>,
    now: bool,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            next: 0,
            waiting: Ranges::default(),
            recent: VecDeque::new(),
            fin: None,
            edge: 0,
            buffer: config.receive_buffer,
            unread: 0,
            read: 0,
            held: false,
            clock: AckClock {
                every: config.ack_every,
                delay: config.ack_delay,
                segments: 0,
                deadline: None,
                now: false,
            },
        }
    }

    /// Handles the peer's SYN.
    pub(crate) fn synchronize(&mut self) {
        self.next = 1;
        self.edge = 1;
        self.clock.now = true;
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether everything including the peer's FIN arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.next)
    }

    /// Processes a segment with data or FIN, given its first offset, its bytes of data and its FIN.
    pub(crate) fn receive(&mut self, now: Time, offset: u64, len: u64, fin: bool) -> Arrival {
        let end = offset + len + u64::from(fin);
        let arrival = if end <= self.next {
            Arrival::Known
        } else if offset >= self.edge && len > 0 {
            Arrival::Outside
        } else if offset > self.next {
            self.out_of_order(offset, offset + len, fin)
        } else {
            Arrival::Next
        };
        if arrival != Arrival::Next {
            // RFC 5681 §4.2: out of order at once. RFC 9293 §3.10.7.4: what is not acceptable at once.
            self.clock.now = true;
            return arrival;
        }
        let had_gap = !self.waiting.is_empty();
        let data_end = (offset + len).min(self.edge.max(self.next));
        if fin && data_end == offset + len {
            self.fin = Some(data_end);
        }
        self.advance(data_end);
        let filled = self.waiting.containing(self.next).map(|range| range.1);
        if let Some(end) = filled {
            self.advance(end);
        }
        self.waiting.drop_below(self.next);
        self.recent.retain(|&point| point >= self.next);
        if self.fin == Some(self.next) {
            self.next += 1;
            self.clock.now = true;
        }
        // RFC 5681 §4.2: at once when it fills all or part of a gap.
        if had_gap {
            self.clock.now = true;
        }
        self.clock.segment(now);
        arrival
    }

    fn out_of_order(&mut self, start: u64, end: u64, fin: bool) -> Arrival {
        let end_inside = end.min(self.edge);
        if fin && end_inside == end {
            self.fin = Some(end);
        }
        if start >= end_inside {
            return Arrival::OutOfOrder;
        }
        let (whole, new) = self.waiting.insert(start, end_inside);
        self.recent.retain(|point| !(whole.0..whole.1).contains(point));
        self.recent.push_front(start);
        if new == 0 { Arrival::Known } else { Arrival::OutOfOrder }
    }

    /// Advances the data in order to `end`.
    fn advance(&mut self, end: u64) {
        let new = end.saturating_sub(self.next);
        self.next += new;
        self.unread += new;
        if !self.held {
            self.read(u64::MAX);
        }
    }

    /// Reads at most `most` bytes for the application. Returns their number.
    pub(crate) fn read(&mut self, most: u64) -> u64 {
        let taken = self.unread.min(most);
        self.unread -= taken;
        self.read += taken;
        taken
    }

    /// Returns the bytes delivered to the application.
    pub(crate) fn delivered(&self) -> u64 {
        self.read
    }

    /// Returns the number of bytes in order that the application has not read.
    pub(crate) fn readable(&self) -> u64 {
        self.unread
    }

    /// Sets whether the application reads by calls (`held`) or at once.
    pub(crate) fn hold(&mut self, held: bool) {
        self.held = held;
        if !held {
            self.read(u64::MAX);
        }
    }

    /// Returns how far the window could reach.
    fn reach(&self) -> u64 {
        self.next + self.buffer.saturating_sub(self.unread)
    }

    /// Returns the window to advertise now, in bytes.
    pub(crate) fn window(&self, smss: u64) -> u64 {
        let reach = self.reach();
        // RFC 9293 §3.8.6.2.2: with data unread the edge moves by a segment or half the buffer at least.
        let step = if self.unread == 0 { 1 } else { smss.min(self.buffer / 2).max(1) };
        let edge = if reach >= self.edge + step { reach } else { self.edge };
        edge.max(self.next) - self.next
    }

    /// Records the advertised window: `window` bytes from the next offset, as on the wire. The window never
    /// shrinks.
    pub(crate) fn advertised(&mut self, window: u64) {
        self.edge = self.edge.max(self.next + window);
    }

    /// Returns whether the application's read opened the window enough to advertise it (RFC 9293 §3.8.6.2.2).
    pub(crate) fn note_reading(&mut self, smss: u64) {
        let step = (2 * smss).min(self.buffer / 2).max(1);
        if self.reach() >= self.edge + step {
            self.clock.now = true;
        }
    }

    /// Writes at most `most` SACK blocks, that of the latest arrival first (RFC 2018 §4).
    pub(crate) fn blocks(&self, most: usize, out: &mut Vec<(u64, u64)>) {
        out.clear();
        out.extend(self.recent.iter().take(most).filter_map(|&point| self.waiting.containing(point)));
    }

    /// Returns the ranges beyond the next offset.
    pub(crate) fn gaps(&self) -> usize {
        self.waiting.as_slice().len()
    }

    /// Returns whether an ACK must be sent now.
    pub(crate) fn ack_is_due(&self, now: Time) -> bool {
        self.clock.now || self.clock.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns when the delayed ACK is due.
    pub(crate) fn ack_deadline(&self) -> Option<Time> {
        self.clock.deadline
    }

    /// Makes an ACK due.
    pub(crate) fn force_ack(&mut self) {
        self.clock.now = true;
    }

    /// Records that an acknowledgment was sent, alone or with data.
    pub(crate) fn acknowledged(&mut self) {
        self.clock.now = false;
        self.clock.deadline = None;
        self.clock.segments = 0;
    }
}

impl AckClock {
    /// Handles a segment in order.
    fn segment(&mut self, now: Time) {
        self.segments += 1;
        if self.segments >= self.every || self.delay.is_zero() {
            self.now = true;
        } else {
            self.deadline.get_or_insert(now + self.delay);
        }
    }
}

/// Returns the number of blocks that an ACK may carry, if `fits` fit into the header.
pub(crate) fn block_limit(limit: SackLimit, fits: usize, alone: bool) -> usize {
    match limit {
        SackLimit::Fits => fits,
        SackLimit::Blocks(most) if alone => most as usize,
        SackLimit::Blocks(most) => fits.min(most as usize),
        SackLimit::Unlimited if alone => usize::MAX,
        SackLimit::Unlimited => fits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(change: impl FnOnce(&mut Config)) -> Receiver {
        let mut config = Config { receive_buffer: 10_000, ..Config::default() };
        change(&mut config);
        let mut receiver = Receiver::new(&config);
        receiver.synchronize();
        receiver.advertised(receiver.window(1000));
        receiver.acknowledged();
        receiver
    }

    /// Receives segment number `number` of 1000 bytes. Returns true if an ACK is due at once.
    fn segment(receiver: &mut Receiver, number: u64) -> (Arrival, bool) {
        let arrival = receiver.receive(Time::ZERO, 1 + 1000 * number, 1000, false);
        let due = receiver.ack_is_due(Time::ZERO);
        if due {
            receiver.advertised(receiver.window(1000));
            receiver.acknowledged();
        }
        (arrival, due)
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_after_the_delay() {
        let mut r = receiver(|_| ());
        assert_eq!(segment(&mut r, 0), (Arrival::Next, false));
        assert_eq!(r.ack_deadline(), Some(Time::ZERO + Span::from_millis(200)));
        assert!(r.ack_is_due(Time::ZERO + Span::from_millis(200)));
        assert_eq!(segment(&mut r, 1), (Arrival::Next, true));
        assert_eq!(r.ack_deadline(), None);
        let mut each = receiver(|c| c.ack_every = 1);
        assert_eq!(segment(&mut each, 0), (Arrival::Next, true));
    }

    #[test]
    fn gaps_are_acknowledged_at_once_while_they_last() {
        let mut r = receiver(|_| ());
        assert_eq!(segment(&mut r, 1), (Arrival::OutOfOrder, true));
        assert_eq!(segment(&mut r, 3), (Arrival::OutOfOrder, true));
        assert_eq!(segment(&mut r, 3), (Arrival::Known, true));
        // Part of a gap: RFC 5681 §4.2.
        assert_eq!(segment(&mut r, 0), (Arrival::Next, true));
        assert_eq!((r.next(), r.delivered()), (2001, 2000));
        assert_eq!(segment(&mut r, 2), (Arrival::Next, true));
        assert_eq!((r.next(), r.delivered(), r.gaps()), (4001, 4000, 0));
        assert_eq!(segment(&mut r, 4), (Arrival::Next, false));
        assert_eq!(segment(&mut r, 0), (Arrival::Known, true));
    }

    #[test]
    fn the_first_block_is_that_of_the_latest_arrival() {
        let mut r = receiver(|_| ());
        let blocks = |r: &Receiver, most| {
            let mut out = Vec::new();
            r.blocks(most, &mut out);
            out
        };
        for number in [1, 3, 5, 7] {
            segment(&mut r, number);
        }
        let block = |from: u64, to: u64| (1 + 1000 * from, 1 + 1000 * to);
        assert_eq!(blocks(&r, 3), [block(7, 8), block(5, 6), block(3, 4)]);
        segment(&mut r, 4);
        assert_eq!(blocks(&r, 9), [block(3, 6), block(7, 8), block(1, 2)]);
        segment(&mut r, 1);
        assert_eq!(blocks(&r, 1), [block(1, 2)], "a duplicate counts as an arrival");
        segment(&mut r, 0);
        assert_eq!(blocks(&r, 9), [block(3, 6), block(7, 8)]);
    }

    #[test]
    fn the_window_closes_while_data_is_unread_and_opens_in_steps() {
        let mut r = receiver(|_| ());
        r.hold(true);
        for number in 0..10 {
            assert_eq!(segment(&mut r, number).0, Arrival::Next);
        }
        r.advertised(r.window(1000));
        assert_eq!((r.window(1000), r.readable(), r.delivered()), (0, 10_000, 0));
        assert_eq!(segment(&mut r, 10), (Arrival::Outside, true));
        assert_eq!(r.read(999), 999);
        assert_eq!(r.window(1000), 0, "less than a segment is not worth telling");
        r.read(1);
        assert_eq!(r.window(1000), 1000);
        r.note_reading(1000);
        assert!(!r.ack_is_due(Time::ZERO));
        r.read(1000);
        r.note_reading(1000);
        assert!(r.ack_is_due(Time::ZERO));
    }

    #[test]
    fn a_fin_counts_once_everything_before_it_has_arrived() {
        let mut r = receiver(|_| ());
        assert_eq!(r.receive(Time::ZERO, 1001, 500, true), Arrival::OutOfOrder);
        assert!(!r.is_finished());
        assert_eq!(r.receive(Time::ZERO, 1, 1000, false), Arrival::Next);
        assert!(r.is_finished());
        assert_eq!((r.next(), r.delivered()), (1502, 1500));
        assert_eq!(r.receive(Time::ZERO, 1501, 0, true), Arrival::Known);
    }
}
