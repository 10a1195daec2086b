//! Loss differentiation and spurious timeouts: Park & Jang §2, and the scheme they compare with.

use crate::tcp::support::{Fate, Pair, Seen, lose_once, number, secs};
use msctp_congestion::InitialWindow;
use msctp_congestion::classifier::Cause;
use msctp_lab_schemes::classifiers::MeasuredConfig;
use msctp_lab_tcp::{Algorithm, Config, TraceKind};
use msctp_units::{Span, Time};

const SMSS: u32 = 1460;
const MSS: u64 = SMSS as u64;

/// Returns options for 20 segments at once, in congestion avoidance from the beginning, with a classifier
/// that believes the simulator.
fn config(recovery: Algorithm) -> Config {
    Config {
        recovery,
        timestamps: false,
        ack_every: 1,
        limited_transmit: false,
        initial_window: Some(InitialWindow::Packets(20)),
        initial_ssthresh: Some(19 * MSS),
        loss_classifier: Some(MeasuredConfig::default().into()),
        trace: true,
        ..Config::default()
    }
}

/// Segments leave at 100 ms and arrive 1 ms apart from 151 ms on. 5 is lost: its duplicates are 6, 7, 8,
/// whose ACKs come at 207, 208, 209 ms.
fn transfer(config: &Config, losses_are: Cause, fate: impl FnMut(&Seen) -> Fate) -> Pair {
    let mut pair = Pair::same(config);
    pair.spacing = Span::from_millis(1);
    pair.losses_are = losses_are;
    pair.client().write(100 * MSS);
    pair.run(secs(60), fate);
    assert_eq!(pair.server().delivered(), 100 * MSS, "{:?}", config.recovery);
    pair
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Returns the times at which segment `n` was sent.
fn times(pair: &Pair, n: u32) -> Vec<Time> {
    pair.data_sent(SMSS).into_iter().filter(|&(number, _)| number == n).map(|(_, at)| at).collect()
}

/// Returns the congestion window that was last recorded by then.
fn cwnd(pair: &Pair, by: Time) -> u64 {
    let windows = pair.traces[0].iter().filter(|event| event.at <= by);
    let mut cwnd = windows.filter_map(|event| match event.kind {
        TraceKind::Window { cwnd, .. } => Some(cwnd),
        _ => None,
    });
    cwnd.next_back().unwrap()
}

/// Returns the number of new segments sent after the first duplicate ACK and before the ACK of the
/// retransmission.
fn new_segments(pair: &Pair, from: Time, to: Time) -> usize {
    let sent = pair.data_sent(SMSS);
    sent.iter().filter(|&&(n, at)| n > 5 && at >= from && at < to).count()
}

#[test]
fn a_wireless_loss_is_retransmitted_at_the_third_duplicate_and_the_window_kept() {
    for (_, algorithm) in Algorithm::ALL {
        for limited_transmit in [false, true] {
            let config = Config { limited_transmit, ..config(algorithm) };
            let pair = transfer(&config, Cause::Wireless, lose_once(&[5], SMSS));
            assert_eq!(times(&pair, 5)[1], at(209), "{algorithm:?}");
            let stats = pair.ends[0].stats();
            assert_eq!((stats.ld_recoveries, stats.fast_retransmits, stats.retransmitted), (1, 0, 1));
            assert_eq!(stats.timeouts, 0);
            assert_eq!(pair.tally().wireless_as_wireless, 1);
            // One new segment for each of the three duplicates, then nothing: 209 ms + queue + 100 ms.
            assert_eq!(new_segments(&pair, at(207), at(300)), 3, "{algorithm:?}, {limited_transmit}");
            // Kept, and not grown by the ACK that ends the recovery.
            let before = cwnd(&pair, at(208));
            assert!(before > 19 * MSS);
            assert_eq!(cwnd(&pair, at(319)), before, "{algorithm:?}");
            assert!(cwnd(&pair, at(450)) >= before, "{algorithm:?}");
        }
    }
}

#[test]
fn a_congestion_loss_is_handled_as_without_a_classifier() {
    for (_, algorithm) in Algorithm::ALL {
        let plain = Config { loss_classifier: None, ..config(algorithm) };
        let classified = transfer(&config(algorithm), Cause::Congestion, lose_once(&[5, 9, 40], SMSS));
        let plain = transfer(&plain, Cause::Congestion, lose_once(&[5, 9, 40], SMSS));
        assert_eq!(classified.data_sent(SMSS), plain.data_sent(SMSS), "{algorithm:?}");
        assert!(classified.tally().congestion_as_congestion > 0);
        let (classified, plain) = (classified.ends[0].stats(), plain.ends[0].stats());
        assert_eq!((classified.ld_recoveries, classified.fast_retransmits), (0, plain.fast_retransmits));
    }
}

#[test]
fn several_wireless_losses_in_a_window_leave_it_as_it_was() {
    for (_, algorithm) in Algorithm::ALL {
        let pair = transfer(&config(algorithm), Cause::Wireless, lose_once(&[5, 9, 13], SMSS));
        let stats = pair.ends[0].stats();
        assert_eq!(stats.fast_retransmits, 0, "{algorithm:?}");
        assert!(stats.ld_recoveries >= 1);
        if algorithm == Algorithm::Sack {
            assert_eq!((stats.timeouts, stats.ld_recoveries, stats.retransmitted), (0, 3, 3));
            assert!(cwnd(&pair, at(1000)) > 20 * MSS);
        }
    }
}

#[test]
fn the_previous_scheme_waits_a_round_trip_after_the_first_duplicate() {
    for (_, algorithm) in Algorithm::ALL {
        for cause in [Cause::Wireless, Cause::Congestion] {
            let config = Config { delay_response: true, ..config(algorithm) };
            let pair = transfer(&config, cause, lose_once(&[5], SMSS));
            // Four round trips from 100 ms on have been measured, the smoothed one is little more.
            let wait = times(&pair, 5)[1].since(at(207));
            assert!((100..103).contains(&wait.as_millis()), "{algorithm:?}: {wait}");
            assert_eq!(new_segments(&pair, at(207), at(307)), 3, "{algorithm:?}");
            let stats = pair.ends[0].stats();
            let cut = u64::from(cause == Cause::Congestion);
            assert_eq!((stats.fast_retransmits, stats.ld_recoveries, stats.timeouts), (cut, 1 - cut, 0));
            assert_eq!(cwnd(&pair, at(320)) < 15 * MSS, cut == 1, "{algorithm:?}");
        }
    }
}

#[test]
fn the_previous_scheme_lets_late_segments_come() {
    for (_, algorithm) in Algorithm::ALL {
        let late = |seen: &Seen| match seen.from_client && seen.len > 0 && number(seen, SMSS) == 5 {
            true => Fate::Late(Span::from_micros(30_500)),
            false => Fate::Pass,
        };
        let waits = transfer(&Config { delay_response: true, ..config(algorithm) }, Cause::Wireless, late);
        let stats = waits.ends[0].stats();
        assert_eq!((stats.retransmitted, stats.ld_recoveries, stats.fast_retransmits), (0, 0, 0));
        assert_eq!(waits.tally().unknown_as_congestion, 1, "it was not lost");
        let does_not = transfer(&config(algorithm), Cause::Wireless, late);
        assert!(does_not.ends[0].stats().retransmitted >= 1, "{algorithm:?}");
    }
}

#[test]
fn in_slow_start_the_classifier_is_not_called() {
    for (_, algorithm) in Algorithm::ALL {
        let config = Config { initial_ssthresh: None, delay_response: true, ..config(algorithm) };
        let pair = transfer(&config, Cause::Wireless, lose_once(&[5], SMSS));
        let stats = pair.ends[0].stats();
        assert_eq!((pair.tally().total(), stats.fast_retransmits, stats.ld_recoveries), (0, 1, 0));
        assert_eq!(times(&pair, 5)[1], at(209));
    }
}

#[test]
fn a_timeout_in_ld_recovery_is_not_checked_for_spuriousness() {
    for (_, algorithm) in Algorithm::ALL {
        let config = Config { frto: true, ..config(algorithm) };
        let pair = transfer(&config, Cause::Wireless, lose_once(&[5, 5], SMSS));
        let stats = pair.ends[0].stats();
        assert_eq!(
            (stats.ld_recoveries, stats.timeouts, stats.spurious_timeouts),
            (1, 1, 0),
            "{algorithm:?}"
        );
        assert!(cwnd(&pair, at(1600)) < 10 * MSS, "{algorithm:?}: slow start");
    }
}

#[test]
fn the_first_new_round_trip_after_a_spurious_timeout_starts_the_estimator_over() {
    for (_, algorithm) in Algorithm::ALL {
        for timestamps in [false, true] {
            let config =
                Config { frto: true, restart_rtt_after_spurious: true, timestamps, ..config(algorithm) };
            let mut pair = Pair::same(&config);
            pair.spacing = Span::from_millis(1);
            pair.client().write(400 * MSS);
            // ACKs stand still from 400 ms to 2.4 s and take 80 ms more from then on: another network.
            pair.run(secs(3), |seen| match seen.from_client {
                true => Fate::Pass,
                false if seen.at > at(400) && seen.at < at(2400) => Fate::Late(at(2480).since(seen.at)),
                false if seen.at >= at(2400) => Fate::Late(Span::from_millis(80)),
                false => Fate::Pass,
            });
            assert_eq!(pair.client().stats().spurious_timeouts, 1, "{algorithm:?}");
            let restarts: Vec<(Time, Span)> = pair.traces[0]
                .iter()
                .filter_map(|event| match event.kind {
                    TraceKind::RttStartedOver { sample, times } => {
                        assert_eq!((times.least, times.average), (sample, sample));
                        Some((event.at, sample))
                    }
                    _ => None,
                })
                .collect();
            let &[(_, sample)] = restarts.as_slice() else { panic!("{algorithm:?}: {restarts:?}") };
            assert!((180..220).contains(&sample.as_millis()), "{algorithm:?}: {sample}");
            let least = pair.client().round_trips().unwrap().least;
            assert!(
                least >= Span::from_millis(180),
                "{algorithm:?}: the old network's 100 ms are forgotten: {least}"
            );
        }
    }
}

#[test]
fn losses_the_simulator_does_not_tell_of_are_congestion() {
    let mut pair = Pair::same(&config(Algorithm::Sack));
    pair.spacing = Span::from_millis(1);
    pair.client().write(100 * MSS);
    let mut lose = lose_once(&[5], SMSS);
    // Late by a minute is as good as lost.
    pair.run(secs(50), |seen| match lose(seen) {
        Fate::Lose => Fate::Late(Span::from_secs(60)),
        other => other,
    });
    let stats = pair.client().stats();
    assert_eq!((stats.fast_retransmits, pair.tally().unknown_as_congestion), (1, 1));
}
