//! Pumps bulk data from one endpoint to another in memory and prints what a data packet costs both ends together, CRC32c
//! on both sides included.
//!
//! `cargo run --release -p msctp-proto --example pump [MEBIBYTES [WINDOW_KIB]]`
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement needs a clock; the protocol is given virtual time"
)]

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use msctp_proto::{
    Config, DatagramOutcome, Endpoint, EndpointConfig, Handle, LocalAddrs, OutMessage, PathAddr, RemoteAddrs,
};
use msctp_units::{Span, Time};

const MESSAGE: usize = 1452;
/// One way.
const DELAY: Span = Span::from_millis(20);

struct Pump {
    now: Time,
    ends: [Endpoint; 2],
    handles: [Option<Handle>; 2],
    /// Packets under way to each end: arrival, addresses as the receiver sees them, bytes.
    wires: [VecDeque<(Time, PathAddr, Vec<u8>)>; 2],
    spare: Vec<Vec<u8>>,
    received: u64,
    packets: u64,
    /// Every so-many-th data packet is lost; 0: none.
    loss: u64,
}

impl Pump {
    fn new(window: u32, loss: u64) -> Self {
        let config = Config {
            receive_buffer: window,
            send_buffer: window.saturating_mul(2),
            initial_ssthresh: Some(u64::from(window)),
            max_burst: 0,
            ..Config::default()
        };
        let ip = |n: u8| std::net::IpAddr::from([10, 0, 0, n]);
        let mut a = Endpoint::new(EndpointConfig::default(), [1; 32]).expect("valid");
        let mut b = Endpoint::new(EndpointConfig::default(), [2; 32]).expect("valid");
        b.listen(LocalAddrs { port: 5001, addresses: vec![ip(2)] }, config.clone()).expect("valid");
        let local = LocalAddrs { port: 5000, addresses: vec![ip(1)] };
        let remote = RemoteAddrs { port: 5001, addresses: vec![ip(2)] };
        let handle = a.connect(Time::ZERO, config, local, remote).expect("valid");
        Self {
            now: Time::ZERO,
            ends: [a, b],
            handles: [Some(handle), None],
            wires: [VecDeque::new(), VecDeque::new()],
            spare: Vec::new(),
            received: 0,
            packets: 0,
            loss,
        }
    }

    fn drain(&mut self, end: usize) {
        loop {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            let Some(transmit) = self.ends[end].poll_transmit(self.now, &mut bytes) else {
                self.spare.push(bytes);
                break;
            };
            if bytes.len() > MESSAGE {
                self.packets += 1;
                if self.loss > 0 && self.packets.is_multiple_of(self.loss) {
                    self.spare.push(bytes);
                    continue;
                }
            }
            let at = PathAddr { local: transmit.at.remote, remote: transmit.at.local };
            self.wires[1 - end].push_back((self.now + DELAY, at, bytes));
        }
        while self.ends[end].poll_event().is_some() {}
    }

    fn send(&mut self, message: &Bytes) {
        let Some(association) = self.handles[0].and_then(|handle| self.ends[0].association_mut(handle))
        else {
            return;
        };
        let message =
            || OutMessage { stream: 0, ppid: 0, unordered: false, data: message.clone(), context: 0 };
        while association.send(self.now, message()).is_ok() {}
    }

    fn read(&mut self) {
        let Some(association) = self.handles[1].and_then(|handle| self.ends[1].association_mut(handle))
        else {
            return;
        };
        while let Some(message) = association.recv() {
            self.received += message.data.len() as u64;
        }
    }

    fn run(&mut self, bytes: u64) {
        let message = Bytes::from(vec![0x5a; MESSAGE]);
        self.send(&message);
        self.drain(0);
        while self.received < bytes {
            let arrivals = [0, 1].map(|end| self.wires[end].front().map(|packet| packet.0));
            let wakes = [self.ends[0].poll_timeout(), self.ends[1].poll_timeout()];
            let Some(next) = arrivals.into_iter().chain(wakes).flatten().min() else { break };
            self.now = self.now.max(next);
            for end in [0, 1] {
                if let Some((_, at, packet)) = self.wires[end].pop_front_if(|packet| packet.0 <= next) {
                    if let DatagramOutcome::Accepted(handle) =
                        self.ends[end].handle_datagram(self.now, at, &packet)
                    {
                        self.handles[end] = Some(handle);
                    }
                    self.spare.push(packet);
                    if end == 0 {
                        self.send(&message);
                    } else {
                        self.read();
                    }
                    self.drain(end);
                }
                if self.ends[end].poll_timeout().is_some_and(|wake| wake <= self.now) {
                    self.ends[end].handle_timeout(self.now);
                    self.drain(end);
                }
            }
        }
    }
}

/// CPU time of this thread where the system tells it, else time that passed.
struct Stopwatch {
    wall: Instant,
    cpu: Option<u64>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_nanos() }
    }

    fn nanos(&self) -> u64 {
        match (self.cpu, cpu_nanos()) {
            (Some(start), Some(now)) => now - start,
            _ => self.wall.elapsed().as_nanos() as u64,
        }
    }
}

/// Linux: nanoseconds on a CPU.
fn cpu_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u32>().expect("a number"));
    let mebibytes = u64::from(args.next().unwrap_or(2000));
    let only = args.next();
    for (window, loss) in [(64 << 10, 0), (1 << 20, 0), (8 << 20, 0), (8 << 20, 1000), (8 << 20, 50)] {
        if only.is_some_and(|only| only != window >> 10) {
            continue;
        }
        let mut pump = Pump::new(window, loss);
        pump.run(1 << 20);
        let before = pump.packets;
        let watch = Stopwatch::start();
        let total = if loss > 0 { mebibytes / 4 } else { mebibytes };
        pump.run(total << 20);
        let packets = pump.packets - before;
        println!(
            "window {:5} KiB, loss {loss:4}: {:6.0} ns per data packet, {packets} packets, {:.1} s virtual",
            window >> 10,
            watch.nanos() as f64 / packets as f64,
            pump.now.as_secs_f64()
        );
    }
}
