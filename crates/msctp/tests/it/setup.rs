//! Associations before the application has them: looking at one that came, refusing it, cancelling a set-up.

use crate::common;

use std::net::SocketAddr;

use common::{bind, run, server, soon};
use msctp::{AbortReason, AssociationError, Config, ConnectError, LossReason, Peer, Security};
use tokio::net::UdpSocket;

const PORT: u16 = 9;

#[test]
fn an_incoming_association_is_looked_at_and_accepted() {
    run(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let mut config = Config { outbound_streams: 3, ..Config::default() };
        config.streams.partial_reliability = false;
        let peer = Peer { local_port: Some(50_001), ..peer };
        let (incoming, association) =
            tokio::join!(server.incoming(PORT), client.connect(peer, Security::insecure(), config));
        let (incoming, association) = (incoming.unwrap(), association.unwrap());
        assert_eq!(incoming.remote_addresses(), client.local_addresses());
        assert_eq!(incoming.local_addresses(), server.local_addresses());
        assert_eq!(incoming.remote_port(), 50_001);
        let agreed = incoming.agreed().unwrap();
        assert_eq!((agreed.outbound_streams, agreed.inbound_streams), (10, 3));
        assert!(agreed.reconfiguration && agreed.authentication && !agreed.partial_reliability);
        let accepted = incoming.accept();
        assert_eq!((accepted.local_port(), accepted.remote_port()), (PORT, 50_001));
        assert_eq!((association.local_port(), association.remote_port()), (50_001, PORT));
        assert_eq!(association.agreed().unwrap().outbound_streams, 3);
        association.send_bytes(0, "hello").await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, "hello");
        association.shutdown().await.unwrap();
        assert_eq!(association.local_port(), 50_001, "known after the end, to connect again");
    });
}

#[test]
fn a_refused_or_dropped_incoming_association_ends_with_the_reason() {
    run(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let only_one = "no more than one for each client";
        let coded = AbortReason { code: Some(7), reason: only_one.into() };
        for reason in [only_one.into(), AbortReason::default(), coded, u32::MAX.into()] {
            let (incoming, association) = tokio::join!(
                server.incoming(PORT),
                client.connect(peer.clone(), Security::insecure(), Config::default())
            );
            match reason == AbortReason::default() {
                true => drop(incoming),
                false => incoming.unwrap().refuse(reason.clone()),
            }
            let lost = association.unwrap().closed().await.unwrap_err();
            let AbortReason { code, reason } = reason;
            let want = LossReason::PeerAborted { cause: Some(12), code, reason };
            assert_eq!(lost, AssociationError::Lost(want));
        }
        soon(server.idle()).await;
    });
}

#[test]
fn a_set_up_shows_its_addresses_and_fails_when_it_is_awaited() {
    run(async {
        let (_server, peer) = server(PORT);
        let client = bind();
        let connecting = client.connect(
            Peer { local_port: Some(50_002), ..peer.clone() },
            Security::insecure(),
            Config::default(),
        );
        assert_eq!(connecting.local_addresses(), client.local_addresses());
        assert_eq!(connecting.remote_addresses(), [SocketAddr::new(peer.addresses[0], peer.udp_port)]);
        assert_eq!(connecting.local_port(), Some(50_002));
        connecting.await.unwrap();
        let wrong = client.connect(Peer { udp_port: 0, ..peer }, Security::insecure(), Config::default());
        assert_eq!((wrong.local_port(), wrong.remote_addresses()), (None, vec![]));
        assert!(matches!(wrong.await, Err(ConnectError::NoUdpPort)));
    });
}

/// Forwards packets between `client` and `server`, except the server's second one, the COOKIE ACK.
async fn without_cookie_ack(relay: UdpSocket, server: SocketAddr) {
    let (mut client, mut from_server, mut buffer) = (None, 0, vec![0; 2048]);
    loop {
        let (len, from) = relay.recv_from(&mut buffer).await.unwrap();
        let to = if from == server {
            from_server += 1;
            client.filter(|_| from_server != 2)
        } else {
            client = Some(from);
            Some(server)
        };
        if let Some(to) = to {
            relay.send_to(&buffer[..len], to).await.unwrap();
        }
    }
}

#[test]
fn a_dropped_set_up_is_cancelled_with_an_abort() {
    run(async {
        let (server, peer) = server(PORT);
        let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let peer = Peer { udp_port: relay.local_addr().unwrap().port(), ..peer };
        tokio::spawn(without_cookie_ack(relay, server.local_addresses()[0]));
        let client = bind();
        let mut connecting = client.connect(peer, Security::insecure(), Config::default());
        let accepted = tokio::select! {
            _ = &mut connecting => panic!("the COOKIE ACK was lost"),
            accepted = server.accept(PORT) => accepted.unwrap(),
        };
        drop(connecting);
        let lost = soon(accepted.closed()).await.unwrap_err();
        assert!(matches!(lost, AssociationError::Lost(LossReason::PeerAborted { .. })), "{lost:?}");
    });
}

/// Before, it was an error, and the message was lost.
#[test]
fn a_set_up_that_is_awaited_after_the_peers_shutdown_has_its_messages() {
    run(async {
        let ((server, peer), client) = (server(PORT), bind());
        let connecting = client.connect(peer, Security::insecure(), Config::default());
        let accepted = soon(server.accept(PORT)).await.unwrap();
        accepted.send_bytes(0, "a banner").await.unwrap();
        soon(accepted.shutdown()).await.unwrap();
        let association = soon(connecting).await.unwrap();
        assert_eq!(soon(association.recv()).await.unwrap().unwrap().data, "a banner");
        assert_eq!(soon(association.recv()).await, Ok(None));
    });
}
