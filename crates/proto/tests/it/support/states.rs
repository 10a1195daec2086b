//! Pairs with one end held in a state of the association.

use msctp_proto::{AssociationState as State, Config};
use msctp_units::Span;
use msctp_wire::{Checksum, Chunk, Packet, Tsn};

use super::{Pair, Side, a_ip, b_ip, chunk, text_message};

/// Returns a pair whose A is in the given state and stays there, with the log on.
pub fn in_state(state: State) -> Pair {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let hold = match state {
        State::CookieWait => Some((Side::B, chunk::INIT_ACK)),
        State::CookieEchoed => Some((Side::B, chunk::COOKIE_ACK)),
        _ => None,
    };
    if let Some((from, held)) = hold {
        pair.drop_if(move |flight| flight.from == from && flight.has(held));
    }
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(100));
    if hold.is_none() {
        pair.run_for(Span::from_secs(2));
        match state {
            State::ShutdownPending => {
                pair.drop_if(|flight| flight.has(chunk::DATA));
                pair.send(Side::A, text_message("stuck"));
                pair.with(Side::A, |a, now| a.shutdown(now));
            }
            State::ShutdownSent => {
                pair.drop_if(|flight| flight.has(chunk::SHUTDOWN));
                pair.with(Side::A, |a, now| a.shutdown(now));
            }
            State::ShutdownReceived => {
                pair.drop_if(|flight| flight.has(chunk::DATA));
                pair.send(Side::A, text_message("stuck"));
                pair.with(Side::B, |b, now| b.shutdown(now));
            }
            State::ShutdownAckSent => {
                pair.drop_if(|flight| flight.has(chunk::SHUTDOWN_ACK));
                pair.with(Side::B, |b, now| b.shutdown(now));
            }
            _ => {}
        }
        pair.run_for(Span::from_millis(50));
    }
    assert_eq!(pair.a.state(), Some(state));
    pair
}

/// Every state of an association.
pub const STATES: [State; 7] = [
    State::CookieWait,
    State::CookieEchoed,
    State::Established,
    State::ShutdownPending,
    State::ShutdownSent,
    State::ShutdownReceived,
    State::ShutdownAckSent,
];

/// Returns the initial TSN of that side, from its INIT or INIT ACK in the log.
pub fn initial_tsn_of(pair: &Pair, side: Side) -> Tsn {
    let log = pair.log.as_ref().expect("the log is on");
    let found = log.iter().filter(|flight| flight.from == side).find_map(|flight| {
        match Packet::parse(&flight.bytes, Checksum::Verify).unwrap().chunks().next() {
            Some(Ok(Chunk::Init(init))) => Some(init.initial_tsn),
            Some(Ok(Chunk::InitAck(ack))) => Some(ack.initial_tsn),
            _ => None,
        }
    });
    found.expect("an INIT or INIT ACK")
}
