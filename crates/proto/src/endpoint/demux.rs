//! Finds the association of a packet. Holds keys only, no association.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use smallvec::SmallVec;

use super::limits::Limits;
use super::tags::{Slot, TagTable, Tagged};

/// The keys of one association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) local_port: u16,
    pub(super) peer_port: u16,
    pub(super) local_tag: u32,
    /// The peer's addresses, each with true if it is confirmed (RFC 9260 §5.4).
    pub(super) peer_addresses: SmallVec<[(IpAddr, bool); 1]>,
    /// The address from which the peer set the association up; `None` if this end did.
    pub(super) begun: Option<IpAddr>,
}

/// Associations by verification tag and by the peer's address.
///
/// The tag alone selects the association, regardless of the source address. A mobile's packet may arrive
/// after its address was deleted or before it was added. An out-of-the-blue answer would abort the
/// association at the peer.
///
/// Packets without this end's tag (INIT, reflected tags, a restarted peer's COOKIE ECHO) are found by ports
/// and the peer's address (RFC 9260 §5.1, implementation note). That address must be confirmed: a peer that
/// lists another host's address must not receive that host's packets (camping, RFC 5062).
#[derive(Debug, Default)]
pub(super) struct Demux {
    by_tag: TagTable,
    /// Associations by both ports and the address, packed into one number for fast comparison.
    by_v4: BTreeMap<u64, Slot>,
    by_v6: BTreeMap<(u128, u32), Slot>,
    /// Associations by addresses of the peer that were never confirmed.
    listed: BTreeMap<(IpAddr, u32), Slot>,
    /// Counts the confirmed addresses.
    limits: Arc<Limits>,
}

/// Combines the local port and the peer's port into one key.
fn ports_of(local_port: u16, peer_port: u16) -> u32 {
    u32::from(local_port) << 16 | u32::from(peer_port)
}

fn v4_key(ports: u32, address: Ipv4Addr) -> u64 {
    u64::from(address.to_bits()) << 32 | u64::from(ports)
}

impl Demux {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Finds an association by this end's verification tag and the ports.
    #[inline]
    pub(super) fn by_tag(&self, tag: u32, local_port: u16, peer_port: u16) -> Option<Slot> {
        let found = self.by_tag.get(tag)?;
        (found.local_port == local_port && found.peer_port == peer_port).then_some(found.slot)
    }

    /// Finds an association by a confirmed transport address of the peer.
    #[cold]
    pub(super) fn by_address(&self, local_port: u16, peer_port: u16, peer: IpAddr) -> Option<Slot> {
        let ports = ports_of(local_port, peer_port);
        let found = match peer {
            IpAddr::V4(peer) => self.by_v4.get(&v4_key(ports, peer)),
            IpAddr::V6(peer) => self.by_v6.get(&(peer.to_bits(), ports)),
        };
        found.copied()
    }

    /// Finds an association by an unconfirmed transport address of the peer, if no association has confirmed
    /// it.
    #[cold]
    pub(super) fn by_listed(&self, local_port: u16, peer_port: u16, peer: IpAddr) -> Option<Slot> {
        self.listed.get(&(peer, ports_of(local_port, peer_port))).copied()
    }

    /// Returns whether an association uses this tag.
    pub(super) fn has_tag(&self, tag: u32) -> bool {
        self.by_tag.get(tag).is_some()
    }

    /// Inserts an association. An address that another association already has still selects that one.
    pub(super) fn insert(&mut self, slot: Slot, keys: &Keys) {
        let tagged = Tagged { slot, local_port: keys.local_port, peer_port: keys.peer_port };
        self.by_tag.insert(keys.local_tag, tagged);
        let ports = ports_of(keys.local_port, keys.peer_port);
        for &(address, confirmed) in &keys.peer_addresses {
            let is_new = match address {
                _ if !confirmed => {
                    self.listed.entry((address, ports)).or_insert(slot);
                    continue;
                }
                IpAddr::V4(peer) => insert_new(&mut self.by_v4, v4_key(ports, peer), slot),
                IpAddr::V6(peer) => insert_new(&mut self.by_v6, (peer.to_bits(), ports), slot),
            };
            if is_new {
                self.limits.enter(address);
            }
        }
    }

    /// Removes an association.
    pub(super) fn remove(&mut self, slot: Slot, keys: &Keys) {
        if self.by_tag.get(keys.local_tag).is_some_and(|found| found.slot == slot) {
            self.by_tag.remove(keys.local_tag);
        }
        let ports = ports_of(keys.local_port, keys.peer_port);
        for &(address, confirmed) in &keys.peer_addresses {
            let find = if confirmed { Self::by_address } else { Self::by_listed };
            if find(self, keys.local_port, keys.peer_port, address) != Some(slot) {
                continue;
            }
            match address {
                _ if !confirmed => {
                    self.listed.remove(&(address, ports));
                    continue;
                }
                IpAddr::V4(peer) => self.by_v4.remove(&v4_key(ports, peer)),
                IpAddr::V6(peer) => self.by_v6.remove(&(peer.to_bits(), ports)),
            };
            self.limits.leave(address);
        }
    }
}

/// Inserts an entry unless there is one. Returns whether there was none.
fn insert_new<K: Ord>(map: &mut BTreeMap<K, Slot>, key: K, slot: Slot) -> bool {
    match map.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(slot);
            true
        }
        Entry::Occupied(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(tag: u32, addresses: &[&str]) -> Keys {
        Keys {
            local_port: 1,
            peer_port: 2,
            local_tag: tag,
            peer_addresses: addresses.iter().map(|a| (a.parse().unwrap(), true)).collect(),
            begun: None,
        }
    }

    #[test]
    fn a_tag_needs_its_ports_and_an_address_its_owner() {
        let mut demux = Demux::default();
        let (first, second) = (keys(7, &["10.0.0.1", "10.0.0.2"]), keys(8, &["10.0.0.2"]));
        demux.insert(0, &first);
        demux.insert(1, &second);
        assert_eq!(demux.by_tag(7, 1, 2), Some(0));
        assert_eq!(demux.by_tag(7, 1, 3), None);
        assert_eq!(demux.by_address(1, 2, "10.0.0.2".parse().unwrap()), Some(0), "first come");
        demux.remove(1, &second);
        assert_eq!(demux.by_address(1, 2, "10.0.0.2".parse().unwrap()), Some(0), "not its own");
        assert!(demux.has_tag(7) && !demux.has_tag(8));
        demux.remove(0, &first);
        assert_eq!(demux.by_address(1, 2, "10.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn an_unconfirmed_address_is_found_only_by_a_lookup_of_listed_addresses() {
        let mut demux = Demux::default();
        let at = |address: &str| address.parse::<IpAddr>().unwrap();
        let camper = Keys {
            peer_addresses: [(at("10.0.0.1"), true), (at("10.0.0.2"), false)].into_iter().collect(),
            ..keys(7, &[])
        };
        demux.insert(0, &camper);
        assert_eq!(demux.by_address(1, 2, at("10.0.0.2")), None);
        assert_eq!(demux.by_listed(1, 2, at("10.0.0.2")), Some(0));
        demux.insert(1, &keys(8, &["10.0.0.2"]));
        assert_eq!(demux.by_address(1, 2, at("10.0.0.2")), Some(1), "its owner's association");
        demux.remove(0, &camper);
        assert_eq!(
            (demux.by_listed(1, 2, at("10.0.0.2")), demux.by_address(1, 2, at("10.0.0.1"))),
            (None, None)
        );
        assert_eq!(demux.by_address(1, 2, at("10.0.0.2")), Some(1));
    }

    #[test]
    fn each_confirmed_address_counts_once_until_its_owner_is_removed() {
        let limits = Arc::new(Limits::default());
        let mut demux = Demux::new(Arc::clone(&limits));
        let (first, second) = (keys(7, &["10.0.0.1"]), keys(8, &["10.0.0.1"]));
        let other = Keys { peer_port: 3, ..keys(9, &["10.0.0.1"]) };
        let count = || {
            let peer = "10.0.0.1".parse().unwrap();
            let full = (0..).find(|most| limits.begin(peer, *most)).unwrap();
            limits.end(peer);
            full - 1
        };
        for (slot, keys) in [&first, &second, &other].into_iter().enumerate() {
            demux.insert(slot as Slot, keys);
        }
        assert_eq!(count(), 2, "the second has the ports of the first");
        demux.remove(1, &second);
        assert_eq!(count(), 2);
        demux.remove(0, &first);
        assert_eq!(count(), 1);
    }

    #[test]
    fn addresses_are_distinguished_by_family_and_ports() {
        let mut demux = Demux::default();
        // The last two are the same 32 bits.
        let addresses = ["2001:db8::1", "10.0.0.1", "::ffff:10.0.0.1"];
        for (slot, address) in addresses.into_iter().enumerate() {
            demux.insert(slot as Slot, &keys(7 + slot as u32, &[address]));
        }
        for (slot, address) in addresses.into_iter().enumerate() {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(demux.by_address(1, 2, address), Some(slot as Slot), "{address}");
            assert_eq!(demux.by_address(2, 1, address), None, "{address}");
            demux.remove(slot as Slot, &keys(7 + slot as u32, &[&address.to_string()]));
            assert_eq!(demux.by_address(1, 2, address), None, "{address}");
        }
    }
}
