//! [`SendQueue`]: user messages not sent yet, and how they are cut into chunks (RFC 9260 §6.5, §6.9). Knows nothing of TSNs.
//!
//! Which message goes next is decided here and nowhere else: first come, first served. A stream scheduler (RFC 8260 §3)
//! replaces [`SendQueue::front`] and what `take` removes, under one rule: a message that has been begun goes on until it
//! is through, because its fragments need consecutive TSNs.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::stream_table::StreamTable;
use crate::{OutMessage, SendFailure};

/// A message in the queue; of one that was begun, what is left.
#[derive(Debug)]
struct Queued {
    message: OutMessage,
    /// Its stream sequence number, given with the first fragment.
    begun: Option<u16>,
}

/// A chunk's worth of a message.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) data: Bytes,
    pub(super) stream: u16,
    pub(super) ssn: u16,
    pub(super) ppid: u32,
    pub(super) context: u64,
    pub(super) unordered: bool,
    pub(super) begin: bool,
    pub(super) end: bool,
}

/// Messages in the order in which they will be sent.
#[derive(Debug)]
pub(super) struct SendQueue {
    messages: VecDeque<Queued>,
    bytes: u64,
    /// Next stream sequence number of each stream (RFC 9260 §6.5: from 0).
    ssns: StreamTable<u16>,
}

impl SendQueue {
    pub(super) fn new() -> Self {
        Self { messages: VecDeque::new(), bytes: 0, ssns: StreamTable::new() }
    }

    pub(super) fn push(&mut self, message: OutMessage) {
        self.bytes += message.data.len() as u64;
        self.messages.push_back(Queued { message, begun: None });
    }

    /// User bytes waiting.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    #[inline]
    fn front(&self) -> Option<&Queued> {
        self.messages.front()
    }

    /// User bytes of the next chunk when a chunk may hold `max`.
    #[inline]
    pub(super) fn next_len(&self, max: usize) -> Option<usize> {
        self.front().map(|queued| queued.message.data.len().min(max))
    }

    /// Cuts the next chunk of at most `max` user bytes (RFC 9260 §6.9).
    #[inline]
    pub(super) fn take(&mut self, max: usize) -> Option<Piece> {
        debug_assert!(max > 0, "a chunk holds at least one byte");
        let queued = self.messages.front_mut()?;
        let OutMessage { stream, ppid, unordered, context, .. } = queued.message;
        let begin = queued.begun.is_none();
        let ssn = match queued.begun {
            Some(ssn) => ssn,
            // RFC 9260 §6.5, §6.6: unordered messages do not change the number
            None if unordered => 0,
            None => {
                let next = self.ssns.entry(stream);
                let ssn = *next;
                *next = ssn.wrapping_add(1);
                ssn
            }
        };
        let end = queued.message.data.len() <= max;
        let data = if end {
            self.messages.pop_front()?.message.data
        } else {
            queued.begun = Some(ssn);
            queued.message.data.split_to(max)
        };
        self.bytes -= data.len() as u64;
        Some(Piece { data, stream, ssn, ppid, context, unordered, begin, end })
    }

    /// The front message has been sent in part.
    pub(super) fn front_is_begun(&self) -> bool {
        self.front().is_some_and(|queued| queued.begun.is_some())
    }

    /// Takes out what waits on streams from `streams` on.
    pub(super) fn fail_beyond(&mut self, streams: u16) -> Vec<SendFailure> {
        let (kept, failed): (VecDeque<_>, VecDeque<_>) = core::mem::take(&mut self.messages)
            .into_iter()
            .partition(|queued| queued.message.stream < streams);
        self.messages = kept;
        self.bytes = self.messages.iter().map(|queued| queued.message.data.len() as u64).sum();
        failed.into_iter().map(|queued| SendFailure { message: queued.message, unsent: true }).collect()
    }

    /// Everything, to be given up.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = OutMessage> {
        self.bytes = 0;
        core::mem::take(&mut self.messages).into_iter().map(|queued| queued.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stream: u16, len: usize, unordered: bool) -> OutMessage {
        OutMessage { stream, ppid: 5, unordered, data: Bytes::from(vec![1; len]), context: len as u64 }
    }

    #[test]
    fn rfc9260_6_9_fragments() {
        let mut queue = SendQueue::new();
        queue.push(message(0, 250, false));
        queue.push(message(0, 100, false));
        let pieces: Vec<_> =
            core::iter::from_fn(|| queue.take(100)).map(|p| (p.data.len(), p.begin, p.end, p.ssn)).collect();
        let expected =
            [(100, true, false, 0), (100, false, false, 0), (50, false, true, 0), (100, true, true, 1)];
        assert_eq!(pieces, expected);
        assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
    }

    #[test]
    fn rfc9260_6_5_numbers_per_stream_wrap_and_skip_unordered() {
        let mut queue = SendQueue::new();
        for _ in 0..=u16::MAX {
            queue.push(message(3, 1, false));
        }
        queue.push(message(3, 1, true));
        queue.push(message(4, 1, false));
        queue.push(message(3, 1, false));
        let ssns: Vec<_> =
            core::iter::from_fn(|| queue.take(9)).map(|p| (p.stream, p.unordered, p.ssn)).collect();
        assert_eq!(ssns[65_535..], [(3, false, 65_535), (3, true, 0), (4, false, 0), (3, false, 0)]);
    }
}
