//! The initiator's side of set-up: INIT, INIT ACK, COOKIE ECHO, COOKIE ACK and T1 (RFC 9260 §5.1). Also INITs
//! for an existing association (§5.2.1, §5.2.2).

use core::net::IpAddr;

use bytes::Bytes;
use msctp_protection::Binding;
use msctp_units::{Span, Time};
use msctp_wire::cause::MissingParams;
use msctp_wire::{
    Abort, Cause, CauseCode, Causes, Chunk, EncodeChunk, Init, InitAck, List, ParamType, Params,
    VerificationTag,
};

use super::Association;
use super::auth::random_number;
use super::negotiate::{
    Answer, Offer, OfferFault, address_params, answer_room, our_families, our_params, padding, streams,
};
use super::protection::cannot_protect;
use crate::addr::{PathAddr, PathId};
use crate::auth::AuthOffer;
use crate::cookie::{Addresses, CookieJar};
use crate::event::{Event, LossReason};
use crate::inbound::{Inbound, InboundConfig};
use crate::path::Path;
use crate::path::pairing::can_pair;
use crate::protection::{SetUpNumbers, bind};
use crate::rare::{Rare, Untouched};
use crate::stats::AssociationState as State;
use crate::tags::Tags;
use crate::timer_table::earlier;
use crate::trace::TraceKind;

/// Maximum extension in a new INIT beyond the measured round-trip time: one second (RFC 9260 §5.2.6).
const PRESERVATIVE_MARGIN: Span = Span::from_secs(1);

/// Time between the INITs on different paths: the Connection Attempt Delay of RFC 8305 §5.
const ATTEMPT_DELAY: Span = Span::from_millis(250);

/// Longest RTO with which data begins after T1 backed off: 3 s (RFC 6298 §5.7).
const BACKED_OFF_SET_UP: Span = Span::from_secs(3);

/// Progress of the handshake. Empty once the association is up.
#[derive(Debug, Default)]
pub(super) struct SetUp {
    /// T1-init or T1-cookie.
    pub(super) t1: Option<Time>,
    /// True if an INIT or COOKIE ECHO, depending on the state, must be sent now.
    pub(super) due: bool,
    /// Path on which a protected packet with data may follow the COOKIE ECHO.
    pub(super) early: Option<PathId>,
    pub(super) retransmissions: u32,
    /// Path of the next INIT or COOKIE ECHO.
    path: Option<PathId>,
    /// Paths of the INITs since T1-init started.
    tried: Vec<PathId>,
    /// Time of the INIT on the next path that was not tried, with `Moves::Fast`.
    attempt: Option<Time>,
    /// Time at which the last INIT or COOKIE ECHO was sent.
    sent: Time,
    /// With protection this end's INIT, from its first transmission to the INIT ACK: retransmissions are the
    /// same, because the keys depend on it.
    init: Vec<u8>,
    /// The peer's cookie.
    cookie: Vec<u8>,
    /// Unrecognized parameters of the INIT ACK, to be reported with the COOKIE ECHO.
    unrecognized: Vec<u8>,
    /// Cookie Preservative of the next INIT after a stale cookie, in ms.
    preservative: Option<u32>,
    /// Addresses of the peer whose UDP port is closed, or from which an ABORT came.
    unreachable: Vec<IpAddr>,
    /// Why the first of them refused the association.
    refused: Option<Box<LossReason>>,
    /// True if the peer sent Stale Cookie. All later retransmissions count together: otherwise a peer that
    /// always sends it would prolong the set-up forever.
    was_stale: bool,
}

impl Untouched for SetUp {
    const UNTOUCHED: &'static Self = &Self {
        t1: None,
        due: false,
        early: None,
        retransmissions: 0,
        path: None,
        tried: Vec::new(),
        attempt: None,
        sent: Time::ZERO,
        init: Vec::new(),
        cookie: Vec::new(),
        unrecognized: Vec::new(),
        preservative: None,
        unreachable: Vec::new(),
        refused: None,
        was_stale: false,
    };
}

impl SetUp {
    /// Returns the time of the next INIT or COOKIE ECHO.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        earlier(self.t1, self.attempt)
    }

    /// Returns the content of the COOKIE ECHO's packet: cookie and unrecognized parameters.
    pub(super) fn echo(&self) -> (&[u8], &[u8]) {
        (&self.cookie, &self.unrecognized)
    }
}

impl Association {
    /// Begins the set-up: an INIT is due on the primary path.
    pub(super) fn begin_set_up(&mut self) {
        self.set_up = SetUp { due: true, path: self.paths.primary(), ..SetUp::default() }.into();
    }

    /// Returns the path of the INIT or COOKIE ECHO that is due, and starts T1 with its RTO.
    pub(super) fn begin_set_up_chunk(&mut self, now: Time) -> Option<PathId> {
        if !self.set_up.due {
            return None;
        }
        let path = self.set_up.path.or(self.paths.primary())?;
        let entry = self.paths.get_mut(path)?;
        entry.on_sent(now);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
        //# The endpoint MUST also start the T1-cookie timer after sending the COOKIE ECHO chunk.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.6
        //# When retransmitting the INIT chunk, the endpoint MUST follow the rules defined in Section 6.3 to
        //# determine the proper timer value.
        // A COOKIE ECHO that `repeat_cookie_echo` repeats leaves T1 running: copies of a packet would put the
        // retransmissions off, and the end of the set-up.
        let t1 = now + entry.rtt.rto();
        self.set_up.t1.get_or_insert(t1);
        self.set_up.due = false;
        self.set_up.sent = now;
        if self.state == State::CookieWait {
            self.set_up.tried.push(path);
            let more = self.config.moves.is_fast() && self.next_attempt().is_some();
            self.set_up.attempt = more.then_some(now + ATTEMPT_DELAY);
        }
        Some(path)
    }

    /// Returns the next path on which no INIT was sent since T1-init started.
    fn next_attempt(&self) -> Option<PathId> {
        self.set_up_paths().find(|path| !self.set_up.tried.contains(path))
    }

    /// Sends the same INIT on another path, without an answer on the ones before: the network of the first
    /// one may lead nowhere. The first INIT ACK decides, and only its sender gets the cookie back.
    fn attempt_timeout(&mut self, now: Time) {
        if self.set_up.attempt.take_if(|at| *at <= now).is_some()
            && let Some(path) = self.next_attempt()
        {
            (self.set_up.path, self.set_up.due) = (Some(path), true);
        }
    }

    /// Records that packets do not leave between these addresses: there is no route. A set-up that waits for
    /// an answer there goes on with the next pair at once. Returns whether it does.
    pub fn path_unreachable(&mut self, now: Time, at: PathAddr) -> bool {
        let waits = self.path_of(at).is_some_and(|path| self.set_up.path == Some(path));
        if self.state != State::CookieWait || !waits || !self.attempt_now(now) {
            return false;
        }
        self.after_change(now);
        true
    }

    /// Sends the INIT that would follow on the next path now. Returns false if none would.
    fn attempt_now(&mut self, now: Time) -> bool {
        let follows = self.set_up.attempt.is_some() && self.next_attempt().is_some();
        if follows {
            self.set_up.attempt = Some(now);
            self.attempt_timeout(now);
        }
        follows
    }

    /// Passes this end's INIT to `send`. With protection it is the one sent before, if there is one.
    pub(super) fn own_init<R>(&mut self, send: impl FnOnce(&Init<'_>) -> R) -> R {
        if self.protection.is_some() && self.set_up.init.is_empty() {
            let mut bytes = Vec::new();
            self.init_chunk(|init| init.encode(&mut bytes));
            self.set_up.init = bytes;
        }
        match Chunk::parse(&self.set_up.init) {
            Ok(Chunk::Init(init)) => send(&init),
            _ => self.init_chunk(send),
        }
    }

    /// Passes this end's INIT to `send`.
    fn init_chunk<R>(&self, send: impl FnOnce(&Init<'_>) -> R) -> R {
        let addresses = self.paths.locals().map(|(address, _)| address).collect::<Addresses>();
        // A single address is the source. The others may be sources, and are named once the association is
        // protected: an INIT is in clear.
        let named = addresses.iter().copied().filter(|address| addresses.len() > 1 && self.names(address));
        let auth = self.auth.ours(&self.config.auth).filter(|_| !self.config.protection.is_required());
        let chunk_types = self.config.extensions().chunk_types();
        let mut params = our_params(named, &chunk_types, self.config.extensions());
        if self.config.offer.list_addresses || self.config.offer.dynamic_addresses {
            params.push(our_families());
        }
        params.extend(auth.iter().flat_map(AuthOffer::params));
        params.extend(self.protection.as_ref().and_then(|protection| protection.ours().as_param()));
        if let Some(ms) = self.set_up.preservative {
            params.push(msctp_wire::Param::CookiePreservative(ms));
        }
        params.extend(padding(&params));
        send(&Init {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# In the INIT chunk, "A" MUST provide its Verification Tag (Tag_A) in the Initiate Tag field.
            initiate_tag: VerificationTag::new(self.tags.local_tag),
            a_rwnd: self.config.receive_buffer,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
            //# the sender of the chunk MUST indicate the number of outbound streams (OS) it wishes to have
            //# in the association, as well as the maximum inbound streams (MIS) it will accept
            outbound_streams: self.config.outbound_streams,
            inbound_streams: self.config.max_inbound_streams,
            initial_tsn: self.tags.local_initial_tsn,
            params: Params::from(&params[..]),
        })
    }

    /// Handles ICMP "port unreachable" for this end's INIT (RFC 6951 §5.5). `quoted` is the beginning of the
    /// quoted SCTP packet, whose Initiate Tag proves that the sender saw the INIT. Tries the next address of
    /// the peer at once; the set-up fails when no address is left.
    ///
    /// # Errors
    ///
    /// The message does not quote the INIT, or the association is not in COOKIE-WAIT. It then has no effect.
    pub fn port_unreachable(
        &mut self,
        now: Time,
        remote: IpAddr,
        quoted: &[u8],
    ) -> Result<(), crate::call_error::CallError> {
        let tags = self.tags();
        let header = [tags.local_port.to_be_bytes(), tags.peer_port.to_be_bytes(), [0; 2], [0; 2]].concat();
        // RFC 9260 §10 ICMP6: chunk type INIT, and its Initiate Tag
        let init = quoted.get(12) == Some(&msctp_wire::ChunkType::INIT.0)
            && quoted.get(16..20) == Some(&tags.local_tag.to_be_bytes());
        if self.state != State::CookieWait || !quoted.starts_with(&header) || !init {
            return Err(crate::call_error::CallError::NotQuoted);
        }
        if self.leaves_another(remote) {
            if !self.attempt_now(now) && self.set_up.t1.is_some() {
                self.set_up.t1 = Some(now);
                self.set_up_timeout(now);
            }
        } else {
            // RFC 9260 §10 ICMP8: as an ABORT
            let refused = self.set_up.refused.take().map(|reason| *reason);
            self.close(now, Some(refused.unwrap_or(LossReason::PortUnreachable { address: remote })));
        }
        self.after_change(now);
        Ok(())
    }

    /// Excludes an address of the peer from the set-up. Returns whether another is left.
    fn leaves_another(&mut self, remote: IpAddr) -> bool {
        if !self.set_up.unreachable.contains(&remote) {
            self.set_up.unreachable.push(remote);
        }
        !self.paths.remotes().all(|address| self.set_up.unreachable.contains(&address))
    }

    /// Handles an ABORT that answers one of several INITs, whose addresses may be those of several hosts.
    /// Returns whether the others go on. The first reason is reported if none of them answers, after their
    /// first retransmission.
    pub(super) fn races_on_after(&mut self, now: Time, at: PathAddr, reason: &LossReason) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
        //= type=exception
        //= reason=option `moves`, standard by default: an ABORT ends the attempt at its address (RFC 8305)
        //# the receiving endpoint MUST remove the association from its record
        let races = self.state == State::CookieWait && self.config.moves.is_fast();
        if !races || !self.leaves_another(at.remote) {
            return false;
        }
        self.set_up.refused.get_or_insert_with(|| Box::new(reason.clone()));
        self.attempt_now(now);
        true
    }

    /// Handles T1 (RFC 9260 §5.1.6, last two paragraphs).
    pub(super) fn set_up_timeout(&mut self, now: Time) {
        if self.set_up.t1.is_none_or(|t1| t1 > now) {
            return self.attempt_timeout(now);
        }
        (self.set_up.t1, self.set_up.attempt) = (None, None);
        self.set_up.tried.clear();
        self.set_up.retransmissions += 1;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# This MUST be repeated up to 'Max.Init.Retransmits' times.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# After that, the endpoint MUST abort the initialization process and report the error to the SCTP
        //# user.
        if self.set_up.retransmissions > self.config.max_init_retransmits {
            self.close(now, Some(LossReason::SetupTimeout));
            return;
        }
        if self.set_up.retransmissions > 1
            && let Some(reason) = self.set_up.refused.take()
        {
            self.close(now, Some(*reason));
            return;
        }
        self.back_off_set_up(now);
        // RFC 9260 §5.1: retransmissions SHOULD use all addresses of the peer
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# If the T1-init timer expires, the endpoint MUST retransmit the INIT chunk and restart the T1-init
        //# timer.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# If the T1-cookie timer expires, the endpoint MUST retransmit COOKIE ECHO chunk and restart the
        //# T1-cookie timer.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
        //# If the timer expires, the endpoint MUST retransmit the COOKIE ECHO chunk and restart the T1-cookie
        //# timer.
        self.set_up.path = self.next_set_up_path();
        self.set_up.due = true;
    }

    /// Backs off T1 (RFC 9260 §6.3.3 E2). T1-init covers INITs on several paths with `Moves::Fast`: all back
    /// off, or it would take its next duration from one that does not, and the set-up would be over early.
    fn back_off_set_up(&mut self, now: Time) {
        let races = self.state == State::CookieWait && self.config.moves.is_fast();
        let last = self.set_up.path;
        for path in self.paths.iter_mut().filter(|path| races || Some(path.id()) == last) {
            // T3-rtx of DATA sent with the COOKIE ECHO expires at the same time and backs off too: once is
            // enough.
            if path.t3_rtx.is_none_or(|t3_rtx| t3_rtx > now) {
                path.rtt.back_off();
            }
        }
    }

    /// Returns the next path of the set-up.
    fn next_set_up_path(&self) -> Option<PathId> {
        self.set_up_paths().next().or(self.set_up.path)
    }

    /// Returns the confirmed paths to addresses whose port is not closed, from the one after the last used on
    /// in a cycle.
    fn set_up_paths(&self) -> impl Iterator<Item = PathId> {
        let last = self.set_up.path;
        let open = |path: &&Path| !self.set_up.unreachable.contains(&path.addr().remote);
        let confirmed =
            move || self.paths.iter().filter(|path| path.is_confirmed()).filter(open).map(Path::id);
        let after = confirmed().filter(move |&path| Some(path) > last);
        after.chain(confirmed().filter(move |&path| Some(path) <= last))
    }

    /// Measures the round-trip time of a chunk that was not retransmitted (RFC 9260 §6.3.1 C5).
    fn measure_set_up(&mut self, now: Time, at: PathAddr) {
        let Some(path) = self.path_of(at).filter(|_| self.set_up.retransmissions == 0) else { return };
        let was_tried = self.set_up.tried.contains(&path);
        if !was_tried && self.set_up.path != Some(path) {
            return;
        }
        if let Some(path) = self.paths.get_mut(path) {
            // An INIT is the only packet on its path.
            let sample = now.since(if was_tried { path.last_used() } else { self.set_up.sent });
            path.measure_round_trip(now, sample);
            let (id, srtt, rto) = (path.id(), path.rtt.srtt().unwrap_or(sample), path.rtt.rto());
            self.tracer.push(now, TraceKind::Rtt { path: id, sample, srtt, rto });
        }
    }

    pub(super) fn on_init_ack(&mut self, now: Time, at: PathAddr, ack: &InitAck<'_>) {
        if self.state != State::CookieWait {
            // RFC 9260 §5.2.3
            self.faults.unexpected_chunks += 1;
            return;
        }
        let init = Init {
            initiate_tag: ack.initiate_tag,
            a_rwnd: ack.a_rwnd,
            outbound_streams: ack.outbound_streams,
            inbound_streams: ack.inbound_streams,
            initial_tsn: ack.initial_tsn,
            params: ack.params,
        };
        let read = Offer::read(&init).and_then(|mut offer| offer.check(&self.config).map(|()| offer));
        let offer = match read {
            Ok(offer) => offer,
            Err(fault) => return self.refuse_init_ack(now, at, ack.initiate_tag.get(), fault),
        };
        let Some(cookie) = offer.cookie else {
            // RFC 9260 §5.1: missing mandatory parameters are answered by ABORT with the Initiate Tag
            self.tags.peer_tag = offer.tag;
            let missing = MissingParams { types: List::from(&[ParamType::STATE_COOKIE]) };
            let what = "INIT ACK without state cookie";
            let cause = Cause::MissingMandatoryParameter(missing);
            return self.abort_with(
                now,
                &[cause],
                LossReason::ProtocolViolation { cause: cause.typ().0, what },
            );
        };
        // In clear nothing depends on the hash.
        let both_offer = self.protection.is_some() && offer.protection.is_some();
        let ports = (self.tags.local_port, self.tags.peer_port);
        let binding =
            if both_offer { self.own_init(|init| bind(ports, init, ack)) } else { Binding::default() };
        let numbers = SetUpNumbers {
            ours: (self.tags.local_tag, self.tags.local_initial_tsn.get()),
            theirs: (offer.tag, offer.initial_tsn.get()),
            binding,
        };
        if let Err(error) = self.agree_protection(None, offer.protection.as_ref(), numbers) {
            return self.refuse_init_ack(now, at, offer.tag, OfferFault::Protection(error));
        }
        self.measure_set_up(now, at);
        let was_stale = self.set_up.was_stale;
        let retransmissions = if was_stale { self.set_up.retransmissions } else { 0 };
        let cookie = cookie.to_vec();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
        //# it MUST immediately send a COOKIE ECHO chunk to its peer with the received State Cookie.
        *self.set_up = SetUp { due: true, cookie, retransmissions, was_stale, ..SetUp::default() };
        for param in &offer.unrecognized {
            // RFC 9260 §3.2, §3.3.10: padding stands between parameters; that after the last one is not
            // counted
            let padded = self.set_up.unrecognized.len().next_multiple_of(4);
            self.set_up.unrecognized.resize(padded, 0);
            self.set_up.unrecognized.extend_from_slice(param);
        }
        self.tags.peer_tag = offer.tag;
        self.tags.extensions =
            self.config.extensions().agreed(self.config.auth.policy, offer.is_protected(), offer.extensions);
        self.agree_auth(offer.auth.as_ref().filter(|_| !offer.is_protected()));
        (self.tags.outbound_streams, self.tags.inbound_streams) = streams(&self.config, &offer);
        self.drop_unnamed_locals(now, at);
        self.set_peer_addresses(now, &offer.all_addresses(at.remote));
        self.begin_data(offer.initial_tsn, offer.a_rwnd);
        self.set_up.path = self.path_of(at);
        self.set_state(now, State::CookieEchoed);
    }

    /// Begins data transfer with the peer's initial TSN and a_rwnd.
    pub(super) fn begin_data(&mut self, initial_tsn: msctp_wire::Tsn, a_rwnd: u32) {
        let agreed = self.tags.extensions;
        self.inbound =
            Inbound::new(&InboundConfig::from(&*self.config), initial_tsn, self.tags.inbound_streams);
        self.inbound.set_interleaving(agreed.interleaves());
        if self.has_external_keys() {
            self.inbound.set_key_management();
        }
        if self.uses_credit() {
            self.inbound.use_credit(self.config.receive_buffer);
        }
        self.outbound.set_extensions(agreed.interleaves(), agreed.forwards());
        self.begin_ecn();
        self.begin_readdressing(initial_tsn);
        self.begin_reconfiguration(initial_tsn);
        for failure in self.outbound.establish(a_rwnd, self.tags.outbound_streams) {
            self.events.push(Event::SendFailed(failure));
        }
        // What failed takes no credit.
        let waiting = self.outbound.use_credit(if self.uses_credit() { a_rwnd } else { 0 });
        self.report_writable(waiting);
        self.notify_writable();
    }

    /// Returns whether the INIT names a local address, if there are several.
    fn names(&self, address: &IpAddr) -> bool {
        self.config.offer.list_addresses && self.paths.shows_to_peer(address)
    }

    /// Removes the local addresses that the INIT did not name, except the one that the INIT ACK came to: the
    /// peer does not know them.
    fn drop_unnamed_locals(&mut self, now: Time, at: PathAddr) {
        let locals = self.paths.locals().map(|(address, _)| address);
        let unnamed: Addresses =
            locals.filter(|address| *address != at.local && !self.names(address)).collect();
        self.drop_locals(now, &unnamed);
    }

    /// Removes local addresses that the peer does not know.
    pub(super) fn drop_locals(&mut self, now: Time, addresses: &[IpAddr]) {
        for address in addresses {
            let old = self.primary_view();
            let removed = self.paths.remove_local(address);
            self.forget_paths(now, &removed, old);
        }
    }

    /// Sets the peer's addresses (RFC 9260 §5.1.2 A and C). The peer sent from the first one.
    pub(super) fn set_peer_addresses(&mut self, now: Time, addresses: &[IpAddr]) {
        for (index, &address) in addresses.iter().enumerate() {
            self.add_peer_address(now, address, index == 0);
        }
        let gone: Vec<IpAddr> = self.paths.remotes().filter(|address| !addresses.contains(address)).collect();
        for address in gone {
            let old = self.primary_view();
            let removed = self.paths.remove_remote(&address);
            self.forget_paths(now, &removed, old);
        }
    }

    /// Rejects an invalid INIT ACK (RFC 9260 §3.3.3).
    fn refuse_init_ack(&mut self, now: Time, at: PathAddr, initiate_tag: u32, fault: OfferFault<'_>) {
        let what = match fault {
            OfferFault::NoAuth => "the peer does not speak AUTH, which shared keys require",
            _ => "INIT ACK that cannot be used",
        };
        let cause = fault.cause();
        let code = cause.map_or(msctp_wire::CauseCode::INVALID_MANDATORY_PARAMETER.0, |cause| cause.typ().0);
        let causes: &[Cause<'_>] = cause.as_slice();
        match fault {
            OfferFault::ZeroTag => {
                //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
                //# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the Initiate Tag
                //# set to 0, it MUST destroy the TCB
                // "MUST destroy the TCB and SHOULD send an ABORT chunk with the T bit set"
                let abort = Abort { tag_reflected: true, causes: Causes::from(causes) };
                self.control.clear();
                self.control.push_clear(at, self.tags.local_tag, &abort);
                self.close(now, Some(LossReason::ProtocolViolation { cause: code, what }));
            }
            OfferFault::SmallWindow => {
                //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
                //# A receiver of an INIT ACK chunk with the a_rwnd value set to a value smaller than 1500
                //# MUST discard the packet, SHOULD send a packet in response containing an ABORT chunk and
                //# using the Initiate Tag as the Verification Tag, and MUST NOT change the state of any
                //# existing association.
                // "MUST discard the packet, SHOULD send [an ABORT], and MUST NOT change the state"
                let abort = Abort { tag_reflected: false, causes: Causes::from(causes) };
                self.control.push_clear(at, initiate_tag, &abort);
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
            //# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the OS value set to 0,
            //# it MUST destroy the TCB
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
            //# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the MIS value set to
            //# 0, it MUST destroy the TCB
            OfferFault::NoStreams
            | OfferFault::HostName(_)
            | OfferFault::Malformed
            | OfferFault::Random
            | OfferFault::AsconfWithoutAuth
            | OfferFault::NoAuth
            | OfferFault::Protection(_) => {
                //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
                //# The Verification Tag field in the common header of the outbound SCTP packet containing the
                //# ABORT chunk MUST be set to the Initiate Tag value of the received INIT or INIT ACK chunk
                self.tags.peer_tag = initiate_tag;
                let reason = match fault {
                    OfferFault::Protection(error) => cannot_protect(error),
                    _ => LossReason::ProtocolViolation { cause: code, what },
                };
                self.abort_with(now, causes, reason);
            }
        }
    }

    pub(super) fn on_cookie_ack(&mut self, now: Time, at: PathAddr) {
        if self.state != State::CookieEchoed {
            // RFC 9260 §5.2.5
            self.faults.unexpected_chunks += 1;
            return;
        }
        self.measure_set_up(now, at);
        self.prove_key(at);
        if let Some(path) = self.path_of(at) {
            // The peer answers: clears the errors of T3-rtx for DATA sent with lost COOKIE ECHOs.
            self.paths.on_acknowledged(path);
        }
        self.become_established(now);
    }

    /// Completes the handshake.
    pub(super) fn become_established(&mut self, now: Time) {
        self.set_up = Rare::default();
        self.paths.limit_back_off(BACKED_OFF_SET_UP, now);
        self.set_state(now, State::Established);
        self.paths.start_heartbeats(now);
        self.announce_connected(now);
        self.notify_paths(now);
    }

    /// Sends the COOKIE ECHO again if the peer is up, so that the COOKIE ACK was lost.
    ///
    /// `at`: addresses of a packet with this end's tag that is no INIT ACK. Only a peer that has accepted the
    /// cookie sends one, and it is answered after the COOKIE ACK (RFC 9260 §5.1 C, §6). T1-cookie may have
    /// backed off to longer than the peer waits.
    #[cold]
    pub(super) fn repeat_cookie_echo(&mut self, now: Time, at: PathAddr) {
        // A packet that overtook the COOKIE ACK, or copies of one: once per RTO.Initial.
        if self.set_up.t1.is_none() || now < self.set_up.sent + self.config.rto_initial {
            return;
        }
        self.set_up.due = true;
        let path = self.path_of(at).filter(|&path| self.paths.get(path).is_some_and(Path::is_confirmed));
        self.set_up.path = path.or(self.set_up.path);
        // Answers to it measure no round trip (§6.3.1 C5).
        self.set_up.retransmissions = self.set_up.retransmissions.max(1);
    }

    /// Handles Stale Cookie: sends an INIT that requests a longer lifetime (RFC 9260 §5.2.6).
    pub(super) fn on_stale_cookie(&mut self, now: Time, staleness_us: u32) {
        if self.state != State::CookieEchoed {
            return;
        }
        if self.is_enforced() && self.outbound.next_tsn() != self.tags.local_initial_tsn {
            // RFC 9260 §5.2.6, option 2. Data has left behind the COOKIE ECHO (`send_early`). The ERROR is in
            // clear: the peer may have delivered it, and would again after another set-up, as early data of
            // TLS is (RFC 8446).
            let cause = Some(CauseCode::STALE_COOKIE.0);
            return self
                .close(now, Some(LossReason::PeerAborted { cause, code: None, reason: Bytes::new() }));
        }
        self.set_up.retransmissions += 1;
        if self.set_up.retransmissions > self.config.max_init_retransmits {
            self.close(now, Some(LossReason::SetupTimeout));
            return;
        }
        let round_trip = now.since(self.set_up.sent);
        let wanted = round_trip + PRESERVATIVE_MARGIN.min(Span::from_micros(u64::from(staleness_us)));
        let (path, retransmissions) = (self.set_up.path, self.set_up.retransmissions);
        let preservative = Some(wanted.as_millis().clamp(1, u64::from(u32::MAX)) as u32);
        let was_stale = true;
        self.set_up =
            SetUp { due: true, path, retransmissions, preservative, was_stale, ..SetUp::default() }.into();
        // DATA sent with the COOKIE ECHO was discarded with it; T3-rtx retransmits it with the next one.
        self.tags.peer_tag = 0;
        self.begin_protection_anew();
        self.set_state(now, State::CookieWait);
    }

    /// Returns the destination of the INIT ACK for an INIT from `at`, if it may be answered.
    ///
    /// In COOKIE-WAIT (RFC 9260 §5.2.1) it may only go to an address that the upper layer passed and that the
    /// INIT comes from or lists. Anyone can send an INIT, and the INIT ACK contains this end's tag.
    fn init_ack_addr(&self, at: PathAddr, init: &Init<'_>) -> Option<PathAddr> {
        if self.state != State::CookieWait || self.paths.remote_is_confirmed(&at.remote) {
            return Some(at);
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper
        //# layer in the request to initialize the association.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# The packet containing the INIT ACK chunk MUST only be sent to an address reported in the incoming
        //# INIT chunk.
        let mut listed = init.params.iter().flatten().filter_map(|param| param.address());
        let remote =
            listed.find(|address| self.paths.remote_is_confirmed(address) && can_pair(&at.local, address))?;
        Some(PathAddr { remote, ..at })
    }

    /// Answers an INIT for this association, in a packet of `len` bytes (RFC 9260 §5.2.1, §5.2.2). Never
    /// changes the association.
    pub(super) fn on_init(
        &mut self,
        now: Time,
        at: PathAddr,
        init: &Init<'_>,
        len: usize,
        jar: &mut CookieJar,
    ) {
        if self.state == State::Closed {
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# When responding, the following rules MUST be applied:
        let Some(at) = self.init_ack_addr(at, init) else {
            self.faults.unexpected_chunks += 1;
            return;
        };
        if self.is_enforced() && !self.is_setting_up() && init.initiate_tag.get() == self.tags.peer_tag {
            // A late copy of the INIT that set the association up: no restart to be refused.
            self.faults.unexpected_chunks += 1;
            return;
        }
        if self.state == State::ShutdownAckSent {
            // RFC 9260 §9.2: SHOULD discard the INIT and retransmit the SHUTDOWN ACK
            self.closing.due = true;
            return;
        }
        if !jar.may_answer_set_up(now, at.remote) {
            self.faults.chunks_held_off += 1;
            return;
        }
        let read = Offer::read(init).and_then(|mut offer| offer.check(&self.config).map(|()| offer));
        let offer = match read {
            Ok(offer) => offer,
            Err(fault) => {
                if let Some(cause) = fault.cause() {
                    let causes = [cause];
                    let abort = Abort { tag_reflected: false, causes: Causes::from(&causes) };
                    self.control.push_clear(at, init.initiate_tag.get(), &abort);
                }
                return;
            }
        };
        let colliding = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if colliding && self.awaits_answer_of(&offer) {
            self.faults.unexpected_chunks += 1;
            return;
        }
        if !colliding && self.refuse_new_port(at, offer.tag) {
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# If the INIT chunk indicates that a new address has been added to the association, then the entire
        //# INIT chunk MUST be discarded
        if self.state != State::CookieWait && self.refuse_new_addresses(at, &offer) {
            return;
        }
        if !colliding && !self.accepts_restart(offer.protection.as_ref()) {
            let causes = [Cause::UserInitiatedAbort(b"restarts are not accepted here")];
            self.refuse_restart(at, offer.tag, &causes);
            return;
        }
        let tags = self.answer_tags(colliding);
        // RFC 4895 §6.1: the Random Number follows the pattern of the tag
        let random = match self.auth.random().filter(|_| colliding) {
            Some(random) => random,
            None => self.rng.with(|rng| random_number(&self.config.auth, rng)),
        };
        let protection = self.offer_protection(colliding, offer.protection.as_ref());
        let mut local_addresses = self.listed_addresses();
        local_addresses.retain(|address| self.paths.shows(address, &at.local));
        let answer = Answer {
            config: &self.config,
            local_addresses: &local_addresses,
            tags,
            collision: colliding,
            random,
            protection,
            at,
            room: answer_room(len, &at.remote),
        };
        let control = &mut self.control;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# The endpoint MUST also generate a State Cookie with the INIT ACK chunk.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
        //# the endpoint MUST NOT change its state, the T1-init timer MUST be left running, and the
        //# corresponding TCB MUST NOT be destroyed.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
        //# upon receipt of an unexpected INIT chunk for this association, the endpoint MUST generate an INIT
        //# ACK chunk with a State Cookie.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
        //# The outbound SCTP packet containing this INIT ACK chunk MUST carry a Verification Tag value equal
        //# to the Initiate Tag found in the unexpected INIT chunk.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
        //# the endpoint MUST take no further actions, i.e., the existing association, including its current
        //# state, and the corresponding TCB MUST NOT be changed.
        answer.give(now, init, &offer, jar, |ack| control.push_clear(at, offer.tag, ack));
    }

    /// Returns whether the sender of an INIT that crossed this end's answers that one, so that this end must
    /// not answer as well.
    ///
    /// The keys depend on one pair of INIT and INIT ACK. Of two, an end could take either. So only the INIT
    /// of the end with the key management role client is answered. In COOKIE-ECHOED it has been, unless the
    /// peer has begun anew since.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
    //= type=exception
    //= reason=of two ends that begin at once under the DTLS chunk (option `protection`, off by default) only
    //= reason=the key management server answers: keys depend on one INIT and its INIT ACK
    //# Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint MUST respond with an INIT
    //# ACK chunk using the same parameters
    fn awaits_answer_of(&self, offer: &Offer<'_>) -> bool {
        let same = self.state == State::CookieWait || offer.tag == self.tags.peer_tag;
        let protection = self.protection.as_ref();
        same && protection.is_some_and(|protection| protection.is_client_to(offer.protection.as_ref()))
    }

    /// Returns the tags and the TSN of the INIT ACK and its cookie. `colliding` is true if it answers an INIT
    /// that crossed this end's.
    fn answer_tags(&mut self, colliding: bool) -> Tags {
        // RFC 9260 §5.2.1: in a collision tag and TSN are those of our INIT; §5.2.2: else the tag is new
        let (local_tag, local_initial_tsn) = if colliding {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
            //# Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint MUST respond with an INIT
            //# ACK chunk using the same parameters
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
            //# Upon receipt of an INIT chunk in the COOKIE-ECHOED state, an endpoint MUST respond with an
            //# INIT ACK chunk using the same parameters it sent in its original INIT chunk
            (self.tags.local_tag, self.tags.local_initial_tsn)
        } else {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
            //# And the INIT ACK chunk MUST contain a new Initiate Tag
            (self.rng.next_tag(), msctp_wire::Tsn::new(self.rng.next_tag()))
        };
        // RFC 9260 §5.2.2: no Tie-Tags in COOKIE-WAIT
        let (local_tie_tag, peer_tie_tag) = if self.state == State::CookieWait {
            (0, 0)
        } else {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
            //# it MUST populate its Tie-Tags within both the association TCB and inside the State Cookie
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
            //# the endpoint MUST copy its current Tie-Tags to a reserved place within the State Cookie and
            //# the association's TCB.
            (self.tags.local_tie_tag, self.tags.peer_tie_tag)
        };
        Tags { local_tag, local_initial_tsn, local_tie_tag, peer_tie_tag, ..self.tags.clone() }
    }

    /// Answers an INIT that adds addresses with an ABORT that lists them (RFC 9260 §5.2.1, §5.2.2).
    fn refuse_new_addresses(&mut self, at: PathAddr, offer: &Offer<'_>) -> bool {
        let mut new = offer.all_addresses(at.remote);
        new.retain(|address| !self.paths.has_remote(address));
        if new.is_empty() {
            return false;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
        //# Before responding, the endpoint MUST check to see if the unexpected INIT chunk adds new addresses
        //# to the association.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
        //# the endpoint MUST respond with an ABORT chunk, copying the 'Initiate Tag' of the unexpected INIT
        //# chunk
        let list = address_params(&new);
        self.refuse_restart(at, offer.tag, &[Cause::RestartWithNewAddresses(&list)]);
        true
    }

    /// Answers an INIT from another UDP port than the peer's with an ABORT that names both
    /// (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4).
    fn refuse_new_port(&mut self, at: PathAddr, initiate_tag: u32) -> bool {
        let Some(ports) = self.other_source_port(at).filter(|_| initiate_tag != self.tags.peer_tag) else {
            return false;
        };
        self.refuse_restart(at, initiate_tag, &[Cause::RestartWithNewPort(ports)]);
        true
    }

    /// Answers an INIT by an ABORT, unless its Initiate Tag is the peer's. Then it is a late copy of the INIT
    /// that set the association up, as the second of a race is, and no restart: a peer that restarts draws
    /// another tag. An ABORT with this one would end the association at the peer.
    fn refuse_restart(&mut self, at: PathAddr, initiate_tag: u32, causes: &[Cause<'_>]) {
        if initiate_tag == self.tags.peer_tag {
            self.faults.unexpected_chunks += 1;
            return;
        }
        let abort = Abort { tag_reflected: false, causes: Causes::from(causes) };
        self.control.push_clear(at, initiate_tag, &abort);
    }
}
