//! Attacks at the joint between SCTP's numbers and the keys: chunks in clear whose effect would outlast the
//! start of protection.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use msctp_congestion::StartState;
use msctp_protection::{CipherSuite, FIRST_EPOCH, KeyMaterial, Ring, Secret};
use msctp_proto::handover::{Action, HandoverPolicy, PathView, PolicyFactory, View};
use msctp_proto::{
    Config, Event, HostAddrs, KeyManagement, LocalAddrs, LossReason, PathAddr, PathState, Protection,
    RemoteAddrs, SendError, StreamRequest,
};
use msctp_units::Span;
use msctp_wire::param::DtlsRoles;
use msctp_wire::{ChunkType, EncodeChunk, KeyManagementId, Tsn, UnknownChunk};

use crate::attacks::changed_setup::psk;
use crate::attacks::stranger::{ask, echo, init_ack};
use crate::support::chunks::stream_data;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, packet, reseal, text_message};

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
    let mut pair = Pair::new(external(Protection::OrInsecure), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    append_user_data(&mut pair);
    pair.connect(external(Protection::OrInsecure), vec![a_ip(0)], vec![b_ip(0)]);
    let local = LocalAddrs { port: 5001, addresses: vec![b_ip(0)] };
    let remote = RemoteAddrs { port: 5000, addresses: vec![a_ip(0)] };
    let handle = pair.b.endpoint.connect(pair.now, external(Protection::OrInsecure), local, remote).unwrap();
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
    for kind in [Protection::OrInsecure, Protection::Required] {
        let mut pair = Pair::new(external(Protection::OrInsecure), vec![b_ip(0)]);
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
    let mut pair = Pair::new(external(Protection::OrInsecure), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(external(Protection::OrInsecure), vec![a_ip(0)], vec![b_ip(0)]);
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

/// A policy with a chunk of its own, which it sends when the association is up. It counts those of the peer.
#[derive(Debug)]
struct Chatty(Arc<AtomicU32>);

const PRIVATE: ChunkType = ChunkType(0xbe);

impl HandoverPolicy for Chatty {
    fn name(&self) -> &'static str {
        "chatty"
    }

    fn private_chunks(&self) -> &'static [ChunkType] {
        &[PRIVATE]
    }

    fn on_established(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let path = view.primary;
        actions.push(Action::SendChunk { path, chunk_type: PRIVATE, value: b"a report".to_vec() });
    }

    fn on_primary_switch(
        &mut self,
        _: &PathView,
        _: &PathView,
        _: &View<'_>,
        _: &mut Vec<Action>,
    ) -> Option<StartState> {
        None
    }

    fn on_chunk(&mut self, _: PathAddr, _: &UnknownChunk<'_>, _: &View<'_>, _: &mut Vec<Action>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Gives both ends keys. Nothing was sent in clear, so that the numbers agree.
fn establish_keys(pair: &mut Pair) {
    let secret = |byte: u8, len: usize| Secret::from(&vec![byte; len][..]);
    let suite = CipherSuite::Aes128GcmSha256;
    let keys = KeyMaterial::new(suite, secret(1, 16), secret(2, 16), secret(3, 12)).unwrap();
    for side in [Side::A, Side::B] {
        pair.with(side, |one, now| {
            one.establish_receive_keys(FIRST_EPOCH, &keys).unwrap();
            one.establish_send_keys(now, FIRST_EPOCH, &keys).unwrap();
            one.require_protected().unwrap();
        });
    }
}

/// What a policy learns from a forged report would stay when the association is protected.
#[test]
fn the_chunks_of_a_policy_wait_for_the_keys_and_count_only_under_them() {
    let heard = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&heard);
    let handover_policy = PolicyFactory::new(move || Box::new(Chatty(Arc::clone(&count))));
    let config = Config { handover_policy, ..external(Protection::Required) };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    for to in [Side::A, Side::B] {
        let report = UnknownChunk::new(&[PRIVATE.0, 0, 0, 8, 1, 2, 3, 4]).unwrap();
        let forged = packet(to, pair.tag_of(to), &[&report]);
        pair.inject(to, Pair::at(to), &forged);
    }
    assert_eq!(heard.load(Ordering::Relaxed), 0);
    assert!(!pair.log.as_ref().unwrap().iter().any(|flight| flight.has(PRIVATE.0)), "a report in clear");
    establish_keys(&mut pair);
    pair.run_for(Span::from_secs(2));
    for host in [&pair.a, &pair.b] {
        assert!(host.saw(|event| *event == Event::Protected), "{:?}", host.events);
    }
    assert_eq!(heard.load(Ordering::Relaxed), 2, "the report of each end");
}

/// With a pre-shared key as well: the attacker rewrites the ports of every packet.
#[test]
fn a_client_with_a_pre_shared_key_is_not_led_to_another_port() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    let other = LocalAddrs { port: 5101, addresses: vec![b_ip(0)] };
    pair.b.endpoint.listen(other, psk()).unwrap();
    pair.filter = Box::new(|flight: &mut Flight| {
        let at = if flight.from == Side::A { 2 } else { 0 };
        let port: u16 = if flight.from == Side::A { 5101 } else { 5001 };
        flight.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        reseal(&mut flight.bytes);
        Fate::Pass
    });
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("for port 5001"));
    pair.run_for(Span::from_secs(40));
    assert!(pair.b.received.is_empty(), "{:?}", pair.b.received);
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::KeysDiffer)), "{:?}", pair.a.events);
}

/// No key protects a source address (RFC 5061 §6). A mobile behind a NAT asks for "the source of this
/// packet"; an observer delivers a copy of it first, from an address of its own, and is on the path while it
/// passes packets on. The genuine packets then tell of the genuine address.
#[test]
fn known_limit_an_observer_gives_a_wildcard_its_own_address() {
    let observer = core::net::IpAddr::from([10, 9, 0, 9]);
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    let copies = Rc::new(RefCell::new(Vec::new()));
    let copy = Rc::clone(&copies);
    pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.at.local == a_ip(1) {
            copy.borrow_mut().push(flight.bytes.clone());
        }
        if flight.at.remote == observer {
            flight.at.remote = a_ip(1);
        }
        Fate::Pass
    });
    pair.with(Side::A, |a, now| {
        a.add_translated_address(now, a_ip(1)).unwrap();
        a.request_peer_primary(now, a_ip(1)).unwrap();
        a.keep_only_address(now, a_ip(1)).unwrap();
    });
    let end = pair.now + Span::from_secs(10);
    loop {
        for bytes in copies.take() {
            pair.inject(Side::B, PathAddr { local: b_ip(0), remote: observer }, &bytes);
        }
        if !pair.step(end) {
            break;
        }
    }
    let to: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(to, [observer, a_ip(1)], "{:?}", pair.b.events);
    pair.drop_if(move |flight| flight.at.remote == observer);
    pair.transfer(Side::B, 20, 1000, Span::from_secs(10));
}

/// No key protects a source address either while the association begins: an observer that overtakes the INIT
/// with a copy from an address of its own, and passes the answer on, is on the path while it passes packets
/// on.
#[test]
fn known_limit_an_observer_that_overtakes_the_init_is_on_the_path() {
    let observer = core::net::IpAddr::from([10, 9, 0, 9]);
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.at.remote == observer {
            flight.at.remote = a_ip(0);
        }
        if flight.has(chunk::INIT) { Fate::Late(Span::from_millis(10)) } else { Fate::Pass }
    });
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let init = pair.log.as_ref().unwrap()[0].bytes.clone();
    pair.inject(Side::B, PathAddr { local: b_ip(0), remote: observer }, &init);
    pair.run_for(Span::from_secs(2));
    let to: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(to, [observer, a_ip(0)], "{:?}", pair.b.events);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// The client lists an address at which nobody is, and an observer answers the HEARTBEAT there, which is in
/// clear during the handshake: the path stays unconfirmed.
#[test]
fn an_answer_in_clear_confirms_no_listed_address() {
    for kind in [Protection::Required, Protection::OrInsecure] {
        let mut pair = Pair::new(external(kind), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.drop_if(|flight| flight.at.local == a_ip(1) || flight.at.remote == a_ip(1));
        pair.connect(external(kind), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
        pair.run_for(Span::from_millis(100));
        let at = PathAddr { local: b_ip(0), remote: a_ip(1) };
        let asked = |flight: &Flight| flight.at == at && flight.has(chunk::HEARTBEAT);
        let asked: Vec<_> = pair.sent_since(Side::B, 0).into_iter().filter(asked).collect();
        assert!(!asked.is_empty(), "{kind:?}");
        for flight in asked {
            let mut answer = flight.bytes;
            answer[..4].rotate_left(2);
            answer[4..8].copy_from_slice(&pair.tag_of(Side::B).to_be_bytes());
            let begin = (12..answer.len()).step_by(4).find(|&at| answer[at] == chunk::HEARTBEAT).unwrap();
            answer.drain(12..begin);
            answer[12] = chunk::HEARTBEAT_ACK;
            reseal(&mut answer);
            pair.inject(Side::B, at, &answer);
        }
        let path = pair.path(Side::B, b_ip(0), a_ip(1));
        let state = pair.with(Side::B, |b, _| b.paths().find(|one| one.id == path).unwrap().state);
        assert_eq!(state, PathState::Unconfirmed);
    }
}

/// A reset of all streams pauses that of key management too: it waits for the keys, and not they for it.
#[test]
fn a_reset_of_all_streams_waits_for_the_keys() {
    let mut pair = Pair::new(external(Protection::Required), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(external(Protection::Required), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    let reset =
        |a: &mut msctp_proto::Association, now| a.reconfigure(now, StreamRequest::ResetOutgoing(vec![]));
    pair.with(Side::A, reset).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, _| a.send_key_message(b"a message of the handshake"[..].into())).unwrap();
    pair.run_for(Span::from_secs(1));
    let message = pair.with(Side::B, |b, _| b.recv_key_message());
    assert!(message.is_some(), "{:?}", pair.with(Side::A, |a, _| a.stats()));
}
