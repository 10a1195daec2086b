//! [`Events`]: the events of an association for one more listener.

use std::fmt;

use msctp_proto::Event;

use crate::association::{Association, slot_of};
use crate::event_queue::EventQueue;

/// The events of an association for one listener: all from [`Association::events`] on, whatever others take.
/// Counts as a handle of the association.
pub struct Events {
    association: Association,
    number: u64,
}

/// # Events
impl Association {
    /// Returns the events from now on for one more listener, such as a library's beside the application's.
    pub fn events(&self) -> Events {
        let mut state = self.shared.lock();
        let listeners = &mut slot_of(&mut state, self.handle).listeners;
        let number = listeners.last().map_or(0, |(last, _)| last + 1);
        listeners.push((number, EventQueue::default()));
        drop(state);
        Events { association: self.clone(), number }
    }
}

impl Events {
    /// Returns the next event (RFC 9260 §11.2), as [`Association::event`] does.
    pub async fn next(&mut self) -> Option<Event> {
        let number = self.number;
        self.association
            .wait(|slot| {
                let own = slot.listeners.iter_mut().find(|(other, _)| *other == number);
                let event = own.and_then(|(_, events)| events.pop());
                slot.event_or_end(event)
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
