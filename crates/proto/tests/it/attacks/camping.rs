//! Camping (RFC 5062): an attacker's association lists the victim's address in its INIT, to occupy the
//! victim's place.

use core::net::IpAddr;

use msctp_proto::{
    AssociationState as State, Config, DatagramOutcome, Endpoint, EndpointConfig, LocalAddrs, PathAddr,
    RemoteAddrs,
};
use msctp_units::{Span, Time};
use msctp_wire::{Checksum, Chunk, CookieEcho, HeartbeatAck, Packet, Param};

use crate::attacks::stranger::{TAG, ask, echo, from, init, init_ack, keyed};
use crate::support::{
    Fate, Flight, PORT_A, PORT_B, Pair, Side, a_ip, b_ip, chunk, ip, message, packet, packet_between,
    text_message,
};

fn attacker() -> IpAddr {
    ip(66, 6)
}

/// Returns a pair after the attacker's association with B has been up for 150 s; its paths are confirmed, the
/// victim's is not.
fn camp(config: Config) -> Pair {
    let at = from(Side::B, attacker());
    let mut pair = Pair::new(config, vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let cookie = init_ack(&ask(&mut pair, Side::B, at, &[Param::from(a_ip(0))])).unwrap();
    assert!(matches!(echo(&mut pair, Side::B, at, &cookie, &[]), DatagramOutcome::Accepted(_)));
    pair.drop_if(|_| true);
    for _ in 0..300 {
        let before = pair.log_len();
        pair.run_for(Span::from_millis(500));
        for flight in pair.sent_since(Side::B, before).iter().filter(|f| f.at.remote == attacker()) {
            let heard = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
            for chunk in heard.chunks().flatten() {
                if let Chunk::Heartbeat(heartbeat) = chunk {
                    let answer = packet(Side::B, cookie.0, &[&HeartbeatAck { params: heartbeat.params }]);
                    pair.inject(Side::B, at, &answer);
                }
            }
        }
    }
    assert_eq!(pair.b.endpoint.len(), 1, "the attacker's");
    // The victim receives only packets to its own address.
    pair.filter = Box::new(|flight| if flight.at.remote == attacker() { Fate::Drop } else { Fate::Pass });
    pair.b.events.clear();
    pair
}

fn to_attacker(flights: &[Flight]) -> Vec<Vec<u8>> {
    flights
        .iter()
        .filter(|f| f.at.remote == attacker() && f.has(chunk::DATA))
        .map(|f| f.bytes.clone())
        .collect()
}

#[test]
fn the_victim_gets_an_association_of_its_own_at_once() {
    for config in [Config::default(), Config::mobile()] {
        let mut pair = camp(config.clone());
        let before = pair.log_len();
        pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_millis(200));
        assert_eq!(pair.a.state(), Some(State::Established), "after two round trips");
        assert_eq!(pair.b.endpoint.len(), 2);
        for _ in 0..200 {
            pair.with(Side::B, |b, now| b.send(now, message(0, vec![0x53; 1000]))).unwrap();
        }
        pair.send(Side::A, text_message("GET /account"));
        pair.run_for(Span::from_secs(5));
        assert_eq!((pair.a.received.len(), pair.b.received.len()), (200, 1));
        assert_eq!(to_attacker(&pair.sent_since(Side::B, before)), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn shared_keys_prevent_camping() {
    let config = Config { auth: keyed(), ..Config::mobile() };
    let mut pair = Pair::new(config, vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let answer = ask(&mut pair, Side::B, from(Side::B, attacker()), &[Param::from(a_ip(0))]);
    assert_eq!(answer[0].chunks(), [chunk::ABORT]);
}

#[test]
fn an_association_to_the_victims_address_can_be_opened() {
    let mut pair = camp(Config::default());
    let local = LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    let remote = RemoteAddrs { port: PORT_A, addresses: vec![a_ip(0)] };
    assert!(!pair.b.endpoint.is_associated(PORT_B, &remote));
    let called = pair.b.endpoint.connect(pair.now, Config::default(), local, remote);
    pair.b.handle = Some(called.unwrap());
    pair.a.endpoint.listen(LocalAddrs { port: PORT_A, addresses: vec![a_ip(0)] }, Config::default()).unwrap();
    pair.drain(Side::B);
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.state(), Some(State::Established));
}

#[test]
fn the_victims_abort_ends_what_the_attackers_association_does_to_it() {
    // RFC 9260 §8.4 rule 8: the heartbeat is answered by an ABORT with the T bit, from an unconfirmed
    // address. It ends the path, not the association: an endpoint at an address that the peer lists by
    // mistake (that of a container's network) answers the same. The association does not hold the victim's
    // place, which only confirmed addresses do.
    let at = from(Side::B, attacker());
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let cookie = init_ack(&ask(&mut pair, Side::B, at, &[Param::from(a_ip(0))])).unwrap();
    // The victim receives only packets to its own address.
    pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&attacker()));
    echo(&mut pair, Side::B, at, &cookie, &[]);
    pair.run_for(Span::from_secs(5));
    let (before, victim) = (pair.log_len(), a_ip(0));
    let to_victim = |pair: &Pair, since| {
        pair.sent_since(Side::B, since).iter().filter(|flight| flight.at.remote == victim).count()
    };
    assert_eq!(to_victim(&pair, 0), 1, "A's endpoint is up, and knows nothing of tag {TAG:#x}");
    pair.run_for(Span::from_secs(20));
    assert_eq!(to_victim(&pair, before), 0, "without the ABORT, a HEARTBEAT every RTO");
    assert_eq!(pair.b.endpoint.len(), 1, "the attacker's");
    pair.connect(Config::default(), vec![victim], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(200));
    assert_eq!(pair.a.state(), Some(State::Established));
    assert_eq!(pair.b.endpoint.len(), 2);
}

/// Opens associations to a listener from this address and port; returns the outcome of the COOKIE ECHO.
fn accept(endpoint: &mut Endpoint, remote: IpAddr, port: u16) -> DatagramOutcome {
    let now = Time::ZERO + Span::from_secs(1);
    let local = if remote.is_ipv4() { b_ip(0) } else { "2001:db8:ffff::1".parse().unwrap() };
    let (at, mut out) = (PathAddr { local, remote }, Vec::new());
    endpoint.handle_datagram(now, at, &mut packet_between(port, PORT_B, 0, &[&init(&[])]));
    assert!(endpoint.poll_transmit(now, &mut out).is_some(), "INIT ACK");
    let flight = Flight {
        sent: now,
        from: Side::B,
        at,
        ecn: msctp_units::Ecn::NotEct,
        ports: None,
        bytes: out.clone(),
    };
    let (tag, cookie) = init_ack(&[flight]).unwrap();
    let echo = packet_between(port, PORT_B, tag, &[&CookieEcho { cookie: &cookie }]);
    let outcome = endpoint.handle_datagram(now, at, &mut echo.clone());
    while endpoint.poll_transmit(now, &mut out).is_some() {
        out.clear();
    }
    while endpoint.poll_event().is_some() {}
    outcome
}

#[test]
fn one_peer_cannot_occupy_all_associations() {
    let config = EndpointConfig { max_associations_per_peer: 3, ..EndpointConfig::default() };
    let mut endpoint = Endpoint::new(config, [9; 32]).unwrap();
    let v6 = |address: &str| address.parse::<IpAddr>().unwrap();
    let addresses = vec![b_ip(0), v6("2001:db8:ffff::1")];
    endpoint.listen(LocalAddrs { port: PORT_B, addresses }, Config::default()).unwrap();
    let mut accepted = |remote, port| match accept(&mut endpoint, remote, port) {
        DatagramOutcome::Accepted(_) => true,
        other => {
            assert_eq!(other, DatagramOutcome::Replied, "ABORT");
            false
        }
    };
    for port in 50_000..50_010 {
        assert_eq!(accepted(attacker(), port), port < 50_003, "{port}");
    }
    assert!(accepted(a_ip(0), 50_000), "other addresses are not affected");
    // A subscriber has many IPv6 addresses in one prefix.
    for n in 1..10_u16 {
        let address = IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, n]);
        assert_eq!(accepted(address, 50_000 + n), n <= 3, "{n}");
    }
    assert!(accepted(v6("2001:db8:0:8::1"), 50_000));
    let default = EndpointConfig::default();
    assert!(default.max_associations_per_peer * 16 <= default.max_associations);
}
