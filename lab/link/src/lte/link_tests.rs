//! The LTE link against closed forms, the standard's rules worked out by hand, and conservation under random
//! changes.

use super::super::MAX_ATTEMPTS;
use super::*;
use crate::{DropReason, LossConfig, Outcome, Probability, QueueLimit};
use msctp_units::Rate;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn probability(p: f64) -> Probability {
    Probability::new("p", p).unwrap()
}

/// Returns a link on which a packet of 100 octets is one PDU in a transport block of 107, without delay.
fn one_packet_a_pdu() -> LteConfig {
    LteConfig {
        rate: Rate::from_bps(107 * 8 * 1000),
        delay: Span::ZERO,
        queue: QueueLimit::Unbounded,
        ..LteConfig::default()
    }
}

fn link(config: LteConfig, share: f64) -> LteLink<u32> {
    let mut seed = [1; 32];
    seed[..2].copy_from_slice(&[(share * 100.0) as u8, config.max_attempts as u8]);
    let errors = BlockErrors::new(probability(share), None, seed).unwrap();
    LteLink::new(config, errors, [2; 32], [3; 32]).unwrap()
}

/// Returns a link that loses the transmissions with these numbers.
fn losing(config: LteConfig, attempts: &[u64]) -> LteLink<u32> {
    let script = LossConfig::Scripted { packets: attempts.to_vec() }.build([0; 32]).unwrap().unwrap();
    LteLink::new(config, BlockErrors::of(script, [1; 32]), [2; 32], [3; 32]).unwrap()
}

/// Returns the packets that leave by `until`, with their times in ms.
fn drain(link: &mut LteLink<u32>, until: Time) -> Vec<(u32, u64, bool)> {
    let mut out = Vec::new();
    while let Some(next) = link.next_delivery().filter(|&next| next <= until) {
        if let Some(delivery) = link.deliver(next) {
            out.push((delivery.packet, next.as_nanos() / 1_000_000, delivery.outcome == Outcome::Arrived));
        }
    }
    assert_eq!(link.deliver(until), None);
    out
}

/// Keeps the link's queue filled until `until` with packets of `len`.
fn saturate(link: &mut LteLink<u32>, len: u32, until: Time) {
    let (mut n, mut now) = (0, Time::ZERO);
    while now < until {
        while link.queue_len(now).packets < 5 {
            assert_eq!(link.offer(now, n, len), Offer::Queued);
            n += 1;
        }
        now = link.next_delivery().expect("there is work");
        while link.deliver(now).is_some() {}
    }
}

/// The throughput equals rate · (1 − p), less headers, since the channel wastes the transport blocks that it
/// loses. Prints the table in docs/models/lte-rlc-am.md with `cargo test -p msctp-link lte_throughput --
/// --nocapture`.
#[test]
fn lte_throughput_is_the_closed_form() {
    println!(
        "| rate | p | attempts | closed form, kbit/s | measured | difference | RLC retransmissions | lost |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let until = Time::ZERO + Span::from_secs(30);
    for kbps in [384, 1000, 10_000] {
        for share in [0.0, 0.05, 0.1, 0.3] {
            for max_attempts in [1, 4] {
                // Retransmissions without limit: what the channel takes costs time only.
                let rate = Rate::from_kbps(kbps);
                let config = LteConfig { rate, max_attempts, max_retx: 1000, ..LteConfig::default() };
                let mut link = link(config, share);
                saturate(&mut link, 1000, until);
                let octets = rate.bytes_in(TTI) as f64;
                let headers = (octets - f64::from(config.pdu_header)) / octets * 1000.0
                    / f64::from(1000 + config.packet_header);
                let expected = octets * 8.0 * (1.0 - share) * headers;
                let measured = link.stats().delivered.bytes as f64 * 8.0 / until.as_secs_f64() / 1000.0;
                println!(
                    "| {rate} | {share} | {max_attempts} | {expected:.1} | {measured:.1} | {:+.2} % | {} | {} |",
                    (measured / expected - 1.0) * 100.0,
                    link.radio_stats().retransmitted,
                    link.stats().lost.packets,
                );
                assert!((measured / expected - 1.0).abs() < 0.02, "{measured} of {expected}");
                assert_eq!(link.stats().lost.packets, 0);
            }
        }
    }
}

/// For packets without others in flight, P(k attempts) = pᵏ⁻¹·cᵏ⁻²·…·(1 − p·cᵏ⁻¹), and each attempt adds 8
/// ms.
#[test]
fn harq_attempts_and_delay_have_their_distribution() {
    println!("| p | combining | attempts | delay, ms | probability | measured |");
    println!("|---|---|---|---|---|---|");
    for (p, combining) in [(0.1, 1.0), (0.3, 1.0), (0.5, 0.5)] {
        let config = LteConfig { combining: probability(combining), ..one_packet_a_pdu() };
        let mut link = link(config, p);
        let packets = 20_000u32;
        let mut after = [0u32; 5];
        for n in 0..packets {
            let start = u64::from(n) * 1000;
            let _ = link.offer(ms(start), n, 100);
            let out = drain(&mut link, ms(start + 999));
            assert_eq!(out.len(), 1);
            let waited = out[0].1 - start;
            after[usize::try_from(waited.saturating_sub(1) / 8).unwrap().min(4)] += 1;
            assert!(waited > 25 || waited % 8 == 1, "1, 9, 17 or 25 ms, or later by RLC: {waited}");
        }
        let mut reached = 1.0;
        for attempt in 1..=4u32 {
            let fails = p * f64::powi(combining, attempt as i32 - 1);
            let expected = reached * (1.0 - fails);
            let measured = f64::from(after[attempt as usize - 1]) / f64::from(packets);
            println!(
                "| {p} | {combining} | {attempt} | {} | {expected:.4} | {measured:.4} |",
                1 + 8 * (attempt - 1)
            );
            let tolerance = 4.0 * (expected * (1.0 - expected) / f64::from(packets)).sqrt();
            assert!(
                (measured - expected).abs() < tolerance,
                "{p} {combining} {attempt}: {measured} of {expected}"
            );
            reached *= fails;
        }
        assert!(link.radio_stats().poll_timeouts >= after[4].into(), "the others came by RLC");
    }
}

/// A PDU is lost when HARQ fails at its first transmission and at each of the max_retx after it: (pᴷ)^(1 +
/// max_retx).
#[test]
fn residual_loss_is_the_product_of_harq_and_arq_failures() {
    println!(
        "| p | attempts | maxRetx | HARQ failures, closed form | measured | lost, closed form | measured |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (p, max_attempts, max_retx) in [(0.5, 1, 1), (0.5, 2, 1), (0.6, 2, 2), (0.7, 3, 1), (0.3, 1, 2)] {
        // No report while a retransmission is on its way.
        let status_prohibit = Span::from_millis(100);
        let poll_retransmit = Span::from_secs(2);
        let config =
            LteConfig { max_attempts, max_retx, status_prohibit, poll_retransmit, ..one_packet_a_pdu() };
        let mut link = link(config, p);
        saturate(&mut link, 100, Time::ZERO + Span::from_secs(100));
        let (stats, radio) = (link.stats(), link.radio_stats());
        let harq = f64::powi(p, max_attempts as i32);
        let harq_measured = radio.harq_failures as f64 / radio.transport_blocks as f64;
        let expected = f64::powi(harq, 1 + max_retx as i32);
        let gone = (stats.lost.packets + stats.delivered.packets) as f64;
        let measured = stats.lost.packets as f64 / gone;
        println!(
            "| {p} | {max_attempts} | {max_retx} | {harq:.4} | {harq_measured:.4} | {expected:.5} | {measured:.5} |"
        );
        let tolerance = |share: f64, of: f64| 4.0 * (share * (1.0 - share) / of).sqrt();
        assert!((harq_measured - harq).abs() < tolerance(harq, radio.transport_blocks as f64));
        assert!(
            (measured - expected).abs() < tolerance(expected, gone),
            "{p}: {measured} of {expected} in {gone}"
        );
        assert!(radio.discarded_pdus.abs_diff(stats.lost.packets) < 5, "one packet a PDU");
    }
}

#[test]
fn a_packet_takes_its_transport_blocks() {
    // 100 octets and 4 of header are one transport block, 101 two.
    let mut link = link(one_packet_a_pdu(), 0.0);
    let _ = link.offer(ms(5), 1, 100);
    let _ = link.offer(ms(5), 2, 101);
    let _ = link.offer(ms(5), 3, 50);
    let out = drain(&mut link, ms(1000));
    assert_eq!(out, [(1, 6, true), (2, 8, true), (3, 8, true)], "packet 3 shares packet 2's second");
    assert_eq!(link.radio_stats().pdus, 3);
    assert_eq!(link.next_delivery(), None, "an idle link asks for nothing");
}

/// Transport block 1 is lost at its first attempt. It is repeated 8 ms later, and later blocks wait for it.
#[test]
fn harq_recovers_in_order_without_rlc() {
    let mut link = losing(one_packet_a_pdu(), &[1]);
    for n in 0..12 {
        let _ = link.offer(ms(0), n, 100);
    }
    let times: Vec<u64> = drain(&mut link, ms(1000)).iter().map(|&(_, at, _)| at).collect();
    assert_eq!(times, [1, 10, 10, 10, 10, 10, 10, 10, 10, 11, 12, 13]);
    assert_eq!(link.radio_stats().retransmitted, 0);
}

/// Block 1 is lost at its only attempt. Block 2 arrives at 3 ms and starts t-Reordering, with VR(X) = 3. The
/// receiver reports at 38 ms, and the report arrives at 46 ms. Block 1 is sent in the TTI at 46 ms and
/// arrives at 47 ms.
#[test]
fn rlc_recovers_after_reordering_and_a_report() {
    let mut link = losing(LteConfig { max_attempts: 1, ..one_packet_a_pdu() }, &[1]);
    for n in 0..60 {
        let _ = link.offer(ms(0), n, 100);
    }
    let out = drain(&mut link, ms(2000));
    assert!(out.iter().map(|&(n, _, _)| n).eq(0..60) && out.iter().all(|&(_, _, arrived)| arrived));
    let times: Vec<u64> = out.iter().map(|&(_, at, _)| at).collect();
    assert_eq!((times[0], times[1], times[45], times[46], times[59]), (1, 47, 47, 48, 61));
    let radio = link.radio_stats();
    assert_eq!((radio.retransmitted, radio.harq_failures, radio.poll_timeouts), (1, 1, 0));
}

/// The last PDU polls because none follows. When it is lost there is no answer, and t-PollRetransmit
/// retransmits it.
#[test]
fn a_lost_last_pdu_recovers_by_the_poll_timer() {
    let mut link = losing(LteConfig { max_attempts: 1, ..one_packet_a_pdu() }, &[0]);
    let _ = link.offer(ms(0), 1, 100);
    assert_eq!(drain(&mut link, ms(1000)), [(1, 46, true)], "sent at 0, timer at 45 ms");
    assert_eq!(link.radio_stats().poll_timeouts, 1);
}

#[test]
fn a_pdu_that_fails_too_often_is_lost_and_the_others_continue() {
    // Every second transmission is lost.
    let lost: Vec<u64> = (0..400).filter(|n| n % 2 == 1).collect();
    let config = LteConfig { max_attempts: 1, max_retx: 1, ..one_packet_a_pdu() };
    let mut link = losing(config, &lost);
    for n in 0..50 {
        let _ = link.offer(ms(0), n, 100);
    }
    let out = drain(&mut link, ms(20_000));
    assert!(out.iter().map(|&(n, _, _)| n).eq(0..50), "each once, in order");
    let lost = out.iter().filter(|&&(_, _, arrived)| !arrived).count() as u64;
    assert!(lost > 0 && lost == link.stats().lost.packets);
    assert_eq!(link.stats().inside().packets, 0);
}

#[test]
fn a_report_is_not_sent_while_prohibited_and_lost_reports_only_delay() {
    let status_loss = probability(0.5);
    let config = LteConfig { status_loss, status_prohibit: Span::from_millis(60), ..one_packet_a_pdu() };
    let mut link = link(config, 0.2);
    for n in 0..3000 {
        let _ = link.offer(ms(0), n, 100);
    }
    assert_eq!(drain(&mut link, ms(60_000)).len(), 3000);
    let radio = link.radio_stats();
    assert!(radio.statuses_lost > 10 && link.window.is_empty(), "{radio:?}");
    // 3000 packets take 3.75 s and a little
    assert!(radio.statuses <= 6000 / 60, "{}", radio.statuses);
}

#[test]
fn a_smaller_grant_splits_a_pdu_that_is_retransmitted() {
    let mut link = losing(LteConfig { max_attempts: 1, ..one_packet_a_pdu() }, &[0, 2]);
    let _ = link.offer(ms(0), 1, 100);
    assert_eq!(drain(&mut link, ms(1)), []);
    // 104 octets in transport blocks of 53: three parts. The second is lost, and the PDU is retransmitted.
    link.change(ms(1), Change::Rate(Rate::from_bps(53 * 8000))).unwrap();
    let out = drain(&mut link, ms(3000));
    assert_eq!((out.len(), out[0].0, out[0].2), (1, 1, true));
    assert_eq!((link.radio_stats().transport_blocks, link.radio_stats().retransmitted), (7, 2));
    let mut link = self::link(one_packet_a_pdu(), 0.0);
    link.change(ms(0), Change::Rate(Rate::from_bps(3 * 8000))).unwrap();
    let _ = link.offer(ms(0), 1, 100);
    assert_eq!((drain(&mut link, ms(1000)), link.next_delivery()), (vec![], None), "room for headers only");
    link.change(ms(1000), Change::Rate(Rate::from_mbps(1))).unwrap();
    assert_eq!(drain(&mut link, ms(2000)), [(1, 1001, true)]);
}

#[test]
fn the_window_stalls_until_a_report() {
    // 8 PDUs, then nothing until the answer to the poll in the eighth: sent at 7, there at 8, answered at 8 +
    // 20 ms.
    let config = LteConfig { window: 8, status_delay: Span::from_millis(20), ..one_packet_a_pdu() };
    let mut link = link(LteConfig { status_prohibit: Span::ZERO, ..config }, 0.0);
    for n in 0..16 {
        let _ = link.offer(ms(0), n, 100);
    }
    let times: Vec<u64> = drain(&mut link, ms(1000)).iter().map(|&(_, at, _)| at).collect();
    assert_eq!(times, [1, 2, 3, 4, 5, 6, 7, 8, 29, 30, 31, 32, 33, 34, 35, 36]);
}

#[test]
fn a_handover_with_and_without_forwarding() {
    let run = |carries| {
        let mut link = link(one_packet_a_pdu(), 0.0);
        for n in 1..=4 {
            let _ = link.offer(ms(0), n, 204);
        }
        // 208 octets take two TTIs: at 3.5 ms packet 1 is there, 2 is begun, 3 and 4 wait.
        let at = ms(3) + Span::from_micros(500);
        let mut out = drain(&mut link, at);
        link.change(at, Change::Handover { interruption: Span::from_millis(50), carries }).unwrap();
        out.extend(drain(&mut link, ms(5000)));
        assert_eq!(link.stats().inside().packets, 0);
        out
    };
    let one = (1, 2, true);
    assert_eq!(run(Carries::Everything), [one, (2, 56, true), (3, 58, true), (4, 60, true)]);
    assert_eq!(run(Carries::Unsent), [one, (2, 3, false), (3, 56, true), (4, 58, true)]);
    assert_eq!(run(Carries::Nothing), [one, (2, 3, false), (3, 3, false), (4, 3, false)]);
}

#[test]
fn invalid_offers_changes_and_options_are_rejected() {
    let mut link = link(LteConfig { queue: QueueLimit::Packets(1), ..one_packet_a_pdu() }, 0.0);
    assert_eq!(link.offer(ms(0), 1, 500), Offer::Queued);
    assert_eq!(link.offer(ms(0), 2, 500), Offer::Dropped(2, DropReason::QueueFull));
    link.change(ms(1), Change::Down).unwrap();
    assert_eq!(link.offer(ms(2), 3, 500), Offer::Dropped(3, DropReason::LinkDown));
    assert_eq!(drain(&mut link, ms(2)), [(1, 1, false)]);
    let coding = Change::Coding(crate::egprs::CodingScheme::Cs1);
    assert_eq!(link.change(ms(4), coding), Err(Unsupported { change: coding }));
    let good = LteConfig::default();
    let cases = [
        ("harq_processes", LteConfig { harq_processes: 17, ..good }),
        ("max_attempts", LteConfig { max_attempts: MAX_ATTEMPTS as u32 + 1, ..good }),
        ("window", LteConfig { window: 513, ..good }),
        ("max_retx", LteConfig { max_retx: 0, ..good }),
        ("reordering", LteConfig { reordering: Span::ZERO, ..good }),
    ];
    for (what, config) in cases {
        let link = LteLink::<u32>::new(config, BlockErrors::none([0; 32]), [0; 32], [0; 32]);
        assert_eq!(link.unwrap_err().what, what);
    }
}

mod under_random_changes {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Offer(u32),
        Wait(u64),
        Change(Change),
    }

    fn op() -> impl Strategy<Value = Op> {
        let carries = prop_oneof![Just(Carries::Everything), Just(Carries::Unsent), Just(Carries::Nothing)];
        prop_oneof![
            8 => (0..3000u32).prop_map(Op::Offer),
            6 => (0..100_000u64).prop_map(Op::Wait),
            1 => (0..5_000u64).prop_map(|kbps| Op::Change(Change::Rate(Rate::from_kbps(kbps)))),
            1 => (0..800_000u32).prop_map(|ppm| Op::Change(Change::BlockErrors(Probability::from_ppm(ppm)))),
            1 => (0..60u64).prop_map(|ms| Op::Change(Change::Delay(Span::from_millis(ms)))),
            1 => (0..300u64, carries).prop_map(|(ms, carries)| {
                Op::Change(Change::Handover { interruption: Span::from_millis(ms), carries })
            }),
            1 => prop_oneof![Just(Change::Down), Just(Change::Up)].prop_map(Op::Change),
        ]
    }

    /// Returns the outcome of each packet, in order. With `lazy`, the caller polls only when an event is due.
    fn run(config: LteConfig, ops: &[Op], lazy: bool) -> (Vec<u32>, Vec<(u32, Outcome)>, LteStats) {
        let mut link = link(config, 0.1);
        let (mut now, mut n) = (Time::ZERO, 0);
        let (mut taken, mut out) = (Vec::new(), Vec::new());
        let end = [Change::Up, Change::BlockErrors(Probability::ZERO), Change::Rate(Rate::from_mbps(1))];
        for op in ops.iter().chain(&end.map(Op::Change)).chain(&[Op::Wait(4_000_000_000)]) {
            match *op {
                Op::Offer(len) => {
                    if link.offer(now, n, len) == Offer::Queued {
                        taken.push(n);
                    }
                    n += 1;
                }
                Op::Wait(us) => {
                    now += Span::from_micros(us);
                    while let Some(next) = link.next_delivery().filter(|&next| !lazy && next <= now) {
                        out.extend(link.deliver(next).map(|d| (d.packet, d.outcome)));
                    }
                    out.extend(core::iter::from_fn(|| link.deliver(now)).map(|d| (d.packet, d.outcome)));
                }
                Op::Change(change) => link.change(now, change).unwrap(),
            }
        }
        assert_eq!(link.next_delivery(), None, "it comes to rest");
        assert_eq!(link.stats().inside().packets, 0);
        (taken, out, *link.radio_stats())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Every accepted packet leaves once, in order. All arrive unless the cell changed, the link went
        /// down or a PDU was abandoned.
        #[test]
        fn packets_are_conserved_in_order(
            ops in prop::collection::vec(op(), 1..60),
            window in 1..=512u32, max_attempts in 1..6u32, max_retx in 1..6u32, harq_processes in 1..=16u32,
            poll_pdus in 1..50u32, prohibit_ms in 0..60u64, status_loss in 0..500_000u32,
        ) {
            let config = LteConfig {
                window, max_attempts, max_retx, harq_processes, poll_pdus,
                status_prohibit: Span::from_millis(prohibit_ms),
                status_loss: Probability::from_ppm(status_loss),
                nack_as_ack: Probability::from_ppm(10_000),
                ..LteConfig::default()
            };
            let (taken, out, radio) = run(config, &ops, false);
            prop_assert!(out.iter().map(|&(n, _)| n).eq(taken.iter().copied()));
            let left = |op: &Op| matches!(op, Op::Change(Change::Down))
                || matches!(op, Op::Change(Change::Handover { carries, .. }) if *carries != Carries::Everything);
            if !ops.iter().any(left) && radio.discarded_pdus == 0 {
                prop_assert!(out.iter().all(|&(_, outcome)| outcome == Outcome::Arrived));
            }
            prop_assert_eq!(run(config, &ops, true), (taken, out, radio), "a caller that looks later sees the same");
        }
    }
}
