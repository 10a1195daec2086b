//! Buffers: autotuning of the receive buffer, and the memory that one-byte messages can occupy.

mod support;

use msctp_proto::{Config, SendError};
use msctp_units::{Rate, Span};
use support::{Pair, Side, message};

/// Measures the throughput over 100 Mbps with a round trip of 100 ms, in bit/s.
fn throughput(max_receive_buffer: Option<u32>) -> u64 {
    let config = Config {
        receive_buffer: 64 << 10,
        send_buffer: 8 << 20,
        max_burst: 0,
        max_receive_buffer,
        ..Config::default()
    };
    let mut pair = Pair::established(config);
    pair.rate = Some(Rate::from_mbps(100));
    pair.default_delay = Span::from_millis(50);
    let mut waiting = (0..u32::MAX).take(40_000).collect();
    let mut run = |pair: &mut Pair, span| {
        pair.run_until(span, |pair| {
            pair.feed(Side::A, &mut waiting, 1400);
            false
        });
        let bytes = pair.b.bytes_received() as u64;
        pair.b.received.clear();
        bytes
    };
    run(&mut pair, Span::from_secs(2));
    run(&mut pair, Span::from_secs(1)) * 8
}

#[test]
fn a_long_fat_path_is_not_limited_to_64_kib() {
    let fixed = throughput(None);
    // One window per round trip.
    assert!(fixed <= (64 << 10) * 8 * 10, "{fixed} bit/s");
    let tuned = throughput(Some(8 << 20));
    assert!(tuned >= 85_000_000, "{tuned} bit/s instead of {fixed}");
    let bounded = throughput(Some(256 << 10));
    assert!(bounded <= (256 << 10) * 8 * 10 && bounded > 3 * fixed, "{bounded} bit/s");
}

#[test]
fn one_byte_messages_cannot_occupy_much_more_than_the_buffers() {
    const BUFFER: u32 = 64 << 10;
    let config = Config { receive_buffer: BUFFER, send_buffer: BUFFER, ..Config::default() };
    let mut pair = Pair::established(config);
    pair.b.reading = false;
    let mut sent = 0;
    for _ in 0..20 {
        loop {
            match pair.with(Side::A, |association, now| association.send(now, message(0, vec![1]))) {
                Ok(()) => sent += 1,
                Err(SendError::BufferFull { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        pair.run_for(Span::from_secs(2));
    }
    // Each is charged 256 bytes; messages in flight when the window closes come on top.
    let held = sent - pair.with(Side::A, |association, _| association.buffered());
    assert!(held <= u64::from(BUFFER) / 256 + 1000, "{held} messages held at the receiver");
    pair.b.reading = true;
    pair.drain(Side::B);
    pair.run_for(Span::from_secs(60));
    assert_eq!(pair.b.received.len() as u64, sent, "the window opens again");
}
