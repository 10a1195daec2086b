//! [`Slot`]: what this crate keeps of an association, beside the core.

use std::collections::VecDeque;

use msctp_proto::{AssociationStats, Event, PathStats, RemotePorts};
use msctp_units::Time;

use crate::error::AssociationError;
use crate::history::Record;
use crate::keys::Keys;
use crate::log::Log;
use crate::mobile::Moves;
use crate::numbers::Numbers;
use crate::wakers::{Wait, Wakers};

/// Number of events kept for the application; the oldest are dropped first.
const EVENTS: usize = 256;

/// Bytes of undelivered messages in the kept events.
const EVENT_BYTES: usize = 1 << 20;

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
    pub(crate) ports: RemotePorts,
    pub(crate) phase: Phase,
    /// Number of [`Association`](crate::Association) handles.
    pub(crate) handles: usize,
    /// Waits to be accepted.
    pub(crate) queued: bool,
    /// Time at which to abort the association, while its peer has not proved its keys and it is not offered
    /// to `accept` (`Config::protection`).
    pub(crate) unproven: Option<Time>,
    /// Time at which to give the set-up up, while it lasts.
    pub(crate) connect_by: Option<Time>,
    /// Key management by TLS.
    pub(crate) keys: Option<Box<Keys>>,
    /// Numbers of outbound and inbound streams.
    pub(crate) streams: (u16, u16),
    pub(crate) numbers: Numbers,
    pub(crate) events: VecDeque<Event>,
    /// Bytes of messages in `events`.
    event_bytes: usize,
    /// Statistics at the end of the association.
    pub(crate) last: Option<Box<Last>>,
    /// SCTP ports of this end and the peer.
    pub(crate) sctp_ports: (u16, u16),
    /// True if this end began the association.
    pub(crate) initiator: bool,
    /// The stream to open next, if it is free.
    pub(crate) next_open: u16,
    pub(crate) wakers: Wakers<Wait>,
    /// True if messages were discarded since the association came up or restarted: by a restart, if its event
    /// follows.
    discarded: bool,
    /// Number of restarts of the peer that discarded sent messages.
    pub(crate) losing_restarts: u32,
    /// Outstanding changes of addresses; `None` until the endpoint follows its interfaces.
    pub(crate) moves: Option<Box<Moves>>,
    /// Time at which the association came up, and its moves.
    pub(crate) record: Record,
    pub(crate) log: Log,
}

impl Slot {
    pub(crate) fn new(udp_port: u16, phase: Phase, handles: usize) -> Self {
        Self {
            ports: RemotePorts::new(udp_port),
            phase,
            handles,
            queued: false,
            unproven: None,
            connect_by: None,
            keys: None,
            streams: (0, 0),
            numbers: Numbers::default(),
            events: VecDeque::new(),
            event_bytes: 0,
            last: None,
            sctp_ports: (0, 0),
            initiator: handles > 0,
            next_open: 0,
            wakers: Wakers::default(),
            discarded: false,
            losing_restarts: 0,
            moves: None,
            record: Record::default(),
            log: Log::none(),
        }
    }

    pub(crate) fn note(&mut self, event: Event) {
        match &event {
            Event::KeyMessage => return,
            Event::Readable => return self.wakers.wake(Wait::Read),
            Event::StreamReadable(stream) => return self.numbers.wake(*stream),
            Event::Writable => return self.wakers.wake(Wait::Write),
            Event::SendFailed(failure) => self.discarded |= !failure.abandoned,
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
            Event::PathRemoved { at, .. } => self.ports.forget(at.local, at.remote),
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
        self.event_bytes += payload(&event);
        if self.events.len() == self.events.capacity() && self.events.len() < 4 {
            // Most associations keep the one or two events of their set-up: no room beside them.
            self.events.reserve_exact(1);
        }
        self.events.push_back(event);
        while self.events.len() > EVENTS || self.event_bytes > EVENT_BYTES && self.events.len() > 1 {
            drop(self.next_event());
        }
        self.wakers.wake(Wait::Event);
    }

    /// Wakes every task that waits for the association.
    pub(crate) fn wake_all(&mut self) {
        self.wakers.wake_all();
        self.numbers.wake_all();
    }

    /// Takes the oldest event.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.event_bytes -= payload(&event);
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

/// Statistics of an association that is over.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) stats: AssociationStats,
    pub(crate) paths: Vec<PathStats>,
}
