//! Addresses and paths by name. No state.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

/// A pair of addresses, as this end sees it. A datagram received `at` the pair came from `remote` to `local`;
/// one sent `at` it goes from `local` to `remote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathAddr {
    /// This end's address.
    pub local: IpAddr,
    /// The peer's address.
    pub remote: IpAddr,
}

impl fmt::Display for PathAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.local, self.remote)
    }
}

/// Identifies a path of one association. Never reused while the association lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(u32);

impl PathId {
    /// Creates the identifier of path `n`; numbers are assigned in the order in which paths appear, from 0.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// Returns the number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {}", self.0)
    }
}

/// The local addresses and port of a new association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddrs {
    /// SCTP port, not 0.
    pub port: u16,
    /// Addresses, at least one for a set-up. The first belongs to the initial primary path.
    pub addresses: Vec<IpAddr>,
}

/// The peer's addresses and port of a new association, before INIT ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddrs {
    /// SCTP port, not 0.
    pub port: u16,
    /// Addresses, at least one. All are confirmed from the start (RFC 9260 §5.4 rule 1), and the first is the
    /// initial primary.
    pub addresses: Vec<IpAddr>,
}

/// Returns the key that identifies a peer: the address, or the 64-bit prefix of an IPv6 address.
pub(crate) fn peer_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
