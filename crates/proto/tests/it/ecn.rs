//! Explicit congestion notification (RFC 4960 Appendix A): marking of packets, ECNE and CWR, and the
//! reductions of the window.

use crate::support;

use msctp_proto::{Config, EcnStats, TraceKind};
use msctp_units::{Ecn, Rate, Span};
use proptest::prelude::*;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message};

fn config(ecn: bool) -> Config {
    Config { ecn, trace: true, ..Config::default() }
}

fn up(a: bool, b: bool) -> Pair {
    let mut pair = Pair::new(config(b), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config(a), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    pair
}

fn stats(pair: &mut Pair, side: Side) -> EcnStats {
    pair.with(side, |association, _| association.ecn_stats())
}

fn cwnd(pair: &mut Pair, local: core::net::IpAddr, remote: core::net::IpAddr) -> u64 {
    let id = pair.path(Side::A, local, remote);
    pair.with(Side::A, |a, _| a.paths().find(|path| path.id == id).unwrap().cwnd)
}

fn retransmitted(pair: &mut Pair) -> u64 {
    pair.with(Side::A, |a, _| a.stats().data_chunks_retransmitted)
}

/// Marks A's ECN-capable packets for which `marks` returns true. `fate` decides about each packet.
fn mark(
    pair: &mut Pair,
    mut marks: impl FnMut(&Flight) -> bool + 'static,
    mut fate: impl FnMut(&Flight) -> Fate + 'static,
) {
    pair.filter = Box::new(move |flight| {
        if flight.from == Side::A && flight.ecn.is_capable() && marks(flight) {
            flight.ecn = Ecn::Ce;
        }
        fate(flight)
    });
}

/// Returns a predicate that is true for the `n`-th call only, from 0.
fn nth(n: usize) -> impl FnMut(&Flight) -> bool {
    let mut count = 0;
    move |_| {
        count += 1;
        count == n + 1
    }
}

/// Returns the reductions in A's trace.
fn reductions(pair: &Pair) -> Vec<TraceKind> {
    let told = pair.a.trace.iter().map(|event| event.kind);
    told.filter(|kind| matches!(kind, TraceKind::EcnReduction { .. })).collect()
}

#[test]
fn only_data_is_ecn_capable_and_only_if_both_ends_agreed() {
    for (a, b) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut pair = up(a, b);
        pair.transfer(Side::A, 50, 1000, Span::from_secs(5));
        pair.transfer(Side::B, 50, 1000, Span::from_secs(5));
        let agreed = a && b;
        assert_eq!([stats(&mut pair, Side::A).agreed, stats(&mut pair, Side::B).agreed], [agreed; 2]);
        for flight in pair.log.as_ref().unwrap() {
            let with_data = flight.has(chunk::DATA) && !flight.has(chunk::COOKIE_ECHO);
            let wanted = if agreed && with_data { Ecn::Ect0 } else { Ecn::NotEct };
            assert_eq!(flight.ecn, wanted, "{a} {b}: {:?}", flight.chunks());
        }
        let init = |typ| pair.log.as_ref().unwrap().iter().find(|flight| flight.has(typ)).unwrap();
        let offers = |flight: &Flight| flight.bytes.windows(4).any(|bytes| bytes == [0x80, 0, 0, 4]);
        assert_eq!([offers(init(chunk::INIT)), offers(init(chunk::INIT_ACK))], [a, b]);
    }
}

#[test]
fn a_mark_halves_the_window_once_and_gets_a_cwr() {
    let mut pair = up(true, true);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(10));
    let before = cwnd(&mut pair, a_ip(0), b_ip(0));
    let log = pair.log_len();
    mark(&mut pair, nth(3), |_| Fate::Pass);
    pair.transfer(Side::A, 200, 1000, Span::from_secs(10));
    let after = reductions(&pair);
    assert_eq!(after.len(), 1);
    assert_eq!(retransmitted(&mut pair), 0, "nothing was lost");
    let (a, b) = (stats(&mut pair, Side::A), stats(&mut pair, Side::B));
    assert_eq!((a.reductions, b.reductions, b.marked_packets), (1, 0, 1));
    assert!(b.echoes_sent >= 1 && a.echoes_received == b.echoes_sent);
    assert!(a.answers_sent >= 1 && b.answers_received == a.answers_sent);
    // The controller chooses the new window; check that it is smaller.
    let window = |kind: &TraceKind| match *kind {
        TraceKind::Window { cwnd, .. } => Some(cwnd),
        _ => None,
    };
    let kinds: Vec<TraceKind> = pair.a.trace.iter().map(|event| event.kind).collect();
    let at = kinds.iter().position(|kind| *kind == after[0]).unwrap();
    let old = kinds[..at].iter().rev().find_map(window).unwrap();
    let new = kinds[at..].iter().find_map(window).unwrap();
    assert!(old >= before && new == old / 2, "{old} {new}");
    // The ECNE names the lowest TSN of the marked packet and precedes the SACK that may acknowledge it.
    let marked = pair.b.trace.iter().find_map(|event| match event.kind {
        TraceKind::Marked { tsn, .. } => Some(tsn),
        _ => None,
    });
    assert_eq!(
        after[0],
        TraceKind::EcnReduction { path: pair.path(Side::A, a_ip(0), b_ip(0)), tsn: marked.unwrap() }
    );
    let echoes: Vec<_> = pair.sent_since(Side::B, log).into_iter().filter(|f| f.has(chunk::ECNE)).collect();
    assert!(echoes.iter().all(|flight| flight.chunks() == [chunk::ECNE, chunk::SACK]));
    // Echoed with every SACK until the CWR arrived, and never after.
    let last = echoes.last().unwrap().sent;
    let answered = pair.sent_since(Side::A, log).into_iter().find(|f| f.has(chunk::CWR)).unwrap().sent;
    assert!(last < answered + Span::from_millis(21), "{last:?} {answered:?}");
}

#[test]
fn a_window_of_marks_is_one_reduction_per_round_trip_at_most() {
    let mut pair = up(true, true);
    pair.rate = Some(Rate::from_mbps(10));
    mark(&mut pair, |_| true, |_| Fate::Pass);
    let start = pair.now;
    pair.transfer(Side::A, 1000, 1000, Span::from_secs(60));
    let round_trips = pair.now.since(start).as_nanos() / Span::from_millis(40).as_nanos();
    let count = stats(&mut pair, Side::A).reductions;
    assert!(count >= 5 && count <= round_trips + 1, "{count} reductions in {round_trips} round trips");
    assert_eq!(retransmitted(&mut pair), 0);
    // CWRs are sent per round trip too, not for every SACK.
    let answers = stats(&mut pair, Side::A).answers_sent;
    assert!(answers <= count + round_trips + 1, "{answers}");
}

#[test]
fn a_lost_ecne_is_retransmitted() {
    let mut pair = up(true, true);
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    let mut left = 2;
    mark(&mut pair, nth(0), move |flight| {
        let hit = left > 0 && flight.has(chunk::ECNE);
        left -= usize::from(hit);
        if hit { Fate::Drop } else { Fate::Pass }
    });
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    assert_eq!(stats(&mut pair, Side::A).reductions, 1);
    let (a, b) = (stats(&mut pair, Side::A), stats(&mut pair, Side::B));
    assert_eq!(b.echoes_sent, a.echoes_received + 2);
}

#[test]
fn a_lost_cwr_is_retransmitted_without_another_reduction() {
    let mut pair = up(true, true);
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    let mut left = 2;
    // RFC 9260 §6.10: a CWR may be bundled with DATA. That DATA is lost with it, and causes its own reduction
    // unless it is of the same window.
    mark(&mut pair, nth(0), move |flight| {
        let hit = left > 0 && flight.chunks() == [chunk::CWR];
        left -= usize::from(hit);
        if hit { Fate::Drop } else { Fate::Pass }
    });
    pair.transfer(Side::A, 300, 1000, Span::from_secs(10));
    let (a, b) = (stats(&mut pair, Side::A), stats(&mut pair, Side::B));
    assert_eq!((a.reductions, b.marked_packets), (1, 1));
    assert!(a.answers_sent > b.answers_received && b.answers_received > 0, "{a:?} {b:?}");
    // No echo is outstanding.
    pair.pass_all();
    let log = pair.log_len();
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    assert!(!pair.sent_since(Side::B, log).iter().any(|flight| flight.has(chunk::ECNE)));
}

#[test]
fn duplicated_and_reordered_packets_change_nothing() {
    let late = |flight: &Flight| {
        if flight.has(chunk::ECNE) || flight.has(chunk::CWR) {
            Fate::Twice(Span::from_millis(35))
        } else if flight.tsn().is_some_and(|tsn| tsn.is_multiple_of(3)) {
            Fate::Late(Span::from_millis(3))
        } else {
            Fate::Pass
        }
    };
    let mut pair = up(true, true);
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    mark(&mut pair, nth(4), late);
    pair.transfer(Side::A, 200, 1000, Span::from_secs(10));
    assert_eq!(stats(&mut pair, Side::A).reductions, 1);
    assert_eq!(stats(&mut pair, Side::B).marked_packets, 1);
}

#[test]
fn retransmissions_are_not_ect_and_a_loss_in_the_same_window_causes_no_second_reduction() {
    let mut pair = up(true, true);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(10));
    let (log, traced) = (pair.log_len(), pair.a.trace.len());
    // The first packet is marked, the second lost, both in one window.
    let mut data = 0;
    mark(&mut pair, nth(0), move |flight| {
        data += usize::from(flight.from == Side::A && flight.has(chunk::DATA));
        if data == 2 && flight.from == Side::A { Fate::Drop } else { Fate::Pass }
    });
    for _ in 0..20 {
        pair.send(Side::A, message(0, vec![1; 1400]));
    }
    pair.run_for(Span::from_secs(1));
    assert_eq!((stats(&mut pair, Side::A).reductions, retransmitted(&mut pair)), (1, 1));
    let kinds = || pair.a.trace[traced..].iter().map(|event| event.kind);
    assert!(kinds().any(|kind| matches!(kind, TraceKind::FastRetransmit { .. })));
    let windows: Vec<u64> = kinds()
        .filter_map(|kind| match kind {
            TraceKind::Window { cwnd, .. } => Some(cwnd),
            _ => None,
        })
        .collect();
    let falls = windows.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert_eq!(falls, 1, "{windows:?}");
    let mut seen = std::collections::BTreeSet::new();
    for flight in pair.sent_since(Side::A, log) {
        let Some(tsn) = flight.tsn() else { continue };
        let new = seen.insert(tsn);
        assert_eq!(flight.ecn, if new { Ecn::Ect0 } else { Ecn::NotEct }, "TSN {tsn}");
    }
}

/// Returns a pair whose A sends over network 0, then over network 1.
fn two_paths() -> Pair {
    let all = Config { hb_interval: Span::from_secs(30), ..config(true) };
    let mut pair = Pair::established_with(all.clone(), all, vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.delays = [(a_ip(0), Span::from_millis(100)), (a_ip(1), Span::from_millis(10))].into();
    pair
}

#[test]
fn a_mark_on_the_old_path_reduces_the_old_path() {
    let mut pair = two_paths();
    let old = pair.path(Side::A, a_ip(0), b_ip(0));
    let new = pair.path(Side::A, a_ip(1), b_ip(1));
    pair.with(Side::A, |a, now| a.set_primary(now, old)).unwrap();
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    // Marked on the old path. The ECNE arrives after data has moved to the new path, and after its TSN was
    // acknowledged.
    mark(&mut pair, nth(0), |flight| {
        if flight.has(chunk::ECNE) { Fate::Late(Span::from_millis(150)) } else { Fate::Pass }
    });
    for _ in 0..3 {
        pair.send(Side::A, message(0, vec![1; 1000]));
    }
    pair.with(Side::A, |a, now| a.set_primary(now, new)).unwrap();
    for _ in 0..60 {
        pair.send(Side::A, message(0, vec![1; 1000]));
    }
    pair.run_for(Span::from_secs(3));
    assert_eq!(reductions(&pair).len(), 1);
    assert!(matches!(reductions(&pair)[0], TraceKind::EcnReduction { path, .. } if path == old));
    let falls = |id| {
        let windows: Vec<u64> = pair
            .a
            .trace
            .iter()
            .filter_map(|event| match event.kind {
                TraceKind::Window { path, cwnd, .. } if path == id => Some(cwnd),
                _ => None,
            })
            .collect();
        windows.windows(2).filter(|pair| pair[1] < pair[0]).count()
    };
    assert_eq!(falls(new), 0, "the new path lost nothing and was not marked");
    assert_eq!(stats(&mut pair, Side::B).marked_packets, 1);
}

#[test]
fn marks_on_two_paths_are_echoed_and_answered_separately() {
    let mut pair = two_paths();
    let paths = [pair.path(Side::A, a_ip(0), b_ip(0)), pair.path(Side::A, a_ip(1), b_ip(1))];
    let mut marked = [false; 2];
    mark(
        &mut pair,
        move |flight| {
            let index = usize::from(flight.at.local == a_ip(1));
            !core::mem::replace(&mut marked[index], true)
        },
        |_| Fate::Pass,
    );
    for path in paths {
        pair.with(Side::A, |a, now| a.set_primary(now, path)).unwrap();
        for _ in 0..4 {
            pair.send(Side::A, message(0, vec![1; 1000]));
        }
    }
    pair.run_for(Span::from_secs(3));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    let told: Vec<_> = reductions(&pair)
        .into_iter()
        .filter_map(|kind| match kind {
            TraceKind::EcnReduction { path, .. } => Some(path),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(paths.iter().all(|path| told.contains(path)), "{told:?}");
    let log = pair.log_len();
    pair.pass_all();
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    assert!(!pair.sent_since(Side::B, log).iter().any(|flight| flight.has(chunk::ECNE)));
}

#[test]
fn an_ecne_for_a_removed_path_is_answered_and_reduces_nothing() {
    let mut pair = two_paths();
    let (old, new) = (pair.path(Side::A, a_ip(0), b_ip(0)), pair.path(Side::A, a_ip(1), b_ip(1)));
    pair.with(Side::A, |a, now| a.set_primary(now, old)).unwrap();
    // The first echo is lost; the next one arrives after the path was removed. The marked packet arrives
    // before its address is deleted: later it would be out of the blue (RFC 5061 §5.3 F13).
    let mut lost = false;
    mark(&mut pair, nth(0), move |flight| {
        let first = flight.has(chunk::ECNE) && !core::mem::replace(&mut lost, true);
        if first { Fate::Drop } else { Fate::Pass }
    });
    pair.send(Side::A, message(0, vec![1; 1000]));
    assert!(pair.run_until(Span::from_secs(1), |pair| stats(pair, Side::B).marked_packets == 1));
    pair.with(Side::A, |a, now| {
        a.set_primary(now, new).unwrap();
        a.remove_local_address(now, a_ip(0)).unwrap();
    });
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    assert_eq!(stats(&mut pair, Side::B).marked_packets, 1);
    assert_eq!(stats(&mut pair, Side::A).reductions, 0);
    let log = pair.log_len();
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
    assert!(!pair.sent_since(Side::B, log).iter().any(|flight| flight.has(chunk::ECNE)), "answered");
}

#[test]
fn segments_of_one_transmit_have_one_codepoint() {
    let many = Config { max_segments: 16, max_burst: 0, ..config(true) };
    let mut pair = Pair::established_with(many.clone(), many, vec![a_ip(0)], vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.filter = Box::new({
        let mut n = 0;
        move |flight| {
            n += 1;
            let lost = flight.from == Side::A && flight.ecn.is_capable() && n % 23 == 0;
            if lost { Fate::Drop } else { Fate::Pass }
        }
    });
    pair.transfer(Side::A, 1000, 1400, Span::from_secs(60));
    assert!(retransmitted(&mut pair) > 0);
    let mut seen = std::collections::BTreeSet::new();
    let mut new = [0, 0];
    for flight in pair.sent_since(Side::A, 0) {
        let Some(tsn) = flight.tsn() else { continue };
        if seen.insert(tsn) {
            new[usize::from(flight.ecn.is_capable())] += 1;
        } else {
            assert_eq!(flight.ecn, Ecn::NotEct, "TSN {tsn} is retransmitted");
        }
    }
    assert!(new[1] > 9 * new[0], "new chunks that may not and that may be marked: {new:?}");
}

/// A sent packet: its time in ns, bytes and codepoint.
type Sent = (u64, Vec<u8>, Ecn);

/// Returns B's messages and packets under these fates, by packet number. `ecn` is true if ECN was agreed on.
fn delivered(ecn: bool, fates: &[(bool, u8)]) -> (Vec<Vec<u8>>, Vec<Sent>) {
    let mut pair = Pair::established(config(ecn));
    pair.log = Some(Vec::new());
    let fates = fates.to_vec();
    let mut number = 0;
    pair.filter = Box::new(move |flight| {
        let (mark, fate) = fates[number % fates.len()];
        number += 1;
        if mark && flight.ecn.is_capable() {
            flight.ecn = Ecn::Ce;
        }
        match fate {
            0 => Fate::Drop,
            1 => Fate::Late(Span::from_millis(30)),
            2 => Fate::Twice(Span::from_millis(10)),
            _ => Fate::Pass,
        }
    });
    pair.transfer(Side::A, 60, 1200, Span::from_secs(600));
    let received = pair.b.received.iter().map(|message| message.data.to_vec()).collect();
    let sent = pair.log.take().unwrap().into_iter().map(|f| (f.sent.as_nanos(), f.bytes, f.ecn)).collect();
    (received, sent)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn marks_change_the_times_of_data_but_not_its_content_and_a_run_repeats(
        fates in prop::collection::vec((any::<bool>(), 0u8..24), 8..40)
    ) {
        // A network that drops everything delivers nothing.
        let kind = fates.iter().any(|(_, fate)| *fate > 2);
        prop_assume!(kind);
        let fates: Vec<_> = fates.into_iter().chain([(false, 9); 5]).collect();
        let (with, packets) = delivered(true, &fates);
        prop_assert_eq!(&with, &delivered(false, &fates).0);
        prop_assert_eq!(packets, delivered(true, &fates).1);
    }
}
