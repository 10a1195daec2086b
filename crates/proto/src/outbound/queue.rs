//! [`SendQueue`]: user messages not sent yet, and how they are cut into chunks (RFC 9260 §6.5, §6.9). Knows nothing of TSNs.
//!
//! Messages wait by stream; which stream goes next is the [scheduler](super::scheduler)'s to say. Without interleaving a
//! message that was begun goes on until it is through, because its fragments need consecutive TSNs; with it (RFC 8260 §2)
//! another stream may go on after each chunk. Messages of one stream never overtake each other.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bytes::Bytes;

use super::scheduler::{FirstCome, Rank, Scheduler, Share};
use crate::stream_table::StreamTable;
use crate::{OutMessage, SendFailure};

/// Entries of the line that may be out of date before it is made anew.
const STALE_LIMIT: usize = 64;

/// Numbers of a message that was begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Message identifier (RFC 8260 §2.1); its low 16 bits are the stream sequence number of ordered messages.
    mid: u32,
    /// Fragment sequence number of the next chunk.
    fsn: u32,
    /// User bytes sent.
    sent: u64,
}

/// A message in the queue; of one that was begun, what is left.
#[derive(Debug)]
struct Queued {
    message: OutMessage,
    /// Its number in the order of all.
    id: u64,
    /// Its number among the messages that are not fully reliable; 0: it is.
    partial: u64,
    /// Set with the first fragment.
    begun: Option<Begun>,
}

/// A chunk's worth of a message.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) data: Bytes,
    pub(super) stream: u16,
    pub(super) mid: u32,
    pub(super) fsn: u32,
    pub(super) ppid: u32,
    pub(super) context: u64,
    pub(super) partial: u64,
    pub(super) unordered: bool,
    pub(super) begin: bool,
    pub(super) end: bool,
    pub(super) sack_immediately: bool,
}

/// A message taken out before all of it was sent.
#[derive(Debug)]
pub(super) struct Unsent {
    /// With the data that was not sent.
    pub(crate) message: OutMessage,
    /// Message identifier and next fragment sequence number, once something was sent.
    pub(crate) begun: Option<(u32, u32)>,
    /// User bytes that were sent.
    pub(crate) sent: u64,
    /// Its number among those not fully reliable; 0: it is.
    pub(crate) partial: u64,
}

impl Unsent {
    /// Reports a queued message, or the rest of one.
    pub(super) fn into_failure(self) -> SendFailure {
        let mut message = self.message;
        if self.sent > 0 {
            message.data = Bytes::new();
        }
        SendFailure { message, unsent: self.sent == 0, sent: self.sent, abandoned: false }
    }
}

/// A stream with something to send, now or before.
#[derive(Debug, Default)]
struct Busy {
    messages: VecDeque<Queued>,
    /// Its place in line, also while it is being served; `None`: it has nothing to send, or may not.
    rank: Option<Rank>,
    share: Share,
    /// User bytes sent of what the scheduler counts as one.
    served: u64,
    /// No message may be begun on it (RFC 6525 §5.1.2: while it is being reset).
    paused: bool,
}

/// An outgoing stream.
#[derive(Debug, Default)]
struct OutStream {
    /// Identifier of the next ordered message (RFC 9260 §6.5, RFC 8260 §2.1: from 0).
    next_ordered: u32,
    /// Identifier of the next unordered message.
    next_unordered: u32,
    /// Kept once there: a stream that was used once is used again.
    busy: Option<Box<Busy>>,
}

/// Messages that wait, in the order in which they will be sent.
#[derive(Debug)]
pub(super) struct SendQueue {
    scheduler: Box<dyn Scheduler>,
    streams: StreamTable<OutStream>,
    /// The stream that goes next: the first in line.
    first: Option<(Rank, u16)>,
    /// The streams behind it. Some may be out of date: those whose stream has another rank by now.
    line: BinaryHeap<Reverse<(Rank, u16)>>,
    /// The stream being served: its message was begun and goes on, or its packet is not full yet. It is not in line.
    serving: Option<u16>,
    /// A packet is being filled.
    in_packet: bool,
    interleaving: bool,
    /// No message may be begun on any stream.
    all_paused: bool,
    messages: usize,
    bytes: u64,
    next_id: u64,
    /// User bytes left of the message that goes next; 0: none.
    front_len: usize,
}

impl SendQueue {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            scheduler,
            streams: StreamTable::new(),
            first: None,
            line: BinaryHeap::new(),
            serving: None,
            in_packet: false,
            interleaving: false,
            all_paused: false,
            messages: 0,
            bytes: 0,
            next_id: 1,
            front_len: 0,
        }
    }

    /// Another stream may go on after each chunk (RFC 8260 §2.2.2). To be said before anything is sent.
    pub(super) fn set_interleaving(&mut self, interleaving: bool) {
        self.interleaving = interleaving;
    }

    /// From now on streams are chosen like this. A message that was begun goes on.
    pub(super) fn set_scheduler(&mut self, scheduler: Box<dyn Scheduler>) {
        self.scheduler = scheduler;
        self.line.clear();
        self.first = None;
        let (line, scheduler, serving) = (&mut self.line, &mut self.scheduler, self.serving);
        self.streams.for_each(|number, stream| {
            let Some(busy) = &mut stream.busy else { return };
            busy.share.finish = 0;
            busy.served = 0;
            if busy.rank.is_some()
                && let Some(head) = busy.messages.front()
            {
                let rank = scheduler.join(&mut busy.share, head.id);
                busy.rank = Some(rank);
                if serving != Some(number) {
                    line.push(Reverse((rank, number)));
                }
            }
        });
        self.tidy();
    }

    /// The stream's value for the scheduler.
    pub(super) fn set_value(&mut self, number: u16, value: u16) {
        let busy = self.streams.entry(number).busy.get_or_insert_default();
        busy.share.value = value;
        if busy.rank.is_some()
            && let Some(head) = busy.messages.front()
        {
            let rank = self.scheduler.join(&mut busy.share, head.id);
            busy.rank = Some(rank);
            if self.serving != Some(number) {
                self.line.push(Reverse((rank, number)));
            }
        }
        self.tidy();
    }

    /// Takes a message; gives its number in the order of all. `partial`: its number among those not fully reliable.
    pub(super) fn push(&mut self, message: OutMessage, partial: u64) -> u64 {
        let (number, id) = (message.stream, self.next_id);
        self.next_id += 1;
        self.bytes += message.data.len() as u64;
        self.messages += 1;
        let busy = self.streams.entry(number).busy.get_or_insert_default();
        busy.messages.push_back(Queued { message, id, partial, begun: None });
        if busy.rank.is_none() && !busy.paused && !self.all_paused {
            let rank = self.scheduler.join(&mut busy.share, id);
            busy.rank = Some(rank);
            self.enter(rank, number);
        }
        id
    }

    /// A stream stands in line anew.
    #[inline]
    fn enter(&mut self, rank: Rank, number: u16) {
        if self.first.is_none() && self.line.is_empty() {
            self.first = Some((rank, number));
            self.note_front();
        } else {
            self.line.push(Reverse((rank, number)));
            self.tidy();
        }
    }

    /// The number that the next message gets.
    pub(super) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// User bytes waiting.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Messages waiting, one that was begun included.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.messages
    }

    /// Messages waiting on a stream, one that was begun included.
    pub(super) fn len_of(&self, number: u16) -> usize {
        self.streams
            .get(number)
            .and_then(|stream| stream.busy.as_deref())
            .map_or(0, |busy| busy.messages.len())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Nothing may go now: there is nothing, or its streams are silent.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.front_len == 0
    }

    /// The stream whose message goes next.
    #[inline]
    fn next(&self) -> Option<u16> {
        self.serving.or(self.first.map(|(_, number)| number))
    }

    /// User bytes of the next chunk when a chunk may hold `max`.
    #[inline]
    pub(super) fn next_len(&self, max: usize) -> Option<usize> {
        (self.front_len > 0).then(|| self.front_len.min(max))
    }

    /// New chunks for one packet follow.
    #[inline]
    pub(super) fn begin_packet(&mut self) {
        self.in_packet = self.scheduler.one_stream_per_packet();
    }

    /// The packet is full, or there is no more for it.
    #[inline]
    pub(super) fn end_packet(&mut self) {
        if !core::mem::take(&mut self.in_packet) {
            return;
        }
        if let Some(number) = self.serving
            && let Some(busy) = &self.streams.entry(number).busy
            && (self.interleaving || busy.messages.front().is_none_or(|head| head.begun.is_none()))
        {
            self.stand_in_line(number);
        }
    }

    /// Cuts the next chunk of at most `max` user bytes (RFC 9260 §6.9).
    #[inline]
    pub(super) fn take(&mut self, max: usize) -> Option<Piece> {
        debug_assert!(max > 0, "a chunk holds at least one byte");
        let number = self.next()?;
        if self.serving.is_none() {
            self.first = None;
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# the TSNs for each fragment of a fragmented user message MUST be strictly sequential.
            self.serving = Some(number);
        }
        let state = self.streams.entry(number);
        let busy = state.busy.as_deref_mut()?;
        let queued = busy.messages.front_mut()?;
        let OutMessage { stream, ppid, unordered, context, sack_immediately, .. } = queued.message;
        let begun = queued.begun.unwrap_or_else(|| {
            // RFC 9260 §6.5, §6.6: unordered messages do not change the stream sequence number; RFC 8260 §2.1: they have
            // a counter of their own
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# The Stream Sequence Number in all the outgoing streams MUST start from 0 when the association
            //# is established.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# The Stream Sequence Number of an outgoing stream MUST be incremented by 1 for each ordered
            //# user message sent on that outgoing stream.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# For unordered user messages, the Stream Sequence Number MUST NOT be changed.
            let next = if unordered { &mut state.next_unordered } else { &mut state.next_ordered };
            let mid = *next;
            *next = mid.wrapping_add(1);
            Begun { mid, fsn: 0, sent: 0 }
        });
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6
        //# an endpoint MUST fragment large user messages into multiple DATA chunks.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# The data sender MUST break the user message into a series of DATA chunks.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# The transmitter MUST also set the B/E bits of the first DATA chunk in the series to 10, the B/E
        //# bits of the last DATA chunk in the series to 01
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
        //# An unfragmented user message MUST have both the B and E bits set to
        let (begin, end) = (queued.begun.is_none(), queued.message.data.len() <= max);
        let partial = queued.partial;
        let data = if end {
            self.messages -= 1;
            busy.messages.pop_front()?.message.data
        } else {
            let sent = begun.sent + max as u64;
            queued.begun = Some(Begun { fsn: begun.fsn.wrapping_add(1), sent, ..begun });
            queued.message.data.split_to(max)
        };
        let len = data.len() as u64;
        busy.served += len;
        self.bytes -= len;
        // A stream that runs dry in a packet for one stream only keeps the packet.
        if !self.in_packet && (end || self.interleaving) {
            if self.first.is_none() && self.line.is_empty() && !busy.paused && !self.all_paused {
                // The only one there is.
                let (id, rest) = busy
                    .messages
                    .front()
                    .map_or((self.next_id, 0), |head| (head.id, head.message.data.len()));
                let served = core::mem::take(&mut busy.served);
                let rank = self.scheduler.served(&mut busy.share, busy.rank.unwrap_or_default(), served, id);
                busy.rank = (rest > 0).then_some(rank);
                self.first = busy.rank.map(|rank| (rank, number));
                self.serving = None;
                self.front_len = rest;
            } else {
                self.stand_in_line(number);
            }
        } else {
            self.note_front();
        }
        Some(Piece {
            data,
            stream,
            mid: begun.mid,
            fsn: begun.fsn,
            ppid,
            context,
            partial,
            unordered,
            begin,
            end,
            sack_immediately,
        })
    }

    /// The stream being served was served; it stands in line again if it has more.
    #[inline]
    fn stand_in_line(&mut self, number: u16) {
        debug_assert_eq!(self.serving, Some(number));
        self.serving = None;
        let Some(busy) = self.streams.entry(number).busy.as_deref_mut() else { return };
        let head = busy.messages.front().map(|queued| (queued.id, queued.begun.is_some()));
        let (id, begun) = head.unwrap_or((self.next_id, false));
        let served = core::mem::take(&mut busy.served);
        let rank = self.scheduler.served(&mut busy.share, busy.rank.unwrap_or_default(), served, id);
        busy.rank = (head.is_some() && (begun || !busy.paused && !self.all_paused)).then_some(rank);
        if busy.rank.is_some() {
            self.line.push(Reverse((rank, number)));
        }
        self.tidy();
    }

    /// Finds the first in line; drops what is out of date before it, and all of it when there is much.
    fn tidy(&mut self) {
        self.line.extend(self.first.take().map(Reverse));
        while let Some(Reverse((rank, number))) = self.line.pop() {
            if self.is_valid(rank, number) {
                self.first = Some((rank, number));
                break;
            }
        }
        if self.line.len() > STALE_LIMIT && self.line.len() > 2 * self.messages {
            let mut line: Vec<_> = core::mem::take(&mut self.line).into_vec();
            line.retain(|&Reverse((rank, number))| self.is_valid(rank, number));
            line.sort_unstable();
            line.dedup();
            self.line = line.into();
        }
        self.note_front();
    }

    #[inline]
    fn note_front(&mut self) {
        let busy = self.next().and_then(|number| self.streams.get(number)?.busy.as_deref());
        let front = busy.and_then(|busy| busy.messages.front());
        self.front_len = front.map_or(0, |queued| queued.message.data.len());
    }

    #[inline]
    fn is_valid(&self, rank: Rank, number: u16) -> bool {
        let busy = self.streams.get(number).and_then(|stream| stream.busy.as_deref());
        self.serving != Some(number) && busy.is_some_and(|busy| busy.rank == Some(rank))
    }

    /// Takes a message out that was not sent, or not the whole of it. `None`: it is not here.
    pub(super) fn remove(&mut self, number: u16, id: u64) -> Option<Unsent> {
        let busy = self.streams.entry(number).busy.as_deref_mut()?;
        let index = busy.messages.binary_search_by_key(&id, |queued| queued.id).ok()?;
        let Queued { message, begun, partial, .. } = busy.messages.remove(index)?;
        self.messages -= 1;
        self.bytes -= message.data.len() as u64;
        if self.serving == Some(number) {
            if begun.is_some() || busy.messages.is_empty() {
                self.stand_in_line(number);
            }
        } else if let Some(rank) = busy.rank {
            let head =
                busy.messages.front().filter(|head| !busy.paused && !self.all_paused || head.begun.is_some());
            let new = head.map(|head| if index == 0 { self.scheduler.beheaded(rank, head.id) } else { rank });
            busy.rank = new;
            if let Some(new) = new.filter(|&new| new != rank) {
                self.line.push(Reverse((new, number)));
            }
            self.tidy();
        }
        let sent = begun.map_or(0, |begun| begun.sent);
        Some(Unsent { message, begun: begun.map(|begun| (begun.mid, begun.fsn)), sent, partial })
    }

    /// Begins no further message on a stream (RFC 6525 §5.1.2). One that was begun goes on.
    pub(super) fn pause(&mut self, number: u16) {
        let busy = self.streams.entry(number).busy.get_or_insert_default();
        busy.paused = true;
        let begun = busy.messages.front().is_some_and(|head| head.begun.is_some());
        if !begun && self.serving != Some(number) {
            busy.rank = None;
        }
        self.tidy();
    }

    /// Messages may be begun again on a stream.
    pub(super) fn resume(&mut self, number: u16) {
        let Some(busy) = self.streams.entry(number).busy.as_deref_mut() else { return };
        busy.paused = false;
        if busy.rank.is_none()
            && !self.all_paused
            && self.serving != Some(number)
            && let Some(head) = busy.messages.front()
        {
            let rank = self.scheduler.join(&mut busy.share, head.id);
            busy.rank = Some(rank);
            self.line.push(Reverse((rank, number)));
        }
        self.tidy();
    }

    /// Begins no further message at all.
    pub(super) fn pause_all(&mut self) {
        self.all_paused = true;
        let serving = self.serving;
        self.streams.for_each(|number, stream| {
            if let Some(busy) = &mut stream.busy
                && serving != Some(number)
                && busy.messages.front().is_none_or(|head| head.begun.is_none())
            {
                busy.rank = None;
            }
        });
        self.tidy();
    }

    /// Messages may be begun again.
    pub(super) fn resume_all(&mut self) {
        self.all_paused = false;
        let mut waiting = Vec::new();
        self.streams.for_each(|number, stream| {
            if stream.busy.as_deref().is_some_and(|busy| !busy.messages.is_empty()) {
                waiting.push(number);
            }
        });
        waiting.into_iter().for_each(|number| self.resume(number));
    }

    /// A message is sent in part.
    pub(super) fn any_begun(&mut self) -> bool {
        let mut any = false;
        self.streams.for_each(|_, stream| {
            let head = stream.busy.as_deref().and_then(|busy| busy.messages.front());
            any |= head.is_some_and(|head| head.begun.is_some());
        });
        any
    }

    /// All streams' numbers begin at 0 again.
    pub(super) fn reset_all_numbers(&mut self) {
        self.streams.for_each(|_, stream| (stream.next_ordered, stream.next_unordered) = (0, 0));
    }

    /// A message of the stream was sent in part.
    pub(super) fn is_begun(&self, number: u16) -> bool {
        let busy = self.streams.get(number).and_then(|stream| stream.busy.as_deref());
        busy.and_then(|busy| busy.messages.front()).is_some_and(|head| head.begun.is_some())
    }

    /// The stream's numbers begin at 0 again (RFC 6525 §5.2.2, RFC 8260 §2.3.2: both counters).
    pub(super) fn reset_numbers(&mut self, number: u16) {
        let stream = self.streams.entry(number);
        (stream.next_ordered, stream.next_unordered) = (0, 0);
    }

    /// Takes out what waits on streams from `streams` on, nothing of which was sent.
    pub(super) fn fail_beyond(&mut self, streams: u16) -> Vec<Unsent> {
        let mut out = Vec::new();
        self.streams.for_each(|number, stream| {
            if number >= streams
                && let Some(busy) = stream.busy.as_deref_mut()
            {
                busy.rank = None;
                out.extend(busy.messages.drain(..));
            }
        });
        self.serving = self.serving.filter(|&number| number < streams);
        self.messages -= out.len();
        self.bytes -= out.iter().map(|queued| queued.message.data.len() as u64).sum::<u64>();
        self.tidy();
        Self::in_order(out)
    }

    /// Everything, to be given up: what was begun first, else in the order in which it was given.
    pub(super) fn drain(&mut self) -> Vec<Unsent> {
        let mut out = Vec::new();
        self.streams.for_each(|_, stream| {
            if let Some(busy) = stream.busy.as_deref_mut() {
                busy.rank = None;
                busy.served = 0;
                busy.paused = false;
                out.extend(busy.messages.drain(..));
            }
        });
        self.line.clear();
        self.first = None;
        self.serving = None;
        self.messages = 0;
        self.bytes = 0;
        self.front_len = 0;
        Self::in_order(out)
    }

    fn in_order(mut queued: Vec<Queued>) -> Vec<Unsent> {
        queued.sort_by_key(|queued| (queued.begun.is_none(), queued.id));
        let unsent = |Queued { message, begun, partial, .. }| Unsent {
            message,
            partial,
            begun: begun.map(|begun: Begun| (begun.mid, begun.fsn)),
            sent: begun.map_or(0, |begun| begun.sent),
        };
        queued.into_iter().map(unsent).collect()
    }
}

impl Default for SendQueue {
    fn default() -> Self {
        Self::new(Box::new(FirstCome))
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
