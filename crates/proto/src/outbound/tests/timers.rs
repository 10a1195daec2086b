//! T3-rtx and the zero window probe: RFC 9260 §6.1 A, §6.3, §6.4.1.

use super::*;
use crate::outbound::RetransmissionPath;
use crate::path::PathEvent;
use msctp_congestion::{Ack, Controller, Loss, Window};
use msctp_units::{Rate, Span};
use std::sync::{Arc, Mutex};

fn events(sender: &mut Sender) -> Vec<PathEvent> {
    core::iter::from_fn(|| sender.paths.poll_event()).collect()
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# if the T3-rtx timer of that address is not currently running, the sender MUST start that timer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# Otherwise, the data sender MUST NOT restart the timer.
#[test]
fn rfc9260_6_3_2_start_restart_stop() {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(2, FULL);
    sender.flush();
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2000)), "R1");
    sender.wait(Span::from_millis(100));
    sender.enqueue(2, FULL);
    sender.flush();
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2000)), "R1: it is running");
    sender.sack(0, &[(2, 3)]);
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2000)), "R3: not the earliest");
    sender.sack(1, &[(1, 2)]);
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2100)), "R3");
    sender.sack(4, &[]);
    assert_eq!(sender.path(P0).t3_rtx, None, "R2");
}

#[test]
fn rfc9260_6_3_2_r3_restarts_t3_rtx_for_the_earliest_chunk_of_each_path() {
    let mut sender = Sender::new(2).window(P0, 2).window(P1, 2);
    sender.enqueue(4, FULL);
    sender.flush();
    sender.paths.set_primary(P1).unwrap();
    sender.flush();
    sender.wait(Span::from_millis(100));
    // 3 is the earliest on P1; 1 is still on P0
    sender.sack(0, &[(3, 3)]);
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2000)));
    assert_eq!(sender.path(P1).t3_rtx, Some(ms(2100)));
}

#[test]
fn rfc9260_6_3_3_a_measurement_that_ends_a_back_off_restarts_t3_rtx() {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(4, FULL);
    sender.flush();
    for expired in [2, 4, 8, 16] {
        assert_eq!(sender.time_out(), ms(expired * 1000));
        sender.flush();
    }
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(32_000)), "E2");
    sender.wait(Span::from_secs(1));
    let now = sender.now;
    sender.path_mut(P0).measure_round_trip(now, Span::from_millis(20));
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(18_000)), "RTO.Min after the measurement");
    // A later measurement ends no back-off: T3-rtx goes on.
    sender.wait(Span::from_millis(500));
    let now = sender.now;
    sender.path_mut(P0).measure_round_trip(now, Span::from_millis(20));
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(18_000)));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
//= type=test
//# The initial cwnd after a retransmission timeout MUST be no more than PMDCS
#[test]
fn rfc9260_6_3_3_one_packet_of_the_earliest_then_slow_start() {
    let mut sender = Sender::new(1).window(P0, 20);
    sender.enqueue(10, FULL);
    sender.enqueue(10, 100);
    sender.flush();
    assert_eq!(sender.time_out(), ms(2000));
    let window = sender.path(P0).controller.window();
    assert_eq!((window.cwnd, window.ssthresh), (PMDCS, 10 * PMDCS), "E1");
    assert_eq!(sender.path(P0).rtt.rto(), Span::from_secs(2), "E2");
    assert_eq!((sender.path(P0).flight_size, sender.out.rwnd()), (0, 1 << 20), "§6.2.1 C");
    assert_eq!((sender.path(P0).error_count(), sender.paths.assoc_error_count()), (1, 1), "§8.1, §8.2");
    assert_eq!(sender.tsns(), [1], "E3");
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(4000)), "E4");
    sender.sack(1, &[]);
    assert_eq!(sender.paths.assoc_error_count(), 0, "§8.1");
    assert_eq!(sender.tsns(), [2, 3]);
    // the small ones: as many as fit
    sender.sack(9, &[]);
    assert_eq!(sender.tsns(), (10..=20).collect::<Vec<_>>());
}

#[test]
fn rfc9260_7_2_1_one_packet_in_flight_after_a_timeout() {
    let mut sender = Sender::new(1).window(P0, 20);
    sender.enqueue(1, 700);
    sender.flush();
    sender.time_out();
    assert_eq!(sender.tsns(), [1]);
    sender.enqueue(5, 700);
    assert_eq!(sender.tsns(), [0; 0], "716 bytes are in flight, cwnd would allow more");
    sender.sack(1, &[]);
    // cwnd is still 1468 because it was not fully used: 1432 bytes are below it
    assert_eq!(sender.tsns(), [2, 3, 4]);
}

#[test]
fn rfc9260_6_4_timed_out_data_goes_to_another_path() {
    let mut sender = Sender::new(2).window(P0, 3);
    sender.enqueue(5, FULL);
    assert_eq!(sender.tsns(), [1, 2, 3]);
    sender.time_out();
    // E3 on the alternate, whose own window is 3 packets, and one new packet on the primary
    let sent = sender.flush();
    let on = |path| sent.iter().filter(|(p, _)| *p == path).map(|(_, c)| c[0].tsn).collect::<Vec<_>>();
    assert_eq!(on(P1), [1, 2, 3]);
    assert_eq!(on(P0), [4]);
    assert_eq!(sender.path(P1).t3_rtx, Some(ms(3000)), "E4: the RTO of the path it goes to");
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(4000)));
    // An acknowledgement is credited to the path of the last transmission (§8.2).
    sender.sack(3, &[]);
    assert_eq!((sender.path(P0).error_count(), sender.paths.assoc_error_count()), (1, 0));
    assert_eq!(sender.path(P0).flight_size, PMDCS);
}

#[test]
fn rfc9260_6_3_3_e3_ignores_the_window_of_the_other_path_for_one_packet() {
    let mut sender = Sender::new(2).window(P0, 3).window(P1, 1);
    sender.paths.set_primary(P1).unwrap();
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [1]);
    sender.paths.set_primary(P0).unwrap();
    sender.wait(Span::from_millis(100));
    sender.enqueue(3, FULL);
    assert_eq!(sender.tsns(), [2, 3, 4]);
    sender.path_mut(P1).t3_rtx = Some(ms(9000));
    sender.time_out();
    // P1 is full
    assert_eq!(sender.flush(), [(P1, vec![Seen { tsn: 2, len: FULL, immediate: false }])]);
}

#[test]
fn timed_out_data_stays_on_a_usable_path_if_configured() {
    let mut sender =
        Sender::with(2, |config| config.retransmission_path = RetransmissionPath::Same).window(P0, 2);
    sender.enqueue(2, FULL);
    sender.flush();
    for _ in 0..=5 {
        assert_eq!(sender.path(P0).state(), crate::stats::PathState::Active);
        sender.time_out();
        let paths: Vec<_> = sender.flush().iter().map(|(path, _)| *path).collect();
        assert_eq!(paths[0], if sender.path(P0).is_usable() { P0 } else { P1 });
    }
    assert_eq!(sender.path(P0).state(), crate::stats::PathState::Inactive, "§8.2");
}

#[test]
fn rfc9260_6_4_1_marked_chunks_leave_a_failed_path() {
    let mut sender = Sender::new(2).window(P0, 6);
    sender.enqueue(6, FULL);
    sender.flush();
    for (gap, _) in [(4, 4), (4, 5), (4, 6)].into_iter().zip(0..) {
        sender.sack(0, &[gap]);
    }
    // Marked for P0.
    sender.paths.set_link(&IpAddr::from([10, 0, 0, 1]), false, sender.now);
    assert_eq!(sender.flush()[0].0, P0, "no path is usable: retries continue");
    let mut sender = Sender::new(2).window(P0, 6);
    sender.enqueue(6, FULL);
    sender.flush();
    for gap in [(4, 4), (4, 5), (4, 6)] {
        sender.sack(0, &[gap]);
    }
    for _ in 0..=5 {
        sender.paths.on_timeout(P0);
    }
    assert!(sender.flush().iter().all(|(path, _)| *path == P1));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.3.1
//= type=test
//# a new RTT measurement MUST be made each round trip.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.3.1
//= type=test
//# RTT measurements MUST NOT be made using chunks that were retransmitted
#[test]
fn rfc9260_6_3_1_c4_c5_one_measurement_per_round_trip_none_of_retransmissions() {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(4, FULL);
    sender.flush();
    sender.wait(Span::from_millis(50));
    sender.enqueue(1, FULL);
    sender.flush();
    sender.wait(Span::from_millis(20));
    // Chunk 1 is measured: 70 ms. Chunk 5, sent meanwhile, is not.
    sender.sack(1, &[]);
    assert_eq!(sender.path(P0).rtt.latest(), Some(Span::from_millis(70)));
    sender.sack(5, &[]);
    assert_eq!(sender.path(P0).rtt.srtt(), Some(Span::from_millis(70)));
    // C5: chunk 6 is retransmitted
    sender.enqueue(1, FULL);
    sender.flush();
    sender.time_out();
    sender.flush();
    sender.wait(Span::from_millis(500));
    sender.sack(6, &[]);
    assert_eq!(sender.path(P0).rtt.latest(), Some(Span::from_millis(70)));
}

#[test]
fn rfc9260_6_3_1_c5_a_retransmission_below_spoils_the_measurement() {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(5, FULL);
    sender.flush();
    sender.wait(Span::from_millis(70));
    sender.sack(1, &[]);
    // 6 is measured now
    sender.enqueue(1, FULL);
    sender.flush();
    assert_eq!(sender.path(P0).rtt_slot.map(|slot| slot.tsn), Some(6));
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(1, &[gap]);
    }
    assert_eq!(sender.tsns(), [2]);
    assert_eq!(sender.path(P0).rtt_slot, None);
}

/// Records the round trips reported to it; has a window of a fixed number of packets.
#[derive(Debug)]
struct RecordRoundTrips(Arc<Mutex<Vec<Option<Span>>>>, u64);

impl Controller for RecordRoundTrips {
    fn name(&self) -> &'static str {
        "record-round-trips"
    }
    fn window(&self) -> Window {
        Window { cwnd: self.1 * PMDCS, ssthresh: u64::MAX, partial_bytes_acked: 0 }
    }
    fn one_packet_in_flight(&self) -> bool {
        false
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.0.lock().unwrap().push(ack.rtt);
    }
    fn on_loss(&mut self, _: &Loss) {}
    fn on_recovery_exit(&mut self, _: Time) {}
    fn on_spurious_timeout(&mut self, _: Time) {}
    fn on_idle(&mut self, _: u64) {}
    fn start(&mut self, _: &StartState) {}
    fn reset(&mut self) {}
    fn on_pmtu(&mut self, _: u64) {}
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

#[test]
fn each_sack_passes_controllers_a_round_trip_except_for_retransmissions() {
    let round_trips = Arc::new(Mutex::new(Vec::new()));
    let mut sender = Sender::new(1);
    sender.path_mut(P0).controller = Box::new(RecordRoundTrips(round_trips.clone(), 100));
    for _ in 0..4 {
        sender.enqueue(1, FULL);
        sender.flush();
        sender.wait(Span::from_millis(10));
    }
    // Sent 40, 30, 20 and 10 ms ago: the latest chunk of a SACK counts.
    sender.sack(1, &[]);
    sender.sack(1, &[(2, 2)]);
    sender.sack(3, &[]);
    sender.enqueue(1, FULL);
    sender.flush();
    sender.time_out();
    sender.flush();
    sender.sack(5, &[]);
    let millis: Vec<_> = round_trips.lock().unwrap().iter().map(|rtt| rtt.map(Span::as_millis)).collect();
    assert_eq!(millis, [Some(40), Some(20), Some(30), None]);
}

/// Fills the peer's window and keeps it closed.
fn closed_window() -> Sender {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(3, FULL);
    sender.flush();
    sender.enqueue(3, FULL);
    sender.a_rwnd = 0;
    sender.wait(Span::from_millis(70));
    sender.sack(3, &[]);
    assert_eq!(sender.tsns(), [0; 0]);
    sender
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# Senders MUST support zero window probing.
#[test]
fn rfc9260_6_1_a_zero_window_is_probed_after_one_rto_then_exponentially() {
    let mut sender = closed_window();
    assert_eq!(sender.out.next_timeout(&sender.paths), Some(ms(2070)), "1 RTO after the window closed");
    assert_eq!(sender.tsns(), [0; 0]);
    sender.time_out();
    assert_eq!(sender.tsns(), [4], "one chunk");
    // "the cwnd SHOULD be adjusted according to Section 7.2.1": an RTO passed without data
    let cwnd = sender.cwnd(P0);
    assert_eq!(cwnd, 5 * PMDCS);
    for (seconds, _) in [1, 2, 4, 8].into_iter().zip(0..) {
        let sent_at = sender.now;
        sender.wait(Span::from_millis(70));
        sender.sack(3, &[]);
        assert_eq!(sender.tsns(), [0; 0]);
        assert_eq!(sender.time_out(), sent_at + Span::from_secs(seconds));
        assert_eq!(sender.tsns(), [4]);
    }
    // the peer keeps answering: no error, no effect on cwnd
    assert_eq!((sender.paths.assoc_error_count(), sender.path(P0).error_count()), (0, 0));
    assert_eq!(sender.cwnd(P0), cwnd);
    assert_eq!(events(&mut sender), []);
    // The window opens: the zero window probe, which was dropped, is retransmitted at once.
    sender.a_rwnd = 100_000;
    sender.sack(3, &[]);
    assert_eq!(sender.tsns(), [4, 5, 6]);
    sender.sack(6, &[]);
    assert!(sender.out.is_drained());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# A zero window probe MUST only be sent when the cwnd allows
#[test]
fn rfc9260_6_1_a_a_zero_window_is_probed_only_within_cwnd() {
    let mut sender = closed_window();
    let with_window = |packets| Box::new(RecordRoundTrips(Arc::default(), packets));
    sender.path_mut(P0).controller = with_window(0);
    sender.time_out();
    assert_eq!(sender.tsns(), [0; 0], "the zero window probe is due, and cwnd is full");
    sender.path_mut(P0).controller = with_window(1);
    assert_eq!(sender.tsns(), [4]);
}

#[test]
fn rfc9260_6_1_a_an_accepted_probe_is_followed_by_another() {
    let mut sender = closed_window();
    sender.time_out();
    assert_eq!(sender.tsns(), [4]);
    sender.sack(4, &[]);
    assert_eq!(sender.tsns(), [0; 0]);
    sender.time_out();
    assert_eq!(sender.tsns(), [5]);
}

#[test]
fn rfc9260_6_1_a_unanswered_probes_are_errors() {
    let mut sender = closed_window();
    sender.time_out();
    sender.flush();
    for count in 1..=10 {
        sender.time_out();
        assert_eq!(sender.paths.assoc_error_count(), count);
        sender.flush();
    }
    sender.time_out();
    assert!(events(&mut sender).contains(&PathEvent::PeerUnreachable));
}

#[test]
fn a_timeout_ends_fast_recovery_so_that_slow_start_can_grow() {
    let mut sender = Sender::new(1).window(P0, 10);
    sender.enqueue(10, FULL);
    sender.flush();
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
    }
    sender.flush();
    assert!(sender.path(P0).in_fast_recovery());
    sender.time_out();
    assert!(!sender.path(P0).in_fast_recovery());
    assert_eq!(sender.tsns(), [1]);
    sender.sack(4, &[]);
    assert_eq!(sender.cwnd(P0), 2 * PMDCS);
    assert_eq!(sender.tsns(), [5, 6]);
}

#[test]
fn rfc9260_8_2_an_acknowledgement_of_a_chunk_sent_on_two_paths_credits_neither() {
    let mut sender = Sender::new(2).window(P0, 4).window(P1, 4);
    sender.enqueue(2, FULL);
    sender.flush();
    sender.time_out();
    assert_eq!(sender.flush()[0].0, P1, "§6.4");
    sender.paths.on_timeout(P1);
    sender.sack(1, &[]);
    assert_eq!((sender.path(P0).error_count(), sender.path(P1).error_count()), (1, 1));
    assert_eq!(sender.paths.assoc_error_count(), 0, "§8.1: the peer answers");
    // Data sent on one path only is credited to it.
    sender.sack(2, &[]);
    sender.enqueue(1, FULL);
    assert_eq!(sender.flush()[0].0, P0);
    sender.sack(3, &[]);
    assert_eq!((sender.path(P0).error_count(), sender.path(P1).error_count()), (0, 1));
}

#[test]
fn rfc7829_3_2_chunks_sent_before_a_timeout_do_not_prove_that_the_path_works() {
    let mut sender = Sender::new(2).window(P0, 4).window(P1, 1);
    sender.enqueue(3, FULL);
    sender.flush();
    sender.time_out();
    // 1 is retransmitted on P1. The acknowledgement of 2 and 3 is new, but of old transmissions.
    assert_eq!(sender.tsns(), [1]);
    sender.sack(0, &[(2, 3)]);
    assert_eq!(sender.path(P0).error_count(), 1);
    // An acknowledgement of data sent there afterwards is credited.
    sender.sack(3, &[]);
    sender.enqueue(1, FULL);
    assert_eq!(sender.flush()[0].0, P0);
    sender.sack(4, &[]);
    assert_eq!(sender.path(P0).error_count(), 0);
}

// RFC 9260 §6.1 A: "If the sender continues to receive SACK chunks from the peer while doing zero window
// probing, the unacknowledged window probes SHOULD NOT increment the error counter".
#[test]
fn chunks_that_the_peer_has_no_room_for_are_no_errors_while_it_sends_sacks() {
    let mut sender = Sender::new(2);
    sender.enqueue(3, 100);
    sender.flush();
    sender.a_rwnd = 0;
    for _ in 0..20 {
        sender.sack(0, &[]);
        sender.now = sender.path(P0).t3_rtx.unwrap();
        sender.out.handle_timeout(sender.now, &mut sender.paths);
        let sent = sender.flush();
        assert!(sent.iter().all(|(path, _)| *path == P0), "the path works: {sent:?}");
    }
    assert_eq!((sender.path(P0).error_count(), sender.paths.assoc_error_count()), (0, 0));
    sender.now = sender.path(P0).t3_rtx.unwrap();
    sender.out.handle_timeout(sender.now, &mut sender.paths);
    assert_eq!((sender.path(P0).error_count(), sender.paths.assoc_error_count()), (1, 1), "no SACK");
}
