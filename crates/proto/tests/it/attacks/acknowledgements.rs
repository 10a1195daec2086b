//! Attacks by a greedy receiver: acknowledgements of unsent or missing data, in pieces, repeated (Savage et
//! al., "TCP congestion control with a misbehaving receiver", applied to SCTP).

use msctp_congestion::ControllerFactory;
use msctp_proto::{AssociationState as State, Config, Event, LossReason};
use msctp_units::Span;
use msctp_wire::{GapBlock, List, Sack, Tsn};

use crate::support::{Fate, Pair, Side, chunk, message, packet};

/// Returns a pair whose B has sent `count` messages of `len` bytes each, as far as its window allows, with
/// the first TSN and the number of chunks. None of A's packets are delivered.
fn waiting_sender(count: usize, len: usize) -> (Pair, u32, u32) {
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    pair.run_for(Span::from_millis(10));
    pair.with(Side::A, |a, now| a.request_heartbeat(now, msctp_proto::PathId::new(0))).unwrap();
    pair.with(Side::B, |b, now| b.request_heartbeat(now, msctp_proto::PathId::new(0))).unwrap();
    pair.run_for(Span::from_millis(200));
    pair.filter = Box::new(|flight| if flight.from == Side::A { Fate::Drop } else { Fate::Pass });
    let log = pair.log_len();
    for _ in 0..count {
        pair.send(Side::B, message(0, vec![1; len]));
    }
    let data: Vec<_> = pair.sent_since(Side::B, log).into_iter().filter(|f| f.has(chunk::DATA)).collect();
    let first = data[0].tsn().unwrap();
    let chunks = data.iter().map(|f| f.chunks().iter().filter(|c| **c == chunk::DATA).count() as u32).sum();
    (pair, first, chunks)
}

fn sack(pair: &mut Pair, cum: u32, gaps: &[GapBlock]) {
    let tag = pair.tag_of(Side::B);
    let sack = Sack {
        cum_tsn_ack: Tsn::new(cum),
        a_rwnd: 1 << 20,
        gap_blocks: List::from(gaps),
        duplicates: List::from(&[]),
    };
    let bytes = packet(Side::B, tag, &[&sack]);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
}

fn cwnd(pair: &mut Pair) -> u64 {
    pair.with(Side::B, |b, _| b.paths().next().unwrap().cwnd)
}

#[test]
fn a_sack_for_data_that_was_never_sent_aborts() {
    // RFC 9260 §6.2.1.
    let (mut pair, first, chunks) = waiting_sender(100, 1000);
    sack(&mut pair, first.wrapping_add(chunks), &[]);
    let violation = |e: &Event| matches!(e, Event::Lost(LossReason::ProtocolViolation { .. }));
    assert!(pair.b.saw(violation), "{:?}", pair.b.events);
    assert!(pair.b.saw(|e| matches!(e, Event::SendFailed(_))), "every lost message is reported");
}

#[test]
fn gap_blocks_of_unsent_data_are_ignored() {
    let (mut pair, first, chunks) = waiting_sender(100, 1000);
    let before = cwnd(&mut pair);
    let beyond = chunks as u16 + 1;
    sack(&mut pair, first.wrapping_sub(1), &[GapBlock { start: beyond, end: u16::MAX }]);
    assert_eq!(cwnd(&mut pair), before);
    assert_eq!(pair.b.state(), Some(State::Established));
    assert_eq!(pair.with(Side::B, |b, _| b.stats()).bytes_acked, 0);
}

#[test]
fn an_acknowledgement_in_pieces_opens_the_window_no_further_than_one() {
    // RFC 9260 §7.2.1: cwnd grows by at most the bytes acknowledged, and by at most PMDCS per SACK.
    let grown = |pieces: bool| {
        let (mut pair, first, chunks) = waiting_sender(200, 40);
        let before = cwnd(&mut pair);
        let all = if pieces { (0..chunks).collect() } else { vec![chunks - 1] };
        for n in all {
            sack(&mut pair, first.wrapping_add(n), &[]);
        }
        (cwnd(&mut pair) - before, u64::from(chunks) * 56)
    };
    let (one, bytes) = grown(false);
    let (many, _) = grown(true);
    assert!(one <= 1468 && many <= bytes, "{one} {many} {bytes}");
}

#[test]
fn a_repeated_acknowledgement_does_not_open_the_window() {
    let (mut pair, first, _) = waiting_sender(100, 1000);
    sack(&mut pair, first, &[]);
    let before = cwnd(&mut pair);
    for _ in 0..1000 {
        sack(&mut pair, first, &[]);
        sack(&mut pair, first.wrapping_sub(1), &[]);
    }
    assert_eq!(cwnd(&mut pair), before);
    assert_eq!(pair.with(Side::B, |b, _| b.stats()).bytes_acked, 1000);
}

#[test]
fn optimistic_acknowledgements_are_bounded_by_slow_start_and_the_buffer() {
    // Optimistic acknowledgements: every chunk when it is sent, whether or not it arrived.
    let (mut pair, first, chunks) = waiting_sender(1500, 1000);
    let mut acked = 0;
    let mut sent = chunks;
    for _ in 0..10 {
        let (before, window) = (pair.log_len(), cwnd(&mut pair));
        let news = sent - acked;
        sack(&mut pair, first.wrapping_add(sent - 1), &[]);
        acked = sent;
        sent += pair.sent_since(Side::B, before).iter().filter(|f| f.has(chunk::DATA)).count() as u32;
        let grown = cwnd(&mut pair) - window;
        assert!(grown <= 1468.min(u64::from(news) * 1016), "RFC 9260 §7.2.1: at most PMDCS a SACK: {grown}");
    }
    assert_eq!(pair.b.state(), Some(State::Established));
}

/// Returns cwnd after each of thirty round trips of congestion avoidance, with this many duplicates in each
/// SACK.
fn with_duplicates(lies: usize) -> Vec<u64> {
    let mut pair = Pair::established(Config {
        send_buffer: 64 << 20,
        receive_buffer: 32 << 20,
        max_burst: 0,
        controller: ControllerFactory::default().with_initial_ssthresh(20_000),
        ..Config::default()
    });
    pair.log = Some(Vec::new());
    pair.with(Side::A, |a, now| a.request_heartbeat(now, msctp_proto::PathId::new(0))).unwrap();
    pair.with(Side::B, |b, now| b.request_heartbeat(now, msctp_proto::PathId::new(0))).unwrap();
    pair.run_for(Span::from_millis(200));
    let tag = pair.tag_of(Side::B);
    pair.filter = Box::new(|_| Fate::Drop);
    let log = pair.log_len();
    for _ in 0..5_000 {
        pair.send(Side::B, message(0, vec![1; 1400]));
    }
    let newest = |pair: &Pair| {
        let tsns = pair.sent_since(Side::B, log).into_iter().filter_map(|flight| flight.tsn());
        tsns.reduce(|a, b| if b.wrapping_sub(a) < 1 << 31 { b } else { a }).expect("data")
    };
    let mut acked =
        pair.sent_since(Side::B, log).iter().find_map(|flight| flight.tsn()).unwrap().wrapping_sub(1);
    let mut windows = Vec::new();
    for _ in 0..30 {
        pair.now += Span::from_millis(20);
        let last = newest(&pair);
        while acked != last {
            acked = acked.wrapping_add(2.min(last.wrapping_sub(acked)));
            let duplicates = vec![Tsn::new(last); lies];
            let sack = Sack {
                cum_tsn_ack: Tsn::new(acked),
                a_rwnd: 32 << 20,
                gap_blocks: List::from(&[]),
                duplicates: List::from(&duplicates[..]),
            };
            let bytes = packet(Side::B, tag, &[&sack]);
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
        }
        windows.push(cwnd(&mut pair));
    }
    windows
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.2
//= type=test
//# SCTP MUST NOT increment cwnd by more than PMDCS per RTT.
#[test]
fn false_duplicate_reports_do_not_open_the_window() {
    // RFC 9260 §7.2.2 counts their bytes, and "cwnd MUST NOT be increased by more than PMDCS per RTT".
    let (honest, liar) = (with_duplicates(0), with_duplicates(300));
    assert_eq!(liar, honest);
    let avoidance = honest.windows(2).filter(|pair| pair[0] > 20_000);
    assert!(avoidance.clone().all(|pair| pair[1] <= pair[0] + 1468), "{honest:?}");
    assert!(avoidance.count() > 20);
}
