//! Sets associations up between two endpoints in memory, so that what a set-up costs can be counted:
//!
//! `valgrind --tool=callgrind target/release/examples/setups_in_memory 1000`, and the same with 2000: the
//! difference is 1000 set-ups. The profile shows the costs of `client` and `server`.

use std::collections::VecDeque;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;

use msctp_proto::{Config, Endpoint, EndpointConfig, Event, LocalAddrs, PathAddr, RemoteAddrs};
use msctp_units::Time;

type Wire = VecDeque<(PathAddr, Vec<u8>)>;

/// Processes the packets that arrived, and puts the endpoint's packets on the other wire. Returns the number
/// of associations that came up.
fn work(end: &mut Endpoint, from: &mut Wire, to: &mut Wire) -> usize {
    while let Some((at, mut bytes)) = from.pop_front() {
        black_box(end.handle_datagram(Time::ZERO, at, &mut bytes));
    }
    loop {
        let mut bytes = Vec::with_capacity(1500);
        let Some(transmit) = end.poll_transmit(Time::ZERO, &mut bytes) else { break };
        to.push_back((PathAddr { local: transmit.at.remote, remote: transmit.at.local }, bytes));
    }
    let mut up = 0;
    while let Some((_, event)) = end.poll_event() {
        up += usize::from(matches!(event, Event::Connected { .. }));
    }
    up
}

#[inline(never)]
fn client(end: &mut Endpoint, from: &mut Wire, to: &mut Wire, connect: Option<(&Arc<Config>, u16)>) -> usize {
    if let Some((config, port)) = connect {
        let local = LocalAddrs { port, addresses: vec![address(1)] };
        let remote = RemoteAddrs { port: 5001, addresses: vec![address(2)] };
        end.connect(Time::ZERO, Arc::clone(config), local, remote).expect("valid");
    }
    work(end, from, to)
}

#[inline(never)]
fn server(end: &mut Endpoint, from: &mut Wire, to: &mut Wire) -> usize {
    work(end, from, to)
}

fn address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

fn main() {
    let count: u16 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    // All associations are with one peer.
    let limits = EndpointConfig { max_associations_per_peer: count.into(), ..EndpointConfig::default() };
    let mut a = Endpoint::new(limits.clone(), [1; 32]).expect("valid");
    let mut b = Endpoint::new(limits, [2; 32]).expect("valid");
    b.listen(LocalAddrs { port: 5001, addresses: vec![address(2)] }, Config::default()).expect("valid");
    let config = Arc::new(Config::default());
    let (mut to_a, mut to_b) = (Wire::new(), Wire::new());
    let mut up = 0;
    for n in 0..count {
        up += client(&mut a, &mut to_a, &mut to_b, Some((&config, 10_000 + n)));
        while !to_a.is_empty() || !to_b.is_empty() {
            up += server(&mut b, &mut to_b, &mut to_a);
            up += client(&mut a, &mut to_a, &mut to_b, None);
        }
    }
    assert_eq!(up, 2 * usize::from(count), "both ends are up");
    println!("{count} set-ups");
}
