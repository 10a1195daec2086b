//! [`list_addresses`]: the addresses of this host at one moment, where nothing reports their changes.

use std::io;

use crate::change::LocalAddress;

/// Returns the addresses of this host whose interfaces are up, by `getifaddrs`: macOS, iOS and the BSDs.
/// Linux lists and follows them by netlink ([`InterfaceWatch`](crate::InterfaceWatch)), as its `getifaddrs`
/// does.
///
/// # Errors
///
/// The system refuses, or is another.
pub fn list_addresses() -> io::Result<Vec<LocalAddress>> {
    system::list()
}

// Android has it since version 7 only, and a program for an earlier one would not link.
#[cfg(all(unix, any(not(any(target_os = "linux", target_os = "android")), test)))]
mod system {
    use std::io;
    use std::net::IpAddr;

    use nix::ifaddrs::getifaddrs;
    use nix::net::if_::{InterfaceFlags, if_nametoindex};
    use nix::sys::socket::SockaddrStorage;

    use super::LocalAddress;

    pub(super) fn list() -> io::Result<Vec<LocalAddress>> {
        let usable = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let up = getifaddrs()?.filter(|entry| entry.flags.contains(usable));
        let listed = up.filter_map(|entry| {
            let ip = entry.address.as_ref().and_then(ip_of)?;
            let index = if_nametoindex(entry.interface_name.as_str()).unwrap_or_default();
            Some(LocalAddress::new(ip, entry.interface_name, index))
        });
        Ok(listed.collect())
    }

    fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
    }
}

#[cfg(not(all(unix, any(not(any(target_os = "linux", target_os = "android")), test))))]
mod system {
    use std::io;

    use super::LocalAddress;

    pub(super) fn list() -> io::Result<Vec<LocalAddress>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "addresses cannot be listed on this system"))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_netlink() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let by_netlink = runtime.block_on(async { crate::InterfaceWatch::new().unwrap().usable() });
        let listed = list_addresses().unwrap();
        let loopback = listed.iter().find(|local| local.loopback).expect("an address of lo");
        assert!(by_netlink.contains(loopback), "{loopback:?} of {by_netlink:?}");
    }
}
