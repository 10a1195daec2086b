//! [`HostAddrs`] and [`Scope`]: which of this host's addresses a peer may see, and which of a peer's
//! addresses are this host's. Knows no paths.

use core::net::IpAddr;

/// The part of the network in which an address has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The host itself.
    Loopback,
    /// A link (169.254.0.0/16, fe80::/10).
    LinkLocal,
    /// Networks that many sites number alike (RFC 1918, RFC 6598, RFC 4193).
    Private,
    /// The Internet.
    Global,
}

impl Scope {
    /// Returns the scope of an address.
    #[must_use]
    pub fn of(address: &IpAddr) -> Self {
        let (loopback, link_local, private) = match address {
            IpAddr::V4(ip) => {
                // RFC 6598: 100.64.0.0/10
                let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
                (ip.is_loopback(), ip.is_link_local(), ip.is_private() || shared)
            }
            IpAddr::V6(ip) => (ip.is_loopback(), ip.is_unicast_link_local(), ip.is_unique_local()),
        };
        if loopback {
            Self::Loopback
        } else if link_local {
            Self::LinkLocal
        } else if private {
            Self::Private
        } else {
            Self::Global
        }
    }
}

/// The addresses of this host, as far as the caller knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddrs {
    /// All addresses. If a peer at another host lists one of them, no path goes there: the packets would
    /// reach this host.
    pub all: Vec<IpAddr>,
    /// Addresses that a wildcard stands for. A packet in clear names only those whose scope is that of an
    /// address of the peer's choice: the one that it called, or at which it is called.
    pub unnamed: Vec<IpAddr>,
}

impl HostAddrs {
    /// Returns true if a packet in clear may name the local address to a peer with, or at, the address
    /// `called`.
    pub(crate) fn shows(&self, local: &IpAddr, called: &IpAddr) -> bool {
        !self.unnamed.contains(local) || Scope::of(local) == Scope::of(called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn every_address_has_one_scope() {
        for (scope, addresses) in [
            (Scope::Loopback, &["127.0.0.1", "127.255.0.1", "::1"][..]),
            (Scope::LinkLocal, &["169.254.3.4", "fe80::1"]),
            (Scope::Private, &["10.1.2.3", "172.16.0.1", "192.168.1.2", "100.127.0.1", "fd00::1", "fc00::1"]),
            (Scope::Global, &["192.0.2.1", "172.32.0.1", "100.128.0.1", "2001:db8::1"]),
        ] {
            for address in addresses {
                assert_eq!(Scope::of(&ip(address)), scope, "{address}");
            }
        }
    }

    #[test]
    fn a_named_address_is_shown_to_everybody_an_unnamed_one_in_its_scope() {
        let unnamed = vec![ip("127.0.0.1"), ip("10.0.0.1"), ip("192.0.2.1")];
        let host = HostAddrs { all: unnamed.clone(), unnamed };
        let shown = |called: &str| {
            let all = ["127.0.0.1", "10.0.0.1", "192.0.2.1", "198.51.100.7"];
            let shown = all.into_iter().filter(|local| host.shows(&ip(local), &ip(called)));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(shown("127.0.0.2"), ["127.0.0.1", "198.51.100.7"]);
        assert_eq!(shown("fd00::1"), ["10.0.0.1", "198.51.100.7"]);
        assert_eq!(shown("2001:db8::1"), ["192.0.2.1", "198.51.100.7"]);
    }
}
