//! Memory that small messages occupy at an end, counted by the allocator. In its own process with a single
//! test, so that nothing else allocates.

#[path = "it/support/mod.rs"]
mod support;

use std::alloc::System;

use msctp_proto::{Config, Event, LossReason, OutMessage, SendError, StreamsConfig};
use msctp_units::Span;
use msctp_wire::{Fragment, IData, Mid, Ppid, StreamId, Tsn};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{Fate, Pair, Side, a_ip, b_ip, chunk, message, packet};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BUFFER: u32 = 4 << 20;

/// Returns the bytes allocated since the region began.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// Checks that the memory in use is proportionate to the buffer, with this many messages held.
fn check(what: &str, count: usize, taken: usize) {
    println!("{what}: {count} in a buffer of {BUFFER} bytes take {taken}");
    assert!(count >= BUFFER as usize / 256 - 1, "{what}: {count}");
    assert!(taken <= 4 * BUFFER as usize, "{what}: {taken} bytes");
}

fn config(interleaving: bool) -> Config {
    Config {
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        streams: StreamsConfig { interleaving, ..StreamsConfig::default() },
        ..Config::default()
    }
}

/// Sends messages until the buffer is full; returns the number accepted.
fn fill(pair: &mut Pair) -> usize {
    pair.with(Side::A, |a, now| {
        (0..)
            .find(|_| match a.send(now, OutMessage { data: vec![1].into(), ..message(0, Vec::new()) }) {
                Ok(()) => false,
                Err(SendError::BufferFull { .. }) => true,
                Err(error) => panic!("{error}"),
            })
            .expect("it is full in the end")
    })
}

/// Injects I-DATA chunks that each start another message, until none is accepted or the association ends.
/// Checks the memory meanwhile.
fn start_messages(unordered: bool) {
    let mut pair = Pair::new(config(true), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config(true), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    let init = pair.sent_since(Side::A, 0)[0].bytes.clone();
    let tsn = u32::from_be_bytes(init[28..32].try_into().expect("four bytes"));
    let tag = pair.tag_of(Side::B);
    pair.log = None;
    pair.filter = Box::new(|_| Fate::Drop);
    let region = Region::new(ALLOCATOR);
    let (mut taken, mut most) = (0, 0);
    while pair.b.state().is_some() {
        let n = taken as u32;
        let begun = IData {
            tsn: Tsn::new(tsn.wrapping_add(n)),
            stream: StreamId::new((n % 10) as u16),
            mid: Mid::new(n / 10),
            fragment: Fragment::First(Ppid::new(0)),
            unordered,
            end: false,
            immediate: false,
            payload: b"x",
        };
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&begun]));
        taken += 1;
        if taken % 1024 == 0 {
            most = held(&region).max(most);
        }
        assert!(taken < 4 * BUFFER as usize / 256, "no end");
    }
    assert!(pair.b.saw(|event| matches!(event, Event::Lost(LossReason::ProtocolViolation { .. }))));
    check("begun and never finished", taken, most);
}

#[test]
fn one_byte_messages_take_about_as_much_memory_as_the_buffer_has_bytes() {
    let mut pair = Pair::established(config(false));
    pair.filter = Box::new(|_| Fate::Drop);
    let region = Region::new(ALLOCATOR);
    let accepted = fill(&mut pair);
    check("waiting to be sent", accepted, held(&region));
    // The messages are sent, and queue at the receiver: first behind a gap, then for the reader.
    let mut first = true;
    pair.filter = Box::new(move |flight| {
        let lost = flight.from == Side::A && flight.has(chunk::DATA) && core::mem::take(&mut first);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    pair.b.reading = false;
    pair.run_for(Span::from_secs(120));
    assert!(pair.a.saw(|event| *event == Event::Writable), "there is room again");
    let mut sent = accepted;
    for _ in 0..2 {
        sent += fill(&mut pair);
        pair.run_for(Span::from_secs(60));
    }
    // Both ends have a full buffer.
    let waiting = pair.with(Side::A, |a, _| a.buffered()) as usize;
    check("sent and not read", sent - waiting, held(&region) / 2);
    // The window opens again, and queued data is delivered.
    pair.b.reading = true;
    pair.drain(Side::B);
    assert!(pair.run_until(Span::from_secs(600), |pair| pair.with(Side::A, |a, _| a.buffered() == 0)));
    assert_eq!(pair.b.received.len(), sent);
    drop(pair);
    start_messages(false);
    start_messages(true);
}
