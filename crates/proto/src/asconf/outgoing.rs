//! [`AsconfOut`]: our requests to change addresses (RFC 5061 §5.1, §5.3).

use core::net::IpAddr;
use std::collections::VecDeque;

use msctp_units::{Span, Time};
use msctp_wire::param::{AddressRequest as Parameter, ErrorCauseIndication};
use msctp_wire::{
    Asconf, AsconfAck, AsconfSerial, CauseCode, CorrelationId, EncodeChunk, Param, Params, Tsn, UnknownChunk,
};
use smallvec::SmallVec;

use crate::rare::{Rare, Untouched};
use crate::{AddressRequest, CallError, PathId};

/// Requests that may wait for their turn at a time.
pub const MAX_WAITING: usize = 64;
/// Requests that one ASCONF may carry: with eight IPv6 addresses it still fits the least PMTU (RFC 5061 §5.1.1 C5).
pub const MAX_BUNDLED: usize = 8;

/// The requests of one ASCONF.
type Group = SmallVec<[AddressRequest; 1]>;

/// What became of our requests. The association applies them to its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsconfEvent {
    /// The ASCONF with this request is about to leave. The address of a Delete must not be a source from now on (RFC 5061
    /// §5.3 F4).
    Started(AddressRequest),
    /// The peer did it. An added address may be a source now (F2), a deleted one is gone.
    Done(AddressRequest),
    /// It was not done. An added address must be forgotten (F10), one that was to be deleted stays.
    Rejected {
        /// The request.
        request: AddressRequest,
        /// Why.
        why: Rejection,
    },
    /// The peer does not know ASCONF at all; told once, after the rejection of everything that waited (A9, §5.1.1).
    Unsupported,
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The peer refused it with this error cause.
    Cause(CauseCode),
    /// The peer refused another one before it in the same ASCONF (A7), or said so in a way that cannot be read.
    FollowsFailure,
    /// The peer does not know such requests (A9, F3a, F3b).
    Unsupported,
    /// It became impossible while it waited, because an earlier request failed: nothing would be left that reaches the peer
    /// (F5), or the address to prefer was never added (§5.4).
    Overtaken,
    /// The peer restarted: it knows nothing of what was asked (RFC 9260 §5.2.4 A).
    Restarted,
    /// It spoke of where it came from, that network died before the answer came, and others waited: the peer may have done it
    /// or not. It may be asked for again: a peer that has done it has nothing to do.
    Uncertain,
}

/// What an ASCONF-ACK was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// The answer to our ASCONF. Clear the error counters of the path it last went over (A5).
    Accepted {
        /// That path, if it was ever sent on one that is known.
        path: Option<PathId>,
    },
    /// An answer to an earlier ASCONF: ignored (§4.3.4).
    Old,
    /// It answers what was never asked: the association must be aborted with 'Association Aborted Due to Illegal
    /// ASCONF-ACK' (F0, §4.3.4).
    Illegal,
}

/// The ASCONF that is not acknowledged yet.
#[derive(Debug)]
struct Outstanding {
    serial: AsconfSerial,
    /// Correlation id of the first request; the others follow it.
    correlation: u32,
    requests: Group,
    /// It says "where this came from", so it has to come from this address of ours.
    source: Option<IpAddr>,
    /// It left from another one.
    elsewhere: bool,
    /// The chunk as it was first sent (B4: never changed).
    chunk: Vec<u8>,
    path: Option<PathId>,
    transmissions: u32,
    /// To be sent, for the first time or again.
    pending: bool,
    /// So many times more at once.
    copies: u32,
    t4_rto: Option<Time>,
}

/// Our side of dynamic addresses: an ordered queue with one outstanding ASCONF (A3, C1).
///
/// To send: [`prepare`](Self::prepare); take the events; if it is [`pending`](Self::is_pending), choose a path
/// ([`Paths::request_path`](crate::path::Paths::request_path) keeps the source rules F1, F4 and F6) and
/// [`transmit`](Self::transmit). Only in the states ESTABLISHED and SHUTDOWN-PENDING, -RECEIVED, -SENT (C4).
#[derive(Debug)]
pub struct AsconfOut {
    next_serial: AsconfSerial,
    next_correlation: u32,
    /// What the peer lists for us.
    addresses: Vec<IpAddr>,
    /// False after F3a.
    knows_add_delete: bool,
    /// False after F3b.
    knows_set_primary: bool,
    asked: Rare<Asked>,
}

/// What was asked for and what became of it.
#[derive(Debug, Default)]
struct Asked {
    /// Addresses that the peer knows by another name, because they are translated on the way: it is told of them by the
    /// wildcard.
    translated: Vec<IpAddr>,
    waiting: VecDeque<Group>,
    outstanding: Option<Outstanding>,
    events: VecDeque<AsconfEvent>,
}

impl Untouched for Asked {
    const UNTOUCHED: &'static Self = &Self {
        translated: Vec::new(),
        waiting: VecDeque::new(),
        outstanding: None,
        events: VecDeque::new(),
    };
}

impl AsconfOut {
    /// `initial_tsn` is ours (A2); `addresses` are those the peer lists for us: what our INIT or INIT ACK named, or its
    /// source. `supported`: the peer announced ASCONF (§4.2.7).
    pub fn new(initial_tsn: Tsn, addresses: &[IpAddr], supported: bool) -> Self {
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

    /// Addresses the peer is known to list for us.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<AsconfEvent> {
        if self.asked.events.is_empty() { None } else { self.asked.events.pop_front() }
    }

    /// Requests that are outstanding or wait.
    pub fn len(&self) -> usize {
        self.outstanding_requests().len() + self.asked.waiting.iter().map(SmallVec::len).sum::<usize>()
    }

    /// True when nothing is outstanding or waits.
    pub fn is_empty(&self) -> bool {
        self.asked.outstanding.is_none() && self.asked.waiting.is_empty()
    }

    fn outstanding_requests(&self) -> &[AddressRequest] {
        self.asked.outstanding.as_ref().map_or(&[], |out| &out.requests)
    }

    /// Queues one request as an ASCONF of its own.
    ///
    /// # Errors
    /// As [`request_together`](Self::request_together).
    pub fn request(&mut self, request: AddressRequest) -> Result<(), CallError> {
        self.request_together(&[request])
    }

    /// Queues requests that travel in one ASCONF, done in this order. Checked against what the addresses will be when all
    /// that was queued before is done, so that a Set-Primary may follow its Add at once.
    ///
    /// # Errors
    /// The peer does not know such requests, the address is there already or is not, the last one would be deleted (F5), or
    /// too many wait. Nothing is queued then.
    pub fn request_together(&mut self, requests: &[AddressRequest]) -> Result<(), CallError> {
        if requests.is_empty() {
            return Ok(());
        }
        let waiting = self.len();
        if waiting + requests.len() > MAX_WAITING || requests.len() > MAX_BUNDLED {
            return Err(CallError::TooManyRequests(waiting));
        }
        // What it does depends on what else is there: it comes in an ASCONF of its own.
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

    /// From now on the peer is told of this address of ours by its own name, or by the wildcard (§4.2.1): as the source of
    /// the packet that tells.
    pub fn set_translated(&mut self, address: IpAddr, translated: bool) {
        if translated || !self.asked.translated.is_empty() {
            self.asked.translated.retain(|known| *known != address);
        }
        if translated {
            self.asked.translated.push(address);
        }
    }

    /// Addresses of ours that the peer is told of by the wildcard.
    pub fn translated(&self) -> &[IpAddr] {
        &self.asked.translated
    }

    /// The address that the outstanding ASCONF adds, while it was never sent, or not as often as it is to be at first.
    pub fn first_added(&self) -> Option<IpAddr> {
        let first = |out: &&Outstanding| out.transmissions == 0 || out.copies > 0;
        let out = self.asked.outstanding.as_ref().filter(first)?;
        out.requests.iter().find_map(|request| match request {
            AddressRequest::Add(address) => Some(*address),
            _ => None,
        })
    }

    /// The address from which the outstanding ASCONF has to leave, because it speaks of where it came from.
    pub fn required_source(&self) -> Option<IpAddr> {
        self.asked.outstanding.as_ref().and_then(|out| out.source)
    }

    /// Others wait for the outstanding ASCONF, and what it says of where it came from may be said of any address that the peer
    /// lists for us already: to add that or to prefer it costs nothing (§4.2.1, §4.2.4). To keep only that would cost all
    /// others, and to delete one beside it needs the address that was to be added.
    pub fn may_leave_elsewhere(&self) -> bool {
        let harmless = |request: &AddressRequest| {
            matches!(request, AddressRequest::Add(_) | AddressRequest::SetPrimary(_))
        };
        !self.asked.waiting.is_empty() && self.outstanding_requests().iter().all(harmless)
    }

    /// The request is told by the wildcard, from this address.
    fn wildcard_source(&self, request: AddressRequest) -> Option<IpAddr> {
        match request {
            AddressRequest::KeepOnly(address) => Some(address),
            AddressRequest::Add(address) | AddressRequest::SetPrimary(address) => {
                self.asked.translated.contains(&address).then_some(address)
            }
            AddressRequest::Delete(_) => None,
        }
    }

    /// Our addresses as the peer will list them when all that was asked for is done.
    pub fn planned(&self) -> Vec<IpAddr> {
        let mut addresses = self.addresses.clone();
        for request in self.outstanding_requests().iter().chain(self.asked.waiting.iter().flatten()) {
            // What cannot be done any more is rejected when its turn comes.
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

    /// Makes the next ASCONF if none is outstanding and one can be made. `reaches`: from this address of ours some address
    /// of the peer can be reached; one that does stays.
    pub fn prepare(&mut self, reaches: impl Fn(&IpAddr) -> bool) {
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
            // F5: what is left has to be of use
            if possible && (addresses.iter().any(&reaches) || !self.addresses.iter().any(&reaches)) {
                self.create(requests);
            } else {
                self.reject(&requests, Rejection::Overtaken);
            }
        }
    }

    /// What has to leave from an address that reaches nothing any more, and never left, is not asked for. One that may have
    /// arrived has its number, which only an answer ends (A3).
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

    /// A1, A2
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
        // §4.1.1: one that the peer considers part of the association; §5.3.2: it may be one that is being deleted.
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
        // §4.1.1: the wildcard where the peer has another name for it
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

    /// The ASCONF parameter of a request.
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

    /// True when an ASCONF is to be sent, for the first time or again.
    pub fn is_pending(&self) -> bool {
        self.asked.outstanding.as_ref().is_some_and(|out| out.pending)
    }

    /// The path the outstanding ASCONF was last sent on; a retransmission prefers another (B4).
    pub fn last_path(&self) -> Option<PathId> {
        self.asked.outstanding.as_ref().and_then(|out| out.path)
    }

    /// The ASCONF chunk, to be sent on `path`, from `own`, now; starts T4-rto with that path's RTO (A4, B5). `None` if none is
    /// pending.
    pub fn transmit(&mut self, path: PathId, own: IpAddr, now: Time, rto: Span) -> Option<UnknownChunk<'_>> {
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

    /// True when an ASCONF was made and never sent.
    pub fn is_unsent(&self) -> bool {
        self.unsent().is_some()
    }

    fn unsent(&self) -> Option<&Outstanding> {
        self.asked.outstanding.as_ref().filter(|out| out.transmissions == 0)
    }

    /// What was just sent for the first time is to be sent so many times more at once. It stays one request: answers to the copies
    /// are old ones.
    pub fn repeat(&mut self, copies: u32) {
        if copies > 0
            && let Some(out) = &mut self.asked.outstanding
        {
            out.copies = copies;
            out.pending = true;
        }
    }

    /// When T4-rto expires.
    pub fn next_timeout(&self) -> Option<Time> {
        self.asked.outstanding.as_ref().and_then(|out| out.t4_rto)
    }

    /// If T4-rto expired: the ASCONF is pending again, and the path whose errors are to be counted and whose RTO is to be
    /// doubled (B1 to B3) is given.
    pub fn handle_timeout(&mut self, now: Time) -> Option<PathId> {
        if self.next_timeout().is_none_or(|at| at > now) {
            return None;
        }
        let out = self.asked.outstanding.as_mut()?;
        out.t4_rto = None;
        out.pending = true;
        out.path
    }

    /// Sends the outstanding ASCONF again at once, as when a link came up or there is another way. T4-rto starts anew with it.
    pub fn retransmit_now(&mut self) {
        if self.asked.outstanding.is_some()
            && let Some(out) = &mut self.asked.outstanding
        {
            out.t4_rto = None;
            out.pending = true;
        }
    }

    /// An ASCONF-ACK arrived.
    pub fn on_ack(&mut self, ack: &AsconfAck<'_>) -> Ack {
        // What was made but never sent has not been asked yet.
        let never_used = self.unsent().map_or(self.next_serial, |out| out.serial);
        // F0, §4.3.4. F0 speaks of no outstanding ASCONF; an answer to one that does not exist yet is no better when
        // another is outstanding.
        if never_used.precedes_or_is(ack.serial) {
            return Ack::Illegal;
        }
        let Some(out) = self.asked.outstanding.take_if(|out| out.serial == ack.serial) else {
            return Ack::Old;
        };
        self.settle(&out, ack);
        Ack::Accepted { path: out.path }
    }

    /// A6 to A8
    fn settle(&mut self, out: &Outstanding, ack: &AsconfAck<'_>) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
        //# The endpoint MUST process all of the TLVs within the ASCONF- ACK(s) to find out particular status
        //# information returned to the various requests that were sent.
        let mut answers = Answers::read(out.correlation, out.requests.len(), ack);
        for (request, answer) in out.requests.iter().zip(answers.resolve()) {
            match answer {
                // Which of its packets arrived first, and so what was added, the answer does not say.
                Ok(()) if out.elsewhere => self.reject(&[*request], Rejection::Uncertain),
                Ok(()) => {
                    // It was possible when it was sent, and only this changes the list.
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

    /// F3a, F3b: the peer does not understand such requests; those that wait fail.
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

    /// The peer reported ASCONF as an unrecognised chunk type: nothing more is sent, all requests fail (A9, §5.1.1).
    pub fn on_unrecognized(&mut self) {
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

    /// The association begins anew: what is outstanding or waits fails.
    pub fn give_up(&mut self) {
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

/// The wildcard of the address's family.
fn wildcard(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => core::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => core::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Does a request to a list of our addresses, or says why it cannot be.
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

/// Does the requests of one ASCONF to a list of our addresses, or says why they cannot be. An address cannot be both added
/// and deleted by one ASCONF.
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

/// The answers to the requests of one ASCONF, in their order; `None`: not mentioned.
struct Answers {
    given: SmallVec<[Option<Result<(), Rejection>>; 1]>,
    /// A response could not be read.
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

    /// A7, A8: before the first failure silence means success, after it failure. When a response could not be read, it may
    /// have been a failure of any request that is not mentioned.
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
