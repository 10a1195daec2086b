//! Pumps bulk data from one endpoint to another in memory and prints what a data packet costs both ends
//! together, CRC32c on both sides included.
//!
//! `cargo run --release -p msctp-proto --example pump [MEBIBYTES [CASE]]`, cases counted from 0
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement needs a clock; the protocol is given virtual time"
)]

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use msctp_congestion::ControllerFactory;
use msctp_proto::{
    Config, DatagramOutcome, Endpoint, EndpointConfig, Handle, LocalAddrs, OutMessage, PathAddr, RemoteAddrs,
};
use msctp_units::{Span, Time};

const MESSAGE: usize = 1452;
/// Delay of one direction.
const DELAY: Span = Span::from_millis(20);

struct Pump {
    now: Time,
    ends: [Endpoint; 2],
    /// Packets in flight to each end: arrival, addresses as the receiver sees them, bytes.
    wires: [VecDeque<(Time, PathAddr, Vec<u8>)>; 2],
    spare: Vec<Vec<u8>>,
    message: Bytes,
    received: u64,
    packets: u64,
    /// Interval of the data packets that are lost; 0 loses none.
    loss: u64,
}

impl Pump {
    fn new(window: u32, flows: u16, loss: u64) -> Self {
        let config = Config {
            receive_buffer: window,
            send_buffer: window.saturating_mul(2),
            controller: ControllerFactory::default().with_initial_ssthresh(u64::from(window)),
            max_burst: 0,
            ..Config::default()
        };
        let ip = |n: u8| std::net::IpAddr::from([10, 0, 0, n]);
        let mut a = Endpoint::new(EndpointConfig::default(), [1; 32]).expect("valid");
        let mut b = Endpoint::new(EndpointConfig::default(), [2; 32]).expect("valid");
        b.listen(LocalAddrs { port: 5001, addresses: vec![ip(2)] }, config.clone()).expect("valid");
        let mut pump = Self {
            now: Time::ZERO,
            wires: [VecDeque::new(), VecDeque::new()],
            spare: Vec::new(),
            message: Bytes::from(vec![0x5a; MESSAGE]),
            received: 0,
            packets: 0,
            loss,
            ends: {
                for flow in 0..flows {
                    let local = LocalAddrs { port: 6000 + flow, addresses: vec![ip(1)] };
                    let remote = RemoteAddrs { port: 5001, addresses: vec![ip(2)] };
                    let handle = a.connect(Time::ZERO, config.clone(), local, remote).expect("valid");
                    debug_assert!(a.association(handle).is_some());
                }
                [a, b]
            },
        };
        pump.drain(0);
        pump
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

    fn send(&mut self, handle: Handle) {
        let Some(association) = self.ends[0].association_mut(handle) else { return };
        let message = || OutMessage {
            stream: 0,
            ppid: 0,
            unordered: false,
            data: self.message.clone(),
            context: 0,
            ..OutMessage::default()
        };
        while association.send(self.now, message()).is_ok() {}
    }

    fn read(&mut self, handle: Handle) {
        let Some(association) = self.ends[1].association_mut(handle) else { return };
        while let Ok(Some(message)) = association.recv() {
            self.received += message.data.len() as u64;
        }
    }

    fn arrive(&mut self, end: usize, at: PathAddr, mut packet: Vec<u8>) {
        let outcome = self.ends[end].handle_datagram(self.now, at, &mut packet);
        self.spare.push(packet);
        if let DatagramOutcome::Association(handle) | DatagramOutcome::Accepted(handle) = outcome {
            if end == 0 {
                self.send(handle);
            } else {
                self.read(handle);
            }
        }
        self.drain(end);
    }

    fn run(&mut self, bytes: u64) {
        while self.received < bytes {
            let arrivals = [0, 1].map(|end| self.wires[end].front().map(|packet| packet.0));
            let wakes = [self.ends[0].poll_timeout(), self.ends[1].poll_timeout()];
            let Some(next) = arrivals.into_iter().chain(wakes).flatten().min() else { break };
            self.now = self.now.max(next);
            for end in [0, 1] {
                if self.wires[end].front().is_some_and(|packet| packet.0 <= next)
                    && let Some((_, at, packet)) = self.wires[end].pop_front()
                {
                    self.arrive(end, at, packet);
                }
                if self.ends[end].poll_timeout().is_some_and(|wake| wake <= self.now) {
                    self.ends[end].handle_timeout(self.now);
                    self.drain(end);
                }
            }
        }
    }
}

/// CPU time of this thread where the system reports it, else elapsed time.
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

/// Returns the thread's CPU time in nanoseconds (Linux).
fn cpu_nanos() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn main() {
    let mebibytes = std::env::args().nth(1).map_or(2000, |arg| arg.parse::<u64>().expect("a number"));
    let cases = [
        (64 << 10, 1, 0),
        (1 << 20, 1, 0),
        (8 << 20, 1, 0),
        (8 << 20, 1, 1000),
        (8 << 20, 1, 50),
        (64 << 10, 100, 0),
        (6 << 10, 1, 0),
        (6 << 10, 1000, 0),
    ];
    let only = std::env::args().nth(2).map(|arg| arg.parse::<usize>().expect("a number"));
    for (i, (window, flows, loss)) in cases.into_iter().enumerate() {
        if only.is_some_and(|only| only != i) {
            continue;
        }
        let mut pump = Pump::new(window, flows, loss);
        pump.run(u64::from(flows) << 20);
        let (packets, watch) = (pump.packets, Stopwatch::start());
        let total = if loss > 0 { mebibytes / 4 } else { mebibytes } << 20;
        pump.run(pump.received + total);
        let packets = pump.packets - packets;
        println!(
            "window {:5} KiB, {flows:4} associations, loss {}: {:4.0} ns per data packet ({packets} packets)",
            window >> 10,
            if loss > 0 { format!("1 in {loss:4}") } else { "     none".to_owned() },
            watch.nanos() as f64 / packets as f64,
        );
    }
}
