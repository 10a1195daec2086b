//! [`Table`]: the host's links and addresses, from netlink messages. May not touch a socket.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

use crate::change::{Interface, LocalAddress};

#[derive(Debug, Default)]
struct Link {
    name: String,
    up: bool,
    loopback: bool,
    /// The addresses, and whether they are usable.
    addresses: BTreeMap<IpAddr, bool>,
}

/// All links and addresses.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The links, by their indices. One without a name has addresses, and was not reported yet.
    links: BTreeMap<u32, Link>,
    /// The interfaces as reported last.
    reported: BTreeMap<u32, Interface>,
    /// Addresses from before a dump that the dump has not listed yet. Those that remain at its end are
    /// removed.
    unseen: Vec<(u32, IpAddr)>,
}

impl Table {
    /// Begins a dump, in which the kernel lists everything again.
    pub(crate) fn begin_again(&mut self) {
        let of_link =
            |(&index, link): (&u32, &Link)| link.addresses.keys().map(move |&ip| (index, ip)).collect();
        self.unseen = self.links.iter().flat_map::<Vec<_>, _>(of_link).collect();
    }

    /// Ends a dump.
    pub(crate) fn end_again(&mut self) -> Vec<Interface> {
        let unseen = std::mem::take(&mut self.unseen);
        let reports = unseen.into_iter().filter_map(|(index, ip)| self.remove(index, ip));
        reports.collect()
    }

    /// Applies a message. Returns the interface if its state changed.
    pub(crate) fn apply(&mut self, message: &RouteNetlinkMessage) -> Option<Interface> {
        match message {
            RouteNetlinkMessage::NewLink(link) => self.set_link(link),
            RouteNetlinkMessage::DelLink(link) => self.take_away(link.header.index),
            RouteNetlinkMessage::NewAddress(address) => self.set_address(address),
            RouteNetlinkMessage::DelAddress(address) => {
                self.remove(address.header.index, address_of(address)?)
            }
            _ => None,
        }
    }

    fn set_link(&mut self, message: &LinkMessage) -> Option<Interface> {
        // Changes of a bridge's ports have no name; they do not change the link itself.
        let name = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        })?;
        let (index, flags) = (message.header.index, message.header.flags);
        let link = self.links.entry(index).or_default();
        link.name = name;
        // Administratively up, and with a carrier.
        link.up = flags.contains(LinkFlags::Up) && flags.contains(LinkFlags::LowerUp);
        link.loopback = flags.contains(LinkFlags::Loopback);
        self.report(index)
    }

    fn set_address(&mut self, message: &AddressMessage) -> Option<Interface> {
        let ip = address_of(message)?;
        let flags = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Flags(flags) => Some(*flags),
            _ => None,
        });
        let flags = flags.unwrap_or(AddressFlags::from_bits_retain(message.header.flags.bits().into()));
        let unusable = AddressFlags::Tentative | AddressFlags::Dadfailed;
        let index = message.header.index;
        self.unseen.retain(|unseen| *unseen != (index, ip));
        let valid = !flags.intersects(unusable) || flags.contains(AddressFlags::Optimistic);
        // An address of the link's scope is of no use beyond it.
        let leads_out = message.header.scope != AddressScope::Link || is_link_local(ip);
        self.links.entry(index).or_default().addresses.insert(ip, valid && leads_out);
        self.report(index)
    }

    fn remove(&mut self, index: u32, ip: IpAddr) -> Option<Interface> {
        self.links.get_mut(&index)?.addresses.remove(&ip)?;
        self.report(index)
    }

    /// Returns an interface that is gone as one without addresses.
    fn take_away(&mut self, index: u32) -> Option<Interface> {
        self.links.remove(&index)?;
        let before = self.reported.remove(&index)?;
        Some(Interface { up: false, addresses: Vec::new(), ..before })
    }

    /// Returns the state of an interface, if it is not the one reported last.
    fn report(&mut self, index: u32) -> Option<Interface> {
        let state = self.state(index)?;
        if self.reported.get(&index) == Some(&state) {
            return None;
        }
        self.reported.insert(index, state.clone());
        Some(state)
    }

    fn state(&self, index: u32) -> Option<Interface> {
        let link = self.links.get(&index).filter(|link| !link.name.is_empty())?;
        let usable = link.addresses.iter().filter(|(_, usable)| **usable);
        Some(Interface {
            index,
            name: link.name.clone(),
            loopback: link.loopback,
            up: link.up,
            addresses: usable.map(|(&ip, _)| ip).collect(),
        })
    }

    /// Returns the usable addresses, each once.
    pub(crate) fn usable(&self) -> Vec<LocalAddress> {
        let mut usable: Vec<LocalAddress> = Vec::new();
        for interface in self.links.keys().filter_map(|&index| self.state(index)).filter(|link| link.up) {
            for ip in interface.addresses {
                let local = LocalAddress::new(ip, interface.name.clone(), interface.index);
                usable.push(LocalAddress { loopback: interface.loopback, ..local });
            }
        }
        usable.sort_by_key(|local| local.ip);
        usable.dedup_by_key(|local| local.ip);
        usable
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    LocalAddress::new(ip, String::new(), 0).link_local
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

    /// The report of an interface that is up or not, with these addresses.
    fn seen(index: u32, up: bool, addresses: &[&str]) -> Option<Interface> {
        Some(Interface {
            index,
            name: format!("wlan{index}"),
            loopback: false,
            up,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        })
    }

    fn gone(index: u32, ip: &str) -> RouteNetlinkMessage {
        RouteNetlinkMessage::DelAddress(message(index, ip, AddressFlags::Permanent))
    }

    #[test]
    fn an_interface_is_reported_when_its_link_or_its_addresses_change() {
        let mut table = Table::default();
        assert_eq!(table.apply(&address(2, "10.0.0.2")), None, "the link is not known yet");
        assert_eq!(table.apply(&link(2, LinkFlags::Up)), seen(2, false, &["10.0.0.2"]), "no carrier");
        assert_eq!(table.apply(&link(2, UP)), seen(2, true, &["10.0.0.2"]));
        assert_eq!(table.apply(&link(2, UP | LinkFlags::Promisc)), None, "nothing new");
        assert_eq!(table.apply(&address(2, "10.0.0.3")), seen(2, true, &["10.0.0.2", "10.0.0.3"]));
        assert_eq!(table.usable().len(), 2);
        assert_eq!(table.apply(&link(2, LinkFlags::Up)), seen(2, false, &["10.0.0.2", "10.0.0.3"]));
        assert_eq!(table.usable().len(), 0);
        assert_eq!(table.apply(&gone(2, "10.0.0.2")), seen(2, false, &["10.0.0.3"]));
        assert_eq!(table.apply(&gone(2, "10.0.0.2")), None);
        assert_eq!(table.apply(&link(2, UP)), seen(2, true, &["10.0.0.3"]));
    }

    #[test]
    fn a_tentative_address_waits_for_its_verification() {
        let mut table = Table::default();
        assert_eq!(table.apply(&link(3, UP)), seen(3, true, &[]));
        let tentative = message(3, "2001:db8::1", AddressFlags::Tentative);
        assert_eq!(table.apply(&RouteNetlinkMessage::NewAddress(tentative)), None);
        assert_eq!(table.apply(&address(3, "2001:db8::1")), seen(3, true, &["2001:db8::1"]));
    }

    #[test]
    fn an_address_of_the_links_scope_is_of_no_use() {
        let mut table = Table::default();
        table.apply(&link(3, UP));
        let mut of_link = message(3, "10.0.0.1", AddressFlags::Permanent);
        of_link.header.scope = AddressScope::Link;
        assert_eq!(table.apply(&RouteNetlinkMessage::NewAddress(of_link)), None);
        let mut link_local = message(3, "169.254.0.1", AddressFlags::Permanent);
        link_local.header.scope = AddressScope::Link;
        assert_eq!(
            table.apply(&RouteNetlinkMessage::NewAddress(link_local)),
            seen(3, true, &["169.254.0.1"])
        );
        assert!(table.usable()[0].link_local);
    }

    #[test]
    fn a_link_that_is_taken_away_takes_its_addresses_along() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&address(2, "10.0.0.2"));
        let RouteNetlinkMessage::NewLink(message) = link(2, UP) else { panic!() };
        assert_eq!(table.apply(&RouteNetlinkMessage::DelLink(message)), seen(2, false, &[]));
        assert_eq!(table.apply(&gone(2, "10.0.0.2")), None);
        assert_eq!(table.usable(), []);
    }

    #[test]
    fn an_address_of_two_interfaces_is_listed_once() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&link(3, UP));
        assert_eq!(table.apply(&address(2, "10.0.0.2")), seen(2, true, &["10.0.0.2"]));
        assert_eq!(table.apply(&address(3, "10.0.0.2")), seen(3, true, &["10.0.0.2"]));
        let listed = |table: &Table| table.usable().iter().map(|local| local.index).collect::<Vec<_>>();
        assert_eq!(listed(&table), [2]);
        table.apply(&gone(2, "10.0.0.2"));
        assert_eq!(listed(&table), [3]);
    }

    #[test]
    fn entries_missing_from_a_dump_are_removed() {
        let mut table = Table::default();
        table.apply(&link(2, UP));
        table.apply(&address(2, "10.0.0.2"));
        table.apply(&address(2, "10.0.0.3"));
        table.begin_again();
        assert_eq!(table.apply(&link(2, UP)), None);
        assert_eq!(table.apply(&address(2, "10.0.0.3")), None);
        assert_eq!(table.end_again(), Vec::from_iter(seen(2, true, &["10.0.0.3"])));
        assert_eq!(table.end_again(), []);
    }
}
