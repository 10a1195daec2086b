//! Setting up an association (RFC 9260 §5): losses, cookies, collisions, restarts, parameters.

use crate::support;

use msctp_proto::{
    AssociationState, Config, DatagramOutcome, Endpoint, EndpointConfig, Event, IgnoreReason, LocalAddrs,
    LossReason, OfferConfig, PathAddr, PathState, RemoteAddrs, SendError,
};
use msctp_units::{Span, Time};
use msctp_wire::{
    Cause, Causes, Checksum, Chunk, CookieEcho, Init, List, Packet, Param, ParamType, Params, Tsn,
    UnknownChunk, VerificationTag,
};
use support::{Fate, Flight, PORT_A, PORT_B, Pair, Side, a_ip, b_ip, chunk, message, packet, text_message};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn ready() -> Pair {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair
}

fn begun() -> Pair {
    let mut pair = ready();
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair
}

fn both_up(pair: &Pair) -> bool {
    pair.a.state() == Some(AssociationState::Established)
        && pair.b.state() == Some(AssociationState::Established)
}

/// Returns an INIT as a peer of B might send it.
fn init<'a>(tag: u32, params: &'a [Param<'a>]) -> Init<'a> {
    Init {
        initiate_tag: VerificationTag::new(tag),
        a_rwnd: 65_536,
        outbound_streams: 3,
        inbound_streams: 4,
        initial_tsn: Tsn::new(1),
        params: Params::from(params),
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# "Z" MUST generate and send along with the INIT ACK chunk a State Cookie.
#[test]
fn the_set_up_takes_a_round_trip_each_for_init_and_cookie() {
    let mut pair = begun();
    let start = pair.now;
    assert!(pair.run_until(Span::from_secs(5), |p| p.b.state().is_some()));
    assert_eq!(pair.now.since(start), ms(60), "B is up after INIT, INIT ACK, COOKIE ECHO");
    assert!(pair.run_until(Span::from_secs(5), |p| both_up(p)));
    assert_eq!(pair.now.since(start), ms(80));
    let connected = |e: &Event| matches!(e, Event::Connected { outbound_streams: 10, inbound_streams: 10 });
    assert!(pair.a.saw(connected) && pair.b.saw(connected));
    let chunks: Vec<_> = pair.log.as_ref().unwrap().iter().map(|f| f.chunks()[0]).collect();
    assert_eq!(chunks[..4], [chunk::INIT, chunk::INIT_ACK, chunk::COOKIE_ECHO, chunk::COOKIE_ACK]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.6
//= type=test
//# When retransmitting the INIT chunk, the endpoint MUST follow the rules defined in Section 6.3 to
//# determine the proper timer value.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
//= type=test
//# The endpoint MUST also start the T1-cookie timer after sending the COOKIE ECHO chunk.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.4
//= type=test
//# If the timer expires, the endpoint MUST retransmit the COOKIE ECHO chunk and restart the T1-cookie
//# timer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# If the T1-cookie timer expires, the endpoint MUST retransmit COOKIE ECHO chunk and restart the
//# T1-cookie timer.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# If the T1-init timer expires, the endpoint MUST retransmit the INIT chunk and restart the T1-init
//# timer.
#[test]
fn every_lost_packet_of_the_handshake_is_retransmitted() {
    for (from, lost) in [
        (Side::A, chunk::INIT),
        (Side::B, chunk::INIT_ACK),
        (Side::A, chunk::COOKIE_ECHO),
        (Side::B, chunk::COOKIE_ACK),
    ] {
        for count in [1, 2, 3] {
            let mut pair = ready();
            pair.drop_first(from, lost, count);
            pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
            pair.send(Side::A, text_message("early"));
            let start = pair.now;
            assert!(pair.run_until(Span::from_secs(60), both_up_mut), "{lost} lost {count} times");
            // RFC 9260 §6.3.3 E2: 1 s, 2 s, 4 s.
            let waits = ms(1000) * ((1 << count) - 1);
            assert_eq!(pair.now.since(start), waits + ms(80), "{lost} lost {count} times");
            pair.run_for(Span::from_secs(20));
            assert_eq!(pair.b.received.len(), 1);
            assert_eq!(pair.b.endpoint.len(), 1);
            let ups = pair.b.events.iter().filter(|e| matches!(e, Event::Connected { .. })).count();
            assert_eq!(ups, 1);
        }
    }
}

fn both_up_mut(pair: &mut Pair) -> bool {
    both_up(pair)
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# After that, the endpoint MUST abort the initialization process and report the error to the SCTP
//# user.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# This MUST be repeated up to 'Max.Init.Retransmits' times.
#[test]
fn set_up_fails_after_max_init_retransmits() {
    let mut pair = ready();
    pair.drop_if(|_| true);
    let config = Config { max_init_retransmits: 3, ..Config::default() };
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, text_message("lost"));
    pair.run_for(Span::from_secs(100));
    assert_eq!(pair.log_len(), 4, "the INIT and three more");
    assert!(pair.a.saw(|e| matches!(e, Event::SendFailed(failure) if failure.unsent)));
    assert_eq!(pair.a.events.last(), Some(&Event::Lost(LossReason::SetupTimeout)));
    assert_eq!(pair.a.endpoint.len(), 0);
}

#[test]
fn data_is_bundled_with_the_cookie_echo() {
    let mut pair = begun();
    pair.send(Side::A, text_message("early"));
    let start = pair.now;
    assert!(pair.run_until(Span::from_secs(5), |p| !p.b.received.is_empty()));
    assert_eq!(pair.now.since(start), ms(60));
    let log = pair.log.as_ref().unwrap();
    assert!(log.iter().any(|f| f.chunks() == [chunk::COOKIE_ECHO, chunk::DATA]));
    // RFC 9260 §5.1: the COOKIE ACK first, and the first DATA acknowledged at once.
    assert!(log.iter().any(|f| f.chunks() == [chunk::COOKIE_ACK, chunk::SACK]));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
//= type=test
//# After sending an INIT ACK chunk with the State Cookie parameter, "Z" MUST NOT allocate any resources
//# or keep any states for the new association.
#[test]
fn the_listener_keeps_nothing_before_a_valid_cookie() {
    let mut b = Endpoint::new(EndpointConfig::default(), [9; 32]).unwrap();
    b.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, Config::default()).unwrap();
    let mut out = Vec::new();
    let idle = format!("{b:?}").len();
    let mut after_one = 0;
    for n in 1..=10_000u32 {
        let at = PathAddr { local: b_ip(0), remote: std::net::Ipv4Addr::from(0x0b00_0000 + n).into() };
        let mut bytes = packet(Side::B, 0, &[&init(n, &[])]);
        assert_eq!(b.handle_datagram(Time::ZERO, at, &mut bytes), DatagramOutcome::Replied);
        assert!(b.poll_transmit(Time::ZERO, &mut out).is_some());
        out.clear();
        assert_eq!((b.len(), b.poll_timeout()), (0, None));
        if n == 1 {
            after_one = format!("{b:?}").len();
        }
    }
    // Nothing in it grew except numbers with more digits.
    assert!(format!("{b:?}").len() < after_one + 200, "{idle} {after_one} {}", format!("{b:?}").len());
}

#[test]
fn a_listener_without_addresses_has_the_one_that_is_called() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    for (known, at) in [(vec![], 1), (vec![b_ip(0)], 1), (vec![b_ip(0)], 0)] {
        pair.b.endpoint.stop_listening(PORT_B);
        let local = LocalAddrs { port: PORT_B, addresses: known.clone() };
        pair.b.endpoint.listen(local, Config::default()).unwrap();
        pair.connect(Config::default(), vec![a_ip(at)], vec![b_ip(at)]);
        pair.run_for(Span::from_secs(2));
        let locals = pair.with(Side::B, |b, _| {
            let primary = b.paths().find(|path| path.primary).map(|path| path.at.local);
            let mut locals: Vec<_> = b.paths().map(|path| path.at.local).collect();
            locals.sort_unstable();
            (primary, locals)
        });
        let mut expected = known;
        if !expected.contains(&b_ip(at)) {
            expected.push(b_ip(at));
        }
        expected.sort_unstable();
        assert_eq!(locals, (Some(b_ip(at)), expected));
        pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        pair = Pair::new(Config::default(), vec![b_ip(0)]);
    }
}

#[test]
fn replies_that_are_not_polled_are_bounded() {
    let mut b = Endpoint::new(EndpointConfig::default(), [9; 32]).unwrap();
    b.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, Config::default()).unwrap();
    let bytes = packet(Side::B, 0, &[&init(1, &[])]);
    let outcomes: Vec<_> =
        (0..300).map(|_| b.handle_datagram(Time::ZERO, Pair::at(Side::B), &mut bytes.clone())).collect();
    assert_eq!(outcomes.iter().filter(|o| **o == DatagramOutcome::Replied).count(), 256);
    assert_eq!(outcomes[299], DatagramOutcome::Ignored(IgnoreReason::TooManyReplies));
}

/// Runs until the COOKIE ECHO is in flight, removes it from the network, and returns its bytes.
fn cookie_echo(pair: &mut Pair) -> Vec<u8> {
    pair.drop_if(|flight| flight.has(chunk::COOKIE_ECHO));
    pair.run_for(ms(100));
    let log = pair.log.as_ref().unwrap();
    log.iter().find(|f| f.has(chunk::COOKIE_ECHO)).unwrap().bytes.clone()
}

/// Returns the cookie in a COOKIE ECHO packet.
fn cookie_of(bytes: &[u8]) -> Vec<u8> {
    match Packet::parse(bytes, Checksum::Verify).unwrap().chunks().next() {
        Some(Ok(Chunk::CookieEcho(echo))) => echo.cookie.to_vec(),
        other => panic!("{other:?}"),
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
//= type=test
//# If these values do not match, the packet MUST be silently discarded.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# If the State Cookie in the received COOKIE ECHO chunk is invalid (i.e., failed to pass the integrity
//# check), the receiver MUST silently discard the packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# If the packet contains a COOKIE ECHO chunk as the first chunk, it MUST be processed as described in
//# Section 5.1.
#[test]
fn a_cookie_with_any_changed_byte_is_silently_discarded() {
    let mut pair = begun();
    let bytes = cookie_echo(&mut pair);
    let (cookie, tag) = (cookie_of(&bytes), pair.tag_of(Side::B));
    let before = pair.log_len();
    for at in 0..cookie.len() {
        let mut changed = cookie.clone();
        changed[at] ^= 0x10;
        let forged = packet(Side::B, tag, &[&CookieEcho { cookie: &changed }]);
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &forged);
        assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::BadCookie), "byte {at}");
    }
    // RFC 9260 §5.1.5 step 3: right cookie, wrong tag or ports.
    let wrong_tag = packet(Side::B, tag ^ 1, &[&CookieEcho { cookie: &cookie }]);
    let wrong_port = support::packet_between(PORT_A + 1, PORT_B, tag, &[&CookieEcho { cookie: &cookie }]);
    for forged in [wrong_tag, wrong_port] {
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &forged);
        assert_eq!(outcome, DatagramOutcome::Ignored(IgnoreReason::BadCookie));
    }
    assert_eq!(pair.sent_since(Side::B, before).len(), 0);
    assert_eq!(pair.b.endpoint.len(), 0);
    assert!(matches!(pair.inject(Side::B, Pair::at(Side::B), &bytes), DatagramOutcome::Accepted(_)));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
//= type=test
//# the endpoint MUST transmit an ERROR chunk with a "Stale Cookie" error cause to the peer endpoint.
//= https://www.rfc-editor.org/rfc/rfc9260#section-4
//= type=test
//# if the received State Cookie is expired (see Section 5.1.5), the receiver MUST send back an ERROR
//# chunk.
#[test]
fn a_stale_cookie_is_answered_with_its_staleness() {
    let mut pair = begun();
    let bytes = cookie_echo(&mut pair);
    // The INIT ACK was created 20 ms after the start; Valid.Cookie.Life is 60 s.
    pair.now = Time::ZERO + Span::from_secs(1) + ms(20) + Span::from_secs(60) + Span::from_micros(7);
    let before = pair.log_len();
    assert_eq!(pair.inject(Side::B, Pair::at(Side::B), &bytes), DatagramOutcome::Replied);
    let sent = pair.sent_since(Side::B, before);
    let error = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Error(error))) = error.chunks().next() else { panic!("{sent:?}") };
    assert!(error.causes.iter().eq([Ok(Cause::StaleCookie(7))]));
    assert_eq!(pair.b.endpoint.len(), 0);
}

#[test]
fn an_initiator_with_a_stale_cookie_requests_a_longer_life() {
    let mut pair = begun();
    // The first COOKIE ECHO takes 61 s; T1-cookie's retransmissions are lost.
    let mut first = true;
    pair.filter = Box::new(move |flight| match flight.has(chunk::COOKIE_ECHO) {
        true if core::mem::take(&mut first) => Fate::Late(Span::from_secs(61)),
        true if flight.sent < Time::ZERO + Span::from_secs(60) => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.send(Side::A, text_message("patience"));
    pair.run_for(Span::from_secs(300));
    assert!(both_up(&pair));
    assert_eq!(pair.b.received.len(), 1);
    let log = pair.log.as_ref().unwrap();
    let asked = log.iter().any(|f| {
        Packet::parse(&f.bytes, Checksum::Verify).unwrap().chunks().flatten().any(|chunk| match chunk {
            Chunk::Init(init) => {
                init.params.iter().flatten().any(|p| matches!(p, Param::CookiePreservative(_)))
            }
            _ => false,
        })
    });
    assert!(asked, "RFC 9260 §5.2.6 (3)");
}

/// Runs a set-up with a server that answers every COOKIE ECHO with a Stale Cookie error. Returns the pair and
/// the number of packets that A sent.
fn with_stale_cookies(lost: impl Fn(&Flight) -> bool + 'static) -> (Pair, usize) {
    let mut pair = begun();
    // The test plays the server, which never receives a cookie.
    pair.drop_if(move |flight| lost(flight) || flight.has(chunk::COOKIE_ECHO));
    while pair.a.state().is_some() && pair.log_len() < 1000 {
        let before = pair.log_len();
        if !pair.step(pair.now + Span::from_secs(600)) {
            break;
        }
        let echoes =
            pair.sent_since(Side::A, before).into_iter().filter(|f| f.has(chunk::COOKIE_ECHO)).count();
        for _ in 0..echoes {
            let tag = pair.tag_of(Side::A);
            let causes = [Cause::StaleCookie(1)];
            let stale = packet(Side::A, tag, &[&msctp_wire::Error { causes: Causes::from(&causes) }]);
            pair.inject(Side::A, Pair::at(Side::A), &stale);
        }
    }
    let sent = pair.sent_since(Side::A, 0).len();
    (pair, sent)
}

#[test]
fn a_peer_that_reports_every_cookie_as_stale_does_not_prolong_the_set_up() {
    // RFC 9260 §5.2.6: Max.Init.Retransmits counts over the whole set-up.
    let (pair, sent) = with_stale_cookies(|_| false);
    assert!(pair.a.saw(|e| *e == Event::Lost(LossReason::SetupTimeout)), "{:?}", pair.a.events);
    let most = Config::default().max_init_retransmits as usize;
    assert!((most..=2 * (most + 1)).contains(&sent), "{sent} INITs and COOKIE ECHOs");
    // The same holds for a peer that answers only some: all retransmissions are counted together.
    let counter = core::cell::Cell::new(0_u32);
    let (pair, sent) = with_stale_cookies(move |flight| {
        counter.set(counter.get() + 1);
        flight.has(chunk::INIT) && !counter.get().is_multiple_of(3)
    });
    assert!(pair.a.state().is_none(), "it ended");
    assert!(sent <= 4 * (most + 1), "{sent} INITs and COOKIE ECHOs");
}

#[test]
fn duplicated_and_delayed_packets_of_the_handshake_make_one_association() {
    let mut pair = ready();
    pair.filter = Box::new(|_| Fate::Twice(ms(500)));
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    assert!(both_up(&pair));
    assert_eq!((pair.a.endpoint.len(), pair.b.endpoint.len()), (1, 1));
    assert!(!pair.b.saw(|e| *e == Event::Restarted));
    pair.transfer(Side::A, 30, 100, Span::from_secs(10));
}

/// Makes B start an association with A, which may listen as well.
fn b_connects(pair: &mut Pair) {
    let local = LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    let remote = RemoteAddrs { port: PORT_A, addresses: vec![a_ip(0)] };
    let handle = pair.b.endpoint.connect(pair.now, Config::default(), local, remote).unwrap();
    pair.b.handle = Some(handle);
    pair.drain(Side::B);
}

#[test]
fn both_ends_can_start_an_association_at_the_same_time() {
    // RFC 9260 §5.2.1; B's INIT is sent this many ms after A's.
    for offset in [0, 1, 10, 19, 20, 21, 30, 39, 41, 55] {
        for lost in [None, Some(chunk::INIT_ACK), Some(chunk::COOKIE_ECHO), Some(chunk::COOKIE_ACK)] {
            for loser in [Side::A, Side::B] {
                let mut pair = ready();
                if let Some(lost) = lost {
                    pair.drop_first(loser, lost, 1);
                }
                pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
                pair.run_for(ms(offset));
                b_connects(&mut pair);
                pair.run_for(Span::from_secs(20));
                let what = format!("{offset} ms, {lost:?} lost from {loser:?}");
                assert!(both_up(&pair), "{what}: {:?} {:?}", pair.a.state(), pair.b.state());
                assert_eq!((pair.a.endpoint.len(), pair.b.endpoint.len()), (1, 1), "{what}");
                pair.transfer(Side::A, 20, 100, Span::from_secs(10));
                pair.transfer(Side::B, 20, 100, Span::from_secs(10));
                assert!(!pair.a.saw(|e| *e == Event::Restarted) && !pair.b.saw(|e| *e == Event::Restarted));
            }
        }
    }
}

/// Replaces A's endpoint by a new one that connects from the same port.
fn restart_a(pair: &mut Pair, addresses: Vec<std::net::IpAddr>) {
    pair.a.endpoint = Endpoint::new(EndpointConfig::default(), [77; 32]).unwrap();
    pair.a.events.clear();
    pair.a.received.clear();
    pair.connect(Config::default(), addresses, vec![b_ip(0)]);
}

#[test]
fn a_restarted_peer_gets_a_fresh_association_on_the_same_handle() {
    let mut pair = begun();
    pair.run_for(Span::from_secs(2));
    pair.transfer(Side::A, 10, 100, Span::from_secs(5));
    pair.b.reading = false;
    pair.send(Side::A, text_message("unread"));
    pair.run_for(Span::from_secs(1));
    pair.drop_if(|flight| flight.has(chunk::DATA));
    pair.send(Side::B, message(0, b"under way".to_vec()));
    pair.run_for(ms(10));
    let handle = pair.b.handle;
    pair.pass_all();
    restart_a(&mut pair, vec![a_ip(0)]);
    pair.run_for(Span::from_secs(5));
    assert!(both_up(&pair));
    assert_eq!(pair.b.handle, handle);
    let failed = pair.b.events.iter().position(|e| matches!(e, Event::SendFailed(_))).expect("reported");
    let restarted = pair.b.events.iter().position(|e| *e == Event::Restarted).expect("reported");
    assert!(failed < restarted);
    pair.b.reading = true;
    pair.drain(Side::B);
    assert_eq!(&pair.b.received.last().unwrap().data[..], b"unread");
    pair.transfer(Side::A, 50, 100, Span::from_secs(10));
    // Each acknowledgement restarts T3-rtx (§6.3.2 R3): data outstanding before the restart is forgotten.
    let began = pair.now;
    pair.transfer(Side::B, 50_000, 1000, Span::from_secs(60));
    assert!(pair.now.since(began) > Span::from_secs(2), "longer than an RTO: {:?}", pair.now.since(began));
    let timeouts: u64 =
        pair.with(Side::B, |association, _| association.paths().map(|path| path.timeouts).sum());
    assert_eq!(timeouts, 0);
}

#[test]
fn a_requested_shutdown_outlives_a_restart_of_the_peer() {
    let mut pair = begun();
    pair.run_for(Span::from_secs(2));
    pair.drop_if(|flight| flight.from == Side::B);
    pair.send(Side::B, text_message("not acknowledged before the restart"));
    pair.with(Side::B, |association, now| association.shutdown(now));
    assert_eq!(pair.b.state(), Some(AssociationState::ShutdownPending));
    pair.pass_all();
    restart_a(&mut pair, vec![a_ip(0)]);
    pair.run_for(Span::from_secs(10));
    assert!(pair.b.saw(|event| *event == Event::Restarted));
    assert!(pair.b.saw(|event| *event == Event::Closed), "{:?}", pair.b.events);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# the endpoint MUST respond with an ABORT chunk, copying the 'Initiate Tag' of the unexpected INIT
//# chunk
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
//= type=test
//# Before responding, the endpoint MUST check to see if the unexpected INIT chunk adds new addresses to
//# the association.
#[test]
fn a_restart_with_new_addresses_is_rejected_and_changes_nothing() {
    // RFC 9260 §5.2.2.
    let mut pair = begun();
    pair.run_for(Span::from_secs(2));
    let before = pair.log_len();
    let params: Vec<Param<'_>> = [a_ip(0), a_ip(1)].map(Param::from).to_vec();
    let bytes = packet(Side::B, 0, &[&init(99, &params)]);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
    let sent = pair.sent_since(Side::B, before);
    assert_eq!(sent[0].tag(), 99);
    let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Abort(abort))) = reply.chunks().next() else { panic!("{sent:?}") };
    let Some(Ok(Cause::RestartWithNewAddresses(list))) = abort.causes.iter().next() else { panic!() };
    assert!(Params::from_wire(list).iter().eq([Ok(Param::from(a_ip(1)))]));
    pair.run_for(Span::from_secs(1));
    assert!(both_up(&pair));
    pair.transfer(Side::A, 10, 100, Span::from_secs(5));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# An INIT or INIT ACK chunk MUST be treated as belonging to an already established association
#[test]
fn an_init_from_an_unknown_address_that_lists_a_known_one_belongs_to_the_association() {
    // RFC 9260 §5.1.2 D: it adds its source address, so it is rejected.
    let mut pair = begun();
    pair.run_for(Span::from_secs(2));
    let params = [Param::from(a_ip(0))];
    let bytes = packet(Side::B, 0, &[&init(99, &params)]);
    let before = pair.log_len();
    let at = PathAddr { local: b_ip(0), remote: a_ip(7) };
    let outcome = pair.inject(Side::B, at, &bytes);
    assert_eq!(outcome, DatagramOutcome::Unverified(pair.b.handle.unwrap()));
    assert!(pair.sent_since(Side::B, before)[0].has(chunk::ABORT));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
//= type=test
//# If the value of the Initiate Tag in a received INIT chunk is found to be 0, the receiver MUST
//# silently discard the packet.
//= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
//= type=test
//# If, for whatever reason, the INIT chunk cannot be processed normally and an ABORT chunk has to be sent in
//# response, the Verification Tag of the packet containing the ABORT chunk MUST be the Initiate Tag of the
//# received INIT chunk
#[test]
fn inits_without_an_init_ack_are_discarded_or_aborted() {
    let host = [0, 11, 0, 6, b'a', 0];
    let host_name = [Param::HostName(&host[4..])];
    let good = init(5, &[]);
    let cases: [(Init<'_>, Option<u16>); 5] = [
        (Init { initiate_tag: VerificationTag::ZERO, ..good }, None),
        (Init { a_rwnd: 1499, ..good }, Some(7)),
        (Init { outbound_streams: 0, ..good }, Some(7)),
        (Init { inbound_streams: 0, ..good }, Some(7)),
        (init(5, &host_name), Some(5)),
    ];
    for (init, cause) in cases {
        let mut pair = ready();
        let outcome = pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
        let sent = pair.sent_since(Side::B, 0);
        match cause {
            None => assert_eq!((outcome, sent.len()), (DatagramOutcome::Ignored(IgnoreReason::BadInit), 0)),
            Some(code) => {
                assert_eq!((sent[0].tag(), sent[0].chunks()), (5, vec![chunk::ABORT]));
                let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
                let Some(Ok(Chunk::Abort(abort))) = reply.chunks().next() else { panic!() };
                assert!(!abort.tag_reflected);
                assert_eq!(abort.causes.iter().next().unwrap().unwrap().typ().0, code);
            }
        }
    }
    // No listener at the port: RFC 9260 §8.4 rule 3.
    let mut pair = ready();
    let bytes = support::packet_between(PORT_A, 9999, 0, &[&init(5, &[])]);
    assert_eq!(pair.inject(Side::B, Pair::at(Side::B), &bytes), DatagramOutcome::Replied);
    assert_eq!(pair.sent_since(Side::B, 0)[0].tag(), 5);
}

#[test]
fn unknown_parameters_of_an_init_are_treated_by_their_high_bits() {
    // RFC 9260 §3.2.1 Table 3: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
    for (high, stops, reports) in
        [(0x0000u16, true, false), (0x4000, true, true), (0x8000, false, false), (0xc000, false, true)]
    {
        let unknown_type = high | 0x0ff7;
        let unknown = [(unknown_type >> 8) as u8, unknown_type as u8, 0, 5, 42, 0, 0, 0];
        let known = [0, 5, 0, 8, 10, 1, 0, 1];
        let list = [unknown, known].concat();
        let mut pair = ready();
        let init = Init { params: Params::from_wire(&list), ..init(5, &[]) };
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
        let sent = pair.sent_since(Side::B, 0);
        let reply = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = reply.chunks().next() else { panic!("{sent:?}") };
        let reported = ack.params.iter().flatten().find_map(|param| match param {
            Param::UnrecognizedParameter(bytes) => Some(bytes),
            _ => None,
        });
        assert_eq!(reported, reports.then_some(&unknown[..5]), "{high:#x}");
        // The address after it counts only if processing continued: then an association has both addresses.
        let cookie = ack.params.iter().flatten().find_map(|param| match param {
            Param::StateCookie(cookie) => Some(cookie),
            _ => None,
        });
        let echo = packet(Side::B, ack.initiate_tag.get(), &[&CookieEcho { cookie: cookie.unwrap() }]);
        pair.inject(Side::B, Pair::at(Side::B), &echo);
        let paths = pair.with(Side::B, |b, _| b.paths().count());
        assert_eq!(paths, if stops { 1 } else { 2 }, "{high:#x}");
    }
}

#[test]
fn unknown_parameters_of_an_init_ack_are_reported_beside_the_cookie_echo() {
    let mut pair = begun();
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::INIT_ACK) {
            // Appends a parameter to skip and report, and corrects the lengths and the checksum.
            let (src, dst) = (PORT_B, PORT_A);
            let tag = flight.tag();
            let mut chunk = flight.bytes[12..].to_vec();
            chunk.extend_from_slice(&[0xcf, 0xf7, 0, 8, 1, 2, 3, 4]);
            let len = chunk.len() as u16;
            chunk[2..4].copy_from_slice(&len.to_be_bytes());
            flight.bytes = support::packet_between(src, dst, tag, &[&UnknownChunk::new(&chunk).unwrap()]);
        }
        Fate::Pass
    });
    pair.run_for(Span::from_secs(1));
    assert!(both_up(&pair));
    let log = pair.log.as_ref().unwrap();
    let echo = log.iter().find(|f| f.has(chunk::COOKIE_ECHO)).unwrap();
    assert_eq!(echo.chunks(), [chunk::COOKIE_ECHO, chunk::ERROR]);
    assert!(pair.b.saw(|e| *e == Event::PeerError { cause: 8 }));
}

#[test]
fn an_init_ack_from_another_address_of_the_server_is_accepted() {
    // Its verification tag identifies the association, whether or not the server lists its addresses.
    for list_addresses in [true, false] {
        let server =
            Config { offer: OfferConfig { list_addresses, ..OfferConfig::default() }, ..Config::default() };
        let mut pair = Pair::new(server, vec![b_ip(0), b_ip(1)]);
        pair.log = Some(Vec::new());
        // The server answers from its second address.
        pair.filter = Box::new(|flight| {
            if flight.has(chunk::INIT_ACK) {
                flight.at.local = b_ip(1);
            }
            Fate::Pass
        });
        pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert!(both_up(&pair));
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
//= type=test
//# After the association is initialized, the valid outbound stream identifier range for either endpoint
//# MUST be 0 to min(local OS, remote MIS) - 1.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
//= type=test
//# If the peer's MIS is less than the endpoint's OS, meaning that the peer is incapable of supporting
//# all the outbound streams the endpoint wants to configure, the endpoint MUST use MIS outbound streams
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
//= type=test
//# each endpoint MUST perform the following check
#[test]
fn the_number_of_streams_is_the_minimum_of_wanted_and_offered() {
    let config_a = Config { outbound_streams: 20, max_inbound_streams: 5, ..Config::default() };
    let config_b = Config { outbound_streams: 8, max_inbound_streams: 6, ..Config::default() };
    let mut pair = Pair::new(config_b, vec![b_ip(0)]);
    pair.connect(config_a, vec![a_ip(0)], vec![b_ip(0)]);
    pair.send(Side::A, message(19, b"no such stream".to_vec()));
    pair.send(Side::A, message(5, b"fine".to_vec()));
    pair.run_for(Span::from_secs(2));
    assert!(pair.a.saw(|e| matches!(e, Event::Connected { outbound_streams: 6, inbound_streams: 5 })));
    assert!(pair.b.saw(|e| matches!(e, Event::Connected { outbound_streams: 5, inbound_streams: 6 })));
    assert!(pair.a.saw(|e| matches!(e, Event::SendFailed(failure) if failure.message.stream == 19)));
    assert_eq!(pair.b.received.len(), 1);
    let refused = pair.with(Side::A, |a, now| a.send(now, message(6, vec![1])));
    assert_eq!(refused, Err(SendError::InvalidStream { stream: 6, streams: 6 }));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
//= type=test
//# the receiver MUST derive and record all the transport addresses from the received chunk AND the
//# source IP address
// RFC 9260 §6.4, §5.4: to the source, with a HEARTBEAT if that is not confirmed.
#[test]
fn a_cookie_ack_goes_where_the_cookie_echo_came_from() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    // The first address only receives: the retransmitted COOKIE ECHO comes from the second one.
    pair.drop_if(|flight| flight.has(chunk::COOKIE_ECHO) && flight.at.local == a_ip(0));
    pair.connect(Config::default(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(3));
    let sent = pair.sent_since(Side::B, 0);
    let ack = sent.iter().find(|flight| flight.has(chunk::COOKIE_ACK)).unwrap();
    assert_eq!((ack.at.remote, ack.chunks()), (a_ip(1), vec![chunk::COOKIE_ACK, chunk::HEARTBEAT]));
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
}

// RFC 9260 §8.1: a peer that repeats its COOKIE ECHO is there, and may answer nothing else (§5.1 C).
#[test]
fn a_peer_that_lacks_its_cookie_ack_is_not_unreachable() {
    let config = Config { assoc_max_retrans: 3, rto_max: Span::from_secs(1), ..Config::default() };
    let mut pair = Pair::new(config, vec![b_ip(0)]);
    let acks = pair.now + Span::from_secs(12);
    pair.filter = Box::new(move |flight| match flight.has(chunk::COOKIE_ACK) && flight.sent < acks {
        true => Fate::Drop,
        false => Fate::Pass,
    });
    let mobile = Config { rto_max: Span::from_secs(1), max_init_retransmits: 30, ..Config::default() };
    pair.connect(mobile, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(100));
    pair.send(Side::B, text_message("answered late"));
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.b.state(), Some(AssociationState::Established));
    assert_eq!(pair.a.received.len(), 1);
}

#[test]
fn addresses_are_listed_and_become_paths_on_both_sides() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    for side in [Side::A, Side::B] {
        let paths = pair.with(side, |association, _| association.paths().count());
        assert_eq!(paths, 4, "{side:?}");
    }
    let log = pair.log.as_ref().unwrap();
    let first = Packet::parse(&log[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Init(init))) = first.chunks().next() else { panic!() };
    let params: Vec<_> = init.params.iter().flatten().collect();
    assert!(params.contains(&Param::from(a_ip(0))) && params.contains(&Param::from(a_ip(1))));
    assert!(params.contains(&Param::SupportedAddressTypes(List::from(&[
        ParamType::IPV4_ADDRESS,
        ParamType::IPV6_ADDRESS
    ]))));
    assert!(params.iter().any(|p| matches!(p, Param::SupportedExtensions(_))));
}

/// Returns the parameter types of the first chunk of a packet.
fn params_of(bytes: &[u8]) -> Vec<u16> {
    let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
    let params = match packet.chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.params,
        Some(Ok(Chunk::InitAck(ack))) => ack.params,
        other => panic!("{other:?}"),
    };
    params.iter().flatten().map(|param| param.typ().0).collect()
}

#[test]
fn a_single_address_is_never_listed() {
    // RFC 9260 §3.3.2.1.
    let mut pair = begun();
    pair.run_for(Span::from_secs(1));
    let log = pair.log.as_ref().unwrap();
    for flight in &log[..2] {
        assert!(!params_of(&flight.bytes).contains(&ParamType::IPV4_ADDRESS.0), "{flight:?}");
    }
}

#[test]
fn a_webrtc_peer_gets_no_addresses_and_no_unknown_parameters() {
    let mut pair = Pair::new(Config::webrtc(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::webrtc(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert!(both_up(&pair));
    let log = pair.log.as_ref().unwrap();
    let zero = ParamType::ZERO_CHECKSUM_ACCEPTABLE.0;
    // RFC 8831 requires such peers to support partial reliability.
    let partial = ParamType::FORWARD_TSN_SUPPORTED.0;
    // Padding is skipped by peers that do not know it (RFC 4820 §4, RFC 9260 §3.2.1).
    let padding = ParamType::PADDING.0;
    assert_eq!(params_of(&log[0].bytes), [ParamType::SUPPORTED_EXTENSIONS.0, partial, zero, padding]);
    assert_eq!(
        params_of(&log[1].bytes),
        [ParamType::SUPPORTED_EXTENSIONS.0, partial, zero, ParamType::STATE_COOKIE.0]
    );
    for side in [Side::A, Side::B] {
        let (paths, refused) = pair.with(side, |association, now| {
            (association.paths().count(), association.add_local_address(now, support::ip(7, 7)))
        });
        assert_eq!((paths, refused), (1, Err(msctp_proto::CallError::PeerLacksAsconf)), "{side:?}");
    }
    assert!(pair.a.saw(|e| *e == Event::Connected { outbound_streams: 65_535, inbound_streams: 65_535 }));
}

#[test]
fn without_a_list_further_addresses_are_added_when_the_association_is_up() {
    let offer = OfferConfig { list_addresses: false, ..OfferConfig::default() };
    let config = Config { offer, ..Config::default() };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), b_ip(1)]);
    pair.connect(config, vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let states: Vec<_> = pair.with(Side::A, |a, _| a.paths().map(|path| path.state).collect());
    assert_eq!(states, [PathState::Active; 2]);
}

#[test]
fn associations_beyond_the_limit_are_rejected_by_abort() {
    let config = EndpointConfig { max_associations: 1, ..EndpointConfig::default() };
    let mut pair = ready();
    pair.b.endpoint = Endpoint::new(config, [5; 32]).unwrap();
    pair.b.endpoint.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, Config::default()).unwrap();
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    assert!(both_up(&pair));
    let local = LocalAddrs { port: PORT_A + 1, addresses: vec![a_ip(0)] };
    let remote = RemoteAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    let second = pair.a.endpoint.connect(pair.now, Config::default(), local, remote).unwrap();
    pair.a.handle = Some(second);
    pair.drain(Side::A);
    pair.run_for(Span::from_secs(1));
    let aborted = |e: &Event| matches!(e, Event::Lost(LossReason::PeerAborted { cause: Some(4), .. }));
    assert!(pair.a.saw(aborted), "{:?}", pair.a.events);
    assert_eq!(pair.b.endpoint.len(), 1);
}

/// RFC 6298 §5.7: 3 s, not the RTO of T1-cookie. RFC 9260 §6.3.2 R1 begins with doublings by T3-rtx.
#[test]
fn lost_data_after_a_slow_set_up_does_not_wait_for_the_rto_of_t1() {
    let mut pair = ready();
    pair.drop_first(Side::B, chunk::COOKIE_ACK, 4);
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    assert!(pair.run_until(Span::from_secs(60), |p| both_up(p)));
    pair.drop_first(Side::A, chunk::DATA, 1);
    pair.send(Side::A, text_message("lost once"));
    let start = pair.now;
    assert!(pair.run_until(Span::from_secs(60), |p| p.b.received.len() == 1));
    assert_eq!(pair.now.since(start), ms(3000 + 20));
}
