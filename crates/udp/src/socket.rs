//! [`Socket`]: one local address's UDP socket, with segmentation offload, coalesced and batched receiving,
//! and the ECN bits. Carries whole SCTP packets and does not look into them.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::refusals::{self, PortUnreachable};

/// Bytes of a UDP header: what encapsulation takes from a path's MTU (RFC 6951 §5.6).
pub const UDP_HEADER: u32 = 8;

/// Bytes of one receive buffer: the most that the kernel coalesces into one.
const BUFFER: usize = 1 << 16;
/// Receive buffers, filled by one system call.
const BUFFERS: usize = 8;
/// The call fills as many as there are packets for (recvmmsg): fewer mean that there are no more. Elsewhere
/// it may fill one.
const FILLS_ALL: bool = cfg!(target_os = "linux");
/// Bytes that one call may hand to segmentation offload: an IPv4 packet with its headers holds no more.
const MAX_OFFLOAD: usize = 65_535 - 20 - UDP_HEADER as usize;

/// Options of a [`Socket`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// The interface it may use and no other; `None`: whatever the routing table says. Linux only; elsewhere,
    /// and where the kernel does not allow it, the address alone decides.
    pub device: Option<String>,
    /// Bytes the kernel is asked to hold in each direction, 4 MiB; it gives what its limits allow.
    pub buffer: usize,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { device: None, buffer: 4 << 20 }
    }
}

/// Errors of [`Socket::bind`].
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// A path has a local address; a socket for all of them would leave the choice to the kernel.
    #[error("{0}: want one address of this host, not all of them")]
    Unspecified(SocketAddr),
    /// What the kernel said.
    #[error("cannot use {address}: {}", reason(.source))]
    Io {
        /// The address asked for.
        address: SocketAddr,
        /// The error.
        source: io::Error,
    },
}

/// The kernel's error in words a user can act on.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "the port is in use: take another, or end who has it".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this host has no such address".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission: ports below 1024 want root".to_owned(),
        _ => error.to_string(),
    }
}

/// Packets to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub to: SocketAddr,
    /// One packet, or several of equal length, the last perhaps shorter.
    pub bytes: &'a [u8],
    /// The length of each when there are several.
    pub segment_size: Option<usize>,
    /// The ECN bits of the outer IP header, which are those the SCTP packet would have without UDP (RFC 6951
    /// §5.8); `None`: who sends it does not know ECN.
    pub ecn: Option<EcnCodepoint>,
    /// What IP may do with packets that are larger than the interface takes.
    pub fragment: Fragment,
}

/// What IP may do with a packet that is larger than a link takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// Never fragment it: a probe, whose size is the question (RFC 8899 §3).
    Never,
    /// Don't fragment it on its way; where this host's own interface does not take it, fragment it rather
    /// than lose it.
    Here,
    /// Fragment it anywhere: it is known to be larger than its path takes (RFC 9260 §6.9).
    Anywhere,
}

/// Result of handing packets to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes that need not be handed to it again; fewer than asked for when it takes no more now
    /// ([`poll_send_ready`](Socket::poll_send_ready)).
    pub bytes: usize,
    /// Bytes of the smallest packet that was too large for the interface.
    pub too_long: Option<usize>,
}

/// A UDP socket bound to one local address.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    device: Option<String>,
    /// ICMP errors for [`Socket::take_refused`].
    refused: Mutex<Vec<PortUnreachable>>,
}

/// ICMP errors kept for [`Socket::take_refused`]; more are dropped, as the network may drop any of them.
const MOST_REFUSED: usize = 64;

/// Attempts to send a packet while ICMP errors of earlier ones come.
const MOST_ATTEMPTS: usize = 16;

impl Socket {
    /// Binds to an address; port 0 takes a free one. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// The address is unspecified, or the kernel does not give it.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Self, SocketError> {
        if address.ip().is_unspecified() {
            return Err(SocketError::Unspecified(address));
        }
        Self::open(address, options).map_err(|source| SocketError::Io { address, source })
    }

    fn open(address: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        let device = options.device.clone().filter(|name| bind_device(&socket, name));
        // What the limits of the host do not allow is not had; the association's own window then decides.
        let _ = socket.set_recv_buffer_size(options.buffer);
        let _ = socket.set_send_buffer_size(options.buffer);
        // Without it connecting to nobody ends by a timeout, as it does where ICMP is filtered.
        let _ = refusals::enable(&socket, address.is_ipv6());
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // quinn-udp 0.6 asks for arrival times and has no room for them beside the ECN bits, which the kernel
        // then cuts off.
        #[cfg(target_os = "linux")]
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::ReceiveTimestampns, &false)?;
        let io = UdpSocket::from_std(socket.into())?;
        let local = io.local_addr()?;
        Ok(Self { io, state, local, device, refused: Mutex::default() })
    }

    /// The address and port it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The interface it is bound to.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Sends packets, in as few system calls as the kernel allows.
    ///
    /// # Errors
    ///
    /// What the kernel says when it refuses them, as that there is no route. They are lost then, as packets
    /// are.
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
            match self.send_some(packets.to, contents, segment_size, packets.ecn) {
                Ok(()) => sent.bytes += contents.len(),
                Err(error) if is_too_long(&error) => {
                    // Send one by one, to find which of them is too long.
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
                // An interface without offload: the kernel said so, and is not asked again.
                Err(_) if segment_size.is_some() && self.state.max_gso_segments() == 1 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Sends packets one by one, without "don't fragment".
    fn send_fragmented(&self, packets: &Outgoing<'_>) -> io::Result<Sent> {
        let mut sent = Sent::default();
        for packet in packets.bytes.chunks(packets.segment_size.unwrap_or(packets.bytes.len()).max(1)) {
            allow_fragments(&self.io, self.local, true)?;
            let result = self.send_some(packets.to, packet, None, packets.ecn);
            allow_fragments(&self.io, self.local, false)?;
            match result {
                Ok(()) => sent.bytes += packet.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Returns whether an ICMP error was in the queue.
    fn collect_refused(&self) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refusals::take(&self.io, |message| {
            if refused.len() < MOST_REFUSED {
                refused.push(message);
            }
        })
    }

    /// ICMP messages "port unreachable" that were found since the last time, while sending or receiving
    /// (Linux). Anybody who knows the ports can forge them: the quoted packet has to be checked.
    pub fn take_refused(&self) -> Vec<PortUnreachable> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send_some(
        &self,
        destination: SocketAddr,
        contents: &[u8],
        segment_size: Option<usize>,
        ecn: Option<EcnCodepoint>,
    ) -> io::Result<()> {
        let transmit = Transmit { destination, ecn, contents, segment_size, src_ip: None };
        let attempt = || self.state.try_send(UdpSockRef::from(&self.io), &transmit);
        let result = match attempt() {
            // Perhaps of an earlier packet, to whomever it went: a forged ICMP message must not make this one
            // too long, or lost.
            Err(error) if refusals::is_of_earlier_packet(&error) => self.send_again(attempt),
            result => result,
        };
        match result {
            // Once more under the runtime's eyes, so that `poll_send_ready` waits for the kernel's word.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.io.try_io(Interest::WRITABLE, attempt)
            }
            result => result,
        }
    }

    /// Tries a packet again until no error of an earlier one is left.
    ///
    /// The kernel reports the next error in its queue as soon as those before it are taken: more forged
    /// messages than are taken at a time would pass for the answer to this packet.
    fn send_again(&self, attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
        for _ in 0..MOST_ATTEMPTS {
            let more = self.collect_refused();
            match attempt() {
                Err(error) if more && refusals::is_of_earlier_packet(&error) => {}
                result => return result,
            }
        }
        // They come faster than they are taken: the packet is lost, and its size is not to blame.
        Err(io::Error::other("a flood of ICMP messages"))
    }

    /// Ready when the kernel takes packets again.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_send_ready(cx)
    }

    /// Fills the batch with what arrived; ready with at least one datagram.
    pub fn poll_recv(&self, cx: &mut Context<'_>, batch: &mut Batch) -> Poll<io::Result<()>> {
        batch.filled = 0;
        batch.local = self.local.ip();
        loop {
            match self.io.poll_recv_ready(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
            let received = self.io.try_io(Interest::READABLE, || {
                let mut buffers = batch.bytes.chunks_mut(BUFFER).map(IoSliceMut::new);
                let mut slices: [IoSliceMut<'_>; BUFFERS] =
                    std::array::from_fn(|_| buffers.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
                batch.filled = self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut batch.meta)?;
                // The runtime, told that there is no more, waits for the kernel's next word, which comes with
                // the next packet: one call in vain is saved.
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
                // What an earlier packet met on its way is no fault of the socket.
                Err(error) if refusals::is_of_earlier_packet(&error) => {
                    self.collect_refused();
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

/// Lets IP fragment what is sent next, or no more. `UdpSocketState` forbids it, and keeps the kernel's own
/// PMTU out of it.
#[cfg(target_os = "linux")]
fn allow_fragments(socket: &UdpSocket, local: SocketAddr, allowed: bool) -> io::Result<()> {
    use rustix::net::sockopt::{
        Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6, set_ip_mtu_discover, set_ipv6_mtu_discover,
    };
    if local.is_ipv4() {
        set_ip_mtu_discover(socket, if allowed { V4::DONT } else { V4::PROBE })?;
    } else {
        set_ipv6_mtu_discover(socket, if allowed { V6::DONT } else { V6::PROBE })?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn allow_fragments(_socket: &UdpSocket, _local: SocketAddr, _allowed: bool) -> io::Result<()> {
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

/// Room for what arrives, used again and again: half a MiB.
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
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The address it came to.
    pub local: IpAddr,
    /// The address and UDP port it came from.
    pub remote: SocketAddr,
    /// Its ECN bits, unless they say that the sender does not know ECN.
    pub ecn: Option<EcnCodepoint>,
    /// The packet.
    pub bytes: &'a [u8],
}

impl Batch {
    /// The datagrams of the last [`Socket::poll_recv`], in the order in which they arrived.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let filled = self.meta.iter().zip(self.bytes.chunks(BUFFER)).take(self.filled);
        filled.flat_map(|(meta, buffer)| {
            // The kernel coalesces datagrams of one sender: each `stride` long, the last perhaps shorter.
            buffer[..meta.len].chunks(meta.stride.max(1)).map(|bytes| Datagram {
                local: self.local,
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

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), test).await.unwrap() });
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
    fn ecn_bits_arrive_as_they_were_sent_with_every_segment() {
        run(async {
            let mut batch = Batch::default();
            for (from, to) in [("127.0.0.2:0", "127.0.0.3:0"), ("[::1]:0", "[::1]:0")] {
                let (a, b) = (bound(from), bound(to));
                for ecn in [None, Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ect1), Some(EcnCodepoint::Ce)]
                {
                    let packets = Outgoing {
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
    fn more_than_one_call_can_offload_goes_in_several() {
        run(async {
            let (a, b) = (bound("127.0.0.1:0"), bound("127.0.0.1:0"));
            let sent = vec![7; 150 * 1000];
            let packets = Outgoing {
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
                format!("cannot use {address}: the port is in use: take another, or end who has it")
            );
            assert_eq!(wrong("192.0.2.77:0"), "cannot use 192.0.2.77:0: this host has no such address");
            assert_eq!(wrong("0.0.0.0:0"), "0.0.0.0:0: want one address of this host, not all of them");
        });
    }
}
