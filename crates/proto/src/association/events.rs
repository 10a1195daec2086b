//! [`EventQueue`]: events that the application has not taken yet. Bounded against a peer that makes them
//! faster than they are taken.
//!
//! When the queue is full, chunks whose effects are events wait with the peer (ASCONF, the COOKIE ECHO of a
//! restart: they are retransmitted) or are denied (RE-CONFIG), what an event said before is replaced by what
//! it says now, and reports about single packets are dropped. The rest is bounded by what the application
//! itself asked for or sent.

use std::collections::VecDeque;

use crate::Event;
use crate::auth::AuthEvent;

/// Events that may wait before a peer's requests do.
pub(super) const MAX_WAITING_EVENTS: usize = 1024;

/// Events in order.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: VecDeque<Event>,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        if self.is_full() {
            if matches!(event, Event::PeerError { .. }) {
                return;
            }
            if let Some(old) = self.waiting.iter().position(|old| is_superseded(old, &event)) {
                self.waiting.remove(old);
            }
        }
        self.waiting.push_back(event);
    }

    pub(super) fn extend(&mut self, events: impl Iterator<Item = Event>) {
        self.waiting.extend(events);
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.waiting.is_empty() && self.waiting.capacity() > 0 {
            // Events are rare, associations may be many: no room is kept for them.
            self.waiting = VecDeque::new();
        }
        self.waiting.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Nothing may be done for the peer that makes more.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING_EVENTS
    }
}

/// `new` says of the same thing what it is now.
fn is_superseded(old: &Event, new: &Event) -> bool {
    match (old, new) {
        (Event::PathState { path: old, .. }, Event::PathState { path: new, .. })
        | (Event::PathMtu { path: old, .. }, Event::PathMtu { path: new, .. }) => old == new,
        (Event::PrimaryChanged { .. }, Event::PrimaryChanged { .. }) | (Event::Writable, Event::Writable) => {
            true
        }
        // A peer that signs with one key and the next in turn
        (
            Event::Authentication(AuthEvent::NewKey { .. }),
            Event::Authentication(AuthEvent::NewKey { .. }),
        ) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossReason, PathId, PathState};

    #[test]
    fn a_full_queue_keeps_the_latest_of_each_thing_and_what_happens_once() {
        let mut queue = EventQueue::default();
        let path = |n: u32, state| Event::PathState { path: PathId::new(n), state };
        for n in 0..MAX_WAITING_EVENTS {
            assert!(!queue.is_full(), "{n}");
            queue.push(path(n as u32 % 3, PathState::Active));
        }
        assert!(queue.is_full());
        for n in 0..10_000 {
            queue.push(path(n % 3, PathState::Inactive));
            queue.push(Event::PeerError { cause: 1 });
            queue.push(Event::Writable);
            queue.push(Event::Authentication(AuthEvent::NewKey { key: n as u16 % 2 }));
        }
        queue.push(Event::Lost(LossReason::Aborted));
        let all: Vec<Event> = core::iter::from_fn(|| queue.pop()).collect();
        assert!(all.len() <= MAX_WAITING_EVENTS + 3, "{}", all.len());
        assert_eq!(all.last(), Some(&Event::Lost(LossReason::Aborted)));
        for n in 0..3 {
            let last = all
                .iter()
                .rev()
                .find(|event| matches!(event, Event::PathState { path, .. } if *path == PathId::new(n)));
            assert_eq!(last, Some(&path(n, PathState::Inactive)));
        }
    }
}
