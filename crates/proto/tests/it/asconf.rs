//! Addresses added, preferred and deleted during a transfer (RFC 5061), between two endpoints.

use crate::support;

use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{AddressRequest, CallError, Config, Event, PathState, PrimaryCause, TraceKind};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip, chunk};

fn traced() -> Config {
    Config { trace: true, ..Config::default() }
}

/// Creates a mobile with one address and a server with one address that all networks reach.
fn mobile() -> Pair {
    Pair::established_with(traced(), traced(), vec![a_ip(0)], vec![b_ip(0)])
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# address, the endpoint MUST consider the address no longer part of the association.
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

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# MUST NOT be used as a source address for any subsequent packets
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# An endpoint MUST NOT set an IP header source address for an SCTP packet holding the ASCONF Chunk to be the
//# same as an address being deleted by the ASCONF Chunk.
#[test]
fn no_packet_is_sent_from_a_deleted_address() {
    // RFC 5061 §5.3: from the request on, the address is no source except for packets that only it can send.
    // After the acknowledgement it is never a source.
    let mut pair = Pair::established_with(traced(), traced(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let mut waiting: std::collections::VecDeque<u32> = (0..2000).collect();
    pair.feed(Side::A, &mut waiting, 1000);
    pair.run_for(Span::from_millis(100));
    // The ASCONF-ACK is lost: the request is retransmitted, not from the address under deletion.
    pair.drop_first(Side::B, chunk::ASCONF_ACK, 1);
    let asked = pair.log_len();
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    let deleted = Event::AddressChange { request: AddressRequest::Delete(a_ip(0)), accepted: true };
    assert!(pair.run_until(Span::from_secs(10), |pair| {
        pair.feed(Side::A, &mut waiting, 1000);
        pair.a.saw(|event| *event == deleted)
    }));
    let requests: Vec<_> =
        pair.sent_since(Side::A, asked).into_iter().filter(|f| f.has(chunk::ASCONF)).collect();
    assert!(requests.len() >= 2 && requests.iter().all(|f| f.at.local == a_ip(1)), "{}", requests.len());
    let answered = pair.log_len();
    waiting.extend(2000..4000);
    pair.run_until(Span::from_secs(60), |pair| {
        pair.feed(Side::A, &mut waiting, 1000);
        false
    });
    for (side, address) in [(Side::A, "from"), (Side::B, "to")] {
        let sent = pair.sent_since(side, answered);
        assert!(sent.len() > 100);
        let old = sent.iter().filter(|f| [f.at.local, f.at.remote].contains(&a_ip(0))).count();
        assert_eq!(old, 0, "{address} the deleted address");
    }
    assert_eq!(pair.b.received.len(), 4000);
}

/// Both links go down one after the other, and the first one returns while its Delete is outstanding. The
/// request, or its answer, was lost with the second link.
#[test]
fn an_address_that_returns_before_its_deletion_is_answered_carries_data_again() {
    for lost in [chunk::ASCONF, chunk::ASCONF_ACK] {
        let mut pair = Pair::established_with(traced(), traced(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        let link = |pair: &mut Pair, local, state| {
            pair.with(Side::A, |a, now| a.link_event(now, LinkEvent { local, state })).unwrap();
        };
        link(&mut pair, a_ip(0), LinkState::Down);
        pair.drop_if(move |flight| {
            let ends = [flight.at.local, flight.at.remote];
            ends.contains(&a_ip(0)) || !(lost == chunk::ASCONF_ACK && flight.has(chunk::ASCONF))
        });
        pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
        pair.run_for(Span::from_millis(60));
        link(&mut pair, a_ip(1), LinkState::Down);
        pair.run_for(Span::from_millis(400));
        pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&a_ip(1)));
        pair.log = Some(Vec::new());
        link(&mut pair, a_ip(0), LinkState::Up);
        let applied = lost == chunk::ASCONF_ACK;
        let answer = Event::AddressChange { request: AddressRequest::Delete(a_ip(0)), accepted: applied };
        let done = pair.run_until(Span::from_millis(100), |pair| pair.a.saw(|event| *event == answer));
        assert!(done, "the deletion is undecided: lost {lost}");
        let mut asked = pair.sent_since(Side::A, 0);
        asked.retain(|flight| flight.at.local == a_ip(0) && flight.sent < pair.now);
        assert!(
            !asked.is_empty() && asked.iter().all(|flight| flight.has(chunk::ASCONF)),
            "only the request"
        );
        if applied {
            pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(0))).unwrap();
        }
        for side in [Side::A, Side::B] {
            let before = pair.host(side.other()).received.len();
            pair.send(side, support::text_message("again"));
            let arrived =
                pair.run_until(Span::from_secs(3), |pair| pair.host(side.other()).received.len() > before);
            assert!(arrived, "from {side:?}: lost {lost}");
        }
        assert!(!pair.a.saw(|event| matches!(event, Event::Lost(_))));
    }
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

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# put into the UNCONFIRMED state and MUST have path verification performed on them before the address can be
//# used as described in [RFC4960], Section 5.4.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The receiver MUST use the path-verification procedure for the added address before using that address.
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

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
//= type=test
//# The receiver of such a chunk MUST always first use the source address found in the IP header in looking up
//# the association.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# it MUST use the chunks after the AUTH chunk to look up an existing association
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

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
//= type=test
//# This parameter MUST NOT contain a broadcast or multicast address.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.2
//= type=test
//# This parameter MUST NOT contain a broadcast or multicast address.
#[test]
fn invalid_address_requests_are_rejected_with_the_reason() {
    let mut pair = mobile();
    pair.with(Side::A, |a, now| {
        assert_eq!(a.add_local_address(now, a_ip(0)), Err(CallError::AddressExists(a_ip(0))));
        assert_eq!(a.remove_local_address(now, a_ip(0)), Err(CallError::LastAddress(a_ip(0))));
        assert_eq!(a.remove_local_address(now, a_ip(9)), Err(CallError::UnknownAddress(a_ip(9))));
        assert_eq!(a.request_peer_primary(now, a_ip(9)), Err(CallError::UnknownAddress(a_ip(9))));
        for nobody in ["224.0.0.1", "255.255.255.255"].map(|text| text.parse().unwrap()) {
            assert!(matches!(a.add_local_address(now, nobody), Err(CallError::Address(_))));
            assert_eq!(a.remove_local_address(now, nobody), Err(CallError::UnknownAddress(nobody)));
        }
    });
    let mut early = Pair::new(Config::default(), vec![b_ip(0)]);
    early.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    let result = early.with(Side::A, |a, now| a.add_local_address(now, a_ip(1)));
    assert!(matches!(result, Err(CallError::WrongState { .. })));
}

/// Returns the number of packets with ASCONF that A has sent, regardless of their serial numbers.
fn asconfs(pair: &Pair) -> usize {
    pair.log.as_ref().unwrap().iter().filter(|f| f.from == Side::A && f.has(chunk::ASCONF)).count()
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# An endpoint MUST NOT delete its last remaining IP address from an association.
#[test]
fn the_last_address_that_reaches_the_peer_cannot_be_deleted() {
    // §5.3 F5: the remaining address has no path.
    let v6: std::net::IpAddr = "2001:db8::1".parse().unwrap();
    let mut pair = mobile();
    pair.with(Side::A, |a, now| a.add_local_address(now, v6)).unwrap();
    pair.run_for(Span::from_secs(2));
    let added = Event::AddressChange { request: AddressRequest::Add(v6), accepted: true };
    assert!(pair.a.saw(|event| *event == added));
    let refused = pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0)));
    assert_eq!(refused, Err(CallError::LastAddress(a_ip(0))));
    pair.with(Side::A, |a, now| {
        a.add_local_address(now, a_ip(1)).unwrap();
        a.remove_local_address(now, a_ip(0)).unwrap();
        a.remove_local_address(now, v6).unwrap();
        assert_eq!(a.remove_local_address(now, a_ip(1)), Err(CallError::LastAddress(a_ip(1))));
    });
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::B, 50, 500, Span::from_secs(10));
}

#[test]
fn a_request_lost_in_a_restart_is_reported_and_undone() {
    let mut pair = mobile();
    pair.with(Side::B, |b, now| b.add_local_address(now, b_ip(1))).unwrap();
    pair.run_for(Span::from_secs(2));
    pair.drop_if(|flight| flight.has(chunk::ASCONF));
    pair.with(Side::B, |b, now| {
        b.remove_local_address(now, b_ip(1)).unwrap();
        b.add_local_address(now, b_ip(2)).unwrap();
    });
    pair.run_for(Span::from_millis(100));
    // A restarts.
    let fresh = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [9; 32]).unwrap();
    pair.a.endpoint = fresh;
    pair.connect(traced(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    assert!(pair.b.saw(|event| *event == Event::Restarted));
    for request in [AddressRequest::Delete(b_ip(1)), AddressRequest::Add(b_ip(2))] {
        let lost = Event::AddressChange { request, accepted: false };
        assert_eq!(pair.b.events.iter().filter(|event| **event == lost).count(), 1, "{request:?}");
    }
    pair.pass_all();
    let locals = |pair: &mut Pair, side| {
        let mut all: Vec<_> = pair.with(side, |end, _| end.paths().map(|path| path.at).collect());
        all.sort();
        all
    };
    let b: Vec<_> = locals(&mut pair, Side::B).iter().map(|at| at.local).collect();
    let a: Vec<_> = locals(&mut pair, Side::A).iter().map(|at| at.remote).collect();
    assert_eq!((&b[..], &a[..]), (&[b_ip(0), b_ip(1)][..], &[b_ip(0), b_ip(1)][..]), "both agree");
    pair.with(Side::B, |b, now| b.remove_local_address(now, b_ip(1))).unwrap();
    pair.run_for(Span::from_secs(2));
    let done = Event::AddressChange { request: AddressRequest::Delete(b_ip(1)), accepted: true };
    assert!(pair.b.saw(|event| *event == done), "and the association continues");
}

#[test]
fn a_peer_that_moved_and_then_restarts_is_the_same_peer() {
    // RFC 9260 §5.2.2: the mobile's current address belongs to the association, the deleted one does not.
    for (from, same) in [(a_ip(1), true), (a_ip(0), false)] {
        let mut pair = mobile();
        pair.with(Side::A, |a, now| {
            a.add_local_address(now, a_ip(1)).unwrap();
            a.request_peer_primary(now, a_ip(1)).unwrap();
            a.remove_local_address(now, a_ip(0)).unwrap();
        });
        pair.run_for(Span::from_secs(5));
        pair.a.endpoint =
            msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [9; 32]).unwrap();
        pair.connect(traced(), vec![from], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert_eq!(pair.b.saw(|event| *event == Event::Restarted), same);
        assert_eq!(pair.b.endpoint.len(), if same { 1 } else { 2 });
        pair.transfer(Side::A, 50, 500, Span::from_secs(10));
    }
}

#[test]
fn a_link_that_comes_up_retransmits_only_its_own_request() {
    let mut pair = mobile();
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(2));
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.has(chunk::ASCONF));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).unwrap();
    assert_eq!(asconfs(&pair), 1);
    let used = pair.log.as_ref().unwrap().iter().find(|f| f.has(chunk::ASCONF)).unwrap().at.local;
    let other = if used == a_ip(0) { a_ip(1) } else { a_ip(0) };
    let up = |pair: &mut Pair, local| {
        pair.with(Side::A, |a, now| a.link_event(now, LinkEvent { local, state: LinkState::Up })).unwrap();
    };
    up(&mut pair, other);
    assert_eq!(asconfs(&pair), 1, "it is unanswered");
    up(&mut pair, used);
    assert_eq!(asconfs(&pair), 2, "it may have been lost with the link");
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# ABORT Chunks arriving destined to the IP address being deleted MUST be ignored
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.1
//= type=test
//# an Abort MUST be ignored if the destination address of the Abort message is that of a destination being
//# deleted
#[test]
fn an_abort_to_an_address_that_is_being_deleted_or_gone_is_ignored() {
    // §5.3 F4, §5.3.1
    let mut pair = mobile();
    pair.log = Some(Vec::new());
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(2));
    let (ours, theirs) = (pair.tag_of(Side::A), pair.tag_of(Side::B));
    let at = |local| msctp_proto::PathAddr { local, remote: b_ip(0) };
    let abort = |tag_reflected| msctp_wire::Abort { tag_reflected, causes: msctp_wire::Causes::EMPTY };
    let strike = |pair: &mut Pair, local| {
        pair.inject(Side::A, at(local), &support::packet(Side::A, theirs, &[&abort(true)]));
        pair.a.state()
    };
    pair.drop_if(|flight| flight.has(chunk::ASCONF));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    assert!(strike(&mut pair, a_ip(0)).is_some(), "out of the blue: sent before the peer's deletion");
    pair.inject(Side::A, at(a_ip(0)), &support::packet(Side::A, ours, &[&abort(false)]));
    assert!(pair.a.state().is_some());
    pair.pass_all();
    pair.run_for(Span::from_secs(5));
    let done = Event::AddressChange { request: AddressRequest::Delete(a_ip(0)), accepted: true };
    assert!(pair.a.saw(|event| *event == done));
    assert!(strike(&mut pair, a_ip(0)).is_some(), "late");
    assert!(strike(&mut pair, a_ip(1)).is_none(), "at an address of the association it ends it");
}

/// Returns the public address of A's second network, after its NAT.
fn outside() -> std::net::IpAddr {
    "203.0.113.9".parse().unwrap()
}

/// Installs a NAT: B sees `outside()` in place of A's address 1. Packets of both ends pass through it.
fn translate(pair: &mut Pair) {
    pair.translate = Some((a_ip(1), outside()));
}

#[test]
fn a_mobile_behind_a_translator_adds_its_packets_source_address() {
    // §4.2.1, §4.2.2, §4.2.4: the wildcards.
    let mut pair = mobile();
    translate(&mut pair);
    pair.log = Some(Vec::new());
    pair.with(Side::A, |a, now| {
        a.add_translated_address(now, a_ip(1)).unwrap();
        a.request_peer_primary(now, a_ip(1)).unwrap();
        assert_eq!(a.remove_local_address(now, a_ip(1)), Err(CallError::TranslatedAddress(a_ip(1))));
    });
    pair.run_for(Span::from_secs(5));
    for request in [AddressRequest::Add(a_ip(1)), AddressRequest::SetPrimary(a_ip(1))] {
        assert!(
            pair.a.saw(|event| *event == Event::AddressChange { request, accepted: true }),
            "{request:?}"
        );
    }
    let new = pair.path(Side::B, b_ip(0), outside());
    assert!(pair.b.saw(|event| *event == Event::PrimaryChanged { path: new, cause: PrimaryCause::Peer }));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
    pair.with(Side::A, |a, now| a.keep_only_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let kept = Event::AddressChange { request: AddressRequest::KeepOnly(a_ip(1)), accepted: true };
    assert!(pair.a.saw(|event| *event == kept));
    let ends = |pair: &mut Pair, side| -> Vec<_> {
        pair.with(side, |end, _| end.paths().map(|path| path.at).collect())
    };
    assert_eq!(ends(&mut pair, Side::A).iter().map(|at| at.local).collect::<Vec<_>>(), [a_ip(1)]);
    assert_eq!(ends(&mut pair, Side::B).iter().map(|at| at.remote).collect::<Vec<_>>(), [outside()]);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
    // Move back to the untranslated address.
    pair.with(Side::A, |a, now| {
        a.add_local_address(now, a_ip(0)).unwrap();
        a.keep_only_address(now, a_ip(0)).unwrap();
    });
    pair.run_for(Span::from_secs(5));
    assert_eq!(ends(&mut pair, Side::B).iter().map(|at| at.remote).collect::<Vec<_>>(), [a_ip(0)]);
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
}

#[test]
fn both_ends_agree_after_a_lost_or_rejected_wildcard() {
    for lost in [chunk::ASCONF, chunk::ASCONF_ACK] {
        let mut pair = mobile();
        translate(&mut pair);
        pair.drop_first(if lost == chunk::ASCONF { Side::A } else { Side::B }, lost, 2);
        pair.with(Side::A, |a, now| {
            a.add_translated_address(now, a_ip(1)).unwrap();
            a.keep_only_address(now, a_ip(1)).unwrap();
        });
        pair.run_for(Span::from_secs(30));
        pair.transfer(Side::B, 50, 1000, Span::from_secs(20));
        assert!(pair.with(Side::B, |b, _| b.paths().all(|path| path.at.remote == outside())), "{lost}");
    }
}

/// Without heartbeats only the request needs an answer. RFC 5061 §5.1 B2 counts each missing answer for the
/// association.
#[test]
fn a_request_from_a_dead_network_does_not_end_an_association_with_a_working_path() {
    let config = Config { hb_interval: Span::ZERO, ..traced() };
    let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&a_ip(1)));
    pair.with(Side::A, |a, now| a.add_translated_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(3600));
    assert!(pair.a.state().is_some() && !pair.a.saw(|event| matches!(event, Event::Lost(_))));
    pair.transfer(Side::A, 10, 1000, Span::from_secs(20));
}
