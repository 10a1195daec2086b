//! Directed tests of RFC 9260 §3.3.2 to §3.3.12 and §5: contents and destinations of the packets that set up
//! an association, and the state that an INIT or a COOKIE ECHO must not change.

use crate::support;

use std::net::IpAddr;

use msctp_proto::{
    AssociationState as State, AuthConfig, Config, DatagramOutcome, Event, PathAddr, SharedKey,
};
use msctp_units::Span;
use msctp_wire::{
    Cause, Checksum, Chunk, CookieEcho, Heartbeat, Init, InitAck, List, Packet, Param, ParamType, Params,
    Sack, Tsn, VerificationTag,
};
use support::states::{in_state, initial_tsn_of};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk, ip, message, packet, text_message};

/// The Initiate Tag of the INITs that the tests inject.
const TAG: u32 = 5;

fn init<'a>(params: &'a [Param<'a>]) -> Init<'a> {
    Init {
        initiate_tag: VerificationTag::new(TAG),
        a_rwnd: 65_536,
        outbound_streams: 10,
        inbound_streams: 65_535,
        initial_tsn: Tsn::new(9),
        params: Params::from(params),
    }
}

fn init_ack<'a>(params: &'a [Param<'a>]) -> InitAck<'a> {
    let Init { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, params } = init(params);
    InitAck { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, params }
}

/// The contents of an INIT or INIT ACK in the log.
#[derive(Debug)]
struct Said {
    tag: u32,
    a_rwnd: u32,
    streams: (u16, u16),
    initial_tsn: Tsn,
    types: Vec<ParamType>,
    addresses: Vec<IpAddr>,
    cookie: Vec<u8>,
}

impl Said {
    fn of(flight: &Flight) -> Option<Self> {
        if !flight.has(chunk::INIT) && !flight.has(chunk::INIT_ACK) {
            return None;
        }
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
        let (tag, a_rwnd, streams, initial_tsn, params) = match packet.chunks().next() {
            Some(Ok(Chunk::Init(c))) => {
                (c.initiate_tag, c.a_rwnd, (c.outbound_streams, c.inbound_streams), c.initial_tsn, c.params)
            }
            Some(Ok(Chunk::InitAck(c))) => {
                (c.initiate_tag, c.a_rwnd, (c.outbound_streams, c.inbound_streams), c.initial_tsn, c.params)
            }
            _ => return None,
        };
        let params: Vec<Param<'_>> = params.iter().map(Result::unwrap).collect();
        let cookie = params.iter().find_map(|param| match param {
            Param::StateCookie(cookie) => Some(cookie.to_vec()),
            _ => None,
        });
        Some(Self {
            tag: tag.get(),
            a_rwnd,
            streams,
            initial_tsn,
            types: params.iter().map(|param| param.typ()).collect(),
            addresses: params.iter().filter_map(|param| param.address()).collect(),
            cookie: cookie.unwrap_or_default(),
        })
    }

    /// Returns the Tie-Tags in this stack's cookie, after generation, time, life, ports, streams and the two
    /// tags.
    fn tie_tags(&self) -> [u32; 2] {
        let word = |at: usize| u32::from_be_bytes(self.cookie[at..at + 4].try_into().unwrap());
        assert_eq!(word(25), TAG, "the peer's tag precedes them");
        [word(29), word(33)]
    }
}

fn listening(config: Config) -> Pair {
    let mut pair = Pair::new(config, vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair
}

/// Injects an INIT with these parameters into `to`; returns its answers.
fn ask(pair: &mut Pair, to: Side, at: PathAddr, params: &[Param<'_>]) -> Vec<Flight> {
    let before = pair.log_len();
    pair.inject(to, at, &packet(to, 0, &[&init(params)]));
    pair.sent_since(to, before)
}

fn remotes(pair: &mut Pair, side: Side) -> Vec<IpAddr> {
    let mut all: Vec<IpAddr> =
        pair.with(side, |association, _| association.paths().map(|p| p.at.remote).collect());
    all.sort();
    all.dedup();
    all
}

fn v6(last: u16) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last])
}

fn keyed() -> Config {
    let keys = vec![SharedKey { id: 1, secret: b"both ends know 16".to_vec() }];
    let auth = AuthConfig { keys, ..AuthConfig::default() };
    Config { auth, ..Config::mobile() }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# Unless otherwise noted, each parameter MUST only be included once in the INIT chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# An INIT chunk MUST NOT contain the Host Name Address parameter.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
//= type=test
//# The sender of an INIT chunk or INIT ACK chunk MUST NOT include this parameter.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# An INIT ACK chunk MUST NOT contain the Host Name Address parameter.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1
//= type=test
//# The Host Name Address parameter is described in Section 3.3.2.1.4 and MUST NOT be included in an INIT ACK
//# chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# the value MUST NOT be greater than the MIS value sent in the INIT chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
//= type=test
//# the sender of the chunk MUST indicate the number of outbound streams (OS) it wishes to have in the
//# association, as well as the maximum inbound streams (MIS) it will accept
#[test]
fn init_and_init_ack_have_each_parameter_once() {
    for base in [Config::default(), Config::mobile(), Config::webrtc(), keyed()] {
        let config_a = Config { outbound_streams: 20, max_inbound_streams: 5, ..base.clone() };
        let config_b = Config { outbound_streams: 8, max_inbound_streams: 6, ..base };
        let mut pair = listening(config_b);
        pair.connect(config_a, vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(1));
        let log = pair.log.take().unwrap();
        let said: Vec<Said> = log.iter().filter_map(Said::of).collect();
        assert_eq!(said.iter().map(|said| said.streams).collect::<Vec<_>>(), [(20, 5), (5, 6)]);
        for Said { types, addresses, .. } in said {
            let is_address =
                |typ: &ParamType| [ParamType::IPV4_ADDRESS, ParamType::IPV6_ADDRESS].contains(typ);
            let mut once: Vec<u16> = types.iter().filter(|typ| !is_address(typ)).map(|typ| typ.0).collect();
            assert!(!once.contains(&ParamType::HOST_NAME.0), "{types:?}");
            let all = once.len();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), all, "{types:?}");
            assert!(addresses.is_empty() || addresses.len() == 2 && addresses[0] != addresses[1]);
        }
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# The destination IP address of the INIT ACK chunk MUST be set to the source IP address of the INIT chunk to
//# which this INIT ACK chunk is responding.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# An endpoint MUST send the INIT ACK chunk to the IP address from which it received the INIT chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# The packet containing the INIT ACK chunk MUST be sent to the source address of the packet containing the
//# INIT chunk.
#[test]
fn an_init_ack_is_sent_to_the_source_of_the_init() {
    let mut pair = listening(Config::default());
    let at = PathAddr { local: b_ip(1), remote: a_ip(7) };
    let sent = ask(&mut pair, Side::B, at, &[Param::from(a_ip(0)), Param::from(a_ip(1))]);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].at, sent[0].chunks()), (at, vec![chunk::INIT_ACK]));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.2
//= type=test
//# If the INIT chunk does not contain any IP Address parameters, the endpoint receiving the INIT chunk
//# MUST use the source address
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# If the INIT ACK chunk does not contain any IP Address parameters, the receiver of the INIT ACK chunk
//# MUST use the source address
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# If there are no address parameters present in the received INIT or INIT ACK chunk, the endpoint MUST
//# take the source IP address from which the chunk arrives
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# If an SCTP endpoint that only supports either IPv4 or IPv6 receives IPv4 and IPv6 addresses in an INIT or
//# INIT ACK chunk from its peer, it MUST use all the addresses belonging to the supported address family.
#[test]
fn the_peers_addresses_are_the_source_and_the_listed_ones_of_our_family() {
    let listed = [v6(1), a_ip(1), v6(2), a_ip(2)].map(Param::from);
    for (params, wanted) in [(&[][..], vec![a_ip(7)]), (&listed[..], vec![a_ip(1), a_ip(2), a_ip(7)])] {
        let mut pair = listening(Config::default());
        let at = PathAddr { local: b_ip(0), remote: a_ip(7) };
        let sent = ask(&mut pair, Side::B, at, params);
        let said = Said::of(&sent[0]).unwrap();
        let echo = packet(Side::B, said.tag, &[&CookieEcho { cookie: &said.cookie }]);
        assert!(matches!(pair.inject(Side::B, at, &echo), DatagramOutcome::Accepted(_)));
        let mut wanted = wanted;
        wanted.sort();
        assert_eq!(remotes(&mut pair, Side::B), wanted);
    }
    let cookie = Param::StateCookie(&[1; 40]);
    let listed = [Param::from(v6(1)), Param::from(b_ip(1)), Param::from(b_ip(2)), cookie];
    for (params, wanted) in [(&[cookie][..], vec![b_ip(0)]), (&listed[..], vec![b_ip(0), b_ip(1), b_ip(2)])] {
        let mut pair = listening(Config::default());
        pair.drop_if(|_| true);
        pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0), b_ip(1)]);
        let tag = Said::of(&pair.log.as_ref().unwrap()[0]).unwrap().tag;
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&init_ack(params)]));
        assert_eq!(pair.a.state(), Some(State::CookieEchoed));
        assert_eq!(remotes(&mut pair, Side::A), wanted);
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.5
//= type=test
//# The value indicating the Host Name Address parameter MUST NOT be used when sending this parameter and MUST
//# be ignored when receiving this parameter.
#[test]
fn a_host_name_among_the_supported_address_types_is_ignored() {
    let types = |types: &[ParamType]| {
        let mut pair = listening(Config::default());
        let sent =
            ask(&mut pair, Side::B, Pair::at(Side::B), &[Param::SupportedAddressTypes(List::from(types))]);
        assert_eq!(sent[0].chunks(), [chunk::INIT_ACK]);
        Said::of(&sent[0]).unwrap().addresses
    };
    let without = types(&[ParamType::IPV4_ADDRESS]);
    assert_eq!(without, [b_ip(0), b_ip(1)]);
    assert_eq!(types(&[ParamType::HOST_NAME, ParamType::IPV4_ADDRESS]), without);
    let mut pair = listening(Config::default());
    pair.connect(Config::default(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    let log = pair.log.as_ref().unwrap();
    let both = [&ParamType::SUPPORTED_ADDRESS_TYPES.0.to_be_bytes()[..], &[0, 8, 0, 5, 0, 6]].concat();
    assert!(log[0].bytes.windows(8).any(|bytes| bytes == both), "IPv4 and IPv6, whatever this end has");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
//= type=test
//# An implementation MUST be prepared to receive an INIT ACK chunk that is quite large (more than 1500 bytes)
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
//= type=test
//# it MUST immediately send a COOKIE ECHO chunk to its peer with the received State Cookie.
//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.11
//= type=test
//# This field MUST contain the exact cookie received in the State Cookie parameter from the previous INIT ACK
//# chunk.
#[test]
fn the_cookie_of_a_large_init_ack_is_echoed_at_once() {
    let mut pair = in_state(State::CookieWait);
    let tag = Said::of(&pair.log.as_ref().unwrap()[0]).unwrap().tag;
    let cookie: Vec<u8> = (0..3001_u32).map(|n| n as u8).collect();
    let mut params: Vec<Param<'_>> = (0..12).map(|n| Param::from(b_ip(n))).collect();
    params.push(Param::StateCookie(&cookie));
    let before = pair.log_len();
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&init_ack(&params)]));
    let sent = pair.sent_since(Side::A, before);
    assert_eq!(sent.len(), 1);
    let echoed = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    assert!(matches!(echoed.chunks().next(), Some(Ok(Chunk::CookieEcho(echo))) if echo.cookie == cookie));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.11
//= type=test
//# This chunk MUST precede any DATA chunk sent within the association
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# it MUST be the first chunk in the packet and, until the COOKIE ACK chunk is returned, the sender MUST NOT
//# send any other packets to the peer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5
//= type=test
//# the two endpoints MUST complete an initialization process in order to set up an SCTP association
#[test]
fn until_the_cookie_ack_only_the_cookie_echo_with_bundled_data_is_sent() {
    let mut pair = listening(Config::default());
    // Drop all other packets of B: a HEARTBEAT would be answered (§8.3).
    pair.drop_if(|flight| flight.from == Side::B && !flight.has(chunk::INIT_ACK));
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    for _ in 0..100 {
        pair.send(Side::A, message(0, vec![1; 700]));
    }
    pair.run_for(Span::from_millis(900));
    let sent: Vec<_> = pair.sent_since(Side::A, 0).iter().map(Flight::chunks).collect();
    assert_eq!(sent, [vec![chunk::INIT], vec![chunk::COOKIE_ECHO, chunk::DATA]]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.12
//= type=test
//# This chunk MUST precede any DATA or SACK chunk sent within the association
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# the COOKIE ACK chunk MUST be the first chunk in the packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
//= type=test
//# the COOKIE ACK chunk MUST be the first chunk in the SCTP packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
//= type=test
//# if the SACK chunk is bundled with the COOKIE ACK chunk, the COOKIE ACK chunk MUST appear first in the SCTP
//# packet.
#[test]
fn the_cookie_ack_comes_first() {
    let mut pair = listening(Config::default());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("early"));
    pair.run_for(Span::from_secs(1));
    let log = pair.log.as_ref().unwrap();
    let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).unwrap().clone();
    let of_b: Vec<_> = pair.sent_since(Side::B, 0).iter().map(Flight::chunks).collect();
    assert_eq!(of_b[..2], [vec![chunk::INIT_ACK], vec![chunk::COOKIE_ACK, chunk::SACK]]);
    // The COOKIE ACK was lost: the duplicate carries DATA that B already has, and a HEARTBEAT.
    let cookie = Packet::parse(&echo.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::CookieEcho(cookie))) = cookie.chunks().next() else { panic!() };
    let params = [Param::HeartbeatInfo(b"who is there")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    for bytes in [echo.bytes.clone(), packet(Side::B, echo.tag(), &[&cookie, &heartbeat])] {
        let before = pair.log_len();
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        let sent = pair.sent_since(Side::B, before);
        assert_eq!(sent[0].chunks()[0], chunk::COOKIE_ACK);
        assert!(sent[0].chunks().len() == 2, "bundled: {:?}", sent[0].chunks());
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint MUST respond with an INIT ACK chunk
//# using the same parameters
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# When responding, the following rules MUST be applied:
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# Upon receipt of an INIT chunk in the COOKIE-ECHOED state, an endpoint MUST respond with an INIT ACK chunk
//# using the same parameters it sent in its original INIT chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# The endpoint MUST also generate a State Cookie with the INIT ACK chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# the endpoint MUST NOT change its state, the T1-init timer MUST be left running, and the corresponding TCB
//# MUST NOT be destroyed.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# it MUST populate its Tie-Tags within both the association TCB and inside the State Cookie
#[test]
fn an_init_during_set_up_is_answered_with_our_tag_and_changes_nothing() {
    for state in [State::CookieWait, State::CookieEchoed] {
        let mut pair = in_state(state);
        let ours = Said::of(&pair.log.as_ref().unwrap()[0]).unwrap();
        let timer = pair.a.endpoint.poll_timeout();
        let mut ties = Vec::new();
        for _ in 0..2 {
            let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &[]);
            assert_eq!(sent.len(), 1);
            assert_eq!((sent[0].tag(), sent[0].chunks()), (TAG, vec![chunk::INIT_ACK]));
            assert_eq!(sent[0].at, Pair::at(Side::A));
            let said = Said::of(&sent[0]).unwrap();
            assert_eq!((said.tag, said.initial_tsn), (ours.tag, ours.initial_tsn), "{state}");
            assert_eq!((said.a_rwnd, said.streams), (ours.a_rwnd, ours.streams), "{state}");
            ties.push(said.tie_tags());
            assert_eq!(pair.a.state(), Some(state));
            assert_eq!(pair.a.endpoint.poll_timeout(), timer, "{state}");
        }
        assert_eq!(ties[0], ties[1], "{state}");
        assert_eq!(ties[0] == [0, 0], state == State::CookieWait, "{state}");
        pair.pass_all();
        pair.run_for(Span::from_secs(5));
        assert_eq!(pair.a.state(), Some(State::Established));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# If the INIT chunk indicates that a new address has been added to the association, then the entire INIT
//# chunk MUST be discarded
#[test]
fn an_init_in_cookie_echoed_that_adds_an_address_is_discarded() {
    let mut pair = in_state(State::CookieEchoed);
    let timer = pair.a.endpoint.poll_timeout();
    let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &[Param::from(ip(9, 9))]);
    assert_eq!((sent[0].tag(), sent[0].chunks()), (TAG, vec![chunk::ABORT]));
    assert_eq!((pair.a.state(), sent.len()), (Some(State::CookieEchoed), 1));
    assert_eq!(pair.a.endpoint.poll_timeout(), timer);
    assert_eq!(remotes(&mut pair, Side::A), [b_ip(0)]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# upon receipt of an unexpected INIT chunk for this association, the endpoint MUST generate an INIT ACK
//# chunk with a State Cookie.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# the endpoint MUST copy its current Tie-Tags to a reserved place within the State Cookie and the
//# association's TCB.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# The outbound SCTP packet containing this INIT ACK chunk MUST carry a Verification Tag value equal to the
//# Initiate Tag found in the unexpected INIT chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# And the INIT ACK chunk MUST contain a new Initiate Tag
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# the endpoint MUST take no further actions, i.e., the existing association, including its current state,
//# and the corresponding TCB MUST NOT be changed.
#[test]
fn an_unexpected_init_gets_a_new_tag_and_the_tie_tags_and_changes_nothing() {
    for state in [State::Established, State::ShutdownPending, State::ShutdownSent, State::ShutdownReceived] {
        let mut pair = in_state(state);
        let own = pair.tag_of(Side::A);
        let seen = |pair: &Pair| (pair.a.state(), pair.a.events.len(), pair.a.endpoint.poll_timeout());
        let before = seen(&pair);
        let mut told = Vec::new();
        for _ in 0..2 {
            let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &[]);
            assert_eq!(sent.len(), 1);
            assert_eq!((sent[0].tag(), sent[0].chunks()), (TAG, vec![chunk::INIT_ACK]), "{state}");
            told.push(Said::of(&sent[0]).unwrap());
            assert_eq!(seen(&pair), before, "{state}");
        }
        assert!(told[0].tag != 0 && told[0].tag != own && told[0].tag != told[1].tag, "{state}");
        assert_eq!(told[0].tie_tags(), told[1].tie_tags(), "{state}");
        assert!(!told[0].tie_tags().contains(&0), "{state}");
        assert_eq!(pair.tag_of(Side::A), own);
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# For a normal association INIT chunk (i.e., the endpoint is in the CLOSED state), the Tie-Tags MUST be set
//# to 0
#[test]
fn without_an_association_the_tie_tags_are_zero() {
    let mut pair = listening(Config::default());
    let sent = ask(&mut pair, Side::B, Pair::at(Side::B), &[]);
    assert_eq!(Said::of(&sent[0]).unwrap().tie_tags(), [0, 0]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
//= type=test
//# The endpoint also MUST transmit an ERROR chunk with a "Stale Cookie" error cause to the peer endpoint
#[test]
fn the_late_cookie_of_a_restart_is_reported_as_stale() {
    let mut pair = in_state(State::Established);
    let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &[]);
    let said = Said::of(&sent[0]).unwrap();
    pair.run_for(Span::from_secs(61));
    let before = pair.log_len();
    let echo = packet(Side::A, said.tag, &[&CookieEcho { cookie: &said.cookie }]);
    pair.inject(Side::A, Pair::at(Side::A), &echo);
    let sent = pair.sent_since(Side::A, before);
    assert_eq!((sent[0].tag(), sent[0].chunks()), (TAG, vec![chunk::ERROR]));
    let error = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Error(error))) = error.chunks().next() else { panic!() };
    assert!(matches!(error.causes.iter().next(), Some(Ok(Cause::StaleCookie(1_000_000)))), "{error:?}");
    assert!(!pair.a.saw(|event| *event == Event::Restarted));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
//= type=test
//# it MUST update its peer's Verification Tag from the State Cookie
#[test]
fn the_cookie_of_a_collision_updates_the_peers_tag() {
    for state in [State::CookieWait, State::CookieEchoed] {
        let mut pair = in_state(state);
        let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &[]);
        let said = Said::of(&sent[0]).unwrap();
        let echo = packet(Side::A, said.tag, &[&CookieEcho { cookie: &said.cookie }]);
        let before = pair.log_len();
        pair.inject(Side::A, Pair::at(Side::A), &echo);
        assert_eq!(pair.a.state(), Some(State::Established));
        let sent = pair.sent_since(Side::A, before);
        assert_eq!((sent[0].tag(), sent[0].chunks()[0]), (TAG, chunk::COOKIE_ACK));
        pair.send(Side::A, text_message("hello"));
        assert!(pair.sent_since(Side::A, before).iter().all(|flight| flight.tag() == TAG));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.3.1
//= type=test
//# A new Verification Tag value MUST be used each time the endpoint tears down and then reestablishes an
//# association to the same peer.
#[test]
fn each_association_has_new_tags() {
    let mut pair = listening(Config::default());
    for _ in 0..3 {
        pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(2));
        assert_eq!(pair.a.state(), Some(State::Established));
        pair.with(Side::A, |a, now| a.shutdown(now));
        pair.run_for(Span::from_secs(5));
        assert_eq!(pair.a.state(), None);
    }
    let mut tags: Vec<u32> = pair.log.as_ref().unwrap().iter().filter_map(Said::of).map(|s| s.tag).collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), 6, "three of A, three of B");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.3
//= type=test
//# If the State Cookie is not encrypted, it MUST NOT contain information that is not being envisioned to be
//# shared.
#[test]
fn a_cookie_reveals_neither_shared_keys_nor_the_tags_of_the_association() {
    let mut pair = Pair::established(keyed());
    pair.log = Some(Vec::new());
    pair.send(Side::A, text_message("hello"));
    pair.send(Side::B, text_message("hello"));
    pair.run_for(Span::from_secs(1));
    let tags = [pair.tag_of(Side::A), pair.tag_of(Side::B)];
    let log = pair.log_len();
    let auth = [Param::Random(&[3; 32]), Param::HmacAlgo(List::from(&[msctp_wire::HmacId::SHA256]))];
    let sent = ask(&mut pair, Side::A, Pair::at(Side::A), &auth);
    let said = Said::of(&sent[0]).unwrap_or_else(|| panic!("{:?}", pair.sent_since(Side::A, log)));
    assert!(!said.cookie.windows(17).any(|bytes| bytes == b"both ends know 16"));
    for tag in tags {
        assert!(!said.cookie.windows(4).any(|bytes| bytes == tag.to_be_bytes()), "{tag:#x}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# each endpoint MUST set its internal Cumulative TSN Ack Point to the value of its transmitted Initial TSN
//# minus one.
#[test]
fn before_any_data_the_cumulative_tsn_ack_point_is_the_initial_tsn_minus_one() {
    for (ahead, lost) in [(0, false), (1, true)] {
        let mut pair = in_state(State::Established);
        let cum_tsn_ack = initial_tsn_of(&pair, Side::A) - 1 + ahead;
        let sack = Sack { cum_tsn_ack, a_rwnd: 65_536, gap_blocks: List::EMPTY, duplicates: List::EMPTY };
        let tag = pair.tag_of(Side::A);
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&sack]));
        assert_eq!(pair.a.state().is_none(), lost, "a SACK of unsent data is an error");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
//= type=test
//# An endpoint MUST NOT send any chunks to an UNCONFIRMED address, with the following exceptions:
#[test]
fn an_unconfirmed_address_gets_only_heartbeats() {
    let mut pair = listening(Config::default());
    // A's packets to B's second address are lost: it stays unconfirmed.
    pair.drop_if(|flight| flight.from == Side::A && flight.at.remote == b_ip(1));
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(20));
    let mut sent = pair.sent_since(Side::A, 0);
    sent.retain(|flight| flight.at.remote == b_ip(1));
    assert!(!sent.is_empty());
    let probes = [chunk::HEARTBEAT, chunk::HEARTBEAT_ACK];
    assert!(sent.iter().all(|flight| flight.chunks().iter().all(|c| probes.contains(c))), "{sent:?}");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
//= type=test
//# A COOKIE ACK chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with a HEARTBEAT chunk
//# including a nonce.
#[test]
fn a_cookie_ack_is_never_sent_to_an_unconfirmed_address() {
    let mut pair = listening(Config::default());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    let log = pair.log.as_ref().unwrap();
    let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).unwrap().bytes.clone();
    let before = pair.log_len();
    pair.inject(Side::B, PathAddr { local: b_ip(0), remote: a_ip(7) }, &echo);
    let sent = pair.sent_since(Side::B, before);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].at.remote, sent[0].chunks()), (a_ip(0), vec![chunk::COOKIE_ACK]));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
//= type=test
//# A COOKIE ECHO chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with a HEARTBEAT chunk
//# including a nonce, and the size of the SCTP packet MUST NOT exceed the PMTU.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
//= type=test
//# if the bundled COOKIE ECHO chunk plus HEARTBEAT chunk (including nonce) would result in an SCTP packet
//# larger than the PMTU, then the implementation MUST NOT send a COOKIE ECHO chunk to an UNCONFIRMED address.
#[test]
fn a_cookie_echo_to_an_unconfirmed_address_has_a_heartbeat_and_fits_the_pmtu() {
    let mut pair = in_state(State::CookieWait);
    let pmtu = pair.with(Side::A, |a, _| a.paths().next().expect("a path").pmtu) as usize - 20;
    let mut sizes = Vec::new();
    for len in 100..pmtu + 100 {
        let mut pair = in_state(State::CookieWait);
        pair.send(Side::A, text_message("early"));
        let tag = Said::of(&pair.log.as_ref().unwrap()[0]).unwrap().tag;
        let cookie = vec![1; len];
        let params = [Param::from(b_ip(0)), Param::StateCookie(&cookie)];
        // The INIT ACK has a source that the application did not name.
        let at = PathAddr { local: a_ip(0), remote: b_ip(1) };
        let before = pair.log_len();
        pair.inject(Side::A, at, &packet(Side::A, tag, &[&init_ack(&params)]));
        assert_eq!(pair.a.state(), Some(State::CookieEchoed));
        pair.run_for(Span::from_secs(2));
        for flight in pair.sent_since(Side::A, before) {
            if flight.at.remote == b_ip(1) {
                assert_eq!(flight.chunks(), [chunk::COOKIE_ECHO, chunk::HEARTBEAT]);
                sizes.push(flight.bytes.len());
            }
        }
    }
    let largest = sizes.iter().copied().max().unwrap();
    assert!((pmtu - 3..=pmtu).contains(&largest), "{largest} bytes, and {pmtu} fit");
}
