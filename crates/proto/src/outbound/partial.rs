//! [`PartialStore`]: messages of limited reliability, from `send` until acknowledged or abandoned
//! (RFC 3758 §4, RFC 7496 §3).
//!
//! Does not depend on paths or loss detection.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use bytes::Bytes;
use msctp_units::Time;

use crate::long_tsn::LongTsn;
use crate::message::{OutMessage, Reliability, SendFailure};
use crate::rare::{Rare, rare_state};
use crate::stats::Abandoned;

/// Number of stale deadlines at which the heap is rebuilt.
const STALE_LIMIT: usize = 64;

/// The state of a message of limited reliability.
#[derive(Debug)]
pub(super) struct Partial {
    /// The message, without its data.
    pub(super) message: OutMessage,
    /// The end of its lifetime, if it has one.
    pub(super) deadline: Option<Time>,
    /// Its number in the send queue.
    pub(super) queued_as: u64,
    /// The send queue holds the message or its unsent rest.
    pub(super) queued: bool,
    /// The TSNs of its first and last sent chunk.
    pub(super) tsns: Option<(LongTsn, LongTsn)>,
    /// Number of its chunks not cumulatively acknowledged.
    pub(super) chunks: u32,
    /// User bytes sent.
    pub(super) sent: u64,
    /// User bytes in total.
    pub(super) len: u64,
}

rare_state! {
    /// The messages of limited reliability, by their numbers.
    pub(super) struct PartialStore {
        messages: BTreeMap<u64, Partial> = BTreeMap::new(),
        /// The last number assigned.
        last: u64 = 0,
        /// The deadlines of lifetimes; stale ones stay until they expire or the heap is rebuilt.
        deadlines: BinaryHeap<Reverse<(Time, u64)>> = BinaryHeap::new(),
        /// Messages with the Priority policy.
        priorities: BTreeSet<(u16, u64)> = BTreeSet::new(),
        /// Marked chunks whose retransmission may exceed a limit: checked by `abandon_due`.
        marked: Vec<LongTsn> = Vec::new(),
        /// Abandoned messages not reported yet.
        pub(super) failures: Vec<SendFailure> = Vec::new(),
        pub(super) abandoned: Abandoned = Abandoned::NONE,
    }
}

impl Rare<PartialStore> {
    /// Stores a message and returns its number; 0 if it is fully reliable. `queued_as`: its number in the
    /// send queue.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Time, message: &OutMessage, queued_as: u64) -> u64 {
        if message.reliability == Reliability::Full { 0 } else { self.add(now, message, queued_as) }
    }

    /// Records that a chunk of message `number` was marked for retransmission.
    #[inline]
    pub(super) fn on_marked(&mut self, number: u64, tsn: LongTsn) {
        if number != 0 {
            self.marked.push(tsn);
        }
    }
}

impl PartialStore {
    #[inline(never)]
    fn add(&mut self, now: Time, message: &OutMessage, queued_as: u64) -> u64 {
        let deadline = match message.reliability {
            Reliability::Lifetime(span) => Some(now + span),
            Reliability::Full | Reliability::Retransmissions(_) | Reliability::Priority(_) => None,
        };
        self.last += 1;
        if let Some(deadline) = deadline {
            self.deadlines.push(Reverse((deadline, self.last)));
        }
        if let Reliability::Priority(priority) = message.reliability {
            self.priorities.insert((priority, self.last));
        }
        let partial = Partial {
            message: OutMessage { data: Bytes::new(), ..message.clone() },
            deadline,
            queued_as,
            queued: true,
            tsns: None,
            chunks: 0,
            sent: 0,
            len: message.data.len() as u64,
        };
        self.messages.insert(self.last, partial);
        self.last
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Partial> {
        self.messages.get(&number)
    }

    /// Records the first transmission of a chunk. `end`: it is the message's last.
    pub(super) fn on_sent(&mut self, number: u64, tsn: LongTsn, len: u64, end: bool) {
        let Some(partial) = self.messages.get_mut(&number) else { return };
        partial.tsns = Some((partial.tsns.map_or(tsn, |(first, _)| first), tsn));
        partial.chunks += 1;
        partial.sent += len;
        partial.queued = !end;
    }

    /// Records that a chunk was cumulatively acknowledged.
    pub(super) fn on_acked(&mut self, number: u64) {
        let Some(partial) = self.messages.get_mut(&number) else { return };
        partial.chunks -= 1;
        if partial.chunks == 0 && !partial.queued {
            self.remove(number);
        }
    }

    pub(super) fn pop_marked(&mut self) -> Option<LongTsn> {
        self.marked.pop()
    }

    /// Removes a message that was delivered or abandoned.
    pub(super) fn remove(&mut self, number: u64) -> Option<Partial> {
        let partial = self.messages.remove(&number)?;
        if let Reliability::Priority(priority) = partial.message.reliability {
            self.priorities.remove(&(priority, number));
        }
        if self.messages.is_empty() {
            // A stale deadline would keep a timer running.
            self.deadlines.clear();
        } else if self.deadlines.len() > STALE_LIMIT && self.deadlines.len() > 2 * self.messages.len() {
            let messages = &self.messages;
            self.deadlines.retain(|Reverse((_, number))| messages.contains_key(number));
        }
        Some(partial)
    }

    /// Returns a message whose lifetime expired, each once.
    pub(super) fn pop_expired(&mut self, now: Time) -> Option<u64> {
        while let Some(&Reverse((deadline, number))) = self.deadlines.peek() {
            if deadline > now {
                return None;
            }
            self.deadlines.pop();
            if self.messages.contains_key(&number) {
                return Some(number);
            }
        }
        None
    }

    /// Returns the next deadline of a lifetime.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// Returns the messages of a lower priority than `than`, the lowest priority and latest message first.
    ///
    /// A higher number is a lower priority (RFC 7496 §3.2). `None` is above all priorities.
    pub(super) fn below(&self, than: Option<u16>) -> impl Iterator<Item = u64> {
        let below = move |priority: u16| than.is_none_or(|than| priority > than);
        self.priorities
            .iter()
            .rev()
            .take_while(move |&&(priority, _)| below(priority))
            .map(|&(_, number)| number)
    }

    /// Removes all messages.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.deadlines.clear();
        self.priorities.clear();
        self.marked.clear();
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Partial)> {
        self.messages.iter().map(|(&number, partial)| (number, partial))
    }
}
