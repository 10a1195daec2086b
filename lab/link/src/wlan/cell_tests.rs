//! The cell against closed forms: throughput, residual loss, delay, shares.

use proptest::prelude::*;

use super::super::{Distance, Fixed, WlanLink};
use msctp_units::Rate;

use super::*;
use crate::{LinkModel, LossConfig};

fn mean(rate: Rate) -> MacConfig {
    MacConfig { backoff: Backoff::Mean, collisions: false, ..MacConfig::dot11b(rate) }
}

fn channel(loss: &LossConfig) -> Channel {
    Channel::clear(Box::new(Fixed(0))).with_loss(loss.build([9; 32]).unwrap())
}

/// Returns a cell with one base station and some mobiles. Ports are in the order mobile 0 to base, base to
/// mobile 0, mobile 1 …
fn cell(mac: MacConfig, mobiles: usize, queue: QueueLimit) -> (Cell<u32>, Vec<[PortId; 2]>) {
    let mut cell = Cell::new(mac, [7; 32]);
    let b = cell.add_station();
    let ports = (0..mobiles)
        .map(|_| {
            let a = cell.add_station();
            let channel = channel(&LossConfig::None);
            cell.add_link(RadioLinkConfig { a, b, delay: Span::ZERO, queues: [queue; 2], channel })
        })
        .collect();
    (cell, ports)
}

/// Runs the cell with these ports always full until `count` packets have left. Returns each with its time.
fn saturate(
    cell: &mut Cell<u32>,
    ports: &[PortId],
    len: u32,
    count: usize,
) -> Vec<(Time, PortId, Delivery<u32>)> {
    let mut now = Time::ZERO;
    let mut out = Vec::new();
    let mut next = 0;
    while out.len() < count {
        for &port in ports {
            while cell.queue_len(port).packets < 2 {
                assert_eq!(cell.offer(now, port, next, len), Offer::Queued);
                next += 1;
            }
        }
        now = cell.next_delivery().expect("there is always something to send");
        while let Some((port, delivery)) = cell.deliver(now) {
            out.push((now, port, delivery));
        }
    }
    out
}

#[test]
fn without_losses_throughput_is_the_closed_form_to_the_nanosecond() {
    for (kbps, len) in [(150, 1000), (384, 1000), (2000, 1000), (11_000, 1500), (11_000, 40)] {
        let mac = mean(Rate::from_kbps(kbps));
        let (mut cell, ports) = cell(mac, 1, QueueLimit::Packets(5));
        let left = saturate(&mut cell, &[ports[0][0]], len, 500);
        let attempt = mac.mean_attempt_time(0, len);
        for (number, (at, _, delivery)) in left.iter().enumerate() {
            assert_eq!(delivery.outcome, Outcome::Arrived);
            // The acknowledgement comes after the arrival.
            assert_eq!(*at, Time::ZERO + attempt * (number as u64 + 1) - mac.ack_time(), "{kbps} kbps");
        }
    }
}

#[test]
fn throughput_with_rts_is_the_closed_form_to_the_nanosecond() {
    let mac = MacConfig { rts: true, ..mean(Rate::from_mbps(2)) };
    let (mut cell, ports) = cell(mac, 1, QueueLimit::Packets(5));
    let left = saturate(&mut cell, &[ports[0][0]], 1000, 50);
    assert_eq!(left[49].0, Time::ZERO + mac.mean_attempt_time(0, 1000) * 50 - mac.ack_time());
}

/// The mean of a drawn backoff is half the window, over 20,000 draws of standard deviation 9.23 slots.
#[test]
fn drawn_backoffs_have_the_window_s_mean() {
    let mac = MacConfig { collisions: false, ..MacConfig::dot11b(Rate::from_mbps(11)) };
    let (mut cell, ports) = cell(mac, 1, QueueLimit::Packets(5));
    let left = saturate(&mut cell, &[ports[0][0]], 1500, 20_000);
    let took = left[19_999].0.since(Time::ZERO).as_secs_f64() / 20_000.0;
    let want = mac.mean_attempt_time(0, 1500).as_secs_f64();
    let four_errors = 4.0 * 9.23 * 20e-6 / 20_000f64.sqrt();
    assert!((took - want).abs() < four_errors, "{took} s a frame, want {want}");
}

/// Each of n saturated stations waits CW/2 idle slots per frame. The slots pass for all of them, so that a
/// frame costs CW/2n slots. Two directions of one link share the throughput of one direction alone.
#[test]
fn both_directions_share_the_airtime() {
    let mac = mean(Rate::from_mbps(2));
    let (mut cell, ports) = cell(mac, 1, QueueLimit::Packets(5));
    let left = saturate(&mut cell, &ports[0], 1000, 1000);
    let up = left.iter().filter(|(_, port, _)| *port == ports[0][0]).count();
    assert_eq!(up, 500);
    let pair = mac.difs * 2 + mac.mean_backoff(0) + mac.exchange_time(1000) * 2;
    assert_eq!(left[999].0, Time::ZERO + pair * 500 - mac.ack_time());
}

#[test]
fn the_base_station_has_one_share_whatever_the_number_of_its_links() {
    let mac = mean(Rate::from_mbps(11));
    let (mut cell, ports) = cell(mac, 3, QueueLimit::Packets(5));
    let all: Vec<PortId> = ports.iter().flatten().copied().collect();
    let left = saturate(&mut cell, &all, 1000, 4000);
    let down = left.iter().filter(|(_, port, _)| ports.iter().any(|p| p[1] == *port)).count();
    assert!((995..=1005).contains(&down), "{down} of 4000 from the base, one station of four");
}

#[test]
fn the_loss_rate_is_p_to_the_power_of_the_attempts() {
    for (p, retries) in [(0.3, 2), (0.5, 3), (0.1, 1), (0.05, 0)] {
        let mac = MacConfig { retries, ..mean(Rate::from_mbps(11)) };
        let loss = LossConfig::Uniform { probability: p };
        let mut link = WlanLink::new(mac, Span::ZERO, QueueLimit::Unbounded, channel(&loss), [1; 32]);
        let n = 40_000u32;
        let mut now = Time::ZERO;
        let mut lost = 0;
        for number in 0..n {
            assert_eq!(link.offer(now, number, 1500), Offer::Queued);
            loop {
                now = link.next_delivery().expect("a frame is inside");
                if let Some(delivery) = link.deliver(now) {
                    lost += u32::from(delivery.outcome != Outcome::Arrived);
                    break;
                }
            }
        }
        let want = f64::powi(p, retries as i32 + 1);
        let error = (want * (1.0 - want) / f64::from(n)).sqrt();
        let share = f64::from(lost) / f64::from(n);
        assert!((share - want).abs() < 4.0 * error, "p {p}, {retries} retries: {share}, want {want}");
    }
}

/// The delay of a frame with k retries is the sum of DIFS, backoff and exchange of each attempt, with doubled
/// windows. k has the probability (1 − p)·pᵏ.
#[test]
fn the_delay_is_the_sum_over_the_attempts() {
    let p = 0.4;
    let mac = mean(Rate::from_mbps(2));
    let loss = LossConfig::Uniform { probability: p };
    let mut link = WlanLink::new(mac, Span::ZERO, QueueLimit::Unbounded, channel(&loss), [1; 32]);
    let n = 20_000u32;
    let mut after = vec![0u32; mac.retries as usize + 1];
    let mut now = Time::ZERO;
    for number in 0..n {
        // A pause longer than any exchange, so that none waits for the one before.
        now += Span::from_millis(100);
        let offered = now;
        assert_eq!(link.offer(now, number, 1000), Offer::Queued);
        let delivery = loop {
            now = link.next_delivery().expect("a frame is inside");
            if let Some(delivery) = link.deliver(now) {
                break delivery;
            }
        };
        let mut sum = Span::ZERO;
        let attempts = (0..=mac.retries).map(|k| {
            sum += mac.mean_attempt_time(k, 1000);
            sum - mac.ack_time()
        });
        let k =
            attempts.into_iter().position(|d| offered + d == now).expect("one of the closed form's delays");
        match delivery.outcome {
            Outcome::Marked => panic!("a cell marks nothing"),
            Outcome::Arrived => after[k] += 1,
            Outcome::Lost(_) => assert_eq!(k, mac.retries as usize, "abandoned after the last attempt"),
        }
    }
    for (k, &count) in after.iter().enumerate() {
        let want = (1.0 - p) * p.powi(k as i32);
        let share = f64::from(count) / f64::from(n);
        let error = (want * (1.0 - want) / f64::from(n)).sqrt();
        assert!((share - want).abs() < 4.0 * error, "{k} retries: {share}, want {want}");
    }
}

/// Two stations that always have a frame collide as often as in Bianchi's model (IEEE JSAC 18(3), 2000, eqs.
/// 7 and 9), within a tenth. With W = 32 and 5 doublings, p = 1 − (1 − τ) = τ. The model assumes the same
/// chance of a collision at each slot.
#[test]
fn collisions_are_as_frequent_as_in_bianchis_model() {
    let (w, m) = (32.0, 5);
    let mut p: f64 = 0.05;
    for _ in 0..200 {
        let tau: f64 =
            2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)));
        p = 0.5 * p + 0.5 * tau;
    }
    let mac = MacConfig { retries: 20, ..MacConfig::dot11b(Rate::from_mbps(11)) };
    let (mut cell, ports) = cell(mac, 2, QueueLimit::Packets(5));
    saturate(&mut cell, &[ports[0][0], ports[1][0]], 1500, 40_000);
    let stats = cell.stats();
    let share = stats.collided as f64 / stats.attempts as f64;
    assert!((share / p - 1.0).abs() < 0.1, "{share}, Bianchi {p}");
}

#[test]
fn a_signal_takes_its_time_and_a_moved_station_s_frames_stay_in_order() {
    #[derive(Debug)]
    struct Jumps;
    impl Distance for Jumps {
        fn at(&self, now: Time) -> u64 {
            if now < Time::from_nanos(4_000_000) { 3_000_000_000 } else { 300_000 }
        }
    }
    let mac = mean(Rate::from_mbps(11));
    let channel = Channel::clear(Box::new(Jumps));
    let mut link = WlanLink::new(mac, Span::ZERO, QueueLimit::Unbounded, channel, [1; 32]);
    for number in 0..3u32 {
        assert_eq!(link.offer(Time::ZERO, number, 1500), Offer::Queued);
    }
    let mut at = Vec::new();
    while let Some(now) = link.next_delivery() {
        while let Some(delivery) = link.deliver(now) {
            at.push((delivery.packet, now));
        }
    }
    let attempt = mac.mean_attempt_time(0, 1500);
    let ends = |k: u64| Time::ZERO + attempt * k - mac.ack_time();
    // 3,000 km: 10.008 ms. The second ends at 3.6 ms, still far away; the third near: held behind the second.
    let far = ends(2) + Span::from_micros(10_008);
    assert_eq!(at, [(0, ends(1) + Span::from_micros(10_008)), (1, far), (2, far)]);
}

#[test]
fn a_link_that_goes_down_returns_its_packets_and_the_others_continue() {
    let mac = mean(Rate::from_mbps(2));
    let (mut cell, ports) = cell(mac, 2, QueueLimit::Packets(5));
    // The base has two for mobile 0, then two for mobile 1; mobile 0 has one.
    for (number, port) in
        [ports[0][1], ports[0][1], ports[1][1], ports[1][1], ports[0][0]].into_iter().enumerate()
    {
        assert_eq!(cell.offer(Time::ZERO, port, number as u32, 1000), Offer::Queued);
    }
    let down = Time::ZERO + Span::from_micros(100);
    cell.change(down, ports[0][0], Change::Down).unwrap();
    let mut out = Vec::new();
    while let Some(now) = cell.next_delivery() {
        while let Some((_, delivery)) = cell.deliver(now) {
            out.push((delivery.packet, now, delivery.outcome));
        }
    }
    let lost = Outcome::Lost(LossReason::LinkDown);
    assert_eq!(out[..3].iter().map(|o| (o.1, o.2)).collect::<Vec<_>>(), [(down, lost); 3]);
    let mut gone: Vec<u32> = out[..3].iter().map(|o| o.0).collect();
    gone.sort_unstable();
    assert_eq!(gone, [0, 1, 4]);
    let attempt = mac.mean_attempt_time(0, 1000);
    assert_eq!(out[3], (2, down + attempt - mac.ack_time(), Outcome::Arrived));
    assert_eq!(out[4], (3, down + attempt * 2 - mac.ack_time(), Outcome::Arrived));
    assert_eq!(
        cell.offer(down + Span::from_secs(1), ports[0][1], 9, 1000),
        Offer::Dropped(9, DropReason::LinkDown)
    );
    cell.change(down + Span::from_secs(1), ports[0][1], Change::Up).unwrap();
    assert_eq!(cell.offer(down + Span::from_secs(1), ports[0][1], 9, 1000), Offer::Queued);
}

#[test]
fn a_rate_of_zero_is_refused_and_a_new_rate_holds_for_the_next_attempt() {
    let mac = mean(Rate::from_mbps(2));
    let mut link: WlanLink<u32> =
        WlanLink::new(mac, Span::ZERO, QueueLimit::Packets(1), channel(&LossConfig::None), [1; 32]);
    let zero = Change::Rate(Rate::ZERO);
    assert_eq!(link.change(Time::ZERO, zero), Err(Unsupported { change: zero }));
    assert_eq!(link.change(Time::ZERO, Change::Rate(Rate::from_mbps(1))), Ok(()));
    assert_eq!(link.change(Time::ZERO, Change::Delay(Span::from_millis(20))), Ok(()));
    assert_eq!(link.offer(Time::ZERO, 1, 1000), Offer::Queued);
    assert_eq!(link.offer(Time::ZERO, 2, 1000), Offer::Queued);
    assert_eq!(link.offer(Time::ZERO, 3, 1000), Offer::Dropped(3, DropReason::QueueFull));
    let slow = MacConfig { rate: Rate::from_mbps(1), ..mac };
    let turn = slow.difs + slow.mean_backoff(0);
    assert_eq!(link.next_delivery(), Some(Time::ZERO + turn));
    assert_eq!(link.deliver(Time::ZERO + turn), None);
    let arrives = Time::ZERO + turn + slow.frame_time(1000) + Span::from_millis(20);
    assert_eq!(link.deliver(arrives).map(|d| d.packet), Some(1));
}

#[derive(Clone, Debug)]
enum Step {
    Offer { port: usize, len: u32 },
    Wait { us: u64 },
    Toggle { link: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4usize, 40..1500u32).prop_map(|(port, len)| Step::Offer { port, len }),
        3 => (0..8_000u64).prop_map(|us| Step::Wait { us }),
        1 => (0..2usize).prop_map(|link| Step::Toggle { link }),
    ]
}

proptest! {
    /// Each accepted packet comes out once, at its port and in the order of entry, unless a link went down.
    /// The counters agree with the packets.
    #[test]
    fn every_packet_leaves_exactly_once(steps in prop::collection::vec(step(), 1..150), collisions: bool) {
        let mac = MacConfig { retries: 2, collisions, ..MacConfig::dot11b(Rate::from_mbps(2)) };
        let mut cell: Cell<u32> = Cell::new(mac, [3; 32]);
        let b = cell.add_station();
        let mut ports = Vec::new();
        for seed in [1u8, 2] {
            let a = cell.add_station();
            let loss = LossConfig::Uniform { probability: 0.4 }.build([seed; 32]).unwrap();
            let channel = Channel::clear(Box::new(Fixed(100_000))).with_loss(loss);
            let delay = Span::from_millis(u64::from(seed) * 3);
            let queues = [QueueLimit::Packets(4), QueueLimit::Bytes(3000)];
            ports.extend(cell.add_link(RadioLinkConfig { a, b, delay, queues, channel }));
        }
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); 4];
        let mut was_down = false;
        let mut now = Time::ZERO;
        let take = |cell: &mut Cell<u32>, until: Time, inside: &mut Vec<Vec<u32>>, ordered: bool| {
            let mut last = Time::ZERO;
            while let Some(at) = cell.next_delivery().filter(|&at| at <= until) {
                prop_assert!(at >= last, "time goes on");
                last = at;
                while let Some((port, delivery)) = cell.deliver(at) {
                    let port = ports.iter().position(|p| *p == port).expect("a port of this cell");
                    let place = inside[port].iter().position(|p| *p == delivery.packet);
                    prop_assert!(place.is_some(), "came out once");
                    prop_assert!(!ordered || place == Some(0), "in order");
                    inside[port].remove(place.unwrap_or(0));
                }
            }
            Ok(())
        };
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Offer { port, len } => {
                    if cell.offer(now, ports[port], number as u32, len) == Offer::Queued {
                        inside[port].push(number as u32);
                    }
                }
                Step::Wait { us } => {
                    now += Span::from_micros(us);
                    take(&mut cell, now, &mut inside, !was_down)?;
                }
                Step::Toggle { link } => {
                    was_down = true;
                    let up = cell.is_up(ports[2 * link]);
                    cell.change(now, ports[2 * link], if up { Change::Down } else { Change::Up }).unwrap();
                }
            }
        }
        take(&mut cell, now + Span::from_secs(100), &mut inside, !was_down)?;
        prop_assert!(inside.iter().all(Vec::is_empty), "left behind: {:?}", inside);
        for &port in &ports {
            prop_assert_eq!(cell.port_stats(port).inside().packets, 0);
            prop_assert_eq!(cell.queue_len(port), QueueLen::default());
        }
    }
}
