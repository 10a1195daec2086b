//! Loss classification (Park & Jang §2.1) and undone spurious timeouts (RFC 5682 §2.1) on SCTP paths.

use super::*;
use crate::outbound::SpuriousTimeouts;
use crate::stats::Verdicts;
use msctp_congestion::classifier::{Cause, ClassifierFactory, Evidence, LossClassifier};
use msctp_units::Span;

/// Classifier with the causes that a test sets; congestion for other TSNs.
#[derive(Debug, Default)]
struct Preset(Vec<(u32, Cause)>);

impl LossClassifier for Preset {
    fn name(&self) -> &'static str {
        "preset"
    }

    fn classify(&mut self, evidence: &Evidence) -> Cause {
        let known = self.0.iter().find(|(tsn, _)| *tsn == evidence.sequence);
        known.map_or(Cause::Congestion, |&(_, cause)| cause)
    }
}

fn preset(config: &mut Config) {
    config.loss_classifier = Some(ClassifierFactory::new(|()| Box::<Preset>::default()));
}

fn set_cause(sender: &mut Sender, tsn: u32, cause: Cause) {
    let classifier: &mut dyn std::any::Any = sender.out.loss_classifier_mut().unwrap();
    classifier.downcast_mut::<Preset>().unwrap().0.push((tsn, cause));
}

/// Returns a sender with 20 chunks in flight, in congestion avoidance, with preset causes of losses.
fn classified(change: impl FnOnce(&mut Config)) -> Sender {
    let mut sender = Sender::with(1, |config| {
        preset(config);
        change(config);
    });
    sender = sender.window(P0, 20);
    sender.enqueue(20, FULL);
    assert_eq!(sender.tsns().len(), 20);
    sender.wait(Span::from_millis(70));
    sender
}

fn three_misses_of_1(sender: &mut Sender) {
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
    }
}

#[test]
fn a_wireless_loss_is_retransmitted_without_a_window_reduction() {
    let mut sender = classified(|_| {});
    set_cause(&mut sender, 1, Cause::Wireless);
    sender.enqueue(20, FULL);
    for gap in [(2, 2), (2, 3), (2, 4)] {
        sender.sack(0, &[gap]);
        let again = gap == (2, 4);
        // Retransmissions replace the lost chunks, and each SACK allows one more packet.
        let expected = if again { 2 } else { 1 };
        assert_eq!(sender.tsns().len(), expected);
    }
    assert!(!sender.path(P0).in_fast_recovery());
    assert_eq!(sender.cwnd(P0), 20 * PMDCS);
    let path = sender.path(P0);
    assert_eq!((path.fast_retransmits, path.ld_recoveries), (1, 1));
    assert_eq!(sender.out.verdicts(), Verdicts { congestion: 0, wireless: 1 });
    // As in Fast Recovery, congestion avoidance continues (§7.2.2).
    sender.sack(0, &[(2, 23)]);
    assert_eq!(sender.cwnd(P0), 21 * PMDCS);
    sender.sack(23, &[]);
    sender.flush();
    sender.sack(40, &[]);
    assert!(sender.cwnd(P0) >= 20 * PMDCS);
}

#[test]
fn a_congestion_loss_or_an_unclassified_one_follows_rfc_9260() {
    for cause in [Some(Cause::Congestion), None] {
        let mut sender = classified(|_| {});
        if let Some(cause) = cause {
            set_cause(&mut sender, 1, cause);
        }
        three_misses_of_1(&mut sender);
        assert!(sender.path(P0).in_fast_recovery());
        assert_eq!(sender.cwnd(P0), 10 * PMDCS);
        assert_eq!(sender.path(P0).ld_recoveries, 0);
        assert_eq!(sender.out.verdicts(), Verdicts { congestion: 1, wireless: 0 });
    }
}

#[test]
fn a_verdict_applies_to_its_own_chunk_only() {
    let mut sender = classified(|_| {});
    set_cause(&mut sender, 2, Cause::Wireless);
    three_misses_of_1(&mut sender);
    assert!(sender.path(P0).in_fast_recovery());
}

#[test]
fn in_slow_start_the_classifier_is_not_called() {
    let mut slow = Sender::with(1, preset);
    let start = StartState { cwnd: 20 * PMDCS, ssthresh: Some(40 * PMDCS), pacing_rate: None };
    slow.path_mut(P0).controller.start(&start);
    set_cause(&mut slow, 1, Cause::Wireless);
    let mut plain = Sender::new(1).window(P0, 20);
    for sender in [&mut slow, &mut plain] {
        sender.enqueue(20, FULL);
        sender.flush();
        three_misses_of_1(sender);
        assert_eq!(sender.out.verdicts(), Verdicts::default());
        assert!(sender.cwnd(P0) < 11 * PMDCS, "cut");
    }
}

#[test]
fn a_congestion_loss_in_ld_recovery_starts_fast_recovery() {
    let mut sender = classified(|_| {});
    set_cause(&mut sender, 1, Cause::Wireless);
    set_cause(&mut sender, 6, Cause::Congestion);
    three_misses_of_1(&mut sender);
    sender.flush();
    for last in [7, 8, 9] {
        sender.sack(0, &[(2, 5), (7, last)]);
    }
    assert!(sender.path(P0).in_fast_recovery(), "a congestion loss in LD recovery starts Fast Recovery");
    assert_eq!(sender.cwnd(P0), 10 * PMDCS);
}

// Spurious timeouts

/// Returns a sender with 20 chunks in flight whose T3-rtx has expired. The first was retransmitted; more data
/// is queued.
fn timed_out(change: impl FnOnce(&mut Config)) -> Sender {
    let mut sender = classified(|config| {
        config.spurious_timeouts = SpuriousTimeouts::Undo;
        change(config);
    });
    sender.enqueue(20, FULL);
    assert_eq!(sender.time_out(), ms(2000));
    assert_eq!(sender.cwnd(P0), PMDCS);
    assert_eq!(sender.tsns(), [1]);
    sender
}

#[test]
fn a_spurious_timeout_is_detected_and_undone() {
    let mut sender = timed_out(|config| config.spurious_timeouts = SpuriousTimeouts::UndoAndRestartRtt);
    sender.wait(Span::from_millis(50));
    // The SACKs of the first transmission arrive late, each for two packets.
    sender.sack(2, &[]);
    assert_eq!(sender.tsns(), [21, 22], "(2b): new data, no marked chunk");
    sender.sack(4, &[]);
    assert_eq!(sender.path(P0).spurious_timeouts, 1, "(3b)");
    assert!(sender.cwnd(P0) >= 20 * PMDCS);
    assert_eq!(sender.path(P0).flight_size, 18 * PMDCS, "5 to 22");
    let sent = sender.tsns();
    assert_eq!(sent.first(), Some(&23), "continues with new data");
    for cum in [6, 8, 10, 12, 14, 16, 18, 20] {
        sender.sack(cum, &[]);
        assert!(sender.tsns().iter().all(|&tsn| tsn > 22), "no retransmission");
    }
    let before = sender.path(P0).rtt.rtt_min().unwrap_or_default();
    sender.wait(Span::from_millis(300));
    sender.sack(22, &[]);
    let times = sender.path(P0).rtt.round_trips().unwrap();
    assert_ne!(times.least, before);
    assert_eq!((times.least, times.average), (Span::from_millis(300), Span::from_millis(300)));
    assert_eq!(times.deviation, Span::from_millis(150));
}

#[test]
fn a_genuine_timeout_follows_rfc_9260() {
    // (2a): the retransmitted chunk was the only one missing
    let mut all = timed_out(|_| {});
    all.sack(20, &[]);
    assert_eq!(all.path(P0).spurious_timeouts, 0);
    // (2a): a SACK that does not advance the Cumulative TSN Ack
    let mut duplicate = timed_out(|_| {});
    duplicate.sack(0, &[(2, 2)]);
    duplicate.sack(2, &[]);
    assert_eq!(duplicate.tsns(), [3, 4], "slow start with the marked chunks");
    // (3a): the new data reveals the next gap
    let mut hole = timed_out(|_| {});
    hole.sack(1, &[]);
    assert_eq!(hole.tsns(), [21, 22]);
    hole.sack(1, &[(20, 20)]);
    hole.sack(1, &[(20, 21)]);
    assert_eq!(hole.tsns()[0], 2, "the marked chunks are retransmitted now");
    for sender in [&duplicate, &hole] {
        assert_eq!(sender.path(P0).spurious_timeouts, 0);
        assert!(sender.cwnd(P0) < 5 * PMDCS);
    }
}

#[test]
fn without_new_data_a_timeout_is_not_undone() {
    let mut sender = classified(|config| config.spurious_timeouts = SpuriousTimeouts::Undo);
    sender.time_out();
    assert_eq!(sender.tsns(), [1]);
    sender.sack(2, &[]);
    assert_eq!(sender.tsns(), [3, 4]);
    assert_eq!(sender.path(P0).spurious_timeouts, 0);
}

#[test]
fn f_rto_is_off_unless_configured() {
    let mut sender = timed_out(|config| config.spurious_timeouts = SpuriousTimeouts::Ignore);
    sender.sack(2, &[]);
    assert_eq!(sender.tsns(), [3, 4]);
    sender.sack(4, &[]);
    assert_eq!((sender.path(P0).spurious_timeouts, sender.cwnd(P0) < 5 * PMDCS), (0, true));
}

#[test]
fn f_rto_ignores_a_second_timeout_and_one_retransmitted_elsewhere() {
    let mut again = timed_out(|_| {});
    again.time_out();
    again.flush();
    again.sack(2, &[]);
    again.sack(4, &[]);
    assert_eq!(again.path(P0).spurious_timeouts, 0);
    let mut elsewhere =
        Sender::with(2, |config| config.spurious_timeouts = SpuriousTimeouts::Undo).window(P0, 20);
    elsewhere.enqueue(40, FULL);
    elsewhere.flush();
    elsewhere.time_out();
    elsewhere.flush();
    elsewhere.sack(2, &[]);
    elsewhere.sack(4, &[]);
    assert_eq!(elsewhere.path(P0).spurious_timeouts, 0, "RFC 9260 §6.4: retransmitted on the other path");
}

#[test]
fn f_rto_ignores_a_timeout_in_ld_recovery() {
    let mut sender = classified(|config| config.spurious_timeouts = SpuriousTimeouts::Undo);
    set_cause(&mut sender, 1, Cause::Wireless);
    three_misses_of_1(&mut sender);
    sender.enqueue(20, FULL);
    sender.flush();
    sender.time_out();
    sender.flush();
    sender.sack(5, &[]);
    sender.flush();
    sender.sack(7, &[]);
    assert_eq!(sender.path(P0).spurious_timeouts, 0);
}
