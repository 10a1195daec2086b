//! The trace sink of an endpoint: every association's events from the set-up to the end.

use crate::common;

use std::sync::{Arc, Mutex, OnceLock};

use common::{options, run, soon};
use msctp::{Association, AssociationState, Config, Endpoint, Peer, Security, TraceKind, TraceSink};

type Events = Arc<Mutex<Vec<(u64, msctp::TraceEvent)>>>;

fn traced() -> (Endpoint, Events) {
    let events = Events::default();
    let into = Arc::clone(&events);
    let sink = TraceSink::new(move |number, event| into.lock().unwrap().push((number, *event)));
    (Endpoint::bind(&options().traced(sink)).unwrap(), events)
}

#[test]
fn a_sink_receives_the_events_of_all_associations_in_order() {
    let [client, server] = run(async {
        let (server, received) = traced();
        server.listen(7, Security::insecure(), Config::default()).unwrap();
        let peer = Peer { port: 7, ..Peer::new(server.local_addresses()[0]) };
        let (client, sent) = traced();
        for text in ["one", "two"] {
            let association =
                client.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap();
            let accepted = server.accept(7).await.unwrap();
            association.send_bytes(0, text).await.unwrap();
            assert_eq!(accepted.recv().await.unwrap().unwrap().data, text);
            association.take_trace(|event| panic!("the sink has it: {event:?}"));
            // Dropped: the endpoint shuts it down.
        }
        client.close().await.unwrap();
        server.close().await.unwrap();
        [sent, received].map(|events| std::mem::take(&mut *events.lock().unwrap()))
    });
    for events in [client, server] {
        // The tasks of several shards report each its own.
        assert!(options().shards > 1 || events.is_sorted_by_key(|(_, event)| event.at), "{events:?}");
        let mut numbers: Vec<u64> = events.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 2, "{events:?}");
        for number in numbers {
            let own = || events.iter().filter(|(of, _)| *of == number).map(|(_, event)| event.kind);
            assert!(matches!(own().next(), Some(TraceKind::PathAdded { .. } | TraceKind::State { .. })));
            assert_eq!(own().filter(|kind| matches!(kind, TraceKind::Data { len: 3, .. })).count(), 1);
            let times = || events.iter().filter(|(of, _)| *of == number).map(|(_, event)| event.at);
            assert!(times().is_sorted(), "{events:?}");
            let closed = |kind| matches!(kind, TraceKind::State { to: AssociationState::Closed, .. });
            assert!(own().any(closed), "{events:?}");
        }
    }
}

#[test]
fn a_sink_may_call_the_endpoint_and_its_associations() {
    run(async {
        let calls: Arc<OnceLock<(Endpoint, Association)>> = Arc::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (called, into) = (Arc::clone(&calls), Arc::clone(&seen));
        let sink = TraceSink::new(move |number, _| {
            if let Some((endpoint, association)) = called.get() {
                let own = endpoint.associations().iter().any(|handle| handle.number() == number);
                into.lock().unwrap().push((own, association.paths().len()));
            }
        });
        let (server, peer) = common::server(7);
        let client = Endpoint::bind(&options().traced(sink)).unwrap();
        let association = soon(client.connect(peer, Security::insecure(), Config::default())).await.unwrap();
        let accepted = soon(server.accept(7)).await.unwrap();
        calls.set((client.clone(), association.clone())).unwrap();
        association.send_bytes(0, "hello").await.unwrap();
        // Before, the endpoint waited for itself here.
        soon(association.flush()).await.unwrap();
        assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "hello");
        let seen = seen.lock().unwrap().clone();
        assert!(seen.contains(&(true, 1)), "{seen:?}");
    });
}

#[test]
fn a_trace_is_taken_without_the_lock() {
    run(async {
        let (server, peer) = common::server(7);
        let client = common::bind();
        let config = Config { trace: true, ..Config::default() };
        let association = soon(client.connect(peer, Security::insecure(), config)).await.unwrap();
        let _accepted = soon(server.accept(7)).await.unwrap();
        let mut taken = 0;
        association.take_trace(|_| taken += usize::from(association.stats().is_some()));
        assert!(taken > 0);
    });
}
