//! Timer deadlines of all associations. A deadline that moves back costs nothing: the old heap entry expires
//! early and is set anew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use msctp_units::Time;

/// Deadlines by slot.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// The valid heap entry of each slot.
    wanted: Vec<Option<Time>>,
}

impl Schedule {
    /// Sets the deadline of a slot.
    pub(super) fn set(&mut self, slot: u32, deadline: Option<Time>) {
        let index = slot as usize;
        if index >= self.wanted.len() {
            self.wanted.resize(index + 1, None);
        }
        let entry = &mut self.wanted[index];
        match (*entry, deadline) {
            (None, None) => return,
            (Some(_), None) => *entry = None,
            (Some(set), Some(deadline)) if set <= deadline => return,
            (_, Some(deadline)) => {
                *entry = Some(deadline);
                self.heap.push(Reverse((deadline, slot)));
            }
        }
        self.prune();
    }

    /// Removes stale entries.
    fn prune(&mut self) {
        while let Some(&Reverse((time, slot))) = self.heap.peek()
            && self.wanted[slot as usize] != Some(time)
        {
            self.heap.pop();
        }
    }

    /// Returns the earliest heap entry. The slot's deadline may be later.
    #[inline]
    pub(super) fn earliest(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _))| *time)
    }

    /// Removes and returns a slot whose deadline has passed. The slot then has no deadline until one is set.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<u32> {
        let &Reverse((time, slot)) = self.heap.peek().filter(|Reverse((time, _))| *time <= now)?;
        debug_assert_eq!(self.wanted[slot as usize], Some(time));
        self.heap.pop();
        self.wanted[slot as usize] = None;
        self.prune();
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn an_earlier_deadline_applies_at_once_and_a_later_one_when_the_old_one_expires() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(10)));
        schedule.set(1, Some(at(20)));
        schedule.set(0, Some(at(30)));
        assert_eq!(schedule.earliest(), Some(at(10)), "too early is harmless");
        schedule.set(1, Some(at(5)));
        assert_eq!(schedule.pop_due(at(4)), None);
        assert_eq!(schedule.pop_due(at(10)), Some(1));
        assert_eq!(schedule.pop_due(at(10)), Some(0));
        assert_eq!(schedule.pop_due(at(100)), None, "the entry at 20 does not count any more");
        schedule.set(0, Some(at(30)));
        schedule.set(0, None);
        assert_eq!(schedule.earliest(), None);
    }
}
