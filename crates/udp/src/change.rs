//! What can change about this host's addresses.

use std::net::IpAddr;

/// An address of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub ip: IpAddr,
    /// Its interface's name.
    pub interface: String,
    /// Its interface's number.
    pub index: u32,
    /// It reaches this host only.
    pub loopback: bool,
    /// It reaches this link only (169.254.0.0/16, fe80::/10).
    pub link_local: bool,
}

/// What changed. An address can be sent from while its link is up and it is no longer tentative (RFC 4862
/// §5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It can be sent from now on.
    Up(LocalAddress),
    /// Its link went down; the address is still there.
    Down(IpAddr),
    /// It was taken away.
    Gone(IpAddr),
}
