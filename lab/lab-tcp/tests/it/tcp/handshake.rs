//! Set-up, options and close.

use crate::tcp::support::{DELAY, Fate, Pair, secs};
use msctp_lab_tcp::header::Flags;
use msctp_lab_tcp::{Algorithm, Config, Event, Failure, SackLimit, State};
use msctp_units::{Span, Time};

fn bare() -> Config {
    Config {
        recovery: Algorithm::Reno,
        timestamps: false,
        window_scale: false,
        mss_option: false,
        ..Config::default()
    }
}

#[test]
fn data_begins_after_one_round_trip_and_headers_have_their_real_size() {
    for (config, syn, later, smss) in [
        (bare(), 20, 20, 1460),
        (Config { mss_option: true, ..bare() }, 24, 20, 1460),
        (Config { timestamps: true, ..bare() }, 32, 32, 1448),
        // MSS, SACK-permitted, timestamps, window scale
        (Config::default(), 44, 32, 1448),
    ] {
        let mut pair = Pair::same(&config);
        pair.client().write(10_000);
        pair.run(secs(5), |_| Fate::Pass);
        let first = pair.seen.iter().find(|seen| seen.len > 0).unwrap();
        assert_eq!((first.at, first.len, first.header_len), (Time::ZERO + DELAY * 2, smss, later));
        assert!(
            pair.seen[..2].iter().all(|seen| seen.header_len == syn && seen.header.flags.has(Flags::SYN))
        );
        assert!(pair.seen[2..].iter().all(|seen| seen.header_len == later));
        assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]]);
        assert_eq!(pair.server().delivered(), 10_000);
    }
}

#[test]
fn options_are_used_only_when_both_offer_them() {
    let mut pair = Pair::new(Config::default(), bare());
    pair.client().write(3000);
    pair.run(secs(5), |_| Fate::Pass);
    let answer = &pair.seen[1];
    assert_eq!((answer.header.window_scale, answer.header.sack_permitted), (None, false));
    assert_eq!(answer.header.timestamps, None);
    let data = pair.seen.iter().find(|seen| seen.len > 0).unwrap();
    assert_eq!((data.len, data.header_len), (1460, 20));
}

#[test]
fn the_smaller_mss_is_used_both_ways() {
    let small = Config { mss: 536, ..Config { mss_option: true, ..bare() } };
    let mut pair = Pair::new(Config { mss_option: true, ..bare() }, small);
    pair.client().write(5000);
    pair.server().write(5000);
    pair.run(secs(5), |_| Fate::Pass);
    assert_eq!(pair.seen.iter().map(|seen| seen.len).max(), Some(536));
}

#[test]
fn windows_above_64_kib_need_the_scale() {
    for (window_scale, most) in [(true, 200_000), (false, 65_535)] {
        let config = Config {
            window_scale,
            receive_buffer: 200_000,
            initial_window: Some(msctp_congestion::InitialWindow::Bytes(500_000)),
            timestamps: false,
            ..Config::default()
        };
        let mut pair = Pair::same(&config);
        pair.client().write(400_000);
        pair.run(Time::ZERO + Span::from_millis(249), |_| Fate::Pass);
        let sent: u64 = pair.seen.iter().map(|seen| u64::from(seen.len)).sum();
        // The first flight goes into the window of the SYN, which is not scaled; the next into the real one.
        let rounds = sent - pair.server().delivered();
        assert!(rounds <= most && rounds + 1460 > most, "{rounds} of {most}");
    }
}

#[test]
fn a_lost_syn_is_retransmitted_after_the_initial_rto_and_makes_the_next_rto_long() {
    let mut pair = Pair::same(&Config::default());
    pair.client().write(1000);
    let mut lost = 0;
    pair.run(Time::ZERO + Span::from_millis(3090), |seen| {
        if seen.header.flags.has(Flags::SYN) && seen.from_client && lost < 2 {
            lost += 1;
            return Fate::Lose;
        }
        Fate::Pass
    });
    let syns: Vec<u64> =
        pair.seen.iter().filter(|s| s.from_client).map(|s| s.at.since(Time::ZERO).as_millis()).collect();
    assert_eq!(syns, [0, 1000, 3000], "RFC 6298 §2.1, §5 (5.5)");
    pair.run(Time::ZERO + Span::from_millis(3100), |_| Fate::Pass);
    assert_eq!(pair.client().state(), State::Established);
    assert_eq!(pair.client().rto(), Span::from_secs(3), "RFC 6298 §5 (5.7)");
}

#[test]
fn an_unanswered_syn_times_out() {
    let config = Config { max_retransmits: 3, ..Config::default() };
    let mut pair = Pair::same(&config);
    pair.run(secs(100), |_| Fate::Lose);
    assert_eq!(pair.events[0], [Event::Lost(Failure::TimedOut)]);
    assert_eq!(pair.client().stats().syns_sent, 4);
    assert_eq!(pair.client().poll_timeout(), None);
}

#[test]
fn a_lost_syn_ack_is_retransmitted() {
    let mut pair = Pair::same(&Config::default());
    pair.client().write(1000);
    let mut lost = false;
    pair.run(secs(5), |seen| {
        if !seen.from_client && !std::mem::replace(&mut lost, true) { Fate::Lose } else { Fate::Pass }
    });
    assert_eq!(pair.server().delivered(), 1000);
    assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]]);
}

#[test]
fn closing_goes_through_the_states_of_rfc_9293() {
    let mut pair = Pair::same(&Config::default());
    pair.client().write(4000);
    pair.client().close();
    pair.run(Time::ZERO + DELAY * 3, |_| Fate::Pass);
    assert_eq!(pair.client().state(), State::FinWait1);
    pair.run(secs(1), |_| Fate::Pass);
    assert_eq!((pair.client().state(), pair.server().state()), (State::FinWait2, State::CloseWait));
    pair.server().write(2000);
    pair.server().close();
    pair.run(secs(1) + DELAY, |_| Fate::Pass);
    assert_eq!(pair.server().state(), State::LastAck);
    pair.run(secs(10), |_| Fate::Pass);
    assert_eq!((pair.client().state(), pair.server().state()), (State::TimeWait, State::Closed));
    pair.run(secs(100), |_| Fate::Pass);
    assert_eq!(pair.client().state(), State::Closed);
    let all = vec![Event::Connected, Event::PeerFinished, Event::Closed];
    assert_eq!(pair.events, [all.clone(), all]);
    assert_eq!((pair.server().delivered(), pair.client().delivered()), (4000, 2000));
    // The last segment carries the FIN.
    let fins = pair.seen.iter().filter(|seen| seen.header.flags.has(Flags::FIN));
    assert_eq!(fins.map(|seen| seen.len).collect::<Vec<_>>(), [4000 % 1448, 2000 % 1448]);
}

#[test]
fn an_endless_source_ends_at_close() {
    let mut pair = Pair::same(&Config::default());
    pair.client().write(u64::MAX);
    pair.run(secs(1), |_| Fate::Pass);
    pair.client().close();
    pair.server().close();
    pair.run(secs(10), |_| Fate::Pass);
    assert_eq!(pair.events[1].last(), Some(&Event::Closed));
    assert_eq!(pair.server().delivered(), pair.client().acknowledged());
    assert!(pair.server().delivered() > 100_000);
}

#[test]
fn no_sack_blocks_wanted_means_sack_is_not_offered() {
    let config = Config { sack_limit: SackLimit::Blocks(0), ..Config::default() };
    let mut pair = Pair::same(&config);
    pair.client().write(1000);
    pair.run(secs(1), |_| Fate::Pass);
    assert!(!pair.seen[0].header.sack_permitted && !pair.seen[1].header.sack_permitted);
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let config = Config { receive_buffer: 5000, timestamps: false, trace: true, ..Config::default() };
    let mut pair = Pair::same(&config);
    pair.server().hold(true);
    pair.client().write(20_000);
    pair.run(secs(20), |_| Fate::Pass);
    assert_eq!(pair.server().readable(), 5000);
    let probes: Vec<_> = pair.seen.iter().filter(|seen| seen.len == 1).map(|seen| seen.at).collect();
    assert!(probes.len() >= 4, "{probes:?}");
    let gaps: Vec<u64> = probes.windows(2).map(|w| w[1].since(w[0]).as_millis()).collect();
    assert!(gaps.windows(2).all(|w| w[1] == 2 * w[0]), "exponential: {gaps:?}");
    assert_eq!(pair.client().stats().timeouts, 0);
    // The window opens, but the update is lost: a probe detects it.
    pair.server().read(5000);
    pair.server().hold(false);
    let mut first = true;
    pair.run(secs(100), |_| if std::mem::take(&mut first) { Fate::Lose } else { Fate::Pass });
    assert_eq!(pair.server().delivered(), 20_000);
}
