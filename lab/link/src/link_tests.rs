//! Tests the link against its documentation and against a simple packet-by-packet model.

use super::*;
use crate::LossConfig;

fn config(rate: Rate, delay_ms: u64, queue: QueueLimit) -> LinkConfig {
    LinkConfig { rate, delay: Span::from_millis(delay_ms), queue, when_down: WhenDown::Drop }
}

/// 1500 bytes take 1 ms.
const RATE: Rate = Rate::from_mbps(12);

fn link(queue: QueueLimit) -> Link<u32> {
    Link::new(config(RATE, 10, queue), None)
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn offer(link: &mut Link<u32>, us: u64, packet: u32) -> bool {
    link.offer(at(us), packet, 1500) == Offer::Queued
}

/// Returns the packets that leave by `us`, with their departure times in us and outcomes.
fn drain(link: &mut Link<u32>, us: u64) -> Vec<(u32, u64, Outcome)> {
    let mut out = Vec::new();
    while let Some(next) = link.next_delivery().filter(|&next| next <= at(us)) {
        let delivery = link.deliver(next).expect("something was due");
        out.push((delivery.packet, next.as_nanos() / 1000, delivery.outcome));
    }
    assert_eq!(link.deliver(at(us)), None);
    out
}

fn arrivals(link: &mut Link<u32>, us: u64) -> Vec<(u32, u64)> {
    drain(link, us)
        .into_iter()
        .filter(|&(_, _, outcome)| outcome == Outcome::Arrived)
        .map(|(packet, us, _)| (packet, us))
        .collect()
}

const FOREVER: u64 = u64::MAX / 1_000_000;

#[test]
fn a_packet_takes_transmission_and_propagation() {
    let mut link = link(QueueLimit::Packets(10));
    assert_eq!(link.next_delivery(), None);
    assert!(offer(&mut link, 0, 1) && offer(&mut link, 0, 2) && offer(&mut link, 5000, 3));
    assert_eq!(link.deliver(at(10_999)), None);
    assert_eq!(arrivals(&mut link, FOREVER), [(1, 11_000), (2, 12_000), (3, 16_000)]);
    assert_eq!(link.next_delivery(), None);
}

#[test]
fn q_packets_wait_and_one_is_in_transmission() {
    for q in [0, 1, 3] {
        let mut link = link(QueueLimit::Packets(q));
        let taken = (0..10).filter(|&n| offer(&mut link, 0, n)).count() as u64;
        assert_eq!(taken, q + 1);
        assert_eq!(link.queue_len(at(0)), QueueLen { packets: q, bytes: q * 1500 });
        assert_eq!(link.stats().max_queue_packets, q);
        // At the end of a transmission there is room for one more.
        assert!(!offer(&mut link, 999, 90) && offer(&mut link, 1000, 91) && !offer(&mut link, 1000, 92));
        assert_eq!(link.stats().dropped_full.packets, 10 - taken + 2);
    }
}

#[test]
fn bytes_wait_up_to_the_limit() {
    let mut link = link(QueueLimit::Bytes(1600));
    assert_eq!(link.offer(at(0), 1, 9000), Offer::Queued, "an idle link takes any packet");
    assert_eq!(link.offer(at(0), 2, 1500), Offer::Queued);
    assert_eq!(link.offer(at(0), 3, 101), Offer::Dropped(3, DropReason::QueueFull));
    assert_eq!(link.offer(at(0), 4, 100), Offer::Queued);
    assert_eq!(link.queue_len(at(0)), QueueLen { packets: 2, bytes: 1600 });
    // 9000 bytes have left after 6 ms, and packet 2 is in transmission
    assert_eq!(link.queue_len(at(6000)), QueueLen { packets: 1, bytes: 100 });
    assert_eq!(link.queue_len(at(7000)), QueueLen::default());
    assert_eq!(link.offer(at(6000), 5, 1500), Offer::Queued);
}

#[test]
fn an_unbounded_queue_takes_everything() {
    let mut link = link(QueueLimit::Unbounded);
    assert!((0..100_000).all(|n| offer(&mut link, 0, n)));
    assert_eq!(arrivals(&mut link, FOREVER).len(), 100_000);
}

#[test]
fn throughput_is_the_rate_within_rounding() {
    for rate in [Rate::from_bps(9_600), Rate::from_kbps(384), Rate::from_mbps(11), Rate::from_mbps(1000)] {
        let mut link: Link<u32> = Link::new(config(rate, 20, QueueLimit::Packets(1)), None);
        let mut now = Time::ZERO;
        let packets = 100_000u32;
        for n in 0..packets {
            assert_eq!(link.offer(now, n, 1500), Offer::Queued);
            // the next one when this one's transmission begins
            now = Time::ZERO + rate.time_for(1500) * u64::from(n);
            while link.deliver(now).is_some() {}
        }
        let mut last = Time::ZERO;
        while let Some(next) = link.next_delivery() {
            last = next;
            let _ = link.deliver(next);
        }
        assert_eq!(link.stats().delivered.packets, u64::from(packets));
        let exact = f64::from(packets) * 12_000.0 / rate.as_bps() as f64;
        let took = last.since(Time::ZERO + Span::from_millis(20)).as_secs_f64();
        // half a nanosecond per packet
        assert!((took - exact).abs() <= 0.5e-9 * f64::from(packets) + 1e-9, "{rate}: {took} of {exact}");
    }
}

#[test]
fn a_new_rate_holds_for_the_rest_of_the_packet_in_transmission() {
    let mut link = link(QueueLimit::Unbounded);
    for n in 1..=3 {
        offer(&mut link, 0, n);
    }
    // Packet 1 has 400 us left at 12 Mbps: 800 us at 6 Mbps; the others take 2 ms each.
    link.change(at(600), Change::Rate(Rate::from_mbps(6))).unwrap();
    assert_eq!(arrivals(&mut link, FOREVER), [(1, 11_400), (2, 13_400), (3, 15_400)]);
}

#[test]
fn a_rate_of_zero_stops_and_a_later_rate_resumes() {
    let mut link = link(QueueLimit::Unbounded);
    offer(&mut link, 0, 1);
    offer(&mut link, 0, 2);
    link.change(at(600), Change::Rate(Rate::ZERO)).unwrap();
    link.change(at(700), Change::Rate(Rate::ZERO)).unwrap();
    assert_eq!(link.next_delivery(), None);
    assert_eq!(link.queue_len(at(5000)), QueueLen { packets: 1, bytes: 1500 });
    offer(&mut link, 5000, 3);
    link.change(at(9000), Change::Rate(Rate::from_mbps(24))).unwrap();
    assert_eq!(arrivals(&mut link, FOREVER), [(1, 19_200), (2, 19_700), (3, 20_200)]);
    // an idle link at rate zero
    link.change(at(30_000), Change::Rate(Rate::ZERO)).unwrap();
    offer(&mut link, 31_000, 4);
    link.change(at(32_000), Change::Rate(RATE)).unwrap();
    assert_eq!(arrivals(&mut link, FOREVER), [(4, 43_000)]);
}

#[test]
fn a_new_delay_holds_for_later_departures_and_nothing_overtakes() {
    let mut link = link(QueueLimit::Unbounded);
    offer(&mut link, 0, 1);
    offer(&mut link, 0, 2);
    link.change(at(1500), Change::Delay(Span::from_millis(1))).unwrap();
    // 1 departed at 1 ms under the old delay; 2 departs at 2 ms and would arrive at 3 ms
    offer(&mut link, 1500, 3);
    offer(&mut link, 12_000, 4);
    assert_eq!(arrivals(&mut link, FOREVER), [(1, 11_000), (2, 11_000), (3, 11_000), (4, 14_000)]);
    link.change(at(20_000), Change::Delay(Span::from_millis(30))).unwrap();
    offer(&mut link, 20_000, 5);
    assert_eq!(arrivals(&mut link, FOREVER), [(5, 51_000)]);
}

#[test]
fn a_link_that_goes_down_loses_its_packets() {
    let mut link = link(QueueLimit::Packets(5));
    for n in 1..=4 {
        offer(&mut link, 0, n);
    }
    link.change(at(2500), Change::Down).unwrap();
    assert!(!link.is_up());
    assert_eq!(link.offer(at(2600), 5, 1500), Offer::Dropped(5, DropReason::LinkDown));
    assert_eq!(link.next_delivery(), Some(at(2500)));
    assert_eq!(link.queue_len(at(2500)), QueueLen::default());
    let lost = Outcome::Lost(LossReason::LinkDown);
    // Up again before the lost ones were taken out: the new packet is not one of them.
    link.change(at(3000), Change::Up).unwrap();
    offer(&mut link, 3000, 6);
    assert_eq!(
        drain(&mut link, FOREVER),
        [(1, 2500, lost), (2, 2500, lost), (3, 2500, lost), (4, 2500, lost), (6, 14_000, Outcome::Arrived)]
    );
    let stats = link.stats();
    assert_eq!((stats.lost_down.packets, stats.dropped_down.packets), (4, 1));
    assert_eq!(stats.inside(), crate::Count::default());
}

#[test]
fn packets_that_arrived_before_the_link_went_down_are_delivered() {
    let mut link = link(QueueLimit::Packets(5));
    offer(&mut link, 0, 1);
    offer(&mut link, 0, 2);
    link.change(at(11_000), Change::Down).unwrap();
    assert_eq!(
        drain(&mut link, FOREVER),
        [(1, 11_000, Outcome::Arrived), (2, 11_000, Outcome::Lost(LossReason::LinkDown))]
    );
}

#[test]
fn a_link_that_keeps_its_packets_resumes_where_it_stopped() {
    let keep = LinkConfig { when_down: WhenDown::Keep, ..config(RATE, 10, QueueLimit::Packets(2)) };
    let mut link: Link<u32> = Link::new(keep, None);
    offer(&mut link, 0, 1);
    offer(&mut link, 0, 2);
    link.change(at(1500), Change::Down).unwrap();
    link.change(at(1600), Change::Down).unwrap();
    assert!(offer(&mut link, 2000, 3) && offer(&mut link, 2000, 4) && !offer(&mut link, 2000, 5));
    assert_eq!(arrivals(&mut link, 90_000), [(1, 11_000)], "what had departed arrives");
    link.change(at(100_000), Change::Up).unwrap();
    assert_eq!(arrivals(&mut link, FOREVER), [(2, 110_500), (3, 111_500), (4, 112_500)]);
}

#[test]
fn channel_losses_take_their_transmission_time_and_are_handed_out() {
    let loss = LossConfig::Scripted { packets: vec![1] }.build([0; 32]).unwrap();
    let mut link: Link<u32> = Link::new(config(RATE, 10, QueueLimit::Unbounded), loss);
    for n in 0..3 {
        offer(&mut link, 0, n);
    }
    assert_eq!(
        drain(&mut link, FOREVER),
        [
            (0, 11_000, Outcome::Arrived),
            (1, 12_000, Outcome::Lost(LossReason::Channel)),
            (2, 13_000, Outcome::Arrived)
        ]
    );
    assert_eq!(link.stats().lost, crate::Count { packets: 1, bytes: 1500 });
}

#[test]
fn absurd_sizes_and_rates_do_not_overflow() {
    let slow = config(Rate::from_bps(1), u64::MAX, QueueLimit::Unbounded);
    let mut link: Link<u32> = Link::new(slow, None);
    for n in 0..4 {
        assert_eq!(link.offer(Time::from_nanos(u64::MAX - 5), n, u32::MAX), Offer::Queued);
    }
    assert_eq!(link.next_delivery(), None, "later than any time");
    link.change(Time::from_nanos(u64::MAX - 4), Change::Rate(Rate::from_bps(u64::MAX))).unwrap();
    link.change(Time::from_nanos(u64::MAX - 3), Change::Down).unwrap();
    while link.deliver(Time::MAX).is_some() {}
    assert_eq!(link.stats().inside(), crate::Count::default());
}

mod against_a_plain_model {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// A reference model of the link that handles one event at a time: a queue, a transmitter that serves
    /// work step by step, arrivals.
    struct Plain {
        rate: Rate,
        delay: Span,
        limit: QueueLimit,
        waiting: VecDeque<(u32, u32)>,
        /// Packet in transmission, and the time of its end.
        sending: Option<(u32, Time)>,
        arrivals: Vec<(u32, Time)>,
        dropped: Vec<u32>,
    }

    impl Plain {
        /// Runs the transmitter up to and including `now`.
        fn run(&mut self, now: Time) {
            while let Some((packet, end)) = self.sending.filter(|&(_, end)| end <= now) {
                let after = self.arrivals.last().map_or(Time::ZERO, |&(_, arrives)| arrives);
                self.arrivals.push((packet, (end + self.delay).max(after)));
                self.sending =
                    self.waiting.pop_front().map(|(p, len)| (p, end + self.rate.time_for(len.into())));
            }
        }

        fn offer(&mut self, now: Time, packet: u32, len: u32) {
            self.run(now);
            if self.sending.is_none() {
                self.sending = Some((packet, now + self.rate.time_for(len.into())));
                return;
            }
            let bytes: u32 = self.waiting.iter().map(|&(_, len)| len).sum();
            let full = match self.limit {
                QueueLimit::Packets(packets) => self.waiting.len() as u64 >= packets,
                QueueLimit::Bytes(limit) => u64::from(bytes + len) > limit,
                QueueLimit::Unbounded => false,
            };
            if full {
                self.dropped.push(packet);
            } else {
                self.waiting.push_back((packet, len));
            }
        }

        fn change(&mut self, now: Time, change: Change) {
            self.run(now);
            match change {
                Change::Rate(rate) => {
                    if let Some((_, end)) = &mut self.sending {
                        let left = u128::from(end.since(now).as_nanos()) * u128::from(self.rate.as_bps());
                        *end = now + rounded(left, rate.as_bps());
                    }
                    self.rate = rate;
                }
                Change::Delay(delay) => self.delay = delay,
                _ => unreachable!("not in this model"),
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Offer(u32),
        Rate(u64),
        Delay(u64),
        Drain,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (1u32..3000).prop_map(Step::Offer),
            1 => (1u64..50_000).prop_map(Step::Rate),
            1 => (0u64..20_000).prop_map(Step::Delay),
            3 => Just(Step::Drain),
        ]
    }

    fn limit() -> impl Strategy<Value = QueueLimit> {
        prop_oneof![
            (0u64..6).prop_map(QueueLimit::Packets),
            (0u64..9000).prop_map(QueueLimit::Bytes),
            Just(QueueLimit::Unbounded),
        ]
    }

    proptest! {
        #[test]
        fn same_arrivals_and_drops(limit in limit(), steps in prop::collection::vec((0u64..4_000_000, step()), 1..120)) {
            let start = config(Rate::from_mbps(8), 5, limit);
            let mut link: Link<u32> = Link::new(start, None);
            let mut plain = Plain {
                rate: start.rate, delay: start.delay, limit, waiting: VecDeque::new(), sending: None,
                arrivals: Vec::new(), dropped: Vec::new(),
            };
            let (mut arrivals, mut dropped, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
            for (number, (wait, step)) in (0u32..).zip(steps) {
                now += Span::from_nanos(wait);
                match step {
                    Step::Offer(len) => {
                        plain.offer(now, number, len);
                        if let Offer::Dropped(packet, reason) = link.offer(now, number, len) {
                            prop_assert_eq!(reason, DropReason::QueueFull);
                            dropped.push(packet);
                        }
                    }
                    Step::Rate(kbps) => {
                        let change = Change::Rate(Rate::from_kbps(kbps));
                        plain.change(now, change);
                        link.change(now, change).unwrap();
                    }
                    Step::Delay(us) => {
                        let change = Change::Delay(Span::from_micros(us));
                        plain.change(now, change);
                        link.change(now, change).unwrap();
                    }
                    Step::Drain => while let Some(next) = link.next_delivery().filter(|&next| next <= now) {
                        arrivals.push((link.deliver(now).unwrap().packet, next));
                    },
                }
                plain.run(now);
                let bytes: u32 = plain.waiting.iter().map(|&(_, len)| len).sum();
                let expected = QueueLen { packets: plain.waiting.len() as u64, bytes: bytes.into() };
                prop_assert_eq!(link.queue_len(now), expected);
            }
            plain.run(Time::from_nanos(u64::MAX - 1));
            while let Some(next) = link.next_delivery() {
                arrivals.push((link.deliver(next).unwrap().packet, next));
            }
            prop_assert_eq!(&arrivals, &plain.arrivals);
            prop_assert_eq!(&dropped, &plain.dropped);
            prop_assert_eq!(link.stats().inside(), crate::Count::default());
        }
    }
}

#[test]
fn a_plain_link_has_no_radio() {
    let mut link = link(QueueLimit::Unbounded);
    offer(&mut link, 0, 1);
    let carries = crate::Carries::Everything;
    for change in [
        Change::Coding(crate::egprs::CodingScheme::Cs1),
        Change::BlockErrors(crate::Probability::ZERO),
        Change::Handover { interruption: Span::from_secs(1), carries },
    ] {
        assert_eq!(link.change(at(10), change), Err(Unsupported { change }));
    }
    assert_eq!(arrivals(&mut link, FOREVER), [(1, 11_000)]);
}
