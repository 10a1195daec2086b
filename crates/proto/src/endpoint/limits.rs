//! [`Limits`]: the counts behind the limits of an endpoint, which its shards have in common.

use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::addr::peer_of;
use crate::auth::HmacAlgorithm;

/// The counters that an endpoint shares with its shards.
///
/// Shards run on several threads. Each count is exact at any time; none orders other memory.
#[derive(Debug, Default)]
pub(super) struct Limits {
    associations: AtomicUsize,
    /// Received bytes that all associations hold.
    memory: AtomicU64,
    /// The HMAC-ALGO list of the first options that use AUTH (RFC 4895 §6.1).
    algorithms: OnceLock<Vec<HmacAlgorithm>>,
    peers: Mutex<Peers>,
}

/// Numbers of associations of each peer: an IPv4 address or an IPv6 prefix of 64 bits.
#[derive(Debug, Default)]
struct Peers {
    /// Number of associations that each peer set up, regardless of its current address. Otherwise an attacker
    /// with two addresses could begin at one, move to the other (RFC 5061), and begin again.
    begun: BTreeMap<IpAddr, usize>,
    /// Number of associations that confirmed one of the peer's addresses, on any ports.
    present: BTreeMap<IpAddr, usize>,
}

impl Limits {
    pub(super) fn associations(&self) -> usize {
        self.associations.load(Ordering::Relaxed)
    }

    /// Counts another association. Returns false, and counts none, if there are `most`.
    pub(super) fn add_association(&self, most: usize) -> bool {
        let add = |count| (count < most).then_some(count + 1);
        self.associations.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    pub(super) fn remove_association(&self) {
        self.associations.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Updates the memory of an association that had `before` bytes.
    pub(super) fn change_memory(&self, before: u64, after: u64) {
        if before != after {
            self.memory.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Returns the HMAC algorithms of the first options with AUTH. These become `ours` if there were none.
    pub(super) fn algorithms(&self, ours: &[HmacAlgorithm]) -> &[HmacAlgorithm] {
        self.algorithms.get_or_init(|| ours.to_vec())
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts another association that the peer at this address sets up. Returns false, and counts none, if
    /// the peer already has `most`. The limit covers associations that the peer set up, and those at one of
    /// its addresses.
    pub(super) fn begin(&self, peer: IpAddr, most: usize) -> bool {
        let peer = peer_of(peer);
        let mut peers = self.peers();
        let has = |counts: &BTreeMap<IpAddr, usize>| counts.get(&peer).copied().unwrap_or(0);
        if has(&peers.begun).max(has(&peers.present)) >= most {
            return false;
        }
        *peers.begun.entry(peer).or_default() += 1;
        true
    }

    /// Stops counting an association that the peer set up.
    pub(super) fn end(&self, peer: IpAddr) {
        remove(&mut self.peers().begun, peer_of(peer));
    }

    /// Counts a confirmed address of an association.
    pub(super) fn enter(&self, address: IpAddr) {
        *self.peers().present.entry(peer_of(address)).or_default() += 1;
    }

    /// Stops counting a confirmed address of an association.
    pub(super) fn leave(&self, address: IpAddr) {
        remove(&mut self.peers().present, peer_of(address));
    }
}

fn remove(counts: &mut BTreeMap<IpAddr, usize>, peer: IpAddr) {
    if let Entry::Occupied(mut count) = counts.entry(peer) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associations_and_memory_are_counted_up_to_their_limits() {
        let limits = Limits::default();
        assert_eq!([(); 3].map(|()| limits.add_association(2)), [true, true, false]);
        limits.remove_association();
        assert!(limits.add_association(2) && !limits.add_association(2));
        assert_eq!(limits.associations(), 2);
        limits.change_memory(0, 700);
        limits.change_memory(700, 300);
        assert_eq!(limits.memory(), 300);
    }

    #[test]
    fn a_peer_counts_where_it_began_and_where_it_is() {
        let limits = Limits::default();
        let [home, away] = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse::<IpAddr>().unwrap());
        assert!(limits.begin(home, 2));
        limits.enter(home);
        assert!(limits.begin(home, 2));
        limits.enter(home);
        // Both move away: they still count where they began, and count there as well.
        for _ in 0..2 {
            limits.leave(home);
            limits.enter(away);
        }
        assert!(!limits.begin(home, 2) && !limits.begin(away, 2));
        limits.end(home);
        assert!(limits.begin(home, 2));
        limits.leave(away);
        assert!(limits.begin(away, 2));
    }

    #[test]
    fn associations_of_one_peer_are_counted_by_address_and_prefix() {
        let (near, far) = (["2001:db8::1", "2001:db8::2", "2001:db8::ffff:0:0:1"], "2001:db8:0:1::1");
        let limits = Limits::default();
        let v4 = ["10.0.0.1"; 5].into_iter().chain(["10.0.0.2"]);
        for address in near.into_iter().chain([far]).chain(v4) {
            limits.enter(address.parse().unwrap());
        }
        for (address, count) in [(near[0], 3), (far, 1), ("10.0.0.1", 5), ("10.0.0.2", 1), ("10.0.0.3", 0)] {
            let address = address.parse().unwrap();
            assert!(!limits.begin(address, count), "{address}");
            assert!(limits.begin(address, count + 1), "{address}");
        }
    }
}
