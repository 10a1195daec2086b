//! Authentication of chunks (RFC 4895) between two endpoints: set-up, restart and collision, the chunks that
//! each end demands, key changes.

use crate::support;

use msctp_proto::{
    AddressRequest, AuthConfig, AuthEvent, AuthPolicy, CallError, Config, Event, HmacAlgorithm, KeyError,
    LossReason, SharedKey,
};
use msctp_units::Span;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk};

const AUTH: u8 = 0x0f;

fn with(auth: AuthConfig) -> Config {
    Config { auth, trace: true, ..Config::default() }
}

fn keyed(id: u16, secret: &str) -> AuthConfig {
    AuthConfig { keys: vec![key(id, secret)], ..AuthConfig::default() }
}

fn key(id: u16, secret: &str) -> SharedKey {
    SharedKey { id, secret: secret.as_bytes().to_vec() }
}

fn demanding(chunks: &[u8], auth: AuthConfig) -> AuthConfig {
    AuthConfig { chunks: chunks.to_vec(), ..auth }
}

/// Returns a pair with a log whose A has started the association; nothing is delivered yet.
fn begun(a: AuthConfig, b: AuthConfig) -> Pair {
    let mut pair = Pair::new(with(b), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(with(a), vec![a_ip(0)], vec![b_ip(0)]);
    pair
}

fn up(a: AuthConfig, b: AuthConfig) -> Pair {
    let mut pair = begun(a, b);
    pair.run_for(Span::from_secs(5));
    pair
}

/// Makes A add an address and move to it; returns true if B agreed.
fn moves(pair: &mut Pair) -> bool {
    if pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).is_err() {
        return false;
    }
    pair.run_for(Span::from_secs(5));
    let added = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
    pair.a.saw(|event| *event == added)
}

fn sent_with(pair: &Pair, typ: u8) -> Vec<Flight> {
    pair.log.as_ref().unwrap().iter().filter(|flight| flight.has(typ)).cloned().collect()
}

#[test]
fn address_changes_are_signed_and_other_chunks_are_not() {
    let mut pair = up(AuthConfig::default(), AuthConfig::default());
    for side in [Side::A, Side::B] {
        assert!(pair.with(side, |end, _| end.agreed().is_some_and(|agreed| agreed.authentication)));
    }
    assert!(moves(&mut pair));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
    let log = pair.log.as_ref().unwrap();
    for flight in log {
        let chunks = flight.chunks();
        let signed = chunks.contains(&chunk::ASCONF) || chunks.contains(&chunk::ASCONF_ACK);
        assert_eq!(chunks.contains(&AUTH), signed, "{chunks:?}");
        assert!(!signed || chunks[0] == AUTH, "{chunks:?}");
    }
    for side in [Side::A, Side::B] {
        assert_eq!(pair.with(side, |end, _| end.stats().unauthenticated_chunks), 0);
        assert!(!pair.host(side).saw(|event| matches!(event, Event::Authentication(_))));
    }
}

#[test]
fn either_algorithm_works_in_any_order_of_preference() {
    let sha1 = || AuthConfig { algorithms: vec![HmacAlgorithm::Sha1], ..AuthConfig::default() };
    let reversed = || AuthConfig {
        algorithms: vec![HmacAlgorithm::Sha1, HmacAlgorithm::Sha256],
        ..AuthConfig::default()
    };
    for (a, b) in [(sha1(), AuthConfig::default()), (AuthConfig::default(), sha1()), (reversed(), sha1())] {
        assert!(moves(&mut up(a, b)));
    }
    for (secret, agree) in [("secret", true), ("another", false)] {
        assert_eq!(moves(&mut up(keyed(5, "secret"), keyed(5, secret))), agree);
    }
}

#[test]
fn both_ends_have_the_same_keys_after_losses_a_collision_and_a_restart() {
    for lost in [chunk::INIT, chunk::INIT_ACK, chunk::COOKIE_ECHO, chunk::COOKIE_ACK] {
        let mut pair = begun(keyed(1, "k"), keyed(1, "k"));
        pair.filter = {
            let mut left = 1;
            Box::new(move |flight| {
                let hit = left > 0 && flight.has(lost);
                left -= usize::from(hit);
                if hit { Fate::Drop } else { Fate::Twice(Span::from_millis(300)) }
            })
        };
        pair.run_for(Span::from_secs(10));
        assert!(moves(&mut pair), "{lost}");
    }
    let mut pair = up(keyed(1, "k"), keyed(1, "k"));
    assert!(moves(&mut pair));
    // A restarts with an address that B still has.
    let config = with(keyed(1, "k"));
    let mut fresh = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [77; 32]).unwrap();
    core::mem::swap(&mut pair.a.endpoint, &mut fresh);
    pair.a.events.clear();
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    assert!(pair.b.saw(|event| *event == Event::Restarted));
    pair.with(Side::B, |b, now| b.add_local_address(now, b_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let added = Event::AddressChange { request: AddressRequest::Add(b_ip(1)), accepted: true };
    assert!(pair.b.saw(|event| *event == added));
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# the receiver MUST authenticate the chunks in the packet by using the RANDOM parameters, CHUNKS parameters
//# and HMAC_ALGO parameters obtained from the COOKIE-ECHO chunk
#[test]
fn a_server_can_accept_only_peers_that_have_its_key() {
    // §6.3, last but one paragraph.
    let server = || demanding(&[chunk::COOKIE_ECHO], keyed(1, "key"));
    let mut pair = up(keyed(1, "key"), server());
    let echo = &sent_with(&pair, chunk::COOKIE_ECHO)[0];
    assert_eq!(echo.chunks()[..2], [AUTH, chunk::COOKIE_ECHO]);
    assert!(moves(&mut pair));
    for stranger in [keyed(1, "other"), keyed(2, "key"), AuthConfig::default(), AuthConfig::without()] {
        let mut pair = up(stranger, server());
        assert_eq!(pair.b.state(), None);
        assert_eq!(pair.b.endpoint.len(), 0, "no association was created");
        pair.run_for(Span::from_secs(900));
        assert!(matches!(pair.a.events.last(), Some(Event::Lost(_))), "{:?}", pair.a.events);
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
//= type=test
//# Endpoints MUST send all requested chunks that have been authenticated where this has been requested by the
//# peer.
#[test]
fn data_is_signed_for_a_peer_that_demands_it_and_packets_stay_within_the_pmtu() {
    for list in [&[chunk::DATA][..], &[chunk::SACK], &[chunk::HEARTBEAT, chunk::ABORT]] {
        let mut pair = up(AuthConfig::default(), demanding(list, AuthConfig::default()));
        pair.transfer(Side::A, 300, 3000, Span::from_secs(60));
        pair.transfer(Side::B, 300, 3000, Span::from_secs(60));
        pair.with(Side::A, |a, now| {
            let path = a.paths().next().unwrap().id;
            a.request_heartbeat(now, path)
        })
        .unwrap();
        pair.run_for(Span::from_secs(1));
        let log = pair.log.as_ref().unwrap();
        for flight in log.iter().filter(|flight| flight.from == Side::A) {
            let chunks = flight.chunks();
            let needs = chunks.iter().position(|typ| list.contains(typ));
            let auth = chunks.iter().position(|typ| *typ == AUTH);
            assert!(needs.is_none() || auth < needs && auth.is_some(), "{chunks:?}");
        }
        assert!(log.iter().all(|flight| flight.bytes.len() + 20 <= 1500));
        let full = log.iter().filter(|flight| flight.bytes.len() > 1440 && flight.has(chunk::DATA)).count();
        assert!(full > 100, "and packets are full: {full}");
        assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 0);
        pair.with(Side::A, |a, now| a.abort(now, &msctp_proto::AbortReason::default()));
        pair.run_for(Span::from_secs(1));
        assert!(pair.b.saw(|event| matches!(event, Event::Lost(LossReason::PeerAborted { .. }))));
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
//= type=test
//# If endpoint pair shared keys are used, one of them MUST be selected for authentication.
#[test]
fn keys_are_switched_during_a_transfer() {
    // RFC 6458.
    let mut pair = up(keyed(1, "one"), keyed(1, "one"));
    assert!(moves(&mut pair));
    for side in [Side::A, Side::B] {
        pair.with(side, |end, _| end.set_auth_key(key(2, "two"))).unwrap();
    }
    pair.with(Side::A, |a, _| a.activate_auth_key(2)).unwrap();
    let delete = AddressRequest::Delete(a_ip(1));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(1))).unwrap();
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    assert!(pair.a.saw(|event| *event == Event::AddressChange { request: delete, accepted: true }));
    assert!(pair.b.saw(|event| *event == Event::Authentication(AuthEvent::NewKey { key: 2 })));
    pair.with(Side::B, |b, _| {
        assert_eq!(b.delete_auth_key(1), Err(CallError::Key(KeyError::Active(1))));
        b.activate_auth_key(2).unwrap();
        b.deactivate_auth_key(1).unwrap();
    });
    // Packets that B signed with the old key are still in flight.
    pair.run_for(Span::from_secs(1));
    assert!(pair.b.saw(|event| *event == Event::Authentication(AuthEvent::FreeKey { key: 1 })));
    for side in [Side::A, Side::B] {
        pair.with(side, |end, _| end.delete_auth_key(1)).unwrap();
    }
    pair.with(Side::B, |b, now| b.add_local_address(now, b_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let added = Event::AddressChange { request: AddressRequest::Add(b_ip(1)), accepted: true };
    assert!(pair.b.saw(|event| *event == added));
    assert_eq!(pair.with(Side::A, |a, _| a.stats().unauthenticated_chunks), 0);
}

#[test]
fn a_key_missing_at_one_end_is_recovered_by_the_retransmission() {
    let mut pair = up(keyed(1, "one"), keyed(1, "one"));
    pair.with(Side::A, |a, now| {
        a.set_auth_key(key(2, "two")).unwrap();
        a.activate_auth_key(2).unwrap();
        a.add_local_address(now, a_ip(1)).unwrap();
    });
    pair.run_for(Span::from_millis(500));
    assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 1);
    pair.with(Side::B, |b, _| b.set_auth_key(key(2, "two"))).unwrap();
    pair.run_for(Span::from_secs(5));
    let added = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
    assert!(pair.a.saw(|event| *event == added));
}

#[test]
fn a_peer_without_auth_is_reported_and_changes_nothing() {
    let plain = || AuthConfig { policy: AuthPolicy::Off, ..AuthConfig::default() };
    for (a, b, teller) in
        [(AuthConfig::default(), plain(), Side::A), (plain(), AuthConfig::default(), Side::B)]
    {
        let mut pair = up(a, b);
        let refused = pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1)));
        assert_eq!(refused, Err(CallError::PeerLacksAsconf));
        let told = |event: &Event| *event == Event::Authentication(AuthEvent::NotSpoken);
        assert!(pair.host(teller).saw(told) && !pair.host(teller.other()).saw(told));
        pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
        pair.transfer(Side::B, 50, 1000, Span::from_secs(10));
    }
    // If neither end has AUTH, addresses change as before RFC 4895.
    let mut pair = up(AuthConfig::without(), AuthConfig::without());
    assert!(moves(&mut pair));
    assert!(sent_with(&pair, AUTH).is_empty());
    // An end that does not require AUTH uses it if the peer does.
    let lenient = || AuthConfig { policy: AuthPolicy::NotRequired, ..AuthConfig::default() };
    let mut pair = up(lenient(), AuthConfig::default());
    assert!(moves(&mut pair));
    assert!(!sent_with(&pair, AUTH).is_empty());
}

#[test]
fn a_peer_with_asconf_but_without_auth_gets_no_association() {
    // RFC 5061 §6.
    let pair = up(AuthConfig::without(), AuthConfig::default());
    assert_eq!((pair.b.state(), pair.a.state()), (None, None));
    assert!(matches!(
        pair.a.events.last(),
        Some(Event::Lost(LossReason::PeerAborted { cause: Some(13), .. }))
    ));
    let pair = up(AuthConfig::default(), AuthConfig::without());
    assert_eq!((pair.b.state(), pair.a.state()), (None, None));
    let lost = pair.a.events.last();
    assert!(matches!(lost, Some(Event::Lost(LossReason::ProtocolViolation { cause: 13, .. }))));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
//= type=test
//# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
#[test]
fn asconf_and_its_answer_are_signed_for_a_peer_that_does_not_demand_it() {
    let lenient = || AuthConfig { policy: AuthPolicy::NotRequired, ..AuthConfig::default() };
    let mut pair = up(lenient(), lenient());
    assert!(moves(&mut pair));
    for typ in [chunk::ASCONF, chunk::ASCONF_ACK] {
        let sent = sent_with(&pair, typ);
        assert!(!sent.is_empty() && sent.iter().all(|flight| flight.chunks()[0] == AUTH), "{typ}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# If the authentication is successful, the COOKIE-ECHO and all the chunks after the COOKIE-ECHO MUST be
//# processed.
#[test]
fn data_behind_an_authenticated_cookie_echo_is_accepted() {
    let server = || demanding(&[chunk::COOKIE_ECHO], keyed(1, "key"));
    let mut pair = begun(keyed(1, "key"), server());
    pair.send(Side::A, support::text_message("early"));
    pair.drop_if({
        let mut echoed = false;
        move |flight| {
            let later = echoed && flight.from == Side::A;
            echoed |= flight.has(chunk::COOKIE_ECHO);
            later
        }
    });
    pair.run_for(Span::from_millis(100));
    let echo = &sent_with(&pair, chunk::COOKIE_ECHO)[0];
    assert_eq!(echo.chunks(), [AUTH, chunk::COOKIE_ECHO, chunk::DATA]);
    assert_eq!(pair.b.received.len(), 1, "from the single packet received");
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# the cookie contained in an INIT-ACK chunk and in a COOKIE-ECHO chunk MUST NOT contain any endpoint pair
//# shared keys
#[test]
fn no_packet_of_the_set_up_contains_a_shared_key() {
    let secret = "a secret that would be found";
    let pair = up(keyed(1, secret), keyed(1, secret));
    let log = pair.log.as_ref().unwrap();
    assert!(log.iter().any(|flight| flight.has(chunk::COOKIE_ECHO)));
    for flight in log {
        assert!(!flight.bytes.windows(8).any(|bytes| secret.as_bytes().windows(8).any(|key| key == bytes)));
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# If no association is found, the packet MUST be considered as out of the blue.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# The out of the blue handling MUST be based on the packet without taking the AUTH chunk into account.
#[test]
fn an_out_of_the_blue_packet_is_answered_as_without_its_auth_chunk() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let auth = msctp_wire::Auth { shared_key_id: 0, hmac_id: msctp_wire::HmacId::SHA1, hmac: &[1; 20] };
    let abort = msctp_wire::Abort { tag_reflected: false, causes: msctp_wire::Causes::EMPTY };
    let complete = msctp_wire::ShutdownComplete { tag_reflected: false };
    let shutdown = msctp_wire::Shutdown { cum_tsn_ack: msctp_wire::Tsn::new(1) };
    let chunks: [(&dyn msctp_wire::EncodeChunk, Option<u8>); 5] = [
        (&abort, None),
        (&complete, None),
        (&msctp_wire::CookieAck, None),
        (&msctp_wire::ShutdownAck, Some(chunk::SHUTDOWN_COMPLETE)),
        (&shutdown, Some(chunk::ABORT)),
    ];
    for (chunk, wanted) in chunks {
        for list in [&[chunk][..], &[&auth, chunk]] {
            let before = pair.log_len();
            pair.inject(Side::B, Pair::at(Side::B), &support::packet(Side::B, 77, list));
            let answer: Vec<_> =
                pair.sent_since(Side::B, before).iter().map(|flight| flight.chunks()[0]).collect();
            assert_eq!(answer, wanted.into_iter().collect::<Vec<_>>());
        }
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//= type=test
//# An SCTP endpoint MUST NOT change the parameters listed in the HMAC-ALGO parameter during the lifetime of
//# the endpoint.
#[test]
fn an_endpoint_keeps_its_first_list_of_algorithms() {
    let mut endpoint = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [5; 32]).unwrap();
    let at = |port| msctp_proto::LocalAddrs { port, addresses: vec![b_ip(0)] };
    let sha1 = AuthConfig { algorithms: vec![HmacAlgorithm::Sha1], ..AuthConfig::default() };
    let silent = AuthConfig { policy: AuthPolicy::Off, ..sha1.clone() };
    endpoint.listen(at(1), with(silent.clone())).unwrap();
    endpoint.listen(at(2), with(AuthConfig::default())).unwrap();
    let error = endpoint.listen(at(3), with(sha1.clone())).unwrap_err();
    assert_eq!(error.field, "auth.algorithms");
    let peer = || msctp_proto::RemoteAddrs { port: 9, addresses: vec![a_ip(0)] };
    let now = msctp_units::Time::ZERO;
    assert_eq!(endpoint.connect(now, with(sha1), at(4), peer()).unwrap_err().field, "auth.algorithms");
    endpoint.connect(now, with(AuthConfig::default()), at(4), peer()).unwrap();
    endpoint.listen(at(3), with(silent)).unwrap();
}
