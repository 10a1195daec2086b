//! Streams that end one by one (RFC 6525, as RFC 8831 §6.7 uses it): the other end reads the end of file, the
//! association goes on.

use crate::common;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use common::{bind, run, server, soon};
use msctp::{
    Association, Config, Endpoint, Event, FinishError, Peer, ReconfigOutcome, Reconfiguration, Security,
    Span, Stream, StreamError, StreamEvent,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const PORT: u16 = 5001;

fn endpoint() -> Endpoint {
    Endpoint::bind(&common::options()).unwrap()
}

struct Pair {
    _ends: (Endpoint, Endpoint),
    a: Association,
    b: Association,
}

async fn pair(here: Config, there: Config) -> Pair {
    let (server, client) = (endpoint(), endpoint());
    server.listen(PORT, Security::insecure(), there).unwrap();
    let at = server.local_addresses()[0];
    let a = client.connect(Peer { port: PORT, ..Peer::new(at) }, Security::insecure(), here).await.unwrap();
    let b = server.accept(PORT).await.unwrap();
    Pair { _ends: (server, client), a, b }
}

async fn read_all(stream: &mut Stream) -> Vec<u8> {
    let mut got = Vec::new();
    soon(stream.read_to_end(&mut got)).await.unwrap();
    got
}

/// Takes a stream whose last use ends soon.
async fn free(association: &Association, number: u16) -> Stream {
    let taken = async {
        loop {
            match association.stream(number) {
                Ok(stream) => break stream,
                Err(error) => assert_eq!(error, StreamError::Taken(number)),
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(taken).await
}

#[tokio::test]
async fn each_direction_ends_by_itself_and_the_number_is_used_again() {
    let Pair { a, b, .. } = pair(Config::default(), Config::default()).await;
    for round in 0..5_u8 {
        let (mut ours, mut theirs) = (free(&a, 4).await, free(&b, 4).await);
        ours.write_all(&[round; 100_000]).await.unwrap();
        let got = soon(async { tokio::join!(ours.finish(), read_all(&mut theirs)) }).await;
        assert!(got.0 == Ok(()) && got.1 == [round; 100_000]);
        let refused = ours.write_all(b"late").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(ours.finish().await, Ok(()), "it can be asked again");
        // The other direction goes on, and ends when it is ended.
        theirs.write_all(&[round; 10]).await.unwrap();
        let mut ten = [9; 10];
        soon(ours.read_exact(&mut ten)).await.unwrap();
        assert_eq!(ten, [round; 10]);
        assert!(timeout(Duration::from_millis(20), ours.read_u8()).await.is_err(), "not the end yet");
        soon(theirs.shutdown()).await.unwrap();
        for _ in 0..2 {
            assert_eq!(soon(ours.read(&mut ten)).await.unwrap(), 0, "and it stays the end");
        }
    }
    // Who reads messages is told by an event.
    a.send_bytes(1, "the association is as it was").await.unwrap();
    assert_eq!(soon(b.recv()).await.unwrap().unwrap().stream, 1);
    soon(async { while b.event().await != Some(Event::Streams(StreamEvent::IncomingReset(vec![4]))) {} })
        .await;
}

#[tokio::test]
async fn both_ends_at_once_and_many_streams_at_once() {
    const STREAMS: u16 = 500;
    let config = Config { outbound_streams: STREAMS, ..Config::default() };
    let Pair { a, b, .. } = pair(config.clone(), config).await;
    let send = |association: Association, letter: u8| async move {
        let mut streams: Vec<_> = (0..STREAMS).map(|n| association.stream(n).unwrap()).collect();
        for stream in &mut streams {
            stream.write_all(&[letter; 100]).await.unwrap();
        }
        let tasks: Vec<_> = streams
            .into_iter()
            .map(|mut stream| {
                tokio::spawn(async move {
                    let mut got = Vec::new();
                    stream.finish().await.unwrap();
                    stream.read_to_end(&mut got).await.unwrap();
                    got
                })
            })
            .collect();
        for task in tasks {
            let got = task.await.unwrap();
            assert_eq!((got.len(), got.contains(&letter)), (100, false), "what the other end wrote");
        }
    };
    soon(async { tokio::join!(send(a.clone(), b'a'), send(b.clone(), b'b')) }).await;
    soon(a.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_peer_that_cannot_be_told_is_a_clear_error_after_everything_was_delivered() {
    let mut without = Config::default();
    without.streams.reconfiguration = Reconfiguration::Off;
    let Pair { a, b, .. } = pair(Config::default(), without).await;
    let mut stream = a.stream(2).unwrap();
    stream.write_all(&[1; 300_000]).await.unwrap();
    let reader = tokio::spawn(async move {
        let (mut got, mut theirs) = (vec![0; 300_000], b.stream(2).unwrap());
        theirs.read_exact(&mut got).await.unwrap();
        (theirs, b)
    });
    assert_eq!(soon(stream.finish()).await, Err(FinishError::NotAgreedOn));
    assert_eq!(a.buffered(), 0, "delivered");
    let error = stream.shutdown().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("RFC 6525"), "{error}");
    let (mut theirs, _b) = soon(reader).await.unwrap();

    // The peer does not know where one use of the number ends: there is no other.
    drop(stream);
    assert_eq!(a.stream(2).unwrap_err(), StreamError::Taken(2));
    // The end of the association ends it there.
    let ended = tokio::spawn(async move { a.shutdown().await });
    assert_eq!(read_all(&mut theirs).await, b"");
    soon(ended).await.unwrap().unwrap();

    let mut unwilling = Config::default();
    unwilling.streams.reconfiguration = Reconfiguration::Own;
    let Pair { a, b: _b, .. } = pair(Config::default(), unwilling).await;
    let denied = soon(a.stream(0).unwrap().finish()).await;
    assert_eq!(denied, Err(FinishError::Denied(ReconfigOutcome::Denied)));
    let none = a.stream(60_000).unwrap_err();
    assert_eq!(none, StreamError::Unknown { stream: 60_000, outbound: 10, inbound: 10 });
}

#[tokio::test]
async fn an_end_whose_wait_was_given_up_is_told_all_the_same() {
    let config = Config { send_buffer: 1 << 20, receive_buffer: 64 << 10, ..Config::default() };
    let Pair { a, b, .. } = pair(config.clone(), config).await;
    let mut stream = a.stream(3).unwrap();
    stream.write_all(&[5; 500_000]).await.unwrap();
    // More than the peer takes unread: it cannot be over yet.
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(20), stream.finish()).await.is_err());
    }
    drop(stream);
    assert_eq!(a.stream(3).unwrap_err(), StreamError::Taken(3), "the end is not told yet");
    assert!(read_all(&mut b.stream(3).unwrap()).await == [5; 500_000]);
    let mut again = free(&a, 3).await;
    again.write_all(b"anew").await.unwrap();
    soon(again.finish()).await.unwrap();
    assert_eq!(read_all(&mut free(&b, 3).await).await, b"anew");

    // The end of the association is the end of its streams, asked for before or not.
    let mut stream = a.stream(5).unwrap();
    stream.write_all(&[6; 300_000]).await.unwrap();
    let reader = tokio::spawn(async move {
        let len = read_all(&mut b.stream(5).unwrap()).await.len();
        (len, b.closed().await)
    });
    let (finished, ended) = soon(async { tokio::join!(stream.finish(), a.shutdown()) }).await;
    assert_eq!((finished, ended), (Ok(()), Ok(())));
    assert_eq!(soon(reader).await.unwrap(), (300_000, Ok(())));
}

/// Returns whether the packet of this number is lost. The share is a percentage, and every run loses the same
/// packets.
fn is_lost(count: u32, percent: u32) -> bool {
    count.wrapping_mul(2_654_435_761).rotate_left(9).wrapping_mul(2_246_822_519) >> 16 & 0x3ff
        < percent * 1024 / 100
}

/// Forwards packets and drops some of them, in each direction.
async fn lossy(server: SocketAddr, percent: u32) -> SocketAddr {
    let inner = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let outer = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let at = inner.local_addr().unwrap();
    let client = Arc::new(std::sync::Mutex::new(None));
    let (known, from_client, to_server) = (client.clone(), inner.clone(), outer.clone());
    tokio::spawn(async move {
        let (mut buffer, mut count) = (vec![0; 65_536], 0);
        while let Ok((len, from)) = from_client.recv_from(&mut buffer).await {
            *known.lock().unwrap() = Some(from);
            count += 1;
            if !is_lost(count, percent) {
                let _ = to_server.send_to(&buffer[..len], server).await;
            }
        }
    });
    tokio::spawn(async move {
        let (mut buffer, mut count) = (vec![0; 65_536], 0);
        while let Ok((len, _)) = outer.recv_from(&mut buffer).await {
            let to = *client.lock().unwrap();
            count += 1;
            if let (true, Some(to)) = (!is_lost(count + 7, percent), to) {
                let _ = inner.send_to(&buffer[..len], to).await;
            }
        }
    });
    at
}

#[tokio::test]
async fn ends_survive_losses() {
    for percent in [5, 15, 25] {
        let config = Config {
            rto_initial: Span::from_millis(20),
            rto_min: Span::from_millis(20),
            rto_max: Span::from_millis(100),
            sack_delay: Span::from_millis(5),
            assoc_max_retrans: 100,
            ..Config::default()
        };
        let (server, client) = (endpoint(), endpoint());
        server.listen(PORT, Security::insecure(), config.clone()).unwrap();
        let at = lossy(server.local_addresses()[0], percent).await;
        let a = soon(client.connect(Peer { port: PORT, ..Peer::new(at) }, Security::insecure(), config))
            .await
            .unwrap();
        let b = server.accept(PORT).await.unwrap();
        for round in 0..3_u8 {
            let (mut ours, mut theirs) = (free(&a, 7).await, free(&b, 7).await);
            ours.write_all(&[round; 5_000]).await.unwrap();
            theirs.write_all(&[round + 100; 3_000]).await.unwrap();
            let (mut here, mut there) = (Vec::new(), Vec::new());
            let (sent, replied) = soon(async { tokio::join!(ours.finish(), theirs.finish()) }).await;
            assert_eq!((sent, replied), (Ok(()), Ok(())), "{percent} % lost");
            soon(ours.read_to_end(&mut here)).await.unwrap();
            soon(theirs.read_to_end(&mut there)).await.unwrap();
            assert!(here == [round + 100; 3_000] && there == [round; 5_000]);
        }
    }
}

#[tokio::test]
async fn the_halves_of_a_stream_are_used_by_two_tasks_and_end_by_themselves() {
    let Pair { a, b, .. } = pair(Config::default(), Config::default()).await;
    let (mut send, mut recv) = a.open_stream().await.unwrap().into_split();
    let number = send.number();
    assert_eq!(recv.number(), number);
    let writer = tokio::spawn(async move {
        send.write_all(&[1; 1_000_000]).await.unwrap();
        send.finish().await.unwrap();
    });
    // The other end echoes with both directions at once.
    let echo = tokio::spawn(async move {
        let mut stream = b.accept_stream().await.unwrap().unwrap();
        let (send, recv) = stream.split();
        let copied = tokio::io::copy(recv, send).await.unwrap();
        send.shutdown().await.unwrap();
        (copied, b)
    });
    let mut got = Vec::new();
    soon(recv.read_to_end(&mut got)).await.unwrap();
    soon(writer).await.unwrap();
    assert_eq!((got.len(), got.contains(&0)), (1_000_000, false));
    assert_eq!(soon(echo).await.unwrap().0, 1_000_000);
    // The number is taken until both halves are dropped.
    assert_eq!(a.stream(number).unwrap_err(), StreamError::Taken(number));
    drop(recv);
    free(&a, number).await;
}

/// Writes until the peer has stopped reading.
async fn write_until_stopped(stream: &mut Stream) {
    let error = soon(async {
        loop {
            if let Err(error) = stream.write_all(&[7; 10_000]).await {
                break error;
            }
        }
    });
    assert_eq!(error.await.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(soon(stream.finish()).await, Err(FinishError::Stopped(None)));
}

#[tokio::test]
async fn what_comes_for_a_dropped_receiving_half_is_discarded_and_stops_nobody() {
    let Pair { a, b, .. } = pair(Config::default(), Config::default()).await;
    let (mut send, recv) = a.stream(0).unwrap().into_split();
    drop(recv);
    let mut noise = b.stream(0).unwrap();
    write_until_stopped(&mut noise).await;
    b.send_bytes(1, "behind it").await.unwrap();
    let message = soon(a.recv()).await.unwrap().unwrap();
    assert_eq!((message.stream, &message.data[..]), (1, &b"behind it"[..]));
    send.write_all(b"still there").await.unwrap();
    let mut got = [0; 11];
    soon(noise.read_exact(&mut got)).await.unwrap();
    assert_eq!(&got, b"still there");
    drop((send, noise));
    let mut anew = free(&b, 0).await;
    anew.write_all(b"anew").await.unwrap();
    assert_eq!(soon(a.recv()).await.unwrap().unwrap().data, "anew");
}

/// Sends `messages` of 1000 bytes on stream 1, then a byte on stream 0. All of it is acknowledged.
async fn send_behind(a: &Association, messages: usize) {
    for _ in 0..messages {
        a.send_bytes(1, vec![7; 1000]).await.unwrap();
    }
    a.send_bytes(0, "x").await.unwrap();
    soon(a.flush()).await.unwrap();
}

#[tokio::test]
async fn a_message_behind_unread_ones_of_another_stream_is_read_before_the_end_of_file() {
    for messages in [50, 100, 200, 500] {
        let Pair { a, b, .. } = pair(Config::default(), Config::default()).await;
        let (mut other, mut stream) = (b.stream(1).unwrap(), b.stream(0).unwrap());
        send_behind(&a, messages).await;
        soon(a.shutdown()).await.unwrap();
        soon(b.closed()).await.unwrap();
        let mut got = Vec::new();
        soon(stream.read_to_end(&mut got)).await.unwrap();
        assert_eq!(got, b"x", "behind {messages} messages");
        got.clear();
        soon(other.read_to_end(&mut got)).await.unwrap();
        assert_eq!(got.len(), messages * 1000);
    }
}

#[tokio::test]
async fn a_message_behind_unread_ones_of_another_stream_wakes_its_reader() {
    for messages in [50, 100, 150, 200] {
        let Pair { a, b, .. } = pair(Config::default(), Config::default()).await;
        let (_other, mut stream) = (b.stream(1).unwrap(), b.stream(0).unwrap());
        send_behind(&a, messages).await;
        assert_eq!(soon(stream.read_u8()).await.unwrap(), b'x', "behind {messages} messages");
    }
}

#[tokio::test]
async fn a_dropped_receiving_half_keeps_the_window_open_without_another_reader() {
    let config = Config { receive_buffer: 64 << 10, send_buffer: 64 << 10, ..Config::default() };
    let Pair { a, b, .. } = pair(config.clone(), config).await;
    let mut stream = a.stream(1).unwrap();
    let (mut send, recv) = b.stream(1).unwrap().into_split();
    // The core has reported what is unread when the reader is dropped.
    while timeout(Duration::from_millis(300), stream.write_all(&[1; 10_000])).await.is_ok() {}
    drop(recv);
    write_until_stopped(&mut stream).await;
    soon(a.flush()).await.unwrap();
    send.write_all(b"the other direction works").await.unwrap();
    drop(send);
    assert_eq!(read_all(&mut stream).await, b"the other direction works");
    for _ in 0..20 {
        a.send_bytes(3, vec![1; 10_000]).await.unwrap();
        assert_eq!(soon(b.recv()).await.unwrap().unwrap().data.len(), 10_000);
    }
}

/// Before, such a write failed, and the peer read the end of file.
#[test]
fn a_write_is_split_into_messages_that_the_send_buffer_holds() {
    run(async {
        let ((server, peer), client) = (server(PORT), bind());
        let config = Config { send_buffer: 10_000, ..Config::default() };
        let association = client.connect(peer, Security::insecure(), config).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        let written = tokio::spawn(async move {
            let mut stream = association.open_stream().await.unwrap();
            stream.write_all(&[1; 100_000]).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let mut stream = soon(accepted.accept_stream()).await.unwrap().unwrap();
        let mut read = Vec::new();
        soon(stream.read_to_end(&mut read)).await.unwrap();
        assert_eq!(read, [1; 100_000]);
        soon(written).await.unwrap();
    });
}

#[test]
fn a_stream_that_a_panic_drops_is_reset() {
    run(async {
        let ((server, peer), client) = (server(PORT), bind());
        let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        let writer = association.clone();
        let written = tokio::spawn(async move {
            let mut stream = writer.open_stream().await.unwrap();
            stream.write_all(b"half of an ans").await.unwrap();
            panic!("the handler has failed");
        });
        let mut stream = soon(accepted.accept_stream()).await.unwrap().unwrap();
        assert!(soon(written).await.is_err());
        let error = soon(stream.read_to_end(&mut Vec::new())).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    });
}

/// The association is shut down, or dropped, right after streams were reset: the peer's readers do not take
/// what they have for all.
#[test]
fn a_shutdown_does_not_hide_resets() {
    for dropped in [false, true] {
        run(async move {
            let Pair { _ends, a, b } = pair(Config::default(), Config::default()).await;
            let mut streams = Vec::new();
            for _ in 0..3 {
                let mut here = a.open_stream().await.unwrap();
                here.write_all(b"half of an ans").await.unwrap();
                let mut there = soon(b.accept_stream()).await.unwrap().unwrap();
                soon(there.read_exact(&mut [0; 14])).await.unwrap();
                streams.push((here, there));
            }
            let (here, there): (Vec<_>, Vec<_>) = streams.into_iter().unzip();
            for stream in here {
                stream.into_split().0.reset(7);
            }
            if !dropped {
                soon(a.shutdown()).await.unwrap();
            }
            drop(a);
            for mut stream in there {
                let error = soon(stream.read_to_end(&mut Vec::new())).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
            }
        });
    }
}

/// A loop over what is always ready lets other tasks run, in tokio's budget.
#[tokio::test]
async fn ready_calls_yield_to_other_tasks() {
    let ((server, peer), client) = (server(PORT), bind());
    let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    let mut stream = association.stream(1).unwrap();
    let others = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&others);
    let ticker = tokio::spawn(async move {
        loop {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let ran = || others.swap(0, std::sync::atomic::Ordering::Relaxed);
    const MANY: usize = 2000;
    tokio::task::yield_now().await;
    ran();
    // There is room for all.
    for n in 0..MANY {
        association.send_bytes(0, vec![n as u8; 10]).await.unwrap();
    }
    assert!(ran() > 3, "send");
    for _ in 0..MANY {
        stream.write_all(&[1]).await.unwrap();
    }
    assert!(ran() > 3, "write");
    association.flush().await.unwrap();
    ran();
    for _ in 0..MANY {
        soon(accepted.recv()).await.unwrap().unwrap();
    }
    assert!(ran() > 3, "recv");
    ticker.abort();
}
