//! Requests and answers on streams of their own, as programs make them: abandoned at any moment, dropped in
//! any order, more than there are numbers.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use msctp::{
    Association, Config, Endpoint, FinishError, Peer, Security, Span, StreamError, StreamRequest, StreamReset,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::common::{self, soon};
use crate::nat::in_clear_and_protected;

const PORT: u16 = 5001;

/// Two ends, the one that connected first. The endpoints live as long.
struct Pair {
    a: Association,
    b: Association,
    _ends: [Endpoint; 2],
}

async fn pair(config: Config) -> Pair {
    pair_with(Security::insecure(), config).await
}

async fn pair_with(security: Security, config: Config) -> Pair {
    let [server, client] = [(); 2].map(|()| Endpoint::bind(&common::options()).unwrap());
    server.listen(PORT, security.clone(), config.clone()).unwrap();
    let at = server.local_addresses()[0];
    let a = client.connect(Peer { port: PORT, ..Peer::new(at) }, security, config).await.unwrap();
    let b = server.accept(PORT).await.unwrap();
    Pair { a, b, _ends: [server, client] }
}

/// Answers each number with itself, once `may` is true.
fn serve(b: &Association, may: &Arc<AtomicBool>) {
    let (b, may) = (b.clone(), Arc::clone(may));
    tokio::spawn(async move {
        while let Some(mut stream) = b.accept_stream().await? {
            let may = Arc::clone(&may);
            tokio::spawn(async move {
                let number = stream.read_u32().await?;
                while !may.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                stream.write_u32(number).await?;
                stream.finish().await?;
                io::Result::Ok(())
            });
        }
        io::Result::Ok(())
    });
}

async fn ask(a: &Association, number: u32) -> io::Result<msctp::Stream> {
    let mut stream = a.open_stream().await.map_err(io::Error::other)?;
    stream.write_u32(number).await?;
    stream.finish().await?;
    Ok(stream)
}

async fn call(a: &Association, number: u32) {
    let mut stream = ask(a, number).await.unwrap();
    assert_eq!(stream.read_u32().await.unwrap(), number, "on stream {}", stream.number());
}

#[tokio::test]
async fn every_call_gets_its_own_answer_however_the_last_ones_ended() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    serve(&b, &Arc::new(AtomicBool::new(true)));
    for number in 0..40 {
        soon(call(&a, number)).await;
    }
    for number in 100..140 {
        let mut stream = soon(ask(&a, number)).await.unwrap();
        assert_eq!(soon(stream.read_u32()).await.unwrap(), number);
        // The end has arrived, unread.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for number in 200..240 {
        // Nobody reads the answer.
        let (send, recv) = soon(ask(&a, number)).await.unwrap().into_split();
        drop(recv);
        if number % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(send);
        soon(call(&a, number + 1000)).await;
    }
    for number in 300..340 {
        // Nor sends everything.
        let mut stream = soon(a.open_stream()).await.unwrap();
        stream.write_u16(number).await.unwrap();
        drop(stream);
        soon(call(&a, u32::from(number) + 1000)).await;
    }
    // More at once than there are numbers.
    let calls = (400..500).map(|number| {
        let a = a.clone();
        tokio::spawn(async move { call(&a, number).await })
    });
    for one in calls.collect::<Vec<_>>() {
        soon(one).await.unwrap();
    }
}

/// Under protection an end leaves with its last data, and its response with the answer. A runtime that is
/// late sends a response alone, so that the bound is not two packets per call.
#[tokio::test]
async fn calls_one_after_another_take_few_packets() {
    let [clear, protected] = in_clear_and_protected();
    let mut packets = Vec::new();
    for security in [clear, protected] {
        let Pair { a, b, _ends } = pair_with(security, Config::default()).await;
        serve(&b, &Arc::new(AtomicBool::new(true)));
        soon(call(&a, 0)).await;
        let sent = || [&a, &b].map(|end| end.stats().unwrap().packets_sent).iter().sum::<u64>();
        let before = sent();
        for number in 1..=100 {
            soon(call(&a, number)).await;
        }
        packets.push(sent() - before);
    }
    println!("{packets:?} packets for 100 calls");
    assert!(packets[1] < packets[0], "{packets:?}");
}

#[tokio::test]
async fn the_answer_to_a_call_that_was_abandoned_reaches_nobody() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    let may = Arc::new(AtomicBool::new(false));
    serve(&b, &may);
    let served = tokio::spawn({
        let a = a.clone();
        async move { a.accept_stream().await.map(|stream| stream.map(|stream| stream.number())) }
    });
    for number in 0..5 {
        let mut stream = ask(&a, number).await.unwrap();
        let abandoned = timeout(Duration::from_millis(5), stream.read_u32()).await;
        assert!(abandoned.is_err(), "the answer comes later");
    }
    may.store(true, Ordering::Relaxed);
    for number in 100..110 {
        soon(call(&a, number)).await;
    }
    // Messages go on beside them.
    b.send_bytes(1, "a request of the other end").await.unwrap();
    assert_eq!(soon(served).await.unwrap(), Ok(Some(1)));
    assert!(timeout(Duration::from_millis(100), a.recv()).await.is_err(), "nothing is left over");
}

#[tokio::test]
async fn a_call_that_was_abandoned_before_it_was_accepted_is_answered_to_nobody() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    for round in 0..20_u32 {
        let mut abandoned = soon(a.open_stream()).await.unwrap();
        let number = abandoned.number();
        abandoned.write_u32(round).await.unwrap();
        drop(abandoned);
        // The number comes round: its first use has ended, and nobody has accepted it.
        let mut next = loop {
            let stream = soon(a.open_stream()).await.unwrap();
            if stream.number() == number {
                break stream;
            }
            drop(stream);
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        next.write_u32(round + 1000).await.unwrap();
        let mut late = soon(b.accept_stream()).await.unwrap().unwrap();
        assert_eq!((late.number(), soon(late.read_u32()).await.unwrap()), (number, round));
        let error = soon(late.write_u32(round)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        drop(late);
        let mut served = soon(b.accept_stream()).await.unwrap().unwrap();
        assert_eq!((served.number(), soon(served.read_u32()).await.unwrap()), (number, round + 1000));
        served.write_u32(round + 1000).await.unwrap();
        assert_eq!(soon(next.read_u32()).await.unwrap(), round + 1000);
        drop((next, served));
        // Every number is free again.
        let all: Vec<_> = soon(async {
            let mut all = Vec::new();
            while all.len() < 5 {
                all.push(a.open_stream().await.unwrap());
            }
            all
        })
        .await;
        drop(all);
    }
}

#[tokio::test]
async fn a_dropped_half_ends_its_direction_at_the_other_end() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    let mut ours = a.open_stream().await.unwrap();
    ours.write_all(b"question").await.unwrap();
    let (send, recv) = ours.into_split();
    let mut theirs = b.accept_stream().await.unwrap().unwrap();
    drop(send);
    let mut got = Vec::new();
    soon(theirs.read_to_end(&mut got)).await.unwrap();
    assert_eq!(got, b"question");
    theirs.write_all(b"answer").await.unwrap();
    drop(recv);
    let error = soon(async {
        loop {
            if let Err(error) = theirs.write_all(&[7; 10_000]).await {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!(error.await.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(soon(theirs.finish()).await, Err(FinishError::Stopped(None)));
    // A stream that was opened and not used is unknown to the other end, and free.
    drop(theirs);
    let unused = a.open_stream().await.unwrap();
    let number = unused.number();
    drop(unused);
    assert_eq!(a.stream(number).unwrap().number(), number);
}

#[tokio::test]
async fn resets_and_stops_carry_codes_and_drop_what_is_queued() {
    let config = Config { send_buffer: 1 << 20, receive_buffer: 32 << 10, ..Config::default() };
    let Pair { a, b, _ends } = pair(config).await;
    for round in 0..20_u32 {
        let (mut send, mut recv) = a.open_stream().await.unwrap().into_split();
        // More than the peer takes unread.
        send.write_all(&[1; 200_000]).await.unwrap();
        let (answer, mut question) = soon(b.accept_stream()).await.unwrap().unwrap().into_split();
        send.reset(round);
        let mut got = Vec::new();
        let error = soon(question.read_to_end(&mut got)).await.unwrap_err();
        let reset = error.get_ref().and_then(|error| error.downcast_ref::<StreamReset>());
        assert_eq!(
            (error.kind(), reset),
            (io::ErrorKind::ConnectionReset, Some(&StreamReset { code: round }))
        );
        assert!(got.len() < 200_000, "{} bytes", got.len());
        answer.reset(round + 1000);
        let error = soon(recv.read_to_end(&mut got)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the peer gave the stream up (code {})", round + 1000));
        drop((question, recv));

        let (mut send, _recv) = a.open_stream().await.unwrap().into_split();
        send.write_all(&[1; 200_000]).await.unwrap();
        let (_answer, question) = soon(b.accept_stream()).await.unwrap().unwrap().into_split();
        question.stop(round);
        assert_eq!(soon(send.finish()).await, Err(FinishError::Stopped(Some(round))));
        let error = soon(send.write_all(b"more")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the peer stopped reading the stream (code {round})"));
    }
    soon(a.shutdown()).await.unwrap();
}

#[tokio::test]
async fn an_unread_stream_stops_no_other_before_the_receive_buffer_is_full() {
    let config = Config { receive_buffer: 4 << 20, ..Config::default() };
    let Pair { a, b, _ends } = pair(config).await;
    let mut unread = a.open_stream().await.unwrap();
    unread.write_all(&[7; 3 << 20]).await.unwrap();
    let held = soon(b.accept_stream()).await.unwrap().unwrap();
    soon(a.flush()).await.unwrap();
    serve(&b, &Arc::new(AtomicBool::new(true)));
    for number in 0..40 {
        soon(call(&a, number)).await;
    }
    // A thousand messages that nobody takes.
    for _ in 0..1000 {
        a.send_bytes(1, "x").await.unwrap();
    }
    soon(a.flush()).await.unwrap();
    for number in 0..40 {
        soon(call(&a, number)).await;
    }
    drop(held);
}

#[tokio::test]
async fn a_stream_that_is_left_open_goes_on_as_messages() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    let mut stream = a.stream(3).unwrap();
    b.send_bytes(3, "unread").await.unwrap();
    stream.write_all(b"written").await.unwrap();
    assert_eq!(soon(b.recv()).await.unwrap().unwrap().data, "written");
    stream.leave_open();
    assert_eq!(soon(a.recv()).await.unwrap().unwrap().data, "unread");
    b.send_bytes(3, "later").await.unwrap();
    assert_eq!(soon(a.recv()).await.unwrap().unwrap().data, "later");
    a.send_bytes(3, "written later").await.unwrap();
    assert_eq!(soon(b.recv()).await.unwrap().unwrap().data, "written later");
    assert!(a.stream(3).is_ok(), "and it can be taken again");
}

/// The data leaves after the call: its end must not wait for the SACK. On a slow machine at least one of the
/// calls is faster than that.
#[tokio::test]
async fn an_end_does_not_wait_for_a_delayed_sack() {
    let delay = Duration::from_millis(500);
    let Pair { a, b, _ends } = pair(Config { sack_delay: Span::from_millis(500), ..Config::default() }).await;
    serve(&b, &Arc::new(AtomicBool::new(true)));
    let mut fastest = Duration::MAX;
    for number in 0..10 {
        let begin = Instant::now();
        call(&a, number).await;
        fastest = fastest.min(begin.elapsed());
    }
    assert!(fastest < delay / 2, "{fastest:?}");
}

/// Returns whether a future that waits is ready now.
async fn poll_once<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn free_numbers_go_to_those_that_wait_first() {
    let Pair { a, b: _b, _ends } = pair(Config::default()).await;
    let mut held: Vec<_> = (0..5).map(|_| a.try_open_stream().unwrap()).collect();
    let mut waiters: Vec<_> = (0..4).map(|_| Box::pin(a.open_stream())).collect();
    for waiter in &mut waiters {
        assert!(poll_once(waiter).await.is_none());
    }
    held.pop();
    assert!(matches!(a.try_open_stream(), Err(StreamError::NoneFree(_))), "the number is promised");
    assert!(poll_once(&mut waiters[1]).await.is_none(), "another is first");
    // The first gives up after it was woken: its turn is the next one's.
    drop(waiters.remove(0));
    let second = soon(waiters.remove(0)).await.unwrap();
    held.clear();
    drop(waiters.remove(1));
    let third = soon(waiters.remove(0)).await.unwrap();
    assert_ne!(second.number(), third.number());
    assert!(a.try_open_stream().is_ok(), "nobody waits");
}

#[tokio::test]
async fn a_request_without_data_is_accepted() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    for round in 0..20_u32 {
        let mut ours = soon(a.open_stream()).await.unwrap();
        let mut got = Vec::new();
        let mut theirs = if round % 2 == 0 {
            soon(ours.finish()).await.unwrap();
            let mut theirs = soon(b.accept_stream()).await.unwrap().unwrap();
            assert_eq!(soon(theirs.read_to_end(&mut got)).await.unwrap(), 0);
            theirs.write_u32(round).await.unwrap();
            assert_eq!(soon(ours.read_u32()).await.unwrap(), round);
            theirs
        } else {
            let (send, recv) = ours.into_split();
            send.reset(round);
            let mut theirs = soon(b.accept_stream()).await.unwrap().unwrap();
            let error = soon(theirs.read_to_end(&mut got)).await.unwrap_err();
            let reset = error.get_ref().and_then(|error| error.downcast_ref::<StreamReset>());
            assert_eq!(reset, Some(&StreamReset { code: round }));
            drop(recv);
            theirs
        };
        let _ = soon(theirs.finish()).await;
    }
    // The sending half alone ends as well.
    let (send, mut recv) = soon(a.open_stream()).await.unwrap().into_split();
    drop(send);
    let mut theirs = soon(b.accept_stream()).await.unwrap().unwrap();
    theirs.write_all(b"x").await.unwrap();
    drop(theirs);
    let mut got = Vec::new();
    assert_eq!(soon(recv.read_to_end(&mut got)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_stream_that_was_left_open_ends_with_its_last_handle() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    let mut ours = a.stream(3).unwrap();
    ours.write_all(b"one").await.unwrap();
    ours.leave_open();
    let mut theirs = b.stream(3).unwrap();
    let mut got = [0; 3];
    soon(theirs.read_exact(&mut got)).await.unwrap();
    theirs.leave_open();
    drop(a.stream(3).unwrap());
    common::until(|| {
        a.stream(3).is_ok_and(|stream| {
            stream.leave_open();
            true
        })
    })
    .await;
    let mut theirs = b.stream(3).unwrap();
    let mut rest = Vec::new();
    assert_eq!(soon(theirs.read_to_end(&mut rest)).await.unwrap(), 0, "the end has arrived meanwhile");
}

#[tokio::test]
async fn a_peer_that_reads_no_stream_stops_all() {
    let Pair { a, b, _ends } = pair(Config::default()).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = a.open_stream().await.unwrap();
        stream.write_all(b"x").await.unwrap();
        streams.push((stream, soon(b.accept_stream()).await.unwrap().unwrap()));
    }
    b.reconfigure(StreamRequest::ResetIncoming(Vec::new())).unwrap();
    for (ours, _) in &mut streams {
        let error = soon(async {
            loop {
                if let Err(error) = ours.write_all(b"more").await {
                    break error;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        assert_eq!(error.await.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(soon(ours.finish()).await, Err(FinishError::Stopped(None)));
    }
}

/// A server that works long on an answer learns that the client has given the request up, however: by a drop,
/// a code, the end of the association.
#[tokio::test]
async fn a_server_learns_of_an_abandoned_request_while_it_works() {
    let Pair { a: client, b: server, _ends } = pair(Config::mobile()).await;
    let mut outcomes = Vec::new();
    for way in 0..4 {
        let mut request = client.open_stream().await.unwrap();
        request.write_all(b"question").await.unwrap();
        let mut accepted = soon(server.accept_stream()).await.unwrap().unwrap();
        let mut question = [0; 8];
        soon(accepted.read_exact(&mut question)).await.unwrap();
        let (mut answer, _rest) = accepted.into_split();
        assert!(tokio::time::timeout(Duration::from_millis(20), answer.stopped()).await.is_err());
        let (send, recv) = request.into_split();
        match way {
            0 => drop(recv),
            1 => recv.stop(77),
            2 => soon(answer.finish()).await.unwrap(),
            _ => client.abort("away"),
        }
        outcomes.push(soon(answer.stopped()).await);
        drop(send);
    }
    assert_eq!(
        outcomes[..3],
        [Err(FinishError::Stopped(None)), Err(FinishError::Stopped(Some(77))), Ok(()),]
    );
    assert!(matches!(outcomes[3], Err(FinishError::Association(_))), "{outcomes:?}");
}
