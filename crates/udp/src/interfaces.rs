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
    index: u32,
    /// Duplicate address detection is over.
    valid: bool,
    link_local: bool,
    /// [`Change::Up`] was the last change reported.
    told_up: bool,
}

/// All links and addresses.
#[derive(Debug, Default)]
pub(crate) struct Table {
    links: BTreeMap<u32, Link>,
    addresses: BTreeMap<IpAddr, Entry>,
    /// Addresses from before a dump that it has not listed yet; those left at its end are removed.
    unseen: Vec<IpAddr>,
}

impl Table {
    /// Begins a dump: the kernel lists everything again.
    pub(crate) fn begin_again(&mut self) {
        self.unseen = self.addresses.keys().copied().collect();
    }

    /// Ends a dump.
    pub(crate) fn end_again(&mut self) -> Vec<Change> {
        let unseen = std::mem::take(&mut self.unseen);
        unseen.into_iter().filter_map(|ip| self.remove(ip)).collect()
    }

    /// Applies a message; returns the changes, none if it repeats what is known.
    pub(crate) fn apply(&mut self, message: &RouteNetlinkMessage) -> Vec<Change> {
        match message {
            RouteNetlinkMessage::NewLink(link) => self.set_link(link),
            RouteNetlinkMessage::DelLink(link) => {
                self.links.remove(&link.header.index);
                self.report_changes(link.header.index)
            }
            RouteNetlinkMessage::NewAddress(address) => self.set_address(address),
            RouteNetlinkMessage::DelAddress(address) => {
                address_of(address).and_then(|ip| self.remove(ip)).into_iter().collect()
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
        self.unseen.retain(|unseen| *unseen != ip);
        let index = message.header.index;
        let entry = self.addresses.entry(ip).or_insert(Entry {
            index,
            valid: false,
            link_local: false,
            told_up: false,
        });
        entry.index = index;
        entry.valid = !flags.intersects(unusable) || flags.contains(AddressFlags::Optimistic);
        entry.link_local = message.header.scope == AddressScope::Link;
        self.report_changes(index)
    }

    fn remove(&mut self, ip: IpAddr) -> Option<Change> {
        self.addresses.remove(&ip).map(|_| Change::Gone(ip))
    }

    /// Returns the changes of a link's addresses.
    fn report_changes(&mut self, index: u32) -> Vec<Change> {
        let link = self.links.get(&index);
        let mut changes = Vec::new();
        for (&ip, entry) in self.addresses.iter_mut().filter(|(_, entry)| entry.index == index) {
            let up = entry.valid && link.is_some_and(|link| link.up);
            if std::mem::replace(&mut entry.told_up, up) == up {
                continue;
            }
            changes.push(match link {
                Some(link) if up => Change::Up(local_address(ip, entry, link)),
                _ => Change::Down(ip),
            });
        }
        changes
    }

    /// Returns the usable addresses.
    pub(crate) fn usable(&self) -> impl Iterator<Item = LocalAddress> {
        self.addresses.iter().filter(|(_, entry)| entry.told_up).filter_map(|(&ip, entry)| {
            self.links.get(&entry.index).map(|link| local_address(ip, entry, link))
        })
    }
}

fn local_address(ip: IpAddr, entry: &Entry, link: &Link) -> LocalAddress {
    LocalAddress {
        ip,
        interface: link.name.clone(),
        index: entry.index,
        loopback: link.loopback,
        link_local: entry.link_local,
    }
}

/// Returns the address itself: on a point-to-point link `Address` is the peer's, and `Local` ours.
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
