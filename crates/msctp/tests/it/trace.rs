//! The trace sink of an endpoint: every association's events from the set-up to the end.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{options, run};
use msctp::{AssociationState, Config, Endpoint, Peer, Security, TraceKind, TraceSink};

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
