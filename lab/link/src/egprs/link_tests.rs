//! The EGPRS link against closed forms, the standard's rules worked out by hand, and conservation under
//! random changes.

use super::*;
use crate::{DropReason, LossConfig, Outcome, Probability, QueueLimit};

const PACKET: u32 = 1000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Returns a link without set-up time and delay, so that times are easily computed.
fn plain(scheme: CodingScheme) -> EgprsConfig {
    EgprsConfig {
        scheme,
        establishment: Span::ZERO,
        queue: QueueLimit::Packets(10),
        frame_overhead: 9,
        ..EgprsConfig::default()
    }
}

fn link(config: EgprsConfig, share: f64) -> EgprsLink<u32> {
    let errors = BlockErrors::new(Probability::new("share", share).unwrap(), None, [1; 32]).unwrap();
    EgprsLink::new(config, errors, [2; 32]).unwrap()
}

fn losing(config: EgprsConfig, blocks: &[u64]) -> EgprsLink<u32> {
    let script = LossConfig::Scripted { packets: blocks.to_vec() }.build([0; 32]).unwrap().unwrap();
    EgprsLink::new(config, BlockErrors::of(script, [1; 32]), [2; 32]).unwrap()
}

/// Returns the packets that leave by `until`, with their times in ms.
fn drain(link: &mut EgprsLink<u32>, until: Time) -> Vec<(u32, u64, bool)> {
    let mut out = Vec::new();
    while let Some(next) = link.next_delivery().filter(|&next| next <= until) {
        if let Some(delivery) = link.deliver(next) {
            out.push((delivery.packet, next.as_nanos() / 1_000_000, delivery.outcome == Outcome::Arrived));
        }
    }
    assert_eq!(link.deliver(until), None);
    out
}

/// Keeps the link's queue filled until `until`. Returns the rate of arrived packets in bit/s.
fn saturate(link: &mut EgprsLink<u32>, until: Time) -> f64 {
    let mut n = 0;
    let mut now = Time::ZERO;
    while now < until {
        while link.queue_len(now).packets < 5 {
            assert_eq!(link.offer(now, n, PACKET), Offer::Queued);
            n += 1;
        }
        now = link.next_delivery().expect("there is work");
        while link.deliver(now).is_some() {}
    }
    link.stats().delivered.bytes as f64 * 8.0 / until.as_secs_f64()
}

/// Computes the throughput from 3GPP's numbers: octets of the coding per block period and PDCH, less the
/// share of blocks lost, less each packet's LLC, SNDCP and length indicator.
fn closed_form(config: &EgprsConfig, share: f64) -> f64 {
    let packet = f64::from(PACKET) / f64::from(PACKET + config.frame_overhead + 1);
    config.scheme.user_rate().as_bps() as f64 * f64::from(config.pdchs) * (1.0 - share) * packet
}

/// The throughput equals the closed form; prints the table in docs/models/egprs.md with `cargo test -p
/// msctp-link throughput_is_the_closed_form -- --nocapture`.
#[test]
fn throughput_is_the_closed_form() {
    println!(
        "| scheme | BLER | closed form, kbit/s | measured | difference | retransmitted | stalled, % of the time |"
    );
    println!("|---|---|---|---|---|---|---|");
    let until = Time::ZERO + Span::from_secs(400);
    for scheme in CodingScheme::all() {
        for share in [0.0, 0.01, 0.1, 0.3] {
            let config = EgprsConfig { window: 1024, ..plain(scheme) };
            // each cell with draws of its own
            let mut seed = [0; 32];
            seed[..2].copy_from_slice(&[scheme as u8, (share * 100.0) as u8]);
            let errors = BlockErrors::new(Probability::new("share", share).unwrap(), None, seed).unwrap();
            let mut link = EgprsLink::new(config, errors, [2; 32]).unwrap();
            let measured = saturate(&mut link, until);
            let expected = closed_form(&config, share);
            let radio = link.radio_stats();
            println!(
                "| {scheme} | {share} | {:.2} | {:.2} | {:+.2} % | {:.2} % | {:.2} |",
                expected / 1e3,
                measured / 1e3,
                (measured / expected - 1.0) * 100.0,
                (radio.retransmitted + radio.sent_early) as f64 / radio.blocks as f64 * 100.0,
                radio.stalled.as_secs_f64() / until.as_secs_f64() * 100.0,
            );
            assert!((measured / expected - 1.0).abs() < 0.02, "{scheme} {share}: {measured} of {expected}");
        }
    }
}

#[test]
fn bursts_of_block_errors_cost_no_more_than_single_ones() {
    let config = EgprsConfig { window: 1024, ..plain(CodingScheme::Cs3) };
    let errors = BlockErrors::new(Probability::from_ppm(100_000), Some(8.0), [3; 32]).unwrap();
    let mut link = EgprsLink::new(config, errors, [4; 32]).unwrap();
    let measured = saturate(&mut link, Time::ZERO + Span::from_secs(800));
    assert!((measured / closed_form(&config, 0.1) - 1.0).abs() < 0.02, "{measured}");
}

/// Without errors, the window must hold the blocks that no report has covered yet.
///
/// A report shows the state at its creation. It arrives `BLOCK_PERIOD` + 2 · delay later, and the next one a
/// poll period after it. So the window must hold poll_period + PDCHs · (2 + 2 · delay / 20 ms) blocks, within
/// one period's. A smaller window is sent once per that time.
#[test]
fn the_window_stalls_when_it_is_smaller_than_rate_times_feedback() {
    println!(
        "| delay, ms | needed, blocks | window | stalled, % | blocks/s | window / round trip, blocks/s |"
    );
    println!("|---|---|---|---|---|---|");
    let until = Time::ZERO + Span::from_secs(200);
    for delay_ms in [0, 100, 400] {
        let loop_ms = 40 + 2 * delay_ms;
        let needed = 21 + 3 * loop_ms / 20;
        for window in [needed as u32 / 3, needed as u32 / 2, needed as u32 - 12, needed as u32 + 6] {
            let delay = Span::from_millis(delay_ms);
            let config = EgprsConfig { delay, window, poll_period: 21, ..plain(CodingScheme::Cs2) };
            let mut link = link(config, 0.0);
            saturate(&mut link, until);
            let stalled = link.radio_stats().stalled.as_secs_f64() / until.as_secs_f64() * 100.0;
            let rate = link.radio_stats().blocks as f64 / until.as_secs_f64();
            let round = |ms: u64| f64::from(window) / (ms as f64 / 1000.0);
            // A block waits between nothing and a poll period, of at most 7 + 1 periods, for the report that
            // names it.
            let (least, most) = (round(loop_ms + 160), round(loop_ms));
            println!(
                "| {delay_ms} | {needed} | {window} | {stalled:.1} | {rate:.1} | {least:.1} to {most:.1} |"
            );
            if u64::from(window) > needed {
                assert!(stalled == 0.0 && rate > 149.0, "{delay_ms} {window}: {stalled} {rate}");
            } else {
                assert!(stalled > 0.0, "{delay_ms} {window}");
                assert!(
                    rate >= least.min(149.0) * 0.98 && rate <= most.min(150.0),
                    "{delay_ms} {window}: {rate}"
                );
            }
        }
    }
}

/// The paper's windows at the paper's block error rates: a window is large enough if the oldest block
/// arrives, after all its transmissions, before the window is used up.
#[test]
fn larger_windows_bear_more_errors() {
    println!("| window | BLER | of the closed form | stalled, % |");
    println!("|---|---|---|---|");
    let until = Time::ZERO + Span::from_secs(400);
    for share in [0.01, 0.015, 0.1, 0.15] {
        let mut last = 0.0;
        for window in [64, 128, 384] {
            let config = EgprsConfig { window, ..plain(CodingScheme::Cs2) };
            let mut link = link(config, share);
            let part = saturate(&mut link, until) / closed_form(&config, share);
            let stalled = link.radio_stats().stalled.as_secs_f64() / until.as_secs_f64() * 100.0;
            println!("| {window} | {share} | {part:.3} | {stalled:.1} |");
            assert!(part > last - 0.005, "{window} {share}");
            last = part;
        }
        assert!(last > 0.98, "{share}: 384 blocks do not stall");
    }
}

#[test]
fn a_packet_takes_its_blocks() {
    // 40 + 9 + 1 octets are one block of CS4.
    let mut link = link(plain(CodingScheme::Cs4), 0.0);
    assert_eq!(link.offer(ms(5), 1, 40), Offer::Queued);
    assert_eq!(drain(&mut link, ms(100)), [(1, 40, true)], "from 20 to 40 ms");
    // 150 octets are three blocks, on three PDCHs at once; one octet more takes another period.
    let _ = link.offer(ms(101), 2, 140);
    assert_eq!(drain(&mut link, ms(300)), [(2, 140, true)]);
    let _ = link.offer(ms(301), 3, 141);
    assert_eq!(drain(&mut link, ms(500)), [(3, 360, true)]);
    // Two blocks in a radio block: 2 · 74 octets per PDCH and period.
    let mut link = self::link(EgprsConfig { pdchs: 1, ..plain(CodingScheme::Mcs9) }, 0.0);
    let _ = link.offer(ms(0), 1, 138);
    assert_eq!(drain(&mut link, ms(19)), []);
    assert_eq!((link.radio_stats().radio_blocks, link.radio_stats().blocks), (1, 2));
    assert_eq!(drain(&mut link, ms(20)), [(1, 20, true)]);
}

#[test]
fn packets_share_blocks() {
    let mut link = link(EgprsConfig { pdchs: 1, ..plain(CodingScheme::Cs4) }, 0.0);
    // Five packets of 20 octets with their overhead are two blocks: three are whole after the second.
    for n in 1..=5 {
        assert_eq!(link.offer(ms(0), n, 10), Offer::Queued);
    }
    let out = drain(&mut link, ms(1000));
    assert_eq!(out.iter().map(|&(_, at, _)| at).collect::<Vec<_>>(), [20, 20, 40, 40, 40]);
    assert_eq!(link.radio_stats().blocks, 2);
}

#[test]
fn setting_up_and_delayed_release_of_the_flow() {
    let config = EgprsConfig {
        establishment: Span::from_millis(195),
        release: Span::from_millis(500),
        ..plain(CodingScheme::Cs4)
    };
    let mut link = link(config, 0.0);
    let _ = link.offer(ms(0), 1, 40);
    // Polled at 200 ms, the report is made at 260 ms and read at 280 ms; the flow continues until 780 ms.
    assert_eq!(drain(&mut link, ms(779)), [(1, 220, true)]);
    let _ = link.offer(ms(779), 2, 40);
    assert_eq!(drain(&mut link, ms(2000)), [(2, 800, true)], "within the flow");
    assert_eq!(link.next_delivery(), None, "an idle link asks for nothing");
    let _ = link.offer(ms(2001), 3, 40);
    assert_eq!(drain(&mut link, ms(4000)), [(3, 2220, true)], "set up again");
    assert_eq!(link.radio_stats().flows, 2);
}

/// On one PDCH, blocks 0, 1, 2 … leave at 0, 20, 40 ms …
#[test]
fn a_lost_block_is_retransmitted_after_the_report_and_nothing_overtakes() {
    let config =
        EgprsConfig { pdchs: 1, poll_period: 3, delay: Span::from_millis(10), ..plain(CodingScheme::Cs4) };
    let mut link = losing(config, &[1]);
    link.set_trace(true);
    for n in 0..9 {
        let _ = link.offer(ms(0), n, 40);
    }
    let out = drain(&mut link, ms(2000));
    // Block 2 polls at 40 ms; the report is made at 110 ms, when blocks up to 4 (80 to 110 ms) are there, and
    // read at 140 ms. The blocks at 140 ms have been chosen by then or not: reports come first, so block 1
    // goes at 140 ms.
    let times: Vec<u64> = out.iter().map(|&(_, at, _)| at).collect();
    assert_eq!(times, [30, 170, 170, 170, 170, 170, 170, 190, 210]);
    assert!(out.iter().map(|&(n, _, _)| n).eq(0..9) && out.iter().all(|&(_, _, arrived)| arrived));
    let events: Vec<BlockEvent> = core::iter::from_fn(|| link.poll_trace()).collect();
    let again: Vec<_> = events.iter().filter(|e| e.kind == BlockEventKind::Retransmitted).take(1).collect();
    assert_eq!((again[0].at, again[0].number), (ms(140), 1));
    let acked: Vec<_> = events.iter().filter(|e| e.kind == BlockEventKind::Acknowledged).collect();
    assert_eq!((acked[0].at, acked[0].number), (ms(140), 0));
    assert_eq!(acked.last().unwrap().number, 8);
    assert_eq!(link.radio_stats().retransmitted, 1, "not twice for one loss");
}

/// GPRS: the lost block contains the poll. The last block is retransmitted because no new data is queued,
/// which polls again.
#[test]
fn a_lost_last_block_recovers() {
    for (scheme, polls_lost) in [(CodingScheme::Cs4, 1), (CodingScheme::Mcs9, 0)] {
        let mut link = losing(EgprsConfig { pdchs: 1, ..plain(scheme) }, &[0]);
        let _ = link.offer(ms(0), 1, 40);
        assert_eq!(drain(&mut link, ms(3000)), [(1, 40, true)]);
        assert_eq!(link.radio_stats().polls_lost, polls_lost);
        assert!(link.window.is_empty());
    }
}

#[test]
fn lost_reports_only_delay() {
    let config = EgprsConfig { report_loss: Probability::from_ppm(500_000), ..plain(CodingScheme::Cs4) };
    let mut link = link(config, 0.1);
    for n in 0..10 {
        let _ = link.offer(ms(0), n, PACKET);
    }
    assert_eq!(drain(&mut link, ms(60_000)).len(), 10);
    assert!(link.radio_stats().reports_lost > 0 && link.window.is_empty());
}

#[test]
fn block_numbers_stay_within_the_window() {
    let mut link = link(EgprsConfig { window: 64, ..plain(CodingScheme::Cs1) }, 0.3);
    link.set_trace(true);
    saturate(&mut link, Time::ZERO + Span::from_secs(60));
    let (mut next, mut acked) = (0, 0);
    while let Some(event) = link.poll_trace() {
        match event.kind {
            BlockEventKind::Sent => {
                assert_eq!(event.number, next);
                next += 1;
                assert!(next - acked <= 64);
            }
            BlockEventKind::Retransmitted | BlockEventKind::Received => {
                assert!((acked..next).contains(&event.number));
            }
            BlockEventKind::Acknowledged => acked = event.number + 1,
        }
    }
    assert!(next > 1000 && link.radio_stats().stalled > Span::ZERO);
}

/// A block of MCS-9 is retransmitted as two of MCS-3 after the coding has changed; one of CS4 as CS4.
#[test]
fn blocks_keep_their_coding_or_are_split_within_the_family() {
    for (first, then, radio_blocks) in
        [(CodingScheme::Mcs9, CodingScheme::Mcs3, 2), (CodingScheme::Cs4, CodingScheme::Cs1, 1)]
    {
        let mut link = losing(EgprsConfig { pdchs: 1, ..plain(first) }, &[0]);
        let octets = first.block_octets();
        let _ = link.offer(ms(0), 1, octets - 10);
        assert_eq!(drain(&mut link, ms(0)), []);
        link.change(ms(0), Change::Coding(then)).unwrap();
        assert_eq!(drain(&mut link, ms(3000)), [(1, 20 + 20 * radio_blocks, true)], "{first} {then}");
    }
}

#[test]
fn a_handover_carries_loses_some_or_loses_all() {
    let run = |carries| {
        let mut link = link(plain(CodingScheme::Cs4), 0.0);
        for n in 1..=4 {
            let _ = link.offer(ms(0), n, 290);
        }
        // 300 octets take two periods: at 50 ms packet 1 is there, 2 is begun, 3 and 4 wait.
        let mut out = drain(&mut link, ms(50));
        link.change(ms(50), Change::Handover { interruption: Span::from_millis(300), carries }).unwrap();
        link.change(ms(50), Change::Coding(CodingScheme::Cs3)).unwrap();
        out.extend(drain(&mut link, ms(5000)));
        assert_eq!(link.stats().inside().packets, 0);
        out
    };
    // From 360 ms three blocks of 36 octets per period: 300 octets end in the third, 600 in the sixth.
    let one = (1, 40, true);
    assert_eq!(run(Carries::Everything), [one, (2, 420, true), (3, 480, true), (4, 540, true)]);
    assert_eq!(run(Carries::Unsent), [one, (2, 50, false), (3, 420, true), (4, 480, true)]);
    assert_eq!(run(Carries::Nothing), [one, (2, 50, false), (3, 50, false), (4, 50, false)]);
}

#[test]
fn the_queue_counts_packets_not_yet_begun() {
    let mut link = link(EgprsConfig { queue: QueueLimit::Packets(2), ..plain(CodingScheme::Cs4) }, 0.0);
    assert_eq!(link.offer(ms(0), 1, 500), Offer::Queued);
    assert_eq!(link.offer(ms(0), 2, 500), Offer::Queued);
    assert_eq!(link.offer(ms(0), 3, 500), Offer::Dropped(3, DropReason::QueueFull));
    assert_eq!(drain(&mut link, ms(0)), []);
    assert_eq!(link.queue_len(ms(0)), QueueLen { packets: 1, bytes: 500 }, "packet 1 is begun");
    assert_eq!(link.offer(ms(1), 4, 500), Offer::Queued);
    link.change(ms(2), Change::Down).unwrap();
    assert_eq!(link.offer(ms(3), 5, 500), Offer::Dropped(5, DropReason::LinkDown));
    assert_eq!(drain(&mut link, ms(3)), [(1, 2, false), (2, 2, false), (4, 2, false)]);
    let stats = link.stats();
    assert_eq!((stats.dropped_full.packets, stats.dropped_down.packets, stats.lost_down.packets), (1, 1, 3));
    let rate = Change::Rate(msctp_units::Rate::from_kbps(1));
    assert_eq!(link.change(ms(4), rate), Err(Unsupported { change: rate }));
}

#[test]
fn parameters_out_of_range_are_named() {
    let good = EgprsConfig::default();
    let cases = [
        ("pdchs", EgprsConfig { pdchs: 9, ..good }),
        ("window", EgprsConfig { window: 0, ..good }),
        ("poll_period", EgprsConfig { poll_period: 0, ..good }),
        ("rrbp", EgprsConfig { rrbp: Span::from_millis(19), ..good }),
    ];
    for (what, config) in cases {
        assert_eq!(
            EgprsLink::<u32>::new(config, BlockErrors::none([0; 32]), [0; 32]).unwrap_err().what,
            what
        );
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
        let scheme = (0..13usize).prop_map(|n| CodingScheme::all().nth(n).unwrap());
        let carries = prop_oneof![Just(Carries::Everything), Just(Carries::Unsent), Just(Carries::Nothing)];
        prop_oneof![
            8 => (0..3000u32).prop_map(Op::Offer),
            6 => (0..2_000_000u64).prop_map(Op::Wait),
            1 => scheme.prop_map(|scheme| Op::Change(Change::Coding(scheme))),
            1 => (0..800_000u32).prop_map(|ppm| Op::Change(Change::BlockErrors(Probability::from_ppm(ppm)))),
            1 => (0..400u64).prop_map(|ms| Op::Change(Change::Delay(Span::from_millis(ms)))),
            1 => (0..3000u64, carries).prop_map(|(ms, carries)| {
                Op::Change(Change::Handover { interruption: Span::from_millis(ms), carries })
            }),
            1 => prop_oneof![Just(Change::Down), Just(Change::Up)].prop_map(Op::Change),
        ]
    }

    /// Returns the outcome of each packet, in order. With `lazy`, the caller polls only when an event is due.
    fn run(config: EgprsConfig, ops: &[Op], lazy: bool) -> (Vec<u32>, Vec<(u32, Outcome)>, EgprsStats) {
        let mut link = link(config, 0.1);
        let (mut now, mut n) = (Time::ZERO, 0);
        let (mut taken, mut out) = (Vec::new(), Vec::new());
        let end = [Change::Up, Change::BlockErrors(Probability::ZERO)].map(Op::Change);
        for op in ops.iter().chain(&end).chain(&[Op::Wait(4_000_000_000)]) {
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

        /// Every accepted packet comes out once, in order. All arrive unless the cell or the link was left.
        #[test]
        fn packets_are_conserved_in_order(
            ops in prop::collection::vec(op(), 1..60),
            window in 1..400u32, pdchs in 1..=8u32, poll_period in 1..50u32, release_ms in 0..2000u64,
        ) {
            let release = Span::from_millis(release_ms);
            let config = EgprsConfig { window, pdchs, poll_period, release, ..EgprsConfig::default() };
            let (taken, out, radio) = run(config, &ops, false);
            prop_assert!(out.iter().map(|&(n, _)| n).eq(taken.iter().copied()));
            let left = |op: &Op| matches!(op, Op::Change(Change::Down))
                || matches!(op, Op::Change(Change::Handover { carries, .. }) if *carries != Carries::Everything);
            if !ops.iter().any(left) {
                prop_assert!(out.iter().all(|&(_, outcome)| outcome == Outcome::Arrived));
            }
            prop_assert_eq!(run(config, &ops, true), (taken, out, radio), "a caller that looks later sees the same");
        }
    }
}
