//! The event queue: what happens next, in one total order — time, then insertion number.
//!
//! An entry is one 128-bit key and names a component, never a packet: links keep their own packets in flight and
//! have at most one wake-up here, so that the queue holds about one entry per busy component. It knows nothing of
//! what the components do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use msctp_units::Time;

/// Who is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One direction of a link has something to deliver.
    Link(u32),
    /// A transport endpoint's deadline.
    Host(u32),
    /// An application wants to act.
    App(u32),
    /// A scheduled action is due.
    Action(u32),
    /// The sampling probes are due.
    Probe,
}

const INDEX_BITS: u32 = 21;
const KIND_BITS: u32 = 3;
const TARGET_BITS: u32 = INDEX_BITS + KIND_BITS;

impl Target {
    /// Largest number of components of one kind.
    pub(crate) const MAX_INDEX: usize = (1 << INDEX_BITS) - 1;

    fn encode(self) -> u32 {
        let (kind, index) = match self {
            Self::Link(i) => (0, i),
            Self::Host(i) => (1, i),
            Self::App(i) => (2, i),
            Self::Action(i) => (3, i),
            Self::Probe => (4, 0),
        };
        debug_assert!(index as usize <= Self::MAX_INDEX);
        kind << INDEX_BITS | index
    }

    fn decode(code: u32) -> Self {
        let index = code & Self::MAX_INDEX as u32;
        match code >> INDEX_BITS {
            0 => Self::Link(index),
            1 => Self::Host(index),
            2 => Self::App(index),
            3 => Self::Action(index),
            _ => Self::Probe,
        }
    }
}

/// A priority queue of wake-ups. Keys are `time (64) | insertion number (40) | target (24)`, so that comparing
/// two keys is comparing time, then insertion number.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    inserted: u64,
    /// The top of the heap has been handed out but not yet taken off: the next push overwrites it, which saves
    /// one of the two walks through the heap in the usual case that handling an event schedules another.
    top_is_spent: bool,
}

impl EventQueue {
    /// Wakes `target` at `at`, after everything already scheduled for that instant.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.inserted += 1;
        let order = self.inserted << TARGET_BITS | u64::from(target.encode());
        let key = Reverse(u128::from(at.as_nanos()) << 64 | u128::from(order));
        if self.top_is_spent
            && let Some(mut top) = self.heap.peek_mut()
        {
            *top = key;
            self.top_is_spent = false;
        } else {
            self.heap.push(key);
        }
    }

    /// The next wake-up that is due at or before `end`.
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Target)> {
        if self.top_is_spent {
            self.heap.pop();
            self.top_is_spent = false;
        }
        let Reverse(key) = *self.heap.peek()?;
        let at = Time::from_nanos((key >> 64) as u64);
        if at > end {
            return None;
        }
        self.top_is_spent = true;
        Some((at, Target::decode(key as u32 & ((1 << TARGET_BITS) - 1))))
    }

    /// How many wake-ups wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len() - usize::from(self.top_is_spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_survive_encoding() {
        for target in [
            Target::Link(0),
            Target::Link(Target::MAX_INDEX as u32),
            Target::Host(7),
            Target::App(1),
            Target::Action(99),
            Target::Probe,
        ] {
            assert_eq!(Target::decode(target.encode()), target);
        }
    }

    #[test]
    fn nothing_after_the_end_comes_out_and_nothing_is_lost() {
        let mut queue = EventQueue::default();
        queue.push(Time::from_nanos(5), Target::App(1));
        assert_eq!(queue.pop(Time::from_nanos(4)), None);
        assert_eq!(queue.pop(Time::from_nanos(5)), Some((Time::from_nanos(5), Target::App(1))));
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.pop(Time::MAX), None);
    }

    proptest! {
        /// Against the plain definition: among what is in the queue, the least time, then the first inserted.
        #[test]
        fn order_is_time_then_insertion(steps in prop::collection::vec((0..3u8, 0..20u64), 1..200)) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (count, (what, delay)) in steps.into_iter().enumerate() {
                if what < 2 {
                    queue.push(Time::from_nanos(now + delay), Target::Link(count as u32));
                    model.push((now + delay, count as u32));
                } else {
                    let expected = model.iter().copied().min();
                    let popped = queue.pop(Time::MAX);
                    prop_assert_eq!(popped, expected.map(|(at, id)| (Time::from_nanos(at), Target::Link(id))));
                    if let Some(first) = expected {
                        now = first.0;
                        model.retain(|&entry| entry != first);
                    }
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
