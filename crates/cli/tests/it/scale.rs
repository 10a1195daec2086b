//! Ten thousand connections through one association of `msctp forward`, one after another: memory stays flat.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use crate::client::Forward;
use crate::process::{Server, by, msctp};

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Runs a future in its own thread.
fn run(future: impl Future<Output = ()> + Send + 'static) {
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(future);
    });
}

/// Starts a target on loopback.
fn target<F: Future<Output = ()> + Send + 'static>(serve: fn(TcpStream) -> F) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    run(async move {
        let listener = TcpListener::from_std(listener).unwrap();
        loop {
            tokio::spawn(serve(listener.accept().await.unwrap().0));
        }
    });
    at
}

/// A server and a client, killed when the test ends. Both start with a soft limit of 1024 files, which is
/// theirs alone.
struct Pair {
    server: Server,
    client: Forward,
}

impl Pair {
    fn start(to: SocketAddr) -> Self {
        let limited = |args: &[&str]| by(&["prlimit", "--nofile=1024:"], &msctp(args));
        let (allow, local) = (to.to_string(), format!("0:{to}"));
        let args = ["serve", "--bind", "127.0.0.1:0", "--allow", &allow, "--max-connections", "8000"];
        let server = Server::start_as(limited(&args));
        let client = Forward::of(&mut limited(&["forward", &server.at, "-L", &local]));
        Self { server, client }
    }

    /// Returns the resident memory of the server and the client in bytes.
    fn resident(&self) -> [u64; 2] {
        [&self.server.child, &self.client.child].map(|child| {
            let text = fs::read_to_string(format!("/proc/{}/statm", child.id())).unwrap();
            text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
        })
    }
}

/// The short form is `forward::thousands_of_connections_opened_and_closed_leave_the_memory_flat`.
#[test]
#[ignore = "slow: half a minute"]
fn slow_ten_thousand_connections_opened_and_closed_leave_the_memory_flat() {
    let echo = target(|mut stream| async move {
        let (mut reader, mut writer) = stream.split();
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        let _ = writer.shutdown().await;
    });
    let pair = Pair::start(echo);
    let at = pair.client.at[0];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = |count: usize| {
        for _ in 0..count / 20 {
            // The server takes 500 a second.
            let pause = Duration::from_millis(42);
            runtime.block_on(async {
                let tasks = (0..20).map(|_| {
                    tokio::spawn(async move {
                        let mut stream = TcpStream::connect(at).await.unwrap();
                        stream.write_all(&[7; 1000]).await.unwrap();
                        stream.shutdown().await.unwrap();
                        let mut got = Vec::new();
                        stream.read_to_end(&mut got).await.unwrap();
                        assert_eq!(got, [7; 1000]);
                    })
                });
                let tasks: Vec<_> = tasks.collect();
                tokio::time::sleep(pause).await;
                for task in tasks {
                    task.await.unwrap();
                }
            });
        }
        pair.resident()
    };
    let before = open(2_000);
    let after = open(8_000);
    eprintln!("server and client: {before:?} bytes after 2,000 connections, {after:?} after 10,000");
    for (before, after) in before.into_iter().zip(after) {
        // 256 bytes kept of each would be twice that.
        assert!(after.saturating_sub(before) < 1 << 20, "{before} bytes, then {after}");
    }
}
