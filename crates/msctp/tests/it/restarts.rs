//! Another association from the peer's IP address and SCTP port: a restart if it comes from the peer's UDP
//! port, and otherwise that of another host behind the peer's NAT, which restarts nothing and chooses another
//! port.

use crate::common;
use crate::nat::{Nat, in_clear_and_protected};

use std::net::SocketAddr;
use std::time::Duration;

use common::soon;
use msctp::{
    Association, AssociationError, AuthConfig, Config, ConnectError, Endpoint, Event, PathId, Peer, Refusal,
    Security, SharedKey,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const CLIENT_PORT: u16 = 50_000;

fn endpoint() -> Endpoint {
    Endpoint::bind(&common::options()).unwrap()
}

fn packet(tag: u32, chunks: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    packet.extend_from_slice(&CLIENT_PORT.to_be_bytes());
    packet.extend_from_slice(&7_u16.to_be_bytes());
    packet.extend_from_slice(&tag.to_be_bytes());
    packet.extend_from_slice(&[0; 4]);
    packet.extend_from_slice(chunks);
    let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &packet) as u32;
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
    packet
}

/// Sends an INIT with these parameters. Returns the server's response.
async fn ask(attacker: &UdpSocket, to: SocketAddr, params: &[u8]) -> Vec<u8> {
    let mut init = vec![1, 0, 0, 20 + params.len() as u8];
    for field in [0x6666_6666_u32, 65_536, 0x0001_0001, 99] {
        init.extend_from_slice(&field.to_be_bytes());
    }
    init.extend_from_slice(params);
    attacker.send_to(&packet(0, &init), to).await.unwrap();
    let mut buffer = vec![0; 2048];
    let (len, _) = soon(attacker.recv_from(&mut buffer)).await.unwrap();
    buffer.truncate(len);
    buffer
}

/// Returns a COOKIE ECHO from an INIT ACK, and DATA with this text.
fn echo(init_ack: &[u8], text: &[u8]) -> Vec<u8> {
    let tag = u32::from_be_bytes(init_ack[16..20].try_into().unwrap());
    let mut at = 32;
    let cookie = loop {
        let len = usize::from(u16::from_be_bytes([init_ack[at + 2], init_ack[at + 3]]));
        if init_ack[at..at + 2] == [0, 7] {
            break &init_ack[at + 4..at + len];
        }
        at += len.next_multiple_of(4);
    };
    let mut chunks = vec![10, 0];
    chunks.extend_from_slice(&((cookie.len() + 4) as u16).to_be_bytes());
    chunks.extend_from_slice(cookie);
    chunks.resize(chunks.len().next_multiple_of(4), 0);
    chunks.extend_from_slice(&[0, 3]);
    chunks.extend_from_slice(&((16 + text.len()) as u16).to_be_bytes());
    chunks.extend_from_slice(&99_u32.to_be_bytes());
    chunks.extend_from_slice(&[0; 8]);
    chunks.extend_from_slice(text);
    packet(tag, &chunks)
}

/// A client with an association to the server.
struct Up {
    server: Endpoint,
    client: Endpoint,
    association: Association,
    accepted: Association,
}

async fn up(security: Security, config: Config) -> Up {
    let server = endpoint();
    server.listen(7, security.clone(), config.clone()).unwrap();
    let at = server.local_addresses()[0];
    connected(server, at, security, config).await
}

/// Returns a client with an association through a NAT: whoever sends through it has the client's UDP port.
async fn relayed(config: Config) -> (Up, SocketAddr) {
    let server = endpoint();
    server.listen(7, Security::insecure(), config.clone()).unwrap();
    let nat = Nat::new(server.local_addresses()[0]).await;
    let inner = nat.inner.local_addr().unwrap();
    (connected(server, inner, Security::insecure(), config).await, inner)
}

async fn connected(server: Endpoint, at: SocketAddr, security: Security, config: Config) -> Up {
    let client = endpoint();
    let association = client.connect(from_client_port(at), security, config).await.unwrap();
    let accepted = server.accept(7).await.unwrap();
    association.send_bytes(0, "hello, it is me").await.unwrap();
    assert_eq!(accepted.recv().await.unwrap().unwrap().data, "hello, it is me");
    Up { server, client, association, accepted }
}

fn from_client_port(at: SocketAddr) -> Peer {
    Peer { port: 7, local_port: Some(CLIENT_PORT), ..Peer::new(at) }
}

/// Checks that the association between the two continues, and that the attacker receives nothing of it.
async fn unharmed(Up { client, association, accepted, .. }: &Up, attacker: &UdpSocket) {
    let port = client.local_addresses()[0].port();
    assert_eq!(accepted.remote_udp_port(PathId::new(0)), Some(port));
    accepted.send_bytes(0, "the secret").await.unwrap();
    let got = soon(association.recv()).await;
    assert_eq!(got.unwrap().unwrap().data, "the secret");
    let mut buffer = [0; 2048];
    while let Ok(Ok((len, _))) = timeout(Duration::from_millis(200), attacker.recv_from(&mut buffer)).await {
        assert!(!buffer[..len].windows(10).any(|window| window == b"the secret"));
    }
    continues(association, accepted).await;
}

/// Checks that the client's messages arrive.
async fn continues(association: &Association, accepted: &Association) {
    association.send_bytes(0, "still me").await.unwrap();
    let got = soon(accepted.recv()).await;
    assert_eq!(got.unwrap().unwrap().data, "still me");
    assert_eq!(accepted.restarts(), 0);
}

/// Checks that a packet is an ABORT with this cause.
fn is_abort(packet: &[u8], cause: u8) {
    assert_eq!((packet[12], packet.get(17)), (6, Some(&cause)), "ABORT");
}

/// Restart of an Association with New Encapsulation Port.
const NEW_PORT: u8 = 14;

#[tokio::test]
async fn another_host_behind_the_peers_nat_restarts_nothing() {
    for security in in_clear_and_protected() {
        let up = up(security.clone(), Config::default()).await;
        let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let answer = ask(&other, up.server.local_addresses()[0], &[]).await;
        // In clear, to an end that encrypts: it lacks the DTLS chunk, too.
        is_abort(&answer, if security == Security::insecure() { NEW_PORT } else { 100 });
        unharmed(&up, &other).await;
        // A client that must have this port is told so.
        let second = endpoint();
        let peer = from_client_port(up.server.local_addresses()[0]);
        let refused = soon(second.connect(peer, security, Config::default())).await.unwrap_err();
        assert!(matches!(refused, ConnectError::Refused(Refusal::PortTaken)), "{refused:?}");
        unharmed(&up, &other).await;
    }
}

#[tokio::test]
async fn of_two_hosts_that_begin_at_once_from_one_port_the_later_is_told() {
    let server = endpoint();
    server.listen(7, Security::insecure(), Config::default()).unwrap();
    let at = server.local_addresses()[0];
    let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let init_ack = ask(&other, at, &[]).await;
    assert_eq!(init_ack[12], 2, "INIT ACK");
    let up = connected(server, at, Security::insecure(), Config::default()).await;
    other.send_to(&echo(&init_ack, b"and I"), at).await.unwrap();
    let mut answer = [0; 100];
    let (len, _) = soon(other.recv_from(&mut answer)).await.unwrap();
    is_abort(&answer[..len], NEW_PORT);
    unharmed(&up, &other).await;
}

#[tokio::test]
async fn without_keys_the_reader_can_tell_what_the_new_peer_sent() {
    let (Up { association, accepted, .. }, to) = relayed(Config::default()).await;
    let mut events = accepted.events();
    association.send_bytes(0, "still the first").await.unwrap();
    soon(association.flush()).await.unwrap();
    let attacker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let answer = ask(&attacker, to, &[]).await;
    attacker.send_to(&echo(&answer, b"transfer it all to X"), to).await.unwrap();
    soon(async { while events.next().await != Some(Event::Restarted) {} }).await;
    // The textbook's loop goes on, and who looks sees where the new peer begins.
    let mut got = Vec::new();
    while got.len() < 2 {
        let message = soon(accepted.recv()).await.unwrap().unwrap();
        got.push((accepted.restarts(), message.data));
    }
    assert_eq!(got, [(0, "still the first".into()), (1, "transfer it all to X".into())]);
}

#[tokio::test]
async fn streams_of_a_restarted_peer_are_accepted_and_earlier_ones_fail() {
    let (Up { association, accepted, client: _client, .. }, at) = relayed(Config::default()).await;
    let mut old = association.open_stream().await.unwrap();
    old.write_all(b"before").await.unwrap();
    let mut old = soon(accepted.accept_stream()).await.unwrap().unwrap();
    old.read_exact(&mut [0; 6]).await.unwrap();
    let (_again, association) = soon(restart(at)).await;
    let mut stream = association.open_stream().await.unwrap();
    stream.write_all(b"after").await.unwrap();
    let error = soon(old.read(&mut [0; 6])).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    drop(old);
    let mut new = soon(accepted.accept_stream()).await.unwrap().unwrap();
    soon(new.read_exact(&mut [0; 5])).await.unwrap();
    assert_eq!(accepted.restarts(), 1);
}

#[tokio::test]
async fn a_listener_that_accepts_no_restarts_keeps_its_peer() {
    let auth = AuthConfig { accept_restarts: false, ..AuthConfig::default() };
    let (up, at) = relayed(Config { auth, ..Config::default() }).await;
    let attacker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    is_abort(&ask(&attacker, at, &[]).await, 12);
    continues(&up.association, &up.accepted).await;
}

#[tokio::test]
async fn with_shared_keys_nobody_restarts_without_them() {
    let keys = vec![SharedKey { id: 1, secret: b"both ends know 16".to_vec() }];
    let auth = AuthConfig { keys, ..AuthConfig::default() };
    let (up, to) = relayed(Config { auth, ..Config::mobile() }).await;
    let attacker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    assert_eq!(ask(&attacker, to, &[]).await[12], 6, "ABORT: who does not speak AUTH is refused");
    // RANDOM and HMAC-ALGO, as one that speaks it and has no key.
    let mut offer = vec![0x80, 2, 0, 36];
    offer.extend([7; 32]);
    offer.extend([0x80, 4, 0, 6, 0, 1, 0, 0]);
    let answer = ask(&attacker, to, &offer).await;
    assert_eq!(answer[12], 2, "INIT ACK");
    attacker.send_to(&echo(&answer, b"transfer it all to X"), to).await.unwrap();
    continues(&up.association, &up.accepted).await;
}

/// Connects through the client's NAT from its SCTP port at another endpoint: the server's association
/// restarts.
async fn restart(at: SocketAddr) -> (Endpoint, Association) {
    let client = endpoint();
    let association =
        client.connect(from_client_port(at), Security::insecure(), Config::default()).await.unwrap();
    (client, association)
}

#[tokio::test]
async fn flush_reports_a_restart_that_discarded_messages_once_to_each_handle() {
    let (Up { server, accepted, client: _client, association: _association }, at) =
        relayed(Config::default()).await;
    let other = accepted.clone();
    // The client does not read.
    common::fill(&accepted).await;
    let waiting = tokio::spawn(async move { (accepted.flush().await, accepted) });
    tokio::task::yield_now().await;
    let (_again, association) = soon(restart(at)).await;
    let (flushed, accepted) = soon(waiting).await.unwrap();
    assert_eq!(flushed, Err(AssociationError::Restarted));
    other.send_bytes(0, "to the restarted peer").await.unwrap();
    assert_eq!(soon(association.recv()).await.unwrap().unwrap().data, "to the restarted peer");
    assert_eq!(soon(accepted.flush()).await, Ok(()));
    assert_eq!(
        soon(other.flush()).await,
        Err(AssociationError::Restarted),
        "its messages were discarded, too"
    );
    assert_eq!(soon(other.flush()).await, Ok(()));
    for handle in server.associations() {
        assert_eq!(soon(handle.flush()).await, Ok(()), "a later handle sent none of them");
    }
}

#[tokio::test]
async fn flush_reports_no_restart_after_everything_was_acknowledged() {
    let (Up { accepted, client: _client, association: _association, .. }, at) =
        relayed(Config::default()).await;
    accepted.send_bytes(0, "delivered").await.unwrap();
    soon(accepted.flush()).await.unwrap();
    let (_again, association) = soon(restart(at)).await;
    association.send_bytes(0, "again").await.unwrap();
    assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "again");
    assert_eq!((accepted.restarts(), soon(accepted.flush()).await), (1, Ok(())));
}

#[tokio::test]
async fn shutdown_reports_messages_that_a_restart_discarded_when_the_association_is_over() {
    let (Up { accepted, client: _client, association: _association, .. }, at) =
        relayed(Config::default()).await;
    common::fill(&accepted).await;
    let closed = accepted.clone();
    let waiting = tokio::spawn(async move { accepted.shutdown().await });
    tokio::task::yield_now().await;
    let (_again, association) = soon(restart(at)).await;
    // Either end's shutdown ends the association.
    assert_eq!(soon(association.shutdown()).await, Ok(()));
    assert_eq!(soon(waiting).await.unwrap(), Err(AssociationError::Restarted));
    assert_eq!(soon(closed.closed()).await, Ok(()), "it was shut down");
}
