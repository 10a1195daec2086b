//! [`Interface`] and [`LocalAddress`]: what this host has.

use std::net::IpAddr;

/// An address of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub ip: IpAddr,
    /// Name of the interface.
    pub interface: String,
    /// Index of the interface.
    pub index: u32,
    /// True for a loopback address.
    pub loopback: bool,
    /// True for a link-local address (169.254.0.0/16, fe80::/10).
    pub link_local: bool,
}

impl LocalAddress {
    /// Creates the description of an address, with what the address itself tells.
    #[must_use]
    pub fn new(ip: IpAddr, interface: String, index: u32) -> Self {
        let link_local = match ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        };
        Self { ip, interface, index, loopback: ip.is_loopback(), link_local }
    }
}

/// The state of an interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Index of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// True for the loopback interface.
    pub loopback: bool,
    /// True if the interface is up and has a carrier.
    pub up: bool,
    /// The addresses of the interface that are not tentative (RFC 4862 §5.4), in ascending order; none if it
    /// is gone.
    pub addresses: Vec<IpAddr>,
}
