//! [`Ordering`]: order of messages within their streams (RFC 9260 §6.5, §6.6). Independent of TSNs and
//! fragments.

use std::collections::{BTreeMap, VecDeque};

use super::credit::ReceiveCredit;
use super::fault::DataFault;
use super::ready::{Ending, Ready, StreamEnd};
use crate::credit::chunk_charge;
use crate::message::Message;
use crate::stream_table::StreamTable;

/// A message or a part of one, with its number of chunks.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) message: Message,
    /// Stream sequence number, or message identifier.
    pub(super) number: u32,
    pub(super) chunks: u32,
}

impl Arrived {
    /// Returns what it counts against the limit of its stream.
    pub(super) fn charge(&self) -> u64 {
        let is_whole = self.message.begin && self.message.end && self.chunks == 1;
        chunk_charge(self.message.data.len(), is_whole)
    }
}

/// One inbound stream.
#[derive(Debug, Default)]
struct Stream {
    /// The next stream sequence number to deliver, extended beyond 16 bits.
    next: u64,
    /// Messages that wait for an earlier one; `None` without such messages.
    waiting: Option<Box<Waiting>>,
}

/// Messages of a stream that wait for an earlier one, by sequence number.
///
/// After a loss, further messages usually arrive in order and are appended. Only a message that fills a later
/// hole is put into the map.
#[derive(Debug, Default)]
struct Waiting {
    run: VecDeque<(u64, Arrived)>,
    late: BTreeMap<u64, Arrived>,
}

impl Waiting {
    fn insert(&mut self, ssn: u64, arrived: Arrived) -> Result<(), DataFault> {
        if self.run.back().is_none_or(|&(last, _)| last < ssn) {
            self.run.push_back((ssn, arrived));
            return Ok(());
        }
        let in_run = self.run.binary_search_by_key(&ssn, |&(number, _)| number).is_ok();
        if in_run || self.late.insert(ssn, arrived).is_some() {
            return Err(DataFault::StreamSequence);
        }
        Ok(())
    }

    fn take(&mut self, ssn: u64) -> Option<Arrived> {
        if self.run.front().is_some_and(|&(first, _)| first == ssn) {
            return self.run.pop_front().map(|(_, arrived)| arrived);
        }
        self.late.remove(&ssn)
    }

    /// Removes and returns the first message below this number.
    fn take_below(&mut self, ssn: u64) -> Option<Arrived> {
        let run = self.run.front().map(|&(number, _)| number);
        let late = self.late.first_key_value().map(|(&number, _)| number);
        let first = run.into_iter().chain(late).min().filter(|&number| number < ssn)?;
        self.take(first)
    }

    fn is_empty(&self) -> bool {
        self.run.is_empty() && self.late.is_empty()
    }

    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = &Arrived> {
        self.run.iter().map(|(_, arrived)| arrived).chain(self.late.values())
    }
}

/// The inbound streams and the messages ready to be read.
#[derive(Debug)]
pub(super) struct Ordering {
    streams: StreamTable<Stream>,
    pub(super) ready: Ready,
    /// True if messages have numbers of 32 bits (RFC 8260 §2.1) instead of 16.
    interleaving: bool,
}

/// Returns the distance of a message's number from the next one to deliver. `wide` numbers have 32 bits.
#[inline]
fn ahead(wide: bool, next: u64, number: u32) -> u32 {
    if wide { number.wrapping_sub(next as u32) } else { u32::from((number as u16).wrapping_sub(next as u16)) }
}

/// Restarts the stream's numbers at 0.
fn begin_anew(stream: &mut Stream, ready: &mut Ready) {
    if let Some(mut waiting) = stream.waiting.take() {
        while let Some(stranded) = waiting.take_below(u64::MAX) {
            ready.push_back(stranded);
        }
    }
    stream.next = 0;
}

impl Ordering {
    pub(super) fn new() -> Self {
        Self { streams: StreamTable::new(), ready: Ready::default(), interleaving: false }
    }

    pub(super) fn set_interleaving(&mut self, interleaving: bool) {
        self.interleaving = interleaving;
    }

    /// Returns the number of the next ordered message of a stream.
    pub(super) fn next_ordered(&self, stream: u16) -> u32 {
        // Message identifiers have 32 bits (RFC 8260 §2.1).
        self.streams.get(stream).map_or(0, |stream| stream.next as u32)
    }

    /// Returns the distance of this number from the next one to deliver.
    #[inline]
    fn ahead(&self, next: u64, number: u32) -> u32 {
        ahead(self.interleaving, next, number)
    }

    /// Processes a whole message. `complete` is true if everything sent before it has arrived.
    #[inline]
    pub(super) fn arrive(&mut self, arrived: Arrived, complete: bool) -> Result<(), DataFault> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
        //# but the receiver MUST ignore the field.
        // RFC 9260 §6.6: with U set it bypasses the ordering
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
        //# Therefore, the receiver MUST ignore the Stream Sequence Number field.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
        //# unordered DATA chunks MUST be dispatched to the upper layer by the receiver without any attempt
        //# to reorder.
        if arrived.message.unordered {
            self.ready.push_back(arrived);
            return Ok(());
        }
        let stream = self.streams.entry(arrived.message.stream);
        let ahead = ahead(self.interleaving, stream.next, arrived.number);
        if ahead != 0 {
            // RFC 9260 §6.5: numbers go up by one per ordered message. Within a stream they go up with the
            // TSN, so nothing that is still to come could fill the hole.
            if complete {
                return Err(DataFault::StreamSequence);
            }
            let ssn = stream.next + u64::from(ahead);
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
            //# the endpoint MUST hold the received DATA chunks from delivery to the ULP until they are
            //# reordered.
            return stream.waiting.get_or_insert_default().insert(ssn, arrived);
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
        //# an endpoint MUST deliver DATA chunks received with the U flag set to 0 to the upper layer
        //# according to the order of their Stream Sequence Number.
        stream.next += 1;
        self.ready.push_back(arrived);
        Self::release(stream, &mut self.ready);
        Ok(())
    }

    /// Releases messages that follow in order.
    #[inline]
    fn release(stream: &mut Stream, ready: &mut Ready) {
        if let Some(waiting) = &mut stream.waiting {
            while let Some(next) = waiting.take(stream.next) {
                stream.next += 1;
                ready.push_back(next);
            }
            if waiting.is_empty() {
                stream.waiting = None;
            }
        }
    }

    /// Returns whether the message is the next of its stream, or unordered, so that it may be delivered in
    /// parts.
    pub(super) fn is_next(&mut self, stream: u16, unordered: bool, number: u32) -> bool {
        unordered || {
            let next = self.streams.entry(stream).next;
            self.ahead(next, number) == 0
        }
    }

    /// Processes a part of a message for which [`is_next`](Self::is_next) holds.
    pub(super) fn arrive_part(&mut self, part: Arrived) {
        let (ends, number) = (part.message.end && !part.message.unordered, part.message.stream);
        self.ready.push_back(part);
        if ends {
            let stream = self.streams.entry(number);
            stream.next += 1;
            Self::release(stream, &mut self.ready);
        }
    }

    /// Skips missing messages of a stream up to this number, which the peer abandoned. Held messages up to
    /// there, and those that follow, can then be read (RFC 3758 §3.6). The cost is linear in the messages
    /// released.
    pub(super) fn skip(&mut self, number: u16, last: u32) {
        let next = self.streams.entry(number).next;
        let ahead = self.ahead(next, last);
        let behind = if self.interleaving { ahead as i32 } else { i32::from(ahead as u16 as i16) };
        // RFC 1982: it is below what was delivered
        if behind < 0 {
            return;
        }
        let stream = self.streams.entry(number);
        let target = next + u64::from(ahead) + 1;
        if let Some(waiting) = &mut stream.waiting {
            while let Some(stranded) = waiting.take_below(target) {
                self.ready.push_back(stranded);
            }
        }
        stream.next = target;
        Self::release(stream, &mut self.ready);
    }

    /// Resets a stream to number 0. Held messages can be read.
    fn reset(&mut self, number: u16) {
        // One that was never touched is at 0.
        if self.streams.get(number).is_some() {
            begin_anew(self.streams.entry(number), &mut self.ready);
        }
    }

    /// Resets these streams to number 0, or all if there is none. Held messages can be read before the ends.
    /// `wanted`: this end has requested the reset.
    pub(super) fn reset_streams(&mut self, ends: &[StreamEnd], wanted: bool) {
        if ends.is_empty() {
            self.streams.for_each(|_, stream| begin_anew(stream, &mut self.ready));
            let open = self.ready.open();
            let end = |stream| Ending { end: StreamEnd { stream, code: None }, is_known: true };
            self.ready.end(open.into_iter().map(end));
            return;
        }
        let streams = &self.streams;
        let begun = |stream| streams.get(stream).is_some_and(|stream| stream.next > 0);
        let endings: Vec<Ending> =
            ends.iter().map(|&end| Ending { end, is_known: wanted || begun(end.stream) }).collect();
        ends.iter().for_each(|end| self.reset(end.stream));
        self.ready.end(endings.into_iter());
    }

    /// Separates messages of key management from user messages from now on.
    pub(super) fn set_key_management(&mut self) {
        self.ready.set_key_management();
    }

    /// Returns the next message of a stream without a reader.
    #[inline(always)]
    pub(super) fn read(&mut self) -> Option<Arrived> {
        self.ready.read()
    }

    /// Returns the next message of key management.
    pub(super) fn read_key_message(&mut self) -> Option<Arrived> {
        let keys = self.ready.keys_mut()?;
        keys.announced &= !keys.waiting.is_empty();
        keys.waiting.pop_front()
    }

    /// Returns whether there is a message of key management.
    pub(super) fn has_key_message(&self) -> bool {
        self.ready.keys().is_some_and(|keys| !keys.waiting.is_empty())
    }

    /// Returns whether messages of key management arrived. Returns true only once until all were read.
    pub(super) fn announce_key_messages(&mut self) -> bool {
        let keys = self.ready.keys_mut().filter(|keys| !keys.announced && !keys.waiting.is_empty());
        keys.map(|keys| keys.announced = true).is_some()
    }

    /// Returns whether anything can be read.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.ready.is_readable()
    }

    /// Returns the bytes of memory of all streams.
    pub(super) fn memory(&self) -> u64 {
        self.streams.memory() + self.ready.credit().map_or(0, ReceiveCredit::memory)
    }

    /// Returns the most bytes of memory that `streams` further streams take.
    pub(super) fn memory_of(streams: usize) -> u64 {
        StreamTable::<Stream>::memory_of(streams)
    }

    /// Returns whether the stream has state in memory.
    pub(super) fn has_begun(&self, stream: u16) -> bool {
        self.streams.get(stream).is_some()
    }

    /// Recounts user bytes and chunks held.
    #[cfg(test)]
    pub(super) fn held(&self, streams: u16) -> (u64, u64) {
        let waiting = (0..streams).filter_map(|stream| self.streams.get(stream)?.waiting.as_deref());
        let held = waiting.flat_map(Waiting::iter).chain(self.ready.all());
        held.fold((0, 0), |(b, c), a| (b + a.message.data.len() as u64, c + u64::from(a.chunks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn message(stream: u16, ssn: u16, unordered: bool) -> Arrived {
        let data = Bytes::from_static(b"x");
        let message = Message { stream, ssn, ppid: 0, unordered, begin: true, end: true, data };
        Arrived { message, number: u32::from(ssn), chunks: 1 }
    }

    fn read(ordering: &mut Ordering) -> Vec<(u16, u16)> {
        core::iter::from_fn(|| ordering.read()).map(|a| (a.message.stream, a.message.ssn)).collect()
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
    //= type=test
    //# an endpoint MUST deliver DATA chunks received with the U flag set to 0 to the upper layer according to
    //# the order of their Stream Sequence Number.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
    //= type=test
    //# the endpoint MUST hold the received DATA chunks from delivery to the ULP until they are reordered.
    #[test]
    fn rfc9260_6_6_holds_until_reordered_and_per_stream() {
        let mut ordering = Ordering::new();
        for (stream, ssn) in [(1, 1), (1, 4), (1, 3), (2, 0), (1, 6)] {
            ordering.arrive(message(stream, ssn, false), false).unwrap();
        }
        assert_eq!(read(&mut ordering), [(2, 0)]);
        ordering.arrive(message(1, 0, false), false).unwrap();
        assert_eq!(read(&mut ordering), [(1, 0), (1, 1)]);
        ordering.arrive(message(1, 2, false), false).unwrap();
        assert_eq!(read(&mut ordering), [(1, 2), (1, 3), (1, 4)]);
        ordering.arrive(message(1, 5, false), false).unwrap();
        assert_eq!(read(&mut ordering), [(1, 5), (1, 6)]);
        assert!(ordering.streams.entry(1).waiting.is_none());
    }

    #[test]
    fn rfc9260_6_5_numbers_wrap_at_65535() {
        let mut ordering = Ordering::new();
        for ssn in 0..=u16::MAX {
            ordering.arrive(message(0, ssn, false), true).unwrap();
        }
        ordering.arrive(message(0, 1, false), false).unwrap();
        ordering.arrive(message(0, 0, false), false).unwrap();
        assert_eq!(read(&mut ordering)[65_534..], [(0, 65_534), (0, 65_535), (0, 0), (0, 1)]);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
    //= type=test
    //# but the receiver MUST ignore the field.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //= type=test
    //# Therefore, the receiver MUST ignore the Stream Sequence Number field.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //= type=test
    //# unordered DATA chunks MUST be dispatched to the upper layer by the receiver without any attempt to
    //# reorder.
    #[test]
    fn rfc9260_6_6_unordered_bypasses() {
        let mut ordering = Ordering::new();
        ordering.arrive(message(0, 1, false), false).unwrap();
        ordering.arrive(message(0, 77, true), false).unwrap();
        assert_eq!(read(&mut ordering), [(0, 77)]);
    }

    #[test]
    fn rfc3758_3_6_stranded_messages_can_be_read() {
        let mut ordering = Ordering::new();
        for ssn in [2, 5, 4, 8, 6] {
            ordering.arrive(message(1, ssn, false), false).unwrap();
        }
        ordering.skip(1, 4);
        assert_eq!(read(&mut ordering), [(1, 2), (1, 4), (1, 5), (1, 6)]);
        ordering.skip(1, 3);
        assert_eq!(ordering.streams.entry(1).next, 7, "older than what was delivered");
        ordering.skip(1, 7);
        assert_eq!(read(&mut ordering), [(1, 8)]);
        ordering.skip(2, 0);
        ordering.arrive(message(2, 1, false), true).unwrap();
        assert_eq!(read(&mut ordering), [(2, 1)]);
    }

    #[test]
    fn repeated_and_skipped_numbers_are_faults() {
        let mut ordering = Ordering::new();
        ordering.arrive(message(0, 0, false), true).unwrap();
        let fault = Err(DataFault::StreamSequence);
        assert_eq!(ordering.arrive(message(0, 0, false), true), fault);
        assert_eq!(ordering.arrive(message(0, 2, false), true), fault);
        for ssn in [3, 5, 4] {
            ordering.arrive(message(0, ssn, false), false).unwrap();
        }
        for ssn in [3, 4, 5] {
            assert_eq!(ordering.arrive(message(0, ssn, false), false), fault, "{ssn}");
        }
    }
}
