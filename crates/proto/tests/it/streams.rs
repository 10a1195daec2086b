//! Streams and messages between two ends: partial reliability, interleaving, messages in parts.

use crate::support;

use msctp_proto::{Config, Event, OutMessage, Reliability};
use msctp_units::Span;
use msctp_wire::{Checksum, Chunk, ForwardTsn, List, Packet};
use support::states::initial_tsn_of;
use support::{Flight, Pair, Side, a_ip, b_ip, chunk, packet, text_message};

/// Interleaving and partial reliability, as negotiated.
fn options(pair: &mut Pair, side: Side) -> (bool, bool) {
    let agreed = pair.with(side, |end, _| end.agreed()).expect("the association is up");
    (agreed.interleaving, agreed.partial_reliability)
}

fn config(interleaving: bool) -> Config {
    let mut config = Config::default();
    config.streams.interleaving = interleaving;
    config
}

fn message(stream: u16, id: u64, len: usize, reliability: Reliability) -> OutMessage {
    let data = vec![id as u8; len].into();
    OutMessage { stream, ppid: id as u32, data, context: id, reliability, ..OutMessage::default() }
}

/// Loses every third packet with data for a while; half of the messages may be abandoned.
fn lossy(interleaving: bool) {
    let mut pair = Pair::established(config(interleaving));
    assert_eq!(options(&mut pair, Side::A), (interleaving, true));
    let mut count = 0;
    let data = if interleaving { 64 } else { 0 };
    pair.drop_if(move |flight| {
        let hit = flight.from == Side::A && flight.has(data);
        count += u32::from(hit);
        hit && count.is_multiple_of(3)
    });
    for id in 0..100 {
        let reliability = if id % 2 == 0 { Reliability::Full } else { Reliability::Retransmissions(0) };
        pair.send(Side::A, message((id % 3) as u16, id, 3000, reliability));
        pair.run_for(Span::from_millis(50));
    }
    pair.pass_all();
    pair.run_for(Span::from_secs(120));
    let failed: Vec<u64> = pair
        .a
        .events
        .iter()
        .filter_map(|event| match event {
            Event::SendFailed(failure) => Some(failure.message.context),
            _ => None,
        })
        .collect();
    assert!(failed.len() > 5 && failed.iter().all(|id| id % 2 == 1), "abandoned: {failed:?}");
    let read: Vec<u64> = pair.b.received.iter().map(|message| u64::from(message.ppid)).collect();
    for id in 0..100 {
        let times = read.iter().filter(|&&other| other == id).count();
        assert!(times == 1 || times == 0 && failed.contains(&id), "message {id} came {times} times");
    }
    for stream in 0..3 {
        let own: Vec<u64> = read.iter().copied().filter(|id| id % 3 == stream).collect();
        assert!(own.is_sorted(), "stream {stream}: {own:?}");
    }
    assert_eq!(pair.with(Side::A, |a, _| a.buffered()), 0);
    let counted = pair.with(Side::A, |a, _| a.stats().abandoned.retransmissions);
    assert_eq!(counted.sent + counted.unsent, failed.len() as u64);
}

#[test]
fn rfc3758_abandoned_messages_block_nothing() {
    lossy(false);
}

#[test]
fn rfc8260_2_3_1_abandoned_messages_block_nothing_with_interleaving() {
    lossy(true);
}

#[test]
fn rfc8260_2_2_1_interleaving_needs_both_ends() {
    let mut pair = Pair::established_with(config(true), config(false), vec![a_ip(0)], vec![b_ip(0)]);
    assert_eq!(options(&mut pair, Side::A), (false, true));
    pair.send(Side::A, message(0, 1, 10, Reliability::Full));
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.received.len(), 1);
}

#[test]
fn rfc9260_11_1_7_a_message_larger_than_any_buffer_arrives_in_parts() {
    for interleaving in [false, true] {
        let small = Config { receive_buffer: 20_000, ..config(interleaving) };
        let mut pair = Pair::established_with(config(interleaving), small, vec![a_ip(0)], vec![b_ip(0)]);
        pair.send(Side::A, message(1, 7, 300_000, Reliability::Full));
        pair.run_for(Span::from_secs(60));
        let parts = &pair.b.received;
        assert!(parts.len() > 1 && parts[0].begin && parts[parts.len() - 1].end);
        assert_eq!(parts.iter().filter(|part| part.begin || part.end).count(), 2);
        assert_eq!(parts.iter().map(|part| part.data.len()).sum::<usize>(), 300_000);
    }
}

const FORWARD_TSN: u8 = 192;

// RFC 3758 §3.3.1, §3.3.2: only an end that did not announce support must not process a FORWARD TSN.
#[test]
fn an_end_that_announced_support_accepts_a_forward_tsn_whatever_the_peer_announced() {
    let mut without = config(false);
    without.streams.partial_reliability = false;
    let mut pair = Pair::new(config(false), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(without, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    // The other end sent no such TSN, and would abort the association for a SACK of it.
    pair.drop_if(|_| true);
    for (to, answer) in [(Side::B, chunk::SACK), (Side::A, chunk::ERROR)] {
        assert!(!options(&mut pair, to).1, "not agreed: neither sends one");
        let new_cum_tsn = initial_tsn_of(&pair, to.other());
        let forward = ForwardTsn { new_cum_tsn, skipped: List::from(&[]) };
        let (tag, before) = (pair.tag_of(to), pair.log_len());
        pair.inject(to, Pair::at(to), &packet(to, tag, &[&forward]));
        pair.run_for(Span::from_millis(300));
        let sent = pair.sent_since(to, before);
        assert_eq!(sent.iter().map(Flight::chunks).collect::<Vec<_>>(), [[answer]]);
        if to == Side::B {
            let packet = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
            let Some(Ok(Chunk::Sack(sack))) = packet.chunks().next() else { panic!("{sent:?}") };
            assert_eq!(sack.cum_tsn_ack, new_cum_tsn, "the TSN is skipped");
        }
    }
}

// RFC 9260 §9.2: an abandoned TSN is outstanding until the peer acknowledges it (RFC 3758 §3.5).
#[test]
fn shutdown_waits_until_a_forward_tsn_is_acknowledged() {
    let mut pair = Pair::established(config(false));
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.from == Side::A && (flight.has(chunk::DATA) || flight.has(FORWARD_TSN)));
    let reliability = Reliability::Lifetime(Span::from_millis(100));
    pair.send(Side::A, OutMessage { reliability, ..text_message("late") });
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(10));
    assert!(pair.a.saw(|event| matches!(event, Event::SendFailed(_))));
    let sent = pair.sent_since(Side::A, 0);
    assert!(sent.iter().any(|flight| flight.has(FORWARD_TSN)), "the peer is asked to skip it");
    assert!(!sent.iter().any(|flight| flight.has(chunk::SHUTDOWN)), "and has not answered");
    pair.pass_all();
    pair.run_for(Span::from_secs(30));
    assert!(pair.a.saw(|event| *event == Event::Closed) && pair.b.saw(|event| *event == Event::Closed));
    assert!(pair.b.received.is_empty());
}
