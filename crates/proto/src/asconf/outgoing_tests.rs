//! RFC 5061 §5.1 and §5.3 from the requesting end.

use core::net::Ipv4Addr;

use msctp_wire::{Cause, Causes, Chunk};

use super::*;

const NOW: Time = Time::ZERO;
const P0: PathId = PathId::new(0);
const P1: PathId = PathId::new(1);
const SECOND: Span = Span::from_secs(1);
/// The last serial number, so that the next one wraps (§3).
const TSN: u32 = u32::MAX;

fn address(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
}

fn add(n: u8) -> AddressRequest {
    AddressRequest::Add(address(n))
}

fn delete(n: u8) -> AddressRequest {
    AddressRequest::Delete(address(n))
}

fn set_primary(n: u8) -> AddressRequest {
    AddressRequest::SetPrimary(address(n))
}

/// Returns a requester whose peer lists `addresses`.
fn requester(addresses: &[u8]) -> AsconfOut {
    let addresses: Vec<_> = addresses.iter().map(|n| address(*n)).collect();
    AsconfOut::new(Tsn::new(TSN), &addresses, true)
}

fn events(out: &mut AsconfOut) -> Vec<AsconfEvent> {
    core::iter::from_fn(|| out.poll_event()).collect()
}

fn done(request: AddressRequest) -> AsconfEvent {
    AsconfEvent::Done(request)
}

fn rejected(request: AddressRequest, why: Rejection) -> AsconfEvent {
    AsconfEvent::Rejected { request, why }
}

/// Prepares and sends on `path`. Returns the chunk and drops the events.
fn send(out: &mut AsconfOut, path: PathId, now: Time) -> Option<Vec<u8>> {
    send_from(out, path, address(1), now)
}

/// Prepares and sends on `path` from this address. Returns the chunk and drops the events.
fn send_from(out: &mut AsconfOut, path: PathId, own: IpAddr, now: Time) -> Option<Vec<u8>> {
    out.prepare(|_| true);
    events(out);
    let chunk = out.transmit(path, own, now, SECOND)?;
    let mut bytes = Vec::new();
    chunk.encode(&mut bytes);
    Some(bytes)
}

/// Returns serial number, look-up address and requests of an ASCONF.
fn read(bytes: &[u8]) -> (u32, IpAddr, Vec<Param<'_>>) {
    let Ok(Chunk::Asconf(asconf)) = Chunk::parse(bytes) else { panic!("not an ASCONF: {bytes:?}") };
    (asconf.serial.get(), asconf.address, asconf.requests.iter().map(Result::unwrap).collect())
}

fn success(serial: u32) -> AsconfAck<'static> {
    AsconfAck { serial: AsconfSerial::new(serial), responses: Params::EMPTY }
}

/// Acknowledges `serial` with these answers by correlation id.
fn answer(out: &mut AsconfOut, serial: u32, answers: &[(u32, Option<Cause<'_>>)]) -> Ack {
    let causes: Vec<(CorrelationId, Option<[Cause<'_>; 1]>)> =
        answers.iter().map(|(id, cause)| (CorrelationId::new(*id), cause.map(|cause| [cause]))).collect();
    let responses: Vec<Param<'_>> = causes
        .iter()
        .map(|(correlation_id, cause)| match cause {
            None => Param::SuccessIndication(*correlation_id),
            Some(cause) => Param::ErrorCauseIndication(ErrorCauseIndication {
                correlation_id: *correlation_id,
                causes: Causes::from(cause),
            }),
        })
        .collect();
    out.on_ack(&AsconfAck { serial: AsconfSerial::new(serial), responses: Params::from(&responses[..]) })
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# it MUST do the following:
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The chunk MUST contain all of the TLV(s) of information necessary to be sent to the remote endpoint, and
//# unique correlation identities for each request.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# A Sequence Number MUST be assigned to the Chunk.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The Sequence Number MUST be initialized at the start of the association to the same value as the Initial
//# Transmission Sequence Number (TSN)
#[test]
fn an_asconf_is_built_as_section_4_1_1_says_and_numbered_from_the_initial_tsn() {
    // A1, A2, §3: after 2^32 − 1 comes 0
    let mut out = requester(&[1]);
    out.request(add(2)).unwrap();
    let bytes = send(&mut out, P0, NOW).unwrap();
    let request = Parameter { correlation_id: CorrelationId::new(1), address: address(2) };
    assert_eq!(read(&bytes), (TSN, address(1), vec![Param::AddIpAddress(request)]));
    assert_eq!(out.on_ack(&success(TSN)), Ack::Accepted { path: Some(P0) });
    out.request(set_primary(2)).unwrap();
    let bytes = send(&mut out, P0, NOW).unwrap();
    let request = Parameter { correlation_id: CorrelationId::new(2), address: address(2) };
    assert_eq!(read(&bytes), (0, address(1), vec![Param::SetPrimaryAddress(request)]));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The Sequence Number MUST be larger by one.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# it MUST be incremented by one after assigning the Sequence Number to the newly created chunk
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# transfers MUST NOT cause congestion within the network
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# it MUST wait until the ASCONF-ACK Chunk returns from the previous ASCONF Chunk before sending a subsequent
//# ASCONF
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# If bundled with other ASCONF Chunks, the chunks MUST appear in sequential order with respect to their
//# Sequence Number.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
//= type=test
//# the following rules MUST be followed
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
//= type=test
//# Each SCTP packet containing ASCONF Chunks MUST be bundled starting with the smallest ASCONF Sequence
//# Number first in the packet
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
//= type=test
//# All ASCONFs within the packet MUST be adjacent to each other
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
//= type=test
//# Each new ASCONF lookup address MUST be populated as if the previous ASCONFs had been processed and
//# accepted.
#[test]
fn one_asconf_is_outstanding_and_the_others_wait_in_order() {
    // A3, C1
    let mut out = requester(&[1]);
    for request in [add(2), set_primary(2), delete(1)] {
        out.request(request).unwrap();
    }
    assert_eq!(out.len(), 3);
    for (serial, request) in [(TSN, add(2)), (0, set_primary(2)), (1, delete(1))] {
        out.prepare(|_| true);
        assert_eq!(events(&mut out), [AsconfEvent::Started(request)]);
        assert!(out.transmit(P0, address(1), NOW, SECOND).is_some());
        out.prepare(|_| true);
        assert!(out.transmit(P0, address(1), NOW, SECOND).is_none(), "nothing while it is outstanding");
        assert_eq!(events(&mut out), []);
        assert_eq!(out.on_ack(&success(serial)), Ack::Accepted { path: Some(P0) });
        assert_eq!(events(&mut out), [done(request)], "A8: silence is success");
    }
    assert_eq!(out.addresses(), [address(2)]);
    assert_eq!(out.len(), 0);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The sender MUST Start a T-4 Retransmission Timeout (RTO) timer
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# If the T-4 RTO timer expires the endpoint MUST do the following:
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# An endpoint MUST NOT add new parameters to this chunk; it MUST be the same (including its Sequence Number)
//# as the last ASCONF sent.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.5
//= type=test
//# Previously transmitted ASCONF Chunks MUST be left unchanged.
#[test]
fn t4_rto_repeats_the_same_chunk_on_another_path() {
    // A4, B4, B5
    let mut out = requester(&[1]);
    out.request(add(2)).unwrap();
    let first = send(&mut out, P0, NOW).unwrap();
    assert_eq!(out.next_timeout(), Some(NOW + SECOND));
    assert_eq!(out.handle_timeout(NOW), None);
    assert!(!out.is_pending());
    assert_eq!(
        out.handle_timeout(NOW + SECOND),
        Some(P0),
        "whose errors count (B1) and whose RTO doubles (B3)"
    );
    assert_eq!((out.is_pending(), out.last_path(), out.next_timeout()), (true, Some(P0), None));
    out.request(set_primary(2)).unwrap();
    let again = send(&mut out, P1, NOW + SECOND).unwrap();
    assert_eq!(again, first, "nothing is added to it");
    assert_eq!(out.next_timeout(), Some(NOW + SECOND * 2));
    assert_eq!(out.on_ack(&success(TSN)), Ack::Accepted { path: Some(P1) });
    assert_eq!(out.next_timeout(), None, "A5");
}

#[test]
fn a_link_that_comes_up_can_trigger_the_retransmission() {
    let mut out = requester(&[1]);
    out.retransmit_now();
    assert!(!out.is_pending());
    out.request(add(2)).unwrap();
    let first = send(&mut out, P0, NOW).unwrap();
    out.retransmit_now();
    assert_eq!(out.next_timeout(), None);
    assert_eq!(send(&mut out, P0, NOW), Some(first));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The chunk MUST contain all of the TLV(s) of information necessary to be sent to the remote endpoint, and
//# unique correlation identities for each request.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# The endpoint MUST process all of the TLVs within the ASCONF- ACK(s) to find out particular status
//# information returned to the various requests that were sent.
#[test]
fn answers_are_found_by_their_correlation_ids() {
    // A6, A7
    let requests = [add(2), add(3), delete(1), set_primary(2)];
    let outcome = |answers: &[(u32, Option<Cause<'_>>)]| {
        let mut out = requester(&[1]);
        out.request_together(&requests).unwrap();
        send(&mut out, P0, NOW).unwrap();
        assert_eq!(answer(&mut out, TSN, answers), Ack::Accepted { path: Some(P0) });
        (events(&mut out), out.addresses().to_vec())
    };
    let shortage = Some(Cause::ResourceShortage(&[]));
    let refused = Rejection::Cause(CauseCode::RESOURCE_SHORTAGE);
    let follows = Rejection::FollowsFailure;
    // before the failure success, after it failure
    assert_eq!(
        outcome(&[(2, shortage)]),
        (
            vec![
                done(add(2)),
                rejected(add(3), refused),
                rejected(delete(1), follows),
                rejected(set_primary(2), follows)
            ],
            vec![address(1), address(2)]
        )
    );
    // unless a success is given
    assert_eq!(
        outcome(&[(2, shortage), (3, None), (99, shortage)]),
        (
            vec![done(add(2)), rejected(add(3), refused), done(delete(1)), rejected(set_primary(2), follows)],
            vec![address(2)]
        )
    );
}

#[test]
fn an_answer_that_cannot_be_read_is_no_success() {
    let mut out = requester(&[1]);
    out.request(add(2)).unwrap();
    send(&mut out, P0, NOW).unwrap();
    // an Error Cause Indication too short for a correlation id
    let ack = [0x80, 0, 0, 12, 0xff, 0xff, 0xff, 0xff, 0xc0, 3, 0, 4];
    let Ok(Chunk::AsconfAck(ack)) = Chunk::parse(&ack) else { panic!("not an ASCONF-ACK") };
    assert_eq!(out.on_ack(&ack), Ack::Accepted { path: Some(P0) });
    assert_eq!(events(&mut out), [rejected(add(2), Rejection::FollowsFailure)]);
}

#[test]
fn an_old_answer_is_ignored_and_one_to_nothing_is_illegal() {
    // F0, §4.3.4
    let mut out = requester(&[1]);
    assert_eq!(out.on_ack(&success(TSN)), Ack::Illegal, "never asked");
    out.request(add(2)).unwrap();
    out.prepare(|_| true);
    assert_eq!(out.on_ack(&success(TSN)), Ack::Illegal, "made but not sent");
    send(&mut out, P0, NOW).unwrap();
    assert_eq!(out.on_ack(&success(0)), Ack::Illegal, "the one after it");
    assert_eq!(out.on_ack(&success(TSN - 1)), Ack::Old);
    assert_eq!(out.on_ack(&success(TSN)), Ack::Accepted { path: Some(P0) });
    assert_eq!(out.on_ack(&success(TSN)), Ack::Old, "twice");
    assert_eq!(out.on_ack(&success(0)), Ack::Illegal);
    assert_eq!(out.on_ack(&success(TSN.wrapping_add(1 << 31))), Ack::Illegal, "2^31 − 1 after the next one");
    assert_eq!(out.on_ack(&success(1 << 31)), Ack::Old, "half the space before or after: not larger");
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# it MUST not send any further ASCONF chunks
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# the sender of the ASCONF MUST NOT send any further ASCONF Chunks and MUST stop its T-4 timer
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# the sender MUST NOT send subsequent ASCONF Chunks to the peer
#[test]
fn a_peer_without_asconf_gets_no_further_requests() {
    // A9, §5.1.1
    let mut out = requester(&[1]);
    out.request(add(2)).unwrap();
    out.request(set_primary(2)).unwrap();
    send(&mut out, P0, NOW).unwrap();
    out.on_unrecognized();
    let unsupported = Rejection::Unsupported;
    assert_eq!(
        events(&mut out),
        [rejected(add(2), unsupported), rejected(set_primary(2), unsupported), AsconfEvent::Unsupported]
    );
    assert_eq!((out.next_timeout(), out.len() == 0), (None, true));
    assert_eq!(out.request(add(3)), Err(CallError::PeerLacksAsconf));
    out.on_unrecognized();
    assert_eq!(events(&mut out), [], "told once");
    let mut never = AsconfOut::new(Tsn::new(1), &[address(1)], false);
    assert_eq!(never.request(set_primary(1)), Err(CallError::PeerLacksAsconf));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# IP address Add or IP address Deletion parameters was not understood, the endpoint MUST consider the
//# operation failed and MUST NOT attempt to send any subsequent Add or Delete requests to the peer.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# IP address Set Primary IP Address parameter was not understood, the endpoint MUST consider the operation
//# failed and MUST NOT attempt to send any subsequent Set Primary IP Address requests to the peer.
#[test]
fn requests_the_peer_does_not_understand_are_not_repeated() {
    // F3a, F3b
    let unknown = Cause::UnrecognizedParameters(&[]);
    let why = Rejection::Cause(CauseCode::UNRECOGNIZED_PARAMETERS);
    let mut out = requester(&[1]);
    for request in [set_primary(1), add(2), set_primary(1)] {
        out.request(request).unwrap();
    }
    send(&mut out, P0, NOW).unwrap();
    answer(&mut out, TSN, &[(1, Some(unknown))]);
    assert_eq!(
        events(&mut out),
        [rejected(set_primary(1), why), rejected(set_primary(1), Rejection::Unsupported)]
    );
    assert_eq!(out.request(set_primary(1)), Err(CallError::PeerLacksAsconf));
    send(&mut out, P0, NOW).unwrap();
    answer(&mut out, 0, &[(2, Some(unknown))]);
    assert_eq!(events(&mut out), [rejected(add(2), why)]);
    assert_eq!(out.request(add(3)), Err(CallError::PeerLacksAsconf));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the following rules MUST be applied
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# An endpoint MUST NOT delete its last remaining IP address from an association.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# it MUST NOT use the delete IP address without an Add IP Address preceding the delete parameter in the
//# ASCONF Chunk
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# it MUST NOT delete all of the IP addresses that the peer has listed for the requester
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.4
//= type=test
//# A sender MUST only send a set primary request to an address that is already considered part of the
//# association.
#[test]
fn impossible_requests_are_rejected_at_once() {
    // F5, §5.4
    let mut out = requester(&[1]);
    assert_eq!(out.request(delete(1)), Err(CallError::LastAddress(address(1))));
    assert_eq!(out.request(add(1)), Err(CallError::AddressExists(address(1))));
    assert_eq!(out.request(delete(9)), Err(CallError::UnknownAddress(address(9))));
    assert_eq!(out.request(set_primary(9)), Err(CallError::UnknownAddress(address(9))));
    assert_eq!(
        out.request_together(&[set_primary(2), add(2)]),
        Err(CallError::UnknownAddress(address(2))),
        "order"
    );
    assert_eq!(out.request_together(&[add(2), delete(2)]), Err(CallError::UnknownAddress(address(2))));
    assert_eq!(out.len(), 0, "nothing was queued");
    assert_eq!(out.request_together(&[add(2), set_primary(2), delete(1)]), Ok(()));
    assert_eq!(out.request(delete(2)), Err(CallError::LastAddress(address(2))), "the last one by then");
    assert_eq!(out.request_together(&[set_primary(2); MAX_BUNDLED + 1]), Err(CallError::TooManyRequests(3)));
    for _ in 3..MAX_WAITING {
        out.request(set_primary(2)).unwrap();
    }
    assert_eq!(out.request(set_primary(2)), Err(CallError::TooManyRequests(MAX_WAITING)));
}

#[test]
fn requests_made_impossible_by_an_earlier_failure_are_not_sent() {
    // F5, F10, §5.4
    let mut out = requester(&[1]);
    for request in [add(2), set_primary(2), delete(1)] {
        out.request(request).unwrap();
    }
    send(&mut out, P0, NOW).unwrap();
    answer(&mut out, TSN, &[(1, Some(Cause::ResourceShortage(&[])))]);
    events(&mut out);
    out.prepare(|_| true);
    let overtaken = Rejection::Overtaken;
    assert_eq!(events(&mut out), [rejected(set_primary(2), overtaken), rejected(delete(1), overtaken)]);
    assert!(out.len() == 0 && !out.is_pending());
    assert_eq!(out.addresses(), [address(1)]);
}

#[test]
fn a_deletion_that_was_not_sent_can_be_given_up() {
    let mut out = requester(&[1, 2]);
    for request in [set_primary(1), delete(2)] {
        out.request(request).unwrap();
    }
    assert!(send(&mut out, P0, NOW).is_some());
    out.withdraw_deletion(address(2));
    assert_eq!(events(&mut out), [rejected(delete(2), Rejection::Overtaken)]);
    // One that was sent is completed only by its answer (RFC 5061 §5.1 A3).
    assert_eq!(out.on_ack(&success(TSN)), Ack::Accepted { path: Some(P0) });
    assert_eq!(events(&mut out), [done(set_primary(1))]);
    out.request(delete(2)).unwrap();
    assert!(send(&mut out, P0, NOW).is_some());
    out.withdraw_deletion(address(2));
    assert_eq!(out.on_ack(&success(0)), Ack::Accepted { path: Some(P0) });
    assert_eq!(events(&mut out), [done(delete(2))]);
    assert_eq!(out.addresses(), [address(1)]);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# the address MUST be considered part of the association by the peer endpoint
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
//= type=test
//# For this reason, the sender MUST fill in the Address Parameter field with an address that is part of the
//# association (in this case, the one being deleted).
#[test]
fn the_look_up_address_stays_if_any_does() {
    // §4.1.1, §5.3.2
    let lookup = |addresses: &[u8], requests: &[AddressRequest]| {
        let mut out = requester(addresses);
        out.request_together(requests).unwrap();
        read(&send(&mut out, P0, NOW).unwrap()).1
    };
    assert_eq!(lookup(&[1, 2], &[delete(1)]), address(2));
    assert_eq!(lookup(&[1], &[add(2), delete(1)]), address(1), "never one that the peer does not know yet");
}

#[test]
fn eight_requests_fit_the_least_pmtu() {
    // C5
    let v6 = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
    let mut out = AsconfOut::new(Tsn::new(1), &[v6(0)], true);
    let requests: Vec<_> = (1..=MAX_BUNDLED as u16).map(|n| AddressRequest::Add(v6(n))).collect();
    out.request_together(&requests).unwrap();
    let chunk = send(&mut out, P0, NOW).unwrap();
    assert!(chunk.len() + 40 + 12 <= crate::path::MIN_PMTU as usize, "{}", chunk.len());
}

#[test]
fn an_address_that_alone_reaches_the_peer_stays_when_the_one_to_replace_it_was_refused() {
    // F5
    let mut out = requester(&[1, 9]);
    let reaches = |address: &IpAddr| *address != self::address(9);
    out.request(add(2)).unwrap();
    out.request(delete(1)).unwrap();
    out.prepare(reaches);
    events(&mut out);
    assert!(out.transmit(P0, address(1), NOW, SECOND).is_some());
    answer(&mut out, TSN, &[(1, Some(Cause::ResourceShortage(&[])))]);
    events(&mut out);
    out.prepare(reaches);
    assert_eq!(events(&mut out), [rejected(delete(1), Rejection::Overtaken)]);
}

#[test]
fn a_restart_ends_all_requests_with_an_answer() {
    let mut out = requester(&[1]);
    for request in [add(2), set_primary(2), delete(1)] {
        out.request(request).unwrap();
    }
    send(&mut out, P0, NOW).unwrap();
    assert_eq!(out.planned(), [address(2)]);
    out.give_up();
    let why = Rejection::Restarted;
    assert_eq!(events(&mut out), [add(2), set_primary(2), delete(1)].map(|request| rejected(request, why)));
    assert!(out.len() == 0 && out.next_timeout().is_none());
}

/// A request that must leave from an unreachable address does not block other requests.
#[test]
fn a_wildcard_that_cannot_leave_holds_nothing_up() {
    let nowhere = |own: &IpAddr| *own != address(3);
    let mut out = requester(&[1]);
    out.set_translated(address(3), true);
    out.request(add(3)).unwrap();
    out.request(add(2)).unwrap();
    out.prepare(nowhere);
    let overtaken = rejected(add(3), Rejection::Overtaken);
    assert_eq!(events(&mut out), [overtaken, AsconfEvent::Started(add(2))]);
    // The peer gives up what it reached, before it left.
    let mut out = requester(&[1]);
    out.set_translated(address(3), true);
    out.request(add(3)).unwrap();
    out.prepare(|_| true);
    out.request(add(2)).unwrap();
    out.prepare(nowhere);
    assert_eq!(events(&mut out), [AsconfEvent::Started(add(3)), overtaken, AsconfEvent::Started(add(2))]);
    assert_eq!(read(&send(&mut out, P0, NOW).unwrap()).0, TSN, "its number is free");
}

/// A request whose network failed before the answer does not block other requests until that network returns.
#[test]
fn a_wildcard_request_of_a_dead_network_moves_and_does_not_block_others() {
    let asked_from_3 = || {
        let mut out = requester(&[1]);
        out.set_translated(address(3), true);
        out.request_together(&[add(3), set_primary(3)]).unwrap();
        out.request(add(2)).unwrap();
        let first = send_from(&mut out, P1, address(3), NOW).unwrap();
        assert_eq!(out.required_source(), Some(address(3)));
        assert!(out.may_leave_elsewhere());
        out.handle_timeout(NOW + SECOND);
        (out, first)
    };
    // B4: the same chunk. What was done there, or here, is not to be known.
    let (mut out, first) = asked_from_3();
    assert_eq!(send(&mut out, P0, NOW + SECOND).unwrap(), first);
    assert_eq!(out.on_ack(&success(TSN)), Ack::Accepted { path: Some(P0) });
    let uncertain = [add(3), set_primary(3)].map(|request| rejected(request, Rejection::Uncertain));
    assert_eq!(events(&mut out), uncertain);
    assert_eq!(out.addresses(), [address(1)]);
    let next = send(&mut out, P0, NOW + SECOND).unwrap();
    let (serial, _, requests) = read(&next);
    let waited = Parameter { correlation_id: CorrelationId::new(3), address: address(2) };
    assert_eq!((serial, requests), (0, vec![Param::AddIpAddress(waited)]));
    // A refusal is definite whichever end processed the request.
    let (mut out, _) = asked_from_3();
    send(&mut out, P0, NOW + SECOND).unwrap();
    answer(&mut out, TSN, &[(1, Some(Cause::ResourceShortage(&[]))), (2, None)]);
    let why = Rejection::Cause(CauseCode::RESOURCE_SHORTAGE);
    assert_eq!(events(&mut out), [rejected(add(3), why), rejected(set_primary(3), Rejection::Uncertain)]);
    // Retransmitted from its own source, the request gets a definite answer.
    let (mut out, _) = asked_from_3();
    send_from(&mut out, P1, address(3), NOW + SECOND).unwrap();
    out.on_ack(&success(TSN));
    assert_eq!(events(&mut out), [done(add(3)), done(set_primary(3))]);
    // While no other request is queued it waits for its network.
    let mut out = requester(&[1]);
    out.set_translated(address(3), true);
    out.request(add(3)).unwrap();
    send_from(&mut out, P1, address(3), NOW).unwrap();
    assert!(!out.may_leave_elsewhere());
}

#[test]
fn a_wildcard_request_that_could_delete_others_leaves_from_its_own_address_only() {
    for requests in [&[AddressRequest::KeepOnly(address(3))][..], &[add(4), delete(1)]] {
        let mut out = requester(&[1, 3]);
        out.set_translated(address(4), true);
        out.request_together(requests).unwrap();
        send_from(&mut out, P1, address(3), NOW).unwrap();
        out.request(add(5)).unwrap();
        assert!(out.required_source().is_some() && !out.may_leave_elsewhere(), "{requests:?}");
    }
}
