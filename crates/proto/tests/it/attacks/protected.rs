//! An attacker on the path, who sees and forges every packet, against associations that both require the
//! DTLS chunk: nothing is replayed, ended, fed, restarted, taken over or moved. An attacker can still prevent
//! a set-up: INIT, INIT ACK and COOKIE ECHO are in clear.

use std::net::IpAddr;

use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    AbortReason, Config, DatagramOutcome, Event, KeyManagement, PathAddr, PathState, Protection,
};
use msctp_units::Span;
use msctp_wire::{
    Abort, Cause, Causes, CookieAck, CookieEcho, EncodeChunk, Error, Heartbeat, Param, Params, Sack,
    Shutdown, ShutdownAck, ShutdownComplete, Tlv, Tsn,
};

use crate::attacks::stranger::{ABORT, ask, data, echo, from, init_ack};
use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk, ip, packet, reseal, text_message};

fn config() -> Config {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Config { protection: Protection::Required(Arc::new(keys)), ..Config::mobile() }
}

fn up() -> Pair {
    let config = config();
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair
}

/// The parts of an association that an attacker must not change.
fn picture(pair: &mut Pair, side: Side) -> String {
    pair.with(side, |end, _| {
        let paths: Vec<_> = end.paths().collect();
        let stats = end.stats();
        format!("{:?} {paths:?} {} {}", end.state(), stats.packets_received, stats.data_chunks_received)
    })
}

/// Runs an attack. Checks that the association is unchanged, and that nothing was sent to anyone.
fn unmoved(pair: &mut Pair, attack: impl FnOnce(&mut Pair)) {
    pair.run_for(Span::from_secs(1));
    let (events, sent) = (pair.a.events.len() + pair.b.events.len(), pair.log_len());
    let before =
        [Side::A, Side::B].map(|side| (picture(pair, side), pair.with(side, |end, _| end.poll_timeout())));
    attack(pair);
    let after =
        [Side::A, Side::B].map(|side| (picture(pair, side), pair.with(side, |end, _| end.poll_timeout())));
    assert_eq!(after, before);
    assert_eq!((pair.a.events.len() + pair.b.events.len(), pair.log_len()), (events, sent));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// Returns chunks that would end, feed, stall or move an association in clear.
fn with_each_chunk(cum: u32, mut attack: impl FnMut(&dyn EncodeChunk)) {
    let sack = Sack {
        cum_tsn_ack: Tsn::new(cum),
        a_rwnd: 0,
        gap_blocks: (&[][..]).into(),
        duplicates: (&[][..]).into(),
    };
    let info = [Param::HeartbeatInfo(b"anything")];
    let causes = [Cause::StaleCookie(1)];
    let lie = data(cum + 1, b"forged");
    let chunks: [&dyn EncodeChunk; 11] = [
        &lie,
        &ABORT,
        &Abort { tag_reflected: true, causes: Causes::EMPTY },
        &Shutdown { cum_tsn_ack: Tsn::new(cum) },
        &ShutdownAck,
        &ShutdownComplete { tag_reflected: false },
        &ShutdownComplete { tag_reflected: true },
        &CookieAck,
        &sack,
        &Heartbeat { params: Params::from(&info) },
        &Error { causes: Causes::from(&causes) },
    ];
    chunks.into_iter().for_each(&mut attack);
}

#[test]
fn forged_packets_in_clear_have_no_effect() {
    let mut pair = up();
    unmoved(&mut pair, |pair| {
        for side in [Side::A, Side::B] {
            let (own, peers) = (pair.tag_of(side), pair.tag_of(side.other()));
            let peer = Pair::at(side).remote;
            // Any other tag from elsewhere is out of the blue.
            for (tag, remote) in [(own, peer), (own, ip(66, 6)), (peers, peer)] {
                with_each_chunk(7, |forged| {
                    let bytes = packet(side, tag, &[forged]);
                    // The peer is probed: tests/peer_check.rs
                    if (tag, remote, &bytes[12..14]) == (peers, peer, &[chunk::ABORT, 1][..]) {
                        return;
                    }
                    let outcome = pair.inject(side, from(side, remote), &bytes);
                    assert!(!matches!(outcome, DatagramOutcome::Association(_)), "{outcome:?}");
                });
            }
        }
        assert!(pair.with(Side::B, |end, _| end.stats().unprotected_packets) >= 11);
    });
}

#[test]
fn recorded_packets_are_opened_once() {
    let mut pair = up();
    pair.send(Side::A, text_message("pay 100 to X"));
    pair.run_for(Span::from_secs(1));
    let recording: Vec<Flight> = pair.log.clone().unwrap();
    let read = pair.b.received.len();
    let replay = |pair: &mut Pair, elsewhere: Option<IpAddr>| {
        for flight in recording.iter().filter(|flight| flight.chunks()[0] == 0x41) {
            let to = flight.from.other();
            let outcome = pair.inject(to, from(to, elsewhere.unwrap_or(flight.at.local)), &flight.bytes);
            assert!(matches!(outcome, DatagramOutcome::Unverified(_)), "{outcome:?}");
        }
    };
    unmoved(&mut pair, |pair| replay(pair, None));
    assert_eq!(pair.b.received.len(), read + 20);
    // From elsewhere each end sends a HEARTBEAT there, once: the peer may have moved.
    pair.drop_if(|flight| flight.at.remote == ip(66, 6));
    let (before, sent) = ([Side::A, Side::B].map(|side| picture(&mut pair, side)), pair.log_len());
    replay(&mut pair, Some(ip(66, 6)));
    assert_eq!([Side::A, Side::B].map(|side| picture(&mut pair, side)), before);
    let asked = &pair.log.as_ref().unwrap()[sent..];
    assert!(asked.len() == 2 && asked.iter().all(|flight| flight.at.remote == ip(66, 6)), "{}", asked.len());
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    assert_eq!(pair.b.received.len(), read + 40);
}

#[test]
fn changed_packets_are_not_opened() {
    let mut pair = up();
    pair.filter = Box::new(|_| crate::support::Fate::Drop);
    pair.send(Side::A, text_message("genuine"));
    let genuine = pair.log.as_ref().unwrap().last().unwrap().clone();
    assert_eq!(genuine.chunks(), [0x41]);
    let at = Pair::at(Side::B);
    let before = picture(&mut pair, Side::B);
    for byte in 16..genuine.bytes.len() {
        for bit in 0..8 {
            let mut bytes = genuine.bytes.clone();
            bytes[byte] ^= 1 << bit;
            reseal(&mut bytes);
            // The Pre-Padding, the Post-Padding and the reserved bits of the chunk are ignored (§4.2).
            let ignored = byte == 16 || byte + 3 >= genuine.bytes.len();
            if !ignored {
                let outcome = pair.inject(Side::B, at, &bytes);
                assert!(matches!(outcome, DatagramOutcome::Unverified(_)), "{byte} {bit} {outcome:?}");
            }
        }
    }
    // Without the Post-Padding it is genuine.
    for len in 12..genuine.bytes.len() - 3 {
        let mut bytes = genuine.bytes[..len].to_vec();
        reseal(&mut bytes);
        pair.inject(Side::B, at, &bytes);
    }
    assert_eq!(picture(&mut pair, Side::B), before);
    let outcome = pair.inject(Side::B, at, &genuine.bytes);
    assert!(matches!(outcome, DatagramOutcome::Association(_)));
    assert_eq!(pair.b.received.len(), 21);
}

/// s04, s04b, s05: a restart in clear takes nothing over.
#[test]
fn a_restart_is_refused() {
    let mut pair = up();
    let at = Pair::at(Side::B);
    let offer = own_init(&pair);
    let params = offer_of(&offer);
    let answer = ask(&mut pair, Side::B, at, &[Param::parse(&params).unwrap()]);
    assert_eq!(answer[0].chunks(), [chunk::ABORT], "refused explicitly, in clear");
    assert!(init_ack(&answer).is_none());
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    // A's own address, port and INIT once more: a late copy of it is not answered.
    let sent = pair.log_len();
    pair.inject(Side::B, at, &offer.bytes);
    assert_eq!(pair.log_len(), sent);
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
}

fn own_init(pair: &Pair) -> Flight {
    pair.log.as_ref().unwrap().iter().find(|flight| flight.has(chunk::INIT)).unwrap().clone()
}

/// Returns the DTLS Key Management parameter of an INIT.
fn offer_of(flight: &Flight) -> Vec<u8> {
    let at = flight.bytes.windows(2).position(|two| two == [0x80, 6]).unwrap();
    flight.bytes[at..at + 12].to_vec()
}

/// A cookie of the listener, echoed when the association is up, neither restarts nor changes it.
#[test]
fn a_cookie_in_clear_changes_no_association() {
    let config = config();
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    // The attacker gets a cookie for the victim's address before the victim comes.
    let at = Pair::at(Side::B);
    let mut other = up();
    let params = offer_of(&own_init(&other));
    let cookie = init_ack(&ask(&mut pair, Side::B, at, &[Param::parse(&params).unwrap()])).unwrap();
    other.run_for(Span::from_secs(1));
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    unmoved(&mut pair, |pair| {
        echo(pair, Side::B, at, &cookie, &[&data(1, b"forged")]);
    });
}

/// An association that a stranger sets up for the victim's address reads and sends nothing.
#[test]
fn without_the_key_an_association_is_mute() {
    let mut other = up();
    let params = offer_of(&own_init(&other));
    other.run_for(Span::from_secs(1));
    let mut pair = Pair::new(config(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let at = Pair::at(Side::B);
    let cookie = init_ack(&ask(&mut pair, Side::B, at, &[Param::parse(&params).unwrap()])).unwrap();
    let outcome = echo(&mut pair, Side::B, at, &cookie, &[&data(1, b"no key")]);
    assert!(matches!(outcome, DatagramOutcome::Accepted(_)));
    pair.inject(Side::B, at, &packet(Side::B, cookie.0, &[&data(1, b"no key")]));
    pair.run_for(Span::from_secs(1));
    assert!(pair.b.received.is_empty());
    assert!(!pair.b.saw(|event| *event == Event::Protected));
}

/// s06: a recorded session replays nothing.
#[test]
fn a_replayed_session_sets_up_no_association() {
    let mut pair = up();
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.b.endpoint.len(), 0);
    let recording: Vec<Flight> = pair.sent_since(Side::A, 0);
    let read = pair.b.received.len();
    pair.drop_if(|_| true);
    for flight in recording.iter().filter(|flight| !flight.has(chunk::INIT)) {
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &flight.bytes);
        assert!(!matches!(outcome, DatagramOutcome::Accepted(_)), "{outcome:?}");
    }
    assert_eq!((pair.b.endpoint.len(), pair.b.received.len()), (0, read));
}

/// s16 to s20: an end that moves needs the keys. A genuine packet from another source confirms no address.
#[test]
fn a_packet_that_an_attacker_relays_from_elsewhere_moves_nothing() {
    let mut pair = up();
    pair.filter = Box::new(|_| crate::support::Fate::Drop);
    pair.send(Side::A, text_message("relayed"));
    let genuine = pair.log.as_ref().unwrap().last().unwrap().clone();
    pair.drop_if(|flight| flight.at.remote == ip(66, 6));
    let elsewhere = PathAddr { local: b_ip(0), remote: ip(66, 6) };
    pair.inject(Side::B, elsewhere, &genuine.bytes);
    assert_eq!(pair.b.received.len(), 21, "it is genuine");
    pair.run_for(Span::from_secs(5));
    let paths: Vec<_> = pair.with(Side::B, |end, _| end.paths().collect());
    assert!(paths.iter().all(|path| path.at.remote == a_ip(0) && path.state == PathState::Active));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// The answer to a SHUTDOWN ACK is lost, and the peer has forgotten the association.
#[test]
fn a_lost_shutdown_complete_ends_in_time() {
    let mut pair = up();
    let mut left = 0;
    pair.with(Side::A, |a, now| a.shutdown(now));
    // A sends SHUTDOWN, then SHUTDOWN COMPLETE.
    pair.drop_if(move |flight| {
        left += u32::from(flight.from == Side::A);
        flight.from == Side::A && left == 1
    });
    pair.run_for(Span::from_secs(30));
    assert!(pair.a.saw(|event| *event == Event::Closed) && pair.b.saw(|event| *event == Event::Closed));
}

/// An observer delivers a copy of A's SHUTDOWN ACK first, from an address of its own. Nothing more of A
/// arrives: B's program has ended.
#[test]
fn a_copy_of_a_shutdown_ack_from_elsewhere_keeps_its_answer_from_nobody() {
    let mut pair = up();
    pair.drop_if(|flight| flight.from == Side::A);
    pair.with(Side::B, |b, now| b.shutdown(now));
    pair.run_for(Span::from_millis(200));
    let answer = pair.sent_since(Side::A, 0).pop().unwrap();
    pair.inject(Side::B, PathAddr { local: b_ip(0), remote: a_ip(7) }, &answer.bytes);
    assert!(pair.b.saw(|event| *event == Event::Closed), "{:?}", pair.b.events);
    pair.run_for(Span::from_millis(200));
    assert!(pair.a.saw(|event| *event == Event::Closed), "{:?}", pair.a.events);
}

/// An observer delivers a copy of the peer's ABORT first, to an address that is being deleted. No ABORT in
/// clear counts there (RFC 5061 §5.3 F4), but this one is the peer's.
#[test]
fn a_copy_of_an_abort_at_an_address_being_deleted_does_not_use_it_up() {
    let mut pair = up();
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    pair.drop_if(|_| true);
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    let reason = AbortReason::from("over");
    pair.with(Side::B, |b, now| b.abort(now, &reason));
    let abort = pair.log.as_ref().unwrap().last().unwrap().clone();
    assert_eq!((abort.from, abort.chunks()[0]), (Side::B, 0x41));
    for network in [0, 1] {
        pair.inject(Side::A, PathAddr { local: a_ip(network), remote: b_ip(0) }, &abort.bytes);
    }
    assert!(pair.a.saw(|event| matches!(event, Event::Lost(_))), "{:?}", pair.a.events);
}

/// A moves, and its new address gets early data because protected packets come from there. An ABORT with the
/// T bit, which another endpoint would send, is forged then.
#[test]
fn a_forged_abort_does_not_take_the_early_data_of_a_move() {
    let [without, with] = [false, true].map(|forges| {
        let mut pair = up();
        // The old address stays.
        pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[])).unwrap();
        let at = PathAddr { local: b_ip(0), remote: a_ip(1) };
        let arrived = |pair: &mut Pair| pair.with(Side::B, |b, _| b.path_between(at).is_some());
        assert!(pair.run_until(Span::from_secs(5), arrived));
        if forges {
            let tag = pair.tag_of(Side::A);
            let forged = Abort { tag_reflected: true, causes: Causes::EMPTY };
            pair.inject(Side::B, at, &packet(Side::B, tag, &[&forged as &dyn EncodeChunk]));
        }
        let before = pair.log_len();
        pair.send(Side::B, text_message("early"));
        let early: Vec<_> = pair.sent_since(Side::B, before).iter().map(|flight| flight.at.remote).collect();
        let state = |one: msctp_proto::PathStats| (one.at == at).then_some(one.state);
        (early, pair.with(Side::B, |b, _| b.paths().find_map(state)))
    });
    assert_eq!(without, (vec![a_ip(1)], Some(PathState::Unconfirmed)));
    assert_eq!(with, without);
}

/// The peer is gone, and an observer repeats its COOKIE ECHO, which is in clear: the association ends as soon
/// as without.
#[test]
fn a_repeated_cookie_echo_does_not_hide_a_dead_peer() {
    let [alone, with_echoes] = [false, true].map(|repeat| {
        let options = Config { assoc_max_retrans: 5, ..config() };
        let mut pair = Pair::new(options.clone(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.connect(options, vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(1));
        pair.transfer(Side::A, 5, 100, Span::from_secs(1));
        let log = pair.log.as_ref().unwrap();
        let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).unwrap().clone();
        let len = usize::from(u16::from_be_bytes([echo.bytes[14], echo.bytes[15]]));
        let cookie = CookieEcho { cookie: &echo.bytes[16..12 + len] };
        let bytes = packet(Side::B, echo.tag(), &[&cookie as &dyn EncodeChunk]);
        pair.drop_if(|_| true);
        let began = pair.now;
        pair.send(Side::B, text_message("to nobody"));
        while !pair.b.saw(|event| matches!(event, Event::Lost(_))) {
            pair.run_for(Span::from_millis(100));
            if repeat {
                pair.inject(Side::B, Pair::at(Side::B), &bytes);
            }
            assert!(pair.now.since(began) < Span::from_secs(300));
        }
        pair.now.since(began)
    });
    assert!(alone > Span::from_secs(1));
    assert_eq!(with_echoes, alone);
}
