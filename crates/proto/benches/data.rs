//! What data transfer costs per DATA chunk: an `Outbound` and an `Inbound` joined by a pipe that holds a
//! whole window.
//!
//! `cargo bench -p msctp-proto --bench data [PART OF A NAME]`. Prints CPU time per chunk, both ends and SACKs
//! included; in it is what building and parsing packets costs (checksum included), which the first line gives
//! alone. The window is fixed, so that losses leave as much outstanding as without.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Instant;

use bytes::Bytes;
use msctp_congestion::{Ack, Controller, ControllerFactory, Loss, StartState, Window};
use msctp_proto::inbound::Inbound;
use msctp_proto::outbound::Outbound;
use msctp_proto::path::{Paths, PathsConfig, SourceUse};
use msctp_proto::{Config, OutMessage, PathId};
use msctp_units::{Rate, Span, Time};
use msctp_wire::{
    Checksum, Chunk, Data, DataFlags, Packet, PacketBuilder, Ppid, Ssn, StreamId, Tsn, VerificationTag,
};

/// 8 MiB of full chunks.
const OUTSTANDING: usize = 5800;
const PAYLOAD: usize = 1452;
const PACKET: usize = 1480;

/// A window that never moves.
#[derive(Debug)]
struct Fixed(u64);

impl Controller for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn window(&self) -> Window {
        Window { cwnd: self.0, ssthresh: self.0, partial_bytes_acked: 0 }
    }
    fn one_packet_in_flight(&self) -> bool {
        false
    }
    fn on_ack(&mut self, _: &Ack) {}
    fn on_loss(&mut self, _: &Loss) {}
    fn on_recovery_exit(&mut self, _: Time) {}
    fn on_spurious_timeout(&mut self, _: Time) {}
    fn on_idle(&mut self, _: u64) {}
    fn start(&mut self, _: &StartState) {}
    fn reset(&mut self) {}
    fn on_pmtu(&mut self, _: u64) {}
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

struct Bench {
    now: Time,
    out: Outbound,
    paths: Paths,
    inbound: Inbound,
    pipe: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    sack: Vec<u8>,
    payload: Bytes,
    /// One first transmission in so many is lost.
    loss: u32,
    sent: u32,
    delivered: u64,
}

impl Bench {
    fn new(outstanding: usize, loss: u32) -> Self {
        let window = (outstanding * (PAYLOAD + 16)) as u64;
        let config = Config {
            receive_buffer: 64 << 20,
            send_buffer: (window as u32) * 2,
            max_burst: 0,
            ..Config::default()
        };
        // The pipe's depth is the window's.
        let controller = ControllerFactory::new(move |_| Box::new(Fixed(window)));
        let mut paths = Paths::new(PathsConfig { controller, ..PathsConfig::default() }, [0; 32]);
        paths.add_local(IpAddr::from([10, 0, 0, 1]), SourceUse::Full, Time::ZERO).expect("a unicast address");
        let added = paths.add_remote(IpAddr::from([10, 0, 0, 2]), Time::ZERO).expect("a unicast address");
        paths.confirm(added[0], Time::ZERO);
        let mut out = Outbound::new(&(&config).into(), Tsn::new(1));
        out.establish(config.receive_buffer, 1);
        Self {
            now: Time::ZERO,
            out,
            paths,
            inbound: Inbound::new(&(&config).into(), Tsn::new(1), 1),
            pipe: VecDeque::new(),
            spare: Vec::new(),
            sack: Vec::new(),
            payload: Bytes::from(vec![7; PAYLOAD]),
            loss,
            sent: 0,
            delivered: 0,
        }
    }

    /// Lets the sender fill the pipe.
    fn send(&mut self) {
        let message = || OutMessage {
            stream: 0,
            ppid: 0,
            unordered: false,
            data: self.payload.clone(),
            context: 0,
            ..OutMessage::default()
        };
        while self.out.enqueue(self.now, message(), &mut self.paths).is_ok() {}
        while let Some(path) = self.out.next_path(self.now, &mut self.paths) {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            let mut builder = builder(&mut bytes);
            let filled = self.out.fill(self.now, path, &mut self.paths, &mut builder);
            core::hint::black_box(&builder);
            seal(builder);
            self.sent += filled.new;
            if self.loss > 0 && filled.new > 0 && self.sent.is_multiple_of(self.loss) {
                self.spare.push(bytes);
            } else {
                self.pipe.push_back(bytes);
            }
        }
    }

    /// The packet longest in the pipe arrives; its SACK gets back at once.
    fn receive(&mut self) {
        let Some(bytes) = self.pipe.pop_front() else {
            self.now = self.out.next_timeout(&self.paths).expect("nothing under way and no timer");
            self.out.handle_timeout(self.now, &mut self.paths);
            return;
        };
        self.now += Span::from_micros(12);
        for chunk in Packet::parse(&bytes, Checksum::Skip).expect("a packet").chunks() {
            if let Ok(Chunk::Data(data)) = chunk {
                self.inbound.handle_data(&data).expect("right chunks");
            }
        }
        self.inbound.end_packet(self.now);
        self.spare.push(bytes);
        while self.inbound.read().is_some() {
            self.delivered += 1;
        }
        if self.inbound.sack_due(self.now) {
            self.sack.clear();
            let mut builder = builder(&mut self.sack);
            self.inbound.encode_sack(&mut builder);
            seal(builder);
            for chunk in Packet::parse(&self.sack, Checksum::Skip).expect("a packet").chunks() {
                if let Ok(Chunk::Sack(sack)) = chunk {
                    self.out.handle_sack(self.now, &sack, &mut self.paths).expect("a right SACK");
                }
            }
        }
    }

    fn run(&mut self, chunks: u64) {
        let until = self.delivered + chunks;
        while self.delivered < until {
            self.send();
            self.receive();
        }
    }
}

fn builder(out: &mut Vec<u8>) -> PacketBuilder<'_> {
    PacketBuilder::new(out, 5000, 5001, VerificationTag::new(1), PACKET)
}

fn seal(builder: PacketBuilder<'_>) {
    builder.finish();
}

/// CPU time of this thread so far, in ns; where the system does not tell, the time that passed.
fn cpu_time(start: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = stat.split_whitespace().next().and_then(|field| field.parse().ok());
    on_cpu.unwrap_or(start.elapsed().as_nanos() as u64)
}

/// The least of several rounds, in ns per chunk: what other processes take is not ours.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn time_per(mut round: impl FnMut(u64)) -> f64 {
    const ROUNDS: u64 = 20;
    const CHUNKS: u64 = 50_000;
    let start = Instant::now();
    let timed = |_| {
        let before = cpu_time(start);
        round(CHUNKS);
        (cpu_time(start) - before) as f64 / CHUNKS as f64
    };
    (0..ROUNDS).map(timed).fold(f64::INFINITY, f64::min)
}

fn wire_alone() -> f64 {
    let payload = vec![7; PAYLOAD];
    let mut pipe: VecDeque<Vec<u8>> = (0..OUTSTANDING).map(|_| Vec::new()).collect();
    time_per(|count| {
        for n in 0..count {
            let mut out = pipe.pop_front().unwrap_or_default();
            out.clear();
            let mut builder = builder(&mut out);
            let data = Data {
                tsn: Tsn::new(n as u32),
                stream: StreamId::new(0),
                ssn: Ssn::new(n as u16),
                ppid: Ppid::new(0),
                flags: DataFlags::UNFRAGMENTED,
                payload: &payload,
            };
            builder.push(&data).expect("it fits");
            seal(builder);
            pipe.push_back(out);
            let oldest = pipe.front().filter(|bytes| !bytes.is_empty());
            if let Some(packet) = oldest.and_then(|bytes| Packet::parse(bytes, Checksum::Skip).ok()) {
                for chunk in packet.chunks() {
                    core::hint::black_box(&chunk);
                }
            }
        }
    })
}

fn main() {
    // cargo passes --bench; anything else picks the cases whose name has it
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("{:40} {:7.1} ns/chunk", "packets built and parsed, nothing else", wire_alone());
    for (name, outstanding, loss) in [
        ("40 outstanding, no loss", 40, 0),
        ("5800 outstanding, no loss", OUTSTANDING, 0),
        ("5800 outstanding, one hole per window", OUTSTANDING, 5800),
        ("5800 outstanding, 1 in 1000 lost", OUTSTANDING, 1000),
        ("5800 outstanding, 1 in 100 lost", OUTSTANDING, 100),
        ("5800 outstanding, 1 in 10 lost", OUTSTANDING, 10),
    ] {
        if !name.contains(&wanted) {
            continue;
        }
        let mut bench = Bench::new(outstanding, loss);
        bench.run(20_000);
        let ns = time_per(|count| bench.run(count));
        let outstanding = bench.out.outstanding_chunks();
        let path = bench.paths.get(PathId::new(0)).expect("the only path");
        println!(
            "{name:40} {ns:7.1} ns/chunk   ({outstanding} outstanding, {} holes, {} timeouts)",
            bench.inbound.gap_count(),
            path.timeouts,
        );
    }
}
