//! Received chunks: their dispatch by type, and what each does to the association.

use msctp_units::{Ecn, Time};
use msctp_wire::{
    Abort, Cause, CauseCode, Causes, Chunk, ChunkError, ChunkType, CookieEcho, EncodeChunk, Error, Heartbeat,
    HeartbeatAck, Malformed, Packet, Sack, StreamId, Tsn, UnknownChunk,
};

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::cookie::{Cookie, CookieJar};
use crate::event::{Event, LossReason};
use crate::handover::MAX_PRIVATE_CHUNKS;
use crate::inbound::{DataFault, Inbound, Received};
use crate::path::{Acknowledged, HeartbeatInfo, SourceUse};
use crate::stats::{AssociationState as State, PathState};
use crate::trace::{Direction, TraceKind};

/// Trace data of a DATA chunk.
#[derive(Clone, Copy)]
struct Stamp {
    tsn: Tsn,
    len: usize,
}

/// Effects of a packet that are handled after its last chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) data: bool,
    asconf: bool,
    /// True if a valid AUTH chunk was received (RFC 4895 §6.3).
    authenticated: bool,
    /// Number of chunks that were passed to the handover policy.
    private: u32,
    /// True if any other chunk was received.
    control: bool,
    /// True if the packet was marked, and both ends agreed on ECN.
    marked: bool,
    /// Lowest TSN of a marked packet.
    pub(super) lowest: Option<Tsn>,
    /// The path whose HEARTBEAT was answered last.
    pub(super) answered: Option<PathId>,
}

impl Association {
    /// Handles the chunks of a packet, which is authenticated if it was `opened`. Returns whether there was
    /// any chunk except DATA and SACK.
    #[inline(always)]
    pub(super) fn take_chunks(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        packet: &Packet<'_>,
        (jar, cookie): (&mut CookieJar, Option<&Cookie>),
        opened: bool,
    ) -> bool {
        let mut seen = Seen { marked: self.watches_mark(ecn), authenticated: opened, ..Seen::default() };
        let mut chunks = packet.chunks();
        // No chunk but AUTH so far (RFC 4895 §6.3)
        let mut first = true;
        loop {
            let rest = chunks.rest();
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
            //# An endpoint MUST process received chunks in their order in the packet.
            let go_on = match &chunks.next() {
                None => break,
                Some(Ok(Chunk::Data(data))) if !self.auth.lacks(ChunkType::DATA, seen.authenticated) => {
                    let stamp = Stamp { tsn: data.tsn, len: data.payload.len() };
                    self.take_data(now, at, stamp, &mut seen, |inbound| inbound.handle_data(data))
                }
                Some(Ok(Chunk::Sack(sack))) if !self.auth.lacks(ChunkType::SACK, seen.authenticated) => {
                    self.take_sack(now, at, sack);
                    true
                }
                Some(Ok(Chunk::CookieEcho(echo))) if first => {
                    seen.control = true;
                    self.take_first_cookie_echo(now, at, packet, echo, (jar, cookie), seen.authenticated)
                }
                Some(Ok(Chunk::Auth(auth))) if first && !opened => {
                    seen.control = true;
                    self.trace_control(now, Direction::In, self.path_of(at), auth);
                    let go_on =
                        self.on_first_auth(at, packet, (auth, rest), (jar, cookie), &mut seen.authenticated);
                    self.note_authenticated(now, at, seen.authenticated);
                    go_on
                }
                // RFC 9260 §6.10 forbids the sender to bundle them and leaves the receiver open: such a chunk
                // is ignored with all that follows it. In front, that is the whole packet (§8.5.1 A).
                Some(Ok(Chunk::Init(_) | Chunk::InitAck(_) | Chunk::ShutdownComplete(_)))
                    if packet.check_bundling().is_err() =>
                {
                    seen.control = true;
                    self.faults.unexpected_chunks += 1;
                    false
                }
                Some(Ok(chunk)) => self.take_chunk(now, at, chunk, rest, &mut seen),
                Some(Err(error)) => self.take_malformed(now, *error, seen.authenticated),
            };
            if !go_on || self.state == State::Closed {
                break;
            }
            first = first && rest.first() == Some(&ChunkType::AUTH.0);
        }
        if seen.asconf && self.state != State::Closed {
            self.limit_asconf_acks();
            self.answer_asconfs_at_candidate(at);
            self.allow_early_data(at, packet);
        }
        if (seen.control || self.paths.data_path().is_none())
            && (seen.authenticated || !self.auth.excludes_observers())
            && let Some(path) = self.path_of(at)
        {
            self.paths.verify_receiving_path(path, now);
        }
        if seen.data && self.state != State::Closed {
            self.end_data_packet(now, at, &seen);
        }
        seen.control
    }

    /// Handles a COOKIE ECHO at the front of a packet. Returns whether its cookie is valid and the rest of
    /// the packet may be processed.
    #[cold]
    fn take_first_cookie_echo(
        &mut self,
        now: Time,
        at: PathAddr,
        packet: &Packet<'_>,
        echo: &CookieEcho<'_>,
        (jar, cookie): (&mut CookieJar, Option<&Cookie>),
        authenticated: bool,
    ) -> bool {
        self.trace_control(now, Direction::In, self.path_of(at), echo);
        if self.auth.lacks(ChunkType::COOKIE_ECHO, authenticated) {
            return self.discard_unauthenticated(ChunkType::COOKIE_ECHO);
        }
        let tag = packet.header.verification_tag.get();
        let valid = match cookie {
            Some(cookie) => self.on_cookie(now, at, tag, cookie, jar),
            None => self.on_cookie_echo(now, at, tag, echo.cookie, jar),
        };
        if valid {
            self.note_valid_packet(now, at);
        }
        // The cookie of a collision or restart may have agreed on protection. What follows it in the packet
        // was admitted before.
        valid && (self.protection.is_none() || self.admits_clear(at, packet))
    }

    /// Runs the steps that are due once after all DATA chunks of a packet.
    #[inline]
    fn end_data_packet(&mut self, now: Time, at: PathAddr, seen: &Seen) {
        self.inbound.end_packet(now);
        if seen.marked {
            self.note_mark(now, at, seen);
        }
        self.output.sack_to = Some(at);
        self.answer_data_by_shutdown();
        if self.reconfig.has_deferred() {
            self.perform_deferred(now, at);
        }
        self.notify_readable();
    }

    /// Handles any chunk except DATA and SACK. Returns false if the rest of the packet must be ignored.
    /// `rest` begins with the chunk.
    #[inline(never)]
    fn take_chunk(
        &mut self,
        now: Time,
        at: PathAddr,
        chunk: &Chunk<'_>,
        rest: &[u8],
        seen: &mut Seen,
    ) -> bool {
        if self.auth.lacks(chunk.chunk_type(), seen.authenticated)
            && !self.may_come_unsigned(chunk.chunk_type())
        {
            seen.control = true;
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
            //# If this chunk is received unauthenticated it MUST be silently discarded as described in
            //# [RFC4895].
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
            //# If this chunk is received unauthenticated it MUST be silently discarded as described in
            //# [RFC4895].
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
            //# the receiver MUST encounter an AUTH chunk
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
            //# It MUST silently discard these chunks if they are not placed after an AUTH chunk in the
            //# packet.
            return self.discard_unauthenticated(chunk.chunk_type());
        }
        seen.control = true;
        if self.tracer.is_on() {
            self.trace_control(now, Direction::In, self.path_of(at), chunk);
        }
        match chunk {
            Chunk::Data(_) | Chunk::Sack(_) | Chunk::Pad(_) => {}
            _ if self.knows(chunk.chunk_type()) => return self.take_agreed(now, at, chunk, seen),
            Chunk::Heartbeat(heartbeat) => self.on_heartbeat(at, heartbeat, seen.authenticated),
            Chunk::HeartbeatAck(ack) => {
                seen.answered = self.on_heartbeat_ack(now, ack, seen.authenticated);
            }
            Chunk::InitAck(ack) => self.on_init_ack(now, at, ack),
            Chunk::CookieAck(_) => self.on_cookie_ack(now, at),
            Chunk::Abort(abort) => {
                self.take_abort(now, at, abort, seen.authenticated);
                return false;
            }
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, at, shutdown),
            Chunk::ShutdownAck(_) => self.on_shutdown_ack(now, at),
            Chunk::ShutdownComplete(complete) => {
                if !complete.tag_reflected || self.tags.local_tag == self.tags.peer_tag {
                    self.on_shutdown_complete(now);
                }
            }
            Chunk::Error(error) => self.on_error(now, error, seen.authenticated),
            Chunk::Asconf(asconf) => {
                if !core::mem::replace(&mut seen.asconf, true) {
                    self.begin_asconf_packet();
                }
                self.on_asconf(now, at, asconf);
            }
            Chunk::AsconfAck(ack) => self.on_asconf_ack(now, at, ack),
            // RFC 9260 §8.5.1 A, §6.10: an INIT comes alone and with tag 0; §5.2.5: a COOKIE ECHO comes first
            Chunk::Init(_) | Chunk::CookieEcho(_) => {
                self.faults.unexpected_chunks += 1;
                return false;
            }
            Chunk::Auth(auth) => {
                let go_on = self.on_auth(at, auth, rest, &mut seen.authenticated);
                self.note_authenticated(now, at, seen.authenticated);
                return go_on;
            }
            // Not in our Supported Extensions: handled as an unknown chunk
            Chunk::ForwardTsn(_)
            | Chunk::Ecne(_)
            | Chunk::Cwr(_)
            | Chunk::IData(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Dtls(_)
            | Chunk::ReConfig(_)
            | Chunk::StreamCredit(_)
            | Chunk::StreamBlocked(_) => return self.on_unknown_chunk(at, rest),
            Chunk::PathCost(cost) => {
                if !(seen.authenticated && self.is_enforced()) {
                    return self.on_unknown_chunk(at, rest);
                }
                self.on_path_cost(now, at, cost, seen.answered);
            }
            Chunk::Unknown(unknown) => {
                let known = seen.private < MAX_PRIVATE_CHUNKS && self.take_private_chunk(now, at, unknown);
                seen.private += u32::from(known);
                return known || self.on_unknown_chunk(at, rest);
            }
        }
        true
    }

    /// Handles an ABORT with this end's tag. The T bit must not be set, unless both ends have the same tag
    /// (RFC 9260 §8.5.1 B).
    fn take_abort(&mut self, now: Time, at: PathAddr, abort: &Abort<'_>, authenticated: bool) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //= type=exception
        //= reason=a protected ABORT comes from the peer with this association, and answers no stray packet:
        //= reason=an observer that delivers a copy to the address being deleted must not use it up
        //# ABORT Chunks arriving destined to the IP address being deleted MUST be ignored
        // As little does one to an address that the association does not have: it answers an INIT that left
        // from there, and that another answer overtook.
        let is_stray = self.must_ignore_abort(at) || !self.paths.has_local(&at.local);
        if is_stray && !(authenticated && self.is_enforced()) {
            self.faults.unexpected_chunks += 1;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
        //# The receiver of an ABORT chunk MUST accept the packet if the Verification Tag field of the packet
        //# matches its own tag and the T bit is not set OR if it is set to its Peer's Tag and the T bit is
        //# set in the Chunk Flags.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
        //# An endpoint receiving an ABORT chunk MUST apply the special Verification Tag check rules described
        //# in Section 8.5.1.
        } else if abort.tag_reflected && self.tags.local_tag != self.tags.peer_tag {
            self.faults.wrong_tag_packets += 1;
        } else {
            self.on_abort(now, at, abort);
        }
    }

    /// Handles a chunk of an extension that this end announced.
    pub(super) fn take_agreed(
        &mut self,
        now: Time,
        at: PathAddr,
        chunk: &Chunk<'_>,
        seen: &mut Seen,
    ) -> bool {
        match chunk {
            Chunk::IData(data) => {
                let stamp = Stamp { tsn: data.tsn, len: data.payload.len() };
                self.take_data(now, at, stamp, seen, |inbound| inbound.handle_i_data(data))
            }
            Chunk::ForwardTsn(forward) => {
                self.take_forward(now, seen, |inbound| inbound.handle_forward_tsn(forward))
            }
            Chunk::IForwardTsn(forward) => {
                self.take_forward(now, seen, |inbound| inbound.handle_i_forward_tsn(forward))
            }
            Chunk::ReConfig(request) => {
                self.on_re_config(now, at, request);
                true
            }
            Chunk::Ecne(echo) => {
                self.on_ecne(now, at, echo);
                true
            }
            Chunk::Cwr(answer) => {
                self.on_cwr(answer);
                true
            }
            Chunk::StreamCredit(credit) if seen.authenticated => {
                self.on_stream_credit(credit);
                true
            }
            Chunk::StreamBlocked(blocked) if seen.authenticated => {
                self.on_stream_blocked(blocked);
                true
            }
            _ => true,
        }
    }

    /// Handles DATA or I-DATA: `handle` passes the chunk to the receiving half.
    #[inline]
    fn take_data(
        &mut self,
        now: Time,
        at: PathAddr,
        data: Stamp,
        seen: &mut Seen,
        handle: impl FnOnce(&mut Inbound) -> Result<Received, DataFault>,
    ) -> bool {
        // RFC 9260 §6: DATA is received in these states only, in any other it SHOULD be discarded
        if !self.takes_data() {
            self.faults.unexpected_chunks += 1;
            return true;
        }
        seen.data = true;
        if seen.marked && seen.lowest.is_none_or(|lowest| data.tsn.precedes(lowest)) {
            seen.lowest = Some(data.tsn);
        }
        let received = match handle(&mut self.inbound) {
            Ok(received) => received,
            Err(fault) => {
                let text = fault.to_string();
                self.violated(now, fault.cause(), "DATA chunk against the protocol", text.as_bytes());
                return false;
            }
        };
        match received {
            Received::New => {
                self.stats.data_chunks_received += 1;
                self.note_data(now);
            }
            Received::Duplicate => self.stats.duplicate_tsns_received += 1,
            Received::Dropped => {}
            // Both ends agreed on the streams under protection: the peer does not send on others.
            Received::InvalidStream(stream) if self.is_enforced() && !self.may_be_incoming(stream.get()) => {
                return self.end_disagreement_on_streams(now, stream);
            }
            Received::InvalidStream(stream) => {
                self.stats.data_chunks_received += 1;
                let causes = [Cause::InvalidStreamIdentifier(stream)];
                let to = self.reply_addr(at);
                self.reply(to, &Error { causes: Causes::from(&causes) });
            }
        }
        if self.tracer.is_on() {
            let again = received == Received::Duplicate;
            let (path, tsn, len) = (self.path_of(at), data.tsn.get(), data.len as u32);
            self.tracer.push(now, TraceKind::Data { direction: Direction::In, path, tsn, len, again });
        }
        true
    }

    /// Ends a protected association whose ends believe in different numbers of streams. RFC 9260 §6.5 would
    /// acknowledge data on the others and throw it away. Returns false: the rest of the packet is ignored.
    #[cold]
    fn end_disagreement_on_streams(&mut self, now: Time, stream: StreamId) -> bool {
        let (code, what) = (CauseCode::PROTOCOL_VIOLATION, "data on a stream that was not agreed on");
        self.violated(now, code, what, format!("stream {stream} was not agreed on").as_bytes());
        false
    }

    fn take_sack(&mut self, now: Time, at: PathAddr, sack: &Sack<'_>) {
        // RFC 9260 §6: SACKs are processed in these states; the others have nothing outstanding
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6
        //# A SACK chunk MUST be processed in ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-RECEIVED states.
        if !matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived) {
            self.faults.unexpected_chunks += 1;
            return;
        }
        self.stats.sacks_received += 1;
        if self.tracer.is_on() {
            let kind = TraceKind::Sack {
                direction: Direction::In,
                path: self.path_of(at),
                cum_tsn_ack: sack.cum_tsn_ack.get(),
                a_rwnd: sack.a_rwnd,
                gap_blocks: sack.gap_blocks.len() as u16,
                duplicates: sack.duplicates.len() as u16,
            };
            self.tracer.push(now, kind);
        }
        self.paths.note_sack(at);
        match self.outbound.handle_sack(now, sack, &mut self.paths) {
            Ok(outcome) => self.note_acked(outcome.bytes_acked),
            Err(fault) => {
                let text = fault.to_string();
                self.violated(now, fault.cause(), "SACK for what was not sent", text.as_bytes());
            }
        }
    }

    fn note_acked(&mut self, bytes: u64) {
        self.stats.bytes_acked += bytes;
        self.report_abandoned();
        if self.reconfig.is_active() {
            self.advance_reconfig();
        }
        self.notify_writable();
    }

    /// Reports room in the send buffer.
    pub(super) fn notify_writable(&mut self) {
        if self.outbound.take_writable() {
            self.events.push(Event::Writable);
        }
    }

    /// Handles the Cumulative TSN Ack of a SHUTDOWN. Returns false if it aborted the association.
    pub(super) fn on_cum_tsn_ack(&mut self, now: Time, cum_tsn_ack: msctp_wire::Tsn) -> bool {
        match self.outbound.handle_cum_tsn_ack(now, cum_tsn_ack, &mut self.paths) {
            Ok(outcome) => {
                self.note_acked(outcome.bytes_acked);
                true
            }
            Err(fault) => {
                let text = fault.to_string();
                self.violated(now, fault.cause(), "SHUTDOWN for what was not sent", text.as_bytes());
                false
            }
        }
    }

    /// Aborts because the peer violated the protocol.
    pub(super) fn violated(&mut self, now: Time, code: CauseCode, what: &'static str, text: &[u8]) {
        let cause = match code {
            CauseCode::OUT_OF_RESOURCE => Cause::OutOfResource,
            _ => Cause::ProtocolViolation(text),
        };
        self.abort_with(now, &[cause], LossReason::ProtocolViolation { cause: code.0, what });
    }

    fn take_malformed(&mut self, now: Time, error: ChunkError, authenticated: bool) -> bool {
        match error {
            // RFC 4895 §6.3: a malformed chunk of a type that needs AUTH must not abort the association
            // without it
            ChunkError::Malformed { typ, .. } if self.auth.lacks(typ, authenticated) => {
                self.discard_unauthenticated(typ)
            }
            ChunkError::Malformed {
                typ: ChunkType::DATA | ChunkType::I_DATA,
                fault: Malformed::NoUserData { tsn },
            } => {
                // RFC 9260 §6.2: "MUST send an ABORT with [...] a 'No User Data' error cause"
                let cause = Cause::NoUserData(tsn);
                let reason = LossReason::ProtocolViolation {
                    cause: cause.typ().0,
                    what: "DATA chunk without user data",
                };
                self.abort_with(now, &[cause], reason);
                false
            }
            // RFC 9260 §6.10: a partial chunk MUST be dropped
            ChunkError::Malformed { .. } => {
                self.faults.malformed_chunks += 1;
                true
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
            //# If the receiver detects a partial chunk, it MUST drop the chunk.
            ChunkError::Framing(_) => {
                self.faults.malformed_chunks += 1;
                false
            }
        }
    }

    /// Handles an unknown chunk by its highest bits (RFC 9260 §3.2, Table 2).
    pub(super) fn on_unknown_chunk(&mut self, at: PathAddr, rest: &[u8]) -> bool {
        self.faults.unknown_chunks += 1;
        let Ok(chunk) = UnknownChunk::new(rest) else { return false };
        let action = chunk.action();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //# until the COOKIE ACK chunk is returned, the sender MUST NOT send any
        //# other packets to the peer.
        let setting_up = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if action.report && !setting_up {
            let causes = [Cause::UnrecognizedChunkType(chunk.bytes())];
            let to = self.reply_addr(at);
            self.reply(to, &Error { causes: Causes::from(&causes) });
        }
        !action.stop
    }

    /// Answers a HEARTBEAT, from COOKIE-ECHOED "up until reaching the SHUTDOWN-SENT state" (RFC 9260 §8.3).
    ///
    /// It also answers in SHUTDOWN-SENT, which the RFC does not forbid. A peer with data left (§9.2) may have
    /// only one address left, which it must first verify (§5.4) or detect as working again. In
    /// SHUTDOWN-ACK-SENT the peer sends no HEARTBEATs.
    pub(super) fn on_heartbeat(&mut self, at: PathAddr, heartbeat: &Heartbeat<'_>, authenticated: bool) {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.3
        //# A receiver of a HEARTBEAT chunk MUST respond to a HEARTBEAT chunk with a HEARTBEAT ACK chunk after
        //# entering the COOKIE-ECHOED state
        let answers = matches!(
            self.state,
            State::CookieEchoed
                | State::Established
                | State::ShutdownPending
                | State::ShutdownReceived
                | State::ShutdownSent
        );
        if !answers {
            self.faults.unexpected_chunks += 1;
            return;
        }
        // RFC 9260 §5.4, §6.4: back to where it came from, confirmed or not, unless our address may not be a
        // source
        let to = match self.paths.local_source(&at.local) {
            Some(SourceUse::Full) => Some(at),
            _ => self.reply_addr(at),
        };
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.6
        //# An endpoint MUST send this chunk to its peer endpoint as a response to a HEARTBEAT chunk
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.6
        //# This field MUST contain the Heartbeat Info parameter (as defined in Section 3.3.5) of the
        //# Heartbeat Request to which this Heartbeat Acknowledgement is responding.
        let answer = HeartbeatAck { params: heartbeat.params };
        self.reply(to, &answer);
        if authenticated && let Some(cost) = self.cost_to_tell(&at.local) {
            self.reply(to, &cost);
        }
        if authenticated && to == Some(at) {
            self.answer_candidate(at, &answer);
        }
        if authenticated && let Some(known) = self.answer_addr_elsewhere(at) {
            self.reply(Some(known), &answer);
        }
    }

    /// Returns the path that a HEARTBEAT ACK answers for.
    fn on_heartbeat_ack(&mut self, now: Time, ack: &HeartbeatAck<'_>, authenticated: bool) -> Option<PathId> {
        let info = ack.info()?;
        let named = HeartbeatInfo::from_bytes(info)?;
        if self.on_port_answer(now, &named) || self.on_newcomer_answer(now, &named, authenticated) {
            return None;
        }
        // An observer can answer a HEARTBEAT in clear to an address that the peer only lists.
        if !authenticated
            && self.is_protected()
            && self.paths.get(named.path).is_some_and(|path| !path.is_confirmed())
        {
            self.faults.unprotected_packets += 1;
            return None;
        }
        let (path, rtt, ended_back_off) = match self.paths.on_heartbeat_ack(info, now) {
            Acknowledged::Heartbeat { path, rtt, ended_back_off } => (path, rtt, ended_back_off),
            Acknowledged::Probe { path } => return Some(path),
            Acknowledged::Unknown => return None,
        };
        if let Some(entry) = self.paths.get(path) {
            let (srtt, rto) = (entry.rtt.srtt().unwrap_or(rtt), entry.rtt.rto());
            self.tracer.push(now, TraceKind::Rtt { path, sample: rtt, srtt, rto });
            // RFC 9260 §6.3.3: as T3-rtx, in `Path::measure_round_trip`. What was sent on a path that failed
            // or is gone would wait for its back-off, although this one works.
            let paths = &self.paths;
            let works = |last: PathId| match last == path {
                true => !ended_back_off,
                false => paths.get(last).is_some_and(|last| last.state() == PathState::Active),
            };
            self.readdressing.ours.shorten_t4_rto(now + rto, works);
            self.reconfig.ours.shorten_timer(now + rto, works);
        }
        Some(path)
    }

    fn on_error(&mut self, now: Time, error: &Error<'_>, authenticated: bool) {
        for cause in error.causes.iter().flatten() {
            if let Cause::StaleCookie(us) = cause {
                self.on_stale_cookie(now, us);
                continue;
            }
            // `may_come_unsigned`: of a listener without keys, which refuses the cookie
            if self.is_enforced() && !authenticated {
                continue;
            }
            if let Cause::InvalidStreamIdentifier(stream) = cause
                && self.is_enforced()
                && stream.get() < self.tags.outbound_streams
            {
                self.end_disagreement_on_streams(now, stream);
                return;
            }
            if let Cause::UnrecognizedChunkType(chunk) = cause
                && chunk.first() == Some(&ChunkType::ASCONF.0)
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
                //= type=exception
                //= reason=a peer that speaks AUTH announced ASCONF: an unsigned ERROR may be forged and is
                //= reason=not believed
                //# the sender of the ASCONF MUST NOT send any further ASCONF Chunks and MUST stop its T-4
                //# timer
                && (authenticated || !(self.auth.is_spoken() || self.is_protected()))
            {
                // RFC 5061 §5.1.1 A9: the peer does not support ASCONF after all. A peer with AUTH announced
                // ASCONF: only a signed ERROR may revoke that.
                self.readdressing.ours.on_unrecognized();
            }
            self.events.push(Event::PeerError { cause: cause.typ().0 });
        }
    }
}
