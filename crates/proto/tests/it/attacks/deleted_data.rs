//! Somebody on the path deletes the packets with user data, and passes HEARTBEATs and their answers.

use msctp_proto::{AssociationState, Config, Event, LossReason};
use msctp_units::Span;

use crate::attacks::changed_setup::psk;
use crate::support::{Pair, Side, a_ip, b_ip, message};

/// Size of the messages. Packets with part of one are larger than any HEARTBEAT, SACK or question for credit.
const LEN: usize = 1000;

/// A sealed HEARTBEAT has at least this size, and a question for credit less.
const HEARTBEAT: usize = 70;

/// Returns a pair with one network or two. What arrived before is not deleted.
fn up(config: Config, networks: u8) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.connect(config, (0..networks).map(a_ip).collect(), vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 5, 100, Span::from_secs(5));
    pair.transfer(Side::B, 5, 100, Span::from_secs(5));
    pair
}

/// Deletes the larger packets of an end.
fn delete_data(pair: &mut Pair, from: Side) {
    pair.drop_if(move |flight| flight.from == from && flight.bytes.len() > LEN / 2);
}

/// Returns the limit of the configuration.
fn patience(config: &Config) -> Span {
    config.rto_max * u64::from(config.assoc_max_retrans)
}

fn lost(pair: &mut Pair, side: Side) -> Option<LossReason> {
    pair.host(side).events.iter().find_map(|event| match event {
        Event::Lost(reason) => Some(reason.clone()),
        _ => None,
    })
}

/// Runs until an end has lost the association. Returns the time.
fn run_to_the_end(pair: &mut Pair, side: Side, config: &Config) -> Span {
    let began = pair.now;
    let limit = patience(config) * 2 + Span::from_secs(100);
    pair.run_until(limit, |pair| lost(pair, side).is_some());
    pair.run_for(Span::from_secs(1));
    assert!(
        matches!(lost(pair, side), Some(LossReason::DataUnacknowledged { after }) if after >= patience(config)),
        "{:?} after {}",
        lost(pair, side),
        pair.now.since(began)
    );
    pair.now.since(began)
}

#[test]
fn data_that_is_deleted_while_heartbeats_pass_ends_the_association() {
    for config in [Config::default(), Config::mobile(), psk()] {
        for networks in [1, 2] {
            for from in [Side::A, Side::B] {
                let mut pair = up(config.clone(), networks);
                delete_data(&mut pair, from);
                pair.send(from, message(0, vec![1; LEN]));
                let took = run_to_the_end(&mut pair, from, &config);
                assert!(took <= patience(&config) + config.rto_max * 2, "{took}");
                // The other end learns it from the ABORT, and not from timers of its own.
                let other = lost(&mut pair, from.other());
                assert!(matches!(other, Some(LossReason::PeerAborted { .. })), "{other:?}");
            }
        }
    }
}

/// An end that closes waits for the acknowledgement of its data (RFC 9260 §9.2), at either end of a shutdown.
#[test]
fn deleted_data_does_not_prevent_the_end_of_a_shutdown() {
    for config in [Config::default(), psk()] {
        for closing in [Side::A, Side::B] {
            let mut pair = up(config.clone(), 1);
            delete_data(&mut pair, Side::A);
            pair.send(Side::A, message(0, vec![1; LEN]));
            pair.run_for(Span::from_millis(10));
            pair.with(closing, msctp_proto::Association::shutdown);
            pair.drain(closing);
            pair.run_for(Span::from_secs(1));
            let state = pair.a.state();
            let pending = [AssociationState::ShutdownPending, AssociationState::ShutdownReceived];
            assert!(state.is_some_and(|state| pending.contains(&state)), "{state:?}");
            if closing == Side::A {
                run_to_the_end(&mut pair, Side::A, &config);
            } else {
                // T5-shutdown-guard of the other end comes first (RFC 9260 §9.2).
                pair.run_for(config.rto_max * 5 + Span::from_secs(1));
                assert!(matches!(lost(&mut pair, Side::A), Some(LossReason::PeerAborted { .. })));
            }
        }
    }
}

/// The peer does not read for hours, and the last of what was sent before is refused.
#[test]
fn a_peer_without_room_for_data_is_no_such_case() {
    for config in [Config::default(), psk()] {
        let config = Config { receive_buffer: 8000, ..config };
        let mut pair = up(config.clone(), 2);
        pair.b.reading = false;
        for _ in 0..100 {
            pair.send(Side::A, message(0, vec![1; LEN]));
        }
        pair.run_for(patience(&config) * 5);
        assert_eq!((lost(&mut pair, Side::A), lost(&mut pair, Side::B)), (None, None));
        assert!(pair.with(Side::A, |a, _| a.buffered()) > 0);
    }
}

/// Nothing is in flight: data waits for the limit of its stream, and the questions for it are deleted.
#[test]
fn deleted_questions_for_credit_end_the_association() {
    let config = psk();
    let mut pair = up(config.clone(), 1);
    pair.b.reading = false;
    while pair.with(Side::A, |a, now| a.send(now, message(3, vec![1; LEN]))).is_ok() {
        pair.drain(Side::A);
        pair.run_for(Span::from_millis(1));
    }
    pair.run_for(Span::from_secs(60));
    assert!(pair.with(Side::A, |a, _| a.lacks_credit(3)), "the stream is limited");
    pair.run_for(patience(&config) * 5);
    assert_eq!(lost(&mut pair, Side::A), None, "the questions are answered");
    // Of A's packets, only HEARTBEATs and the answers to them are as large. The ABORT is deleted too.
    pair.drop_if(|flight| flight.from == Side::A && flight.bytes.len() < HEARTBEAT);
    run_to_the_end(&mut pair, Side::A, &config);
}

/// The first data is acknowledged after most of the limit.
#[test]
fn an_acknowledgement_begins_the_count_anew() {
    let config = Config::default();
    let mut pair = up(config.clone(), 1);
    for _ in 0..3 {
        delete_data(&mut pair, Side::A);
        pair.send(Side::A, message(0, vec![1; LEN]));
        pair.run_for(patience(&config) * 9 / 10);
        pair.pass_all();
        pair.run_for(config.rto_max * 2);
        assert_eq!(pair.with(Side::A, |a, _| a.buffered()), 0);
    }
    assert_eq!(lost(&mut pair, Side::A), None);
}
