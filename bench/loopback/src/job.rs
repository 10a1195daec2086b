//! The job of one end, and the lines that the ends exchange. The programs in other languages use the same
//! lines.

use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Size of the largest IP packet in bytes: the run sets loopback's MTU to this.
pub const MTU: u32 = 1480;

/// A transfer from client to server.
pub struct Job {
    /// Address of the server.
    pub address: SocketAddr,
    /// Bytes of each message.
    pub len: usize,
    /// Time for which the client sends.
    pub time: Duration,
}

impl Job {
    /// Parses `ADDRESS LEN [SECONDS]`.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let wrong = |what: &str, error: &dyn Display| format!("{what}: {error}");
        let [address, len, rest @ ..] = words else { return Err("want ADDRESS LEN [SECONDS]".to_owned()) };
        let seconds = rest.first().map_or(Ok(0.0), |text| text.parse().map_err(|e| wrong(text, &e)))?;
        Ok(Self {
            address: address.parse().map_err(|e| wrong(address, &e))?,
            len: len.parse().map_err(|e| wrong(len, &e))?,
            time: Duration::from_secs_f64(seconds),
        })
    }

    /// Returns the client's own address: the server's host, any port.
    pub fn own(&self) -> SocketAddr {
        SocketAddr::new(self.address.ip(), 0)
    }
}

/// Messages of many associations: their length in bytes, and their number per second over all associations.
pub const SMALL: usize = 100;
pub const MESSAGES: u32 = 10_000;
/// Time for which they are sent.
pub const STEADY: Duration = Duration::from_secs(3);
/// Associations that are set up at a time.
pub const AT_ONCE: usize = 64;

/// Prints `word` and `value`, and waits for permission to continue.
pub fn pause(word: &str, value: u128) -> Result<(), String> {
    println!("{word} {value}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map(|_| ()).map_err(|e| failed("stdin")(&e))
}

/// Reports that the server listens.
pub fn ready() {
    println!("ready");
}

/// Bytes received, and the times of the first and last.
#[derive(Default)]
pub struct Tally {
    begin: Option<Instant>,
    last: Option<Instant>,
    bytes: u64,
}

impl Tally {
    pub fn add(&mut self, bytes: usize) {
        let now = Instant::now();
        self.begin.get_or_insert(now);
        self.last = Some(now);
        self.bytes += bytes as u64;
    }

    pub fn report(&self) {
        let time = self.begin.zip(self.last).map_or(Duration::ZERO, |(begin, last)| last - begin);
        println!("received {} {}", self.bytes, time.as_nanos());
    }
}

/// Formats an error.
pub fn failed(what: &'static str) -> impl Fn(&dyn Display) -> String {
    move |error| format!("{what}: {error}")
}

/// Runs a future on this thread: each process has one processor.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| failed("runtime")(&e))?.block_on(work)
}
