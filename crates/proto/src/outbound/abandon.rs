//! Abandoning messages (RFC 3758 §3.4, §3.5 A2, A3, §4.1; RFC 7496 §3). `forward` notifies the peer.
//!
//! A message completely sent is abandoned only when one of its chunks is due for retransmission: congestion
//! control has then seen the loss (RFC 3758 §3.5 F5).

use bytes::Bytes;
use msctp_units::Time;

use super::Outbound;
use super::chunk::{Chunk, Fate};
use super::piece::Piece;
use crate::credit::{charge, chunk_charge};
use crate::long_tsn::LongTsn;
use crate::message::{OutMessage, Reliability, SendFailure};
use crate::path::Paths;
use crate::stats::Abandoned;

impl Outbound {
    /// Takes the messages abandoned since the last call.
    pub(crate) fn take_failures(&mut self) -> Vec<SendFailure> {
        if self.partial.is_touched() { core::mem::take(&mut self.partial.failures) } else { Vec::new() }
    }

    /// Returns true if [`take_failures`](Self::take_failures) would return a message.
    #[inline]
    pub(crate) fn has_failures(&self) -> bool {
        !self.partial.failures.is_empty()
    }

    /// Returns the counters of abandoned messages.
    pub(crate) fn abandoned(&self) -> Abandoned {
        self.partial.abandoned
    }

    /// Abandons messages whose lifetime expired or whose chunks exceed their retransmission limit.
    #[inline]
    pub(super) fn abandon_due(&mut self, now: Time, paths: &mut Paths) {
        if !self.partial.is_empty() {
            self.abandon_due_now(now, paths);
        }
    }

    #[inline(never)]
    fn abandon_due_now(&mut self, now: Time, paths: &mut Paths) {
        while let Some(number) = self.partial.pop_expired(now) {
            self.expire(number, paths);
        }
        while let Some(tsn) = self.partial.pop_marked() {
            if let Some(number) = self.exhausted(now, tsn) {
                self.abandon(number, paths);
            }
        }
        self.forward_after_abandoning(now, paths);
    }

    /// Returns the message of a marked chunk that must not be retransmitted.
    pub(super) fn exhausted(&self, now: Time, tsn: LongTsn) -> Option<u64> {
        let chunk = self.sent.at(tsn).filter(|chunk| chunk.is_lost() && self.peer_forwards)?;
        let partial = self.partial.get(chunk.piece.partial)?;
        let over = match partial.message.reliability {
            // RFC 3758 §4.1 TR4
            Reliability::Lifetime(_) => partial.deadline.is_some_and(|deadline| deadline <= now),
            // RFC 7496 §3.1: "if the number of retransmissions of any of the DATA chunks [...] would exceed"
            // it
            Reliability::Retransmissions(limit) => chunk.retransmissions >= limit,
            Reliability::Priority(_) | Reliability::Full => false,
        };
        over.then_some(chunk.piece.partial)
    }

    /// Abandons a message whose lifetime expired, if the rules allow it.
    fn expire(&mut self, number: u64, paths: &mut Paths) {
        let Some(partial) = self.partial.get(number) else { return };
        let marked = |(first, last): (LongTsn, LongTsn)| {
            let chunk = |step| self.sent.at(first + step);
            (0..=last.above(first))
                .filter_map(chunk)
                .any(|chunk| chunk.piece.partial == number && chunk.is_lost())
        };
        let over = match partial.tsns {
            // RFC 3758 §4.1 TR3. RFC 9260 §11.1.5 F: applies without PR-SCTP too.
            None => true,
            // TR4: no further transmission of it is allowed
            Some(tsns) => self.peer_forwards && (partial.queued || marked(tsns)),
        };
        if over {
            self.abandon(number, paths);
        }
    }

    /// Abandons messages of lower priority to free `len` bytes (RFC 7496 §3.2), if that frees enough.
    pub(super) fn make_room(&mut self, now: Time, len: u64, reliability: Reliability, paths: &mut Paths) {
        let than = match reliability {
            Reliability::Priority(priority) => Some(priority),
            _ => None,
        };
        let (mut bytes, mut chunks) = (self.buffered(), self.kept_chunks());
        let mut victims = Vec::new();
        for number in self.partial.below(than) {
            if self.free(bytes, chunks) >= len {
                break;
            }
            // A message that is no longer stored frees nothing.
            if let Some(partial) = self.partial.get(number)
                && (partial.tsns.is_none() || self.peer_forwards)
            {
                bytes -= partial.len - partial.sent + self.held_of(number);
                // A sent chunk stays until the peer acknowledges a FORWARD TSN past it.
                chunks -= u64::from(partial.tsns.is_none());
                victims.push(number);
            }
        }
        if self.free(bytes, chunks) >= len {
            victims.into_iter().for_each(|number| self.abandon(number, paths));
            self.forward_after_abandoning(now, paths);
        }
    }

    /// Abandons the messages of a stream that were not begun; with PR-SCTP also one that was sent in part, if
    /// its reliability is not full.
    pub(crate) fn abandon_unsent(&mut self, now: Time, stream: u16, paths: &mut Paths) {
        for (id, partial, begun) in self.queue.messages_of(stream) {
            if partial != 0 && (!begun || self.peer_forwards) {
                self.abandon(partial, paths);
            } else if !begun && let Some(queued) = self.queue.remove(stream, id) {
                self.refund_credit(stream, charge(queued.message.data.len() as u64));
                self.partial.failures.push(SendFailure { abandoned: true, ..queued.into_failure() });
                self.note_room();
            }
        }
        self.forward_after_abandoning(now, paths);
    }

    /// Returns the user bytes of a message that were sent and are still kept.
    fn held_of(&self, number: u64) -> u64 {
        let Some((first, last)) = self.partial.get(number).and_then(|partial| partial.tsns) else { return 0 };
        let chunk = |step| self.sent.at(first + step);
        let own = (0..=last.above(first)).filter_map(chunk).filter(|chunk| chunk.piece.partial == number);
        own.map(Chunk::len).sum()
    }

    /// Abandons all chunks of a message at once (RFC 3758 §3.5 A3).
    pub(super) fn abandon(&mut self, number: u64, paths: &mut Paths) {
        let Some(partial) = self.partial.remove(number) else { return };
        let mut data = Bytes::new();
        let unsent =
            if partial.queued { self.queue.remove(partial.message.stream, partial.queued_as) } else { None };
        if let Some(unsent) = unsent {
            let (stream, len) = (unsent.message.stream, unsent.message.data.len());
            match unsent.ending(self.interleaving) {
                Some(piece) => {
                    self.refund_credit(stream, chunk_charge(len, false));
                    self.push_phantom(piece, paths);
                }
                None => {
                    self.refund_credit(stream, chunk_charge(len, true));
                    data = unsent.message.data;
                }
            }
        }
        if let Some((first, last)) = partial.tsns {
            for step in 0..=last.above(first) {
                let tsn = first + step;
                if let Some(whole) = self.abandon_chunk(tsn, number, paths) {
                    data = whole;
                }
            }
        }
        let message = OutMessage { data, ..partial.message };
        let unsent = partial.sent == 0;
        self.partial.abandoned.count(message.reliability, unsent);
        self.partial.failures.push(SendFailure { message, unsent, sent: partial.sent, abandoned: true });
        self.note_room();
    }

    /// Appends an abandoned chunk that ends a message whose rest is not sent.
    ///
    /// Its TSN is never on the wire: a FORWARD TSN skips it. Without it a peer that received all fragments
    /// sent would wait for the rest, or see a new message begin inside this one.
    fn push_phantom(&mut self, piece: Piece, paths: &Paths) {
        let path = paths.primary().or_else(|| paths.iter().next().map(crate::path::Path::id));
        let Some(path) = path else { return };
        let phantom = Chunk::new(piece, 0, Time::ZERO, path);
        self.sent.push(Chunk { again: true, fate: Fate::Abandoned, ..phantom });
    }

    /// Marks a chunk as abandoned (RFC 3758 §3.5 A2: "as being finally acked and no longer outstanding").
    ///
    /// Returns the data of an unfragmented message.
    fn abandon_chunk(&mut self, tsn: LongTsn, number: u64, paths: &mut Paths) -> Option<Bytes> {
        let chunk = self.sent.at_mut(tsn).filter(|chunk| chunk.piece.partial == number)?;
        let fate = core::mem::replace(&mut chunk.fate, Fate::Abandoned);
        if fate == Fate::Abandoned {
            return None;
        }
        let (id, target, wire_len, sending) = (chunk.path, chunk.target, chunk.wire_len(), chunk.number);
        let data = core::mem::take(&mut chunk.piece.data);
        let whole = chunk.piece.flags.begin && chunk.piece.flags.end;
        let stream = chunk.piece.stream;
        self.sent_bytes -= data.len() as u64;
        if fate.is_outstanding() {
            self.refund_credit(stream, chunk_charge(data.len(), whole));
        }
        if fate == Fate::InFlight {
            self.in_flight -= data.len() as u64;
            if let Some(path) = paths.get_mut(id) {
                path.flight_size -= wire_len;
                // RFC 9260 §6.3.2 R2
                path.stop_t3_rtx_if_drained(self.forward.runs_t3_rtx_on(id));
            }
        } else if fate == Fate::Marked
            && let Some(path) = paths.get_mut(target)
        {
            path.flow.marked -= 1;
        }
        if fate.is_outstanding()
            && let Some(path) = paths.get_mut(id)
        {
            self.disown(tsn, path);
            if let Some(delivery) = &mut path.flow.delivery {
                delivery.on_abandoned(sending);
            }
        }
        // An abandoned chunk gives no RTT measurement.
        for path in paths.iter_mut() {
            path.rtt_slot.take_if(|slot| self.sent.first().nearest(msctp_wire::Tsn::new(slot.tsn)) == tsn);
        }
        whole.then_some(data)
    }
}
