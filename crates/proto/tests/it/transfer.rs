//! Two endpoints over a scripted network: set-up, transfer, shutdown.

use crate::support;

use msctp_proto::{AssociationState, Config, Event, Pmtu, SendError};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip, text_message};

#[test]
fn handshake_message_and_shutdown() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(500));
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
    assert_eq!(pair.b.state(), Some(AssociationState::Established));
    pair.send(Side::A, text_message("hello"));
    pair.send(Side::B, text_message("good day"));
    pair.run_for(Span::from_millis(500));
    assert_eq!(&pair.b.received[0].data[..], b"hello");
    assert_eq!(&pair.a.received[0].data[..], b"good day");
    pair.with(Side::A, |association, now| association.shutdown(now));
    pair.run_for(Span::from_millis(500));
    for host in [&pair.a, &pair.b] {
        assert_eq!(host.state(), None, "forgotten");
        assert_eq!(host.events.last(), Some(&Event::Closed));
    }
}

#[test]
fn bulk_both_ways() {
    let mut pair = Pair::established(Config::default());
    pair.transfer(Side::A, 2000, 1452, Span::from_secs(60));
    pair.transfer(Side::B, 2000, 1000, Span::from_secs(60));
}

#[test]
fn a_sleeping_reader_closes_the_window_and_reopens_it() {
    let config = Config { receive_buffer: 20_000, ..Config::default() };
    let mut pair = Pair::established(config);
    pair.b.reading = false;
    let mut waiting = (0..100).collect();
    pair.feed(Side::A, &mut waiting, 1000);
    // Zero window probes are sent and rejected for a minute; neither end abandons the association (RFC 9260
    // §6.1 A).
    pair.run_for(Span::from_secs(60));
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
    let held = pair.b.endpoint.association(pair.b.handle.unwrap()).unwrap().readable();
    assert!(held && pair.b.received.is_empty());
    pair.b.reading = true;
    pair.drain(Side::B);
    let done = pair.run_until(Span::from_secs(120), |pair| {
        pair.feed(Side::A, &mut waiting, 1000);
        pair.b.received.len() == 100
    });
    assert!(done, "{} of 100", pair.b.received.len());
    assert_eq!(pair.a.endpoint.association(pair.a.handle.unwrap()).unwrap().stats().error_count, 0);
}

#[test]
fn random_loss_both_ways_delivers_everything_in_order() {
    let mut pair = Pair::established(Config::default());
    let mut x = 12345u32;
    pair.drop_if(move |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        x >> 24 < 13
    });
    pair.transfer(Side::A, 1500, 1200, Span::from_secs(600));
    pair.transfer(Side::B, 300, 5000, Span::from_secs(600));
}

#[test]
fn several_segments_in_one_buffer_equal_single_packets() {
    let run = |max_segments| {
        // Probes are sent between batches, not within.
        let config = Config { max_segments, pmtu: Pmtu::Fixed(1500), ..Config::default() };
        let mut pair = Pair::established(config);
        pair.log = Some(Vec::new());
        pair.transfer(Side::A, 300, 1452, Span::from_secs(20));
        pair.log.take().unwrap().into_iter().map(|f| (f.sent, f.from, f.at, f.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(16));
}

#[test]
fn events_report_readable_data_and_room_to_write() {
    let config = Config { send_buffer: 10_000, ..Config::default() };
    let mut pair = Pair::established(config);
    let refused = pair.with(Side::A, |a, now| {
        for _ in 0..10 {
            a.send(now, support::message(0, vec![7; 1000])).unwrap();
        }
        a.send(now, support::message(0, vec![7; 1000]))
    });
    assert_eq!(refused, Err(SendError::BufferFull { len: 1000, free: 0 }));
    pair.run_for(Span::from_secs(1));
    assert!(pair.a.saw(|e| *e == Event::Writable));
    assert!(pair.b.saw(|e| *e == Event::Readable));
    pair.with(Side::A, |a, now| {
        assert_eq!(a.send(now, support::message(0, vec![])), Err(SendError::Empty));
        let large = support::message(0, vec![0; 10_001]);
        assert_eq!(a.send(now, large), Err(SendError::TooLarge { len: 10_001, max: 10_000 }));
    });
}

#[test]
fn two_runs_are_identical() {
    let run = || {
        let mut pair = Pair::established(Config { trace: true, ..Config::default() });
        pair.log = Some(Vec::new());
        let mut n = 0u32;
        pair.drop_if(move |_| {
            n += 1;
            n.is_multiple_of(17)
        });
        pair.transfer(Side::A, 200, 900, Span::from_secs(100));
        let log: Vec<_> =
            pair.log.take().unwrap().into_iter().map(|f| (f.sent, f.from, f.at, f.bytes)).collect();
        (log, pair.a.trace, pair.b.trace)
    };
    assert_eq!(run(), run());
}
