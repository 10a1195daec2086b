//! Chunks in flight on a path that a handover policy left are retransmitted on another one.

use super::{FULL, P0, P1, Sender};

fn on(sender: &mut Sender) -> Vec<(crate::PathId, Vec<u32>)> {
    let sent = sender.flush().into_iter();
    sent.map(|(path, chunks)| (path, chunks.iter().map(|seen| seen.tsn).collect())).collect()
}

#[test]
fn the_oldest_chunks_move_as_far_as_the_window_allows() {
    let mut sender = Sender::new(2).window(P0, 4).window(P1, 2);
    sender.enqueue(4, FULL);
    assert_eq!(on(&mut sender), [1, 2, 3, 4].map(|tsn| (P0, vec![tsn])));
    sender.out.resend_on(P0, P1, &mut sender.paths);
    assert_eq!(on(&mut sender), [1, 2].map(|tsn| (P1, vec![tsn])));
    assert_eq!(sender.path(P0).flight_size, 2 * super::PMDCS);
    assert!(sender.path(P0).t3_rtx.is_some(), "chunks are left there");
    sender.sack(4, &[]);
    assert_eq!((sender.path(P0).flight_size, sender.path(P1).flight_size), (0, 0));
}

#[test]
fn a_path_with_nothing_left_does_not_time_out() {
    let mut sender = Sender::new(2).window(P0, 4).window(P1, 8);
    sender.enqueue(4, FULL);
    on(&mut sender);
    sender.out.resend_on(P0, P1, &mut sender.paths);
    assert_eq!(on(&mut sender).len(), 4);
    assert_eq!((sender.path(P0).flight_size, sender.path(P0).t3_rtx), (0, None));
    sender.out.resend_on(P0, P0, &mut sender.paths);
    assert_eq!(on(&mut sender), [], "not to itself");
}
