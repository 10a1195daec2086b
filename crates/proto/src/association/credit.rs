//! Stream credit (docs/internals/stream-credit.md): connects the limits of both halves of data transfer, the
//! wire and the application.

use msctp_units::Time;
use msctp_wire::{List, StreamBlocked, StreamCredit};

use super::Association;
use crate::event::Event;
use crate::extensions::Extensions;
use crate::path::Path;
use crate::stats::AssociationState as State;

impl Association {
    /// Returns whether both ends limit what is sent on each stream.
    pub(super) fn uses_credit(&self) -> bool {
        self.tags.extensions.has(Extensions::STREAM_CREDIT)
    }

    /// Returns whether [`send`](Self::send) rejects messages on this stream until the peer's application has
    /// read some of it, whatever room the send buffer has. [`Event::StreamWritable`] follows a message that
    /// was rejected for that.
    pub fn lacks_credit(&self, stream: u16) -> bool {
        self.outbound.lacks_credit(stream)
    }

    /// Handles limits of the peer.
    pub(super) fn on_stream_credit(&mut self, credit: &StreamCredit<'_>) {
        if self.outbound.outstanding_chunks() > 0 {
            self.paths.clear_assoc_error_count();
        } else {
            // What the application wants to send waits for this, and nothing else is to be acknowledged.
            self.paths.on_data_acknowledged();
        }
        let writable = self.outbound.on_credit(credit);
        self.report_writable(writable);
    }

    pub(super) fn report_writable(&mut self, streams: Vec<u16>) {
        self.events.extend(streams.into_iter().map(Event::StreamWritable));
    }

    /// Answers the peer's question for limits.
    pub(super) fn on_stream_blocked(&mut self, blocked: &StreamBlocked<'_>) {
        for stream in blocked.streams.iter() {
            self.inbound.on_blocked(stream.get());
        }
    }

    /// Returns when to ask for limits. A closing association takes no messages.
    pub(super) fn credit_timeout(&self) -> Option<Time> {
        self.outbound.credit_timeout().filter(|_| self.state == State::Established)
    }

    /// Asks for limits, if that is due. Its timer is no other's: T3-rtx may be backed off, or not run at all.
    pub(super) fn ask_for_credit(&mut self, now: Time) {
        if self.state != State::Established {
            return;
        }
        let refunded = self.outbound.take_refunded(now);
        self.report_writable(refunded);
        if self.outbound.lost_question(now) {
            // Like an unanswered zero window probe (RFC 9260 §6.1 A): nothing else may notice that the peer
            // is gone.
            self.paths.count_assoc_error();
            self.paths.count_data_timeout(now);
        }
        let question = self.outbound.take_question(now, self.config.rto_max, &self.paths);
        let Some((path, streams)) = question else { return };
        let Some(at) = self.paths.get(path).map(Path::addr) else { return };
        self.control.push(at, self.tags.peer_tag, &StreamBlocked { streams: List::from(&streams[..]) });
    }
}
