//! Schedulers, stream resets and added streams, and shared keys, through the crate.

use crate::common;

use common::{bind, options, run};
use msctp::{
    Association, AuthConfig, AuthEvent, CallError, CallRefusal, Config, Endpoint, Event, KeyError, Peer,
    ReconfigOutcome, Security, SharedKey, StreamEvent, StreamRequest,
};

const PORT: u16 = 9;

async fn pair(config: Config) -> ((Endpoint, Endpoint), Association, Association) {
    let server = Endpoint::bind(&options()).unwrap();
    server.listen(PORT, Security::insecure(), config.clone()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    let client = bind();
    let association = client.connect(peer, Security::insecure(), config).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    ((server, client), association, accepted)
}

async fn until(association: &Association, wanted: impl Fn(&Event) -> bool) {
    while !wanted(&association.event().await.expect("the association is up")) {}
}

#[test]
fn the_scheduler_and_the_streams_values_decide_which_message_is_next() {
    run(async {
        let (_ends, association, accepted) = pair(Config::default()).await;
        let wrong = association.set_scheduler("prio").unwrap_err();
        assert!(wrong.to_string().contains("no stream scheduler is called \"prio\""), "{wrong}");
        association.set_scheduler("priority").unwrap();
        for stream in 0..4 {
            association.set_stream_value(stream, 10 - stream).unwrap();
        }
        let unknown = CallRefusal::UnknownStream { stream: 99, streams: 10 };
        assert_eq!(association.set_stream_value(99, 1), Err(CallError::Refused(unknown)));
        // All are queued before the endpoint's task runs.
        for stream in 0..4 {
            for _ in 0..2 {
                association.try_send(&message(stream)).unwrap();
            }
        }
        let mut order = Vec::new();
        for _ in 0..8 {
            order.push(accepted.recv().await.unwrap().unwrap().stream);
        }
        assert_eq!(order, [3, 3, 2, 2, 1, 1, 0, 0]);
    });
}

/// Before, it waited for all messages that were queued before it.
#[test]
fn a_message_passes_the_queue_of_another_stream_in_the_mobile_profile() {
    run(async {
        let config = Config { receive_buffer: 64 << 10, ..Config::mobile() };
        let (_ends, association, accepted) = pair(config).await;
        for _ in 0..500 {
            association.send(message(1)).await.unwrap();
        }
        association.try_send(&message(2)).unwrap();
        let mut before = 0;
        while accepted.recv().await.unwrap().unwrap().stream == 1 {
            before += 1;
        }
        assert!(before < 250, "only those that had left: {before}");
    });
}

fn message(stream: u16) -> msctp::OutMessage {
    msctp::OutMessage { stream, data: vec![7; 1000].into(), ..msctp::OutMessage::default() }
}

#[test]
fn streams_are_reset_and_added() {
    run(async {
        let (_ends, association, accepted) = pair(Config::default()).await;
        for round in 0..2 {
            association.send_bytes(5, "one").await.unwrap();
            let message = accepted.recv().await.unwrap().unwrap();
            assert_eq!((message.stream, message.ssn), (5, 0), "round {round}");
            association.flush().await.unwrap();
            let request = StreamRequest::ResetOutgoing(vec![5]);
            association.reconfigure(request.clone()).unwrap();
            let answer = StreamEvent::Answered { request, outcome: ReconfigOutcome::Performed };
            until(&association, |event| *event == Event::Streams(answer.clone())).await;
        }
        assert!(association.stream(12).is_err());
        association.reconfigure(StreamRequest::AddOutgoing(6)).unwrap();
        until(&association, |event| matches!(event, Event::Streams(StreamEvent::Answered { .. }))).await;
        until(&accepted, |event| *event == Event::Streams(StreamEvent::IncomingAdded(16))).await;
        assert_eq!((association.streams(), accepted.streams()), ((16, 10), (10, 16)));
        association.stream(12).unwrap();
        association.send_bytes(15, "new").await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().stream, 15);
    });
}

#[test]
fn shared_keys_are_changed_while_data_flows() {
    run(async {
        let key = |id, secret: &str| SharedKey { id, secret: secret.as_bytes().to_vec() };
        let auth = AuthConfig { keys: vec![key(1, "old")], ..AuthConfig::default() };
        let (_ends, association, accepted) = pair(Config { auth, ..Config::default() }).await;
        let unknown = CallError::Refused(CallRefusal::Key(KeyError::Unknown(2)));
        assert_eq!(association.activate_auth_key(2), Err(unknown));
        for end in [&association, &accepted] {
            end.set_auth_key(key(2, "new")).unwrap();
        }
        for end in [&association, &accepted] {
            end.activate_auth_key(2).unwrap();
        }
        association.send_bytes(0, "signed with the new key").await.unwrap();
        accepted.recv().await.unwrap().unwrap();
        let new = |event: &Event| *event == Event::Authentication(AuthEvent::NewKey { key: 2 });
        until(&accepted, new).await;
        association.flush().await.unwrap();
        until(&association, new).await;
        let active = CallError::Refused(CallRefusal::Key(KeyError::Active(2)));
        assert_eq!(association.delete_auth_key(2), Err(active));
        for end in [&association, &accepted] {
            end.deactivate_auth_key(1).unwrap();
            until(end, |event| *event == Event::Authentication(AuthEvent::FreeKey { key: 1 })).await;
            end.delete_auth_key(1).unwrap();
        }
        association.send_bytes(0, "still").await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().unwrap().data, "still");
        // A key that the peer has otherwise: nothing that is signed with it is taken.
        accepted.set_auth_key(key(2, "other")).unwrap();
        association.send_bytes(0, "lost").await.unwrap();
        let wait = tokio::time::timeout(std::time::Duration::from_millis(200), accepted.recv()).await;
        assert!(wait.is_err(), "{wait:?}");
        common::until(|| accepted.stats().unwrap().unauthenticated_chunks > 0).await;
    });
}
