//! [`Probe`]: an INIT over UDP, and a TCP connection, from one interface to one address.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use msctp_wire::param::{DtlsKeyManagement, DtlsRoles};
use msctp_wire::{
    Checksum, Chunk, ChunkType, Init, KeyManagementId, List, Packet, PacketBuilder, Param, Params, Tsn,
    VerificationTag,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::time::{Instant, timeout_at};

use super::Found;
use crate::net::security::random_bits;

/// The times at which the INIT is transmitted, in hundredths of the limit.
const TRANSMISSIONS: [u32; 3] = [0, 20, 50];

/// SCTP ports from which to probe: dynamic ones, like a client's.
const SCTP_PORTS: u16 = 49_152;

/// Maximum length in bytes of the packet with the INIT.
const LENGTH: usize = 512;

/// Length of the receive buffer in bytes, which no answer to an INIT exceeds.
const BUFFER: usize = 1 << 16;

/// Where to probe from, and to.
#[derive(Debug)]
pub(super) struct Probe {
    /// The source address.
    pub(super) ip: IpAddr,
    /// The interface to bind to.
    pub(super) device: Option<String>,
    pub(super) server: SocketAddr,
    pub(super) deadline: Instant,
}

/// The result of a probe.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The server answered after this time.
    Answer(Duration),
    /// Nobody listens at the port, by the host that says so.
    Closed(Option<IpAddr>),
    /// Packets do not arrive, by the host that says so.
    Unreachable(Option<IpAddr>),
    Forbidden,
    Silent,
    Failed(io::Error),
}

impl Outcome {
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Answer(_))
    }

    pub(super) fn round_trip(&self) -> Option<Duration> {
        match self {
            Self::Answer(time) => Some(*time),
            _ => None,
        }
    }

    pub(super) fn found(&self) -> Found {
        match self {
            Self::Answer(_) => Found::Answers,
            Self::Closed(_) => Found::Closed,
            Self::Unreachable(_) => Found::Unreachable,
            Self::Forbidden => Found::Forbidden,
            Self::Silent => Found::Silent,
            Self::Failed(_) => Found::Failed,
        }
    }

    /// Interprets an error of sending, receiving or connecting. `by` is the host that reported it.
    fn of(error: io::Error, by: Option<IpAddr>) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Closed(by),
            // EACCES: an ICMPv6 message "administratively prohibited".
            ErrorKind::PermissionDenied if by.is_some() => Self::Unreachable(by),
            ErrorKind::PermissionDenied => Self::Forbidden,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable(by),
            ErrorKind::TimedOut => Self::Silent,
            _ => Self::Failed(error),
        }
    }
}

impl Probe {
    /// Transmits an INIT up to three times and waits for its answer. The peer keeps no state of an INIT, so
    /// the probe uses up no `--code` and ends no server.
    pub(super) async fn udp(&self, sctp_port: u16, limit: Duration) -> Outcome {
        match self.udp_socket() {
            Ok(socket) => match self.exchange(&socket, sctp_port, limit).await {
                Ok(Some(time)) => Outcome::Answer(time),
                Ok(None) => Outcome::Silent,
                Err(error) => {
                    let by = reporter(&socket);
                    Outcome::of(error, by)
                }
            },
            Err(error) => Outcome::of(error, None),
        }
    }

    /// Returns the time from the INIT to its answer; `None` without an answer.
    async fn exchange(
        &self,
        socket: &UdpSocket,
        sctp_port: u16,
        limit: Duration,
    ) -> io::Result<Option<Duration>> {
        let begin = self.deadline - limit;
        let mut transmissions = TRANSMISSIONS.map(|part| begin + limit * part / 100).into_iter().peekable();
        // Each transmission has a tag of its own, so that the answer tells the round trip.
        let mut sent: Vec<(u32, Instant)> = Vec::new();
        let mut buffer = vec![0; BUFFER];
        loop {
            let until = transmissions.peek().copied().unwrap_or(self.deadline);
            match timeout_at(until, socket.recv(&mut buffer)).await {
                Ok(received) => {
                    let answer = &buffer[..received?];
                    if let Some((_, at)) = sent.iter().find(|(tag, _)| is_answer(answer, *tag)) {
                        return Ok(Some(at.elapsed()));
                    }
                }
                Err(_) if transmissions.next().is_none() => return Ok(None),
                Err(_) => {
                    // 0 is no tag.
                    let tag = random()?.max(1);
                    sent.push((tag, Instant::now()));
                    socket.send(&init(sctp_port, tag)?).await?;
                }
            }
        }
    }

    fn udp_socket(&self) -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(self.server), Type::DGRAM, Some(Protocol::UDP))?;
        self.bind_device(&socket)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::new(self.ip, 0).into())?;
        socket.connect(&self.server.into())?;
        report_icmp(&socket, self.server)?;
        UdpSocket::from_std(socket.into())
    }

    /// Connects over TCP, and closes the connection.
    pub(super) async fn tcp(&self) -> Outcome {
        let begin = Instant::now();
        match self.connect().await {
            Ok(()) => Outcome::Answer(begin.elapsed()),
            Err(error) => Outcome::of(error, None),
        }
    }

    async fn connect(&self) -> io::Result<()> {
        let socket = Socket::new(Domain::for_address(self.server), Type::STREAM, Some(Protocol::TCP))?;
        self.bind_device(&socket)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::new(self.ip, 0).into())?;
        TcpSocket::from_std_stream(socket.into()).connect(self.server).await.map(drop)
    }

    #[cfg(target_os = "linux")]
    fn bind_device(&self, socket: &Socket) -> io::Result<()> {
        let Some(device) = &self.device else { return Ok(()) };
        match socket.bind_device(Some(device.as_bytes())) {
            // Before Linux 5.7 only root may: the address alone decides, as for the commands' sockets.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            bound => bound,
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    fn bind_device(&self, _: &Socket) -> io::Result<()> {
        Ok(())
    }
}

/// Builds a packet with an INIT. It offers every key management, so that a server neither refuses it nor
/// reports it.
fn init(sctp_port: u16, tag: u32) -> io::Result<Vec<u8>> {
    let methods = [KeyManagementId::TLS_FALSE_START, KeyManagementId::TLS, KeyManagementId::PRE_SHARED];
    let roles = DtlsRoles { client: true, server: false };
    let methods = List::from(&methods);
    let keys = DtlsKeyManagement { tie_breaker: random()?, restart: false, roles, methods };
    let params = [Param::DtlsKeyManagement(keys)];
    let init = Init {
        initiate_tag: VerificationTag::new(tag),
        a_rwnd: 1 << 16,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(random()?),
        params: Params::from(&params),
    };
    let from = SCTP_PORTS + random()? as u16 % (u16::MAX - SCTP_PORTS);
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, from, sctp_port, VerificationTag::ZERO, LENGTH);
    // It fits.
    let _ = packet.push(&Chunk::Init(init));
    packet.finish();
    Ok(bytes)
}

fn random() -> io::Result<u32> {
    random_bits().map(u32::from_be_bytes).map_err(|failure| io::Error::other(failure.to_string()))
}

/// Returns whether a packet answers the INIT with this tag: with INIT ACK, or with ABORT (RFC 9260 §8.4).
fn is_answer(bytes: &[u8], tag: u32) -> bool {
    Packet::parse(bytes, Checksum::Verify).is_ok_and(|packet| {
        packet.header.verification_tag.get() == tag
            && matches!(packet.first_chunk_type(), Some(ChunkType::INIT_ACK | ChunkType::ABORT))
    })
}

#[cfg(target_os = "linux")]
fn report_icmp(socket: &Socket, server: SocketAddr) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    // Otherwise a connected socket reports "port unreachable" only.
    let set = match server {
        SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4RecvErr, &true),
        SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvErr, &true),
    };
    Ok(set?)
}

#[cfg(not(target_os = "linux"))]
fn report_icmp(_: &Socket, _: SocketAddr) -> io::Result<()> {
    Ok(())
}

/// Returns the host whose ICMP message the socket reported. Messages of this host name one of its addresses.
#[cfg(target_os = "linux")]
fn reporter(socket: &UdpSocket) -> Option<IpAddr> {
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

    let mut control = [0; 512];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut [], Some(&mut control), flags).ok()?;
    message.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4RecvErr(_, by) => {
            by.map(|by| IpAddr::from(by.sin_addr.s_addr.to_ne_bytes()))
        }
        ControlMessageOwned::Ipv6RecvErr(_, by) => by.map(|by| IpAddr::from(by.sin6_addr.s6_addr)),
        _ => None,
    })
}

#[cfg(not(target_os = "linux"))]
fn reporter(_: &UdpSocket) -> Option<IpAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_packet_with_the_tag_of_the_init_answers_it() {
        let packet = |tag, chunk: &Chunk<'_>| {
            let mut bytes = Vec::new();
            let mut packet = PacketBuilder::new(&mut bytes, 1, 2, VerificationTag::new(tag), LENGTH);
            packet.push(chunk).unwrap();
            packet.finish();
            bytes
        };
        let abort =
            Chunk::Abort(msctp_wire::Abort { tag_reflected: false, causes: msctp_wire::Causes::EMPTY });
        assert!(is_answer(&packet(7, &abort), 7));
        assert!(!is_answer(&packet(8, &abort), 7) && !is_answer(b"garbage", 7));
        assert!(!is_answer(&packet(7, &Chunk::CookieAck(msctp_wire::CookieAck)), 7));
        let init = init(5000, 9).unwrap();
        let init = Packet::parse(&init, Checksum::Verify).unwrap();
        assert_eq!((init.header.dst_port, init.first_chunk_type()), (5000, Some(ChunkType::INIT)));
    }
}
