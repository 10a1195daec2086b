//! [`AsconfIn`]: the peer's requests to change its addresses (RFC 5061 §5.2, §5.3).

use core::net::IpAddr;
use std::collections::VecDeque;

use msctp_wire::param::{AddressRequest, ErrorCauseIndication, UnknownParam};
use msctp_wire::{
    Asconf, AsconfAck, AsconfSerial, Cause, Causes, CorrelationId, EncodeChunk, Malformed, Param, ParamError,
    ParamType, Params, Tlv, Tsn, UnknownChunk,
};
use smallvec::SmallVec;

use crate::path::pairing::{MAX_ADDRESSES, is_endpoint};
use crate::rare::{Rare, rare_state};

/// Number of ASCONF-ACKs cached for retransmitted ASCONFs. A peer may bundle several ASCONFs only into a
/// retransmission (§5.5).
const MAX_CACHED: usize = 8;

/// Changes of the peer's addresses in one ASCONF after which it may add no further: enough to replace all.
/// Each change costs events and work.
const MAX_CHANGES: usize = 2 * MAX_ADDRESSES;

/// Number of ASCONFs with one serial number that are discarded because they would delete their source.
const MAX_DISTRUSTED: u8 = 2;

/// A request that holds a host name in place of an address.
const HOST_NAME: Malformed = Malformed::NotAnAddress { found: ParamType::HOST_NAME };

/// A change of the paths, in the order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Adds an address of the peer, unconfirmed until verified (F14).
    AddRemote(IpAddr),
    /// Removes an address of the peer. Nothing may be sent there, and packets from there are out of the blue
    /// (F13).
    RemoveRemote(IpAddr),
    /// Sends data to this address as soon as it is confirmed, as the peer requested.
    SetPrimary(IpAddr),
}

/// Outcome of a received ASCONF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// The next one: processed, its answer is queued (E4).
    Processed(SmallVec<[Effect; 2]>),
    /// A retransmission: the cached answer is queued (E2).
    Repeated,
    /// An ASCONF that is too old to have a cached answer (E2), or out of order (E5). It is silently dropped.
    Dropped,
}

/// The context in which an ASCONF is processed.
#[derive(Clone, Copy)]
pub(crate) struct Received<'a> {
    /// Source address of the packet.
    pub source: IpAddr,
    /// True if the packet is protected, so that an observer may have delivered a copy from another source.
    pub protected: bool,
    /// The peer's current addresses.
    pub addresses: &'a [IpAddr],
    /// Returns the number of paths to an address of the peer, or those that it would have if it were added.
    /// `None`: it is an address of this host, where the peer is not, and cannot be added.
    pub paths_to: &'a dyn Fn(&IpAddr) -> Option<usize>,
    /// Largest number of paths: pairs of a local address and one of the peer's (F9).
    pub max_paths: usize,
    /// Largest ASCONF-ACK chunk in bytes (C5).
    pub max_ack: usize,
}

/// State for the peer's address requests: serial numbers and cached answers.
///
/// For each packet: [`begin_packet`](Self::begin_packet), [`handle`](Self::handle) for each ASCONF in it,
/// then send all [`answers`](Self::answers) in one packet to the *source address of the packet* (E6), as many
/// as fit (E7).
#[derive(Debug)]
pub(crate) struct AsconfIn {
    /// 'Peer-Sequence-Number': the serial number processed last.
    peer_serial: AsconfSerial,
    given: Rare<Given>,
}

/// Discarded ASCONFs with one serial number: how many, and the last record with one.
#[derive(Clone, Copy, Debug)]
struct Distrusted {
    serial: AsconfSerial,
    record: (u64, u64),
    count: u8,
}

rare_state! {
    /// The answers.
    struct Given {
        /// Cached answers with their serial numbers, which are consecutive up to `peer_serial`.
        cache: VecDeque<(AsconfSerial, Vec<u8>)> = VecDeque::new(),
        /// Serial numbers to answer after this packet.
        due: Vec<AsconfSerial> = Vec::new(),
        first_in_packet: bool = true,
        /// The discarded ASCONFs with the next serial number.
        distrusted: Option<Distrusted> = None,
    }
}

impl AsconfIn {
    /// Creates the state. `peer_initial_tsn` is the serial number of the peer's first ASCONF (§5.1 A2).
    pub(crate) fn new(peer_initial_tsn: Tsn) -> Self {
        Self { peer_serial: AsconfSerial::new(peer_initial_tsn.get()).prev(), given: Rare::default() }
    }

    /// Begins a packet. Drops unsent answers to the previous one, whose ASCONFs the peer retransmits (E7).
    pub(crate) fn begin_packet(&mut self) {
        self.given.due.clear();
        self.given.first_in_packet = true;
    }

    /// Returns whether there are answers to send.
    pub(crate) fn has_answers(&self) -> bool {
        !self.given.due.is_empty()
    }

    /// Returns the ASCONF-ACK chunks to send, in the order of their numbers (C3).
    pub(crate) fn answers(&self) -> impl Iterator<Item = UnknownChunk<'_>> {
        // The cache is in the order of the numbers, whatever the order of the ASCONFs.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
        //# If bundled with other ASCONF-ACK Chunks, the chunks MUST appear in sequential order with respect
        //# to their Sequence Number.
        let due = self.given.cache.iter().filter(|(serial, _)| self.given.due.contains(serial));
        due.filter_map(|(_, chunk)| UnknownChunk::new(chunk).ok())
    }

    /// Returns the ASCONF-ACK chunk with this serial number, if it is cached (E2).
    pub(crate) fn cached(&self, serial: AsconfSerial) -> Option<&[u8]> {
        self.given.cache.iter().find(|(cached, _)| *cached == serial).map(|(_, chunk)| &chunk[..])
    }

    /// Returns whether to discard an ASCONF in this record whose source may be forged. Later retransmissions
    /// are processed: the peer may have no other source. Any number of copies of a record counts once.
    pub(crate) fn distrust(&mut self, serial: AsconfSerial, record: (u64, u64)) -> bool {
        if serial != self.peer_serial.next() {
            return false;
        }
        let before = self.given.distrusted.filter(|distrusted| distrusted.serial == serial);
        let mut distrusted = before.unwrap_or(Distrusted { serial, record, count: 1 });
        if record > distrusted.record {
            distrusted = Distrusted { serial, record, count: distrusted.count + 1 };
        }
        let discard = distrusted.count <= MAX_DISTRUSTED;
        self.given.distrusted = discard.then_some(distrusted).or(before);
        discard
    }

    /// Handles an ASCONF that [`AuthPolicy`](crate::AuthPolicy) admits.
    pub(crate) fn handle(&mut self, asconf: &Asconf<'_>, received: &Received<'_>) -> Reception {
        let first_in_packet = core::mem::take(&mut self.given.first_in_packet);
        if asconf.serial != self.peer_serial.next() {
            // E2, E5
            if self.cached(asconf.serial).is_none() {
                return Reception::Dropped;
            }
            if !self.given.due.contains(&asconf.serial) {
                self.given.due.push(asconf.serial);
            }
            return Reception::Repeated;
        }
        // E1, E1-ext: the first one in a packet acknowledges all answers before it
        if first_in_packet {
            self.given.cache.clear();
        } else if self.given.cache.len() == MAX_CACHED {
            self.given.cache.pop_front();
        }
        let mut bytes = Vec::with_capacity(asconf.value_len());
        asconf.encode_value(&mut bytes);
        let fixed = asconf.value_len() - asconf.requests.encoded_len();
        let mut work = Work::new(received, asconf.address);
        work.process(&bytes[fixed..]);
        // E4 V5
        self.peer_serial = asconf.serial;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# MUST continue to process all of the ASCONF Chunks, saving ASCONF-ACK Chunk responses in its cached
        //# copy
        self.given.cache.push_back((asconf.serial, work.answer(asconf.serial)));
        self.given.due.push(asconf.serial);
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# MUST be acknowledged
        Reception::Processed(work.effects)
    }
}

/// A request with its response.
struct Response<'b> {
    correlation: CorrelationId,
    /// Error cause; `None` for success.
    cause: Option<[Cause<'b>; 1]>,
}

/// The processing of one ASCONF.
struct Work<'r, 'b> {
    received: &'r Received<'r>,
    /// Address Parameter of the ASCONF (§4.1.1).
    named: IpAddr,
    /// The peer's addresses after `effects`.
    addresses: SmallVec<[IpAddr; MAX_ADDRESSES]>,
    effects: SmallVec<[Effect; 2]>,
    responses: Vec<Response<'b>>,
    /// Length of the answer so far, and its limit, in bytes.
    ack_len: usize,
    max_ack: usize,
    /// True if an Add or Delete failed, so that all further ones must fail (F11).
    refusing: bool,
}

impl<'r, 'b> Work<'r, 'b> {
    fn new(received: &'r Received<'r>, named: IpAddr) -> Self {
        Self {
            received,
            named,
            addresses: SmallVec::from_slice(received.addresses),
            effects: SmallVec::new(),
            responses: Vec::new(),
            ack_len: EMPTY_ACK,
            // One failure without a quotation always fits.
            max_ack: received.max_ack.max(EMPTY_ACK + TLV + CORRELATION + TLV),
            refusing: false,
        }
    }

    /// Processes the parameters in order (V1).
    fn process(&mut self, mut parameters: &'b [u8]) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# The TLVs MUST be processed in order within the Chunk.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# the first TLV (the one closest to the Chunk Header) in the Chunk MUST be processed first
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# The next TLV in the chunk (the middle one) MUST be processed second and finally, the last TLV in
        //# the Chunk MUST be processed last.
        while !parameters.is_empty() {
            // After a framing error no further parameter can be found.
            let Ok(raw) = UnknownParam::new(parameters) else { return };
            let whole = raw.bytes();
            parameters = parameters.get(whole.len().next_multiple_of(4)..).unwrap_or_default();
            if !self.process_one(&raw, whole) {
                return;
            }
        }
    }

    /// Processes a parameter. Returns false if no further one may be processed.
    fn process_one(&mut self, raw: &UnknownParam<'b>, whole: &'b [u8]) -> bool {
        if self.ack_len + response_len(whole) > self.max_ack {
            // Its answer might not fit (C5). Unmentioned after a failure it counts as failed (A7), so it must
            // not be applied. If nothing failed yet, this is the failure.
            if self.responses.is_empty() {
                self.respond(correlation_of(whole), Some(Cause::OutOfResource));
            }
            return false;
        }
        match Param::parse(whole) {
            Ok(Param::AddIpAddress(request)) => self.add(request, whole),
            Ok(Param::DeleteIpAddress(request)) => self.delete(request, whole),
            Ok(Param::SetPrimaryAddress(request)) => self.set_primary(request, whole),
            Ok(Param::Unknown(unknown)) => {
                // V2, RFC 9260 §3.2.1
                let action = unknown.action();
                if action.report {
                    self.respond(correlation_of(whole), Some(Cause::UnrecognizedParameters(whole)));
                }
                return !action.stop;
            }
            // §4.2: where it is not allowed it is ignored
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2
            //# If the receiver chooses NOT to abort, the parameter MUST be ignored.
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.6
            //# if it is received in another chunk, it MUST be ignored
            Ok(_) => {}
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
            //# Note: The host name address MUST NOT be sent and MUST be ignored if received in any ASCONF
            //# message.
            Err(ParamError::Malformed { fault: HOST_NAME, .. }) => {}
            Err(ParamError::Malformed { .. }) if is_request(raw) => {
                // no address or one of no known kind
                self.refuse(correlation_of(whole), Cause::UnresolvableAddress(whole), raw);
            }
            Err(_) => {}
        }
        true
    }

    fn add(&mut self, request: AddressRequest, whole: &'b [u8]) {
        // §4.2.1: the wildcard means the source address
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
        //# If the address 0.0.0.0 or ::0 is provided, the source address of the packet MUST be added.
        let address = if request.address.is_unspecified() { self.received.source } else { request.address };
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
        //# Note that the receiver MUST NOT change this 32-bit value.
        let id = request.correlation_id;
        if self.refusing {
            self.refuse_address(id, Cause::ResourceShortage(whole));
        } else if !is_endpoint(&address) {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
            //# This parameter MUST NOT contain a broadcast or multicast address.
            // §4.2.1: neither broadcast nor multicast
            self.refuse_address(id, Cause::UnresolvableAddress(whole));
        } else if self.addresses.contains(&address) {
            // The address is there already.
            self.succeed(id);
        } else if (self.received.paths_to)(&address).is_none() {
            // Packets to it would reach this host. If it were added, the peer could move there and delete the
            // others (RFC 9260 §3.3.10.5).
            self.refuse_address(id, Cause::UnresolvableAddress(whole));
        } else if !self.fits(&address) {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# it MUST return an Error Cause TLV set to the new error code 'Operation Refused Due to Resource
            //# Shortage'
            // F9
            self.refuse_address(id, Cause::ResourceShortage(whole));
        } else {
            self.addresses.push(address);
            self.effects.push(Effect::AddRemote(address));
            self.succeed(id);
        }
    }

    fn delete(&mut self, request: AddressRequest, whole: &'b [u8]) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
        //# Note that the receiver MUST NOT change this 32-bit value.
        let (id, address, source) = (request.correlation_id, request.address, self.received.source);
        if self.refusing {
            self.refuse_address(id, Cause::ResourceShortage(whole));
        } else if address.is_unspecified() {
            self.delete_others(id, whole);
        } else if self.is_last(&address) {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# the receiver MUST send an Error Cause TLV with the Error Cause set to the new error code
            //# 'Request to Delete Last Remaining IP Address'
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# The requested delete MUST NOT be performed or acted upon, other than to send the ASCONF- ACK.
            // F7, which goes before F8
            self.refuse_address(id, Cause::DeleteLastAddress(whole));
        } else if address == source {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# the receiver MUST reject this request
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# the receiver MUST send an Error Cause TLV set to the new error code 'Request to Delete Source
            //# IP Address'
            // F8
            self.refuse_address(id, Cause::DeleteSourceAddress(whole));
        } else {
            // Already deleted.
            self.remove(|known| *known == address);
            self.succeed(id);
        }
    }

    /// Deletes all addresses except the source of the packet, for the wildcard (§4.2.2).
    fn delete_others(&mut self, id: CorrelationId, whole: &'b [u8]) {
        let source = self.received.source;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
        //# If the address 0.0.0.0 or ::0 is provided, all addresses of the peer except the source address of
        //# the packet MUST be deleted.
        let copied = self.received.protected && names_other(&self.named, &source, &self.addresses);
        let known = self.addresses.contains(&source) && !copied;
        if known && (self.reaches(&source) || !self.addresses.iter().any(|other| self.reaches(other))) {
            self.remove(|known| *known != source);
            self.succeed(id);
        } else {
            // F7: none would remain, or none that this end can reach, or another one than the peer wants
            self.refuse_address(id, Cause::DeleteLastAddress(whole));
        }
    }

    fn set_primary(&mut self, request: AddressRequest, whole: &'b [u8]) {
        // §4.2.4: the wildcard means the source address
        let address = if request.address.is_unspecified() { self.received.source } else { request.address };
        if self.addresses.contains(&address) {
            self.effects.push(Effect::SetPrimary(address));
            self.succeed(request.correlation_id);
        } else {
            // §5.4: not honoured
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.4
            //# Note that the receiver MUST NOT change this 32-bit value.
            self.respond(request.correlation_id, Some(Cause::UnresolvableAddress(whole)));
        }
    }

    /// Returns whether this is the peer's last address, or the last one that this end can reach (F7).
    fn is_last(&self, address: &IpAddr) -> bool {
        let mut others = self.addresses.iter().filter(|other| *other != address);
        self.addresses.contains(address)
            && (self.addresses.len() == 1
                || self.reaches(address) && !others.any(|other| self.reaches(other)))
    }

    /// Returns whether this end has a path to an address of the peer, or will have one after this ASCONF.
    fn reaches(&self, address: &IpAddr) -> bool {
        (self.received.paths_to)(address).is_some_and(|paths| paths > 0)
    }

    /// Returns whether one more address of the peer fits, and this ASCONF may change as much.
    fn fits(&self, address: &IpAddr) -> bool {
        let paths_to = self.received.paths_to;
        let paths: usize = self.addresses.iter().chain([address]).filter_map(paths_to).sum();
        self.addresses.len() < MAX_ADDRESSES
            && paths <= self.received.max_paths
            && self.effects.len() < MAX_CHANGES
    }

    fn remove(&mut self, gone: impl Fn(&IpAddr) -> bool) {
        for address in self.addresses.iter().filter(|address| gone(address)) {
            self.effects.push(Effect::RemoveRemote(*address));
        }
        self.addresses.retain(|address| !gone(address));
    }

    /// Adds a success response, only after a failure (A7): before it, no response means success (§4.2.5).
    fn succeed(&mut self, id: CorrelationId) {
        if !self.responses.is_empty() {
            self.respond(id, None);
        }
    }

    fn refuse_address(&mut self, id: CorrelationId, cause: Cause<'b>) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# an 'Out of Resource' in its response, it MUST also fail any subsequent add or delete requests
        //# bundled in the ASCONF.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# The receiver MUST NOT reject an ADD and then accept a subsequent DELETE of an IP address in the
        //# same ASCONF Chunk.
        self.refusing = true;
        self.respond(id, Some(cause));
    }

    fn refuse(&mut self, id: CorrelationId, cause: Cause<'b>, raw: &UnknownParam<'_>) {
        self.refusing |= raw.typ() != ParamType::SET_PRIMARY_ADDRESS;
        self.respond(id, Some(cause));
    }

    fn respond(&mut self, correlation: CorrelationId, cause: Option<Cause<'b>>) {
        self.ack_len += TLV + CORRELATION + cause.map_or(0, |cause| cause.encoded_len().next_multiple_of(4));
        self.responses.push(Response { correlation, cause: cause.map(|cause| [cause]) });
    }

    /// Returns the ASCONF-ACK chunk.
    fn answer(&self, serial: AsconfSerial) -> Vec<u8> {
        let responses: Vec<Param<'_>> = self.responses.iter().map(Response::parameter).collect();
        let ack = AsconfAck { serial, responses: Params::from(&responses[..]) };
        let mut chunk = Vec::with_capacity(ack.encoded_len());
        ack.encode(&mut chunk);
        chunk
    }
}

impl Response<'_> {
    fn parameter(&self) -> Param<'_> {
        match &self.cause {
            None => Param::SuccessIndication(self.correlation),
            Some(cause) => Param::ErrorCauseIndication(ErrorCauseIndication {
                //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.3
                //# Note that the receiver MUST NOT change this 32-bit value.
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
                //# All responses MUST copy the ASCONF-Request Correlation ID field received in the ASCONF
                //# parameter from the TLV being responded to
                correlation_id: self.correlation,
                causes: Causes::from(cause),
            }),
        }
    }
}

/// Returns whether an ASCONF names an address of the peer that is not the source of its packet. A protected
/// one that asks to keep only its source names that.
fn names_other(named: &IpAddr, source: &IpAddr, addresses: &[IpAddr]) -> bool {
    named != source && addresses.contains(named)
}

/// Length in bytes of an ASCONF-ACK without responses: chunk header and serial number.
const EMPTY_ACK: usize = 8;
/// Length in bytes of a parameter or cause header.
const TLV: usize = 4;
/// Bytes of a correlation id.
const CORRELATION: usize = 4;

/// Returns the length in bytes of an Error Cause Indication that quotes `whole`.
fn response_len(whole: &[u8]) -> usize {
    TLV + CORRELATION + TLV + whole.len().next_multiple_of(4)
}

fn is_request(raw: &UnknownParam<'_>) -> bool {
    let requests = [ParamType::ADD_IP_ADDRESS, ParamType::DELETE_IP_ADDRESS, ParamType::SET_PRIMARY_ADDRESS];
    requests.contains(&raw.typ())
}

/// Returns the correlation id that follows the header of every ASCONF parameter (V3); 0 if the parameter is
/// too short to have one.
fn correlation_of(whole: &[u8]) -> CorrelationId {
    CorrelationId::new(whole.get(4..8).map_or(0, |id| u32::from_be_bytes([id[0], id[1], id[2], id[3]])))
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
