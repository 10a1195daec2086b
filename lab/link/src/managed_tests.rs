//! Tests the managed link against the plain one, and its disciplines against what their RFCs promise.

use proptest::prelude::*;

use super::*;
use crate::link::{Link, LinkConfig, WhenDown};
use crate::loss::LossConfig;

/// 1500 bytes take 1 ms.
const RATE: Rate = Rate::from_mbps(12);

const CONFIG: ManagedConfig = ManagedConfig {
    rate: RATE,
    delay: Span::from_millis(10),
    discipline: Discipline::DropTail,
    queue: QueueLimit::Packets(1000),
    jitter: Span::ZERO,
    reorder: None,
};

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

fn codel() -> CodelConfig {
    CodelConfig::default()
}

/// Takes the packets that leave by `now`: packet, time in us, outcome.
fn drain<P>(link: &mut dyn LinkModel<P>, now: Time, out: &mut Vec<(P, u64, Outcome)>) {
    while let Some(next) = link.next_delivery().filter(|&next| next <= now) {
        while let Some(delivery) = link.deliver(next) {
            out.push((delivery.packet, next.as_nanos() / 1000, delivery.outcome));
        }
    }
}

/// An operation of the comparison: microseconds since the previous one, its kind, and its operand.
type Step = (u64, u8, u32);

fn run(link: &mut dyn LinkModel<u32>, steps: &[Step]) -> (Vec<(u32, u64, Outcome)>, Vec<u32>, LinkStats) {
    let (mut out, mut refused, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
    for (number, &(wait, what, operand)) in steps.iter().enumerate() {
        now += Span::from_micros(wait);
        drain(link, now, &mut out);
        let done = match what {
            0 => link.change(now, Change::Rate(Rate::from_kbps(operand.into()))),
            1 => link.change(now, Change::Delay(Span::from_micros(operand.into()))),
            2 => link.change(now, Change::Down),
            3 => link.change(now, Change::Up),
            _ => {
                if let Offer::Dropped(packet, _) = link.offer(now, number as u32, 40 + operand % 1460) {
                    refused.push(packet);
                }
                Ok(())
            }
        };
        done.unwrap();
    }
    link.change(now, Change::Up).unwrap();
    link.change(now, Change::Rate(RATE)).unwrap();
    drain(link, now + Span::from_secs(3600), &mut out);
    // The order of losses at one instant is not promised.
    out.sort_unstable_by_key(|(packet, us, _)| (*us, *packet));
    (out, refused, *link.stats())
}

proptest! {
    /// With drop-tail and without jitter, every packet has the outcome and the time that a plain link gives
    /// it.
    #[test]
    fn drop_tail_is_the_plain_link(
        steps in prop::collection::vec((0_u64..3_000, 0_u8..24, 0_u32..20_000), 1..200),
        limit in 0_u64..20,
        lossy in any::<bool>(),
    ) {
        let queue = QueueLimit::Packets(limit);
        let loss = || {
            let config = LossConfig::Uniform { probability: if lossy { 0.2 } else { 0.0 } };
            config.build([3; 32]).unwrap()
        };
        let config = LinkConfig { rate: RATE, delay: CONFIG.delay, queue, when_down: WhenDown::Drop };
        // A plain link draws at the arrival, which a packet lost inside does not have.
        let goes_down = steps.iter().any(|step| step.1 == 2);
        let loss_if = |wanted: bool| if wanted { loss() } else { None };
        let plain = run(&mut Link::new(config, loss_if(!goes_down)), &steps);
        let mut link = ManagedLink::new(ManagedConfig { queue, ..CONFIG }, loss_if(!goes_down), [1; 32]);
        let managed = run(&mut link, &steps);
        prop_assert_eq!(managed.0, plain.0);
        prop_assert_eq!(managed.1, plain.1);
        prop_assert_eq!(managed.2, plain.2);
    }

    /// Each accepted packet leaves once, and the counters agree, for any operations.
    #[test]
    fn every_packet_leaves_once(
        steps in prop::collection::vec((0_u64..3_000, 0_u8..24, 0_u32..20_000), 1..200),
        fair in any::<bool>(),
        share in 0.0_f64..1.0,
    ) {
        let discipline = if fair { Discipline::FqCodel(codel()) } else { Discipline::Codel(codel()) };
        let reorder = Some(Reorder { share: Probability::new("share", share).unwrap(), by: Span::from_millis(7) });
        let queue = QueueLimit::Packets(20);
        let config = ManagedConfig { discipline, queue, reorder, jitter: Span::from_millis(4), ..CONFIG };
        let (out, refused, stats) = run(&mut ManagedLink::new(config, None, [9; 32]), &steps);
        let mut seen: Vec<u32> = out.iter().map(|(packet, ..)| *packet).chain(refused).collect();
        let offered = seen.len() as u64;
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len() as u64, offered);
        prop_assert_eq!(stats.offered.packets, offered);
        prop_assert_eq!(stats.inside().packets, 0);
    }
}

/// Offers two packets of flow 1 each millisecond for 10 s, which is twice the rate, and one packet of flow 2
/// each 20 ms. Returns the maximum delay of flow 2 in ms after the first second, and the packets that left.
fn overload(discipline: Discipline, ecn_capable: bool) -> (u64, Vec<(u64, u64, Outcome)>, LinkStats) {
    let mut link = ManagedLink::new(ManagedConfig { discipline, ..CONFIG }, None, [1; 32]);
    let (mut out, mut late) = (Vec::new(), 0);
    for ms in 0..10_000 {
        let now = at(ms * 1000);
        let mut left = Vec::new();
        drain(&mut link, now, &mut left);
        for &(sent, us, outcome) in &left {
            if sent % 2 == 1 && outcome == Outcome::Arrived && sent > 2_000 {
                late = late.max(us / 1000 - sent / 2);
            }
        }
        out.extend(left);
        if ms % 20 == 0 {
            let _ = link.offer_as(now, 2 * ms + 1, 200, Class { flow: 2, ecn_capable: false });
        }
        for _ in 0..2 {
            let _ = link.offer_as(now, 2 * ms, 1500, Class { flow: 1, ecn_capable });
        }
    }
    let stats = *link.stats();
    (late, out, stats)
}

#[test]
fn codel_and_fq_codel_bound_the_delay_that_drop_tail_does_not() {
    let (drop_tail, _, stats) = overload(Discipline::DropTail, false);
    assert!(drop_tail > 900 && stats.dropped_discipline.packets == 0, "{drop_tail} ms");
    let (fair, _, stats) = overload(Discipline::FqCodel(codel()), false);
    // 10 ms of propagation, a packet in transmission, one of a turn.
    assert!(fair <= 13, "{fair} ms");
    assert!(stats.dropped_discipline.packets > 5 && stats.dropped_full.packets == 0);
    // CoDel alone needs a sender that reacts: here the load stays, and only its drops grow.
    let (_, out, stats) = overload(Discipline::Codel(codel()), false);
    assert!(stats.dropped_discipline.packets > 100);
    assert!(out.iter().any(|left| left.2 == Outcome::Lost(LossReason::Discipline)));
}

#[test]
fn packets_that_support_ecn_are_marked_instead_of_dropped() {
    for discipline in [Discipline::Codel(codel()), Discipline::FqCodel(codel())] {
        let config = ManagedConfig { discipline, queue: QueueLimit::Unbounded, ..CONFIG };
        let mut link = ManagedLink::new(config, None, [1; 32]);
        let mut out = Vec::new();
        for ms in 0..1_000 {
            drain(&mut link, at(ms * 1000), &mut out);
            for _ in 0..2 {
                let class = Class { flow: 1, ecn_capable: true };
                assert_eq!(link.offer_as(at(ms * 1000), ms, 1500, class), Offer::Queued);
            }
        }
        let marked = out.iter().filter(|left| left.2 == Outcome::Marked).count();
        assert!(marked > 5 && link.stats().dropped_discipline.packets == 0, "{marked}");
        assert_eq!(link.stats().delivered.packets, out.len() as u64);
    }
}

#[test]
fn jitter_keeps_the_order_and_reordering_does_not() {
    let spread = |jitter_ms, share| {
        let reorder =
            Some(Reorder { share: Probability::new("share", share).unwrap(), by: Span::from_millis(20) });
        let config = ManagedConfig { jitter: Span::from_millis(jitter_ms), reorder, ..CONFIG };
        let mut link = ManagedLink::new(config, None, [5; 32]);
        let mut out = Vec::new();
        for n in 0..2_000_u64 {
            drain(&mut link, at(n * 5_000), &mut out);
            let _ = link.offer(at(n * 5_000), n, 1500);
        }
        drain(&mut link, at(u64::MAX / 1_000_000), &mut out);
        assert_eq!(out.len(), 2_000);
        let overtaken = out.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
        let delays: Vec<u64> = out.iter().map(|(n, us, _)| us - n * 5_000).collect();
        (overtaken, delays)
    };
    // 1 ms of transmission, 10 ms of delay.
    let (overtaken, delays) = spread(4, 0.0);
    let mean = delays.iter().sum::<u64>() as f64 / 2e6;
    assert_eq!(overtaken, 0);
    assert!(delays.iter().all(|us| (11_000..15_000).contains(us)));
    assert!((12.8..13.2).contains(&mean), "{mean} ms");
    assert_eq!(spread(12, 0.0).0, 0, "more jitter than between two packets");
    let (overtaken, delays) = spread(0, 0.1);
    let late = delays.iter().filter(|&&us| us == 31_000).count();
    assert!((150..250).contains(&late) && overtaken > 100, "{late} late, {overtaken} overtaken");
    assert!(delays.iter().all(|&us| us == 31_000 || us == 11_000));
}
