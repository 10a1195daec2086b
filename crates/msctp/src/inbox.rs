//! [`Inbox`]: messages taken from the core, sorted by reader, and the ends of streams. Keeps state, does no
//! I/O.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use msctp_proto::{Message, Restarted};

/// Maximum number of bytes kept for other readers. Further messages stay in the core and close the window. A
/// reader that never reads then stops the peer instead of filling the memory.
const MOST: usize = 256 << 10;

/// Minimum charge of a message in bytes, about its memory cost, so that small messages cannot fill the memory
/// either.
const MIN_CHARGE: usize = 256;

/// Bytes after which a reader that has an item takes no more from the core at a time.
const BATCH: usize = 64 << 10;

/// Maximum number of pending ends of streams behind unread messages. If a peer ends more, the later ends are
/// lost.
const MOST_ENDS: usize = 1 << 16;

/// The next item for a reader.
#[derive(Debug, PartialEq)]
pub(crate) enum Item {
    Message(Message),
    /// The peer ended this stream here.
    End(u16),
    /// The peer restarted here. Every reader receives this once, at its position among the messages.
    Restarted,
}

fn charge(message: &Message) -> usize {
    message.data.len().max(MIN_CHARGE)
}

impl Item {
    /// Returns the stream of the item; `None`: all streams.
    fn stream(&self) -> Option<u16> {
        match self {
            Self::Message(message) => Some(message.stream),
            Self::End(stream) => Some(*stream),
            Self::Restarted => None,
        }
    }
}

/// Messages for readers: a queue for each claimed stream, and one for all others.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    rest: VecDeque<Item>,
    /// Streams whose last item in `rest` is an end. A second end without messages between them adds nothing.
    ended: BTreeSet<u16>,
    claimed: BTreeMap<u16, VecDeque<Item>>,
    /// Claimed streams whose reader was dropped, so that their messages are discarded.
    discarded: BTreeSet<u16>,
    bytes: usize,
    /// Number of messages taken from the core so far.
    taken: u64,
    /// Streams that end after this many taken messages; an empty list stands for all streams.
    ends: VecDeque<(u64, Vec<u16>)>,
    /// Number of streams named in `ends`.
    pending_ends: usize,
}

impl Inbox {
    /// Claims a stream and its queued messages for its own reader. Returns false if the stream is already
    /// claimed.
    pub(crate) fn claim(&mut self, stream: u16) -> bool {
        if self.claimed.contains_key(&stream) {
            return false;
        }
        let mut mine = VecDeque::new();
        for item in std::mem::take(&mut self.rest) {
            match item.stream() {
                Some(number) if number == stream => mine.push_back(item),
                Some(_) => self.rest.push_back(item),
                None => {
                    mine.push_back(Item::Restarted);
                    self.rest.push_back(item);
                }
            }
        }
        self.ended.remove(&stream);
        self.claimed.insert(stream, mine);
        true
    }

    /// Discards the messages of a claimed stream, queued and later ones, until it is released.
    pub(crate) fn discard(&mut self, stream: u16) {
        let Some(mine) = self.claimed.get_mut(&stream) else { return };
        for item in mine.drain(..) {
            if let Item::Message(message) = item {
                self.bytes -= charge(&message);
            }
        }
        self.discarded.insert(stream);
    }

    /// Takes messages from the core while a dropped reader's may be among them, so that they do not close the
    /// receive window. `more` takes a message from the core.
    pub(crate) fn drop_discarded(&mut self, mut more: impl FnMut() -> Result<Option<Message>, Restarted>) {
        let mut others = false;
        while !self.discarded.is_empty() && self.bytes < MOST && self.pull(None, &mut others, &mut more) {}
    }

    /// Releases a stream. Its messages go to the reader of all streams, queued ones first.
    pub(crate) fn release(&mut self, stream: u16) {
        self.discarded.remove(&stream);
        let mine = self.claimed.remove(&stream).unwrap_or_default();
        if matches!(mine.back(), Some(Item::End(_))) {
            self.ended.insert(stream);
        }
        let told = self.rest.contains(&Item::Restarted);
        for item in mine.into_iter().rev().filter(|item| !told || *item != Item::Restarted) {
            self.rest.push_front(item);
        }
    }

    /// Queues the restart for every reader, behind the messages taken so far.
    fn restart(&mut self) {
        for queue in self.claimed.values_mut().chain([&mut self.rest]) {
            // A reader that reads nothing gets one restart, not several.
            if queue.back() != Some(&Item::Restarted) {
                queue.push_back(Item::Restarted);
            }
        }
        self.ended.clear();
    }

    /// Ends these streams after the `unread` messages that are still in the core. An empty list stands for
    /// all streams.
    pub(crate) fn end(&mut self, streams: Vec<u16>, unread: usize) {
        let named = streams.len().max(1);
        if self.pending_ends + named <= MOST_ENDS {
            self.pending_ends += named;
            self.ends.push_back((self.taken + unread as u64, streams));
            self.pass_ends(false);
        }
    }

    /// Queues the ends that are due. `all` means that the core has no more messages. Returns whether there
    /// were any.
    fn pass_ends(&mut self, all: bool) -> bool {
        let mut any = false;
        while self.ends.front().is_some_and(|(at, _)| all || *at <= self.taken)
            && let Some((_, mut streams)) = self.ends.pop_front()
        {
            any = true;
            self.pending_ends -= streams.len().max(1);
            if streams.is_empty() {
                let known: BTreeSet<u16> =
                    self.rest.iter().filter_map(Item::stream).chain(self.claimed.keys().copied()).collect();
                streams = known.into_iter().collect();
            }
            for stream in streams {
                match self.claimed.get_mut(&stream) {
                    Some(queue) if matches!(queue.back(), Some(Item::End(_))) => {}
                    Some(queue) => queue.push_back(Item::End(stream)),
                    None if self.ended.insert(stream) => self.rest.push_back(Item::End(stream)),
                    None => {}
                }
            }
        }
        any
    }

    /// Returns whether the stream is unclaimed and has no queued message.
    pub(crate) fn is_free(&self, stream: u16) -> bool {
        !self.claimed.contains_key(&stream) && !self.rest.iter().any(|item| item.stream() == Some(stream))
    }

    /// Claims the stream of the next message of an unclaimed stream.
    ///
    /// Returns `Ok(None)` if there is no message, and an error if the peer restarted before it. The second
    /// value is the same as for [`next`](Self::next).
    pub(crate) fn claim_next(
        &mut self,
        over: bool,
        more: impl FnMut() -> Result<Option<Message>, Restarted>,
    ) -> (Result<Option<u16>, Restarted>, bool) {
        let (item, others) = self.next(None, over, more);
        let claimed = match item {
            Some(Item::Message(message)) => {
                let stream = message.stream;
                self.bytes += charge(&message);
                self.rest.push_front(Item::Message(message));
                self.claim(stream);
                Ok(Some(stream))
            }
            Some(Item::Restarted) => Err(Restarted),
            Some(Item::End(_)) | None => Ok(None),
        };
        (claimed, others)
    }

    /// Returns the next item of `stream`, or of the unclaimed streams. `more` takes a message from the core.
    ///
    /// `over` says that the association has ended, so that no event will wake the reader again: then `None`
    /// means that the core has no message left. The core's receive buffer bounds the bytes kept.
    ///
    /// The second value says whether to wake the other readers, because they have items or there is room
    /// again.
    pub(crate) fn next(
        &mut self,
        stream: Option<u16>,
        over: bool,
        mut more: impl FnMut() -> Result<Option<Message>, Restarted>,
    ) -> (Option<Item>, bool) {
        let (mut bytes, mut others) = (0, false);
        self.pass_ends(false);
        // The core reports further messages only after all were taken: a reader without an item must not stop
        // before, or it misses its message. Nor may messages of dropped readers stay there.
        let wants = !self.has_item(stream);
        while (over || self.bytes < MOST)
            && (wants && bytes < BATCH || !self.discarded.is_empty() || !self.has_item(stream))
        {
            let before = self.bytes;
            if !self.pull(stream, &mut others, &mut more) {
                break;
            }
            bytes += self.bytes - before;
        }
        if stream.is_none() {
            self.skip_ends();
        }
        let item = match stream {
            None => self.rest.pop_front(),
            Some(stream) => self.claimed.get_mut(&stream).and_then(VecDeque::pop_front),
        };
        if let Some(Item::Message(message)) = &item {
            others |= self.bytes >= MOST;
            self.bytes -= charge(message);
        }
        (item, others)
    }

    /// Takes a message or a restart from the core for its reader. Returns false if the core has none. Sets
    /// `others` if readers other than that of `stream` have items.
    fn pull(
        &mut self,
        stream: Option<u16>,
        others: &mut bool,
        more: &mut impl FnMut() -> Result<Option<Message>, Restarted>,
    ) -> bool {
        match more() {
            Ok(Some(message)) if self.discarded.contains(&message.stream) => {
                self.taken += 1;
                *others |= self.pass_ends(false);
            }
            Ok(Some(message)) => *others |= self.take(message, stream),
            Err(Restarted) => {
                self.restart();
                *others = true;
            }
            Ok(None) => {
                *others |= self.pass_ends(true);
                return false;
            }
        }
        true
    }

    /// Returns whether an item of `stream`, or of the unclaimed streams, is queued.
    fn has_item(&mut self, stream: Option<u16>) -> bool {
        match stream {
            None => {
                self.skip_ends();
                !self.rest.is_empty()
            }
            // A stream that is no longer claimed has no queue.
            Some(stream) => self.claimed.get(&stream).is_some_and(|queue| !queue.is_empty()),
        }
    }

    /// Queues a message for its reader. Returns whether that reader differs from the reader of `stream`.
    fn take(&mut self, message: Message, stream: Option<u16>) -> bool {
        self.taken += 1;
        self.bytes += charge(&message);
        let number = message.stream;
        let other = match self.claimed.get_mut(&number) {
            Some(queue) => {
                queue.push_back(Item::Message(message));
                stream != Some(number)
            }
            None => {
                self.ended.remove(&number);
                self.rest.push_back(Item::Message(message));
                stream.is_some()
            }
        };
        self.pass_ends(false) || other
    }

    /// Drops ends of streams, which the reader of all streams receives as events.
    fn skip_ends(&mut self) {
        while let Some(Item::End(stream)) = self.rest.front() {
            self.ended.remove(stream);
            self.rest.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn message(stream: u16, len: usize) -> Message {
        Message {
            stream,
            ssn: 0,
            ppid: 0,
            unordered: false,
            begin: true,
            end: true,
            data: Bytes::from(vec![stream as u8; len]),
        }
    }

    fn streams(inbox: &mut Inbox, reader: Option<u16>, core: &mut VecDeque<Message>) -> Vec<u16> {
        std::iter::from_fn(|| inbox.next(reader, false, || Ok(core.pop_front())).0)
            .filter_map(|item| item.stream())
            .collect()
    }

    /// Returns the items that the reader of a stream receives: lengths of messages, and 0 for an end.
    fn read(inbox: &mut Inbox, stream: u16, core: &mut VecDeque<Message>) -> Vec<usize> {
        let items = std::iter::from_fn(|| inbox.next(Some(stream), false, || Ok(core.pop_front())).0);
        items
            .map(|item| match item {
                Item::Message(message) => message.data.len(),
                Item::End(_) => 0,
                Item::Restarted => usize::MAX,
            })
            .collect()
    }

    #[test]
    fn each_message_goes_to_its_reader_in_order() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        core.extend([0, 3, 5, 3, 0].map(|stream| message(stream, 10)));
        assert_eq!(inbox.next(None, false, || Ok(core.pop_front())).0.unwrap().stream(), Some(0));
        assert!(inbox.claim(3) && !inbox.claim(3));
        assert_eq!(streams(&mut inbox, Some(3), &mut core), [3, 3]);
        assert_eq!(streams(&mut inbox, Some(9), &mut core), Vec::<u16>::new(), "nobody's");
        core.push_back(message(3, 10));
        assert_eq!(streams(&mut inbox, None, &mut core), [5, 0]);
        inbox.release(3);
        assert_eq!(streams(&mut inbox, None, &mut core), [3]);
        assert_eq!(inbox.bytes, 0);
    }

    #[test]
    fn what_nobody_reads_stays_in_the_core() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        assert!(inbox.claim(1) && inbox.claim(2));
        core.extend((0..100).map(|_| message(1, 10_000)));
        core.push_back(message(2, 1));
        for _ in 0..20 {
            assert_eq!(inbox.next(Some(2), false, || Ok(core.pop_front())).0, None);
        }
        assert_eq!(core.len(), 101 - MOST.div_ceil(10_000));
        let (first, others) = inbox.next(Some(1), false, || Ok(core.pop_front()));
        assert!(first.is_some() && others, "there is room again");
        assert_eq!(streams(&mut inbox, Some(1), &mut core).len(), 99);
        assert_eq!(streams(&mut inbox, Some(2), &mut core), [2]);
    }

    #[test]
    fn a_reader_without_an_item_passes_a_batch_for_others_and_at_the_end_everything() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        assert!(inbox.claim(1) && inbox.claim(2));
        core.extend((0..15).map(|_| message(1, 10_000)));
        core.push_back(message(2, 1));
        assert_eq!(read(&mut inbox, 2, &mut core), [1], "150 kB are before it");
        core.extend((0..100).map(|_| message(1, 10_000)));
        core.push_back(message(3, 1));
        core.push_back(message(2, 2));
        assert_eq!(inbox.next(Some(2), false, || Ok(core.pop_front())).0, None, "no room");
        assert!(!core.is_empty());
        let item = inbox.next(Some(2), true, || Ok(core.pop_front())).0;
        assert!(matches!(item, Some(Item::Message(message)) if message.data.len() == 2));
        assert_eq!(inbox.next(Some(2), true, || Ok(core.pop_front())).0, None);
        assert_eq!((streams(&mut inbox, None, &mut core), core.len()), (vec![3], 0));
        assert_eq!(read(&mut inbox, 1, &mut core).len(), 115);

        // The reader of all streams receives no ends: one alone is no item.
        inbox.end(vec![5], 1);
        core.extend([message(1, BATCH), message(5, 1)]);
        inbox.end(vec![5], 2);
        assert_eq!(streams(&mut inbox, None, &mut core), [5]);
        inbox.end(vec![5], 1);
        core.extend([message(1, BATCH), message(5, 1)]);
        assert_eq!(streams(&mut inbox, None, &mut core), [5]);
    }

    #[test]
    fn a_discarded_stream_holds_nothing_until_it_is_released() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        assert!(inbox.claim(1) && inbox.claim(2));
        core.extend([message(1, 10), message(2, 20)]);
        assert_eq!(read(&mut inbox, 2, &mut core), [20]);
        inbox.discard(1);
        assert_eq!(inbox.bytes, 0);
        core.extend((0..100).map(|_| message(1, 10_000)));
        core.push_back(message(2, 30));
        assert!(!inbox.claim(1), "it is still taken");
        assert_eq!(read(&mut inbox, 2, &mut core), [30]);
        core.extend((0..100).map(|_| message(1, 10_000)));
        core.push_back(message(2, 35));
        inbox.drop_discarded(|| Ok(core.pop_front()));
        assert_eq!((core.len(), inbox.bytes), (0, MIN_CHARGE), "no reader had to read");
        core.extend((0..100).map(|_| message(1, 10_000)));
        assert_eq!(inbox.next(Some(2), false, || Ok(core.pop_front())).0.unwrap().stream(), Some(2));
        assert!(core.is_empty(), "a reader that has an item takes them as well");
        core.extend((0..40).map(|_| message(2, 10_000)));
        inbox.drop_discarded(|| Ok(core.pop_front()));
        assert_eq!(core.len(), 40 - MOST.div_ceil(10_000), "a reader that never reads stops the peer");
        assert_eq!(read(&mut inbox, 2, &mut core), [10_000; 40]);
        inbox.release(1);
        core.push_back(message(1, 40));
        inbox.drop_discarded(|| Ok(core.pop_front()));
        assert_eq!(core.len(), 1, "none is discarded now");
        assert!(inbox.claim(1));
        assert_eq!(read(&mut inbox, 1, &mut core), [40]);
        assert_eq!(inbox.bytes, 0);
    }

    #[test]
    fn every_reader_gets_a_restart_once_between_the_messages() {
        let mut inbox = Inbox::default();
        assert!(inbox.claim(1));
        let mut core: VecDeque<_> = [1, 2].map(|stream| Ok(Some(message(stream, 1)))).into();
        core.push_back(Err(Restarted));
        core.extend([1, 2, 3].map(|stream| Ok(Some(message(stream, 2)))));
        let mut more = || core.pop_front().unwrap_or(Ok(None));
        let mut next = |inbox: &mut Inbox, stream| match inbox.next(stream, false, &mut more).0 {
            Some(Item::Message(message)) => message.data.len(),
            Some(Item::Restarted) => 99,
            other => panic!("{other:?}"),
        };
        assert_eq!([(); 3].map(|()| next(&mut inbox, Some(1))), [1, 99, 2]);
        assert_eq!(next(&mut inbox, None), 1);
        assert!(inbox.claim(3), "its messages are those after the restart");
        assert_eq!([(); 2].map(|()| next(&mut inbox, Some(3))), [99, 2]);
        assert_eq!([(); 2].map(|()| next(&mut inbox, None)), [99, 2]);
        inbox.restart();
        inbox.restart();
        inbox.release(1);
        assert_eq!(next(&mut inbox, None), 99);
        assert!(inbox.rest.is_empty());
    }

    #[test]
    fn a_stream_ends_behind_what_was_sent_before_and_begins_anew() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        assert!(inbox.claim(4));
        core.extend([message(4, 1), message(6, 7), message(4, 2)]);
        inbox.end(vec![4, 6], core.len());
        core.extend([message(4, 3), message(6, 8)]);
        inbox.end(vec![4], core.len());
        assert_eq!(read(&mut inbox, 4, &mut core), [1, 2, 0, 3, 0]);
        // The end of the other stream is queued for its reader.
        assert!(inbox.claim(6));
        assert_eq!(read(&mut inbox, 6, &mut core), [7, 0, 8]);
        inbox.end(vec![6], 0);
        inbox.release(6);
        assert!(inbox.claim(6));
        assert_eq!(read(&mut inbox, 6, &mut core), [0], "an end outlives its reader");
        assert_eq!((inbox.bytes, inbox.pending_ends), (0, 0));
    }

    #[test]
    fn ends_of_all_streams_and_ends_that_say_nothing_new() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        assert!(inbox.claim(1));
        core.push_back(message(2, 5));
        inbox.end(Vec::new(), 1);
        for _ in 0..1000 {
            inbox.end(vec![1, 2, 3], 1);
        }
        assert_eq!(read(&mut inbox, 1, &mut core), [0]);
        assert_eq!(inbox.rest.len(), 3, "a message and two ends");
        assert_eq!(streams(&mut inbox, None, &mut core), [2], "who reads messages is told by events");
        for _ in 0..100_000 {
            inbox.end(vec![7], 1);
        }
        assert!(inbox.pending_ends <= MOST_ENDS && inbox.ends.len() <= MOST_ENDS);
    }
}
