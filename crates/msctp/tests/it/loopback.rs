//! Endpoints over the loopback interface: data both ways, waits that are cancelled, back-pressure, ends of
//! every kind.

use crate::common;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use common::soon;
use msctp::{
    Association, AssociationError, AssociationState, Config, ConnectError, Endpoint, Event, LossReason,
    OutMessage, PathState, Peer, Pmtu, Security, SendError, Span,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const PORT: u16 = 5001;

fn endpoint(address: &str) -> Endpoint {
    Endpoint::bind(&common::options_at([address.parse().unwrap()])).unwrap()
}

fn peer(server: &Endpoint) -> Peer {
    let locals = server.local_addresses();
    let addresses = locals.iter().map(SocketAddr::ip).collect();
    Peer { addresses, port: PORT, ..Peer::new(locals[0]) }
}

async fn pair(config: Config) -> (Endpoint, Endpoint, Association, Association) {
    let (server, client) = (endpoint("127.0.0.1:0"), endpoint("127.0.0.1:0"));
    server.listen(PORT, Security::insecure(), config.clone()).unwrap();
    let association = client.connect(peer(&server), Security::insecure(), config).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    (server, client, association, accepted)
}

/// Returns bytes that identify their position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[tokio::test]
async fn bytes_arrive_in_order_in_both_directions_over_both_families() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (server, client) = (endpoint(address), endpoint(address));
        server.listen(PORT, Security::insecure(), Config::default()).unwrap();
        let association =
            client.connect(peer(&server), Security::insecure(), Config::default()).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        let sent = pattern(3_000_000);
        let echo = tokio::spawn(async move {
            let stream = accepted.stream(2).unwrap();
            let (mut reader, mut writer) = tokio::io::split(stream);
            tokio::io::copy(&mut reader, &mut writer).await.unwrap();
        });
        let (mut reader, mut writer) = tokio::io::split(association.stream(2).unwrap());
        let mut got = vec![0; sent.len()];
        let (wrote, read) =
            soon(async { tokio::join!(writer.write_all(&sent), reader.read_exact(&mut got)) }).await;
        wrote.unwrap();
        read.unwrap();
        assert!(got == sent);
        association.shutdown().await.unwrap();
        echo.await.unwrap();
    }
}

#[tokio::test]
async fn a_sender_waits_for_room_and_a_receiver_that_does_not_read_stops_it() {
    let config = Config { send_buffer: 64 << 10, receive_buffer: 64 << 10, ..Config::default() };
    let (_server, _client, association, accepted) = pair(config).await;
    let mut sent = 0;
    let message = vec![7; 10_000];
    while timeout(Duration::from_millis(300), association.send_bytes(0, message.clone())).await.is_ok() {
        sent += 1;
        assert!(sent < 100, "nothing stops the sender");
    }
    // A cancelled send was not taken: exactly what was sent arrives.
    for _ in 0..sent {
        assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 10_000);
    }
    soon(association.flush()).await.unwrap();
    assert!(timeout(Duration::from_millis(300), accepted.recv()).await.is_err());
    assert_eq!(association.buffered(), 0);
}

#[tokio::test]
async fn messages_keep_their_metadata_and_waits_may_be_given_up() {
    let (_server, _client, association, accepted) = pair(Config::default()).await;
    for n in 0..20_u16 {
        let message = OutMessage {
            stream: n % 3,
            ppid: u32::from(n),
            unordered: n % 2 == 1,
            data: vec![n as u8; 100].into(),
            ..OutMessage::default()
        };
        association.send(message).await.unwrap();
    }
    let mut got = Vec::new();
    while got.len() < 20 {
        // Cancelled at once again and again: nothing is lost.
        if let Ok(message) = timeout(Duration::from_micros(50), accepted.recv()).await {
            got.push(message.unwrap().unwrap());
        }
    }
    got.sort_by_key(|message| message.ppid);
    for (n, message) in got.iter().enumerate() {
        assert_eq!((message.ppid, message.stream, message.unordered), (n as u32, n as u16 % 3, n % 2 == 1));
    }
    assert_eq!(association.streams().0, 10);
    let wrong = association.send_bytes(10, "no such stream").await;
    assert!(matches!(wrong, Err(SendError::InvalidStream { .. })), "{wrong:?}");
}

#[tokio::test]
async fn a_message_larger_than_the_receive_buffer_arrives_whole_or_in_parts_or_is_refused() {
    let config = Config { send_buffer: 64 << 20, receive_buffer: 256 << 10, ..Config::default() };
    let (_server, _client, association, accepted) = pair(config).await;
    let (large, limit) = (pattern(2 << 20), Association::MAX_MESSAGE);
    for message in [large.clone(), pattern(limit + 1), large.clone(), large.clone()] {
        association.send_bytes(1, message).await.unwrap();
    }
    // Cancelled again and again: nothing is lost.
    let whole = async {
        loop {
            if let Ok(message) = timeout(Duration::from_micros(50), accepted.recv()).await {
                break message.unwrap().unwrap();
            }
        }
    };
    let whole = soon(whole).await;
    assert!(whole.begin && whole.end && whole.data == large);
    assert_eq!(soon(accepted.recv()).await, Err(AssociationError::MessageTooLarge { stream: 1 }));
    assert!(
        soon(accepted.recv()).await.unwrap().unwrap().data == large,
        "the rest of the other is discarded"
    );
    let mut parts = Vec::new();
    while parts.last().is_none_or(|last: &msctp::Message| !last.end) {
        parts.push(soon(accepted.recv_part()).await.unwrap().unwrap());
    }
    assert!(parts.len() > 1 && parts.iter().skip(1).all(|part| !part.begin) && parts[0].begin);
    let parts: Vec<_> = parts.into_iter().map(|part| part.data).collect();
    assert!(parts.concat() == large);
}

/// Before, a receive buffer that held it let a larger message pass.
#[tokio::test]
async fn no_message_above_the_limit_is_received_whole() {
    let config = Config { send_buffer: 64 << 20, receive_buffer: 64 << 20, ..Config::default() };
    let (_server, _client, association, accepted) = pair(config).await;
    let limit = Association::MAX_MESSAGE;
    for len in [limit + 1, limit, limit + 1] {
        association.send_bytes(1, vec![7; len]).await.unwrap();
    }
    assert_eq!(soon(accepted.recv()).await, Err(AssociationError::MessageTooLarge { stream: 1 }));
    assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data.len(), limit);
    let mut len = 0;
    while len < limit + 1 {
        len += soon(accepted.recv_part()).await.unwrap().unwrap().data.len();
    }
}

/// An application that waits for the acknowledgement of each message does not wait for delayed SACKs.
#[tokio::test]
async fn a_flush_asks_for_its_acknowledgement() {
    let config = Config { sack_delay: Span::from_millis(500), ..Config::default() };
    let (_server, _client, association, _accepted) = pair(config).await;
    let flushes = async {
        for _ in 0..400 {
            association.send_bytes(0, "a message").await.unwrap();
            association.flush().await.unwrap();
        }
    };
    // Delayed, every one would take half a second: 200 s together.
    soon(flushes).await;
}

#[tokio::test]
async fn the_peers_shutdown_ends_reading_and_an_abort_is_an_error() {
    let (_server, client, association, accepted) = pair(Config::default()).await;
    association.send_bytes(0, "last words").await.unwrap();
    let ended = tokio::spawn(async move { association.shutdown().await });
    assert_eq!(&accepted.recv().await.unwrap().unwrap().data[..], b"last words");
    assert_eq!(accepted.recv().await, Ok(None));
    ended.await.unwrap().unwrap();
    assert_eq!(accepted.state(), AssociationState::Closed);
    assert!(matches!(accepted.send_bytes(0, "late").await, Err(SendError::Closed)));
    soon(client.idle()).await;

    let (_server, _client, association, accepted) = pair(Config::default()).await;
    association.abort("enough");
    let lost = accepted.recv().await.unwrap_err();
    assert_eq!(lost.to_string(), "the peer aborted the association (cause 12): enough");
    assert!(matches!(lost, AssociationError::Lost(LossReason::PeerAborted { .. })));
    assert_eq!(association.closed().await, Err(AssociationError::Lost(LossReason::Aborted)));
}

#[tokio::test]
async fn what_was_sent_is_delivered_although_the_sender_dropped_everything() {
    let (server, client, association, accepted) = pair(Config::default()).await;
    let sent = pattern(400_000);
    association.stream(0).unwrap().write_all(&sent).await.unwrap();
    drop((association, client));
    let mut got = Vec::new();
    accepted.stream(0).unwrap().read_to_end(&mut got).await.unwrap();
    assert!(got == sent);
    drop(accepted);
    soon(server.idle()).await;
}

#[tokio::test]
async fn the_task_ends_with_the_last_handle_and_no_association_outlives_its_runtime() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let (server, client, association, accepted) = pair(Config::default()).await;
    let shards = usize::from(common::options().shards);
    assert_eq!(metrics.num_alive_tasks(), before + 2 * shards);
    drop((server, client, association, accepted));
    soon(async {
        while metrics.num_alive_tasks() > before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_server, _client, association, _accepted) = runtime.spawn(pair(Config::default())).await.unwrap();
    runtime.shutdown_background();
    let ended = soon(association.recv()).await;
    assert_eq!(ended, Err(AssociationError::EndpointGone));
}

#[tokio::test]
async fn a_peer_that_is_not_there_or_does_not_listen_is_an_error() {
    let client = endpoint("127.0.0.1:0");
    // A socket that answers nothing.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let config = Config {
        rto_initial: Span::from_millis(20),
        rto_min: Span::from_millis(20),
        max_init_retransmits: 2,
        ..Config::default()
    };
    let peer_of = |address| Peer { port: PORT, ..Peer::new(address) };
    let error = client
        .connect(peer_of(silent.local_addr().unwrap()), Security::insecure(), config.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Timeout), "{error:?}");
    let deaf = endpoint("127.0.0.1:0");
    let error = client
        .connect(peer_of(deaf.local_addresses()[0]), Security::insecure(), config.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Refused(_)), "{error:?}");
    let error = client
        .connect(peer_of("[::1]:9".parse().unwrap()), Security::insecure(), config.clone())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "no local address reaches [::1]:9: bind one of its family, on loopback");
    let wrong = Config { pmtu: Pmtu::UpTo(100), ..config.clone() };
    let error = client
        .connect(peer_of(deaf.local_addresses()[0]), Security::insecure(), wrong)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("pmtu = 100: want"), "{error}");
    // Cancelled: the association is aborted, and the endpoint idle.
    let wait = client.connect(peer_of(silent.local_addr().unwrap()), Security::insecure(), Config::default());
    assert!(timeout(Duration::from_millis(50), wait).await.is_err());
    soon(client.idle()).await;
}

#[tokio::test]
async fn an_endpoint_with_two_addresses_has_a_path_to_each_and_moves_when_told() {
    let server = endpoint("127.0.0.1:0");
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let bind = ["127.0.0.2:0", "127.0.0.3:0"].map(|address| address.parse().unwrap());
    let client = Endpoint::bind(&common::options_at(bind)).unwrap();
    let ports: Vec<u16> = client.local_addresses().iter().map(SocketAddr::port).collect();
    assert_eq!(ports[0], ports[1], "RFC 6951 §5.1: one port");
    let association = client.connect(peer(&server), Security::insecure(), Config::default()).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    let active = |association: &Association| {
        association.paths().iter().filter(|path| path.state == PathState::Active).count()
    };
    soon(async {
        while active(&association) < 2 || active(&accepted) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let second: IpAddr = "127.0.0.3".parse().unwrap();
    let path = association.paths().into_iter().find(|path| path.at.local == second).unwrap().id;
    association.set_primary(path).unwrap();
    association.request_peer_primary(second).unwrap();
    soon(async {
        while accepted.paths().iter().find(|path| path.primary).unwrap().at.remote != second {
            let _ = accepted.event().await;
        }
    })
    .await;
    association.send_bytes(0, "by another way").await.unwrap();
    assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 14);
    association.remove_local_address("127.0.0.2".parse().unwrap()).unwrap();
    soon(async { while !matches!(association.event().await, Some(Event::PathRemoved { .. })) {} }).await;
    association.send_bytes(0, "still there").await.unwrap();
    assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 11);
}
