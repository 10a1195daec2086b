//! Cookies that are forged, changed, replayed or expired. `handshake` tests that a changed or expired one
//! makes no association; these tests have an existing one.

use msctp_proto::{AssociationState as State, Config, DatagramOutcome, EndpointConfig, IgnoreReason};
use msctp_units::Span;
use msctp_wire::Param;

use crate::attacks::stranger::{ask, echo, from, init_ack};
use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk, ip, reseal};

/// Returns an established pair and the COOKIE ECHO of its set-up.
fn up() -> (Pair, Vec<u8>) {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    let echo = pair.sent_since(Side::A, 0).into_iter().find(|f| f.has(chunk::COOKIE_ECHO)).unwrap().bytes;
    (pair, echo)
}

#[test]
fn a_replayed_cookie_changes_nothing_of_its_association() {
    // RFC 9260 §5.2.4 D.
    let (mut pair, echo) = up();
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    let events = pair.b.events.len();
    for wait in [0, 10, 55, 3600] {
        pair.run_for(Span::from_secs(wait));
        let log = pair.log_len();
        pair.inject(Side::B, Pair::at(Side::B), &echo);
        let answer = pair.sent_since(Side::B, log);
        assert!(answer.len() <= 1 && answer.iter().all(|f| f.chunks() == [chunk::COOKIE_ACK]), "{answer:?}");
    }
    assert_eq!((pair.b.state(), pair.b.events.len()), (Some(State::Established), events));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    assert_eq!(pair.b.endpoint.len(), 1);
}

#[test]
fn a_cookie_with_any_bit_changed_does_not_affect_an_established_association() {
    let (mut pair, echo) = up();
    let events = pair.b.events.len();
    // The padding after the chunk has no meaning.
    let chunk_len = usize::from(u16::from_be_bytes([echo[14], echo[15]]));
    for bit in 12 * 8..(12 + chunk_len) * 8 {
        let mut changed = echo.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        reseal(&mut changed);
        let log = pair.log_len();
        pair.inject(Side::B, Pair::at(Side::B), &changed);
        let cookie_was_hit = bit >= 16 * 8;
        if cookie_was_hit {
            let answer = pair.sent_since(Side::B, log);
            assert!(answer.iter().all(|f| !f.has(chunk::COOKIE_ACK)), "bit {bit}");
        }
    }
    assert_eq!((pair.b.state(), pair.b.events.len()), (Some(State::Established), events));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
}

#[test]
fn a_cookie_replayed_to_another_port_or_endpoint_makes_no_association() {
    // RFC 9260 §5.1.5 steps 1 and 2.
    let (_, echo) = up();
    let mut stranger = Pair::new(Config::default(), vec![b_ip(0)]);
    // The same seed gives the same secret, until another one is drawn.
    stranger.run_for(Span::from_secs(7200));
    let mut other = echo.clone();
    other[2..4].copy_from_slice(&5002u16.to_be_bytes());
    reseal(&mut other);
    let outcome = stranger.inject(Side::B, Pair::at(Side::B), &other);
    assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::BadCookie));
    assert_eq!(stranger.b.endpoint.len(), 0);
}

// RFC 9260 §5.2.6: the Stale Cookie Error is the only answer to an expired cookie.
#[test]
fn stale_cookies_from_forged_addresses_are_no_amplifier() {
    let limit = EndpointConfig::default().max_replies_per_second as usize;
    for with_association in [false, true] {
        let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let of_peer = Pair::at(Side::B);
        if with_association {
            pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
            pair.run_for(Span::from_secs(1));
        }
        let cookie = init_ack(&ask(&mut pair, Side::B, of_peer, &[])).unwrap();
        pair.now += Span::from_secs(3600);
        pair.drain(Side::B);
        let before = pair.log_len();
        for n in 0..2 * limit {
            // The peer's address identifies an existing association.
            let at = if with_association { of_peer } else { from(Side::B, ip(66, n as u8)) };
            echo(&mut pair, Side::B, at, &cookie, &[]);
        }
        let answers = pair.sent_since(Side::B, before);
        let answers: Vec<_> = answers.iter().filter(|flight| !flight.has(chunk::HEARTBEAT)).collect();
        assert!(!answers.is_empty() && answers.len() <= limit, "{} answers", answers.len());
        let asked = 12 + 4 + cookie.1.len();
        for answer in answers {
            assert_eq!(answer.chunks(), [chunk::ERROR]);
            assert!(answer.bytes.len() * 3 < asked, "{} bytes for {asked}", answer.bytes.len());
        }
        assert_eq!(pair.b.endpoint.len(), usize::from(with_association));
    }
}

// RFC 9260 §5.4: a COOKIE ACK goes to an unconfirmed source (§6.4) only with a HEARTBEAT, and never exceeds
// three times the received bytes.
#[test]
fn cookies_echoed_from_forged_addresses_are_not_amplified() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let listed = [Param::from(ip(66, 1))];
    let own = Pair::at(Side::B);
    let cookie = init_ack(&ask(&mut pair, Side::B, own, &listed)).unwrap();
    let before = pair.log_len();
    let echo_len = 12 + 4 + cookie.1.len();
    // One victim is listed, the other is not.
    let victims = [ip(66, 1), ip(66, 2)];
    for victim in [victims, victims].concat() {
        echo(&mut pair, Side::B, from(Side::B, victim), &cookie, &[]);
    }
    pair.run_for(Span::from_millis(500));
    let sent = pair.sent_since(Side::B, before);
    assert!(sent.iter().any(|flight| flight.has(chunk::COOKIE_ACK) && flight.at.remote == own.remote));
    for victim in victims {
        let to_victim: Vec<_> = sent.iter().filter(|flight| flight.at.remote == victim).collect();
        let bytes: usize = to_victim.iter().map(|flight| flight.bytes.len()).sum();
        assert!(bytes <= 3 * 2 * echo_len, "{bytes} bytes for {}", 2 * echo_len);
        let verifies = |flight: &&Flight| {
            [&[chunk::HEARTBEAT][..], &[chunk::COOKIE_ACK, chunk::HEARTBEAT]].contains(&&flight.chunks()[..])
        };
        assert!(to_victim.iter().all(verifies), "{to_victim:?}");
    }
}
