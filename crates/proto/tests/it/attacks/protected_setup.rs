//! An attacker on the path against set-ups that agree on the DTLS chunk: no keys are used twice, and forged
//! chunks in clear neither weaken the association nor move it.

use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    AssociationState as State, Config, DatagramOutcome, Event, KeyManagement, LocalAddrs, Protection,
};
use msctp_units::Span;
use msctp_wire::param::{DtlsKeyManagement, DtlsRoles};
use msctp_wire::{
    Cause, Causes, Checksum, Chunk, ChunkType, EncodeChunk, Error, Init, KeyManagementId, List, Packet,
    Param, Params,
};

use crate::attacks::stranger::{ABORT, ask, data, echo, init_ack};
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, packet, reseal, text_message};

const DTLS: u8 = ChunkType::DTLS.0;

type Kind = fn(Arc<KeyManagement>) -> Protection;

fn config(kind: Kind) -> Config {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Config { protection: kind(Arc::new(keys)), ..Config::mobile() }
}

/// Returns a pair whose A has just sent the COOKIE ECHO. The attacker suppresses A's packets with these
/// chunks.
fn cookie_echoed(kind: Kind, lost: &'static [u8]) -> Pair {
    cookie_echoed_with(kind, lost, &["early"])
}

/// Returns a pair as [`cookie_echoed`] does, whose A has sent these messages.
fn cookie_echoed_with(kind: Kind, lost: &'static [u8], early: &[&str]) -> Pair {
    let mut pair = Pair::new(config(kind), vec![b_ip(0)]);
    let own = LocalAddrs { port: 5000, addresses: vec![a_ip(0)] };
    pair.a.endpoint.listen(own, config(kind)).unwrap();
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.from == Side::A && lost.contains(&flight.chunks()[0]));
    pair.connect(config(kind), vec![a_ip(0)], vec![b_ip(0)]);
    early.iter().for_each(|text| pair.send(Side::A, text_message(text)));
    assert!(pair.run_until(Span::from_secs(1), |pair| pair.a.state() == Some(State::CookieEchoed)));
    pair
}

/// Returns A's tag and cookie for an INIT with tag, TSN and parameter of B's INIT ACK. The keys of this
/// cookie are those of the set-up.
fn cookie_of_the_same_keys(pair: &mut Pair) -> (u32, Vec<u8>) {
    let theirs =
        pair.log.as_ref().unwrap().iter().find(|flight| flight.has(chunk::INIT_ACK)).unwrap().clone();
    let theirs = Packet::parse(&theirs.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = theirs.chunks().next() else { panic!("{theirs:?}") };
    let offer = ack.params.iter().flatten().filter(|param| matches!(param, Param::DtlsKeyManagement(_)));
    let offer: Vec<Param<'_>> = offer.collect();
    let forged = Init {
        initiate_tag: ack.initiate_tag,
        a_rwnd: ack.a_rwnd,
        outbound_streams: ack.outbound_streams,
        inbound_streams: ack.inbound_streams,
        initial_tsn: ack.initial_tsn,
        params: Params::from(&offer[..]),
    };
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, 0, &[&forged]));
    init_ack(&pair.sent_since(Side::A, before)).unwrap()
}

#[test]
fn a_collision_cookie_replays_no_session_that_is_over() {
    let mut pair = cookie_echoed(Protection::Required, &[chunk::INIT_ACK]);
    let cookie = cookie_of_the_same_keys(&mut pair);
    pair.run_for(Span::from_secs(1));
    pair.send(Side::B, text_message("pay 100 to X"));
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(5));
    assert_eq!((pair.a.endpoint.len(), pair.a.received.len()), (0, 1));
    let before = pair.log_len();
    let recording = pair.sent_since(Side::B, 0);
    let outcome = echo(&mut pair, Side::A, Pair::at(Side::A), &cookie, &[]);
    // RFC 9260 §5.2.6: an honest peer sends a new INIT.
    assert_eq!(outcome, DatagramOutcome::Replied);
    assert_eq!(pair.sent_since(Side::A, before)[0].chunks(), [chunk::ERROR]);
    for flight in recording.iter().filter(|flight| flight.chunks()[0] == DTLS) {
        pair.inject(Side::A, Pair::at(Side::A), &flight.bytes);
    }
    assert_eq!((pair.a.endpoint.len(), pair.a.received.len()), (0, 1));
}

#[test]
fn a_collision_cookie_of_a_superseded_offer_is_refused() {
    let lost = &[chunk::INIT_ACK, chunk::COOKIE_ECHO, DTLS];
    let mut pair = cookie_echoed_with(Protection::Required, lost, &[]);
    let cookie = cookie_of_the_same_keys(&mut pair);
    pair.drop_if(|_| true);
    let stale = [Cause::StaleCookie(1)];
    let error = packet(Side::A, cookie.0, &[&Error { causes: Causes::from(&stale) }]);
    pair.inject(Side::A, Pair::at(Side::A), &error);
    assert_eq!(pair.a.state(), Some(State::CookieWait));
    let before = pair.log_len();
    echo(&mut pair, Side::A, Pair::at(Side::A), &cookie, &[]);
    assert_eq!((pair.a.state(), pair.log_len()), (Some(State::CookieWait), before), "nothing is sealed");
    pair.pass_all();
    pair.send(Side::A, text_message("early"));
    assert!(pair.run_until(Span::from_secs(20), |pair| pair.b.received.len() == 1));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(20));
}

#[test]
fn a_collision_in_clear_does_not_take_agreed_keys_away() {
    let methods = [KeyManagementId::TLS];
    let roles = DtlsRoles { client: true, server: true };
    let methods = List::from(&methods);
    let other = DtlsKeyManagement { tie_breaker: 1, restart: false, roles, methods };
    for params in [&[][..], &[Param::DtlsKeyManagement(other)]] {
        let mut pair = cookie_echoed(Protection::OrInsecure, &[chunk::INIT_ACK]);
        let cookie = init_ack(&ask(&mut pair, Side::A, Pair::at(Side::A), params)).unwrap();
        echo(&mut pair, Side::A, Pair::at(Side::A), &cookie, &[&data(1, b"forged")]);
        assert_eq!((pair.a.state(), pair.a.received.len()), (Some(State::CookieEchoed), 0));
        pair.transfer(Side::B, 20, 1000, Span::from_secs(20));
        assert!(pair.with(Side::A, |a, _| a.agreed()).unwrap().protection);
    }
}

/// A forged Stale Cookie begins the set-up anew, and the attacker takes the parameter out of the new INIT.
/// What was to be sent under the agreement before must not leave in clear.
#[test]
fn a_forged_stale_cookie_does_not_take_agreed_keys_away() {
    let mut pair = cookie_echoed_with(Protection::OrInsecure, &[chunk::COOKIE_ECHO, DTLS], &[]);
    let causes = [Cause::StaleCookie(1)];
    let tag = pair.tag_of(Side::A);
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::INIT) {
            let at = flight.bytes.windows(4).position(|bytes| bytes[..3] == [0x80, 6, 0]).unwrap();
            flight.bytes[at..at + 2].copy_from_slice(&[0xbf, 0xfe]);
            reseal(&mut flight.bytes);
        }
        Fate::Pass
    });
    let error = packet(Side::A, tag, &[&Error { causes: Causes::from(&causes) }]);
    pair.inject(Side::A, Pair::at(Side::A), &error);
    assert_eq!(pair.a.state(), Some(State::CookieWait));
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(20));
    assert!(pair.b.received.is_empty(), "{:?}", pair.b.received);
    assert!(pair.a.saw(|event| matches!(event, Event::Lost(_))), "{:?}", pair.a.events);
    let leaks = |flight: &Flight| flight.bytes.windows(5).any(|bytes| bytes == b"early");
    assert!(!pair.log.as_ref().unwrap().iter().any(leaks));
}

#[test]
fn an_error_in_clear_during_set_up_neither_disables_address_changes_nor_moves_the_peer() {
    let mut pair = cookie_echoed(Protection::Required, &[chunk::INIT_ACK]);
    let causes = [Cause::UnrecognizedChunkType(&[ChunkType::ASCONF.0, 0, 0, 4])];
    let tag = pair.tag_of(Side::A);
    let error = packet(Side::A, tag, &[&Error { causes: Causes::from(&causes) }]);
    let outcome = pair.inject(Side::A, Pair::at(Side::A), &error);
    // An unverified packet teaches no UDP port (RFC 6951 §5.4).
    assert!(matches!(outcome, DatagramOutcome::Unverified(_)), "{outcome:?}");
    assert!(!pair.a.saw(|event| matches!(event, Event::PeerError { .. })));
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    let remotes: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert!(remotes.contains(&a_ip(1)), "{remotes:?}");
}

/// What follows the COOKIE ECHO may have been delivered when an attacker says in clear that the cookie is
/// stale. Another set-up must not deliver it again, to an association that seems to be another client's.
#[test]
fn a_forged_stale_cookie_does_not_deliver_early_data_twice() {
    let mut pair = cookie_echoed(Protection::Required, &[]);
    pair.drop_if(|flight| flight.from == Side::B);
    assert!(pair.run_until(Span::from_secs(1), |pair| pair.b.received.len() == 1));
    let causes = [Cause::StaleCookie(1)];
    let tag = pair.tag_of(Side::A);
    let error = packet(Side::A, tag, &[&Error { causes: Causes::from(&causes) }]);
    pair.inject(Side::A, Pair::at(Side::A), &error);
    // The attacker is A's NAT from now on.
    pair.translate = Some((a_ip(0), a_ip(9)));
    pair.pass_all();
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.b.received.len(), 1, "{:?}", pair.b.received);
    assert!(pair.a.saw(|event| matches!(event, Event::Lost(_))), "{:?}", pair.a.events);
}

/// A packet of the server was opened, and its COOKIE ACK is late: the client has proof of the keys, and
/// nothing in clear ends its association or takes the keys away.
#[test]
fn nothing_in_clear_ends_a_set_up_whose_keys_are_proved() {
    let up = || {
        let mut pair = cookie_echoed(Protection::Required, &[]);
        // Its first packet has the COOKIE ACK.
        let mut first = true;
        pair.drop_if(move |flight| {
            flight.from == Side::B && flight.chunks() == [DTLS] && core::mem::take(&mut first)
        });
        assert!(pair.run_until(Span::from_secs(1), |pair| pair.b.received.len() == 1));
        pair.send(Side::B, text_message("proof"));
        assert!(pair.run_until(Span::from_secs(1), |pair| pair.a.saw(|event| *event == Event::Protected)));
        assert_eq!(pair.a.state(), Some(State::CookieEchoed));
        pair
    };
    let causes = [Cause::StaleCookie(1)];
    let goes_on = |mut pair: Pair| {
        assert!(pair.run_until(Span::from_secs(20), |pair| pair.a.received.len() == 1));
        pair.transfer(Side::B, 20, 1000, Span::from_secs(20));
    };
    let forged: [&dyn EncodeChunk; 2] = [&ABORT, &Error { causes: Causes::from(&causes) }];
    for chunk in forged {
        let mut pair = up();
        let tag = pair.tag_of(Side::A);
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[chunk]));
        assert_eq!(pair.a.state(), Some(State::CookieEchoed), "{:?}", pair.a.events);
        goes_on(pair);
    }
    // The cookie of a collision.
    let mut pair = up();
    let roles = DtlsRoles { client: true, server: true };
    let methods = [KeyManagementId::PRE_SHARED];
    let methods = List::from(&methods);
    let offer = DtlsKeyManagement { tie_breaker: 0, restart: false, roles, methods };
    let answer = ask(&mut pair, Side::A, Pair::at(Side::A), &[Param::DtlsKeyManagement(offer)]);
    echo(&mut pair, Side::A, Pair::at(Side::A), &init_ack(&answer).unwrap(), &[]);
    goes_on(pair);
}

#[test]
fn more_key_management_methods_than_a_cookie_holds_are_none_in_common() {
    let methods: Vec<_> = (0..33).map(KeyManagementId::new).collect();
    let roles = DtlsRoles { client: true, server: true };
    let methods = List::from(&methods[..]);
    let many = Param::DtlsKeyManagement(DtlsKeyManagement { tie_breaker: 1, restart: false, roles, methods });
    let kinds: [(Kind, u8); 3] = [
        (|_| Protection::Insecure, chunk::INIT_ACK),
        (Protection::OrInsecure, chunk::INIT_ACK),
        (Protection::Required, chunk::ABORT),
    ];
    for (kind, answer) in kinds {
        let mut pair = Pair::new(config(kind), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let answers = ask(&mut pair, Side::B, Pair::at(Side::B), &[many]);
        assert_eq!(answers[0].chunks(), [answer]);
        if let Some(cookie) = init_ack(&answers) {
            let outcome = echo(&mut pair, Side::B, Pair::at(Side::B), &cookie, &[&data(1, b"clear")]);
            assert!(matches!(outcome, DatagramOutcome::Accepted(_)), "{outcome:?}");
            assert_eq!(pair.b.received.len(), 1);
        } else {
            let refusal = Packet::parse(&answers[0].bytes, Checksum::Verify).unwrap();
            let Some(Ok(Chunk::Abort(abort))) = refusal.chunks().next() else { panic!("{refusal:?}") };
            assert_eq!(abort.causes.iter().next().unwrap().unwrap().typ().0, 101, "No Common Method");
        }
    }
}
