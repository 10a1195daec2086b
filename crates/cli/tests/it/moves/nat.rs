//! A mobile behind NATs that lose packets: two links to the one, a wire to the server from the
//! other side. The translator is this program: it hands datagrams on between sockets on either side.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::moves::Moments;
use crate::moves::net::{Host, access};

/// Address of the server. It is public, and the mobile's are private.
pub(crate) const SERVER: &str = "198.51.100.1";

/// Addresses that the server sees instead of those of wlan0 and cell0.
const PUBLIC: [&str; 2] = ["203.0.113.1", "203.0.113.2"];

/// Addresses that the server sees after [`Translated::readdress`].
const OTHERS: [&str; 2] = ["203.0.113.77", "203.0.113.78"];

/// Time for which a thread waits for a packet before it checks whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// The NAT's entry for one of the mobile's links.
struct Entry {
    /// Socket towards the mobile, at the server's address.
    inner: UdpSocket,
    /// Socket towards the server, from the address that the server sees. Each rebinding replaces it.
    outer: Mutex<Arc<UdpSocket>>,
    /// Address from which the mobile sends.
    client: Mutex<Option<SocketAddr>>,
    public: IpAddr,
}

/// State that all threads share.
struct Shared {
    entries: [Entry; 2],
    /// The network drops one packet in this many.
    lose_one_in: u64,
    carried: AtomicU64,
    lost: AtomicU64,
    end: AtomicBool,
}

/// The network: the mobile, both sides of its NATs and the server.
pub(crate) struct Translated {
    pub(crate) mobile: Host,
    /// The far ends of the mobile's links.
    pub(crate) near: Host,
    pub(crate) far: Host,
    pub(crate) server: Host,
    shared: Arc<Shared>,
}

impl Translated {
    /// Creates the links, down.
    pub(crate) fn new(lose_one_in: u64) -> Self {
        let public = PUBLIC.map(|ip| ip.parse().expect("an address"));
        let (mobile, near, far, server) = (Host::new(), Host::new(), Host::new(), Host::new());
        for host in [&near, &far, &server] {
            host.run("ip link set lo up");
        }
        access(&mobile, &near, SERVER);
        near.run(&format!("ip address add {SERVER}/32 dev lo"));
        server.run(&format!("ip address add {SERVER}/32 dev lo"));
        far.run(&format!("ip link add core type veth peer name core netns {}", server.id()));
        for (host, address) in [(&far, "10.8.0.1"), (&server, "10.8.0.2")] {
            host.run(&format!("ip address add {address}/24 dev core"));
            host.run("ip link set core up");
        }
        far.run(&format!("ip route add {SERVER} via 10.8.0.2"));
        for ip in PUBLIC.into_iter().chain(OTHERS) {
            far.run(&format!("ip address add {ip}/32 dev lo"));
            server.run(&format!("ip route add {ip} via 10.8.0.1"));
        }
        let entry = |(device, public): (&str, IpAddr)| Entry {
            inner: near.within(|| inner(device).expect("a socket at the mobile's link")),
            outer: Mutex::new(Arc::new(outer(&far, public))),
            client: Mutex::new(None),
            public,
        };
        let entries = [("wlan0", public[0]), ("cell0", public[1])].map(entry);
        let shared = Shared {
            entries,
            lose_one_in,
            carried: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            end: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        for index in 0..2 {
            let own = Arc::clone(&shared);
            std::thread::spawn(move || own.outward(index));
            spawn_inward(&shared, index);
        }
        Self { mobile, near, far, server, shared }
    }

    /// Makes the NAT of this link forget its entry. The next packet from the mobile creates another, at
    /// another port.
    pub(crate) fn rebind(&self, index: usize) {
        self.replace(index, self.shared.entries[index].public);
    }

    /// Gives the router of this link the public address with this number, of two others.
    pub(crate) fn readdress(&self, index: usize, other: usize) {
        self.replace(index, OTHERS[other].parse().expect("an address"));
    }

    fn replace(&self, index: usize, public: IpAddr) {
        *self.shared.entries[index].outer.lock().expect("no panic") = Arc::new(outer(&self.far, public));
        spawn_inward(&self.shared, index);
    }

    /// Returns the number of forwarded packets, and of lost ones.
    pub(crate) fn packets(&self) -> (u64, u64) {
        (self.shared.carried.load(Ordering::Relaxed), self.shared.lost.load(Ordering::Relaxed))
    }
}

impl Drop for Translated {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Relaxed);
    }
}

fn inner(device: &str) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // Both links have one, at the same address.
    socket.set_reuse_address(true)?;
    socket.bind_device(Some(device.as_bytes()))?;
    let address: SocketAddr = format!("{SERVER}:9899").parse().map_err(io::Error::other)?;
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(TICK))?;
    Ok(socket.into())
}

fn outer(far: &Host, public: IpAddr) -> UdpSocket {
    far.within(|| {
        let socket = UdpSocket::bind((public, 0)).expect("its address");
        socket.set_read_timeout(Some(TICK)).expect("a socket");
        socket
    })
}

/// Forwards the packets that arrive at the current outer socket of a link.
fn spawn_inward(shared: &Arc<Shared>, index: usize) {
    let own = Arc::clone(shared);
    std::thread::spawn(move || own.inward(index));
}

impl Shared {
    fn ended(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Forwards packets from the mobile to the server.
    fn outward(&self, index: usize) {
        let entry = &self.entries[index];
        let server: SocketAddr = format!("{SERVER}:9899").parse().expect("an address");
        let (mut buffer, mut draws) = (vec![0; 1 << 16], Moments(2 * index as u64));
        while !self.ended() {
            let Ok((len, from)) = entry.inner.recv_from(&mut buffer) else { continue };
            *entry.client.lock().expect("no panic") = Some(from);
            let outer = Arc::clone(&entry.outer.lock().expect("no panic"));
            self.carry(&mut draws, || outer.send_to(&buffer[..len], server).is_ok());
        }
    }

    /// Forwards packets from the server to the mobile while the entry exists.
    fn inward(&self, index: usize) {
        let entry = &self.entries[index];
        let outer = Arc::clone(&entry.outer.lock().expect("no panic"));
        let (mut buffer, mut draws) = (vec![0; 1 << 16], Moments(2 * index as u64 + 1));
        while !self.ended() && Arc::ptr_eq(&outer, &entry.outer.lock().expect("no panic")) {
            let Ok((len, _)) = outer.recv_from(&mut buffer) else { continue };
            let client = *entry.client.lock().expect("no panic");
            self.carry(&mut draws, || {
                client.is_some_and(|client| entry.inner.send_to(&buffer[..len], client).is_ok())
            });
        }
    }

    /// Sends a packet and counts it, or drops it: at random, or if sending fails.
    fn carry(&self, draws: &mut Moments, send: impl FnOnce() -> bool) {
        let lost = draws.below(self.lose_one_in) == 0 || !send();
        let counter = if lost { &self.lost } else { &self.carried };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
