//! [`AsconfOut`]: our requests to change addresses (RFC 5061 §5.1, §5.3).

use core::net::IpAddr;
use std::collections::VecDeque;

use msctp_units::{Span, Time};
use msctp_wire::param::{AddressRequest as Parameter, ErrorCauseIndication};
use msctp_wire::{
    Asconf, AsconfAck, AsconfSerial, CauseCode, CorrelationId, EncodeChunk, Param, Params, Tsn, UnknownChunk,
};
use smallvec::SmallVec;

use crate::addr::PathId;
use crate::asconf::AddressRequest;
use crate::call_error::CallError;
use crate::rare::{Rare, rare_state};

/// Longest queue of requests.
pub(crate) const MAX_WAITING: usize = 64;
/// Maximum number of requests in one ASCONF: eight IPv6 addresses fit the minimum PMTU (RFC 5061 §5.1.1 C5).
pub(crate) const MAX_BUNDLED: usize = 8;

/// The requests of one ASCONF.
type Group = SmallVec<[AddressRequest; 1]>;

/// The outcome of a local request, which the association applies to its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsconfEvent {
    /// The ASCONF with this request is about to be sent. From now on, the address of a Delete must not be a
    /// source (RFC 5061 §5.3 F4).
    Started(AddressRequest),
    /// The peer applied the request. An added address may now be a source (F2), and a deleted one is removed.
    Done(AddressRequest),
    /// The request failed. The caller removes an address that it tried to add (F10), and keeps one that it
    /// tried to delete.
    Rejected {
        /// The request.
        request: AddressRequest,
        /// The reason.
        why: Rejection,
    },
    /// The peer does not support ASCONF. Reported once, after the failure of all queued requests (A9,
    /// §5.1.1).
    Unsupported,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The peer rejected the request with this error cause.
    Cause(CauseCode),
    /// The peer rejected an earlier request of the same ASCONF (A7), or its answer is malformed.
    FollowsFailure,
    /// The peer does not support such requests (A9, F3a, F3b).
    Unsupported,
    /// The request became impossible or superfluous while queued: an earlier request failed, so that no
    /// address would reach the peer (F5) or the address to prefer was never added (§5.4), or the address to
    /// delete is used again.
    Overtaken,
    /// The peer restarted and lost the request (RFC 9260 §5.2.4 A).
    Restarted,
    /// The outcome is unknown. The request used the wildcard, its network failed before the answer, and
    /// others were queued. The request may be repeated: a peer that applied it ignores the repetition.
    Uncertain,
}

/// Outcome of a received ASCONF-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack {
    /// The answer to the outstanding ASCONF. Clear the error counters of the path that carried it last (A5).
    Accepted {
        /// The path that carried the ASCONF last, if it still exists.
        path: Option<PathId>,
    },
    /// An answer to an earlier ASCONF, which is ignored (§4.3.4).
    Old,
    /// The ASCONF-ACK answers an ASCONF that was never sent: the association must be aborted with
    /// 'Association Aborted Due to Illegal ASCONF-ACK' (F0, §4.3.4).
    Illegal,
}

/// The ASCONF that is not acknowledged yet.
#[derive(Debug)]
struct Outstanding {
    serial: AsconfSerial,
    /// Correlation id of the first request. Those of the others are consecutive.
    correlation: u32,
    requests: Group,
    /// Source address that the ASCONF must have, because it uses the wildcard.
    source: Option<IpAddr>,
    /// True if the ASCONF was sent from another address.
    elsewhere: bool,
    /// The chunk as it was first sent, which never changes (B4).
    chunk: Vec<u8>,
    path: Option<PathId>,
    transmissions: u32,
    /// To be sent or retransmitted.
    pending: bool,
    /// Further copies to send at once.
    copies: u32,
    t4_rto: Option<Time>,
}

/// State for this end's address requests: an ordered queue with one outstanding ASCONF (A3, C1).
///
/// To send: [`prepare`](Self::prepare); take the events; if it is [`pending`](Self::is_pending), choose a
/// path ([`Paths::request_path_from`](crate::path::Paths::request_path_from) keeps the source rules F1, F4
/// and F6) and [`transmit`](Self::transmit). Only in the states ESTABLISHED and SHUTDOWN-PENDING, -RECEIVED,
/// -SENT (C4).
#[derive(Debug)]
pub(crate) struct AsconfOut {
    next_serial: AsconfSerial,
    next_correlation: u32,
    /// Local addresses that the peer lists.
    addresses: Vec<IpAddr>,
    /// False after F3a.
    knows_add_delete: bool,
    /// False after F3b.
    knows_set_primary: bool,
    asked: Rare<Asked>,
}

rare_state! {
    /// Events that the caller has not polled yet.
    struct Asked {
        /// Addresses behind a NAT, which the peer knows as other addresses. Requests use the wildcard for
        /// them.
        translated: Vec<IpAddr> = Vec::new(),
        waiting: VecDeque<Group> = VecDeque::new(),
        outstanding: Option<Outstanding> = None,
        events: VecDeque<AsconfEvent> = VecDeque::new(),
    }
}

impl AsconfOut {
    /// Creates the state. `initial_tsn` is this end's (A2). `addresses` are the local ones that the peer
    /// lists: those of the INIT or INIT ACK, or its source. `supported` is true if the peer announced ASCONF
    /// (§4.2.7).
    pub(crate) fn new(initial_tsn: Tsn, addresses: &[IpAddr], supported: bool) -> Self {
        Self {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
            //# The Sequence Number MUST be initialized at the start of the association to the same value as
            //# the Initial Transmission Sequence Number (TSN)
            next_serial: AsconfSerial::new(initial_tsn.get()),
            next_correlation: 1,
            addresses: addresses.to_vec(),
            knows_add_delete: supported,
            knows_set_primary: supported,
            asked: Rare::default(),
        }
    }

    /// Returns the local addresses that the peer is known to list.
    #[cfg(test)]
    pub(crate) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<AsconfEvent> {
        if self.asked.events.is_empty() { None } else { self.asked.events.pop_front() }
    }

    /// Returns the number of requests that are outstanding or queued.
    pub(crate) fn len(&self) -> usize {
        self.outstanding_requests().len() + self.asked.waiting.iter().map(SmallVec::len).sum::<usize>()
    }

    fn outstanding_requests(&self) -> &[AddressRequest] {
        self.asked.outstanding.as_ref().map_or(&[], |out| &out.requests)
    }

    /// Queues one request in a separate ASCONF.
    ///
    /// # Errors
    /// Same as [`request_together`](Self::request_together).
    pub(crate) fn request(&mut self, request: AddressRequest) -> Result<(), CallError> {
        self.request_together(&[request])
    }

    /// Queues requests for one ASCONF, which the peer applies in this order. Checks them against the
    /// addresses that result from all earlier requests, so that a Set-Primary may follow its Add at once.
    ///
    /// # Errors
    /// The peer does not support such requests, the address exists already or does not, the last one would be
    /// deleted (F5), or the queue is full. Nothing is queued then.
    pub(crate) fn request_together(&mut self, requests: &[AddressRequest]) -> Result<(), CallError> {
        if requests.is_empty() {
            return Ok(());
        }
        let waiting = self.len();
        if waiting + requests.len() > MAX_WAITING || requests.len() > MAX_BUNDLED {
            return Err(CallError::TooManyRequests(waiting));
        }
        // Its effect depends on the other addresses: it needs an ASCONF of its own.
        let keeps = |request: &AddressRequest| matches!(request, AddressRequest::KeepOnly(_));
        if requests.len() > 1 && requests.iter().any(keeps) {
            return Err(CallError::TooManyRequests(requests.len()));
        }
        let mut addresses = self.planned();
        for request in requests {
            if !self.knows(*request) {
                return Err(CallError::PeerLacksAsconf);
            }
            if let AddressRequest::Delete(address) = request
                && self.asked.translated.contains(address)
            {
                return Err(CallError::TranslatedAddress(*address));
            }
        }
        apply_all(&mut addresses, requests)?;
        self.asked.waiting.push_back(requests.into());
        Ok(())
    }

    /// Gives up requests to delete an address that were not sent: it is used again.
    pub(crate) fn withdraw_deletion(&mut self, address: IpAddr) {
        let deletion = AddressRequest::Delete(address);
        if !self.asked.waiting.iter().flatten().any(|request| *request == deletion) {
            return;
        }
        self.asked.waiting.iter_mut().for_each(|group| group.retain(|request| *request != deletion));
        self.asked.waiting.retain(|group| !group.is_empty());
        self.reject(&[deletion], Rejection::Overtaken);
    }

    /// Sets whether requests name this address or use the wildcard (§4.2.1), which stands for the source of
    /// the packet.
    pub(crate) fn set_translated(&mut self, address: IpAddr, translated: bool) {
        if translated || !self.asked.translated.is_empty() {
            self.asked.translated.retain(|known| *known != address);
        }
        if translated {
            self.asked.translated.push(address);
        }
    }

    /// Returns the addresses for which requests use the wildcard.
    pub(crate) fn translated(&self) -> &[IpAddr] {
        &self.asked.translated
    }

    /// Returns the address that the outstanding ASCONF adds, until all its first copies were sent.
    pub(crate) fn first_added(&self) -> Option<IpAddr> {
        let first = |out: &&Outstanding| out.transmissions == 0 || out.copies > 0;
        let out = self.asked.outstanding.as_ref().filter(first)?;
        out.requests.iter().find_map(|request| match request {
            AddressRequest::Add(address) => Some(*address),
            _ => None,
        })
    }

    /// Returns the address from which the outstanding ASCONF must leave, because it uses the wildcard.
    pub(crate) fn required_source(&self) -> Option<IpAddr> {
        self.asked.outstanding.as_ref().and_then(|out| out.source)
    }

    /// Returns whether the outstanding ASCONF blocks others and may leave from any local address that the
    /// peer lists. A wildcard that adds or prefers such an address has no other effect (§4.2.1, §4.2.4). A
    /// wildcard Delete would delete all others, and a Delete beside an Add needs the added address.
    pub(crate) fn may_leave_elsewhere(&self) -> bool {
        let harmless = |request: &AddressRequest| {
            matches!(request, AddressRequest::Add(_) | AddressRequest::SetPrimary(_))
        };
        !self.asked.waiting.is_empty() && self.outstanding_requests().iter().all(harmless)
    }

    /// Returns the source that a request with the wildcard needs.
    fn wildcard_source(&self, request: AddressRequest) -> Option<IpAddr> {
        match request {
            AddressRequest::KeepOnly(address) => Some(address),
            AddressRequest::Add(address) | AddressRequest::SetPrimary(address) => {
                self.asked.translated.contains(&address).then_some(address)
            }
            AddressRequest::Delete(_) => None,
        }
    }

    /// Returns the local addresses that the peer will list after all requests.
    pub(crate) fn planned(&self) -> Vec<IpAddr> {
        let mut addresses = self.addresses.clone();
        for request in self.outstanding_requests().iter().chain(self.asked.waiting.iter().flatten()) {
            // An impossible request fails when its turn comes.
            let _ = apply(&mut addresses, *request);
        }
        addresses
    }

    fn knows(&self, request: AddressRequest) -> bool {
        match request {
            AddressRequest::Add(_) | AddressRequest::Delete(_) | AddressRequest::KeepOnly(_) => {
                self.knows_add_delete
            }
            AddressRequest::SetPrimary(_) => self.knows_set_primary,
        }
    }

    /// Builds the next ASCONF if none is outstanding. `reaches` returns whether a local address reaches an
    /// address of the peer; one that does is kept.
    pub(crate) fn prepare(&mut self, reaches: impl Fn(&IpAddr) -> bool) {
        self.look_for_source(&reaches);
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# transfers MUST NOT cause congestion within the network
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# it MUST wait until the ASCONF-ACK Chunk returns from the previous ASCONF Chunk before sending a
        //# subsequent ASCONF
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# If bundled with other ASCONF Chunks, the chunks MUST appear in sequential order with respect to
        //# their Sequence Number.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
        //# the following rules MUST be followed
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
        //# Each SCTP packet containing ASCONF Chunks MUST be bundled starting with the smallest ASCONF
        //# Sequence Number first in the packet
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
        //# All ASCONFs within the packet MUST be adjacent to each other
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
        //# Each new ASCONF lookup address MUST be populated as if the previous ASCONFs had been processed and
        //# accepted.
        while self.asked.outstanding.is_none()
            && !self.asked.waiting.is_empty()
            && let Some(requests) = self.asked.waiting.pop_front()
        {
            let mut addresses = self.addresses.clone();
            let possible = apply_all(&mut addresses, &requests).is_ok()
                && requests
                    .iter()
                    .all(|request| self.wildcard_source(*request).is_none_or(|own| reaches(&own)));
            // F5: a remaining address must reach the peer
            if possible && (addresses.iter().any(&reaches) || !self.addresses.iter().any(&reaches)) {
                self.create(requests);
            } else {
                self.reject(&requests, Rejection::Overtaken);
            }
        }
    }

    /// Cancels an unsent ASCONF whose source no longer reaches the peer. A sent one has used its serial
    /// number, which only an answer completes (A3).
    fn look_for_source(&mut self, reaches: &impl Fn(&IpAddr) -> bool) {
        let stranded =
            |out: &Outstanding| out.transmissions == 0 && out.source.is_some_and(|own| !reaches(&own));
        if self.asked.outstanding.as_ref().is_some_and(stranded)
            && let Some(out) = self.asked.outstanding.take()
        {
            self.next_serial = out.serial;
            self.reject(&out.requests, Rejection::Overtaken);
        }
    }

    /// Creates an ASCONF for a group of requests (A1, A2).
    fn create(&mut self, requests: Group) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# it MUST do the following:
        let correlation = self.next_correlation;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# The chunk MUST contain all of the TLV(s) of information necessary to be sent to the remote
        //# endpoint, and unique correlation identities for each request.
        let parameters: SmallVec<[Param<'_>; MAX_BUNDLED]> =
            (correlation..).zip(&requests).map(|(id, request)| self.parameter(id, *request)).collect();
        let source = requests.iter().find_map(|request| self.wildcard_source(*request));
        self.next_correlation = correlation.wrapping_add(requests.len() as u32);
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# A Sequence Number MUST be assigned to the Chunk.
        let serial = self.next_serial;
        // §4.1.1: one that the peer considers part of the association; §5.3.2: it may be one that is being
        // deleted.
        let going = |address: &&IpAddr| {
            requests.iter().any(|request| match request {
                AddressRequest::Delete(gone) => *gone == **address,
                AddressRequest::KeepOnly(kept) => kept != *address,
                AddressRequest::Add(_) | AddressRequest::SetPrimary(_) => false,
            })
        };
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# the address MUST be considered part of the association by the peer endpoint
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
        //# For this reason, the sender MUST fill in the Address Parameter field with an address that is part
        //# of the association (in this case, the one being deleted).
        let lookup = self.addresses.iter().find(|address| !going(address)).or(self.addresses.first());
        // §4.1.1: the wildcard if the peer knows it by another address
        let lookup = lookup.filter(|address| !self.asked.translated.contains(address));
        let unspecified = IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED);
        let asconf = Asconf {
            serial,
            address: lookup.copied().unwrap_or(unspecified),
            requests: Params::from(&parameters[..]),
        };
        let mut chunk = Vec::with_capacity(asconf.encoded_len());
        asconf.encode(&mut chunk);
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# The Sequence Number MUST be larger by one.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# it MUST be incremented by one after assigning the Sequence Number to the newly created chunk
        self.next_serial = serial.next();
        self.asked.events.extend(requests.iter().map(|request| AsconfEvent::Started(*request)));
        self.asked.outstanding = Some(Outstanding {
            serial,
            correlation,
            requests,
            source,
            elsewhere: false,
            chunk,
            path: None,
            transmissions: 0,
            pending: true,
            copies: 0,
            t4_rto: None,
        });
    }

    /// Returns the ASCONF parameter of a request.
    fn parameter(&self, correlation: u32, request: AddressRequest) -> Param<'static> {
        let named = |address| match self.wildcard_source(request) {
            Some(source) => wildcard(source),
            None => address,
        };
        let with =
            |address| Parameter { correlation_id: CorrelationId::new(correlation), address: named(address) };
        match request {
            AddressRequest::Add(address) => Param::AddIpAddress(with(address)),
            AddressRequest::Delete(address) | AddressRequest::KeepOnly(address) => {
                Param::DeleteIpAddress(with(address))
            }
            AddressRequest::SetPrimary(address) => Param::SetPrimaryAddress(with(address)),
        }
    }

    /// Returns whether an ASCONF must be sent or retransmitted.
    pub(crate) fn is_pending(&self) -> bool {
        self.asked.outstanding.as_ref().is_some_and(|out| out.pending)
    }

    /// Returns the path on which the outstanding ASCONF was sent last; a retransmission prefers another (B4).
    pub(crate) fn last_path(&self) -> Option<PathId> {
        self.asked.outstanding.as_ref().and_then(|out| out.path)
    }

    /// Returns the ASCONF chunk to send now on `path` from `own`, and starts T4-rto with that path's RTO (A4,
    /// B5). Returns `None` if none is pending.
    pub(crate) fn transmit(
        &mut self,
        path: PathId,
        own: IpAddr,
        now: Time,
        rto: Span,
    ) -> Option<UnknownChunk<'_>> {
        let out = self.asked.outstanding.as_mut().filter(|out| out.pending)?;
        out.copies = out.copies.saturating_sub(1);
        out.pending = out.copies > 0;
        out.elsewhere |= out.source.is_some_and(|source| source != own);
        out.path = Some(path);
        out.transmissions += 1;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# The sender MUST Start a T-4 Retransmission Timeout (RTO) timer
        out.t4_rto = Some(now + rto);
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# An endpoint MUST NOT add new parameters to this chunk; it MUST be the same (including its Sequence
        //# Number) as the last ASCONF sent.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
        //# Previously transmitted ASCONF Chunks MUST be left unchanged.
        UnknownChunk::new(&out.chunk).ok()
    }

    /// Returns whether an ASCONF was built and never sent.
    pub(crate) fn is_unsent(&self) -> bool {
        self.unsent().is_some()
    }

    fn unsent(&self) -> Option<&Outstanding> {
        self.asked.outstanding.as_ref().filter(|out| out.transmissions == 0)
    }

    /// Sends `copies` more copies of the ASCONF just sent for the first time. Answers to the copies count as
    /// old ones.
    pub(crate) fn repeat(&mut self, copies: u32) {
        if copies > 0
            && let Some(out) = &mut self.asked.outstanding
        {
            out.copies = copies;
            out.pending = true;
        }
    }

    /// Returns when T4-rto expires.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.asked.outstanding.as_ref().and_then(|out| out.t4_rto)
    }

    /// Expires T4-rto at `until` at the latest if `works` does not hold for the path on which the ASCONF was
    /// last sent.
    pub(crate) fn shorten_t4_rto(&mut self, until: Time, works: impl FnOnce(PathId) -> bool) {
        if self.next_timeout().is_some_and(|at| at > until)
            && let Some(out) = self.asked.outstanding.as_mut()
            && !out.path.is_some_and(works)
        {
            out.t4_rto = Some(until);
        }
    }

    /// Handles T4-rto: the ASCONF is pending again. Returns the path whose error counter grows and whose RTO
    /// doubles (B1 to B3).
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<PathId> {
        if self.next_timeout().is_none_or(|at| at > now) {
            return None;
        }
        let out = self.asked.outstanding.as_mut()?;
        out.t4_rto = None;
        out.pending = true;
        out.path
    }

    /// Retransmits the outstanding ASCONF at once, because a link came up or another path appeared. T4-rto
    /// restarts with it.
    pub(crate) fn retransmit_now(&mut self) {
        if self.asked.outstanding.is_some()
            && let Some(out) = &mut self.asked.outstanding
        {
            out.t4_rto = None;
            out.pending = true;
        }
    }

    /// Handles an ASCONF-ACK.
    pub(crate) fn on_ack(&mut self, ack: &AsconfAck<'_>) -> Ack {
        // An ASCONF that was never sent has no answer.
        let never_used = self.unsent().map_or(self.next_serial, |out| out.serial);
        // F0, §4.3.4. F0 names the case without an outstanding ASCONF; an answer to a future one is illegal
        // in any case.
        if never_used.precedes_or_is(ack.serial) {
            return Ack::Illegal;
        }
        let Some(out) = self.asked.outstanding.take_if(|out| out.serial == ack.serial) else {
            return Ack::Old;
        };
        self.settle(&out, ack);
        Ack::Accepted { path: out.path }
    }

    /// Settles the requests of an acknowledged ASCONF (A6 to A8).
    fn settle(&mut self, out: &Outstanding, ack: &AsconfAck<'_>) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# The endpoint MUST process all of the TLVs within the ASCONF- ACK(s) to find out particular status
        //# information returned to the various requests that were sent.
        let mut answers = Answers::read(out.correlation, out.requests.len(), ack);
        for (request, answer) in out.requests.iter().zip(answers.resolve()) {
            match answer {
                // The answer does not say which packet arrived first, and so which address was added.
                Ok(()) if out.elsewhere => self.reject(&[*request], Rejection::Uncertain),
                Ok(()) => {
                    // Valid when it was sent, and only answers change the list.
                    let done = apply(&mut self.addresses, *request);
                    debug_assert!(done.is_ok(), "{request:?} was accepted but cannot be applied: {done:?}");
                    self.asked.events.push_back(AsconfEvent::Done(*request));
                }
                Err(why) => {
                    self.asked.events.push_back(AsconfEvent::Rejected { request: *request, why });
                    if why == Rejection::Cause(CauseCode::UNRECOGNIZED_PARAMETERS) {
                        self.forgo(*request);
                    }
                }
            }
        }
    }

    /// Fails the queued requests of a kind that the peer does not support (F3a, F3b).
    fn forgo(&mut self, request: AddressRequest) {
        match request {
            AddressRequest::Add(_) | AddressRequest::Delete(_) | AddressRequest::KeepOnly(_) => {
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
                //# IP address Add or IP address Deletion parameters was not understood, the endpoint MUST
                //# consider the operation failed and MUST NOT attempt to send any subsequent Add or Delete
                //# requests to the peer.
                self.knows_add_delete = false;
            }
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# IP address Set Primary IP Address parameter was not understood, the endpoint MUST consider the
            //# operation failed and MUST NOT attempt to send any subsequent Set Primary IP Address requests
            //# to the peer.
            AddressRequest::SetPrimary(_) => self.knows_set_primary = false,
        }
        for group in core::mem::take(&mut self.asked.waiting) {
            if group.iter().all(|request| self.knows(*request)) {
                self.asked.waiting.push_back(group);
            } else {
                self.reject(&group, Rejection::Unsupported);
            }
        }
    }

    /// Fails all requests and sends no more, because the peer does not know the ASCONF chunk (A9, §5.1.1).
    pub(crate) fn on_unrecognized(&mut self) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# it MUST not send any further ASCONF chunks
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# the sender of the ASCONF MUST NOT send any further ASCONF Chunks and MUST stop its T-4 timer
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# the sender MUST NOT send subsequent ASCONF Chunks to the peer
        if !self.knows_add_delete && !self.knows_set_primary {
            return;
        }
        self.knows_add_delete = false;
        self.knows_set_primary = false;
        if let Some(out) = self.asked.outstanding.take() {
            self.reject(&out.requests, Rejection::Unsupported);
        }
        for group in core::mem::take(&mut self.asked.waiting) {
            self.reject(&group, Rejection::Unsupported);
        }
        self.asked.events.push_back(AsconfEvent::Unsupported);
    }

    /// Fails all outstanding and queued requests, because the association restarts.
    pub(crate) fn give_up(&mut self) {
        let outstanding = self.asked.outstanding.take().map(|out| out.requests);
        for group in outstanding.into_iter().chain(core::mem::take(&mut self.asked.waiting)) {
            self.reject(&group, Rejection::Restarted);
        }
    }

    fn reject(&mut self, requests: &[AddressRequest], why: Rejection) {
        self.asked
            .events
            .extend(requests.iter().map(|request| AsconfEvent::Rejected { request: *request, why }));
    }
}

/// Returns the wildcard of the address's family.
fn wildcard(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => core::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => core::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Applies a request to a list of local addresses, or returns the reason why it cannot.
fn apply(addresses: &mut Vec<IpAddr>, request: AddressRequest) -> Result<(), CallError> {
    let (AddressRequest::Add(address)
    | AddressRequest::Delete(address)
    | AddressRequest::SetPrimary(address)
    | AddressRequest::KeepOnly(address)) = request;
    let position = addresses.iter().position(|known| *known == address);
    match (request, position) {
        (AddressRequest::Add(_), None) => addresses.push(address),
        (AddressRequest::Add(_), Some(_)) => return Err(CallError::AddressExists(address)),
        // §5.4: only an address that is part of the association
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
        //# This parameter MUST NOT contain a broadcast or multicast address.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.4
        //# A sender MUST only send a set primary request to an address that is already considered part of the
        //# association.
        (AddressRequest::Delete(_) | AddressRequest::SetPrimary(_) | AddressRequest::KeepOnly(_), None) => {
            return Err(CallError::UnknownAddress(address));
        }
        // F5
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# An endpoint MUST NOT delete its last remaining IP address from an association.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# it MUST NOT delete all of the IP addresses that the peer has listed for the requester
        (AddressRequest::Delete(_), Some(_)) if addresses.len() == 1 => {
            return Err(CallError::LastAddress(address));
        }
        (AddressRequest::Delete(_), Some(at)) => {
            addresses.remove(at);
        }
        (AddressRequest::SetPrimary(_), Some(_)) => {}
        (AddressRequest::KeepOnly(_), Some(_)) => addresses.retain(|known| *known == address),
    }
    Ok(())
}

/// Applies the requests of one ASCONF to a list of local addresses, or returns the reason why it cannot. One
/// ASCONF cannot add and delete the same address.
fn apply_all(addresses: &mut Vec<IpAddr>, requests: &[AddressRequest]) -> Result<(), CallError> {
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //# the following rules MUST be applied
    let before = addresses.clone();
    for request in requests {
        match *request {
            AddressRequest::Add(address) if before.contains(&address) => {
                return Err(CallError::AddressExists(address));
            }
            AddressRequest::Delete(address) if !before.contains(&address) => {
                return Err(CallError::UnknownAddress(address));
            }
            _ => {}
        }
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# it MUST NOT use the delete IP address without an Add IP Address preceding the delete parameter in
        //# the ASCONF Chunk
        apply(addresses, *request)?;
    }
    Ok(())
}

/// The answers to the requests of one ASCONF, in their order; `None` where the peer gave no response.
struct Answers {
    given: SmallVec<[Option<Result<(), Rejection>>; 1]>,
    /// A response was malformed.
    garbled: bool,
}

impl Answers {
    fn read(first: u32, count: usize, ack: &AsconfAck<'_>) -> Self {
        let mut answers = Self { given: SmallVec::from_elem(None, count), garbled: false };
        for response in ack.responses {
            match response {
                Ok(Param::SuccessIndication(id)) => answers.give(first, id, Ok(())),
                Ok(Param::ErrorCauseIndication(ErrorCauseIndication { correlation_id, causes })) => {
                    let why = match causes.iter().next() {
                        Some(Ok(cause)) => Rejection::Cause(cause.typ()),
                        Some(Err(_)) | None => Rejection::FollowsFailure,
                    };
                    answers.give(first, correlation_id, Err(why));
                }
                // §4.2: a parameter that is not allowed here is ignored
                //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2
                //# If the receiver chooses NOT to abort, the parameter MUST be ignored.
                Ok(_) => {}
                Err(_) => answers.garbled = true,
            }
        }
        answers
    }

    fn give(&mut self, first: u32, id: CorrelationId, answer: Result<(), Rejection>) {
        let index = id.get().wrapping_sub(first) as usize;
        if let Some(slot) = self.given.get_mut(index) {
            slot.get_or_insert(answer);
        }
    }

    /// Returns the outcome of a request (A7, A8). Without a response it is success before the first failure,
    /// and failure after it. A malformed response may have been the failure of any request without one.
    fn resolve(&mut self) -> impl Iterator<Item = Result<(), Rejection>> {
        let mut failed = self.garbled;
        self.given.iter().map(move |answer| {
            let answer = answer.unwrap_or(if failed { Err(Rejection::FollowsFailure) } else { Ok(()) });
            failed |= answer.is_err();
            answer
        })
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
