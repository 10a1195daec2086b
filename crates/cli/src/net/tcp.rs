//! Packets over TCP, for networks that drop UDP: `serve --tcp` and the clients' fallback. Each TCP
//! connection begins with [`PREFACE`]; then a frame is a packet behind its length (2 bytes), in both
//! directions.
//!
//! Both ends relay between TCP and a UDP socket on loopback, so the association is one over UDP. The DTLS
//! chunk protects its packets; TCP adds no protection.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::time::{Instant, timeout};

use super::outage;
use crate::Failure;
use crate::system::os_error;

/// The first bytes of a client. Other input closes the connection.
const PREFACE: &[u8; 7] = b"msctp/1";

/// Time for a client to send the preface.
const GREETING: Duration = Duration::from_secs(5);

/// Time without a packet from the endpoint after which a connection ends: an endpoint does not answer
/// garbage. An idle association sends HEARTBEATs more often.
const IDLE: Duration = Duration::from_secs(120);

/// Time for the peer to acknowledge what was sent (RFC 5482), before the connection counts as broken.
const STUCK: Duration = Duration::from_secs(10);

/// Time for a TCP connection to the server.
const CONNECT: Duration = Duration::from_secs(10);

/// Connections of a server at a time, each with two descriptors of the usual 1,024, and those of one IPv4
/// address or IPv6 /64 prefix.
const CONNECTIONS: usize = 256;
const PER_SOURCE: usize = 32;

/// Pause after a failed accept, usually because there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Parses the value of --tcp: all addresses unless it names one.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().ok().map(|port| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
    port.or_else(|| text.parse().ok()).ok_or_else(|| "want a port, as 9899, or 192.0.2.1:9899".to_owned())
}

/// Listens at the address of --tcp, and says where.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bind = |address: SocketAddr| {
        let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(1024)
    };
    let any = address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    // A host without IPv6.
    let listener = bind(address).or_else(|error| match any {
        true => bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port())),
        false => Err(error),
    });
    let failed = |error| Failure::Run(format!("--tcp {address}: cannot listen: {}", os_error(&error)));
    let listener = listener.map_err(failed)?;
    eprintln!("TCP for networks without UDP at {}", listener.local_addr().map_err(failed)?);
    Ok(listener)
}

/// The connections of each source.
#[derive(Clone, Default)]
struct Sources(Arc<Mutex<BTreeMap<IpAddr, usize>>>);

/// A connection's place among the [`Sources`].
struct Place(Sources, IpAddr);

impl Sources {
    /// Takes a place; `None`: there are too many connections.
    fn take(&self, from: IpAddr) -> Option<Place> {
        let source = match from.to_canonical() {
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                IpAddr::V6(prefix.into())
            }
            address @ IpAddr::V4(_) => address,
        };
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.values().sum::<usize>() >= CONNECTIONS {
            return None;
        }
        let count = sources.entry(source).or_default();
        if *count >= PER_SOURCE {
            return None;
        }
        *count += 1;
        Some(Place(self.clone(), source))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sources = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = sources.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                sources.remove(&self.1);
            }
        }
    }
}

/// Relays between TCP connections and the server's endpoint, until it is dropped.
pub(crate) async fn serve(listener: TcpListener, endpoint: SocketAddr) {
    let sources = Sources::default();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Without a place it is closed.
        let Some(place) = sources.take(from.ip()) else { continue };
        connections.spawn(async move {
            // A client that breaks the framing, or is gone, ends only its connection.
            let _ = serve_client(stream, endpoint).await;
            drop(place);
        });
    }
}

async fn serve_client(mut stream: TcpStream, endpoint: SocketAddr) -> io::Result<()> {
    let mut preface = [0; PREFACE.len()];
    timeout(GREETING, stream.read_exact(&mut preface)).await??;
    if preface != *PREFACE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let local = if endpoint.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { IpAddr::V6(Ipv6Addr::LOCALHOST) };
    let local = if endpoint.ip().is_loopback() { local } else { endpoint.ip() };
    let socket = UdpSocket::bind((local, 0)).await?;
    socket.connect(endpoint).await?;
    carry(stream, &socket).await
}

/// Returns where the relay reaches an endpoint that has these addresses.
pub(crate) fn within(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let address = addresses.iter().min_by_key(|address| (!address.ip().is_loopback(), address.is_ipv6()))?;
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Some(SocketAddr::new(ip, address.port()))
}

/// Makes a connection to a peer that is gone fail after [`STUCK`].
fn set_timeout(stream: &TcpStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    setsockopt(stream, sockopt::TcpUserTimeout, &(STUCK.as_millis() as u32))?;
    stream.set_nodelay(true)
}

/// Carries packets between a TCP connection and a connected UDP socket until it is idle.
///
/// # Errors
///
/// The connection ended, or its peer breaks the framing.
async fn carry(stream: TcpStream, socket: &UdpSocket) -> io::Result<()> {
    set_timeout(&stream)?;
    let (reader, mut writer) = stream.into_split();
    let (begin, last) = (Instant::now(), std::sync::atomic::AtomicU64::new(0));
    let used = || last.store(begin.elapsed().as_millis() as u64, std::sync::atomic::Ordering::Relaxed);
    let inward = async {
        let mut reader = BufReader::with_capacity(1 << 16, reader);
        let mut packet = Vec::new();
        loop {
            read_frame(&mut reader, &mut packet).await?;
            // The endpoint may have no room, or may be about to end: a lost packet is retransmitted.
            let _ = socket.send(&packet).await;
        }
    };
    let outward = async {
        let mut frame = vec![0; 2 + usize::from(u16::MAX)];
        loop {
            let len = match socket.recv(&mut frame[2..]).await {
                // An ICMP error of an earlier packet.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                received => received?,
            };
            let Ok(length) = u16::try_from(len) else { continue };
            frame[..2].copy_from_slice(&length.to_be_bytes());
            // While the peer takes nothing, packets wait in the socket, and the system drops further ones.
            timeout(STUCK, writer.write_all(&frame[..2 + len])).await??;
            used();
        }
    };
    let idle = async {
        loop {
            let quiet = begin + Duration::from_millis(last.load(std::sync::atomic::Ordering::Relaxed)) + IDLE;
            if Instant::now() >= quiet {
                return Ok(());
            }
            tokio::time::sleep_until(quiet).await;
        }
    };
    tokio::select! {
        result = inward => result,
        result = outward => result,
        result = idle => result,
    }
}

/// Reads a frame. An empty one breaks the framing.
async fn read_frame(reader: &mut BufReader<OwnedReadHalf>, packet: &mut Vec<u8>) -> io::Result<()> {
    let len = reader.read_u16().await?;
    if len == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    packet.resize(usize::from(len), 0);
    timeout(IDLE, reader.read_exact(packet)).await??;
    Ok(())
}

/// Connects to a server over TCP, and relays for an endpoint that sends to the returned address. When the TCP
/// connection ends, as at a change of the network, connects again.
///
/// # Errors
///
/// No server answers over TCP.
pub(crate) async fn relay(server: SocketAddr) -> io::Result<SocketAddr> {
    let stream = connect(server).await?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = socket.local_addr()?;
    tokio::spawn(async move {
        // The endpoint's first packet says where it is; the socket takes no others' from then on.
        let mut first = [0; 1];
        let Ok(Ok((_, endpoint))) = timeout(IDLE, socket.peek_from(&mut first)).await else { return };
        if socket.connect(endpoint).await.is_err() {
            return;
        }
        let mut stream = Some(stream);
        let mut pause = outage::FIRST_PAUSE;
        loop {
            if let Some(stream) = stream.take() {
                let begin = Instant::now();
                if carry(stream, &socket).await.is_ok() {
                    return;
                }
                if begin.elapsed() > pause {
                    pause = outage::FIRST_PAUSE;
                }
            }
            tokio::time::sleep(pause).await;
            pause = outage::longer(pause);
            // An endpoint that is gone sends nothing more.
            while socket.try_recv(&mut first).is_ok() {}
            if timeout(IDLE, socket.peek(&mut first)).await.is_err() {
                return;
            }
            stream = connect(server).await.ok();
        }
    });
    Ok(at)
}

async fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = timeout(CONNECT, TcpStream::connect(server)).await??;
    stream.write_all(PREFACE).await?;
    Ok(stream)
}
