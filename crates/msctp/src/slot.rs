//! [`Slot`]: what this crate keeps of an association, beside the core.

use msctp_proto::{Association, AssociationStats, Event, Message, PathStats, Restarted};
use msctp_units::Time;

use crate::error::AssociationError;
use crate::event_queue::EventQueue;
use crate::history::Record;
use crate::keys::Keys;
use crate::log::Log;
use crate::numbers::Numbers;
use crate::wakers::{Wait, Wakers};
use crate::whole::{MAX_MESSAGE, Parts, Step};

/// Number of tasks that are woken at a time when there is room in the send buffer.
const WRITERS: usize = 16;

/// The phase of an association.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Connecting,
    Up,
    /// `None`: shut down gracefully.
    Over(Option<AssociationError>),
}

impl Phase {
    /// Returns how the association has ended, if it has.
    pub(crate) fn ended(&self) -> Option<Result<(), AssociationError>> {
        match self {
            Self::Over(error) => Some(error.clone().map_or(Ok(()), Err)),
            Self::Connecting | Self::Up => None,
        }
    }
}

/// The part of an association's state outside the core.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) phase: Phase,
    /// Number of [`Association`](crate::Association) handles.
    pub(crate) handles: usize,
    /// Waits to be accepted.
    pub(crate) queued: bool,
    /// Time at which to abort the association, while its peer has not proved its keys and it is not offered
    /// to `accept` ([`Security`](crate::Security)).
    pub(crate) unproven: Option<Time>,
    /// Time at which to give the set-up up, while it lasts.
    pub(crate) connect_by: Option<Time>,
    /// Key management by TLS.
    pub(crate) keys: Option<Box<Keys>>,
    /// Numbers of outbound and inbound streams.
    pub(crate) streams: (u16, u16),
    pub(crate) numbers: Numbers,
    /// Messages that arrive in parts.
    parts: Option<Box<Parts>>,
    pub(crate) events: EventQueue,
    /// Queues of further listeners, with their numbers.
    pub(crate) listeners: Vec<(u64, EventQueue)>,
    /// Statistics at the end of the association.
    pub(crate) last: Option<Box<Last>>,
    /// SCTP ports of this end and the peer.
    pub(crate) sctp_ports: (u16, u16),
    /// True if this end began the association.
    pub(crate) initiator: bool,
    /// The stream to open next, if it is free.
    pub(crate) next_open: u16,
    pub(crate) wakers: Wakers<Wait>,
    /// True from when a message did not fit into the send buffer until the core reports room.
    pub(crate) is_full: bool,
    /// True if messages were discarded since the association came up or restarted: by a restart, if its event
    /// follows.
    discarded: bool,
    /// Number of restarts of the peer that discarded sent messages.
    pub(crate) losing_restarts: u32,
    /// Number of restarts of the peer that readers have reached, behind all that came before.
    pub(crate) restarts: u32,
    /// Time at which the association came up, and its moves.
    pub(crate) record: Record,
    pub(crate) log: Log,
}

impl Slot {
    pub(crate) fn new(phase: Phase, handles: usize) -> Self {
        Self {
            phase,
            handles,
            queued: false,
            unproven: None,
            connect_by: None,
            keys: None,
            streams: (0, 0),
            numbers: Numbers::default(),
            parts: None,
            events: EventQueue::default(),
            listeners: Vec::new(),
            last: None,
            sctp_ports: (0, 0),
            initiator: handles > 0,
            next_open: 0,
            wakers: Wakers::default(),
            is_full: false,
            discarded: false,
            losing_restarts: 0,
            restarts: 0,
            record: Record::default(),
            log: Log::none(),
        }
    }

    pub(crate) fn note(&mut self, event: Event) {
        match &event {
            Event::KeyMessage => return,
            Event::Readable => return self.wakers.wake(Wait::Read),
            Event::StreamReadable(stream) => return self.numbers.wake(*stream),
            Event::StreamWritable(stream) => return self.wakers.wake(Wait::Credit(*stream)),
            Event::Writable => {
                self.is_full = false;
                return;
            }
            Event::SendFailed(failure) => self.discarded |= !failure.abandoned,
            // A stream with a handle hands parts on.
            Event::PartialDeliveryAborted(abort) if !self.numbers.is_used(abort.stream) => {
                self.parts.get_or_insert_default().abort(*abort);
            }
            Event::Restarted => {
                self.losing_restarts += u32::from(std::mem::take(&mut self.discarded));
                self.numbers.on_restart();
                self.wakers.wake(Wait::Flush);
            }
            Event::Connected { outbound_streams, inbound_streams } => {
                self.discarded = false;
                self.streams = (*outbound_streams, *inbound_streams);
                self.numbers.openers.wake_first();
                if self.keys.as_ref().is_none_or(|keys| keys.is_ready()) {
                    self.phase = Phase::Up;
                }
            }
            Event::Closed => {
                self.phase = Phase::Over(self.keys.as_ref().and_then(|keys| keys.failure()));
                self.wake_all();
            }
            Event::Lost(reason) => {
                let failure = self.keys.as_ref().and_then(|keys| keys.failure());
                self.phase =
                    Phase::Over(Some(failure.unwrap_or_else(|| AssociationError::Lost(reason.clone()))));
                self.wake_all();
            }
            _ => {}
        }
        self.listeners.iter_mut().for_each(|(_, events)| events.push(event.clone()));
        self.events.push(event);
        self.wakers.wake(Wait::Event);
    }

    /// Wakes some of the tasks that wait for room in the send buffer; each that sends wakes another. To wake
    /// thousands for a room that suffices for ten would cost more than to send. Returns whether there may be
    /// more.
    pub(crate) fn wake_writers(&mut self) -> bool {
        self.wakers.wake_first(Wait::Write, WRITERS) == WRITERS
    }

    /// Wakes every task that waits for the association.
    pub(crate) fn wake_all(&mut self) {
        self.wakers.wake_all();
        self.numbers.wake_all();
    }

    /// Returns what a listener gets that took `event` from its queue: that; `None` after the end of the
    /// association; nothing yet.
    pub(crate) fn event_or_end(&self, event: Option<Event>) -> Option<Option<Event>> {
        match event {
            Some(event) => Some(Some(event)),
            None => matches!(self.phase, Phase::Over(_)).then_some(None),
        }
    }

    /// Records that a reader goes on with what came after a restart of the peer.
    fn pass_restart(&mut self) {
        self.restarts += 1;
        // The rest of what had arrived in part never comes.
        self.parts = None;
    }

    /// Returns the next stream of this parity that nobody has taken and that the peer has sent on or ended.
    pub(crate) fn next_stream(&mut self, association: &mut Association, parity: u16) -> Option<u16> {
        loop {
            let numbers = &self.numbers;
            let wanted = |stream| stream % 2 == parity && !numbers.is_used(stream);
            match association.next_stream(wanted) {
                Ok(next) => return next,
                Err(Restarted) => self.pass_restart(),
            }
        }
    }

    /// Takes the next message of a stream without a handle, `whole` or in parts. Returns also whether
    /// anything was taken from the core.
    pub(crate) fn next_message(
        &mut self,
        association: &mut Association,
        whole: bool,
    ) -> (Result<Option<Message>, AssociationError>, bool) {
        let mut consumed = false;
        loop {
            let message = match association.recv() {
                Ok(Some(message)) => message,
                Ok(None) => return (Ok(None), consumed),
                Err(Restarted) => {
                    self.pass_restart();
                    continue;
                }
            };
            consumed = true;
            if message.begin && message.end {
                let stream = message.stream;
                let is_too_large = whole && message.data.len() > MAX_MESSAGE;
                let too_large = AssociationError::MessageTooLarge { stream };
                return (if is_too_large { Err(too_large) } else { Ok(Some(message)) }, true);
            }
            match self.parts.get_or_insert_default().take(message, whole) {
                Step::Ready(message) => return (Ok(Some(message)), true),
                Step::TooLarge { stream } => {
                    return (Err(AssociationError::MessageTooLarge { stream }), true);
                }
                Step::Wait => {}
            }
        }
    }
}

/// Statistics of an association that is over.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) stats: AssociationStats,
    pub(crate) paths: Vec<PathStats>,
}
