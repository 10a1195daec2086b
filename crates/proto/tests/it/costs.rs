//! What addresses cost, and what the peer learns about it (docs/internals/path-cost.md).

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use msctp_proto::{Config, Cost, PathAddr, Protection};
use msctp_units::Span;
use msctp_wire::PathCost;

use crate::attacks::changed_setup::psk;
use crate::support::{Flight, Pair, Side, a_ip, b_ip, packet};

const BACKUP: Cost = Cost { backup: true, metered: false };
const PATH_COST: u8 = 0xbb;

/// A with two addresses, and B with one.
fn up(config: &Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config.clone(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(3));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    assert_eq!(cost(&mut pair, Side::B, 1), Cost::default());
    pair
}

fn set(pair: &mut Pair, network: u8, cost: Cost) {
    pair.with(Side::A, |a, now| a.set_address_cost(now, a_ip(network), cost)).unwrap();
}

/// What an end knows of the path to A's address in this network.
fn cost(pair: &mut Pair, side: Side, network: u8) -> Cost {
    let of_a = |at: PathAddr| if side == Side::A { at.local } else { at.remote };
    let find = |paths: Vec<(PathAddr, Cost)>| {
        paths.into_iter().find(|(at, _)| of_a(*at) == a_ip(network)).expect("a path").1
    };
    find(pair.with(side, |end, _| end.paths().map(|path| (path.at, path.cost)).collect()))
}

#[test]
fn the_peer_learns_what_an_address_costs() {
    let mut pair = up(&psk());
    set(&mut pair, 1, Cost { metered: true, ..BACKUP });
    pair.run_for(Span::from_secs(1));
    for side in [Side::A, Side::B] {
        assert_eq!(cost(&mut pair, side, 1), Cost { backup: true, metered: true }, "{side:?}");
        assert_eq!(cost(&mut pair, side, 0), Cost::default(), "{side:?}");
    }
    set(&mut pair, 1, Cost::default());
    set(&mut pair, 0, BACKUP);
    pair.run_for(Span::from_secs(1));
    assert_eq!([0, 1].map(|network| cost(&mut pair, Side::B, network)), [BACKUP, Cost::default()]);
    // Nothing more is exchanged.
    // Two changes at once may cost a second HEARTBEAT an RTO later; then there is nothing more to exchange.
    pair.run_for(Span::from_secs(1));
    let before = pair.log_len();
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.log_len(), before);
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

#[test]
fn an_address_that_is_added_later_has_its_cost_from_the_first_answer_on() {
    let mut pair = up(&psk());
    set(&mut pair, 0, BACKUP);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).unwrap();
    set(&mut pair, 2, BACKUP);
    assert!(pair.run_until(Span::from_secs(5), |pair| {
        pair.with(Side::B, |b, _| b.paths().any(|path| path.at.remote == a_ip(2) && path.cost == BACKUP))
    }));
}

#[test]
fn the_peer_learns_it_although_packets_are_lost() {
    for lost in 1..8 {
        let mut pair = up(&psk());
        let mut left = lost;
        pair.drop_if(move |_| {
            left -= i32::from(left > 0);
            left > 0
        });
        set(&mut pair, 1, BACKUP);
        assert!(pair.run_until(Span::from_secs(60), |pair| cost(pair, Side::B, 1) == BACKUP), "{lost}");
    }
}

/// In clear nothing is told, and nothing is believed, whatever an observer sends.
#[test]
fn in_clear_the_peer_is_told_nothing_and_believes_nothing() {
    for config in [Config::default(), psk()] {
        let mut pair = up(&config);
        let before = pair.log_len();
        if config.protection == Protection::Insecure {
            set(&mut pair, 1, BACKUP);
        }
        let forged = PathCost { backup: true, metered: true, version: 7 };
        let tag = pair.tag_of(Side::B);
        for network in [0, 1] {
            let at = PathAddr { local: b_ip(0), remote: a_ip(network) };
            pair.inject(Side::B, at, &packet(Side::B, tag, &[&forged]));
        }
        pair.run_for(Span::from_secs(1));
        assert_eq!([0, 1].map(|network| cost(&mut pair, Side::B, network)), [Cost::default(); 2]);
        let told = |flight: &Flight| flight.chunks().contains(&PATH_COST);
        assert!(!pair.sent_since(Side::A, before).iter().any(told));
    }
}

/// An attacker on the costly network delivers A's packets from A's other address, in place of A or first.
#[test]
fn packets_from_another_address_do_not_exchange_the_costs_of_two_networks() {
    let wrong = PathAddr { local: b_ip(0), remote: a_ip(0) };
    for keeps in [false, true] {
        let mut pair = up(&psk());
        let taken = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&taken);
        pair.drop_if(move |flight| {
            let is_his = flight.from == Side::A && flight.at.local == a_ip(1);
            if is_his {
                seen.borrow_mut().push(flight.bytes.clone());
            }
            is_his && !keeps
        });
        set(&mut pair, 1, BACKUP);
        for _ in 0..50 {
            let bytes: Vec<Vec<u8>> = core::mem::take(&mut taken.borrow_mut());
            for bytes in bytes {
                pair.inject(Side::B, wrong, &bytes);
            }
            pair.run_for(Span::from_millis(100));
        }
        assert_eq!(cost(&mut pair, Side::B, 0), Cost::default(), "keeps {keeps}");
        pair.pass_all();
        pair.run_for(Span::from_secs(60));
        assert_eq!([0, 1].map(|network| cost(&mut pair, Side::B, network)), [Cost::default(), BACKUP]);
    }
}

/// A recorded word of before is a replay, which protection drops.
#[test]
fn a_replayed_word_changes_nothing() {
    let mut pair = up(&psk());
    let before = pair.log_len();
    set(&mut pair, 1, BACKUP);
    pair.run_for(Span::from_secs(1));
    let recorded = pair.sent_since(Side::A, before);
    set(&mut pair, 1, Cost::default());
    pair.run_for(Span::from_secs(1));
    for flight in &recorded {
        let remote: IpAddr = flight.at.local;
        pair.inject(Side::B, PathAddr { local: b_ip(0), remote }, &flight.bytes);
        pair.run_for(Span::from_millis(50));
    }
    assert_eq!(cost(&mut pair, Side::B, 1), Cost::default());
}
