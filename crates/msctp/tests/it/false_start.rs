//! False Start: the end that connects may send before the listener has confirmed the keys.
#![cfg(feature = "tls")]

use crate::common;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{bind, options, run, tls};
use msctp::security::{AnyPeer, Code, Error, Fingerprint, Pinned, Rejection, Tls};
use msctp::{Config, ConnectError, Endpoint, Peer};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const PORT: u16 = 9;
/// The type of a DTLS chunk.
const DTLS: u8 = 0x41;

fn server(tls: &Tls) -> (Endpoint, Peer) {
    let server = Endpoint::bind(&options()).unwrap();
    server.listen(PORT, tls, Config::default()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

/// Starts a relay that drops the server's protected packets while `mute` is true. Returns the address for
/// clients.
async fn muting(peer: &Peer, server: SocketAddr, mute: Arc<Mutex<bool>>) -> Peer {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let udp_port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut client, mut buffer) = (None, vec![0; 65_536]);
        loop {
            let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
            let to = if from == server { client } else { Some(server) };
            if from != server {
                client = Some(from);
            } else if buffer[12] == DTLS && *mute.lock().unwrap() {
                continue;
            }
            socket.send_to(&buffer[..len], to.unwrap()).await.unwrap();
        }
    });
    Peer { udp_port, ..peer.clone() }
}

/// Data needs no packet that the server protects, including *Protection Established*.
#[test]
fn data_needs_no_protected_packet_of_the_listener() {
    run(async {
        for offered in [true, false] {
            let (server, peer) = server(&tls(AnyPeer));
            let mute = Arc::new(Mutex::new(true));
            let peer = muting(&peer, server.local_addresses()[0], mute.clone()).await;
            let client = bind();
            let tls = tls(AnyPeer).false_start(offered);
            let connecting = client.connect(peer, tls, Config::default()).false_start();
            let early = tokio::spawn(connecting);
            if offered {
                let association = early.await.unwrap().unwrap();
                assert!(association.peer_identity().is_some(), "the server is authenticated");
                association.send_bytes(0, "early").await.unwrap();
                let accepted = server.accept(PORT).await.unwrap();
                assert_eq!(accepted.recv().await.unwrap().unwrap().data, "early");
                *mute.lock().unwrap() = false;
                accepted.send_bytes(0, "answer").await.unwrap();
                assert_eq!(association.recv().await.unwrap().unwrap().data, "answer");
                association.shutdown().await.unwrap();
            } else {
                assert!(timeout(Duration::from_millis(300), server.accept(PORT)).await.is_err());
                assert!(!early.is_finished(), "the draft's order");
                *mute.lock().unwrap() = false;
                early.await.unwrap().unwrap();
                server.accept(PORT).await.unwrap();
            }
        }
    });
}

/// Without a request for False Start, the client gets the association when the listener has confirmed the
/// keys.
#[test]
fn connect_alone_waits_for_the_listener() {
    run(async {
        let (server, peer) = server(&tls(AnyPeer));
        let mute = Arc::new(Mutex::new(true));
        let peer = muting(&peer, server.local_addresses()[0], mute.clone()).await;
        let client = bind();
        let tls = tls(AnyPeer);
        let connecting =
            tokio::spawn(async move { (client.connect(peer, tls, Config::default()).await, client) });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!connecting.is_finished());
        *mute.lock().unwrap() = false;
        connecting.await.unwrap().0.unwrap();
    });
}

#[test]
fn a_refusal_ends_the_association_and_nothing_is_delivered() {
    run(async {
        let known = Fingerprint::of(&vec![1, 2, 3].into());
        let (server, peer) = server(&tls(Pinned(vec![known])));
        let client = bind();
        let early = client.connect(peer, tls(AnyPeer), Config::default()).false_start().await;
        // The refusal may come first.
        if let Ok(association) = early {
            let _ = association.send_bytes(0, "early").await;
            let error = association.recv().await.unwrap_err();
            assert!(error.to_string().contains("your key is not accepted here"), "{error}");
        }
        let rejected = server.rejected(PORT).await.unwrap();
        assert!(matches!(rejected.error, Rejection::Security(Error::Refused(_))), "{rejected:?}");
        assert!(timeout(Duration::from_millis(300), server.accept(PORT)).await.is_err());
    });
}

/// A one-time code authenticates the server with its last message only.
#[test]
fn a_code_is_proved_before_data_leaves() {
    run(async {
        let code = |text: &str| Code::new(text).unwrap();
        let (server, peer) = server(&tls(AnyPeer).code(code("7-lamp-cedar")));
        let client = bind();
        let wrong = tls(AnyPeer).code(code("8-lamp-cedar"));
        let failed = client.connect(peer.clone(), wrong, Config::default()).false_start().await;
        assert!(matches!(failed, Err(ConnectError::Refused(_))), "{failed:?}");
        server.rejected(PORT).await.unwrap();
    });
}

/// Many set-ups run at once, each with another order of packets.
#[test]
fn early_data_arrives_on_every_association() {
    run(async {
        let (server, peer) = server(&tls(AnyPeer));
        let (client, own) = (bind(), tls(AnyPeer));
        let mut associations = Vec::new();
        for i in 0..20u8 {
            let association =
                client.connect(peer.clone(), &own, Config::default()).false_start().await.unwrap();
            association.send_bytes(0, vec![i; 3000]).await.unwrap();
            associations.push(association);
        }
        let mut first: Vec<u8> = Vec::new();
        for _ in 0..20 {
            let accepted = server.accept(PORT).await.unwrap();
            let data = accepted.recv().await.unwrap().unwrap().data;
            assert_eq!(data.len(), 3000);
            first.push(data[0]);
            accepted.shutdown().await.unwrap();
        }
        first.sort_unstable();
        assert_eq!(first, (0..20).collect::<Vec<u8>>());
    });
}
