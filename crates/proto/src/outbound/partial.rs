//! [`PartialStore`]: messages that are not fully reliable, from `send` until they are acknowledged or given up (RFC 3758
//! §4, RFC 7496 §3). Knows nothing of paths and of when a chunk is lost.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use msctp_units::Time;

use crate::long_tsn::LongTsn;
use crate::rare::{Rare, Untouched};
use crate::stats::Abandoned;
use crate::{OutMessage, Reliability, SendFailure};

/// Deadlines of messages that are gone which may wait before the heap is made anew.
const STALE_LIMIT: usize = 64;

/// Where a message of limited reliability stands.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) reliability: Reliability,
    /// With a lifetime: when it is over.
    pub(super) deadline: Option<Time>,
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) ppid: u32,
    pub(super) context: u64,
    /// Its number in the send queue.
    pub(super) queued_as: u64,
    /// It is in the send queue, the whole of it or a rest.
    pub(super) queued: bool,
    /// The TSNs of its first and last chunk that were sent.
    pub(super) tsns: Option<(LongTsn, LongTsn)>,
    /// Its chunks that are not cumulatively acknowledged.
    pub(super) chunks: u32,
    /// User bytes of it that were sent.
    pub(super) sent: u64,
    /// User bytes in all.
    pub(super) len: u64,
}

/// The messages, by a number of their own.
#[derive(Debug, Default)]
pub(super) struct PartialStore {
    messages: BTreeMap<u64, Partial>,
    /// The last number given.
    last: u64,
    /// Deadlines to come; those of messages that are gone stay until they are due or too many.
    deadlines: BinaryHeap<Reverse<(Time, u64)>>,
    /// Messages with the Priority policy.
    priorities: BTreeSet<(u16, u64)>,
    /// Chunks of theirs that are to be sent again: whether that may be is to be looked into.
    suspects: Vec<LongTsn>,
    /// Messages given up that were not reported yet.
    pub(super) failures: Vec<SendFailure>,
    pub(super) abandoned: Abandoned,
}

impl Untouched for PartialStore {
    const UNTOUCHED: &'static Self = &Self {
        messages: BTreeMap::new(),
        last: 0,
        deadlines: BinaryHeap::new(),
        priorities: BTreeSet::new(),
        suspects: Vec::new(),
        failures: Vec::new(),
        abandoned: Abandoned::NONE,
    };
}

impl Rare<PartialStore> {
    /// Takes note of a message; gives its number, 0 when it is fully reliable. `queued_as`: the number the queue gives it.
    #[inline]
    pub(super) fn note(&mut self, now: Time, message: &OutMessage, queued_as: u64) -> u64 {
        if message.reliability == Reliability::Full { 0 } else { self.add(now, message, queued_as) }
    }

    /// A chunk of the message with this number waits to be sent again.
    #[inline]
    pub(super) fn suspect(&mut self, number: u64, tsn: LongTsn) {
        if number != 0 {
            self.suspects.push(tsn);
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
            reliability: message.reliability,
            deadline,
            stream: message.stream,
            unordered: message.unordered,
            ppid: message.ppid,
            context: message.context,
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

    /// A chunk of it is being sent for the first time. `end`: the last.
    pub(super) fn on_sent(&mut self, number: u64, tsn: LongTsn, len: u64, end: bool) {
        let Some(partial) = self.messages.get_mut(&number) else { return };
        partial.tsns = Some((partial.tsns.map_or(tsn, |(first, _)| first), tsn));
        partial.chunks += 1;
        partial.sent += len;
        partial.queued = !end;
    }

    /// A chunk of it is cumulatively acknowledged.
    pub(super) fn on_acked(&mut self, number: u64) {
        let Some(partial) = self.messages.get_mut(&number) else { return };
        partial.chunks -= 1;
        if partial.chunks == 0 && !partial.queued {
            self.remove(number);
        }
    }

    pub(super) fn pop_suspect(&mut self) -> Option<LongTsn> {
        self.suspects.pop()
    }

    /// It is delivered or given up.
    pub(super) fn remove(&mut self, number: u64) -> Option<Partial> {
        let partial = self.messages.remove(&number)?;
        if let Reliability::Priority(priority) = partial.reliability {
            self.priorities.remove(&(priority, number));
        }
        if self.messages.is_empty() {
            // A deadline without a message would be a timer that nothing stops.
            self.deadlines.clear();
        } else if self.deadlines.len() > STALE_LIMIT && self.deadlines.len() > 2 * self.messages.len() {
            let messages = &self.messages;
            self.deadlines.retain(|Reverse((_, number))| messages.contains_key(number));
        }
        Some(partial)
    }

    /// A message whose lifetime is over; each is given once.
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

    /// When the next lifetime is over.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// Messages of a priority below `than` (RFC 7496 §3.2: a higher number is a lower priority), the lowest and latest
    /// first. `None`: a message above all priorities.
    pub(super) fn below(&self, than: Option<u16>) -> impl Iterator<Item = u64> {
        let below = move |priority: u16| than.is_none_or(|than| priority > than);
        self.priorities
            .iter()
            .rev()
            .take_while(move |&&(priority, _)| below(priority))
            .map(|&(_, number)| number)
    }

    /// Everything is gone.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
        self.deadlines.clear();
        self.priorities.clear();
        self.suspects.clear();
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Partial)> {
        self.messages.iter().map(|(&number, partial)| (number, partial))
    }
}
