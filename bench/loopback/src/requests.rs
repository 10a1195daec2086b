//! Requests and answers on a stream of their own: one after another, and many at once. Both ends are in one
//! process, and a relay between them delays each datagram.

use std::fmt::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::{JoinSet, LocalSet};

use crate::children::memory_of;
use crate::document::{put, rounds_and_file, spread};
use crate::job::{block_on, failed};
use crate::stacks::{msctp, quic};

/// Bytes of a request and of an answer.
pub const LEN: usize = 64;
/// Requests one after another, and at once.
const SEQUENTIAL: usize = 1_000;
pub const CONCURRENT: usize = 10_000;
/// One-way delays.
const DELAYS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(25)];
const STACKS: [&str; 2] = ["msctp", "quinn"];

/// A client of which each call is a request on a stream of its own, answered by the same bytes.
pub trait Calls: 'static {
    /// Makes a call. Ready at the end of the answer.
    fn call(&self, request: [u8; LEN]) -> impl Future<Output = Result<(), String>>;
}

#[derive(Clone, Copy, Debug)]
struct Found {
    sequential: f64,
    concurrent: f64,
    /// Growth of the process's memory by a second batch of calls at once, in bytes.
    growth: f64,
}

pub fn run(words: &[&str]) -> Result<(), String> {
    let (rounds, out) = rounds_and_file(words)?;
    let mut rows: Vec<(Duration, &str, Vec<Found>)> =
        DELAYS.iter().flat_map(|&delay| STACKS.map(|stack| (delay, stack, Vec::new()))).collect();
    for round in 0..rounds {
        for (delay, stack, found) in &mut rows {
            let one = block_on(LocalSet::new().run_until(measure(stack, *delay)))?;
            eprintln!("round {} {stack} {delay:?}: {one:.3?}", round + 1);
            found.push(one);
        }
    }
    put(out, "requests", &written(&rows, rounds))
}

async fn measure(stack: &str, delay: Duration) -> Result<Found, String> {
    match stack {
        "msctp" => {
            let (server, client) = msctp::requests(|server| relay(server, delay)).await?;
            let found = times(client).await;
            drop(server);
            found
        }
        _ => {
            let (server, client) = quic::requests(|server| relay(server, delay)).await?;
            let found = times(client).await;
            drop(server);
            found
        }
    }
}

async fn times(client: impl Calls) -> Result<Found, String> {
    let client = Rc::new(client);
    client.call([0; LEN]).await?;
    let begin = Instant::now();
    for number in 0..SEQUENTIAL {
        client.call(request(number)).await?;
    }
    let sequential = begin.elapsed().as_secs_f64();
    at_once(&client).await?;
    let before = memory_of(std::process::id())?;
    let begin = Instant::now();
    at_once(&client).await?;
    let concurrent = begin.elapsed().as_secs_f64();
    let growth = memory_of(std::process::id())? as f64 - before as f64;
    Ok(Found { sequential, concurrent, growth })
}

async fn at_once(client: &Rc<impl Calls>) -> Result<(), String> {
    let mut calls = JoinSet::new();
    for number in 0..CONCURRENT {
        let client = Rc::clone(client);
        calls.spawn_local(async move { client.call(request(number)).await });
    }
    while let Some(done) = calls.join_next().await {
        done.map_err(|e| failed("call")(&e))??;
    }
    Ok(())
}

fn request(number: usize) -> [u8; LEN] {
    let mut request = [0x5a; LEN];
    request[..8].copy_from_slice(&(number as u64).to_be_bytes());
    request
}

/// Returns an address that leads to the server, and delays each datagram in both directions.
async fn relay(server: SocketAddr, delay: Duration) -> Result<SocketAddr, String> {
    if delay.is_zero() {
        return Ok(server);
    }
    let bind = || UdpSocket::bind("127.0.0.1:0");
    let [inner, outer] = [bind().await, bind().await].map(|socket| socket.map_err(|e| failed("relay")(&e)));
    let (inner, outer) = (Rc::new(inner?), Rc::new(outer?));
    outer.connect(server).await.map_err(|e| failed("relay")(&e))?;
    let at = inner.local_addr().map_err(|e| failed("relay")(&e))?;
    let client = Rc::new(std::cell::Cell::new(None));
    let (to_server, seen) = tokio::sync::mpsc::unbounded_channel();
    let (to_client, answered) = tokio::sync::mpsc::unbounded_channel();
    tokio::task::spawn_local(deliver(seen, delay, {
        let outer = Rc::clone(&outer);
        move |bytes: Vec<u8>| {
            let _ = outer.try_send(&bytes);
        }
    }));
    tokio::task::spawn_local(deliver(answered, delay, {
        let (inner, client) = (Rc::clone(&inner), Rc::clone(&client));
        move |bytes: Vec<u8>| {
            if let Some(client) = client.get() {
                let _ = inner.try_send_to(&bytes, client);
            }
        }
    }));
    tokio::task::spawn_local(async move {
        let mut bytes = vec![0; 65_536];
        while let Ok((len, from)) = inner.recv_from(&mut bytes).await {
            client.set(Some(from));
            let _ = to_server.send((Instant::now(), bytes[..len].to_vec()));
        }
    });
    tokio::task::spawn_local(async move {
        let mut bytes = vec![0; 65_536];
        while let Ok(len) = outer.recv(&mut bytes).await {
            let _ = to_client.send((Instant::now(), bytes[..len].to_vec()));
        }
    });
    Ok(at)
}

async fn deliver(
    mut queue: tokio::sync::mpsc::UnboundedReceiver<(Instant, Vec<u8>)>,
    delay: Duration,
    send: impl Fn(Vec<u8>),
) {
    while let Some((at, bytes)) = queue.recv().await {
        tokio::time::sleep_until((at + delay).into()).await;
        send(bytes);
    }
}

fn written(rows: &[(Duration, &str, Vec<Found>)], rounds: usize) -> String {
    let mut text = format!(
        "Requests and answers of {LEN} bytes, each on a stream of its own that both ends end; both ends in one process, encrypted. Medians of {rounds} rounds in turn, least and most in brackets.\n\n\
         | round trip | | {SEQUENTIAL} one after another | {CONCURRENT} at once | growth by {CONCURRENT} more |\n|---|---|---|---|---|\n"
    );
    for (delay, stack, found) in rows {
        let cell = |value: fn(&Found) -> f64, unit: &str, scale: f64| {
            spread(found, value).map_or("failed".to_owned(), |(median, least, most)| {
                format!("{:.2} {unit} ({:.2} to {:.2})", median / scale, least / scale, most / scale)
            })
        };
        let _ = writeln!(
            text,
            "| {} ms | {stack} | {} | {} | {} |",
            2 * delay.as_millis(),
            cell(|one| one.sequential, "s", 1.0),
            cell(|one| one.concurrent, "s", 1.0),
            cell(|one| one.growth, "MB", 1e6),
        );
    }
    text
}
