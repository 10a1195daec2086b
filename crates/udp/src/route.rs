//! The routing table's answers for a destination: [`source_for`], [`route_from`].

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

/// Returns the index of the interface to which the routing table sends packets from `source` to `remote`.
/// With `device`, the index of an interface, only routes over that interface count.
///
/// `Ok(None)` if no route matches. A packet of a socket that is bound to an interface leaves even then over
/// IPv4: the kernel looks for its destination on the link itself. 0 if a route has several next hops.
///
/// # Errors
///
/// The kernel refuses a netlink socket, or the system is not Linux.
pub fn route_from(source: IpAddr, remote: IpAddr, device: Option<u32>) -> io::Result<Option<u32>> {
    system::route_from(source, remote, device)
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::net::IpAddr;

    use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
    use netlink_packet_route::route::{RouteAttribute, RouteFlags, RouteMessage};
    use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
    use netlink_sys::protocols::NETLINK_ROUTE;
    use netlink_sys::{Socket, SocketAddr};

    pub(super) fn route_from(source: IpAddr, remote: IpAddr, device: Option<u32>) -> io::Result<Option<u32>> {
        let socket = Socket::new(NETLINK_ROUTE)?;
        let mut question = RouteMessage::default();
        let (family, bits) =
            if remote.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
        question.header.address_family = family;
        question.header.destination_prefix_length = bits;
        question.header.source_prefix_length = bits;
        // The entry of the table; without the flag also the kernel's guess for a bound socket.
        question.header.flags = RouteFlags::FibMatch;
        question.attributes =
            vec![RouteAttribute::Destination(remote.into()), RouteAttribute::Source(source.into())];
        question.attributes.extend(device.map(RouteAttribute::Oif));
        let question = RouteNetlinkMessage::GetRoute(question);
        let mut request = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(question));
        request.header.flags = NLM_F_REQUEST;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
        // The kernel answers at once.
        let (answer, _) = socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                let over = route.attributes.iter().find_map(|attribute| match attribute {
                    RouteAttribute::Oif(index) => Some(*index),
                    _ => None,
                });
                Ok(Some(over.unwrap_or(0)))
            }
            NetlinkPayload::Error(_) => Ok(None),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::net::IpAddr;

    pub(super) fn route_from(_: IpAddr, _: IpAddr, _: Option<u32>) -> io::Result<Option<u32>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "routes cannot be read on this system"))
    }
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_route_to_this_host_is_over_loopback_and_over_no_other_interface() {
        for ip in ["127.0.0.1", "::1"] {
            let ip: IpAddr = ip.parse().unwrap();
            let over = |device| route_from(ip, ip, device).unwrap();
            assert_eq!((over(None), over(Some(1))), (Some(1), Some(1)), "{ip}");
        }
        // No interface has this index.
        let ip: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(route_from(ip, ip, Some(i32::MAX as u32)).unwrap(), None);
    }
}
