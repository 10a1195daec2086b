//! Tests of the sending half, grouped by section of RFC 9260.

mod aggregate;
mod buffer;
mod consistency;
mod differentiation;
mod losses;
mod pacing;
mod partial;
mod rack;
mod resend;
mod sacks;
mod sending;
mod timers;
mod transfer;
mod truncated;
#[cfg(debug_assertions)]
mod untimed;

use bytes::Bytes;
use core::net::IpAddr;
use msctp_congestion::StartState;
use msctp_units::{Span, Time};
use msctp_wire::{Checksum, Chunk, Data, GapBlock, List, Packet, PacketBuilder, Sack, Tsn, VerificationTag};

use super::sack::SackOutcome;
use super::{Outbound, OutboundConfig};
use crate::addr::PathId;
use crate::config::{Config, PathUse};
use crate::error::SendError;
use crate::message::OutMessage;
use crate::path::{Path, Paths, PathsConfig, SourceUse};

pub(super) const P0: PathId = PathId::new(0);
pub(super) const P1: PathId = PathId::new(1);

/// PMDCS of an IPv4 path with a PMTU of 1500: less 20 bytes of IP and 12 of SCTP header.
pub(super) const PMDCS: u64 = 1468;
/// User bytes of a full chunk.
pub(super) const FULL: usize = 1452;

pub(super) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A DATA chunk on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) tsn: u32,
    pub(super) len: usize,
    pub(super) immediate: bool,
}

/// A packet on the wire: its path and its DATA chunks.
pub(super) type Sent = (PathId, Vec<Seen>);

/// Returns `count` paths from one local address to as many remote ones, all confirmed, the first primary.
pub(super) fn paths(count: u8) -> Paths {
    paths_with(count, PathsConfig::default())
}

fn paths_with(count: u8, config: PathsConfig) -> Paths {
    let mut paths = Paths::new(config, [1; 32]);
    paths.add_local(IpAddr::from([10, 0, 0, 1]), SourceUse::Full, Time::ZERO).unwrap();
    for n in 0..count {
        let added = paths.add_remote(IpAddr::from([192, 0, 2, n + 1]), Time::ZERO).unwrap();
        paths.confirm(added[0], Time::ZERO);
    }
    while paths.poll_event().is_some() {}
    paths
}

pub(super) fn packet_bytes(fill: impl FnOnce(&mut PacketBuilder<'_>), max_len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, 1, 2, VerificationTag::new(9), max_len);
    fill(&mut builder);
    builder.finish();
    out
}

pub(super) fn with_data(bytes: &[u8], mut each: impl FnMut(&Data<'_>)) {
    for chunk in Packet::parse(bytes, Checksum::Verify).unwrap().chunks() {
        if let Chunk::Data(data) = chunk.unwrap() {
            each(&data);
        }
    }
}

/// A sender, its paths and a clock. Its first TSN is 1, the peer's window 1 MiB.
pub(super) struct Sender {
    pub(super) out: Outbound,
    pub(super) paths: Paths,
    pub(super) now: Time,
    pub(super) a_rwnd: u32,
}

impl Sender {
    pub(super) fn new(paths: u8) -> Self {
        Self::with(paths, |_| {})
    }

    pub(super) fn with(count: u8, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config { max_burst: 0, ..Config::default() };
        change(&mut config);
        let mut out = Outbound::new(&OutboundConfig::from(&config), Tsn::new(1));
        assert!(out.establish(1 << 20, 10).is_empty());
        let aggregate = config.paths == PathUse::Aggregate;
        let paths = paths_with(count, PathsConfig { aggregate, ..PathsConfig::default() });
        Self { out, paths, now: ms(1000), a_rwnd: 1 << 20 }
    }

    /// Sets a path's window to this many full chunks, in congestion avoidance.
    pub(super) fn window(mut self, path: PathId, chunks: u64) -> Self {
        let start =
            StartState { cwnd: chunks * PMDCS, ssthresh: Some(chunks * PMDCS - 1), pacing_rate: None };
        self.path_mut(path).controller.start(&start);
        self
    }

    pub(super) fn path(&self, id: PathId) -> &Path {
        self.paths.get(id).unwrap()
    }

    pub(super) fn path_mut(&mut self, id: PathId) -> &mut Path {
        self.paths.get_mut(id).unwrap()
    }

    pub(super) fn cwnd(&self, id: PathId) -> u64 {
        self.path(id).controller.window().cwnd
    }

    pub(super) fn give(&mut self, message: OutMessage) -> Result<(), SendError> {
        self.out.enqueue(self.now, message, &mut self.paths)
    }

    pub(super) fn enqueue(&mut self, count: usize, len: usize) {
        for _ in 0..count {
            let message = OutMessage {
                stream: 0,
                ppid: 0,
                unordered: false,
                data: Bytes::from(vec![7; len]),
                ..OutMessage::default()
            };
            self.give(message).unwrap();
        }
    }

    /// Fills one packet on a path, whether or not a chunk may be sent.
    pub(super) fn fill(&mut self, path: PathId) -> Vec<Seen> {
        let (now, wants) = (self.now, self.out.wants_to_send(self.now, path, &self.paths));
        let max_len = self.out.oversized_packet(path, &mut self.paths).unwrap_or(1480);
        let mut filled = None;
        let bytes = packet_bytes(
            |builder| filled = Some(self.out.fill(now, path, &mut self.paths, None, builder)),
            max_len,
        );
        let filled = filled.unwrap();
        assert_eq!(wants, !filled.is_empty(), "wants_to_send and fill disagree on {path}");
        let mut chunks = Vec::new();
        with_data(&bytes, |data| {
            chunks.push(Seen {
                tsn: data.tsn.get(),
                len: data.payload.len(),
                immediate: data.flags.immediate,
            });
        });
        assert_eq!(filled.new + filled.again, chunks.len() as u32);
        assert_eq!(filled.bytes, chunks.iter().map(|seen| seen.len as u64).sum());
        self.out.assert_consistent(&self.paths);
        chunks
    }

    /// Returns all packets that may leave now.
    pub(super) fn flush(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(path) = self.out.next_path(self.now, &mut self.paths) {
            let chunks = self.fill(path);
            assert!(!chunks.is_empty(), "next_path returned {path} without a chunk to send");
            sent.push((path, chunks));
        }
        sent
    }

    /// Returns the TSNs of all packets that may leave now.
    pub(super) fn tsns(&mut self) -> Vec<u32> {
        self.flush().into_iter().flat_map(|(_, chunks)| chunks).map(|seen| seen.tsn).collect()
    }

    pub(super) fn sack(&mut self, cum: u32, gaps: &[(u16, u16)]) -> SackOutcome {
        self.sack_with(cum, gaps, &[])
    }

    pub(super) fn sack_with(&mut self, cum: u32, gaps: &[(u16, u16)], duplicates: &[u32]) -> SackOutcome {
        let gaps: Vec<_> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
        let duplicates: Vec<_> = duplicates.iter().map(|&tsn| Tsn::new(tsn)).collect();
        let sack = Sack {
            cum_tsn_ack: Tsn::new(cum),
            a_rwnd: self.a_rwnd,
            gap_blocks: List::from(&gaps[..]),
            duplicates: List::from(&duplicates[..]),
        };
        let outcome = self.out.handle_sack(self.now, &sack, &mut self.paths).unwrap();
        self.out.assert_consistent(&self.paths);
        outcome
    }

    /// Advances the clock to the next deadline and handles it.
    pub(super) fn time_out(&mut self) -> Time {
        self.now = self.out.next_timeout(&self.paths).expect("no timer runs");
        self.out.handle_timeout(self.now, &mut self.paths);
        self.out.assert_consistent(&self.paths);
        self.now
    }

    pub(super) fn wait(&mut self, span: Span) {
        self.now += span;
    }
}
