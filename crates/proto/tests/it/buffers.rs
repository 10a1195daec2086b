//! Buffers: the throughput that they allow on a long path, and the memory that one-byte messages can occupy.

use crate::support;

use msctp_proto::{Config, SendError};
use msctp_units::{Rate, Span};
use support::{Pair, Side, message};

/// Measures the throughput over 100 Mbps with a round trip of 100 ms, in bit/s.
fn throughput(config: Config) -> u64 {
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
    let with = |receive_buffer| {
        throughput(Config { receive_buffer, send_buffer: 8 << 20, max_burst: 0, ..Config::default() })
    };
    // One window per round trip.
    let small = with(64 << 10);
    assert!(small <= (64 << 10) * 8 * 10, "{small} bit/s");
    let default = with(Config::default().receive_buffer);
    assert!((75_000_000..=(1 << 20) * 8 * 10).contains(&default), "{default} bit/s");
    let mobile = throughput(Config::mobile());
    assert!(mobile >= 85_000_000, "{mobile} bit/s");
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
