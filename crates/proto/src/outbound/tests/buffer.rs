//! The send buffer, undelivered messages, and removed paths: RFC 9260 §11.1.5, §11.2.2, RFC 5061.

use super::*;
use crate::error::SendError;
use crate::message::SendFailure;

fn message(stream: u16, len: usize, context: u64) -> OutMessage {
    OutMessage {
        stream,
        ppid: 1,
        unordered: false,
        data: Bytes::from(vec![1; len]),
        context,
        ..OutMessage::default()
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
//= type=test
//# Every DATA chunk MUST carry a valid stream identifier.
#[test]
fn rejected_messages_return_the_allowed_values() {
    let mut sender = Sender::with(1, |config| config.send_buffer = 3000);
    let (out, mut paths) = (&mut sender.out, sender.paths);
    assert_eq!(out.enqueue(ms(0), message(0, 0, 0), &mut paths), Err(SendError::Empty));
    assert_eq!(
        out.enqueue(ms(0), message(10, 1, 0), &mut paths),
        Err(SendError::InvalidStream { stream: 10, streams: 10 })
    );
    assert_eq!(
        out.enqueue(ms(0), message(0, 3001, 0), &mut paths),
        Err(SendError::TooLarge { len: 3001, max: 3000 })
    );
    out.enqueue(ms(0), message(9, 2000, 0), &mut paths).unwrap();
    assert_eq!(
        out.enqueue(ms(0), message(0, 1001, 0), &mut paths),
        Err(SendError::BufferFull { len: 1001, free: 1000 })
    );
    out.enqueue(ms(0), message(0, 1000, 0), &mut paths).unwrap();
}

#[test]
fn small_messages_are_charged_for_their_overhead() {
    let mut sender = Sender::with(1, |config| config.send_buffer = 2560);
    for _ in 0..10 {
        sender.give(message(0, 1, 0)).unwrap();
    }
    assert_eq!(sender.give(message(0, 1, 0)), Err(SendError::BufferFull { len: 1, free: 0 }));
    sender.flush();
    assert!(sender.give(message(0, 1, 0)).is_err(), "sent chunks are charged too");
    sender.sack(4, &[]);
    assert!(!sender.out.take_writable());
    sender.sack(5, &[]);
    assert!(sender.out.take_writable(), "half of it is free");
    assert_eq!(sender.out.buffered(), 5, "user bytes");
    for _ in 0..5 {
        sender.give(message(0, 200, 0)).unwrap();
    }
    assert!(sender.give(message(0, 1, 0)).is_err());
}

#[test]
fn a_message_of_higher_priority_replaces_small_ones() {
    // RFC 7496 §3.2
    let mut sender = Sender::with(1, |config| config.send_buffer = 2560);
    let low = |context| OutMessage {
        reliability: crate::message::Reliability::Priority(7),
        ..message(0, 1, context)
    };
    for n in 0..10 {
        sender.give(low(n)).unwrap();
    }
    assert!(sender.give(low(10)).is_err());
    sender.give(message(0, 1, 11)).unwrap();
    let abandoned: Vec<u64> =
        sender.out.take_failures().iter().map(|failure| failure.message.context).collect();
    assert_eq!(abandoned, [9], "the latest of the lowest");
}

#[test]
fn writable_again_once_half_is_free() {
    let mut sender = Sender::with(1, |config| config.send_buffer = 4000);
    sender.enqueue(4, 1000);
    assert!(!sender.out.take_writable());
    assert!(sender.give(message(0, 1, 0)).is_err());
    sender.flush();
    sender.sack(1, &[(2, 4)]);
    assert!(!sender.out.take_writable(), "chunks stay until cumulatively acknowledged");
    sender.sack(2, &[]);
    assert!(sender.out.take_writable());
    assert!(!sender.out.take_writable(), "once");
    sender.sack(4, &[]);
    assert!(!sender.out.take_writable(), "no message was rejected");
    assert!(sender.out.is_drained());
}

#[test]
fn messages_on_streams_not_granted_fail_at_establishment() {
    let (mut out, mut paths) =
        (Outbound::new(&OutboundConfig::from(&Config::default()), Tsn::new(1)), paths(1));
    for stream in [0, 7, 3] {
        out.enqueue(ms(0), message(stream, 10, u64::from(stream)), &mut paths).unwrap();
    }
    assert_eq!(
        out.establish(1000, 4),
        [SendFailure { message: message(7, 10, 7), unsent: true, sent: 0, abandoned: false }]
    );
    assert_eq!(out.buffered(), 20);
}

#[test]
fn abandoning_everything_returns_each_message_once_in_order() {
    let mut sender = Sender::new(1);
    sender.give(message(0, 1000, 1)).unwrap();
    sender.give(message(0, 2000, 2)).unwrap();
    sender.give(message(0, 9000, 3)).unwrap();
    sender.give(message(1, 50, 4)).unwrap();
    assert_eq!(sender.flush().len(), 4, "1, both fragments of 2, and the first of 3");
    sender.sack(1, &[]);
    let failures = sender.out.give_up(&mut sender.paths);
    let seen: Vec<_> = failures.iter().map(|f| (f.message.context, f.unsent, f.message.data.len())).collect();
    assert_eq!(seen, [(2, false, 0), (3, false, 0), (4, true, 50)]);
    assert_eq!((sender.out.buffered(), sender.out.is_drained()), (0, true));
    assert_eq!((sender.path(P0).flight_size, sender.out.next_timeout(&sender.paths)), (0, None));
    sender.out.assert_consistent(&sender.paths);
}

#[test]
fn an_unfragmented_message_is_returned_whole() {
    let mut sender = Sender::new(1);
    sender.give(message(2, 700, 9)).unwrap();
    sender.flush();
    let expected = [SendFailure { message: message(2, 700, 9), unsent: false, sent: 700, abandoned: false }];
    assert_eq!(sender.out.give_up(&mut sender.paths), expected);
}

#[test]
fn chunks_in_flight_on_a_removed_path_move_to_another() {
    let mut sender = Sender::new(2).window(P0, 3).window(P1, 10);
    sender.enqueue(3, FULL);
    sender.flush();
    let gone = sender.paths.remove_remote(&IpAddr::from([192, 0, 2, 1]));
    sender.out.remove_path(&gone[0], &mut sender.paths);
    sender.out.assert_consistent(&sender.paths);
    assert_eq!(sender.out.rwnd(), 1 << 20);
    let sent = sender.flush();
    assert_eq!(
        sent.iter().map(|(path, chunks)| (*path, chunks[0].tsn)).collect::<Vec<_>>(),
        [(P1, 1), (P1, 2), (P1, 3)]
    );
    // A late acknowledgement of data sent on the old path is credited to no path.
    sender.sack(3, &[]);
    assert!(sender.out.is_drained());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.1
//= type=test
//# The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to that peer
//# endpoint is acknowledged
#[test]
fn rfc9260_8_1_an_acknowledgement_for_a_removed_path_clears_the_association_error_count() {
    let mut sender = Sender::new(2);
    sender.enqueue(1, 100);
    assert_eq!(sender.flush()[0].0, P0);
    let gone = sender.paths.remove_remote(&IpAddr::from([192, 0, 2, 1]));
    sender.out.remove_path(&gone[0], &mut sender.paths);
    sender.paths.on_timeout(P1);
    assert_eq!(sender.paths.assoc_error_count(), 1);
    // Acknowledged before its retransmission on P1.
    sender.sack(1, &[]);
    assert_eq!((sender.paths.assoc_error_count(), sender.path(P1).error_count()), (0, 1));
}

#[test]
fn the_trace_is_filled_only_when_configured() {
    let mut sender = Sender::new(1);
    sender.enqueue(1, 100);
    sender.flush();
    assert_eq!(sender.out.poll_trace(), None);
    let mut sender = Sender::with(1, |config| config.trace = true);
    sender.enqueue(1, 100);
    sender.flush();
    sender.sack(1, &[]);
    let kinds: Vec<_> = core::iter::from_fn(|| sender.out.poll_trace()).collect();
    assert!(matches!(
        kinds[..],
        [
            crate::trace::TraceKind::Data { tsn: 1, len: 100, again: false, .. },
            crate::trace::TraceKind::Window { flight_size: 116, .. },
            crate::trace::TraceKind::Rtt { .. },
            crate::trace::TraceKind::Window { flight_size: 0, .. },
        ]
    ));
}
