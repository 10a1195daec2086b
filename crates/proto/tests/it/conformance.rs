//! Directed tests of sentences of RFC 9260 that the other tests do not cover.

use crate::support;

use msctp_proto::{AbortReason, AssociationState as State, Config, Event, LossReason, OutMessage, SendError};
use msctp_units::Span;
use msctp_wire::{
    Abort, Cause, CauseCode, Causes, Checksum, Chunk, EncodeChunk, GapBlock, Heartbeat, Init, InitAck, List,
    Packet, Param, Params, Sack, Shutdown, Tsn, UnknownChunk, VerificationTag,
};
use support::chunks::{bare_init, data};
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message, packet, text_message};

fn begun() -> Pair {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair
}

fn established() -> Pair {
    let mut pair = begun();
    pair.run_for(Span::from_secs(2));
    assert_eq!(pair.a.state(), Some(State::Established));
    pair
}

/// Returns a pair whose A waits for an INIT ACK that does not arrive, and A's tag.
fn waiting() -> (Pair, u32) {
    let mut pair = begun();
    pair.drop_if(|flight| flight.has(chunk::INIT_ACK));
    pair.run_for(Span::from_millis(100));
    let tag = pair.tag_of(Side::A);
    (pair, tag)
}

const INIT_ACK: InitAck<'static> = InitAck {
    initiate_tag: VerificationTag::new(5),
    a_rwnd: 65_536,
    outbound_streams: 1,
    inbound_streams: 1,
    initial_tsn: Tsn::new(9),
    params: Params::EMPTY,
};

/// Returns the bytes of the causes in the first chunk of a packet, an ABORT or an ERROR.
fn causes_of(flight: &Flight) -> Vec<u8> {
    let len = usize::from(u16::from_be_bytes([flight.bytes[14], flight.bytes[15]]));
    flight.bytes[16..12 + len].to_vec()
}

fn answer_to(ack: &InitAck<'_>) -> (Pair, Vec<Flight>) {
    let (mut pair, tag) = waiting();
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[ack]));
    let sent = pair.sent_since(Side::A, before);
    (pair, sent)
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the Initiate Tag set to 0, it
//# MUST destroy the TCB
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the OS value set to 0, it MUST
//# destroy the TCB
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the MIS value set to 0, it MUST
//# destroy the TCB
#[test]
fn an_init_ack_without_tag_or_streams_ends_the_association_by_abort() {
    let zero_tag = InitAck { initiate_tag: VerificationTag::ZERO, ..INIT_ACK };
    for ack in [
        zero_tag,
        InitAck { outbound_streams: 0, ..INIT_ACK },
        InitAck { inbound_streams: 0, ..INIT_ACK },
        // RFC 9260 §3.3.10.2: no State Cookie.
        INIT_ACK,
    ] {
        let (pair, sent) = answer_to(&ack);
        assert_eq!(pair.a.state(), None, "{ack:?}");
        assert!(matches!(pair.a.events.last(), Some(Event::Lost(LossReason::ProtocolViolation { .. }))));
        assert_eq!(sent[0].chunks(), [chunk::ABORT]);
        let reflected = ack.initiate_tag == VerificationTag::ZERO;
        assert_eq!(sent[0].bytes[13], u8::from(reflected), "T bit");
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //= type=test
        //# The Verification Tag field in the common header of the outbound SCTP packet containing the ABORT
        //# chunk MUST be set to the Initiate Tag value of the received INIT or INIT ACK chunk
        assert!(reflected || sent[0].tag() == 5);
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# A receiver of an INIT ACK chunk with the a_rwnd value set to a value smaller than 1500 MUST discard the
//# packet, SHOULD send a packet in response containing an ABORT chunk and using the Initiate Tag as the
//# Verification Tag, and MUST NOT change the state of any existing association.
#[test]
fn an_init_ack_with_a_small_window_changes_nothing() {
    let (pair, sent) = answer_to(&InitAck { a_rwnd: 1499, ..INIT_ACK });
    assert_eq!(pair.a.state(), Some(State::CookieWait));
    assert_eq!((sent[0].tag(), sent[0].chunks()), (5, vec![chunk::ABORT]));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# The receiver of an INIT chunk containing a Host Name Address parameter MUST send an ABORT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# The receiver of INIT ACK chunks containing a Host Name Address parameter MUST send an ABORT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
//= type=test
//# The receiver of an INIT chunk or an INIT ACK containing a Host Name Address parameter MUST send an ABORT
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# If there is a Host Name Address parameter present in the received INIT or INIT ACK chunk, the endpoint
//# MUST immediately send an ABORT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
//= type=test
//# At least one null terminator is included in the Host Name string and MUST be included in the length.
#[test]
fn a_host_name_is_rejected_by_an_abort_that_quotes_the_whole_parameter() {
    let host = [Param::HostName(b"a.b\0")];
    // RFC 9260 §3.3.10.5: "the complete Type, Length, and Value".
    let quoted = [0, 5, 0, 12, 0, 11, 0, 8, b'a', b'.', b'b', 0];
    let (pair, sent) = answer_to(&InitAck { params: Params::from(&host), ..INIT_ACK });
    assert_eq!((pair.a.state(), sent[0].tag()), (None, 5));
    assert_eq!(causes_of(&sent[0]), quoted);
    let mut pair = established();
    let before = pair.log_len();
    let init = Init { params: Params::from(&host), ..bare_init() };
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
    assert_eq!(causes_of(&pair.sent_since(Side::B, before)[0]), quoted);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# A receiver of an INIT chunk with the a_rwnd value set to a value smaller than 1500 MUST discard the
//# packet, SHOULD send a packet in response containing an ABORT chunk and using the Initiate Tag as the
//# Verification Tag, and MUST NOT change the state of any existing association.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# A receiver of an INIT chunk with the OS value set to 0 MUST discard the packet, SHOULD send a packet in
//# response containing an ABORT chunk and using the Initiate Tag as the Verification Tag, and MUST NOT
//# change the state of any existing association.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# A receiver of an INIT chunk with the MIS value set to 0 MUST discard the packet, SHOULD send a packet in
//# response containing an ABORT chunk and using the Initiate Tag as the Verification Tag, and MUST NOT
//# change the state of any existing association.
#[test]
fn a_bad_init_does_not_change_an_association() {
    for bad in [
        Init { a_rwnd: 1499, ..bare_init() },
        Init { outbound_streams: 0, ..bare_init() },
        Init { inbound_streams: 0, ..bare_init() },
    ] {
        let mut pair = established();
        let before = pair.log_len();
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&bad]));
        let sent = pair.sent_since(Side::B, before);
        assert_eq!((sent[0].tag(), sent[0].chunks()), (5, vec![chunk::ABORT]), "{bad:?}");
        assert_eq!(pair.b.state(), Some(State::Established));
        pair.transfer(Side::A, 10, 100, Span::from_secs(5));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
//= type=test
//# If an endpoint receives an ABORT chunk with a format error or no TCB is found, it MUST silently discard
//# it.
#[test]
fn an_abort_with_a_format_error_is_ignored() {
    // A Length beyond the chunk, one below the header, half a header, a Stale Cookie of 2 bytes.
    for causes in [&[0, 12, 0, 9, 1, 2, 3, 4][..], &[0, 12, 0, 3], &[0, 12], &[0, 3, 0, 6, 1, 2, 0, 0]] {
        let mut pair = established();
        let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
        let bad = Abort { tag_reflected: false, causes: Causes::from_wire(causes) };
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&bad]));
        assert_eq!(pair.a.state(), Some(State::Established), "{causes:?}");
        assert!(pair.sent_since(Side::A, before).is_empty());
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
//= type=test
//# an endpoint that receives an ABORT chunk MUST NOT respond to that ABORT chunk by sending an ABORT chunk
#[test]
fn an_abort_behind_other_chunks_is_not_answered_out_of_the_blue() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
    let heartbeat = Heartbeat { params: Params::EMPTY };
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 77, &[&heartbeat, &abort]));
    assert!(pair.sent_since(Side::B, 0).is_empty());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# until the COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer.
#[test]
fn an_unknown_chunk_before_the_cookie_ack_is_not_reported() {
    let mut pair = begun();
    pair.drop_if(|flight| flight.has(chunk::COOKIE_ACK));
    pair.run_for(Span::from_millis(100));
    assert_eq!(pair.a.state(), Some(State::CookieEchoed));
    let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
    let unknown = UnknownChunk::new(&[0xc7, 0, 0, 4]).unwrap();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&unknown]));
    assert!(pair.sent_since(Side::A, before).is_empty());
}

/// RFC 9260 §3.2, §3.3.10: the Cause Length does not count the padding after the last parameter.
#[test]
fn a_report_beside_the_cookie_echo_does_not_count_padding() {
    let mut pair = begun();
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::INIT_ACK) {
            let mut chunk = flight.bytes[12..].to_vec();
            chunk.resize(chunk.len().next_multiple_of(4), 0);
            chunk.extend_from_slice(&[0xcf, 0xf7, 0, 5, 1, 0, 0, 0, 0xcf, 0xf8, 0, 5, 2, 0, 0, 0]);
            let len = chunk.len() as u16 - 3;
            chunk[2..4].copy_from_slice(&len.to_be_bytes());
            let tag = flight.tag();
            flight.bytes = packet(Side::A, tag, &[&UnknownChunk::new(&chunk).unwrap()]);
        }
        Fate::Pass
    });
    pair.run_for(Span::from_secs(1));
    let log = pair.log.as_ref().unwrap();
    let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).expect("sent");
    let packet = Packet::parse(&echo.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Error(error))) = packet.chunks().nth(1) else { panic!("{:?}", echo.chunks()) };
    let cause = error.causes.iter().next().unwrap().unwrap();
    let wanted = [0xcf, 0xf7, 0, 5, 1, 0, 0, 0, 0xcf, 0xf8, 0, 5, 2];
    assert_eq!(cause, Cause::UnrecognizedParameters(&wanted));
}

/// RFC 3758 §3.3.1: an end without partial reliability reports the parameter.
#[test]
fn forward_tsn_supported_is_reported_when_the_extension_is_off() {
    for on in [true, false] {
        let mut config = Config::default();
        config.streams.partial_reliability = on;
        let mut pair = Pair::new(config, vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let params = [Param::ForwardTsnSupported];
        let init = Init { params: Params::from(&params), ..bare_init() };
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
        let sent = pair.sent_since(Side::B, 0);
        let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = reply.chunks().next() else { panic!("{sent:?}") };
        let reported =
            ack.params.iter().flatten().any(
                |param| matches!(param, Param::UnrecognizedParameter(bytes) if bytes == [0xc0, 0, 0, 4]),
            );
        assert_eq!(reported, !on);
    }
}

/// Returns a pair whose A stays in this state.
fn closing(state: State) -> Pair {
    let mut pair = established();
    pair.drop_if(|flight| flight.has(chunk::DATA) || flight.has(chunk::SHUTDOWN_ACK));
    let (from, text) = match state {
        State::ShutdownPending => (Side::A, true),
        State::ShutdownReceived => (Side::B, true),
        _ => (Side::B, false),
    };
    if text {
        pair.send(Side::A, text_message("stuck"));
    }
    pair.with(from, |association, now| association.shutdown(now));
    pair.run_for(Span::from_millis(50));
    assert_eq!(pair.a.state(), Some(state));
    pair
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.6
//= type=test
//# An endpoint MUST send this chunk to its peer endpoint as a response to a HEARTBEAT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.6
//= type=test
//# This field MUST contain the Heartbeat Info parameter (as defined in Section 3.3.5) of the Heartbeat
//# Request to which this Heartbeat Acknowledgement is responding.
#[test]
fn a_heartbeat_is_answered_with_its_info_while_setting_up_and_closing() {
    let mut echoed = begun();
    echoed.drop_if(|flight| flight.has(chunk::COOKIE_ACK));
    echoed.run_for(Span::from_millis(100));
    assert_eq!(echoed.a.state(), Some(State::CookieEchoed));
    for mut pair in [echoed, established(), closing(State::ShutdownPending), closing(State::ShutdownReceived)]
    {
        let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
        let params = [Param::HeartbeatInfo(b"who is there")];
        let heartbeat = Heartbeat { params: Params::from(&params) };
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&heartbeat]));
        let sent = pair.sent_since(Side::A, before);
        let answer = sent.iter().find(|flight| flight.has(chunk::HEARTBEAT_ACK));
        let answer = answer.unwrap_or_else(|| panic!("no answer in {:?}", pair.a.state()));
        assert!(answer.bytes.windows(12).any(|bytes| bytes == b"who is there"));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# In the SHUTDOWN-RECEIVED state, the endpoint MUST NOT accept any new send requests from its SCTP user.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# In the SHUTDOWN-ACK-SENT state, the endpoint MUST NOT accept any new send requests from its SCTP user.
#[test]
fn send_is_rejected_once_the_peer_shut_down() {
    for state in [State::ShutdownReceived, State::ShutdownAckSent] {
        let mut pair = closing(state);
        let taken = pair.with(Side::A, |a, now| a.send(now, text_message("late")));
        assert_eq!(taken, Err(SendError::Closed), "{state:?}");
    }
}

/// Returns the COOKIE ECHO packet of a peer that restarted with another tag, as A would receive it.
fn restarting_cookie(pair: &mut Pair) -> (Vec<u8>, u32) {
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, 0, &[&bare_init()]));
    let sent = pair.sent_since(Side::A, before);
    let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = reply.chunks().next() else { panic!("{:?}", sent[0].chunks()) };
    let cookie = ack.params.iter().flatten().find_map(|param| match param {
        Param::StateCookie(cookie) => Some(cookie.to_vec()),
        _ => None,
    });
    (cookie.expect("a cookie"), ack.initiate_tag.get())
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
//= type=test
//# it MUST NOT set up a new association but instead resend the SHUTDOWN ACK chunk and send an ERROR chunk
//# with a "Cookie Received While Shutting Down" error cause to its peer.
#[test]
fn a_restart_in_shutdown_ack_sent_gets_the_shutdown_ack_and_an_error() {
    let mut pair = established();
    let (cookie, tag) = restarting_cookie(&mut pair);
    pair.drop_if(|flight| flight.has(chunk::SHUTDOWN_ACK));
    pair.with(Side::B, |b, now| b.shutdown(now));
    pair.run_for(Span::from_millis(50));
    assert_eq!(pair.a.state(), Some(State::ShutdownAckSent));
    let before = pair.log_len();
    let echo = msctp_wire::CookieEcho { cookie: &cookie };
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&echo]));
    let sent = pair.sent_since(Side::A, before);
    assert_eq!((sent[0].tag(), sent[0].chunks()), (5, vec![chunk::SHUTDOWN_ACK, chunk::ERROR]));
    let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Error(error))) = reply.chunks().nth(1) else { panic!() };
    let code = error.causes.iter().next().unwrap().unwrap().typ();
    assert_eq!(code, CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN);
    assert_eq!(pair.a.state(), Some(State::ShutdownAckSent));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
//= type=test
//# All the congestion control parameters (e.g., cwnd, ssthresh) related to this peer MUST be reset to their
//# initial values
#[test]
fn a_restart_resets_the_congestion_window() {
    let mut pair = established();
    let cwnd = |pair: &mut Pair| pair.with(Side::A, |a, _| a.paths().next().expect("a path").cwnd);
    let first = cwnd(&mut pair);
    pair.transfer(Side::A, 200, 1000, Span::from_secs(20));
    assert!(cwnd(&mut pair) > first);
    let (cookie, tag) = restarting_cookie(&mut pair);
    let echo = msctp_wire::CookieEcho { cookie: &cookie };
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&echo]));
    assert!(pair.a.saw(|event| *event == Event::Restarted));
    assert_eq!(cwnd(&mut pair), first);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
//= type=test
//# If this comparison fails, the SCTP packet, including the COOKIE ECHO chunk and any DATA chunks, MUST be
//# silently discarded.
#[test]
fn data_bundled_with_a_bad_cookie_is_discarded() {
    let mut pair = established();
    let tag = pair.tag_of(Side::B);
    let next = pair.log.as_ref().unwrap().iter().find(|flight| flight.has(chunk::INIT)).unwrap();
    let tsn = u32::from_be_bytes(next.bytes[28..32].try_into().unwrap());
    let data = data(Tsn::new(tsn), 0);
    let bad = msctp_wire::CookieEcho { cookie: &[1; 80] };
    let before = pair.log_len();
    let chunks: [&dyn EncodeChunk; 2] = [&bad, &data];
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &chunks));
    pair.run_for(Span::from_secs(1));
    assert!(pair.b.received.is_empty());
    assert!(pair.sent_since(Side::B, before).iter().all(|flight| !flight.has(chunk::SACK)));
}

/// A DATA chunk in the log, with its bytes in the packet: header, value, padding.
struct Sent {
    tsn: u32,
    ssn: u16,
    /// Bits U, B, E.
    flags: [bool; 3],
    payload: usize,
    len: usize,
    padding: Vec<u8>,
}

/// Returns the DATA chunks that A sent, in the order of their TSNs.
fn data_chunks_of(pair: &Pair, since: usize) -> Vec<Sent> {
    let mut all = Vec::new();
    for flight in pair.sent_since(Side::A, since) {
        let mut rest = &flight.bytes[12..];
        while !rest.is_empty() {
            let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            let padded = len.next_multiple_of(4);
            if rest[0] == chunk::DATA {
                let tsn = u32::from_be_bytes(rest[4..8].try_into().unwrap());
                let ssn = u16::from_be_bytes(rest[10..12].try_into().unwrap());
                let flags = [4, 2, 1].map(|bit| rest[1] & bit != 0);
                all.push(Sent {
                    tsn,
                    ssn,
                    flags,
                    payload: len - 16,
                    len,
                    padding: rest[len..padded].to_vec(),
                });
            }
            rest = &rest[padded..];
        }
    }
    all
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# If an unordered user message is fragmented, each fragment of the message MUST have its U bit set to 1.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# the same Stream Sequence Number MUST be carried in each of the fragments of the message.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# This field MUST be sent even in fragmented DATA chunks
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# An unfragmented user message MUST have both the B and E bits set to
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# the TSNs for each fragment of a fragmented user message MUST be strictly sequential.
#[test]
fn fragments_have_the_flags_and_the_number_of_their_message() {
    let mut pair = established();
    let before = pair.log_len();
    pair.send(Side::A, text_message("one chunk"));
    for unordered in [true, false] {
        pair.send(Side::A, OutMessage { unordered, ..message(0, vec![7; 5000]) });
        pair.send(Side::A, OutMessage { unordered, ..message(1, vec![7; 10]) });
    }
    pair.run_for(Span::from_secs(2));
    let sent = data_chunks_of(&pair, before);
    assert!(sent.windows(2).all(|two| two[1].tsn == two[0].tsn.wrapping_add(1)));
    assert!(sent.len() > 8, "fragmented");
    let mut messages = sent.split_inclusive(|sent| sent.flags[2]);
    for (len, unordered, ssn) in
        [(9, false, 0), (5000, true, 0), (10, true, 0), (5000, false, 1), (10, false, 0)]
    {
        let fragments = messages.next().expect("it was sent");
        assert_eq!(fragments.iter().map(|sent| sent.payload).sum::<usize>(), len);
        assert_eq!(fragments.len() > 1, len > 1000);
        for (n, Sent { ssn: number, flags, .. }) in fragments.iter().enumerate() {
            assert_eq!(
                (*number, *flags),
                (ssn, [unordered, n == 0, n + 1 == fragments.len()]),
                "{len} bytes"
            );
        }
    }
    assert!(messages.next().is_none());
    assert_eq!(pair.b.received.len(), 5);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# The implementation MUST pad the end of the data to a 4-byte boundary with all zero bytes.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# Any padding MUST NOT be included in the Length field.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
//= type=test
//# A sender MUST never add more than 3 bytes of padding.
#[test]
fn data_is_padded_with_zeros_outside_its_length() {
    let mut pair = established();
    let before = pair.log_len();
    for len in 1..=9 {
        pair.send(Side::A, message(0, vec![0xff; len]));
    }
    pair.run_for(Span::from_secs(2));
    let sent = data_chunks_of(&pair, before);
    let lens: Vec<_> = sent.iter().map(|sent| (sent.len, sent.padding.len())).collect();
    assert_eq!(lens, (1..=9).map(|len| (16 + len, (4 - len % 4) % 4)).collect::<Vec<_>>());
    assert!(sent.iter().all(|sent| sent.padding.iter().all(|byte| *byte == 0)));
    // Every packet ends with the padding of its last chunk.
    assert!(pair.sent_since(Side::A, before).iter().all(|flight| flight.bytes.len().is_multiple_of(4)));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
//= type=test
//# DATA chunks MUST NOT be bundled with ABORT chunks.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
//= type=test
//# but they MUST be placed before the ABORT chunk in the SCTP packet
#[test]
fn an_abort_is_never_bundled() {
    let mut pair = established();
    // A SACK is delayed, and DATA is blocked by the window.
    pair.drop_if(|flight| flight.from == Side::A);
    pair.send(Side::B, text_message("hello"));
    pair.run_for(Span::from_millis(100));
    for _ in 0..50 {
        pair.send(Side::A, message(0, vec![1; 1000]));
    }
    pair.send(Side::B, text_message("hello"));
    pair.run_for(Span::from_millis(30));
    let before = pair.log_len();
    pair.with(Side::A, |a, now| a.abort(now, &AbortReason::default()));
    let sent: Vec<_> = pair.sent_since(Side::A, before).iter().map(Flight::chunks).collect();
    assert_eq!(sent, [[chunk::ABORT]]);
    // A protocol violation follows a HEARTBEAT that needs an answer.
    let mut pair = established();
    let (tag, before) = (pair.tag_of(Side::A), pair.log_len());
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let empty = UnknownChunk::new(&[0, 3, 0, 16, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&heartbeat, &empty]));
    let sent: Vec<_> = pair.sent_since(Side::A, before).iter().map(Flight::chunks).collect();
    assert_eq!(sent.concat().last(), Some(&chunk::ABORT));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.8
//= type=test
//# the receiver of the SHUTDOWN chunk MUST NOT interpret the lack of a Gap Ack Block as a renege.
#[test]
fn a_shutdown_does_not_revoke_gap_blocks() {
    let mut pair = established();
    pair.drop_if(|_| true);
    let before = pair.log_len();
    for _ in 0..3 {
        pair.send(Side::A, message(0, vec![1; 900]));
    }
    let tsns: Vec<u32> = data_chunks_of(&pair, before).iter().map(|sent| sent.tsn).collect();
    assert_eq!(tsns.len(), 3);
    let cum_tsn_ack = Tsn::new(tsns[0].wrapping_sub(1));
    let gap_blocks = [GapBlock { start: 2, end: 3 }];
    let sack =
        Sack { cum_tsn_ack, a_rwnd: 65_536, gap_blocks: List::from(&gap_blocks), duplicates: List::EMPTY };
    let tag = pair.tag_of(Side::A);
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&sack]));
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&Shutdown { cum_tsn_ack }]));
    assert_eq!(pair.a.state(), Some(State::ShutdownReceived));
    pair.run_for(Span::from_secs(10));
    let again = data_chunks_of(&pair, before);
    assert!(!again.is_empty());
    assert!(again.iter().all(|sent| sent.tsn == tsns[0]), "the others are acknowledged");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# the endpoint MUST immediately respond with a SACK chunk to acknowledge the DATA chunk.
#[test]
fn the_first_data_chunk_is_acknowledged_at_once() {
    let mut pair = established();
    for at_once in [true, false] {
        let before = pair.log_len();
        pair.send(Side::B, text_message("hello"));
        // The one-way delay is 20 ms.
        pair.run_for(Span::from_millis(21));
        let sacks = pair.sent_since(Side::A, before).iter().filter(|flight| flight.has(chunk::SACK)).count();
        assert_eq!(sacks, usize::from(at_once));
        pair.run_for(Span::from_secs(1));
    }
}
