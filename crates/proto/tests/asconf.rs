//! Addresses added, preferred and deleted under a transfer (RFC 5061), between two endpoints.

mod support;

use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{AddressRequest, CallError, Config, Event, PathState, PrimaryCause, TraceKind};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip, chunk};

fn traced() -> Config {
    Config { trace: true, ..Config::default() }
}

/// A mobile with one address, a server with one address reachable from everywhere.
fn mobile() -> Pair {
    Pair::established_with(traced(), traced(), vec![a_ip(0)], vec![b_ip(0)])
}

#[test]
fn add_switch_delete_under_a_transfer_loses_nothing() {
    let mut pair = mobile();
    let mut waiting = (0..3000).collect();
    pair.feed(Side::B, &mut waiting, 1000);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    let mut asked = false;
    let done = pair.run_until(Span::from_secs(120), |pair| {
        pair.feed(Side::B, &mut waiting, 1000);
        let added = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
        if !asked && pair.a.saw(|event| *event == added) && pair.a.received.len() > 1000 {
            asked = true;
            pair.with(Side::A, |a, now| {
                a.request_peer_primary(now, a_ip(1)).unwrap();
                a.remove_local_address(now, a_ip(0)).unwrap();
            });
        }
        pair.a.received.len() == 3000
    });
    assert!(done, "{} of 3000", pair.a.received.len());
    for (i, message) in pair.a.received.iter().enumerate() {
        assert_eq!(message.data[..4], (i as u32).to_be_bytes());
    }
    pair.run_for(Span::from_secs(5));
    let new = pair.path(Side::B, b_ip(0), a_ip(1));
    assert!(pair.b.saw(|e| *e == Event::PrimaryChanged { path: new, cause: PrimaryCause::Peer }));
    assert!(!pair.b.saw(|e| matches!(e, Event::PrimaryChanged { cause: PrimaryCause::Failover, .. })));
    let left: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(left, [a_ip(1)]);
    let left: Vec<_> = pair.with(Side::A, |a, _| a.paths().map(|path| path.at.local).collect());
    assert_eq!(left, [a_ip(1)]);
    assert!(
        pair.b.trace.iter().any(|e| matches!(e.kind, TraceKind::Primary { cause: PrimaryCause::Peer, .. }))
    );
}

#[test]
fn requests_survive_the_loss_of_any_chunk() {
    for lost in [chunk::ASCONF, chunk::ASCONF_ACK, chunk::HEARTBEAT, chunk::HEARTBEAT_ACK] {
        for from in [Side::A, Side::B] {
            let mut pair = mobile();
            pair.drop_first(from, lost, 1);
            pair.with(Side::A, |a, now| {
                a.add_local_address(now, a_ip(1)).unwrap();
                a.request_peer_primary(now, a_ip(1)).unwrap();
                a.remove_local_address(now, a_ip(0)).unwrap();
            });
            pair.run_for(Span::from_secs(30));
            for request in [
                AddressRequest::Add(a_ip(1)),
                AddressRequest::SetPrimary(a_ip(1)),
                AddressRequest::Delete(a_ip(0)),
            ] {
                let change = Event::AddressChange { request, accepted: true };
                assert_eq!(pair.a.events.iter().filter(|e| **e == change).count(), 1, "{lost} {from:?}");
            }
            pair.transfer(Side::B, 20, 500, Span::from_secs(10));
            pair.transfer(Side::A, 20, 500, Span::from_secs(10));
        }
    }
}

#[test]
fn an_unconfirmed_address_becomes_primary_only_after_its_heartbeat() {
    let mut pair = mobile();
    // B's heartbeats to the new address are lost for 2.5 s.
    let until = pair.now + Span::from_millis(2500);
    pair.drop_if(move |flight| {
        flight.sent < until
            && flight.from == Side::B
            && flight.at.remote == a_ip(1)
            && flight.has(chunk::HEARTBEAT)
    });
    pair.with(Side::A, |a, now| {
        a.add_local_address(now, a_ip(1)).unwrap();
        a.request_peer_primary(now, a_ip(1)).unwrap();
    });
    pair.run_for(Span::from_secs(2));
    let new = pair.path(Side::B, b_ip(0), a_ip(1));
    let primary = |pair: &mut Pair| pair.with(Side::B, |b, _| b.paths().find(|p| p.primary).map(|p| p.id));
    assert_ne!(primary(&mut pair), Some(new), "RFC 9260 §5.4: no data to an unconfirmed address");
    pair.run_for(Span::from_secs(8));
    assert_eq!(primary(&mut pair), Some(new));
    let at = |wanted: &dyn Fn(&TraceKind) -> bool| pair.b.trace.iter().position(|e| wanted(&e.kind)).unwrap();
    let confirmed =
        at(&|k| matches!(k, TraceKind::PathState { path, to: PathState::Active, .. } if *path == new));
    let switched = at(&|k| matches!(k, TraceKind::Primary { to, .. } if *to == new));
    assert!(confirmed < switched);
}

#[test]
fn an_address_can_be_added_over_the_new_link_when_the_old_one_is_dead() {
    let mut pair = mobile();
    pair.drop_if(|flight| flight.at.local == a_ip(0) || flight.at.remote == a_ip(0));
    pair.with(Side::A, |a, now| {
        a.link_event(now, LinkEvent { local: a_ip(0), state: LinkState::Down }).unwrap();
        a.add_local_address(now, a_ip(1)).unwrap();
        a.request_peer_primary(now, a_ip(1)).unwrap();
    });
    pair.run_for(Span::from_secs(20));
    pair.transfer(Side::B, 50, 500, Span::from_secs(20));
    pair.transfer(Side::A, 50, 500, Span::from_secs(20));
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_reason() {
    let mut pair = mobile();
    pair.with(Side::A, |a, now| {
        assert_eq!(a.add_local_address(now, a_ip(0)), Err(CallError::AddressExists(a_ip(0))));
        assert_eq!(a.remove_local_address(now, a_ip(0)), Err(CallError::LastAddress(a_ip(0))));
        assert_eq!(a.remove_local_address(now, a_ip(9)), Err(CallError::UnknownAddress(a_ip(9))));
        assert_eq!(a.request_peer_primary(now, a_ip(9)), Err(CallError::UnknownAddress(a_ip(9))));
        assert!(matches!(a.add_local_address(now, "224.0.0.1".parse().unwrap()), Err(CallError::Address(_))));
    });
    let mut early = Pair::new(Config::default(), vec![b_ip(0)]);
    early.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    let result = early.with(Side::A, |a, now| a.add_local_address(now, a_ip(1)));
    assert!(matches!(result, Err(CallError::WrongState { .. })));
}
