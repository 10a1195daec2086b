//! `Config::mobile` in a mobile's conditions: many address pairs of which one works, and several new pairs at
//! once.

use crate::support;

use msctp_proto::{AssociationState as State, Config, Event, PathState};
use msctp_units::{Span, Time};
use support::{Flight, Pair, Side, a_ip, b_ip};

/// Returns a mobile with five addresses and a server with two: ten pairs, all confirmed.
fn ten_pairs() -> Pair {
    let (mobile, server) = ((0..5).map(a_ip).collect(), vec![b_ip(0), b_ip(1)]);
    let mut pair = Pair::established_with(Config::mobile(), Config::mobile(), mobile, server);
    pair.run_for(Span::from_secs(20));
    for side in [Side::A, Side::B] {
        let active = pair.with(side, |end, _| end.paths().filter(|p| p.state == PathState::Active).count());
        assert_eq!(active, 10);
    }
    pair
}

/// Matches packets of all pairs except the mobile's last address with the server's second.
fn dead(flight: &Flight) -> bool {
    let ends = [flight.at.local, flight.at.remote];
    !(ends.contains(&a_ip(4)) && ends.contains(&b_ip(1)))
}

/// Cuts nine pairs and sends from `from`; returns the times until the first message and the fiftieth arrive.
fn moved(pair: &mut Pair, from: Side) -> (Span, Span) {
    pair.drop_if(dead);
    let died = pair.now;
    let mut waiting = (0..u32::MAX).take(4000).collect();
    let before = pair.host(from.other()).received.len();
    let arrived = |pair: &mut Pair| pair.host(from.other()).received.len() - before;
    let mut first = Span::MAX;
    let done = pair.run_until(Span::from_secs(60), |pair| {
        pair.feed(from, &mut waiting, 1000);
        if first == Span::MAX && arrived(pair) > 0 {
            first = pair.now.since(died);
        }
        arrived(pair) >= 50
    });
    assert!(done, "{} messages in a minute", arrived(pair));
    (first, pair.now.since(died))
}

/// A timeout on each of nine pairs in turn takes ten seconds at most: RTO.Min is 400 ms, and pairs without a
/// measured round trip take one or two timeouts more.
#[test]
fn the_only_working_pair_of_ten_is_found_and_the_association_survives() {
    for from in [Side::A, Side::B] {
        let mut pair = ten_pairs();
        let (first, fifty) = moved(&mut pair, from);
        println!("from {from:?}: the first message after {first}, fifty after {fifty}");
        assert!(fifty <= Span::from_secs(10), "{first} {fifty}");
        // Repeat it for ten minutes, with data and without.
        let mut waiting = (0..u32::MAX).take(20_000).collect();
        let delivered = pair.host(from.other()).received.len();
        pair.run_until(Span::from_secs(300), |pair| {
            pair.feed(from, &mut waiting, 1000);
            false
        });
        assert!(pair.host(from.other()).received.len() > delivered + 10_000);
        pair.run_for(Span::from_secs(300));
        assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
    }
}

#[test]
fn nine_pairs_that_fail_while_idle_do_not_end_the_association() {
    let mut pair = ten_pairs();
    pair.drop_if(dead);
    pair.run_for(Span::from_secs(600));
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
    // Heartbeats have detected the failures: data uses the working pair at once.
    for from in [Side::A, Side::B] {
        let (first, _) = moved(&mut pair, from);
        assert!(first <= Span::from_millis(100), "{first}");
    }
}

/// Returns when the mobile confirms each of the four pairs of a new address, from its addition on.
fn confirmed(config: &Config) -> Vec<Span> {
    let server = (0..4).map(b_ip).collect();
    let mut pair = Pair::established_with(config.clone(), config.clone(), vec![a_ip(0)], server);
    pair.run_for(Span::from_secs(20));
    let at = pair.now;
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    let mut times: Vec<Time> = Vec::new();
    pair.run_until(Span::from_secs(30), |pair| {
        let new = |p: &msctp_proto::PathStats| p.at.local == a_ip(1) && p.state == PathState::Active;
        let count = pair.with(Side::A, |a, _| a.paths().filter(new).count());
        let now = pair.now;
        times.resize(count.max(times.len()), now);
        count == 4
    });
    assert!(!pair.a.saw(|event| matches!(event, Event::Lost(_))));
    times.into_iter().map(|time| time.since(at)).collect()
}

/// RFC 9260 §5.4, HB.Max.Burst: by default one HEARTBEAT per RTO, four in `Config::mobile`. The round trip is
/// 40 ms.
#[test]
fn four_new_pairs_are_confirmed_one_per_rto_by_default_and_at_once_with_the_mobile_options() {
    let default = confirmed(&Config::default());
    println!("by default {default:?}");
    let [.., last] = default[..] else { panic!("{default:?}") };
    assert_eq!(default.len(), 4);
    // RTO.Initial, for paths without a measurement, is 1 s.
    assert!(last <= Span::from_millis(3 * 1000 + 100), "{default:?}");
    let mobile = confirmed(&Config::mobile());
    println!("with the mobile's options {mobile:?}");
    assert_eq!(mobile.len(), 4);
    // A round trip of the ASCONF that adds the address, and one of the HEARTBEATs that follow it.
    assert!(mobile.iter().all(|time| *time <= Span::from_millis(100)), "{mobile:?}");
}
