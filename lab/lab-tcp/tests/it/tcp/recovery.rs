//! Losses and how they are repaired: RFC 5681, 6582, 6675, 3042, 6298, 5682.

use crate::tcp::support::{Fate, Pair, lose_once, secs};
use msctp_congestion::{InitialWindow, LossKind, RtoConfig};
use msctp_lab_tcp::{Algorithm, Config, SackLimit, TraceKind};
use msctp_units::{Span, Time};

const SMSS: u32 = 1460;

/// Returns options for segments of 1460 bytes, an ACK for each, and a window of 20 from the beginning.
fn config(recovery: Algorithm) -> Config {
    Config {
        recovery,
        timestamps: false,
        ack_every: 1,
        limited_transmit: false,
        initial_window: Some(InitialWindow::Packets(20)),
        initial_ssthresh: Some(19 * u64::from(SMSS)),
        trace: true,
        ..Config::default()
    }
}

/// Runs a transfer of `segments` with the client's data 1 ms apart. Some segments are lost once.
fn transfer(config: &Config, segments: u64, lost: &[u32]) -> Pair {
    let mut pair = Pair::same(config);
    pair.spacing = Span::from_millis(1);
    pair.client().write(segments * u64::from(SMSS));
    pair.run(secs(60), lose_once(lost, SMSS));
    assert_eq!(pair.server().delivered(), segments * u64::from(SMSS), "{:?}", config.recovery);
    pair
}

/// Returns the times at which segment `number` was sent and retransmitted.
fn times(pair: &Pair, number: u32) -> Vec<Time> {
    pair.data_sent(SMSS).into_iter().filter(|&(n, _)| n == number).map(|(_, at)| at).collect()
}

fn losses(pair: &Pair, wanted: LossKind) -> Vec<u64> {
    pair.traced(0, |kind| match *kind {
        TraceKind::Loss { kind, flight_size } if kind == wanted => Some(flight_size),
        _ => None,
    })
}

#[test]
fn the_third_duplicate_sends_the_segment_again() {
    for (_, algorithm) in Algorithm::ALL {
        let pair = transfer(&config(algorithm), 100, &[5]);
        let again = times(&pair, 5);
        assert_eq!(again.len(), 2);
        // Segments leave at 100 ms and arrive 1 ms apart from 151 ms on; 6, 7 and 8 (at 157 to 159 ms) make
        // the duplicates.
        assert_eq!(again[1], Time::ZERO + Span::from_millis(159 + 50), "{algorithm:?}");
        let stats = pair.ends[0].stats();
        assert_eq!((stats.fast_retransmits, stats.retransmitted, stats.timeouts), (1, 1, 0));
        // At that time 5 to 24 are outstanding: the first five ACKs let five more out.
        assert_eq!(losses(&pair, LossKind::Gap), [20 * u64::from(SMSS)]);
    }
}

#[test]
fn two_duplicates_are_only_reordering() {
    for (_, algorithm) in Algorithm::ALL {
        let mut pair = Pair::same(&config(algorithm));
        pair.spacing = Span::from_millis(1);
        pair.client().write(50 * u64::from(SMSS));
        // 2 ms late: behind two others
        let late = |seen: &crate::tcp::support::Seen| {
            if seen.from_client && seen.len > 0 && crate::tcp::support::number(seen, SMSS) == 5 {
                Fate::Late(Span::from_micros(2500))
            } else {
                Fate::Pass
            }
        };
        pair.run(secs(20), late);
        let stats = pair.client().stats();
        assert_eq!((stats.retransmitted, stats.duplicate_acks, stats.fast_retransmits), (0, 2, 0));
    }
}

#[test]
fn reno_leaves_at_the_first_new_ack_and_cuts_again_for_the_second_loss() {
    let pair = transfer(&config(Algorithm::Reno), 100, &[5, 7]);
    let stats = pair.ends[0].stats();
    assert_eq!(losses(&pair, LossKind::Gap).len() as u64 + stats.timeouts, 2);
    assert_eq!(stats.fast_retransmits, losses(&pair, LossKind::Gap).len() as u64);
}

#[test]
fn reno_may_be_kept_from_cutting_twice_for_a_window() {
    // 5 and 12 are lost: the duplicates of the second loss arrive when the first is repaired.
    let twice = transfer(&config(Algorithm::Reno), 100, &[5, 12]);
    let once = transfer(&Config { once_per_window: true, ..config(Algorithm::Reno) }, 100, &[5, 12]);
    let counts = |pair: &Pair| (pair.ends[0].stats().fast_retransmits, pair.ends[0].stats().timeouts);
    assert_eq!((counts(&twice), counts(&once)), ((2, 0), (1, 1)));
}

#[test]
fn newreno_repairs_one_loss_per_round_trip_with_one_cut() {
    let lost = [5, 7, 9, 11];
    let pair = transfer(&config(Algorithm::NewReno), 100, &lost);
    let stats = pair.ends[0].stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmitted), (1, 0, 4));
    let again: Vec<Time> = lost.iter().map(|&n| times(&pair, n)[1]).collect();
    for pair in again.windows(2) {
        let gap = pair[1].since(pair[0]).as_millis();
        assert!((100..140).contains(&gap), "a partial ACK each round trip: {gap} ms");
    }
}

#[test]
fn newreno_may_leave_the_timer_alone_after_the_first_partial_ack() {
    // Eight losses take eight round trips: longer than the RTO of 300 ms, unless each partial ACK restarts
    // the timer.
    let lost = [2, 4, 6, 8, 10, 12, 14, 16];
    let rto = RtoConfig { min: Span::from_millis(300), ..RtoConfig::default() };
    let impatient = Config { rto, ..config(Algorithm::NewReno) };
    let steady = Config { slow_but_steady: true, ..impatient.clone() };
    assert_eq!(transfer(&impatient, 100, &lost).ends[0].stats().timeouts, 1);
    assert_eq!(transfer(&steady, 100, &lost).ends[0].stats().timeouts, 0);
}

#[test]
fn duplicates_that_cover_no_more_than_recover_start_nothing() {
    // 5 is lost twice. The ACK that ends the timeout covers exactly "recover"; then the first new segment is
    // lost, and the three after it make duplicates of that ACK (RFC 6582 §3.2 (2): only when it "covers more
    // than recover").
    let config = Config { limited_transmit: true, ..config(Algorithm::NewReno) };
    let clean = transfer(&config, 200, &[5, 5]);
    let timeout = clean.traces[0].iter().find(|event| matches!(event.kind, TraceKind::Timeout { .. }));
    let timeout = timeout.expect("the timeout").at;
    let (first_new, _) = clean.data_sent(SMSS).into_iter().find(|&(n, at)| at > timeout && n != 5).unwrap();
    let recover = clean.data_sent(SMSS).into_iter().filter(|&(_, at)| at < timeout).map(|(n, _)| n).max();
    assert_eq!(Some(first_new), recover.map(|n| n + 1));

    let pair = transfer(&config, 200, &[5, 5, first_new]);
    let stats = pair.ends[0].stats();
    assert!(stats.duplicate_acks >= 3 + clean.ends[0].stats().duplicate_acks, "three more duplicates");
    assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 2));
    // The next loss, above "recover", is repaired by fast recovery.
    let pair = transfer(&config, 200, &[5, 5, first_new + 20]);
    assert_eq!((pair.ends[0].stats().fast_retransmits, pair.ends[0].stats().timeouts), (2, 1));
}

#[test]
fn the_ack_heuristic_lets_duplicates_of_a_small_step_start_fast_recovery() {
    // After the timeout of 5, whose repair is lost, 8 to 14 are retransmitted one after the other, and 10 is
    // lost again: its duplicates are below "recover", and the ACK before them covered one segment (RFC 6582
    // §4.1).
    let lost = [5, 5, 8, 9, 10, 10, 11, 12, 13, 14];
    let counts = |ack_heuristic| {
        let config = Config { ack_heuristic, ..config(Algorithm::NewReno) };
        let pair = transfer(&config, 100, &lost);
        (pair.ends[0].stats().fast_retransmits, pair.ends[0].stats().timeouts)
    };
    assert_eq!((counts(false), counts(true)), ((1, 2), (2, 1)));
    // Duplicates of an ACK that covered a whole window come from needless retransmissions, as far as one can
    // see.
    let config = Config { ack_heuristic: true, limited_transmit: true, ..config(Algorithm::NewReno) };
    let clean = transfer(&config, 200, &[5, 5]);
    let end = clean.data_sent(SMSS).into_iter().rposition(|(n, _)| n == 5).unwrap();
    let first_new = clean.data_sent(SMSS)[end + 1].0;
    let pair = transfer(&config, 200, &[5, 5, first_new]);
    assert_eq!((pair.ends[0].stats().fast_retransmits, pair.ends[0].stats().timeouts), (1, 2));
}

#[test]
fn a_loss_may_halve_the_window_instead_of_the_flight() {
    // Segments 5 to 11 are all there is: FlightSize is 7 in a window of 20.
    for (_, algorithm) in Algorithm::ALL {
        let halved = |halve_window| {
            let pair = transfer(&Config { halve_window, ..config(algorithm) }, 12, &[5]);
            losses(&pair, LossKind::Gap)[0]
        };
        assert_eq!(
            (halved(false), halved(true)),
            (7 * u64::from(SMSS), 20 * u64::from(SMSS)),
            "{algorithm:?}"
        );
        let halved = |halve_window| {
            let pair = transfer(&Config { halve_window, ..config(algorithm) }, 12, &[11]);
            losses(&pair, LossKind::Timeout)[0]
        };
        assert_eq!((halved(false), halved(true)), (u64::from(SMSS), 20 * u64::from(SMSS)), "{algorithm:?}");
    }
    // The window of a peer that has less room counts.
    let config =
        Config { halve_window: true, receive_buffer: 9 * u64::from(SMSS), ..config(Algorithm::Reno) };
    assert_eq!(losses(&transfer(&config, 100, &[5]), LossKind::Gap), [9 * u64::from(SMSS)]);
}

#[test]
fn the_ack_that_ends_fast_recovery_opens_the_window_by_option() {
    for (_, algorithm) in Algorithm::ALL {
        let after = |grow_at_exit| {
            let pair = transfer(&Config { grow_at_exit, ..config(algorithm) }, 100, &[5]);
            let mut trace = pair.traces[0].iter().map(|event| &event.kind);
            trace.find(|kind| matches!(kind, TraceKind::RecoveryExit)).expect("left");
            trace.find_map(|kind| match *kind {
                TraceKind::Window { cwnd, ssthresh, .. } => Some(cwnd - ssthresh),
                _ => None,
            })
        };
        // RFC 5681 §3.2 (6): cwnd is ssthresh. The ACK covers more than a window of data: one segment.
        let segment = if algorithm == Algorithm::Sack { 0 } else { u64::from(SMSS) };
        assert_eq!((after(false), after(true)), (Some(0), Some(segment)), "{algorithm:?}");
    }
}

#[test]
fn sack_may_count_packets_in_the_network() {
    let lost = [2, 4, 6, 8, 10];
    let run = |counted_pipe| transfer(&Config { counted_pipe, ..config(Algorithm::Sack) }, 100, &lost);
    let (counted, by_scoreboard) = (run(true), run(false));
    let stats = counted.ends[0].stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmitted), (1, 0, 5));
    // At the third duplicate, of 7, 20 segments are out and 17 counted. Eight more ACKs, the last of 17,
    // count it below half the window, 10; segment n arrives at 151 + n ms.
    assert_eq!(times(&counted, 4)[1], Time::ZERO + Span::from_millis(151 + 17 + 50));
    assert!(times(&by_scoreboard, 4)[1] < times(&counted, 4)[1], "the scoreboard knows that five are lost");
}

#[test]
fn sack_repairs_all_losses_of_a_window_at_once() {
    let lost = [2, 4, 6, 8, 10];
    let pair = transfer(&config(Algorithm::Sack), 100, &lost);
    let stats = pair.ends[0].stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmitted), (1, 0, 5));
    let again: Vec<Time> = lost.iter().map(|&n| times(&pair, n)[1]).collect();
    assert!(again.is_sorted(), "holes in their order");
    assert!(again[4].since(again[0]) < Span::from_millis(100), "within a round trip: {again:?}");
    // RFC 6675 §5 (C): never more than cwnd in the network
    for (cwnd, flight) in pair.traced(0, |kind| match *kind {
        TraceKind::Window { cwnd, flight_size, .. } => Some((cwnd, flight_size)),
        _ => None,
    }) {
        assert!(flight <= cwnd.max(20 * u64::from(SMSS)), "{flight} above {cwnd}");
    }
}

#[test]
fn sack_needs_no_third_duplicate_when_enough_bytes_are_beyond_the_hole() {
    // 5 is lost, and the ACKs of 6 and 7: the one of 8 reports three segments (RFC 6675 §5 (2)).
    let mut pair = Pair::same(&config(Algorithm::Sack));
    pair.spacing = Span::from_millis(1);
    pair.client().write(60 * u64::from(SMSS));
    let mut lose_data = lose_once(&[5], SMSS);
    let mut acks = 0;
    pair.run(secs(20), |seen| {
        if !seen.from_client && !seen.blocks.is_empty() {
            acks += 1;
            return if acks <= 2 { Fate::Lose } else { Fate::Pass };
        }
        lose_data(seen)
    });
    let stats = pair.client().stats();
    assert_eq!((stats.fast_retransmits, stats.retransmitted, stats.timeouts), (1, 1, 0));
    assert_eq!(times(&pair, 5)[1], Time::ZERO + Span::from_millis(159 + 50));
}

#[test]
fn sack_sends_the_last_segment_again_when_the_tail_is_lost_in_recovery() {
    // 10 is lost, and the very last: its hole is above everything SACKed, only rule (4) of NextSeg reaches
    // it.
    let pair = transfer(&config(Algorithm::Sack), 20, &[10, 19]);
    let stats = pair.ends[0].stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits, stats.retransmitted), (0, 1, 2));
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    for (_, algorithm) in Algorithm::ALL {
        let limited = Config { limited_transmit: true, ..config(algorithm) };
        // Five segments outstanding, the second lost. The ACK of the first lets a sixth out, at 201 ms.
        let small = |config: Config| Config {
            initial_window: Some(InitialWindow::Packets(5)),
            initial_ssthresh: Some(4 * u64::from(SMSS)),
            ..config
        };
        let at_third_duplicate = Time::ZERO + Span::from_millis(155 + 50);
        let new_before = |pair: &Pair| {
            let sent = pair.data_sent(SMSS);
            sent.iter().filter(|&&(n, at)| n > 5 && at < at_third_duplicate).count()
        };
        let with = transfer(&small(limited), 50, &[1]);
        let without = transfer(&small(config(algorithm)), 50, &[1]);
        assert_eq!((new_before(&with), new_before(&without)), (2, 0), "{algorithm:?}: RFC 3042");
        // Segments of limited transmit are no part of FlightSize.
        assert_eq!(losses(&with, LossKind::Gap)[0], 5 * u64::from(SMSS));
    }
}

#[test]
fn the_tail_waits_for_the_timer_and_the_timer_backs_off() {
    for (_, algorithm) in Algorithm::ALL {
        let pair = transfer(&config(algorithm), 20, &[19, 19, 19]);
        let sent = times(&pair, 19);
        let waits: Vec<u64> = sent.windows(2).map(|w| w[1].since(w[0]).as_millis()).collect();
        // The timer was restarted by the last ACK (RFC 6298 §5 (5.3)), then doubles (5.5).
        assert_eq!(waits.len(), 3);
        assert!((1000..1200).contains(&waits[0]), "{waits:?}");
        assert_eq!(waits[1..], [2000, 4000]);
        let stats = pair.ends[0].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits), (3, 0));
        // RFC 5681 §3.1: FlightSize, and with it ssthresh, is that of the first of them.
        assert_eq!(losses(&pair, LossKind::Timeout), [u64::from(SMSS); 3]);
    }
}

#[test]
fn karn_no_round_trip_is_measured_on_retransmitted_segments() {
    let pair = transfer(&config(Algorithm::Reno), 20, &[19]);
    let samples = pair.traced(0, |kind| match *kind {
        TraceKind::Rtt { sample, .. } => Some(sample),
        _ => None,
    });
    assert!(!samples.is_empty());
    assert!(
        samples.iter().all(|&s| s >= Span::from_millis(100) && s < Span::from_millis(125)),
        "{samples:?}"
    );
}

#[test]
fn with_timestamps_every_new_ack_measures_a_round_trip() {
    let stamped = Config { timestamps: true, ..config(Algorithm::Sack) };
    let mut pair = Pair::same(&stamped);
    pair.client().write(30_000);
    pair.run(secs(5), |_| Fate::Pass);
    let samples = pair.traced(0, |kind| matches!(kind, TraceKind::Rtt { .. }).then_some(()));
    assert_eq!(samples.len() as u64, pair.server().stats().acks_sent);
}

#[test]
fn after_a_timeout_all_is_retransmitted_in_order() {
    // Segment 5 is lost twice: the timeout comes with 6 to 24 received. Reno retransmits what it cannot know
    // to have arrived, but the ACK of 5 covers it.
    for (_, algorithm) in Algorithm::ALL {
        let pair = transfer(&config(algorithm), 100, &[5, 5]);
        let stats = pair.ends[0].stats();
        assert_eq!((stats.timeouts, stats.fast_retransmits, times(&pair, 5).len()), (1, 1, 3));
        let after = losses(&pair, LossKind::Gap).len() + losses(&pair, LossKind::Timeout).len();
        assert_eq!(after, 2, "{algorithm:?}: duplicates of the old window start nothing");
    }
}

#[test]
fn a_spurious_timeout_is_found_and_undone() {
    for (_, algorithm) in Algorithm::ALL {
        let run = |frto| {
            let config = Config { frto, ..config(algorithm) };
            let mut pair = Pair::same(&config);
            pair.spacing = Span::from_millis(1);
            pair.client().write(400 * u64::from(SMSS));
            // The way back stalls for two seconds: ACKs arrive late, in order.
            pair.run(secs(60), |seen| {
                let from = Time::ZERO + Span::from_millis(400);
                let to = Time::ZERO + Span::from_millis(2400);
                if !seen.from_client && seen.at > from && seen.at < to {
                    Fate::Late(to.since(seen.at))
                } else {
                    Fate::Pass
                }
            });
            assert_eq!(pair.server().delivered(), 400 * u64::from(SMSS));
            pair
        };
        let (with, without) = (run(true), run(false));
        let (with, without) = (with.ends[0].stats(), without.ends[0].stats());
        assert_eq!((with.timeouts, with.spurious_timeouts, with.retransmitted), (1, 1, 1), "{algorithm:?}");
        assert_eq!((without.timeouts, without.spurious_timeouts), (1, 0));
        assert!(without.retransmitted > 1);
    }
}

#[test]
fn a_genuine_timeout_is_not_undone() {
    for (_, algorithm) in Algorithm::ALL {
        let config = Config { frto: true, ..config(algorithm) };
        let lost: Vec<u32> = (10..25).collect();
        let pair = transfer(&config, 100, &lost);
        assert_eq!(pair.ends[0].stats().spurious_timeouts, 0, "{algorithm:?}");
    }
}

#[test]
fn the_receiver_reports_sack_blocks_up_to_the_limit() {
    let lost: Vec<u32> = (0..10).map(|n| 2 * n + 1).collect();
    for (limit, timestamps, most, header) in [
        (SackLimit::Fits, false, 4, 20 + 36),
        (SackLimit::Fits, true, 3, 60),
        (SackLimit::Blocks(1), false, 1, 20 + 12),
        (SackLimit::Blocks(2), false, 2, 20 + 20),
        (SackLimit::Blocks(8), false, 8, 20 + 36 + 32),
        (SackLimit::Unlimited, false, 10, 20 + 36 + 48),
    ] {
        let config = Config { sack_limit: limit, timestamps, ..config(Algorithm::Sack) };
        let mut pair = Pair::same(&config);
        pair.client().write(60_000);
        let smss = if timestamps { 1448 } else { 1460 };
        pair.run(secs(20), lose_once(&lost, smss));
        let blocks = pair.seen.iter().map(|seen| seen.blocks.len()).max();
        assert_eq!(blocks, Some(most), "{limit:?}");
        let longest = pair.seen[2..].iter().map(|seen| seen.header_len).max();
        assert_eq!(longest, Some(header), "{limit:?}");
        assert_eq!(pair.server().delivered(), 60_000);
    }
}

#[test]
fn after_idling_the_window_is_not_sent_at_once() {
    let config = Config { initial_window: None, initial_ssthresh: None, ..config(Algorithm::Sack) };
    let mut pair = Pair::same(&config);
    pair.client().write(200 * u64::from(SMSS));
    pair.run(secs(5), |_| Fate::Pass);
    let grown = pair.client().window().unwrap().cwnd;
    pair.run(secs(60), |_| Fate::Pass);
    pair.client().write(200 * u64::from(SMSS));
    pair.run(secs(60), |_| Fate::Pass);
    let burst = pair.seen.iter().filter(|seen| seen.from_client && seen.at == secs(60)).count() as u64;
    assert!(burst > 0 && burst * u64::from(SMSS) < grown / 4, "{burst} segments of {grown} bytes");
}
