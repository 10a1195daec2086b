//! What a program can say to the crate and see of it: typed causes, names of types, counters, streams to open
//! and accept.

use crate::common;

use std::time::Duration;

use common::{bind, options, run, server};
use msctp::{
    AbortReason, Association, AssociationError, CallError, Config, ConnectError, Endpoint, EndpointOptions,
    Event, LossReason, OutMessage, Peer, Refusal, Security, SendError, SendFailure, StreamError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const PORT: u16 = 9;

async fn pair() -> (Endpoint, Endpoint, Association, Association) {
    let (server, peer) = server(PORT);
    let client = bind();
    let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    (server, client, association, accepted)
}

#[test]
fn a_full_backlog_is_named_by_the_refusal() {
    run(async {
        let server = Endpoint::bind(&EndpointOptions { backlog: 2, ..options() }).unwrap();
        server.listen(PORT, Security::insecure(), Config::default()).unwrap();
        let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
        let client = bind();
        let mut waiting = Vec::new();
        for _ in 0..2 {
            waiting
                .push(client.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap());
        }
        let third = client.connect(peer.clone(), Security::insecure(), Config::default()).await;
        // The COOKIE ACK may come before the ABORT.
        let text = match third {
            Err(error) => error.to_string(),
            Ok(association) => association.recv().await.unwrap_err().to_string(),
        };
        assert!(
            text.contains("the listener's backlog is full: 2 associations wait to be accepted"),
            "{text}"
        );
        #[cfg(feature = "tls")]
        {
            let rejected = server.rejected(PORT).await.unwrap();
            assert_eq!((rejected.error, rejected.count), (msctp::security::Rejection::BacklogFull, 1));
        }
        let _accepted = server.accept(PORT).await.unwrap();
        waiting.push(client.connect(peer, Security::insecure(), Config::default()).await.unwrap());
        let none = Endpoint::bind(&EndpointOptions { backlog: 0, ..options() }).unwrap_err();
        assert_eq!(none.to_string(), "backlog = 0: want at least 1 association");
    });
}

#[cfg(feature = "tls")]
#[test]
fn a_rate_of_no_handshakes_is_refused() {
    run(async {
        let none =
            Endpoint::bind(&EndpointOptions { max_handshakes_per_second: 0, ..options() }).unwrap_err();
        assert_eq!(none.to_string(), "max_handshakes_per_second = 0: want at least 1 handshake");
    });
}

#[test]
fn causes_of_a_failed_connect_can_be_matched() {
    run(async {
        let (server, client) = (bind(), bind());
        let at = server.local_addresses()[0];
        let error = client.connect(at, Security::insecure(), Config::default()).await.unwrap_err();
        assert!(matches!(error, ConnectError::Refused(Refusal::NoListener)), "{error:?}");
        assert_eq!(error.to_string(), "the peer refused the association: nobody listens at that SCTP port");
        let port_0 = Peer { udp_port: 0, ..Peer::new(at) };
        let error = client.connect(port_0, Security::insecure(), Config::default()).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoUdpPort), "{error:?}");
        let other = client
            .connect(Peer::new("[::1]:9".parse().unwrap()), Security::insecure(), Config::default())
            .await
            .unwrap_err();
        assert_eq!(
            other.to_string(),
            "no local address reaches [::1]:9: bind one of its family, on loopback"
        );
    });
}

#[test]
fn addresses_that_cannot_be_connected_to_are_named() {
    run(async {
        let client = bind();
        let error = async |peer: Peer| {
            let connecting = client.connect(peer, Security::insecure(), Config::default());
            common::soon(connecting).await.unwrap_err().to_string()
        };
        let to = |at: &str| Peer::new(at.parse().unwrap());
        for (at, want) in [
            ("224.0.0.1:9", "224.0.0.1 cannot be the address of a peer: want a unicast address"),
            ("255.255.255.255:9", "255.255.255.255 cannot be the address of a peer: want a unicast address"),
            ("0.0.0.0:9", "0.0.0.0 cannot be the address of a peer: want a unicast address"),
            ("[ff02::1]:9", "ff02::1 cannot be the address of a peer: want a unicast address"),
            (
                "[::ffff:127.0.0.1]:9",
                "::ffff:127.0.0.1 cannot be the address of a peer: want 127.0.0.1, without the prefix of IPv6",
            ),
            (
                "198.51.100.1:9",
                "no local address reaches 198.51.100.1:9: bind one of its family, on a network",
            ),
        ] {
            assert_eq!(error(to(at)).await, want);
        }
        let from = |from: &[&str]| Some(from.iter().map(|ip| ip.parse().unwrap()).collect());
        assert_eq!(
            error(Peer { from: from(&["192.0.2.9", "192.0.2.8"]), ..to("127.0.0.1:9") }).await,
            "no socket at 192.0.2.9 (Peer::from): name addresses of Endpoint::local_addresses, or bind the endpoint \
             to it"
        );
        assert_eq!(
            error(Peer { from: from(&[]), ..to("127.0.0.1:9") }).await,
            "peer.from = []: want at least one address, or None"
        );
    });
}

#[test]
fn a_code_of_an_abort_is_read_as_a_number_and_named_in_the_text() {
    run(async {
        let code_of = |error: &AssociationError| match error {
            AssociationError::Lost(LossReason::PeerAborted { code, .. }) => *code,
            _ => panic!("{error:?}"),
        };
        for (reason, code, text) in [
            (AbortReason::from(7), Some(7), "the peer aborted the association (code 7)"),
            (AbortReason::from("enough"), None, "the peer aborted the association (cause 12): enough"),
            (
                AbortReason { code: Some(0), reason: "enough".into() },
                Some(0),
                "the peer aborted the association (code 0): enough",
            ),
        ] {
            // Of one association, and of an endpoint's all.
            let (_server, _client, association, accepted) = pair().await;
            association.abort(reason.clone());
            let error = common::soon(accepted.recv()).await.unwrap_err();
            assert_eq!((code_of(&error), error.to_string()), (code, text.to_owned()));
            let (server, _client, association, _accepted) = pair().await;
            common::soon(server.abort(reason)).await;
            assert_eq!(code_of(&common::soon(association.closed()).await.unwrap_err()), code);
        }
        let refusal =
            |code, reason: &str| Refusal::Application { code, reason: reason.to_owned() }.to_string();
        assert_eq!(refusal(Some(7), "full"), "full (code 7)");
        assert_eq!(refusal(Some(7), ""), "its application gives the code 7");
        assert_eq!(refusal(None, ""), "its application gives no reason");
    });
}

/// Returns the messages of an error and its sources.
fn chain(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect()
}

#[test]
fn a_chain_of_errors_says_each_thing_once() {
    run(async {
        let (_server, _client, association, _accepted) = pair().await;
        let taken = Endpoint::bind(&options()).unwrap();
        let errors: Vec<Box<dyn std::error::Error>> = vec![
            Box::new(Endpoint::bind(&common::options_at([taken.local_addresses()[0]])).unwrap_err()),
            Box::new(Endpoint::bind(&common::options_at(["192.0.2.77:0".parse().unwrap()])).unwrap_err()),
            Box::new(Endpoint::bind(&EndpointOptions { backlog: 0, ..options() }).unwrap_err()),
            Box::new(association.set_scheduler("fifo").unwrap_err()),
            Box::new(association.set_primary(msctp::PathId::new(9)).unwrap_err()),
            Box::new(association.send_bytes(99, "no such stream").await.unwrap_err()),
            Box::new(association.stream(99).unwrap_err()),
        ];
        for error in errors {
            assert_eq!(chain(&*error), [error.to_string()], "{error:?}");
        }
    });
}

#[test]
fn errors_of_the_core_can_be_named_and_matched() {
    run(async {
        let (_server, _client, association, _accepted) = pair().await;
        let big = association.send_bytes(0, vec![0; 100 << 20]).await;
        assert!(matches!(big, Err(SendError::TooLarge { .. })), "{big:?}");
        let elsewhere = association.add_local_address([192, 0, 2, 9].into());
        assert_eq!(elsewhere, Err(CallError::NoSocket([192, 0, 2, 9].into())));
        // All that public errors, events and options are made of.
        use msctp::{
            Abandoned, AddressError, AuthEvent, AuthPolicy, CallRefusal, Direction, HmacAlgorithm, KeyError,
            PartialAbort, RetransmissionPath, StreamRequest, handover::LinkQuality,
        };
        type _All = (
            (Abandoned, AddressError, AuthEvent, AuthPolicy, CallRefusal, Direction),
            (HmacAlgorithm, KeyError, PartialAbort, RetransmissionPath, StreamRequest),
            LinkQuality,
        );
    });
}

#[test]
fn try_send_does_not_wait() {
    run(async {
        let (_server, _client, association, accepted) = pair().await;
        let message = OutMessage { data: vec![7; 50_000].into(), ..OutMessage::default() };
        let mut sent = 0;
        let full = loop {
            match association.try_send(&message) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, SendError::BufferFull { .. }), "{full:?}");
        for _ in 0..sent {
            accepted.recv().await.unwrap().unwrap();
        }
    });
}

#[test]
fn streams_are_opened_and_accepted_from_both_ends() {
    run(async {
        let (_server, _client, association, accepted) = pair().await;
        let (mut one, mut two) =
            (association.try_open_stream().unwrap(), association.open_stream().await.unwrap());
        let mut theirs = accepted.open_stream().await.unwrap();
        assert_eq!((one.number(), two.number(), theirs.number()), (0, 2, 1));
        two.write_all(b"two").await.unwrap();
        one.write_all(b"one").await.unwrap();
        theirs.write_all(b"theirs").await.unwrap();
        for (number, text) in [(2, "two"), (0, "one")] {
            let mut stream = accepted.accept_stream().await.unwrap().unwrap();
            assert_eq!(stream.number(), number);
            let mut got = vec![0; text.len()];
            stream.read_exact(&mut got).await.unwrap();
            assert_eq!(got, text.as_bytes());
            // A reader that is there takes the rest.
            if number == 2 {
                two.write_all(b"more").await.unwrap();
                stream.read_exact(&mut [0; 4]).await.unwrap();
            }
        }
        let stream = association.accept_stream().await.unwrap().unwrap();
        assert_eq!(stream.number(), 1);
        assert!(timeout(Duration::from_millis(50), association.accept_stream()).await.is_err(), "no other");
        association.shutdown().await.unwrap();
        assert!(accepted.accept_stream().await.unwrap().is_none());
    });
}

#[test]
fn a_stream_that_is_not_there_or_taken_is_an_error_when_it_is_taken() {
    run(async {
        let (_server, _client, association, _accepted) = pair().await;
        let error = association.stream(99).unwrap_err();
        assert_eq!(error, StreamError::Unknown { stream: 99, outbound: 10, inbound: 10 });
        let held = association.stream(3).unwrap();
        assert_eq!(association.stream(3).unwrap_err(), StreamError::Taken(3));
        drop(held);
        let all: Vec<_> = std::iter::from_fn(|| association.try_open_stream().ok()).collect();
        assert_eq!(all.iter().map(msctp::Stream::number).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
        assert_eq!(association.try_open_stream().unwrap_err(), StreamError::NoneFree(10));
        let waits = timeout(Duration::from_millis(20), association.open_stream()).await;
        assert!(waits.is_err());
        // Nothing was sent on them: each is free at once.
        drop(all);
        assert_eq!(common::soon(association.open_stream()).await.unwrap().number(), 0);
    });
}

#[test]
fn an_unread_stream_stops_the_others_at_the_bound_that_the_docs_give() {
    run(async {
        let (_server, _client, association, accepted) = pair().await;
        let mut unread = association.stream(1).unwrap();
        let _reader = accepted.stream(1).unwrap();
        let mut written = 0;
        let config = Config::default();
        loop {
            match timeout(Duration::from_millis(300), unread.write_all(&[7; 10_000])).await {
                Ok(result) => result.unwrap(),
                Err(_) if written < config.receive_buffer as usize => continue,
                Err(_) => break,
            }
            written += 10_000;
            // Somebody reads the other streams.
            assert!(timeout(Duration::ZERO, accepted.recv()).await.is_err());
        }
        let held = (256 << 10) + config.receive_buffer as usize + config.send_buffer as usize;
        // What is under way beyond the window: one message at each of the three places.
        assert!(written <= held + 3 * (64 << 10), "{written} of {held}");
    });
}

#[test]
fn counters_of_a_path_and_their_last_values_after_the_end() {
    run(async {
        let (_server, _client, association, accepted) = pair().await;
        for _ in 0..20 {
            association.send_bytes(0, vec![7; 10_000]).await.unwrap();
            accepted.recv().await.unwrap().unwrap();
        }
        association.shutdown().await.unwrap();
        let (path, stats) = (association.paths()[0], association.stats().unwrap());
        assert_eq!(path.packets_sent, stats.packets_sent);
        assert!(path.bytes_sent > 200_000 && path.bytes_sent < 250_000, "{path:?}");
        assert!(path.packets_received > 0 && path.bytes_received > 0);
        assert_eq!((path.chunks_lost, path.chunks_retransmitted), (0, 0));
        assert!(stats.bytes_acked >= 200_000);
        let server = accepted.remote_addresses();
        assert_eq!(association.remote_addresses(), [_server.local_addresses()[0]]);
        assert_eq!(server, [_client.local_addresses()[0]]);
        assert!(format!("{association:?}").contains("remote_addresses"));
    });
}

#[test]
fn events_show_the_length_of_a_message_and_keep_a_bounded_number_of_bytes() {
    run(async {
        let (_server, _client, association, accepted) = pair().await;
        common::fill(&association).await;
        drop(accepted);
        association.abort("enough");
        association.closed().await.unwrap_err();
        let (mut bytes, mut shown) = (0, 0);
        while let Some(event) = association.event().await {
            shown += format!("{event:?}").len();
            if let Event::SendFailed(SendFailure { message, .. }) = event {
                bytes += message.data.len();
            }
        }
        assert!(shown < 100_000, "{shown} characters");
        assert!(bytes <= 1 << 20, "{bytes} bytes");
    });
}

#[test]
fn an_endpoint_lists_the_associations_in_use_and_their_history() {
    run(async {
        let (server, peer) = server(9);
        let client = bind();
        let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
        assert!(server.associations().is_empty(), "it was not accepted");
        let accepted = server.accept(9).await.unwrap();
        assert_eq!(server.associations(), std::slice::from_ref(&accepted));
        assert_eq!(client.associations(), std::slice::from_ref(&association));
        assert_ne!(association, accepted);
        let history = association.history();
        assert!(history.up_at.is_some_and(|up| up <= client.now()), "{history:?}");
        assert_eq!((history.move_count, history.moves.len()), (0, 0));
        association.shutdown().await.unwrap();
        assert!(client.associations().is_empty(), "it is over");
    });
}

#[test]
fn every_listener_gets_every_event() {
    run(async {
        let (_server, _client, association, _accepted) = pair().await;
        let (mut first, mut second) = (association.events(), association.clone().events());
        let gone = association.events();
        drop(gone);
        association.request_heartbeat(association.paths()[0].id).unwrap();
        association.abort("enough");
        let mut seen = Vec::new();
        for listener in [&mut first, &mut second] {
            let mut events = Vec::new();
            while let Some(event) = listener.next().await {
                events.push(event);
            }
            assert!(events.iter().any(|event| matches!(event, Event::Lost(_))), "{events:?}");
            seen.push(events);
        }
        assert_eq!(seen[0], seen[1]);
        // The call of the association itself has its own, from the beginning.
        let mut own = Vec::new();
        while let Some(event) = association.event().await {
            own.push(event);
        }
        assert!(own.ends_with(&seen[0]) && own.len() > seen[0].len(), "{own:?}");
    });
}

/// Bulk that waits for room leaves some to messages that cannot wait.
#[test]
fn live_messages_find_room_beside_bulk() {
    run(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let config = Config { send_buffer: 256 << 10, ..Config::default() };
        let association = client.connect(peer, Security::insecure(), config).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        let bulk = association.clone();
        let sending = tokio::spawn(async move { while bulk.send_bytes(0, vec![0; 20_000]).await.is_ok() {} });
        let reading = tokio::spawn(async move {
            while let Ok(Some(_)) = accepted.recv().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        for _ in 0..300 {
            let live = OutMessage { stream: 1, data: vec![1; 1_000].into(), ..OutMessage::default() };
            association.try_send(&live).unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(association.buffered() > 100_000, "bulk fills the rest");
        association.abort("enough");
        sending.await.unwrap();
        reading.await.unwrap();
    });
}
