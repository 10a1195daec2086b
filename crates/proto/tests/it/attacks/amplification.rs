//! A client that lists addresses of other hosts (RFC 5062): an address without an answer gets only
//! heartbeats, fewer bytes than the attacker had to send.

use msctp_proto::{AuthConfig, PathState};
use msctp_units::Span;
use std::collections::BTreeMap;

use crate::attacks::victim::config;
use crate::support::{Fate, Pair, Side, a_ip, b_ip, chunk, ip};

/// QUIC's limit of three, since RFC 9260 does not define the factor.
const LIMIT: usize = 3;

#[test]
fn listed_addresses_of_others_get_no_data_and_bounded_bytes() {
    let mut pair = Pair::new(config(AuthConfig::default()), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let others: Vec<_> = (1..16).map(|n| ip(77, n)).collect();
    let claimed: Vec<_> = core::iter::once(a_ip(0)).chain(others.iter().copied()).collect();
    let listed = others.clone();
    pair.filter = Box::new(move |flight| {
        let foreign = |address| listed.contains(address);
        // The attacker neither receives packets to the others nor sends from their addresses.
        if foreign(&flight.at.remote) || foreign(&flight.at.local) { Fate::Drop } else { Fate::Pass }
    });
    pair.connect(config(AuthConfig::default()), claimed, vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    for n in 0..300 {
        let _ = pair.with(Side::B, |b, now| b.send(now, crate::support::message(0, vec![n as u8; 1400])));
    }
    pair.run_for(Span::from_secs(120));
    let log = pair.log.as_ref().unwrap();
    let to_us: usize =
        log.iter().filter(|f| f.from == Side::A && f.at.local == a_ip(0)).map(|f| f.bytes.len()).sum();
    let mut at_others = BTreeMap::new();
    for flight in log.iter().filter(|f| f.from == Side::B && others.contains(&f.at.remote)) {
        assert!(flight.chunks().iter().all(|typ| *typ == chunk::HEARTBEAT), "{:?}", flight.chunks());
        *at_others.entry(flight.at.remote).or_insert(0) += flight.bytes.len();
    }
    let total: usize = at_others.values().sum();
    assert!(total > 0, "they are verified");
    assert!(total <= LIMIT * to_us, "{total} bytes to others for {to_us} received");
    assert!(at_others.values().all(|bytes| *bytes <= 1500), "{at_others:?}");
    let active = pair.with(Side::B, |b, _| b.paths().filter(|path| path.state == PathState::Active).count());
    assert_eq!(active, 1);
}
