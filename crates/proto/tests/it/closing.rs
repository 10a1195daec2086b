//! Shutdown (RFC 9260 §9.2) and abort (§9.1) between two endpoints.

use crate::support;

use msctp_proto::{AbortReason, AssociationState as State, Config, Event, LossReason, SendError};
use msctp_units::Span;
use msctp_wire::{Heartbeat, Param, Params};
use support::{Pair, Side, a_ip, b_ip, chunk, message, packet, text_message};

fn pair() -> Pair {
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    pair
}

fn shut(pair: &mut Pair, side: Side) {
    pair.with(side, |association, now| association.shutdown(now));
}

fn assert_both_closed(pair: &Pair, what: &str) {
    for (name, host) in [("A", &pair.a), ("B", &pair.b)] {
        assert_eq!(host.events.last(), Some(&Event::Closed), "{name} {what}");
        assert_eq!(host.endpoint.len(), 0, "{name} {what}");
        assert_eq!(host.endpoint.poll_timeout(), None, "{name} {what}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# they MUST be implemented by the data receiver, i.e., an endpoint MUST properly receive and process bundled
//# or fragmented data.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# If the receiver of the SHUTDOWN chunk has no more outstanding DATA chunks, the SHUTDOWN chunk receiver
//# MUST send a SHUTDOWN ACK chunk and start a T2-shutdown timer of its own, entering the SHUTDOWN-ACK- SENT
//# state.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# Upon the receipt of the SHUTDOWN ACK chunk, the sender of the SHUTDOWN chunk MUST stop the T2-shutdown
//# timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove all record of the association.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.8
//= type=test
//# An endpoint in an association MUST use this chunk to initiate a graceful close of the association with
//# its peer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.9
//= type=test
//# This chunk MUST be used to acknowledge the receipt of the SHUTDOWN chunk at the completion of the
//# shutdown process
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.13
//= type=test
//# This chunk MUST be used to acknowledge the receipt of the SHUTDOWN ACK chunk at the completion of the
//# shutdown process
#[test]
fn a_shutdown_delivers_all_messages_of_both_ends() {
    for side in [Side::A, Side::B] {
        let mut pair = pair();
        for n in 0..200u32 {
            pair.send(Side::A, message(0, n.to_be_bytes().to_vec()));
            pair.send(Side::B, message(0, n.to_be_bytes().to_vec()));
        }
        shut(&mut pair, side);
        let refused = pair.with(side, |association, now| association.send(now, text_message("late")));
        assert_eq!(refused, Err(SendError::Closed));
        pair.run_for(Span::from_secs(10));
        assert_both_closed(&pair, "");
        assert_eq!((pair.a.received.len(), pair.b.received.len()), (200, 200));
        assert!(pair.host(side.other()).saw(|e| *e == Event::PeerShutdown));
        assert!(!pair.a.saw(|e| matches!(e, Event::SendFailed(_))));
        let chunks: Vec<u8> = pair.log.as_ref().unwrap().iter().flat_map(|f| f.chunks()).collect();
        let order: Vec<u8> = chunks.into_iter().filter(|c| matches!(c, 7 | 8 | 14)).collect();
        assert_eq!(order, [chunk::SHUTDOWN, chunk::SHUTDOWN_ACK, chunk::SHUTDOWN_COMPLETE]);
    }
}

#[test]
fn lost_chunks_of_the_shutdown_are_retransmitted() {
    for (from, lost) in [
        (Side::A, chunk::SHUTDOWN),
        (Side::B, chunk::SHUTDOWN_ACK),
        (Side::A, chunk::SHUTDOWN_COMPLETE),
        (Side::A, chunk::DATA),
        (Side::B, chunk::SACK),
    ] {
        for count in 1..=4 {
            let mut pair = pair();
            pair.drop_first(from, lost, count);
            for n in 0..10u32 {
                pair.send(Side::A, message(0, n.to_be_bytes().to_vec()));
            }
            shut(&mut pair, Side::A);
            pair.run_for(Span::from_secs(60));
            assert_both_closed(&pair, &format!("{lost} lost {count} times"));
            assert_eq!(pair.b.received.len(), 10);
        }
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# If an endpoint is in the SHUTDOWN-ACK-SENT state and receives a SHUTDOWN ACK, it MUST stop the T2-shutdown
//# timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove all record of the association.
#[test]
fn both_ends_can_shut_down_at_once() {
    for lost in [None, Some(chunk::SHUTDOWN), Some(chunk::SHUTDOWN_ACK), Some(chunk::SHUTDOWN_COMPLETE)] {
        for loser in [Side::A, Side::B] {
            let mut pair = pair();
            if let Some(lost) = lost {
                pair.drop_first(loser, lost, 1);
            }
            shut(&mut pair, Side::A);
            shut(&mut pair, Side::B);
            pair.run_for(Span::from_secs(60));
            assert_both_closed(&pair, &format!("{lost:?} lost from {loser:?}"));
        }
    }
}

#[test]
fn data_received_in_shutdown_sent_is_answered_by_a_shutdown() {
    let mut pair = pair();
    // B's data crosses A's SHUTDOWN.
    shut(&mut pair, Side::A);
    for n in 0..20u32 {
        pair.send(Side::B, message(0, [&n.to_be_bytes()[..], &[0; 1000]].concat()));
    }
    let before = pair.log_len();
    assert_eq!(pair.a.state(), Some(State::ShutdownSent));
    pair.run_for(Span::from_millis(30));
    let answers = pair.sent_since(Side::A, before);
    // A HEARTBEAT ACK answers B's PMTU probe.
    assert!(
        answers.iter().any(|f| f.has(chunk::SHUTDOWN))
            && answers.iter().filter(|f| !f.has(chunk::HEARTBEAT_ACK)).all(|f| f.has(chunk::SHUTDOWN)),
        "{answers:?}"
    );
    pair.run_for(Span::from_secs(5));
    assert_both_closed(&pair, "");
    assert_eq!(pair.a.received.len(), 20);
}

/// RFC 9260 §8.3 demands an answer "up until" this state. In this state B may still have data, and may have
/// to verify its only path to A.
#[test]
fn a_heartbeat_is_answered_in_shutdown_sent() {
    let mut pair = pair();
    pair.drop_if(|flight| flight.has(chunk::SHUTDOWN));
    pair.send(Side::B, text_message("one of B's packets"));
    pair.run_for(Span::from_secs(1));
    shut(&mut pair, Side::A);
    assert_eq!(pair.a.state(), Some(State::ShutdownSent));
    let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&heartbeat]));
    let sent: Vec<u8> = pair.sent_since(Side::A, before).iter().flat_map(|flight| flight.chunks()).collect();
    assert_eq!(sent, [chunk::HEARTBEAT_ACK]);
}

/// RFC 9260 §9.2, §6.2: B does not answer, so that it still has data and may have missed the window update.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# The rules in Section 6.3 MUST be followed to determine the proper timer value for T2-shutdown.
#[test]
fn a_retransmitted_shutdown_reports_the_window() {
    let mut pair = pair();
    pair.drop_if(|_| true);
    shut(&mut pair, Side::A);
    pair.run_for(Span::from_secs(8));
    let sent: Vec<Vec<u8>> = pair.sent_since(Side::A, 0).iter().map(|flight| flight.chunks()).collect();
    let again = vec![chunk::SACK, chunk::SHUTDOWN];
    assert_eq!(sent, [vec![chunk::SHUTDOWN], again.clone(), again.clone(), again]);
}

#[test]
fn a_peer_that_vanishes_during_the_shutdown_is_unreachable() {
    let config = Config { assoc_max_retrans: 3, rto_max: Span::from_secs(4), ..Config::default() };
    let mut pair = Pair::established(config);
    pair.drop_if(|flight| flight.from == Side::B);
    shut(&mut pair, Side::A);
    pair.run_for(Span::from_secs(60));
    assert_eq!(pair.a.events.last(), Some(&Event::Lost(LossReason::PeerUnreachable)));
    assert_eq!(pair.a.endpoint.len(), 0);
}

#[test]
fn the_guard_timer_ends_a_delayed_shutdown() {
    // B keeps answering, but never acknowledges the SHUTDOWN: T2 restarts, T5 does not.
    let config =
        Config { rto_max: Span::from_secs(2), hb_interval: Span::from_millis(200), ..Config::default() };
    let mut pair = Pair::established(config);
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| {
        flight.has(chunk::SHUTDOWN_ACK) || flight.from == Side::A && flight.has(chunk::SHUTDOWN)
    });
    shut(&mut pair, Side::A);
    pair.run_for(Span::from_secs(9));
    assert_eq!(pair.a.state(), Some(State::ShutdownSent));
    pair.run_for(Span::from_secs(3));
    // RFC 9260 §9.2: 5 times RTO.Max.
    assert_eq!(pair.a.events.last(), Some(&Event::Lost(LossReason::ShutdownTimeout)));
    assert!(pair.b.saw(|e| matches!(e, Event::Lost(LossReason::PeerAborted { .. }))));
}

#[test]
fn a_shutdown_requested_during_set_up_waits_until_it_is_complete() {
    let mut pair = Pair::new(Config::default(), vec![support::b_ip(0)]);
    pair.connect(Config::default(), vec![support::a_ip(0)], vec![support::b_ip(0)]);
    pair.send(Side::A, text_message("in and out"));
    shut(&mut pair, Side::A);
    let refused = pair.with(Side::A, |a, now| a.send(now, text_message("late")));
    assert_eq!(refused, Err(SendError::Closed));
    pair.run_for(Span::from_secs(5));
    assert_both_closed(&pair, "");
    assert_eq!(pair.b.received.len(), 1);
}

#[test]
fn an_init_after_a_lost_shutdown_complete_gets_the_shutdown_ack_retransmitted() {
    // RFC 9260 §9.2.
    let mut pair = pair();
    pair.drop_first(Side::A, chunk::SHUTDOWN_COMPLETE, 1);
    shut(&mut pair, Side::A);
    pair.run_for(Span::from_millis(100));
    assert_eq!(pair.b.state(), Some(State::ShutdownAckSent));
    pair.a.events.clear();
    pair.connect(Config::default(), vec![support::a_ip(0)], vec![support::b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    assert_eq!(pair.a.state(), Some(State::Established));
    assert_eq!(pair.b.state(), Some(State::Established), "a new association at B");
    pair.transfer(Side::A, 5, 100, Span::from_secs(5));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# The endpoint MUST always fill in the Verification Tag field of the outbound packet with the destination
//# endpoint's tag value if it is known.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
//= type=test
//# When an endpoint decides to abort an existing association, it MUST send an ABORT chunk to its peer
//# endpoint.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
//= type=test
//# An endpoint MUST NOT respond to any received packet that contains an ABORT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
//= type=test
//# the receiving endpoint MUST remove the association from its record
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
//= type=test
//# The sender MUST fill in the peer's Verification Tag in the outbound packet and MUST NOT bundle any DATA
//# chunk with the ABORT chunk.
#[test]
fn an_abort_carries_its_reason_and_reports_undelivered_messages() {
    for side in [Side::A, Side::B] {
        let mut pair = pair();
        pair.drop_if(|flight| flight.has(chunk::DATA));
        pair.send(side, text_message("doomed"));
        pair.run_for(Span::from_millis(100));
        let reason = AbortReason { code: (side == Side::A).then_some(7), ..AbortReason::from("enough") };
        pair.with(side, |association, now| association.abort(now, &reason));
        assert_eq!(pair.host(side).events.last(), Some(&Event::Lost(LossReason::Aborted)));
        assert!(
            pair.host(side).saw(|e| matches!(e, Event::SendFailed(f) if &f.message.data[..] == b"doomed"))
        );
        let abort = pair.sent_since(side, 0).pop().unwrap();
        assert_eq!((abort.chunks(), abort.tag()), (vec![chunk::ABORT], pair.tag_of(side.other())));
        let before = pair.log_len();
        pair.run_for(Span::from_secs(2));
        let lost = LossReason::PeerAborted { cause: Some(12), code: reason.code, reason: reason.reason };
        assert_eq!(pair.host(side.other()).events.last(), Some(&Event::Lost(lost)));
        assert_eq!(pair.log_len(), before, "an ABORT is not answered");
        assert_eq!((pair.a.endpoint.len(), pair.b.endpoint.len()), (0, 0));
    }
}

#[test]
fn an_abort_before_the_peer_is_known_sends_nothing() {
    let mut pair = Pair::new(Config::default(), vec![support::b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.drop_if(|_| true);
    pair.connect(Config::default(), vec![support::a_ip(0)], vec![support::b_ip(0)]);
    pair.with(Side::A, |a, now| a.abort(now, &AbortReason::default()));
    pair.run_for(Span::from_secs(5));
    assert_eq!(pair.log_len(), 1, "the INIT");
    assert_eq!(pair.a.endpoint.len(), 0);
}

#[test]
fn an_abort_reason_of_any_length_fits_a_packet() {
    for code in [None, Some(u32::MAX)] {
        let mut pair = pair();
        let reason = AbortReason { code, reason: vec![b'x'; 100_000].into() };
        pair.with(Side::A, |a, now| a.abort(now, &reason));
        pair.run_for(Span::from_secs(1));
        let Some(Event::Lost(LossReason::PeerAborted { cause: Some(12), code: told, reason })) =
            pair.b.events.last()
        else {
            panic!("{:?}", pair.b.events.last())
        };
        assert_eq!(*told, code);
        assert!(!reason.is_empty() && reason.iter().all(|byte| *byte == b'x'));
    }
}

/// RFC 9260 §5.4: a SHUTDOWN ACK must not go to an unconfirmed address, and no other address remains.
#[test]
fn an_address_is_verified_before_the_shutdown_continues_there() {
    let config = Config::default();
    let (mobile, server) = (vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    let mut pair = Pair::new(config.clone(), server.clone());
    pair.log = Some(Vec::new());
    // B's HEARTBEATs remain unanswered until A has deleted its other address and shut down.
    pair.drop_if(|flight| flight.from == Side::A && flight.has(chunk::HEARTBEAT_ACK));
    pair.connect(config, mobile, server);
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.keep_only_address(now, a_ip(1))).unwrap();
    shut(&mut pair, Side::A);
    pair.run_for(Span::from_secs(5));
    assert_eq!(pair.b.state(), Some(State::ShutdownReceived));
    assert!(!pair.sent_since(Side::B, 0).iter().any(|flight| flight.has(chunk::SHUTDOWN_ACK)));
    pair.pass_all();
    pair.run_for(Span::from_secs(30));
    assert_both_closed(&pair, "");
}
