//! [`Inbox`]: messages taken out of the core, sorted by who reads them. Pure bookkeeping.

use std::collections::{BTreeMap, VecDeque};

use msctp_proto::Message;

/// Bytes of messages kept here for others than the one who reads. Beyond it the rest stays in the core, where it closes the
/// window: a reader that never comes stops the peer and does not fill the memory.
const MOST: usize = 256 << 10;

/// Bytes taken out of the core at a time.
const BATCH: usize = 64 << 10;

/// Messages that wait for their readers: one queue for each stream that somebody reads by itself, and one for all others.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    rest: VecDeque<Message>,
    claimed: BTreeMap<u16, VecDeque<Message>>,
    bytes: usize,
}

impl Inbox {
    /// From now on the messages of this stream wait for its own reader; those that wait already go to it. False when it has
    /// one.
    pub(crate) fn claim(&mut self, stream: u16) -> bool {
        if self.claimed.contains_key(&stream) {
            return false;
        }
        let (mine, rest) =
            std::mem::take(&mut self.rest).into_iter().partition(|message| message.stream == stream);
        self.rest = rest;
        self.claimed.insert(stream, mine);
        true
    }

    /// The stream's messages go to whoever reads all streams again, and those that wait first.
    pub(crate) fn release(&mut self, stream: u16) {
        for message in self.claimed.remove(&stream).unwrap_or_default().into_iter().rev() {
            self.rest.push_front(message);
        }
    }

    /// The next message of `stream`, or of the streams that nobody claimed. `more` takes messages out of the core. The second
    /// is true when others should look again: something came for them, or there is room again.
    pub(crate) fn next(
        &mut self,
        stream: Option<u16>,
        mut more: impl FnMut() -> Option<Message>,
    ) -> (Option<Message>, bool) {
        let (mut taken, mut others) = (0, false);
        // One that is claimed no more has nothing.
        let waiting = |inbox: &Self| match stream {
            None => !inbox.rest.is_empty(),
            Some(stream) => inbox.claimed.get(&stream).is_some_and(|queue| !queue.is_empty()),
        };
        if !waiting(self) {
            while self.bytes < MOST && taken < BATCH {
                let Some(message) = more() else { break };
                taken += message.data.len();
                self.bytes += message.data.len();
                let queue = self.claimed.get_mut(&message.stream);
                others |= if queue.is_some() { stream != Some(message.stream) } else { stream.is_some() };
                queue.unwrap_or(&mut self.rest).push_back(message);
            }
        }
        let message = match stream {
            None => self.rest.pop_front(),
            Some(stream) => self.claimed.get_mut(&stream).and_then(VecDeque::pop_front),
        };
        if let Some(message) = &message {
            others |= self.bytes >= MOST;
            self.bytes -= message.data.len();
        }
        (message, others)
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
        std::iter::from_fn(|| inbox.next(reader, || core.pop_front()).0)
            .map(|message| message.stream)
            .collect()
    }

    #[test]
    fn each_message_goes_to_its_reader_in_order() {
        let (mut inbox, mut core) = (Inbox::default(), VecDeque::new());
        core.extend([0, 3, 5, 3, 0].map(|stream| message(stream, 10)));
        assert_eq!(inbox.next(None, || core.pop_front()).0.unwrap().stream, 0);
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
            assert_eq!(inbox.next(Some(2), || core.pop_front()).0, None);
        }
        assert_eq!(core.len(), 101 - MOST.div_ceil(10_000));
        let (first, others) = inbox.next(Some(1), || core.pop_front());
        assert!(first.is_some() && others, "there is room again");
        assert_eq!(streams(&mut inbox, Some(1), &mut core).len(), 99);
        assert_eq!(streams(&mut inbox, Some(2), &mut core), [2]);
    }
}
