//! The event queue, in one total order: time, then insertion number.
//!
//! An entry is one 128-bit key and names a component, never a packet: links keep their own packets in flight
//! and have at most one wake-up here, so that the queue holds about one entry per busy component. It
//! does not depend on what the components do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use msctp_units::Time;

/// The component to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A direction of a link delivers a packet.
    Link(u32),
    /// A transport endpoint's deadline.
    Host(u32),
    /// An application's next action is due.
    App(u32),
    /// A scheduled action is due.
    Action(u32),
    /// The sampling probes are due.
    Probe,
    /// An end of a TCP connection has a deadline. The index is twice the connection's number, plus one for
    /// the server.
    Tcp(u32),
    /// A cell delivers a packet, or a station's turn begins.
    Air(u32),
    /// The deadline of a mobility agent, a mobile or a middlebox.
    Node(u32),
}

const INDEX_BITS: u32 = 21;
const KIND_BITS: u32 = 3;
const TARGET_BITS: u32 = INDEX_BITS + KIND_BITS;

impl Target {
    /// Maximum number of components of one kind.
    pub(crate) const MAX_INDEX: usize = (1 << INDEX_BITS) - 1;

    fn encode(self) -> u32 {
        let (kind, index) = match self {
            Self::Link(i) => (0, i),
            Self::Host(i) => (1, i),
            Self::App(i) => (2, i),
            Self::Action(i) => (3, i),
            Self::Probe => (4, 0),
            Self::Tcp(i) => (5, i),
            Self::Air(i) => (6, i),
            Self::Node(i) => (7, i),
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
            4 => Self::Probe,
            5 => Self::Tcp(index),
            6 => Self::Air(index),
            _ => Self::Node(index),
        }
    }
}

/// A priority queue of wake-ups. Keys are `time (64) | insertion number (40) | target (24)`, so that their
/// order is that of time, then insertion number.
///
/// Near wake-ups, such as those of links, go unsorted into the slots of a timing wheel. A slot is sorted when
/// its time comes, with few entries. Wake-ups beyond the wheel, such as timeouts, go into a heap. The cost of
/// the many near ones therefore does not grow with the number of components.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// Wake-ups of the current slot ([`cursor`](Self::cursor)) and earlier ones, latest first.
    current: Vec<u128>,
    /// The current slot, counted from the origin of time.
    cursor: u64,
    wheel: Wheel,
    far: BinaryHeap<Reverse<u128>>,
    inserted: u64,
}

/// A slot is 2¹⁴ ns (16 us) long: on fast links it holds a few packets' wake-ups.
const SLOT_BITS: u32 = 14;

fn slot_of(key: u128) -> u64 {
    (key >> (64 + SLOT_BITS)) as u64
}

impl EventQueue {
    /// Schedules a wake-up of `target` at `at`, after everything already scheduled for that instant.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.inserted += 1;
        let order = self.inserted << TARGET_BITS | u64::from(target.encode());
        let key = u128::from(at.as_nanos()) << 64 | u128::from(order);
        let slot = slot_of(key);
        if slot <= self.cursor {
            let place = self.current.partition_point(|&other| other > key);
            self.current.insert(place, key);
        } else if slot - self.cursor < SLOTS {
            self.wheel.push(slot, key);
        } else {
            self.far.push(Reverse(key));
        }
    }

    /// Removes and returns the next wake-up that is due at or before `end`.
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Target)> {
        if self.current.is_empty() {
            self.turn();
        }
        let near = self.current.last().copied().unwrap_or(u128::MAX);
        let far = self.far.peek().map_or(u128::MAX, |&Reverse(key)| key);
        let key = near.min(far);
        let at = Time::from_nanos((key >> 64) as u64);
        // No key is as great as this: insertion numbers start at 1 and stay below 2⁴⁰.
        if at > end || key == u128::MAX {
            return None;
        }
        if near < far {
            self.current.pop();
        } else {
            self.far.pop();
            // The wheel has no earlier wake-up: its slot would be the current one.
            self.cursor = self.cursor.max(slot_of(key));
        }
        Some((at, Target::decode(key as u32 & ((1 << TARGET_BITS) - 1))))
    }

    /// Returns when the next wake-up is due.
    pub(crate) fn next_at(&mut self) -> Option<Time> {
        if self.current.is_empty() {
            self.turn();
        }
        let near = self.current.last().copied();
        let far = self.far.peek().map(|&Reverse(key)| key);
        let key = near.into_iter().chain(far).min()?;
        Some(Time::from_nanos((key >> 64) as u64))
    }

    /// Advances to the next slot of the wheel, unless the heap has an earlier wake-up.
    fn turn(&mut self) {
        let Some(slot) = self.wheel.next_after(self.cursor) else { return };
        if self.far.peek().is_some_and(|&Reverse(key)| slot_of(key) < slot) {
            return;
        }
        self.cursor = slot;
        self.wheel.drain(slot, &mut self.current);
        self.current.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Returns the number of scheduled wake-ups.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.current.len() + self.wheel.len() + self.far.len()
    }
}

/// Number of slots of the wheel, which together cover 67 ms.
const SLOTS: u64 = 64 * 64;

/// The end of a list.
const NIL: u32 = u32::MAX;

/// Lists of keys by slot, and the set of slots with entries. Covers the slots after the cursor, one round.
#[derive(Debug)]
struct Wheel {
    /// First entry of each slot's list.
    heads: Vec<u32>,
    entries: Vec<Entry>,
    /// First entry of the free list.
    free: u32,
    /// A bit for each slot.
    occupied: [u64; 64],
    /// A bit for each word of `occupied`.
    summary: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    next: u32,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            heads: vec![NIL; SLOTS as usize],
            entries: Vec::new(),
            free: NIL,
            occupied: [0; 64],
            summary: 0,
        }
    }
}

impl Wheel {
    fn push(&mut self, slot: u64, key: u128) {
        let index = (slot % SLOTS) as usize;
        let entry = Entry { key, next: self.heads[index] };
        let at = if self.free == NIL {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.entries[at as usize].next;
            self.entries[at as usize] = entry;
            at
        };
        self.heads[index] = at;
        self.occupied[index / 64] |= 1 << (index % 64);
        self.summary |= 1 << (index / 64);
    }

    /// Returns the first slot after `cursor` with entries.
    fn next_after(&self, cursor: u64) -> Option<u64> {
        if self.summary == 0 {
            return None;
        }
        let start = ((cursor + 1) % SLOTS) as usize;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.occupied[word] >> bit;
        let index = if rest != 0 {
            start + rest.trailing_zeros() as usize
        } else {
            // Search the words after this one, then wrap around to it.
            let turned = self.summary.rotate_right(word as u32 + 1);
            let word = (word + 1 + turned.trailing_zeros() as usize) % 64;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        let ahead = (index as u64).wrapping_sub(cursor + 1) % SLOTS;
        Some(cursor + 1 + ahead)
    }

    /// Moves a slot's keys to `out`.
    fn drain(&mut self, slot: u64, out: &mut Vec<u128>) {
        let index = (slot % SLOTS) as usize;
        let mut at = std::mem::replace(&mut self.heads[index], NIL);
        while at != NIL {
            let entry = &mut self.entries[at as usize];
            out.push(entry.key);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = at;
            at = next;
        }
        self.occupied[index / 64] &= !(1 << (index % 64));
        if self.occupied[index / 64] == 0 {
            self.summary &= !(1 << (index / 64));
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let mut unused = 0;
        let mut at = self.free;
        while at != NIL {
            unused += 1;
            at = self.entries[at as usize].next;
        }
        self.entries.len() - unused
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
            Target::Air(3),
            Target::Node(2),
        ] {
            assert_eq!(Target::decode(target.encode()), target);
        }
    }

    #[test]
    fn nothing_after_the_end_is_returned_and_nothing_is_lost() {
        let mut queue = EventQueue::default();
        queue.push(Time::from_nanos(5_000_000_000), Target::App(2));
        assert_eq!(queue.next_at(), Some(Time::from_nanos(5_000_000_000)));
        queue.push(Time::from_nanos(5), Target::App(1));
        assert_eq!(queue.next_at(), Some(Time::from_nanos(5)));
        assert_eq!(queue.pop(Time::from_nanos(4)), None);
        assert_eq!(queue.pop(Time::from_nanos(5)), Some((Time::from_nanos(5), Target::App(1))));
        let late = Time::from_nanos(5_000_000_000);
        assert_eq!(queue.next_at(), Some(late));
        assert_eq!(queue.pop(late), Some((late, Target::App(2))));
        assert_eq!(queue.next_at(), None);
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.pop(Time::MAX), None);
    }

    proptest! {
        /// The queue gives the order of the plain definition: the earliest time first, then the first
        /// inserted.
        #[test]
        fn order_is_time_then_insertion(
            steps in prop::collection::vec((0..3u8, 0..32u32, any::<u64>(), any::<bool>()), 1..400),
        ) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (count, (what, bits, draw, stop)) in steps.into_iter().enumerate() {
                // Delays of all sizes: within a slot, within the wheel, beyond it.
                let delay = draw & ((1 << bits) - 1);
                if what < 2 {
                    queue.push(Time::from_nanos(now + delay), Target::Link(count as u32));
                    model.push((now + delay, count as u32));
                } else {
                    let expected = model.iter().copied().min();
                    if stop {
                        // Advance time before the next wake-up: none is returned.
                        let before = expected.map_or(now, |(at, _)| at.saturating_sub(1)).max(now);
                        if expected.is_none_or(|(at, _)| at > before) {
                            prop_assert_eq!(queue.pop(Time::from_nanos(before)), None);
                            now = before;
                            continue;
                        }
                    }
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
