//! Stream reconfiguration (RFC 6525): connects [`crate::reconfig`], the streams and the wire.

use msctp_units::{Span, Time};
use msctp_wire::param::{AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ResetCodes, StreamCode};
use msctp_wire::{EncodeChunk, List, PacketBuilder, Param, Params, ReConfig, ReconfigSerial, StreamId, Tsn};
use smallvec::SmallVec;

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::call_error::CallError;
use crate::event::Event;
use crate::extensions::Extensions;
use crate::inbound::StreamEnd;
use crate::message::Transmit;
use crate::path::Path;
use crate::reconfig::{
    Answer, Deferred, Held, Incoming, MAX_NAMED_STREAMS, MAX_RESET_CODES, NAMES_PER_CODE, Outgoing,
    ReconfigOutcome, Reconfiguration, Settled, Step, StreamEvent, StreamRequest,
};
use crate::stats::AssociationState as State;
use crate::timer_table::earlier;
use crate::trace::Direction;

/// Number of parameters of a RE-CONFIG that are parsed (RFC 6525 §3.1: one or two).
const MAX_PARAMS: usize = 2;

/// Shortest wait for the answer to a request before it is retransmitted.
const LEAST_PROBE: Span = Span::from_millis(10);

/// Time for which the response to an end that came with its data waits for a packet with DATA. The reader's
/// answer takes less on a machine that is not busy, and the peer's [`LEAST_PROBE`] more.
const RESPONSE_DELAY: Span = Span::from_millis(1);

/// Bytes of a packet with the end of a stream that are not for its DATA: a SACK, a request, a response.
const END_ROOM: usize = 64;

/// Reconfiguration of one association.
#[derive(Debug)]
pub(super) struct Reconfig {
    pub(super) ours: Outgoing,
    theirs: Incoming,
    /// The peer's Incoming SSN Reset Request that this end's current reset answers.
    answering: Option<ReconfigSerial>,
}

impl Reconfig {
    pub(super) fn new(ours: Tsn, theirs: Tsn) -> Self {
        Self { ours: Outgoing::new(ours), theirs: Incoming::new(theirs), answering: None }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        earlier(self.ours.next_timeout(), self.theirs.held().map(|held| held.until))
    }

    /// Returns whether a response or an end is to leave with the next packet with DATA.
    pub(super) fn awaits_packet(&self) -> bool {
        self.theirs.held().is_some() || self.ours.awaited_data().is_some()
    }

    /// Returns whether a reset of the peer waits for data.
    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        self.theirs.has_deferred()
    }

    /// Returns whether a request of this end is outstanding.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.ours.current().is_some()
    }
}

impl Association {
    /// Returns whether the peer may believe that it may send on this stream: streams that this end has asked
    /// it to add count as agreed.
    pub(super) fn may_be_incoming(&self, stream: u16) -> bool {
        stream < self.tags.inbound_streams.saturating_add(self.reconfig.ours.incoming_in_flight())
    }

    /// Returns whether the peer may request resets and more streams.
    fn accepts_requests(&self) -> bool {
        self.config.streams.reconfiguration == Reconfiguration::Accept
    }

    /// Requests a change of streams (RFC 6525 §5.1). One request is outstanding at a time, and further ones
    /// are queued. [`Event::Streams`] reports each outcome.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support it, a stream does not exist, too many are named,
    /// or the queue is full.
    pub fn reconfigure(&mut self, now: Time, request: StreamRequest) -> Result<(), CallError> {
        self.reconfigure_with(now, request, Vec::new())
    }

    /// Requests a change of streams as [`reconfigure`](Self::reconfigure), and tells the peer why some of the
    /// streams of a reset are abandoned, if it is an msctp peer: at most 48, each of which takes the place of
    /// three named streams. A stream of
    /// [`ResetOutgoing`](StreamRequest::ResetOutgoing) that is abandoned sends nothing more: its queued
    /// messages are [abandoned](Self::abandon_unsent).
    ///
    /// # Errors
    ///
    /// As [`reconfigure`](Self::reconfigure).
    pub fn reconfigure_with(
        &mut self,
        now: Time,
        request: StreamRequest,
        codes: Vec<StreamCode>,
    ) -> Result<(), CallError> {
        self.queue_request(now, request, codes, Outgoing::push_with)
    }

    /// Resets outgoing streams as [`reconfigure_with`](Self::reconfigure_with), but behind their queued
    /// messages. Under protection the request leaves in the packet with the last of them (RFC 6525 §5.1.2),
    /// if there is room. Other requests pass it meanwhile.
    ///
    /// # Errors
    ///
    /// As [`reconfigure`](Self::reconfigure).
    pub fn end_streams(
        &mut self,
        now: Time,
        streams: Vec<u16>,
        codes: Vec<StreamCode>,
    ) -> Result<(), CallError> {
        let request = StreamRequest::ResetOutgoing(streams);
        self.queue_request(now, request, codes, |ours, request, codes, _| ours.push_end(request, codes))
    }

    /// Returns whether [`end_streams`](Self::end_streams) would send the request now: with the last messages
    /// of the stream, which then all fit the next packet, or without any.
    pub fn may_end(&self, stream: u16) -> bool {
        self.outbound.unsent_on(stream) == 0
            || self.bundles_ends() && self.outbound.fits_next_packet(END_ROOM, &self.paths)
    }

    /// Returns whether requests and responses share packets with DATA: the peer is an msctp peer. Others may
    /// answer a reset whose data follows in the same packet with an error.
    fn bundles_ends(&self) -> bool {
        self.is_enforced() && self.protects_addresses()
    }

    /// Checks a request and queues it by `push`. Abandons what is queued on streams with a code.
    fn queue_request(
        &mut self,
        now: Time,
        request: StreamRequest,
        codes: Vec<StreamCode>,
        push: impl FnOnce(&mut Outgoing, StreamRequest, Vec<StreamCode>, Option<ReconfigSerial>) -> bool,
    ) -> Result<(), CallError> {
        self.check_request(&request, codes.len())?;
        let abandoned: SmallVec<[u16; 8]> = match &request {
            StreamRequest::ResetOutgoing(_) => codes.iter().map(|one| one.stream).collect(),
            _ => SmallVec::new(),
        };
        if !push(&mut self.reconfig.ours, request, codes, None) {
            return Err(CallError::TooManyStreamRequests);
        }
        abandoned.iter().for_each(|&stream| self.abandon_unsent(now, stream));
        self.after_change(now);
        Ok(())
    }

    /// Checks whether a request with this number of codes can be made.
    fn check_request(&self, request: &StreamRequest, codes: usize) -> Result<(), CallError> {
        // The shutdown waits for those with codes: see `give_up_unasked`.
        let tells_codes = codes > 0 && matches!(request, StreamRequest::ResetOutgoing(_));
        if self.state != State::Established && !(tells_codes && self.watches_paths()) {
            return Err(CallError::WrongState { state: self.state });
        }
        if !self.tags.extensions.has(Extensions::RE_CONFIG) {
            return Err(CallError::PeerLacksReconfig);
        }
        let (streams, count) = match request {
            StreamRequest::ResetOutgoing(streams) => (&streams[..], self.tags.outbound_streams),
            StreamRequest::ResetIncoming(streams) => (&streams[..], self.tags.inbound_streams),
            StreamRequest::AddOutgoing(_) | StreamRequest::AddIncoming(_) => (&[][..], 0),
        };
        if let Some(&stream) = streams.iter().find(|&&stream| stream >= count) {
            return Err(CallError::UnknownStream { stream, streams: count });
        }
        // A request that fits no packet would never be sent, and its streams would wait for ever.
        let named = streams.len() + NAMES_PER_CODE * codes;
        if named > MAX_NAMED_STREAMS || codes > MAX_RESET_CODES {
            return Err(CallError::TooManyStreamsNamed { streams: named });
        }
        Ok(())
    }

    /// Returns whether a reset of this outgoing stream is under way, which this end or the peer wanted.
    pub fn is_resetting(&self, stream: u16) -> bool {
        self.reconfig.ours.resets(stream)
    }

    /// Abandons the messages of a stream that were not sent, and with PR-SCTP (RFC 3758) the rest of one that
    /// was sent in part. [`Event::SendFailed`] reports each.
    pub fn abandon_unsent(&mut self, now: Time, stream: u16) {
        self.outbound.abandon_unsent(now, stream, &mut self.paths);
        self.report_abandoned();
        self.after_change(now);
    }

    /// Begins with the peer's initial TSN. Cancels requests to a peer that restarted.
    pub(super) fn begin_reconfiguration(&mut self, peer_initial_tsn: Tsn) {
        while let Some((settled, _)) = self.reconfig.ours.give_up(true) {
            self.notify_settled(settled);
        }
        if let Some(Deferred { answered: Some(settled), .. }) = self.reconfig.theirs.cancel_deferred() {
            self.notify_settled(Settled { outcome: ReconfigOutcome::GivenUp, ..settled });
        }
        self.reconfig = Reconfig::new(self.tags.local_initial_tsn, peer_initial_tsn);
    }

    /// Cancels unsent requests when the association shuts down, and resumes the streams paused for them.
    /// Those that tell the peer of abandoned streams stay: its readers would take what they have for all.
    pub(super) fn give_up_unasked(&mut self) {
        while let Some((settled, is_current)) = self.reconfig.ours.give_up(false) {
            // Only for the current one streams may have fallen silent.
            if is_current {
                self.settle_reconfig(settled);
                self.advance_reconfig();
            } else {
                self.notify_settled(settled);
            }
        }
    }

    /// Returns whether the peer may not know of streams that were abandoned.
    pub(super) fn tells_codes(&self) -> bool {
        self.reconfig.ours.tells_codes()
    }

    /// Advances the current request as far as data transfer allows.
    pub(super) fn advance_reconfig(&mut self) {
        // In clear, where the peer would discard the request, the streams that it pauses would carry no
        // message of the key management that it waits for.
        if !self.watches_paths() || !self.protects_addresses() {
            return;
        }
        while let Some((request, step)) = self.reconfig.ours.current() {
            if let Some(streams) = self.reconfig.ours.awaited_data() {
                if !streams.iter().any(|&stream| self.outbound.unsent_on(stream) > 0) {
                    self.reconfig.ours.on_data_sent();
                } else if !self.reconfig.ours.let_pass() {
                    self.output.upkeep_due = true;
                    break;
                }
                continue;
            }
            let next = match (request, step) {
                (StreamRequest::ResetOutgoing(streams), Step::Queued) => {
                    self.reconfig.answering = self.reconfig.ours.numbers().1;
                    let last = self.reconfig.theirs.last();
                    // RFC 6525 §5.1.2: no new message on these streams until it is answered
                    self.outbound.pause_streams(streams);
                    self.reconfig.ours.begin_reset(last);
                    continue;
                }
                (StreamRequest::ResetOutgoing(streams), Step::Quieting)
                    if self.outbound.are_quiet(streams) =>
                {
                    self.outbound.begin_reset();
                    // RFC 6525 §5.2.2 E3: the peer defers the reset until it has all data sent before. To
                    // wait for the acknowledgement here would cost a delayed SACK.
                    Step::Due
                }
                (StreamRequest::ResetOutgoing(_), _) | (_, Step::Due | Step::Sent) => break,
                _ => Step::Due,
            };
            self.output.upkeep_due |= next == Step::Due;
            self.reconfig.ours.set_step(next);
        }
    }

    /// Handles the timer of a request, if it expired (RFC 6525 §5.1.1).
    pub(super) fn reconfig_timeout(&mut self, now: Time) {
        if let Some(path) = self.reconfig.ours.handle_timeout(now) {
            self.paths.on_request_timeout(path);
        }
        if let Some(held) = self.reconfig.theirs.take_held(|held| held.until <= now) {
            self.push_response(held.at, held.serial, held.result);
        }
    }

    /// Adds the response that waits for a packet on this path.
    pub(super) fn push_held_response(&mut self, now: Time, path: PathId, builder: &mut PacketBuilder<'_>) {
        let Some(&Held { at, serial, result, .. }) = self.reconfig.theirs.held() else { return };
        let to = self.reply_addr(at);
        if !builder.is_enclosed() || to != self.paths.get(path).map(Path::addr) {
            return;
        }
        let params = [Param::ReconfigResponse(ReconfigResponse { serial, result, next_tsns: None })];
        let chunk = ReConfig { params: Params::from(&params) };
        if builder.push(&chunk).is_ok() {
            self.reconfig.theirs.take_held(|_| true);
            self.output.upkeep_due = true;
            self.tracer.control(now, Direction::Out, Some(path), &chunk);
        }
    }

    /// Adds the request for the end of streams to the packet with their last data, which begins at `data`.
    pub(super) fn push_end(&mut self, now: Time, path: PathId, data: usize, builder: &mut PacketBuilder<'_>) {
        if self.reconfig.ours.awaited_data().is_none() {
            return;
        }
        self.advance_reconfig();
        let is_due =
            matches!(self.reconfig.ours.current(), Some((StreamRequest::ResetOutgoing(_), Step::Due)));
        if is_due && builder.is_enclosed() && self.bundles_ends() {
            // Without room it leaves in the next packet.
            self.push_request(now, path, Some(data), builder);
        }
    }

    /// Returns the request that is due.
    pub(super) fn send_reconfig(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        self.reconfig.ours.current().filter(|(_, step)| *step == Step::Due)?;
        // A request that was not answered tries every path, as data does (RFC 9260 §6.4).
        let path = match self.reconfig.ours.last_path() {
            Some(last) => self.paths.retransmission_path(last),
            None => self.paths.data_path(),
        };
        let path = path?;
        let at = self.paths.get(path).map(Path::addr)?;
        let mut builder = self.builder(out, self.tags.peer_tag, self.packet_room(at));
        if !self.push_request(now, path, None, &mut builder) {
            return None;
        }
        if builder.is_enclosed() {
            self.bundle(now, path, &mut builder);
        }
        debug_assert_eq!(self.paths.get(path).map(Path::addr), Some(at));
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }

    /// Adds the current request to a packet on this path: `before` the chunks from this length on, or last.
    /// Returns false if it does not fit.
    fn push_request(
        &mut self,
        now: Time,
        path: PathId,
        before: Option<usize>,
        builder: &mut PacketBuilder<'_>,
    ) -> bool {
        let Some((request, _)) = self.reconfig.ours.current() else { return false };
        let (serial, _) = self.reconfig.ours.numbers();
        let ids = |streams: &[u16]| -> SmallVec<[StreamId; 8]> {
            streams.iter().map(|&stream| StreamId::new(stream)).collect()
        };
        let streams = match request {
            StreamRequest::ResetOutgoing(streams) | StreamRequest::ResetIncoming(streams) => ids(streams),
            StreamRequest::AddOutgoing(_) | StreamRequest::AddIncoming(_) => SmallVec::new(),
        };
        let streams = List::from(&streams[..]);
        let params = [match *request {
            StreamRequest::ResetOutgoing(_) => Param::OutgoingReset(OutgoingReset {
                serial,
                response_to: self.reconfig.ours.response_to().unwrap_or_else(|| self.reconfig.theirs.last()),
                last_tsn: self.outbound.next_tsn().prev(),
                streams,
            }),
            StreamRequest::ResetIncoming(_) => Param::IncomingReset(IncomingReset { serial, streams }),
            StreamRequest::AddOutgoing(streams) => Param::AddOutgoingStreams(AddStreams { serial, streams }),
            StreamRequest::AddIncoming(streams) => Param::AddIncomingStreams(AddStreams { serial, streams }),
        }];
        let Some(entry) = self.paths.get(path) else { return false };
        // As RACK-TLP's probe (RFC 8985 §7.2), a request is retransmitted before T-reconfig (RFC 6525
        // §5.1.1) expires: the peer answers at once, and all other ends wait for this one.
        let is_first = !self.reconfig.ours.is_asked() && entry.rack.is_some();
        let probe = entry.rtt.srtt().filter(|_| is_first).map(|srtt| (srtt * 2).max(LEAST_PROBE));
        let rto = entry.rtt.rto();
        let probe = probe.filter(|probe| *probe < rto);
        let chunk = ReConfig { params: Params::from(&params) };
        let codes = self.reconfig.ours.codes();
        // A RE-CONFIG with other than the RFC's parameters is invalid to some peers (RFC 6525 §3.1).
        let named = [Param::ResetCodes(ResetCodes { serial, codes: List::from(codes) })];
        let named = (!codes.is_empty()).then(|| ReConfig { params: Params::from(&named) });
        let needed = chunk.padded_len() + named.as_ref().map_or(0, EncodeChunk::padded_len);
        if builder.remaining() < needed {
            return false;
        }
        let mut push = |chunk: &ReConfig<'_>| match before {
            Some(at) => builder.push_before(at, chunk),
            None => builder.push(chunk),
        };
        // Each goes before the one inserted last.
        let (first, second) = match (before, &named) {
            (Some(_), Some(named)) => (&chunk, Some(named)),
            (None, Some(named)) => (named, Some(&chunk)),
            (_, None) => (&chunk, None),
        };
        if push(first).and_then(|()| second.map_or(Ok(()), push)).is_err() {
            debug_assert!(false, "room was checked");
            return false;
        }
        self.tracer.control(now, Direction::Out, Some(path), &chunk);
        self.reconfig.ours.on_sent(path, now + probe.unwrap_or(rto), probe.is_some());
        self.output.upkeep_due = true;
        true
    }

    pub(super) fn on_re_config(&mut self, now: Time, at: PathAddr, chunk: &ReConfig<'_>) {
        // In SHUTDOWN-SENT too: the peer may have asked before, and holds back data until it is answered.
        if !self.watches_paths() && self.state != State::ShutdownSent {
            self.faults.unexpected_chunks += 1;
            return;
        }
        if self.reconfig.has_deferred() {
            // The application may have taken streams since.
            self.perform_deferred(now, at);
        }
        for param in chunk.params.iter().flatten().take(MAX_PARAMS) {
            match param {
                Param::OutgoingReset(reset) => {
                    self.respond(at, reset.serial, |association| association.incoming_reset(at, &reset));
                }
                Param::IncomingReset(reset) => {
                    self.respond(at, reset.serial, |association| association.reset_on_request(&reset));
                }
                // RFC 6525 §5.2.4: not done here, so it is denied
                Param::TsnReset(serial) => self.respond(at, serial, |_| ReconfigResponse::DENIED),
                Param::AddOutgoingStreams(add) => {
                    self.respond(at, add.serial, |association| association.take_streams(add.streams));
                }
                Param::AddIncomingStreams(add) => {
                    self.respond(at, add.serial, |association| association.add_on_request(add.streams));
                }
                Param::ReconfigResponse(response) => {
                    if let Some(settled) = self.reconfig.ours.on_response(&response) {
                        self.settle_reconfig(settled);
                    }
                    if self.reconfig.has_deferred() {
                        self.perform_deferred(now, at);
                    }
                }
                Param::ResetCodes(reset) => {
                    self.reconfig.theirs.keep_codes(reset.serial, reset.codes.iter());
                }
                _ => {}
            }
        }
    }

    /// Answers a deferred reset at the end of the packet that had it, if the packet did not have all its
    /// data (RFC 6525 §5.2.2 E3).
    pub(super) fn answer_deferred(&mut self) {
        if let Some((at, serial)) = self.reconfig.theirs.take_unanswered() {
            self.push_response(at, serial, ReconfigResponse::IN_PROGRESS);
        }
    }

    /// Executes a request once, and repeats its answer if the request is retransmitted (RFC 6525 §5.2.1).
    fn respond(&mut self, at: PathAddr, serial: ReconfigSerial, act: impl FnOnce(&mut Self) -> u32) {
        let result = match self.reconfig.theirs.look(serial) {
            Answer::BadSequenceNumber => ReconfigResponse::BAD_SEQUENCE_NUMBER,
            Answer::Again(result) => {
                self.reconfig.theirs.take_held(|held| held.serial == serial);
                result
            }
            Answer::New => {
                // An application that does not read what happened must not let a peer fill the memory.
                let result = if self.events.is_full() { ReconfigResponse::DENIED } else { act(self) };
                self.reconfig.theirs.answer(serial, result);
                if self.reconfig.theirs.is_unanswered(serial) {
                    // The data may follow in this packet.
                    return;
                }
                result
            }
        };
        self.push_response(at, serial, result);
    }

    /// Repeats the answer to a request that was executed before (RFC 6525 §5.2.1).
    pub(super) fn respond_again(&mut self, at: PathAddr, serial: ReconfigSerial) {
        if let Answer::Again(result) = self.reconfig.theirs.look(serial) {
            self.push_response(at, serial, result);
        }
    }

    /// Queues a response (RFC 6525 §5.1.7).
    fn push_response(&mut self, at: PathAddr, serial: ReconfigSerial, result: u32) {
        let params = [Param::ReconfigResponse(ReconfigResponse { serial, result, next_tsns: None })];
        let to = self.reply_addr(at);
        self.reply(to, &ReConfig { params: Params::from(&params) });
    }

    /// Handles an Outgoing SSN Reset Request (RFC 6525 §5.2.2).
    fn incoming_reset(&mut self, at: PathAddr, reset: &OutgoingReset<'_>) -> u32 {
        if !self.accepts_requests() {
            return ReconfigResponse::DENIED;
        }
        if reset.streams.iter().any(|stream| stream.get() >= self.tags.inbound_streams) {
            return ReconfigResponse::WRONG_SSN;
        }
        if self.reconfig.theirs.has_deferred() {
            return ReconfigResponse::ALREADY_IN_PROGRESS;
        }
        let streams: SmallVec<[u16; 8]> = reset.streams.iter().map(StreamId::get).collect();
        let answered = self.reconfig.ours.on_reset(reset.response_to, streams.iter().copied());
        let ends = self.reconfig.theirs.ends(reset.serial, streams.into_iter());
        let crosses = self.reconfig.ours.crosses(&ends);
        if !crosses
            && reset.last_tsn.precedes_or_is(self.inbound.cum_tsn_ack())
            && self.inbound.may_end(&ends)
        {
            self.perform_reset(&ends, answered);
            return ReconfigResponse::PERFORMED;
        }
        let (serial, last_tsn) = (reset.serial, reset.last_tsn);
        self.reconfig.theirs.defer(Deferred { serial, last_tsn, ends, answered, unanswered: Some(at) });
        ReconfigResponse::IN_PROGRESS
    }

    /// Executes a reset whose data has arrived, and answers the peer: at once, but if the data came in the
    /// packet with the request, in the next packet with DATA.
    pub(super) fn perform_deferred(&mut self, now: Time, at: PathAddr) {
        let (inbound, Reconfig { ours, theirs, .. }) = (&mut self.inbound, &mut self.reconfig);
        let arrived = inbound.cum_tsn_ack();
        let may_end = |ends: &[StreamEnd]| inbound.may_end(ends) && !ours.crosses(ends);
        if let Some(deferred) = theirs.take_deferred(arrived, may_end) {
            self.perform_reset(&deferred.ends, deferred.answered);
            let (serial, result) = (deferred.serial, ReconfigResponse::PERFORMED);
            self.reconfig.theirs.answer(serial, result);
            if deferred.unanswered.is_none() || !self.bundles_ends() {
                return self.push_response(at, serial, result);
            }
            let held = Held { at, serial, result, until: now + RESPONSE_DELAY };
            if let Some(earlier) = self.reconfig.theirs.hold(held) {
                self.push_response(earlier.at, earlier.serial, earlier.result);
            }
            self.output.upkeep_due = true;
        }
    }

    /// Executes a reset of the peer, and reports the request of this end that it answers: before, the numbers
    /// may not be used again.
    fn perform_reset(&mut self, ends: &[StreamEnd], answered: Option<Settled>) {
        let wanted = answered.is_some();
        if let Some(settled) = answered {
            self.settle_reconfig(settled);
        }
        self.inbound.reset_streams(ends, wanted);
        for settled in self.reconfig.ours.on_peer_ended(ends) {
            self.notify_settled(settled);
        }
        self.report_partial_aborts();
        self.notify_readable();
        let streams = ends.iter().map(|end| end.stream).collect();
        self.events.push(Event::Streams(StreamEvent::IncomingReset(streams)));
    }

    /// Answers an Incoming SSN Reset Request (RFC 6525 §5.2.3) with an Outgoing SSN Reset Request.
    fn reset_on_request(&mut self, reset: &IncomingReset<'_>) -> u32 {
        if !self.accepts_requests() {
            return ReconfigResponse::DENIED;
        }
        if reset.streams.iter().any(|stream| stream.get() >= self.tags.outbound_streams) {
            return ReconfigResponse::WRONG_SSN;
        }
        let mut streams: Vec<u16> = reset.streams.iter().map(StreamId::get).collect();
        streams.sort_unstable();
        streams.dedup();
        let all = streams.is_empty();
        // A reset of a stream that was not sent yet is the answer as well. If it was, the peer may have
        // applied it, and ask for the end of the next use of the number.
        streams.retain(|&stream| !self.reconfig.ours.will_reset(stream));
        if !all && streams.is_empty() {
            return ReconfigResponse::PERFORMED;
        }
        if streams.len() > MAX_NAMED_STREAMS {
            // Our own request for them would not fit a packet.
            return ReconfigResponse::DENIED;
        }
        // RFC 6525 §4.4, Result 4: the peer's reset that ours waits for would wait for ours that its request
        // waits for. If both ends asked at once, the end with the greater tag goes first, and the other
        // repeats its request behind the answer.
        if self.reconfig.ours.awaits_reset() && self.tags.local_tag >= self.tags.peer_tag {
            return ReconfigResponse::ALREADY_IN_PROGRESS;
        }
        let ends = self.reconfig.theirs.ends(reset.serial, streams.iter().copied());
        let request = StreamRequest::ResetOutgoing(streams);
        if !self.reconfig.ours.push(request, Some(reset.serial)) {
            return ReconfigResponse::DENIED;
        }
        self.events.push(Event::Streams(StreamEvent::ResetRequested(ends)));
        ReconfigResponse::IN_PROGRESS
    }

    /// Handles an Add Outgoing Streams Request (RFC 6525 §5.2.5).
    fn take_streams(&mut self, more: u16) -> u32 {
        let now = self.tags.inbound_streams;
        let most = self.config.max_inbound_streams;
        let Some(streams) = now.checked_add(more).filter(|&streams| streams <= most) else {
            return ReconfigResponse::DENIED;
        };
        if more == 0 {
            return ReconfigResponse::NOTHING_TO_DO;
        }
        if !self.accepts_requests() {
            return ReconfigResponse::DENIED;
        }
        self.tags.inbound_streams = streams;
        self.inbound.set_streams(streams);
        self.events.push(Event::Streams(StreamEvent::IncomingAdded(streams)));
        ReconfigResponse::PERFORMED
    }

    /// Handles an Add Incoming Streams Request (RFC 6525 §5.2.6) by requesting outgoing streams.
    fn add_on_request(&mut self, more: u16) -> u32 {
        if more == 0 {
            return ReconfigResponse::NOTHING_TO_DO;
        }
        let possible = self.tags.outbound_streams.checked_add(more).is_some();
        let granted = possible && self.accepts_requests();
        if granted && self.reconfig.ours.push(StreamRequest::AddOutgoing(more), None) {
            ReconfigResponse::PERFORMED
        } else {
            ReconfigResponse::DENIED
        }
    }

    /// Handles the peer's answer to a request of this end.
    fn settle_reconfig(&mut self, settled: Settled) {
        let performed = settled.outcome == ReconfigOutcome::Performed;
        match &settled.request {
            StreamRequest::ResetOutgoing(streams) => {
                // RFC 6525 §5.2.7: the numbers begin at 0; RFC 8260 §2.3.2: both counters
                self.outbound.finish_reset(streams, performed);
                if let Some(serial) = self.reconfig.answering.take() {
                    let result =
                        if performed { ReconfigResponse::PERFORMED } else { ReconfigResponse::DENIED };
                    self.reconfig.theirs.answer(serial, result);
                }
            }
            StreamRequest::AddOutgoing(more) if performed => {
                self.tags.outbound_streams = self.tags.outbound_streams.saturating_add(*more);
                self.outbound.set_streams(self.tags.outbound_streams);
            }
            StreamRequest::ResetIncoming(_)
            | StreamRequest::AddOutgoing(_)
            | StreamRequest::AddIncoming(_) => {}
        }
        self.notify_settled(settled);
    }

    fn notify_settled(&mut self, Settled { request, outcome }: Settled) {
        self.events.push(Event::Streams(StreamEvent::Answered { request, outcome }));
    }
}
