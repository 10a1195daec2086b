//! Marks and ECNE chunks by which an attacker, or a peer that wants to slow a sender down, would reduce
//! windows.

use msctp_proto::{AuthConfig, Config, EcnStats};
use msctp_units::{Ecn, Span};
use msctp_wire::{Cwr, Data, DataFlags, Ecne, EncodeChunk, Ppid, Ssn, StreamId, Tsn};

use crate::support::{Fate, Pair, Side, chunk, message, packet};

/// Returns a pair whose B sends to A with ECN and uses its whole window, with the first outstanding TSN. A's
/// answers are lost from now on.
fn sending() -> (Pair, u32) {
    sending_with(AuthConfig::default())
}

fn sending_with(auth: AuthConfig) -> (Pair, u32) {
    let mut pair = Pair::established(Config { ecn: true, auth, ..Config::default() });
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 100, Span::from_secs(1));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(10));
    pair.run_for(Span::from_secs(1));
    pair.filter = Box::new(|flight| if flight.from == Side::A { Fate::Drop } else { Fate::Pass });
    let log = pair.log_len();
    for _ in 0..10 {
        pair.send(Side::B, message(0, vec![1; 1000]));
    }
    let first = pair.sent_since(Side::B, log).iter().find_map(crate::support::Flight::tsn).expect("data");
    (pair, first)
}

fn view(pair: &mut Pair, side: Side) -> (u64, u64, EcnStats) {
    pair.with(side, |end, _| {
        let path = end.paths().next().expect("a path");
        (path.cwnd, path.ssthresh, end.ecn_stats())
    })
}

fn echo(pair: &mut Pair, tag: u32, tsns: &[u32]) {
    let echoes: Vec<Ecne> = tsns.iter().map(|&tsn| Ecne { lowest_tsn: Tsn::new(tsn) }).collect();
    let chunks: Vec<&dyn EncodeChunk> = echoes.iter().map(|echo| echo as &dyn EncodeChunk).collect();
    let bytes = packet(Side::B, tag, &chunks);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
}

#[test]
fn an_ecne_or_a_mark_with_a_wrong_tag_is_ignored() {
    let (mut pair, first) = sending();
    let tag = pair.tag_of(Side::B);
    let before = view(&mut pair, Side::B);
    let log = pair.log_len();
    for wrong in [tag ^ 1, tag.wrapping_add(1), 0, !tag] {
        echo(&mut pair, wrong, &[first]);
        let data = Data {
            tsn: Tsn::new(first),
            stream: StreamId::new(0),
            ssn: Ssn::new(0),
            ppid: Ppid::new(0),
            flags: DataFlags { begin: true, end: true, ..DataFlags::default() },
            payload: b"forged",
        };
        let bytes = packet(Side::B, wrong, &[&data]);
        pair.inject_marked(Side::B, Pair::at(Side::B), Ecn::Ce, &bytes);
    }
    assert_eq!(view(&mut pair, Side::B), before);
    assert_eq!(pair.log_len(), log, "and is not answered");
}

#[test]
fn an_ecne_for_an_unsent_or_old_tsn_changes_nothing() {
    let (mut pair, first) = sending();
    let tag = pair.tag_of(Side::B);
    let before = view(&mut pair, Side::B);
    let log = pair.log_len();
    // Beyond the sent TSNs; below the initial TSN; half the space away.
    for tsn in [
        first + 10,
        first + 11,
        first + 0x4000_0000,
        first.wrapping_sub(200),
        first.wrapping_add(0x8000_0000),
    ] {
        echo(&mut pair, tag, &[tsn]);
    }
    let after = view(&mut pair, Side::B);
    assert_eq!((after.0, after.1, after.2.reductions, after.2.answers_sent), (before.0, before.1, 0, 0));
    assert_eq!(pair.log_len(), log, "no answer either");
    echo(&mut pair, tag, &[first]);
    assert_eq!(view(&mut pair, Side::B).2.reductions, 1, "this one was sent");
}

#[test]
fn a_flood_of_ecne_is_one_reduction_and_one_answer() {
    let (mut pair, first) = sending();
    let tag = pair.tag_of(Side::B);
    let before = view(&mut pair, Side::B);
    let log = pair.log_len();
    let all: Vec<u32> = (0..5000).map(|n| first - 50 + n % 60).collect();
    for _ in 0..20 {
        echo(&mut pair, tag, &all);
    }
    let after = view(&mut pair, Side::B);
    assert_eq!(after.2.reductions, 1);
    assert_eq!(after.0, before.0.min((before.0 / 2).max(4 * 1468)));
    let answers = pair.sent_since(Side::B, log);
    assert_eq!(answers.iter().filter(|flight| flight.has(chunk::CWR)).count(), 1);
}

#[test]
fn ecne_and_cwr_are_unknown_chunks_without_ecn() {
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 100, Span::from_secs(1));
    pair.transfer(Side::B, 50, 1000, Span::from_secs(10));
    let tag = pair.tag_of(Side::B);
    let before = view(&mut pair, Side::B);
    let log = pair.log_len();
    let first = pair.log.as_ref().unwrap().iter().rev().find_map(crate::support::Flight::tsn).expect("data");
    let (ecne, cwr) = (Ecne { lowest_tsn: Tsn::new(first) }, Cwr { lowest_tsn: Tsn::new(first) });
    for chunk in [&ecne as &dyn EncodeChunk, &cwr] {
        let bytes = packet(Side::B, tag, &[chunk]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
    }
    assert_eq!(view(&mut pair, Side::B), before);
    // RFC 9260 §3.2: types 12 and 13 must not be reported.
    assert_eq!(pair.log_len(), log);
    assert_eq!(pair.with(Side::B, |b, _| b.stats().unknown_chunks), 2);
}

#[test]
fn a_cwr_for_another_tsn_does_not_end_the_echo() {
    let mut pair = Pair::established(Config { ecn: true, ..Config::default() });
    pair.log = Some(Vec::new());
    pair.transfer(Side::B, 1, 100, Span::from_secs(1));
    // A's data is marked; B's ECNE is lost, so that it remains due.
    let mut done = false;
    pair.filter = Box::new(move |flight| {
        if flight.from == Side::A && flight.ecn.is_capable() && !core::mem::replace(&mut done, true) {
            flight.ecn = Ecn::Ce;
        }
        if flight.has(chunk::ECNE) { Fate::Drop } else { Fate::Pass }
    });
    pair.send(Side::A, message(0, vec![1; 1000]));
    pair.run_for(Span::from_millis(300));
    assert_eq!(view(&mut pair, Side::B).2.marked_packets, 1);
    let tag = pair.tag_of(Side::B);
    let first = pair.sent_since(Side::A, 0).iter().rev().find_map(crate::support::Flight::tsn).expect("data");
    for tsn in [first.wrapping_sub(1), first.wrapping_sub(1000)] {
        let bytes = packet(Side::B, tag, &[&Cwr { lowest_tsn: Tsn::new(tsn) }]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
    }
    let log = pair.log_len();
    pair.send(Side::A, message(0, vec![1; 1000]));
    pair.run_for(Span::from_millis(300));
    assert!(pair.sent_since(Side::B, log).iter().any(|flight| flight.has(chunk::ECNE)));
}

#[test]
fn an_ecne_for_every_window_slows_a_sender_but_does_not_stop_it() {
    let (mut pair, _) = sending();
    pair.pass_all();
    pair.run_for(Span::from_secs(2));
    let tag = pair.tag_of(Side::B);
    let log = pair.log_len();
    for _ in 0..200 {
        pair.send(Side::B, message(0, vec![1; 1000]));
        let newest = pair.sent_since(Side::B, log).iter().rev().find_map(crate::support::Flight::tsn);
        // The newest TSNs: each is in its own window.
        newest.iter().for_each(|tsn| echo(&mut pair, tag, &[*tsn]));
        pair.run_for(Span::from_millis(50));
    }
    let (cwnd, _, stats) = view(&mut pair, Side::B);
    assert!(stats.reductions > 100 && cwnd >= 1000, "{cwnd} bytes after {} reductions", stats.reductions);
    assert_eq!(pair.with(Side::B, |b, _| b.buffered()), 0, "all was sent");
}

#[test]
fn with_a_shared_key_an_ecne_or_cwr_that_is_not_signed_is_dropped() {
    let (mut pair, first) = sending_with(crate::attacks::stranger::keyed());
    let tag = pair.tag_of(Side::B);
    let before = view(&mut pair, Side::B);
    echo(&mut pair, tag, &[first]);
    let cwr = Cwr { lowest_tsn: Tsn::new(first) };
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&cwr]));
    assert_eq!(view(&mut pair, Side::B), before);
}
