//! Silent peers and peers that are not there: who waits finds out in seconds.

use crate::common;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{bind, options, run, server, soon};
use msctp::{
    AssociationError, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Peer, Security, Span,
};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const PORT: u16 = 9;

/// Forwards UDP between a client and the last of `servers` until it is dropped.
async fn relay(servers: Arc<Mutex<Vec<SocketAddr>>>) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut buffer, mut client) = (vec![0; 65_536], None);
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let servers = servers.lock().unwrap().clone();
            let to = match servers.iter().position(|server| *server == from) {
                None => {
                    client = Some(from);
                    servers.last().copied()
                }
                // A killed server sends nothing.
                Some(index) => client.filter(|_| index + 1 == servers.len()),
            };
            if let Some(to) = to {
                let _ = socket.send_to(&buffer[..len], to).await;
            }
        }
    });
    (at, task)
}

#[test]
fn a_reader_whose_peer_falls_silent_gets_a_typed_error() {
    run(async {
        let limit = Duration::from_secs(3);
        let server = Endpoint::bind(&EndpointOptions { idle_timeout: Some(limit), ..options() }).unwrap();
        server.listen(PORT, Security::insecure(), Config::default()).unwrap();
        let (at, relay) = relay(Arc::new(Mutex::new(vec![server.local_addresses()[0]]))).await;
        let client = bind();
        let _association = client
            .connect(Peer { port: PORT, ..Peer::new(at) }, Security::insecure(), Config::default())
            .await
            .unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        // Idle for longer than the timeout, and alive.
        assert!(timeout(limit * 2, accepted.recv()).await.is_err());
        relay.abort();
        let error = soon(accepted.recv()).await.unwrap_err();
        let after = Span::from_secs(3);
        assert_eq!(error, AssociationError::Lost(LossReason::IdleTimeout { after }));
        assert_eq!(error.to_string(), "nothing was received from the peer for 3s (idle timeout)");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::TimedOut);
    });
}

/// A server is killed and restarted. It has no keys, and the client
/// has an idle timeout, whose error would be another one.
#[test]
fn the_restart_of_an_encrypted_server_is_detected_in_seconds() {
    run(async {
        let keys = || Security::pre_shared(&[7; 32]).unwrap();
        let [killed, restarted] = [0, 1].map(|_| {
            let server = bind();
            server.listen(PORT, keys(), Config::mobile()).unwrap();
            server
        });
        let servers = Arc::new(Mutex::new(vec![killed.local_addresses()[0]]));
        let (at, _relay) = relay(servers.clone()).await;
        let client = bind();
        let peer = Peer { port: PORT, ..Peer::new(at) };
        let association = client.connect(peer.clone(), keys(), Config::mobile()).await.unwrap();
        killed.accept(PORT).await.unwrap();
        servers.lock().unwrap().push(restarted.local_addresses()[0]);
        association.send_bytes(0, "is anybody there?").await.unwrap();
        let error = soon(association.recv()).await.unwrap_err();
        assert_eq!(error, AssociationError::Lost(LossReason::PeerLostKeys));
        let text = "the peer no longer has the association: it restarted, or its idle timeout passed";
        assert_eq!(error.to_string(), text);
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::ConnectionReset);
        let again = client.connect(peer, keys(), Config::mobile()).await.unwrap();
        again.send_bytes(0, "hello again").await.unwrap();
        assert!(restarted.accept(PORT).await.unwrap().recv().await.unwrap().is_some());
    });
}

#[test]
fn the_default_idle_timeout_is_60_s_and_a_short_one_is_refused() {
    run(async {
        assert_eq!(options().idle_timeout, Some(Duration::from_secs(60)));
        let short = EndpointOptions { idle_timeout: Some(Duration::from_millis(1)), ..options() };
        let error = Endpoint::bind(&short).unwrap_err();
        assert_eq!(error.to_string(), "idle_timeout = 1ms: want at least 100ms, or none");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn connecting_to_a_udp_port_where_nobody_listens_fails_in_seconds() {
    run(async {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let client = Endpoint::bind(&common::options_at([local.parse().unwrap()])).unwrap();
            // Bound and closed: nobody is there.
            let nobody = std::net::UdpSocket::bind(local).unwrap().local_addr().unwrap();
            // Without the ICMP message it would take four minutes.
            let error =
                soon(client.connect(nobody, Security::insecure(), Config::default())).await.unwrap_err();
            assert!(matches!(error, ConnectError::PortUnreachable(at) if at == nobody), "{error:?}");
            let text = format!("nobody listens at {nobody}: the host answered with ICMP port unreachable");
            assert_eq!(error.to_string(), text);
        }
    });
}

#[test]
fn the_errors_of_one_peer_do_not_disturb_the_packets_to_another() {
    run(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config =
            Config { rto_initial: Span::from_millis(5), rto_min: Span::from_millis(5), ..Config::default() };
        for _ in 0..20 {
            let error = client.connect(nobody, Security::insecure(), config.clone()).await.unwrap_err();
            assert!(matches!(error, ConnectError::PortUnreachable(_)), "{error:?}");
            association.send_bytes(0, "still there").await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 11);
        }
        assert_eq!(client.send_errors(), 0);
        let retransmitted = association.stats().unwrap().data_chunks_retransmitted;
        assert_eq!(retransmitted, 0, "no packet was lost to another's error");
    });
}
