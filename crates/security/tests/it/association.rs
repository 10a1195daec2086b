//! Key managers that protect associations of the core, by its calls for key management outside of it.

use crate::secured;

use msctp_proto::{Event, OutMessage, SendError};
use msctp_security::PPID;
use msctp_units::{Rate, Span};
use msctp_wire::{Data, DataFlags, EncodeChunk, ForwardTsn, List, Ppid, Ssn, StreamId, Tsn};
use secured::network::{self, Fate, Flight, Pair, Side, chunk, message, text_message};
use secured::{DTLS, Secured};

#[test]
fn tls_protects_an_association_and_rekeys_it() {
    let mut secured = Secured::new();
    // The ClientHello follows the COOKIE ACK: four round trips of 40 ms.
    assert_eq!(secured.time_to_protection(), Span::from_millis(160));
    secured.assert_works(3);
    for (epoch, side) in [(4, Side::A), (5, Side::B), (6, Side::B), (7, Side::A)] {
        secured.rekey(side);
        secured.assert_works(epoch);
    }
    // The set-up is in clear, and so is key management until the keys exist.
    let log = secured.pair.log.take().unwrap();
    let first = log.iter().position(|flight| flight.chunks() == [DTLS]).expect("sealed packets");
    let late = log[first..].iter().filter(|flight| flight.from == Side::B && flight.chunks() != [DTLS]);
    assert_eq!(late.count(), 0, "the server protects first");
    let text: Vec<u8> = log.iter().flat_map(|flight| flight.bytes.clone()).collect();
    assert!(!text.windows(6).any(|window| window == b"epoch "));
}

/// The client begins when the INIT ACK arrives. The COOKIE ECHO then carries its ClientHello (RFC 9260 §5.1).
#[test]
fn a_client_hello_behind_the_cookie_echo_saves_a_round_trip() {
    let mut secured = Secured::new();
    secured.hello_behind_cookie();
    let log = secured.pair.log.as_ref().unwrap();
    assert_eq!(log.last().unwrap().chunks(), [chunk::COOKIE_ECHO, chunk::DATA]);
    assert_eq!(secured.time_to_protection(), Span::from_millis(120));
    secured.assert_works(3);
}

#[test]
fn keys_are_agreed_on_over_a_lossy_network() {
    for seed in 0..20u32 {
        let mut secured = Secured::new();
        let mut state = seed;
        secured.pair.filter = Box::new(move |_: &mut Flight| {
            // A linear congruential generator: a fifth is lost, a fifth is late.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 16 {
                draw if draw % 5 == 0 => Fate::Drop,
                draw if draw % 5 == 1 => Fate::Late(Span::from_millis(30)),
                _ => Fate::Pass,
            }
        });
        // The core may need many retransmissions to set up.
        secured.run_for(Span::from_secs(50));
        secured.rekey(Side::A);
        secured.run_for(Span::from_secs(50));
        secured.pair.pass_all();
        secured.run_for(Span::from_secs(70));
        secured.assert_works(4);
    }
}

/// The server retransmits its flight protected if the client's SACK for it is lost.
#[test]
fn a_lost_sack_in_clear_delays_nothing() {
    let mut secured = Secured::new();
    let mut lost = 0;
    secured.pair.filter = Box::new(move |flight| {
        let hit = flight.from == Side::A && flight.has(chunk::SACK) && lost < 2;
        lost += u32::from(hit);
        if hit { Fate::Drop } else { Fate::Pass }
    });
    secured.run_for(Span::from_secs(10));
    secured.assert_works(3);
}

/// Data that an observer injects in clear before the keys exist is not delivered afterwards.
#[test]
fn data_injected_in_clear_is_not_delivered_behind_protection() {
    for ahead in [0, 1, 2, 5] {
        let mut secured = Secured::new();
        while !secured.pair.b.saw(|event| matches!(event, Event::Connected { .. })) {
            secured.run_for(Span::from_millis(1));
        }
        let tag = secured.pair.tag_of(Side::B);
        let init = secured.pair.log.as_ref().unwrap()[0].bytes.clone();
        let initial_tsn = u32::from_be_bytes(init[28..32].try_into().unwrap());
        let forged = Data {
            tsn: Tsn::new(initial_tsn.wrapping_add(2 + ahead)),
            stream: StreamId::new(1),
            ssn: Ssn::new(0),
            ppid: Ppid::new(0),
            flags: DataFlags::UNFRAGMENTED,
            payload: b"forged",
        };
        let packet = network::packet(Side::B, tag, &[&forged]);
        secured.pair.inject(Side::B, Pair::at(Side::B), &packet);
        secured.run_for(Span::from_secs(5));
        secured.assert_works(3);
        secured.pair.transfer(Side::A, 50, 100, Span::from_secs(20));
        let received = &secured.pair.b.received;
        assert!(!received.iter().any(|message| message.data == b"forged"[..]), "{ahead}");
    }
}

/// Packets that an observer injects during the key agreement do not change protected messages. They are
/// discarded, or the association ends.
#[test]
fn no_part_of_a_protected_message_comes_from_a_packet_in_clear() {
    // TSNs and numbers on stream 0 behind the peer's last message in clear.
    for (side, ahead, kind) in [Side::B, Side::A]
        .into_iter()
        .flat_map(|side| (0..5).flat_map(move |ahead| (0..4).map(move |kind| (side, ahead, kind))))
    {
        let case = format!("to {side:?}, {ahead} ahead, kind {kind}");
        let mut secured = Secured::new();
        while !secured.pair.b.saw(|event| matches!(event, Event::Connected { .. })) {
            secured.run_for(Span::from_millis(1));
        }
        let tag = secured.pair.tag_of(side);
        // INIT or INIT ACK of the sender; a client has sent a ClientHello, and both send one flight more.
        let set_up = secured.pair.log.as_ref().unwrap()[usize::from(side == Side::A)].bytes.clone();
        let initial_tsn = u32::from_be_bytes(set_up[28..32].try_into().unwrap());
        let in_clear = if side == Side::B { 2 } else { 1 };
        let (tsn, ssn) = (initial_tsn.wrapping_add(in_clear + ahead), in_clear as u16 + ahead as u16);
        let data = |ssn: u16, begin, end| Data {
            tsn: Tsn::new(tsn),
            stream: StreamId::new(0),
            ssn: Ssn::new(ssn),
            ppid: Ppid::new(PPID),
            flags: DataFlags { begin, end, ..DataFlags::UNFRAGMENTED },
            // A control message of an unknown type, which is ignored.
            payload: &[0x83, 0x7f, 1, 2, 3],
        };
        let skip = ForwardTsn { new_cum_tsn: Tsn::new(tsn), skipped: List::from(&[][..]) };
        // Fragments of a message that began up to two chunks before; a whole message; a skipped one.
        let forged: Vec<Box<dyn EncodeChunk>> = match kind {
            0 => vec![Box::new(data(ssn.saturating_sub(1), false, true))],
            1 => vec![Box::new(data(ssn.saturating_sub(1), false, false))],
            2 => vec![Box::new(data(ssn, true, true))],
            _ => vec![Box::new(skip)],
        };
        let forged: Vec<&dyn EncodeChunk> = forged.iter().map(|chunk| &**chunk).collect();
        secured.pair.inject(side, Pair::at(side), &network::packet(side, tag, &forged));
        secured.run_for(Span::from_secs(5));
        let lost = [Side::A, Side::B]
            .map(|side| secured.pair.host(side).saw(|event| matches!(event, Event::Lost(_))));
        if lost != [false; 2] || secured.ends.iter().any(|end| end.error.is_some() || end.forged) {
            continue;
        }
        let genuine: Vec<Vec<u8>> = (0..4u8).map(|i| vec![i; 3000]).collect();
        for message in &genuine {
            secured.pair.send(side.other(), OutMessage { data: message.clone().into(), ..text_message("") });
        }
        secured.run_for(Span::from_secs(20));
        let received: Vec<Vec<u8>> =
            secured.pair.host(side).received.iter().map(|message| message.data.to_vec()).collect();
        assert_eq!(received, genuine, "{case}");
    }
}

#[test]
fn user_data_is_refused_until_it_can_be_sealed() {
    let mut secured = Secured::new();
    while secured.ends[0].epochs.is_empty() {
        let handle = secured.pair.a.handle.is_some();
        if handle {
            let sent =
                secured.pair.with(Side::A, |association, now| association.send(now, text_message("early")));
            assert_eq!(sent, Err(SendError::NoKeys));
        }
        secured.run_for(Span::from_millis(1));
    }
    secured.assert_works(3);
}

/// The application's messages and those of key management do not wait for each other.
#[test]
fn key_messages_pass_unread_messages_and_are_the_key_managers_alone() {
    let mut secured = Secured::new();
    secured.time_to_protection();
    // What the application does not read stays in the core.
    secured.pair.b.reading = false;
    secured.pair.send(Side::A, text_message("unread"));
    secured.run_for(Span::from_secs(1));
    secured.rekey(Side::A);
    assert_eq!(secured.ends.each_ref().map(|end| end.epochs.last().copied()), [Some(4); 2]);
    let sent = secured.pair.with(Side::A, |association, now| {
        association.send(now, OutMessage { ppid: PPID, ..text_message("forged") })
    });
    assert_eq!(sent, Err(SendError::KeyManagement));
    // On another stream the identifier is the application's.
    let elsewhere = OutMessage { ppid: PPID, stream: 1, ..text_message("elsewhere") };
    secured.pair.send(Side::A, elsewhere);
    secured.run_for(Span::from_secs(1));
    let mut read = Vec::new();
    secured.pair.with(Side::B, |association, _| {
        while let Ok(Some(message)) = association.recv() {
            read.push(message.data);
        }
    });
    assert_eq!(read, [&b"unread"[..], b"elsewhere"]);
}

/// The send buffers of both ends hold user data of half a minute on a slow link.
#[test]
fn keys_are_replaced_before_the_user_data_in_the_send_buffer() {
    let mut secured = Secured::new();
    secured.run_for(Span::from_secs(3));
    secured.pair.rate = Some(Rate::from_kbps(128));
    for side in [Side::A, Side::B] {
        let buffered = secured.pair.with(side, |one, now| {
            while one.send(now, message(0, vec![7; 10_000])).is_ok() {}
            one.unsent()
        });
        assert!(buffered > 480_000, "{buffered}");
    }
    secured.run_for(Span::from_secs(2));
    secured.rekey(Side::A);
    let begun = secured.pair.now;
    while secured.ends.iter().any(|end| end.epochs.last() != Some(&4)) {
        secured.run_for(Span::from_millis(100));
        assert!(secured.pair.now.since(begun) < Span::from_secs(5), "{:?}", secured.ends[0].epochs);
    }
    let unsent = secured.pair.with(Side::A, |one, _| one.unsent());
    assert!(unsent > 300_000, "{unsent}");
}
