//! Calls of the application to receive: messages of any stream, and streams with readers of their own.

use std::collections::{BTreeMap, VecDeque};

use msctp_units::Time;

use super::Association;
use crate::error::Restarted;
use crate::event::Event;
use crate::inbound::StreamItem;
use crate::message::Message;
use crate::rare::{Rare, rare_state};
use crate::stats::AssociationState as State;

rare_state! {
    /// Content that the application reads before the messages of the current association.
    pub(super) struct Unread {
        saved: VecDeque<Saved> = VecDeque::new(),
        /// What readers of streams have not read. Their streams ended with the restart.
        readers: BTreeMap<u16, VecDeque<StreamItem>> = BTreeMap::new(),
        /// Bytes of the messages.
        pub(super) bytes: u64 = 0,
    }
}

#[derive(Debug)]
enum Saved {
    Message(Message),
    /// The peer restarted: later messages belong to the new association.
    Restarted,
}

/// # Receiving
impl Association {
    /// Returns the next message received on a stream without a [reader of its own](Self::claim_stream), in
    /// the order of its stream. What the peer sends after it has ended a stream is not for the reader of what
    /// it sent before. May be called after the association is closed.
    ///
    /// # Errors
    ///
    /// The peer restarted (RFC 9260 §5.2.4 A), reported once: all earlier messages were returned, and later
    /// ones come from the current owner of the peer's address. Without shared keys that may be another host:
    /// close the association, or continue.
    pub fn recv(&mut self) -> Result<Option<Message>, Restarted> {
        let saved = if self.unread.is_touched() { self.next_saved() } else { None };
        let message = match saved {
            Some(Saved::Restarted) => return Err(Restarted),
            Some(Saved::Message(message)) => Some(message),
            None => self.inbound.read(),
        };
        match &message {
            Some(message) => self.stats.bytes_delivered += message.data.len() as u64,
            None => self.readable_told = false,
        }
        Ok(message)
    }

    /// Returns the next message from before a restart.
    #[cold]
    fn next_saved(&mut self) -> Option<Saved> {
        let Some(saved) = self.unread.saved.pop_front() else {
            if self.unread.readers.is_empty() {
                self.unread = Rare::default();
            }
            return None;
        };
        if let Saved::Message(message) = &saved {
            self.unread.bytes -= message.data.len() as u64;
        }
        Some(saved)
    }

    /// Returns whether [`recv`](Self::recv) has a message or a restart to report.
    pub fn readable(&self) -> bool {
        !self.unread.saved.is_empty() || self.inbound.is_readable()
    }

    /// Returns whether anything was received that [`recv`](Self::recv) or [`recv_on`](Self::recv_on) has not
    /// returned.
    pub(crate) fn has_unread(&self) -> bool {
        let before = self.unread.readers.values().any(|unread| !unread.is_empty());
        before || self.readable() || self.inbound.has_unread()
    }

    /// Returns the number of messages that [`recv`](Self::recv) would return now.
    pub fn unread(&self) -> usize {
        self.saved_messages() + self.inbound.readable()
    }

    /// Gives a stream a reader of its own: what arrives on it is for [`recv_on`](Self::recv_on) and not for
    /// [`recv`](Self::recv), up to the peer's end of the stream. The reader begins with what `recv` has not
    /// returned. Returns false if the stream has a reader, or had one and the peer has not ended it since.
    pub fn claim_stream(&mut self, stream: u16) -> bool {
        !self.unread.readers.contains_key(&stream) && self.inbound.claim(stream)
    }

    /// Takes a stream's reader away and discards what it has not read. Returns whether the peer has ended the
    /// stream. If not, what arrives before its end is discarded too, and nobody can
    /// [claim](Self::claim_stream) the stream; to ask for the end, request
    /// [`ResetIncoming`](crate::StreamRequest::ResetIncoming).
    pub fn release_stream(&mut self, now: Time, stream: u16) -> bool {
        let ended = self.forget_before_restart(stream) || self.inbound.release_reader(stream);
        self.after_change(now);
        ended
    }

    /// Takes a stream's reader away. [`recv`](Self::recv) returns what it has not read, and what arrives
    /// later. No event follows the last one of the association.
    pub fn leave_stream(&mut self, stream: u16) {
        if !self.forget_before_restart(stream) {
            self.inbound.leave(stream);
            if self.state != State::Closed {
                self.notify_readable();
            }
        }
    }

    /// Returns the next item of a stream that was [claimed](Self::claim_stream). After an end there is none:
    /// release the stream, and claim it again for what the peer sends later.
    ///
    /// # Errors
    ///
    /// The peer restarted, which ended the stream; reported until the stream is released.
    pub fn recv_on(&mut self, stream: u16) -> Result<Option<StreamItem>, Restarted> {
        let item = if self.unread.readers.contains_key(&stream) {
            let unread = &mut *self.unread;
            let item = unread.readers.get_mut(&stream).and_then(VecDeque::pop_front).ok_or(Restarted)?;
            unread.bytes -= bytes_of(&item);
            Some(item)
        } else {
            self.inbound.read_on(stream)
        };
        if let Some(StreamItem::Message(message)) = &item {
            self.stats.bytes_delivered += message.data.len() as u64;
        }
        Ok(item)
    }

    /// Drops what a reader has left from before a restart, which ended its stream. Returns whether it had it.
    fn forget_before_restart(&mut self, stream: u16) -> bool {
        if !self.unread.readers.contains_key(&stream) {
            return false;
        }
        let dropped = self.unread.readers.remove(&stream).unwrap_or_default();
        self.unread.bytes -= dropped.iter().map(bytes_of).sum::<u64>();
        true
    }

    /// Returns the first stream without a reader that has a message, or that the peer has ended without one,
    /// and for which `wanted` holds. After `None` [`Event::Readable`] is reported again.
    ///
    /// # Errors
    ///
    /// The peer restarted, reported once. What [`recv`](Self::recv) had not returned before is dropped: the
    /// peer has forgotten these streams.
    pub fn next_stream(&mut self, wanted: impl Fn(u16) -> bool) -> Result<Option<u16>, Restarted> {
        if !self.unread.saved.is_empty() {
            while !matches!(self.next_saved(), None | Some(Saved::Restarted)) {}
            return Err(Restarted);
        }
        let next = self.inbound.next_stream(wanted);
        if next.is_none() {
            self.readable_told = false;
        }
        Ok(next)
    }

    /// Returns whether a stream has a reader, or had one and was not ended since, or has messages that
    /// [`recv`](Self::recv) has not returned, or an end that nobody has read.
    pub fn is_stream_taken(&self, stream: u16) -> bool {
        self.unread.readers.contains_key(&stream) || self.inbound.is_taken(stream)
    }

    /// Returns the streams that wait for somebody to [claim](Self::claim_stream) them or for
    /// [`recv`](Self::recv), and how many uses of each, which the peer's ends separate.
    pub fn waiting_uses(&self) -> BTreeMap<u16, usize> {
        self.inbound.waiting_uses()
    }

    /// Saves unread messages before a restart replaces the receive state, and the restart behind them.
    pub(super) fn save_unread(&mut self) {
        while let Some(message) = self.inbound.read() {
            self.unread.bytes += message.data.len() as u64;
            self.unread.saved.push_back(Saved::Message(message));
        }
        if !matches!(self.unread.saved.back(), Some(Saved::Restarted)) {
            self.unread.saved.push_back(Saved::Restarted);
        }
        for (stream, unread) in self.inbound.take_readers() {
            self.unread.bytes += unread.iter().map(bytes_of).sum::<u64>();
            self.unread.readers.insert(stream, unread);
        }
    }

    /// Reports readable messages once, until the application has read them all.
    #[inline]
    pub(super) fn notify_readable(&mut self) {
        let ended = self.inbound.sorts() && self.notify_readers();
        if !self.readable_told && (ended || self.readable()) {
            self.readable_told = true;
            self.readable_event = true;
        }
    }

    /// Reports what readers of streams and key management may read. Returns whether a stream without a
    /// reader has ended since the last event.
    #[inline(never)]
    fn notify_readers(&mut self) -> bool {
        if self.inbound.announce_key_messages() {
            self.events.push(Event::KeyMessage);
        }
        while let Some(stream) = self.inbound.take_untold() {
            self.events.push(Event::StreamReadable(stream));
        }
        self.inbound.take_untold_end()
    }

    /// Returns the number of messages saved before a restart.
    pub(super) fn saved_messages(&self) -> usize {
        self.unread.saved.iter().filter(|saved| matches!(saved, Saved::Message(_))).count()
    }
}

/// Returns the bytes of the message of an item.
fn bytes_of(item: &StreamItem) -> u64 {
    match item {
        StreamItem::Message(message) => message.data.len() as u64,
        StreamItem::End(_) => 0,
    }
}
