//! The rules that make (local, remote) pairs paths, and the limits of their number.
//!
//! The default rule pairs every local address with every remote address of the same family. A mobile with two
//! interfaces and a server with one address have two paths, on both sides.

use core::net::IpAddr;

/// Maximum number of addresses of one end. Further addresses in an INIT, INIT ACK or Add-IP are rejected.
pub const MAX_ADDRESSES: usize = 16;

/// Maximum number of paths of one association. An address whose pairs would exceed it is rejected.
pub(crate) const MAX_PATHS: usize = 64;

/// Returns true if a packet could go from `local` to `remote`.
///
/// RFC 9260 leaves address scopes to the implementation. A loopback address reaches only loopback addresses.
/// Every other pair of one family is tried: heartbeats test reachability, which an address does not show by
/// itself: private addresses behind a NAT reach public ones.
pub fn can_pair(local: &IpAddr, remote: &IpAddr) -> bool {
    local.is_ipv4() == remote.is_ipv4() && local.is_loopback() == remote.is_loopback()
}

/// Returns true for an address that can be an end of a path.
///
/// RFC 5061 §4.2.1 and §4.2.2 forbid broadcast and multicast addresses. Unspecified and IPv4-mapped IPv6
/// addresses (RFC 9260 §3.3.2.1.2) are excluded too.
pub fn is_endpoint(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.2
    //# A sender MUST NOT use an IPv4-mapped
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    !(mapped || address.is_unspecified() || address.is_multicast() || broadcast)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn pairs_are_of_one_family_and_loopback_stays_at_home() {
        assert!(can_pair(&ip("10.0.0.1"), &ip("192.0.2.1")));
        assert!(can_pair(&ip("2001:db8::1"), &ip("2001:db8::2")));
        assert!(!can_pair(&ip("10.0.0.1"), &ip("2001:db8::2")));
        assert!(can_pair(&ip("127.0.0.1"), &ip("127.0.0.2")));
        assert!(!can_pair(&ip("127.0.0.1"), &ip("192.0.2.1")));
        assert!(!can_pair(&ip("2001:db8::1"), &ip("::1")));
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.2
    //= type=test
    //# A sender MUST NOT use an IPv4-mapped
    #[test]
    fn broadcast_multicast_and_unspecified_are_no_ends() {
        for bad in ["::ffff:10.0.0.1", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1"] {
            assert!(!is_endpoint(&ip(bad)), "{bad}");
        }
        for good in ["10.0.0.1", "127.0.0.1", "2001:db8::1", "fe80::1"] {
            assert!(is_endpoint(&ip(good)), "{good}");
        }
    }
}
