//! A peer that never opens its window, to make us hold data and send probes forever.

use msctp_proto::{AssociationState as State, Config, SendError};
use msctp_units::Span;
use msctp_wire::{EncodeChunk, List, Sack, Tsn};

use crate::support::{Fate, Pair, Side, chunk, message, packet_between};

/// Writes a_rwnd = 0 into the SACKs of A.
fn close_window(pair: &mut Pair) {
    pair.filter = Box::new(|flight| {
        if flight.from == Side::A && flight.chunks() == [chunk::SACK] {
            let cum = u32::from_be_bytes(flight.bytes[16..20].try_into().unwrap());
            let sack = Sack {
                cum_tsn_ack: Tsn::new(cum),
                a_rwnd: 0,
                gap_blocks: List::from(&[]),
                duplicates: List::from(&[]),
            };
            let chunk: &dyn EncodeChunk = &sack;
            let port = |at: usize| u16::from_be_bytes([flight.bytes[at], flight.bytes[at + 1]]);
            flight.bytes = packet_between(port(0), port(2), flight.tag(), &[chunk]);
        }
        Fate::Pass
    });
}

#[test]
fn a_closed_window_costs_a_full_buffer_and_probes_that_back_off() {
    // RFC 9260 §6.1 A.
    let mut pair = Pair::established(Config { send_buffer: 100_000, ..Config::default() });
    pair.log = Some(Vec::new());
    close_window(&mut pair);
    let mut accepted = 0;
    loop {
        let full = pair.with(Side::B, |b, now| b.send(now, message(0, vec![1; 1000])));
        match full {
            Ok(()) => accepted += 1,
            Err(error) => break assert!(matches!(error, SendError::BufferFull { .. }), "{error}"),
        }
    }
    assert_eq!(accepted, 100);
    pair.run_for(Span::from_secs(5));
    let log = pair.log_len();
    pair.run_for(Span::from_secs(3600));
    let sent = pair.sent_since(Side::B, log);
    let probes = sent.iter().filter(|flight| flight.has(chunk::DATA)).count();
    // The RTO backs off to 60 s, and decreases with each answered heartbeat, every 30 s at most: two probes
    // per heartbeat.
    assert!((30..=240).contains(&probes), "{probes} probes in an hour");
    assert_eq!(pair.b.state(), Some(State::Established), "the peer answers: it is reachable");
    assert!(pair.with(Side::B, |b, _| b.buffered()) <= 100_000);
    // It opens at last: nothing was lost.
    pair.pass_all();
    assert!(
        pair.run_until(Span::from_secs(70), |pair| pair.a.received.len() == 100),
        "{}",
        pair.a.received.len()
    );
}
