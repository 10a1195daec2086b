//! Limits that one attacker could exhaust for others, or evade: answers per second, associations of one peer,
//! the initial PMTU of a path.

use core::net::IpAddr;

use msctp_proto::{
    AssociationState, Config, DatagramOutcome, Endpoint, EndpointConfig, Event, LocalAddrs, PathAddr,
};
use msctp_units::Span;
use msctp_wire::{Heartbeat, Param, Params};

use crate::attacks::stranger::{TAG, data, init};
use crate::support::{PORT_B, Pair, Side, a_ip, b_ip, chunk, ip, packet};

#[test]
fn one_source_cannot_exhaust_the_answers_for_others() {
    let limit = EndpointConfig::default().max_replies_per_second;
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    let at = |remote| PathAddr { local: b_ip(0), remote };
    let asking = packet(Side::B, 0, &[&init(&[])]);
    let stray = packet(Side::B, TAG, &[&data(1, b"stray")]);
    for bytes in [asking, stray] {
        let mut answered = 0;
        for n in 0..2 * limit {
            // An attacker that cannot forge sources has one IPv4 address, or one IPv6 prefix of 64 bits.
            pair.inject(Side::B, at(ip(66, 6)), &bytes);
            if n % 200 == 199 {
                let honest = at(ip(7, (n / 200) as u8));
                answered += u32::from(pair.inject(Side::B, honest, &bytes) == DatagramOutcome::Replied);
            }
        }
        // One in 64 sources shares the attacker's half.
        assert!(answered > 90, "{answered} of 100");
        let prefix = |n: u32| IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, (n >> 16) as u16, n as u16]);
        let v6: IpAddr = "2001:db8:ffff::1".parse().unwrap();
        pair.now += Span::from_secs(1);
        for n in 0..2 * limit {
            pair.inject(Side::B, PathAddr { local: v6, remote: prefix(n) }, &bytes);
        }
        assert_eq!(pair.inject(Side::B, at(a_ip(0)), &bytes), DatagramOutcome::Replied);
    }
}

#[test]
fn associations_that_moved_to_an_address_count_for_it() {
    let config = EndpointConfig { max_associations_per_peer: 2, ..EndpointConfig::default() };
    let mut pair = Pair::new(Config::mobile(), vec![b_ip(0)]);
    let mut fresh = Endpoint::new(config, [9; 32]).unwrap();
    let local = LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    fresh.listen(local, Config::mobile()).unwrap();
    pair.b.endpoint = fresh;
    let mut most = 0;
    for n in 0..6 {
        // Another program of the same host, at the same port: each connects from the address that the
        // previous one left.
        pair.a.endpoint = Endpoint::new(EndpointConfig::default(), [n; 32]).unwrap();
        pair.connect(Config::mobile(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(2));
        if pair.a.state() != Some(AssociationState::Established) {
            continue;
        }
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
        pair.run_for(Span::from_secs(2));
        pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
        pair.run_for(Span::from_secs(2));
        most = pair.b.endpoint.len();
        assert!(most <= 2, "{most} associations of one address");
    }
    assert_eq!(most, 2);
}

#[test]
fn a_large_heartbeat_is_answered_despite_a_small_initial_pmtu() {
    // RFC 9260 §8.3: MUST respond; the acknowledgement is as long as the HEARTBEAT.
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 100, Span::from_secs(1));
    let (tag, info) = (pair.tag_of(Side::B), [7; 1400]);
    let params = [Param::HeartbeatInfo(&info)];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let before = pair.log_len();
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&heartbeat]));
    let answers = pair.sent_since(Side::B, before);
    assert!(answers.iter().any(|flight| flight.has(chunk::HEARTBEAT_ACK)), "{answers:?}");
}

#[test]
fn an_observer_without_the_key_cannot_keep_a_dead_association_up() {
    let limit = Span::from_secs(30);
    let auth = crate::attacks::stranger::keyed();
    let mut pair = Pair::new(
        Config { idle_timeout: Some(limit), auth: auth.clone(), ..Config::default() },
        vec![b_ip(0)],
    );
    pair.log = Some(Vec::new());
    pair.connect(Config { auth, ..Config::default() }, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 1, 100, Span::from_secs(1));
    let tag = pair.tag_of(Side::B);
    pair.drop_if(|_| true);
    for n in 0..100 {
        let unsigned = packet(Side::B, tag, &[&data(n, b"unsigned")]);
        pair.inject(Side::B, Pair::at(Side::B), &unsigned);
        pair.run_for(Span::from_secs(1));
    }
    assert!(pair.b.saw(|event| matches!(event, Event::Lost(_))), "{:?}", pair.b.events);
}
