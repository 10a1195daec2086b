//! Recorded packets of the mobile, replayed: the same serial number gets the cached answer and changes
//! nothing, an old one gets none (RFC 5061 §5.2 E2, E5).

use msctp_proto::{AuthConfig, Config, DatagramOutcome, Event, PathAddr};
use msctp_units::Span;

use crate::attacks::stranger::keyed;
use crate::attacks::victim::{seen, unmoved, victims};
use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk, ip, reseal, text_message};

fn replay(pair: &mut Pair, bytes: &[u8], from: core::net::IpAddr) -> usize {
    let sent = pair.log_len();
    pair.inject(Side::B, PathAddr { local: b_ip(0), remote: from }, bytes);
    pair.log_len() - sent
}

#[test]
fn the_same_request_is_answered_from_the_cache() {
    let mut pair = victims(AuthConfig::default());
    unmoved(&mut pair, |pair| {
        let asconf = seen(pair, chunk::ASCONF);
        for _ in 0..20 {
            assert_eq!(replay(pair, &asconf.bytes, a_ip(0)), 1);
            assert!(pair.log.as_ref().unwrap().last().unwrap().has(chunk::ASCONF_ACK));
        }
        pair.run_for(Span::from_secs(5));
    });
}

#[test]
fn an_old_request_is_dropped_even_if_it_could_be_applied() {
    let mut pair = victims(AuthConfig::default());
    let add = seen(&pair, chunk::ASCONF);
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let delete = seen(&pair, chunk::ASCONF);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    unmoved(&mut pair, |pair| {
        for old in [&add, &delete, &add] {
            for from in [a_ip(0), a_ip(1), "198.51.100.7".parse().unwrap()] {
                assert_eq!(replay(pair, &old.bytes, from), 0, "E5: silently");
            }
        }
    });
}

#[test]
fn a_recording_of_another_association_is_ignored() {
    let first = victims(AuthConfig::default());
    let asconf = seen(&first, chunk::ASCONF);
    // The same addresses and ports, other tags and Random Numbers.
    let mut pair = Pair::new(crate::attacks::victim::config(AuthConfig::default()), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let mut fresh = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [42; 32]).unwrap();
    core::mem::swap(&mut pair.a.endpoint, &mut fresh);
    pair.connect(crate::attacks::victim::config(AuthConfig::default()), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    let tag = pair.tag_of(Side::B).to_be_bytes();
    let mut bytes = asconf.bytes;
    bytes[4..8].copy_from_slice(&tag);
    reseal(&mut bytes);
    assert_eq!(replay(&mut pair, &bytes, a_ip(0)), 0);
    assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 1);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
}

#[test]
fn a_replayed_session_sets_up_no_association_within_the_cookies_life() {
    for auth in [AuthConfig::default(), keyed()] {
        let config = Config { auth, ..Config::mobile() };
        let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
        pair.send(Side::A, text_message("pay 100 to X"));
        pair.run_for(Span::from_secs(2));
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
        pair.run_for(Span::from_secs(2));
        pair.with(Side::A, |a, now| a.shutdown(now));
        pair.run_for(Span::from_secs(35));
        assert_eq!(pair.b.endpoint.len(), 0, "the association is over");
        let recording: Vec<Flight> = pair.sent_since(Side::A, 0);
        pair.b.events.clear();
        pair.drop_if(|_| true);
        let read = pair.b.received.len();
        for flight in recording.iter().filter(|flight| !flight.has(chunk::INIT)) {
            for from in [a_ip(0), ip(66, 6)] {
                let outcome = pair.inject(Side::B, PathAddr { local: b_ip(0), remote: from }, &flight.bytes);
                assert!(!matches!(outcome, DatagramOutcome::Accepted(_)), "{outcome:?}");
            }
        }
        assert_eq!((pair.b.endpoint.len(), pair.b.received.len()), (0, read));
        assert_eq!(pair.b.events, Vec::<Event>::new());
    }
}

#[test]
fn the_cookie_of_a_restart_is_invalidated_too() {
    let mut pair = victims(AuthConfig::default());
    let fresh = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [42; 32]).unwrap();
    pair.a.endpoint = fresh;
    let before = pair.log_len();
    pair.connect(crate::attacks::victim::config(AuthConfig::default()), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    assert!(pair.b.saw(|event| *event == Event::Restarted));
    let echo = pair.sent_since(Side::A, before).into_iter().find(|f| f.has(chunk::COOKIE_ECHO)).unwrap();
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(5));
    assert_eq!(pair.b.endpoint.len(), 0);
    assert_eq!(pair.inject(Side::B, Pair::at(Side::B), &echo.bytes), DatagramOutcome::Replied);
    assert_eq!(pair.b.endpoint.len(), 0, "an ABORT for a peer that missed the end");
}
