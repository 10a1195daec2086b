//! One of A's networks is dead, and B does not know it yet. An observer sends a copy of each packet of A
//! first, from A's address there: no answer may go there alone.

use msctp_proto::{AddressRequest, Event, PathAddr, StreamRequest};
use msctp_units::Span;

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, message, text_message};

/// Returns a pair whose B sends to A's network 0, which is dead. A uses network 1.
fn dead_network(copies: bool) -> Pair {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(psk(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    let working = pair.path(Side::A, a_ip(1), b_ip(0));
    pair.with(Side::A, |a, now| a.set_primary(now, working)).unwrap();
    let primary = pair.with(Side::B, |b, _| b.paths().find(|path| path.primary).unwrap().at.remote);
    assert_eq!(primary, a_ip(0));
    pair.filter = Box::new(dead);
    pair.copied_from = copies.then(|| a_ip(0));
    pair
}

fn dead(flight: &mut Flight) -> Fate {
    if flight.at.local == a_ip(0) || flight.at.remote == a_ip(0) { Fate::Drop } else { Fate::Pass }
}

fn assert_alive(pair: &Pair) {
    for host in [&pair.a, &pair.b] {
        assert!(!host.saw(|event| matches!(event, Event::Lost(_))), "{:?}", host.events);
    }
}

#[test]
fn data_behind_copies_from_a_dead_network_is_acknowledged() {
    let [alone, copied] = [false, true].map(|copies| {
        let mut pair = dead_network(copies);
        let began = pair.now;
        pair.transfer(Side::A, 200, 1000, Span::from_secs(20));
        let took = pair.now.since(began);
        // Also a single message, whose SACK is delayed.
        for _ in 0..5 {
            pair.transfer(Side::A, 1, 100, Span::from_secs(1));
            pair.run_for(Span::from_secs(1));
            assert_eq!(pair.with(Side::A, |a, _| a.buffered()), 0, "copies: {copies}");
        }
        let stats = pair.with(Side::A, |a, _| a.paths().find(|path| path.at.local == a_ip(1)).unwrap());
        assert_eq!((stats.timeouts, stats.error_count), (0, 0), "copies: {copies}, {stats:?}");
        assert_alive(&pair);
        took
    });
    assert!(copied <= alone + Span::from_millis(100), "{copied} instead of {alone}");
}

/// Only HEARTBEATs.
#[test]
fn an_idle_association_behind_copies_from_a_dead_network_lives() {
    let mut pair = dead_network(true);
    pair.run_for(Span::from_secs(1200));
    assert_alive(&pair);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(10));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(10));
}

/// A's path that works counts no error although B's answers to the copies get lost.
#[test]
fn a_heartbeat_behind_copies_from_a_dead_network_is_answered() {
    let mut pair = dead_network(true);
    let path = pair.path(Side::A, a_ip(1), b_ip(0));
    pair.with(Side::A, |a, now| a.request_heartbeat(now, path)).unwrap();
    let (mut errors, end) = (0, pair.now + Span::from_secs(3));
    while pair.step(end) {
        let of_path = |a: &mut msctp_proto::Association| a.paths().find(|stats| stats.id == path).unwrap();
        errors = errors.max(pair.with(Side::A, |a, _| of_path(a)).error_count);
    }
    assert_eq!(errors, 0);
}

#[test]
fn requests_behind_copies_from_a_dead_network_are_answered_at_once() {
    let mut pair = dead_network(true);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).unwrap();
    let added = |event: &Event| {
        *event == Event::AddressChange { request: AddressRequest::Add(a_ip(2)), accepted: true }
    };
    assert!(pair.run_until(Span::from_millis(100), |pair| pair.a.saw(added)), "{:?}", pair.a.events);
    let before = pair.a.events.len();
    pair.with(Side::A, |a, now| a.reconfigure(now, StreamRequest::ResetOutgoing(vec![1]))).unwrap();
    let settled = |pair: &mut Pair| pair.a.events[before..].iter().any(|e| matches!(e, Event::Streams(_)));
    assert!(pair.run_until(Span::from_millis(100), settled), "{:?}", pair.a.events);
}

#[test]
fn a_shutdown_behind_copies_from_a_dead_network_ends_gracefully() {
    for side in [Side::A, Side::B] {
        let mut pair = dead_network(true);
        pair.send(side, text_message("the last one"));
        pair.with(side, |one, now| one.shutdown(now));
        pair.run_for(Span::from_secs(60));
        for host in [&pair.a, &pair.b] {
            assert!(host.saw(|event| *event == Event::Closed), "{side:?}: {:?}", host.events);
        }
    }
}

/// An attacker replays packets from the dead network without overtaking any: SACKs still go to A, and each
/// replay draws at most one packet.
#[test]
fn replays_from_a_dead_network_draw_few_packets_and_no_answer_away() {
    let mut pair = dead_network(false);
    let (began, before) = (pair.log_len(), pair.b.received.len());
    let (mut replayed, at) = (0, PathAddr { local: b_ip(0), remote: a_ip(0) });
    for n in 0..50 {
        pair.send(Side::A, message(0, vec![n; 500]));
        let genuine = pair.sent_since(Side::A, 0).pop().unwrap();
        while pair.b.received.len() == before + usize::from(n) {
            pair.run_for(Span::from_millis(1));
        }
        for _ in 0..10 {
            replayed += 1;
            pair.inject(Side::B, at, &genuine.bytes);
        }
        pair.run_for(Span::from_millis(10));
    }
    let there = pair.sent_since(Side::B, began).iter().filter(|flight| flight.at.remote == a_ip(0)).count();
    // B's own HEARTBEATs beside them.
    assert!(there <= replayed + 5, "{there} packets for {replayed} replays");
    let stats = pair.with(Side::A, |a, _| a.paths().find(|path| path.at.local == a_ip(1)).unwrap());
    assert_eq!((stats.timeouts, stats.error_count), (0, 0), "{stats:?}");
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.with(Side::A, |a, _| a.buffered()), 0);
}

/// An observer copies the ASCONF that deletes the dead address, from there: RFC 5061 §5.3 F8 refuses to
/// delete the source of the packet.
#[test]
fn a_copy_from_the_deleted_address_does_not_prevent_its_deletion() {
    let mut pair = dead_network(true);
    let request = AddressRequest::Delete(a_ip(0));
    let before = pair.log_len();
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    let sealed = pair.sent_since(Side::A, before).pop().unwrap();
    for _ in 0..5 {
        pair.inject(Side::B, PathAddr { local: b_ip(0), remote: a_ip(0) }, &sealed.bytes);
    }
    let done = |pair: &mut Pair| pair.a.saw(|event| matches!(event, Event::AddressChange { .. }));
    assert!(pair.run_until(Span::from_secs(5), done));
    assert!(
        pair.a.saw(|event| *event == Event::AddressChange { request, accepted: true }),
        "{:?}",
        pair.a.events
    );
    let remotes: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(remotes, [a_ip(1)]);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// A peer that does ask from the address to be deleted is refused all the same: its retransmissions are
/// answered.
#[test]
fn a_deletion_of_its_own_source_is_refused_at_last() {
    let mut pair = dead_network(false);
    pair.copied_from = None;
    // All that A sends seems to come from network 0, which works.
    pair.filter = Box::new(|flight: &mut Flight| {
        match flight.from {
            Side::A => flight.at.local = a_ip(0),
            Side::B => flight.at.remote = a_ip(1),
        }
        Fate::Pass
    });
    let request = AddressRequest::Delete(a_ip(0));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    pair.run_for(Span::from_secs(20));
    assert!(
        pair.a.saw(|event| *event == Event::AddressChange { request, accepted: false }),
        "{:?}",
        pair.a.events
    );
}

/// The same from an address of the observer with the request to keep only the source of the packet.
#[test]
fn a_copy_from_an_observers_address_does_not_prevent_a_cleanup() {
    let mut pair = dead_network(true);
    pair.copied_from = Some(core::net::IpAddr::from([10, 9, 0, 9]));
    let request = AddressRequest::KeepOnly(a_ip(1));
    pair.with(Side::A, |a, now| a.keep_only_address(now, a_ip(1))).unwrap();
    let accepted = |event: &Event| *event == Event::AddressChange { request, accepted: true };
    assert!(pair.run_until(Span::from_secs(5), |pair| pair.a.saw(accepted)), "{:?}", pair.a.events);
    let remotes: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(remotes, [a_ip(1)]);
}

/// The same from the dead address, which the peer lists: "the source of the packet" is the other one.
#[test]
fn a_copy_from_a_dead_network_does_not_keep_that_alone() {
    let mut pair = dead_network(true);
    let request = AddressRequest::KeepOnly(a_ip(1));
    let before = pair.log_len();
    pair.with(Side::A, |a, now| a.keep_only_address(now, a_ip(1))).unwrap();
    let sealed = pair.sent_since(Side::A, before).pop().unwrap();
    for _ in 0..5 {
        pair.inject(Side::B, PathAddr { local: b_ip(0), remote: a_ip(0) }, &sealed.bytes);
    }
    let accepted = |event: &Event| *event == Event::AddressChange { request, accepted: true };
    assert!(pair.run_until(Span::from_secs(5), |pair| pair.a.saw(accepted)), "{:?}", pair.a.events);
    let remotes: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(remotes, [a_ip(1)]);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// A client proves its keys to the server that accepts its COOKIE ECHO. A copy of the COOKIE ACK comes first,
/// from an address of the observer.
#[test]
fn a_copy_of_the_cookie_ack_delays_no_proof_of_the_keys() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let answered =
        |pair: &mut Pair| pair.sent_since(Side::B, 0).iter().any(|flight| flight.chunks()[0] == 0x41);
    assert!(pair.run_until(Span::from_secs(1), answered));
    let observer = core::net::IpAddr::from([10, 9, 0, 9]);
    let sealed = pair.sent_since(Side::B, 0).pop().unwrap();
    pair.inject(Side::A, PathAddr { local: a_ip(0), remote: observer }, &sealed.bytes);
    pair.run_for(Span::from_millis(500));
    assert!(pair.b.saw(|event| *event == Event::Protected), "{:?}", pair.b.events);
}

/// B sends to the dead network. Copies from there are no sign of its life: B leaves it as soon as without.
#[test]
fn copies_from_a_dead_network_do_not_keep_data_there() {
    let [alone, copied] = [false, true].map(|copies| {
        let mut pair = dead_network(false);
        pair.pass_all();
        let mut waiting = (0..4000).collect();
        pair.feed(Side::B, &mut waiting, 1000);
        assert!(pair.run_until(Span::from_secs(5), |pair| pair.a.received.len() > 300));
        pair.filter = Box::new(dead);
        pair.copied_from = copies.then(|| a_ip(0));
        // What is in flight arrives.
        pair.run_for(Span::from_millis(50));
        let (began, before) = (pair.now, pair.a.received.len());
        while pair.a.received.len() == before {
            pair.feed(Side::B, &mut waiting, 1000);
            // A's own packets are copied.
            pair.send(Side::A, message(0, vec![1; 100]));
            pair.run_for(Span::from_millis(20));
            assert!(pair.now.since(began) < Span::from_secs(20));
        }
        pair.now.since(began)
    });
    assert!(copied <= alone + Span::from_millis(300), "{copied} instead of {alone}");
}
