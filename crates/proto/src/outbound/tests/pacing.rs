//! Pacing of a path's initial window: packets leave at the rate, and no timer runs if no packet is delayed.

use msctp_congestion::StartState;
use msctp_units::{Rate, Span, Time};

use super::{FULL, P0, P1, PMDCS, Sender, ms};

/// Returns a sender with a window of 10 packets at 12 Mbps: a packet of 1500 bytes on the wire takes a
/// millisecond.
fn paced(count: u8) -> Sender {
    let mut sender = Sender::new(count);
    start(&mut sender, Some(Rate::from_mbps(12)));
    sender
}

fn start(sender: &mut Sender, pacing_rate: Option<Rate>) {
    let state = StartState { cwnd: 10 * PMDCS, ssthresh: None, pacing_rate };
    sender.path_mut(P0).controller.start(&state);
}

#[test]
fn packets_leave_at_the_rate_and_the_acknowledgement_ends_it() {
    let mut sender = paced(1);
    sender.enqueue(14, FULL);
    let mut left = Vec::new();
    for _ in 0..6 {
        left.push((sender.now, sender.tsns()));
        sender.time_out();
    }
    let expected: Vec<(Time, Vec<u32>)> = (0..6).map(|n| (ms(1000 + n), vec![n as u32 + 1])).collect();
    assert_eq!(left, expected);
    // Packets that the window allows later are not paced.
    sender.sack(3, &[]);
    assert_eq!(sender.path(P0).controller.pacing_rate(), None);
    assert_eq!(sender.tsns(), (7..=13).collect::<Vec<u32>>());
}

#[test]
fn no_timer_runs_for_packets_that_pacing_does_not_delay() {
    let mut sender = paced(1);
    sender.enqueue(2, FULL);
    assert_eq!(sender.tsns(), [1]);
    assert_eq!(sender.out.next_timeout(&sender.paths), Some(ms(1001)));
    sender.time_out();
    assert_eq!(sender.tsns(), [2]);
    // Nothing is queued: the next deadline is T3-rtx, although the next packet would be delayed.
    let t3 = sender.path(P0).t3_rtx;
    assert!(t3 > Some(ms(1500)));
    assert_eq!(sender.out.next_timeout(&sender.paths), t3);
    // The window, not pacing, delays the next packet.
    sender.enqueue(20, FULL);
    let mut packets = 2;
    loop {
        packets += sender.tsns().len();
        if sender.out.next_timeout(&sender.paths) == t3 {
            break;
        }
        sender.time_out();
    }
    assert_eq!(packets, 10);
    assert_eq!(sender.path(P0).flight_size, 10 * PMDCS);
}

#[test]
fn small_packets_are_paced_by_their_bytes() {
    let mut sender = paced(1);
    sender.enqueue(1, FULL);
    sender.tsns();
    sender.wait(Span::from_millis(1));
    // 448 user bytes, 16 of chunk, 32 of headers: 496 bytes, a third of a millisecond.
    sender.enqueue(1, 448);
    assert_eq!(sender.tsns(), [2]);
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [0; 0]);
    let expected = ms(1001) + Span::from_nanos(496 * 8 * 1000 / 12);
    let until = sender.out.next_timeout(&sender.paths).unwrap();
    assert!(until.since(expected) <= Span::from_nanos(1), "{until} {expected}");
}

#[test]
fn retransmissions_are_paced_and_other_paths_are_not_delayed() {
    let mut sender = paced(2);
    sender.enqueue(10, FULL);
    for _ in 0..9 {
        assert_eq!(sender.tsns().len(), 1);
        sender.time_out();
    }
    assert_eq!(sender.tsns().len(), 1);
    sender.time_out();
    // T3-rtx: everything is retransmitted on the other path, which is not paced.
    let again = sender.flush();
    assert!(again.iter().all(|(path, _)| *path == P1), "{again:?}");
    assert!(!again.is_empty());
}

#[test]
fn without_a_rate_or_after_it_everything_leaves_at_once() {
    let mut sender = paced(1);
    sender.enqueue(10, FULL);
    assert_eq!(sender.tsns(), [1]);
    start(&mut sender, None);
    assert_eq!(sender.tsns().len(), 9);
    let mut sender = paced(1);
    start(&mut sender, Some(Rate::ZERO));
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [1], "the first packet leaves at once");
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [0; 0]);
    assert_eq!(sender.out.next_timeout(&sender.paths), sender.path(P0).t3_rtx, "Time::MAX is no deadline");
}

/// A timer that is a little late each time costs no rate. Packets not queued at their time earn no credit.
#[test]
fn late_timers_cost_no_rate() {
    let late = |by: u64, count: usize| {
        let mut sender = paced(1);
        sender.path_mut(P0).controller.start(&StartState {
            cwnd: 1000 * PMDCS,
            ssthresh: None,
            pacing_rate: Some(Rate::from_mbps(12)),
        });
        sender.enqueue(100, FULL);
        let mut left = sender.tsns().len();
        for _ in 0..count {
            sender.time_out();
            sender.wait(Span::from_micros(by));
            left += sender.tsns().len();
        }
        (left, sender.now)
    };
    // The maximum for the time: one at once and one per millisecond.
    assert_eq!(late(0, 10), (11, ms(1010)));
    assert_eq!(late(1900, 10), (21, ms(1020) + Span::from_micros(900)));
    let (left, _) = late(50_000, 1);
    assert_eq!(left, 7, "five milliseconds late at most");
    // The window was full, or the queue empty, at the packet's time.
    let mut sender = paced(1);
    sender.enqueue(2, FULL);
    assert_eq!(sender.tsns(), [1]);
    sender.time_out();
    assert_eq!(sender.tsns(), [2]);
    sender.wait(Span::from_millis(4));
    sender.enqueue(3, FULL);
    assert_eq!(sender.tsns(), [3]);
}
