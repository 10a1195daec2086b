//! Attacks that make the ends disagree on where protection begins, or on what INIT and INIT ACK said: the
//! keys differ, and both ends say so. Before, the first protected messages were deleted and acknowledged (the
//! SCTP form of "Terrapin", CVE-2023-48795), or all messages of some streams.

use std::cell::RefCell;
use std::rc::Rc;

use msctp_proto::{Config, Event, LossReason, Pmtu};
use msctp_security::{METHOD, METHOD_FALSE_START};
use msctp_units::Span;
use msctp_wire::KeyManagementId;

use crate::secured::network::{self, Fate, Flight, Pair, Side, chunk, text_message};
use crate::secured::{DTLS, Secured};

const PPID: u32 = 4242;

/// Returns DATA with a control message of an unknown type, which the key manager ignores.
fn unknown(tsn: u32, ssn: u16) -> Vec<u8> {
    piece(tsn, ssn, 0x03, &[0x83, 0x7f])
}

/// Returns DATA with these flags: 2 begins a message, 1 ends it.
pub(crate) fn piece(tsn: u32, ssn: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0, flags];
    out.extend((16 + payload.len() as u16).to_be_bytes());
    out.extend(tsn.to_be_bytes());
    out.extend([0, 0]);
    out.extend(ssn.to_be_bytes());
    out.extend(PPID.to_be_bytes());
    out.extend(payload);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// Splits a packet into its chunks, each with its padding.
pub(crate) fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut all) = (&bytes[12..], Vec::new());
    while rest.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(4).next_multiple_of(4);
        let (one, others) = rest.split_at(len.min(rest.len()));
        all.push(one.to_vec());
        rest = others;
    }
    all
}

pub(crate) fn tsn(chunk: &[u8]) -> u32 {
    u32::from_be_bytes(chunk[4..8].try_into().unwrap())
}

pub(crate) fn ssn(chunk: &[u8]) -> u16 {
    u16::from_be_bytes(chunk[10..12].try_into().unwrap())
}

pub(crate) fn payload(chunk: &[u8]) -> &[u8] {
    &chunk[16..usize::from(u16::from_be_bytes([chunk[2], chunk[3]]))]
}

fn moved(chunk: &[u8], by: u32) -> Vec<u8> {
    let mut chunk = chunk.to_vec();
    let (to, number) = (tsn(&chunk).wrapping_add(by), ssn(&chunk).wrapping_add(by as u16));
    chunk[4..8].copy_from_slice(&to.to_be_bytes());
    chunk[10..12].copy_from_slice(&number.to_be_bytes());
    chunk
}

/// Replaces the first DATA chunk of a packet.
fn with_first_data(bytes: &[u8], replace: impl Fn(&[u8]) -> Vec<Vec<u8>>, then: u32) -> Vec<u8> {
    let mut out = bytes[..12].to_vec();
    let mut done = false;
    for chunk in chunks(bytes) {
        match chunk[0] {
            chunk::DATA if !done => out.extend(replace(&chunk).concat()),
            chunk::DATA => out.extend(moved(&chunk, then)),
            _ => out.extend(&chunk),
        }
        done |= chunk[0] == chunk::DATA;
    }
    network::reseal(&mut out);
    out
}

/// Inserts `count` messages that are ignored before the first DATA, which moves by as many TSNs and SSNs.
fn shifted(bytes: &[u8], count: u32) -> Vec<u8> {
    let replace = |chunk: &[u8]| {
        let ignored = (0..count).map(|i| unknown(tsn(chunk).wrapping_add(i), ssn(chunk) + i as u16));
        ignored.chain([moved(chunk, count)]).collect()
    };
    with_first_data(bytes, replace, count)
}

/// Cuts the first message into `count` + 1, which TLS joins: every byte is the sender's.
fn cut(bytes: &[u8], count: u32) -> Vec<u8> {
    let replace = |chunk: &[u8]| {
        let (first, records) = payload(chunk).split_at(1);
        let size = records.len().div_ceil(count as usize + 1);
        let parts = records.chunks(size).enumerate();
        let part = |(i, part)| {
            piece(tsn(chunk).wrapping_add(i as u32), ssn(chunk) + i as u16, 3, &[first, part].concat())
        };
        parts.map(part).collect()
    };
    with_first_data(bytes, replace, count)
}

/// Cuts the first message into `count` + 1 fragments: more chunks, and as many messages.
fn fragmented(bytes: &[u8], count: u32) -> Vec<u8> {
    let replace = |chunk: &[u8]| {
        let size = payload(chunk).len().div_ceil(count as usize + 1);
        let parts: Vec<&[u8]> = payload(chunk).chunks(size).collect();
        let fragment = |i: usize| {
            let flags = u8::from(i == 0) << 1 | u8::from(i + 1 == parts.len());
            piece(tsn(chunk).wrapping_add(i as u32), ssn(chunk), flags, parts[i])
        };
        (0..parts.len()).map(fragment).collect()
    };
    with_first_data(bytes, replace, count)
}

/// Returns a changed packet, with so many more chunks.
type Change = fn(&[u8], u32) -> Vec<u8>;

/// Ways to move the first protected TSN of the sender of a packet.
const CHANGES: [(&str, Change); 3] = [("shifted", shifted), ("cut", cut), ("fragmented", fragmented)];

fn sealed(flight: &Flight) -> bool {
    flight.chunks() == [DTLS]
}

pub(crate) fn texts(secured: &Secured) -> Vec<String> {
    secured.pair.b.received.iter().map(|m| String::from_utf8_lossy(&m.data).into_owned()).collect()
}

/// Asserts that nothing was delivered or reported as protected, and that both ends say why.
fn assert_refused(secured: &Secured, what: &str) {
    assert_eq!(texts(secured), [""; 0], "{what}");
    for side in [Side::A, Side::B] {
        let host = if side == Side::A { &secured.pair.a } else { &secured.pair.b };
        assert!(secured.lost(side, &LossReason::SetUpChanged), "{what} {side:?}: {:?}", host.events);
        assert!(!host.saw(|event| *event == Event::Protected), "{what} {side:?}: {:?}", host.events);
    }
    assert_eq!(secured.ends[0].epochs, [0; 0], "{what}: the client never was protected");
}

/// Runs a set-up in the draft's order. The attacker changes the last message in clear of `victim`, once, and
/// drops its retransmissions.
fn attacked(victim: Side, base: &Config, change: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Secured {
    let mut secured = Secured::over(base, &[METHOD], &[METHOD]);
    let seen = Rc::new(RefCell::new((None::<u32>, false)));
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        let (hello, done) = &mut *seen.borrow_mut();
        if flight.from != victim || sealed(flight) || !flight.has(chunk::DATA) {
            return Fate::Pass;
        }
        let now = flight.tsn().unwrap();
        // The client's first message is its ClientHello; the server's first one is its last.
        if victim == Side::A && *hello.get_or_insert(now) == now {
            return Fate::Pass;
        }
        if core::mem::replace(done, true) {
            return Fate::Drop;
        }
        flight.bytes = change(&flight.bytes);
        Fate::Pass
    });
    secured.run_for(Span::from_secs(30));
    secured
}

#[test]
fn an_attacker_on_the_path_deletes_no_first_messages_of_a_protected_stream() {
    let base = Config::mobile();
    for count in [1, 3] {
        for (what, change) in CHANGES {
            assert_refused(&attacked(Side::A, &base, move |bytes| change(bytes, count)), what);
            // The other way round, the client acknowledges what the server has not sent.
            let secured = attacked(Side::B, &base, move |bytes| change(bytes, count));
            assert!(secured.ends.iter().all(|end| end.epochs.is_empty()), "{what}");
            for host in [&secured.pair.a, &secured.pair.b] {
                assert!(host.saw(|event| matches!(event, Event::Lost(_))), "{what}: {:?}", host.events);
            }
        }
    }
}

/// The same chunks, but more messages: the next protected message of stream 0 would have the number of one
/// that was delivered.
#[test]
fn as_many_chunks_with_other_message_numbers_are_no_set_up() {
    let base = Config { pmtu: Pmtu::Fixed(600), ..Config::mobile() };
    let split = |bytes: &[u8]| {
        let first = chunks(bytes).into_iter().find(|chunk| chunk[0] == chunk::DATA).unwrap();
        assert_eq!(first[1] & 3, 2, "the first of several fragments");
        // The first fragment becomes a message of its own; the next begins another one.
        let mut out = bytes[..12].to_vec();
        for chunk in chunks(bytes) {
            out.extend(if chunk[0] == chunk::DATA {
                piece(tsn(&chunk), ssn(&chunk), 3, payload(&chunk))
            } else {
                chunk
            });
        }
        network::reseal(&mut out);
        out
    };
    let second = |bytes: &[u8]| {
        let replace = |chunk: &[u8]| {
            let message = [&[3][..], payload(chunk)].concat();
            vec![piece(tsn(chunk), ssn(chunk) + 1, chunk[1] | 2, &message)]
        };
        with_first_data(bytes, replace, 0)
    };
    let mut secured = Secured::over(&base, &[METHOD], &[METHOD]);
    let seen = Rc::new(RefCell::new(Vec::<u32>::new()));
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        let mut seen = seen.borrow_mut();
        if flight.from != Side::B || sealed(flight) || !flight.has(chunk::DATA) {
            return Fate::Pass;
        }
        let first = flight.tsn().unwrap();
        if seen.contains(&first) {
            return Fate::Drop;
        }
        seen.push(first);
        match seen.len() {
            1 => flight.bytes = split(&flight.bytes),
            2 => flight.bytes = second(&flight.bytes),
            more => panic!("{more} packets of the server in clear"),
        }
        Fate::Pass
    });
    secured.run_for(Span::from_secs(30));
    assert_refused(&secured, "split");
}

#[test]
fn a_set_up_that_nobody_changes_is_protected_with_small_packets_too() {
    for pmtu in [600, 1280] {
        let base = Config { pmtu: Pmtu::Fixed(pmtu), ..Config::mobile() };
        for methods in [&[METHOD][..], &[METHOD_FALSE_START, METHOD]] {
            let mut secured = Secured::over(&base, methods, methods);
            secured.run_for(Span::from_secs(30));
            secured.assert_works(3);
            secured.rekey(Side::A);
            secured.assert_works(4);
        }
    }
}

/// With False Start an observer had only to inject: an ignored message ahead of the client's last one, and a
/// copy of that with a higher TSN behind it.
#[test]
fn an_observer_deletes_no_first_message_sent_with_false_start() {
    for count in 1..=3u32 {
        let mut secured = Secured::false_start();
        secured.hello_behind_cookie();
        secured.start(&[]);
        // The client's last message in clear is on its way: 20 ms.
        let log = secured.pair.log.clone().unwrap();
        let last =
            log.iter().rev().find(|f| f.from == Side::A && f.has(chunk::DATA) && !f.has(chunk::COOKIE_ECHO));
        let last = last.expect("the client's last message in clear").clone();
        let data = chunks(&last.bytes).into_iter().find(|c| c[0] == chunk::DATA).unwrap();
        for i in 0..count {
            let ahead = [&last.bytes[..12], &unknown(tsn(&data).wrapping_add(i), ssn(&data) + i as u16)];
            let mut ahead = ahead.concat();
            network::reseal(&mut ahead);
            secured.pair.inject(Side::B, Pair::at(Side::B), &ahead);
            secured.serve(Side::B);
        }
        for i in 1..=5 {
            secured.pair.send(Side::A, text_message(&format!("message {i}")));
        }
        // The genuine message arrives, a duplicate. Then its copy.
        secured.run_for(Span::from_millis(25));
        let mut copy = [&last.bytes[..12], &moved(&data, count)].concat();
        network::reseal(&mut copy);
        secured.pair.inject(Side::B, Pair::at(Side::B), &copy);
        secured.serve(Side::B);
        // No acknowledgement of user data reaches the application before the end.
        let buffered = secured.pair.with(Side::A, |association, _| association.buffered());
        assert!(buffered > 0, "{count}: the client believes that something arrived");
        secured.run_for(Span::from_secs(30));
        assert_refused(&secured, "False Start");
        assert!(secured.pair.a.saw(|event| matches!(event, Event::SendFailed(_))), "{count}");
    }
}

/// Fixed fields of INIT and INIT ACK by their place in the packet: a_rwnd, both numbers of streams, initial
/// TSN.
const FIELDS: [(&str, usize); 4] =
    [("a_rwnd", 22), ("outbound streams", 25), ("inbound streams", 27), ("TSN", 31)];

/// Each number and parameter of INIT and INIT ACK is an input of the keys.
#[test]
fn a_changed_init_or_init_ack_is_no_set_up() {
    for (chunk_type, from) in [(chunk::INIT, Side::A), (chunk::INIT_ACK, Side::B)] {
        for (what, at) in FIELDS {
            let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
            secured.pair.filter = Box::new(move |flight: &mut Flight| {
                if flight.from == from && flight.has(chunk_type) {
                    flight.bytes[at] ^= 4;
                    network::reseal(&mut flight.bytes);
                }
                Fate::Pass
            });
            secured.connect();
            secured.run_for(Span::from_secs(40));
            let unprotected =
                secured.ends[0].epochs.is_empty() && !secured.pair.a.saw(|e| *e == Event::Protected);
            assert!(unprotected && texts(&secured).is_empty(), "{what} of chunk {chunk_type}");
            // With another TSN, the handshake itself does not arrive.
            if what != "TSN" {
                assert_refused(&secured, what);
            }
        }
    }
}

/// A peer with other methods is refused where protection is required.
#[test]
fn a_peer_of_an_earlier_version_is_refused() {
    let earlier = [192, 254];
    for (client, server) in [(&earlier[..], &[METHOD][..]), (&[METHOD], &earlier[..])] {
        let mut secured = Secured::over(&Config::mobile(), client, server);
        secured.run_for(Span::from_secs(5));
        let refused =
            |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { cause: Some(101), .. }));
        assert!(secured.pair.a.saw(refused), "{:?}", secured.pair.a.events);
        assert!(secured.pair.b.endpoint.is_empty());
    }
}

#[test]
fn the_methods_are_those_of_the_wire() {
    assert_eq!(METHOD, KeyManagementId::TLS.get());
    assert_eq!(METHOD_FALSE_START, KeyManagementId::TLS_FALSE_START.get());
}

/// The peer loses its state during the handshake, and begins again with another INIT: the new keys depend on
/// that one.
#[test]
fn a_restart_during_the_handshake_binds_the_new_set_up() {
    let mut secured = Secured::new();
    secured.run_for(Span::from_millis(90));
    assert!(secured.pair.b.handle.is_some() && secured.ends[0].epochs.is_empty(), "during the handshake");
    secured.pair.drop_if(|flight| flight.from == Side::A);
    secured.pair.with(Side::A, |association, now| {
        association.abort(now, &msctp_proto::AbortReason::default());
    });
    secured.run_for(Span::from_millis(100));
    secured.pair.pass_all();
    secured.pair.a.events.clear();
    for end in &mut secured.ends {
        end.manager = None;
    }
    secured.connect();
    let limit = secured.pair.now + Span::from_secs(10);
    while !secured.began_again() {
        assert!(secured.pair.step(limit), "{:?}", secured.pair.b.events);
        secured.serve(Side::A);
    }
    secured.run_for(Span::from_secs(10));
    secured.assert_works(3);
}
