//! [`Host`]: the addresses of this host and which of them the options name, for the core. Binds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use msctp_proto::HostAddrs;
use msctp_udp::{Interface, LocalAddress};

/// The addresses of this host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// Those of each interface.
    usable: BTreeMap<u32, BTreeSet<IpAddr>>,
    /// Addresses that `EndpointOptions::bind` names.
    named: Vec<IpAddr>,
    /// Unspecified addresses that it names.
    wildcards: Vec<IpAddr>,
}

impl Host {
    pub(crate) fn new(usable: &[LocalAddress], bind: &[SocketAddr]) -> Self {
        let (wildcards, named) = bind.iter().map(SocketAddr::ip).partition(IpAddr::is_unspecified);
        let mut of_interfaces: BTreeMap<u32, BTreeSet<IpAddr>> = BTreeMap::new();
        for local in usable {
            of_interfaces.entry(local.index).or_default().insert(local.ip);
        }
        Self { usable: of_interfaces, named, wildcards }
    }

    /// Records the state of interfaces. Returns the addresses that the host has no longer.
    pub(crate) fn change(&mut self, changed: &[Interface]) -> Vec<IpAddr> {
        let before = self.all();
        for interface in changed {
            let addresses: BTreeSet<IpAddr> = interface.addresses.iter().copied().collect();
            if addresses.is_empty() {
                self.usable.remove(&interface.index);
            } else {
                self.usable.insert(interface.index, addresses);
            }
        }
        before.difference(&self.all()).copied().collect()
    }

    fn all(&self) -> BTreeSet<IpAddr> {
        self.usable.values().flatten().copied().collect()
    }

    /// Returns whether the address is used because of a wildcard or because the endpoint follows the host's
    /// interfaces.
    pub(crate) fn is_unnamed(&self, ip: &IpAddr) -> bool {
        !self.named.contains(ip)
    }

    /// Returns whether every address of this one's family is used, as the host gets it.
    pub(crate) fn wants_all_like(&self, ip: IpAddr) -> bool {
        self.wildcards.iter().any(|any| any.is_ipv4() == ip.is_ipv4())
    }

    /// Returns the addresses for the core. `sockets` are those of the open sockets.
    pub(crate) fn addresses(&self, sockets: impl Iterator<Item = IpAddr>) -> HostAddrs {
        let mut all = self.all();
        let sockets: BTreeSet<IpAddr> = sockets.collect();
        all.extend(&sockets);
        let unnamed = sockets.into_iter().filter(|ip| self.is_unnamed(ip)).collect();
        HostAddrs { all: all.into_iter().collect(), unnamed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_bind_names_are_not_among_the_unnamed() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let local = |text: &str| LocalAddress {
            ip: ip(text),
            interface: "eth0".to_owned(),
            index: 1,
            loopback: false,
            link_local: false,
        };
        let bind = ["0.0.0.0:9899", "10.0.0.1:9899"].map(|at| at.parse().unwrap());
        let mut host = Host::new(&[local("10.0.0.1"), local("172.17.0.1")], &bind);
        let sockets = ["10.0.0.1", "192.0.2.1"].map(ip);
        let addresses = host.addresses(sockets.into_iter());
        assert_eq!(addresses.all, ["10.0.0.1", "172.17.0.1", "192.0.2.1"].map(ip));
        assert_eq!(addresses.unnamed, [ip("192.0.2.1")]);
        let eth0 = |up, addresses: &[&str]| Interface {
            index: 1,
            name: "eth0".to_owned(),
            loopback: false,
            up,
            addresses: addresses.iter().map(|text| ip(text)).collect(),
        };
        assert_eq!(host.change(&[eth0(true, &["10.0.0.1"])]), [ip("172.17.0.1")]);
        assert_eq!(host.change(&[eth0(false, &["10.0.0.1"])]), [] as [IpAddr; 0], "the host still has it");
        assert_eq!(host.addresses(sockets.into_iter()).all, ["10.0.0.1", "192.0.2.1"].map(ip));
        assert_eq!(host.change(&[eth0(false, &[])]), [ip("10.0.0.1")]);
    }
}
