//! UDP ports of a protected peer (RFC 6951 §5.4): an observer that delivers copies of its packets first, from
//! another port of its address, gains nothing, and a peer whose NAT forgot its port goes on.

use msctp_proto::{Config, Event, PathAddr, PathState};
use msctp_units::{Span, Time};
use msctp_wire::param::AddressRequest;
use msctp_wire::{Asconf, AsconfSerial, CookieEcho, CorrelationId, EncodeChunk, Param, Params};

use crate::attacks::changed_setup::{psk, sealed, with_forgers_of};
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, ip, packet, text_message};

/// UDP ports of A, of A after its NAT forgot the first, of B, and of the attacker at A's address.
const A: u16 = 1000;
const REBOUND: u16 = 1001;
const B: u16 = 9899;
const X: u16 = 6666;

/// The round-trip time.
const RTT: Span = Span::from_millis(40);

fn up(config: &Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.udp = Some([A, B]);
    pair.log = Some(Vec::new());
    pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    assert_eq!(port(&mut pair, Side::B), A);
    pair
}

/// Returns the port to which this end sends on its first path.
fn port(pair: &mut Pair, side: Side) -> u16 {
    pair.with(side, |end, _| end.paths().next().unwrap().udp_port).unwrap()
}

/// Returns the lengths of B's packets to a port since then.
fn sent_to(pair: &Pair, port: u16, since: Time) -> Vec<usize> {
    let log = pair.log.as_ref().unwrap().iter();
    let there = log.filter(|flight| flight.ports == Some([B, port]) && flight.sent >= since);
    there.map(|flight| flight.bytes.len()).collect()
}

/// Sends 400 packets of data from B, and returns how long the first of them took.
fn first_arrives(pair: &mut Pair) -> Span {
    let (began, before) = (pair.now, pair.a.received.len());
    for n in 0..400 {
        let _ = pair.with(Side::B, |b, now| b.send(now, crate::support::message(0, vec![n as u8; 1000])));
    }
    assert!(pair.run_until(Span::from_secs(60), |pair| pair.a.received.len() > before));
    pair.now.since(began)
}

#[test]
fn copies_that_overtake_do_not_take_the_port() {
    let mut pair = up(&psk());
    pair.copies_from = Some(X);
    let began = pair.now;
    for _ in 0..20 {
        pair.send(Side::A, text_message("copied"));
        pair.run_for(Span::from_millis(500));
        assert_eq!(port(&mut pair, Side::B), A);
    }
    pair.transfer(Side::B, 200, 1000, Span::from_secs(5));
    pair.transfer(Side::A, 200, 1000, Span::from_secs(5));
    // One HEARTBEAT for each RTO, and its ACKs.
    let there = sent_to(&pair, X, began);
    assert!(!there.is_empty() && there.len() < 60, "{there:?}");
    assert!(there.iter().all(|&len| len < 120), "{there:?}");
    assert!(!pair.a.saw(|event| matches!(event, Event::Lost(_))));
}

/// The attacker also passes B's packets on to A, so that A answers the HEARTBEATs to both ports.
#[test]
fn a_port_that_passes_packets_on_does_not_replace_one_that_answers() {
    for ahead in [0, 15] {
        let mut pair = up(&psk());
        pair.copies_from = Some(X);
        pair.filter = Box::new(move |flight: &mut Flight| match &mut flight.ports {
            Some([_, to]) if *to == X => {
                *to = A;
                Fate::Pass
            }
            Some([_, to]) if *to == A => Fate::Late(Span::from_millis(ahead)),
            _ => Fate::Pass,
        });
        for _ in 0..20 {
            pair.send(Side::A, text_message("copied"));
            pair.run_for(Span::from_millis(1500));
            assert_eq!(port(&mut pair, Side::B), A);
        }
        pair.transfer(Side::B, 200, 1000, Span::from_secs(5));
        assert_eq!(port(&mut pair, Side::B), A);
    }
}

/// A's NAT forgets its port. In clear the first packet teaches the new one; under protection it is validated
/// first, in a round trip and a quarter.
#[test]
fn a_rebinding_goes_on_after_a_round_trip() {
    for (config, added) in [(Config::mobile(), Span::ZERO), (psk(), RTT + RTT / 4)] {
        for silent in [false, true] {
            let mut pair = up(&config);
            pair.udp = Some([REBOUND, B]);
            let began = pair.now;
            pair.send(Side::A, text_message("from the new port"));
            if silent {
                // B's data leaves for the old port before A's packet arrives.
                first_arrives(&mut pair);
            } else {
                pair.run_for(RTT / 2);
                let took = first_arrives(&mut pair);
                assert!(took <= added + RTT, "{took}");
            }
            assert!(pair.run_until(Span::from_secs(10), |pair| pair.a.received.len() == 400), "{began}");
            assert_eq!(port(&mut pair, Side::B), REBOUND);
            let stats = pair.with(Side::B, |b, _| b.paths().next().unwrap());
            assert_eq!((stats.timeouts, stats.error_count), (0, 0), "{stats:?}");
            // Also A's own data was acknowledged without a timeout.
            let stats = pair.with(Side::A, |a, _| a.paths().next().unwrap());
            assert_eq!((stats.timeouts, stats.error_count), (0, 0), "{stats:?}");
            pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        }
    }
}

/// An idle path's HEARTBEAT is answered at the new port also before it is validated, so that A counts no
/// error.
#[test]
fn a_heartbeat_from_a_new_port_is_answered_there() {
    let mut pair = up(&psk());
    pair.udp = Some([REBOUND, B]);
    let path = pair.with(Side::A, |a, _| a.paths().next().unwrap().id);
    pair.with(Side::A, |a, now| a.request_heartbeat(now, path)).unwrap();
    let (mut errors, end) = (0, pair.now + Span::from_secs(3));
    while pair.step(end) {
        errors = errors.max(pair.with(Side::A, |a, _| a.paths().next().unwrap().error_count));
    }
    assert_eq!(errors, 0);
    assert_eq!(port(&mut pair, Side::B), REBOUND);
}

/// The NAT forgets A's port while an attacker overtakes each packet: the genuine ones are replays, and tell
/// the port all the same.
#[test]
fn a_rebinding_is_noticed_behind_copies() {
    let mut pair = up(&psk());
    pair.copies_from = Some(X);
    pair.udp = Some([REBOUND, B]);
    pair.send(Side::A, text_message("overtaken"));
    pair.run_for(Span::from_secs(3));
    assert_eq!(port(&mut pair, Side::B), REBOUND);
    pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
    pair.transfer(Side::A, 100, 1000, Span::from_secs(5));
}

/// A moves to another network, and an attacker overtakes each of its packets: the first packet on a path
/// teaches its port, and is a copy.
#[test]
fn a_move_behind_copies_arrives() {
    let mut pair = up(&psk());
    pair.copies_from = Some(X);
    pair.drop_if(|flight| flight.at.local == a_ip(0) || flight.at.remote == a_ip(0));
    pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
    pair.run_for(Span::from_secs(10));
    let moved = |event: &Event| matches!(event, Event::AddressChange { accepted: true, .. });
    assert!(pair.a.saw(moved), "{:?}", pair.a.events);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
    assert_eq!(port(&mut pair, Side::B), A);
}

/// A move is not slower for its validation: the first packet on a path that the peer adds teaches its port.
#[test]
fn a_move_takes_as_long_as_in_clear() {
    let took = [Config::mobile(), psk()].map(|config| {
        let mut pair = up(&config);
        pair.drop_if(|flight| flight.at.local == a_ip(0) || flight.at.remote == a_ip(0));
        pair.udp = Some([REBOUND, B]);
        let began = pair.now;
        pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
        let moved = |event: &Event| matches!(event, Event::AddressChange { accepted: true, .. });
        assert!(pair.run_until(Span::from_secs(10), |pair| pair.a.saw(moved)));
        let answered = pair.now.since(began);
        pair.send(Side::B, text_message("to the new network"));
        assert!(pair.run_until(Span::from_secs(10), |pair| !pair.a.received.is_empty()));
        (answered, pair.now.since(began))
    });
    assert_eq!(took[0], took[1]);
}

/// Copies from many ports: B sends fewer packets there than came, with at most three times the bytes that
/// came from each.
#[test]
fn copies_from_many_ports_cause_little_traffic() {
    let mut pair = up(&psk());
    let began = pair.now;
    let mut came = vec![0; 200];
    for second in 0..20_u16 {
        pair.filter = Box::new(|flight| if flight.from == Side::A { Fate::Drop } else { Fate::Pass });
        pair.send(Side::A, text_message("x"));
        let bytes = pair.log.as_ref().unwrap().last().unwrap().bytes.clone();
        pair.pass_all();
        for n in 0..10 {
            let number = second * 10 + n;
            came[usize::from(number)] += bytes.len() + 20;
            let ecn = msctp_units::Ecn::NotEct;
            pair.inject_from(Side::B, Pair::at(Side::B), ecn, Some(20_000 + number), &bytes);
        }
        pair.run_for(Span::from_secs(1));
    }
    assert_eq!(port(&mut pair, Side::B), A);
    let mut asked = 0;
    for (number, came) in came.iter().enumerate() {
        let there = sent_to(&pair, 20_000 + number as u16, began);
        asked += usize::from(!there.is_empty());
        assert!(there.iter().map(|len| len + 20).sum::<usize>() <= 3 * came, "{there:?} for {came} bytes");
    }
    let all = (20_000..20_200).map(|port| sent_to(&pair, port, began).len()).sum::<usize>();
    assert!(asked >= 20 && all <= came.len(), "{asked} ports, {all} packets");
    pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
}

/// A candidate that does not answer expires: its check leaves no timer.
#[test]
fn a_candidate_that_does_not_answer_expires() {
    let mut pair = up(&psk());
    pair.udp = Some([REBOUND, B]);
    pair.send(Side::A, text_message("from a port where nothing arrives"));
    pair.filter = Box::new(|flight| if flight.from == Side::B { Fate::Drop } else { Fate::Pass });
    pair.run_for(Span::from_millis(100));
    pair.filter = Box::new(|_| Fate::Drop);
    let began = pair.now;
    pair.run_for(Span::from_secs(20));
    assert_eq!(port(&mut pair, Side::B), A);
    let there = sent_to(&pair, REBOUND, began);
    assert!(there.len() <= 2, "{there:?}");
}

/// A COOKIE ECHO is in clear: anyone can repeat it, from any port.
#[test]
fn a_repeated_cookie_echo_teaches_no_port() {
    let mut pair = up(&psk());
    let log = pair.log.as_ref().unwrap();
    let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).unwrap().clone();
    let len = usize::from(u16::from_be_bytes([echo.bytes[14], echo.bytes[15]]));
    let cookie = CookieEcho { cookie: &echo.bytes[16..12 + len] };
    let bytes = packet(Side::B, echo.tag(), &[&cookie as &dyn EncodeChunk]);
    for _ in 0..3 {
        pair.inject_from(Side::B, Pair::at(Side::B), msctp_units::Ecn::NotEct, Some(X), &bytes);
        assert_eq!(port(&mut pair, Side::B), A);
    }
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
}

/// B's HEARTBEAT to a port is the only sealed packet of this length.
const ASKED: usize = 12 + 8 + 36 + 20;

/// The attacker passes B's packets on, and B's HEARTBEATs to the port in use are lost twice in a row: A's
/// packets still come from there, so that it is asked again.
#[test]
fn losses_do_not_give_the_port_to_one_that_passes_packets_on() {
    for losses in [2, 3] {
        let mut pair = up(&psk());
        pair.copies_from = Some(X);
        let mut lost = 0;
        pair.filter = Box::new(move |flight: &mut Flight| match &mut flight.ports {
            Some([_, to]) if *to == X => {
                *to = A;
                Fate::Pass
            }
            Some([_, to]) if *to == A && flight.bytes.len() == ASKED && lost < losses => {
                lost += 1;
                Fate::Drop
            }
            _ => Fate::Pass,
        });
        for _ in 0..10 {
            pair.send(Side::A, text_message("copied"));
            pair.run_for(Span::from_millis(500));
        }
        pair.transfer(Side::B, 200, 1000, Span::from_secs(5));
        assert_eq!(port(&mut pair, Side::B), A, "{losses} losses");
    }
}

/// An observer repeats an old packet from many ports all the time while a NAT forgets A's port: that they are
/// many does not hide A's.
#[test]
fn replays_from_many_ports_do_not_hide_a_rebinding() {
    let mut pair = up(&psk());
    pair.send(Side::A, text_message("recorded"));
    pair.run_for(Span::from_secs(1));
    let recorded = pair.sent_since(Side::A, 0).pop().unwrap().bytes;
    pair.udp = Some([REBOUND, B]);
    let began = pair.now;
    while port(&mut pair, Side::B) != REBOUND && pair.now.since(began) < Span::from_secs(20) {
        let ms = pair.now.since(began).as_millis();
        let from = 20_000 + (ms % 8) as u16;
        pair.inject_from(Side::B, Pair::at(Side::B), msctp_units::Ecn::NotEct, Some(from), &recorded);
        if ms.is_multiple_of(500) {
            pair.send(Side::A, text_message("from the new port"));
        }
        pair.run_for(Span::from_millis(1));
    }
    assert_eq!(port(&mut pair, Side::B), REBOUND);
    pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
}

/// A copy of the INIT ACK, which is in clear, comes first, from a port whose owner passes packets on. The
/// port that the application called is the server's again when packets are protected.
#[test]
fn a_port_of_the_set_up_in_clear_does_not_outlast_it() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    (pair.udp, pair.log) = (Some([A, B]), Some(Vec::new()));
    pair.drop_if(|flight| flight.has(chunk::INIT_ACK));
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(30));
    let answer = pair.sent_since(Side::B, 0).pop().unwrap().bytes;
    pair.filter = Box::new(|flight: &mut Flight| {
        if let Some([_, to]) = &mut flight.ports
            && *to == X
        {
            *to = B;
        }
        Fate::Pass
    });
    pair.inject_from(Side::A, Pair::at(Side::A), msctp_units::Ecn::NotEct, Some(X), &answer);
    assert_eq!(port(&mut pair, Side::A), X, "nothing else is known of the peer yet");
    pair.run_for(Span::from_secs(5));
    assert_eq!(port(&mut pair, Side::A), B);
    pair.transfer(Side::A, 100, 1000, Span::from_secs(5));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
}

/// A malicious peer answers at its address to one of B's addresses and not to the other. Its first packet to
/// the other seems to come from a neighbour behind the same NAT, which gets at most three times its bytes.
#[test]
fn a_confirmed_address_teaches_no_other_port_on_another_pair() {
    const NEIGHBOUR: u16 = 7777;
    let prepare = |pair: &mut Pair| {
        pair.udp = Some([A, B]);
        pair.drop_if(|flight| flight.at.local == b_ip(1) || flight.at.remote == b_ip(1));
    };
    let (mut pair, mut forgers) = with_forgers_of(prepare, vec![b_ip(0), b_ip(1)]);
    let serial = AsconfSerial::new(crate::support::states::initial_tsn_of(&pair, Side::A).get());
    let request = |n: u8| {
        let correlation_id = CorrelationId::new(u32::from(n));
        Param::SetPrimaryAddress(AddressRequest { correlation_id, address: ip(99, n) })
    };
    let requests: Vec<_> = (0..40).map(request).collect();
    let large = Asconf { serial, address: a_ip(0), requests: Params::from(&requests[..]) };
    let bytes = sealed(&pair, Side::B, &mut forgers[1], &[&large]);
    let ecn = msctp_units::Ecn::NotEct;
    pair.inject_from(Side::B, Pair::at(Side::B), ecn, Some(A), &bytes);
    let small = Asconf { serial, address: a_ip(0), requests: Params::EMPTY };
    let at = msctp_proto::PathAddr { local: b_ip(1), remote: a_ip(0) };
    let (began, mut came) = (pair.now, 0);
    for _ in 0..10 {
        let bytes = sealed(&pair, Side::B, &mut forgers[1], &[&small]);
        pair.inject_from(Side::B, at, ecn, Some(NEIGHBOUR), &bytes);
        came += bytes.len() + 20;
    }
    let sent: usize = sent_to(&pair, NEIGHBOUR, began).iter().map(|len| len + 20).sum();
    assert!(sent <= 3 * came, "{sent} bytes for {came}");
}

/// The NAT forgets A's port, and an observer passes on only the HEARTBEATs that go there. The port answers,
/// but delivers nothing.
#[test]
fn a_port_at_which_only_heartbeats_arrive_is_left() {
    let mut pair = up(&psk());
    pair.udp = Some([REBOUND, B]);
    pair.filter = Box::new(|flight: &mut Flight| {
        if let Some([_, to]) = &mut flight.ports
            && *to == A
            && flight.bytes.len() == ASKED
        {
            *to = REBOUND;
        }
        Fate::Pass
    });
    for n in 0..400_u32 {
        let _ = pair.with(Side::B, |b, now| b.send(now, crate::support::message(0, vec![n as u8; 1000])));
    }
    let began = pair.now;
    while pair.a.received.len() < 400 && pair.now.since(began) < Span::from_secs(60) {
        pair.send(Side::A, text_message("from the new port"));
        pair.run_for(Span::from_millis(200));
    }
    let took = pair.now.since(began);
    assert!(took < Span::from_secs(10), "{took}, {} messages", pair.a.received.len());
    assert!(!pair.b.saw(|event| matches!(event, Event::Lost(_))));
}

/// A's application reads nothing, so that B's data there times out although A answers each packet: that says
/// nothing about the port.
#[test]
fn a_closed_window_does_not_give_the_port_to_one_that_passes_packets_on() {
    let mut pair = up(&Config { receive_buffer: 8192, ..psk() });
    pair.a.reading = false;
    pair.copies_from = Some(X);
    pair.filter = Box::new(|flight: &mut Flight| {
        if let Some([_, to]) = &mut flight.ports
            && *to == X
        {
            *to = A;
        }
        Fate::Pass
    });
    for n in 0..20_u8 {
        let _ = pair.with(Side::B, |b, now| b.send(now, crate::support::message(0, vec![n; 1000])));
    }
    for second in 0..60 {
        pair.run_for(Span::from_secs(1));
        assert_eq!(port(&mut pair, Side::B), A, "after {second} s");
    }
    let stats = pair.with(Side::B, |b, _| b.paths().next().unwrap());
    assert!(stats.timeouts > 3, "{stats:?}");
    // The window opens: a timeout before does not count either.
    pair.a.reading = true;
    pair.drain(Side::A);
    pair.send(Side::A, text_message("copied"));
    pair.run_for(Span::from_secs(60));
    assert_eq!(port(&mut pair, Side::B), A);
    assert_eq!(pair.a.received.len(), 20);
}

/// A server lists a second address, from which it sends nothing. An observer sends copies from there: they
/// teach no port, and the address is confirmed as soon as without.
#[test]
fn copies_teach_no_port_of_a_listed_address_that_is_silent() {
    for silent in [Side::A, Side::B] {
        let mut pair = Pair::new(psk(), vec![b_ip(0), b_ip(1)]);
        (pair.udp, pair.log) = (Some([A, B]), Some(Vec::new()));
        // Nothing arrives at or from the second network yet.
        pair.drop_if(|flight| flight.at.local == a_ip(1) || flight.at.remote == b_ip(1));
        let at = match silent {
            Side::A => PathAddr { local: b_ip(0), remote: a_ip(1) },
            Side::B => PathAddr { local: a_ip(0), remote: b_ip(1) },
        };
        pair.connect(psk(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
        pair.drop_if(move |flight| at.remote == flight.at.local || at.remote == flight.at.remote);
        pair.run_for(Span::from_millis(300));
        let to = silent.other();
        let port_of = |pair: &mut Pair| {
            pair.with(to, |one, _| one.paths().find(|path| path.at == at).unwrap().udp_port).unwrap()
        };
        let right = if silent == Side::A { A } else { B };
        for _ in 0..5 {
            let before = pair.log_len();
            pair.send(silent, text_message("copied"));
            let sealed = pair.sent_since(silent, before).pop().unwrap().bytes;
            pair.inject_from(to, at, msctp_units::Ecn::NotEct, Some(X), &sealed);
            assert_eq!(port_of(&mut pair), right, "{silent:?} is silent");
            pair.run_for(Span::from_millis(100));
        }
        pair.pass_all();
        pair.run_for(Span::from_secs(5));
        assert_eq!(port_of(&mut pair), right);
        let state = pair.with(to, |one, _| one.paths().find(|path| path.at == at).unwrap().state);
        assert_eq!(state, PathState::Active, "{silent:?} is silent");
    }
}
