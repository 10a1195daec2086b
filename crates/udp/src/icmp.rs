//! The socket's queue of ICMP errors (`IP_RECVERR`, `IPV6_RECVERR`): which packets met "port unreachable" or
//! "packet too big", and what the messages quote.

use std::io;
use std::net::SocketAddr;

use crate::readiness::Udp;

/// An ICMP or ICMPv6 message about a sent packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// The meaning of the message.
    pub kind: IcmpKind,
    /// The packet's destination.
    pub to: SocketAddr,
    /// The beginning of the packet's UDP payload, as far as the message quotes it.
    pub quoted: Vec<u8>,
}

/// The meaning of an ICMP or ICMPv6 message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// "Port unreachable": the host has no socket at the packet's UDP port.
    PortUnreachable,
    /// "Packet too big", or "fragmentation needed" of IPv4: a link of the path takes smaller packets only.
    PacketTooBig {
        /// Maximum bytes of an IP packet on that link, with its IP and UDP headers.
        mtu: u32,
    },
}

/// Maximum number of messages read from the queue at a time, so that a flood of forged ones does not delay
/// packets.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 64;

/// Returns whether a call failed because of an ICMP message about an earlier packet (Linux,
/// `icmp_err_convert` and `icmpv6_err_convert`). The kernel reports each such error once.
pub(crate) fn is_of_earlier_packet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::Unsupported
    ) || is_other_icmp_error(error)
}

#[cfg(target_os = "linux")]
mod queue {
    use std::io::IoSliceMut;
    use std::net::{SocketAddrV4, SocketAddrV6};
    use std::os::fd::AsRawFd;

    use nix::libc;
    use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};

    use super::{AT_ONCE, IcmpError, IcmpKind, SocketAddr, Udp, io};

    /// Length of the quoted payload, which holds the headers that identify an association's packet.
    const QUOTED: usize = 128;
    /// Length of the control messages, which holds the error and those that the socket requested before it
    /// (destination, ECN).
    const CONTROL: usize = 512;

    pub(crate) fn is_other_icmp_error(error: &io::Error) -> bool {
        let known = [
            libc::EMSGSIZE,
            libc::EPROTO,
            libc::ENOPROTOOPT,
            libc::EHOSTDOWN,
            libc::ENONET,
            libc::EOPNOTSUPP,
        ];
        error.raw_os_error().is_some_and(|number| known.contains(&number))
    }

    /// Requests that the kernel queue ICMP errors for [`take`].
    pub(crate) fn enable(socket: &socket2::Socket, ipv6: bool) -> io::Result<()> {
        if ipv6 {
            setsockopt(socket, Ipv6RecvErr, &true)?;
        } else {
            setsockopt(socket, Ipv4RecvErr, &true)?;
        }
        Ok(())
    }

    /// Empties the queue, up to a bound. Returns whether it held an ICMP message. Errors of this host, such
    /// as "message too long", concern the current packet.
    pub(crate) fn take(socket: &Udp, mut found: impl FnMut(IcmpError)) -> bool {
        let mut control = [0; CONTROL];
        let mut any = false;
        for _ in 0..AT_ONCE {
            let mut bytes = [0; QUOTED];
            let mut buffers = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let Ok(message) =
                recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut buffers, Some(&mut control), flags)
            else {
                return any;
            };
            let Ok(mut cmsgs) = message.cmsgs() else { continue };
            let Some((errno, info)) = cmsgs.find_map(|cmsg| icmp_error(&cmsg)) else { continue };
            any = true;
            let to = message.address.as_ref().and_then(socket_addr);
            let len = message.bytes;
            if let (Some(kind), Some(to)) = (kind(errno, info), to) {
                found(IcmpError { kind, to, quoted: bytes[..len.min(QUOTED)].to_vec() });
            }
        }
        any
    }

    /// Returns the error number and further information of an ICMP message.
    fn icmp_error(message: &ControlMessageOwned) -> Option<(u32, u32)> {
        let (error, origin) = match message {
            ControlMessageOwned::Ipv4RecvErr(error, _) => (error, libc::SO_EE_ORIGIN_ICMP),
            ControlMessageOwned::Ipv6RecvErr(error, _) => (error, libc::SO_EE_ORIGIN_ICMP6),
            _ => return None,
        };
        (error.ee_origin == origin).then_some((error.ee_errno, error.ee_info))
    }

    /// Returns what a message means for an association; `None` if nothing.
    fn kind(errno: u32, info: u32) -> Option<IcmpKind> {
        match errno.cast_signed() {
            libc::ECONNREFUSED => Some(IcmpKind::PortUnreachable),
            libc::EMSGSIZE => Some(IcmpKind::PacketTooBig { mtu: info }),
            _ => None,
        }
    }

    fn socket_addr(address: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4(SocketAddrV4::from(*v4)));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::V6(SocketAddrV6::from(*v6))))
    }
}

#[cfg(not(target_os = "linux"))]
mod queue {
    use super::{IcmpError, Udp, io};

    pub(crate) fn is_other_icmp_error(_error: &io::Error) -> bool {
        false
    }

    pub(crate) fn enable(_socket: &socket2::Socket, _ipv6: bool) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn take(_socket: &Udp, _found: impl FnMut(IcmpError)) -> bool {
        false
    }
}

use self::queue::is_other_icmp_error;
pub(crate) use self::queue::{enable, take};
