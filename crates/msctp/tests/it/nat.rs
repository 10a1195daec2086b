//! A NAT between the ends: ports are learnt from packets that prove themselves and from no others (RFC 6951
//! §5.4).

use crate::common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{HANGS, soon};
use msctp::{Association, Config, Endpoint, PathId, Peer, Security, Span};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

fn endpoint() -> Endpoint {
    Endpoint::bind(&common::options()).unwrap()
}

/// A relay between the client and the server whose outer port can be changed, like a NAT whose entry timed
/// out.
pub(crate) struct Nat {
    pub(crate) inner: Arc<UdpSocket>,
    outer: Vec<Arc<UdpSocket>>,
    current: Arc<AtomicUsize>,
}

impl Nat {
    /// Creates a NAT that keeps its entry.
    pub(crate) async fn new(server: SocketAddr) -> Self {
        Self::forgetful(server, Duration::from_secs(3600)).await
    }

    /// Creates a NAT that accepts packets from outside only for this time after the last packet from inside.
    async fn forgetful(server: SocketAddr, after: Duration) -> Self {
        let bind = || async { Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap()) };
        let (inner, outer) = (bind().await, vec![bind().await, bind().await]);
        let current = Arc::new(AtomicUsize::new(0));
        let client = Arc::new(std::sync::Mutex::new(None));
        let (out, socket, now, known) = (outer.clone(), inner.clone(), current.clone(), client.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
                *known.lock().unwrap() = Some((from, Instant::now()));
                let _ = out[now.load(Ordering::SeqCst)].send_to(&buffer[..len], server).await;
            }
        });
        for (index, socket) in outer.iter().cloned().enumerate() {
            let (inner, now, client) = (inner.clone(), current.clone(), client.clone());
            tokio::spawn(async move {
                let mut buffer = vec![0; 65_536];
                while let Ok((len, _)) = socket.recv_from(&mut buffer).await {
                    let entry = *client.lock().unwrap();
                    // What comes to an entry that is gone is lost.
                    let to = entry.filter(|(_, last): &(_, Instant)| last.elapsed() < after);
                    if let (true, Some((to, _))) = (now.load(Ordering::SeqCst) == index, to) {
                        let _ = inner.send_to(&buffer[..len], to).await;
                    }
                }
            });
        }
        Self { inner, outer, current }
    }

    fn port(&self) -> u16 {
        self.outer[self.current.load(Ordering::SeqCst)].local_addr().unwrap().port()
    }
}

fn port_of(association: &Association) -> u16 {
    association.remote_udp_port(PathId::new(0)).unwrap()
}

async fn exchange(from: &Association, to: &Association) {
    let sent = vec![9; 20_000];
    let both = async { tokio::join!(from.send_bytes(0, sent.clone()), to.recv()) };
    let (sent_it, got) = soon(both).await;
    sent_it.unwrap();
    assert_eq!(got.unwrap().unwrap().data, sent);
}

/// Returns clear text and a pre-shared key.
pub(crate) fn in_clear_and_protected() -> [Security; 2] {
    [Security::insecure(), Security::pre_shared(&[7; 32]).unwrap()]
}

#[tokio::test]
async fn a_rebinding_is_survived_and_a_forged_packet_changes_nothing() {
    for security in in_clear_and_protected() {
        rebind(security).await;
    }
}

async fn rebind(security: Security) {
    let (server, client) = (endpoint(), endpoint());
    server.listen(7, security.clone(), Config::default()).unwrap();
    let nat = Nat::new(server.local_addresses()[0]).await;
    let peer = Peer { port: 7, local_port: Some(CLIENT_PORT), ..Peer::new(nat.inner.local_addr().unwrap()) };
    let association = client.connect(peer, security, Config::default()).await.unwrap();
    let accepted = server.accept(7).await.unwrap();
    exchange(&association, &accepted).await;
    exchange(&accepted, &association).await;
    assert_eq!(port_of(&accepted), nat.port(), "not the client's own port");

    // From the peer's address and SCTP ports, with a checksum that is right, but not with the verification
    // tag: an attacker who cannot read the packets. CVE-2021-3772's UDP part.
    let attacker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for (tag, chunk) in [(0x1234_5678_u32, vec![4, 0, 0, 8, 0, 1, 0, 4]), (0, init_chunk())] {
        let mut packet = Vec::new();
        packet.extend_from_slice(&CLIENT_PORT.to_be_bytes());
        packet.extend_from_slice(&7_u16.to_be_bytes());
        packet.extend_from_slice(&tag.to_be_bytes());
        packet.extend_from_slice(&[0; 4]);
        packet.extend_from_slice(&chunk);
        let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &packet) as u32;
        packet[8..12].copy_from_slice(&checksum.to_le_bytes());
        attacker.send_to(&packet, server.local_addresses()[0]).await.unwrap();
        if tag == 0 {
            // The INIT of another host is refused, and where it came from; the association goes on where it
            // was.
            let mut answer = [0; 2048];
            let answered = soon(attacker.recv_from(&mut answer)).await;
            assert_eq!(answer[12], 6, "ABORT, {answered:?}");
        }
    }
    exchange(&accepted, &association).await;
    assert_eq!(port_of(&accepted), nat.port());

    let before = nat.port();
    nat.current.store(1, Ordering::SeqCst);
    assert_ne!(nat.port(), before);
    exchange(&association, &accepted).await;
    assert_eq!(port_of(&accepted), nat.port(), "learnt from a packet of the peer");
    exchange(&accepted, &association).await;
}

/// An observer delivers a copy of each packet of the client first, from another port of the same address. The
/// genuine packet counts as a replay, and its port is not learned again.
#[tokio::test]
async fn copies_from_another_port_do_not_silence_a_protected_client() {
    for security in in_clear_and_protected() {
        let (server, client) = (endpoint(), endpoint());
        server.listen(7, security.clone(), Config::default()).unwrap();
        let at = server.local_addresses()[0];
        let [inner, outer, observer] = [bind_udp().await, bind_udp().await, bind_udp().await];
        let copies = Arc::new(AtomicUsize::new(0));
        let to = inner.local_addr().unwrap();
        let copying = copies.clone();
        tokio::spawn(async move {
            let (mut out, mut back, mut own) = (vec![0; 65_536], vec![0; 65_536], None);
            loop {
                tokio::select! {
                    Ok((len, from)) = inner.recv_from(&mut out) => {
                        own = Some(from);
                        if copying.load(Ordering::SeqCst) > 0 {
                            observer.send_to(&out[..len], at).await.unwrap();
                        }
                        outer.send_to(&out[..len], at).await.unwrap();
                    }
                    Ok((len, _)) = outer.recv_from(&mut back) => {
                        inner.send_to(&back[..len], own.unwrap()).await.unwrap();
                    }
                }
            }
        });
        let association =
            client.connect(Peer { port: 7, ..Peer::new(to) }, security, Config::default()).await.unwrap();
        let accepted = server.accept(7).await.unwrap();
        exchange(&association, &accepted).await;
        copies.store(1, Ordering::SeqCst);
        association.send_bytes(0, "copied").await.unwrap();
        assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "copied");
        exchange(&accepted, &association).await;
    }
}

async fn bind_udp() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

#[tokio::test]
async fn an_idle_path_is_kept_open_by_heartbeats() {
    // In the mobile profile heartbeats leave 10 s + RTO apart, and translators forget after 15 s and more.
    // Here they leave 1.2 s apart, so that a test that is held up for seconds keeps the entry too.
    let forgets = Duration::from_secs(4);
    let rto = Span::from_millis(200);
    let config =
        Config { hb_interval: Span::from_secs(1), rto_initial: rto, rto_min: rto, ..Config::mobile() };
    let silent = Config { hb_interval: Span::from_secs(60), ..config.clone() };
    let cases = [(config, true), (silent, false)];
    let cases = cases
        .into_iter()
        .flat_map(|(config, kept)| in_clear_and_protected().map(|security| (security, config.clone(), kept)))
        .map(|(security, config, kept)| tokio::spawn(arrives_after_silence(security, config, forgets, kept)));
    for case in cases.collect::<Vec<_>>() {
        case.await.unwrap();
    }
}

/// Checks whether the server's data arrives through a NAT after a silence of twice the time after which it
/// forgets.
async fn arrives_after_silence(security: Security, config: Config, forgets: Duration, arrives: bool) {
    let (server, client) = (endpoint(), endpoint());
    server
        .listen(7, security.clone(), Config { hb_interval: Span::from_secs(60), ..config.clone() })
        .unwrap();
    let nat = Nat::forgetful(server.local_addresses()[0], forgets).await;
    let peer = Peer { port: 7, ..Peer::new(nat.inner.local_addr().unwrap()) };
    let association = client.connect(peer, security, config).await.unwrap();
    let accepted = server.accept(7).await.unwrap();
    exchange(&association, &accepted).await;
    tokio::time::sleep(2 * forgets).await;
    accepted.send_bytes(0, "after a long silence").await.unwrap();
    let got = timeout(if arrives { HANGS } else { forgets }, association.recv()).await;
    assert_eq!(got.is_ok(), arrives, "{got:?}");
}

/// The client's SCTP port, which an attacker could find by trying.
const CLIENT_PORT: u16 = 50_000;

fn init_chunk() -> Vec<u8> {
    let mut chunk = vec![1, 0, 0, 20];
    for field in [0xabcd_ef01_u32, 65_536, 0x0001_0001, 99] {
        chunk.extend_from_slice(&field.to_be_bytes());
    }
    chunk
}
