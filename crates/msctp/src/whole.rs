//! [`Parts`]: messages that the core delivers in parts (RFC 9260 §11.1.7, partial delivery) until they are
//! whole.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use msctp_proto::{Message, PartialAbort};

/// Size of the largest message that is received whole, and of all together that are not whole yet (bytes).
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// Number of bytes for which each kept message counts besides its own.
const OVERHEAD: usize = 256;

/// What distinguishes begun messages: the stream, the order, and the number.
type Key = (u16, bool, u16);

/// A message that was begun, and not ended.
#[derive(Debug)]
enum Begun {
    /// Its parts so far are kept in `data`; `first` has the rest of the first.
    Kept { first: Message, data: BytesMut },
    /// It is too large, or the peer abandoned it before its first part was read.
    Discarded,
    /// Its parts go to the application.
    Passed,
}

/// What becomes of a part.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// The message, or the part that is to be read next.
    Ready(Message),
    /// Nothing yet: the next part is to be read.
    Wait,
    /// The message is larger than [`MAX_MESSAGE`].
    TooLarge { stream: u16 },
}

/// Messages of one association that were begun.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    begun: BTreeMap<Key, Begun>,
    /// Bytes of the kept ones, and [`OVERHEAD`] for each.
    charge: usize,
}

impl Parts {
    /// Takes a part. With `whole` it is kept until the message is whole.
    pub(crate) fn take(&mut self, part: Message, whole: bool) -> Step {
        let (key, end) = ((part.stream, part.unordered, part.ssn), part.end);
        let (next, step) = match self.remove(key) {
            // A part without its beginning follows one that was read before a restart.
            Some(Begun::Discarded) => (Begun::Discarded, Step::Wait),
            None if whole && !part.begin => (Begun::Discarded, Step::Wait),
            None if whole => {
                self.keep(Message { data: Bytes::new(), ..part.clone() }, BytesMut::new(), &part)
            }
            None | Some(Begun::Passed) => (Begun::Passed, Step::Ready(part)),
            Some(Begun::Kept { first, data }) => match self.keep(first, data, &part) {
                (Begun::Kept { first, data }, _) if end || !whole => {
                    (Begun::Passed, Step::Ready(Message { data: data.freeze(), end, ..first }))
                }
                kept => kept,
            },
        };
        if !end {
            self.insert(key, next);
        }
        step
    }

    /// Keeps one more part of a message, if there is room.
    fn keep(&self, first: Message, mut data: BytesMut, part: &Message) -> (Begun, Step) {
        if self.charge + data.len() + part.data.len() > MAX_MESSAGE {
            return (Begun::Discarded, Step::TooLarge { stream: part.stream });
        }
        data.extend_from_slice(&part.data);
        (Begun::Kept { first, data }, Step::Wait)
    }

    fn insert(&mut self, key: Key, begun: Begun) {
        if let Begun::Kept { data, .. } = &begun {
            self.charge += OVERHEAD + data.len();
        }
        self.begun.insert(key, begun);
    }

    fn remove(&mut self, key: Key) -> Option<Begun> {
        let begun = self.begun.remove(&key)?;
        if let Begun::Kept { data, .. } = &begun {
            self.charge -= OVERHEAD + data.len();
        }
        Some(begun)
    }

    /// Records that the peer abandoned a begun message (RFC 3758 §3.6): it has no end.
    pub(crate) fn abort(&mut self, abort: PartialAbort) {
        let key = (abort.stream, abort.unordered, abort.ssn);
        if self.remove(key).is_none() {
            // Its first part was not read yet.
            self.begun.insert(key, Begun::Discarded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(stream: u16, ssn: u16, len: usize, begin: bool, end: bool) -> Message {
        Message { stream, ssn, ppid: 7, unordered: false, begin, end, data: vec![ssn as u8; len].into() }
    }

    fn ready(step: Step) -> (usize, bool, bool) {
        match step {
            Step::Ready(message) => (message.data.len(), message.begin, message.end),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_of_interleaved_messages_become_whole() {
        let mut parts = Parts::default();
        assert_eq!(parts.take(part(1, 0, 10, true, false), true), Step::Wait);
        assert_eq!(parts.take(part(2, 0, 20, true, false), true), Step::Wait);
        assert_eq!(parts.take(part(1, 0, 10, false, false), true), Step::Wait);
        assert_eq!(ready(parts.take(part(2, 0, 1, false, true), true)), (21, true, true));
        assert_eq!(ready(parts.take(part(1, 0, 3, false, true), true)), (23, true, true));
        assert!(parts.begun.is_empty() && parts.charge == 0);
    }

    #[test]
    fn a_message_above_the_limit_is_reported_once_and_the_next_is_whole() {
        let mut parts = Parts::default();
        let half = MAX_MESSAGE / 2;
        assert_eq!(parts.take(part(1, 0, half, true, false), true), Step::Wait);
        assert_eq!(parts.take(part(1, 0, half, false, false), true), Step::Wait, "as much as the limit");
        assert_eq!(parts.take(part(1, 0, 1, false, false), true), Step::TooLarge { stream: 1 });
        assert_eq!(parts.take(part(1, 0, half, false, false), true), Step::Wait);
        assert_eq!(parts.take(part(1, 0, 1, false, true), true), Step::Wait);
        assert!(parts.begun.is_empty() && parts.charge == 0);
        assert_eq!(parts.take(part(1, 1, 10, true, false), true), Step::Wait);
        assert_eq!(ready(parts.take(part(1, 1, 10, false, true), true)), (20, true, true));
    }

    #[test]
    fn all_streams_together_keep_at_most_the_limit() {
        let mut parts = Parts::default();
        let mut refused = 0;
        for stream in 0..u16::MAX {
            refused += usize::from(parts.take(part(stream, 0, 1000, true, false), true) != Step::Wait);
            assert!(parts.charge <= MAX_MESSAGE + OVERHEAD);
        }
        assert!(refused > 0);
    }

    #[test]
    fn who_reads_parts_gets_what_was_kept_first() {
        let mut parts = Parts::default();
        assert_eq!(parts.take(part(1, 0, 10, true, false), true), Step::Wait);
        assert_eq!(ready(parts.take(part(1, 0, 5, false, false), false)), (15, true, false));
        assert_eq!(
            ready(parts.take(part(1, 0, 5, false, false), true)),
            (5, false, false),
            "the rest as well"
        );
        assert_eq!(ready(parts.take(part(1, 0, 5, false, true), true)), (5, false, true));
        assert!(parts.begun.is_empty());
    }

    #[test]
    fn an_abandoned_message_leaves_nothing() {
        let abort = |ssn| PartialAbort { stream: 1, ssn, unordered: false };
        let mut parts = Parts::default();
        assert_eq!(parts.take(part(1, 0, 10, true, false), true), Step::Wait);
        parts.abort(abort(0));
        assert!(parts.begun.is_empty() && parts.charge == 0);
        // The event may precede the first part.
        parts.abort(abort(1));
        assert_eq!(parts.take(part(1, 1, 10, true, false), true), Step::Wait);
        assert_eq!(parts.take(part(1, 2, 10, true, false), true), Step::Wait);
        assert_eq!(ready(parts.take(part(1, 2, 10, false, true), true)), (20, true, true));
    }
}
