//! [`Ready`]: messages that may be read: a queue for each stream that has a reader of its own, and one for
//! all others. Independent of TSNs, fragments and the window.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::credit::ReceiveCredit;
use super::ordering::Arrived;
use crate::message::Message;
use crate::rare::{Rare, rare_state};

/// Number of ends without messages that may wait for a reader. The peer's next one is deferred.
const MAX_BARE_ENDS: usize = 1024;

/// As many after the last request that was not deferred, which may name all streams.
const MOST_BARE_ENDS: usize = 2 * MAX_BARE_ENDS;

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

/// The uses of a stream that wait for a reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    pub(super) count: usize,
    /// The peer has not ended the last.
    open: bool,
}

/// The end of a use of a stream, as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) end: StreamEnd,
    /// It ends a use that this end knows: messages of it have arrived, or this end has asked for the end. If
    /// not, a use without messages ends.
    pub(super) is_known: bool,
}

rare_state! {
    /// The streams with readers, and key management.
    struct Apart {
        /// Messages of key management, which do not wait for the application to read; `None` if they count as
        /// user data.
        keys: Option<KeyMessages> = None,
        /// The limits of streams, if both ends agreed on them.
        credit: Option<Box<ReceiveCredit>> = None,
        of: BTreeMap<u16, Reader> = BTreeMap::new(),
        /// Messages in their queues.
        messages: usize = 0,
        /// Streams whose readers are to be told that there are items.
        untold: Vec<u16> = Vec::new(),
        /// Ends that nobody has read, without a message before them: of uses without messages, and of those
        /// that were left. They precede what the common queue holds of their streams.
        ends: VecDeque<StreamEnd> = VecDeque::new(),
        /// At least the number of ends without messages, in the common queue too.
        bare: usize = 0,
        /// No event has reported the last of these.
        end_untold: bool = false,
        /// Streams whose readers left before the peer's end.
        left: BTreeSet<u16> = BTreeSet::new(),
        /// The streams of the common queue, from the first end on.
        index: Index = Index { of: None },
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

/// The streams of the common queue, once an end has looked for its own: a peer that ends streams behind
/// messages that nobody reads makes nobody count them again.
#[derive(Debug, Default)]
struct Index {
    of: Option<BTreeMap<u16, Queued>>,
}

/// The items of a stream in the common queue.
#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    items: usize,
    /// The last is a message: the peer has not ended this use.
    open: bool,
}

impl Index {
    fn push_back(&mut self, item: &StreamItem<Arrived>) {
        if let Some(of) = &mut self.of {
            let queued = of.entry(item.stream()).or_default();
            *queued = Queued { items: queued.items + 1, open: matches!(item, StreamItem::Message(_)) };
        }
    }

    fn push_front(&mut self, item: &StreamItem<Arrived>) {
        if let Some(of) = &mut self.of {
            let queued = of.entry(item.stream()).or_default();
            queued.open |= queued.items == 0 && matches!(item, StreamItem::Message(_));
            queued.items += 1;
        }
    }

    fn pop_front(&mut self, item: &StreamItem<Arrived>) {
        if let Some(of) = &mut self.of
            && let Some(queued) = of.get_mut(&item.stream())
        {
            queued.items -= 1;
            if queued.items == 0 {
                of.remove(&item.stream());
            }
        }
    }

    /// Returns the streams of the common queue.
    fn of(&mut self, common: &VecDeque<StreamItem<Arrived>>) -> &BTreeMap<u16, Queued> {
        if self.of.is_none() {
            self.of = Some(BTreeMap::new());
            common.iter().for_each(|item| self.push_back(item));
        }
        self.of.get_or_insert_default()
    }
}

impl StreamItem<Arrived> {
    fn stream(&self) -> u16 {
        match self {
            Self::Message(arrived) => arrived.message.stream,
            Self::End(end) => end.stream,
        }
    }
}

/// Messages that may be read.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Those of streams without a reader of their own, as they arrived, and the ends of such streams. An end
    /// follows a message of its stream.
    common: VecDeque<StreamItem<Arrived>>,
    apart: Rare<Apart>,
}

impl Ready {
    /// Returns whether messages are sorted: streams have readers, or key management has messages of its own.
    #[inline]
    pub(super) fn sorts(&self) -> bool {
        self.apart.is_touched()
    }

    #[inline]
    pub(super) fn push_back(&mut self, arrived: Arrived) {
        if self.sorts() {
            self.sort(arrived);
        } else {
            self.common.push_back(StreamItem::Message(arrived));
        }
    }

    /// Puts a message into its reader's queue.
    #[inline(never)]
    fn sort(&mut self, arrived: Arrived) {
        let (apart, stream) = (&mut *self.apart, arrived.message.stream);
        if let Some(keys) = &mut apart.keys
            && arrived.message.is_key_management()
        {
            return keys.waiting.push_back(arrived);
        }
        let charge = arrived.charge();
        let item = StreamItem::Message(arrived);
        let reader = apart.of.get_mut(&stream).filter(|reader| !reader.ended);
        if let Some(credit) = &mut apart.credit {
            match &reader {
                Some(reader) if reader.gone => credit.on_reader(stream),
                _ => credit.on_ready(stream, charge),
            }
        }
        match reader {
            Some(reader) if reader.gone => apart.discarded.add(&item),
            Some(reader) => {
                reader.items.push_back(item);
                apart.messages += 1;
                if !core::mem::replace(&mut reader.told, true) {
                    apart.untold.push(stream);
                }
            }
            None => {
                apart.index.push_back(&item);
                self.common.push_back(item);
            }
        }
    }

    /// Separates messages of key management from user messages from now on.
    pub(super) fn set_key_management(&mut self) {
        self.apart.keys.get_or_insert_default();
    }

    /// Returns the limits of streams, which begin with the first chunk. `buffer`: the size of the receive
    /// buffer.
    #[cold]
    pub(super) fn begin_credit(&mut self, buffer: u32) -> &mut ReceiveCredit {
        self.apart.credit.get_or_insert_with(|| Box::new(ReceiveCredit::new(u64::from(buffer))))
    }

    /// Returns the limits of streams.
    #[inline]
    pub(super) fn credit(&self) -> Option<&ReceiveCredit> {
        self.apart.credit.as_deref()
    }

    /// Returns the limits of streams.
    #[inline]
    pub(super) fn credit_mut(&mut self) -> Option<&mut ReceiveCredit> {
        if self.apart.is_touched() { self.apart.credit.as_deref_mut() } else { None }
    }

    /// Records that a message was read.
    fn note_read(&mut self, arrived: &Arrived) {
        if let Some(credit) = self.credit_mut() {
            credit.on_read(arrived.message.stream, arrived.charge());
        }
    }

    /// Returns the messages of key management, if they are separated.
    pub(super) fn keys(&self) -> Option<&KeyMessages> {
        self.apart.keys.as_ref()
    }

    /// Returns the messages of key management, if they are separated.
    pub(super) fn keys_mut(&mut self) -> Option<&mut KeyMessages> {
        if self.apart.is_touched() { self.apart.keys.as_mut() } else { None }
    }

    /// Ends these streams behind what has arrived of them.
    pub(super) fn end(&mut self, endings: impl Iterator<Item = Ending>) {
        for Ending { end, is_known } in endings {
            let reader = match self.apart.is_touched() {
                true => self.apart.of.get_mut(&end.stream).filter(|reader| !reader.ended),
                false => None,
            };
            match reader {
                Some(reader) if reader.gone => _ = self.apart.of.remove(&end.stream),
                Some(reader) => {
                    reader.ended = true;
                    reader.items.push_back(StreamItem::End(end));
                    if !core::mem::replace(&mut reader.told, true) {
                        self.apart.untold.push(end.stream);
                    }
                }
                None => {
                    let queued = self.apart.index.of(&self.common).get(&end.stream);
                    let (is_open, queued) = (queued.is_some_and(|queued| queued.open), queued.is_some());
                    if is_open {
                        self.push_end(end);
                    } else if self.is_left(end.stream) || !is_known && self.apart.bare < MOST_BARE_ENDS {
                        let apart = &mut *self.apart;
                        apart.left.remove(&end.stream);
                        (apart.bare, apart.end_untold) = (apart.bare + 1, true);
                        if queued {
                            self.push_end(end);
                        } else {
                            apart.ends.push_back(end);
                        }
                    }
                }
            }
        }
    }

    fn push_end(&mut self, end: StreamEnd) {
        let item = StreamItem::End(end);
        self.apart.index.push_back(&item);
        self.common.push_back(item);
    }

    #[inline(always)]
    fn pop_common(&mut self) -> Option<StreamItem<Arrived>> {
        let item = self.common.pop_front()?;
        if self.apart.is_touched() {
            self.apart.index.pop_front(&item);
        }
        Some(item)
    }

    /// Returns whether the ends of these streams may be kept: a peer that ends streams without sending on
    /// them must not fill the memory.
    pub(super) fn may_end(&mut self, mut streams: impl Iterator<Item = u16>) -> bool {
        if self.apart.bare < MAX_BARE_ENDS {
            return true;
        }
        let Apart { of, index, .. } = &mut *self.apart;
        let queued = index.of(&self.common);
        streams.all(|stream| {
            of.get(&stream).is_some_and(|reader| !reader.ended)
                || queued.get(&stream).is_some_and(|queued| queued.open)
        })
    }

    /// Returns whether the stream's last reader left before the peer's end.
    fn is_left(&self, stream: u16) -> bool {
        self.apart.is_touched() && self.apart.left.contains(&stream)
    }

    /// Returns the streams that wait for readers.
    pub(super) fn waiting(&self) -> BTreeMap<u16, Waiting> {
        let mut waiting = self.queued();
        for end in &self.apart.ends {
            waiting.entry(end.stream).or_default().count += 1;
        }
        waiting
    }

    /// Returns the streams in the common queue.
    fn queued(&self) -> BTreeMap<u16, Waiting> {
        let mut queued: BTreeMap<u16, Waiting> = BTreeMap::new();
        for item in &self.common {
            match item {
                StreamItem::Message(arrived) => {
                    let uses = queued.entry(arrived.message.stream).or_default();
                    uses.count += usize::from(!core::mem::replace(&mut uses.open, true));
                }
                StreamItem::End(end) => {
                    let uses = queued.entry(end.stream).or_default();
                    uses.count += usize::from(!core::mem::take(&mut uses.open));
                }
            }
        }
        queued
    }

    /// Returns the streams that a reset of all streams ends here.
    pub(super) fn open(&mut self) -> BTreeSet<u16> {
        let queued = self.apart.index.of(&self.common).iter();
        let mut open: BTreeSet<u16> = queued.filter(|(_, queued)| queued.open).map(|(&of, _)| of).collect();
        open.extend(&self.apart.left);
        open.extend(self.apart.of.iter().filter(|(_, reader)| !reader.ended).map(|(&stream, _)| stream));
        open
    }

    /// Gives a stream a reader of its own, who gets what has arrived up to the peer's end. Returns false if
    /// it has one, or the end of an earlier one's has not come.
    pub(super) fn claim(&mut self, stream: u16) -> bool {
        if self.apart.of.contains_key(&stream) {
            return false;
        }
        let apart = &mut *self.apart;
        let mut reader = Reader::default();
        apart.left.remove(&stream);
        let first = apart.ends.iter().position(|end| end.stream == stream);
        if let Some(end) = first.and_then(|first| apart.ends.remove(first)) {
            reader.ended = true;
            reader.items.push_back(StreamItem::End(end));
        } else if !self.common.is_empty() {
            self.take_use(stream, &mut reader);
            self.skip_ends();
        }
        reader.told = !reader.items.is_empty();
        let apart = &mut *self.apart;
        apart.messages += messages(&reader.items);
        apart.of.insert(stream, reader);
        if self.apart.bare >= MAX_BARE_ENDS {
            self.count_bare();
        }
        true
    }

    /// Moves the first use of a stream from the common queue to its reader, and what ends uses without
    /// messages behind it to the other ends. Stops where the next use with messages begins: who claims
    /// streams in the order in which they come pays for no other.
    fn take_use(&mut self, stream: u16, reader: &mut Reader) {
        let apart = &mut *self.apart;
        let mut left = apart.index.of(&self.common).get(&stream).map_or(0, |queued| queued.items);
        let mut at = 0;
        while left > 0
            && let Some(further) = self.common.iter().skip(at).position(|item| item.stream() == stream)
        {
            at += further;
            if reader.ended && matches!(self.common.get(at), Some(StreamItem::Message(_))) {
                break;
            }
            let Some(item) = self.common.remove(at) else { break };
            apart.index.pop_front(&item);
            left -= 1;
            match item {
                StreamItem::End(end) if reader.ended => apart.ends.push_back(end),
                item => {
                    reader.ended = matches!(item, StreamItem::End(_));
                    reader.items.push_back(item);
                }
            }
        }
    }

    /// Counts the ends without messages: those that follow an end, or nothing.
    fn count_bare(&mut self) {
        let uses: usize = self.queued().values().map(|uses| uses.count).sum();
        let mut open = BTreeSet::new();
        let with_messages = self.common.iter().filter(|item| match item {
            StreamItem::Message(arrived) => open.insert(arrived.message.stream),
            StreamItem::End(end) => {
                open.remove(&end.stream);
                false
            }
        });
        let bare = uses - with_messages.count();
        self.apart.bare = self.apart.ends.len() + bare;
    }

    /// Takes the reader of a stream away, and what it has not read. Returns whether the peer's end has come:
    /// if not, what arrives before it is discarded.
    pub(super) fn release(&mut self, stream: u16) -> bool {
        let apart = &mut *self.apart;
        let Some(reader) = apart.of.get_mut(&stream) else { return true };
        apart.messages -= messages(&reader.items);
        for item in reader.items.drain(..) {
            apart.discarded.add(&item);
            if let (StreamItem::Message(arrived), Some(credit)) = (&item, &mut apart.credit) {
                credit.on_read(stream, arrived.charge());
            }
        }
        if let Some(credit) = &mut apart.credit {
            credit.on_reader(stream);
        }
        reader.gone = true;
        let ended = reader.ended;
        if ended {
            apart.of.remove(&stream);
        }
        ended
    }

    /// Takes the reader of a stream away. What it has not read, and what arrives later, is for the others.
    pub(super) fn leave(&mut self, stream: u16) {
        let apart = &mut *self.apart;
        let Some(mut reader) = apart.of.remove(&stream) else { return };
        apart.messages -= messages(&reader.items);
        if !reader.ended {
            apart.left.insert(stream);
        }
        if let [StreamItem::End(end)] = *reader.items.make_contiguous() {
            apart.ends.push_front(end);
            return;
        }
        if !reader.items.is_empty() {
            // Later ends follow it.
            let later = apart.ends.iter().filter(|end| end.stream == stream);
            reader.items.extend(later.map(|&end| StreamItem::End(end)));
            apart.ends.retain(|end| end.stream != stream);
        }
        for item in reader.items.into_iter().rev() {
            apart.index.push_front(&item);
            self.common.push_front(item);
        }
        self.skip_ends();
    }

    /// Returns whether a stream has a reader, or had one whose end has not come.
    pub(super) fn is_claimed(&self, stream: u16) -> bool {
        self.apart.of.contains_key(&stream)
    }

    /// Returns whether a message of the stream, or its end alone, waits for a reader.
    pub(super) fn is_waiting(&self, stream: u16) -> bool {
        if self.apart.ends.iter().any(|end| end.stream == stream) {
            return true;
        }
        let is_of =
            |item: &StreamItem<Arrived>| matches!(item, StreamItem::Message(m) if m.message.stream == stream);
        self.common.iter().any(is_of)
    }

    /// Returns the first stream without a reader that has a message, or has ended without one, and for which
    /// `wanted` holds.
    pub(super) fn next_stream(&self, wanted: impl Fn(u16) -> bool) -> Option<u16> {
        let messages = self.common.iter().filter_map(|item| match item {
            StreamItem::Message(arrived) => Some(arrived.message.stream),
            StreamItem::End(_) => None,
        });
        let ends = self.apart.ends.iter().map(|end| end.stream);
        ends.chain(messages).find(|&stream| wanted(stream) && !self.is_claimed(stream))
    }

    /// Returns the next item of a stream with a reader.
    pub(super) fn read_on(&mut self, stream: u16) -> Option<StreamItem<Arrived>> {
        let apart = &mut *self.apart;
        let reader = apart.of.get_mut(&stream)?;
        let item = reader.items.pop_front();
        match &item {
            Some(StreamItem::Message(arrived)) => {
                apart.messages -= 1;
                self.note_read(arrived);
            }
            Some(StreamItem::End(_)) => {}
            None => reader.told = false,
        }
        item
    }

    /// Returns the next message of a stream without a reader.
    #[inline(always)]
    pub(super) fn read(&mut self) -> Option<Arrived> {
        match self.pop_common() {
            Some(StreamItem::Message(arrived)) => {
                self.note_read(&arrived);
                if matches!(self.common.front(), Some(StreamItem::End(_))) {
                    self.skip_ends();
                }
                Some(arrived)
            }
            // No end is the first.
            Some(StreamItem::End(_)) | None => {
                self.forget_ends();
                None
            }
        }
    }

    /// Drops ends before the first message: nobody can read the streams' messages any more. Those of streams
    /// that were left are kept for the next reader.
    fn skip_ends(&mut self) {
        while let Some(&StreamItem::End(end)) = self.common.front() {
            self.pop_common();
            if self.is_left(end.stream) {
                self.apart.left.remove(&end.stream);
                self.apart.ends.push_back(end);
            }
        }
    }

    /// Drops the kept ends if they are many, and all messages were read here: nobody takes streams.
    fn forget_ends(&mut self) {
        if self.apart.is_touched() && self.apart.bare > MAX_BARE_ENDS / 2 {
            self.apart.ends.clear();
            self.apart.bare = 0;
        }
    }

    /// Returns whether an end was kept that no event has reported.
    pub(super) fn take_untold_end(&mut self) -> bool {
        self.apart.is_touched() && core::mem::take(&mut self.apart.end_untold)
    }

    /// Takes all that readers have not read: their streams and items.
    pub(super) fn take_readers(&mut self) -> Vec<(u16, VecDeque<StreamItem<Arrived>>)> {
        if !self.apart.is_touched() {
            return Vec::new();
        }
        let readers = core::mem::take(&mut self.apart.of);
        readers
            .into_iter()
            .filter(|(_, reader)| !reader.gone)
            .map(|(of, reader)| (of, reader.items))
            .collect()
    }

    /// Returns a stream whose reader is to be told that there are items.
    pub(super) fn take_untold(&mut self) -> Option<u16> {
        if self.apart.untold.is_empty() { None } else { self.apart.untold.pop() }
    }

    /// Returns what was discarded since the last call.
    #[inline]
    pub(super) fn take_discarded(&mut self) -> Option<Released> {
        if self.apart.discarded.chunks == 0 {
            return None;
        }
        Some(core::mem::take(&mut self.apart.discarded))
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
        !self.common.is_empty() || self.apart.messages > 0
    }

    /// Returns whether a reader has items.
    pub(super) fn has_unread(&self) -> bool {
        self.apart.of.values().any(|reader| !reader.items.is_empty())
    }

    /// Returns all messages.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Arrived> {
        let keys = self.apart.keys.iter().flat_map(|keys| &keys.waiting);
        let items = self.common.iter().chain(self.apart.of.values().flat_map(|reader| &reader.items));
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn push(ready: &mut Ready, stream: u16, len: usize) {
        let data = Bytes::from(vec![stream as u8; len]);
        let message = Message { stream, ssn: 0, ppid: 0, unordered: false, begin: true, end: true, data };
        ready.push_back(Arrived { message, number: 0, chunks: 1 });
    }

    /// Ends uses of which messages were delivered.
    fn end(ready: &mut Ready, streams: &[u16]) {
        end_with(ready, streams, true);
    }

    fn end_with(ready: &mut Ready, streams: &[u16], is_known: bool) {
        let end = |&stream| Ending { end: StreamEnd { stream, code: None }, is_known };
        ready.end(streams.iter().map(end));
    }

    /// Reads all that the reader of a stream gets: lengths of messages, and 0 for an end.
    fn read(ready: &mut Ready, stream: u16) -> Vec<usize> {
        let items = core::iter::from_fn(|| ready.read_on(stream));
        items
            .map(|item| match item {
                StreamItem::Message(arrived) => arrived.message.data.len(),
                StreamItem::End(end) => {
                    assert_eq!(end.stream, stream);
                    0
                }
            })
            .collect()
    }

    /// Reads the streams of all messages without readers.
    fn rest(ready: &mut Ready) -> Vec<u16> {
        core::iter::from_fn(|| ready.read()).map(|arrived| arrived.message.stream).collect()
    }

    fn untold(ready: &mut Ready) -> Vec<u16> {
        core::iter::from_fn(|| ready.take_untold()).collect()
    }

    #[test]
    fn each_message_goes_to_its_reader_in_order() {
        let mut ready = Ready::default();
        for (stream, len) in [(0, 1), (3, 2), (5, 3), (3, 4), (0, 5)] {
            push(&mut ready, stream, len);
        }
        assert_eq!(ready.read().unwrap().message.stream, 0);
        assert!(ready.claim(3) && !ready.claim(3));
        assert_eq!(read(&mut ready, 3), [2, 4]);
        assert_eq!(read(&mut ready, 9), [], "nobody's");
        push(&mut ready, 3, 6);
        assert_eq!((rest(&mut ready), untold(&mut ready)), (vec![5, 0], vec![3]));
        assert!(ready.is_readable() && !ready.has_unclaimed());
        ready.leave(3);
        assert_eq!(rest(&mut ready), [3]);
        assert!(!ready.is_readable() && !ready.is_claimed(3));
    }

    #[test]
    fn a_reader_is_told_once_until_it_has_read_all() {
        let mut ready = Ready::default();
        assert!(ready.claim(1));
        for _ in 0..3 {
            push(&mut ready, 1, 1);
        }
        assert_eq!(untold(&mut ready), [1]);
        assert!(ready.read_on(1).is_some());
        push(&mut ready, 1, 1);
        assert_eq!(untold(&mut ready), [], "it has not read all");
        assert_eq!(read(&mut ready, 1), [1, 1, 1]);
        end(&mut ready, &[1]);
        assert_eq!(untold(&mut ready), [1]);
    }

    #[test]
    fn what_follows_an_end_is_for_the_next_reader() {
        let mut ready = Ready::default();
        push(&mut ready, 4, 1);
        push(&mut ready, 6, 7);
        end(&mut ready, &[4]);
        push(&mut ready, 4, 2);
        end(&mut ready, &[4]);
        push(&mut ready, 4, 3);
        for expected in [&[1, 0][..], &[2, 0], &[3]] {
            assert!(ready.claim(4));
            assert_eq!(read(&mut ready, 4), expected);
            assert_eq!(ready.release(4), expected.len() == 2, "the last has not ended");
        }
        // What arrives until then is nobody's, and its window is released.
        push(&mut ready, 4, 10);
        assert_eq!(ready.take_discarded(), Some(Released { bytes: 10, chunks: 1 }));
        assert!(!ready.claim(4) && ready.next_stream(|stream| stream == 4).is_none());
        end(&mut ready, &[4]);
        push(&mut ready, 4, 5);
        assert_eq!(ready.next_stream(|stream| stream == 4), Some(4));
        assert!(ready.claim(4));
        assert_eq!((read(&mut ready, 4), rest(&mut ready)), (vec![5], vec![6]));
    }

    #[test]
    fn the_next_use_of_a_number_waits_while_the_last_has_a_reader() {
        let mut ready = Ready::default();
        assert!(ready.claim(2));
        push(&mut ready, 2, 1);
        end(&mut ready, &[2]);
        push(&mut ready, 2, 9);
        end(&mut ready, &[2]);
        assert_eq!(ready.next_stream(|_| true), None);
        assert_eq!(read(&mut ready, 2), [1, 0]);
        assert!(ready.release(2));
        assert_eq!(ready.next_stream(|_| true), Some(2));
        assert!(ready.claim(2));
        assert_eq!(read(&mut ready, 2), [9, 0]);
    }

    #[test]
    fn a_released_reader_holds_nothing() {
        let mut ready = Ready::default();
        assert!(ready.claim(1));
        push(&mut ready, 1, 10);
        push(&mut ready, 1, 20);
        assert!(!ready.release(1));
        assert_eq!(ready.take_discarded(), Some(Released { bytes: 30, chunks: 2 }));
        assert_eq!((ready.take_discarded(), ready.is_readable()), (None, false));
        assert!(ready.release(9), "without a reader there is nothing to wait for");
    }

    #[test]
    fn ends_are_bounded_by_the_messages_before_them() {
        let mut ready = Ready::default();
        for _ in 0..1000 {
            end(&mut ready, &[1, 2, 3]);
        }
        assert!(ready.common.is_empty());
        push(&mut ready, 1, 1);
        for _ in 0..1000 {
            end(&mut ready, &[1, 2, 3]);
        }
        assert_eq!(ready.common.len(), 2);
        assert_eq!((rest(&mut ready), ready.has_unclaimed()), (vec![1], false), "an end alone is nothing");
    }

    #[test]
    fn a_reset_of_all_streams_ends_those_that_are_open() {
        let mut ready = Ready::default();
        assert!(ready.claim(1) && ready.claim(2));
        end(&mut ready, &[2]);
        push(&mut ready, 5, 1);
        assert_eq!(ready.open(), BTreeSet::from([1, 5]));
    }

    #[test]
    fn a_use_without_messages_waits_for_its_reader() {
        let mut ready = Ready::default();
        end_with(&mut ready, &[4], false);
        assert!(ready.take_untold_end() && !ready.take_untold_end());
        assert!(!ready.is_readable() && !ready.has_unclaimed(), "no message");
        assert_eq!((ready.next_stream(|_| true), ready.is_waiting(4)), (Some(4), true));
        // Later uses of the number, one without messages between two with.
        push(&mut ready, 4, 7);
        end(&mut ready, &[4]);
        end_with(&mut ready, &[4], false);
        push(&mut ready, 4, 9);
        end(&mut ready, &[4]);
        assert_eq!(ready.waiting()[&4].count, 4);
        for expected in [&[0][..], &[7, 0], &[0], &[9, 0]] {
            assert_eq!(ready.next_stream(|_| true), Some(4));
            assert!(ready.claim(4));
            assert_eq!(read(&mut ready, 4), expected);
            assert!(ready.release(4));
        }
        assert_eq!((ready.next_stream(|_| true), ready.waiting().len()), (None, 0));
        // An end that this end has asked for concerns no new use.
        end(&mut ready, &[4]);
        assert_eq!(ready.next_stream(|_| true), None);
    }

    #[test]
    fn the_end_of_a_stream_that_was_left_is_kept_for_the_next_reader() {
        let mut ready = Ready::default();
        assert!(ready.claim(3));
        push(&mut ready, 3, 1);
        assert_eq!(read(&mut ready, 3), [1]);
        ready.leave(3);
        end(&mut ready, &[3]);
        end(&mut ready, &[3]);
        assert!(ready.claim(3));
        ready.leave(3);
        assert!(ready.claim(3));
        assert_eq!(read(&mut ready, 3), [0], "once, and again if nobody read it");
        assert!(ready.release(3));
        // Behind messages that others read.
        assert!(ready.claim(3));
        ready.leave(3);
        push(&mut ready, 3, 1);
        end(&mut ready, &[3]);
        assert_eq!(rest(&mut ready), [3]);
        assert!(ready.claim(3));
        assert_eq!(read(&mut ready, 3), [0]);
    }

    #[test]
    fn ends_without_messages_are_bounded() {
        let mut ready = Ready::default();
        push(&mut ready, 7, 1);
        for stream in 0..MAX_BARE_ENDS as u16 {
            assert!(ready.may_end([stream].into_iter()));
            end_with(&mut ready, &[8 + stream], false);
        }
        assert!(!ready.may_end([3000].into_iter()) && ready.may_end([7].into_iter()));
        assert!(ready.claim(8) && ready.may_end([3000].into_iter()));
        // A program that reads messages only takes no streams.
        assert_eq!(rest(&mut ready), [7]);
        assert_eq!(ready.next_stream(|_| true), None);
    }
}
