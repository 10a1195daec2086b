//! Whatever a network loses, repeats and reorders: every byte arrives once and in order, and both ends close.

use crate::tcp::support::{Fate, Pair};
use msctp_lab_schemes::classifiers::{MeasuredConfig, ParkJangConfig};
use msctp_lab_tcp::{Algorithm, Config, Event, SackLimit, State};
use msctp_units::{Span, Time};
use proptest::prelude::*;

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        12 => Just(Fate::Pass),
        3 => Just(Fate::Lose),
        1 => (0_u64..400).prop_map(|ms| Fate::Twice(Span::from_millis(ms))),
        2 => (1_u64..400).prop_map(|ms| Fate::Late(Span::from_millis(ms))),
    ];
    prop::collection::vec(fate, 0..120)
}

fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop_oneof![Just(Algorithm::Reno), Just(Algorithm::NewReno), Just(Algorithm::Sack)];
    let limit = prop_oneof![
        Just(SackLimit::Fits),
        (0_u32..9).prop_map(SackLimit::Blocks),
        Just(SackLimit::Unlimited)
    ];
    let flags = prop::array::uniform14(any::<bool>());
    let classifier = prop_oneof![
        Just(None),
        Just(Some(ParkJangConfig::default().into())),
        Just(Some(MeasuredConfig::default().into())),
    ];
    (algorithm, limit, flags, 1_u32..4, 1_u64..60, classifier).prop_map(
        |(recovery, sack_limit, flags, ack_every, buffer, classifier)| {
            let [timestamps, window_scale, limited_transmit, nagle, frto, ..] = flags;
            let [.., ack_heuristic, halve_window, grow_at_exit, counted_pipe, _, _, _, _, _] = flags;
            let [.., slow_but_steady, once, restart, start_over, delay_response] = flags;
            Config {
                recovery,
                sack_limit,
                timestamps,
                window_scale,
                limited_transmit,
                nagle,
                frto,
                slow_but_steady,
                once_per_window: once,
                ack_heuristic,
                halve_window,
                grow_at_exit,
                counted_pipe,
                restart_timer_on_fast_retransmit: restart,
                restart_rtt_after_spurious: start_over,
                loss_classifier: classifier,
                delay_response,
                // Classifiers are asked in congestion avoidance.
                initial_ssthresh: start_over.then_some(10_000),
                ack_every,
                receive_buffer: 1460 * buffer + 17,
                // Longer than any last ACK is sent for: else the other end could not close in good order.
                time_wait: Span::from_secs(10_000),
                ..Config::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        fates in fates(),
        client in configs(),
        server in configs(),
        up in 0_u64..200_000,
        down in 0_u64..40_000,
        slow_reader in prop::option::of(100_u64..5000),
    ) {
        let mut pair = Pair::new(client, server);
        pair.client().write(up);
        pair.client().close();
        pair.server().write(down);
        pair.server().close();
        if slow_reader.is_some() {
            pair.server().hold(true);
        }
        let mut fate = fates.into_iter();
        let mut now = Time::ZERO;
        let end = crate::tcp::support::secs(4000);
        while now < end && pair.ends.iter().any(|e| !matches!(e.state(), State::Closed | State::TimeWait)) {
            now += Span::from_millis(500);
            pair.run(now, |_| fate.next().unwrap_or(Fate::Pass));
            if let Some(rate) = slow_reader {
                pair.server().read(rate);
            }
        }
        pair.server().read(u64::MAX);
        prop_assert_eq!(pair.server().delivered(), up);
        prop_assert_eq!(pair.client().delivered(), down);
        for end in [0, 1] {
            let events = &pair.events[end];
            // Both SYNs may be lost more often than tried, never with so few losses.
            prop_assert_eq!(events.first(), Some(&Event::Connected));
            prop_assert_eq!(events.iter().filter(|&&e| e == Event::PeerFinished).count(), 1);
            prop_assert!(!events.iter().any(|e| matches!(e, Event::Lost(_))), "{:?}", events);
        }
        prop_assert_eq!(pair.client().acknowledged(), up);
    }
}
