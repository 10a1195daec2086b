//! Cookies that are forged, changed, replayed or too old. That a changed or old one makes no association is in `handshake`; here:
//! what they do to one that is there.

use msctp_proto::{AssociationState as State, Config, DatagramOutcome, IgnoreReason};
use msctp_units::Span;

use crate::support::{Pair, Side, a_ip, b_ip, chunk};

/// A pair that is up, with the COOKIE ECHO that set it up.
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
    // RFC 9260 §5.2.4 D
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
fn a_cookie_with_any_bit_changed_does_nothing_to_an_association_that_is_up() {
    let (mut pair, echo) = up();
    let events = pair.b.events.len();
    // Behind the chunk is its padding, which is nobody's.
    let chunk_len = usize::from(u16::from_be_bytes([echo[14], echo[15]]));
    for bit in 12 * 8..(12 + chunk_len) * 8 {
        let mut changed = echo.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // The attacker makes the checksum right.
        changed[8..12].fill(0);
        let crc = msctp_wire::crc32c(&changed);
        changed[8..12].copy_from_slice(&crc.to_le_bytes());
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
    // RFC 9260 §5.1.5 steps 1 and 2
    let (_, echo) = up();
    let mut stranger = Pair::new(Config::default(), vec![b_ip(0)]);
    // The same seed gives the same secret: one that has drawn from it since has another.
    stranger.run_for(Span::from_secs(7200));
    let mut other = echo.clone();
    other[2..4].copy_from_slice(&5002u16.to_be_bytes());
    other[8..12].fill(0);
    let crc = msctp_wire::crc32c(&other);
    other[8..12].copy_from_slice(&crc.to_le_bytes());
    let outcome = stranger.inject(Side::B, Pair::at(Side::B), &other);
    assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::BadCookie));
    assert_eq!(stranger.b.endpoint.len(), 0);
}
