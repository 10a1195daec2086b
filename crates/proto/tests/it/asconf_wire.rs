//! Rules of RFC 5061 about packets: destinations, states and bundling of ASCONF and ASCONF-ACK, and the
//! parameters of the set-up.

use crate::support;

use std::net::IpAddr;

use msctp_proto::{AssociationState as State, AuthConfig, CallError, Config, Event, LossReason, PathAddr};
use msctp_units::Span;
use msctp_wire::param::AddressRequest as Request;
use msctp_wire::{
    Asconf, AsconfAck, AsconfSerial, Chunk, CorrelationId, Data, EncodeChunk, Heartbeat, Packet, Param,
    Params, Tsn,
};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk, chunks, packet};

const AUTH: u8 = 0x0f;

/// Establishes a pair without AUTH, so that a test can write chunks that change addresses.
fn unsigned(addresses_a: Vec<IpAddr>) -> Pair {
    let config = Config { auth: AuthConfig::without(), ..Config::default() };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, addresses_a, vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
    pair
}

/// Returns the initial TSN of an end, which is also the serial number of its first ASCONF (§5.1 A2).
fn initial_tsn(pair: &Pair, of: Side) -> u32 {
    let typ = if of == Side::A { chunk::INIT } else { chunk::INIT_ACK };
    let bytes = &pair.log.as_ref().unwrap().iter().find(|flight| flight.has(typ)).unwrap().bytes;
    u32::from_be_bytes(bytes[28..32].try_into().unwrap())
}

fn prefer(id: u32, address: IpAddr) -> Param<'static> {
    Param::SetPrimaryAddress(Request { correlation_id: CorrelationId::new(id), address })
}

fn asconf<'a>(serial: u32, requests: &'a [Param<'a>]) -> Asconf<'a> {
    Asconf { serial: AsconfSerial::new(serial), address: a_ip(0), requests: Params::from(requests) }
}

fn to_b(remote: IpAddr) -> PathAddr {
    PathAddr { local: b_ip(0), remote }
}

/// Injects a packet for B from this address. Returns B's answers.
fn ask(pair: &mut Pair, from: IpAddr, chunks: &[&dyn EncodeChunk]) -> Vec<Flight> {
    let before = pair.log_len();
    let bytes = packet(Side::B, pair.tag_of(Side::B), chunks);
    pair.inject(Side::B, to_b(from), &bytes);
    pair.sent_since(Side::B, before)
}

/// Returns the serial numbers of the ASCONF-ACKs in a packet.
fn answered(flight: &Flight) -> Vec<u32> {
    let packet = Packet::parse(&flight.bytes, msctp_wire::Checksum::Verify).unwrap();
    let serial = |chunk| match chunk {
        Ok(Chunk::AsconfAck(ack)) => Some(ack.serial.get()),
        _ => None,
    };
    packet.chunks().filter_map(serial).collect()
}

/// Returns the DATA chunk of this message, with the TSN and SSN that follow from the initial TSN.
fn data(initial_tsn: u32, number: u16) -> Data<'static> {
    chunks::data(Tsn::new(initial_tsn) + u32::from(number), number)
}

/// Returns true if an end has a path with this address, its own or its peer's.
fn knows(pair: &mut Pair, side: Side, address: IpAddr) -> bool {
    pair.with(side, |end, _| end.paths().any(|path| [path.at.local, path.at.remote].contains(&address)))
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# After processing the entire Chunk, the receiver of the ASCONF MUST queue the response ASCONF-ACK Chunk for
//# transmission after the rest of the SCTP packet has been processed.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# The destination address of the SCTP packet containing the ASCONF-ACK Chunks MUST be the source address of
//# the SCTP packet that held the ASCONF Chunks.
#[test]
fn the_answers_to_a_packet_are_bundled_and_sent_to_its_source() {
    let mut pair = unsigned(vec![a_ip(0)]);
    let first = initial_tsn(&pair, Side::A);
    let requests = [prefer(1, a_ip(9))];
    let info = [Param::HeartbeatInfo(b"behind them")];
    let heartbeat = Heartbeat { params: Params::from(&info) };
    for from in [a_ip(0), a_ip(7)] {
        let [one, other] = [first, first.wrapping_add(1)].map(|serial| asconf(serial, &requests));
        let sent = ask(&mut pair, from, &[&one, &other, &heartbeat]);
        let acks: Vec<_> = sent.iter().filter(|flight| flight.has(chunk::ASCONF_ACK)).collect();
        assert_eq!(acks.len(), 1);
        assert_eq!(answered(acks[0]), [first, first.wrapping_add(1)]);
        assert_eq!(acks[0].at.remote, from, "whether it is an address of the peer or not");
        assert!(sent.iter().any(|flight| flight.has(chunk::HEARTBEAT_ACK)));
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# the receiver MUST stop adding additional ASCONF-ACKs into the response packet but MUST continue to process
//# all of the ASCONF Chunks, saving ASCONF-ACK Chunk responses in its cached copy
#[test]
fn answers_that_do_not_fit_are_cached_and_every_request_is_carried_out() {
    const COUNT: u32 = 8;
    let mut pair = unsigned(vec![a_ip(0)]);
    let first = initial_tsn(&pair, Side::A);
    // Each answer quotes seven rejected requests: about 200 bytes.
    let refused: Vec<Param<'_>> = (0..7).map(|id| prefer(id, a_ip(9))).collect();
    let add = Request { correlation_id: CorrelationId::new(7), address: a_ip(3) };
    let last: Vec<Param<'_>> = refused.iter().copied().chain([Param::AddIpAddress(add)]).collect();
    let chunks: Vec<Asconf<'_>> = (0..COUNT)
        .map(|n| asconf(first.wrapping_add(n), if n + 1 < COUNT { &refused } else { &last }))
        .collect();
    let all: Vec<&dyn EncodeChunk> = chunks.iter().map(|chunk| chunk as &dyn EncodeChunk).collect();
    let sent = ask(&mut pair, a_ip(0), &all);
    let acks: Vec<_> = sent.iter().filter(|flight| flight.has(chunk::ASCONF_ACK)).collect();
    assert_eq!(acks.len(), 1);
    let given = answered(acks[0]);
    assert!(!given.is_empty() && given.len() < COUNT as usize, "{given:?}");
    assert!(acks[0].bytes.len() + 20 <= 1500, "within the PMTU");
    assert!(knows(&mut pair, Side::B, a_ip(3)), "the last one is carried out");
    let last_serial = first.wrapping_add(COUNT - 1);
    let sent = ask(&mut pair, a_ip(0), &[&asconf(last_serial, &last)]);
    assert!(sent.iter().any(|flight| answered(flight) == [last_serial]), "and its answer is cached");
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# If an endpoint receives an ASCONF-ACK that is greater than or equal to the next Sequence Number to be used
//# but no ASCONF Chunk is outstanding, the endpoint MUST ABORT the association.
#[test]
fn an_unexpected_asconf_ack_aborts_the_association_with_its_cause() {
    for ahead in [0, 1, 1000] {
        let mut pair = unsigned(vec![a_ip(0)]);
        let serial = AsconfSerial::new(initial_tsn(&pair, Side::A).wrapping_add(ahead));
        let ack = AsconfAck { serial, responses: Params::EMPTY };
        let (before, tag) = (pair.log_len(), pair.tag_of(Side::A));
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&ack]));
        assert_eq!(pair.a.state(), None);
        let sent = pair.sent_since(Side::A, before);
        // Association Aborted Due to Illegal ASCONF-ACK (§4.3.4).
        assert_eq!((sent[0].bytes[12], &sent[0].bytes[16..20]), (chunk::ABORT, &[0, 0xa3, 0, 4][..]));
        let lost =
            |event: &Event| matches!(event, Event::Lost(LossReason::ProtocolViolation { cause: 0xa3, .. }));
        assert!(pair.a.saw(lost));
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1.1
//= type=test
//# Both ASCONF and ASCONF-ACK Chunks MUST NOT be sent in any SCTP state except ESTABLISHED, SHUTDOWN-PENDING,
//# SHUTDOWN-RECEIVED, and SHUTDOWN-SENT.
#[test]
fn asconfs_are_sent_and_answered_in_shutdown_sent_but_not_in_shutdown_ack_sent() {
    let mut pair = unsigned(vec![a_ip(0)]);
    let requests = [prefer(1, a_ip(0))];
    let first = initial_tsn(&pair, Side::A);
    pair.drop_if(|flight| flight.has(chunk::SHUTDOWN_ACK));
    pair.with(Side::B, |b, now| b.shutdown(now));
    pair.run_for(Span::from_millis(100));
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::ShutdownAckSent), Some(State::ShutdownSent)));
    assert!(ask(&mut pair, a_ip(0), &[&asconf(first, &requests)])[0].has(chunk::ASCONF_ACK));
    let before = pair.log_len();
    let refused = pair.with(Side::A, |a, now| a.request_peer_primary(now, a_ip(0)));
    assert_eq!(refused, Err(CallError::WrongState { state: State::ShutdownAckSent }));
    pair.with(Side::B, |b, now| b.request_peer_primary(now, b_ip(0))).unwrap();
    pair.run_for(Span::from_millis(500));
    assert!(pair.sent_since(Side::B, before).iter().any(|flight| flight.has(chunk::ASCONF)));
    let sent = pair.sent_since(Side::A, before);
    assert!(!sent.iter().any(|flight| flight.has(chunk::ASCONF) || flight.has(chunk::ASCONF_ACK)));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# This means that until such time as the ASCONF containing the add is acknowledged, the sender MUST NOT use
//# the new IP address as a source for ANY SCTP packet except on carrying an ASCONF Chunk.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The endpoint MUST NOT source data from this new address until the ASCONF-ACK arrives
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# MUST NOT treat this data as an OOTB datagram
#[test]
fn a_new_address_sends_only_asconfs_until_acknowledged_and_receives_everything() {
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    let mut waiting = (0..3000).collect();
    pair.feed(Side::A, &mut waiting, 1000);
    pair.drop_if(|flight| flight.has(chunk::ASCONF_ACK));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    for _ in 0..20 {
        pair.run_for(Span::from_millis(500));
        pair.feed(Side::A, &mut waiting, 1000);
        // B's packets to the new address belong to the association, and are answered from another address.
        let info = [Param::HeartbeatInfo(b"early")];
        let heartbeat = Heartbeat { params: Params::from(&info) };
        let bytes = packet(Side::A, pair.tag_of(Side::A), &[&heartbeat]);
        let outcome = pair.inject(Side::A, PathAddr { local: a_ip(1), remote: b_ip(0) }, &bytes);
        assert!(matches!(outcome, msctp_proto::DatagramOutcome::Association(_)));
    }
    let sent = pair.sent_since(Side::A, 0);
    let new: Vec<_> = sent.iter().filter(|flight| flight.at.local == a_ip(1)).collect();
    assert!(!new.is_empty(), "a retransmission uses it");
    assert!(new.iter().all(|flight| flight.chunks() == [AUTH, chunk::ASCONF]), "{new:?}");
    assert!(!sent.iter().any(|flight| flight.has(chunk::ABORT)));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# This means that any datagrams that arrive before the ASCONF-ACK destined to the IP address being deleted
//# MUST be considered part of the current association.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# it MUST NOT respond with an ABORT
#[test]
fn data_to_an_address_under_deletion_is_accepted_and_causes_no_abort_later() {
    let mut pair = unsigned(vec![a_ip(0), a_ip(1)]);
    let (tsn, before) = (initial_tsn(&pair, Side::B), pair.log_len());
    // B has sent no data, so that a SACK would be invalid.
    pair.drop_if(|flight| flight.has(chunk::ASCONF_ACK) || flight.has(chunk::SACK));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(1))).unwrap();
    let at = PathAddr { local: a_ip(1), remote: b_ip(0) };
    let give = |pair: &mut Pair, number: u16| {
        let bytes = packet(Side::A, pair.tag_of(Side::A), &[&data(tsn, number)]);
        pair.inject(Side::A, at, &bytes);
    };
    pair.run_for(Span::from_millis(100));
    give(&mut pair, 0);
    assert_eq!(pair.a.received.len(), 1);
    pair.drop_if(|flight| flight.has(chunk::SACK));
    pair.run_for(Span::from_secs(5));
    assert!(!knows(&mut pair, Side::A, a_ip(1)));
    give(&mut pair, 1);
    assert!(!pair.sent_since(Side::A, before).iter().any(|flight| flight.has(chunk::ABORT)));
    assert!(pair.a.state().is_some());
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.1
//= type=test
//# the sender MUST stop the T-4 RTO timer, and clear the appropriate association and destination error
//# counters
#[test]
fn an_asconf_ack_clears_the_error_counters() {
    let config = Config { hb_interval: Span::ZERO, ..Config::default() };
    let mut pair = Pair::established(config);
    pair.drop_first(Side::A, chunk::ASCONF, 2);
    pair.with(Side::A, |a, now| a.request_peer_primary(now, a_ip(0))).unwrap();
    let errors = |pair: &mut Pair| {
        pair.with(Side::A, |a, _| (a.stats().error_count, a.paths().map(|path| path.error_count).max()))
    };
    assert!(pair.run_until(Span::from_secs(5), |pair| errors(pair) == (1, Some(1))));
    assert!(pair.run_until(Span::from_secs(10), |pair| errors(pair) == (2, Some(2))));
    pair.run_for(Span::from_millis(100));
    assert_eq!(errors(&mut pair), (0, Some(0)));
}

/// Returns types and values of the parameters of a chunk.
fn params(chunk: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let fixed = match chunk[0] {
        chunk::INIT | chunk::INIT_ACK => 20,
        chunk::ASCONF | chunk::ASCONF_ACK => 8,
        chunk::HEARTBEAT | chunk::HEARTBEAT_ACK => 4,
        _ => return Vec::new(),
    };
    let (mut found, mut rest) = (Vec::new(), &chunk[fixed..]);
    while rest.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        found.push((u16::from_be_bytes([rest[0], rest[1]]), rest[4..len].to_vec()));
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.6
//= type=test
//# This parameter MUST NOT be sent in any other chunks
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
//= type=test
//# An implementation supporting this extension MUST list the ASCONF,the ASCONF-ACK, and the AUTH chunks in
//# its INIT and INIT-ACK parameters.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
//= type=test
//# The sender MUST NOT include multiple Supported Extensions Parameter within any chunk.
//= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
//= type=test
//# This parameter MUST NOT appear in any other chunk.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//= type=test
//# An SCTP endpoint willing to receive or send authenticated chunks MUST send one RANDOM parameter in its
//# INIT or INIT-ACK chunk.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//= type=test
//# The RANDOM parameter MUST contain a 32-byte Random Number.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//= type=test
//# Each SCTP endpoint MUST include in the INIT and INIT-ACK a HMAC-ALGO parameter containing a list of HMAC
//# Identifiers it requests the peer to use.
#[test]
fn set_up_lists_extensions_and_auth_parameters_once_and_no_other_chunk_does() {
    const RANDOM: u16 = 0x8002;
    const HMAC_ALGO: u16 = 0x8004;
    const EXTENSIONS: u16 = 0x8008;
    const ADAPTATION: u16 = 0xc006;
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.with(Side::A, |a, now| {
        a.add_local_address(now, a_ip(1)).unwrap();
        a.request_peer_primary(now, a_ip(1)).unwrap();
        a.remove_local_address(now, a_ip(0)).unwrap();
    });
    pair.run_for(Span::from_secs(60));
    let mut seen = Vec::new();
    for flight in pair.log.as_ref().unwrap() {
        let packet = Packet::parse(&flight.bytes, msctp_wire::Checksum::Verify).unwrap();
        for chunk in packet.chunks().map(Result::unwrap) {
            let mut bytes = Vec::new();
            chunk.encode(&mut bytes);
            let params = params(&bytes);
            let values = |typ: u16| -> Vec<&[u8]> {
                params.iter().filter(|(found, _)| *found == typ).map(|(_, value)| &value[..]).collect()
            };
            assert!(values(ADAPTATION).is_empty());
            if [chunk::INIT, chunk::INIT_ACK].contains(&bytes[0]) {
                let [extensions] = values(EXTENSIONS)[..] else { panic!("{params:?}") };
                assert!([chunk::ASCONF, chunk::ASCONF_ACK, AUTH].iter().all(|typ| extensions.contains(typ)));
                let ([random], [algorithms]) = (&values(RANDOM)[..], &values(HMAC_ALGO)[..]) else {
                    panic!("{params:?}")
                };
                assert_eq!((random.len(), *algorithms), (32, &[0, 3, 0, 1][..]), "SHA-256, SHA-1");
            } else {
                let set_up = [RANDOM, HMAC_ALGO, EXTENSIONS];
                assert!(set_up.iter().all(|typ| values(*typ).is_empty()), "{params:?}");
            }
            seen.push(bytes[0]);
        }
    }
    let wanted = [chunk::INIT, chunk::INIT_ACK, chunk::ASCONF, chunk::ASCONF_ACK, chunk::HEARTBEAT];
    assert!(wanted.iter().all(|typ| seen.contains(typ)));
}

/// Returns a pair whose A moved from network 0 to network 1: both ends have deleted the first address.
fn moved() -> Pair {
    let mut pair = unsigned(vec![a_ip(0), a_ip(1)]);
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    pair.run_for(Span::from_millis(200));
    assert!(!knows(&mut pair, Side::A, a_ip(0)) && !knows(&mut pair, Side::B, a_ip(0)));
    pair
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# It MUST NOT send SCTP packets for the association to that address and it MUST treat subsequent packets
//# received from that address as Out Of The Blue.
#[test]
fn packets_from_a_deleted_address_are_dropped_until_it_is_added_again() {
    let mut pair = moved();
    let tsn = initial_tsn(&pair, Side::A);
    let abort = msctp_wire::Abort { tag_reflected: false, causes: msctp_wire::Causes::EMPTY };
    let info = [Param::HeartbeatInfo(b"old")];
    let heartbeat = Heartbeat { params: Params::from(&info) };
    for chunks in [&[&data(tsn, 0) as &dyn EncodeChunk][..], &[&heartbeat], &[&abort]] {
        assert!(ask(&mut pair, a_ip(0), chunks).is_empty());
    }
    assert_eq!(pair.b.state(), Some(State::Established));
    assert!(pair.b.received.is_empty());
    // An address that was never listed: a translator changed the sender's.
    ask(&mut pair, a_ip(7), &[&data(tsn, 0)]);
    assert_eq!(pair.b.received.len(), 1);
    // Back in the first network, the peer sends the request from there.
    let back = [Param::AddIpAddress(Request { correlation_id: CorrelationId::new(9), address: a_ip(0) })];
    let sent = ask(&mut pair, a_ip(0), &[&asconf(tsn.wrapping_add(1), &back)]);
    assert!(sent.iter().any(|flight| flight.has(chunk::ASCONF_ACK) && flight.at.remote == a_ip(0)));
    ask(&mut pair, a_ip(0), &[&data(tsn, 1)]);
    assert_eq!(pair.b.received.len(), 2);
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# If the endpoint elects to hold the IP address valid for a period of time, it MUST NOT hold it valid longer
//# than 2 RTO intervals for the destination being removed.
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# MUST NOT be used as a source address for any subsequent packets
#[test]
fn a_deleted_local_address_accepts_packets_in_flight_and_answers_from_another() {
    let mut pair = moved();
    let tsn = initial_tsn(&pair, Side::B);
    pair.drop_if(|flight| flight.has(chunk::SACK));
    let (info, before) = ([Param::HeartbeatInfo(b"late")], pair.log_len());
    let heartbeat = Heartbeat { params: Params::from(&info) };
    let at = PathAddr { local: a_ip(0), remote: b_ip(0) };
    for number in 0..2 {
        let bytes = packet(Side::A, pair.tag_of(Side::A), &[&heartbeat, &data(tsn, number)]);
        pair.inject(Side::A, at, &bytes);
        assert_eq!(pair.a.received.len(), 1, "{number}");
        // RTO.Initial is 1 s, RTO.Max 60 s: far more than 2 RTO of a path with a round-trip time of 100 ms.
        pair.run_for(Span::from_secs(10));
    }
    let sent = pair.sent_since(Side::A, before);
    let answers: Vec<_> = sent.iter().filter(|flight| flight.has(chunk::HEARTBEAT_ACK)).collect();
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|flight| flight.at.local == a_ip(1)));
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# If the endpoint elects to hold the IP address valid for a period of time, it MUST NOT hold it valid longer
//# than 2 RTO intervals for the destination being removed.
#[test]
fn a_deleted_address_whose_path_had_backed_off_is_valid_for_two_rtos_without_back_off() {
    let mut pair = unsigned(vec![a_ip(0), a_ip(1)]);
    let old = pair.path(Side::A, a_ip(0), b_ip(0));
    let rto = |pair: &mut Pair| pair.with(Side::A, |a, _| a.paths().find(|path| path.id == old).unwrap().rto);
    let fresh = rto(&mut pair);
    // The network of the first address fails, and its path backs off. B has sent no data, so that a SACK
    // would be invalid.
    pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&a_ip(0)) || flight.has(chunk::SACK));
    assert!(pair.run_until(Span::from_secs(600), |pair| rto(pair) > fresh * 8));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(0))).unwrap();
    assert!(pair.run_until(Span::from_secs(60), |pair| !knows(pair, Side::A, a_ip(0))));
    let tsn = initial_tsn(&pair, Side::B);
    let at = PathAddr { local: a_ip(0), remote: b_ip(0) };
    for (number, wait) in [(0, Span::ZERO), (1, fresh * 2 + Span::from_millis(1))] {
        pair.run_for(wait);
        let bytes = packet(Side::A, pair.tag_of(Side::A), &[&data(tsn, number)]);
        pair.inject(Side::A, at, &bytes);
        assert_eq!(pair.a.received.len(), 1, "{number}");
        assert_eq!(pair.a.state(), Some(State::Established));
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# MUST NOT be used as a source address for any subsequent packets
#[test]
fn an_abort_is_sent_even_while_every_address_is_being_added_or_deleted() {
    // The ABORT of the application's call must be sent (RFC 9260 §9.1).
    let mut pair = unsigned(vec![a_ip(0)]);
    pair.drop_if(|flight| flight.has(chunk::ASCONF_ACK));
    pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
    pair.run_for(Span::from_millis(200));
    let before = pair.log_len();
    pair.with(Side::A, |a, now| a.abort(now, &msctp_proto::AbortReason::default()));
    assert!(pair.sent_since(Side::A, before).iter().any(|flight| flight.has(chunk::ABORT)));
}

/// A removed IPv6 address frees one path of this end, which has five IPv4 addresses; an added IPv4 address
/// needs five.
#[test]
fn an_address_whose_paths_do_not_fit_is_refused_and_the_last_one_stays() {
    let v6 = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
    let v4 = |host: u8, end: u8| support::ip(host, end);
    let config = Config { auth: AuthConfig::without(), ..Config::default() };
    let ours = (0..5).map(|n| v4(n, 2)).chain([v6(1)]).collect();
    let theirs = (0..12).map(|n| v4(n, 1)).chain((2..6).map(v6)).collect();
    let mut pair = Pair::new(config.clone(), ours);
    pair.log = Some(Vec::new());
    pair.connect(config, theirs, vec![b_ip(0)]);
    pair.run_for(Span::from_secs(60));
    assert_eq!(pair.with(Side::B, |association, _| association.paths().count()), 64);
    let request = |id: u32, address| Request { correlation_id: CorrelationId::new(id), address };
    let mut requests =
        vec![Param::DeleteIpAddress(request(1, v6(2))), Param::AddIpAddress(request(2, v4(99, 1)))];
    let rest = (3..6).map(v6).chain((0..12).map(|n| v4(n, 1)));
    requests.extend(rest.zip(3..).map(|(address, id)| Param::DeleteIpAddress(request(id, address))));
    let serial = initial_tsn(&pair, Side::A);
    ask(&mut pair, v4(77, 7), &[&asconf(serial, &requests)]);
    let remotes = pair.with(Side::B, |association, _| {
        association.paths().map(|path| path.at.remote).collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(remotes.len(), 15, "after the refusal of the addition nothing more is deleted: {remotes:?}");
    assert!(!remotes.contains(&v4(99, 1)) && !remotes.contains(&v6(2)));
}
