//! [`Socket`]: the UDP socket of one local address, or of all of a family, with segmentation offload,
//! coalesced and batched receiving, and ECN. Carries whole SCTP packets and does not parse them.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Type};
use tokio::io::{Interest, Ready};

use crate::dispatch::Dispatch;
use crate::icmp::{self, IcmpError};
use crate::readiness::{Udp, Watched};

/// Bytes of a UDP header: encapsulation subtracts them from a path's MTU (RFC 6951 §5.6).
pub const UDP_HEADER: u32 = 8;

/// Length in bytes of one receive buffer, the maximum that the kernel coalesces.
const BUFFER: usize = 1 << 16;
/// Receive buffers filled by one system call.
const BUFFERS: usize = 8;
/// True if the call fills a buffer for each waiting packet (recvmmsg), so that an unfilled one means that
/// none is left. On other systems it may fill only one.
const FILLS_ALL: bool = cfg!(target_os = "linux");
/// Maximum bytes that one call may pass to segmentation offload: the maximum that an IPv4 packet with its
/// headers holds.
const MAX_OFFLOAD: usize = 65_535 - 20 - UDP_HEADER as usize;

/// Options of a [`Socket`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// The only interface to use; with `None` the routing table decides. Linux only: on other systems, and
    /// where the kernel does not permit it, the address alone decides.
    pub device: Option<String>,
    /// Bytes of kernel buffer to request in each direction, 4 MiB; the kernel grants what its limits allow.
    pub buffer: usize,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { device: None, buffer: 4 << 20 }
    }
}

/// Errors of [`Socket::bind`] and [`Socket::adopt`].
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The socket to adopt is bound to all addresses or to none. A path has one local address.
    #[error("{0}: want a socket that is bound to one address of this host")]
    Unspecified(SocketAddr),
    /// The kernel refused to create, bind or configure the socket.
    #[error("cannot use {address}: {}", reason(.error))]
    Io {
        /// The requested address.
        address: SocketAddr,
        /// The kernel's error, which the message has: it is no `source`.
        error: io::Error,
    },
}

/// Describes the kernel's error in words that a user can act on.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use: choose another, or end the program that uses it".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => "this host has no such address".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission: ports below 1024 require root".to_owned(),
        _ => error.to_string(),
    }
}

/// Packets to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The source address, for a socket of all addresses. `None`: the socket's own, or the kernel's choice.
    pub from: Option<IpAddr>,
    /// The destination.
    pub to: SocketAddr,
    /// One packet, or several of equal length; the last may be shorter.
    pub bytes: &'a [u8],
    /// Length of each packet if there are several.
    pub segment_size: Option<usize>,
    /// ECN bits of the outer IP header, which are those of the SCTP packet without UDP (RFC 6951 §5.8).
    /// `None` if the sender does not support ECN.
    pub ecn: Option<EcnCodepoint>,
    /// Permission to fragment packets that are larger than the interface's MTU.
    pub fragment: Fragment,
}

/// Permission to fragment a packet that is larger than a link's MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// Never fragments the packet, since it probes its size (RFC 8899 §3).
    Never,
    /// Sets "don't fragment", but fragments it at this host if the host's own interface has a smaller MTU.
    Here,
    /// Permits fragmentation anywhere, for a packet known to exceed its path's MTU (RFC 9260 §6.9).
    Anywhere,
}

/// Result of handing packets to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes that were handed over or lost. If fewer than requested, retry the rest when
    /// [`poll_send_ready`](Socket::poll_send_ready) is ready.
    pub bytes: usize,
    /// Bytes of the smallest packet that exceeded the interface's MTU.
    pub too_long: Option<usize>,
}

/// A UDP socket bound to one local address, or to all of a family.
#[derive(Debug)]
pub struct Socket {
    io: Arc<Watched>,
    state: UdpSocketState,
    local: SocketAddr,
    device: Option<String>,
    /// ICMP errors for [`Socket::take_icmp_errors`].
    icmp_errors: Mutex<Vec<IcmpError>>,
    /// Errors of packets that other sockets sent, for a socket of a group.
    errors: Option<Mutex<Errors>>,
}

/// A wait for the next ICMP error.
struct Errors(Pin<Box<dyn Future<Output = io::Result<Ready>> + Send>>);

impl Errors {
    fn of(io: &Arc<Watched>) -> Self {
        let io = Arc::clone(io);
        Self(Box::pin(async move { io.ready(Interest::ERROR).await }))
    }
}

impl fmt::Debug for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Errors")
    }
}

/// Maximum number of ICMP errors kept for [`Socket::take_icmp_errors`]. More are dropped, as the network may
/// drop any.
const MOST_ICMP_ERRORS: usize = 64;

/// Maximum number of attempts to send a packet while ICMP errors of earlier packets arrive.
const MOST_ATTEMPTS: usize = 16;

impl Socket {
    /// Binds to an address; port 0 chooses a free one. Must be called within a tokio runtime.
    ///
    /// An unspecified address stands for every address of its family that the host has or gets. Each packet
    /// then names its own ([`Outgoing::from`], [`Datagram::local`]).
    ///
    /// # Errors
    ///
    /// The kernel refuses the address.
    ///
    /// # Panics
    ///
    /// There is no runtime, or its I/O driver is off.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Self, SocketError> {
        let socket =
            Self::open(address, options, false).and_then(|socket| Self::of(socket, address, options));
        socket.map_err(|error| SocketError::Io { address, error })
    }

    /// Takes a bound socket, with the options that it has.
    ///
    /// # Errors
    ///
    /// The socket is bound to no single address, or the kernel refuses to configure it.
    ///
    /// # Panics
    ///
    /// As [`bind`](Self::bind).
    pub fn adopt(socket: std::net::UdpSocket) -> Result<Self, SocketError> {
        let unknown = SocketAddr::from(([0; 4], 0));
        let address = socket.local_addr().map_err(|error| SocketError::Io { address: unknown, error })?;
        if address.ip().is_unspecified() {
            return Err(SocketError::Unspecified(address));
        }
        let adopted = Self::of(socket.into(), address, &SocketOptions::default());
        adopted.map_err(|error| SocketError::Io { address, error })
    }

    /// Binds as many sockets to one address as `dispatch` has, and makes the kernel dispatch to them (Linux).
    /// A datagram may still arrive at another socket. The kernel may not support the program, and it assigns
    /// coalesced datagrams by the first of them.
    ///
    /// Fails if another program has the port. Afterwards, sockets of the same user can join the group if they
    /// set `SO_REUSEPORT`, and take datagrams from it.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind). With several sockets also: the options name a device, or the system is not
    /// Linux.
    pub fn bind_group(
        address: SocketAddr,
        options: &SocketOptions,
        dispatch: &Dispatch,
    ) -> Result<Vec<Self>, SocketError> {
        if dispatch.sockets() == 1 {
            return Ok(vec![Self::bind(address, options)?]);
        }
        Self::open_group(address, options, dispatch).map_err(|error| SocketError::Io { address, error })
    }

    #[cfg(target_os = "linux")]
    fn open_group(
        address: SocketAddr,
        options: &SocketOptions,
        dispatch: &Dispatch,
    ) -> io::Result<Vec<Self>> {
        if options.device.is_some() {
            let why = "sockets that share an address cannot be bound to an interface";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // Bound without SO_REUSEPORT: fails if any socket has the port, even one that would share it.
        let first = Self::open(address, options, false)?;
        first.set_reuse_port(true)?;
        let local = first.local_addr()?.as_socket().unwrap_or(address);
        let mut sockets = vec![first];
        for _ in 1..dispatch.sockets() {
            sockets.push(Self::open(local, options, true)?);
        }
        // Without the program the kernel dispatches by a hash of its own.
        let _ = dispatch.attach(&sockets[0]);
        let of_group = |socket| {
            let socket = Self::of(socket, local, options)?;
            Ok(Self { errors: Some(Mutex::new(Errors::of(&socket.io))), ..socket })
        };
        sockets.into_iter().map(of_group).collect()
    }

    #[cfg(not(target_os = "linux"))]
    fn open_group(_: SocketAddr, _: &SocketOptions, _: &Dispatch) -> io::Result<Vec<Self>> {
        let why = "sockets share an address on Linux only: want one";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    /// Binds a socket. With `shared`, sockets of this user that have `SO_REUSEPORT` may have the same
    /// address.
    fn open(address: SocketAddr, options: &SocketOptions, shared: bool) -> io::Result<socket2::Socket> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        #[cfg(target_os = "linux")]
        socket.set_reuse_port(shared)?;
        #[cfg(not(target_os = "linux"))]
        debug_assert!(!shared, "a group has one socket");
        socket.bind(&address.into())?;
        // A smaller buffer than requested is no error: the association's window then decides.
        let _ = socket.set_recv_buffer_size(options.buffer);
        let _ = socket.set_send_buffer_size(options.buffer);
        Ok(socket)
    }

    /// Configures a bound socket and registers it with the runtime.
    fn of(socket: socket2::Socket, address: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let device = options.device.clone().filter(|name| bind_device(&socket, name));
        // Without it a set-up without a listener ends by timeout, as it does where ICMP is filtered.
        let _ = icmp::enable(&socket, address.is_ipv6());
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // quinn-udp 0.6 requests arrival times but leaves no room for them beside the ECN bits, which the
        // kernel would then truncate.
        #[cfg(target_os = "linux")]
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::ReceiveTimestampns, &false)?;
        let io = Arc::new(Watched::new(socket.into())?);
        let local = io.socket().local_addr()?;
        Ok(Self { io, state, local, device, icmp_errors: Mutex::default(), errors: None })
    }

    /// Returns the address and port of the socket.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns the interface that the socket is bound to.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Sends packets with as few system calls as possible.
    ///
    /// # Errors
    ///
    /// The kernel's error, such as "no route". The packets are then lost.
    pub fn send(&self, packets: &Outgoing<'_>) -> io::Result<Sent> {
        if packets.fragment == Fragment::Anywhere {
            return self.send_fragmented(packets);
        }
        let segment = packets.segment_size.unwrap_or(packets.bytes.len()).max(1);
        let mut most = self.state.max_gso_segments();
        let mut sent = Sent::default();
        while sent.bytes < packets.bytes.len() {
            let rest = &packets.bytes[sent.bytes..];
            let at_once = most.min(self.state.max_gso_segments()).min(MAX_OFFLOAD / segment).max(1) * segment;
            let contents = &rest[..rest.len().min(at_once)];
            let segment_size = (contents.len() > segment).then_some(segment);
            match self.send_some(packets, contents, segment_size) {
                Ok(()) => sent.bytes += contents.len(),
                Err(error) if is_too_long(&error) => {
                    // Sends each packet by itself, to find the one that is too long.
                    if segment_size.is_some() {
                        most = 1;
                        continue;
                    }
                    let least = sent.too_long.map_or(contents.len(), |least| least.min(contents.len()));
                    sent.too_long = Some(least);
                    if packets.fragment == Fragment::Here {
                        let one = Outgoing { bytes: contents, segment_size: None, ..*packets };
                        if self.send_fragmented(&one)?.bytes == 0 {
                            break;
                        }
                    }
                    sent.bytes += contents.len();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The kernel reported an interface without offload; offload stays off.
                Err(_) if segment_size.is_some() && self.state.max_gso_segments() == 1 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Sends each packet by itself, without "don't fragment".
    fn send_fragmented(&self, packets: &Outgoing<'_>) -> io::Result<Sent> {
        let mut sent = Sent::default();
        for packet in packets.bytes.chunks(packets.segment_size.unwrap_or(packets.bytes.len()).max(1)) {
            allow_fragments(self.io.socket(), self.local, true)?;
            let result = self.send_some(packets, packet, None);
            allow_fragments(self.io.socket(), self.local, false)?;
            match result {
                Ok(()) => sent.bytes += packet.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Returns whether an ICMP error was in the queue.
    fn collect_icmp_errors(&self) -> bool {
        let mut errors = self.icmp_errors.lock().unwrap_or_else(PoisonError::into_inner);
        icmp::take(self.io.socket(), |message| {
            if errors.len() < MOST_ICMP_ERRORS {
                errors.push(message);
            }
        })
    }

    /// Collects ICMP errors of packets that other sockets of the group sent, since the kernel passes them to
    /// any socket of the group. A single socket finds its errors as it sends.
    pub fn poll_errors(&self, cx: &mut Context<'_>) {
        let Some(errors) = &self.errors else { return };
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        while let Poll::Ready(Ok(_)) = errors.0.as_mut().poll(cx) {
            // Until the queue is empty.
            let _ = self.io.try_take(Interest::ERROR, || match self.collect_icmp_errors() {
                true => Ok(()),
                false => Err(io::ErrorKind::WouldBlock.into()),
            });
            *errors = Errors::of(&self.io);
        }
    }

    /// Returns the ICMP messages found since the last call, while sending or receiving (Linux). Anyone who
    /// knows the ports can forge them: check the quoted packet.
    pub fn take_icmp_errors(&self) -> Vec<IcmpError> {
        std::mem::take(&mut *self.icmp_errors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a part of the packets.
    fn send_some(
        &self,
        &Outgoing { from, to: destination, ecn, .. }: &Outgoing<'_>,
        contents: &[u8],
        segment_size: Option<usize>,
    ) -> io::Result<()> {
        // A socket of one address sends from there.
        let src_ip = from.filter(|_| self.local.ip().is_unspecified());
        let transmit = Transmit { destination, ecn, contents, segment_size, src_ip };
        let attempt = || self.state.try_send(UdpSockRef::from(self.io.socket()), &transmit);
        let result = match attempt() {
            // The error may concern an earlier packet to any destination: a forged ICMP message must not make
            // this packet too long or lost.
            Err(error) if icmp::is_of_earlier_packet(&error) => self.send_again(attempt),
            result => result,
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.io.send_later(attempt),
            result => result,
        }
    }

    /// Retries a packet until no error of an earlier one is left.
    ///
    /// The kernel reports the next queued error as soon as those before it are read. A flood of forged
    /// messages could otherwise pass for the result of this packet.
    fn send_again(&self, attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
        for _ in 0..MOST_ATTEMPTS {
            let more = self.collect_icmp_errors();
            match attempt() {
                Err(error) if more && icmp::is_of_earlier_packet(&error) => {}
                result => return result,
            }
        }
        // Errors arrive faster than they are read: the packet is lost, but not because of its size.
        Err(io::Error::other("too many ICMP messages"))
    }

    /// Returns ready when the kernel accepts packets again.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_send_ready(cx)
    }

    /// Fills the batch with arrived datagrams. Ready with at least one.
    pub fn poll_recv(&self, cx: &mut Context<'_>, batch: &mut Batch) -> Poll<io::Result<()>> {
        batch.filled = 0;
        batch.local = self.local.ip();
        loop {
            match self.io.poll_recv_ready(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
            let received = self.io.try_take(Interest::READABLE, || {
                let mut buffers = batch.bytes.chunks_mut(BUFFER).map(IoSliceMut::new);
                let mut slices: [IoSliceMut<'_>; BUFFERS] =
                    std::array::from_fn(|_| buffers.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
                batch.filled =
                    self.state.recv(UdpSockRef::from(self.io.socket()), &mut slices, &mut batch.meta)?;
                // Once told that nothing is left, the runtime waits for the next packet's notification: this
                // saves one call that would find nothing.
                if FILLS_ALL && batch.filled < BUFFERS {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            });
            match received {
                _ if batch.filled > 0 => return Poll::Ready(Ok(())),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An ICMP error of an earlier packet does not break the socket.
                Err(error) if icmp::is_of_earlier_packet(&error) => {
                    self.collect_icmp_errors();
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::EMSGSIZE as i32)
}

#[cfg(not(target_os = "linux"))]
fn is_too_long(_error: &io::Error) -> bool {
    false
}

/// Permits or forbids fragmentation of the next packets by IP. `UdpSocketState` forbids it and ignores the
/// kernel's PMTU; so does this, for a forged Packet Too Big message sets that, and networks drop fragments.
/// Over IPv6 it sets `IPV6_DONTFRAG` as well, which alone forbids fragments.
#[cfg(target_os = "linux")]
fn allow_fragments(socket: &Udp, local: SocketAddr, allowed: bool) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt::Ipv6DontFrag};
    use rustix::net::sockopt::{
        Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6, set_ip_mtu_discover, set_ipv6_mtu_discover,
    };
    if local.is_ipv4() {
        set_ip_mtu_discover(socket, if allowed { V4::OMIT } else { V4::PROBE })?;
    } else {
        setsockopt(socket, Ipv6DontFrag, &!allowed)?;
        set_ipv6_mtu_discover(socket, if allowed { V6::OMIT } else { V6::PROBE })?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn allow_fragments(_socket: &Udp, _local: SocketAddr, _allowed: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn bind_device(socket: &socket2::Socket, name: &str) -> bool {
    socket.bind_device(Some(name.as_bytes())).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn bind_device(_socket: &socket2::Socket, _name: &str) -> bool {
    false
}

/// Receive buffers for reuse, half a MiB.
#[derive(Debug)]
pub struct Batch {
    bytes: Box<[u8]>,
    meta: [RecvMeta; BUFFERS],
    filled: usize,
    local: IpAddr,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            bytes: vec![0; BUFFER * BUFFERS].into_boxed_slice(),
            meta: [RecvMeta::default(); BUFFERS],
            filled: 0,
            local: IpAddr::from([0; 4]),
        }
    }
}

/// An SCTP packet that arrived.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Local address at which the packet arrived.
    pub local: IpAddr,
    /// The sender's address and UDP port.
    pub remote: SocketAddr,
    /// ECN bits of the packet; `None` for Not-ECT.
    pub ecn: Option<EcnCodepoint>,
    /// The packet.
    pub bytes: &'a mut [u8],
}

impl Batch {
    /// Returns the datagrams of the last [`Socket::poll_recv`] in the order of arrival.
    pub fn datagrams(&mut self) -> impl Iterator<Item = Datagram<'_>> {
        let of_socket = self.local;
        let filled = self.meta.iter().zip(self.bytes.chunks_mut(BUFFER)).take(self.filled);
        filled.flat_map(move |(meta, buffer)| {
            // A system that does not say the destination leaves the answer's source to the kernel.
            let local = if of_socket.is_unspecified() { meta.dst_ip.unwrap_or(of_socket) } else { of_socket };
            // The kernel coalesces datagrams of one sender: each is `stride` bytes, the last may be shorter.
            buffer[..meta.len].chunks_mut(meta.stride.max(1)).map(move |bytes| Datagram {
                local,
                remote: meta.addr,
                ecn: meta.ecn,
                bytes,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;
    use crate::icmp::IcmpKind;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(120), test).await.unwrap() });
    }

    fn bound(address: &str) -> Socket {
        Socket::bind(address.parse().unwrap(), &SocketOptions::default()).unwrap()
    }

    async fn receive(socket: &Socket, batch: &mut Batch) -> Vec<(IpAddr, SocketAddr, Vec<u8>)> {
        poll_fn(|cx| socket.poll_recv(cx, batch)).await.unwrap();
        batch.datagrams().map(|d| (d.local, d.remote, d.bytes.to_vec())).collect()
    }

    #[test]
    fn segments_arrive_as_datagrams_from_the_address_they_were_sent_from() {
        run(async {
            let mut batch = Batch::default();
            for (from, to) in [("127.0.0.2:0", "127.0.0.3:0"), ("[::1]:0", "[::1]:0")] {
                let (a, b) = (bound(from), bound(to));
                let sent: Vec<u8> = (0..2500).map(|n| (n / 1000) as u8).collect();
                let packets = Outgoing {
                    from: None,
                    to: b.local(),
                    bytes: &sent,
                    segment_size: Some(1000),
                    ecn: None,
                    fragment: Fragment::Here,
                };
                assert_eq!(a.send(&packets).unwrap().bytes, 2500);
                let mut got = Vec::new();
                while got.len() < 3 {
                    got.extend(receive(&b, &mut batch).await);
                }
                for (index, (local, remote, bytes)) in got.iter().enumerate() {
                    assert_eq!((*local, *remote), (b.local().ip(), a.local()));
                    assert_eq!(*bytes, vec![index as u8; if index == 2 { 500 } else { 1000 }]);
                }
            }
        });
    }

    #[test]
    fn a_socket_of_all_addresses_answers_from_the_one_that_was_called() {
        run(async {
            let mut batch = Batch::default();
            for (any, called, from) in [
                ("0.0.0.0:0", "127.0.0.3", "127.0.0.2:0"),
                ("0.0.0.0:0", "127.0.0.4", "127.0.0.2:0"),
                ("[::]:0", "::1", "[::1]:0"),
            ] {
                let (server, client) = (bound(any), bound(from));
                let called: IpAddr = called.parse().unwrap();
                let to = SocketAddr::new(called, server.local().port());
                let bytes = &[7; 2500][..];
                let packets = Outgoing {
                    from: None,
                    to,
                    bytes,
                    segment_size: Some(1000),
                    ecn: None,
                    fragment: Fragment::Here,
                };
                assert_eq!(client.send(&packets).unwrap().bytes, 2500);
                let got = receive(&server, &mut batch).await;
                assert_eq!((got[0].0, got[0].1), (called, client.local()));
                for fragment in [Fragment::Here, Fragment::Anywhere] {
                    let answer = Outgoing { from: Some(called), to: client.local(), fragment, ..packets };
                    assert_eq!(server.send(&answer).unwrap().bytes, 2500);
                    let mut got = Vec::new();
                    while got.len() < 3 {
                        got.extend(receive(&client, &mut batch).await);
                    }
                    assert!(got.iter().all(|(_, remote, _)| *remote == to), "{got:?}");
                }
            }
        });
    }

    /// A chunk that was cut for IPv4 has 20 bytes too many for IPv6 (RFC 9260 §6.9).
    #[test]
    #[cfg(target_os = "linux")]
    fn a_packet_beyond_the_mtu_leaves_in_fragments_over_both_families() {
        // A thread has a network of its own, whose loopback has the MTU of Ethernet.
        let test = || {
            if let Err(error) = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET) {
                assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "{error}");
                return;
            }
            let mut ip = std::process::Command::new("ip");
            let Ok(status) = ip.args("link set lo up mtu 1500".split(' ')).status() else { return };
            assert!(status.success());
            run(async {
                let mut batch = Batch::default();
                for address in ["127.0.0.1:0", "[::1]:0"] {
                    let (from, to) = (bound(address), bound(address));
                    for fragment in [Fragment::Here, Fragment::Anywhere] {
                        let (to, bytes) = (to.local(), &[7; 1472 + 20][..]);
                        let packet =
                            Outgoing { from: None, to, bytes, segment_size: None, ecn: None, fragment };
                        assert_eq!(from.send(&packet).expect(address).bytes, bytes.len(), "{address}");
                    }
                    let mut got = Vec::new();
                    while got.len() < 2 {
                        got.extend(receive(&to, &mut batch).await);
                    }
                    assert!(got.iter().all(|(_, _, bytes)| bytes.len() == 1472 + 20), "{address}");
                    // Later packets are not fragmented.
                    let probe = Outgoing {
                        from: None,
                        to: to.local(),
                        bytes: &[7; 1600],
                        segment_size: None,
                        ecn: None,
                        fragment: Fragment::Never,
                    };
                    assert_eq!(from.send(&probe).unwrap().too_long, Some(1600), "{address}");
                }
            });
        };
        std::thread::scope(|threads| threads.spawn(test).join()).unwrap();
    }

    #[test]
    fn a_socket_of_the_program_is_used_as_it_is() {
        run(async {
            let own = std::net::UdpSocket::bind("127.0.0.5:0").unwrap();
            let at = own.local_addr().unwrap();
            let (adopted, other) = (Socket::adopt(own).unwrap(), bound("127.0.0.6:0"));
            assert_eq!(adopted.local(), at);
            let packet = Outgoing {
                from: None,
                to: other.local(),
                bytes: b"packet",
                segment_size: None,
                ecn: None,
                fragment: Fragment::Here,
            };
            assert_eq!(adopted.send(&packet).unwrap().bytes, 6);
            assert_eq!(receive(&other, &mut Batch::default()).await[0].1, at);
        });
    }

    #[test]
    fn ecn_bits_arrive_as_they_were_sent_with_every_segment() {
        run(async {
            let mut batch = Batch::default();
            for (from, to) in [("127.0.0.2:0", "127.0.0.3:0"), ("[::1]:0", "[::1]:0")] {
                let (a, b) = (bound(from), bound(to));
                for ecn in [None, Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ect1), Some(EcnCodepoint::Ce)]
                {
                    let packets = Outgoing {
                        from: None,
                        to: b.local(),
                        bytes: &[7; 2500],
                        segment_size: Some(1000),
                        ecn,
                        fragment: Fragment::Here,
                    };
                    assert_eq!(a.send(&packets).unwrap().bytes, 2500);
                    let mut got = 0;
                    while got < 3 {
                        poll_fn(|cx| b.poll_recv(cx, &mut batch)).await.unwrap();
                        for datagram in batch.datagrams() {
                            assert_eq!(datagram.ecn, ecn, "{from}");
                            got += 1;
                        }
                    }
                }
            }
        });
    }

    #[test]
    fn a_batch_beyond_one_offload_call_is_split() {
        run(async {
            let (a, b) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
            let sent = vec![7; 150 * 1000];
            let packets = Outgoing {
                from: None,
                to: b.local(),
                bytes: &sent,
                segment_size: Some(1000),
                ecn: None,
                fragment: Fragment::Here,
            };
            assert_eq!(a.send(&packets).unwrap().bytes, sent.len());
            let (mut batch, mut count) = (Batch::default(), 0);
            while count < 150 {
                let got = receive(&b, &mut batch).await;
                assert!(got.iter().all(|(_, _, bytes)| bytes.len() == 1000));
                count += got.len();
            }
        });
    }

    #[test]
    fn errors_say_what_to_do() {
        run(async {
            let wrong = |address: &str| {
                Socket::bind(address.parse().unwrap(), &SocketOptions::default()).unwrap_err().to_string()
            };
            let taken = bound("127.0.0.1:0");
            let address = taken.local();
            assert_eq!(
                wrong(&address.to_string()),
                format!(
                    "cannot use {address}: the port is in use: choose another, or end the program that uses it"
                )
            );
            assert_eq!(wrong("192.0.2.77:0"), "cannot use 192.0.2.77:0: this host has no such address");
            let any = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            let at = any.local_addr().unwrap();
            assert_eq!(
                Socket::adopt(any).unwrap_err().to_string(),
                format!("{at}: want a socket that is bound to one address of this host")
            );
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_dispatches_to_the_socket_that_the_function_names() {
        run(async {
            for (address, sockets) in [("127.0.0.3:0", 2), ("127.0.0.3:0", 3), ("[::1]:0", 8)] {
                let dispatch = Dispatch::new(sockets, 0x9e37_79b9);
                let address = address.parse().unwrap();
                let group = Socket::bind_group(address, &SocketOptions::default(), &dispatch).unwrap();
                assert_eq!(group.len(), sockets.into());
                assert!(group.iter().all(|socket| socket.local() == group[0].local()));
                let (sender, mut batch) =
                    (bound(if address.is_ipv4() { "127.0.0.2:0" } else { "[::1]:0" }), Batch::default());
                let mut used = vec![0; group.len()];
                for n in 0_u32..200 {
                    let bytes = n.wrapping_mul(2_654_435_761).to_be_bytes();
                    let packet = Outgoing {
                        from: None,
                        to: group[0].local(),
                        bytes: &bytes[..if n == 0 { 3 } else { 4 }],
                        segment_size: None,
                        ecn: None,
                        fragment: Fragment::Here,
                    };
                    assert_eq!(sender.send(&packet).unwrap().bytes, packet.bytes.len());
                    let index = dispatch.index_of(packet.bytes);
                    let got =
                        tokio::time::timeout(Duration::from_secs(60), receive(&group[index], &mut batch));
                    let got = got.await.unwrap_or_else(|_| panic!("{packet:?} is not at socket {index}"));
                    assert_eq!(got[0].2, packet.bytes);
                    used[index] += 1;
                }
                assert!(used.iter().all(|count| *count > 0), "{used:?}");
            }
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_group_takes_no_port_from_another_program() {
        run(async {
            let dispatch = Dispatch::new(2, 0);
            let group = |address| {
                Socket::bind_group(address, &SocketOptions::default(), &dispatch).map(|group| group.len())
            };
            let taken = bound("127.0.0.1:0");
            assert!(group(taken.local()).unwrap_err().to_string().contains("the port is in use"));
            // One that would share its port, as a second instance of this program.
            let shared =
                Socket::bind_group("127.0.0.1:0".parse().unwrap(), &SocketOptions::default(), &dispatch);
            let shared = shared.unwrap();
            let address = shared[0].local();
            assert!(group(address).unwrap_err().to_string().contains("the port is in use"));
            let error = Socket::bind(address, &SocketOptions::default()).unwrap_err().to_string();
            assert!(error.contains("the port is in use"), "{error}");
            drop(shared);
            assert_eq!(group(address).unwrap(), 2, "free again");
            let device = SocketOptions { device: Some("lo".to_owned()), ..SocketOptions::default() };
            let error = Socket::bind_group(address, &device, &dispatch).unwrap_err().to_string();
            assert!(error.contains("cannot be bound to an interface"), "{error}");
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_group_finds_the_icmp_errors_of_all_its_packets() {
        run(async {
            let dispatch = Dispatch::new(4, 1);
            let address = "127.0.0.1:0".parse().unwrap();
            let group = Socket::bind_group(address, &SocketOptions::default(), &dispatch).unwrap();
            for _ in 0..8 {
                let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
                let packet = Outgoing {
                    from: None,
                    to: nobody,
                    bytes: &[7; 12],
                    segment_size: None,
                    ecn: None,
                    fragment: Fragment::Here,
                };
                assert_eq!(group[0].send(&packet).unwrap().bytes, 12);
                let found = poll_fn(|cx| {
                    group.iter().for_each(|socket| socket.poll_errors(cx));
                    let found: Vec<_> = group.iter().flat_map(Socket::take_icmp_errors).collect();
                    if found.is_empty() { Poll::Pending } else { Poll::Ready(found) }
                });
                let kind = IcmpKind::PortUnreachable;
                assert_eq!(found.await, [IcmpError { kind, to: nobody, quoted: vec![7; 12] }]);
            }
        });
    }
}
