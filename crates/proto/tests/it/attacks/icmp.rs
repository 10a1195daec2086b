//! Bursts of forged ICMP messages: they end no association and no path (RFC 9260 §10, RFC 8899 §4.6.1).

use msctp_proto::{
    AssociationState as State, CallError, Config, Event, PathAddr, PathState, ReconfigOutcome, StreamEvent,
    StreamRequest,
};
use msctp_units::Span;
use msctp_wire::param::StreamCode;
use msctp_wire::{EncodeChunk, ShutdownAck};

use crate::attacks::changed_setup::psk;
use crate::attacks::stranger::init;
use crate::support::{Pair, Side, a_ip, b_ip, message, packet};

/// Messages in a burst.
const BURST: u32 = 10_000;

/// Returns the first 20 bytes of an SCTP packet that `from` would have sent.
fn quoted(from: Side, tag: u32, chunk: &dyn EncodeChunk) -> Vec<u8> {
    let mut bytes = packet(from.other(), tag, &[chunk]);
    bytes.truncate(20);
    bytes
}

#[test]
fn a_burst_of_port_unreachable_ends_no_set_up_and_no_association() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    for state in [State::CookieWait, State::Established] {
        assert_eq!(pair.a.state(), Some(state));
        let sent = pair.log_len();
        for guess in 0..BURST {
            // An INIT of A with a guessed Initiate Tag.
            let mut bytes = quoted(Side::A, 0, &init(&[]));
            bytes[16..20].copy_from_slice(&guess.to_be_bytes());
            assert_eq!(pair.a.endpoint.handle_port_unreachable(pair.now, b_ip(0), &bytes), None);
            // Any other packet, with a guessed verification tag.
            let bytes = quoted(Side::A, guess, &ShutdownAck);
            assert_eq!(pair.a.endpoint.handle_port_unreachable(pair.now, b_ip(0), &bytes), None);
        }
        pair.drain(Side::A);
        assert_eq!((pair.a.state(), pair.log_len()), (Some(state), sent));
        pair.run_for(Span::from_secs(2));
    }
    // The genuine INIT of this association, after the set-up.
    let init = pair.sent_since(Side::A, 0)[0].bytes.clone();
    assert_eq!(pair.a.endpoint.handle_port_unreachable(pair.now, b_ip(0), &init), None);
    pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
}

/// RFC 8899 §4.6.1
#[test]
fn a_packet_too_big_counts_only_with_the_tag_of_a_sent_packet() {
    let mut pair = Pair::established(Config::mobile());
    pair.log = Some(Vec::new());
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    pair.run_for(Span::from_secs(60));
    let tag = pair.tag_of(Side::A);
    let pmtu = |pair: &mut Pair| pair.with(Side::B, |b, _| b.paths().next().unwrap().pmtu);
    let before = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    assert_eq!(before.pmtu, 1500);
    let right = quoted(Side::B, tag, &ShutdownAck);
    let now = pair.now;
    let mut handle = |at: PathAddr, bytes: &[u8]| {
        let handled = pair.b.endpoint.handle_packet_too_big(now, at, 1300, bytes).is_some();
        pair.drain(Side::B);
        (handled, pmtu(&mut pair))
    };
    // Another tag, the tag of the other direction's INIT, ports in the wrong order, and too little of it.
    let reversed = [&right[2..4], &right[..2], &right[4..]].concat();
    let forged = [
        quoted(Side::B, tag ^ 1, &ShutdownAck),
        quoted(Side::B, 0, &init(&[])),
        reversed,
        right[..7].to_vec(),
        Vec::new(),
    ];
    for bytes in forged {
        assert_eq!(handle(before.at, &bytes), (false, before.pmtu), "{bytes:?}");
    }
    // Right, but of no path.
    let other = PathAddr { local: a_ip(0), ..before.at };
    assert_eq!(handle(other, &right), (false, before.pmtu));
    let elsewhere = PathAddr { local: [0; 4].into(), remote: b_ip(0) };
    assert_eq!(handle(elsewhere, &right), (false, before.pmtu));
    // Right: BASE_PLPMTU, until probes have found that 1300 pass. A socket of all addresses does not know the
    // local one.
    let any = PathAddr { local: [0; 4].into(), ..before.at };
    let (handled, pmtu) = handle(any, &right[..8]);
    assert!(handled && pmtu <= 1300, "{pmtu}");
}

#[test]
fn a_burst_of_packet_too_big_takes_no_path_down() {
    let mut pair = Pair::established(Config::mobile());
    pair.log = Some(Vec::new());
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    pair.run_for(Span::from_secs(60));
    let tag = pair.tag_of(Side::A);
    let before = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    for guess in (0..BURST).filter(|guess| *guess != tag) {
        let bytes = quoted(Side::B, guess, &ShutdownAck);
        let now = pair.now;
        assert_eq!(pair.b.endpoint.handle_packet_too_big(now, before.at, guess, &bytes), None);
        let result = pair.with(Side::B, |b, now| b.packet_too_big(now, before.id, guess, &bytes));
        assert_eq!(result, Err(CallError::NotQuoted));
    }
    let after = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    assert_eq!((after.pmtu, after.state), (before.pmtu, PathState::Active));
    // An observer knows the tag: its messages are believed within bounds, and refuted by probes.
    for mtu in (0..BURST).chain([65_535, u32::MAX]) {
        let bytes = quoted(Side::B, tag, &ShutdownAck);
        let _ = pair.with(Side::B, |b, now| b.packet_too_big(now, before.id, mtu, &bytes));
    }
    let after = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    assert!(after.pmtu >= 576 && after.state == PathState::Active, "{after:?}");
    for _ in 0..50 {
        pair.send(Side::B, message(0, vec![1; 5000]));
    }
    pair.run_for(Span::from_secs(10));
    assert_eq!(pair.a.received.len(), 20 + 50);
    pair.run_for(Span::from_secs(1200));
    let after = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    assert_eq!(after.pmtu, before.pmtu, "the lie is forgotten");
}

/// The largest request that this end accepts fits the packets of a path that a forged message made small,
/// with codes too: one that does not would stop its streams for as long as the message is believed.
#[test]
fn a_packet_too_big_stops_no_reset() {
    let config = Config { outbound_streams: 1000, ..psk() };
    for codes in [0, 1, 20, 48] {
        let mut pair = Pair::established(config.clone());
        pair.log = Some(Vec::new());
        pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        let quoted = quoted(Side::A, pair.tag_of(Side::B), &ShutdownAck);
        let path = pair.path(Side::A, a_ip(0), b_ip(0));
        pair.with(Side::A, |a, now| a.packet_too_big(now, path, 580, &quoted)).unwrap();
        pair.run_for(Span::from_secs(5));
        let codes: Vec<_> = (0..codes).map(|stream| StreamCode { stream, code: 7 }).collect();
        let ask = |pair: &mut Pair, streams: u16| {
            let request = StreamRequest::ResetOutgoing((0..streams).collect());
            pair.with(Side::A, |a, now| a.reconfigure_with(now, request, codes.clone())).is_ok()
        };
        let most = (1..=192).rev().find(|&streams| ask(&mut pair, streams)).unwrap();
        pair.run_for(Span::from_secs(20));
        let performed = |event: &Event| {
            let Event::Streams(StreamEvent::Answered { outcome, .. }) = event else { return false };
            *outcome == ReconfigOutcome::Performed
        };
        assert!(pair.a.saw(performed), "{most} streams, {} codes: {:?}", codes.len(), pair.a.events);
    }
}
