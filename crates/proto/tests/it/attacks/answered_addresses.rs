//! An observer that sees all packets answers for any address: it replays a packet from there, and passes the
//! HEARTBEAT that asks the address on to the peer, which answers it.

use std::net::IpAddr;

use msctp_proto::{Config, DatagramOutcome, Event, PathAddr, PathUse};
use msctp_units::Span;

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message, reseal, text_message};

/// An address at which the peer is not.
fn victim(n: u8) -> IpAddr {
    IpAddr::from([198, 51, 100, n])
}

fn is_victim(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets()[..3] == [198, 51, 100])
}

/// Returns an association for which an observer has answered at this many addresses of A.
fn observed(config: &Config, locals: Vec<IpAddr>, count: u8) -> Pair {
    let mut pair = Pair::established_with(config.clone(), config.clone(), locals, vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pass_on(&mut pair, a_ip(0), |_| false);
    for n in 0..count {
        pair.send(Side::A, text_message("observed"));
        let copy = pair.log.as_ref().unwrap().last().unwrap().bytes.clone();
        pair.run_for(Span::from_secs(2));
        pair.inject(Side::B, PathAddr { local: b_ip(0), remote: victim(n) }, &copy);
        pair.run_for(Span::from_secs(2));
    }
    pair
}

/// The observer passes on to A what is as short as a HEARTBEAT. `lost` packets do not arrive.
fn pass_on(pair: &mut Pair, to: IpAddr, lost: impl Fn(&Flight) -> bool + 'static) {
    pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.from == Side::B && is_victim(flight.at.remote) && flight.bytes.len() < 200 {
            flight.at.remote = to;
        }
        if lost(flight) || is_victim(flight.at.remote) { Fate::Drop } else { Fate::Pass }
    });
}

/// The owner of the address calls with the same ports: it must get an association of its own.
#[test]
fn an_address_that_an_observer_answered_for_keeps_nobody_out() {
    let mut pair = observed(&psk(), vec![a_ip(0)], 1);
    // An INIT of another host: as A's, with another tag.
    let mut other = Pair::new(psk(), vec![b_ip(0)]);
    other.log = Some(Vec::new());
    other.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let mut init = other.log.as_ref().unwrap()[0].bytes.clone();
    init[16] ^= 1;
    reseal(&mut init);
    let before = pair.log_len();
    let at = PathAddr { local: b_ip(0), remote: victim(0) };
    let outcome = pair.inject(Side::B, at, &init);
    let answers = pair.sent_since(Side::B, before);
    assert!(
        answers.iter().any(|answer| answer.at == PathAddr { local: b_ip(0), remote: victim(0) }
            && answer.has(chunk::INIT_ACK)),
        "{outcome:?}: {:?}",
        answers.iter().map(Flight::chunks).collect::<Vec<_>>()
    );
    assert_eq!(outcome, DatagramOutcome::Replied);
}

/// The peer moves to another network when its old one is gone. Addresses of the observer take no room.
#[test]
fn addresses_that_an_observer_answered_for_prevent_no_move() {
    let mut pair = observed(&psk(), vec![a_ip(0)], 20);
    assert!(victims(&mut pair) <= 4);
    pass_on(&mut pair, a_ip(1), |flight| [flight.at.local, flight.at.remote].contains(&a_ip(0)));
    pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
    pair.run_for(Span::from_secs(5));
    let accepted = |event: &Event| matches!(event, Event::AddressChange { accepted: true, .. });
    assert!(pair.a.saw(accepted), "{:?}", pair.a.events);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(20));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(20));
}

/// As many addresses as an association has room for are the peer's own: those of the observer give way.
#[test]
fn addresses_that_an_observer_answered_for_leave_room_for_the_peers() {
    let mut pair = observed(&psk(), (0..12).map(a_ip).collect(), 20);
    assert!((1..=4).contains(&victims(&mut pair)));
    for n in 12..16 {
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(n))).unwrap();
        pair.run_for(Span::from_secs(2));
    }
    let refused = |event: &Event| matches!(event, Event::AddressChange { accepted: false, .. });
    assert!(!pair.a.saw(refused), "{:?}", pair.a.events);
    assert_eq!(victims(&mut pair), 0);
    let known = pair.with(Side::B, |b, _| (0..16).all(|n| b.paths().any(|path| path.at.remote == a_ip(n))));
    assert!(known);
}

/// Data that is striped over all networks, or copied to each, does not go where the peer may not be.
#[test]
fn an_address_that_an_observer_answered_for_gets_no_share_of_the_data() {
    for path_use in [PathUse::Aggregate, PathUse::Redundant] {
        let config = Config { paths: path_use, ..psk() };
        let mut pair = observed(&config, vec![a_ip(0), a_ip(1)], 3);
        assert_eq!(victims(&mut pair), 3);
        let before = pair.log_len();
        pair.transfer(Side::B, 500, 1000, Span::from_secs(20));
        for _ in 0..50 {
            pair.send(Side::B, text_message("short"));
            pair.run_for(Span::from_millis(50));
        }
        let sent = pair.sent_since(Side::B, before);
        let to_victims = sent.iter().filter(|flight| is_victim(flight.at.remote));
        let bytes: usize = to_victims.map(|flight| flight.bytes.len()).sum();
        assert!(bytes < 20_000, "{path_use:?}: {bytes} bytes");
    }
}

/// Data and its tail loss probe are lost: it is not retransmitted where the peer may not be.
#[test]
fn nothing_is_retransmitted_to_an_address_that_an_observer_answered_for() {
    // After T3-rtx the path may still be used.
    let config = Config { protection: psk().protection, ..Config::default() };
    let mut pair = observed(&config, vec![a_ip(0)], 4);
    assert_eq!(victims(&mut pair), 4);
    let (began, before, log) = (pair.now, pair.a.received.len(), pair.log_len());
    pass_on(&mut pair, a_ip(0), move |flight| {
        flight.from == Side::B && flight.bytes.len() > 200 && flight.sent < began + Span::from_millis(500)
    });
    pair.send(Side::B, message(0, vec![7; 1000]));
    assert!(pair.run_until(Span::from_secs(30), |pair| pair.a.received.len() > before));
    let sent = pair.sent_since(Side::B, log);
    let astray = sent.iter().filter(|flight| is_victim(flight.at.remote) && flight.bytes.len() > 1000);
    let took = pair.now.since(began);
    assert!(astray.count() == 0 && took < Span::from_millis(1500), "{took}");
}

/// The observer also sends a copy of each packet first, from its address, and passes on HEARTBEATs only: what
/// is answered there is answered where the genuine packets come from.
#[test]
fn copies_from_an_address_that_an_observer_answered_for_stop_nothing() {
    let mut pair = observed(&psk(), vec![a_ip(0)], 1);
    let is_to_victim = |flight: &&Flight| is_victim(flight.at.remote);
    let asked = pair.log.as_ref().unwrap().iter().find(is_to_victim).unwrap().bytes.len();
    pair.copied_from = Some(victim(0));
    pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.from == Side::B && is_victim(flight.at.remote) && flight.bytes.len() == asked {
            flight.at.remote = a_ip(0);
        }
        if is_victim(flight.at.remote) { Fate::Drop } else { Fate::Pass }
    });
    for _ in 0..5 {
        pair.transfer(Side::A, 200, 1000, Span::from_secs(3));
        pair.transfer(Side::B, 200, 1000, Span::from_secs(3));
        pair.run_for(Span::from_secs(40));
    }
    assert_eq!(victims(&mut pair), 1);
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(5));
    assert!(pair.a.saw(|event| *event == Event::Closed) && pair.b.saw(|event| *event == Event::Closed));
}

/// Returns how many addresses of the observer are the peer's for B.
fn victims(pair: &mut Pair) -> usize {
    pair.with(Side::B, |b, _| b.paths().filter(|path| is_victim(path.at.remote)).count())
}
