//! RACK-TLP (RFC 8985) and PRR on SCTP paths.

use super::*;
use crate::outbound::LossRecovery;

/// Returns a sender with RACK whose minimum RTO is above every tail loss probe.
fn rack(chunks: u64) -> Sender {
    Sender::with(1, |config| config.loss_recovery = LossRecovery::Rack).window(P0, chunks)
}

/// Measures a round trip of 100 ms; TSN 1 is acknowledged.
fn measured(mut sender: Sender) -> Sender {
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [1]);
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[]);
    sender
}

fn probes(sender: &Sender) -> u32 {
    sender.path(P0).loss_probes
}

/// The example of RFC 8985 §3.4: P0 to P3 are sent, P1 to P3 are lost, and the retransmission of P1 too.
#[test]
fn rfc8985_3_4_a_lost_tail_and_a_lost_retransmission_without_a_timeout() {
    let mut sender = rack(4);
    sender.enqueue(4, FULL);
    assert_eq!(sender.tsns(), [1, 2, 3, 4]);
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[]);
    // 3: two round trips after the last acknowledgement the tail loss probe repeats the last chunk.
    assert_eq!(sender.time_out(), ms(1300));
    assert_eq!((sender.tsns(), probes(&sender)), (vec![4], 1));
    assert!(!sender.path(P0).in_fast_recovery(), "a tail loss probe is no loss");
    // 5: its SACK shows that P1 and P2 are lost.
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[(3, 3)]);
    assert!(sender.path(P0).in_fast_recovery());
    assert_eq!(sender.tsns(), [2, 3]);
    // 7: the SACK of the second shows that the first was lost again.
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[(2, 3)]);
    assert_eq!(sender.tsns(), [2]);
    sender.wait(Span::from_millis(100));
    sender.sack(4, &[]);
    assert!(!sender.path(P0).in_fast_recovery());
    assert_eq!((sender.path(P0).timeouts, sender.path(P0).t3_rtx), (0, None));
}

#[test]
fn rfc8985_7_2_a_single_packet_waits_for_the_delayed_sack_too_and_never_beyond_t3_rtx() {
    let mut sender = measured(rack(10));
    sender.enqueue(2, FULL);
    sender.tsns();
    assert_eq!(sender.out.next_timeout(&sender.paths), Some(ms(1300)), "2 SRTT");
    let mut sender = measured(rack(10));
    sender.enqueue(1, FULL);
    sender.tsns();
    assert_eq!(sender.out.next_timeout(&sender.paths), Some(ms(1500)), "2 SRTT and 200 ms");
    // Without a measurement PTO is 1 s, as RTO.Initial: the tail loss probe replaces the timeout.
    let mut sender = rack(10);
    sender.enqueue(2, FULL);
    sender.tsns();
    assert_eq!(sender.time_out(), ms(2000));
    assert_eq!((sender.tsns(), sender.path(P0).timeouts), (vec![2], 0));
}

#[test]
fn rfc8985_7_3_the_tail_loss_probe_prefers_new_data_and_t3_rtx_follows() {
    let mut sender = measured(rack(4));
    sender.enqueue(6, FULL);
    assert_eq!(sender.tsns(), [2, 3, 4, 5]);
    sender.time_out();
    assert_eq!((sender.tsns(), probes(&sender)), (vec![6], 1), "one packet beyond the window");
    assert_eq!(sender.path(P0).flight_size, 5 * PMDCS);
    // Only one tail loss probe: T3-rtx is next.
    sender.time_out();
    assert_eq!((probes(&sender), sender.path(P0).timeouts), (1, 1));
    assert_eq!(sender.tsns(), [2]);
}

#[test]
fn rfc8985_7_4_2_a_loss_repaired_by_the_tail_loss_probe_reduces_the_window_once() {
    let mut sender = measured(rack(12));
    sender.enqueue(3, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(3, &[]);
    let before = sender.cwnd(P0);
    sender.time_out();
    assert_eq!(sender.tsns(), [4]);
    sender.wait(Span::from_millis(100));
    sender.sack(4, &[]);
    assert_eq!(sender.cwnd(P0), before, "it may acknowledge the first transmission");
    sender.enqueue(1, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(5, &[]);
    assert!(sender.cwnd(P0) < before, "no duplicate was reported: it had been lost");
    assert!(!sender.path(P0).in_fast_recovery());
}

#[test]
fn rfc8985_7_4_2_a_reported_duplicate_shows_that_nothing_was_lost() {
    let mut sender = measured(rack(12));
    sender.enqueue(3, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(3, &[]);
    sender.time_out();
    assert_eq!(sender.tsns(), [4]);
    let before = sender.cwnd(P0);
    sender.sack(4, &[]);
    sender.sack_with(4, &[], &[4]);
    sender.enqueue(1, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(5, &[]);
    assert!(sender.cwnd(P0) >= before);
}

#[test]
fn rfc8985_6_2_a_reordered_chunk_is_not_retransmitted() {
    let mut sender = measured(rack(12));
    sender.enqueue(8, FULL);
    sender.tsns();
    let sent = sender.now;
    sender.wait(Span::from_millis(100));
    // 3 and 4 overtake 2. That is fewer than three, so the window is a quarter of the minimum RTT.
    sender.sack(1, &[(2, 3)]);
    assert!(!sender.path(P0).in_fast_recovery());
    assert_eq!(sender.out.next_timeout(&sender.paths), Some(sent + Span::from_millis(125)));
    sender.wait(Span::from_millis(10));
    sender.sack(4, &[]);
    // After reordering the window stays, however many chunks overtake.
    sender.sack(4, &[(2, 5)]);
    assert!(!sender.path(P0).in_fast_recovery());
    sender.time_out();
    assert!(sender.path(P0).in_fast_recovery(), "too late for reordering");
    assert_eq!(sender.tsns(), [5]);
    assert_eq!(sender.path(P0).timeouts, 0);
}

#[test]
fn rfc8985_6_2_without_reordering_three_later_acknowledgements_need_no_wait() {
    let mut sender = measured(rack(12));
    sender.enqueue(8, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[(2, 4)]);
    assert_eq!(sender.tsns(), [2]);
}

#[test]
fn rfc8985_6_2_duplicates_widen_the_reordering_window_once_a_round() {
    let mut sender = measured(rack(12));
    sender.enqueue(10, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    // Declared lost too early: 2 arrives after all.
    sender.sack(1, &[(2, 4)]);
    assert_eq!(sender.tsns(), [2]);
    sender.sack(5, &[]);
    sender.sack_with(5, &[], &[2]);
    sender.sack_with(5, &[], &[2]);
    sender.sack(11, &[]);
    sender.enqueue(10, FULL);
    sender.tsns();
    let sent = sender.now;
    sender.wait(Span::from_millis(100));
    sender.sack(11, &[(2, 3)]);
    let waited = sender.out.next_timeout(&sender.paths).unwrap().since(sent);
    assert_eq!(waited, Span::from_millis(150), "twice a quarter of the minimum RTT");
}

#[test]
fn a_sack_sooner_than_a_round_trip_is_for_the_first_transmission() {
    let mut sender = measured(rack(12));
    sender.enqueue(6, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[(2, 4)]);
    assert_eq!(sender.tsns(), [2]);
    // 6 and 7 were sent earlier: 10 ms later neither the retransmission nor the SACK of 2 shows them lost.
    sender.wait(Span::from_millis(10));
    sender.sack(5, &[]);
    assert_eq!(sender.tsns(), [0; 0]);
    assert_eq!(sender.path(P0).flight_size, 2 * PMDCS);
}

#[test]
fn rfc9937_the_flight_size_decreases_by_one_packet_for_every_two() {
    let mut sender = Sender::with(1, |config| config.loss_recovery = LossRecovery::Prr).window(P0, 20);
    sender.enqueue(60, FULL);
    assert_eq!(sender.tsns().len(), 20);
    sender.wait(Span::from_millis(100));
    let mut sent = Vec::new();
    for last in 2..=20 {
        sender.sack(0, &[(2, last)]);
        sent.push(sender.tsns().len());
    }
    assert_eq!(sent[..3], [1, 1, 1], "two within the window, and the retransmission");
    assert!(sent[3..].windows(2).all(|pair| pair.iter().sum::<usize>() <= 2), "{sent:?}");
    assert!(sent[3..].windows(4).all(|four| four.iter().sum::<usize>() >= 1), "no pause: {sent:?}");
    assert!(sender.path(P0).flight_size.abs_diff(10 * PMDCS) <= PMDCS, "the threshold");
    sender.sack(20, &[]);
    sender.wait(Span::from_millis(100));
    let last = sender.out.next_tsn().get() - 1;
    sender.sack(last, &[]);
    assert!(sender.path(P0).prr.is_none());
}
