//! [`Interfaces`]: the host's links and addresses, from netlink messages. May not touch a socket.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

use crate::change::{Change, LocalAddress};

#[derive(Debug)]
struct Link {
    name: String,
    up: bool,
    loopback: bool,
}

#[derive(Debug)]
struct Entry {
    /// Duplicate address detection is over.
    valid: bool,
    link_local: bool,
}

/// All links and addresses.
#[derive(Debug, Default)]
pub(crate) struct Table {
    links: BTreeMap<u32, Link>,
    /// Several interfaces may have the same address.
    addresses: BTreeMap<(IpAddr, u32), Entry>,
    /// The interface of each address whose last reported change is [`Change::Up`].
    reported: BTreeMap<IpAddr, u32>,
    /// Addresses from before a dump that the dump has not listed yet. Those that remain at its end are
    /// removed.
    unseen: Vec<(IpAddr, u32)>,
}

impl Table {
    /// Begins a dump, in which the kernel lists everything again.
    pub(crate) fn begin_again(&mut self) {
        self.unseen = self.addresses.keys().copied().collect();
    }

    /// Ends a dump.
    pub(crate) fn end_again(&mut self) -> Vec<Change> {
        let unseen = std::mem::take(&mut self.unseen);
        unseen.into_iter().flat_map(|(ip, index)| self.remove(ip, index)).collect()
    }

    /// Applies a message. Returns the changes, and none if the state was known.
    pub(crate) fn apply(&mut self, message: &RouteNetlinkMessage) -> Vec<Change> {
        match message {
            RouteNetlinkMessage::NewLink(link) => self.set_link(link),
            RouteNetlinkMessage::DelLink(link) => {
                self.links.remove(&link.header.index);
                self.report_changes(link.header.index)
            }
            RouteNetlinkMessage::NewAddress(address) => self.set_address(address),
            RouteNetlinkMessage::DelAddress(address) => {
                let ip = address_of(address);
                ip.map(|ip| self.remove(ip, address.header.index)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn set_link(&mut self, message: &LinkMessage) -> Vec<Change> {
        let name = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        });
        let index = message.header.index;
        // Changes of a bridge's ports have no name; they do not change the link itself.
        let Some(name) = name else { return Vec::new() };
        let flags = message.header.flags;
        // Administratively up, and with a carrier.
        let up = flags.contains(LinkFlags::Up) && flags.contains(LinkFlags::LowerUp);
        self.links.insert(index, Link { name, up, loopback: flags.contains(LinkFlags::Loopback) });
        self.report_changes(index)
    }

    fn set_address(&mut self, message: &AddressMessage) -> Vec<Change> {
        let Some(ip) = address_of(message) else { return Vec::new() };
        let flags = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Flags(flags) => Some(*flags),
            _ => None,
        });
        let flags = flags.unwrap_or(AddressFlags::from_bits_retain(message.header.flags.bits().into()));
        let unusable = AddressFlags::Tentative | AddressFlags::Dadfailed;
        let index = message.header.index;
        self.unseen.retain(|unseen| *unseen != (ip, index));
        let valid = !flags.intersects(unusable) || flags.contains(AddressFlags::Optimistic);
        let link_local = message.header.scope == AddressScope::Link;
        self.addresses.insert((ip, index), Entry { valid, link_local });
        self.report_change(ip)
    }

    fn remove(&mut self, ip: IpAddr, index: u32) -> Vec<Change> {
        if self.addresses.remove(&(ip, index)).is_none() {
            return Vec::new();
        }
        if self.holders(ip).next().is_none() {
            self.reported.remove(&ip);
            return vec![Change::Gone(ip)];
        }
        self.report_change(ip)
    }

    /// Returns the interfaces that have an address, and whether the address works there.
    fn holders(&self, ip: IpAddr) -> impl Iterator<Item = (u32, bool)> {
        let entries = self.addresses.range((ip, 0)..=(ip, u32::MAX));
        entries.map(|(&(_, index), entry)| {
            (index, entry.valid && self.links.get(&index).is_some_and(|link| link.up))
        })
    }

    /// Returns the changes of a link's addresses.
    fn report_changes(&mut self, index: u32) -> Vec<Change> {
        let of_link = |(ip, at): &(IpAddr, u32)| (*at == index).then_some(*ip);
        let ips: Vec<IpAddr> = self.addresses.keys().filter_map(of_link).collect();
        ips.into_iter().flat_map(|ip| self.report_change(ip)).collect()
    }

    /// Returns the changes of an address. If the address works only at another interface than the reported
    /// one, it is first removed, because its sockets may be bound to that interface.
    fn report_change(&mut self, ip: IpAddr) -> Vec<Change> {
        let before = self.reported.get(&ip).copied();
        let working: Vec<u32> =
            self.holders(ip).filter(|(_, works)| *works).map(|(index, _)| index).collect();
        if before.is_some_and(|index| working.contains(&index)) {
            return Vec::new();
        }
        let now = working.first().copied();
        let up = now.and_then(|index| self.local_address(ip, index));
        match now {
            Some(index) => self.reported.insert(ip, index),
            None => self.reported.remove(&ip),
        };
        match (before, up) {
            (None, None) => Vec::new(),
            (None, Some(up)) => vec![Change::Up(up)],
            (Some(_), None) => vec![Change::Down(ip)],
            (Some(_), Some(up)) => vec![Change::Gone(ip), Change::Up(up)],
        }
    }

    /// Returns the usable addresses.
    pub(crate) fn usable(&self) -> impl Iterator<Item = LocalAddress> {
        self.reported.iter().filter_map(|(&ip, &index)| self.local_address(ip, index))
    }

    fn local_address(&self, ip: IpAddr, index: u32) -> Option<LocalAddress> {
        let (entry, link) = (self.addresses.get(&(ip, index))?, self.links.get(&index)?);
        Some(LocalAddress {
            ip,
            interface: link.name.clone(),
            index,
            loopback: link.loopback,
            link_local: entry.link_local,
        })
    }
}

/// Returns the address itself. On a point-to-point link, `Address` is the peer's and `Local` is this host's.
fn address_of(message: &AddressMessage) -> Option<IpAddr> {
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    local.or_else(|| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(ip) => Some(*ip),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: LinkFlags = LinkFlags::Up.union(LinkFlags::LowerUp);

    fn link(index: u32, flags: LinkFlags) -> RouteNetlinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = flags;
        message.attributes.push(LinkAttribute::IfName(format!("wlan{index}")));
        RouteNetlinkMessage::NewLink(message)
    }

    fn message(index: u32, ip: &str, flags: AddressFlags) -> AddressMessage {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.attributes.push(AddressAttribute::Address("10.9.9.9".parse().unwrap()));
        message.attributes.push(AddressAttribute::Local(ip.parse().unwrap()));
        message.attributes.push(AddressAttribute::Flags(flags));
        message
    }

    fn address(index: u32, ip: &str) -> RouteNetlinkMessage {
        RouteNetlinkMessage::NewAddress(message(index, ip, AddressFlags::Permanent))
    }

    fn up(index: u32, ip: &str) -> Change {
        let interface = format!("wlan{index}");
        Change::Up(LocalAddress {
            ip: ip.parse().unwrap(),
            interface,
            index,
            loopback: false,
            link_local: false,
        })
    }

    #[test]
    fn an_address_is_up_when_it_and_its_link_are() {
        let mut table = Table::default();
        assert_eq!(table.apply(&address(2, "10.0.0.2")), [], "the link is not known yet");
        assert_eq!(table.apply(&link(2, LinkFlags::Up)), [], "no carrier");
        assert_eq!(table.apply(&link(2, UP)), [up(2, "10.0.0.2")]);
        assert_eq!(table.apply(&link(2, UP | LinkFlags::Promisc)), [], "nothing new");
        assert_eq!(table.apply(&address(2, "10.0.0.3")), [up(2, "10.0.0.3")]);
        let both = ["10.0.0.2", "10.0.0.3"].map(|ip| Change::Down(ip.parse().unwrap()));
        assert_eq!(table.apply(&link(2, LinkFlags::Up)), both);
        assert_eq!(table.usable().count(), 0);
        let gone = RouteNetlinkMessage::DelAddress(message(2, "10.0.0.2", AddressFlags::Permanent));
        assert_eq!(table.apply(&gone), [Change::Gone("10.0.0.2".parse().unwrap())]);
        assert_eq!(table.apply(&gone), []);
        assert_eq!(table.apply(&link(2, UP)), [up(2, "10.0.0.3")]);
        assert_eq!(table.usable().count(), 1);
    }

    #[test]
    fn a_tentative_address_waits_for_its_verification() {
        let mut table = Table::default();
        table.apply(&link(3, UP));
        let tentative = message(3, "2001:db8::1", AddressFlags::Tentative);
        assert_eq!(table.apply(&RouteNetlinkMessage::NewAddress(tentative)), []);
        assert_eq!(table.apply(&address(3, "2001:db8::1")), [up(3, "2001:db8::1")]);
    }

    #[test]
    fn a_link_that_is_taken_away_takes_its_addresses_down() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&address(2, "10.0.0.2"));
        let RouteNetlinkMessage::NewLink(message) = link(2, UP) else { panic!() };
        assert_eq!(
            table.apply(&RouteNetlinkMessage::DelLink(message)),
            [Change::Down("10.0.0.2".parse().unwrap())]
        );
    }

    #[test]
    fn an_address_of_two_interfaces_stays_while_one_has_it() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&link(3, UP));
        let ip: IpAddr = "10.0.0.2".parse().unwrap();
        let remove = |index| {
            let message = message(index, "10.0.0.2", AddressFlags::Permanent);
            RouteNetlinkMessage::DelAddress(message)
        };
        assert_eq!(table.apply(&address(2, "10.0.0.2")), [up(2, "10.0.0.2")]);
        assert_eq!(table.apply(&address(3, "10.0.0.2")), [], "reported already");
        assert_eq!(table.apply(&remove(3)), [], "the first still has it");
        assert_eq!(table.usable().count(), 1);
        table.apply(&address(3, "10.0.0.2"));
        // As an interface that becomes a bridge's port loses its address to the bridge.
        assert_eq!(table.apply(&remove(2)), [Change::Gone(ip), up(3, "10.0.0.2")]);
        table.apply(&address(2, "10.0.0.2"));
        assert_eq!(table.apply(&link(3, LinkFlags::Up)), [Change::Gone(ip), up(2, "10.0.0.2")]);
        assert_eq!(table.apply(&link(2, LinkFlags::Up)), [Change::Down(ip)]);
        assert_eq!(table.apply(&remove(2)), []);
        assert_eq!(table.apply(&remove(3)), [Change::Gone(ip)]);
    }

    #[test]
    fn entries_missing_from_a_dump_are_removed() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&address(2, "10.0.0.2"));
        table.apply(&address(2, "10.0.0.3"));
        table.begin_again();
        assert_eq!(table.apply(&link(2, UP)), []);
        assert_eq!(table.apply(&address(2, "10.0.0.3")), []);
        assert_eq!(table.end_again(), [Change::Gone("10.0.0.2".parse().unwrap())]);
        assert_eq!(table.end_again(), []);
    }
}
