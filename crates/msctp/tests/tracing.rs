//! Spans and events of associations (feature `tracing`): the story of one that moves and one that is lost.
#![cfg(feature = "tracing")]

#[path = "it/common/mod.rs"]
mod common;

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use common::{run, server};
use msctp::{Config, Endpoint, PathState, Security};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes a line for each span and event, with the span that the event is in.
#[derive(Default)]
struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    inside: Mutex<Vec<u64>>,
    spans: AtomicU64,
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Lines {
    fn push(&self, begin: String, write: impl FnOnce(&mut Text)) {
        let mut text = Text(begin);
        write(&mut text);
        self.lines.lock().unwrap().push(text.0);
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "msctp" || metadata.target() == "caller"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Relaxed) + 1;
        let parent = match span.is_contextual() {
            true => self.inside.lock().unwrap().last().copied(),
            false => span.parent().map(Id::into_u64),
        };
        let begin = format!("{id}: {} in {}", span.metadata().name(), parent.unwrap_or_default());
        self.push(begin, |text| span.record(text));
        Id::from_u64(id)
    }
    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let span = self.inside.lock().unwrap().last().copied().unwrap_or_default();
        self.push(format!("{span}: {}", event.metadata().level()), |text| event.record(text));
    }
    fn enter(&self, span: &Id) {
        self.inside.lock().unwrap().push(span.into_u64());
    }
    fn exit(&self, _span: &Id) {
        self.inside.lock().unwrap().pop();
    }
}

#[test]
fn a_subscriber_sees_set_up_paths_a_move_and_the_end() {
    let subscriber = Lines::default();
    let lines = Arc::clone(&subscriber.lines);
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut numbers = Vec::new();
    run(async {
        let (server, peer) = server(9);
        let bind = ["127.0.0.2:0", "127.0.0.3:0"].map(|address| address.parse().unwrap());
        let client = Endpoint::bind(&common::options_at(bind)).unwrap();
        let caller = tracing::info_span!(target: "caller", "caller");
        let connecting = caller.in_scope(|| client.connect(peer, Security::insecure(), Config::default()));
        let association = connecting.await.unwrap();
        let accepted = server.accept(9).await.unwrap();
        numbers.extend([association.number(), accepted.number()]);
        let active = || association.paths().iter().filter(|path| path.state == PathState::Active).count();
        while active() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let second = association.paths().into_iter().find(|path| !path.primary).unwrap();
        association.set_primary(second.id).unwrap();
        association.send_bytes(0, "moved").await.unwrap();
        accepted.recv().await.unwrap();
        accepted.abort("enough of it");
        association.closed().await.unwrap_err();
    });
    let lines = lines.lock().unwrap().join("\n");
    let span = |connects: &str| {
        let line = lines.lines().find(|line| line.ends_with(connects)).unwrap_or_else(|| panic!("{lines}"));
        assert!(line.contains(": association in "), "{line}");
        line.split(':').next().unwrap()
    };
    let (client, server) = (span("connects=true"), span("connects=false"));
    let has = |span: &str, text: &str| {
        let found = lines.lines().any(|line| line.starts_with(&format!("{span}: ")) && line.contains(text));
        assert!(found, "no {text:?} in span {span}:\n{lines}");
    };
    for span in [client, server] {
        has(span, "INFO message=association up outbound_streams=10 inbound_streams=10");
    }
    has(client, "remote_port=9 remote=127.0.0.1");
    has(client, "DEBUG message=set-up begins");
    has(client, "DEBUG message=path added");
    has(client, "INFO message=primary path changed");
    has(client, "local=127.0.0.3 remote=127.0.0.1");
    has(server, "INFO message=path state");
    has(client, "WARN message=association lost");
    has(client, "enough of it");
    has(server, "INFO message=association aborted by this end");
    let caller =
        lines.lines().find(|line| line.contains(": caller in 0")).unwrap().split(':').next().unwrap();
    has(client, &format!("association in {caller} number={}", numbers[0]));
    has(server, &format!("association in 0 number={}", numbers[1]));
}
