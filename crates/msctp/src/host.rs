//! [`Host`]: the addresses of this host and which of them the options name, for the core. Binds nothing.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use msctp_proto::HostAddrs;
use msctp_udp::{Change, LocalAddress};

/// The addresses of this host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    usable: BTreeSet<IpAddr>,
    /// Addresses that `EndpointOptions::bind` names.
    named: Vec<IpAddr>,
    /// Unspecified addresses that it names.
    wildcards: Vec<IpAddr>,
}

impl Host {
    pub(crate) fn new(usable: &[LocalAddress], bind: &[SocketAddr]) -> Self {
        let (wildcards, named) = bind.iter().map(SocketAddr::ip).partition(IpAddr::is_unspecified);
        Self { usable: usable.iter().map(|local| local.ip).collect(), named, wildcards }
    }

    /// Records a change of the host's addresses. Returns whether there was one.
    pub(crate) fn change(&mut self, change: &Change) -> bool {
        match change {
            Change::Up(local) => self.usable.insert(local.ip),
            Change::Down(_) => false,
            Change::Gone(ip) => self.usable.remove(ip),
        }
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
        let mut all = self.usable.clone();
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
        assert!(host.change(&Change::Gone(ip("172.17.0.1"))) && !host.change(&Change::Down(ip("10.0.0.1"))));
        assert!(!host.change(&Change::Up(local("10.0.0.1"))));
        assert_eq!(host.addresses(sockets.into_iter()).all, ["10.0.0.1", "192.0.2.1"].map(ip));
    }
}
