//! [`Connection`]: one connection's state in both directions.

use std::collections::VecDeque;

use bytes::Bytes;
use msctp_units::Time;

use super::{Class, MAX_DATA, MAX_WRITE};
use crate::frame::{self, Credit, End, Reason};
use crate::inbox::Inbox;
use crate::window::{INITIAL_WINDOW, Window};

/// Bytes that an interactive connection sends before it counts as bulk. An idle connection regains this many
/// per second, regardless of the number of others.
const BURST: u64 = 32 << 10;

/// Maximum unconsumed bytes with which a bulk connection becomes interactive again: they would precede those
/// of other bulk connections.
pub(super) const DRAINED: u64 = 16 << 10;

/// A connection's place among the queued bulk ones (start-time fair queueing): the start tag of its next
/// frame, the order of equal tags, its number.
pub(super) type Place = (u64, u64, u32);

#[derive(Debug)]
pub(super) struct Connection {
    number: u32,
    pub(super) stream: u16,
    /// True if this end opened the connection.
    pub(super) ours: bool,
    /// True if the connection carries datagrams.
    pub(super) udp: bool,
    /// True if the peer opened the connection and this end has not answered yet.
    pub(super) unanswered: bool,
    /// True if the peer has accepted the connection.
    pub(super) opened: bool,
    /// Frames to send: payload protocol identifier and payload.
    pub(super) out: VecDeque<(u32, Bytes)>,
    /// True if the connection is in a list of connections with frames to send.
    pub(super) queued: bool,
    /// Bytes of data queued or sent.
    pub(super) sent: u64,
    /// Limit of the bytes that may be sent.
    limit: u64,
    /// Bytes that the peer's application has consumed.
    peer_consumed: u64,
    /// Bytes sent beyond those of a bulk connection, since the application last had nothing to write.
    burst: u64,
    /// [`Mux::turn`](super::Mux::turn) when `burst` was last reduced.
    reduced_at: u64,
    /// Finish tag of the last frame of class `Bulk` (start-time fair queueing).
    finish: u64,
    /// Time since which the application has nothing to write.
    idle_since: Option<Time>,
    /// Place among the queued bulk connections, if the connection is one.
    pub(super) place: Option<Place>,
    /// Class that the association's scheduler was given last.
    pub(super) announced_class: Option<Class>,
    /// True if the end of this end's direction is queued or sent.
    pub(super) ended_out: bool,
    /// True if the end of this end's direction was sent.
    pub(super) end_sent: bool,
    pub(super) inbox: Inbox,
    pub(super) received: u64,
    pub(super) window: Window,
    /// True if the peer has ended its direction.
    pub(super) ended_in: bool,
    /// Either end ended both directions.
    pub(super) failed: Option<End>,
    /// True if the application has released the connection.
    pub(super) released: bool,
    /// True if a limit refused the connection: its window takes nothing of the budgets.
    pub(super) limited: bool,
}

impl Connection {
    pub(super) fn new(number: u32, stream: u16, (ours, udp): (bool, bool), turn: u64) -> Self {
        Self {
            number,
            stream,
            ours,
            udp,
            unanswered: !ours,
            opened: false,
            out: VecDeque::new(),
            queued: false,
            sent: 0,
            limit: INITIAL_WINDOW.into(),
            peer_consumed: 0,
            burst: 0,
            reduced_at: turn,
            finish: turn,
            idle_since: None,
            place: None,
            announced_class: None,
            ended_out: false,
            end_sent: false,
            inbox: Inbox::default(),
            received: 0,
            window: Window::new(),
            ended_in: false,
            failed: None,
            released: false,
            limited: false,
        }
    }

    /// Returns whether the peer may still send.
    pub(super) fn is_receiving(&self) -> bool {
        !self.ended_in && self.failed.is_none()
    }

    pub(super) fn class(&self) -> Class {
        if self.udp || self.burst > BURST { Class::Bulk } else { Class::Interactive }
    }

    pub(super) fn push(&mut self, ppid: u32, data: Bytes) {
        self.out.push_back((ppid, data));
    }

    /// Removes the next frame.
    pub(super) fn pop(&mut self) -> Option<(u32, Bytes)> {
        let (ppid, data) = self.out.pop_front()?;
        self.end_sent |= ppid == frame::END;
        Some((ppid, data))
    }

    /// Returns the number of bytes that may be written, at most `most`. Returns 0 while too many frames are
    /// queued, so that memory is bounded.
    ///
    /// A connection that may write several frames at a time may do so while as many are queued. With an empty
    /// queue it would lose its turns until its application is woken and has read.
    pub(super) fn room(&self, most: usize) -> usize {
        let queued = self.out.iter().filter(|(ppid, _)| *ppid == frame::DATA).count();
        let enough = if most > MAX_DATA { most / MAX_DATA } else { 0 };
        if self.ended_out || queued > enough {
            return 0;
        }
        self.limit.saturating_sub(self.sent).min(most as u64) as usize
    }

    /// Returns the number of bytes to write at a time: several frames for a bulk connection that is one of
    /// `few`.
    pub(super) fn at_a_time(&self, few: bool) -> usize {
        if few && self.class() == Class::Bulk { MAX_WRITE } else { MAX_DATA }
    }

    pub(super) fn write(&mut self, mut data: Bytes) {
        self.sent += data.len() as u64;
        self.burst += data.len() as u64;
        while !data.is_empty() {
            let frame = data.split_to(data.len().min(MAX_DATA));
            self.push(frame::DATA, frame);
        }
    }

    /// Records that the application has nothing to write.
    pub(super) fn note_idle(&mut self, now: Time, turn: u64) {
        self.idle_since.get_or_insert(now);
        self.forgive(turn);
    }

    /// Ends the idle time of a connection, in which it regained precedence. `spare` is the number of bytes
    /// that connections may regain. A connection whose application was only a moment late regains almost
    /// nothing.
    pub(super) fn end_idle(&mut self, now: Time, spare: &mut u64) {
        let Some(since) = self.idle_since.take().filter(|_| self.is_drained()) else { return };
        let regained = now.since(since).as_nanos().min(1_000_000_000) * BURST / 1_000_000_000;
        let regained = regained.min(self.burst).min(*spare);
        self.burst -= regained;
        *spare -= regained;
    }

    /// Returns whether little of its data is in flight.
    fn is_drained(&self) -> bool {
        self.sent.saturating_sub(self.peer_consumed) <= DRAINED
    }

    /// Makes an idle connection interactive again. Its data in flight must be small, and bulk connections
    /// must have sent their share meanwhile.
    ///
    /// Otherwise connections whose applications are a little late, one after another, would always precede
    /// the others.
    fn forgive(&mut self, turn: u64) {
        if self.idle_since.is_some() && self.is_drained() {
            self.burst = self.burst.saturating_sub(turn - self.reduced_at);
            self.reduced_at = turn;
        }
    }

    /// Returns the start tag of its next frame.
    pub(super) fn start(&self, turn: u64) -> u64 {
        turn.max(self.finish)
    }

    /// Counts a sent frame of class `Bulk`. Returns its virtual start time.
    pub(super) fn take_turn(&mut self, turn: u64, len: usize) -> u64 {
        let turn = self.start(turn);
        self.finish = turn + len as u64;
        turn
    }

    /// Undoes [`take_turn`](Self::take_turn) for a frame.
    pub(super) fn give_turn_back(&mut self, len: usize) {
        self.finish -= len as u64;
    }

    /// Raises the limit. Returns whether more bytes may be written. `few`: see
    /// [`at_a_time`](Self::at_a_time).
    pub(super) fn on_credit(&mut self, credit: Credit, turn: u64, few: bool) -> bool {
        self.limit = self.limit.max(credit.consumed.saturating_add(credit.window.into()));
        self.peer_consumed = self.peer_consumed.max(credit.consumed);
        self.forgive(turn);
        self.room(self.at_a_time(few)) > 0
    }

    /// Queues the end of this end's data. Returns false if the direction has already ended.
    pub(super) fn finish(&mut self) -> bool {
        if std::mem::replace(&mut self.ended_out, true) {
            return false;
        }
        self.push(frame::END, End::FINISHED.encode(self.number));
        true
    }

    /// Ends both directions and drops all data. `here` is true if this end failed the connection, so that the
    /// peer must receive the reason.
    pub(super) fn fail(&mut self, end: End, here: bool) {
        if self.failed.is_some() {
            return;
        }
        self.inbox.clear();
        self.out.retain(|(ppid, _)| !matches!(*ppid, frame::DATA | frame::END));
        // The peer does not know yet that our direction has ended, or that it ended by a failure.
        if !self.end_sent || here && !self.ended_in {
            let reset = End::new(Reason::Reset, "");
            self.push(frame::END, if here { &end } else { &reset }.encode(self.number));
        }
        self.ended_out = true;
        self.failed = Some(end);
    }

    /// Accepts received data. Returns false if it exceeds the window.
    #[must_use]
    pub(super) fn receive(&mut self, data: Bytes) -> bool {
        self.received += data.len() as u64;
        let within = self.window.receive(data.len());
        if self.failed.is_none() {
            self.inbox.push(data);
        }
        within
    }
}
