//! [`Mux`]: the connections of an association at one end.

mod connection;
mod limits;
mod streams;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use msctp_units::{Span, Time};

use self::connection::{Connection, DRAINED, Place};
use self::limits::{Held, OpenRate};
pub use self::limits::{Limits, WindowBudget};
use self::streams::Streams;
use crate::frame::{self, CONTROL, Credit, Datagram, End, FrameError, Open, Reason, Target};
use crate::window::INITIAL_WINDOW;

/// Largest number of bytes in a frame of data.
///
/// Without interleaving (RFC 8260 §2) an urgent frame waits for one such frame: 6.6 ms at 20 Mbps.
pub const MAX_DATA: usize = 16 << 10;

/// Largest number of bytes that [`Mux::room`] returns: several frames.
pub const MAX_WRITE: usize = 4 * MAX_DATA;

/// Number of connections up to which each may write [`MAX_WRITE`] bytes at a time, and queue twice as many;
/// with more, each may write and queue [`MAX_DATA`].
const FEW: usize = 64;

/// This end of the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that set the association up.
    Client,
    /// The end that accepted the association.
    Server,
}

/// Priority class of a connection: the value of its stream with the scheduler `priority` (RFC 8260 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Credits.
    Control = 0,
    /// A connection that has sent little since its application last had nothing to send.
    Interactive = 1,
    /// Any other connection.
    Bulk = 2,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Stream of the message.
    pub stream: u16,
    /// Payload protocol identifier of the message.
    pub ppid: u32,
    /// Payload of the message.
    pub data: Bytes,
    /// Priority class of the message.
    pub class: Class,
    /// True if the caller must set the stream's priority to `class` first.
    pub reclassified: bool,
    /// Number of the connection; `None` for control messages.
    connection: Option<u32>,
}

/// A change of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer opens a connection: answer with [`Mux::accept`] or [`Mux::fail`].
    Open(u32, Target),
    /// [`Mux::read`] has new data, or [`Mux::is_open`] changed.
    Readable(u32),
    /// [`Mux::room`] has something new.
    Writable(u32),
    /// A datagram arrived for a connection of kind [`Target::Udp`].
    Datagram(Datagram),
}

/// Result of [`Mux::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Received bytes. Report them with [`Mux::consumed`] when the application has taken them.
    Data(Bytes),
    /// No data yet.
    Pending,
    /// The peer ended its direction.
    Finished,
    /// The connection failed for this reason.
    Failed(End),
}

/// The peer broke the protocol: abort the association.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A frame cannot be decoded.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame arrived on a stream on which it is not allowed.
    #[error("a forwarding frame arrived on stream {0}, on which its kind is not allowed")]
    Stream(u16),
    /// The payload protocol identifier is not that of a frame.
    #[error("payload protocol identifier {0:#010x} is not that of a forwarding frame")]
    Unknown(u32),
    /// More data than the window allows.
    #[error("more data than the window of the connection on stream {0} allows")]
    Window(u16),
    /// The number of a new connection is in use, or belongs to the other end.
    #[error("connection number {0} is in use, or has the parity of this end's numbers")]
    Number(u32),
}

/// The connections of an association at one end.
///
/// The caller passes received messages to [`handle`](Self::handle) and sends what
/// [`poll_transmit`](Self::poll_transmit) returns, in this order. It takes all events after each call.
#[derive(Debug)]
pub struct Mux {
    role: Role,
    limits: Limits,
    rate: OpenRate,
    streams: Streams,
    next_number: u32,
    connections: BTreeMap<u32, Connection>,
    /// Connections by stream, until both directions have ended.
    by_stream: BTreeMap<u16, u32>,
    /// Connections with a credit to send.
    credits: BTreeSet<u32>,
    /// Interactive connections with frames to send, in turn.
    interactive: VecDeque<u32>,
    bulk: BTreeSet<Place>,
    /// Tickets given out among `bulk` so far, which order equal tags.
    places: u64,
    events: VecDeque<Event>,
    round_trip: Span,
    /// Number of the peer's connections, and of those that wait for an answer.
    theirs: usize,
    pending: usize,
    /// Total growth of the windows beyond the initial ones, in bytes.
    grown: u64,
    /// The windows of all connections, in the budgets shared with other associations.
    held: Held,
    /// Virtual time of start-time fair queueing: the bytes that a bulk connection would have sent by now if
    /// it always had data.
    turn: u64,
    /// Bytes by which idle connections may regain precedence beyond their shares.
    spare: u64,
    /// Time of the last call that passed one.
    now: Time,
}

/// Divisor of bulk bytes that gives the bytes by which idle connections may regain precedence.
const SPARE_OF: u64 = 16;

/// Maximum number of bytes by which idle connections may regain precedence at a time.
const MAX_SPARE: u64 = 64 << 10;

impl Mux {
    /// Creates the state of an association without connections.
    pub fn new(role: Role, limits: Limits) -> Self {
        let odd = u16::from(role == Role::Server);
        Self {
            role,
            rate: OpenRate::new(&limits),
            limits,
            streams: Streams::new(frame::FIRST_STREAM + odd),
            next_number: u32::from(odd),
            connections: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            credits: BTreeSet::new(),
            interactive: VecDeque::new(),
            bulk: BTreeSet::new(),
            places: 0,
            events: VecDeque::new(),
            round_trip: Span::from_millis(100),
            theirs: 0,
            pending: 0,
            grown: 0,
            held: Held::default(),
            turn: 0,
            spare: 0,
            now: Time::ZERO,
        }
    }

    /// Makes all windows draw from these budgets. Call it before the first connection.
    #[must_use]
    pub fn with_budgets(mut self, budgets: Vec<WindowBudget>) -> Self {
        self.held = Held::new(budgets);
        self
    }

    /// Sets the association's round-trip time, by which windows grow.
    pub fn set_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// Opens a connection, which may send at once. `streams` is the smaller of the association's numbers of
    /// inbound and outbound streams. Returns `None` if all are in use, or a budget has no window left.
    pub fn open(&mut self, target: Target, streams: u16) -> Option<u32> {
        if self.held.left() < INITIAL_WINDOW.into() {
            return None;
        }
        let stream = self.streams.take(streams)?;
        self.held.take(INITIAL_WINDOW.into());
        while self.connections.contains_key(&self.next_number) {
            self.next_number = self.next_number.wrapping_add(2);
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(2);
        let mut connection = Connection::new(number, stream, (true, target == Target::Udp), self.turn);
        connection.push(frame::OPEN, Open { connection: number, target }.encode());
        self.by_stream.insert(stream, number);
        self.connections.insert(number, connection);
        self.enqueue(number);
        Some(number)
    }

    /// Accepts a connection that the peer opened.
    pub fn accept(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if std::mem::take(&mut connection.unanswered) && connection.failed.is_none() {
            self.pending -= 1;
            connection.push(frame::OPENED, Bytes::from_static(&[frame::VERSION]));
            self.enqueue(number);
        }
    }

    /// Returns whether the peer has accepted the connection that this end opened.
    pub fn is_open(&self, number: u32) -> bool {
        self.connections.get(&number).is_some_and(|connection| connection.opened)
    }

    /// Returns the stream for the [datagrams](Datagram) of a connection of kind [`Target::Udp`]. The caller
    /// sends them as unordered messages.
    ///
    /// Returns `None` before the connection is accepted and after it has ended: an unordered message could
    /// overtake the request.
    pub fn datagram_stream(&self, number: u32) -> Option<u16> {
        let connection = self.connections.get(&number)?;
        let accepted = if connection.ours { connection.opened } else { !connection.unanswered };
        (connection.udp && accepted && !connection.ended_out).then_some(connection.stream)
    }

    /// Ends a connection in both directions and drops its data. Refuses the connection if it was not accepted
    /// yet.
    pub fn fail(&mut self, number: u32, end: End) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        self.pending -= usize::from(std::mem::take(&mut connection.unanswered));
        connection.fail(end, true);
        self.credits.remove(&number);
        self.enqueue(number);
        self.announce_all(number);
    }

    /// Returns the number of bytes that may be written now, at most [`MAX_WRITE`]. After 0, wait for
    /// [`Event::Writable`].
    ///
    /// # Errors
    ///
    /// The connection failed.
    pub fn room(&self, number: u32) -> Result<usize, End> {
        let Some(connection) = self.connections.get(&number) else { return Ok(0) };
        match &connection.failed {
            Some(end) => Err(end.clone()),
            None => Ok(connection.room(connection.at_a_time(self.are_few()))),
        }
    }

    /// Returns whether each connection may queue several frames.
    fn are_few(&self) -> bool {
        self.connections.len() <= FEW
    }

    /// Queues bytes, at most as many as [`room`](Self::room). Accepts the connection if it was not accepted
    /// yet.
    pub fn write(&mut self, number: u32, data: Bytes) {
        self.accept(number);
        let Some(connection) = self.connections.get_mut(&number) else { return };
        // Its class may have changed since it asked for the room: the time without data counts, too.
        debug_assert!(data.len() <= connection.room(MAX_WRITE) || connection.failed.is_some());
        if connection.failed.is_none() && !data.is_empty() {
            connection.end_idle(self.now, &mut self.spare);
            connection.write(data);
            self.enqueue(number);
        }
    }

    /// Records that the application has nothing to write now.
    pub fn idle(&mut self, number: u32) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.note_idle(self.now, self.turn);
        }
    }

    /// Ends this end's direction after the bytes written. Accepts the connection if it was not accepted yet.
    pub fn finish(&mut self, number: u32) {
        self.accept(number);
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.finish() {
            self.enqueue(number);
        }
    }

    /// Returns received bytes.
    pub fn read(&mut self, number: u32) -> Read {
        let Some(connection) = self.connections.get_mut(&number) else { return Read::Finished };
        match (&connection.failed, connection.inbox.pop()) {
            (Some(end), _) => Read::Failed(end.clone()),
            (None, Some(data)) => Read::Data(data),
            (None, None) if connection.ended_in => Read::Finished,
            (None, None) => Read::Pending,
        }
    }

    /// Records that the application consumed bytes that were read.
    pub fn consumed(&mut self, now: Time, number: u32, len: usize) {
        self.now = now;
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if !connection.is_receiving() {
            return;
        }
        let before = connection.window.size();
        let room = self.limits.memory.saturating_sub(self.grown).min(self.held.left());
        if connection.window.consume(now, len, self.round_trip, room) {
            self.credits.insert(number);
        }
        let growth = u64::from(connection.window.size() - before);
        if growth > 0 {
            self.grown += growth;
            self.held.take(growth);
        }
    }

    /// Queues a credit for each connection that consumed 16 KiB since its last one. Call this every few
    /// hundred milliseconds.
    ///
    /// While data flows, a credit follows each sixteenth of a large window. Without this call, the last of
    /// them would count as unconsumed at the peer, and the connection as a bulk one.
    pub fn queue_credits(&mut self) {
        // Fewer count as consumed at the peer.
        let behind =
            |connection: &Connection| connection.is_receiving() && connection.window.unannounced() >= DRAINED;
        let due = self.connections.iter().filter(|(_, connection)| behind(connection));
        self.credits.extend(due.map(|(number, _)| *number));
    }

    /// Returns the bytes sent and received so far.
    pub fn counts(&self, number: u32) -> (u64, u64) {
        self.connections.get(&number).map_or((0, 0), |connection| (connection.sent, connection.received))
    }

    /// Releases a connection that the application no longer uses. Fails the connection if it has not ended.
    pub fn release(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let unfinished = !connection.ended_in || !connection.ended_out;
        connection.released = true;
        if unfinished && connection.failed.is_none() {
            self.fail(number, End::new(Reason::Reset, ""));
        }
        self.settle(number);
    }

    /// Handles a received message.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol.
    pub fn handle(&mut self, now: Time, stream: u16, ppid: u32, data: Bytes) -> Result<(), Violation> {
        self.now = now;
        match ppid {
            frame::CREDIT if stream == CONTROL => {
                for credit in Credit::decode(&data)? {
                    self.on_credit(credit);
                }
                return Ok(());
            }
            frame::OPEN => return self.on_open(now, stream, &Open::decode(&data)?),
            frame::END => return self.on_end(stream, &data),
            frame::DATAGRAM => {
                self.on_datagram(stream, Datagram::decode(data)?);
                return Ok(());
            }
            frame::OPENED | frame::DATA => {}
            other => return Err(Violation::Unknown(other)),
        }
        let number = *self.by_stream.get(&stream).ok_or(Violation::Stream(stream))?;
        let connection = self.connections.get_mut(&number).ok_or(Violation::Stream(stream))?;
        match ppid {
            _ if connection.ended_in => return Err(Violation::Stream(stream)),
            frame::DATA if !connection.receive(data) => return Err(Violation::Window(stream)),
            frame::DATA => {}
            _ if connection.ours && !connection.opened => connection.opened = true,
            _ => return Err(Violation::Stream(stream)),
        }
        self.events.push_back(Event::Readable(number));
        Ok(())
    }

    /// Handles a datagram. Drops it if its connection is not open yet or has ended, since the end may
    /// overtake it.
    fn on_datagram(&mut self, stream: u16, datagram: Datagram) {
        let connection = self.connections.get(&datagram.connection);
        let current = |connection: &Connection| {
            connection.udp
                && connection.stream == stream
                && (connection.opened || !connection.ours)
                && connection.is_receiving()
        };
        if connection.is_some_and(current) {
            self.events.push_back(Event::Datagram(datagram));
        }
    }

    fn on_end(&mut self, stream: u16, data: &[u8]) -> Result<(), Violation> {
        let (number, end) = End::decode(data)?;
        let failed = end.reason != Reason::Finished;
        let connection = self.connections.get_mut(&number).filter(|connection| connection.stream == stream);
        let known = self.by_stream.get(&stream) == Some(&number);
        let Some(connection) = connection.filter(|_| known) else {
            // A failure after the end of the data may cross our own end, after which the stream is free.
            return if failed { Ok(()) } else { Err(Violation::Stream(stream)) };
        };
        if std::mem::replace(&mut connection.ended_in, true) && !failed {
            return Err(Violation::Stream(stream));
        }
        if failed {
            self.pending -= usize::from(std::mem::take(&mut connection.unanswered));
            connection.fail(end, false);
            self.enqueue(number);
        }
        self.credits.remove(&number);
        self.announce_all(number);
        self.settle(number);
        Ok(())
    }

    fn on_open(&mut self, now: Time, stream: u16, open: &Open) -> Result<(), Violation> {
        let number = open.connection;
        let their_parity = u16::from(self.role == Role::Client);
        let theirs = stream % 2 == their_parity && stream >= frame::FIRST_STREAM;
        if !theirs || self.by_stream.contains_key(&stream) {
            return Err(Violation::Stream(stream));
        }
        if number % 2 != u32::from(their_parity) || self.connections.contains_key(&number) {
            return Err(Violation::Number(number));
        }
        let limited = if self.theirs >= self.limits.connections {
            Some(format!("{} connections", self.limits.connections))
        } else if self.pending >= self.limits.pending {
            Some(format!("{} connections being opened", self.limits.pending))
        } else if !self.rate.take(now) {
            Some(format!("{} connections opened per second", self.limits.opens_per_second))
        } else if self.held.left() < INITIAL_WINDOW.into() {
            Some("the memory for receive windows".to_owned())
        } else {
            None
        };
        let mut connection = Connection::new(number, stream, (false, open.target == Target::Udp), self.turn);
        self.by_stream.insert(stream, number);
        self.theirs += 1;
        match limited {
            Some(limit) => {
                connection.released = true;
                connection.unanswered = false;
                connection.limited = true;
                connection.fail(End::new(Reason::Limit, limit), true);
                self.connections.insert(number, connection);
                self.enqueue(number);
            }
            None => {
                self.pending += 1;
                self.held.take(INITIAL_WINDOW.into());
                self.connections.insert(number, connection);
                self.events.push_back(Event::Open(number, open.target.clone()));
            }
        }
        Ok(())
    }

    fn on_credit(&mut self, credit: Credit) {
        let few = self.are_few();
        // A connection that has ended here may still get credits.
        let Some(connection) = self.connections.get_mut(&credit.connection) else { return };
        if connection.on_credit(credit, self.turn, few) {
            self.events.push_back(Event::Writable(credit.connection));
        }
    }

    fn announce_all(&mut self, number: u32) {
        self.events.extend([Event::Readable(number), Event::Writable(number)]);
    }

    /// Adds a connection with frames to send to the connections of its class.
    fn enqueue(&mut self, number: u32) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if !connection.out.is_empty() && !std::mem::replace(&mut connection.queued, true) {
            match connection.class() {
                Class::Bulk => {
                    self.places += 1;
                    let place = (connection.start(self.turn), self.places, number);
                    connection.place = Some(place);
                    self.bulk.insert(place);
                }
                _ => self.interactive.push_back(number),
            }
        }
    }

    /// Returns whether a frame with precedence over class `Bulk` is queued.
    pub fn is_urgent(&self) -> bool {
        !self.credits.is_empty() || !self.interactive.is_empty()
    }

    /// Returns whether [`poll_transmit`](Self::poll_transmit) may have a frame.
    pub fn wants_transmit(&self) -> bool {
        self.is_urgent() || !self.bulk.is_empty()
    }

    /// Returns the next frame to send.
    pub fn poll_transmit(&mut self) -> Option<Frame> {
        if let Some(frame) = self.credit_frame() {
            return Some(frame);
        }
        let few = self.are_few();
        let (number, connection, ppid, data) = loop {
            let bulk = || self.bulk.pop_first().map(|(.., number)| number);
            let number = self.interactive.pop_front().or_else(bulk)?;
            // A connection may have ended, or dropped its data, since it was queued.
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.queued = false;
                connection.place = None;
                if let Some((ppid, data)) = connection.pop() {
                    break (number, self.connections.get_mut(&number)?, ppid, data);
                }
            }
        };
        let class = connection.class();
        if class == Class::Bulk && ppid == frame::DATA {
            self.turn = connection.take_turn(self.turn, data.len());
            self.spare = (self.spare + data.len() as u64 / SPARE_OF).min(MAX_SPARE);
        }
        let reclassified = connection.announced_class.replace(class) != Some(class);
        let frame =
            Frame { stream: connection.stream, ppid, data, class, reclassified, connection: Some(number) };
        if ppid == frame::DATA && connection.room(connection.at_a_time(few)) > 0 {
            self.events.push_back(Event::Writable(number));
        }
        self.enqueue(number);
        if ppid == frame::END {
            self.settle(number);
        }
        Some(frame)
    }

    /// Puts back a frame of class `Bulk` that was not sent, as the next of its class.
    pub fn put_back(&mut self, frame: Frame) {
        let Some(number) = frame.connection else { return };
        let Some(connection) = self.connections.get_mut(&number) else {
            debug_assert!(frame.ppid != frame::END, "only an end lets a connection go");
            return;
        };
        debug_assert!(frame.ppid != frame::END, "an end is not taken back");
        if frame.reclassified {
            connection.announced_class = None;
        }
        // The unsent data of a failed connection is dropped.
        if connection.failed.is_some() && frame.ppid == frame::DATA {
            return;
        }
        if frame.ppid == frame::DATA && frame.class == Class::Bulk {
            connection.give_turn_back(frame.data.len());
        }
        connection.out.push_front((frame.ppid, frame.data));
        if let Some(place) = connection.place.take() {
            self.bulk.remove(&place);
        } else if connection.queued {
            self.interactive.retain(|&other| other != number);
        }
        connection.queued = true;
        // Before all others: no tag is below the turn, and no other's order is 0.
        let place = (connection.start(self.turn).min(self.turn), 0, number);
        connection.place = Some(place);
        self.bulk.insert(place);
    }

    fn credit_frame(&mut self) -> Option<Frame> {
        let mut credits = Vec::new();
        while credits.len() < frame::MAX_CREDITS
            && let Some(number) = self.credits.pop_first()
        {
            if let Some(connection) = self.connections.get_mut(&number) {
                let (consumed, window) = connection.window.announce();
                credits.push(Credit { connection: number, consumed, window });
            }
        }
        let data = (!credits.is_empty()).then(|| Credit::encode(&credits))?;
        let (stream, ppid, class) = (CONTROL, frame::CREDIT, Class::Control);
        Some(Frame { stream, ppid, data, class, reclassified: false, connection: None })
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the number of connections that have not ended, or that the application has not released.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Returns whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Frees the stream of a connection whose directions have ended. Removes the connection if it was
    /// released.
    fn settle(&mut self, number: u32) {
        let Some(connection) = self.connections.get(&number) else { return };
        if !connection.ended_in || !connection.end_sent {
            return;
        }
        let stream = connection.stream;
        if self.by_stream.get(&stream) == Some(&number) {
            self.by_stream.remove(&stream);
            if connection.ours {
                self.streams.free(stream);
            }
        }
        if connection.released {
            self.theirs -= usize::from(!connection.ours);
            self.pending -= usize::from(connection.unanswered);
            self.grown -= u64::from(connection.window.size() - INITIAL_WINDOW);
            if !connection.limited {
                self.held.give_back(connection.window.size().into());
            }
            self.credits.remove(&number);
            self.connections.remove(&number);
        }
    }
}
