//! Attacks at the joint between SCTP's numbers and the keys, by chunks in clear whose effect would outlast
//! the start of protection.

use std::sync::Arc;

use msctp_protection::Ring;
use msctp_proto::{
    AssociationState, Config, Event, KeyManagement, PathAddr, PathState, Pmtu, Protection, ReconfigOutcome,
    StreamEvent, StreamRequest,
};
use msctp_security::rustls::pki_types::PrivatePkcs8KeyDer;
use msctp_security::{AnyPeer, Identity, METHOD};
use msctp_units::Span;
use msctp_wire::param::{DtlsKeyManagement, DtlsRoles};
use msctp_wire::{
    Checksum, Chunk, CookieEcho, EncodeChunk, Init, KeyManagementId, List, Packet, Param, Params, Shutdown,
    ShutdownAck, Tsn,
};

use crate::prefix_truncation::{chunks, payload, piece, ssn, texts, tsn};
use crate::secured::network::{self, Fate, Flight, Pair, Side, a_ip, b_ip, chunk, text_message};
use crate::secured::{DTLS, Secured};
use crate::support::provider;

/// Runs until the client's last message in clear is complete at the server, whose key manager has not read
/// it. The client has sent messages behind it.
fn until_last_message_is_unread() -> Secured {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    let limit = secured.pair.now + Span::from_secs(60);
    let mut sent = false;
    loop {
        assert!(secured.pair.step(limit), "no keys within a minute");
        secured.serve(Side::A);
        if secured.ends[0].started && !sent {
            sent = true;
            for i in 1..=3 {
                secured.pair.send(Side::A, text_message(&format!("message {i}")));
            }
        }
        let unread = secured.pair.b.handle.is_some()
            && secured.pair.with(Side::B, |association, _| association.has_key_message());
        if unread && sent {
            return secured;
        }
        secured.serve(Side::B);
    }
}

/// An observer injects SHUTDOWN behind the client's last message in clear. The server must not report a
/// graceful end that the client has not asked for: data would be cut off as if it were whole.
#[test]
fn a_shutdown_in_clear_does_not_end_an_association_that_becomes_protected() {
    for acknowledge in [true, false] {
        for complete in [true, false] {
            let mut secured = until_last_message_is_unread();
            let tsns = tsns_in_clear(&secured, Side::B);
            let cum_tsn_ack = if acknowledge { *tsns.last().unwrap() } else { tsns[0].wrapping_sub(1) };
            let tag = secured.pair.tag_of(Side::B);
            let shutdown = Shutdown { cum_tsn_ack: Tsn::new(cum_tsn_ack) };
            let forged: [&dyn EncodeChunk; 2] = [&shutdown, &ShutdownAck];
            for one in &forged[..1 + usize::from(complete)] {
                let packet = network::packet(Side::B, tag, &[*one]);
                secured.pair.inject(Side::B, Pair::at(Side::B), &packet);
            }
            secured.run_for(Span::from_secs(30));
            assert!(
                !secured.pair.b.saw(|event| *event == Event::PeerShutdown),
                "{:?}",
                secured.pair.b.events
            );
            assert_eq!(texts(&secured), ["message 1", "message 2", "message 3"]);
            secured.assert_works(3);
        }
    }
}

/// The application closes before there are keys, as with False Start. The end of the association is protected
/// like its data, so that nobody else can cause it.
#[test]
fn a_shutdown_before_the_keys_waits_for_them() {
    for early in [true, false] {
        for mut secured in [Secured::false_start(), Secured::new()] {
            secured.hello_behind_cookie();
            if early {
                secured.pair.with(Side::A, |association, now| association.shutdown(now));
            } else {
                let limit = secured.pair.now + Span::from_secs(60);
                while !secured.ends[0].started && secured.ends[0].epochs.is_empty() {
                    assert!(secured.pair.step(limit), "no keys within a minute");
                    secured.serve(Side::A);
                    secured.serve(Side::B);
                }
                secured.pair.send(Side::A, text_message("the last one"));
                secured.pair.with(Side::A, |association, now| association.shutdown(now));
            }
            secured.run_for(Span::from_secs(10));
            let log = secured.pair.log.as_ref().unwrap();
            let ends = [chunk::SHUTDOWN, chunk::SHUTDOWN_ACK, chunk::SHUTDOWN_COMPLETE];
            assert!(!log.iter().any(|flight| ends.iter().any(|&end| flight.has(end))), "an end in clear");
            for host in [&secured.pair.a, &secured.pair.b] {
                assert!(host.saw(|event| *event == Event::Closed), "{early}: {:?}", host.events);
                assert!(host.saw(|event| *event == Event::Protected), "{early}: {:?}", host.events);
            }
            assert_eq!(texts(&secured).len(), usize::from(!early));
        }
    }
}

/// Returns the TSNs of a side's chunks in clear.
fn tsns_in_clear(secured: &Secured, side: Side) -> Vec<u32> {
    let log = secured.pair.log.as_ref().unwrap();
    let flights = log.iter().filter(|flight| flight.from == side && flight.chunks() != [DTLS]);
    let data = flights.flat_map(|flight| chunks(&flight.bytes)).filter(|one| one[0] == chunk::DATA);
    data.map(|one| tsn(&one)).collect()
}

/// Injects a packet with one chunk, which must be discarded.
fn inject_discarded(secured: &mut Secured, to: Side, chunk: &[u8]) {
    let discarded = |secured: &mut Secured| {
        secured.pair.with(to, |association, _| association.stats().unprotected_packets)
    };
    let before = discarded(secured);
    let tag = secured.pair.tag_of(to);
    let mut bytes = [&network::packet(to, tag, &[&ShutdownAck])[..12], chunk].concat();
    network::reseal(&mut bytes);
    secured.pair.inject(to, Pair::at(to), &bytes);
    assert_eq!(discarded(secured), before + 1, "{to:?}: {chunk:?}");
}

/// The client has the keys to open the server's packets: a chunk in clear with the next TSN would take the
/// place of the server's first protected one.
#[test]
fn data_in_clear_behind_the_first_receive_keys_is_discarded() {
    for mut secured in [Secured::new(), Secured::false_start()] {
        let limit = secured.pair.now + Span::from_secs(60);
        while tsns_in_clear(&secured, Side::A).len() < 2 {
            assert!(secured.pair.step(limit), "no keys within a minute");
            secured.serve(Side::A);
            secured.serve(Side::B);
        }
        let last = *tsns_in_clear(&secured, Side::B).last().unwrap();
        inject_discarded(&mut secured, Side::A, &piece(last.wrapping_add(1), 1, 3, &[0x83, 0x7f, 0, 0]));
        secured.run_for(Span::from_secs(5));
        secured.assert_works(3);
    }
}

/// FORWARD TSN and RE-CONFIG in clear would skip or renumber what the keys depend on.
#[test]
fn skipped_and_renumbered_data_in_clear_is_discarded() {
    for to in [Side::A, Side::B] {
        let mut secured = Secured::new();
        while !secured.pair.b.saw(|event| matches!(event, Event::Connected { .. })) {
            secured.run_for(Span::from_millis(1));
        }
        // INIT or INIT ACK of the other side.
        let set_up = &secured.pair.log.as_ref().unwrap()[usize::from(to == Side::A)].bytes;
        let first = u32::from_be_bytes(set_up[28..32].try_into().unwrap());
        let forward = [&[192, 0, 0, 8][..], &first.to_be_bytes()].concat();
        inject_discarded(&mut secured, to, &forward);
        // An Outgoing SSN Reset Request for all streams (RFC 6525 §4.1).
        let numbers = [first, 0, first.wrapping_sub(1)].map(u32::to_be_bytes).concat();
        let reset = [&[130, 0, 0, 20, 0, 13, 0, 16][..], &numbers].concat();
        inject_discarded(&mut secured, to, &reset);
        secured.run_for(Span::from_secs(5));
        secured.assert_works(3);
    }
}

/// Sends the server an INIT in the client's name. Returns the COOKIE ECHO for its answer.
fn cookie_echo_for(secured: &mut Secured, init: &[u8]) -> Vec<u8> {
    let before = secured.pair.log_len();
    secured.pair.inject(Side::B, Pair::at(Side::B), init);
    cookie_echo_of(Side::B, &secured.pair.sent_since(Side::B, before).remove(0).bytes)
}

/// Returns the COOKIE ECHO for an INIT ACK of this side.
fn cookie_echo_of(from: Side, answer: &[u8]) -> Vec<u8> {
    let answer = Packet::parse(answer, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = answer.chunks().next() else { panic!("{answer:?}") };
    let cookie = ack.params.iter().flatten().find_map(|param| match param {
        Param::StateCookie(cookie) => Some(cookie),
        _ => None,
    });
    let echo = CookieEcho { cookie: cookie.unwrap() };
    network::packet(from, ack.initiate_tag.get(), &[&echo])
}

/// An observer obtains the cookie of a restart while the handshake is in clear, and echoes it when the
/// association is protected.
#[test]
fn a_restart_cookie_from_before_the_keys_restarts_nothing_afterwards() {
    let mut secured = Secured::new();
    while !secured.pair.b.saw(|event| matches!(event, Event::Connected { .. })) {
        secured.run_for(Span::from_millis(1));
    }
    let mut init = secured.pair.log.as_ref().unwrap()[0].bytes.clone();
    init[16] ^= 1;
    network::reseal(&mut init);
    let echo = cookie_echo_for(&mut secured, &init);
    secured.run_for(Span::from_secs(5));
    secured.assert_works(3);
    secured.pair.inject(Side::B, Pair::at(Side::B), &echo);
    assert!(!secured.pair.b.saw(|event| *event == Event::Restarted));
    secured.assert_works(3);
}

/// An attacker on the path that inserts a message of its own behind the client's COOKIE ECHO. It joins two
/// fragments of the client's last message, so that there are as many chunks in clear as the client sent.
#[derive(Default)]
struct Inserter {
    /// The client's initial TSN.
    first: u32,
    /// The first fragment of the client's last message.
    fragment: Option<Vec<u8>>,
}

impl Inserter {
    /// Changes a packet in clear.
    fn change(&mut self, flight: &mut Flight) -> Fate {
        if flight.chunks() == [DTLS] {
            return Fate::Pass;
        }
        if flight.has(chunk::INIT) {
            self.first = u32::from_be_bytes(flight.bytes[28..32].try_into().unwrap());
        }
        let mut kept: Vec<Vec<u8>> = chunks(&flight.bytes);
        for one in &mut kept {
            match (flight.from, one[0]) {
                (Side::A, chunk::DATA) => *one = self.renumber(one),
                (Side::B, chunk::SACK) => {
                    let acknowledged = tsn(one).wrapping_sub(self.first);
                    let before = if acknowledged < 2 { tsn(one).wrapping_sub(1) } else { tsn(one) };
                    one[4..8].copy_from_slice(&before.to_be_bytes());
                }
                _ => {}
            }
        }
        if flight.has(chunk::COOKIE_ECHO) {
            let mut forged = piece(self.first, 0, 7, b"forged");
            forged[12..16].fill(0);
            kept.push(forged);
        }
        if kept.concat().is_empty() {
            return Fate::Drop;
        }
        flight.bytes = [&flight.bytes[..12], &kept.concat()].concat();
        network::reseal(&mut flight.bytes);
        Fate::Pass
    }

    /// Returns the client's chunk with another number, or nothing.
    fn renumber(&mut self, one: &[u8]) -> Vec<u8> {
        match tsn(one).wrapping_sub(self.first) {
            0 => piece(self.first.wrapping_add(1), ssn(one), one[1], payload(one)),
            1 => {
                assert_eq!(one[1] & 3, 2, "the first of several fragments");
                self.fragment = Some(payload(one).to_vec());
                Vec::new()
            }
            2 => {
                let joined = [self.fragment.as_ref().unwrap(), payload(one)].concat();
                piece(tsn(one), ssn(one), one[1] | 2, &joined)
            }
            _ => one.to_vec(),
        }
    }
}

/// Returns a configuration with a certificate of so many names. With 16, the client's last message takes two
/// small packets.
pub(crate) fn with_names(count: u32) -> Arc<msctp_security::TlsConfig> {
    let names: Vec<String> = (0..count).map(|i| format!("host-{i}.example")).collect();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    let identity = Identity::new(provider(), vec![certificate.der().clone()], der.into()).unwrap();
    Arc::new(identity.config(Arc::new(AnyPeer)).unwrap())
}

/// The server offers protection and the client requires it. The attacker set up an association in clear from
/// the client's address before, which the client's set-up restarts.
#[test]
fn no_message_in_clear_becomes_a_part_of_an_association_that_a_restart_protects() {
    let base = Config { pmtu: Pmtu::Fixed(600), ..Config::mobile() };
    let roles = DtlsRoles { client: true, server: true };
    let keys = KeyManagement::external(Arc::new(Ring), vec![KeyManagementId::new(METHOD)], roles);
    let offered = Config { protection: Protection::OrInsecure(Arc::new(keys)), ..base.clone() };
    let mut secured = Secured::unconnected(&base, &[METHOD], &[METHOD]);
    secured.ends[0].config = with_names(16);
    secured.pair = Pair::new(offered, vec![b_ip(0)]);
    secured.pair.log = Some(Vec::new());

    let init = network::packet(Side::B, 0, &[&network::chunks::bare_init()]);
    let echo = cookie_echo_for(&mut secured, &init);
    secured.pair.inject(Side::B, Pair::at(Side::B), &echo);
    assert!(secured.pair.b.handle.is_some());
    secured.pair.b.events.clear();

    let mut inserter = Inserter::default();
    secured.pair.filter = Box::new(move |flight| inserter.change(flight));
    secured.connect();
    secured.run_for(Span::from_secs(10));
    assert!(secured.pair.b.saw(|event| *event == Event::Restarted), "{:?}", secured.pair.b.events);
    if !secured.ends[0].epochs.is_empty() {
        secured.pair.send(Side::A, text_message("genuine"));
        secured.run_for(Span::from_secs(2));
    }
    assert!(!texts(&secured).contains(&"forged".to_owned()), "{:?}", texts(&secured));
}

/// Injects an INIT, and the COOKIE ECHO for its answer. Returns whether the end answered the INIT.
fn inject_restart(secured: &mut Secured, to: Side, init: &[u8]) -> bool {
    let before = secured.pair.log_len();
    secured.pair.inject(to, Pair::at(to), init);
    let answers = secured.pair.sent_since(to, before);
    let Some(ack) = answers.iter().find(|answer| answer.has(chunk::INIT_ACK)) else { return false };
    let echo = cookie_echo_of(to, &ack.bytes);
    secured.pair.inject(to, Pair::at(to), &echo);
    true
}

/// Runs a set-up until both ends are up, or until the client has sent its last message in clear.
fn until_handshake(secured: &mut Secured, at_last_message: bool) {
    let limit = secured.pair.now + Span::from_secs(60);
    let is_up = |host: &network::Host| host.saw(|event| matches!(event, Event::Connected { .. }));
    while !is_up(&secured.pair.a)
        || !is_up(&secured.pair.b)
        || at_last_message && tsns_in_clear(secured, Side::A).len() < 2
    {
        assert!(secured.pair.step(limit), "no set-up within a minute");
        secured.serve(Side::A);
        secured.serve(Side::B);
    }
}

/// Protection is offered, and both ends have agreed on it. An observer restarts either association by an INIT
/// and a COOKIE ECHO without protection while the handshake is in clear. That must not end the agreement:
/// user data would leave in clear.
#[test]
fn a_restart_without_protection_does_not_end_an_agreement() {
    for to in [Side::A, Side::B] {
        for at_last_message in [false, true] {
            let mut secured = Secured::offered();
            secured.connect();
            until_handshake(&mut secured, at_last_message);
            let init = network::packet(to, 0, &[&network::chunks::bare_init()]);
            let answered = inject_restart(&mut secured, to, &init);
            let host = secured.pair.host(to);
            assert!(!host.saw(|event| *event == Event::Restarted), "{to:?}: {:?}", host.events);
            assert!(!answered, "{to:?}");
            secured.run_for(Span::from_secs(30));
            secured.assert_works(3);
        }
    }
}

/// An observer sends the client an INIT with the role of the key management server. A restart would discard
/// the client's part of the handshake: the set-up would hang.
#[test]
fn the_client_of_a_handshake_is_not_restarted() {
    for at_last_message in [false, true] {
        let mut secured = Secured::new();
        until_handshake(&mut secured, at_last_message);
        let roles = DtlsRoles { client: false, server: true };
        let methods = [KeyManagementId::new(METHOD)];
        let methods = List::from(&methods[..]);
        let offer = DtlsKeyManagement { tie_breaker: 1, restart: false, roles, methods };
        let params = [Param::DtlsKeyManagement(offer)];
        let init = Init { params: Params::from(&params[..]), ..network::chunks::bare_init() };
        let init = network::packet(Side::A, 0, &[&init]);
        let answered = inject_restart(&mut secured, Side::A, &init);
        let host = &secured.pair.a;
        assert!(!host.saw(|event| *event == Event::Restarted), "{:?}", host.events);
        assert!(!answered);
        secured.run_for(Span::from_secs(30));
        secured.assert_works(3);
    }
}

/// A reset of all streams that was requested during the handshake is performed after it.
#[test]
fn a_reset_of_all_streams_during_the_handshake_is_performed_after_it() {
    let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
    secured.connect();
    while secured.pair.a.state() != Some(AssociationState::Established) {
        secured.run_for(Span::from_millis(1));
    }
    assert_eq!(secured.ends[0].epochs, []);
    let request = StreamRequest::ResetOutgoing(Vec::new());
    secured.pair.with(Side::A, |a, now| a.reconfigure(now, request.clone())).unwrap();
    secured.run_for(Span::from_secs(5));
    let outcome = ReconfigOutcome::Performed;
    let answered = Event::Streams(StreamEvent::Answered { request, outcome });
    assert!(secured.pair.a.saw(|event| *event == answered), "{:?}", secured.pair.a.events);
    secured.assert_works(3);
}

/// Answers in clear confirm no path, so that those to listed addresses are asked again under the first keys,
/// and not an RTO later.
#[test]
fn listed_addresses_are_confirmed_in_a_round_trip_from_the_keys() {
    let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
    secured.pair.connect(secured.client.clone(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    let (mut keyed, end) = (None, secured.pair.now + Span::from_secs(5));
    let at = PathAddr { local: b_ip(0), remote: a_ip(1) };
    loop {
        let more = secured.pair.step(end);
        secured.serve(Side::A);
        secured.serve(Side::B);
        assert!(more, "{:?}", secured.pair.b.events);
        if secured.pair.b.saw(|event| *event == Event::Protected) {
            keyed = keyed.or(Some(secured.pair.now));
        }
        let Some(_) = secured.pair.b.handle else { continue };
        let confirmed = |path: &msctp_proto::PathStats| path.at == at && path.state == PathState::Active;
        if secured.pair.with(Side::B, |b, _| b.paths().any(|path| confirmed(&path))) {
            break;
        }
    }
    let took = secured.pair.now.since(keyed.expect("not before the keys"));
    assert!(took < Span::from_millis(100), "{took}");
}
