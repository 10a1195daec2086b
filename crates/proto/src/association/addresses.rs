//! Dynamic addresses of an association (RFC 5061): the calls, the chunks and the effects of their outcomes.
//! The rules are in `asconf`, the paths in `path`.

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::{
    Asconf, AsconfAck, Cause, Chunk, CommonHeader, EncodeChunk, Heartbeat, Packet, Pad, Param, Params, Tsn,
    UnknownChunk,
};
use smallvec::SmallVec;

use super::Association;
use super::departed::Departed;
use crate::addr::{PathAddr, PathId};
use crate::asconf::{
    Ack, AddressRequest, AsconfEvent, AsconfIn, AsconfOut, Effect, Received, Reception, prepare_local,
};
use crate::call_error::CallError;
use crate::event::LossReason;
use crate::extensions::Extensions;
use crate::message::Transmit;
use crate::path::pairing::can_pair;
use crate::path::{Path, PathState, Paths, SourceUse};
use crate::rare::Rare;
use crate::stats::AssociationState as State;
use crate::trace::{Direction, PrimaryCause, TraceKind};

/// Both sides of dynamic addresses.
#[derive(Debug)]
pub(super) struct Readdressing {
    pub(super) ours: AsconfOut,
    theirs: AsconfIn,
    /// Destination of the answers to the last packet with ASCONFs.
    answer_at: Option<PathAddr>,
    /// Maximum size in bytes of the SCTP packet with these answers.
    answer_room: u32,
    /// Deleted addresses.
    pub(super) departed: Rare<Departed>,
}

impl Readdressing {
    /// Creates the state. Serial numbers begin with the initial TSNs (RFC 5061 §5.1 A2). `addresses` are the
    /// local ones that the peer lists.
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
    /// Returns whether the state allows ASCONFs (RFC 5061 §5.1.1 C4).
    pub(super) fn may_readdress(&self) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# Both ASCONF and ASCONF-ACK Chunks MUST NOT be sent in any SCTP state except ESTABLISHED,
        //# SHUTDOWN-PENDING, SHUTDOWN-RECEIVED, and SHUTDOWN-SENT.
        matches!(
            self.state,
            State::Established | State::ShutdownPending | State::ShutdownReceived | State::ShutdownSent
        ) && self.protects_addresses()
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

    /// Retransmits the outstanding ASCONF now, because its network is dead and T4-rto would delay it.
    fn make_way_for_requests(&mut self) {
        if self.must_ask_elsewhere() {
            self.readdressing.ours.retransmit_now();
        }
    }

    /// Requests that the peer add an address of this end (RFC 5061 §4.2.1). Its paths exist at once, and are
    /// used when the peer has agreed and they are confirmed.
    /// [`Event::AddressChange`](crate::Event::AddressChange) reports the answer.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support ASCONF, the address exists already or is not
    /// unicast, or the queue of requests is full.
    pub fn add_local_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        self.add_address(now, address, false)
    }

    /// Returns whether a request may name this local address to the peer: the application named it to the
    /// endpoint, its scope is that of an address of the peer, or observers cannot read and strangers cannot
    /// cause the request ([`Endpoint::set_host_addresses`](crate::Endpoint::set_host_addresses)).
    pub fn may_name(&self, address: IpAddr) -> bool {
        self.seals() || self.auth.excludes_observers() || self.paths.shows_to_peer(&address)
    }

    /// Adds a local address that a NAT translates. The request names the source address of the packet
    /// (RFC 5061 §4.2.1), which leaves from `address`.
    ///
    /// The address can be preferred by [`request_peer_primary`](Self::request_peer_primary) like any other.
    /// [`keep_only_address`](Self::keep_only_address) with another address deletes it. No key protects a
    /// source address: an attacker on the path can change it (§6), and a peer may refuse.
    ///
    /// # Errors
    ///
    /// Same as [`add_local_address`](Self::add_local_address).
    pub fn add_translated_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        self.add_address(now, address, true)
    }

    /// Returns whether a request may leave from this local address: RFC 9260 §5.4 forbids it towards
    /// unconfirmed addresses of the peer.
    pub(crate) fn may_ask_from(&self, address: &IpAddr) -> bool {
        self.paths
            .remotes()
            .any(|theirs| can_pair(address, &theirs) && self.paths.remote_is_confirmed(&theirs))
    }

    /// Uses a local address from which no request may leave ([`may_ask_from`](Self::may_ask_from)), and that
    /// no other may add: a NAT translates it, or nothing else works. Its HEARTBEATs prove it to a peer that
    /// opens them, and confirm an address of the peer.
    /// [`add_translated_address`](Self::add_translated_address) then lists it, or the request that waits.
    ///
    /// # Errors
    ///
    /// The association is not protected or not up, or the address is not unicast.
    pub(crate) fn use_unlisted_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        if !self.may_readdress() || !self.is_enforced() {
            return Err(CallError::WrongState { state: self.state });
        }
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //= type=exception
        //= reason=the first path of a family, if the ASCONF must leave from there: it has the wildcard, or no
        //= reason=other address works. RFC 9260 §5.4 allows only HEARTBEATs to an unconfirmed address
        //# the sender MUST NOT use the new IP address as a source for ANY SCTP packet except on carrying an
        //# ASCONF Chunk
        match self.paths.local_source(&address) {
            None => {
                let added = self.paths.add_local(address, SourceUse::Full, now)?;
                self.readdressing.ours.set_translated(address, true);
                self.announce_paths(now, &added);
            }
            Some(SourceUse::AsconfOnly) => self.paths.set_source_use(&address, SourceUse::Full, now),
            Some(_) => {}
        }
        self.after_change(now);
        Ok(())
    }

    /// Sets whether this initial address is behind a NAT, so that the peer knows it by another address. Later
    /// requests then name it like those of [`add_translated_address`](Self::add_translated_address) do.
    ///
    /// # Errors
    ///
    /// There is no such address.
    pub fn set_translated(&mut self, address: IpAddr, translated: bool) -> Result<(), CallError> {
        if !self.paths.has_local(&address) {
            return Err(CallError::UnknownAddress(address));
        }
        self.readdressing.ours.set_translated(address, translated);
        Ok(())
    }

    /// Requests that the peer delete all addresses of this end except this one, the source of the packet (the
    /// wildcard of RFC 5061 §4.2.2). It works even if a NAT changed the other addresses.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support ASCONF, there is no such address or it does not
    /// reach the peer, or the queue of requests is full.
    pub fn keep_only_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        if self.paths.has_local(&address) && !reaches(&self.paths, &address) {
            return Err(CallError::UnknownAddress(address));
        }
        self.request(now, AddressRequest::KeepOnly(address))
    }

    fn add_address(&mut self, now: Time, address: IpAddr, translated: bool) -> Result<(), CallError> {
        self.add_with(now, address, translated, &[AddressRequest::Add(address)])
    }

    /// Moves to another address, for an end whose other addresses no longer work. One ASCONF requests that
    /// the peer add the address, send there and delete the `old` ones, in this order. Separate ASCONFs would
    /// take a round trip each (RFC 5061 §5.1.1 C1).
    ///
    /// # Errors
    ///
    /// Same as [`add_local_address`](Self::add_local_address); an address in `old` does not exist, or there
    /// are more than six.
    pub fn move_local_address(&mut self, now: Time, to: IpAddr, old: &[IpAddr]) -> Result<(), CallError> {
        let mut requests = vec![AddressRequest::Add(to), AddressRequest::SetPrimary(to)];
        requests.extend(old.iter().map(|old| AddressRequest::Delete(*old)));
        self.add_with(now, to, false, &requests)
    }

    /// Adds an address. `requests` holds its Add and others.
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
        // Before any event names them.
        self.announce_paths(now, &added);
        self.after_change(now);
        Ok(())
    }

    /// Requests that the peer delete an address of this end (RFC 5061 §4.2.2). The address is not a source
    /// after the request is sent, and is removed when the peer has agreed.
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support ASCONF, there is no such address or it is the
    /// last one that reaches the peer, or the queue of requests is full.
    pub fn remove_local_address(&mut self, now: Time, address: IpAddr) -> Result<(), CallError> {
        // RFC 5061 §5.3 F5: a remaining address that reaches nothing does not count
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

    /// Gives up requests to delete a local address that were not sent.
    pub(crate) fn withdraw_deletion(&mut self, now: Time, address: IpAddr) {
        self.readdressing.ours.withdraw_deletion(address);
        self.after_change(now);
    }

    /// Requests that the peer send its data to this local address (RFC 5061 §4.2.4).
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support ASCONF, there is no such address, or the queue of
    /// requests is full.
    pub fn request_peer_primary(&mut self, now: Time, local: IpAddr) -> Result<(), CallError> {
        if self.may_readdress() && self.paths.has_local(&local) {
            self.notify_primary_requested(now, local);
        }
        self.request(now, AddressRequest::SetPrimary(local))
    }

    /// Restarts dynamic addresses with the peer's initial TSN.
    pub(super) fn begin_readdressing(&mut self, peer_initial_tsn: Tsn) {
        let addresses: Vec<IpAddr> = self.paths.locals().map(|(address, _)| address).collect();
        let (ours, supported) = (self.tags.local_initial_tsn, self.tags.extensions.has(Extensions::ASCONF));
        let translated: Vec<IpAddr> = self.readdressing.ours.translated().to_vec();
        self.readdressing = Readdressing::new(ours, peer_initial_tsn, &addresses, supported);
        for address in translated {
            self.readdressing.ours.set_translated(address, true);
        }
    }

    /// Builds the next ASCONF if it is due, and applies the outcomes of earlier ones.
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
                    for gone in before {
                        if matches!(request, AddressRequest::KeepOnly(_)) && !self.paths.has_local(&gone) {
                            self.note_local_change(now, AddressRequest::Delete(gone));
                        }
                    }
                    self.note_answer(request, true);
                }
                AsconfEvent::Rejected { request, .. } => {
                    self.note_answer(request, false);
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

    /// Fails the requests to a peer that restarted, and reports them.
    pub(super) fn give_up_requests(&mut self, now: Time) {
        self.readdressing.ours.give_up();
        self.advance_readdressing(now);
    }

    /// Returns the local addresses that the peer lists or may list. Excludes translated addresses and those
    /// whose Add-IP is outstanding.
    pub(super) fn listed_addresses(&self) -> Vec<IpAddr> {
        let listed = self.paths.locals().filter(|(_, source)| *source != SourceUse::AsconfOnly);
        let translated = self.readdressing.ours.translated();
        listed.map(|(address, _)| address).filter(|address| !translated.contains(address)).collect()
    }

    /// Returns whether the outstanding ASCONF may be lost when the link of `local` comes up. That is so if it
    /// was sent over that link, or over another one that is down. Any other ASCONF waits for its answer or
    /// T4-rto.
    pub(super) fn request_may_be_lost(&self, local: &IpAddr) -> bool {
        let path = self.readdressing.ours.last_path().and_then(|path| self.paths.get(path));
        path.is_none_or(|path| path.addr().local == *local || !path.link_is_up())
    }

    /// Returns whether an ABORT must be ignored because its destination is being deleted (RFC 5061 §5.3 F4,
    /// §5.3.1). The peer may be answering an earlier packet.
    pub(super) fn must_ignore_abort(&self, at: PathAddr) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# ABORT Chunks arriving destined to the IP address being deleted MUST be ignored
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.1
        //# an Abort MUST be ignored if the destination address of the Abort message is that of a destination
        //# being deleted
        self.paths.local_source(&at.local) == Some(SourceUse::ReceiveOnly)
    }

    /// Notifies the policy and the trace that the peer added or deleted an address of this end.
    fn note_local_change(&mut self, now: Time, request: AddressRequest) {
        let (address, added) = match request {
            AddressRequest::Add(address) => (address, true),
            AddressRequest::Delete(address) => (address, false),
            AddressRequest::SetPrimary(_) | AddressRequest::KeepOnly(_) => return,
        };
        self.notify_local_address(now, address, added);
        self.tracer.push(now, TraceKind::LocalAddress { address, added });
    }

    /// Begins a new set of answers at the first ASCONF of a packet (RFC 5061 §5.2 E7).
    pub(super) fn begin_asconf_packet(&mut self) {
        self.readdressing.theirs.begin_packet();
    }

    pub(super) fn on_asconf(&mut self, now: Time, at: PathAddr, asconf: &Asconf<'_>) {
        if !self.may_readdress() {
            self.faults.unexpected_chunks += 1;
            return;
        }
        // It causes events. The peer retransmits it (RFC 5061 §5.1 B) until the application has read the
        // queued ones.
        if self.events.is_full() {
            self.faults.chunks_held_off += 1;
            return;
        }
        let listed = added_by(asconf, at.remote);
        self.make_room_for_listed(now, &listed);
        let addresses: Vec<IpAddr> = self.paths.remotes().collect();
        let paths = &self.paths;
        let received = Received {
            source: at.remote,
            protected: self.is_enforced(),
            addresses: &addresses,
            paths_to: &|theirs| paths.paths_to(theirs),
            max_paths: crate::path::pairing::MAX_PATHS,
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
            let heard_only =
                matches!(effect, Effect::RemoveRemote(address) if self.paths.is_heard_only(&address));
            let applied = effect.apply(&mut self.paths, now);
            match effect {
                // A wildcard deletes it too. The peer has never listed it, and may be there.
                Effect::RemoveRemote(address) if heard_only && !deletes(asconf, &address) => {
                    self.control.forget(&address);
                }
                Effect::RemoveRemote(address) => self.note_departed_remote(address),
                // This end may have an address that reaches no other.
                Effect::AddRemote(_) => self.reconsider(),
                Effect::SetPrimary(_) => {}
            }
            self.keys_version += 1;
            self.announce_paths(now, &applied.added);
            self.forget_paths(now, &applied.removed, old);
        }
        for address in &listed {
            self.keys_version += u32::from(self.paths.note_listed(address));
        }
        self.grant_wanted_primary(now);
    }

    /// Repeats the answer to an ASCONF that was processed before, where it came from now.
    pub(super) fn repeat_asconf_ack(&mut self, at: PathAddr, asconf: &Asconf<'_>) {
        let cached = self.readdressing.theirs.cached(asconf.serial).filter(|_| self.may_readdress());
        if let Some(bytes) = cached.map(<[u8]>::to_vec)
            && let Ok(answer) = UnknownChunk::new(&bytes)
        {
            self.reply(self.paths.answer_addr(at), &answer);
            self.answer_candidate(at, &answer);
        }
    }

    /// Limits the answers to a packet with ASCONFs to the credit that other replies have left. A cached
    /// answer can be much longer than the retransmitted ASCONF (RFC 5061 §5.2 E2).
    pub(super) fn limit_asconf_acks(&mut self) {
        let to = self.readdressing.answer_at;
        self.readdressing.answer_room = to.map_or(u32::MAX, |to| self.reply_room(to));
    }

    /// Answers the ASCONFs of a packet from a candidate there too.
    pub(super) fn answer_asconfs_at_candidate(&mut self, at: PathAddr) {
        if !self.is_candidate(at) {
            return;
        }
        let bytes = |answer: UnknownChunk<'_>| {
            let mut bytes = Vec::new();
            answer.encode(&mut bytes);
            bytes
        };
        for bytes in self.readdressing.theirs.answers().map(bytes).collect::<Vec<_>>() {
            if let Ok(answer) = UnknownChunk::new(&bytes) {
                self.answer_candidate(at, &answer);
            }
        }
    }

    /// Returns whether an opened packet with an ASCONF must be discarded because of its source, as if it had
    /// not come.
    ///
    /// The receiver must refuse to delete the source of the packet (RFC 5061 §5.3 F8), and to keep only a
    /// source that is no address of the peer, or not the one that the peer names. No key protects the source:
    /// a copy that an observer delivers first, from there, would have the deletion refused, or delete the
    /// wrong addresses. The genuine packet follows. A peer that does ask from there asks again, in another
    /// `record`.
    #[cold]
    pub(super) fn distrusts_source(&mut self, at: PathAddr, packet: &Packet<'_>, record: (u64, u64)) -> bool {
        let listed = self.paths.has_remote(&at.remote);
        let deletes_source = |asconf: &Asconf<'_>| {
            let mut listed = listed;
            let other = asconf.address != at.remote && self.paths.has_remote(&asconf.address);
            asconf.requests.iter().flatten().any(|request| match request {
                Param::AddIpAddress(add) => {
                    listed |= add.address == at.remote || add.address.is_unspecified();
                    false
                }
                Param::DeleteIpAddress(delete) if delete.address.is_unspecified() => !listed || other,
                Param::DeleteIpAddress(delete) => delete.address == at.remote,
                _ => false,
            })
        };
        let asconf = packet.chunks().flatten().find_map(|chunk| match chunk {
            Chunk::Asconf(asconf) if deletes_source(&asconf) => Some(asconf.serial),
            _ => None,
        });
        asconf.is_some_and(|serial| self.readdressing.theirs.distrust(serial, record))
    }

    /// Allows early data to the unconfirmed source of a packet with ASCONFs, if `Config::moves` does. The
    /// data cannot flood a third party: its limit is a multiple of the bytes received from there.
    pub(super) fn allow_early_data(&mut self, at: PathAddr, packet: &Packet<'_>) {
        let factor = u64::from(self.config.moves.early_data());
        let came = CommonHeader::LEN + packet.chunks().rest().len();
        if let Some(path) = self.path_of(at).filter(|_| factor > 0) {
            let ip_header = u64::from(crate::path::ip_header(&at.remote));
            self.paths.allow_early_data(path, factor * (came as u64 + ip_header));
        }
    }

    /// Charges a sent packet of `len` bytes to the early data of its path.
    #[inline]
    pub(super) fn spend_early(&mut self, path: Option<PathId>, len: usize) {
        if self.config.moves.early_data() > 0
            && let Some(path) = path
        {
            self.paths.spend_early(path, len as u64);
        }
    }

    /// Switches the primary to the address that the peer requested, once confirmed (RFC 5061 §5.4, RFC 9260
    /// §5.4).
    pub(super) fn grant_wanted_primary(&mut self, now: Time) {
        if let Some(path) = self.paths.take_wanted_primary() {
            let granted = self.switch_primary(now, path, PrimaryCause::Peer);
            debug_assert_eq!(granted, Ok(()));
        }
    }

    pub(super) fn on_asconf_ack(&mut self, now: Time, at: PathAddr, ack: &AsconfAck<'_>) {
        if !self.may_readdress() {
            self.faults.unexpected_chunks += 1;
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

    /// Handles T4-rto (RFC 5061 §5.1 B1 to B3).
    pub(super) fn readdressing_timeout(&mut self, now: Time) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# If the T-4 RTO timer expires the endpoint MUST do the following:
        if let Some(path) = self.readdressing.ours.handle_timeout(now) {
            self.paths.on_request_timeout(path);
            // B2 counts the error for the association. A request that can leave from one address only proves
            // nothing about the peer if that network is dead. A HEARTBEAT on the data path (RFC 9260 §8.3 D)
            // then clears the counter.
            if self.readdressing.ours.required_source().is_some()
                && let Some(data) = self.paths.data_path().filter(|&data| data != path)
            {
                self.paths.request_heartbeat(data);
            }
        }
    }

    /// Sends answers to the peer's requests, then this end's requests.
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
        let room = |at| self.packet_room(at).min(self.readdressing.answer_room as usize);
        let at = self.readdressing.answer_at.filter(|&at| room(at) >= self.least_packet());
        let Some(at) = at else {
            self.readdressing.theirs.begin_packet();
            return None;
        };
        let (path, room) = (self.path_of(at), room(at));
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        for answer in self.readdressing.theirs.answers() {
            if builder.push(&answer).is_err() {
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
                //# the receiver MUST stop adding additional ASCONF-ACKs into the response packet
                break;
            }
            self.tracer.control(now, Direction::Out, path, &answer);
        }
        match self.answer_addr_elsewhere(at) {
            Some(known) => {
                (self.readdressing.answer_at, self.readdressing.answer_room) = (Some(known), u32::MAX);
            }
            // RFC 5061 §5.2 E7: the peer retransmits the ASCONF of an answer that did not fit
            None => self.readdressing.theirs.begin_packet(),
        }
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

    /// Returns where a protected answer is repeated: on the data path, if the packet that it answers may be a
    /// copy between other addresses. The first goes to the source (RFC 5061 §5.2, RFC 9260 §8.3).
    pub(super) fn answer_addr_elsewhere(&self, at: PathAddr) -> Option<PathAddr> {
        let path = self.paths.data_path().filter(|_| self.may_be_forged(at))?;
        self.paths.get(path).map(Path::addr).filter(|known| *known != at)
    }

    /// Returns whether a protected packet from there may be a copy that an observer delivered first, from an
    /// address of its own or one of the peer's that does not work. The genuine packet counts as a replay
    /// then, and an answer to the source does not arrive.
    #[inline]
    pub(super) fn may_be_forged(&self, at: PathAddr) -> bool {
        let fails =
            |path: PathId| self.paths.get(path).is_some_and(|path| path.state() == PathState::Inactive);
        self.is_enforced() && (!self.paths.has_remote(&at.remote) || self.path_of(at).is_some_and(fails))
    }

    /// Releases an outstanding wildcard ASCONF from the address of a dead network, if others are queued and
    /// another source does no harm. No other ASCONF may follow before its answer (RFC 5061 §5.1 A3), and a
    /// lost answer is repeated (§5.2 E2).
    fn must_ask_elsewhere(&self) -> bool {
        let ours = &self.readdressing.ours;
        let Some(source) = ours.required_source().filter(|_| ours.may_leave_elsewhere()) else {
            return false;
        };
        let from_there = self.paths.request_path_from(Some(source), ours.last_path());
        !from_there.and_then(|path| self.paths.get(path)).is_some_and(Path::may_deliver)
    }

    /// Returns the path of a request that is not sent from a new address first.
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
        let new = ours.first_added().filter(|_| self.config.moves.is_fast());
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
        self.tracer.control(now, Direction::Out, Some(path), &chunk);
        if from_new && self.config.moves.early_data() > 0 {
            // The last SACK may have been lost with the old network. RFC 5061 §5.3 F1 allows the packet with
            // the ASCONF, and a SACK may be bundled (RFC 9260 §6.10).
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

/// Returns the addresses that an ASCONF from this source adds.
fn added_by(asconf: &Asconf<'_>, source: IpAddr) -> SmallVec<[IpAddr; 2]> {
    let requests = asconf.requests.iter().flatten();
    requests
        .filter_map(|request| match request {
            // RFC 5061 §4.2.1: the wildcard means the source address
            Param::AddIpAddress(add) if add.address.is_unspecified() => Some(source),
            Param::AddIpAddress(add) => Some(add.address),
            _ => None,
        })
        .collect()
}

/// Returns whether an ASCONF deletes this address by its name.
fn deletes(asconf: &Asconf<'_>, address: &IpAddr) -> bool {
    let names = |request| matches!(request, Param::DeleteIpAddress(delete) if delete.address == *address);
    asconf.requests.iter().flatten().any(names)
}

/// Returns whether this local address can reach an address of the peer.
fn reaches(paths: &Paths, own: &IpAddr) -> bool {
    paths.remotes().any(|theirs| can_pair(own, &theirs))
}
