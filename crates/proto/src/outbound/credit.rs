//! [`SendCredit`]: the limits that the peer has announced (docs/internals/stream-credit.md), and the streams
//! whose senders wait for more. Independent of TSNs and the order of messages.

use std::collections::{BTreeMap, BTreeSet};

use msctp_units::{Span, Time};
use msctp_wire::{StreamCredit, StreamId};
use smallvec::SmallVec;

use super::Outbound;
use crate::addr::PathId;
use crate::credit::{LEAST_BUFFER, charge, chunk_charge, first_limit, first_part};
use crate::path::Paths;

/// Most streams in a question.
const MOST_ASKED: usize = 256;

/// Shortest wait for a limit before the peer is asked.
const LEAST_WAIT: Span = Span::from_millis(10);

/// An outbound stream.
#[derive(Debug, Default)]
struct Flow {
    /// What entered the send buffer since the association began.
    used: u64,
    /// The peer's last limit; 0 if it has announced none.
    limit: u64,
}

impl Flow {
    /// Raises the limit. It is modulo 2^32, within 2^31 of what was used. A late chunk has a lower one.
    fn raise(&mut self, limit: u32) {
        let more = i64::from(limit.wrapping_sub(self.used as u32) as i32);
        self.limit = self.limit.max(self.used.saturating_add_signed(more));
    }
}

/// The limits of all outbound streams.
#[derive(Debug)]
pub(super) struct SendCredit {
    flows: BTreeMap<u16, Flow>,
    /// Most that a stream without a limit may use.
    first_limit: u64,
    /// What was used of the first bytes of all streams, up to this limit, and their limit.
    firsts: Flow,
    /// Most that can be left of a limit, in the peer's receive buffer.
    most: u64,
    /// Streams on which a message was rejected since they had credit.
    wanted: BTreeSet<u16>,
    /// When to ask for them.
    ask_at: Option<Time>,
    /// Wait until then.
    wait: Span,
    /// Path of the last question since nobody waited.
    asked_on: Option<PathId>,
    /// True if the last question was not answered.
    unanswered: bool,
    /// The stream to begin the next question with.
    next_asked: u16,
}

impl SendCredit {
    /// Creates the state for a peer with a receive buffer of so many bytes.
    fn new(buffer: u64) -> Self {
        Self {
            flows: BTreeMap::new(),
            first_limit: first_limit(buffer),
            firsts: Flow { used: 0, limit: buffer },
            most: buffer,
            wanted: BTreeSet::new(),
            ask_at: None,
            wait: Span::ZERO,
            asked_on: None,
            unanswered: false,
            next_asked: 0,
        }
    }

    /// Returns whether a message may be sent on a stream. Its size does not matter, so that one that is
    /// larger than any limit can be sent.
    pub(super) fn has_credit(&self, stream: u16) -> bool {
        let (used, limit) = self.flows.get(&stream).map_or((0, 0), |flow| (flow.used, flow.limit));
        // What this stream has used of the first bytes is among those that all have used.
        let left = (self.firsts.limit + used).saturating_sub(self.firsts.used);
        used < limit || used < self.first_limit && used < first_limit(left)
    }

    pub(super) fn take(&mut self, stream: u16, charge: u64) {
        let flow = self.flows.entry(stream).or_default();
        self.firsts.used += first_part(self.first_limit, flow.used, charge);
        flow.used += charge;
    }

    /// Returns what was taken for data that the peer will not receive.
    ///
    /// It may have received it all the same. It then counts that, and the limit allows more than it should:
    /// never more than `most`, however often that happens.
    pub(super) fn refund(&mut self, stream: u16, charge: u64) {
        if let Some(flow) = self.flows.get_mut(&stream) {
            let least = flow.limit.max(self.first_limit).saturating_sub(self.most);
            let used = flow.used.saturating_sub(charge).max(least.min(flow.used));
            let first = first_part(self.first_limit, used, flow.used - used);
            self.firsts.used = self.firsts.used.saturating_sub(first);
            flow.used = used;
        }
        if self.wanted.contains(&stream) && self.has_credit(stream) {
            // At once: the timer reports it.
            self.ask_at = Some(Time::ZERO);
        }
    }

    /// Records that a message was rejected. `wait` is the time after which to ask the peer, if nothing comes.
    fn want(&mut self, now: Time, stream: u16, wait: Span) {
        self.wanted.insert(stream);
        if self.ask_at.is_none() {
            (self.ask_at, self.wait) = (Some(now + wait), wait);
        }
    }

    fn on_credit(&mut self, credit: &StreamCredit<'_>) {
        self.firsts.raise(credit.firsts);
        for limit in credit.limits.iter() {
            // A stream without data has the first limit.
            if let Some(flow) = self.flows.get_mut(&limit.stream) {
                flow.raise(limit.limit);
            }
        }
    }

    /// Returns the streams whose senders may go on.
    fn take_writable(&mut self) -> Vec<u16> {
        let mut writable = Vec::new();
        let mut wanted = core::mem::take(&mut self.wanted);
        wanted.retain(|&stream| {
            let may = self.has_credit(stream);
            writable.extend(may.then_some(stream));
            !may
        });
        self.wanted = wanted;
        self.settle();
        writable
    }

    /// Returns whether the peer is to be asked.
    fn is_due(&self, now: Time) -> bool {
        self.ask_at.is_some_and(|at| at <= now)
    }

    /// Stops the timer if nobody waits.
    fn settle(&mut self) {
        if self.wanted.is_empty() {
            (self.ask_at, self.asked_on, self.unanswered) = (None, None, false);
        }
    }
}

impl Outbound {
    /// Limits what is sent on each stream from now on, if both ends agreed on it. Must be called before
    /// anything is sent. `buffer`: the peer's receive buffer, or 0 without limits. Limits of an earlier
    /// attempt at the set-up are forgotten: nobody would raise them. Returns the streams that waited for
    /// those.
    pub(crate) fn use_credit(&mut self, buffer: u32) -> Vec<u16> {
        let waiting = self.credit.take().map(|credit| credit.wanted.into_iter().collect());
        self.credit_buffer = if buffer < LEAST_BUFFER { 0 } else { buffer };
        if self.credit_buffer == 0 {
            return waiting.unwrap_or_default();
        }
        let mut credit = SendCredit::new(u64::from(buffer));
        self.queue.for_each_message(|stream, len| credit.take(stream, charge(len)));
        for (_, chunk) in self.sent.iter() {
            let flags = chunk.piece.flags;
            let len = chunk.piece.data.len();
            credit.take(chunk.piece.stream, chunk_charge(len, flags.begin && flags.end));
        }
        self.credit = (!credit.flows.is_empty()).then(|| Box::new(credit));
        waiting.unwrap_or_default()
    }

    fn begin_credit(&mut self) -> &mut SendCredit {
        let buffer = self.credit_buffer;
        self.credit.get_or_insert_with(|| Box::new(SendCredit::new(u64::from(buffer))))
    }

    /// Returns whether the peer's limit for a stream is reached, so that it must read first.
    #[inline]
    pub(crate) fn lacks_credit(&self, stream: u16) -> bool {
        self.credit.is_some() && self.is_over_limit(stream)
    }

    #[cold]
    #[inline(never)]
    fn is_over_limit(&self, stream: u16) -> bool {
        self.credit.as_ref().is_some_and(|credit| !credit.has_credit(stream))
    }

    /// Records that a message was rejected for a limit.
    #[cold]
    pub(super) fn want_credit(&mut self, now: Time, stream: u16, paths: &Paths) {
        let Some(credit) = &mut self.credit else { return };
        let path = paths.data_path().and_then(|path| paths.get(path));
        // As for a tail loss probe (RFC 8985 §7.2).
        let wait = path.map(|path| path.rtt.srtt().map_or(path.rtt.rto(), |srtt| srtt * 2));
        credit.want(now, stream, wait.unwrap_or(LEAST_WAIT).max(LEAST_WAIT));
    }

    /// Counts a message that enters the send buffer.
    #[inline]
    pub(super) fn take_credit(&mut self, stream: u16, len: usize) {
        if self.credit_buffer > 0 {
            self.count_sent(stream, len);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_sent(&mut self, stream: u16, len: usize) {
        self.begin_credit().take(stream, charge(len as u64));
    }

    /// Returns the credit of data that the peer will not receive.
    pub(super) fn refund_credit(&mut self, stream: u16, charge: u64) {
        if let Some(credit) = &mut self.credit {
            credit.refund(stream, charge);
        }
    }

    /// Handles the peer's limits. Returns the streams on which messages were rejected and that may go on.
    pub(crate) fn on_credit(&mut self, received: &StreamCredit<'_>) -> Vec<u16> {
        let Some(credit) = &mut self.credit else { return Vec::new() };
        credit.unanswered = false;
        credit.on_credit(received);
        credit.take_writable()
    }

    /// Returns the streams that have credit again without a limit of the peer, if the timer is due.
    pub(crate) fn take_refunded(&mut self, now: Time) -> Vec<u16> {
        match &mut self.credit {
            Some(credit) if credit.is_due(now) => credit.take_writable(),
            _ => Vec::new(),
        }
    }

    /// Returns when to ask the peer for limits.
    #[inline]
    pub(crate) fn credit_timeout(&self) -> Option<Time> {
        self.credit.as_ref().and_then(|credit| credit.ask_at)
    }

    /// Returns whether a question is due and the one before was not answered.
    pub(crate) fn lost_question(&self, now: Time) -> bool {
        self.credit.as_ref().is_some_and(|credit| credit.unanswered && credit.is_due(now))
    }

    /// Returns the path of a question if that is due, and the streams to ask for. Backs the timer off up to
    /// `most`.
    ///
    /// Paths take turns: a question is no data, so that no path fails for it.
    pub(crate) fn take_question(
        &mut self,
        now: Time,
        most: Span,
        paths: &Paths,
    ) -> Option<(PathId, SmallVec<[StreamId; 8]>)> {
        let credit = self.credit.as_mut().filter(|credit| credit.is_due(now))?;
        credit.wait = (credit.wait * 2).min(most);
        credit.ask_at = Some(now + credit.wait);
        let path = credit.asked_on.map_or(paths.data_path(), |last| paths.next_in_turn(last))?;
        (credit.asked_on, credit.unanswered) = (Some(path), true);
        // Each comes to its turn.
        let next = credit.next_asked;
        let streams = credit.wanted.range(next..).chain(credit.wanted.range(..next)).take(MOST_ASKED);
        let streams: SmallVec<[StreamId; 8]> = streams.map(|&stream| StreamId::new(stream)).collect();
        credit.next_asked = streams.last().map_or(0, |last| last.get().wrapping_add(1));
        Some((path, streams))
    }

    /// Returns whether senders wait for limits and no timer runs.
    #[cfg(debug_assertions)]
    pub(super) fn lacks_credit_timer(&self) -> bool {
        self.credit.as_ref().is_some_and(|credit| !credit.wanted.is_empty() && credit.ask_at.is_none())
    }
}

#[cfg(test)]
mod tests {
    use msctp_wire::{List, StreamLimit};

    use super::*;

    fn announce(credit: &mut SendCredit, firsts: u32, stream: u16, limit: u32) {
        let limits = [StreamLimit { stream, limit }];
        credit.on_credit(&StreamCredit { firsts, limits: List::from(&limits) });
    }

    /// Its first limit is 1000 bytes.
    const BUFFER: u64 = 32_000;

    #[test]
    fn a_limit_allows_a_last_message_of_any_size_and_never_falls() {
        let mut credit = SendCredit::new(BUFFER);
        credit.take(1, 800);
        assert!(credit.has_credit(1));
        credit.take(1, 5000);
        assert!(!credit.has_credit(1) && credit.has_credit(2));
        announce(&mut credit, 32_000, 1, 7000);
        assert!(credit.has_credit(1));
        announce(&mut credit, 0, 1, 5000);
        assert!(credit.has_credit(1) && credit.has_credit(2), "a late one");
    }

    #[test]
    fn each_further_stream_without_a_limit_leaves_something_to_the_next() {
        let mut credit = SendCredit::new(BUFFER);
        let mut unread = 0;
        while credit.has_credit(unread) {
            let before = credit.firsts.used;
            while credit.has_credit(unread) {
                credit.take(unread, 100);
            }
            assert!(credit.firsts.used - before <= (credit.firsts.limit - before) / 32 + 100);
            unread += 1;
        }
        assert!(unread > 60, "{unread}");
        announce(&mut credit, 32_000, 1, 6000);
        assert!(
            !credit.has_credit(unread) && credit.has_credit(1),
            "a stream with a limit of its own goes on"
        );
        credit.refund(2, 900);
        assert!(credit.has_credit(unread));
        credit.take(unread, 900);
        assert!(!credit.has_credit(unread + 1));
        announce(&mut credit, 32_200, 1, 0);
        assert!(credit.has_credit(unread + 1));
    }

    #[test]
    fn limits_wrap() {
        let mut credit = SendCredit::new(BUFFER);
        let mut used = 0_u64;
        while used < 10 << 30 {
            credit.take(1, 1 << 30);
            used += 1 << 30;
            assert!(!credit.has_credit(1));
            announce(&mut credit, 32_000, 1, (used + 1) as u32);
            assert!(credit.has_credit(1));
        }
    }

    #[test]
    fn refunds_leave_no_more_than_the_peers_buffer() {
        let mut credit = SendCredit::new(BUFFER);
        credit.take(1, 900);
        announce(&mut credit, 32_000, 1, 33_000);
        credit.take(1, 32_000);
        credit.refund(1, 900);
        assert_eq!(credit.flows[&1].used, 32_000);
        credit.refund(1, 32_000);
        assert_eq!(credit.flows[&1].used, 1000);
        announce(&mut credit, 32_000, 1, 65_000);
        credit.refund(1, 500);
        assert_eq!(credit.flows[&1].used, 1000, "a limit is not taken back");
    }
}
