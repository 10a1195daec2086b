//! Verification tags (RFC 9260 §8.5), packets out of the blue (§8.4), and unknown chunks (§3.2).

use crate::support;

use msctp_proto::{
    AssociationState as State, Config, DatagramOutcome, Event, IgnoreReason, LossReason, PathAddr,
};
use msctp_units::Span;
use msctp_wire::{
    Abort, Asconf, AsconfAck, AsconfSerial, Cause, Causes, Checksum, Chunk, CookieAck, CookieEcho,
    EncodeChunk, Error, Heartbeat, HeartbeatAck, InitAck, List, Packet, Pad, Param, Params, Sack, Shutdown,
    ShutdownAck, ShutdownComplete, Tsn, UnknownChunk, VerificationTag,
};
use support::chunks::{bare_init, data, stream_data};
use support::states::{STATES, in_state, initial_tsn_of};
use support::{Pair, Side, a_ip, b_ip, chunk, packet};

const FOREIGN: u32 = 0x1357_9bdf;

/// Calls `f` with one of every chunk, as an attacker without the tag might send them.
fn with_every_chunk(mut f: impl FnMut(&str, &dyn EncodeChunk)) {
    let info = [7; 24];
    let params = [Param::HeartbeatInfo(&info)];
    let causes = [Cause::OutOfResource];
    let init = bare_init();
    let init_ack = InitAck {
        initiate_tag: VerificationTag::new(5),
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(9),
        params: Params::EMPTY,
    };
    let data = data(Tsn::new(1), 0);
    let sack = Sack { cum_tsn_ack: Tsn::new(1), a_rwnd: 0, gap_blocks: List::EMPTY, duplicates: List::EMPTY };
    f("DATA", &data);
    f("INIT", &init);
    f("INIT ACK", &init_ack);
    f("SACK", &sack);
    f("HEARTBEAT", &Heartbeat { params: Params::from(&params) });
    f("HEARTBEAT ACK", &HeartbeatAck { params: Params::from(&params) });
    f("ABORT", &Abort { tag_reflected: false, causes: Causes::from(&causes) });
    f("ABORT T", &Abort { tag_reflected: true, causes: Causes::from(&causes) });
    f("SHUTDOWN", &Shutdown { cum_tsn_ack: Tsn::new(0) });
    f("SHUTDOWN ACK", &ShutdownAck);
    f("ERROR", &Error { causes: Causes::from(&causes) });
    f("COOKIE ECHO", &CookieEcho { cookie: &[1; 80] });
    f("COOKIE ACK", &CookieAck);
    f("SHUTDOWN COMPLETE", &ShutdownComplete { tag_reflected: false });
    f("SHUTDOWN COMPLETE T", &ShutdownComplete { tag_reflected: true });
    f("ASCONF", &Asconf { serial: AsconfSerial::new(1), address: a_ip(0), requests: Params::EMPTY });
    f("ASCONF-ACK", &AsconfAck { serial: AsconfSerial::new(1), responses: Params::EMPTY });
    f("PAD", &Pad { padding_len: 4 });
    f("unknown", &UnknownChunk::new(&[0xc7, 0, 0, 4]).unwrap());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
//= type=test
//# the endpoint MUST ensure that the value in the Verification Tag field of the received SCTP packet matches
//# its own tag.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
//= type=test
//# the receiver MUST silently discard the packet and MUST NOT process it any further, except for those cases
//# listed in Section 8.5.1 below.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# it SHOULD verify that the packet contains only an INIT chunk. Otherwise, the receiver MUST silently
//# discard the packet.
#[test]
fn no_chunk_with_a_wrong_tag_has_any_effect_in_any_state() {
    for state in STATES {
        let mut pair = in_state(state);
        let (own, peer) =
            if state == State::CookieWait { (0, 0) } else { (pair.tag_of(Side::A), pair.tag_of(Side::B)) };
        for tag in [FOREIGN, 0] {
            assert!(tag == 0 || tag != own && tag != peer);
            with_every_chunk(|name, chunk| {
                // An INIT has tag 0, and a SHUTDOWN ACK during set-up is out of the blue: both are tested
                // below.
                let setting_up = matches!(state, State::CookieWait | State::CookieEchoed);
                if name == "INIT" && tag == 0 || name == "SHUTDOWN ACK" && setting_up {
                    return;
                }
                let (before, events) = (pair.log_len(), pair.a.events.len());
                let stats = |pair: &Pair| {
                    let stats = pair.a.endpoint.association(pair.a.handle.unwrap()).unwrap().stats();
                    (
                        stats.data_chunks_received,
                        stats.sacks_received,
                        stats.bytes_acked,
                        stats.packets_received,
                    )
                };
                let counted = stats(&pair);
                let wake = pair.a.endpoint.poll_timeout();
                pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[chunk]));
                assert_eq!(pair.a.state(), Some(state), "{name} tag {tag:#x} in {state}");
                assert_eq!(pair.a.events.len(), events, "{name} tag {tag:#x} in {state}");
                assert_eq!(pair.sent_since(Side::A, before).len(), 0, "{name} tag {tag:#x} in {state}");
                assert_eq!(stats(&pair), counted, "{name} tag {tag:#x} in {state}");
                assert_eq!(pair.a.endpoint.poll_timeout(), wake, "{name} tag {tag:#x} in {state}");
            });
        }
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# The receiver of an ABORT chunk MUST accept the packet if the Verification Tag field of the packet matches
//# its own tag and the T bit is not set OR if it is set to its Peer's Tag and the T bit is set in the Chunk
//# Flags.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# Otherwise, the receiver MUST silently discard the packet and take no further action.
//= https://www.rfc-editor.org/rfc/rfc9260#section-9.1
//= type=test
//# An endpoint receiving an ABORT chunk MUST apply the special Verification Tag check rules described in
//# Section 8.5.1.
#[test]
fn the_t_bit_makes_only_a_reflected_tag_valid() {
    // RFC 9260 §8.5.1 B.
    let abort = |tag_reflected| Abort { tag_reflected, causes: Causes::EMPTY };
    for (own_tag, t_bit, accepted) in
        [(true, false, true), (true, true, false), (false, true, true), (false, false, false)]
    {
        let mut pair = in_state(State::Established);
        let tag = pair.tag_of(if own_tag { Side::A } else { Side::B });
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&abort(t_bit)]));
        let lost = pair.a.saw(|e| matches!(e, Event::Lost(LossReason::PeerAborted { .. })));
        assert_eq!(lost, accepted, "own tag {own_tag}, T {t_bit}");
        assert_eq!(pair.a.state().is_none(), accepted);
        // RFC 9260 §8.5.1 C.
        let mut pair = in_state(State::ShutdownAckSent);
        let tag = pair.tag_of(if own_tag { Side::A } else { Side::B });
        let complete = ShutdownComplete { tag_reflected: t_bit };
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&complete]));
        assert_eq!(pair.a.saw(|e| *e == Event::Closed), accepted, "own tag {own_tag}, T {t_bit}");
    }
}

#[test]
fn a_shutdown_ack_during_set_up_is_out_of_the_blue() {
    // RFC 9260 §8.5.1 E, §9.2: a peer that still closes the association before this one.
    for state in [State::CookieWait, State::CookieEchoed] {
        let mut pair = in_state(state);
        let before = pair.log_len();
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, FOREIGN, &[&ShutdownAck]));
        let sent = pair.sent_since(Side::A, before);
        assert_eq!((sent[0].tag(), sent[0].chunks()), (FOREIGN, vec![chunk::SHUTDOWN_COMPLETE]));
        assert_eq!(sent[0].bytes[13], 1, "T bit");
        assert_eq!(pair.a.state(), Some(state));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# An endpoint MUST ignore the SHUTDOWN COMPLETE chunk if it is not in the SHUTDOWN-ACK-SENT state.
#[test]
fn shutdown_complete_is_accepted_in_shutdown_ack_sent_only() {
    for state in STATES.into_iter().filter(|s| *s != State::ShutdownAckSent && *s != State::CookieWait) {
        let mut pair = in_state(state);
        let tag = pair.tag_of(Side::A);
        let complete = ShutdownComplete { tag_reflected: false };
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&complete]));
        assert_eq!(pair.a.state(), Some(state));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.13
//= type=test
//# If the Verification Tag is reflected, the T bit MUST be set to 1.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
//= type=test
//# If the Verification Tag is reflected, the T bit MUST be set to 1.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
//= type=test
//# the receiver MUST treat the packet as an invalid SCTP packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# When sending the SHUTDOWN COMPLETE chunk, the receiver of the OOTB packet MUST fill in the Verification
//# Tag field of the outbound packet with the Verification Tag received in the SHUTDOWN ACK chunk and set the
//# T bit
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# When sending the ABORT chunk, the receiver of the OOTB packet MUST fill in the Verification Tag field of
//# the outbound packet with the value found in the Verification Tag field of the OOTB packet and set the T
//# bit
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# it SHOULD verify that the packet contains only an INIT chunk. Otherwise, the receiver MUST silently
//# discard the packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# the endpoint MUST follow the procedure described in Section 8.4.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
//= type=test
//# and MUST set the T bit.
#[test]
fn packets_out_of_the_blue_follow_the_eight_rules() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    with_every_chunk(|name, chunk| {
        let before = pair.log_len();
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, FOREIGN, &[chunk]));
        let sent = pair.sent_since(Side::B, before);
        let expected = match name {
            "ABORT"
            | "ABORT T"
            | "SHUTDOWN COMPLETE"
            | "SHUTDOWN COMPLETE T"
            | "COOKIE ACK"
            | "COOKIE ECHO" => None,
            "SHUTDOWN ACK" => Some(chunk::SHUTDOWN_COMPLETE),
            _ => Some(chunk::ABORT),
        };
        match expected {
            None => assert!(sent.is_empty() && matches!(outcome, DatagramOutcome::Ignored(_)), "{name}"),
            Some(typ) => {
                assert_eq!(
                    (sent[0].tag(), sent[0].chunks(), sent[0].bytes[13]),
                    (FOREIGN, vec![typ], 1),
                    "{name}"
                );
            }
        }
    });
    let stale = [Cause::StaleCookie(1)];
    let bytes = packet(Side::B, FOREIGN, &[&Error { causes: Causes::from(&stale) }]);
    assert_eq!(
        pair.inject(Side::B, Pair::at(Side::B), &bytes),
        DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue)
    );
    // Rule 1.
    let at = PathAddr { local: b_ip(0), remote: "224.0.0.1".parse().unwrap() };
    let bytes = packet(Side::B, FOREIGN, &[&ShutdownAck]);
    assert_eq!(pair.inject(Side::B, at, &bytes), DatagramOutcome::Ignored(IgnoreReason::NotUnicast));
    // §8.5.1 A: tag 0 is for an INIT only.
    let bytes = packet(Side::B, 0, &[&ShutdownAck]);
    assert_eq!(
        pair.inject(Side::B, Pair::at(Side::B), &bytes),
        DatagramOutcome::Ignored(IgnoreReason::ZeroTag)
    );
    let mut spoilt = packet(Side::B, FOREIGN, &[&ShutdownAck]);
    spoilt[8] ^= 1;
    let outcome = pair.inject(Side::B, Pair::at(Side::B), &spoilt);
    assert!(matches!(outcome, DatagramOutcome::Ignored(IgnoreReason::Malformed(_))));
    for len in 0..12 {
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &spoilt[..len]);
        assert!(matches!(outcome, DatagramOutcome::Ignored(IgnoreReason::Malformed(_))));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# If the OOTB packet contains an ABORT chunk, the receiver MUST silently discard the OOTB packet and take no
//# further action.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# After sending this ABORT chunk, the receiver of the OOTB packet MUST discard the OOTB packet and MUST NOT
//# take any further action.
#[test]
fn a_packet_out_of_the_blue_is_answered_once_or_not_at_all() {
    let info = [7; 24];
    let params = [Param::HeartbeatInfo(&info)];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    // An ABORT at any place in the packet.
    let behind: [&[&dyn EncodeChunk]; 3] =
        [&[&heartbeat, &abort], &[&ShutdownAck, &abort], &[&CookieEcho { cookie: &[1; 80] }, &abort]];
    for chunks in behind {
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, FOREIGN, chunks));
        assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue));
    }
    assert_eq!(pair.log_len(), 0);
    // All other chunks of the packet are ignored.
    pair.inject(
        Side::B,
        Pair::at(Side::B),
        &packet(Side::B, FOREIGN, &[&heartbeat, &CookieEcho { cookie: &[1] }]),
    );
    let sent = pair.sent_since(Side::B, 0);
    assert_eq!(sent.iter().map(|flight| flight.chunks()).collect::<Vec<_>>(), [[chunk::ABORT]]);
    assert_eq!((pair.b.endpoint.len(), pair.b.endpoint.poll_timeout()), (0, None));
}

#[test]
fn unknown_chunks_are_treated_by_their_high_bits() {
    // RFC 9260 §3.2 Table 2: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
    let info = [7; 24];
    let params = [Param::HeartbeatInfo(&info)];
    for (typ, stops, reports) in
        [(0x3e, true, false), (0x7e, true, true), (0xbe, false, false), (0xfe, false, true)]
    {
        let mut pair = in_state(State::Established);
        let tag = pair.tag_of(Side::A);
        let bytes = [typ, 0, 0, 6, 1, 2];
        let unknown = UnknownChunk::new(&bytes).unwrap();
        let heartbeat = Heartbeat { params: Params::from(&params) };
        let before = pair.log_len();
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&unknown, &heartbeat]));
        let sent = pair.sent_since(Side::A, before);
        let chunks: Vec<u8> = sent.iter().flat_map(|flight| flight.chunks()).collect();
        assert_eq!(chunks.contains(&chunk::HEARTBEAT_ACK), !stops, "{typ:#x}");
        assert_eq!(chunks.contains(&chunk::ERROR), reports, "{typ:#x}");
        if reports {
            let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
            let Some(Ok(Chunk::Error(error))) = reply.chunks().next() else { panic!() };
            assert!(error.causes.iter().eq([Ok(Cause::UnrecognizedChunkType(&bytes))]));
        }
        assert_eq!(pair.a.state(), Some(State::Established));
    }
}

#[test]
fn data_that_breaks_the_protocol_is_answered_by_abort_with_its_cause() {
    let mut pair = in_state(State::Established);
    let tag = pair.tag_of(Side::A);
    // RFC 9260 §6.2: no user data.
    let empty = [0, 3, 0, 16, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0];
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&UnknownChunk::new(&empty).unwrap()]));
    let sent = pair.sent_since(Side::A, before);
    let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Abort(abort))) = reply.chunks().next() else { panic!() };
    assert!(abort.causes.iter().eq([Ok(Cause::NoUserData(Tsn::new(9)))]));
    assert!(pair.a.saw(|e| matches!(e, Event::Lost(LossReason::ProtocolViolation { cause: 9, .. }))));
    pair.run_for(Span::from_secs(1));
    assert!(pair.b.saw(|e| matches!(e, Event::Lost(LossReason::PeerAborted { cause: Some(9), .. }))));
    // A SACK for data that was never sent.
    let mut pair = in_state(State::Established);
    let tag = pair.tag_of(Side::A);
    let sent_init = pair.log.as_ref().unwrap()[0].bytes.clone();
    let Some(Ok(Chunk::Init(init))) = Packet::parse(&sent_init, Checksum::Verify).unwrap().chunks().next()
    else {
        panic!()
    };
    let sack = Sack {
        cum_tsn_ack: init.initial_tsn + 5,
        a_rwnd: 1000,
        gap_blocks: List::EMPTY,
        duplicates: List::EMPTY,
    };
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&sack]));
    assert!(pair.a.saw(|e| matches!(e, Event::Lost(LossReason::ProtocolViolation { cause: 13, .. }))));
}

#[test]
fn data_on_a_stream_that_does_not_exist_is_acknowledged_and_reported() {
    // RFC 9260 §6.5.
    let mut pair = in_state(State::Established);
    let (tag, initial) = (pair.tag_of(Side::A), initial_tsn_of(&pair, Side::B));
    let data = stream_data(initial, 60_000, 0);
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&data]));
    let sent = pair.sent_since(Side::A, before);
    assert_eq!(sent[0].chunks(), [chunk::ERROR, chunk::SACK]);
    assert!(pair.a.received.is_empty());
}

#[test]
fn truncated_and_garbled_packets_with_the_right_tag_are_harmless() {
    for state in STATES.into_iter().filter(|s| *s != State::CookieWait) {
        let mut pair = in_state(state);
        let tag = pair.tag_of(Side::A);
        with_every_chunk(|name, chunk| {
            if matches!(name, "ABORT" | "SHUTDOWN COMPLETE" | "SHUTDOWN ACK" | "ASCONF-ACK") {
                return;
            }
            let mut value = Vec::new();
            chunk.encode(&mut value);
            for cut in 4..value.len() {
                let mut short = value[..cut].to_vec();
                short[2..4].copy_from_slice(&(cut as u16).to_be_bytes());
                let bytes = packet(Side::A, tag, &[&UnknownChunk::new(&short).unwrap()]);
                pair.inject(Side::A, Pair::at(Side::A), &bytes);
            }
        });
    }
}

/// RFC 6951 §5.4: the source of a packet may be learned only after its verification tag was checked.
#[test]
fn the_outcome_says_whether_the_packet_is_verified_as_the_peers() {
    let mut pair = in_state(State::Established);
    let handle = pair.a.handle.unwrap();
    with_every_chunk(|name, chunk| {
        // The peer's address identifies the association; only the tag proves the peer.
        for tag in [FOREIGN, 0] {
            let outcome = pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[chunk]));
            assert_eq!(outcome, DatagramOutcome::Unverified(handle), "{name}, tag {tag}");
        }
    });
    let tag = pair.tag_of(Side::A);
    let info = [7; 24];
    let params = [Param::HeartbeatInfo(&info)];
    let mut bytes = packet(Side::A, tag, &[&Heartbeat { params: Params::from(&params) }]);
    let outcome = pair.inject(Side::A, Pair::at(Side::A), &bytes);
    assert_eq!(outcome, DatagramOutcome::Association(handle));
    bytes[20] ^= 1;
    let outcome = pair.inject(Side::A, Pair::at(Side::A), &bytes);
    assert_eq!(outcome, DatagramOutcome::Unverified(handle), "the checksum is wrong");
}
