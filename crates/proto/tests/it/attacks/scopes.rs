//! Addresses of hosts: a stranger sees no more of them than it must, and an address that two networks have is
//! not mistaken for the peer's.

use core::net::IpAddr;

use msctp_proto::{AddressRequest, AssociationState as State, Config, Event, HostAddrs, PathAddr, PathState};
use msctp_units::Span;
use msctp_wire::param::Padding;
use msctp_wire::{Abort, Causes, Checksum, Chunk, List, Packet, Param, ParamType};

use crate::attacks::stranger::{ask, keyed};
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, packet};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Makes an INIT long enough for an answer with all addresses.
const PADDING: Param<'static> = Param::Padding(Padding { len: 400 });

/// Addresses of a host on every scope. `b_ip(0)` is private.
fn all() -> Vec<IpAddr> {
    let others = ["127.0.0.1", "169.254.1.1", "fe80::1", "fd00::5", "203.0.113.5", "2001:db8::5"];
    [b_ip(0), b_ip(1)].into_iter().chain(others.map(ip)).collect()
}

/// Returns the addresses that an INIT or INIT ACK names.
fn named(flight: &Flight) -> Vec<IpAddr> {
    let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
    let params = match packet.chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.params,
        Some(Ok(Chunk::InitAck(ack))) => ack.params,
        other => panic!("{other:?}"),
    };
    params.iter().flatten().filter_map(|param| param.address()).collect()
}

fn unnamed(addresses: &[IpAddr]) -> HostAddrs {
    HostAddrs { all: addresses.to_vec(), unnamed: addresses.to_vec() }
}

#[test]
fn an_init_ack_names_the_addresses_of_the_scope_called() {
    for (called, from, shown) in [
        (b_ip(0), a_ip(0), vec![b_ip(0), b_ip(1), ip("fd00::5")]),
        (ip("127.0.0.1"), ip("127.0.0.2"), vec![]),
        (ip("fe80::1"), ip("fe80::2"), vec![ip("169.254.1.1"), ip("fe80::1")]),
        (ip("2001:db8::5"), ip("2001:db8::9"), vec![ip("203.0.113.5"), ip("2001:db8::5")]),
    ] {
        let mut pair = Pair::new(Config::default(), all());
        pair.b.endpoint.set_host_addresses(unnamed(&all()));
        pair.log = Some(Vec::new());
        let at = PathAddr { local: called, remote: from };
        let answer = ask(&mut pair, Side::B, at, &[PADDING]);
        assert!(answer[0].has(chunk::INIT_ACK));
        assert_eq!(named(&answer[0]), shown, "called at {called}");
    }
}

#[test]
fn an_address_that_the_application_names_is_shown_to_everybody() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), ip("203.0.113.5"), ip("127.0.0.1")]);
    let unnamed = vec![b_ip(0), ip("127.0.0.1")];
    pair.b.endpoint.set_host_addresses(HostAddrs { all: all(), unnamed });
    pair.log = Some(Vec::new());
    let answer = ask(&mut pair, Side::B, Pair::at(Side::B), &[PADDING]);
    assert_eq!(named(&answer[0]), [b_ip(0), ip("203.0.113.5")]);
}

#[test]
fn both_ends_have_the_paths_of_the_addresses_shown() {
    let mut pair = Pair::new(Config::default(), all());
    pair.b.endpoint.set_host_addresses(unnamed(&all()));
    let own = [a_ip(0), a_ip(1), ip("2001:db8::1"), ip("fd00::1")];
    pair.a.endpoint.set_host_addresses(unnamed(&own));
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), own.to_vec(), vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    let init = pair.log.as_ref().unwrap()[0].clone();
    assert_eq!(named(&init), [a_ip(0), a_ip(1), ip("fd00::1")]);
    let parsed = Packet::parse(&init.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Init(chunk))) = parsed.chunks().next() else { panic!() };
    let types = [ParamType::IPV4_ADDRESS, ParamType::IPV6_ADDRESS];
    let both = Param::SupportedAddressTypes(List::from(&types));
    assert!(chunk.params.iter().flatten().any(|param| param == both), "whatever this end has");
    let mut paths: [Vec<(IpAddr, IpAddr)>; 2] = [Side::A, Side::B].map(|side| {
        let ends = |at: PathAddr| if side == Side::A { (at.local, at.remote) } else { (at.remote, at.local) };
        pair.with(side, |association, _| association.paths().map(|path| ends(path.at)).collect())
    });
    paths.iter_mut().for_each(|paths| paths.sort_unstable());
    assert_eq!(paths[0], paths[1]);
    assert_eq!(paths[0].len(), 5, "two by two, and fd00::");
    // Nobody may read or cause a request under keys that both ends have.
    let global = ip("2001:db8::1");
    assert!(!pair.with(Side::A, |a, _| a.may_name(global)));
    assert!(pair.with(Side::A, |a, _| a.may_name(ip("fd00::1"))));
    let config = Config { auth: keyed(), ..Config::default() };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.a.endpoint.set_host_addresses(unnamed(&own));
    pair.connect(config, own.to_vec(), vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    // The endpoint names it, though the peer has no address of that family yet.
    assert!(pair.with(Side::A, |a, _| a.may_name(global)));
    assert!(pair.a.saw(|event| matches!(event, Event::AddressChange { accepted: true, .. })));
}

#[test]
fn a_source_of_another_scope_is_not_named_and_an_init_does_not_depend_on_it() {
    // A private network behind a NAT calls the Internet: it names no private address.
    let mut pair = Pair::new(Config::default(), vec![ip("203.0.113.5")]);
    let own = [a_ip(0), a_ip(1)];
    pair.a.endpoint.set_host_addresses(unnamed(&own));
    pair.log = Some(Vec::new());
    pair.drop_first(Side::A, chunk::INIT, 1);
    pair.connect(Config::default(), own.to_vec(), vec![ip("203.0.113.5")]);
    pair.run_for(Span::from_secs(10));
    let log = pair.log.as_ref().unwrap();
    let inits: Vec<_> = log.iter().filter(|flight| flight.has(chunk::INIT)).collect();
    assert_eq!(inits.len(), 2);
    assert_eq!(inits[0].bytes, inits[1].bytes);
    assert_ne!(inits[0].at, inits[1].at);
    assert_eq!(named(inits[0]), [] as [IpAddr; 0]);
    assert_eq!(pair.a.state(), Some(State::Established));
    for side in [Side::A, Side::B] {
        assert_eq!(pair.with(side, |association, _| association.paths().count()), 1, "{side:?}");
    }
}

#[test]
fn no_path_leads_to_an_address_of_the_own_host() {
    // docker0 of both hosts.
    let shared = ip("172.17.0.1");
    let remotes = |pair: &mut Pair| -> Vec<IpAddr> {
        pair.with(Side::A, |a, _| a.paths().map(|path| path.at.remote).collect())
    };
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), shared]);
    pair.a.endpoint.set_host_addresses(HostAddrs { all: vec![a_ip(0), shared], unnamed: vec![] });
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert_eq!(remotes(&mut pair), [b_ip(0)]);
    // Nor later.
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    assert_eq!(remotes(&mut pair), [b_ip(0); 2]);
    pair.with(Side::B, |b, now| b.remove_local_address(now, shared)).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.with(Side::B, |b, now| b.add_local_address(now, shared)).unwrap();
    pair.run_for(Span::from_secs(1));
    assert_eq!(remotes(&mut pair), [b_ip(0); 2]);
    // An address that the association itself uses.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), a_ip(1)]);
    pair.connect(Config::default(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert_eq!(remotes(&mut pair), [b_ip(0); 2]);
    // A peer at this host has all of them.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), shared]);
    pair.a.endpoint.set_host_addresses(HostAddrs { all: vec![a_ip(0), b_ip(0), shared], unnamed: vec![] });
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert_eq!(remotes(&mut pair), [b_ip(0), shared]);
}

/// Returns the answers to A's requests, and the addresses at which B reaches A. Checks that data passes.
fn answers(pair: &mut Pair) -> (Vec<(AddressRequest, bool)>, Vec<IpAddr>) {
    pair.run_for(Span::from_secs(10));
    let answer = |event: &Event| match event {
        Event::AddressChange { request, accepted } => Some((*request, *accepted)),
        _ => None,
    };
    let answers = pair.a.events.iter().filter_map(answer).collect();
    for from in [Side::A, Side::B] {
        pair.transfer(from, 20, 1000, Span::from_secs(10));
    }
    (answers, pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect()))
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The receiver MUST NOT reject an ADD and then accept a subsequent DELETE of an IP address in the same
//# ASCONF Chunk.
#[test]
fn a_peer_cannot_move_to_an_address_of_this_host_and_stays_where_it_is() {
    let shared = ip("172.17.0.1");
    for unlisted in [false, true] {
        // The one is of an interface of B's host, the other B's own.
        let to = if unlisted { b_ip(0) } else { shared };
        let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
        if !unlisted {
            pair.b.endpoint.set_host_addresses(HostAddrs { all: vec![b_ip(0), shared], unnamed: vec![] });
        }
        pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(1));
        pair.with(Side::A, |a, now| a.move_local_address(now, to, &[a_ip(0)])).unwrap();
        let refused =
            [AddressRequest::Add(to), AddressRequest::SetPrimary(to), AddressRequest::Delete(a_ip(0))];
        assert_eq!(answers(&mut pair), (refused.map(|request| (request, false)).to_vec(), vec![a_ip(0)]));
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the receiver MUST send an Error Cause TLV with the Error Cause set to the new error code 'Request to
//# Delete Last Remaining IP Address'
#[test]
fn the_last_address_with_a_path_is_not_deleted() {
    let shared = ip("172.17.0.1");
    for request in [AddressRequest::Delete(a_ip(0)), AddressRequest::KeepOnly(shared)] {
        let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
        pair.b.endpoint.set_host_addresses(HostAddrs { all: vec![b_ip(0), shared], unnamed: vec![] });
        pair.connect(Config::default(), vec![a_ip(0), shared], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(1));
        let asked = pair.with(Side::A, |a, now| match request {
            AddressRequest::KeepOnly(kept) => a.keep_only_address(now, kept),
            _ => a.remove_local_address(now, a_ip(0)),
        });
        asked.unwrap();
        assert_eq!(answers(&mut pair), (vec![(request, false)], vec![a_ip(0)]));
    }
}

#[test]
fn a_peer_at_this_host_moves_among_all_loopback_addresses() {
    let [old, new, server] = ["127.0.0.2", "127.0.0.1", "127.0.0.9"].map(ip);
    let mut pair = Pair::new(Config::default(), vec![server]);
    // The interface lo lists one of its addresses.
    pair.b.endpoint.set_host_addresses(HostAddrs { all: vec![new, server], unnamed: vec![] });
    pair.connect(Config::default(), vec![old], vec![server]);
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.move_local_address(now, new, &[old])).unwrap();
    let agreed = [AddressRequest::Add(new), AddressRequest::SetPrimary(new), AddressRequest::Delete(old)];
    assert_eq!(answers(&mut pair), (agreed.map(|request| (request, true)).to_vec(), vec![new]));
}

/// The ABORT of an endpoint that knows nothing of an association, in answer to a packet for it.
const REFLECTED: Abort<'static> = Abort { tag_reflected: true, causes: Causes::EMPTY };

/// Returns a pair whose B lists an address at which another host is.
fn beside_another_host(config: Config) -> (Pair, PathAddr) {
    let other = ip("172.17.0.1");
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), other]);
    pair.log = Some(Vec::new());
    pair.filter = Box::new(move |flight| match flight.at.remote == other || flight.at.local == other {
        true => Fate::Drop,
        false => Fate::Pass,
    });
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(200));
    assert_eq!(pair.a.state(), Some(State::Established));
    (pair, PathAddr { local: a_ip(0), remote: other })
}

#[test]
fn an_endpoint_at_a_listed_address_ends_only_the_path_to_it() {
    let (mut pair, at) = beside_another_host(Config::default());
    let path = pair.path(Side::A, at.local, at.remote);
    let to_other = |pair: &Pair, from: usize| {
        pair.sent_since(Side::A, from).iter().filter(|flight| flight.at.remote == at.remote).count()
    };
    assert!(to_other(&pair, 0) > 0, "a HEARTBEAT verifies the address");
    let abort = packet(Side::A, pair.tag_of(Side::B), &[&REFLECTED]);
    pair.inject(Side::A, at, &abort);
    let state = |pair: &mut Pair| pair.with(Side::A, |a, _| a.paths().find(|p| p.id == path).unwrap().state);
    assert_eq!(state(&mut pair), PathState::Inactive);
    assert!(pair.a.saw(|event| *event == Event::PathState { path, state: PathState::Inactive }));
    let before = pair.log_len();
    pair.run_for(Span::from_secs(20));
    assert_eq!(to_other(&pair, before), 0, "no HEARTBEAT every RTO");
    pair.transfer(Side::A, 10, 1000, Span::from_secs(5));
    // The address may be the peer's from another network.
    pair.pass_all();
    pair.run_for(Span::from_secs(60));
    assert_eq!(state(&mut pair), PathState::Active);
    // From there it is the peer's.
    pair.inject(Side::A, at, &abort);
    assert!(pair.a.saw(|event| matches!(event, Event::Lost(_))));
}

#[test]
fn the_peers_abort_from_a_confirmed_address_ends_the_association() {
    let (mut pair, at) = beside_another_host(Config::default());
    let confirmed = PathAddr { remote: b_ip(0), ..at };
    let abort = packet(Side::A, pair.tag_of(Side::B), &[&REFLECTED]);
    pair.inject(Side::A, confirmed, &abort);
    assert!(pair.a.saw(|event| matches!(event, Event::Lost(_))), "of a confirmed address");
}
