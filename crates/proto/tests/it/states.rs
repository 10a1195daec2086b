//! Chunks that an end sends and accepts in each state of the association (RFC 9260 §6, §8.3, §9.2).

use crate::support;

use msctp_proto::{AssociationState as State, AssociationStats, Event, SendError};
use msctp_units::{Span, Time};
use msctp_wire::{EncodeChunk, Heartbeat, List, Param, Params, Sack, Shutdown};
use support::chunks::data;
use support::states::{STATES, in_state, initial_tsn_of};
use support::{Pair, Side, chunk, packet, text_message};

/// Injects a packet with these chunks into A; returns the chunks of each packet that A sends in answer.
fn answers(pair: &mut Pair, chunks: &[&dyn EncodeChunk]) -> Vec<Vec<u8>> {
    let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, chunks));
    pair.sent_since(Side::A, before).iter().map(support::Flight::chunks).collect()
}

fn stats(pair: &Pair) -> AssociationStats {
    pair.a.endpoint.association(pair.a.handle.unwrap()).unwrap().stats()
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# Data transmission MUST only happen in the ESTABLISHED,
#[test]
fn data_is_sent_in_three_states_and_with_the_cookie_echo() {
    for state in STATES {
        let mut pair = in_state(state);
        let before = pair.log_len();
        let sent = pair.with(Side::A, |a, now| a.send(now, text_message("to B")));
        let takes = matches!(state, State::CookieWait | State::CookieEchoed | State::Established);
        assert_eq!(sent.is_ok(), takes, "{state}");
        // Data lost earlier is retransmitted.
        pair.run_for(Span::from_secs(3));
        assert_eq!(pair.a.state(), Some(state));
        let mut with_data = pair.sent_since(Side::A, before);
        with_data.retain(|flight| flight.has(chunk::DATA));
        match state {
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                assert!(!with_data.is_empty(), "{state}");
            }
            State::CookieEchoed => {
                assert!(with_data.iter().all(|flight| flight.chunks()[0] == chunk::COOKIE_ECHO));
            }
            _ => assert!(with_data.is_empty(), "{state}"),
        }
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# DATA chunks MUST only be received according to the rules below in ESTABLISHED, SHUTDOWN-PENDING, and
//# SHUTDOWN-SENT states.
#[test]
fn data_is_accepted_in_three_states() {
    for state in STATES.into_iter().filter(|state| *state != State::CookieWait) {
        let mut pair = in_state(state);
        let tsn = initial_tsn_of(&pair, Side::B);
        let sent = answers(&mut pair, &[&data(tsn, 0)]);
        let takes = matches!(state, State::Established | State::ShutdownPending | State::ShutdownSent);
        assert_eq!(stats(&pair).data_chunks_received, u64::from(takes), "{state}");
        let acknowledged = sent.iter().flatten().any(|c| matches!(*c, chunk::SACK | chunk::SHUTDOWN));
        assert_eq!(acknowledged, takes, "{state}: {sent:?}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# A SACK chunk MUST be processed in ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-RECEIVED states.
#[test]
fn a_sack_is_processed_in_three_states() {
    for state in [State::Established, State::ShutdownPending, State::ShutdownReceived] {
        let mut pair = in_state(state);
        if state == State::Established {
            pair.drop_if(|flight| flight.has(chunk::DATA));
            pair.send(Side::A, text_message("stuck"));
        }
        let cum_tsn_ack = initial_tsn_of(&pair, Side::A);
        let sack = Sack { cum_tsn_ack, a_rwnd: 65_536, gap_blocks: List::EMPTY, duplicates: List::EMPTY };
        answers(&mut pair, &[&sack]);
        assert_eq!((stats(&pair).sacks_received, stats(&pair).bytes_acked), (1, 5), "{state}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.3
//= type=test
//# A receiver of a HEARTBEAT chunk MUST respond to a HEARTBEAT chunk with a HEARTBEAT ACK chunk after
//# entering the COOKIE-ECHOED state
#[test]
fn a_heartbeat_is_answered_from_cookie_echoed_on() {
    let params = [Param::HeartbeatInfo(b"who is there")];
    for state in [State::CookieEchoed, State::Established, State::ShutdownPending, State::ShutdownReceived] {
        let mut pair = in_state(state);
        let sent = answers(&mut pair, &[&Heartbeat { params: Params::from(&params) }]);
        assert_eq!(sent.concat(), [chunk::HEARTBEAT_ACK], "{state}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# it MUST ignore ULP shutdown requests
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# the SHUTDOWN chunk receiver MUST continue to follow normal data transmission procedures defined in Section
//# 6, until all outstanding DATA chunks are acknowledged
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# the SHUTDOWN chunk receiver MUST NOT accept new data from its SCTP user.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# In the SHUTDOWN-RECEIVED state, the endpoint MUST transmit or retransmit data and leave this state when
//# all data in queue is transmitted.
#[test]
fn in_shutdown_received_only_data_accepted_before_is_sent() {
    let mut pair = in_state(State::ShutdownReceived);
    let before = pair.log_len();
    pair.with(Side::A, |a, now| a.shutdown(now));
    assert_eq!(pair.a.state(), Some(State::ShutdownReceived), "the request is ignored");
    let refused = pair.with(Side::A, |a, now| a.send(now, text_message("late")));
    assert_eq!(refused, Err(SendError::Closed));
    pair.run_for(Span::from_secs(4));
    let sent: Vec<u8> = pair.sent_since(Side::A, before).iter().flat_map(support::Flight::chunks).collect();
    let data = sent.iter().filter(|c| **c == chunk::DATA).count();
    assert!(data >= 2, "retransmitted until it is acknowledged: {sent:?}");
    assert!(!sent.contains(&chunk::SHUTDOWN_ACK), "{sent:?}");
    pair.pass_all();
    pair.run_for(Span::from_secs(10));
    assert_eq!(pair.b.received.len(), 1);
    assert_eq!((pair.a.events.last(), pair.b.events.last()), (Some(&Event::Closed), Some(&Event::Closed)));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# MUST continue responding to SHUTDOWN chunks from its peer.
#[test]
fn repeated_shutdowns_are_answered() {
    // In SHUTDOWN-RECEIVED a SHUTDOWN acknowledges data; this one acknowledges all of it.
    let mut pair = in_state(State::ShutdownReceived);
    let cum_tsn_ack = initial_tsn_of(&pair, Side::A);
    assert_eq!(answers(&mut pair, &[&Shutdown { cum_tsn_ack }]), [[chunk::SHUTDOWN_ACK]]);
    // In SHUTDOWN-ACK-SENT the answer was lost.
    let mut pair = in_state(State::ShutdownAckSent);
    let cum_tsn_ack = initial_tsn_of(&pair, Side::A) - 1;
    assert_eq!(answers(&mut pair, &[&Shutdown { cum_tsn_ack }]), [[chunk::SHUTDOWN_ACK]]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# the endpoint MUST resend the SHUTDOWN ACK chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# MUST send a SHUTDOWN ACK chunk and start a T2-shutdown timer of its own
#[test]
fn a_lost_shutdown_ack_is_retransmitted_by_t2() {
    let mut pair = in_state(State::ShutdownAckSent);
    // No more packets arrive from B.
    pair.drop_if(|_| true);
    pair.run_for(Span::from_secs(8));
    let mut sent = pair.sent_since(Side::A, 0);
    sent.retain(|flight| flight.has(chunk::SHUTDOWN_ACK));
    let steps: Vec<u64> = sent.windows(2).map(|pair| pair[1].sent.since(pair[0].sent).as_millis()).collect();
    assert_eq!(steps, [1000, 2000, 4000]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# then a SACK chunk MUST also be sent.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# In the SHUTDOWN-SENT state, the endpoint MUST acknowledge any received DATA chunks without delay.
#[test]
fn gaps_and_duplicates_are_reported_with_the_shutdown() {
    let mut pair = in_state(State::ShutdownSent);
    let tsn = initial_tsn_of(&pair, Side::B);
    let both = [[chunk::SACK, chunk::SHUTDOWN]];
    assert_eq!(answers(&mut pair, &[&data(tsn + 1, 1)]), both, "a gap");
    assert_eq!(answers(&mut pair, &[&data(tsn, 0)]), both, "all of it");
    assert_eq!(answers(&mut pair, &[&data(tsn, 0)]), both, "a duplicate");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# the endpoint MUST resend the SHUTDOWN chunk with the updated last sequential TSN received from its peer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
//= type=test
//# MUST immediately respond to each received packet containing one or more DATA chunks with a SHUTDOWN chunk
//# and restart the T2-shutdown timer.
#[test]
fn data_in_shutdown_sent_restarts_t2_and_the_next_shutdown_acknowledges_it() {
    let mut pair = in_state(State::ShutdownSent);
    let tsn = initial_tsn_of(&pair, Side::B);
    pair.drop_if(|_| true);
    let cum_tsn_acks = |pair: &Pair, before| -> Vec<(u64, u32)> {
        let mut sent = pair.sent_since(Side::A, before);
        sent.retain(|flight| flight.has(chunk::SHUTDOWN));
        let cum = |bytes: &[u8]| u32::from_be_bytes(bytes[bytes.len() - 4..].try_into().unwrap());
        sent.iter().map(|flight| (flight.sent.since(Time::ZERO).as_millis(), cum(&flight.bytes))).collect()
    };
    let first = cum_tsn_acks(&pair, 0)[0];
    assert_eq!(first.1, (tsn - 1).get());
    let before = pair.log_len();
    pair.run_for(Span::from_millis(500));
    let now = pair.now.since(Time::ZERO).as_millis();
    answers(&mut pair, &[&data(tsn, 0)]);
    pair.run_for(Span::from_millis(1500));
    assert_eq!(cum_tsn_acks(&pair, before), [(now, tsn.get()), (now + 1000, tsn.get())]);
}
