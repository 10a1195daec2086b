//! [`EventQueue`]: events that the application has not read yet. Bounded against a peer that causes them
//! faster than they are read.
//!
//! When the queue is full, chunks that cause events are dropped, so that the peer retransmits them (ASCONF,
//! the COOKIE ECHO of a restart), or denied (RE-CONFIG). A newer event replaces an older one about the same
//! thing, and reports about single packets are dropped. The application's own requests and messages bound the
//! rest.

use std::collections::VecDeque;

use super::moving::News;
use crate::auth::AuthEvent;
use crate::event::Event;

/// Number of queued events above which requests of the peer are dropped or denied.
pub(super) const MAX_WAITING_EVENTS: usize = 1024;

/// Events in order.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: VecDeque<Event>,
    /// What the events since the last decision about addresses mean.
    pub(super) news: News,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        self.news = self.news.max(News::of(&event));
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
            // Events are rare, and associations may be many: frees the buffer
            self.waiting = VecDeque::new();
        }
        self.waiting.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether requests of the peer that cause events must be dropped or denied.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING_EVENTS
    }
}

/// Returns whether `new` makes `old` obsolete.
fn is_superseded(old: &Event, new: &Event) -> bool {
    match (old, new) {
        (Event::PathState { path: old, .. }, Event::PathState { path: new, .. })
        | (Event::PathMtu { path: old, .. }, Event::PathMtu { path: new, .. }) => old == new,
        (Event::PrimaryChanged { .. }, Event::PrimaryChanged { .. }) | (Event::Writable, Event::Writable) => {
            true
        }
        // A peer may alternate between two keys.
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
    use crate::addr::PathId;
    use crate::event::LossReason;
    use crate::stats::PathState;

    #[test]
    fn a_full_queue_keeps_the_latest_event_of_each_kind_and_every_one_time_event() {
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
