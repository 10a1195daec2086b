//! An on-path attacker without the shared key cannot set up, restart, end, feed or move an association (RFC
//! 4895 §6.3).

use msctp_proto::{AuthConfig, Config, DatagramOutcome, Event, IgnoreReason, LossReason, SharedKey};
use msctp_units::Span;
use msctp_wire::{
    Cause, Causes, ChunkType, CookieEcho, EncodeChunk, Error, HmacId, List, Param, Shutdown, Tsn,
};

use crate::attacks::stranger::{ABORT, ask, data, echo, from, init_ack, keyed, signed, vector};
use crate::support::{Pair, Side, a_ip, b_ip, chunk, ip, packet, text_message};

fn configs() -> [Config; 2] {
    [Config::default(), Config::mobile()].map(|config| Config { auth: keyed(), ..config })
}

fn up(config: &Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair
}

/// Returns the parameters of an end with AUTH.
fn auth_offer() -> [Param<'static>; 2] {
    [Param::Random(&[7; 32]), Param::HmacAlgo(List::from(&[HmacId::SHA1]))]
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# it MUST process the AUTH chunk as described above using the STCB from the existing association
#[test]
fn a_restart_needs_the_key() {
    for config in configs() {
        let mut pair = up(&config);
        let at = Pair::at(Side::B);
        let answer = ask(&mut pair, Side::B, at, &[]);
        assert_eq!(answer[0].chunks(), [chunk::ABORT], "a peer without AUTH is rejected");
        let answer = ask(&mut pair, Side::B, at, &auth_offer());
        let cookie = init_ack(&answer).expect("it speaks AUTH");
        let lie = data(1, b"forged by one who has no key");
        let null = [&vector(&answer[0].bytes)[..], &[]].concat();
        for key_id in [0, 1] {
            for key in [&[][..], &null[..], &b"another"[..]] {
                let bytes =
                    signed(Side::B, cookie.0, key_id, key, &[&CookieEcho { cookie: &cookie.1 }, &lie]);
                pair.inject(Side::B, at, &bytes);
            }
        }
        echo(&mut pair, Side::B, at, &cookie, &[&lie]);
        assert!(!pair.b.saw(|event| *event == Event::Restarted));
        assert_eq!((pair.b.received.len(), pair.b.restarts.len()), (20, 0));
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
        pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    }
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# it MUST process the AUTH chunk as described above using the STCB from the existing association
#[test]
fn a_peer_that_has_the_key_restarts_and_collides_as_before() {
    for config in configs() {
        let mut pair = up(&config);
        pair.a.endpoint =
            msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [77; 32]).unwrap();
        pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert!(pair.b.saw(|event| *event == Event::Restarted));
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
        assert_eq!(pair.b.restarts, [20], "reported in order among the messages");
        for offset in [0, 10, 20, 30, 50] {
            let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
            pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
            pair.run_for(Span::from_millis(offset));
            let local = msctp_proto::LocalAddrs { port: 5001, addresses: vec![b_ip(0)] };
            let remote = msctp_proto::RemoteAddrs { port: 5000, addresses: vec![a_ip(0)] };
            let handle = pair.b.endpoint.connect(pair.now, config.clone(), local, remote).unwrap();
            pair.b.handle = Some(handle);
            pair.drain(Side::B);
            pair.run_for(Span::from_secs(20));
            pair.transfer(Side::A, 20, 100, Span::from_secs(5));
            pair.transfer(Side::B, 20, 100, Span::from_secs(5));
        }
    }
}

#[test]
fn no_association_is_set_up_without_the_key() {
    for config in configs() {
        let mut pair = Pair::new(config, vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let at = Pair::at(Side::B);
        assert_eq!(ask(&mut pair, Side::B, at, &[])[0].chunks(), [chunk::ABORT]);
        let cookie = init_ack(&ask(&mut pair, Side::B, at, &auth_offer())).unwrap();
        let outcome = echo(&mut pair, Side::B, at, &cookie, &[&data(1, b"no key")]);
        assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::Unauthenticated));
        assert_eq!(pair.b.endpoint.len(), 0);
    }
}

#[test]
fn a_server_without_auth_is_rejected_with_the_reason() {
    let plain = AuthConfig { policy: msctp_proto::AuthPolicy::Off, ..AuthConfig::default() };
    let mut pair = Pair::new(Config { auth: plain, ..Config::default() }, vec![b_ip(0)]);
    pair.connect(configs()[0].clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    let Some(Event::Lost(LossReason::ProtocolViolation { cause: 13, what })) = pair.a.events.last() else {
        panic!("{:?}", pair.a.events)
    };
    assert!(what.contains("does not speak AUTH"), "{what}");
    assert_eq!(pair.b.endpoint.len(), 0);
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# It MUST silently discard these chunks if they are not placed after an AUTH chunk in the packet.
#[test]
fn an_unsigned_abort_that_answers_an_init_is_accepted() {
    // No key is agreed before the INIT ACK: the peer cannot sign a rejection, and waiting for a signed one
    // would not help.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.b.endpoint.stop_listening(5001);
    pair.connect(configs()[0].clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(100));
    assert!(matches!(pair.a.events.last(), Some(Event::Lost(LossReason::NoListener))));
}

#[test]
fn chunks_of_an_observer_have_no_effect() {
    for config in configs() {
        let mut pair = up(&config);
        let (tag, peers) = (pair.tag_of(Side::B), pair.tag_of(Side::A));
        let log = pair.log.as_ref().unwrap();
        let next =
            log.iter().filter(|f| f.from == Side::A).filter_map(crate::support::Flight::tsn).max().unwrap()
                + 1;
        let asconf = [0xc1, 0, 0, 4];
        let causes = [Cause::UnrecognizedChunkType(&asconf)];
        let (error, forged) = (Error { causes: Causes::from(&causes) }, data(next, b"forged"));
        let shutdown = Shutdown { cum_tsn_ack: Tsn::new(0) };
        let chunks: [&dyn EncodeChunk; 5] = [&ABORT, &forged, &shutdown, &msctp_wire::ShutdownAck, &error];
        let events = pair.b.events.len();
        for chunk in chunks {
            for at in [Pair::at(Side::B), from(Side::B, ip(66, 6))] {
                let before = pair.log_len();
                pair.inject(Side::B, at, &packet(Side::B, tag, &[chunk]));
                assert_eq!(pair.log_len(), before, "silently");
            }
        }
        // RFC 4895 §6.3 has no exception for the T bit.
        let reflected = msctp_wire::Abort { tag_reflected: true, ..ABORT };
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, peers, &[&reflected]));
        assert_eq!(pair.b.events[events..], []);
        assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 11);
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
        pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    }
}

#[test]
fn the_peers_own_abort_and_shutdown_are_signed_and_accepted() {
    for config in configs() {
        let mut pair = up(&config);
        pair.with(Side::A, |a, now| a.abort(now, &msctp_proto::AbortReason::default()));
        pair.run_for(Span::from_millis(100));
        assert!(pair.b.saw(|event| matches!(event, Event::Lost(LossReason::PeerAborted { .. }))));
        let mut pair = up(&config);
        pair.send(Side::A, text_message("bye"));
        pair.with(Side::A, |a, now| a.shutdown(now));
        pair.run_for(Span::from_secs(1));
        assert!(pair.a.saw(|event| *event == Event::Closed) && pair.b.saw(|event| *event == Event::Closed));
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# the sender of the ASCONF MUST NOT send any further ASCONF Chunks and MUST stop its T-4 timer
#[test]
fn an_unsigned_error_does_not_end_address_changes() {
    // Also with the null key: AUTH is on, so ASCONF was announced.
    for auth in [AuthConfig::default(), keyed()] {
        let mut pair = up(&Config { auth, ..Config::default() });
        let tag = pair.tag_of(Side::A);
        let asconf = [0xc1, 0, 0, 4];
        let causes = [Cause::UnrecognizedChunkType(&asconf)];
        pair.inject(
            Side::A,
            Pair::at(Side::A),
            &packet(Side::A, tag, &[&Error { causes: Causes::from(&causes) }]),
        );
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
        pair.run_for(Span::from_secs(5));
        let request = msctp_proto::AddressRequest::Add(a_ip(1));
        assert!(pair.a.saw(|event| *event == Event::AddressChange { request, accepted: true }));
    }
}

#[test]
fn an_empty_key_protects_nothing_and_does_not_require_auth() {
    let null = AuthConfig { keys: vec![SharedKey { id: 0, secret: Vec::new() }], ..AuthConfig::default() };
    let mut pair = up(&Config { auth: null, ..Config::default() });
    let demanded = pair.with(Side::B, |b, _| b.local_auth_chunks().collect::<Vec<u8>>());
    assert!(!demanded.contains(&ChunkType::DATA.0), "{demanded:?}");
}

#[test]
fn an_unsigned_packet_with_the_right_tag_does_not_prove_where_the_peer_is() {
    // The outcome decides whether the UDP port of the packet's source is learnt (RFC 6951 §5.4).
    let outcome = |auth: AuthConfig| {
        let mut pair = up(&Config { auth, ..Config::default() });
        let tag = pair.tag_of(Side::B);
        let shutdown = Shutdown { cum_tsn_ack: Tsn::new(0) };
        let unsigned = pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&shutdown]));
        let before = pair.log_len();
        pair.send(Side::A, text_message("signed"));
        pair.run_for(Span::from_secs(1));
        let genuine = pair.sent_since(Side::A, before).remove(0);
        let signed = pair.inject(Side::B, Pair::at(Side::B), &genuine.bytes);
        [unsigned, signed].map(|outcome| matches!(outcome, DatagramOutcome::Association(_)))
    };
    assert_eq!(outcome(keyed()), [false, true]);
    assert_eq!(outcome(AuthConfig::default()), [true, true], "without keys the tag is the proof");
}

/// RFC 4895 has no protection against replays (§9): an old packet is a sign of life. It answers nothing, so
/// that HEARTBEATs without an answer end the association (RFC 9260 §8.1).
#[test]
fn known_limit_replays_put_off_the_idle_timeout_with_shared_keys() {
    for config in configs() {
        let config = Config { idle_timeout: Some(Span::from_secs(20)), ..config };
        let mut pair = up(&config);
        pair.transfer(Side::B, 5, 100, Span::from_secs(5));
        let old = pair.sent_since(Side::B, 0).pop().expect("a packet of B");
        pair.drop_if(|_| true);
        let began = pair.now;
        while !pair.a.saw(|event| matches!(event, Event::Lost(_))) {
            pair.inject(Side::A, Pair::at(Side::A), &old.bytes);
            pair.run_for(Span::from_secs(5));
            assert!(pair.now.since(began) < Span::from_secs(3600), "it ends");
        }
        assert!(
            pair.a.saw(|event| *event == Event::Lost(LossReason::PeerUnreachable)),
            "{:?}",
            pair.a.events
        );
        assert!(pair.now.since(began) > Span::from_secs(40));
    }
}
