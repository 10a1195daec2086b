//! [`ReceiveCredit`]: the limits that this end announces to the peer (docs/internals/stream-credit.md).
//! Independent of TSNs and messages.

use std::collections::{BTreeMap, BTreeSet};

use msctp_wire::{Item, List, PacketBuilder, StreamCredit, StreamLimit};
use smallvec::SmallVec;

use super::window::LIMITED;
use crate::credit::{first_limit, first_part};

/// Most limits in a chunk, so that room for the SACK is left in its packet.
const MOST_LIMITS: usize = 16;

/// Memory of a stream's state, about.
const FLOW_MEMORY: u64 = 64;

/// An inbound stream.
#[derive(Debug, Default)]
struct Flow {
    /// What has arrived.
    received: u64,
    /// Bytes that the reader could take now.
    unread: u64,
    /// The announced limit; 0 if there is none.
    limit: u64,
    /// The last round in which the limit was raised.
    round: u32,
    /// The reader has taken something.
    is_read: bool,
    /// The limit is to be announced.
    is_due: bool,
}

impl Flow {
    /// Returns what a limit must exceed to be announced.
    fn held(&self) -> u64 {
        self.limit.max(self.passed())
    }

    /// Returns what has arrived and does not wait for the reader: it was read, or waits for an earlier chunk.
    fn passed(&self) -> u64 {
        self.received.saturating_sub(self.unread)
    }
}

/// The limits of all inbound streams.
#[derive(Debug)]
pub(super) struct ReceiveCredit {
    flows: BTreeMap<u16, Flow>,
    /// Bytes that readers could take now: of streams whose readers have taken something, and of the others.
    unread: u64,
    unread_firsts: u64,
    /// Most that the peer may send on a stream without a limit.
    first_limit: u64,
    /// What has arrived of the first bytes of all streams, up to this limit, and their announced limit.
    first: u64,
    firsts_limit: u64,
    /// A chunk is to be sent even if no stream is due.
    is_due: bool,
    due: Vec<u16>,
    /// Streams that the peer asked for, and of which the reader has taken nothing since.
    asked: BTreeSet<u16>,
    /// Unread bytes when it was last seen whether there is room for them.
    asked_at: u64,
    /// A round ends when half of what is left was granted.
    round: u32,
    granted: u64,
    /// Streams whose limits were raised in this round, and in the last.
    active: u64,
    active_before: u64,
}

impl ReceiveCredit {
    pub(super) fn new(buffer: u64) -> Self {
        Self {
            flows: BTreeMap::new(),
            unread: 0,
            unread_firsts: 0,
            first_limit: first_limit(buffer),
            first: 0,
            firsts_limit: buffer,
            is_due: false,
            due: Vec::new(),
            asked: BTreeSet::new(),
            asked_at: 0,
            // That of a new flow is neither this one nor the last.
            round: 2,
            granted: 0,
            active: 0,
            active_before: 0,
        }
    }

    /// Records the first arrival of a chunk.
    pub(super) fn on_arrival(&mut self, stream: u16, charge: u64) {
        let flow = self.flows.entry(stream).or_default();
        self.first += first_part(self.first_limit, flow.received, charge);
        flow.received += charge;
    }

    /// Records that a message waits for its reader. Its last chunk is recorded afterwards.
    pub(super) fn on_ready(&mut self, stream: u16, charge: u64) {
        let flow = self.flows.entry(stream).or_default();
        flow.unread += charge;
        *(if flow.is_read { &mut self.unread } else { &mut self.unread_firsts }) += charge;
    }

    /// Records that a message was read, or discarded for its reader.
    pub(super) fn on_read(&mut self, stream: u16, charge: u64) {
        self.on_reader(stream);
        let flow = self.flows.entry(stream).or_default();
        debug_assert!(flow.unread >= charge && self.unread >= charge);
        flow.unread = flow.unread.saturating_sub(charge);
        self.unread = self.unread.saturating_sub(charge);
    }

    /// Records that a stream's reader has shown itself. One that is gone has: what arrives is discarded,
    /// which is as good as read.
    pub(super) fn on_reader(&mut self, stream: u16) {
        let flow = self.flows.entry(stream).or_default();
        if !core::mem::replace(&mut flow.is_read, true) {
            self.unread_firsts = self.unread_firsts.saturating_sub(flow.unread);
            self.unread += flow.unread;
        }
    }

    /// Returns the bytes that readers could take now.
    pub(super) fn unread(&self) -> u64 {
        self.unread + self.unread_firsts
    }

    /// Returns how much a stream may have in flight and unread, with a receive buffer of `size` bytes: what
    /// is left of twice the buffer, shared by the streams in use and one more.
    ///
    /// Streams that came first have more, and if all of them stop to be read, nothing is left of it. There is
    /// as much again for the others, in smaller shares.
    fn window(&self, flow: &Flow, size: u64) -> u64 {
        let is_counted = self.round.wrapping_sub(flow.round) <= 1;
        let active = self.active.max(self.active_before) + u64::from(!is_counted);
        let parts = active.max(1) + 1;
        let least = self.left(size) / (2 * parts);
        ((2 * size).saturating_sub(self.unread) / parts).max(least.min(size / 8))
    }

    /// Returns how much more may wait for readers without taking of the window.
    fn left(&self, size: u64) -> u64 {
        (LIMITED * size).saturating_sub(self.unread)
    }

    /// Returns whether a limit is to be announced that was not before this change of the stream.
    pub(super) fn check(&mut self, stream: u16, size: u64) -> bool {
        let mut news = self.check_firsts(size) | self.check_asked(size);
        let Some(flow) = self.flows.get(&stream) else { return news };
        if flow.is_read {
            // A short use of a stream needs no limit, unless little is left for those without.
            let is_used = flow.limit > 0
                || flow.passed() >= self.first_limit / 4
                || self.unread_firsts >= size / 2
                || self.asked.contains(&stream);
            let window = self.window(flow, size);
            let more = (flow.passed() + window).saturating_sub(flow.held());
            if is_used && more >= (window / 32).max(1) {
                self.set_due(stream);
            }
            news |= is_used && more >= (window / 4).max(1);
        }
        news
    }

    /// Returns the limit of the first bytes of all streams that could be announced.
    fn next_firsts_limit(&self, size: u64) -> u64 {
        (self.first + size.saturating_sub(self.unread_firsts)).max(self.firsts_limit)
    }

    /// Checks the limit of the first bytes of all streams. A small change is not announced.
    fn check_firsts(&mut self, size: u64) -> bool {
        if self.is_due || self.next_firsts_limit(size) < self.firsts_limit + (size / 32).max(1) {
            return false;
        }
        self.is_due = true;
        true
    }

    /// Announces the limits of streams that the peer asked for, once more was read: there may have been no
    /// room.
    fn check_asked(&mut self, size: u64) -> bool {
        if self.asked.is_empty() || self.unread + size / 32 > self.asked_at {
            return false;
        }
        self.asked_at = self.unread;
        self.asked.clone().into_iter().for_each(|stream| self.set_due(stream));
        true
    }

    fn set_due(&mut self, stream: u16) {
        if let Some(flow) = self.flows.get_mut(&stream)
            && !core::mem::replace(&mut flow.is_due, true)
        {
            self.due.push(stream);
        }
    }

    /// Answers the peer's question for a stream.
    pub(super) fn on_blocked(&mut self, stream: u16) {
        self.is_due = true;
        if self.flows.contains_key(&stream) {
            self.asked.insert(stream);
            self.asked_at = self.asked_at.max(self.unread);
            self.set_due(stream);
        }
    }

    /// Returns whether a chunk is to be sent.
    pub(super) fn is_due(&self) -> bool {
        self.is_due || !self.due.is_empty()
    }

    /// Returns the bytes of the chunk to send.
    pub(super) fn chunk_len(&self) -> usize {
        if !self.is_due() {
            return 0;
        }
        let limits = self.due.len().min(MOST_LIMITS);
        (StreamCredit::MIN_LEN + limits * StreamLimit::SIZE).next_multiple_of(4)
    }

    /// Raises a stream's limit to what there is room for, and returns it; `None` if it has none.
    fn raise(&mut self, stream: u16, size: u64) -> Option<StreamLimit> {
        let flow = self.flows.get(&stream)?;
        let window = self.window(flow, size);
        let granted = match flow.is_read {
            true => window,
            // The peer asks, and nothing waits for the reader: what came was abandoned, or is not complete.
            // The reader has not shown itself: as much as a stream that begins now.
            false if flow.unread == 0 => {
                first_limit(self.next_firsts_limit(size).saturating_sub(self.first)).min(window)
            }
            false => 0,
        };
        let (held, reachable) = (flow.held(), flow.passed() + granted);
        let round_ends = self.left(size) / 2;
        let flow = self.flows.get_mut(&stream)?;
        flow.is_due = false;
        if reachable > held {
            flow.limit = reachable;
            self.asked.remove(&stream);
            if flow.is_read && flow.round != self.round {
                flow.round = self.round;
                self.active += 1;
            }
            self.granted += reachable - held;
            if self.granted >= round_ends {
                self.round = self.round.wrapping_add(1);
                (self.active_before, self.active, self.granted) = (self.active, 0, 0);
            }
        }
        // On the wire modulo 2^32.
        (flow.limit > 0).then_some(StreamLimit { stream, limit: flow.limit as u32 })
    }

    /// Writes the limits that are due, if there is room.
    pub(super) fn encode(&mut self, size: u64, builder: &mut PacketBuilder<'_>) {
        if !self.is_due() || builder.remaining() < self.chunk_len() {
            return;
        }
        let due: SmallVec<[u16; MOST_LIMITS]> = self.due.drain(..self.due.len().min(MOST_LIMITS)).collect();
        let limits: SmallVec<[StreamLimit; MOST_LIMITS]> =
            due.into_iter().filter_map(|stream| self.raise(stream, size)).collect();
        self.firsts_limit = self.next_firsts_limit(size);
        let (firsts, limits) = (self.firsts_limit as u32, List::from(&limits[..]));
        let pushed = builder.push(&StreamCredit { firsts, limits });
        debug_assert!(pushed.is_ok(), "room was checked");
        self.is_due = false;
    }

    /// Returns the bytes of memory.
    pub(super) fn memory(&self) -> u64 {
        self.flows.len() as u64 * FLOW_MEMORY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 20;

    /// Lets a message arrive that waits for its reader.
    fn arrive(credit: &mut ReceiveCredit, stream: u16, charge: u64) {
        credit.on_arrival(stream, charge);
        credit.on_ready(stream, charge);
        credit.check(stream, SIZE);
    }

    /// Announces what is due, and returns it with the limit of the first bytes of all streams.
    fn announce(credit: &mut ReceiveCredit) -> (u64, Vec<(u16, u64)>) {
        let due = core::mem::take(&mut credit.due);
        credit.is_due = false;
        let raise = |stream| credit.raise(stream, SIZE).map(|limit| (stream, u64::from(limit.limit)));
        let limits = due.into_iter().filter_map(raise).collect();
        credit.firsts_limit = credit.next_firsts_limit(SIZE);
        (credit.firsts_limit, limits)
    }

    #[test]
    fn a_stream_that_is_read_gets_the_buffer_and_one_that_is_not_no_limit() {
        let mut credit = ReceiveCredit::new(SIZE);
        for _ in 0..8 {
            arrive(&mut credit, 1, 10_000);
            credit.on_read(1, 10_000);
            credit.check(1, SIZE);
            arrive(&mut credit, 2, 10_000);
        }
        let (_, limits) = announce(&mut credit);
        assert_eq!(limits, [(1, 80_000 + SIZE)]);
        assert_eq!(credit.flows[&2].limit, 0);
    }

    #[test]
    fn what_waits_for_an_earlier_chunk_does_not_count_as_unread() {
        let mut credit = ReceiveCredit::new(SIZE);
        arrive(&mut credit, 1, SIZE / 8);
        credit.on_read(1, SIZE / 8);
        assert!(credit.check(1, SIZE));
        let (_, before) = announce(&mut credit);
        credit.on_arrival(1, SIZE / 4);
        assert!(credit.check(1, SIZE));
        let (_, after) = announce(&mut credit);
        assert_eq!(after[0].1 - before[0].1, SIZE / 4);
        // Nothing is taken back when it waits for the reader, and nothing added.
        credit.on_ready(1, SIZE / 4);
        assert_eq!((credit.check(1, SIZE), announce(&mut credit).1), (false, vec![]));
    }

    #[test]
    fn streams_in_use_share_the_buffer_so_that_all_but_one_may_stop_reading() {
        for streams in [2_u16, 8, 100] {
            let mut credit = ReceiveCredit::new(SIZE);
            for round in 0..40_000 {
                let stream = round % streams;
                arrive(&mut credit, stream, 5000);
                credit.on_read(stream, 5000);
                credit.check(stream, SIZE);
                announce(&mut credit);
            }
            let at_once: u64 = credit.flows.values().map(|flow| flow.held() - flow.passed()).sum();
            assert!((SIZE / 4 * 3..2 * SIZE).contains(&at_once), "{streams} streams: {at_once}");
        }
    }

    #[test]
    fn the_first_bytes_of_all_streams_together_have_a_limit() {
        let mut credit = ReceiveCredit::new(SIZE);
        for stream in 0..28 {
            arrive(&mut credit, stream, SIZE / 32);
        }
        assert_eq!((credit.first, announce(&mut credit)), (SIZE / 8 * 7, (SIZE, vec![])));
        credit.on_blocked(3);
        assert!(credit.is_due());
        assert_eq!(announce(&mut credit), (SIZE, vec![]), "nobody has read of it");
        for stream in 4..14 {
            credit.on_read(stream, SIZE / 32);
            credit.check(stream, SIZE);
        }
        let (firsts, limits) = announce(&mut credit);
        assert_eq!(firsts, SIZE + SIZE / 32 * 10);
        assert!(limits.iter().all(|(stream, _)| *stream >= 4), "{limits:?}");
    }

    /// Where little is left for streams without limits, the least that was read gives a stream one.
    #[test]
    fn beside_many_unread_streams_a_stream_that_is_read_goes_on() {
        let mut credit = ReceiveCredit::new(SIZE);
        arrive(&mut credit, 1, SIZE / 8 * 7);
        arrive(&mut credit, 2, 256);
        credit.on_read(2, 256);
        assert!(credit.check(2, SIZE));
        assert_eq!(announce(&mut credit).1, [(2, 256 + SIZE)]);
    }

    #[test]
    fn a_stream_of_which_nothing_can_be_read_gets_a_limit_when_the_peer_asks() {
        let mut credit = ReceiveCredit::new(SIZE);
        credit.on_arrival(1, SIZE / 32);
        arrive(&mut credit, 2, SIZE / 32);
        assert!(!credit.check(1, SIZE));
        credit.on_blocked(1);
        credit.on_blocked(2);
        let (_, limits) = announce(&mut credit);
        assert_eq!(limits.iter().map(|limit| limit.0).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_stream_that_asked_while_the_buffer_was_full_is_served_when_it_is_not() {
        let mut credit = ReceiveCredit::new(SIZE);
        arrive(&mut credit, 1, SIZE / 8);
        credit.on_read(1, SIZE / 8);
        announce(&mut credit);
        credit.on_reader(2);
        arrive(&mut credit, 2, 4 * SIZE);
        credit.on_blocked(1);
        assert_eq!(announce(&mut credit).1, []);
        credit.on_read(2, 4 * SIZE);
        assert!(credit.check(2, SIZE));
        let (_, limits) = announce(&mut credit);
        assert!(limits.iter().any(|(stream, limit)| *stream == 1 && *limit > SIZE / 2), "{limits:?}");
    }
}
