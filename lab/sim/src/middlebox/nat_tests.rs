//! NAT behaviours alone: each of RFC 4787's mappings and filters, timeouts, rebinding, the port pool.

use proptest::prelude::*;

use super::*;

const PUBLIC: u32 = 100;
const CLIENT: End = End { address: 1, port: 9899 };
/// Addresses of two ports of one server, and of another server.
const SERVERS: [End; 3] =
    [End { address: 10, port: 9899 }, End { address: 10, port: 53 }, End { address: 11, port: 9899 }];

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

fn nat(mapping: Dependence, filtering: Dependence) -> Nat {
    let options = NatOptions { mapping, filtering, timeout: Span::from_secs(30), ports: (5000, 5009) };
    Nat::new(options, PUBLIC)
}

/// Sends from inside. Returns the public port, or `None` if the packet was dropped.
fn send(nat: &mut Nat, now: Time, source: End, destination: End) -> Option<u16> {
    let mut flow = Flow { protocol: Protocol::Udp, source, destination };
    nat.outward(now, &mut flow).then(|| {
        assert_eq!((flow.source.address, flow.destination), (PUBLIC, destination));
        flow.source.port
    })
}

/// Sends from outside to a public port. Returns the inside end, or `None` if the packet was dropped.
fn answer(nat: &mut Nat, now: Time, source: End, port: u16) -> Option<End> {
    let mut flow = Flow { protocol: Protocol::Udp, source, destination: End { address: PUBLIC, port } };
    nat.inward(now, &mut flow).then(|| {
        assert_eq!(flow.source, source);
        flow.destination
    })
}

#[test]
fn each_mapping_depends_on_its_part_of_the_destination() {
    for (mapping, ports) in [
        (Dependence::Endpoint, [5000, 5000, 5000]),
        (Dependence::Address, [5000, 5000, 5001]),
        (Dependence::AddressAndPort, [5000, 5001, 5002]),
    ] {
        let mut nat = nat(mapping, Dependence::Endpoint);
        let sent = SERVERS.map(|server| send(&mut nat, at(0), CLIENT, server).unwrap());
        assert_eq!(sent, ports, "{mapping:?}");
        assert_eq!(SERVERS.map(|server| send(&mut nat, at(1), CLIENT, server).unwrap()), ports);
        for (server, port) in SERVERS.into_iter().zip(ports) {
            assert_eq!(answer(&mut nat, at(2), server, port), Some(CLIENT));
        }
        let other = End { port: 9900, ..CLIENT };
        assert!(!ports.contains(&send(&mut nat, at(2), other, SERVERS[0]).unwrap()));
    }
}

#[test]
fn each_filter_depends_on_its_part_of_the_source() {
    for (filtering, passes) in [
        (Dependence::Endpoint, [true, true, true]),
        (Dependence::Address, [true, true, false]),
        (Dependence::AddressAndPort, [true, false, false]),
    ] {
        let mut nat = nat(Dependence::Endpoint, filtering);
        let port = send(&mut nat, at(0), CLIENT, SERVERS[0]).unwrap();
        let passed = SERVERS.map(|server| answer(&mut nat, at(1), server, port).is_some());
        assert_eq!(passed, passes, "{filtering:?}");
        assert_eq!(answer(&mut nat, at(1), SERVERS[0], port + 1), None, "no mapping");
    }
}

#[test]
fn packets_from_inside_alone_refresh_a_mapping_and_a_new_one_has_another_port() {
    let mut nat = nat(Dependence::Endpoint, Dependence::AddressAndPort);
    let port = send(&mut nat, at(0), CLIENT, SERVERS[0]).unwrap();
    assert_eq!(send(&mut nat, at(30), CLIENT, SERVERS[0]), Some(port));
    assert_eq!(answer(&mut nat, at(59), SERVERS[0], port), Some(CLIENT));
    assert_eq!(answer(&mut nat, at(61), SERVERS[0], port), None, "the answer did not refresh it");
    let new = send(&mut nat, at(62), CLIENT, SERVERS[0]).unwrap();
    assert_ne!(new, port);
    assert_eq!(answer(&mut nat, at(62), SERVERS[0], port), None);
    assert_eq!(answer(&mut nat, at(62), SERVERS[0], new), Some(CLIENT));
    assert_eq!(nat.created(), 2);
}

#[test]
fn what_a_filter_lets_in_times_out_by_remote() {
    let mut nat = nat(Dependence::Endpoint, Dependence::Address);
    let port = send(&mut nat, at(0), CLIENT, SERVERS[2]).unwrap();
    send(&mut nat, at(20), CLIENT, SERVERS[0]);
    assert_eq!(answer(&mut nat, at(40), SERVERS[2], port), None);
    assert_eq!(answer(&mut nat, at(40), SERVERS[0], port), Some(CLIENT));
}

#[test]
fn rebinding_forgets_every_mapping() {
    let mut nat = nat(Dependence::Endpoint, Dependence::Endpoint);
    let port = send(&mut nat, at(0), CLIENT, SERVERS[0]).unwrap();
    nat.change(Change::Rebind);
    assert_eq!(answer(&mut nat, at(0), SERVERS[0], port), None);
    assert_eq!(send(&mut nat, at(0), CLIENT, SERVERS[0]), Some(port + 1));
}

#[test]
fn a_full_pool_drops_new_flows_until_a_mapping_times_out() {
    let mut nat = nat(Dependence::Endpoint, Dependence::Endpoint);
    let client = |port| End { port, ..CLIENT };
    for port in 0..10 {
        assert!(send(&mut nat, at(u64::from(port)), client(port), SERVERS[0]).is_some());
    }
    assert_eq!(send(&mut nat, at(10), client(10), SERVERS[0]), None);
    assert!(send(&mut nat, at(10), client(9), SERVERS[0]).is_some(), "known ones pass");
    assert_eq!(send(&mut nat, at(31), client(10), SERVERS[0]), Some(5000), "the first one is over");
    // TCP has ports of its own.
    let mut flow = Flow { protocol: Protocol::Tcp, source: client(11), destination: SERVERS[0] };
    assert!(nat.outward(at(31), &mut flow));
}

proptest! {
    /// For any packets, an immediate answer reaches its sender, and two inside ends never share a port.
    #[test]
    fn answers_reach_the_sender(
        packets in prop::collection::vec((0..40u64, 0..6u16, 0..3usize, 0..20u8), 1..80),
        kinds in (0..3usize, 0..3usize),
    ) {
        let all = [Dependence::Endpoint, Dependence::Address, Dependence::AddressAndPort];
        let mut nat = nat(all[kinds.0], all[kinds.1]);
        let mut now = Time::ZERO;
        let mut live: BTreeMap<u16, (End, Time)> = BTreeMap::new();
        for (wait, client, server, rebind) in packets {
            now += Span::from_secs(wait);
            if rebind == 0 {
                nat.change(Change::Rebind);
                live.clear();
            }
            let (client, server) = (End { port: client, ..CLIENT }, SERVERS[server]);
            if let Some(port) = send(&mut nat, now, client, server) {
                prop_assert_eq!(answer(&mut nat, now, server, port), Some(client));
                if let Some((owner, last)) = live.insert(port, (client, now)) {
                    prop_assert!(owner == client || now.since(last) > Span::from_secs(30));
                }
            }
        }
    }
}
