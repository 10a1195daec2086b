//! Packets over TCP, for networks that drop UDP: `serve --tcp` and the clients' fallback. The framing is
//! [`msctp_forward::packets`], in both directions.
//!
//! Both ends relay between TCP and a UDP socket on loopback, so the association is one over UDP. The DTLS
//! chunk protects its packets; TCP adds no protection.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msctp_forward::packets::{FramingError, HEADER, MAX_PACKET, PREFACE, Packets, header};
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use msctp_wire::ChunkType;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::devices::Devices;
use super::listen::{self, ACCEPT_PAUSE};
use super::outage;
use super::sources::Sources;

/// Time for a client to send the preface.
const GREETING: Duration = Duration::from_secs(5);

/// Idle time after which a TCP connection ends. An endpoint does not answer garbage, and an idle association
/// sends HEARTBEATs more often.
const IDLE: Duration = Duration::from_secs(120);

/// Time after which a server ends a TCP connection over which its endpoint sent nothing that
/// [`belongs`](belongs_to_association) to an association.
const EARLY: Duration = Duration::from_secs(5);

/// Returns whether an endpoint sends this packet only to a peer that has an association. The excepted
/// chunks answer anyone.
fn belongs_to_association(packet: &[u8]) -> bool {
    const TO_ANYONE: [ChunkType; 4] =
        [ChunkType::INIT_ACK, ChunkType::ABORT, ChunkType::ERROR, ChunkType::SHUTDOWN_COMPLETE];
    // The type of the first chunk follows the common header.
    packet.get(12).is_some_and(|&kind| !TO_ANYONE.contains(&ChunkType(kind)))
}

/// Time without acknowledgement after which TCP declares the connection broken (RFC 5482).
const STUCK: Duration = Duration::from_secs(10);

/// Bytes that TCP may queue unsent. A longer queue only adds delay: the association has its own send buffer.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 16 << 10;

/// Time without a packet after which an ending relay has forwarded everything. The kernel delivers packets on
/// its own soon after the endpoint has sent them.
const SETTLED: Duration = Duration::from_millis(5);

/// Time that the relays of an ending command have to finish.
const FINISH: Duration = Duration::from_secs(1);

/// Buffer size of a read in bytes: several packets.
const READ: usize = 16 << 10;

/// Time for a TCP connection to the server.
const CONNECT: Duration = Duration::from_secs(10);

/// Head start of each interface over the next one in connecting over TCP.
const STAGGER: Duration = Duration::from_secs(1);

/// Maximum numbers of a server's connections. The first is for all clients: each connection takes two
/// descriptors of the usual 1,024. The second is for one IPv4 address or IPv6 /64 prefix.
const CONNECTIONS: usize = 256;
const PER_SOURCE: usize = 32;

/// Parses the value of --tcp. The address defaults to all addresses.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let example = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9899));
    listen::parse(text, Ipv6Addr::UNSPECIFIED.into(), example)
}

/// Listens at the address of --tcp, and prints it.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bind = |address: SocketAddr| {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        if address.is_ipv6() {
            // `[::]` takes IPv4, whatever the system's default is.
            socket.set_only_v6(false)?;
        }
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(1024)?;
        TcpListener::from_std(socket.into())
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

/// The relays of a command, which forward the last packets before the command ends.
#[derive(Debug)]
pub(crate) struct Relays {
    ending: watch::Sender<bool>,
    running: mpsc::Sender<()>,
    ended: mpsc::Receiver<()>,
}

/// A relay's share of [`Relays`].
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    ending: watch::Receiver<bool>,
    /// Dropped when the relay has ended.
    _running: mpsc::Sender<()>,
}

impl Default for Relays {
    fn default() -> Self {
        let (running, ended) = mpsc::channel(1);
        Self { ending: watch::Sender::new(false), running, ended }
    }
}

impl Relays {
    /// Adds a relay.
    pub(crate) fn add(&self) -> Ending {
        Ending { ending: self.ending.subscribe(), _running: self.running.clone() }
    }

    /// Waits until the relays have forwarded the last packets and the peers have received them. Call it after
    /// the endpoints have ended.
    pub(crate) async fn finish(self) {
        let Self { ending, running, mut ended } = self;
        ending.send_replace(true);
        drop(running);
        let _ = timeout(FINISH, ended.recv()).await;
    }
}

impl Ending {
    /// Waits until the command ends.
    async fn wait(&self) {
        // The sender is dropped only after its last value.
        let _ = self.ending.clone().wait_for(|ending| *ending).await;
    }
}

/// The clients of the relays, by the addresses from which the relays send to the endpoint. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relayed(Arc<Mutex<BTreeMap<SocketAddr, IpAddr>>>);

/// The entry of a relay among [`Relayed`].
struct Entry {
    relayed: Relayed,
    relay: SocketAddr,
}

impl Relayed {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, relay: SocketAddr, client: IpAddr) -> Entry {
        self.lock().insert(relay, client);
        Entry { relayed: self.clone(), relay }
    }

    /// Returns the address of the client whose packets come from this address: the TCP connection's if it is
    /// a relay's.
    pub(crate) fn client(&self, from: SocketAddr) -> IpAddr {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        self.lock().get(&from).copied().unwrap_or(from.ip())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.relayed.lock().remove(&self.relay);
    }
}

/// Relays between TCP connections and the server's endpoint until the command ends.
pub(crate) async fn serve(listener: TcpListener, endpoint: SocketAddr, relayed: Relayed, ending: Ending) {
    let sources = Sources::new(CONNECTIONS, PER_SOURCE);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.wait() => break,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Without a place it is closed.
        let Ok(place) = sources.take(Some(from.ip()), || ()) else { continue };
        let (ending, relayed) = (ending.clone(), relayed.clone());
        connections.spawn(async move {
            // A client that breaks the framing, or is gone, ends only its connection.
            let _ = serve_client((stream, from.ip().to_canonical()), endpoint, &relayed, &ending).await;
            drop(place);
        });
    }
    connections.join_all().await;
}

async fn serve_client(
    (mut stream, from): (TcpStream, IpAddr),
    endpoint: SocketAddr,
    relayed: &Relayed,
    ending: &Ending,
) -> io::Result<()> {
    let mut packets = Packets::of_client();
    let preface = async {
        while !packets.begin().map_err(invalid)? {
            read_more(&mut stream, &mut packets).await?;
        }
        Ok::<_, io::Error>(())
    };
    tokio::select! {
        begun = timeout(GREETING, preface) => begun??,
        () = ending.wait() => return Ok(()),
    };
    let local = if endpoint.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { IpAddr::V6(Ipv6Addr::LOCALHOST) };
    let local = if endpoint.ip().is_loopback() { local } else { endpoint.ip() };
    let socket = UdpSocket::bind((local, 0)).await?;
    socket.connect(endpoint).await?;
    let _entry = relayed.add(socket.local_addr()?, from);
    carry(stream, packets, &socket, ending, EARLY).await
}

/// Returns the address at which the relay reaches an endpoint with these addresses.
pub(crate) fn within(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let address = addresses.iter().min_by_key(|address| (!address.ip().is_loopback(), address.is_ipv6()))?;
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Some(SocketAddr::new(ip, address.port()))
}

/// Makes a connection fail after [`STUCK`] without acknowledgement, and limits its queue.
fn set_options(stream: &TcpStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    SockRef::from(stream).set_tcp_notsent_lowat(UNSENT)?;
    #[cfg(target_os = "linux")]
    SockRef::from(stream).set_tcp_user_timeout(Some(STUCK))?;
    stream.set_nodelay(true)
}

/// Carries packets between a TCP connection and a connected UDP socket until it is idle or the command ends.
/// `early` is the time for the first packet of an association.
///
/// # Errors
///
/// The connection ended, or its peer breaks the framing.
async fn carry(
    stream: TcpStream,
    mut packets: Packets,
    socket: &UdpSocket,
    ending: &Ending,
    early: Duration,
) -> io::Result<()> {
    set_options(&stream)?;
    let (mut reader, mut writer) = stream.into_split();
    let (begin, last, set_up) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let used = |packet: &[u8]| {
        if belongs_to_association(packet) {
            last.store(begin.elapsed().as_millis() as u64, Ordering::Relaxed);
            set_up.store(true, Ordering::Relaxed);
        }
    };
    let inward = async {
        loop {
            while let Some(packet) = packets.next_packet().map_err(invalid)? {
                // The endpoint may have no room, or may be about to end: a lost packet is retransmitted.
                let _ = socket.send(&packet).await;
            }
            match packets.is_partial() {
                true => timeout(IDLE, read_more(&mut reader, &mut packets)).await??,
                false => read_more(&mut reader, &mut packets).await?,
            }
        }
    };
    let outward = async {
        let mut frame = vec![0; HEADER + MAX_PACKET];
        loop {
            let received = tokio::select! {
                biased;
                received = socket.recv(&mut frame[HEADER..]) => received,
                () = async { ending.wait().await; tokio::time::sleep(SETTLED).await } => {
                    return writer.shutdown().await;
                }
            };
            let len = match received {
                // An ICMP error of an earlier packet.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                received => received?,
            };
            let Some(header) = header(&frame[HEADER..HEADER + len]) else { continue };
            frame[..HEADER].copy_from_slice(&header);
            // While the peer takes nothing, packets wait in the socket, and the system drops further ones.
            timeout(STUCK, writer.write_all(&frame[..HEADER + len])).await??;
            used(&frame[HEADER..HEADER + len]);
        }
    };
    let idle = async {
        loop {
            let limit = if set_up.load(Ordering::Relaxed) { IDLE } else { early };
            let quiet = begin + Duration::from_millis(last.load(Ordering::Relaxed)) + limit;
            if Instant::now() >= quiet {
                return Ok(());
            }
            tokio::time::sleep_until(quiet).await;
        }
    };
    let mut inward = std::pin::pin!(inward);
    tokio::select! {
        result = &mut inward => return result,
        result = outward => result?,
        result = idle => return result,
    }
    // The peer closes when it has read all. To close first would drop what it has not read yet.
    inward.await
}

fn invalid(error: FramingError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Reads further bytes.
async fn read_more(reader: &mut (impl AsyncRead + Unpin), packets: &mut Packets) -> io::Result<()> {
    let buffer = packets.buffer();
    buffer.reserve(READ);
    match reader.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Connects to a server over TCP, at one of its addresses, and relays for an endpoint that sends to the
/// returned address. When the TCP connection ends, reconnects over one of the interfaces.
///
/// # Errors
///
/// No server answers over TCP.
pub(crate) async fn relay(server: &[SocketAddr], devices: Devices, ending: Ending) -> io::Result<SocketAddr> {
    let connected = connect(server, &devices).await?;
    let server = server.to_vec();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = socket.local_addr()?;
    tokio::spawn(async move {
        // The endpoint's first packet says where it is; the socket takes no others' from then on.
        let mut first = [0; 1];
        let peeked = tokio::select! {
            peeked = timeout(IDLE, socket.peek_from(&mut first)) => peeked,
            () = ending.wait() => return,
        };
        let Ok(Ok((_, endpoint))) = peeked else { return };
        if socket.connect(endpoint).await.is_err() {
            return;
        }
        let mut connected = Some(connected);
        let mut pause = outage::FIRST_PAUSE;
        loop {
            if let Some((stream, device)) = connected.take() {
                let begin = Instant::now();
                let lost = async {
                    match device {
                        Some((device, at)) => devices.lost(&device, at).await,
                        None => std::future::pending().await,
                    }
                };
                let result = tokio::select! {
                    result = carry(stream, Packets::of_server(), &socket, &ending, IDLE) => result,
                    () = lost => Err(io::ErrorKind::NetworkDown.into()),
                };
                if result.is_ok() || *ending.ending.borrow() {
                    return;
                }
                if begin.elapsed() > pause {
                    pause = outage::FIRST_PAUSE;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                // No connection takes the last packets.
                () = ending.wait() => return,
            }
            pause = outage::longer(pause);
            // An endpoint that is gone sends nothing more.
            while socket.try_recv(&mut first).is_ok() {}
            tokio::select! {
                peeked = timeout(IDLE, socket.peek(&mut first)) => {
                    if peeked.is_err() {
                        return;
                    }
                }
                () = ending.wait() => return,
            }
            connected = connect(&server, &devices).await.ok();
        }
    });
    Ok(at)
}

/// A TCP connection to the server, and the interface that its socket is bound to, with the server's address.
type Connected = (TcpStream, Option<(String, SocketAddr)>);

/// Connects over the host's routes, or over the first interface that reaches an address of the server. The
/// network of the default route may lead nowhere.
async fn connect(server: &[SocketAddr], devices: &Devices) -> io::Result<Connected> {
    let routes = server.iter().filter(|_| devices.is_any()).map(|at| (None, *at));
    let bound = server.iter().flat_map(|at| {
        let usable = devices.usable(*at).into_iter();
        usable.map(|device| (Some(device), *at))
    });
    let mut attempts = JoinSet::new();
    for ((device, at), place) in routes.chain(bound).zip(0..) {
        attempts.spawn(async move {
            tokio::time::sleep(STAGGER * place).await;
            let stream = match &device {
                Some(device) => timeout(CONNECT, connect_by(at, device)).await??,
                None => timeout(CONNECT, TcpStream::connect(at)).await??,
            };
            Ok((stream, device.map(|device| (device, at))))
        });
    }
    let (mut stream, device) = first(attempts).await?;
    stream.write_all(PREFACE).await?;
    Ok((stream, device))
}

/// Returns the first connection that succeeds, and drops the other attempts.
async fn first(mut attempts: JoinSet<io::Result<Connected>>) -> io::Result<Connected> {
    let mut error = io::ErrorKind::NetworkUnreachable.into();
    while let Some(ended) = attempts.join_next().await {
        match ended.map_err(io::Error::other).flatten() {
            Ok(connected) => return Ok(connected),
            Err(failed) => error = failed,
        }
    }
    Err(error)
}

/// Connects over an interface, without routes of other interfaces such as a tunnel.
#[cfg(target_os = "linux")]
async fn connect_by(server: SocketAddr, device: &str) -> io::Result<TcpStream> {
    let socket = if server.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind_device(Some(device.as_bytes()))?;
    socket.connect(server).await
}

#[cfg(not(target_os = "linux"))]
async fn connect_by(_server: SocketAddr, _device: &str) -> io::Result<TcpStream> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_names_its_client() {
        let relayed = Relayed::default();
        let relay = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let client: IpAddr = "192.0.2.1".parse().unwrap();
        let entry = relayed.add(relay(5), client);
        assert_eq!(relayed.client(relay(5)), client);
        assert_eq!(relayed.client("[::ffff:127.0.0.1]:5".parse().unwrap()), client);
        assert_eq!(relayed.client(relay(6)), Ipv4Addr::LOCALHOST);
        drop(entry);
        assert_eq!(relayed.client(relay(5)), Ipv4Addr::LOCALHOST);
    }

    #[test]
    fn answers_to_strangers_belong_to_no_association() {
        let packet = |kind: u8| [&[0; 12][..], &[kind, 0, 0, 4]].concat();
        for (kind, belongs) in [(2, false), (6, false), (14, false), (3, true), (11, true), (65, true)] {
            assert_eq!(belongs_to_association(&packet(kind)), belongs, "chunk {kind}");
        }
        assert!(!belongs_to_association(&[0; 12]));
    }
}
