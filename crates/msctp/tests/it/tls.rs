//! Associations whose keys come from TLS: both ends authenticated, nothing in clear, typed errors.
#![cfg(feature = "tls")]

use crate::common;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{bind, options, run, soon, until};
use msctp::protection::{DtlsRoles, KeyManagement, KeyManagementId, Ring};
use msctp::security::{
    AnyPeer, CheckPeer, Code, Error, Fingerprint, Identity, PeerProtection, Pinned, Rejection, Tls, provider,
};
use msctp::{
    Association, AssociationError, Config, ConnectError, Endpoint, EndpointConfig, EndpointOptions,
    LossReason, OutMessage, Peer, ProtectionMismatch, Refusal, Security, SendError, Span,
};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const PORT: u16 = 9;
/// The type of a DTLS chunk.
const DTLS: u8 = 0x41;
const SECRET_TEXT: &[u8] = b"nobody else may read this";

fn identity() -> Identity {
    Identity::generate(provider()).unwrap()
}

fn tls(identity: &Identity, check: impl CheckPeer + 'static) -> Tls {
    Tls::new(identity, check).unwrap()
}

fn any() -> Tls {
    tls(&identity(), AnyPeer)
}

/// Binds an endpoint that listens. Returns it with its address.
fn server(security: impl Into<Security>) -> (Endpoint, Peer) {
    server_of(&options(), security)
}

fn server_of(options: &EndpointOptions, security: impl Into<Security>) -> (Endpoint, Peer) {
    let server = Endpoint::bind(options).unwrap();
    server.listen(PORT, security, Config::default()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

async fn connect_to(
    peer: impl Into<Peer>,
    security: impl Into<Security>,
) -> Result<(Endpoint, Association), ConnectError> {
    let client = bind();
    let association = client.connect(peer, security, Config::default()).await?;
    Ok((client, association))
}

fn security_error(result: Result<(Endpoint, Association), ConnectError>) -> Error {
    match result {
        Err(ConnectError::Security(error)) => (*error).clone(),
        other => panic!("{other:?}"),
    }
}

fn refusal(result: Result<(Endpoint, Association), ConnectError>) -> String {
    match result {
        Err(ConnectError::Refused(
            Refusal::Key(reason) | Refusal::Code(reason) | Refusal::Application { reason, .. },
        )) => reason,
        other => panic!("{other:?}"),
    }
}

/// Bytes of a packet, and whether the client sent it.
type Packet = (bool, Vec<u8>);

/// A relay that forwards packets between a client and `server`, and keeps copies.
struct Relay {
    address: SocketAddr,
    packets: Arc<Mutex<Vec<Packet>>>,
    socket: Arc<UdpSocket>,
    client: Arc<Mutex<Option<SocketAddr>>>,
    server: SocketAddr,
}

impl Relay {
    async fn new(server: SocketAddr) -> Self {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let (packets, client) = (Arc::default(), Arc::default());
        let relay = Self { address: socket.local_addr().unwrap(), packets, socket, client, server };
        let (socket, packets, client) = (relay.socket.clone(), relay.packets.clone(), relay.client.clone());
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            loop {
                let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
                let by_client = from != server;
                if by_client {
                    *client.lock().unwrap() = Some(from);
                }
                packets.lock().unwrap().push((by_client, buffer[..len].to_vec()));
                let to = if by_client { Some(server) } else { *client.lock().unwrap() };
                if let Some(to) = to {
                    socket.send_to(&buffer[..len], to).await.unwrap();
                }
            }
        });
        relay
    }

    fn peer(&self, peer: &Peer) -> Peer {
        Peer { udp_port: self.address.port(), ..peer.clone() }
    }

    fn packets(&self) -> Vec<Packet> {
        self.packets.lock().unwrap().clone()
    }

    fn saw(&self, text: &[u8]) -> bool {
        self.packets().iter().any(|(_, bytes)| bytes.windows(text.len()).any(|window| window == text))
    }
}

/// Returns the types of the chunks of a packet in clear.
fn chunks(packet: &[u8]) -> Vec<u8> {
    let (mut types, mut rest) = (Vec::new(), packet.get(12..).unwrap_or_default());
    while let [typ, _, high, low, ..] = *rest {
        types.push(typ);
        let len = usize::from(u16::from_be_bytes([high, low])).max(4).next_multiple_of(4);
        rest = rest.get(len..).unwrap_or_default();
    }
    types
}

/// A check that panics.
#[derive(Debug)]
struct Panics;

impl CheckPeer for Panics {
    fn check(&self, _fingerprint: &Fingerprint) -> Result<(), msctp::security::Refused> {
        panic!("the check has failed")
    }
}

#[test]
fn a_panic_in_a_check_of_peers_refuses_that_peer() {
    run(async {
        let (server, peer) = server(any());
        let client = bind();
        let failed = client.connect(peer.clone(), tls(&identity(), Panics), Config::default()).await;
        let Err(ConnectError::Lost(AssociationError::Lost(lost))) = failed else { panic!("{failed:?}") };
        assert_eq!(lost, LossReason::Panicked { message: "the check has failed".to_owned() });
        let association = client.connect(peer, any(), Config::default()).await.unwrap();
        let accepted = soon(server.accept(PORT)).await.unwrap();
        association.send_bytes(0, "works").await.unwrap();
        assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "works");
    });
}

#[test]
fn the_channel_binding_is_equal_at_both_ends_and_of_one_association() {
    run(async {
        let (server, peer) = server(any());
        let (mut held, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (client, association) = connect_to(peer.clone(), any()).await.unwrap();
            let accepted = server.accept(PORT).await.unwrap();
            let [a, b] = [&association, &accepted].map(|end| end.peer_identity().unwrap().channel_binding);
            assert_eq!(a, b);
            assert!(!seen.contains(&a) && a != [0; 32]);
            seen.push(a);
            held.push((client, association, accepted));
        }
    });
}

#[test]
fn both_ends_are_authenticated_and_data_never_leaves_in_clear() {
    run(async {
        let (a, b) = (identity(), identity());
        let pinned = |identity: &Identity| Pinned(vec![identity.fingerprint()]);
        let (server, peer) = server(tls(&b, pinned(&a)));
        let relay = Relay::new(server.local_addresses()[0]).await;
        let client = bind();
        let association =
            client.connect(relay.peer(&peer), tls(&a, pinned(&b)), Config::default()).await.unwrap();
        // At once, behind the set-up: in both directions.
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        accepted.send_bytes(1, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        assert_eq!(association.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        assert_eq!(association.peer_identity().unwrap().fingerprint, b.fingerprint());
        assert_eq!(accepted.peer_identity().unwrap().fingerprint, a.fingerprint());
        assert!(association.agreed().unwrap().protection && !association.agreed().unwrap().authentication);
        let big = vec![0x5a; 200_000];
        association.send_bytes(2, big.clone()).await.unwrap();
        let mut received = Vec::new();
        while received.len() < big.len() {
            received.extend_from_slice(&accepted.recv().await.unwrap().unwrap().data);
        }
        assert_eq!(received, big);
        association.shutdown().await.unwrap();
        assert_eq!(accepted.recv().await.unwrap(), None);
        assert!(!relay.saw(SECRET_TEXT) && !relay.saw(&[0x5a; 64]));
        // In clear are INIT to COOKIE ACK and the handshake; then DTLS chunks only.
        let packets = relay.packets();
        assert_eq!(chunks(&packets[2].1)[..2], [10, 0], "the ClientHello travels with the COOKIE ECHO");
        for by_client in [true, false] {
            let sealed = |packet: &&Packet| packet.1[12] == DTLS;
            let of_end = packets.iter().filter(|packet| packet.0 == by_client);
            let late = of_end.clone().skip_while(|packet| !sealed(packet)).filter(|packet| !sealed(packet));
            assert_eq!(late.count(), 0, "{by_client}");
            assert!(of_end.clone().any(|packet| sealed(&packet)));
        }
    });
}

#[test]
fn a_changed_key_is_refused_by_either_end() {
    run(async {
        let known = Fingerprint::of(&vec![1, 2, 3].into());
        // By the client: it says which key came, the server reads why.
        let b = identity();
        let (server, peer) = server(tls(&b, AnyPeer));
        let (failed, rejected) = tokio::join!(
            connect_to(peer.clone(), tls(&identity(), Pinned(vec![known]))),
            timeout(Duration::from_millis(500), server.accept(PORT)),
        );
        let Error::Refused(refused) = security_error(failed) else { panic!("refused") };
        assert_eq!(refused.0, format!("the peer's key is {}, must be {known}", b.fingerprint()));
        assert!(rejected.is_err(), "nothing to accept");
        // By the server.
        let (server, peer) = self::server(tls(&b, Pinned(vec![known])));
        let (failed, rejected) = tokio::join!(connect_to(peer.clone(), any()), server.rejected(PORT));
        assert!(matches!(&failed, Err(ConnectError::Refused(Refusal::Key(_)))), "{failed:?}");
        assert_eq!(refusal(failed), "your key is not accepted here");
        let rejected = rejected.unwrap();
        assert!(matches!(rejected.error, Rejection::Security(Error::Refused(_))), "{rejected:?}");
        assert!(rejected.remote.ip().is_loopback());
    });
}

#[test]
fn a_code_serves_once_and_a_wrong_one_burns_it() {
    run(async {
        let code = |text: &str| Code::new(text).unwrap();
        // The right code serves one association.
        let (server, peer) = server(any().code(code("7-lamp-cedar")));
        let (connected, accepted) =
            tokio::join!(connect_to(peer.clone(), any().code(code("7-Lamp-Cedar "))), server.accept(PORT));
        let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        let again = connect_to(peer.clone(), any().code(code("7-lamp-cedar"))).await;
        assert_eq!(refusal(again), "the code is used up");
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT, "it goes on");
        // Who proves nothing leaves the code as it is. A wrong code uses it up.
        let (server, peer) = self::server(any().code(code("7-lamp-cedar")));
        assert_eq!(refusal(connect_to(peer.clone(), any()).await), "a code is required here");
        assert_eq!(server.rejected(PORT).await.unwrap().error, Rejection::Security(Error::CodeMissing));
        let wrong = connect_to(peer.clone(), any().code(code("8-lamp-cedar"))).await;
        assert_eq!(refusal(wrong), "wrong code: it is used up");
        assert_eq!(server.rejected(PORT).await.unwrap().error, Rejection::Security(Error::WrongCode));
        let right = connect_to(peer.clone(), any().code(code("7-lamp-cedar"))).await;
        assert_eq!(refusal(right), "the code is used up");
        // A client's code is used up with the first attempt, too: the server has seen its proof.
        let (_server, peer) = self::server(any().code(code("1-a")));
        let client = any().code(code("1-b"));
        assert_eq!(refusal(connect_to(peer.clone(), &client).await), "wrong code: it is used up");
        assert_eq!(security_error(connect_to(peer.clone(), client).await), Error::CodeUsed);
    });
}

/// Two proofs run at the same time: the second is not verified.
#[test]
fn a_wrong_code_burns_it_for_set_ups_under_way() {
    run(async {
        let (server, peer) = server(any().code(Code::new("7-lamp-cedar").unwrap()));
        let attempts: Vec<_> = (0..8)
            .map(|i| {
                let peer = peer.clone();
                // One of them would be right.
                let code = Code::new(&format!("{i}-lamp-cedar")).unwrap();
                tokio::spawn(async move { connect_to(peer.clone(), any().code(code)).await.is_ok() })
            })
            .collect();
        let mut connected = 0;
        for attempt in attempts {
            connected += usize::from(attempt.await.unwrap());
        }
        let mut wrong = 0;
        if connected == 0 {
            let rejected = soon(server.rejected(PORT)).await.unwrap();
            wrong += usize::from(rejected.error == Rejection::Security(Error::WrongCode));
        }
        while let Ok(Some(rejected)) = timeout(Duration::from_millis(100), server.rejected(PORT)).await {
            wrong += usize::from(rejected.error == Rejection::Security(Error::WrongCode));
        }
        assert_eq!(connected + wrong, 1, "one proof was looked at");
    });
}

#[test]
fn a_peer_without_the_extension_is_refused_unless_protection_is_only_offered() {
    run(async {
        let clear = Security::insecure;
        let psk = || Security::pre_shared(&[7; 32]).unwrap();
        use PeerProtection as Theirs;
        use ProtectionMismatch::{OtherMethod, PeerLacks, PeerRequires};
        for (here, there, mismatch, seen) in [
            (any().into(), clear(), PeerLacks, Theirs::Tls),
            (clear(), any().into(), PeerRequires, Theirs::None),
            (any().into(), psk(), OtherMethod, Theirs::Tls),
            (psk(), any().into(), OtherMethod, Theirs::PreShared),
        ] {
            let (server, peer) = server(there);
            let failed = connect_to(peer.clone(), here).await.map(|_| ());
            let Err(ConnectError::NoCommonProtection(found)) = failed else { panic!("{failed:?}") };
            assert_eq!(found, mismatch);
            let rejected = server.rejected(PORT).await.unwrap();
            assert_eq!(rejected.error, Rejection::NoCommonProtection(seen));
            assert!(rejected.remote.ip().is_loopback());
        }
        // The source is not verified: one report a second.
        let (listening, peer) = server(any());
        for _ in 0..3 {
            connect_to(peer.clone(), clear()).await.unwrap_err();
        }
        listening.rejected(PORT).await.unwrap();
        assert!(timeout(Duration::from_millis(100), listening.rejected(PORT)).await.is_err());
        for (here, there, protected) in [
            (any().or_insecure(), clear(), false),
            (clear(), any().or_insecure(), false),
            (any().or_insecure(), any().or_insecure(), true),
        ] {
            let (server, peer) = server(there);
            let (connected, accepted) = tokio::join!(connect_to(peer.clone(), here), server.accept(PORT));
            let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
            assert_eq!(association.agreed().unwrap().protection, protected);
            assert_eq!(association.peer_identity().is_some(), protected);
            association.send_bytes(0, SECRET_TEXT).await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        }
    });
}

#[test]
fn keys_are_replaced_while_data_flows_and_nobody_reads() {
    run(async {
        let rekeying = || {
            let mut config = identity().config(Arc::new(AnyPeer)).unwrap();
            config.rekey.after = Span::from_secs(2);
            config.rekey.bytes = 200_000;
            Tls::with_config(config)
        };
        let (server, peer) = server(rekeying());
        let relay = Relay::new(server.local_addresses()[0]).await;
        let (connected, accepted) =
            tokio::join!(connect_to(relay.peer(&peer), rekeying()), server.accept(PORT));
        let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
        // Unread messages do not hold the keys up: twice `rekey.after` would end the association.
        association.send_bytes(0, "unread").await.unwrap();
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, "unread");
        for _ in 0..200 {
            association.send_bytes(0, vec![1; 5000]).await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().ppid, 0);
        }
        // The lowest bits of the epoch are in the record's first byte.
        let packets = relay.packets();
        let epochs: Vec<u8> =
            packets.iter().filter(|(_, bytes)| bytes[12] == DTLS).map(|(_, bytes)| bytes[17] & 3).collect();
        let changes = epochs.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(changes >= 4, "{changes}");
    });
}

#[test]
fn packets_injected_in_clear_have_no_effect() {
    run(async {
        let (server, peer) = server(any());
        let relay = Relay::new(server.local_addresses()[0]).await;
        let (connected, accepted) = tokio::join!(connect_to(relay.peer(&peer), any()), server.accept(PORT));
        let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
        association.send_bytes(0, "before").await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, "before");
        // An observer knows ports and tags: ABORT, SHUTDOWN, and DATA with plausible numbers.
        let client = relay.client.lock().unwrap().unwrap();
        let (to_server, to_client) = (last_header(&relay, true), last_header(&relay, false));
        for (header, to) in [(to_server, relay.server), (to_client, client)] {
            for chunk in [
                &[6, 0, 0, 4][..],
                &[7, 0, 0, 8, 0, 0, 0, 0],
                &[0, 3, 0, 20, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, b'e', b'v', b'i', b'l'],
            ] {
                relay.socket.send_to(&packet(&header, chunk), to).await.unwrap();
            }
        }
        for end in [&accepted, &association] {
            until(|| end.stats().unwrap().unprotected_packets == 3).await;
        }
        for (from, to) in [(&association, &accepted), (&accepted, &association)] {
            from.send_bytes(0, "after").await.unwrap();
            assert_eq!(to.recv().await.unwrap().unwrap().data, "after");
        }
    });
}

/// Returns the ports and the verification tag of the last packet of an end.
fn last_header(relay: &Relay, by_client: bool) -> [u8; 8] {
    let packets = relay.packets();
    let last = packets.iter().rfind(|packet| packet.0 == by_client).unwrap();
    last.1[..8].try_into().unwrap()
}

fn packet(header: &[u8; 8], chunk: &[u8]) -> Vec<u8> {
    let mut packet = [header, &[0; 4][..], chunk].concat();
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &packet) as u32;
    packet[8..12].copy_from_slice(&sum.to_le_bytes());
    packet
}

#[test]
fn a_protected_association_moves_between_addresses() {
    run(async {
        let (server, peer) = server(any());
        let both = common::options_at(["127.0.0.1:0", "127.0.0.2:0"].map(|at| at.parse().unwrap()));
        let client = Endpoint::bind(&both).unwrap();
        let peer = Peer { from: Some(vec!["127.0.0.1".parse().unwrap()]), ..peer };
        let config = Config::mobile();
        let (association, accepted) = tokio::join!(client.connect(peer, any(), config), server.accept(PORT));
        let (association, accepted) = (association.unwrap(), accepted.unwrap());
        association.add_local_address("127.0.0.2".parse().unwrap()).unwrap();
        let path = loop {
            let mut paths = association.paths().into_iter();
            let second = paths.find(|path| path.at.local == client.local_addresses()[1].ip());
            match second.filter(|path| path.state == msctp::PathState::Active) {
                Some(path) => break path.id,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        association.set_primary(path).unwrap();
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        let moved = association.paths().into_iter().find(|stats| stats.id == path).unwrap();
        assert!(moved.primary && moved.bytes_sent > 0);
        assert_eq!(accepted.stats().unwrap().undecryptable_packets, 0);
    });
}

/// Starts a relay that stops the handshake after the COOKIE ECHO.
async fn without_handshake(socket: UdpSocket, server: SocketAddr) {
    let (mut client, mut buffer) = (None, vec![0; 4096]);
    loop {
        let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
        let to = if from == server { client } else { Some(server) };
        if from != server {
            client = Some(from);
        }
        // DATA is passed neither way, beside a COOKIE ECHO or ACK either: these come again alone.
        if chunks(&buffer[..len]).contains(&0) && buffer[12] != 10 {
            continue;
        }
        if buffer[12] == 10 {
            let cookie = usize::from(u16::from_be_bytes([buffer[14], buffer[15]])).next_multiple_of(4);
            let header: [u8; 8] = buffer[..8].try_into().unwrap();
            let alone = packet(&header, &buffer[12..12 + cookie]);
            socket.send_to(&alone, server).await.unwrap();
        } else if let Some(to) = to {
            socket.send_to(&buffer[..len], to).await.unwrap();
        }
    }
}

#[test]
fn a_handshake_that_does_not_end_fails_in_time_and_can_be_cancelled() {
    run(async {
        let hasty = || {
            let mut config = identity().config(Arc::new(AnyPeer)).unwrap();
            config.timeout = Span::from_millis(400);
            Tls::with_config(config)
        };
        let (server, peer) = server(hasty());
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let peer = Peer { udp_port: socket.local_addr().unwrap().port(), ..peer };
        tokio::spawn(without_handshake(socket, server.local_addresses()[0]));
        // The server's time ends first, then the client's: the other end gets an ABORT.
        let failed = connect_to(peer.clone(), any()).await;
        assert_eq!(refusal(failed), "the TLS handshake took too long");
        assert_eq!(server.rejected(PORT).await.unwrap().error, Rejection::Security(Error::TimedOut));
        let (patient, slow) = self::server(any());
        let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let slow = Peer { udp_port: relay.local_addr().unwrap().port(), ..slow };
        tokio::spawn(without_handshake(relay, patient.local_addresses()[0]));
        assert_eq!(security_error(connect_to(slow, hasty()).await), Error::TimedOut);
        soon(server.idle()).await;
        // Cancelled, and closed meanwhile.
        let client = bind();
        for close in [false, true] {
            let connecting = client.connect(peer.clone(), any(), Config::default());
            let mut connecting = std::pin::pin!(connecting);
            let waited = timeout(Duration::from_millis(100), connecting.as_mut()).await;
            assert!(waited.is_err(), "{waited:?}");
            if close {
                soon(client.close()).await.unwrap();
                let error = connecting.await.unwrap_err();
                assert!(matches!(
                    error,
                    ConnectError::Lost(AssociationError::Lost(LossReason::Aborted))
                        | ConnectError::EndpointClosed
                ));
            }
        }
        soon(server.close()).await.unwrap();
    });
}

/// Returns options with four places for peers that have not proved their keys.
fn four_places() -> EndpointOptions {
    EndpointOptions {
        core: EndpointConfig { max_associations: 16, ..EndpointConfig::default() },
        ..options()
    }
}

#[test]
fn peers_that_prove_no_key_hold_few_places_and_keep_nobody_out() {
    run(async {
        let (server, peer) = server_of(&four_places(), any());
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let silent = Peer { udp_port: socket.local_addr().unwrap().port(), ..peer.clone() };
        tokio::spawn(without_handshake(socket, server.local_addresses()[0]));
        let client = bind();
        let connecting = (0..20).map(|_| client.connect(silent.clone(), any(), Config::default()));
        let attempts: Vec<_> = connecting.map(|one| tokio::spawn(one)).collect();
        let ended = || attempts.iter().filter(|attempt| attempt.is_finished()).count();
        until(|| ended() > 0).await;
        let (connected, accepted) = tokio::join!(connect_to(peer.clone(), any()), server.accept(PORT));
        let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        // Sixteen were aborted for later ones.
        until(|| ended() >= 16).await;
        for attempt in attempts.into_iter().filter(tokio::task::JoinHandle::is_finished) {
            let Err(ConnectError::Refused(Refusal::Application { reason, .. })) = attempt.await.unwrap()
            else {
                panic!()
            };
            assert_eq!(reason, "too many set-ups at a time");
        }
        let rejected = server.rejected(PORT).await.unwrap();
        assert_eq!(rejected.error, Rejection::TooManySetUps);
        assert!(rejected.count >= 16, "{rejected:?}");
    });
}

#[test]
fn two_hundred_set_ups_at_once() {
    run(async {
        let (server, peer) = server(any());
        let (client, tls) = (bind(), any());

        let accepting = async {
            let mut accepted = Vec::new();
            while accepted.len() < 200 {
                accepted.push(server.accept(PORT).await.unwrap());
            }
            accepted
        };
        let connecting: Vec<_> = (0..200)
            .map(|_| {
                let connecting = client.connect(peer.clone(), &tls, Config::default());
                tokio::spawn(async move {
                    let association = connecting.await.unwrap();
                    association.send_bytes(0, SECRET_TEXT).await.unwrap();
                    association
                })
            })
            .collect();
        for accepted in accepting.await {
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
        }
        for connecting in connecting {
            connecting.await.unwrap().shutdown().await.unwrap();
        }
    });
}

#[test]
fn the_identifier_of_key_management_is_not_the_applications() {
    run(async {
        let (server, peer) = server(any());
        let (connected, _accepted) = tokio::join!(connect_to(peer.clone(), any()), server.accept(PORT));
        let (_client, association) = connected.unwrap();
        let message = OutMessage { ppid: 4242, data: "forged".into(), ..OutMessage::default() };
        let refused = association.send(message).await;
        assert_eq!(refused, Err(SendError::KeyManagement));
    });
}

#[test]
fn keys_are_logged_for_both_directions_at_both_ends() {
    run(async {
        let logs: [Arc<Mutex<Vec<String>>>; 2] = Default::default();
        let logged = |log: &Arc<Mutex<Vec<String>>>| {
            let log = log.clone();
            any().key_log(move |line| log.lock().unwrap().push(line.to_owned()))
        };
        let (server, peer) = server(logged(&logs[1]));
        let (connected, _accepted) =
            tokio::join!(connect_to(peer.clone(), logged(&logs[0])), server.accept(PORT));
        connected.unwrap();
        let [a, b] = logs.each_ref().map(|log| {
            let mut lines = log.lock().unwrap().clone();
            lines.sort();
            lines
        });
        assert_eq!((a.len(), &a), (2, &b));
    });
}

/// A test's decision about a packet in flight, where `true` means from the client. It returns the packets to
/// forward, each with whether it goes to the server.
type Filter = Box<dyn FnMut(bool, Vec<u8>) -> Vec<Packet> + Send>;

/// Forwards packets between the last client and `server` as `filter` decides. Returns the address for
/// clients.
async fn filtered(peer: &Peer, server: SocketAddr, ip: &str, mut filter: Filter) -> Peer {
    let socket = UdpSocket::bind((ip, 0)).await.unwrap();
    let peer = Peer { udp_port: socket.local_addr().unwrap().port(), ..peer.clone() };
    let peer = Peer { addresses: vec![ip.parse().unwrap()], ..peer };
    tokio::spawn(async move {
        let (mut client, mut buffer) = (None, vec![0; 65_536]);
        loop {
            let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
            let by_client = from != server;
            if by_client {
                client = Some(from);
            }
            for (to_server, bytes) in filter(by_client, buffer[..len].to_vec()) {
                let to = if to_server { Some(server) } else { client };
                socket.send_to(&bytes, to.unwrap()).await.unwrap();
            }
        }
    });
    peer
}

/// Returns a filter that passes the set-up in clear and the ClientHello, and drops the server's data.
fn without_answers() -> Filter {
    Box::new(|by_client, mut bytes| {
        if !by_client && let Some(data) = chunks(&bytes).iter().position(|typ| [0, DTLS].contains(typ)) {
            let mut at = 12;
            for _ in 0..data {
                at += usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])).next_multiple_of(4);
            }
            bytes = packet(&bytes[..8].try_into().unwrap(), &bytes[12..at]);
        }
        if bytes.len() > 12 { vec![(by_client, bytes)] } else { Vec::new() }
    })
}

fn hasty() -> Tls {
    let mut config = identity().config(Arc::new(AnyPeer)).unwrap();
    config.timeout = Span::from_millis(1000);
    Tls::with_config(config)
}

/// Both ends report the mismatch: the client after its first repeated COOKIE ECHO.
#[test]
fn another_pre_shared_key_is_reported_at_both_ends() {
    run(async {
        let psk = |byte: u8| Security::pre_shared(&[byte; 32]).unwrap();
        let (server, peer) = server(psk(7));
        let failed = connect_to(peer.clone(), psk(8)).await.map(|_| ());
        assert!(matches!(failed, Err(ConnectError::KeysDiffer)), "{failed:?}");
        let rejected = server.rejected(PORT).await.unwrap();
        assert_eq!(rejected.error, Rejection::KeysDiffer);
        assert_eq!(
            rejected.error.to_string(),
            "the pre-shared keys of both ends differ, or the set-up was changed on the way"
        );
        assert!(timeout(Duration::from_millis(100), server.accept(PORT)).await.is_err());
        let (_client, _association) = connect_to(peer, psk(7)).await.unwrap();
        server.accept(PORT).await.unwrap();
    });
}

/// Each end offers only the role of the TLS client, so that its peer is verified as a server.
#[test]
fn two_ends_that_connect_to_each_other_at_once_fail_at_once() {
    run(async {
        let (a, b) = (bind(), bind());
        let to = |endpoint: &Endpoint| Peer {
            port: PORT,
            local_port: Some(PORT),
            ..Peer::new(endpoint.local_addresses()[0])
        };
        let connect = |from: &Endpoint, peer| from.connect(peer, any(), Config::default());
        let (one, other) = tokio::join!(connect(&a, to(&b)), connect(&b, to(&a)));
        for failed in [one.map(|_| ()), other.map(|_| ())] {
            let Err(ConnectError::NoCommonProtection(mismatch)) = failed else { panic!("{failed:?}") };
            assert_eq!(mismatch, ProtectionMismatch::Roles);
        }
    });
}

/// The peer cannot choose to be verified as a client, whose name nobody checks.
#[test]
fn a_peer_that_takes_the_role_of_the_client_is_refused() {
    run(async {
        let (server, peer) = server(hasty());
        let at = server.local_addresses()[0];
        let filter = Box::new(|by_client: bool, mut bytes: Vec<u8>| {
            // The roles of an INIT ACK's DTLS Key Management parameter: client instead of server.
            if bytes[12] == 2 {
                let found = bytes.windows(4).position(|window| window == [0x80, 6, 0, 11]).unwrap();
                assert_eq!(bytes[found + 8], 2);
                bytes[found + 8] = 1;
                bytes = packet(&bytes[..8].try_into().unwrap(), &bytes[12..]);
            }
            vec![(by_client, bytes)]
        });
        let peer = filtered(&peer, at, "127.0.0.1", filter).await;
        let failed = connect_to(peer, hasty()).await.map(|_| ());
        let Err(ConnectError::NoCommonProtection(mismatch)) = failed else { panic!("{failed:?}") };
        assert_eq!(mismatch, ProtectionMismatch::Roles);
    });
}

/// Fewer streams in the INIT, in the draft's order and with False Start: both ends say what happened.
#[test]
fn a_set_up_that_was_changed_on_the_way_is_reported_at_both_ends() {
    run(async {
        for false_start in [false, true] {
            let (server, peer) = server(any());
            let at = server.local_addresses()[0];
            let filter = Box::new(|by_client: bool, mut bytes: Vec<u8>| {
                if by_client && bytes[12] == 1 {
                    bytes[24..26].copy_from_slice(&1u16.to_be_bytes());
                    bytes = packet(&bytes[..8].try_into().unwrap(), &bytes[12..]);
                }
                vec![(by_client, bytes)]
            });
            let peer = filtered(&peer, at, "127.0.0.1", filter).await;
            let failed = connect_to(peer, any().false_start(false_start)).await.map(|_| ());
            assert!(matches!(failed, Err(ConnectError::SetUpChanged)), "{failed:?}");
            let rejected = server.rejected(PORT).await.unwrap();
            assert_eq!(rejected.error, Rejection::SetUpChanged);
            assert!(timeout(Duration::from_millis(100), server.accept(PORT)).await.is_err());
        }
    });
}

#[test]
fn keys_that_nothing_establishes_are_rejected() {
    run(async {
        let roles = DtlsRoles { client: true, server: true };
        let keys = KeyManagement::external(Arc::new(Ring), vec![KeyManagementId::TLS], roles);
        let protection = Security::from(keys);
        let text = "protection = Some(External([KeyManagementId(225)], DtlsRoles { client: true, server: true \
                    })): want pre-shared keys or those of `Tls`: nothing else establishes keys here";
        let endpoint = bind();
        assert_eq!(
            endpoint.listen(PORT, protection.clone(), Config::default()).unwrap_err().to_string(),
            text
        );
        let (_server, peer) = server(any());
        let failed = endpoint.connect(peer, protection, Config::default()).await.unwrap_err();
        assert!(failed.to_string().contains("nothing else establishes keys here"), "{failed}");
    });
}

/// A client that restarts during the handshake begins another one, and so does the server.
#[test]
fn a_client_can_restart_during_the_handshake() {
    run(async {
        let (server, peer) = server(any());
        let at = server.local_addresses()[0];
        let first = Arc::new(Mutex::new(None));
        let mut deaf = without_answers();
        let known = first.clone();
        // The first client gets no answer, and its ABORT is lost.
        let filter = Box::new(move |by_client: bool, bytes: Vec<u8>| {
            if bytes[12] == 1 {
                known.lock().unwrap().get_or_insert(bytes[16..20].to_vec());
            }
            let tag = known.lock().unwrap().clone().unwrap();
            let of_first = bytes[12] == 1 && bytes[16..20] == tag || !by_client && bytes[4..8] == tag;
            let aborts = by_client && bytes[12] == 6;
            if aborts {
                Vec::new()
            } else if of_first {
                deaf(by_client, bytes)
            } else {
                vec![(by_client, bytes)]
            }
        });
        let peer = filtered(&peer, at, "127.0.0.1", filter).await;
        let peer = Peer { local_port: Some(5000), ..peer };
        let old = bind();
        let connecting = old.connect(peer.clone(), any(), Config::default());
        assert!(timeout(Duration::from_millis(300), connecting).await.is_err(), "no answer");
        let client = bind();
        let connecting = client.connect(peer, any(), Config::default());
        let (connected, accepted) = tokio::join!(soon(connecting), server.accept(PORT));
        let (association, accepted) = (connected.unwrap(), accepted.unwrap());
        association.send_bytes(0, SECRET_TEXT).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
    });
}

const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;

/// Returns a filter that drops the first packet that begins with a chunk of this type. The client gets
/// `chunk` in its place, which anyone who sees the set-up can send.
fn instead_of(replaced: u8, chunk: &'static [u8]) -> Filter {
    let (mut header, mut once) = ([0; 8], true);
    Box::new(move |by_client, bytes| {
        if bytes[12] == 1 {
            // From the server to the client, with the tag of the INIT.
            header = [&bytes[2..4], &bytes[..2], &bytes[16..20]].concat().try_into().unwrap();
        }
        if bytes[12] == replaced && std::mem::take(&mut once) {
            return vec![(false, packet(&header, chunk))];
        }
        vec![(by_client, bytes)]
    })
}

/// After a stale cookie the set-up continues with other parameters, from which the keys are derived. If an
/// attacker has sent it, the server has an association already; it was never in use, so nothing is lost.
#[test]
fn a_stale_cookie_does_not_separate_the_keys_of_the_ends() {
    // ERROR, cause Stale Cookie
    const STALE: &[u8] = &[9, 0, 0, 12, 0, 3, 0, 8, 0, 0, 0, 1];
    for replaced in [COOKIE_ECHO, COOKIE_ACK] {
        run(async {
            let (server, peer) = server(any());
            let at = server.local_addresses()[0];
            let peer = filtered(&peer, at, "127.0.0.1", instead_of(replaced, STALE)).await;
            let (connected, accepted) = tokio::join!(connect_to(peer, any()), soon(server.accept(PORT)));
            let ((_client, association), accepted) = (connected.unwrap(), accepted.unwrap());
            association.send_bytes(0, SECRET_TEXT).await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, SECRET_TEXT);
            soon(association.shutdown()).await.unwrap();
            assert_eq!(soon(accepted.recv()).await.unwrap(), None);
            assert_eq!((accepted.restarts(), soon(accepted.flush()).await), (0, Ok(())));
        });
    }
}

/// An ABORT without a cause means that nobody listens only where it answers the INIT (RFC 9260 §8.4).
#[test]
fn an_abort_after_the_peer_has_answered_does_not_mean_that_nobody_listens() {
    const ABORT: &[u8] = &[6, 0, 0, 4];
    for replaced in [COOKIE_ECHO, COOKIE_ACK] {
        run(async {
            let (server, peer) = server(any());
            let at = server.local_addresses()[0];
            let peer = filtered(&peer, at, "127.0.0.1", instead_of(replaced, ABORT)).await;
            let error = connect_to(peer, any()).await.err().unwrap();
            assert!(matches!(error, ConnectError::Refused(Refusal::NoCause)), "{error:?}");
        });
    }
}

/// A flood from one address ends its own set-ups, not those of others.
#[test]
fn a_flood_of_set_ups_ends_those_of_its_source() {
    run(async {
        let (server, peer) = server_of(&four_places(), any());
        let at = server.local_addresses()[0];
        // Both are held up in the handshake.
        let slow = filtered(&peer, at, "127.0.0.2", without_answers()).await;
        let flood = filtered(&peer, at, "127.0.0.1", without_answers()).await;
        let victim = Endpoint::bind(&common::options_at(["127.0.0.2:0".parse().unwrap()])).unwrap();
        let mut waiting = std::pin::pin!(victim.connect(slow, any(), Config::default()));
        assert!(timeout(Duration::from_millis(200), waiting.as_mut()).await.is_err());
        let client = bind();
        let attempts: Vec<_> =
            (0..20).map(|_| client.connect(flood.clone(), any(), Config::default())).collect();
        let still = timeout(Duration::from_millis(500), waiting.as_mut()).await;
        assert!(still.is_err(), "{still:?}");
        drop(attempts);
    });
}

#[test]
fn set_ups_under_way_end_with_their_listener() {
    run(async {
        let (server, peer) = server(any());
        let at = server.local_addresses()[0];
        let peer = filtered(&peer, at, "127.0.0.1", without_answers()).await;
        let client = bind();
        let mut waiting = std::pin::pin!(client.connect(peer, any(), Config::default()));
        assert!(timeout(Duration::from_millis(300), waiting.as_mut()).await.is_err());
        server.stop_listening(PORT);
        server.listen(PORT, tls(&identity(), Pinned(Vec::new())), Config::default()).unwrap();
        let failed = soon(waiting).await.unwrap_err();
        let text = "nobody accepts associations any more";
        assert!(
            matches!(&failed, ConnectError::Refused(Refusal::Application { reason: why, .. }) if why == text),
            "{failed:?}"
        );
    });
}

/// An end that never protects packets is not accepted: its packets could not be opened.
#[test]
fn a_client_without_keys_for_sending_is_not_accepted() {
    run(async {
        let (server, peer) = server(any());
        let at = server.local_addresses()[0];
        // The server's last message does not arrive.
        let filter = Box::new(
            |by_client, bytes: Vec<u8>| {
                if bytes[12] == DTLS { Vec::new() } else { vec![(by_client, bytes)] }
            },
        );
        let peer = filtered(&peer, at, "127.0.0.1", filter).await;
        let (failed, accepted) =
            tokio::join!(connect_to(peer, hasty()), timeout(Duration::from_secs(3), server.accept(PORT)));
        assert_eq!(security_error(failed), Error::TimedOut);
        assert!(accepted.is_err(), "accepted");
    });
}

/// Anyone on the path can forge it: the set-up goes on, here without answers until its time is over.
#[test]
fn a_shutdown_in_clear_does_not_end_the_handshake() {
    run(async {
        let (server, peer) = server(any());
        let at = server.local_addresses()[0];
        let (mut tag, mut tsn) = (Vec::new(), Vec::new());
        let mut deaf = without_answers();
        let filter = Box::new(move |by_client: bool, bytes: Vec<u8>| {
            if bytes[12] == 1 {
                (tag, tsn) = (bytes[16..20].to_vec(), bytes[28..32].to_vec());
            }
            let (up, mut on) = (bytes[12] == 11, deaf(by_client, bytes.clone()));
            if up || bytes[12] == 3 && !by_client {
                let header: [u8; 8] = [&bytes[..4], &tag].concat().try_into().unwrap();
                on.push((false, packet(&header, &[&[7, 0, 0, 8][..], &tsn].concat())));
                on.push((false, packet(&header, &[14, 0, 0, 4])));
            }
            on
        });
        let peer = filtered(&peer, at, "127.0.0.1", filter).await;
        let failed = connect_to(peer, any()).await;
        assert_eq!(security_error(failed), Error::TimedOut);
    });
}
