//! Associations protected by the DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk-04) with pre-shared keys.

use crate::support;

use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    AuthConfig, AuthPolicy, CallError, Config, Event, KeyManagement, LossReason, Pmtu, Protection,
};
use msctp_units::{Span, Time};
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, text_message};

const DTLS: u8 = 0x41;
const SUITE: CipherSuite = CipherSuite::Aes128GcmSha256;

fn keys(byte: u8) -> Arc<KeyManagement> {
    Arc::new(KeyManagement::pre_shared(Arc::new(Ring), SUITE, Secret::from(&[byte; 32][..])).unwrap())
}

pub(crate) fn protected() -> Config {
    Config { protection: Protection::Required(keys(7)), ..Config::default() }
}

fn mobile() -> Config {
    Config { protection: Protection::Required(keys(7)), ..Config::mobile() }
}

fn up(config: Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair
}

fn log(pair: &mut Pair) -> Vec<Flight> {
    pair.log.replace(Vec::new()).unwrap()
}

fn counters(pair: &mut Pair, side: Side) -> (u64, u64) {
    pair.with(side, |end, _| (end.stats().unprotected_packets, end.stats().undecryptable_packets))
}

/// §5.2: "all SCTP packets SHALL be sent using a DTLS chunk".
#[test]
fn everything_after_the_cookie_echo_is_sealed_and_arrives() {
    for config in [protected(), mobile()] {
        let mut pair = up(config);
        pair.transfer(Side::A, 200, 3000, Span::from_secs(20));
        pair.transfer(Side::B, 200, 100, Span::from_secs(20));
        pair.with(Side::A, |end, now| end.shutdown(now));
        pair.run_for(Span::from_secs(5));
        assert!(pair.a.saw(|event| *event == Event::Closed) && pair.b.saw(|event| *event == Event::Closed));
        let log = log(&mut pair);
        let clear: Vec<_> = log.iter().map(Flight::chunks).filter(|types| types[..] != [DTLS]).collect();
        assert_eq!(clear, [vec![chunk::INIT], vec![chunk::INIT_ACK], vec![chunk::COOKIE_ECHO]]);
        assert!(log.iter().all(|flight| flight.bytes.len() + 20 <= 1500));
        assert!(log.iter().any(|flight| flight.bytes.len() + 20 == 1500), "packets are filled");
        for host in [&pair.a, &pair.b] {
            assert!(host.saw(|event| *event == Event::Protected));
        }
    }
}

#[test]
fn nothing_of_the_data_is_readable() {
    let mut pair = up(protected());
    pair.send(Side::A, text_message("a secret that travels"));
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.received.len(), 1);
    let all: Vec<u8> = log(&mut pair).into_iter().flat_map(|flight| flight.bytes).collect();
    assert!(!all.windows(8).any(|window| window == b"a secret"));
    assert_eq!(counters(&mut pair, Side::A), (0, 0));
}

/// Data that is ready before the set-up arrives after one round trip and a half, as in clear.
#[test]
fn the_first_data_needs_no_more_round_trips_than_in_clear() {
    let arrival = |config: Config| {
        let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
        let begun = pair.now;
        pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
        pair.send(Side::A, text_message("early"));
        assert!(pair.run_until(Span::from_secs(5), |pair| pair.b.received.len() == 1));
        pair.now.since(begun)
    };
    let auth = AuthConfig { policy: AuthPolicy::Off, ..AuthConfig::default() };
    assert_eq!(arrival(protected()), arrival(Config { auth, ..Config::default() }));
    assert_eq!(arrival(protected()), Span::from_millis(60));
}

#[test]
fn a_lost_cookie_echo_or_early_packet_is_made_up_for() {
    for lost in 2..7 {
        let mut pair = Pair::new(protected(), vec![b_ip(0)]);
        let mut number = 0;
        pair.drop_if(move |_| {
            number += 1;
            number == lost + 1
        });
        pair.connect(protected(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.send(Side::A, text_message("early"));
        pair.run_for(Span::from_secs(20));
        assert_eq!(pair.b.received.len(), 1, "{lost}");
        pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    }
}

/// The COOKIE ECHO arrives after the early data. The client ignores the listener's answer to that data, which
/// is out of the blue.
#[test]
fn early_data_that_overtakes_the_cookie_echo_ends_nothing() {
    let mut pair = Pair::new(protected(), vec![b_ip(0)]);
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::COOKIE_ECHO) { Fate::Late(Span::from_millis(100)) } else { Fate::Pass }
    });
    pair.connect(protected(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.b.received.len(), 1);
}

#[test]
fn another_key_gives_no_association() {
    let mut pair = Pair::new(protected(), vec![b_ip(0)]);
    let other = Config { protection: Protection::Required(keys(8)), ..Config::default() };
    pair.connect(other, vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(600));
    assert!(!pair.a.saw(|event| matches!(event, Event::Connected { .. } | Event::Protected)));
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::KeysDiffer)));
    assert!(pair.b.received.is_empty() && !pair.b.saw(|event| *event == Event::Protected));
}

/// §5.1: strict DTLS mode.
#[test]
fn a_peer_without_the_extension_is_refused_where_it_is_required() {
    let mut pair = up_between(Config::default(), protected());
    let refused =
        |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { cause: Some(100), .. }));
    assert!(pair.a.saw(refused), "{:?}", pair.a.events);
    assert_eq!(pair.b.endpoint.len(), 0);
    // One that requires AUTH for ASCONF refuses by itself.
    let auth = AuthConfig { policy: AuthPolicy::Off, ..AuthConfig::default() };
    pair = up_between(protected(), Config { auth, ..Config::default() });
    let refused =
        |event: &Event| matches!(event, Event::Lost(LossReason::ProtocolViolation { cause: 100, .. }));
    assert!(pair.a.saw(refused), "{:?}", pair.a.events);
    let external = KeyManagement::external(
        Arc::new(Ring),
        vec![msctp_wire::KeyManagementId::TLS],
        msctp_wire::param::DtlsRoles { client: true, server: true },
    );
    let tls = Config { protection: Protection::Required(Arc::new(external)), ..Config::default() };
    pair = up_between(tls, protected());
    let refused =
        |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { cause: Some(101), .. }));
    assert!(pair.a.saw(refused), "{:?}", pair.a.events);
}

fn up_between(a: Config, b: Config) -> Pair {
    let mut pair = Pair::new(b, vec![b_ip(0)]);
    pair.connect(a, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair
}

/// §5.1: loose DTLS mode; §3.2: never together with AUTH.
#[test]
fn offered_protection_falls_back_to_auth_with_a_peer_without_it() {
    let offered = || Config { protection: Protection::OrInsecure(keys(7)), ..Config::default() };
    for (a, b, protection) in [
        (offered(), Config::default(), false),
        (Config::default(), offered(), false),
        (offered(), offered(), true),
        (offered(), protected(), true),
        (protected(), offered(), true),
    ] {
        let mut pair = up_between(a, b);
        pair.transfer(Side::A, 20, 3000, Span::from_secs(5));
        for side in [Side::A, Side::B] {
            let agreed = pair.with(side, |end, _| end.agreed()).unwrap();
            assert_eq!((agreed.protection, agreed.authentication), (protection, !protection));
            assert!(agreed.dynamic_addresses);
        }
    }
}

#[test]
fn addresses_change_under_protection_without_auth() {
    let mut pair = Pair::new(mobile(), vec![b_ip(0)]);
    pair.connect(mobile(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |end, now| end.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |end, now| end.request_peer_primary(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |end, now| end.remove_local_address(now, a_ip(0))).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.transfer(Side::B, 50, 3000, Span::from_secs(5));
    let paths: Vec<_> = pair.with(Side::B, |end, _| end.paths().map(|path| path.at.remote).collect());
    assert_eq!(paths, [a_ip(1)]);
}

#[test]
fn pmtu_discovery_and_fixed_sizes_leave_room_for_the_record() {
    for pmtu in [Pmtu::UpTo(1500), Pmtu::Fixed(1280), Pmtu::UpTo(9000), Pmtu::Fixed(65_535)] {
        let mut pair = up(Config { pmtu, ..protected() });
        pair.transfer(Side::A, 300, 20_000, Span::from_secs(60));
        let longest = log(&mut pair).iter().map(|flight| flight.bytes.len()).max().unwrap();
        // A record holds 16,384 bytes.
        assert_eq!(longest + 20, (pmtu.max() as usize).min(12 + 28 + 16_384 + 20), "{pmtu:?}");
    }
}

#[test]
fn segments_are_sealed_one_by_one() {
    let mut pair = up(Config { max_segments: 16, ..protected() });
    pair.transfer(Side::A, 300, 3000, Span::from_secs(20));
    assert!(log(&mut pair).iter().skip(3).all(|flight| flight.chunks() == [DTLS]));
}

#[test]
fn keys_change_in_both_directions_without_a_gap() {
    let mut pair = up(protected());
    let epochs = |pair: &mut Pair| {
        [Side::A, Side::B].map(|side| pair.with(side, |end, _| end.send_key_usage().unwrap().epoch))
    };
    assert_eq!(epochs(&mut pair), [3, 3]);
    for epoch in 4..12 {
        pair.with(Side::A, |end, now| end.change_keys(now)).unwrap();
        assert_eq!(
            pair.with(Side::A, |end, now| end.change_keys(now)),
            Err(CallError::NoNextKeys),
            "the peer has not followed"
        );
        pair.transfer(Side::A, 30, 3000, Span::from_secs(5));
        pair.transfer(Side::B, 30, 3000, Span::from_secs(5));
        assert_eq!(epochs(&mut pair), [epoch; 2]);
    }
    // Both at once
    for side in [Side::A, Side::B] {
        pair.with(side, |end, now| end.change_keys(now)).unwrap();
    }
    pair.transfer(Side::A, 30, 3000, Span::from_secs(5));
    assert_eq!(epochs(&mut pair), [12; 2]);
    assert_eq!((counters(&mut pair, Side::A), counters(&mut pair, Side::B)), ((0, 0), (0, 0)));
}

#[test]
fn packets_in_flight_while_keys_change_are_opened() {
    let mut pair = up(protected());
    let mut number = 0;
    pair.filter = Box::new(move |_| {
        number += 1;
        if number % 5 == 0 { Fate::Late(Span::from_millis(number % 200)) } else { Fate::Pass }
    });
    for _ in 0..20 {
        pair.transfer(Side::A, 10, 3000, Span::from_secs(20));
        let _ = pair.with(Side::A, |end, now| end.change_keys(now));
        pair.transfer(Side::B, 10, 3000, Span::from_secs(20));
    }
    assert_eq!((counters(&mut pair, Side::A).1, counters(&mut pair, Side::B).1), (0, 0));
}

#[test]
fn simultaneous_set_ups_agree_on_the_same_keys() {
    for offset in [0, 10, 20, 30, 50] {
        let mut pair = Pair::new(protected(), vec![b_ip(0)]);
        pair.connect(protected(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.send(Side::A, text_message("early"));
        pair.run_for(Span::from_millis(offset));
        let local = msctp_proto::LocalAddrs { port: 5001, addresses: vec![b_ip(0)] };
        let remote = msctp_proto::RemoteAddrs { port: 5000, addresses: vec![a_ip(0)] };
        if let Ok(handle) = pair.b.endpoint.connect(pair.now, protected(), local, remote) {
            pair.b.handle = Some(handle);
            pair.drain(Side::B);
        }
        pair.run_for(Span::from_secs(20));
        assert_eq!(pair.b.received.len(), 1);
        pair.transfer(Side::B, 20, 100, Span::from_secs(5));
        assert_eq!(counters(&mut pair, Side::B).1, 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = || {
        let mut pair = up(protected());
        pair.transfer(Side::A, 20, 3000, Span::from_secs(5));
        log(&mut pair).into_iter().map(|flight| (flight.sent, flight.bytes)).collect::<Vec<(Time, _)>>()
    };
    assert_eq!(bytes(), bytes());
}

#[test]
fn options_that_cannot_be_combined_are_rejected() {
    let key = msctp_proto::SharedKey { id: 1, secret: vec![1] };
    let auth = AuthConfig { keys: vec![key], ..AuthConfig::default() };
    let error = Config { auth, ..protected() }.validate().unwrap_err();
    assert_eq!(error.field, "auth.keys");
    let short = KeyManagement::pre_shared(Arc::new(Ring), SUITE, Secret::from(&[1; 15][..])).unwrap_err();
    assert_eq!(short.len, 15);
}

/// With early data the listener reports the mismatch at once. Without it the client detects it at its second
/// COOKIE ECHO.
#[test]
fn keys_that_differ_end_a_set_up_at_both_ends() {
    for (early, most) in [(true, Span::from_millis(200)), (false, Span::from_secs(2))] {
        let mut pair = Pair::new(protected(), vec![b_ip(0)]);
        let other = Config { protection: Protection::Required(keys(8)), ..Config::default() };
        pair.connect(other, vec![a_ip(0)], vec![b_ip(0)]);
        if early {
            pair.send(Side::A, text_message("early"));
        }
        let differ = |event: &Event| *event == Event::Lost(LossReason::KeysDiffer);
        let both = |pair: &mut Pair| pair.a.saw(differ) && pair.b.saw(differ);
        assert!(pair.run_until(most, both), "{early} {:?} {:?}", pair.a.events, pair.b.events);
        assert!(pair.b.received.is_empty() && !pair.b.saw(|event| *event == Event::Protected));
    }
}

/// Forged packets end no association whose peer has proved its key, and no set-up before it is repeated.
#[test]
fn packets_that_cannot_be_opened_end_no_association_with_a_peer_that_proved_its_key() {
    let mut pair = up(protected());
    let tags = [pair.tag_of(Side::A), pair.tag_of(Side::B)];
    for _ in 0..100 {
        for (side, tag) in [(Side::A, tags[0]), (Side::B, tags[1])] {
            pair.inject(side, Pair::at(side), &forged(side, tag));
        }
    }
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    let mut pair = Pair::new(protected(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    // A gets one forged packet before the COOKIE ACK, which is late.
    pair.filter =
        Box::new(|flight| if flight.has(DTLS) { Fate::Late(Span::from_millis(100)) } else { Fate::Pass });
    pair.connect(protected(), vec![a_ip(0)], vec![b_ip(0)]);
    assert!(pair.run_until(Span::from_secs(1), |pair| pair.log.as_ref().unwrap().len() >= 3));
    let tag = pair.tag_of(Side::A);
    pair.inject(Side::A, Pair::at(Side::A), &forged(Side::A, tag));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
}

/// Returns a packet with a DTLS chunk of epoch 3 that no key opens.
fn forged(to: Side, tag: u32) -> Vec<u8> {
    let mut bytes = support::packet(to, tag, &[]);
    bytes.extend([DTLS, 0, 0, 64, 0, 0b0010_1111]);
    bytes.resize(12 + 64, 0x5a);
    support::reseal(&mut bytes);
    bytes
}
