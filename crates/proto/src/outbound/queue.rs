//! [`SendQueue`]: unsent user messages, and their fragmentation into chunks (RFC 9260 §6.5, §6.9).
//!
//! Messages are queued by stream; the [scheduler](super::scheduler) chooses the next stream. Without
//! interleaving a message that was begun is sent to its end first, because its fragments need consecutive
//! TSNs. With interleaving (RFC 8260 §2) the scheduler may choose another stream after each chunk. Messages
//! of one stream stay in order, but for urgent ones, which precede all that was not begun. The queue does not
//! depend on TSNs.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bytes::Bytes;
use msctp_wire::DataFlags;

use super::piece::Piece;
use super::scheduler::{FirstCome, Rank, Scheduler, Share};
use crate::message::{OutMessage, SendFailure};
use crate::stream_table::StreamTable;

/// Number of stale heap entries at which the heap is rebuilt.
const STALE_LIMIT: usize = 64;

/// The numbers of a message that is partly sent.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Message identifier (RFC 8260 §2.1); its low 16 bits are the stream sequence number of ordered
    /// messages.
    mid: u32,
    /// Fragment sequence number of the next chunk.
    fsn: u32,
    /// User bytes sent.
    sent: u64,
}

/// A queued message, or its unsent rest.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) message: OutMessage,
    /// Its number in the order of `push` over all streams.
    id: u64,
    /// Its number in [`PartialStore`](super::partial::PartialStore); 0 if it is fully reliable.
    pub(super) partial: u64,
    /// Set by the first fragment.
    begun: Option<Begun>,
}

impl Queued {
    /// Returns its next chunk.
    #[inline]
    fn piece(&self, begun: Begun, end: bool, interleaved: bool, data: Bytes) -> Piece {
        let OutMessage { stream, ppid, unordered, context, sack_immediately, redundant, .. } = self.message;
        // RFC 7053 §5.1: the last fragment requests the SACK
        let (begin, immediate) = (self.begun.is_none(), end && sack_immediately);
        Piece {
            data,
            context,
            partial: self.partial,
            ppid,
            mid: begun.mid,
            fsn: begun.fsn,
            stream,
            interleaved,
            redundant,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
            //# the U flag of each DATA chunk of the user message MUST be set to 1.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# If an unordered user message is fragmented, each fragment of the message MUST have its U bit
            //# set to 1.
            flags: DataFlags { unordered, begin, end, immediate },
        }
    }

    /// Cuts its next chunk of at most `max` user bytes (RFC 9260 §6.9). `next`: the identifiers of the next
    /// ordered and the next unordered message of its stream.
    #[inline(always)]
    fn cut(&mut self, next: [&mut u32; 2], max: usize, interleaved: bool) -> Piece {
        let begun = self.begun.unwrap_or_else(|| {
            // RFC 9260 §6.5, §6.6: unordered messages do not change the stream sequence number.
            // RFC 8260 §2.1: they have their own counter.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# The Stream Sequence Number in all the outgoing streams MUST start from 0 when the association
            //# is established.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# The Stream Sequence Number of an outgoing stream MUST be incremented by 1 for each ordered
            //# user message sent on that outgoing stream.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# For unordered user messages, the Stream Sequence Number MUST NOT be changed.
            let [ordered, unordered] = next;
            let next = if self.message.unordered { unordered } else { ordered };
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
        let end = self.message.data.len() <= max;
        let data =
            if end { core::mem::take(&mut self.message.data) } else { self.message.data.split_to(max) };
        let piece = self.piece(begun, end, interleaved, data);
        if !end {
            let sent = begun.sent + max as u64;
            self.begun = Some(Begun { fsn: begun.fsn.wrapping_add(1), sent, ..begun });
        }
        piece
    }

    /// Returns the chunk that ends a message of which part was sent, without data; `None` if nothing was.
    pub(super) fn ending(&self, interleaved: bool) -> Option<Piece> {
        self.begun.map(|begun| self.piece(begun, true, interleaved, Bytes::new()))
    }

    /// Returns the failure of a message, without its data if part of it was sent.
    pub(super) fn into_failure(self) -> SendFailure {
        let mut message = self.message;
        let sent = self.begun.map_or(0, |begun| begun.sent);
        if sent > 0 {
            message.data = Bytes::new();
        }
        SendFailure { message, unsent: sent == 0, sent, abandoned: false }
    }
}

/// A stream that has, or had, messages to send.
#[derive(Debug, Default)]
struct StreamQueue {
    messages: VecDeque<Queued>,
    /// Its rank, also while it is being served; `None` if it has nothing to send, or is paused.
    rank: Option<Rank>,
    share: Share,
    /// User bytes sent of the current unit of the scheduler: a message, a chunk or a packet.
    served: u64,
    /// Starts no further message (RFC 6525 §5.1.2: during a reset).
    paused: bool,
}

/// An outgoing stream.
#[derive(Debug, Default)]
struct OutStream {
    /// Identifier of the next ordered message (RFC 9260 §6.5, RFC 8260 §2.1: from 0).
    next_ordered: u32,
    /// Identifier of the next unordered message.
    next_unordered: u32,
    /// Queue of the stream, allocated at the first message and kept.
    stream_queue: Option<Box<StreamQueue>>,
}

/// The queued messages, in the order chosen by the scheduler.
#[derive(Debug)]
pub(super) struct SendQueue {
    scheduler: Box<dyn Scheduler>,
    streams: StreamTable<OutStream>,
    /// Messages that precede those of all streams, except one of which a fragment was sent.
    urgent: VecDeque<Queued>,
    /// The stream with the lowest rank.
    first: Option<(Rank, u16)>,
    /// The other ready streams. An entry is stale if its stream has another rank.
    ready: BinaryHeap<Reverse<(Rank, u16)>>,
    /// The stream being served: its message is partly sent, or its packet is not full yet. It has no heap
    /// entry.
    serving: Option<u16>,
    /// A packet for one stream only is being filled.
    in_packet: bool,
    interleaving: bool,
    /// No stream starts a further message, those included that have none yet.
    pub(super) all_paused: bool,
    messages: usize,
    bytes: u64,
    next_id: u64,
    /// Unsent user bytes of the next message; 0 if there is none.
    front_len: usize,
}

impl SendQueue {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            scheduler,
            streams: StreamTable::new(),
            urgent: VecDeque::new(),
            first: None,
            ready: BinaryHeap::new(),
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

    /// Lets streams alternate after each chunk (RFC 8260 §2.2.2). Must be called before anything is sent.
    pub(super) fn set_interleaving(&mut self, interleaving: bool) {
        self.interleaving = interleaving;
    }

    /// Replaces the scheduler. A message that is partly sent continues.
    pub(super) fn set_scheduler(&mut self, scheduler: Box<dyn Scheduler>) {
        self.scheduler = scheduler;
        self.ready.clear();
        self.first = None;
        for number in self.selected(&[]) {
            if let Some(stream_queue) = &mut self.streams.entry(number).stream_queue {
                stream_queue.share.finish = 0;
                stream_queue.served = 0;
                if stream_queue.rank.is_some() {
                    self.rejoin(number);
                }
            }
        }
        self.choose_first();
    }

    /// Sets the stream's value for the scheduler.
    pub(super) fn set_value(&mut self, number: u16, value: u16) {
        let stream_queue = self.streams.entry(number).stream_queue.get_or_insert_default();
        stream_queue.share.value = value;
        if stream_queue.rank.is_some() {
            self.rejoin(number);
        }
        self.choose_first();
    }

    /// Gives a stream a new rank if it has messages.
    fn rejoin(&mut self, number: u16) {
        let Some(stream_queue) = self.streams.entry(number).stream_queue.as_deref_mut() else { return };
        let Some(head) = stream_queue.messages.front() else { return };
        let rank = self.scheduler.join(&mut stream_queue.share, head.id);
        stream_queue.rank = Some(rank);
        if self.serving != Some(number) {
            self.ready.push(Reverse((rank, number)));
        }
    }

    /// Returns the streams of a request: those listed, or all that ever had messages if the list is empty
    /// (RFC 6525 §4.1).
    pub(super) fn selected(&mut self, streams: &[u16]) -> Vec<u16> {
        let mut selected = streams.to_vec();
        if streams.is_empty() {
            self.streams.for_each(|number, stream| {
                selected.extend(stream.stream_queue.is_some().then_some(number));
            });
        }
        selected
    }

    /// Visits the streams of all queued messages and their unsent bytes.
    pub(super) fn for_each_message(&mut self, mut each: impl FnMut(u16, u64)) {
        self.urgent.iter().for_each(|queued| each(queued.message.stream, queued.message.data.len() as u64));
        self.streams.for_each(|number, stream| {
            let messages = stream.stream_queue.iter().flat_map(|stream_queue| &stream_queue.messages);
            messages.for_each(|queued| each(number, queued.message.data.len() as u64));
        });
    }

    /// Queues a message and returns its number. `partial`: its number in the store of partial reliability.
    #[inline(always)]
    pub(super) fn push(&mut self, message: OutMessage, partial: u64) -> u64 {
        let (number, id) = (message.stream, self.next_id);
        self.next_id += 1;
        self.bytes += message.data.len() as u64;
        self.messages += 1;
        let stream_queue = self.streams.entry(number).stream_queue.get_or_insert_default();
        stream_queue.messages.push_back(Queued { message, id, partial, begun: None });
        if stream_queue.rank.is_none() && !stream_queue.paused && !self.all_paused {
            let rank = self.scheduler.join(&mut stream_queue.share, id);
            stream_queue.rank = Some(rank);
            self.add_ready(rank, number);
        }
        id
    }

    /// Queues a message before all of which no fragment was sent, and behind earlier urgent ones.
    pub(super) fn push_urgent(&mut self, message: OutMessage) {
        let id = self.next_id;
        self.next_id += 1;
        self.bytes += message.data.len() as u64;
        self.messages += 1;
        // `selected` finds the stream.
        self.streams.entry(message.stream).stream_queue.get_or_insert_default();
        self.urgent.push_back(Queued { message, id, partial: 0, begun: None });
        self.update_front();
    }

    /// Returns true if the next chunk is one of an urgent message.
    #[inline]
    pub(super) fn is_urgent_next(&self) -> bool {
        !self.urgent.is_empty() && self.may_take_urgent()
    }

    /// Returns whether urgent messages are not sent yet, or not all of their fragments.
    pub(super) fn has_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }

    /// Returns the number of the next ordered message of a stream.
    pub(super) fn next_ordered(&self, stream: u16) -> u32 {
        self.streams.get(stream).map_or(0, |stream| stream.next_ordered)
    }

    /// Returns true if the first urgent message was begun, or may begin: not between the fragments of
    /// another message, which need consecutive TSNs without interleaving, and with it the order of the
    /// stream.
    #[cold]
    fn may_take_urgent(&self) -> bool {
        let Some(queued) = self.urgent.front() else { return false };
        let number = queued.message.stream;
        let between = if self.interleaving { Some(number) } else { self.serving };
        let paused = self.all_paused || self.queue_of(number).is_some_and(|stream_queue| stream_queue.paused);
        queued.begun.is_some() || !paused && !between.is_some_and(|number| self.is_head_begun(number))
    }

    /// Cuts the next chunk of an urgent message.
    #[cold]
    fn take_urgent(&mut self, max: usize) -> Option<Piece> {
        let queued = self.urgent.front_mut()?;
        let stream = self.streams.entry(queued.message.stream);
        let next = [&mut stream.next_ordered, &mut stream.next_unordered];
        let piece = queued.cut(next, max, self.interleaving);
        if piece.flags.end {
            self.messages -= 1;
            self.urgent.pop_front();
        }
        self.bytes -= piece.len();
        self.update_front();
        Some(piece)
    }

    /// Adds a stream that became ready.
    #[inline]
    fn add_ready(&mut self, rank: Rank, number: u16) {
        if self.first.is_none() && self.ready.is_empty() {
            self.first = Some((rank, number));
            self.update_front();
        } else {
            self.ready.push(Reverse((rank, number)));
            self.choose_first();
        }
    }

    #[inline]
    fn queue_of(&self, number: u16) -> Option<&StreamQueue> {
        self.streams.get(number)?.stream_queue.as_deref()
    }

    /// Returns the number of the next message.
    pub(super) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Returns the queued user bytes.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of queued messages, partly sent ones included.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.messages
    }

    /// Returns the number of queued messages of a stream, a partly sent one included.
    pub(super) fn len_of(&self, number: u16) -> usize {
        let urgent = self.urgent.iter().filter(|queued| queued.message.stream == number).count();
        urgent + self.queue_of(number).map_or(0, |stream_queue| stream_queue.messages.len())
    }

    /// Returns whether the first ordered message of a stream since its last reset is queued, or its rest.
    pub(super) fn has_first(&self, number: u16) -> bool {
        match self.next_ordered(number) {
            0 => self.len_of(number) > 0,
            1 => self.is_begun(number),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Returns true if no message can be sent now: the queue is empty, or its streams are paused.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.front_len == 0
    }

    /// Returns the stream of the next message.
    #[inline]
    fn next(&self) -> Option<u16> {
        self.serving.or(self.first.map(|(_, number)| number))
    }

    /// Returns the user bytes of the next chunk, at most `max`.
    #[inline]
    pub(super) fn next_len(&self, max: usize) -> Option<usize> {
        (self.front_len > 0).then(|| self.front_len.min(max))
    }

    /// Starts a packet: the chunks that follow share it.
    #[inline]
    pub(super) fn begin_packet(&mut self) {
        self.in_packet = self.scheduler.one_stream_per_packet();
    }

    /// Ends a packet.
    #[inline]
    pub(super) fn end_packet(&mut self) {
        if !core::mem::take(&mut self.in_packet) {
            return;
        }
        if let Some(number) = self.serving
            && let Some(stream_queue) = &self.streams.entry(number).stream_queue
            && (self.interleaving || stream_queue.messages.front().is_none_or(|head| head.begun.is_none()))
        {
            self.end_service(number);
        }
    }

    /// Cuts the next chunk of at most `max` user bytes (RFC 9260 §6.9).
    #[inline]
    pub(super) fn take(&mut self, max: usize) -> Option<Piece> {
        debug_assert!(max > 0, "a chunk holds at least one byte");
        if self.is_urgent_next() {
            return self.take_urgent(max);
        }
        let number = self.next()?;
        if self.serving.is_none() {
            self.first = None;
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# the TSNs for each fragment of a fragmented user message MUST be strictly sequential.
            self.serving = Some(number);
        }
        let state = self.streams.entry(number);
        let stream_queue = state.stream_queue.as_deref_mut()?;
        let queued = stream_queue.messages.front_mut()?;
        let next = [&mut state.next_ordered, &mut state.next_unordered];
        let piece = queued.cut(next, max, self.interleaving);
        let end = piece.flags.end;
        if end {
            self.messages -= 1;
            stream_queue.messages.pop_front();
        }
        let len = piece.len();
        stream_queue.served += len;
        self.bytes -= len;
        // A stream that runs empty keeps a packet for one stream only.
        if !self.in_packet && (end || self.interleaving) {
            if self.first.is_none() && self.ready.is_empty() && !stream_queue.paused && !self.all_paused {
                // No other stream is ready.
                let (id, rest) = stream_queue
                    .messages
                    .front()
                    .map_or((self.next_id, 0), |head| (head.id, head.message.data.len()));
                let served = core::mem::take(&mut stream_queue.served);
                let rank = self.scheduler.served(
                    &mut stream_queue.share,
                    stream_queue.rank.unwrap_or_default(),
                    served,
                    id,
                );
                stream_queue.rank = (rest > 0).then_some(rank);
                self.first = stream_queue.rank.map(|rank| (rank, number));
                self.serving = None;
                self.front_len = rest;
                if !self.urgent.is_empty() {
                    self.update_front();
                }
            } else {
                self.end_service(number);
            }
        } else {
            self.update_front();
        }
        Some(piece)
    }

    /// Ends the service of a stream, and makes it ready again if it has more to send.
    #[inline]
    fn end_service(&mut self, number: u16) {
        debug_assert_eq!(self.serving, Some(number));
        self.serving = None;
        let Some(stream_queue) = self.streams.entry(number).stream_queue.as_deref_mut() else { return };
        let head = stream_queue.messages.front().map(|queued| (queued.id, queued.begun.is_some()));
        let (id, begun) = head.unwrap_or((self.next_id, false));
        let served = core::mem::take(&mut stream_queue.served);
        let rank =
            self.scheduler.served(&mut stream_queue.share, stream_queue.rank.unwrap_or_default(), served, id);
        stream_queue.rank =
            (head.is_some() && (begun || !stream_queue.paused && !self.all_paused)).then_some(rank);
        if stream_queue.rank.is_some() {
            self.ready.push(Reverse((rank, number)));
        }
        self.choose_first();
    }

    /// Finds the ready stream with the lowest rank. Drops stale entries before it, and all of them if there
    /// are many.
    fn choose_first(&mut self) {
        self.ready.extend(self.first.take().map(Reverse));
        while let Some(Reverse((rank, number))) = self.ready.pop() {
            if self.is_valid(rank, number) {
                self.first = Some((rank, number));
                break;
            }
        }
        if self.ready.len() > STALE_LIMIT && self.ready.len() > 2 * self.messages {
            let mut ready: Vec<_> = core::mem::take(&mut self.ready).into_vec();
            ready.retain(|&Reverse((rank, number))| self.is_valid(rank, number));
            ready.sort_unstable();
            ready.dedup();
            self.ready = ready.into();
        }
        self.update_front();
    }

    #[inline]
    fn update_front(&mut self) {
        let front = if self.is_urgent_next() {
            self.urgent.front()
        } else {
            let stream_queue = self.next().and_then(|number| self.queue_of(number));
            stream_queue.and_then(|stream_queue| stream_queue.messages.front())
        };
        self.front_len = front.map_or(0, |queued| queued.message.data.len());
    }

    #[inline]
    fn is_valid(&self, rank: Rank, number: u16) -> bool {
        let stream_queue = self.queue_of(number);
        self.serving != Some(number)
            && stream_queue.is_some_and(|stream_queue| stream_queue.rank == Some(rank))
    }

    /// Removes a message that is not completely sent; returns `None` if it is not in the queue.
    pub(super) fn remove(&mut self, number: u16, id: u64) -> Option<Queued> {
        let stream_queue = self.streams.entry(number).stream_queue.as_deref_mut()?;
        let index = stream_queue.messages.binary_search_by_key(&id, |queued| queued.id).ok()?;
        let queued = stream_queue.messages.remove(index)?;
        self.messages -= 1;
        self.bytes -= queued.message.data.len() as u64;
        if self.serving == Some(number) {
            if queued.begun.is_some() || stream_queue.messages.is_empty() {
                self.end_service(number);
            }
        } else if let Some(rank) = stream_queue.rank {
            let head = stream_queue
                .messages
                .front()
                .filter(|head| !stream_queue.paused && !self.all_paused || head.begun.is_some());
            let new = head.map(|head| if index == 0 { self.scheduler.beheaded(rank, head.id) } else { rank });
            stream_queue.rank = new;
            if let Some(new) = new.filter(|&new| new != rank) {
                self.ready.push(Reverse((new, number)));
            }
            self.choose_first();
        }
        Some(queued)
    }

    /// Returns the queued messages of a stream, the last first: their numbers here and in `PartialStore`, and
    /// whether they are partly sent. Urgent ones are left out.
    pub(super) fn messages_of(&self, number: u16) -> Vec<(u64, u64, bool)> {
        let messages =
            self.queue_of(number).into_iter().flat_map(|stream_queue| stream_queue.messages.iter());
        messages.rev().map(|queued| (queued.id, queued.partial, queued.begun.is_some())).collect()
    }

    /// Starts no further message on a stream (RFC 6525 §5.1.2). A partly sent one continues.
    pub(super) fn pause(&mut self, number: u16) {
        let stream_queue = self.streams.entry(number).stream_queue.get_or_insert_default();
        stream_queue.paused = true;
        let begun = stream_queue.messages.front().is_some_and(|head| head.begun.is_some());
        if !begun && self.serving != Some(number) {
            stream_queue.rank = None;
        }
        self.choose_first();
    }

    /// Lets a stream start messages again.
    pub(super) fn resume(&mut self, number: u16) {
        let Some(stream_queue) = self.streams.entry(number).stream_queue.as_deref_mut() else { return };
        stream_queue.paused = false;
        if stream_queue.rank.is_none() && !self.all_paused && self.serving != Some(number) {
            self.rejoin(number);
        }
        self.choose_first();
    }

    /// Returns true if a message of the stream is partly sent.
    pub(super) fn is_begun(&self, number: u16) -> bool {
        let urgent =
            self.urgent.front().is_some_and(|head| head.message.stream == number && head.begun.is_some());
        urgent || self.is_head_begun(number)
    }

    fn is_head_begun(&self, number: u16) -> bool {
        let head = self.queue_of(number).and_then(|stream_queue| stream_queue.messages.front());
        head.is_some_and(|head| head.begun.is_some())
    }

    /// Restarts the stream's message numbers at 0 (RFC 6525 §5.2.2, RFC 8260 §2.3.2: both counters).
    pub(super) fn reset_numbers(&mut self, number: u16) {
        let stream = self.streams.entry(number);
        (stream.next_ordered, stream.next_unordered) = (0, 0);
    }

    /// Removes the messages of stream `streams` and above, none of which is partly sent.
    pub(super) fn fail_beyond(&mut self, streams: u16) -> Vec<Queued> {
        let mut out = Vec::new();
        self.streams.for_each(|number, stream| {
            if number >= streams
                && let Some(stream_queue) = stream.stream_queue.as_deref_mut()
            {
                stream_queue.rank = None;
                out.extend(stream_queue.messages.drain(..));
            }
        });
        let (kept, failed) =
            self.urgent.drain(..).partition(|queued: &Queued| queued.message.stream < streams);
        self.urgent = kept;
        out.extend::<VecDeque<_>>(failed);
        self.serving = self.serving.filter(|&number| number < streams);
        self.messages -= out.len();
        self.bytes -= out.iter().map(|queued| queued.message.data.len() as u64).sum::<u64>();
        self.choose_first();
        Self::in_order(out)
    }

    /// Removes and returns all messages: partly sent ones first, then in the order of `push`.
    pub(super) fn drain(&mut self) -> Vec<Queued> {
        let mut out = Vec::new();
        self.streams.for_each(|_, stream| {
            if let Some(stream_queue) = stream.stream_queue.as_deref_mut() {
                stream_queue.rank = None;
                stream_queue.served = 0;
                stream_queue.paused = false;
                out.extend(stream_queue.messages.drain(..));
            }
        });
        out.extend(self.urgent.drain(..));
        self.ready.clear();
        self.first = None;
        self.serving = None;
        self.messages = 0;
        self.bytes = 0;
        self.front_len = 0;
        Self::in_order(out)
    }

    fn in_order(mut queued: Vec<Queued>) -> Vec<Queued> {
        queued.sort_by_key(|queued| (queued.begun.is_none(), queued.id));
        queued
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
