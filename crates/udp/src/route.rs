//! [`source_for`]: the local address that the kernel chooses for a destination.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Returns the local address of packets to this destination, as the routing table chooses it. Sends nothing.
///
/// # Errors
///
/// There is no route, or the system does not say.
pub fn source_for(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if remote.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let probe = UdpSocket::bind((any, 0))?;
    probe.connect(remote)?;
    let chosen = probe.local_addr()?.ip();
    if chosen.is_unspecified() { Err(io::ErrorKind::AddrNotAvailable.into()) } else { Ok(chosen) }
}

/// Checks that this host has an address. The port does not matter.
///
/// # Errors
///
/// The kernel's, such as "cannot assign requested address".
pub fn check_local(ip: IpAddr) -> io::Result<()> {
    UdpSocket::bind((ip, 0)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_calls_this_host_from_the_address_that_is_called() {
        for ip in ["127.0.0.1", "127.0.0.9", "::1"] {
            let ip: IpAddr = ip.parse().unwrap();
            let source = source_for(SocketAddr::new(ip, 9)).unwrap();
            assert!(source.is_loopback() && source.is_ipv4() == ip.is_ipv4(), "{source}");
        }
        assert!(check_local([127, 0, 0, 1].into()).is_ok());
        let error = check_local([192, 0, 2, 77].into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
