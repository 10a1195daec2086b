//! Partial reliability: RFC 3758 §3.5, §4.1, RFC 7496 §3, RFC 8260 §2.3.1.

use super::*;
use crate::message::{Reliability, SendFailure};
use crate::stats::{Abandoned, AbandonedCount};
use msctp_wire::SkippedMessages;

fn sender(interleaving: bool) -> Sender {
    let mut sender = Sender::new(1).window(P0, 20);
    sender.out.set_extensions(interleaving, true);
    sender
}

fn message(stream: u16, len: usize, reliability: Reliability) -> OutMessage {
    OutMessage { stream, data: Bytes::from(vec![7; len]), reliability, ..OutMessage::default() }
}

const SECOND: Reliability = Reliability::Lifetime(Span::from_secs(1));
const ONCE: Reliability = Reliability::Retransmissions(0);

/// A FORWARD TSN: new cumulative TSN, and (stream, unordered, number) of each skipped message.
type Forwarded = (u32, Vec<(u16, bool, u32)>);

/// Returns the pending FORWARD TSN.
fn forward(sender: &mut Sender) -> Option<Forwarded> {
    forward_within(sender, 1480)
}

fn forward_within(sender: &mut Sender, room: usize) -> Option<Forwarded> {
    sender.out.forward_path(sender.now, &mut sender.paths)?;
    let (now, out, paths) = (sender.now, &mut sender.out, &mut sender.paths);
    let bytes = packet_bytes(|builder| assert!(out.encode_forward_tsn(now, paths, builder).is_some()), room);
    sender.out.assert_consistent(&sender.paths);
    assert!(sender.paths.iter().any(|path| path.t3_rtx.is_some()), "RFC 3758 §3.5 C5");
    match Packet::parse(&bytes, Checksum::Verify).unwrap().chunks().next() {
        Some(Ok(Chunk::ForwardTsn(chunk))) => {
            let skipped = chunk.skipped.iter().map(|s| (s.stream.get(), false, u32::from(s.ssn.get())));
            Some((chunk.new_cum_tsn.get(), skipped.collect()))
        }
        Some(Ok(Chunk::IForwardTsn(chunk))) => {
            let skipped = |s: SkippedMessages| (s.stream.get(), s.unordered, s.mid.get());
            Some((chunk.new_cum_tsn.get(), chunk.skipped.iter().map(skipped).collect()))
        }
        other => panic!("{other:?}"),
    }
}

fn failed(sender: &mut Sender) -> Vec<(u16, bool, u64)> {
    let summary = |failure: SendFailure| {
        assert!(failure.abandoned);
        (failure.message.stream, failure.unsent, failure.sent)
    };
    sender.out.take_failures().into_iter().map(summary).collect()
}

#[test]
fn the_lifetime_of_a_delivered_message_leaves_no_timer() {
    let mut sender = sender(false);
    sender.give(message(0, 100, SECOND)).unwrap();
    sender.flush();
    sender.sack(1, &[]);
    assert!(sender.out.is_drained());
    assert_eq!(sender.out.next_timeout(&sender.paths), None, "a stale deadline would stay due");
}

#[test]
fn rfc3758_4_1_tr3_an_unsent_message_gets_no_tsn() {
    for forwards in [true, false] {
        let mut sender = sender(false);
        sender.out.set_extensions(false, forwards);
        sender.a_rwnd = 0;
        sender.enqueue(1, 100);
        sender.flush();
        sender.sack(1, &[]);
        sender.give(message(3, 900, SECOND)).unwrap();
        assert_eq!(sender.flush(), []);
        assert_eq!(sender.out.buffered(), 900);
        sender.now += Span::from_secs(1);
        sender.out.handle_timeout(sender.now, &mut sender.paths);
        assert_eq!(failed(&mut sender), [(3, true, 0)]);
        assert_eq!((sender.out.buffered(), sender.out.next_tsn()), (0, Tsn::new(2)));
        assert_eq!(forward(&mut sender), None);
        assert_eq!(sender.out.abandoned().lifetime, AbandonedCount { unsent: 1, sent: 0 });
    }
}

#[test]
fn rfc3758_4_1_the_deadline_is_a_timeout_of_its_own() {
    let mut sender = sender(false);
    sender.now = ms(5000);
    sender.a_rwnd = 0;
    sender.enqueue(1, 100);
    sender.flush();
    sender.sack(1, &[]);
    sender.give(message(0, 900, Reliability::Lifetime(Span::from_millis(123)))).unwrap();
    sender.flush();
    assert_eq!(sender.time_out(), ms(5123));
    assert_eq!(failed(&mut sender).len(), 1);
}

#[test]
fn rfc3758_4_1_tr4_a_late_retransmission_is_abandoned() {
    let mut sender = sender(false);
    sender.give(message(1, FULL, Reliability::Lifetime(Span::from_millis(500)))).unwrap();
    sender.enqueue(5, FULL);
    assert_eq!(sender.tsns(), [1, 2, 3, 4, 5, 6]);
    sender.wait(Span::from_millis(600));
    sender.out.handle_timeout(sender.now, &mut sender.paths);
    assert_eq!(failed(&mut sender), [], "it is in flight and not declared lost");
    let cwnd = sender.cwnd(P0);
    sender.sack(0, &[(2, 2)]);
    sender.sack(0, &[(2, 3)]);
    assert_eq!(forward(&mut sender), None);
    sender.sack(0, &[(2, 4)]);
    assert!(sender.cwnd(P0) < cwnd, "RFC 3758 §3.5 F5: the loss counts");
    assert_eq!(failed(&mut sender), [(1, false, FULL as u64)]);
    assert_eq!(forward(&mut sender), Some((1, vec![(1, false, 0)])));
    assert_eq!(sender.tsns(), [], "no retransmission");
    sender.sack(4, &[]);
    assert_eq!(forward(&mut sender), None, "the peer has acknowledged it");
    sender.sack(6, &[]);
    assert!(sender.out.is_drained() && sender.path(P0).t3_rtx.is_none());
}

#[test]
fn rfc7496_3_1_retransmissions_are_counted_by_chunk() {
    let mut sender = sender(false);
    sender.give(message(1, 100, Reliability::Retransmissions(2))).unwrap();
    sender.give(message(2, 100, ONCE)).unwrap();
    assert_eq!(sender.tsns(), [1, 2]);
    sender.time_out();
    assert_eq!(failed(&mut sender), [(2, false, 100)]);
    assert_eq!(forward(&mut sender), None, "1 comes first");
    assert_eq!(sender.tsns(), [1]);
    sender.time_out();
    assert_eq!(sender.tsns(), [1]);
    sender.time_out();
    assert_eq!(failed(&mut sender), [(1, false, 100)]);
    assert_eq!(forward(&mut sender), Some((2, vec![(1, false, 0), (2, false, 0)])));
    assert_eq!(sender.out.abandoned().retransmissions, AbandonedCount { unsent: 0, sent: 2 });
    sender.sack(2, &[]);
    assert!(sender.out.is_drained());
}

#[test]
fn a_peer_without_the_extension_gets_all_of_a_partly_sent_message() {
    let mut sender = sender(false);
    sender.out.set_extensions(false, false);
    sender.give(message(1, 100, ONCE)).unwrap();
    sender.give(message(1, 100, SECOND)).unwrap();
    assert_eq!(sender.tsns(), [1, 2]);
    sender.time_out();
    sender.now += Span::from_secs(5);
    assert_eq!(sender.tsns(), [1, 2]);
    assert_eq!((failed(&mut sender), forward(&mut sender)), (vec![], None));
}

#[test]
fn rfc3758_3_5_a3_a_message_is_abandoned_whole_with_its_unsent_part() {
    for interleaving in [false, true] {
        let mut sender = sender(interleaving);
        sender.path_mut(P0).controller.start(&StartState {
            cwnd: 3 * PMDCS,
            ssthresh: Some(3 * PMDCS),
            pacing_rate: None,
        });
        sender.give(message(4, 6000, SECOND)).unwrap();
        sender.enqueue(1, 50);
        while let Some(path) = sender.out.next_path(sender.now, &mut sender.paths) {
            let (now, out, paths) = (sender.now, &mut sender.out, &mut sender.paths);
            packet_bytes(|builder| assert!(!out.fill(now, path, paths, None, builder).is_empty()), 1480);
        }
        assert_eq!(sender.out.next_tsn(), Tsn::new(4));
        sender.sack(1, &[(2, 2)]);
        sender.now += Span::from_secs(1);
        sender.out.handle_timeout(sender.now, &mut sender.paths);
        let sent = 3 * (FULL as u64 - if interleaving { 4 } else { 0 });
        assert_eq!(failed(&mut sender), [(4, false, sent)]);
        // TSN 4 was never on the wire: it represents the end of the message
        assert_eq!(forward(&mut sender), Some((4, vec![(4, false, 0)])));
        assert_eq!(sender.path(P0).flight_size, 0, "RFC 3758 §3.5 A2");
        sender.sack(4, &[]);
        assert_eq!(sender.out.buffered(), 50);
    }
}

#[test]
fn rfc3758_3_5_c3_and_f2_repeated_by_sacks_once_a_round_trip_and_by_t3() {
    let mut sender = sender(false);
    sender.give(message(1, 100, ONCE)).unwrap();
    sender.enqueue(8, 100);
    sender.flush();
    sender.wait(Span::from_millis(50));
    for last in 2..=4 {
        sender.sack(0, &[(2, last)]);
    }
    assert_eq!(forward(&mut sender), Some((1, vec![(1, false, 0)])));
    sender.sack(0, &[(2, 5)]);
    assert_eq!(forward(&mut sender), None, "at once again");
    sender.wait(Span::from_secs(3));
    sender.sack(0, &[(2, 6)]);
    assert_eq!(forward(&mut sender), Some((1, vec![(1, false, 0)])));
    sender.sack(0, &[(2, 9)]);
    assert_eq!(sender.path(P0).flight_size, 0);
    sender.time_out();
    assert_eq!(forward(&mut sender), Some((1, vec![(1, false, 0)])), "A5");
    sender.sack(9, &[]);
    assert!(sender.path(P0).t3_rtx.is_none() && sender.out.is_drained());
}

#[test]
fn rfc9260_8_1_an_acknowledged_forward_tsn_clears_the_error_count() {
    for waiting in [0, 1] {
        let mut sender = sender(false);
        sender.give(message(1, 100, ONCE)).unwrap();
        sender.flush();
        (0..waiting).for_each(|_| sender.give(message(1, 100, ONCE)).unwrap());
        sender.time_out();
        assert_eq!(sender.paths.assoc_error_count(), 1);
        assert_eq!(forward(&mut sender), Some((1, vec![(1, false, 0)])));
        sender.sack(1, &[]);
        assert_eq!(sender.paths.assoc_error_count(), 0, "{waiting} wait");
    }
}

#[test]
fn rfc3758_3_5_c4_a_forward_tsn_has_the_highest_of_each_stream_that_fits() {
    let mut sender = sender(false);
    for stream in [1, 2, 1, 3] {
        sender.give(message(stream, 10, ONCE)).unwrap();
    }
    sender.give(OutMessage { unordered: true, ..message(5, 10, ONCE) }).unwrap();
    sender.flush();
    sender.time_out();
    assert_eq!(failed(&mut sender).len(), 5);
    // Room for two streams.
    assert_eq!(forward_within(&mut sender, 12 + 8 + 8), Some((3, vec![(1, false, 1), (2, false, 0)])));
    sender.sack(3, &[]);
    sender.wait(Span::from_secs(9));
    sender.sack(3, &[]);
    assert_eq!(forward(&mut sender), Some((5, vec![(3, false, 0)])), "§3.2: unordered ones are not named");
}

#[test]
fn rfc8260_2_3_1_unordered_messages_are_named() {
    let mut sender = sender(true);
    sender.give(OutMessage { unordered: true, ..message(5, 10, ONCE) }).unwrap();
    sender.give(message(5, 10, ONCE)).unwrap();
    sender.give(OutMessage { unordered: true, ..message(5, 10, ONCE) }).unwrap();
    let (now, out, paths) = (sender.now, &mut sender.out, &mut sender.paths);
    packet_bytes(|builder| assert!(!out.fill(now, P0, paths, None, builder).is_empty()), 1480);
    sender.time_out();
    assert_eq!(forward(&mut sender), Some((3, vec![(5, false, 0), (5, true, 1)])));
}

#[test]
fn rfc3758_3_5_a2_acknowledgements_of_abandoned_chunks_credit_nothing() {
    let mut sender = sender(false);
    sender.give(message(1, FULL, ONCE)).unwrap();
    sender.enqueue(4, FULL);
    sender.flush();
    for last in 2..=4 {
        sender.sack(0, &[(2, last)]);
    }
    assert_eq!(failed(&mut sender).len(), 1);
    let before = sender.out.rwnd();
    let outcome = sender.sack(0, &[(1, 1)]);
    assert_eq!((outcome.bytes_acked, sender.out.rwnd() < before), (0, true), "the others were reneged on");
    let outcome = sender.sack(5, &[]);
    assert_eq!(outcome.bytes_acked, FULL as u64, "the last one; three were counted before");
    assert!(sender.out.is_drained());
}

#[test]
fn rfc7496_3_2_lower_priorities_make_room() {
    let mut sender = Sender::with(1, |config| config.send_buffer = 5000);
    sender.out.set_extensions(false, true);
    for (stream, priority) in [(1, 5), (2, 9), (3, 7), (4, 9)] {
        sender.give(message(stream, 1250, Reliability::Priority(priority))).unwrap();
    }
    let full = |result| matches!(result, Err(SendError::BufferFull { .. }));
    assert!(full(sender.give(message(5, 100, Reliability::Priority(9)))), "none is lower");
    assert!(full(sender.give(message(5, 4000, Reliability::Priority(6)))), "not enough are");
    assert_eq!(failed(&mut sender), [], "and none is abandoned in vain");
    sender.give(message(5, 1000, Reliability::Priority(7))).unwrap();
    assert_eq!(failed(&mut sender), [(4, true, 0)], "the lowest, the latest first");
    sender.give(message(6, 2500, Reliability::Full)).unwrap();
    assert_eq!(failed(&mut sender), [(2, true, 0), (5, true, 0)]);
    assert_eq!(
        sender.out.abandoned(),
        Abandoned { priority: AbandonedCount { unsent: 3, sent: 0 }, ..Abandoned::default() }
    );
    sender.flush();
    sender.give(message(7, 2000, SECOND)).unwrap();
    assert_eq!(failed(&mut sender), [(3, false, 1250), (1, false, 1250)], "also what was sent");
    assert!(forward(&mut sender).is_some());
}

#[test]
fn a_lifetime_expires_on_the_data_path_after_its_path_is_removed() {
    let mut sender = Sender::new(2).window(P0, 20);
    sender.out.set_extensions(false, true);
    sender.give(message(1, 100, ONCE)).unwrap();
    sender.flush();
    let gone = sender.paths.remove_remote(&IpAddr::from([192, 0, 2, 1]));
    sender.out.remove_path(&gone[0], &mut sender.paths);
    assert_eq!(sender.out.forward_path(sender.now, &mut sender.paths), Some(P1));
    assert_eq!(failed(&mut sender), [(1, false, 100)]);
}
