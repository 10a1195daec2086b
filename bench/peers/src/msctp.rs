//! msctp-proto with its default options.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use msctp_proto::{
    Config, DatagramOutcome, Endpoint, EndpointConfig, Event, Handle, LocalAddrs, OutMessage, PathAddr, Pmtu,
    RemoteAddrs,
};
use msctp_units::{Span, Time};

use crate::pair::{End, MESSAGE, Pair, SEND_BUFFER};

const PORT: u16 = 5000;

/// Output of one `poll_transmit`: one or more packets of equal length; the last may be shorter.
struct Burst {
    at: PathAddr,
    segment: usize,
    bytes: Vec<u8>,
}

/// Packets in flight, and buffers for reuse.
#[derive(Default)]
pub struct Wire {
    bursts: VecDeque<Burst>,
    spare: Vec<Vec<u8>>,
}

/// An endpoint.
pub struct Node {
    endpoint: Endpoint,
    /// Shared by all associations.
    config: Arc<Config>,
    local: IpAddr,
    remote: IpAddr,
    next_port: u16,
    connected: usize,
    /// The association that carries data.
    first: Option<Handle>,
    message: Bytes,
}

fn at(now: Duration) -> Time {
    Time::ZERO + Span::from_nanos(now.as_nanos() as u64)
}

/// Returns limits for ten thousand associations of one peer at once, which the defaults reject as an attack.
fn unlimited() -> EndpointConfig {
    EndpointConfig {
        max_associations_per_peer: usize::from(u16::MAX),
        max_replies_per_second: u32::MAX,
        ..EndpointConfig::default()
    }
}

impl Node {
    fn new(config: Arc<Config>, local: u8, remote: u8) -> Self {
        let ip = |last| IpAddr::from([10, 0, 0, last]);
        Self {
            endpoint: Endpoint::new(unlimited(), [local; 32]).expect("valid"),
            config,
            local: ip(local),
            remote: ip(remote),
            next_port: PORT + 1,
            connected: 0,
            first: None,
            message: Bytes::from(vec![0x5a; MESSAGE]),
        }
    }
}

/// Returns client and listening server; `segments`: packets in one `poll_transmit`.
pub fn pair(segments: u32) -> Pair<Node> {
    let config = Arc::new(Config { max_segments: segments, pmtu: Pmtu::Fixed(1500), ..Config::default() });
    let (client, mut server) = (Node::new(Arc::clone(&config), 1, 2), Node::new(Arc::clone(&config), 2, 1));
    let local = LocalAddrs { port: PORT, addresses: vec![server.local] };
    server.endpoint.listen(local, config).expect("valid");
    Pair::new(client, server)
}

impl End for Node {
    type Wire = Wire;

    fn connect(&mut self, now: Duration) {
        let local = LocalAddrs { port: self.next_port, addresses: vec![self.local] };
        let remote = RemoteAddrs { port: PORT, addresses: vec![self.remote] };
        self.next_port += 1;
        let handle = self.endpoint.connect(at(now), Arc::clone(&self.config), local, remote).expect("valid");
        self.first.get_or_insert(handle);
    }

    fn connected(&self) -> usize {
        self.connected
    }

    fn drive(&mut self, now: Duration, incoming: &mut Wire, outgoing: &mut Wire) -> bool {
        let now = at(now);
        let mut moved = false;
        while let Some(mut burst) = incoming.bursts.pop_front() {
            moved = true;
            for packet in burst.bytes.chunks_mut(burst.segment) {
                if let DatagramOutcome::Accepted(handle) =
                    self.endpoint.handle_datagram(now, burst.at, packet)
                {
                    self.first.get_or_insert(handle);
                }
            }
            burst.bytes.clear();
            incoming.spare.push(burst.bytes);
        }
        if self.endpoint.poll_timeout().is_some_and(|wake| wake <= now) {
            self.endpoint.handle_timeout(now);
        }
        loop {
            let mut bytes = outgoing.spare.pop().unwrap_or_default();
            let Some(transmit) = self.endpoint.poll_transmit(now, &mut bytes) else {
                outgoing.spare.push(bytes);
                break;
            };
            moved = true;
            let at = PathAddr { local: transmit.at.remote, remote: transmit.at.local };
            let segment = transmit.segment_size.unwrap_or(transmit.len);
            outgoing.bursts.push_back(Burst { at, segment, bytes });
        }
        while let Some((_, event)) = self.endpoint.poll_event() {
            self.connected += usize::from(matches!(event, Event::Connected { .. }));
        }
        moved
    }

    fn wake(&self) -> Option<Duration> {
        self.endpoint.poll_timeout().map(|wake| Duration::from_nanos(wake.since(Time::ZERO).as_nanos()))
    }

    fn send(&mut self, now: Duration, limit: u64) -> u64 {
        let Some(handle) = self.first else { return 0 };
        let Some(association) = self.endpoint.association_mut(handle) else { return 0 };
        let mut sent = 0;
        while sent < limit && association.buffered() < SEND_BUFFER {
            let data = self.message.clone();
            let message = OutMessage { stream: 0, ppid: 0, unordered: false, data, ..OutMessage::default() };
            if association.send(at(now), message).is_err() {
                break;
            }
            sent += 1;
        }
        sent
    }

    fn receive(&mut self) -> u64 {
        let Some(handle) = self.first else { return 0 };
        let Some(association) = self.endpoint.association_mut(handle) else { return 0 };
        let mut bytes = 0;
        while let Ok(Some(message)) = association.recv() {
            bytes += std::hint::black_box(message.data).len() as u64;
        }
        bytes
    }
}
