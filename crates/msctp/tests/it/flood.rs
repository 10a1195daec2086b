//! Floods of set-ups whose peers prove nothing: they cost others nothing, and are served in the end.
#![cfg(feature = "tls")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

use crate::common::{self, options, run, soon, tls};
use msctp::security::{AnyPeer, Pinned, Rejection};
use msctp::{Config, ConnectError, Endpoint, EndpointConfig, EndpointOptions, Peer, Refusal, Security};

const PORT: u16 = 9;

/// Binds a server with this rate of handshakes for each source.
fn server(max_handshakes_per_second: u32) -> (Endpoint, Peer) {
    let server = Endpoint::bind(&EndpointOptions { max_handshakes_per_second, ..options() }).unwrap();
    server.listen(PORT, tls(AnyPeer), Config::default()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

fn client_at(host: u8) -> Endpoint {
    Endpoint::bind(&common::options_at([SocketAddr::from(([127, 0, 0, host], 0))])).unwrap()
}

/// Returns the chunks of a packet, with their padding.
fn chunks(packet: &[u8]) -> Vec<&[u8]> {
    let (mut chunks, mut rest) = (Vec::new(), packet.get(12..).unwrap_or_default());
    while let [_, _, high, low, ..] = *rest {
        let len = usize::from(u16::from_be_bytes([high, low])).max(4).next_multiple_of(4);
        let (chunk, after) = rest.split_at(len.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

fn is_data(chunk: &&[u8]) -> bool {
    [0, 0x40].contains(&chunk[0])
}

fn sealed(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8..12].fill(0);
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &packet) as u32;
    packet[8..12].copy_from_slice(&sum.to_le_bytes());
    packet
}

/// The packets of a genuine client that a flood repeats.
struct Flood {
    init: Vec<u8>,
    /// The chunk with the ClientHello.
    hello: Vec<u8>,
    socket: UdpSocket,
    /// SCTP ports of the set-ups that the server has answered with a ServerHello, and when.
    answered: BTreeMap<u16, Instant>,
}

impl Flood {
    /// Records a client's set-up with a server up to its ClientHello.
    async fn record(server: &Endpoint) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(server.local_addresses()[0]).await.unwrap();
        let client = client_at(1);
        let peer = Peer { port: PORT, ..Peer::new(front.local_addr().unwrap()) };
        let _connecting = client.connect(peer, tls(AnyPeer), Config::default());
        let (mut buffer, mut init) = (vec![0; 65_536], Vec::new());
        loop {
            let (len, from) = front.recv_from(&mut buffer).await.unwrap();
            let packet = buffer[..len].to_vec();
            if let Some(hello) = chunks(&packet).into_iter().find(is_data) {
                return Self { init, hello: hello.to_vec(), socket, answered: BTreeMap::new() };
            }
            socket.send(&packet).await.unwrap();
            init = packet;
            let len = socket.recv(&mut buffer).await.unwrap();
            front.send_to(&buffer[..len], from).await.unwrap();
        }
    }

    /// Sets an association up from this SCTP port, and sends the recorded ClientHello. Returns the packet
    /// with it, which begins with the COOKIE ECHO.
    async fn set_up(&mut self, port: u16) -> Vec<u8> {
        let mut init = self.init.clone();
        init[..2].copy_from_slice(&port.to_be_bytes());
        init[16..20].copy_from_slice(&u32::from(port).to_be_bytes());
        self.socket.send(&sealed(init)).await.unwrap();
        let answer = loop {
            let packet = self.receive().await;
            if packet[2..4] == port.to_be_bytes() && packet[12] == 2 {
                break packet;
            }
        };
        // The State Cookie among the parameters of the INIT ACK.
        let params = &chunks(&answer)[0][20..];
        let params: Vec<u8> = [&[0; 12][..], params].concat();
        let cookie = chunks(&params).into_iter().find(|param| param[..2] == [0, 7]).unwrap().to_vec();
        let echo = [&[10, 0], &cookie[2..]].concat();
        let header = [&port.to_be_bytes(), &PORT.to_be_bytes(), &answer[16..20], &[0; 4]].concat();
        let packet = sealed([header, echo, self.hello.clone()].concat());
        self.socket.send(&packet).await.unwrap();
        packet
    }

    /// Returns the next packet of the server, and notes its ServerHello.
    async fn receive(&mut self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let len = self.socket.recv(&mut buffer).await.unwrap();
        buffer.truncate(len);
        if chunks(&buffer).iter().any(is_data) {
            let port = u16::from_be_bytes([buffer[2], buffer[3]]);
            self.answered.entry(port).or_insert_with(Instant::now);
        }
        buffer
    }
}

#[test]
fn a_source_waits_for_its_rate_of_handshakes_and_each_is_served() {
    const COUNT: u16 = 40;
    const RATE: u32 = 10;
    run(async {
        let (server, _peer) = server(RATE);
        let mut flood = Flood::record(&server).await;
        let begin = Instant::now();
        for port in 1..=COUNT {
            flood.set_up(port).await;
        }
        // Nothing more arrives: those that wait are served by the server's own timer.
        while flood.answered.len() < usize::from(COUNT) {
            flood.receive().await;
        }
        let mut times: Vec<_> = flood.answered.values().map(|at| at.duration_since(begin)).collect();
        times.sort_unstable();
        for (nth, time) in (1..).zip(times) {
            let least = Duration::from_secs(1) * u32::saturating_sub(nth, RATE) / RATE;
            assert!(time >= least, "number {nth} after {time:?}, must not be before {least:?}");
        }
    });
}

#[test]
fn clients_that_start_together_beside_a_flood_all_connect() {
    run(async {
        // At one a second, the flood alone would take longer than this test may.
        let (server, peer) = server(1);
        let mut flood = Flood::record(&server).await;
        for port in 1..=300 {
            flood.set_up(port).await;
        }
        let flooding = tokio::spawn(async move {
            for port in 1000.. {
                flood.set_up(port).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let tls = tls(AnyPeer);
        let clients: Vec<_> = (2..14)
            .map(|host| {
                let (client, peer, tls) = (client_at(host), peer.clone(), tls.clone());
                tokio::spawn(async move {
                    let association = client.connect(peer, tls, Config::default()).await.unwrap();
                    association.send_bytes(0, "hello").await.unwrap();
                    association.shutdown().await.unwrap();
                })
            })
            .collect();
        for _ in &clients {
            let accepted = server.accept(PORT).await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, "hello");
        }
        for client in clients {
            client.await.unwrap();
        }
        flooding.abort();
    });
}

#[test]
fn clients_of_one_source_that_complete_their_handshakes_have_no_rate() {
    run(async {
        // At one a second, as many as this would take longer than this test may.
        let (server, peer) = server(1);
        let (client, tls) = (client_at(1), tls(AnyPeer));
        let up: Vec<_> =
            (0..100).map(|_| tokio::spawn(client.connect(peer.clone(), &tls, Config::default()))).collect();
        for connecting in up {
            connecting.await.unwrap().unwrap();
            server.accept(PORT).await.unwrap();
        }
    });
}

/// The reasons of one source are counted together, and displace none of another's.
#[test]
fn rejections_that_nobody_takes_are_counted() {
    run(async {
        let (server, peer) = server(100);
        server.stop_listening(PORT);
        server.listen(PORT, tls(Pinned(Vec::new())), Config::default()).unwrap();
        for _ in 0..3 {
            client_at(2).connect(peer.clone(), tls(AnyPeer), Config::default()).await.unwrap_err();
        }
        let tls = tls(AnyPeer);
        for _ in 0..80 {
            client_at(1).connect(peer.clone(), &tls, Config::default()).await.unwrap_err();
        }
        let (mut other, mut same) = (0, 0);
        while let Ok(Some(rejected)) = timeout(Duration::from_millis(100), server.rejected(PORT)).await {
            if rejected.remote.ip() == std::net::IpAddr::from([127, 0, 0, 2]) {
                assert_eq!(rejected.count, 1, "three keys, three reasons");
                other += 1;
            } else {
                same += rejected.count;
            }
        }
        assert_eq!((other, same), (3, 80));
    });
}

/// A client that missed the ABORT repeats its COOKIE ECHO: it is one client.
#[test]
fn a_repeated_cookie_echo_is_one_rejected_set_up() {
    run(async {
        let core = EndpointConfig { max_associations_per_peer: 1, ..EndpointConfig::default() };
        let server = Endpoint::bind(&EndpointOptions { core, ..options() }).unwrap();
        server.listen(PORT, tls(AnyPeer), Config::default()).unwrap();
        let mut flood = Flood::record(&server).await;
        flood.set_up(1).await;
        let refused = flood.set_up(2).await;
        for _ in 0..3 {
            flood.socket.send(&refused).await.unwrap();
        }
        // The server handles packets of a socket in their order.
        flood.set_up(3).await;
        let mut counts = Vec::new();
        while let Ok(Some(rejected)) = timeout(Duration::from_millis(500), server.rejected(PORT)).await {
            assert_eq!(rejected.error, Rejection::TooManyOfPeer);
            counts.push(rejected.count);
        }
        assert_eq!(counts.iter().sum::<u64>(), 2, "{counts:?}: from ports 2 and 3");
    });
}

/// A limit that refuses clients is reported, with its name and the number of them.
#[tokio::test]
async fn a_limit_of_associations_is_reported_where_it_refuses() {
    let options = |per_peer, all| EndpointOptions {
        core: EndpointConfig {
            max_associations_per_peer: per_peer,
            max_associations: all,
            ..EndpointConfig::default()
        },
        ..common::options()
    };
    for (per_peer, all, name) in
        [(2, 100, Rejection::TooManyOfPeer), (100, 2, Rejection::TooManyAssociations)]
    {
        let server = Endpoint::bind(&options(per_peer, all)).unwrap();
        server.listen(PORT, Security::insecure(), Config::default()).unwrap();
        let client = Endpoint::bind(&common::options()).unwrap();
        let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
        let mut held = Vec::new();
        for _ in 0..2 {
            let connected = client.connect(peer.clone(), Security::insecure(), Config::default());
            held.push(soon(connected).await.unwrap());
        }
        for _ in 0..3 {
            let refused = client.connect(peer.clone(), Security::insecure(), Config::default());
            assert!(matches!(soon(refused).await, Err(ConnectError::Refused(Refusal::OutOfResource))));
        }
        let mut count = 0;
        while count < 3 {
            let rejected = soon(server.rejected(PORT)).await.unwrap();
            assert_eq!(rejected.error, name);
            count += rejected.count;
        }
        assert_eq!(count, 3);
    }
}
