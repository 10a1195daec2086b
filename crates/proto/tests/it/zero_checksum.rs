//! Packets without a checksum (RFC 9653): only if both ends announced it, and never INIT or COOKIE ECHO.

use crate::support;

use msctp_proto::{AssociationState as State, Config, OfferConfig};
use msctp_units::Span;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk};

fn config(lower_layer_protects: bool) -> Config {
    Config { offer: OfferConfig { lower_layer_protects, ..OfferConfig::default() }, ..Config::default() }
}

fn has_none(flight: &Flight) -> bool {
    flight.bytes[8..12] == [0; 4]
}

fn up(a: bool, b: bool) -> Pair {
    let mut pair = Pair::new(config(b), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config(a), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
    pair
}

#[test]
fn both_ends_omit_the_checksum_once_the_association_is_up() {
    let mut pair = up(true, true);
    let log = pair.log_len();
    pair.transfer(Side::A, 50, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 50, 1000, Span::from_secs(5));
    assert!(pair.log.as_ref().unwrap()[log..].iter().all(has_none));
    let set_up =
        |f: &&Flight| [chunk::INIT, chunk::INIT_ACK, chunk::COOKIE_ECHO].iter().any(|&typ| f.has(typ));
    let log = pair.log.as_ref().unwrap();
    assert!(log.iter().filter(set_up).all(|flight| !has_none(flight)), "RFC 9653 §5.2");
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(1));
    assert_eq!((pair.a.endpoint.len(), pair.b.endpoint.len()), (0, 0));
}

#[test]
fn an_end_without_the_option_gets_checksums_and_accepts_nothing_else() {
    for (a, b) in [(true, false), (false, true), (false, false)] {
        let mut pair = up(a, b);
        pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        assert!(!pair.log.as_ref().unwrap().iter().any(has_none), "{a} {b}");
        // Packets without one are dropped by an end that did not announce to accept them.
        let deaf = if a { Side::B } else { Side::A };
        pair.filter = Box::new(|flight| {
            flight.bytes[8..12].fill(0);
            Fate::Pass
        });
        let before = pair.host(deaf).received.len();
        pair.send(deaf.other(), support::text_message("without"));
        pair.run_for(Span::from_millis(500));
        assert_eq!(pair.host(deaf).received.len(), before);
    }
}

#[test]
fn a_wrong_checksum_or_none_on_a_cookie_echo_is_rejected() {
    // RFC 9653 §5.3.
    let mut pair = up(true, true);
    pair.filter = Box::new(|flight| {
        flight.bytes[8] = 1;
        Fate::Pass
    });
    pair.send(Side::A, support::text_message("damaged"));
    pair.run_for(Span::from_millis(500));
    assert!(pair.b.received.is_empty());
    let mut pair = Pair::new(config(true), vec![b_ip(0)]);
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::COOKIE_ECHO) {
            flight.bytes[8..12].fill(0);
        }
        Fate::Pass
    });
    pair.connect(config(true), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.endpoint.len(), 0);
}
