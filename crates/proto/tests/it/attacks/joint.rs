//! Attacks at the joint between SCTP's numbers and the keys: chunks in clear whose effect would outlast the
//! start of protection.

use std::sync::Arc;

use msctp_protection::Ring;
use msctp_proto::{Config, Event, HostAddrs, KeyManagement, LocalAddrs, Protection, RemoteAddrs, SendError};
use msctp_units::Span;
use msctp_wire::param::DtlsRoles;
use msctp_wire::{EncodeChunk, KeyManagementId, Tsn};

use crate::attacks::changed_setup::psk;
use crate::attacks::stranger::{ask, echo, init_ack};
use crate::support::chunks::stream_data;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, reseal, text_message};

/// Returns options with keys from outside of the core, in either role.
fn external(kind: fn(Arc<KeyManagement>) -> Protection) -> Config {
    let roles = DtlsRoles { client: true, server: true };
    let keys = KeyManagement::external(Arc::new(Ring), vec![KeyManagementId::TLS], roles);
    Config { protection: kind(Arc::new(keys)), ..Config::mobile() }
}

/// Appends user data in clear to each COOKIE ECHO: its first TSN, on stream 1.
fn append_user_data(pair: &mut Pair) {
    let mut tsns = [None::<u32>; 2];
    pair.filter = Box::new(move |flight: &mut Flight| {
        let tsn = &mut tsns[flight.from as usize];
        if flight.has(chunk::INIT) {
            *tsn = Some(u32::from_be_bytes(flight.bytes[28..32].try_into().unwrap()));
        }
        if flight.has(chunk::COOKIE_ECHO) {
            stream_data(Tsn::new(tsn.unwrap()), 1, 0).encode(&mut flight.bytes);
            let len = flight.bytes.len().next_multiple_of(4);
            flight.bytes.resize(len, 0);
            reseal(&mut flight.bytes);
        }
        Fate::Pass
    });
}

/// Asserts that nothing was delivered, and that the association lives on under protection.
fn assert_nothing_in_clear(pair: &mut Pair, side: Side) {
    let host = pair.host(side);
    assert!(host.received.is_empty(), "{side:?} delivered {:?}", host.received);
    assert!(pair.with(side, |one, _| one.agreed()).unwrap().protection, "{side:?}");
}

/// The cookie of a collision agrees on protection: what follows it in the packet is no longer in clear.
#[test]
fn user_data_behind_a_cookie_that_agrees_on_protection_is_refused_in_a_collision() {
    let mut pair = Pair::new(external(Protection::Offered), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    append_user_data(&mut pair);
    pair.connect(external(Protection::Offered), vec![a_ip(0)], vec![b_ip(0)]);
    let local = LocalAddrs { port: 5001, addresses: vec![b_ip(0)] };
    let remote = RemoteAddrs { port: 5000, addresses: vec![a_ip(0)] };
    let handle = pair.b.endpoint.connect(pair.now, external(Protection::Offered), local, remote).unwrap();
    pair.b.handle = Some(handle);
    pair.drain(Side::B);
    pair.run_for(Span::from_secs(5));
    for side in [Side::A, Side::B] {
        assert_nothing_in_clear(&mut pair, side);
    }
}

/// The same with the cookie of a restart. The attacker set up the association in clear before.
#[test]
fn user_data_behind_a_cookie_that_agrees_on_protection_is_refused_in_a_restart() {
    for kind in [Protection::Offered, Protection::Required] {
        let mut pair = Pair::new(external(Protection::Offered), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let cookie = init_ack(&ask(&mut pair, Side::B, Pair::at(Side::B), &[])).unwrap();
        echo(&mut pair, Side::B, Pair::at(Side::B), &cookie, &[]);
        assert!(pair.b.handle.is_some());
        append_user_data(&mut pair);
        pair.connect(external(kind), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert!(pair.b.saw(|event| *event == Event::Restarted), "{:?}", pair.b.events);
        assert_nothing_in_clear(&mut pair, Side::B);
    }
}

/// Protection is offered, and the application sends before the peer has answered: the data does not leave in
/// clear when both ends agree.
#[test]
fn offered_protection_leaks_no_message_sent_before_the_agreement() {
    let mut pair = Pair::new(external(Protection::Offered), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(external(Protection::Offered), vec![a_ip(0)], vec![b_ip(0)]);
    let sent = pair.with(Side::A, |a, now| a.send(now, text_message("confidential")));
    pair.run_for(Span::from_secs(5));
    assert!(pair.with(Side::A, |a, _| a.agreed()).unwrap().protection);
    let contains = |flight: &&Flight| flight.bytes.windows(12).any(|bytes| bytes == b"confidential");
    assert_eq!(pair.log.as_ref().unwrap().iter().filter(contains).count(), 0, "{sent:?}");
    assert_eq!(sent, Err(SendError::NoKeys));
}

/// The keys depend on the INIT that was sent, not on the one that would be sent now: the host's addresses
/// change while its answer is on the way.
#[test]
fn an_init_is_bound_as_it_was_sent() {
    for lost in [0, 1] {
        let global = "2001:db8::1".parse().unwrap();
        let own = vec![a_ip(0), a_ip(1), global];
        let mut pair = Pair::new(psk(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.drop_first(Side::A, chunk::INIT, lost);
        pair.connect(psk(), own.clone(), vec![b_ip(0)]);
        pair.a.endpoint.set_host_addresses(HostAddrs { all: own.clone(), unnamed: own });
        pair.send(Side::A, text_message("after the change"));
        assert!(
            pair.run_until(Span::from_secs(20), |pair| pair.b.received.len() == 1),
            "{:?}",
            pair.a.events
        );
        let inits = pair.sent_since(Side::A, 0).into_iter().filter(|flight| flight.has(chunk::INIT));
        let inits: Vec<Vec<u8>> = inits.map(|flight| flight.bytes).collect();
        assert_eq!(inits.len(), 1 + lost);
        assert!(inits.iter().all(|init| *init == inits[0]));
    }
}
