//! Measures how much more a receiving endpoint of two shards opens on two cores than on one. See README.md.
//!
//! A shard of an endpoint is a core endpoint with a lock of its own; the shards share no association. Each of two
//! shards gets the sealed datagrams of four associations from memory, recorded in a first run. The core is
//! deterministic, so that a new endpoint with the same seed accepts the same datagrams.

use std::net::IpAddr;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use bytes::Bytes;
use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    Config, DatagramOutcome, Endpoint, EndpointConfig, Handle, KeyManagement, LocalAddrs, OutMessage,
    PathAddr, Pmtu, Protection, RemoteAddrs,
};
use msctp_units::{Span, Time};

const PORT: u16 = 5000;
const SHARDS: usize = 2;
/// Associations of a shard.
const ASSOCIATIONS: u16 = 4;
/// Bytes of a message.
const MESSAGE: usize = 16 << 10;
/// Bytes that the application keeps in a sender's buffer.
const SEND_BUFFER: u64 = 1 << 20;

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// Packets of equal length; the last may be shorter.
#[derive(Clone)]
struct Burst {
    at: PathAddr,
    segment: usize,
    bytes: Vec<u8>,
}

/// What a server receives at one time.
type Step = (Time, Vec<Burst>);

/// Returns the options of both ends, with AES-128-GCM under one pre-shared key.
fn options() -> Arc<Config> {
    let secret = Secret::from(&[7; 32][..]);
    let keys =
        KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, secret).expect("a key");
    Arc::new(Config {
        protection: Protection::Required(Arc::new(keys)),
        max_segments: 64,
        pmtu: Pmtu::Fixed(1500),
        ..Config::default()
    })
}

fn endpoint(seed: u8) -> Endpoint {
    Endpoint::new(EndpointConfig::default(), [seed; 32]).expect("valid")
}

/// Takes what an endpoint sends, with the addresses as the receiver sees them.
fn transmits(endpoint: &mut Endpoint, now: Time) -> Vec<Burst> {
    let mut bursts = Vec::new();
    loop {
        let mut bytes = Vec::new();
        let Some(transmit) = endpoint.poll_transmit(now, &mut bytes) else { return bursts };
        let at = PathAddr { local: transmit.at.remote, remote: transmit.at.local };
        bursts.push(Burst { at, segment: transmit.segment_size.unwrap_or(transmit.len), bytes });
    }
}

/// A receiving shard.
struct Server {
    endpoint: Endpoint,
    handles: Vec<Handle>,
    /// User bytes delivered.
    delivered: u64,
}

impl Server {
    fn new(shard: usize) -> Self {
        let mut endpoint = endpoint(100 + shard as u8);
        endpoint.listen(LocalAddrs { port: PORT, addresses: vec![SERVER] }, options()).expect("valid");
        Self { endpoint, handles: Vec::new(), delivered: 0 }
    }

    /// Opens the datagrams of a step, delivers their messages and returns the answers.
    fn step(&mut self, now: Time, bursts: &mut [Burst]) -> Vec<Burst> {
        for burst in bursts {
            for packet in burst.bytes.chunks_mut(burst.segment) {
                let outcome = self.endpoint.handle_datagram(now, burst.at, packet);
                if let DatagramOutcome::Accepted(handle) = outcome {
                    self.handles.push(handle);
                }
            }
        }
        if self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
        }
        for &handle in &self.handles {
            let Some(association) = self.endpoint.association_mut(handle) else { continue };
            while let Ok(Some(message)) = association.recv() {
                self.delivered += std::hint::black_box(message.data).len() as u64;
            }
        }
        while self.endpoint.poll_event().is_some() {}
        transmits(&mut self.endpoint, now)
    }
}

/// Sends `bytes` of user data over each association of a shard; returns what the shard received.
fn record(shard: usize, bytes: u64) -> Vec<Step> {
    let (mut server, mut client, config) = (Server::new(shard), endpoint(shard as u8), options());
    let mut now = Time::ZERO;
    let mut senders: Vec<(Handle, u64)> = (1..=ASSOCIATIONS)
        .map(|n| {
            let local = LocalAddrs { port: PORT + n, addresses: vec![CLIENT] };
            let remote = RemoteAddrs { port: PORT, addresses: vec![SERVER] };
            (client.connect(now, Arc::clone(&config), local, remote).expect("valid"), bytes)
        })
        .collect();
    let message = Bytes::from(vec![0x5a; MESSAGE]);
    let mut steps = Vec::new();
    while server.delivered < bytes * u64::from(ASSOCIATIONS) {
        for (handle, left) in &mut senders {
            let association = client.association_mut(*handle).expect("it lives");
            while *left > 0 && association.buffered() < SEND_BUFFER {
                let data = message.slice(..MESSAGE.min(*left as usize));
                let length = data.len() as u64;
                if association.send(now, OutMessage { data, ..OutMessage::default() }).is_err() {
                    break;
                }
                *left -= length;
            }
        }
        let sent = transmits(&mut client, now);
        let mut opened = sent.clone();
        let answers = server.step(now, &mut opened);
        steps.push((now, sent));
        for mut burst in answers {
            for packet in burst.bytes.chunks_mut(burst.segment) {
                client.handle_datagram(now, burst.at, packet);
            }
        }
        while client.poll_event().is_some() {}
        now += Span::from_micros(100);
        if client.poll_timeout().is_some_and(|due| due <= now) {
            client.handle_timeout(now);
        }
        assert!(now < Time::ZERO + Span::from_secs(600), "the transfer has stopped");
    }
    steps
}

/// Feeds a new shard what was recorded; returns the user bytes that it delivered.
fn replay(shard: usize, steps: &mut [Step]) -> u64 {
    let mut server = Server::new(shard);
    for (now, bursts) in steps {
        std::hint::black_box(server.step(*now, bursts));
    }
    server.delivered
}

/// Returns the time in which all shards open their datagrams, on one thread or on one each.
fn time(recorded: &[Vec<Step>], parallel: bool, total: u64) -> Duration {
    // Packets are opened in place: each round has copies of its own.
    let mut rounds: Vec<Vec<Step>> = recorded.to_vec();
    let barrier = Barrier::new(if parallel { SHARDS } else { 1 });
    let groups: Vec<&mut [Vec<Step>]> =
        if parallel { rounds.chunks_mut(1).collect() } else { vec![&mut rounds[..]] };
    let mut first = 0;
    let (begun, delivered) = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for group in groups {
            let (barrier, shard) = (&barrier, first);
            first += group.len();
            threads.push(scope.spawn(move || {
                barrier.wait();
                let begin = Instant::now();
                let bytes: u64 =
                    group.iter_mut().zip(shard..).map(|(steps, shard)| replay(shard, steps)).sum();
                (begin, Instant::now(), bytes)
            }));
        }
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        let begin = done.iter().map(|done| done.0).min().expect("a thread");
        let end = done.iter().map(|done| done.1).max().expect("a thread");
        (end - begin, done.iter().map(|done| done.2).sum::<u64>())
    });
    assert_eq!(delivered, total, "every recorded datagram opens again");
    begun
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let rounds = arguments.next().unwrap_or(11).max(1);
    let bytes = arguments.next().unwrap_or(32) << 20;
    let recorded: Vec<Vec<Step>> = (0..SHARDS).map(|shard| record(shard, bytes)).collect();
    let total = bytes * u64::from(ASSOCIATIONS) * SHARDS as u64;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(total as f64 * 8e-9 / time(&recorded, false, total).as_secs_f64());
        two.push(total as f64 * 8e-9 / time(&recorded, true, total).as_secs_f64());
    }
    let (one, two) = (median(&mut one), median(&mut two));
    println!(
        "\nSealed datagrams of 8 associations from memory, AES-128-GCM, {rounds} rounds in turn, medians\n"
    );
    println!("| cores | user data opened, Gbps | one core = 1 |\n|---:|---:|---:|");
    println!("| 1 | {one:.1} | 1 |\n| 2 | {two:.1} | {:.2} |", two / one);
}
