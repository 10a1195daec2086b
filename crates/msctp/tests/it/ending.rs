//! The end of an endpoint: what each way of ending it delivers, and what the peers find out.

use crate::common;

use std::time::Duration;

use common::{bind, fill, options, run, server, soon};
use msctp::{
    Association, AssociationError, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Peer,
    Security, StreamError,
};

const PORT: u16 = 9;
const SENT: usize = 3_000_000;

/// Runs a separate program that connects and does `then`. Its runtime ends with it.
#[allow(clippy::disallowed_methods, reason = "a program of its own is a thread with its own runtime")]
fn program<F: Future<Output = ()>>(
    peer: Peer,
    then: impl FnOnce(Endpoint, Association) -> F + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        run(async move {
            let endpoint = bind();
            let association = endpoint.connect(peer, Security::insecure(), Config::default()).await.unwrap();
            then(endpoint, association).await;
        });
    })
}

/// Returns the bytes received until the end, and the end.
async fn read(association: &Association) -> (usize, Result<(), AssociationError>) {
    let mut bytes = 0;
    loop {
        match association.recv().await {
            Ok(Some(message)) => bytes += message.data.len(),
            Ok(None) => return (bytes, Ok(())),
            Err(error) => return (bytes, Err(error)),
        }
    }
}

#[test]
fn close_delivers_everything_before_the_runtime_ends() {
    run(async {
        let (server, peer) = server(PORT);
        let sender = program(peer, |endpoint, association| async move {
            for _ in 0..SENT / 10_000 {
                association.send_bytes(0, vec![7; 10_000]).await.unwrap();
            }
            drop(association);
            assert_eq!(endpoint.close().await, Ok(()));
        });
        let accepted = server.accept(PORT).await.unwrap();
        assert_eq!(read(&accepted).await, (SENT, Ok(())));
        sender.join().unwrap();
    });
}

#[test]
fn a_runtime_that_ends_with_unsent_data_tells_the_peer() {
    run(async {
        let (server, peer) = server(PORT);
        let sender = program(peer, |_endpoint, association| async move { fill(&association).await });
        let accepted = server.accept(PORT).await.unwrap();
        tokio::task::spawn_blocking(|| sender.join().unwrap()).await.unwrap();
        // The idle timeout would be another reason.
        let (_, end) = soon(read(&accepted)).await;
        let Err(AssociationError::Lost(LossReason::PeerAborted { reason, .. })) = end else {
            panic!("{end:?}")
        };
        assert_eq!(&reason[..], b"the program ended without a shutdown");
    });
}

#[test]
fn close_says_that_the_end_of_the_runtime_cut_associations_off() {
    run(async {
        let (server, peer) = server(PORT);
        let (send, kept) = std::sync::mpsc::channel();
        let sender = program(peer, |endpoint, association| async move {
            fill(&association).await;
            send.send((endpoint, association)).unwrap();
        });
        let _accepted = server.accept(PORT).await.unwrap();
        tokio::task::spawn_blocking(|| sender.join().unwrap()).await.unwrap();
        let (endpoint, association) = kept.recv().unwrap();
        for _ in 0..2 {
            assert_eq!(soon(endpoint.close()).await.map_err(|error| error.cut_off), Err(1));
        }
        assert_eq!(
            association.open_stream().await.unwrap_err(),
            StreamError::Association(AssociationError::EndpointGone)
        );
    });
}

#[test]
fn an_association_that_was_shut_down_has_no_streams() {
    run(async {
        let (server, peer) = server(PORT);
        let association = bind().connect(peer, Security::insecure(), Config::default()).await.unwrap();
        let _accepted = server.accept(PORT).await.unwrap();
        soon(association.shutdown()).await.unwrap();
        assert_eq!(association.open_stream().await.unwrap_err(), StreamError::ShutDown);
        assert_eq!(association.stream(2).unwrap_err(), StreamError::ShutDown);
    });
}

#[test]
fn abort_reaches_every_peer_and_ends_the_endpoint() {
    run(async {
        let (server, peer) = server(PORT);
        let clients: Vec<Endpoint> = (0..3).map(|_| bind()).collect();
        let mut here = Vec::new();
        for client in &clients {
            here.push(client.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap());
        }
        let accepted = server.accept(PORT).await.unwrap();
        soon(server.abort("interrupted")).await;
        for association in &here {
            let end = soon(association.recv()).await;
            let Err(AssociationError::Lost(LossReason::PeerAborted { reason, .. })) = end else {
                panic!("{end:?}")
            };
            assert_eq!(&reason[..], b"interrupted");
        }
        assert_eq!(accepted.recv().await, Err(AssociationError::Lost(LossReason::Aborted)));
        assert!(server.accept(PORT).await.is_none());
        let refused = server.connect(peer, Security::insecure(), Config::default()).await;
        assert!(matches!(refused, Err(ConnectError::EndpointClosed)));
        assert!(
            server
                .listen(PORT + 1, Security::insecure(), Config::default())
                .unwrap_err()
                .to_string()
                .contains("closed")
        );
    });
}

#[test]
fn close_gives_up_after_the_linger_time_and_tells_the_peer() {
    run(async {
        let (server, peer) = server(PORT);
        let client =
            Endpoint::bind(&EndpointOptions { linger: Duration::from_millis(300), ..options() }).unwrap();
        let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        // More than the buffers of a peer that does not read hold.
        fill(&association).await;
        assert_eq!(soon(client.close()).await.unwrap_err().cut_off, 1);
        let (_, end) = soon(read(&accepted)).await;
        assert!(matches!(end, Err(AssociationError::Lost(LossReason::PeerAborted { .. }))), "{end:?}");
    });
}

#[test]
fn idle_does_not_wait_for_handles_to_what_is_over() {
    run(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        association.shutdown().await.unwrap();
        soon(async { tokio::join!(client.idle(), server.idle()) }).await;
        assert_eq!(accepted.recv().await, Ok(None), "the handles still work");
    });
}

#[test]
fn the_port_is_free_when_close_returns() {
    run(async {
        let (server, peer) = server(PORT);
        let first = bind();
        let at = first.local_addresses();
        first.close().await.unwrap();
        let mut held = Vec::new();
        for round in 0..100 {
            let again = Endpoint::bind(&common::options_at(at.clone()));
            let again = again.unwrap_or_else(|error| panic!("round {round}: {error}"));
            let association =
                again.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap();
            let accepted = server.accept(PORT).await.unwrap();
            association.send_bytes(0, "hello").await.unwrap();
            if round % 2 == 0 {
                again.close().await.unwrap();
                assert_eq!(accepted.recv().await.unwrap().unwrap().data, "hello");
            } else {
                again.abort("enough").await;
            }
            // Handles may outlive it.
            assert!(again.local_addresses().is_empty(), "no socket is left");
            held.push((again, association));
        }
    });
}
