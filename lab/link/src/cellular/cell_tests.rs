//! The scheduler against closed forms: equal shares, the gain of proportional fairness, work conservation.

use msctp_units::Rate;
use proptest::prelude::*;

use super::*;
use crate::cellular::Shannon;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn port(mbps: u64, coherence: Option<Span>) -> PortConfig {
    PortConfig {
        delay: Span::from_millis(5),
        queue: QueueLimit::Unbounded,
        quality: Quality::Rate(Rate::from_mbps(mbps)),
        coherence,
        loss: None,
    }
}

/// Returns a cell of users with these mean rates in Mbps. Each uses one direction.
fn cell(scheduler: Scheduler, coherence: Option<Span>, rates: &[u64]) -> CellularCell<u32> {
    let config = CellularConfig { scheduler, ..CellularConfig::default() };
    let mut cell = CellularCell::new(config, [5; 32]);
    for &mbps in rates {
        cell.add_link([port(mbps, coherence), port(mbps, coherence)]);
    }
    cell
}

/// Keeps every downlink full for `ttis`. Returns the bytes of each user that were sent in the last half.
fn saturated(cell: &mut CellularCell<u32>, ttis: u64) -> Vec<f64> {
    let users = cell.ports.len() / 2;
    let mut half = vec![0; users];
    for ms in 0..ttis {
        let now = at(1000 * ms);
        for user in 0..users {
            while cell.ports[2 * user].waiting_bytes < 2_000_000 {
                assert_eq!(cell.offer(now, PortId(2 * user), 0, 1000), Offer::Queued);
            }
        }
        while cell.deliver(now).is_some() {}
        if ms == ttis / 2 {
            half = (0..users).map(|user| cell.ports[2 * user].stats.delivered.bytes).collect();
        }
    }
    (0..users).map(|user| (cell.ports[2 * user].stats.delivered.bytes - half[user]) as f64).collect()
}

const FAST: Option<Span> = Some(TTI);

#[test]
fn equal_users_get_equal_shares() {
    for scheduler in [Scheduler::ProportionalFair, Scheduler::RoundRobin] {
        for coherence in [None, FAST] {
            let bytes = saturated(&mut cell(scheduler, coherence, &[40; 5]), 8000);
            let mean = bytes.iter().sum::<f64>() / 5.0;
            // Round robin serves each user 800 times, with gains whose standard deviation is their mean.
            let within = if scheduler == Scheduler::RoundRobin && coherence.is_some() { 0.14 } else { 0.03 };
            assert!(bytes.iter().all(|user| (user / mean - 1.0).abs() < within), "{scheduler:?}: {bytes:?}");
        }
    }
}

/// With independent exponential gains and long averages, the scheduler serves each user when its gain is the
/// largest of N. The sum of the rates is then the mean rate times 1 + 1/2 + … + 1/N. Round robin gives the
/// mean rate.
#[test]
fn proportional_fairness_gains_the_harmonic_sum_over_round_robin() {
    for users in [1, 2, 4, 8, 16] {
        let rates = vec![80; users];
        let sum = |scheduler| saturated(&mut cell(scheduler, FAST, &rates), 20_000).iter().sum::<f64>();
        let mean_rate = 10_000.0 * 10_000.0; // bytes in a TTI, TTIs
        let harmonic: f64 = (1..=users).map(|k| 1.0 / k as f64).sum();
        let fair = sum(Scheduler::ProportionalFair) / mean_rate;
        assert!((fair / harmonic - 1.0).abs() < 0.03, "{users} users: {fair}, want {harmonic}");
        let turns = sum(Scheduler::RoundRobin) / mean_rate;
        assert!((turns - 1.0).abs() < 0.04, "{users} users: {turns}");
    }
}

#[test]
fn throughput_is_proportional_to_the_own_mean_rate() {
    for coherence in [None, FAST] {
        let bytes = saturated(&mut cell(Scheduler::ProportionalFair, coherence, &[10, 20, 80]), 20_000);
        for (user, of) in [(1, 2.0), (2, 8.0)] {
            let ratio = bytes[user] / bytes[0];
            assert!((ratio / of - 1.0).abs() < 0.04, "{ratio}, want {of}");
        }
    }
}

#[test]
fn the_largest_rate_is_served_alone_by_max_rate() {
    let bytes = saturated(&mut cell(Scheduler::MaxRate, None, &[10, 20, 80]), 1000);
    assert_eq!(bytes[..2], [0.0, 0.0]);
    assert!((bytes[2] / 5e6 - 1.0).abs() < 0.01, "{}", bytes[2]);
}

/// Round robin shares time, so that a user far away does not reduce the others' share.
#[test]
fn round_robin_shares_time() {
    let bytes = saturated(&mut cell(Scheduler::RoundRobin, None, &[10, 80]), 2000);
    assert!((bytes[1] / bytes[0] / 8.0 - 1.0).abs() < 0.01, "{bytes:?}");
}

/// Capacity that the first user of a TTI does not need serves the next one.
#[test]
fn no_capacity_is_left_while_somebody_has_packets() {
    for scheduler in [Scheduler::ProportionalFair, Scheduler::RoundRobin, Scheduler::MaxRate] {
        let mut cell = cell(scheduler, None, &[80, 80]);
        for ms in 0..1000 {
            let now = at(1000 * ms);
            assert_eq!(cell.offer(now, PortId(0), 0, 500), Offer::Queued);
            while cell.ports[2].waiting_bytes < 100_000 {
                assert_eq!(cell.offer(now, PortId(2), 1, 1000), Offer::Queued);
            }
            while cell.deliver(now).is_some() {}
        }
        let sent = |user: usize| cell.ports[2 * user].stats.delivered.bytes as f64;
        let all = (sent(0) + sent(1)) / 1e7;
        assert!(all > 0.99 && all <= 1.001, "{scheduler:?}: {all}");
        assert!(cell.ports[0].stats.delivered.packets > 990, "{scheduler:?}");
    }
}

/// A packet of 25,000 bytes at 80 Mbps needs 2.5 TTIs, so that it arrives after the third.
#[test]
fn a_packet_is_sent_in_as_many_ttis_as_it_needs() {
    let mut cell = cell(Scheduler::ProportionalFair, None, &[80]);
    assert_eq!(cell.offer(at(300), PortId(0), 1, 25_000), Offer::Queued);
    assert_eq!(cell.offer(at(300), PortId(0), 2, 5_000), Offer::Queued);
    assert_eq!(cell.offer(at(300), PortId(1), 3, 100), Offer::Queued);
    let mut arrivals = Vec::new();
    while let Some(next) = cell.next_delivery() {
        while let Some((port, delivery)) = cell.deliver(next) {
            arrivals.push((next.as_nanos() / 1000, port.index(), delivery.packet));
        }
    }
    assert_eq!(arrivals, [(7_000, 1, 3), (9_000, 0, 1), (9_000, 0, 2)]);
}

#[test]
fn the_queue_is_each_users_own() {
    let mut cell = CellularCell::new(CellularConfig::default(), [0; 32]);
    for _ in 0..2 {
        cell.add_link([PortConfig { queue: QueueLimit::Packets(2), ..port(1, None) }, port(1, None)]);
    }
    for packet in 0..2 {
        assert_eq!(cell.offer(at(0), PortId(0), packet, 1000), Offer::Queued);
    }
    assert_eq!(cell.offer(at(0), PortId(0), 2, 1000), Offer::Dropped(2, DropReason::QueueFull));
    assert_eq!(cell.offer(at(0), PortId(2), 3, 1000), Offer::Queued);
    assert_eq!(cell.queue_len(PortId(0)), QueueLen { packets: 2, bytes: 2000 });
    // A TTI carries 125 bytes: the first packet is partly sent, and there is room for one more.
    assert_eq!(cell.deliver(at(0)), None);
    assert_eq!(cell.offer(at(500), PortId(0), 4, 1000), Offer::Queued);
}

#[test]
fn a_link_that_goes_down_loses_its_packets_and_the_others_continue() {
    let mut cell = cell(Scheduler::RoundRobin, None, &[8, 8]);
    for port in [0, 2] {
        for packet in 0..3 {
            assert_eq!(cell.offer(at(0), PortId(port), packet, 1000), Offer::Queued);
        }
    }
    assert_eq!(cell.deliver(at(1000)), None);
    cell.change(at(1500), PortId(0), Change::Down).expect("supported");
    let mut lost = 0;
    while let Some((port, delivery)) = cell.deliver(at(1500)) {
        assert_eq!((port, delivery.outcome), (PortId(0), Outcome::Lost(LossReason::LinkDown)));
        lost += 1;
    }
    assert_eq!(lost, 3, "one propagates, two are queued");
    assert_eq!(cell.offer(at(1600), PortId(0), 9, 100), Offer::Dropped(9, DropReason::LinkDown));
    let mut arrived = 0;
    while let Some(next) = cell.next_delivery() {
        arrived += std::iter::from_fn(|| cell.deliver(next)).count();
    }
    assert_eq!(arrived, 3);
    cell.change(at(20_000), PortId(0), Change::Up).expect("supported");
    assert_eq!(cell.offer(at(20_000), PortId(0), 9, 100), Offer::Queued);
    let signal = Quality::Signal(crate::cellular::Signal {
        radio: crate::wlan::Radio::covering(1000),
        distance: Box::new(crate::wlan::Fixed(1)),
        bandwidth_hz: 1,
        shannon: Shannon::UPLINK,
    });
    cell.ports[0].quality = signal;
    let rate = Change::Rate(Rate::from_mbps(1));
    assert_eq!(cell.change(at(20_000), PortId(0), rate), Err(Unsupported { change: rate }));
}

/// A time in milliseconds, a port, and an offered packet with its length. With `None` the link goes down and
/// up.
type Event = (u64, usize, Option<(u32, u32)>);

proptest! {
    /// Each packet comes out once, in order at its port, no earlier than its rate allows, and the counters
    /// agree.
    #[test]
    fn every_packet_comes_out_once_and_in_order(
        offers in prop::collection::vec((0..200u64, 0..6usize, 40..9000u32), 1..80),
        downs in prop::collection::vec((0..200u64, 0..6usize), 0..4),
        scheduler in prop::sample::select(vec![Scheduler::ProportionalFair, Scheduler::RoundRobin, Scheduler::MaxRate]),
    ) {
        let mut cell = cell(scheduler, FAST, &[2, 5, 20]);
        let mut events: Vec<Event> = offers
            .iter()
            .enumerate()
            .map(|(number, &(ms, port, len))| (ms, port, Some((number as u32, len))))
            .chain(downs.iter().map(|&(ms, port)| (ms, port, None)))
            .collect();
        events.sort_by_key(|event| event.0);
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); 6];
        let mut accepted: Vec<Vec<u32>> = vec![Vec::new(); 6];
        for &(ms, port, event) in &events {
            let now = at(1000 * ms + 7);
            while let Some(next) = cell.next_delivery().filter(|next| *next <= now) {
                while let Some((port, delivery)) = cell.deliver(next) {
                    out[port.index()].push(delivery.packet);
                }
            }
            match event {
                Some((number, len)) => if cell.offer(now, PortId(port), number, len) == Offer::Queued {
                    accepted[port].push(number);
                },
                None => {
                    cell.change(now, PortId(port), Change::Down).expect("supported");
                    while let Some((port, delivery)) = cell.deliver(now) {
                        out[port.index()].push(delivery.packet);
                    }
                    cell.change(now, PortId(port), Change::Up).expect("supported");
                }
            }
        }
        let mut last = Time::ZERO;
        while let Some(next) = cell.next_delivery() {
            prop_assert!(next >= last);
            last = next;
            while let Some((port, delivery)) = cell.deliver(next) {
                out[port.index()].push(delivery.packet);
            }
        }
        prop_assert_eq!(out, accepted);
        for port in 0..6 {
            prop_assert_eq!(Medium::stats(&cell, PortId(port)).inside().packets, 0);
            prop_assert_eq!(cell.queue_len(PortId(port)), QueueLen::default());
        }
    }
}
