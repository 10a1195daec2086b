//! Two endpoints over a scripted network in virtual time. Every packet passes a filter that may drop, delay,
//! duplicate or change it. Shared by all tests of the crate that need a peer.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(unreachable_pub, reason = "a module of test binaries")]

pub mod chunks;
pub mod states;

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use msctp_proto::{
    AssociationState, Config, DatagramOutcome, Endpoint, EndpointConfig, Event, Handle, LocalAddrs, Message,
    OutMessage, PathAddr, PathId, RemoteAddrs, Restarted, TraceEvent,
};
use msctp_units::{Ecn, Rate, Span, Time};

pub const PORT_A: u16 = 5000;
pub const PORT_B: u16 = 5001;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    A,
    B,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Time of transmission.
    pub sent: Time,
    /// The sender.
    pub from: Side,
    /// Addresses as the sender sees them.
    pub at: PathAddr,
    /// ECN codepoint, which a filter may change.
    pub ecn: Ecn,
    /// UDP ports of source and destination, with [`Pair::udp`].
    pub ports: Option<[u16; 2]>,
    pub bytes: Vec<u8>,
}

impl Flight {
    /// Returns the chunk types in order.
    pub fn chunks(&self) -> Vec<u8> {
        let (mut types, mut rest) = (Vec::new(), &self.bytes[12..]);
        while rest.len() >= 4 {
            types.push(rest[0]);
            let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(4).next_multiple_of(4);
            rest = rest.get(len..).unwrap_or_default();
        }
        types
    }

    pub fn has(&self, chunk_type: u8) -> bool {
        self.chunks().contains(&chunk_type)
    }

    pub fn tag(&self) -> u32 {
        u32::from_be_bytes(self.bytes[4..8].try_into().unwrap())
    }

    /// Returns the first TSN in the packet.
    pub fn tsn(&self) -> Option<u32> {
        let mut rest = &self.bytes[12..];
        while rest.len() >= 8 {
            if rest[0] == chunk::DATA {
                return Some(u32::from_be_bytes(rest[4..8].try_into().unwrap()));
            }
            let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(4).next_multiple_of(4);
            rest = rest.get(len..).unwrap_or_default();
        }
        None
    }
}

/// Chunk types, for filters.
pub mod chunk {
    pub const DATA: u8 = 0;
    pub const INIT: u8 = 1;
    pub const INIT_ACK: u8 = 2;
    pub const SACK: u8 = 3;
    pub const HEARTBEAT: u8 = 4;
    pub const HEARTBEAT_ACK: u8 = 5;
    pub const ABORT: u8 = 6;
    pub const SHUTDOWN: u8 = 7;
    pub const SHUTDOWN_ACK: u8 = 8;
    pub const ERROR: u8 = 9;
    pub const COOKIE_ECHO: u8 = 10;
    pub const COOKIE_ACK: u8 = 11;
    pub const ECNE: u8 = 12;
    pub const CWR: u8 = 13;
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    pub const ASCONF_ACK: u8 = 0x80;
    pub const ASCONF: u8 = 0xc1;
}

/// The network's treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Delays the packet by this much.
    Late(Span),
    /// Delivers the packet twice, the second time after this delay.
    Twice(Span),
}

type Filter = Box<dyn FnMut(&mut Flight) -> Fate>;

/// One end: an endpoint, its association under test, and all its output.
pub struct Host {
    pub endpoint: Endpoint,
    pub handle: Option<Handle>,
    pub events: Vec<Event>,
    pub received: Vec<Message>,
    /// Number of messages read at each restart of the peer.
    pub restarts: Vec<usize>,
    pub trace: Vec<TraceEvent>,
    /// True to read messages as soon as they arrive.
    pub reading: bool,
    wake: Option<Time>,
}

impl Host {
    fn new(config: EndpointConfig, seed: u8) -> Self {
        Self {
            endpoint: Endpoint::new(config, [seed; 32]).unwrap(),
            handle: None,
            events: Vec::new(),
            received: Vec::new(),
            restarts: Vec::new(),
            trace: Vec::new(),
            reading: true,
            wake: None,
        }
    }

    pub fn state(&self) -> Option<AssociationState> {
        self.endpoint.association(self.handle?).map(|association| association.state())
    }

    pub fn saw(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(wanted)
    }

    pub fn bytes_received(&self) -> usize {
        self.received.iter().map(|message| message.data.len()).sum()
    }
}

/// The pair and the network between them.
pub struct Pair {
    pub now: Time,
    pub a: Host,
    pub b: Host,
    /// One-way delay of packets with these addresses of the mobile, else `default_delay`.
    pub delays: BTreeMap<IpAddr, Span>,
    pub default_delay: Span,
    /// Rate at which each sender's packets leave on each path; `None`: unlimited.
    pub rate: Option<Rate>,
    free: BTreeMap<(Side, IpAddr, IpAddr), Time>,
    pub filter: Filter,
    /// An address of A, and the one that B sees in its place (NAT).
    pub translate: Option<(IpAddr, IpAddr)>,
    /// UDP ports of A and B, at which they receive and from which they send; `None`: no UDP.
    pub udp: Option<[u16; 2]>,
    /// An attacker's port at A's address, from which a copy of each packet of A comes first.
    pub copies_from: Option<u16>,
    /// An address from which an attacker sends a copy of each packet of A that arrives, first.
    pub copied_from: Option<IpAddr>,
    /// Every packet sent; `None`: not recorded.
    pub log: Option<Vec<Flight>>,
    queue: BTreeMap<(Time, u64), Flight>,
    sequence: u64,
    buffer: Vec<u8>,
}

/// Returns the address `10.<network>.0.<host>`.
pub fn ip(network: u8, host: u8) -> IpAddr {
    IpAddr::from([10, network, 0, host])
}

/// Returns A's address in this network.
pub fn a_ip(network: u8) -> IpAddr {
    ip(network, 1)
}

/// Returns B's address in this network.
pub fn b_ip(network: u8) -> IpAddr {
    ip(network, 2)
}

pub fn text_message(text: &str) -> OutMessage {
    message(0, text.as_bytes().to_vec())
}

pub fn message(stream: u16, data: Vec<u8>) -> OutMessage {
    OutMessage { stream, ppid: 0, unordered: false, data: data.into(), context: 0, ..OutMessage::default() }
}

impl Pair {
    /// Creates a pair whose B listens on the given addresses, before any packet is sent.
    pub fn new(config_b: Config, addresses_b: Vec<IpAddr>) -> Self {
        let mut pair = Self {
            now: Time::ZERO + Span::from_secs(1),
            a: Host::new(EndpointConfig::default(), 1),
            b: Host::new(EndpointConfig::default(), 2),
            delays: BTreeMap::new(),
            default_delay: Span::from_millis(20),
            rate: None,
            free: BTreeMap::new(),
            filter: Box::new(|_| Fate::Pass),
            translate: None,
            udp: None,
            copies_from: None,
            copied_from: None,
            log: None,
            queue: BTreeMap::new(),
            sequence: 0,
            buffer: Vec::new(),
        };
        let local = LocalAddrs { port: PORT_B, addresses: addresses_b };
        pair.b.endpoint.listen(local, config_b).unwrap();
        pair
    }

    /// Starts an association from A.
    pub fn connect(&mut self, config: Config, local: Vec<IpAddr>, remote: Vec<IpAddr>) -> Handle {
        let local = LocalAddrs { port: PORT_A, addresses: local };
        let remote = RemoteAddrs { port: PORT_B, addresses: remote };
        let handle = self.a.endpoint.connect(self.now, config, local, remote).unwrap();
        self.a.handle = Some(handle);
        if let Some([_, port]) = self.udp {
            self.a.endpoint.association_mut(handle).unwrap().encapsulate(port);
        }
        self.drain(Side::A);
        handle
    }

    /// Establishes a pair with one address each.
    pub fn established(config: Config) -> Self {
        Self::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)])
    }

    /// Establishes a pair with all paths confirmed.
    pub fn established_with(
        config_a: Config,
        config_b: Config,
        addresses_a: Vec<IpAddr>,
        addresses_b: Vec<IpAddr>,
    ) -> Self {
        let first = addresses_b[0];
        let mut pair = Self::new(config_b, addresses_b);
        pair.connect(config_a, addresses_a, vec![first]);
        pair.run_for(Span::from_secs(10));
        assert_eq!(pair.a.state(), Some(AssociationState::Established));
        assert_eq!(pair.b.state(), Some(AssociationState::Established));
        pair
    }

    pub fn host(&mut self, side: Side) -> &mut Host {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Drops every packet that matches `lost`.
    pub fn drop_if(&mut self, mut lost: impl FnMut(&Flight) -> bool + 'static) {
        self.filter = Box::new(move |flight| if lost(flight) { Fate::Drop } else { Fate::Pass });
    }

    /// Drops the first `count` packets from `from` with a chunk of this type.
    pub fn drop_first(&mut self, from: Side, chunk_type: u8, count: usize) {
        let mut left = count;
        self.drop_if(move |flight| {
            let hit = left > 0 && flight.from == from && flight.has(chunk_type);
            left -= usize::from(hit);
            hit
        });
    }

    pub fn pass_all(&mut self) {
        self.filter = Box::new(|_| Fate::Pass);
    }

    /// Calls `f` on the association of that side, then sends the resulting packets.
    pub fn with<R>(&mut self, side: Side, f: impl FnOnce(&mut msctp_proto::Association, Time) -> R) -> R {
        let now = self.now;
        let host = self.host(side);
        let handle = host.handle.expect("an association");
        let result = f(host.endpoint.association_mut(handle).expect("still there"), now);
        self.drain(side);
        result
    }

    pub fn send(&mut self, side: Side, message: OutMessage) {
        self.with(side, |association, now| association.send(now, message)).unwrap();
    }

    /// Returns that side's path between these addresses.
    pub fn path(&mut self, side: Side, local: IpAddr, remote: IpAddr) -> PathId {
        let at = PathAddr { local, remote };
        self.with(side, |association, _| association.paths().find(|path| path.at == at).map(|path| path.id))
            .unwrap_or_else(|| panic!("no path {at}"))
    }

    /// Passes a packet to `to` as if it arrived from the network now.
    pub fn inject(&mut self, to: Side, at: PathAddr, bytes: &[u8]) -> DatagramOutcome {
        self.inject_marked(to, at, Ecn::NotEct, bytes)
    }

    /// Same as [`inject`](Self::inject), with an ECN codepoint.
    pub fn inject_marked(&mut self, to: Side, at: PathAddr, ecn: Ecn, bytes: &[u8]) -> DatagramOutcome {
        self.inject_from(to, at, ecn, None, bytes)
    }

    /// Same as [`inject_marked`](Self::inject_marked), from a UDP port.
    pub fn inject_from(
        &mut self,
        to: Side,
        at: PathAddr,
        ecn: Ecn,
        port: Option<u16>,
        bytes: &[u8],
    ) -> DatagramOutcome {
        let now = self.now;
        let host = self.host(to);
        let bytes = &mut bytes.to_vec();
        let outcome = match port {
            Some(port) => host.endpoint.handle_encapsulated_datagram(now, at, port, ecn, bytes),
            None => host.endpoint.handle_marked_datagram(now, at, ecn, bytes),
        };
        if let DatagramOutcome::Accepted(handle) = outcome {
            host.handle = Some(handle);
        }
        self.drain(to);
        outcome
    }

    /// Polls all output of one end.
    pub fn drain(&mut self, side: Side) {
        loop {
            self.transmit(side);
            let host = self.host(side);
            while let Some((handle, event)) = host.endpoint.poll_event() {
                if host.handle == Some(handle) {
                    host.events.push(event);
                }
            }
            while let Some((_, event)) = host.endpoint.poll_trace() {
                host.trace.push(event);
            }
            let mut read = false;
            if host.reading
                && let Some(handle) = host.handle
                && host.endpoint.association(handle).is_some_and(|association| association.readable())
                && let Some(association) = host.endpoint.association_mut(handle)
            {
                loop {
                    match association.recv() {
                        Ok(Some(message)) => host.received.push(message),
                        Err(Restarted) => host.restarts.push(host.received.len()),
                        Ok(None) => break,
                    }
                    read = true;
                }
            }
            if !read {
                break;
            }
        }
        let host = self.host(side);
        host.wake = host.endpoint.poll_timeout();
    }

    fn transmit(&mut self, side: Side) {
        let mut buffer = core::mem::take(&mut self.buffer);
        loop {
            buffer.clear();
            let now = self.now;
            let Some(transmit) = self.host(side).endpoint.poll_transmit(now, &mut buffer) else { break };
            assert_eq!(buffer.len(), transmit.len);
            let step = transmit.segment_size.unwrap_or(transmit.len);
            // A reply to the setup goes to where the other end is.
            let to = self.udp.map(|udp| transmit.udp_port.unwrap_or(udp[side.other() as usize]));
            let ports = self.udp.zip(to).map(|(udp, to)| [udp[side as usize], to]);
            for bytes in buffer.chunks(step) {
                self.launch(Flight {
                    sent: now,
                    from: side,
                    at: transmit.at,
                    ecn: transmit.ecn,
                    ports,
                    bytes: bytes.to_vec(),
                });
            }
        }
        self.buffer = buffer;
    }

    fn launch(&mut self, mut flight: Flight) {
        if let Some(log) = &mut self.log {
            log.push(flight.clone());
        }
        let fate = (self.filter)(&mut flight);
        let delay = [flight.at.local, flight.at.remote]
            .iter()
            .find_map(|address| self.delays.get(address))
            .copied()
            .unwrap_or(self.default_delay);
        let mut leaves = self.now;
        if let Some(rate) = self.rate {
            let free = self.free.entry((flight.from, flight.at.local, flight.at.remote)).or_default();
            leaves = leaves.max(*free) + rate.time_for(flight.bytes.len() as u64 + 20);
            *free = leaves;
        }
        let arrival = leaves + delay;
        match fate {
            Fate::Drop => {}
            Fate::Pass => self.enqueue(arrival, flight),
            Fate::Late(by) => self.enqueue(arrival + by, flight),
            Fate::Twice(by) => {
                self.enqueue(arrival, flight.clone());
                self.enqueue(arrival + by, flight);
            }
        }
    }

    fn enqueue(&mut self, arrival: Time, flight: Flight) {
        self.queue.insert((arrival, self.sequence), flight);
        self.sequence += 1;
    }

    /// Processes the next event; returns false if there is none before `end`.
    pub fn step(&mut self, end: Time) -> bool {
        let arrival = self.queue.keys().next().map(|key| key.0);
        let next = [arrival, self.a.wake, self.b.wake].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, flight) = self.queue.pop_first().expect("there is a first key");
            let mut at = PathAddr { local: flight.at.remote, remote: flight.at.local };
            if let Some((inside, outside)) = self.translate {
                match flight.from {
                    Side::A if at.remote == inside => at.remote = outside,
                    Side::B if at.local == outside => at.local = inside,
                    _ => {}
                }
            }
            let to = flight.from.other();
            if self.udp.zip(flight.ports).is_some_and(|(udp, ports)| udp[to as usize] != ports[1]) {
                // Nobody, or an attacker, is there.
                return true;
            }
            if flight.from == Side::A && self.copies_from.is_some() {
                self.inject_from(to, at, flight.ecn, self.copies_from, &flight.bytes);
            }
            if let Some(remote) = self.copied_from.filter(|_| flight.from == Side::A) {
                let ports = flight.ports.map(|ports| ports[0]);
                self.inject_from(to, PathAddr { remote, ..at }, flight.ecn, ports, &flight.bytes);
            }
            self.inject_from(to, at, flight.ecn, flight.ports.map(|ports| ports[0]), &flight.bytes);
            return true;
        }
        for side in [Side::A, Side::B] {
            let now = self.now;
            let host = self.host(side);
            if host.wake.is_some_and(|wake| wake <= now) {
                host.endpoint.handle_timeout(now);
                self.drain(side);
            }
        }
        true
    }

    pub fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        while self.step(end) {}
    }

    /// Runs until `done`, for at most `limit`. Returns false if `done` did not become true.
    pub fn run_until(&mut self, limit: Span, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if !self.step(end) {
                return done(self);
            }
        }
    }

    /// Sends `count` messages of `len` bytes from `from` as room allows, each beginning with its number. Runs
    /// until all have arrived, for at most `limit`. Panics if one is missing, duplicated or out of order.
    pub fn transfer(&mut self, from: Side, count: u32, len: usize, limit: Span) {
        let before = self.host(from.other()).received.len();
        let mut waiting: VecDeque<u32> = (0..count).collect();
        let all = before + count as usize;
        let done = self.run_until(limit, |pair| {
            pair.feed(from, &mut waiting, len);
            pair.host(from.other()).received.len() >= all
        });
        let received = &self.host(from.other()).received[before..];
        let numbers: Vec<u32> =
            received.iter().map(|m| u32::from_be_bytes(m.data[..4].try_into().unwrap())).collect();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "order: {numbers:?}");
        assert!(done, "{} of {count} messages arrived", numbers.len());
    }

    /// Sends numbered messages as long as they fit.
    pub fn feed(&mut self, from: Side, waiting: &mut VecDeque<u32>, len: usize) {
        let now = self.now;
        let host = self.host(from);
        let Some(association) = host.handle.and_then(|handle| host.endpoint.association_mut(handle)) else {
            return;
        };
        let mut sent = false;
        while let Some(number) = waiting.front() {
            let mut data = number.to_be_bytes().to_vec();
            data.resize(len.max(4), *number as u8);
            if association.send(now, message(0, data)).is_err() {
                break;
            }
            waiting.pop_front();
            sent = true;
        }
        if sent {
            self.drain(from);
        }
    }
}

/// Builds an SCTP packet as the other side of `to` would send it.
pub fn packet(to: Side, tag: u32, chunks: &[&dyn msctp_wire::EncodeChunk]) -> Vec<u8> {
    let (src, dst) = match to {
        Side::A => (PORT_B, PORT_A),
        Side::B => (PORT_A, PORT_B),
    };
    packet_between(src, dst, tag, chunks)
}

/// Writes the right checksum into a changed packet.
pub fn reseal(bytes: &mut [u8]) {
    bytes[8..12].fill(0);
    let crc = msctp_wire::crc32c(bytes);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
}

/// Builds an SCTP packet between any ports.
pub fn packet_between(src: u16, dst: u16, tag: u32, chunks: &[&dyn msctp_wire::EncodeChunk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let tag = msctp_wire::VerificationTag::new(tag);
    let mut builder = msctp_wire::PacketBuilder::new(&mut bytes, src, dst, tag, 65_535);
    for chunk in chunks {
        builder.push(*chunk).unwrap();
    }
    builder.finish();
    bytes
}

impl Pair {
    /// Returns the addresses of a packet from the other side, as `to` sees them, in network 0.
    pub fn at(to: Side) -> PathAddr {
        match to {
            Side::A => PathAddr { local: a_ip(0), remote: b_ip(0) },
            Side::B => PathAddr { local: b_ip(0), remote: a_ip(0) },
        }
    }

    /// Returns the verification tag that `to` expects. Needs the log, and a packet sent to it.
    pub fn tag_of(&self, to: Side) -> u32 {
        let log = self.log.as_ref().expect("the log is on");
        log.iter().rev().find(|f| f.from == to.other() && f.tag() != 0).expect("a packet to it").tag()
    }

    /// Returns the packets logged from that side since the log had `since` entries.
    pub fn sent_since(&self, from: Side, since: usize) -> Vec<Flight> {
        let log = self.log.as_ref().expect("the log is on");
        log[since..].iter().filter(|flight| flight.from == from).cloned().collect()
    }

    pub fn log_len(&self) -> usize {
        self.log.as_ref().map_or(0, Vec::len)
    }
}
