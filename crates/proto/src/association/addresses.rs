//! Changing addresses while the association is up (RFC 5061): the calls, the chunks, and what their outcomes
//! mean for the association. The rules are in `asconf`, the paths in `path`.

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::{
    Asconf, AsconfAck, Cause, CommonHeader, EncodeChunk, Heartbeat, Packet, Pad, Param, Params, Tsn,
};

use super::Association;
use super::departed::Departed;
use crate::asconf::{Ack, AsconfEvent, AsconfIn, AsconfOut, Effect, Received, Reception, prepare_local};
use crate::extensions::Extensions;
use crate::path::pairing::can_pair;
use crate::path::{Path, Paths, SourceUse};
use crate::rare::Rare;
use crate::{
    AddressRequest, AssociationState as State, CallError, Direction, Event, LossReason, PathAddr, PathId,
    PrimaryCause, TraceKind, Transmit,
};

/// Both sides of dynamic addresses.
#[derive(Debug)]
pub(super) struct Readdressing {
    pub(super) ours: AsconfOut,
    theirs: AsconfIn,
    /// Where the answers to the last packet with ASCONFs go.
    answer_at: Option<PathAddr>,
    /// Bytes of the SCTP packet with them at most.
    answer_room: u32,
    /// Addresses that were deleted.
    pub(super) departed: Rare<Departed>,
}

impl Readdressing {
    /// Serial numbers begin with the initial TSNs (RFC 5061 §5.1 A2); `addresses` are ours as the peer knows
    /// them.
    pub(super) fn new(
        initial_tsn: Tsn,
        peer_initial_tsn: Tsn,
        addresses: &[IpAddr],
        supported: bool,
    ) -> Self {
        Self {
            ours: AsconfOut::new(initial_tsn, addresses, supported),
            theirs: AsconfIn::new(peer_initial_tsn),
            answer_at: None,
            answer_room: u32::MAX,
            departed: Rare::default(),
        }
    }
}

impl Association {
    /// RFC 5061 §5.1.1 C4: ASCONFs travel in these states only.
    fn may_readdress(&self) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# Both ASCONF and ASCONF-ACK Chunks MUST NOT be sent in any SCTP state except ESTABLISHED,
        //# SHUTDOWN-PENDING, SHUTDOWN-RECEIVED, and SHUTDOWN-SENT.
        matches!(
            self.state,
            State::Established | State::ShutdownPending | State::ShutdownReceived | State::ShutdownSent
        )
    }

    fn request(&mut self, now: Time, request: AddressRequest) -> Result<(), CallError> {
        if !self.may_readdress() {
            return Err(CallError::WrongState { state: self.state });
        }
        self.readdressing.ours.request(request)?;
        self.make_way_for_requests();
        self.after_change(now);
        Ok(())
    }

    /// What waits now need not wait for T4-rto of a network that is dead.
    fn make_way_for_requests(&mut self) {
        if self.must_ask_elsewhere() {
            self.readdressing.ours.retransmit_now();
        }
    }

    /// Tells the peer of another address of this end (RFC 5061 §4.2.1). Its paths appear at once and are used
    /// when the peer has agreed and they are confirmed; [`Event::AddressChange`] tells the answer.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not know ASCONF, the address is there already or is no
    /// unicast address, or too many requests wait.
    pub fn add_local_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        self.add_address(now, address, false)
    }

    /// As [`add_local_address`](Self::add_local_address), for an address that is translated on its way (NAT):
    /// the peer is asked to add "where this came from" (RFC 5061 §4.2.1), in a packet from that address. It
    /// can be preferred by [`request_peer_primary`](Self::request_peer_primary) like any other; it goes with
    /// [`keep_only_address`](Self::keep_only_address) of another one. No key protects a source address: who
    /// is on the path can change it (§6), and a peer may refuse.
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address).
    pub fn add_translated_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        self.add_address(now, address, true)
    }

    /// The peer knows this address of ours by another name, or not: an address translator is before it. For
    /// one that the association began with; from now on requests speak of it as those of
    /// [`add_translated_address`](Self::add_translated_address) do.
    ///
    /// # Errors
    ///
    /// The address is not there.
    pub fn set_translated(&mut self, address: IpAddr, translated: bool) -> Result<(), CallError> {
        if !self.paths.has_local(&address) {
            return Err(CallError::UnknownAddress(address));
        }
        self.readdressing.ours.set_translated(address, translated);
        Ok(())
    }

    /// Tells the peer that this end gives up all addresses but this one (RFC 5061 §4.2.2: the wildcard), in a
    /// packet from it: whatever the peer calls the others.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not know ASCONF, the address is not there or does not reach
    /// the peer, or too many requests wait.
    pub fn keep_only_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        if self.paths.has_local(&address) && !reaches(&self.paths, &address) {
            return Err(CallError::UnknownAddress(address));
        }
        self.request(now, AddressRequest::KeepOnly(address))
    }

    fn add_address(&mut self, now: Time, address: IpAddr, translated: bool) -> Result<(), CallError> {
        self.add_with(now, address, translated, &[AddressRequest::Add(address)])
    }

    /// Moves to another address at once: the peer is told of it, asked to send there, and told that the `old`
    /// ones are given up, in one request (RFC 5061 §5.1.1 C1 wants one at a time, each a round trip), done in
    /// this order. For an end whose other addresses are of no use any more.
    ///
    /// # Errors
    ///
    /// As [`add_local_address`](Self::add_local_address); an address in `old` is not there, or there are more
    /// than six.
    pub fn move_local_address(&mut self, now: Time, to: IpAddr, old: &[IpAddr]) -> Result<(), CallError> {
        let mut requests = vec![AddressRequest::Add(to), AddressRequest::SetPrimary(to)];
        requests.extend(old.iter().map(|old| AddressRequest::Delete(*old)));
        self.add_with(now, to, false, &requests)
    }

    /// `requests` add the address, and more.
    fn add_with(
        &mut self,
        now: Time,
        address: IpAddr,
        translated: bool,
        requests: &[AddressRequest],
    ) -> Result<(), CallError> {
        if !self.may_readdress() {
            return Err(CallError::WrongState { state: self.state });
        }
        let was_there = self.paths.has_local(&address);
        let added = prepare_local(&mut self.paths, address, now)?;
        if !was_there {
            self.readdressing.ours.set_translated(address, translated);
        }
        if let Err(error) = self.readdressing.ours.request_together(requests) {
            if !was_there {
                self.paths.remove_local(&address);
            }
            return Err(error);
        }
        self.make_way_for_requests();
        // Before anything is told of them.
        self.announce_paths(now, &added);
        self.after_change(now);
        Ok(())
    }

    /// Tells the peer that this end gives up an address (RFC 5061 §4.2.2). It is no source any more from the
    /// time the request leaves, and gone when the peer has agreed.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not know ASCONF, the address is not there or is the last one
    /// that reaches the peer, or too many requests wait.
    pub fn remove_local_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        // RFC 5061 §5.3 F5: an address that is left and reaches nothing is no address
        let mut left = self.readdressing.ours.planned();
        left.retain(|other| *other != address);
        if !left.is_empty()
            && reaches(&self.paths, &address)
            && !left.iter().any(|own| reaches(&self.paths, own))
        {
            return Err(CallError::LastAddress(address));
        }
        self.request(now, AddressRequest::Delete(address))
    }

    /// Asks the peer to send its data to this address of ours (RFC 5061 §4.2.4).
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not know ASCONF, the address is not there, or too many
    /// requests wait.
    pub fn request_peer_primary(&mut self, now: Time, local: IpAddr) -> Result<(), CallError> {
        if self.may_readdress() && self.paths.has_local(&local) {
            self.tell_primary_requested(now, local);
        }
        self.request(now, AddressRequest::SetPrimary(local))
    }

    /// Begins dynamic addresses anew with a peer whose initial TSN is known now.
    pub(super) fn begin_readdressing(&mut self, peer_initial_tsn: Tsn) {
        let addresses: Vec<IpAddr> = self.paths.locals().map(|(address, _)| address).collect();
        let (ours, supported) = (self.tags.local_initial_tsn, self.tags.extensions.has(Extensions::ASCONF));
        let translated: Vec<IpAddr> = self.readdressing.ours.translated().to_vec();
        self.readdressing = Readdressing::new(ours, peer_initial_tsn, &addresses, supported);
        for address in translated {
            self.readdressing.ours.set_translated(address, true);
        }
    }

    /// Makes the next request, if its time has come, and carries over what became of earlier ones.
    pub(super) fn advance_readdressing(&mut self, now: Time) {
        self.prepare_request();
        while let Some(event) = self.readdressing.ours.poll_event() {
            let old = self.primary_view();
            let before: Vec<IpAddr> = self.paths.locals().map(|(address, _)| address).collect();
            let applied = event.apply(&mut self.paths, now);
            self.note_departed_locals(now, &applied.removed);
            self.announce_paths(now, &applied.added);
            self.forget_paths(now, &applied.removed, old);
            match event {
                AsconfEvent::Done(request) => {
                    self.note_local_change(now, request);
                    self.trace_local_address(now, request);
                    for gone in before {
                        if matches!(request, AddressRequest::KeepOnly(_)) && !self.paths.has_local(&gone) {
                            self.note_local_change(now, AddressRequest::Delete(gone));
                            self.trace_local_address(now, AddressRequest::Delete(gone));
                        }
                    }
                    self.events.push(Event::AddressChange { request, accepted: true });
                }
                AsconfEvent::Rejected { request, .. } => {
                    self.events.push(Event::AddressChange { request, accepted: false });
                }
                AsconfEvent::Started(_) | AsconfEvent::Unsupported => {}
            }
            self.prepare_request();
        }
    }

    fn prepare_request(&mut self) {
        if self.may_readdress() {
            let paths = &self.paths;
            self.readdressing.ours.prepare(|own| reaches(paths, own));
        }
    }

    /// The peer restarted: what was asked of it is lost, and the application hears so.
    pub(super) fn give_up_requests(&mut self, now: Time) {
        self.readdressing.ours.give_up();
        self.advance_readdressing(now);
    }

    /// Our addresses as far as the peer lists them, or may: not those whose Add-IP is under way, nor names
    /// that mean nothing to it.
    pub(super) fn listed_addresses(&self) -> Vec<IpAddr> {
        let listed = self.paths.locals().filter(|(_, source)| *source != SourceUse::AsconfOnly);
        let translated = self.readdressing.ours.translated();
        listed.map(|(address, _)| address).filter(|address| !translated.contains(address)).collect()
    }

    /// The link of `local` comes up: a request that left over it, or over another one that is down, may have
    /// been lost with it. Any other waits for its answer or T4-rto.
    pub(super) fn request_may_be_lost(&self, local: &IpAddr) -> bool {
        let path = self.readdressing.ours.last_path().and_then(|path| self.paths.get(path));
        path.is_none_or(|path| path.addr().local == *local || !path.link_is_up())
    }

    /// RFC 5061 §5.3 F4, §5.3.1: an ABORT that comes to an address which is being deleted MUST be ignored:
    /// the peer answers there what left before it knew.
    pub(super) fn must_ignore_abort(&self, at: PathAddr) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# ABORT Chunks arriving destined to the IP address being deleted MUST be ignored
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.1
        //# an Abort MUST be ignored if the destination address of the Abort message is that of a destination
        //# being deleted
        self.paths.local_source(&at.local) == Some(SourceUse::ReceiveOnly)
    }

    /// The peer did what was asked: it knows an address of ours more, or less.
    fn note_local_change(&mut self, now: Time, request: AddressRequest) {
        match request {
            AddressRequest::Add(address) => self.tell_local_address(now, address, true),
            AddressRequest::Delete(address) => self.tell_local_address(now, address, false),
            AddressRequest::SetPrimary(_) | AddressRequest::KeepOnly(_) => {}
        }
    }

    fn trace_local_address(&mut self, now: Time, request: AddressRequest) {
        let (address, added) = match request {
            AddressRequest::Add(address) => (address, true),
            AddressRequest::Delete(address) => (address, false),
            AddressRequest::SetPrimary(_) | AddressRequest::KeepOnly(_) => return,
        };
        self.tracer.push(now, TraceKind::LocalAddress { address, added });
    }

    /// The first ASCONF of a packet begins a new set of answers (RFC 5061 §5.2 E7).
    pub(super) fn begin_asconf_packet(&mut self) {
        self.readdressing.theirs.begin_packet();
    }

    pub(super) fn on_asconf(&mut self, now: Time, at: PathAddr, asconf: &Asconf<'_>) {
        if !self.may_readdress() {
            self.stats.unexpected_chunks += 1;
            return;
        }
        // Its effects are events. Dropped, it comes again (RFC 5061 §5.1 B) when the application has taken
        // those that wait.
        if self.events.is_full() {
            self.stats.chunks_held_off += 1;
            return;
        }
        let addresses: Vec<IpAddr> = self.paths.remotes().collect();
        let locals: Vec<IpAddr> = self.paths.locals().map(|(address, _)| address).collect();
        let received = Received {
            source: at.remote,
            addresses: &addresses,
            locals: &locals,
            wildcards: self.config.auth.wildcards,
            room: self.paths.room_for_remotes(),
            max_ack: self.packet_room(at) - self.least_packet(),
        };
        // RFC 5061 §5.2 E6
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# the receiver of the ASCONF MUST queue the response ASCONF-ACK Chunk for transmission after the
        //# rest of the SCTP packet has been processed
        self.readdressing.answer_at = self.paths.answer_addr(at);
        let Reception::Processed(effects) = self.readdressing.theirs.handle(asconf, &received) else {
            return;
        };
        for effect in effects {
            let old = self.primary_view();
            let applied = effect.apply(&mut self.paths, now);
            if let Effect::RemoveRemote(address) = effect {
                self.note_departed_remote(address);
            }
            self.keys_version += 1;
            self.announce_paths(now, &applied.added);
            self.forget_paths(now, &applied.removed, old);
        }
        self.grant_wanted_primary(now);
    }

    /// A packet with ASCONFs was taken: its answers may take what its other replies left of its credit. An
    /// answer from the cache can be much longer than what asks for it again (RFC 5061 §5.2 E2).
    pub(super) fn limit_asconf_acks(&mut self) {
        let to = self.readdressing.answer_at;
        self.readdressing.answer_room = to.map_or(u32::MAX, |to| self.reply_room(to));
    }

    /// What a packet with ASCONFs came from may be told data before it is confirmed, as far as
    /// `Config::moves` allows. No third party can be flooded by it: who named its address gets no more than
    /// they sent.
    pub(super) fn allow_early_data(&mut self, at: PathAddr, packet: &Packet<'_>) {
        let factor = u64::from(self.config.moves.early_data());
        let came = CommonHeader::LEN + packet.chunks().rest().len();
        if let Some(path) = self.path_of(at).filter(|_| factor > 0) {
            let ip_header = u64::from(crate::path::ip_header(&at.remote));
            self.paths.allow_early_data(path, factor * (came as u64 + ip_header));
        }
    }

    /// A packet of `len` bytes went to a path: whatever is in it, it comes off what an unconfirmed address
    /// may be told.
    #[inline]
    pub(super) fn spend_early(&mut self, path: Option<PathId>, len: usize) {
        if self.config.moves.early_data() > 0
            && let Some(path) = path
        {
            self.paths.spend_early(path, len as u64);
        }
    }

    /// The peer wants data on another address, and may have it there (RFC 5061 §5.4, RFC 9260 §5.4).
    pub(super) fn grant_wanted_primary(&mut self, now: Time) {
        if let Some(path) = self.paths.take_wanted_primary() {
            let granted = self.switch_primary(now, path, PrimaryCause::Peer);
            debug_assert_eq!(granted, Ok(()));
        }
    }

    pub(super) fn on_asconf_ack(&mut self, now: Time, at: PathAddr, ack: &AsconfAck<'_>) {
        if !self.may_readdress() {
            self.stats.unexpected_chunks += 1;
            return;
        }
        match self.readdressing.ours.on_ack(ack) {
            Ack::Accepted { path } => {
                if let Some(path) = path {
                    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
                    //# the sender MUST stop the T-4 RTO timer, and clear the appropriate association and
                    //# destination error counters
                    self.paths.on_request_answered(path, at, now);
                }
                self.advance_readdressing(now);
            }
            Ack::Old => {}
            Ack::Illegal => {
                // RFC 5061 §4.3.4
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
                //# the endpoint MUST ABORT the association
                let cause = Cause::IllegalAsconfAck;
                let what = "ASCONF-ACK for what was never asked";
                self.abort_with(now, &[cause], LossReason::ProtocolViolation { cause: cause.typ().0, what });
            }
        }
    }

    /// T4-rto may have expired (RFC 5061 §5.1 B1 to B3).
    pub(super) fn readdressing_timeout(&mut self, now: Time) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# If the T-4 RTO timer expires the endpoint MUST do the following:
        if let Some(path) = self.readdressing.ours.handle_timeout(now) {
            self.paths.on_request_timeout(path);
            // B2 counts that for the association. A request that can leave from one address only says nothing
            // of the peer if that network is dead: the peer is asked where data goes as well (RFC 9260 §8.3
            // D), and its answer clears the counter.
            if self.readdressing.ours.required_source().is_some()
                && let Some(data) = self.paths.data_path().filter(|&data| data != path)
            {
                self.paths.request_heartbeat(data);
            }
        }
    }

    /// Answers to the peer's requests, then our own.
    pub(super) fn send_asconf(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.may_readdress() {
            return None;
        }
        self.send_asconf_acks(now, out).or_else(|| self.send_request(now, out))
    }

    fn send_asconf_acks(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.readdressing.theirs.has_answers() {
            return None;
        }
        let at = self.readdressing.answer_at;
        let Some(at) = at else {
            self.readdressing.theirs.begin_packet();
            return None;
        };
        let path = self.path_of(at);
        let room = self.packet_room(at).min(self.readdressing.answer_room as usize);
        if room < self.least_packet() {
            self.readdressing.theirs.begin_packet();
            return None;
        }
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        for answer in self.readdressing.theirs.answers() {
            if builder.push(&answer).is_err() {
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
                //# the receiver MUST stop adding additional ASCONF-ACKs into the response packet
                break;
            }
            let (chunk_type, len) = (answer.chunk_type().0, answer.encoded_len() as u16);
            self.tracer.push(now, TraceKind::Control { direction: Direction::Out, path, chunk_type, len });
        }
        // RFC 5061 §5.2 E7: what did not fit is asked for again
        self.readdressing.theirs.begin_packet();
        // RFC 5061 §5.3 F1: a HEARTBEAT beside it verifies an address that is new
        let unconfirmed = path.and_then(|path| self.paths.get(path)).filter(|path| !path.is_confirmed());
        if let Some(request) =
            unconfirmed.map(Path::id).and_then(|path| self.paths.bundled_heartbeat(path, now))
        {
            let params = [Param::HeartbeatInfo(&request.info)];
            // If it does not fit, the verification of all unconfirmed paths sends one soon.
            let _ = builder.push(&Heartbeat { params: Params::from(&params) });
        }
        (!builder.is_empty()).then(|| Transmit::new(path, at, self.seal(builder)))
    }

    /// What is asked speaks of where it came from, that network is dead, others wait, and to ask from another
    /// address does no harm: as long as it is not answered no other may follow (RFC 5061 §5.1 A3), and an
    /// answer that is lost is given again (§5.2 E2).
    fn must_ask_elsewhere(&self) -> bool {
        let ours = &self.readdressing.ours;
        let Some(source) = ours.required_source().filter(|_| ours.may_leave_elsewhere()) else {
            return false;
        };
        let from_there = self.paths.request_path_from(Some(source), ours.last_path());
        !from_there.and_then(|path| self.paths.get(path)).is_some_and(Path::may_deliver)
    }

    /// Where a request goes that is not sent from a new address first.
    fn old_request_path(&self) -> Option<PathId> {
        let ours = &self.readdressing.ours;
        let last = ours.last_path();
        let elsewhere = if self.must_ask_elsewhere() { self.paths.working_request_path(last) } else { None };
        elsewhere.or_else(|| self.paths.request_path_from(ours.required_source(), last))
    }

    fn send_request(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.readdressing.ours.is_pending() {
            return None;
        }
        let ours = &self.readdressing.ours;
        let new = ours.first_added().filter(|_| self.config.moves.asks_from_new());
        let path = match new.and_then(|new| self.paths.request_path_from(Some(new), None)) {
            Some(path) if self.paths.get(path).is_some_and(Path::link_is_up) => path,
            _ => self.old_request_path()?,
        };
        let entry = self.paths.get(path)?;
        let (at, rto) = (entry.addr(), entry.rtt.rto());
        let from_new = entry.source() == SourceUse::AsconfOnly;
        let first = from_new && self.readdressing.ours.is_unsent();
        let mut builder = self.builder(out, self.tags.peer_tag, self.packet_room(at));
        let chunk = self.readdressing.ours.transmit(path, at.local, now, rto)?;
        builder.push(&chunk).ok()?;
        let (chunk_type, len) = (chunk.chunk_type().0, chunk.encoded_len() as u16);
        let kind = TraceKind::Control { direction: Direction::Out, path: Some(path), chunk_type, len };
        self.tracer.push(now, kind);
        if from_new && self.config.moves.early_data() > 0 {
            // What arrived last was acknowledged over the network that is gone, perhaps in vain: nothing of
            // it is to come again. RFC 5061 §5.3 F1 lets the packet with the ASCONF leave, and a SACK may be
            // beside it (RFC 9260 §6.10).
            if self.paths.data_path().is_none() && self.stats.data_chunks_received > 0 {
                self.push_sack(now, path, &mut builder);
            }
            if let Some(pad) = Pad::filling(builder.remaining() & !3) {
                let _ = builder.push(&pad);
            }
        }
        if first {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
            //= type=exception
            //= reason=option `moves`, standard by default: a request that adds an address may leave up to
            //= reason=three times at once
            //# transfers MUST NOT cause congestion within the network
            self.readdressing.ours.repeat(self.config.moves.copies() - 1);
        }
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }
}

/// Some address of the peer can be reached from this one of ours.
fn reaches(paths: &Paths, own: &IpAddr) -> bool {
    paths.remotes().any(|theirs| can_pair(own, &theirs))
}
