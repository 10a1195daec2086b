//! A network that loses, delays, reorders, doubles and damages packets, each pair of addresses in its own
//! way.

use core::net::IpAddr;
use std::collections::BTreeMap;

use msctp_proto::PathAddr;
use msctp_units::{Span, Time};

use crate::dice::Dice;
use crate::plan::{MOBILE, Quality, SERVER, Side};

/// The longest that a doubled packet can be late beyond delay and jitter.
pub(crate) const STRAGGLER_MS: u64 = 4000;

/// A packet on its way.
pub(crate) struct Flight {
    pub(crate) to: Side,
    /// As the receiver sees them.
    pub(crate) at: PathAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    dice: Dice,
    /// By mobile address, server address, receiver.
    quality: [[[Quality; 2]; SERVER.len()]; MOBILE.len()],
    /// Addresses of each side to and from which nothing passes.
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
            dice: Dice::new(seed, "network"),
            quality: [[[Quality::GOOD; 2]; SERVER.len()]; MOBILE.len()],
            cut: Default::default(),
            queue: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Nothing passes to or from this address, or again what passed before.
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

    /// Nothing is lost or changed any more, but on the pairs that are not `alive`.
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

    /// Sends a packet; `at` as the sender sees it.
    pub(crate) fn send(&mut self, now: Time, from: Side, at: PathAddr, bytes: &[u8]) {
        let (mobile, server) = match from {
            Side::Mobile => (at.local, at.remote),
            Side::Server => (at.remote, at.local),
        };
        let to = from.other();
        let quality = self.quality[index(&MOBILE, mobile)][index(&SERVER, server)][to.index()];
        let copies = if self.dice.percent(quality.duplicate) { self.dice.between(2, 3) } else { 1 };
        for copy in 0..copies {
            if self.dice.percent(quality.loss) || self.is_cut(mobile, server) {
                continue;
            }
            let mut late = u64::from(quality.delay_ms) * 1_000_000;
            late += self.dice.below(u64::from(quality.jitter_ms) * 1_000_000 + 1);
            if copy > 0 && self.dice.percent(30) {
                late += self.dice.below(STRAGGLER_MS * 1_000_000);
            }
            let mut bytes = bytes.to_vec();
            if self.dice.percent(quality.corrupt) {
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

    /// Up to three bits (CRC32c finds every such change), or the end.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        if self.dice.percent(30) {
            let len = self.dice.below(bytes.len() as u64);
            bytes.truncate(len as usize);
            return;
        }
        for _ in 0..self.dice.between(1, 3) {
            let bit = self.dice.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// When the next packet arrives.
    pub(crate) fn next(&self) -> Option<Time> {
        self.queue.keys().next().map(|key| key.0)
    }

    /// The next packet, if it arrives by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Flight> {
        let entry = self.queue.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
