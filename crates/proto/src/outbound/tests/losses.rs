//! Fast retransmit and Fast Recovery: RFC 9260 §7.2.4.

use super::super::chunk::Fate;
use super::*;
use msctp_units::Span;

fn in_flight(chunks: usize) -> Sender {
    let mut sender = Sender::new(1).window(P0, chunks as u64);
    sender.enqueue(chunks, FULL);
    assert_eq!(sender.tsns().len(), chunks);
    sender
}

/// Returns true if the chunk is declared lost and not retransmitted yet.
fn is_marked(sender: &Sender, tsn: u32) -> bool {
    let sent = &sender.out.sent;
    sent.at(sent.first().nearest(Tsn::new(tsn))).unwrap().fate == Fate::Marked
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# the sender MUST restart the timer if the earliest (i.e., lowest TSN) outstanding DATA chunk sent to that
//# address is being retransmitted.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
//= type=test
//# that are smaller than the highest-acknowledged TSN reported in the SACK chunk MUST be treated as "missing"
//# by the sending endpoint. The number of "missing" reports for each outstanding DATA chunk MUST be recorded
//# by the data sender
#[test]
fn rfc9260_7_2_4_third_miss_indication() {
    let mut sender = in_flight(12);
    sender.wait(Span::from_millis(70));
    sender.sack(0, &[(2, 2)]);
    sender.sack(0, &[(2, 3)]);
    assert!(!sender.path(P0).in_fast_recovery());
    sender.sack(0, &[(2, 4)]);
    assert!(sender.path(P0).in_fast_recovery(), "(6)");
    let window = sender.path(P0).controller.window();
    assert_eq!((window.cwnd, window.ssthresh), (6 * PMDCS, 6 * PMDCS), "(2), §7.2.3");
    // (3): 8 chunks are in flight, cwnd is 6
    sender.enqueue(5, FULL);
    assert_eq!(sender.tsns(), [1]);
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2070)), "(4): the first outstanding chunk is retransmitted");
    sender.sack(12, &[]);
    assert!(!sender.path(P0).in_fast_recovery(), "§6.2.1 D iv");
}

#[test]
fn rfc9260_7_2_4_htna_only_newly_acknowledged_tsns_count() {
    let mut sender = in_flight(12);
    for _ in 0..5 {
        sender.sack(0, &[(4, 4)]);
    }
    assert!(!sender.path(P0).in_fast_recovery(), "a repeated SACK gives no miss indication");
    // 2 newly acknowledged: a miss for 1, not for 3
    sender.sack(0, &[(2, 2), (4, 4)]);
    sender.sack(0, &[(2, 2), (4, 5)]);
    assert_eq!(sender.tsns(), [1]);
    assert!(!is_marked(&sender, 3), "it has two");
    sender.sack(0, &[(2, 2), (4, 6)]);
    assert!(is_marked(&sender, 3));
}

#[test]
fn rfc9260_7_2_4_in_recovery_an_advance_counts_for_all_missing() {
    let mut sender = in_flight(12);
    // 1, 3 missing; 3 has 2 indications when 1 is retransmitted
    sender.sack(0, &[(2, 2)]);
    sender.sack(0, &[(2, 2), (4, 4)]);
    sender.sack(0, &[(2, 2), (4, 5)]);
    assert_eq!(sender.tsns(), [1]);
    // The Cumulative TSN Ack advances to 2; nothing above 3 is newly acknowledged.
    sender.sack(2, &[(2, 3)]);
    assert!(is_marked(&sender, 3));
}

#[test]
fn rfc9260_7_2_4_6_no_second_reduction_in_recovery() {
    let mut sender = in_flight(20);
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
    }
    assert_eq!((sender.tsns(), sender.cwnd(P0)), (vec![1], 10 * PMDCS));
    // 6 is lost too
    for last in [7, 8, 9] {
        sender.sack(0, &[(2, 5), (7, last)]);
    }
    assert_eq!(sender.cwnd(P0), 10 * PMDCS);
    assert_eq!(sender.path(P0).flight_size, 12 * PMDCS, "1 again and 10 to 20; 6 is marked");
    assert_eq!(sender.tsns(), [0; 0], "(3) only when Fast Recovery begins: cwnd blocks 6");
    sender.sack(0, &[(2, 5), (7, 12)]);
    assert_eq!(sender.tsns(), [6]);
    sender.sack(20, &[]);
    assert!(!sender.path(P0).in_fast_recovery());
}

#[test]
fn rfc9260_7_2_4_5_no_chunk_is_fast_retransmitted_twice() {
    let mut sender = in_flight(12);
    sender.enqueue(20, FULL);
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
    }
    assert_eq!(sender.tsns(), [1]);
    let mut last = 4;
    while last < 20 {
        last += 2;
        sender.wait(Span::from_millis(10));
        sender.sack(0, &[(2, last.min(sender.out.next_tsn().get() as u16 - 1))]);
        assert!(!sender.tsns().contains(&1));
    }
    // Only T3-rtx remains.
    assert_eq!(sender.time_out(), ms(2000));
    assert_eq!(sender.tsns()[0], 1);
}

#[test]
fn a_retransmitted_chunk_is_missed_only_by_later_transmissions() {
    let mut sender = in_flight(6);
    sender.time_out();
    assert_eq!(sender.tsns(), [1]);
    // Late SACKs of chunks sent before the timeout say nothing about the second transmission of 1.
    for last in [2, 3, 4, 5, 6] {
        sender.sack(0, &[(2, last)]);
    }
    assert!(!sender.path(P0).in_fast_recovery());
    // Chunks sent later do.
    sender.enqueue(6, FULL);
    sender.path_mut(P0).controller.start(&StartState { cwnd: 20 * PMDCS, ssthresh: None, pacing_rate: None });
    assert_eq!(sender.tsns(), [7, 8, 9, 10, 11, 12]);
    for last in [7, 8, 9] {
        assert!(!sender.path(P0).in_fast_recovery());
        sender.sack(0, &[(2, last)]);
    }
    assert_eq!(sender.tsns(), [1]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.4
//= type=test
//# the cwnd adjustment rules defined in Sections 7.2.1 and 7.2.2 MUST be applied first.
#[test]
fn growth_comes_before_the_reduction() {
    // RFC 9260 §7.2.4, note. Slow start, window full: the SACK grows the window by 1 PMDCS, then it is
    // halved.
    let mut sender = Sender::new(1);
    sender.path_mut(P0).controller.start(&StartState { cwnd: 12 * PMDCS, ssthresh: None, pacing_rate: None });
    sender.enqueue(12, FULL);
    sender.flush();
    sender.sack(1, &[(2, 2)]);
    assert_eq!(sender.cwnd(P0), 13 * PMDCS);
    sender.sack(1, &[(2, 3)]);
    sender.enqueue(20, FULL);
    sender.flush();
    let full = sender.cwnd(P0);
    assert_eq!(full, 13 * PMDCS);
    sender.sack(1, &[(2, 4)]);
    assert_eq!(sender.cwnd(P0), (full + PMDCS) / 2);
}

/// Returns a sender with two chunks on the slow old path and ten on the fast new one, whose SACKs come first.
fn after_switch() -> Sender {
    let mut sender = Sender::new(2).window(P0, 2).window(P1, 10);
    sender.enqueue(12, FULL);
    sender.flush();
    sender.paths.set_primary(P1).unwrap();
    assert_eq!(sender.tsns(), (3..=12).collect::<Vec<_>>());
    for last in [3, 4, 5, 6] {
        sender.sack(0, &[(3, last)]);
    }
    sender
}

#[test]
fn a_faster_path_overtaking_the_old_one_is_no_loss() {
    let mut sender = after_switch();
    assert!(!sender.path(P0).in_fast_recovery() && !sender.path(P1).in_fast_recovery());
    assert_eq!(sender.tsns(), [0; 0]);
    sender.sack(12, &[]);
    assert_eq!(sender.cwnd(P0), 3 * PMDCS, "grown, not halved");
    // A true loss on the old path is detected by later chunks on that path.
    let mut sender = Sender::new(2).window(P0, 5).window(P1, 10);
    sender.enqueue(12, FULL);
    sender.flush();
    sender.paths.set_primary(P1).unwrap();
    sender.flush();
    for first in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[first, (6, 9)]);
    }
    assert!(sender.path(P0).in_fast_recovery());
    assert_eq!(sender.flush()[0].0, P0, "RFC 9260 §6.4: on the same path");
}

/// Returns a sender with a loss on the old path, then one on the new path during Fast Recovery.
fn loss_on_both() -> Sender {
    let mut sender = Sender::new(2).window(P0, 10).window(P1, 10);
    sender.enqueue(20, FULL);
    sender.flush();
    sender.paths.set_primary(P1).unwrap();
    sender.flush();
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
    }
    sender.flush();
    for last in [12, 13, 14] {
        sender.sack(0, &[(2, 10), (12, last)]);
    }
    assert_eq!(sender.cwnd(P0), 5 * PMDCS);
    sender
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
//= type=test
//# an SCTP sender MUST keep a set of the control variables cwnd, ssthresh, and partial_bytes_acked for EACH
//# destination address of its peer
#[test]
fn each_path_has_its_own_recovery() {
    assert_eq!(loss_on_both().cwnd(P1), 5 * PMDCS);
}

#[test]
fn the_cost_of_a_sack_is_linear_in_its_changes() {
    let mut sender = in_flight(500);
    sender.enqueue(500, FULL);
    for last in 2..500 {
        sender.sack(0, &[(2, last)]);
        sender.flush();
        let looked_at = sender.path(P0).flow.log.front().unwrap().tsn.tsn().get();
        assert!(last < 4 || looked_at >= u32::from(last), "the log is examined again from {looked_at}");
    }
}
