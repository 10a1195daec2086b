//! Endpoints of several shards: each association has one, whatever happens to its addresses, and the limits
//! hold for all together. One test runs those of other files again with three shards.
#![cfg(target_os = "linux")]

use crate::common;
use crate::nat::Nat;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use common::{HANGS, TEST_HANGS, bind, options, soon, until};
use msctp::{
    Association, Config, ConnectError, Endpoint, EndpointConfig, EndpointOptions, Mobility, Peer, Security,
    TraceSink,
};
use nix::libc::{BPF_K, BPF_RET, sock_filter, sock_fprog};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::AttachReusePortCbpf;
use socket2::{Domain, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, timeout};

const PORT: u16 = 7;
const SHARDS: u16 = 4;

/// Runs a test on two threads, and fails if it hangs.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { timeout(TEST_HANGS, test).await.expect("the test hangs") })
}

fn sharded() -> EndpointOptions {
    EndpointOptions { shards: SHARDS, ..options() }
}

fn limited(core: EndpointConfig) -> EndpointOptions {
    EndpointOptions { core, ..sharded() }
}

fn listening(options: &EndpointOptions) -> (Endpoint, Peer) {
    let server = Endpoint::bind(options).unwrap();
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

/// Returns the shard of an association from its number, since `SHARDS` is a power of two.
fn shard_of(association: &Association) -> u64 {
    association.number() % u64::from(SHARDS)
}

/// Returns this many associations from one client, each with the server's end.
async fn pairs(
    server: &Endpoint,
    client: &Endpoint,
    peer: &Peer,
    count: usize,
) -> Vec<(Association, Association)> {
    let mut pairs = Vec::new();
    for _ in 0..count {
        let association =
            client.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap();
        pairs.push((association, server.accept(PORT).await.unwrap()));
    }
    pairs
}

async fn deliver(from: &Association, to: &Association, len: usize) {
    let sent: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
    let both = async { tokio::join!(from.send_bytes(0, sent.clone()), to.recv()) };
    let (accepted, got) = soon(both).await;
    accepted.unwrap();
    assert!(got.unwrap().unwrap().data == sent);
}

/// Connects 64 clients, each with its own sockets, to a server that echoes. Returns the server's shards that
/// were used.
async fn echo(server: Endpoint, peer: &Peer) -> BTreeSet<u64> {
    let clients = (0..64).map(|n| {
        let peer = peer.clone();
        tokio::spawn(async move {
            let client = bind();
            let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
            for len in [1, 1000, 50_000 + n] {
                association.send_bytes(0, vec![n as u8; len]).await.unwrap();
                let back = association.recv().await.unwrap().unwrap();
                assert!(back.data.len() == len && back.data.iter().all(|byte| *byte == n as u8));
            }
            association.shutdown().await.unwrap();
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut used = BTreeSet::new();
    for _ in 0..clients.len() {
        let accepted = server.accept(PORT).await.unwrap();
        used.insert(shard_of(&accepted));
        tokio::spawn(async move {
            while let Some(message) = accepted.recv().await.unwrap() {
                accepted.send_bytes(0, message.data).await.unwrap();
            }
        });
    }
    for client in clients {
        client.await.unwrap();
    }
    server.close().await.unwrap();
    used
}

#[test]
fn associations_of_64_clients_use_all_shards() {
    run(async {
        let (server, peer) = listening(&sharded());
        assert_eq!(echo(server, &peer).await, (0..SHARDS.into()).collect());
    });
}

/// Makes the kernel deliver all datagrams to the first socket of an endpoint.
fn misdirect(address: SocketAddr) {
    let member = Socket::new(Domain::for_address(address), Type::DGRAM, None).unwrap();
    member.set_reuse_port(true).unwrap();
    member.bind(&address.into()).unwrap();
    let mut first = sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    setsockopt(&member, AttachReusePortCbpf, &sock_fprog { len: 1, filter: &raw mut first }).unwrap();
}

#[test]
fn datagrams_at_the_wrong_socket_reach_their_shard() {
    run(async {
        let (server, peer) = listening(&sharded());
        misdirect(server.local_addresses()[0]);
        assert_eq!(echo(server, &peer).await, (0..SHARDS.into()).collect());
    });
}

#[test]
fn associations_begun_from_all_shards_of_one_endpoint_work() {
    run(async {
        let (server, peer) = common::server(PORT);
        let client = Endpoint::bind(&sharded()).unwrap();
        let pairs = pairs(&server, &client, &peer, 32).await;
        let used: BTreeSet<u64> = pairs.iter().map(|(association, _)| shard_of(association)).collect();
        assert_eq!(used, (0..SHARDS.into()).collect());
        let numbers: BTreeSet<u64> = pairs.iter().map(|(association, _)| association.number()).collect();
        assert_eq!((numbers.len(), client.associations().len()), (32, 32));
        // One batch has packets of associations of several shards.
        let back = pairs.iter().map(|(association, accepted)| deliver(accepted, association, 700));
        for back in back.collect::<Vec<_>>() {
            back.await;
        }
        drop(pairs);
        tokio::join!(client.idle(), server.idle());
    });
}

/// Forwards packets between a client and the server through one of several outer sockets.
async fn relay(server: SocketAddr, outer: [&str; 2]) -> (SocketAddr, Arc<AtomicU64>) {
    let inner = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let at = inner.local_addr().unwrap();
    let (current, client) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(at)));
    let mut sockets = Vec::new();
    for address in outer {
        let socket = Arc::new(UdpSocket::bind(address).await.unwrap());
        let (from, to, client) = (Arc::clone(&socket), Arc::clone(&inner), Arc::clone(&client));
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            while let Ok((len, _)) = from.recv_from(&mut buffer).await {
                let at = *client.lock().unwrap();
                let _ = to.send_to(&buffer[..len], at).await;
            }
        });
        sockets.push(socket);
    }
    let now = Arc::clone(&current);
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok((len, from)) = inner.recv_from(&mut buffer).await {
            *client.lock().unwrap() = from;
            let _ = sockets[now.load(SeqCst) as usize].send_to(&buffer[..len], server).await;
        }
    });
    (at, current)
}

#[test]
fn associations_keep_their_shard_when_their_packets_come_from_elsewhere() {
    run(async {
        for outer in [["127.0.0.1:0", "127.0.0.1:0"], ["127.0.0.2:0", "127.0.0.3:0"]] {
            let (server, peer) = listening(&sharded());
            let (at, current) = relay(server.local_addresses()[0], outer).await;
            let client = bind();
            let pairs = pairs(&server, &client, &Peer { port: PORT, ..Peer::new(at) }, 16).await;
            let used: BTreeSet<u64> = pairs.iter().map(|(_, accepted)| shard_of(accepted)).collect();
            assert!(used.len() > 1, "{used:?}");
            current.store(1, SeqCst);
            for (association, accepted) in &pairs {
                deliver(association, accepted, 20_000).await;
                association.flush().await.unwrap();
                if outer[0] == outer[1] {
                    // The NAT's new port was learnt. A new address is only answered.
                    deliver(accepted, association, 20_000).await;
                }
            }
            // It set none of them up again.
            let more = timeout(Duration::from_millis(100), server.accept(peer.port)).await;
            assert!(more.is_err());
        }
    });
}

#[test]
fn a_client_that_restarts_finds_its_shard() {
    run(async {
        let (server, peer) = listening(&sharded());
        let mut used = BTreeSet::new();
        for port in 50_000..50_016 {
            // Another process of the client's host, with the same ports: it seems so through a NAT.
            let (before, after) = (bind(), bind());
            let nat = Nat::new(server.local_addresses()[0]).await;
            let at = nat.inner.local_addr().unwrap();
            let from = Peer { local_port: Some(port), udp_port: at.port(), ..peer.clone() };
            let association =
                before.connect(from.clone(), Security::insecure(), Config::default()).await.unwrap();
            let accepted = server.accept(PORT).await.unwrap();
            deliver(&association, &accepted, 1000).await;
            let again = after.connect(from, Security::insecure(), Config::default()).await.unwrap();
            again.send_bytes(0, "again").await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, "again");
            assert_eq!(accepted.restarts(), 1);
            deliver(&accepted, &again, 1000).await;
            used.insert(shard_of(&accepted));
        }
        assert!(used.len() > 1, "{used:?}");
    });
}

/// Tries to connect this many times. Returns the associations and the number of refusals.
async fn attempts(client: &Endpoint, peer: &Peer, count: usize) -> (Vec<Association>, usize) {
    let mut up = Vec::new();
    for _ in 0..count {
        match client.connect(peer.clone(), Security::insecure(), Config::default()).await {
            Ok(association) => up.push(association),
            Err(ConnectError::Refused(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    let refused = count - up.len();
    (up, refused)
}

#[test]
fn the_limits_of_associations_hold_for_all_shards() {
    run(async {
        let core = [
            EndpointConfig { max_associations: 10, ..EndpointConfig::default() },
            EndpointConfig { max_associations_per_peer: 10, ..EndpointConfig::default() },
        ];
        for core in core {
            let (_server, peer) = listening(&limited(core));
            let client = bind();
            let (up, refused) = attempts(&client, &peer, 40).await;
            assert_eq!((up.len(), refused), (10, 30));
            up[0].shutdown().await.unwrap();
            // The server's end may be over a little later.
            let mut again = 0;
            while again == 0 {
                again += attempts(&client, &peer, 1).await.0.len();
            }
        }
        let core = EndpointConfig { max_associations: 3, ..EndpointConfig::default() };
        let (_server, peer) = common::server(PORT);
        let client = Endpoint::bind(&limited(core)).unwrap();
        let _up = attempts(&client, &peer, 3).await;
        let error =
            client.connect(peer, Security::insecure(), Config::default()).await.unwrap_err().to_string();
        assert!(error.contains("max_associations = 3"), "{error}");
    });
}

#[test]
fn the_backlog_holds_for_all_shards() {
    run(async {
        let (server, peer) = listening(&EndpointOptions { backlog: 5, ..sharded() });
        let client = bind();
        let mut begun = Vec::new();
        for _ in 0..30 {
            begun.push(client.connect(peer.clone(), Security::insecure(), Config::default()).await);
        }
        let up = |one: &&Association| one.state() == msctp::AssociationState::Established;
        until(|| begun.iter().flatten().filter(up).count() == 5).await;
        for _ in 0..5 {
            server.accept(PORT).await.unwrap();
        }
        assert!(timeout(Duration::from_millis(100), server.accept(PORT)).await.is_err());
    });
}

#[test]
fn the_receive_memory_holds_for_all_shards() {
    run(async {
        const MEMORY: u64 = 1 << 20;
        const EACH: usize = 512 << 10;
        let core = EndpointConfig { receive_memory: MEMORY, ..EndpointConfig::default() };
        let (server, peer) = listening(&limited(core));
        let client = bind();
        // Nobody reads.
        let pairs = pairs(&server, &client, &peer, 16).await;
        for (association, _) in &pairs {
            let sent = async {
                for _ in 0..EACH / 4096 {
                    association.send_bytes(0, vec![7; 4096]).await.unwrap();
                }
            };
            let _ = timeout(Duration::from_millis(300), sent).await;
        }
        let acknowledged = || {
            let of = |(association, _): &(Association, Association)| association.stats().unwrap();
            pairs.iter().map(of).map(|stats| stats.bytes_acked).sum::<u64>()
        };
        until(|| acknowledged() > MEMORY / 4).await;
        assert!(acknowledged() < MEMORY * 3 / 2, "{} of {MEMORY}", acknowledged());
    });
}

/// Returns an INIT between these SCTP ports.
fn init(from: u16) -> Vec<u8> {
    let mut packet = [from.to_be_bytes(), PORT.to_be_bytes()].concat();
    packet.extend([0; 8]);
    packet.extend([1, 0, 0, 20]);
    for field in [0x6666_6666_u32, 65_536, 0x0001_0001, 99] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &packet) as u32;
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
    packet
}

#[test]
fn the_rate_of_replies_holds_for_all_shards() {
    run(async {
        let core = EndpointConfig { max_replies_per_second: 40, ..EndpointConfig::default() };
        let (_server, peer) = listening(&limited(core));
        let to = SocketAddr::new(peer.addresses[0], peer.udp_port);
        let attacker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let begun = Instant::now();
        for port in 1..=200 {
            attacker.send_to(&init(port), to).await.unwrap();
        }
        let (mut buffer, mut answers) = ([0; 2048], 0);
        while answers < 20 {
            soon(attacker.recv_from(&mut buffer)).await.unwrap();
            answers += 1;
        }
        while timeout(Duration::from_millis(200), attacker.recv_from(&mut buffer)).await.is_ok() {
            answers += 1;
        }
        // One source has half of them, and a second's worth at once.
        let most = 20.0 * (1.0 + begun.elapsed().as_secs_f64()) + 1.0;
        assert!(f64::from(answers) <= most, "{answers} answers, {most} at most");
    });
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[test]
fn the_end_of_an_endpoint_ends_all_shards() {
    run(async {
        let before = tasks();
        for end in ["close", "abort", "drop"] {
            let (server, peer) = listening(&sharded());
            let address = server.local_addresses()[0];
            assert_eq!(tasks(), before + usize::from(SHARDS), "{end}, {before}");
            let client = bind();
            let pairs = pairs(&server, &client, &peer, 32).await;
            let used: BTreeSet<u64> = pairs.iter().map(|(_, accepted)| shard_of(accepted)).collect();
            assert_eq!(used.len(), usize::from(SHARDS));
            let waiting =
                client.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap();
            for (_, accepted) in &pairs {
                accepted.send_bytes(0, vec![7; 100_000]).await.unwrap();
            }
            let accepted = |server: &Endpoint| {
                let server = server.clone();
                tokio::spawn(async move { while server.accept(PORT).await.is_some() {} })
            };
            let expected = match end {
                "close" => {
                    let accepting = accepted(&server);
                    server.close().await.unwrap();
                    accepting.await.unwrap();
                    Ok(())
                }
                "abort" => {
                    server.abort("enough").await;
                    assert!(server.accept(PORT).await.is_none());
                    Err(())
                }
                _ => Ok(()),
            };
            let (client_ends, server_ends): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            drop((server, server_ends));
            for association in client_ends {
                let mut bytes = 0;
                let ended = loop {
                    match association.recv().await {
                        Ok(Some(message)) => bytes += message.data.len(),
                        Ok(None) => break Ok(()),
                        Err(_) => break Err(()),
                    }
                };
                assert_eq!(ended, expected, "{end}");
                assert!(ended.is_err() || bytes == 100_000);
            }
            drop(waiting);
            client.close().await.unwrap();
            while tasks() > before {
                sleep(Duration::from_millis(5)).await;
            }
            // A socket of its own has the port: every socket is closed.
            drop(std::net::UdpSocket::bind(address).unwrap());
        }
    });
}

#[test]
fn a_shard_that_is_held_up_does_not_hold_up_the_others() {
    run(async {
        let (blocked, release) = (Arc::new(AtomicU64::new(u64::MAX)), mpsc::channel::<()>());
        let (of_sink, released) = (Arc::clone(&blocked), Mutex::new(release.1));
        let sink = TraceSink::new(move |association, _| {
            // Holds the shard's lock and its task. The thread hands its other tasks over: a blocked thread of
            // tokio may be the only one that polls the sockets and the clock.
            if of_sink.compare_exchange(association, u64::MAX, SeqCst, SeqCst).is_ok() {
                let held = || released.lock().unwrap().recv_timeout(HANGS);
                tokio::task::block_in_place(held).expect("the test releases the shard");
            }
        });
        let (server, peer) = listening(&sharded().traced(sink));
        let client = bind();
        let pairs = pairs(&server, &client, &peer, 32).await;
        let (association, held) = &pairs[0];
        blocked.store(held.number(), SeqCst);
        association.send_bytes(0, "this is held up").await.unwrap();
        while blocked.load(SeqCst) != u64::MAX {
            sleep(Duration::from_millis(1)).await;
        }
        let others = pairs.iter().filter(|(_, accepted)| shard_of(accepted) != shard_of(held));
        for (association, accepted) in others {
            deliver(association, accepted, 5_000).await;
        }
        let own = pairs.iter().skip(1).find(|(_, accepted)| shard_of(accepted) == shard_of(held));
        let (association, _) = own.expect("32 associations on 4 shards");
        association.send_bytes(0, "and this").await.unwrap();
        assert!(timeout(Duration::from_millis(100), association.flush()).await.is_err());
        release.0.send(()).unwrap();
        association.flush().await.unwrap();
        assert_eq!(held.recv().await.unwrap().unwrap().data, "this is held up");
    });
}

#[test]
fn an_endpoint_ends_when_one_of_its_shards_fails() {
    run(async {
        let failing = Arc::new(AtomicU64::new(u64::MAX));
        let of_sink = Arc::clone(&failing);
        let sink = TraceSink::new(move |association, _| {
            assert!(association != of_sink.load(SeqCst), "this test has a sink that fails");
        });
        let (server, peer) = listening(&sharded().traced(sink));
        let client = bind();
        let pairs = pairs(&server, &client, &peer, 32).await;
        failing.store(pairs[0].1.number(), SeqCst);
        pairs[0].0.send_bytes(0, "now").await.unwrap();
        for (association, accepted) in &pairs {
            accepted.closed().await.unwrap_err();
            association.closed().await.unwrap_err();
        }
        assert!(server.accept(PORT).await.is_none());
        // Waits until the sockets of all shards are closed.
        server.abort("").await;
        assert!(matches!(
            client.connect(peer, Security::insecure(), Config::default()).await,
            Err(ConnectError::PortUnreachable(_))
        ));
        let begun = server
            .connect("127.0.0.1:9".parse::<SocketAddr>().unwrap(), Security::insecure(), Config::default())
            .await;
        assert!(matches!(begun, Err(ConnectError::EndpointClosed)));
    });
}

#[test]
fn numbers_of_shards_that_cannot_be_had_are_refused() {
    run(async {
        let error = |options: &EndpointOptions| Endpoint::bind(options).unwrap_err().to_string();
        let shards = |shards| EndpointOptions { shards, ..options() };
        assert_eq!(error(&shards(0)), "shards = 0: want at least 1");
        assert_eq!(error(&shards(1025)), "shards = 1025: want at most 1024");
        let mobile = shards(2).mobile(Mobility::default());
        let text = "shards = 2: want 1 for an endpoint that follows the host's interfaces (`mobility`)";
        assert_eq!(error(&mobile), text);
        let taken = Endpoint::bind(&shards(2)).unwrap();
        let again = EndpointOptions { shards: 2, ..EndpointOptions::new(taken.local_addresses()) };
        assert!(error(&again).contains("the port is in use"), "{}", error(&again));
    });
}

/// The files whose tests run again with three shards.
const AGAIN: &[&str] = &[
    "calls::",
    "cancelled::",
    "ending::",
    "liveness::",
    "loopback::",
    "nat::",
    "own::",
    "restarts::",
    "setup::",
    "streams::",
    "surface::",
    "tls::",
    "trace::",
];

#[test]
fn the_tests_of_other_files_pass_with_three_shards() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(AGAIN)
        .args(["--test-threads", "4", "--skip", "alone_"])
        .env(common::SHARDS, "3")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = AGAIN.iter().all(|file| text.contains(&format!("\ntest {file}")));
    assert!(output.status.success() && passed, "{text}{}", String::from_utf8_lossy(&output.stderr));
}
