//! [`EventQueue`]: the events that a listener has not taken. A listener that is slow loses the oldest.

use std::collections::VecDeque;

use msctp_proto::Event;

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
