//! Memory that peers can make an endpoint hold, counted by the allocator (`EndpointConfig::receive_memory`).
//! In its own process with a single test, so that nothing else allocates.

#[path = "it/support/mod.rs"]
mod support;

use std::alloc::System;

use msctp_proto::{Config, DatagramOutcome, Endpoint, EndpointConfig, Handle, LocalAddrs, PathAddr};
use msctp_units::{Span, Time};
use msctp_wire::{
    Checksum, Chunk, CookieEcho, Data, DataFlags, Init, Packet, Param, Params, Ppid, Sack, Ssn, StreamId,
    Tsn, VerificationTag,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{PORT_B, b_ip, ip, packet_between};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BUDGET: usize = 8 << 20;
const PEERS: u16 = 32;
/// Memory of an association without data, and its minimum share, in bytes.
const EACH: usize = 24 << 10;

struct Server {
    endpoint: Endpoint,
    now: Time,
    out: Vec<u8>,
}

/// A peer's association: its port, its tag and the handle.
#[derive(Clone, Copy)]
struct Peer {
    port: u16,
    tag: u32,
    handle: Handle,
}

impl Server {
    fn new() -> Self {
        let config = EndpointConfig { receive_memory: BUDGET as u64, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, [5; 32]).unwrap();
        endpoint.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, Config::default()).unwrap();
        Self { endpoint, now: Time::ZERO + Span::from_secs(1), out: Vec::new() }
    }

    fn take(&mut self, bytes: &[u8]) -> DatagramOutcome {
        let at = PathAddr { local: b_ip(0), remote: ip(66, 6) };
        self.endpoint.handle_datagram(self.now, at, &mut bytes.to_vec())
    }

    /// Polls all packets, and passes their chunks to `each`.
    fn drain(&mut self, mut each: impl FnMut(&Chunk<'_>)) {
        self.out.clear();
        while self.endpoint.poll_transmit(self.now, &mut self.out).is_some() {
            let packet = Packet::parse(&self.out, Checksum::Verify).unwrap();
            packet.chunks().flatten().for_each(|chunk| each(&chunk));
            self.out.clear();
        }
        while self.endpoint.poll_event().is_some() {}
    }

    fn accept(&mut self, port: u16) -> Peer {
        let init = Init {
            initiate_tag: VerificationTag::new(7),
            a_rwnd: 1 << 20,
            outbound_streams: 65_535,
            inbound_streams: 10,
            initial_tsn: Tsn::new(1),
            params: Params::EMPTY,
        };
        self.take(&packet_between(port, PORT_B, 0, &[&init]));
        let mut found = None;
        self.drain(|chunk| {
            let Chunk::InitAck(ack) = chunk else { return };
            let cookie = ack.params.iter().flatten().find_map(|param| match param {
                Param::StateCookie(cookie) => Some(cookie.to_vec()),
                _ => None,
            });
            found = Some((ack.initiate_tag.get(), cookie.unwrap()));
        });
        let (tag, cookie) = found.unwrap();
        let echo = packet_between(port, PORT_B, tag, &[&CookieEcho { cookie: &cookie }]);
        let DatagramOutcome::Accepted(handle) = self.take(&echo) else { panic!("not accepted") };
        self.drain(|_| ());
        Peer { port, tag, handle }
    }

    /// Sends a DATA chunk; returns the window of the answer, if there is one.
    fn data(&mut self, peer: Peer, tsn: u32, stream: u16, ssn: u16, payload: &[u8]) -> Option<(u32, u32)> {
        let data = Data {
            tsn: Tsn::new(tsn),
            stream: StreamId::new(stream),
            ssn: Ssn::new(ssn),
            ppid: Ppid::new(0),
            flags: DataFlags { immediate: true, ..DataFlags::UNFRAGMENTED },
            payload,
        };
        self.take(&packet_between(peer.port, PORT_B, peer.tag, &[&data]));
        let mut told = None;
        self.drain(|chunk| {
            if let Chunk::Sack(Sack { cum_tsn_ack, a_rwnd, .. }) = chunk {
                told = Some((cum_tsn_ack.get(), *a_rwnd));
            }
        });
        told
    }
}

#[test]
fn all_peers_together_stay_within_the_endpoints_memory_and_an_honest_one_is_served() {
    for size in [1usize, 100, 1400] {
        let mut server = Server::new();
        let region = Region::new(ALLOCATOR);
        let held = || {
            let change = region.change();
            change.bytes_allocated.saturating_sub(change.bytes_deallocated)
        };
        let peers: Vec<Peer> = (0..PEERS).map(|n| server.accept(6000 + n)).collect();
        let payload = vec![7; size];
        // A byte on each stream, all read: the memory of a stream is never freed.
        for (n, peer) in peers.iter().enumerate().filter(|(n, _)| n % 2 == 0) {
            for (tsn, stream) in (1..).zip((0..65_535).step_by(32)) {
                server.data(*peer, tsn, stream, 0, &[n as u8]);
                if let Some(association) = server.endpoint.association_mut(peer.handle) {
                    while association.recv().is_ok_and(|message| message.is_some()) {}
                }
            }
        }
        // All fragments but those of the next message: nothing can be read.
        for peer in peers.iter().filter(|peer| peer.port % 2 == 1) {
            for n in 0..6_000u32 {
                server.data(*peer, 2 + n, 0, 1 + n as u16, &payload);
            }
        }
        let limit = BUDGET + usize::from(PEERS) * EACH;
        assert!(held() <= limit, "{} bytes held of messages of {size}, at most {limit}", held());
        let honest = server.accept(7000);
        for n in 0..300u32 {
            let (acked, window) = server.data(honest, 1 + n, 0, n as u16, &[1; 1000]).expect("a SACK");
            assert_eq!(acked, 1 + n, "window {window}");
            let association = server.endpoint.association_mut(honest.handle).unwrap();
            assert_eq!(association.recv().unwrap().expect("a message").data.len(), 1000);
        }
    }
}
