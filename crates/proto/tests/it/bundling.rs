//! Bundling: the chunks of a packet, their order and their processing (RFC 9260 §6.10, §8.5).

use crate::support;

use msctp_proto::{AssociationState as State, Config, Pmtu};
use msctp_units::Span;
use msctp_wire::{
    Checksum, Chunk, EncodeChunk, Heartbeat, Packet, Param, Params, ShutdownAck, ShutdownComplete,
    UnknownChunk,
};
use support::chunks::{bare_init, data};
use support::states::{in_state, initial_tsn_of};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk, message, packet, reseal, text_message};

/// Injects a packet into A; returns the chunks of each packet that A sends in answer.
fn answers(pair: &mut Pair, bytes: &[u8]) -> Vec<Vec<u8>> {
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), bytes);
    pair.sent_since(Side::A, before).iter().map(Flight::chunks).collect()
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# Control chunks MUST come before DATA chunks in the packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# When bundling control chunks with DATA chunks, an endpoint MUST place control chunks first in the outbound
//# SCTP packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# The implementation MUST also take into account the space required for a SACK chunk if bundling a SACK
//# chunk with the DATA chunk.
#[test]
fn control_chunks_come_first_and_packets_stay_within_the_pmtu() {
    let config = Config { pmtu: Pmtu::Fixed(1500), ..Config::default() };
    let mut pair = Pair::established(config);
    pair.log = Some(Vec::new());
    // Bulk data in both directions, in full and small packets, keeps SACKs due.
    for n in 0..200 {
        let len = if n % 3 == 0 { 100 } else { 1452 };
        for side in [Side::A, Side::B] {
            let _ = pair.with(side, |association, now| association.send(now, message(0, vec![n; len])));
        }
        pair.run_for(Span::from_millis(7));
    }
    let log = pair.log.as_ref().unwrap();
    let is_data = |c: &u8| *c == chunk::DATA;
    assert!(log.iter().any(|flight| flight.chunks().starts_with(&[chunk::SACK, chunk::DATA])));
    for flight in log {
        assert!(flight.bytes.len() <= 1480, "{} bytes", flight.bytes.len());
        let chunks = flight.chunks();
        assert!(chunks.iter().skip_while(|c| !is_data(c)).all(is_data), "{chunks:?}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# An SCTP receiver MUST NOT generate more than one SACK chunk for every incoming packet, other than to
//# update the offered window
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# Acknowledgements MUST be sent in SACK chunks unless shutdown was requested by the ULP
#[test]
fn one_packet_gets_one_sack() {
    let mut pair = in_state(State::Established);
    let (tag, tsn) = (pair.tag_of(Side::A), initial_tsn_of(&pair, Side::B));
    // A gap, a duplicate, another gap.
    let chunks = [data(tsn, 0), data(tsn + 2, 2), data(tsn, 0), data(tsn + 4, 4)];
    let bytes = packet(Side::A, tag, &[&chunks[0], &chunks[1], &chunks[2], &chunks[3]]);
    assert_eq!(answers(&mut pair, &bytes), [[chunk::SACK]]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# An endpoint MUST process received chunks in their order in the packet.
#[test]
fn chunks_are_processed_in_their_order() {
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let unknown = UnknownChunk::new(&[0xfe, 0, 0, 4]).unwrap();
    let mut pair = in_state(State::Established);
    let tag = pair.tag_of(Side::A);
    let bytes = packet(Side::A, tag, &[&unknown, &heartbeat]);
    assert_eq!(answers(&mut pair, &bytes), [[chunk::ERROR, chunk::HEARTBEAT_ACK]]);
    let bytes = packet(Side::A, tag, &[&heartbeat, &unknown]);
    assert_eq!(answers(&mut pair, &bytes), [[chunk::HEARTBEAT_ACK, chunk::ERROR]]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# If the receiver detects a partial chunk, it MUST drop the chunk.
#[test]
fn a_partial_chunk_is_dropped() {
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let mut pair = in_state(State::Established);
    let (tag, tsn) = (pair.tag_of(Side::A), initial_tsn_of(&pair, Side::B));
    let mut bytes = packet(Side::A, tag, &[&heartbeat, &data(tsn, 0)]);
    // Its Length is 100, beyond the end of the packet.
    let at = bytes.len() - data(tsn, 0).padded_len();
    bytes[at + 2..at + 4].copy_from_slice(&100u16.to_be_bytes());
    reseal(&mut bytes);
    assert_eq!(answers(&mut pair, &bytes), [[chunk::HEARTBEAT_ACK]]);
    assert!(pair.a.received.is_empty());
    assert_eq!(pair.a.state(), Some(State::Established));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
//= type=test
//# the endpoint MUST fill in the Verification Tag field of the outbound packet with the tag value in the
//# Initiate Tag parameter of the INIT or INIT ACK chunk received from its peer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# The sender MUST set the Verification Tag of the packet to 0.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# the destination endpoint's tag MUST be used and the T bit MUST NOT be set.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# the endpoint MUST use the value of the Initiate Tag received in the INIT ACK chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# In the INIT chunk, "A" MUST provide its Verification Tag (Tag_A) in the Initiate Tag field.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# "Z" MUST set the Verification Tag field to Tag_A and also provide its own Verification Tag (Tag_Z) in the
//# Initiate Tag field.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# This value MUST be placed into the Verification Tag field of every SCTP packet that the receiver of the
//# INIT chunk transmits
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# This value MUST be placed into the Verification Tag field of every SCTP packet that the receiver of the
//# INIT ACK chunk transmits
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.3.1
//= type=test
//# the Verification Tag value used by either endpoint in a given association MUST NOT change during the life
//# time of an association.
#[test]
fn every_packet_has_the_receivers_tag() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(2));
    pair.send(Side::B, text_message("back"));
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(5));
    let log = pair.log.take().unwrap();
    let (mut of_a, mut of_b) = (None, None);
    let mut seen = Vec::new();
    for flight in &log {
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
        let expected = if flight.from == Side::A { of_b } else { of_a };
        match packet.chunks().next() {
            Some(Ok(Chunk::Init(init))) => {
                assert_eq!(flight.tag(), 0);
                of_a = Some(init.initiate_tag.get());
            }
            Some(Ok(Chunk::InitAck(ack))) => {
                assert_eq!(Some(flight.tag()), expected);
                of_b = Some(ack.initiate_tag.get());
            }
            Some(Ok(Chunk::ShutdownComplete(complete))) => {
                assert_eq!((Some(flight.tag()), complete.tag_reflected), (expected, false));
            }
            _ => assert_eq!(Some(flight.tag()), expected, "{:?}", flight.chunks()),
        }
        seen.extend(flight.chunks());
    }
    for wanted in [chunk::COOKIE_ECHO, chunk::DATA, chunk::SHUTDOWN_COMPLETE] {
        assert!(seen.contains(&wanted), "{seen:?}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# An INIT or INIT ACK chunk MUST NOT be bundled with any other chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# They MUST be the only chunks present in the SCTP packets that carry them.
#[test]
fn init_ack_and_shutdown_complete_are_never_bundled() {
    // A SACK is delayed when A has to send an INIT ACK.
    let mut pair = in_state(State::Established);
    let (tag, tsn) = (pair.tag_of(Side::A), initial_tsn_of(&pair, Side::B));
    answers(&mut pair, &packet(Side::A, tag, &[&data(tsn, 0)]));
    assert!(answers(&mut pair, &packet(Side::A, tag, &[&data(tsn + 1, 1)])).is_empty(), "it is delayed");
    assert_eq!(answers(&mut pair, &packet(Side::A, 0, &[&bare_init()])), [[chunk::INIT_ACK]]);
    // A HEARTBEAT needs an answer when the association ends.
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let mut pair = in_state(State::ShutdownSent);
    let tag = pair.tag_of(Side::A);
    let bytes = packet(Side::A, tag, &[&heartbeat, &ShutdownAck]);
    assert_eq!(answers(&mut pair, &bytes), [[chunk::SHUTDOWN_COMPLETE]]);
    // Nothing is bundled with the INIT.
    let mut pair = in_state(State::CookieWait);
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(4));
    assert!(pair.sent_since(Side::A, 0).iter().all(|flight| flight.chunks() == [chunk::INIT]));
}

// RFC 9260 §6.10, §8.5.1: the rule of docs/standards.md for bundled chunks that must be alone.
#[test]
fn a_bundled_init_init_ack_or_shutdown_complete_is_ignored_with_the_chunks_behind_it() {
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let none: [Vec<u8>; 0] = [];
    // INIT.
    let mut pair = in_state(State::Established);
    let (tag, tsn) = (pair.tag_of(Side::A), initial_tsn_of(&pair, Side::B));
    let init = bare_init();
    assert_eq!(answers(&mut pair, &packet(Side::A, 0, &[&init, &heartbeat])), none);
    assert_eq!(answers(&mut pair, &packet(Side::A, tag, &[&init, &heartbeat])), none);
    let between: [&dyn EncodeChunk; 3] = [&heartbeat, &init, &data(tsn, 0)];
    assert_eq!(answers(&mut pair, &packet(Side::A, tag, &between)), [[chunk::HEARTBEAT_ACK]]);
    assert!(pair.a.received.is_empty());
    // SHUTDOWN COMPLETE, with the tag of either end.
    let mut pair = in_state(State::ShutdownAckSent);
    let (tag, peers) = (pair.tag_of(Side::A), pair.tag_of(Side::B));
    for (tag, tag_reflected) in [(tag, false), (peers, true)] {
        let complete = ShutdownComplete { tag_reflected };
        answers(&mut pair, &packet(Side::A, tag, &[&complete, &heartbeat]));
        answers(&mut pair, &packet(Side::A, tag, &[&heartbeat, &complete]));
        assert_eq!(pair.a.state(), Some(State::ShutdownAckSent));
    }
    answers(&mut pair, &packet(Side::A, tag, &[&ShutdownComplete { tag_reflected: false }]));
    assert_eq!(pair.a.state(), None, "alone it ends the association");
    // INIT ACK: the genuine one, with a chunk before or after it.
    let mut pair = in_state(State::CookieWait);
    let ack = pair.sent_since(Side::B, 0).into_iter().find(|flight| flight.has(chunk::INIT_ACK)).unwrap();
    let parsed = Packet::parse(&ack.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::InitAck(true_ack))) = parsed.chunks().next() else { panic!("{ack:?}") };
    let tag = ack.tag();
    for chunks in [[&true_ack as &dyn EncodeChunk, &heartbeat], [&heartbeat, &true_ack]] {
        assert_eq!(answers(&mut pair, &packet(Side::A, tag, &chunks)), none);
        assert_eq!(pair.a.state(), Some(State::CookieWait));
    }
    assert_eq!(answers(&mut pair, &packet(Side::A, tag, &[&true_ack])), [[chunk::COOKIE_ECHO]]);
}
