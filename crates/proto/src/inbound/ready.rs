//! [`Ready`]: messages that may be read: a queue for each stream that has a reader of its own, and one for
//! all others. Independent of TSNs, fragments and the window.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ordering::Arrived;
use crate::message::Message;
use crate::rare::{Rare, rare_state};

/// What a stream's reader gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem<M = Message> {
    /// A message, or a part of one.
    Message(M),
    /// The peer ended the stream (RFC 6525 §5.2.2). What it sends later on the number is for another reader.
    End(StreamEnd),
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// The stream.
    pub stream: u16,
    /// The peer gave the stream up with this code, and may not have sent all of it; `None`: it sent all.
    pub code: Option<u32>,
}

/// A stream with a reader of its own.
#[derive(Debug, Default)]
struct Reader {
    items: VecDeque<StreamItem<Arrived>>,
    /// The peer's end is among the items, or was read: what follows is another use of the number.
    ended: bool,
    /// The reader is gone. What arrives before the peer's end is discarded.
    gone: bool,
    /// There are items, of which the reader was told, and it has not taken them all since.
    told: bool,
}

rare_state! {
    /// The streams with readers.
    struct Readers {
        of: BTreeMap<u16, Reader> = BTreeMap::new(),
        /// Messages in their queues.
        messages: usize = 0,
        /// Streams whose readers are to be told that there are items.
        untold: Vec<u16> = Vec::new(),
        discarded: Released = Released { bytes: 0, chunks: 0 },
    }
}

/// Messages of key management that may be read.
#[derive(Debug, Default)]
pub(super) struct KeyMessages {
    pub(super) waiting: VecDeque<Arrived>,
    /// True if the messages were announced, and not all were read since.
    pub(super) announced: bool,
}

/// User bytes and chunks that are no longer held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) bytes: usize,
    pub(super) chunks: u32,
}

impl Released {
    fn add(&mut self, item: &StreamItem<Arrived>) {
        if let StreamItem::Message(arrived) = item {
            self.bytes += arrived.message.data.len();
            self.chunks += arrived.chunks;
        }
    }
}

/// Messages that may be read.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Those of streams without a reader of their own, as they arrived, and the ends of such streams. An end
    /// follows a message of its stream.
    common: VecDeque<StreamItem<Arrived>>,
    readers: Rare<Readers>,
    /// Messages of key management, which do not wait for the application to read; `None` if they count as
    /// user data.
    pub(super) keys: Option<Box<KeyMessages>>,
}

impl Ready {
    #[inline]
    pub(super) fn push_back(&mut self, arrived: Arrived) {
        match &mut self.keys {
            Some(keys) if arrived.message.is_key_management() => keys.waiting.push_back(arrived),
            _ if !self.readers.is_touched() => self.common.push_back(StreamItem::Message(arrived)),
            _ => self.sort(arrived),
        }
    }

    /// Puts a message into its reader's queue.
    fn sort(&mut self, arrived: Arrived) {
        let (readers, stream) = (&mut *self.readers, arrived.message.stream);
        let item = StreamItem::Message(arrived);
        match readers.of.get_mut(&stream) {
            Some(reader) if reader.ended => self.common.push_back(item),
            Some(reader) if reader.gone => readers.discarded.add(&item),
            Some(reader) => {
                reader.items.push_back(item);
                readers.messages += 1;
                if !core::mem::replace(&mut reader.told, true) {
                    readers.untold.push(stream);
                }
            }
            None => self.common.push_back(item),
        }
    }

    /// Ends these streams behind what has arrived of them.
    pub(super) fn end(&mut self, ends: impl Iterator<Item = StreamEnd>) {
        let mut unread = None;
        for end in ends {
            let reader = match self.readers.is_touched() {
                true => self.readers.of.get_mut(&end.stream).filter(|reader| !reader.ended),
                false => None,
            };
            match reader {
                Some(reader) if reader.gone => _ = self.readers.of.remove(&end.stream),
                Some(reader) => {
                    reader.ended = true;
                    reader.items.push_back(StreamItem::End(end));
                    if !core::mem::replace(&mut reader.told, true) {
                        self.readers.untold.push(end.stream);
                    }
                }
                // Whoever reads the stream later needs an end only behind messages.
                None => {
                    let unread = unread.get_or_insert_with(|| self.open_in_common());
                    if unread.remove(&end.stream) {
                        self.common.push_back(StreamItem::End(end));
                    }
                }
            }
        }
    }

    /// Returns the streams whose last item in the common queue is a message.
    fn open_in_common(&self) -> BTreeSet<u16> {
        let mut open = BTreeSet::new();
        for item in &self.common {
            match item {
                StreamItem::Message(arrived) => _ = open.insert(arrived.message.stream),
                StreamItem::End(end) => _ = open.remove(&end.stream),
            }
        }
        open
    }

    /// Returns the streams that a reset of all streams ends here.
    pub(super) fn open(&self) -> BTreeSet<u16> {
        let mut open = self.open_in_common();
        open.extend(self.readers.of.iter().filter(|(_, reader)| !reader.ended).map(|(&stream, _)| stream));
        open
    }

    /// Gives a stream a reader of its own, who gets what has arrived up to the peer's end. Returns false if it
    /// has one, or the end of an earlier one's has not come.
    pub(super) fn claim(&mut self, stream: u16) -> bool {
        if self.readers.of.contains_key(&stream) {
            return false;
        }
        let mut reader = Reader::default();
        let is_of = |item: &StreamItem<Arrived>| match item {
            StreamItem::Message(arrived) => arrived.message.stream == stream,
            StreamItem::End(end) => end.stream == stream,
        };
        if self.common.iter().any(is_of) {
            for item in core::mem::take(&mut self.common) {
                if reader.ended || !is_of(&item) {
                    self.common.push_back(item);
                    continue;
                }
                reader.ended = matches!(item, StreamItem::End(_));
                reader.items.push_back(item);
            }
            self.skip_ends();
        }
        reader.told = !reader.items.is_empty();
        let readers = &mut *self.readers;
        readers.messages += messages(&reader.items);
        readers.of.insert(stream, reader);
        true
    }

    /// Takes the reader of a stream away, and what it has not read. Returns whether the peer's end has come: if
    /// not, what arrives before it is discarded.
    pub(super) fn release(&mut self, stream: u16) -> bool {
        let readers = &mut *self.readers;
        let Some(reader) = readers.of.get_mut(&stream) else { return true };
        readers.messages -= messages(&reader.items);
        reader.items.drain(..).for_each(|item| readers.discarded.add(&item));
        reader.gone = true;
        let ended = reader.ended;
        if ended {
            readers.of.remove(&stream);
        }
        ended
    }

    /// Takes the reader of a stream away. What it has not read, and what arrives later, is for the others.
    pub(super) fn leave(&mut self, stream: u16) {
        let readers = &mut *self.readers;
        if let Some(reader) = readers.of.remove(&stream) {
            readers.messages -= messages(&reader.items);
            reader.items.into_iter().rev().for_each(|item| self.common.push_front(item));
            self.skip_ends();
        }
    }

    /// Returns whether a stream has a reader, or had one whose end has not come.
    pub(super) fn is_claimed(&self, stream: u16) -> bool {
        self.readers.of.contains_key(&stream)
    }

    /// Returns whether anything of the stream waits for a reader.
    pub(super) fn is_waiting(&self, stream: u16) -> bool {
        let is_of =
            |item: &StreamItem<Arrived>| matches!(item, StreamItem::Message(m) if m.message.stream == stream);
        self.common.iter().any(is_of)
    }

    /// Returns the first stream without a reader that has a message and for which `wanted` holds.
    pub(super) fn next_stream(&self, wanted: impl Fn(u16) -> bool) -> Option<u16> {
        self.common.iter().find_map(|item| match item {
            StreamItem::Message(arrived) => {
                let stream = arrived.message.stream;
                (wanted(stream) && !self.is_claimed(stream)).then_some(stream)
            }
            StreamItem::End(_) => None,
        })
    }

    /// Returns the next item of a stream with a reader.
    pub(super) fn read_on(&mut self, stream: u16) -> Option<StreamItem<Arrived>> {
        let readers = &mut *self.readers;
        let reader = readers.of.get_mut(&stream)?;
        let item = reader.items.pop_front();
        match &item {
            Some(StreamItem::Message(_)) => readers.messages -= 1,
            Some(StreamItem::End(_)) => {}
            None => reader.told = false,
        }
        item
    }

    /// Returns the next message of a stream without a reader.
    #[inline]
    pub(super) fn read(&mut self) -> Option<Arrived> {
        match self.common.pop_front()? {
            StreamItem::Message(arrived) => {
                if matches!(self.common.front(), Some(StreamItem::End(_))) {
                    self.skip_ends();
                }
                Some(arrived)
            }
            // None is the first.
            StreamItem::End(_) => None,
        }
    }

    /// Drops ends before the first message: nobody can read the streams' messages any more.
    fn skip_ends(&mut self) {
        while matches!(self.common.front(), Some(StreamItem::End(_))) {
            self.common.pop_front();
        }
    }

    /// Takes all that readers have not read: their streams and items.
    pub(super) fn take_readers(&mut self) -> Vec<(u16, VecDeque<StreamItem<Arrived>>)> {
        if !self.readers.is_touched() {
            return Vec::new();
        }
        let readers = core::mem::take(&mut self.readers.of);
        readers
            .into_iter()
            .filter(|(_, reader)| !reader.gone)
            .map(|(of, reader)| (of, reader.items))
            .collect()
    }

    /// Returns a stream whose reader is to be told that there are items.
    pub(super) fn take_untold(&mut self) -> Option<u16> {
        if self.readers.untold.is_empty() { None } else { self.readers.untold.pop() }
    }

    /// Returns what was discarded since the last call.
    #[inline]
    pub(super) fn take_discarded(&mut self) -> Option<Released> {
        if self.readers.discarded.chunks == 0 {
            return None;
        }
        Some(core::mem::take(&mut self.readers.discarded))
    }

    /// Returns the number of messages of streams without readers.
    pub(super) fn unclaimed(&self) -> usize {
        self.common.iter().filter(|item| matches!(item, StreamItem::Message(_))).count()
    }

    /// Returns whether there is a message of a stream without a reader.
    #[inline]
    pub(super) fn has_unclaimed(&self) -> bool {
        !self.common.is_empty()
    }

    /// Returns whether anything can be read.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        !self.common.is_empty() || self.readers.messages > 0
    }

    /// Returns whether a reader has items.
    pub(super) fn has_unread(&self) -> bool {
        self.readers.of.values().any(|reader| !reader.items.is_empty())
    }

    /// Returns all messages.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Arrived> {
        let keys = self.keys.iter().flat_map(|keys| &keys.waiting);
        let items = self.common.iter().chain(self.readers.of.values().flat_map(|reader| &reader.items));
        let messages = items.filter_map(|item| match item {
            StreamItem::Message(arrived) => Some(arrived),
            StreamItem::End(_) => None,
        });
        messages.chain(keys)
    }
}

fn messages(items: &VecDeque<StreamItem<Arrived>>) -> usize {
    items.iter().filter(|item| matches!(item, StreamItem::Message(_))).count()
}
