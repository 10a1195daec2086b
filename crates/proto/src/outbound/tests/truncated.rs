//! SACKs whose gap blocks do not fit (RFC 9260 §6.7).

use super::*;
use crate::message::Reliability;
use crate::outbound::LossRecovery;

/// The 16 blocks that the peer reports at most: every other TSN from the second after the Cumulative TSN Ack.
fn blocks() -> Vec<(u16, u16)> {
    (1..=16).map(|i| (2 * i, 2 * i)).collect()
}

/// Sends TSNs 1 to 60, those from 33 with this reliability, 100 ms ago.
fn sixty_in_flight(last: Reliability) -> Sender {
    let mut sender = Sender::with(1, |config| config.loss_recovery = LossRecovery::Rack).window(P0, 200);
    sender.out.set_extensions(false, true);
    sender.enqueue(32, FULL);
    for _ in 33..=60 {
        let data = Bytes::from(vec![7; FULL]);
        sender.give(OutMessage { data, reliability: last, ..OutMessage::default() }).unwrap();
    }
    assert_eq!(sender.tsns().len(), 60);
    sender.wait(Span::from_millis(100));
    sender
}

/// Sends TSNs 1 to 60; every other one arrives. The last SACKs are truncated and end at TSN 32.
fn truncated(last: Reliability) -> Sender {
    let mut sender = sixty_in_flight(last);
    for known in 1..16 {
        sender.sack(0, &blocks()[..known]);
    }
    for _ in 0..5 {
        sender.sack(0, &blocks());
    }
    let missing: Vec<u32> = (1..32).step_by(2).collect();
    assert_eq!(sender.tsns(), missing);
    sender
}

/// The retransmission of TSN 1 arrives: the SACK now ends at TSN 34, and shows that 33 is missing.
fn first_hole_filled(sender: &mut Sender) {
    sender.wait(Span::from_millis(100));
    sender.sack(2, &blocks());
}

#[test]
fn rfc9260_6_7_nothing_beyond_the_last_block_of_a_truncated_sack_counts_as_lost() {
    let mut sender = truncated(Reliability::Full);
    first_hole_filled(&mut sender);
    assert_eq!(sender.tsns(), [33]);
    // 15 retransmissions and this one: the others left the network.
    assert_eq!(sender.path(P0).flight_size, 16 * PMDCS);
}

#[test]
fn chunks_beyond_a_truncated_sack_are_lost_once_a_sack_covers_them() {
    let mut sender = truncated(Reliability::Full);
    first_hole_filled(&mut sender);
    sender.tsns();
    let before = sender.path(P0).flow.lost;
    sender.wait(Span::from_millis(100));
    sender.sack(34, &[(2, 2)]);
    assert_eq!(sender.path(P0).flow.lost - before, 25, "35, and 37 to 60");
    let missing: Vec<u32> = std::iter::once(35).chain(37..=60).collect();
    assert_eq!(sender.tsns(), missing);
}

/// The chunk that arrives within the first gap of three adds a block: the SACK ends one block earlier.
#[test]
fn an_arrival_within_a_gap_shortens_what_a_truncated_sack_covers() {
    let mut sender = sixty_in_flight(Reliability::Full);
    let shifted: Vec<(u16, u16)> = blocks().iter().map(|(start, end)| (start + 2, end + 2)).collect();
    for _ in 0..5 {
        sender.sack(0, &shifted);
    }
    let beyond = |sender: &Sender, tsn: u32| {
        let tsn = sender.out.sent.first().nearest(Tsn::new(tsn));
        sender.out.losses.coverage.is_beyond(tsn)
    };
    assert!(beyond(&sender, 35) && !beyond(&sender, 33));
    sender.sack(0, &blocks());
    assert!(beyond(&sender, 33) && !beyond(&sender, 31));
    assert!(sender.out.sent.is_acked(sender.out.sent.first().nearest(Tsn::new(34))), "reported before");
}

/// A peer in the state SHUTDOWN-SENT answers each packet with a SACK and a SHUTDOWN (RFC 9260 §9.2).
#[test]
fn rfc9260_9_2_a_shutdown_does_not_end_a_truncated_report() {
    let mut sender = truncated(Reliability::Full);
    first_hole_filled(&mut sender);
    sender.tsns();
    let before = sender.path(P0).flow.lost;
    sender.out.handle_cum_tsn_ack(sender.now, Tsn::new(2), &mut sender.paths).unwrap();
    assert_eq!((sender.tsns(), sender.path(P0).flow.lost - before), (vec![], 0));
    sender.wait(Span::from_millis(100));
    sender.sack(34, &[(2, 2)]);
    assert_eq!(sender.path(P0).flow.lost - before, 25, "35, and 37 to 60");
}

#[test]
fn without_data_in_flight_chunks_beyond_a_truncated_sack_are_retransmitted() {
    let mut sender = truncated(Reliability::Full);
    first_hole_filled(&mut sender);
    sender.tsns();
    // No SACK arrives any more.
    let mut again = Vec::new();
    for _ in 0..60 {
        if sender.out.next_timeout(&sender.paths).is_some() {
            sender.time_out();
        }
        again.extend(sender.tsns());
        if let Some(&last) = again.last() {
            sender.wait(Span::from_millis(100));
            sender.sack(last.max(34), &[]);
            again.extend(sender.tsns());
        }
    }
    assert!(again.contains(&60), "{again:?}");
    assert_eq!(sender.path(P0).flight_size, 0);
}

#[test]
fn rfc7496_3_1_a_message_that_may_have_arrived_is_not_abandoned() {
    let mut sender = truncated(Reliability::Retransmissions(0));
    first_hole_filled(&mut sender);
    assert_eq!(sender.tsns(), []);
    assert_eq!(sender.out.take_failures().len(), 1, "33 is lost");
    sender.wait(Span::from_millis(100));
    sender.sack(34, &[(2, 2)]);
    assert_eq!(sender.tsns(), []);
    assert_eq!(sender.out.take_failures().len(), 25, "35, and 37 to 60");
}

#[test]
fn a_block_that_no_longer_fits_is_not_reneged() {
    let mut sender = truncated(Reliability::Full);
    first_hole_filled(&mut sender);
    sender.tsns();
    // 33 and 34 are one block.
    sender.wait(Span::from_millis(100));
    let joined: Vec<_> = blocks()[..15].iter().copied().chain([(31, 32)]).collect();
    assert_eq!(sender.sack(2, &joined).reneged, 0);
    assert_eq!(sender.sack(2, &blocks()).reneged, 1, "33 is within the blocks");
    // A block of TSN 3 pushes that of 34 out.
    let lower: Vec<_> = std::iter::once((1, 1)).chain(blocks()[1..].iter().copied()).collect();
    let lower: Vec<_> = lower.into_iter().take(15).chain([(31, 31)]).collect();
    let outcome = sender.sack(2, &lower);
    assert_eq!(outcome.reneged, 1, "TSN 4 is within the blocks, TSN 34 beyond");
}
