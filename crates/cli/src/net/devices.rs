//! [`Devices`]: the interfaces that TCP connections of a client may use, in the order of preference.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// Interval at which to check whether an interface still works.
const LOOK: Duration = Duration::from_millis(500);

/// Prefixes of interface names, as in [`Mobility`](msctp::Mobility) and
/// [`EndpointOptions::except`](msctp::EndpointOptions::except).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Devices {
    /// Interfaces to use; empty: all.
    pub(crate) only: Vec<String>,
    /// The best first.
    pub(crate) prefer: Vec<String>,
    /// Interfaces never to use.
    pub(crate) except: Vec<String>,
}

/// Returns the addresses of this host's interfaces, each with the interface's name.
pub(crate) fn addresses() -> Vec<(String, IpAddr)> {
    let of = |address: nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    };
    let all = getifaddrs().into_iter().flatten();
    all.filter_map(|entry| Some((entry.interface_name, entry.address.and_then(of)?))).collect()
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Returns the index of the first prefix that a name begins with.
fn place(name: &str, prefixes: &[String]) -> Option<usize> {
    prefixes.iter().position(|prefix| name.starts_with(prefix.as_str()))
}

impl Devices {
    /// Returns whether the options exclude no interface, so that the host's routes may choose.
    pub(crate) const fn is_any(&self) -> bool {
        self.only.is_empty() && self.except.is_empty()
    }

    fn allows(&self, name: &str) -> bool {
        (self.only.is_empty() || place(name, &self.only).is_some()) && place(name, &self.except).is_none()
    }

    /// Returns the names of the interfaces with a carrier and an address of the server's family, the
    /// preferred ones first.
    pub(crate) fn usable(&self, server: SocketAddr) -> Vec<String> {
        let Ok(all) = getifaddrs() else { return Vec::new() };
        let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let mut names: Vec<String> = all
            .filter(|entry| {
                entry.flags.contains(works) && !entry.flags.contains(InterfaceFlags::IFF_LOOPBACK)
            })
            .filter(|entry| {
                let address = entry.address.as_ref();
                let is_usable = match server {
                    SocketAddr::V4(_) => address.is_some_and(|address| address.as_sockaddr_in().is_some()),
                    SocketAddr::V6(_) => address
                        .and_then(|address| address.as_sockaddr_in6())
                        .is_some_and(|address| !address.ip().is_unicast_link_local()),
                };
                is_usable && self.allows(&entry.interface_name)
            })
            .map(|entry| entry.interface_name)
            .collect();
        names.sort_by_cached_key(|name| {
            (place(name, &self.prefer).unwrap_or(self.prefer.len()), name.clone())
        });
        names.dedup();
        names
    }

    /// Returns the interfaces with a carrier and an address, the preferred ones first. Each has its addresses
    /// that are not link-local.
    pub(crate) fn with_addresses(&self) -> Vec<(String, Vec<IpAddr>)> {
        let [v4, v6] = [Ipv4Addr::UNSPECIFIED.into(), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
        let mut names = [v4, v6].map(|ip| self.usable(SocketAddr::new(ip, 0))).concat();
        names.sort_by_cached_key(|name| {
            (place(name, &self.prefer).unwrap_or(self.prefer.len()), name.clone())
        });
        names.dedup();
        let all = addresses();
        let of = |name: &String| {
            let own = all.iter().filter(|(interface, ip)| interface == name && !is_link_local(*ip));
            own.map(|(_, ip)| *ip).collect()
        };
        names.into_iter().map(|name| (name.clone(), of(&name))).collect()
    }

    /// Waits until an interface no longer works.
    pub(crate) async fn lost(&self, name: &str, server: SocketAddr) {
        while self.usable(server).iter().any(|usable| usable == name) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_named_by_prefixes() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let devices =
            Devices { only: names(&["wl", "msctp"]), except: names(&["msctp0"]), ..Devices::default() };
        assert!(devices.allows("wlan0") && devices.allows("msctp1"));
        assert!(!devices.allows("eth0") && !devices.allows("msctp0"));
        assert!(Devices::default().allows("eth0") && Devices::default().is_any() && !devices.is_any());
        // Loopback has no network behind it.
        let none = Devices { only: names(&["lo"]), ..Devices::default() };
        assert_eq!(none.usable("127.0.0.1:1".parse().unwrap()), Vec::<String>::new());
    }
}
