//! The end of an association: graceful shutdown (RFC 9260 §9.2) and abort (§9.1).

use msctp_units::Time;
use msctp_wire::{Abort, Cause, Causes, Chunk, Shutdown, ShutdownAck, ShutdownComplete};

use super::Association;
use crate::abort_reason::AbortReason;
use crate::addr::{PathAddr, PathId};
use crate::event::{Event, LossReason};
use crate::path::Path;
use crate::rare::rare_state;
use crate::stats::AssociationState as State;

rare_state! {
    /// Progress of a shutdown.
    pub(super) struct Closing {
        /// True if the application called `shutdown` before the association was up, or had its keys.
        wanted: bool = false,
        /// True if a SHUTDOWN or SHUTDOWN ACK, depending on the state, must be sent now.
        pub(super) due: bool = false,
        /// T2-shutdown.
        pub(super) t2: Option<Time> = None,
        /// T5-shutdown-guard.
        pub(super) t5: Option<Time> = None,
        /// Expirations of T2 since the last packet of the peer.
        pub(super) retransmissions: u32 = 0,
        /// True if T2 expired since the last SHUTDOWN or SHUTDOWN ACK was sent.
        unanswered: bool = false,
        /// Path of the last SHUTDOWN or SHUTDOWN ACK.
        path: Option<PathId> = None,
        /// Source of the SHUTDOWN or DATA that it answers (RFC 9260 §6.4 sends replies there).
        pub(super) asked_at: Option<PathAddr> = None,
    }
}

impl Closing {
    /// Returns whether a shutdown was requested that has not begun.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Requests a shutdown once the association is up, and has its keys.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }
}

impl Association {
    /// Shuts down gracefully, after the delivery of all queued messages (RFC 9260 §9.2) and the answers to
    /// [resets with codes](Self::reconfigure_with); other requests are cancelled. A call before the
    /// association is up takes effect when it is; with keys from outside of the core, when both ends have
    /// them. Further calls have no effect.
    pub fn shutdown(&mut self, now: Time) {
        match self.state {
            State::CookieWait | State::CookieEchoed => self.closing.want(),
            State::Established if self.awaits_keys_to_close() => self.closing.want(),
            State::Established => self.begin_shutdown(now),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# it MUST ignore ULP shutdown requests
            // RFC 9260 §9.2: in SHUTDOWN-RECEIVED the request MUST be ignored
            _ => {}
        }
        self.after_change(now);
    }

    fn begin_shutdown(&mut self, now: Time) {
        self.set_state(now, State::ShutdownPending);
        // RFC 9260 §6.1: in SHUTDOWN-PENDING the sender benefits from SACKs without delay
        self.outbound.on_shutdown_pending();
    }

    /// Aborts with a reason for the peer (RFC 9260 §9.1). Reports undelivered messages as failed.
    pub fn abort(&mut self, now: Time, reason: &AbortReason) {
        let bytes = reason.encode(crate::path::MIN_PMTU as usize - 128);
        self.abort_with(now, &[Cause::UserInitiatedAbort(&bytes)], LossReason::Aborted);
    }

    /// Aborts with this cause.
    pub(super) fn abort_with(&mut self, now: Time, causes: &[Cause<'_>], reason: LossReason) {
        if self.state == State::Closed {
            return;
        }
        // Nothing but the ABORT may go out: RFC 9260 §9.1, "MUST NOT bundle any DATA chunk with the ABORT
        // chunk".
        self.control.clear();
        self.output.clear();
        if self.tags.peer_tag != 0
            && let Some(at) = self.data_addr()
        {
            let abort = Abort { tag_reflected: false, causes: Causes::from(causes) };
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# The endpoint MUST always fill in the Verification Tag field of the outbound packet with the
            //# destination endpoint's tag value if it is known.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
            //# When an endpoint decides to abort an existing association, it MUST send an ABORT chunk to its
            //# peer endpoint.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
            //# The sender MUST fill in the peer's Verification Tag in the outbound packet and MUST NOT bundle
            //# any DATA chunk with the ABORT chunk.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
            //# DATA chunks MUST NOT be bundled with ABORT chunks.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
            //# but they MUST be placed before the ABORT chunk in the SCTP packet
            if self.awaits_proof() {
                // A peer without keys reads this one, a peer with keys only the sealed one.
                self.control.push_clear(at, self.tags.peer_tag, &abort);
            }
            self.control.push_alone(at, self.tags.peer_tag, &abort);
        }
        self.close(now, Some(reason));
        self.after_change(now);
    }

    /// Returns the addresses of a packet that answers no other one: those of the data path, else of the
    /// primary.
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=exception
    //= reason=an ABORT leaves from an address being added or deleted if there is no other:
    //= reason=RFC 9260 §9.1 wants it
    //= reason=sent, and the peer would wait for its timers
    //# MUST NOT be used as a source address for any subsequent packets
    pub(super) fn data_addr(&self) -> Option<PathAddr> {
        let path = self.paths.data_path().or(self.paths.primary())?;
        self.paths.get(path).map(crate::path::Path::addr)
    }

    /// Continues the shutdown when all data is acknowledged.
    pub(super) fn advance_shutdown(&mut self, now: Time) {
        if self.closing.wanted && self.state == State::Established && !self.awaits_keys_to_close() {
            self.closing.wanted = false;
            self.begin_shutdown(now);
        }
        let next = match self.state {
            State::ShutdownPending => State::ShutdownSent,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# If the receiver of the SHUTDOWN chunk has no more outstanding DATA chunks, the SHUTDOWN chunk
            //# receiver MUST send a SHUTDOWN ACK chunk and start a T2-shutdown timer of its own, entering the
            //# SHUTDOWN-ACK- SENT state.
            State::ShutdownReceived => State::ShutdownAckSent,
            _ => return,
        };
        self.give_up_unasked();
        // RFC 9260 §5.4: neither may go to an unconfirmed address. With no other left it is verified first,
        // or the peer found unreachable: the heartbeats that do so end with this step.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# the SHUTDOWN chunk receiver MUST continue to follow normal data transmission procedures defined in
        //# Section 6, until all outstanding DATA chunks are acknowledged
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# In the SHUTDOWN-RECEIVED state, the endpoint MUST transmit or retransmit data and leave this
        //# state when all data in queue is transmitted.
        if !self.outbound.is_drained() || !self.paths.has_confirmed_data_path() || self.tells_codes() {
            return;
        }
        self.set_state(now, next);
        // RFC 9260 §8.3: heartbeats are discontinued after SHUTDOWN or SHUTDOWN ACK was sent
        self.paths.stop_heartbeats();
        self.closing.due = true;
        if next == State::ShutdownSent {
            // RFC 9260 §9.2: RECOMMENDED is 5 times RTO.Max
            self.closing.t5 = Some(now + self.config.rto_max * 5);
        }
    }

    /// Returns the path of the next SHUTDOWN or SHUTDOWN ACK, and starts T2 with its RTO unless it runs.
    /// Returns `None` if there is nothing to send.
    pub(super) fn begin_shutdown_chunk(&mut self, now: Time) -> Option<PathId> {
        if !self.closing.due || !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            return None;
        }
        let path = match self.closing.path {
            // HEARTBEATs have stopped: only this finds a working path.
            Some(last) if self.closing.unanswered => self.paths.next_in_turn(last),
            _ => self.closing.asked_at.and_then(|at| self.paths.reply_path(at)),
        };
        let path = path.or(self.paths.data_path()).or(self.paths.primary())?;
        self.closing.due = false;
        self.closing.unanswered = false;
        if self.closing.t2.is_some() {
            // It answers a packet that may be a copy.
            return Some(path);
        }
        self.closing.path = Some(path);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# The rules in Section 6.3 MUST be followed to determine the proper timer value for T2-shutdown.
        self.closing.t2 = self.paths.get(path).map(|path| now + path.rtt.rto());
        Some(path)
    }

    /// Returns the SHUTDOWN or SHUTDOWN ACK chunk that the state requires.
    pub(super) fn shutdown_chunk(&self) -> Chunk<'static> {
        match self.state {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# the endpoint MUST resend the SHUTDOWN chunk with the updated last sequential TSN received
            //# from its peer.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.8
            //# An endpoint in an association MUST use this chunk to initiate a graceful close of the
            //# association with its peer.
            State::ShutdownSent => Shutdown { cum_tsn_ack: self.inbound.cum_tsn_ack() }.into(),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.9
            //# This chunk MUST be used to acknowledge the receipt of the SHUTDOWN chunk at the completion of
            //# the shutdown process
            _ => ShutdownAck.into(),
        }
    }

    /// Handles T2-shutdown and T5-shutdown-guard.
    pub(super) fn shutdown_timeout(&mut self, now: Time) {
        if self.closing.t5.is_some_and(|t5| t5 <= now) {
            // RFC 9260 §9.2: the sender SHOULD abort
            self.abort_with(now, &[], LossReason::ShutdownTimeout);
            return;
        }
        if self.closing.t2.is_none_or(|t2| t2 > now) {
            return;
        }
        self.closing.t2 = None;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# the endpoint MUST resend the SHUTDOWN ACK chunk.
        self.closing.unanswered = true;
        self.closing.retransmissions += 1;
        // RFC 9260 §9.2: limited to Association.Max.Retrans, then the peer is unreachable
        if self.closing.retransmissions > self.config.assoc_max_retrans {
            self.close(now, Some(LossReason::PeerUnreachable));
            return;
        }
        // RFC 9260 §9.2: "The rules in Section 6.3 MUST be followed to determine the proper timer value"
        if let Some(path) = self.closing.path.and_then(|path| self.paths.get_mut(path)) {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# The rules in Section 6.3 MUST be followed to determine the proper timer value for T2-shutdown.
            path.rtt.back_off();
        }
        self.closing.due = true;
    }

    /// Clears the retransmission count, because the peer is alive.
    ///
    /// RFC 9260 §9.2: "The reception of any packet from its peer (i.e., as the peer sends all of its queued
    /// DATA chunks) SHOULD clear the endpoint's retransmission count and restart the T2-shutdown timer". DATA
    /// restarts the timer through the SHUTDOWN that answers it. Other chunks do not restart it. Otherwise a
    /// peer that missed the SHUTDOWN, and sends heartbeats more often than T2 expires, would never receive
    /// another.
    #[inline]
    pub(super) fn note_peer_alive(&mut self) {
        if self.state == State::ShutdownSent {
            self.closing.retransmissions = 0;
        }
    }

    /// Answers a packet with DATA by a SHUTDOWN at once in SHUTDOWN-SENT (RFC 9260 §9.2), bundled with a SACK
    /// when there are gaps or duplicates to report.
    pub(super) fn answer_data_by_shutdown(&mut self) {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# MUST immediately respond to each received packet containing one or more DATA chunks with a
        //# SHUTDOWN chunk and restart the T2-shutdown timer.
        if self.state == State::ShutdownSent {
            (self.closing.due, self.closing.t2) = (true, None);
            //= https://www.rfc-editor.org/rfc/rfc9260#section-4
            //# In the SHUTDOWN-SENT state, the endpoint MUST acknowledge any received DATA chunks without
            //# delay.
            self.closing.asked_at = self.output.sack_to;
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Time, at: PathAddr, shutdown: &Shutdown) {
        self.closing.asked_at = Some(at);
        match self.state {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# MUST continue responding to SHUTDOWN chunks from its peer.
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                if !self.on_cum_tsn_ack(now, shutdown.cum_tsn_ack) {
                    return;
                }
                if self.state != State::ShutdownReceived {
                    self.set_state(now, State::ShutdownReceived);
                    self.events.push(Event::PeerShutdown);
                }
            }
            State::ShutdownSent => {
                // RFC 9260 §9.2: respond with SHUTDOWN ACK, move to SHUTDOWN-ACK-SENT, restart T2
                self.set_state(now, State::ShutdownAckSent);
                (self.closing.t5, self.closing.t2) = (None, None);
                self.closing.due = true;
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# MUST continue responding to SHUTDOWN chunks from its peer.
            // RFC 9260 §9.2: "MUST continue responding to SHUTDOWN chunks"; our SHUTDOWN ACK was lost. T2
            // runs on.
            State::ShutdownAckSent => self.closing.due = true,
            // RFC 9260 §9.2: in COOKIE-WAIT and COOKIE-ECHOED silently discarded
            State::CookieWait | State::CookieEchoed | State::Closed => self.faults.unexpected_chunks += 1,
        }
    }

    pub(super) fn on_shutdown_ack(&mut self, now: Time, at: PathAddr) {
        match self.state {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# Upon the receipt of the SHUTDOWN ACK chunk, the sender of the SHUTDOWN chunk MUST stop the
            //# T2-shutdown timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove all record of the
            //# association.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# If an endpoint is in the SHUTDOWN-ACK-SENT state and receives a SHUTDOWN ACK, it MUST stop the
            //# T2-shutdown timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove all record of the
            //# association.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
            //# An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks.
            State::ShutdownSent | State::ShutdownAckSent => {
                self.control.clear();
                self.output.clear();
                //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
                //# the destination endpoint's tag MUST be used and the T bit MUST NOT be set.
                //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.13
                //# This chunk MUST be used to acknowledge the receipt of the SHUTDOWN ACK chunk at the
                //# completion of the shutdown process
                let complete = ShutdownComplete { tag_reflected: false };
                // RFC 5061 §5.3 F1, F4. Without a source, the out-of-the-blue rules answer the next SHUTDOWN
                // ACK.
                // A copy of the packet may come from anywhere, and no other answer follows.
                let own = if self.path_of(at).is_none() { self.paths.data_path() } else { None };
                let own = own.and_then(|path| self.paths.get(path)).map(Path::addr);
                for to in self.paths.answer_addr(at).into_iter().chain(own) {
                    self.control.push_alone(to, self.tags.peer_tag, &complete);
                }
                self.close(now, None);
            }
            _ => self.faults.unexpected_chunks += 1,
        }
    }

    pub(super) fn on_shutdown_complete(&mut self, now: Time) {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
        //# An endpoint MUST ignore the SHUTDOWN COMPLETE chunk if it is not in the SHUTDOWN-ACK-SENT state.
        // RFC 9260 §8.5.1 C: MUST ignore in any other state
        if self.state == State::ShutdownAckSent {
            self.close(now, None);
        } else {
            self.faults.unexpected_chunks += 1;
        }
    }

    pub(super) fn on_abort(&mut self, now: Time, at: PathAddr, abort: &Abort<'_>) {
        let mut cause = None;
        let mut said = AbortReason::default();
        for item in abort.causes.iter().flatten() {
            cause = cause.or(Some(item.typ().0));
            if let Cause::UserInitiatedAbort(text) = item {
                // RFC 9260 §9.1: SHOULD be made available to the upper layer
                said = AbortReason::parse(text);
            }
        }
        let AbortReason { code, reason } = said;
        let reason = self.set_up_failure(&reason).unwrap_or(match cause {
            None if self.state == State::CookieWait => LossReason::NoListener,
            _ => LossReason::PeerAborted { cause, code, reason },
        });
        if self.races_on_after(now, at, &reason) {
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
        //# An endpoint MUST NOT respond to any received packet that contains an ABORT chunk
        // RFC 9260 §9.1: "An endpoint MUST NOT respond to any received packet that contains an ABORT chunk"
        self.control.clear();
        self.output.clear();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
        //# the receiving endpoint MUST remove the association from its record
        self.close(now, Some(reason));
    }
}
