//! Several paths at once: the choice of the path, SACKs that overtake each other, and losses on one of them.

use super::*;
use crate::outbound::LossRecovery;
use crate::path::PathAddr;

/// Returns a sender over a path of 20 ms and one of 100 ms, each with a window of `chunks` full chunks.
fn aggregate(chunks: u64) -> Sender {
    let mut sender = Sender::with(2, |config| {
        config.paths = PathUse::Aggregate;
        config.loss_recovery = LossRecovery::Rack;
    })
    .window(P0, chunks)
    .window(P1, chunks);
    for (id, round_trip) in [(P0, 20), (P1, 100)] {
        sender.path_mut(id).rtt.on_measurement(Span::from_millis(round_trip));
    }
    sender
}

/// Returns the sender of [`aggregate`] whose application had data queued for longer than any round trip.
fn supplied(chunks: u64) -> Sender {
    let mut sender = aggregate(chunks);
    sender.enqueue(100, FULL);
    sender.out.aggregation.get_or_insert_default().supplied_since = Some(Time::ZERO);
    sender
}

/// Processes a SACK that arrives over a path.
fn sack_over(sender: &mut Sender, path: PathId, cum: u32, gaps: &[(u16, u16)]) -> SackOutcome {
    let at: PathAddr = sender.path(path).addr();
    sender.paths.note_sack(at);
    sender.sack(cum, gaps)
}

fn lengths(sent: &[Sent]) -> [usize; 2] {
    [P0, P1].map(|id| sent.iter().filter(|(path, _)| *path == id).count())
}

#[test]
fn the_fast_path_comes_first_and_the_slow_one_takes_the_rest() {
    let mut sender = supplied(4);
    let sent = sender.flush();
    assert_eq!(sent.iter().map(|(path, _)| *path).collect::<Vec<_>>(), [[P0; 4], [P1; 4]].concat());
    let mut one = Sender::with(2, |_| {}).window(P0, 4).window(P1, 4);
    one.enqueue(100, FULL);
    assert_eq!(lengths(&one.flush()), [4, 0], "RFC 9260 §6.4: the primary path only");
}

#[test]
fn the_end_of_the_data_does_not_wait_for_the_slow_path() {
    // ECF: in the 80 ms before a packet would arrive on the slow path, the fast one carries 16 more.
    let mut sender = aggregate(4);
    sender.enqueue(4 + 15, FULL);
    assert_eq!(lengths(&sender.flush()), [4, 0]);
    let mut sender = aggregate(4);
    sender.enqueue(4 + 17, FULL);
    assert_eq!(lengths(&sender.flush()), [4, 1]);
}

#[test]
fn the_slow_path_takes_nothing_that_closes_the_receive_window() {
    // BLEST: the fast path carries 30 chunks in a round trip of the slow one and its variation.
    for (chunks, slow) in [(19, 0), (36, 4)] {
        let mut sender = supplied(4);
        sender.a_rwnd = chunks * FULL as u32;
        sender.sack(0, &[]);
        assert_eq!(lengths(&sender.flush()), [4, slow], "a window of {chunks} chunks");
    }
}

#[test]
fn a_closed_window_is_opened_by_a_retransmission_on_the_fast_path() {
    let mut sender = supplied(4);
    let sent = sender.flush();
    assert_eq!(lengths(&sent), [4, 4]);
    sender.wait(Span::from_millis(20));
    // TSNs 5 to 8 are on the slow path. Those that follow arrive and fill the peer's buffer.
    sack_over(&mut sender, P0, 4, &[]);
    assert_eq!(sender.tsns(), [9, 10, 11, 12, 13]);
    sender.wait(Span::from_millis(20));
    sender.a_rwnd = 0;
    sack_over(&mut sender, P0, 4, &[(5, 9)]);
    assert_eq!(
        sender.flush().iter().map(|(path, seen)| (*path, seen[0].tsn)).collect::<Vec<_>>(),
        [(P0, 5), (P0, 6), (P0, 7), (P0, 8)]
    );
    assert!(sender.flush().is_empty(), "once");
}

#[test]
fn an_overtaken_sack_reneges_on_nothing_and_closes_no_window() {
    let mut sender = supplied(4);
    sender.flush();
    sender.wait(Span::from_millis(60));
    sack_over(&mut sender, P0, 0, &[(2, 4)]);
    sender.a_rwnd = 0;
    let outcome = sack_over(&mut sender, P1, 0, &[(2, 3)]);
    assert_eq!((outcome.reneged, sender.out.a_rwnd), (0, 1 << 20));
    // The next one over the same path continues from what is known.
    sender.a_rwnd = 1 << 20;
    let outcome = sack_over(&mut sender, P0, 0, &[(2, 5)]);
    assert_eq!((outcome.reneged, outcome.bytes_acked), (0, FULL as u64));
    // A SACK over the same path cannot be overtaken: the peer reneges.
    assert_eq!(sack_over(&mut sender, P0, 0, &[(2, 4)]).reneged, 1);
    // Nor is one after an RTO.
    sender.wait(Span::from_secs(2));
    assert_eq!(sack_over(&mut sender, P1, 0, &[(2, 3)]).reneged, 1);
}

#[test]
fn chunks_that_overtake_those_of_a_slower_path_report_no_loss() {
    let mut sender = supplied(4);
    sender.enqueue(100, FULL);
    sender.flush();
    for round in 0..4u16 {
        sender.wait(Span::from_millis(20));
        let first = if round == 0 { 1 } else { 5 };
        let (cum, gaps) = if round == 0 { (4, vec![]) } else { (4, vec![(first, 4 + 4 * round)]) };
        sack_over(&mut sender, P0, cum, &gaps);
        assert!(sender.flush().iter().all(|(path, _)| *path == P0));
    }
    assert_eq!([P0, P1].map(|id| sender.path(id).fast_retransmits), [0, 0]);
    assert_eq!(sender.path(P1).flow.lost, 0);
}

#[test]
fn recovery_of_a_path_ends_although_another_path_holds_back_the_ack_point() {
    // TSNs 1 to 8 on the fast path, 9 to 16 on the slow one.
    let mut sender = supplied(8);
    sender.flush();
    sender.wait(Span::from_millis(20));
    sack_over(&mut sender, P0, 8, &[]);
    assert_eq!(sender.tsns().len(), 9, "17 to 25 on the fast path");
    sender.wait(Span::from_millis(20));
    // 17 is lost
    sack_over(&mut sender, P0, 8, &[(10, 17)]);
    assert!(sender.path(P0).in_fast_recovery() && !sender.path(P1).in_fast_recovery());
    let sent = sender.flush();
    assert!(sent.iter().any(|(path, seen)| *path == P0 && seen[0].tsn == 17), "{sent:?}");
    sender.wait(Span::from_millis(20));
    let last = u16::try_from(sender.out.last_tsn().tsn().get() - 8).unwrap();
    sack_over(&mut sender, P0, 8, &[(9, last)]);
    assert!(!sender.path(P0).in_fast_recovery(), "9 to 16 are still on their way");
}

#[test]
fn the_tail_of_one_path_is_probed_while_another_one_has_gaps() {
    // TSNs 1 to 4 on the fast path are lost at its tail; 5 to 8 on the slow one arrive.
    let mut sender = supplied(4);
    sender.flush();
    sender.wait(Span::from_millis(20));
    sack_over(&mut sender, P0, 1, &[]);
    let probe = sender.path(P0).rack.as_ref().unwrap().tlp.timer;
    assert_eq!(probe, Some(sender.now + Span::from_millis(40)));
    sender.wait(Span::from_millis(10));
    sack_over(&mut sender, P1, 1, &[(4, 5)]);
    assert_eq!(
        sender.path(P0).rack.as_ref().unwrap().tlp.timer,
        probe,
        "progress elsewhere does not delay it"
    );
}

#[test]
fn a_loss_is_repaired_on_the_path_that_delivers_first() {
    // 5 to 8 on the slow path, of which 5 is lost, and the fast path has room.
    let mut sender = supplied(4);
    sender.flush();
    sender.wait(Span::from_millis(20));
    sack_over(&mut sender, P0, 4, &[]);
    sender.wait(Span::from_millis(80));
    sack_over(&mut sender, P1, 4, &[(2, 4)]);
    let again: Vec<_> = sender.flush().into_iter().filter(|(_, seen)| seen[0].tsn == 5).collect();
    assert_eq!(again.len(), 1, "retransmitted once");
    assert_eq!(again[0].0, P0);
}

#[test]
fn a_link_that_goes_down_returns_its_data_at_once() {
    let mut sender = supplied(4);
    sender.flush();
    let local = sender.path(P0).addr().local;
    // Both paths of this sender have one local address: add another.
    let added = sender.paths.add_local(IpAddr::from([10, 0, 1, 1]), SourceUse::Full, sender.now).unwrap();
    added.iter().for_each(|&id| sender.paths.confirm(id, sender.now));
    sender.paths.set_link(&local, false, sender.now);
    sender.out.on_link_down(sender.now, &mut sender.paths);
    sender.out.assert_consistent(&sender.paths);
    assert_eq!([P0, P1].map(|id| (sender.path(id).flight_size, sender.path(id).t3_rtx)), [(0, None); 2]);
    let sent = sender.flush();
    assert!(sent.iter().all(|(path, _)| added.contains(path)), "{sent:?}");
    assert_eq!(sent[0].1[0].tsn, 1);
}
