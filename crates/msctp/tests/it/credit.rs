//! Streams that nobody reads, beside others, under protection: each has a limit of its own.

use std::time::Duration;

use msctp::{Association, Config, Endpoint, Peer, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::common::{self, soon};

const PORT: u16 = 5001;
/// Bytes for each stream: several receive buffers.
const MUCH: usize = 4 << 20;

async fn pair(streams: u16) -> ([Endpoint; 2], Association, Association) {
    let config = Config { outbound_streams: streams, ..Config::default() };
    let keys = || Security::pre_shared(&[7; 32]).unwrap();
    let [server, client] = [(); 2].map(|()| Endpoint::bind(&common::options()).unwrap());
    server.listen(PORT, keys(), config.clone()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    let (a, b) = tokio::join!(client.connect(peer, keys(), config), server.accept(PORT));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!(a.agreed().unwrap().stream_credit && b.agreed().unwrap().stream_credit);
    ([server, client], a, b)
}

/// Writes on a stream, and returns it.
fn write(a: &Association, stream: u16) -> tokio::task::JoinHandle<msctp::Stream> {
    let mut stream = a.stream(stream).unwrap();
    tokio::spawn(async move {
        for _ in 0..MUCH / 10_000 {
            stream.write_all(&[1; 10_000]).await.unwrap();
        }
        stream
    })
}

async fn read(b: &Association, number: u16) {
    let mut stream = b.stream(number).unwrap();
    let mut data = vec![0; MUCH / 10_000 * 10_000];
    stream.read_exact(&mut data).await.unwrap();
    stream.leave_open();
}

/// Forty writers wait for readers that do not come, more than are woken at a time.
#[tokio::test]
async fn streams_that_nobody_reads_stop_only_their_own_writers() {
    let (_ends, a, b) = pair(50).await;
    let unread: Vec<_> = (10..50).map(|stream| write(&a, stream)).collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..2 {
        let writers: Vec<_> = (0..8).map(|stream| write(&a, stream)).collect();
        let readers: Vec<_> = (0..8)
            .map(|stream| {
                let b = b.clone();
                tokio::spawn(async move { read(&b, stream).await })
            })
            .collect();
        for writer in writers {
            soon(writer).await.unwrap().leave_open();
        }
        for reader in readers {
            soon(reader).await.unwrap();
        }
    }
    assert!(unread.iter().all(|writer| !writer.is_finished()));
    // When they are read, they go on.
    for (stream, writer) in (10..50).zip(unread) {
        let (_, stream) = tokio::join!(soon(read(&b, stream)), soon(writer));
        stream.unwrap().leave_open();
    }
}

/// A message without a `Stream`, and one that does not wait.
#[tokio::test]
async fn messages_wait_for_their_own_stream() {
    let (_ends, a, b) = pair(10).await;
    let much = vec![0; 50_000];
    while timeout(Duration::from_millis(100), a.send_bytes(1, much.clone())).await.is_ok() {}
    assert!(a.buffered() < 200_000);
    soon(a.send_bytes(2, much.clone())).await.unwrap();
    let waits = {
        let (a, much) = (a.clone(), much.clone());
        tokio::spawn(async move { a.send_bytes(1, much).await })
    };
    for _ in 0..2 {
        soon(b.recv()).await.unwrap().unwrap();
    }
    soon(waits).await.unwrap().unwrap();
}
