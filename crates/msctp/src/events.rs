//! [`Events`]: the events of an association for one more listener.

use std::collections::VecDeque;
use std::fmt;

use msctp_proto::Event;

use crate::association::{Association, slot_of};
use crate::slot::Phase;

/// Number of events kept for a listener; the oldest are dropped first.
const EVENTS: usize = 256;

/// Bytes of undelivered messages in the kept events.
const EVENT_BYTES: usize = 1 << 20;

/// Events that a listener has not taken.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<Event>,
    /// Bytes of messages in `events`.
    bytes: usize,
}

impl EventQueue {
    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += payload(&event);
        if self.events.len() == self.events.capacity() && self.events.len() < 4 {
            // Most associations keep the one or two events of their set-up: no room beside them.
            self.events.reserve_exact(1);
        }
        self.events.push_back(event);
        while self.events.len() > EVENTS || self.bytes > EVENT_BYTES && self.events.len() > 1 {
            drop(self.pop());
        }
    }

    /// Takes the oldest event.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.bytes -= payload(&event);
        Some(event)
    }
}

/// Returns the bytes of the message that an event carries.
fn payload(event: &Event) -> usize {
    match event {
        Event::SendFailed(failure) => failure.message.data.len(),
        _ => 0,
    }
}

/// The events of an association for one listener: all from [`Association::events`] on, whatever others take. Counts
/// as a handle of the association.
pub struct Events {
    association: Association,
    number: u64,
}

impl Events {
    pub(crate) fn new(association: Association) -> Self {
        let mut state = association.shared.lock();
        let listeners = &mut slot_of(&mut state, association.handle).listeners;
        let number = listeners.last().map_or(0, |(last, _)| last + 1);
        listeners.push((number, EventQueue::default()));
        drop(state);
        Self { association, number }
    }

    /// Returns the next event (RFC 9260 §11.2), as [`Association::event`] does.
    pub async fn next(&mut self) -> Option<Event> {
        let number = self.number;
        self.association
            .wait(|slot| {
                let own = slot.listeners.iter_mut().find(|(other, _)| *other == number);
                match own.and_then(|(_, events)| events.pop()) {
                    Some(event) => Some(Some(event)),
                    None => matches!(slot.phase, Phase::Over(_)).then_some(None),
                }
            })
            .await
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let number = self.number;
        let mut state = self.association.shared.lock();
        slot_of(&mut state, self.association.handle).listeners.retain(|(other, _)| *other != number);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("association", &self.association).finish_non_exhaustive()
    }
}
