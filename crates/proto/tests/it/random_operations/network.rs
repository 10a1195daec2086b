//! A network that loses, delays, reorders, duplicates and damages packets, with its own quality for each
//! address pair.

use core::net::IpAddr;
use std::collections::BTreeMap;

use msctp_proto::PathAddr;
use msctp_units::{Span, Time};

use crate::random_operations::plan::{MOBILE, Quality, SERVER, Side};
use crate::random_operations::rng::TestRng;

/// Largest delay of a duplicated packet beyond delay and jitter.
pub(crate) const STRAGGLER_MS: u64 = 4000;

/// A packet in flight.
pub(crate) struct Flight {
    pub(crate) to: Side,
    /// Addresses as the receiver sees them.
    pub(crate) at: PathAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    rng: TestRng,
    /// Qualities by mobile address, server address and receiver.
    quality: [[[Quality; 2]; SERVER.len()]; MOBILE.len()],
    /// Addresses of each side whose packets are dropped in both directions.
    cut: [Vec<IpAddr>; 2],
    queue: BTreeMap<(Time, u64), Flight>,
    sequence: u64,
}

fn index(pool: &[IpAddr], address: IpAddr) -> usize {
    pool.iter()
        .position(|ip| *ip == address)
        .unwrap_or_else(|| panic!("packet with foreign address {address}"))
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: TestRng::new(seed, "network"),
            quality: [[[Quality::GOOD; 2]; SERVER.len()]; MOBILE.len()],
            cut: Default::default(),
            queue: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Drops all packets to or from this address, or stops dropping them.
    pub(crate) fn cut(&mut self, side: Side, address: IpAddr, dead: bool) {
        let cut = &mut self.cut[side.index()];
        cut.retain(|ip| *ip != address);
        if dead {
            cut.push(address);
        }
    }

    pub(crate) fn set(&mut self, mobile: u8, server: u8, to_server: Quality, to_mobile: Quality) {
        let pair = &mut self.quality[usize::from(mobile) % MOBILE.len()][usize::from(server) % SERVER.len()];
        pair[Side::Server.index()] = to_server;
        pair[Side::Mobile.index()] = to_mobile;
    }

    /// Removes all losses and damage, except on pairs that are not `alive`.
    pub(crate) fn heal(&mut self, alive: impl Fn(IpAddr, IpAddr) -> bool) {
        self.cut = Default::default();
        for (mobile, row) in MOBILE.iter().zip(&mut self.quality) {
            for (server, pair) in SERVER.iter().zip(row) {
                for quality in pair {
                    let loss = if alive(*mobile, *server) { 0 } else { 100 };
                    *quality = Quality { loss, jitter_ms: 0, duplicate: 0, corrupt: 0, ..*quality };
                }
            }
        }
    }

    /// Sends a packet, with addresses as the sender sees them in `at`.
    pub(crate) fn send(&mut self, now: Time, from: Side, at: PathAddr, bytes: &[u8]) {
        let (mobile, server) = match from {
            Side::Mobile => (at.local, at.remote),
            Side::Server => (at.remote, at.local),
        };
        let to = from.other();
        let quality = self.quality[index(&MOBILE, mobile)][index(&SERVER, server)][to.index()];
        let copies = if self.rng.percent(quality.duplicate) { self.rng.between(2, 3) } else { 1 };
        for copy in 0..copies {
            if self.rng.percent(quality.loss) || self.is_cut(mobile, server) {
                continue;
            }
            let mut late = u64::from(quality.delay_ms) * 1_000_000;
            late += self.rng.below(u64::from(quality.jitter_ms) * 1_000_000 + 1);
            if copy > 0 && self.rng.percent(30) {
                late += self.rng.below(STRAGGLER_MS * 1_000_000);
            }
            let mut bytes = bytes.to_vec();
            if self.rng.percent(quality.corrupt) {
                self.damage(&mut bytes);
            }
            let at = PathAddr { local: at.remote, remote: at.local };
            self.queue.insert((now + Span::from_nanos(late), self.sequence), Flight { to, at, bytes });
            self.sequence += 1;
        }
    }

    fn is_cut(&self, mobile: IpAddr, server: IpAddr) -> bool {
        self.cut[Side::Mobile.index()].contains(&mobile) || self.cut[Side::Server.index()].contains(&server)
    }

    /// Flips up to three bits (CRC32c detects every such change), or truncates the packet.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        if self.rng.percent(30) {
            let len = self.rng.below(bytes.len() as u64);
            bytes.truncate(len as usize);
            return;
        }
        for _ in 0..self.rng.between(1, 3) {
            let bit = self.rng.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// Returns the arrival time of the next packet.
    pub(crate) fn next(&self) -> Option<Time> {
        self.queue.keys().next().map(|key| key.0)
    }

    /// Returns the next packet if it arrives by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Flight> {
        let entry = self.queue.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
