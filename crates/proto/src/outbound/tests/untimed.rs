//! The check that data never waits without a timer.

use super::*;
use crate::outbound::untimed::Untimed;
use crate::outbound::zero_window::ZeroWindowProbe;

#[test]
fn data_in_flight_has_its_t3_rtx() {
    let mut sender = Sender::new(2);
    sender.enqueue(1, FULL);
    sender.flush();
    assert_eq!(sender.out.untimed(&sender.paths), None);
    sender.path_mut(P0).t3_rtx = None;
    assert_eq!(sender.out.untimed(&sender.paths), Some(Untimed::InFlight));
}

#[test]
fn a_closed_window_has_its_probe() {
    // RFC 9260 §6.1 A
    let mut sender = Sender::new(1);
    sender.a_rwnd = 0;
    sender.sack(0, &[]);
    sender.enqueue(1, FULL);
    assert!(sender.flush().is_empty());
    assert_eq!(sender.out.untimed(&sender.paths), None);
    sender.out.zero_window_probe = ZeroWindowProbe::Idle;
    assert_eq!(sender.out.untimed(&sender.paths), Some(Untimed::Unsent));
}

#[test]
fn chunks_marked_for_retransmission_are_sent_or_timed() {
    let mut sender = Sender::new(1);
    sender.enqueue(1, FULL);
    sender.flush();
    let at = sender.path(P0).t3_rtx.unwrap();
    sender.now = at;
    sender.out.handle_timeout(at, &mut sender.paths);
    assert_eq!(sender.out.untimed(&sender.paths), Some(Untimed::Marked), "it may leave now");
    assert_eq!(sender.flush().len(), 1);
    assert_eq!(sender.out.untimed(&sender.paths), None);
}
