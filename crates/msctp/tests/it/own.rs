//! Controllers and handover policies given by value: they are asked, and what they say is done.

use crate::common;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use common::{bind, soon};
use msctp::congestion::{Ack, Controller, ControllerConfig, ControllerFactory, Loss, StartState, Window};
use msctp::handover::{Action, Grounds, HandoverPolicy, PathView, PolicyFactory, View};
use msctp::{
    AssociationError, Config, ConnectError, Endpoint, Event, LossReason, PathId, Peer, Rate, Security, Span,
    Time,
};

const PORT: u16 = 5001;
/// Acknowledged bytes at which the controller [`Fixed`] fails.
const FAILS_AT: u64 = 50_000_000;

/// A controller with a constant window.
#[derive(Debug)]
struct Fixed {
    cwnd: u64,
    acknowledged: Arc<AtomicU64>,
}

impl Controller for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: 0, partial_bytes_acked: 0 }
    }
    fn one_packet_in_flight(&self) -> bool {
        false
    }
    fn on_ack(&mut self, ack: &Ack) {
        let before = self.acknowledged.fetch_add(ack.bytes_acked, Relaxed);
        assert!(before + ack.bytes_acked < FAILS_AT, "the controller has failed");
    }
    fn on_loss(&mut self, _loss: &Loss) {}
    fn on_recovery_exit(&mut self, _now: Time) {}
    fn on_spurious_timeout(&mut self, _now: Time) {}
    fn on_idle(&mut self, _idle_rtos: u64) {}
    fn start(&mut self, start: &StartState) {
        self.cwnd = start.cwnd;
    }
    fn reset(&mut self) {}
    fn on_pmtu(&mut self, _pmdcs: u64) {}
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

fn fixed(cwnd: u64, acknowledged: &Arc<AtomicU64>) -> ControllerFactory {
    let acknowledged = Arc::clone(acknowledged);
    ControllerFactory::new(move |_: &ControllerConfig| {
        Box::new(Fixed { cwnd, acknowledged: Arc::clone(&acknowledged) })
    })
}

/// A policy that moves to every new path, which starts with `cwnd`.
#[derive(Debug)]
struct Eager {
    cwnd: u64,
}

impl HandoverPolicy for Eager {
    fn name(&self) -> &'static str {
        "eager"
    }
    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        if path != view.primary {
            actions.push(Action::SwitchPrimary { path, grounds: Grounds::default() });
        }
    }
    fn on_primary_switch(
        &mut self,
        _old: &PathView,
        _new: &PathView,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        Some(StartState { cwnd: self.cwnd, ssthresh: None, pacing_rate: None })
    }
}

fn endpoint(addresses: &[&str]) -> Endpoint {
    let addresses = addresses.iter().map(|address| address.parse::<SocketAddr>().unwrap());
    Endpoint::bind(&common::options_at(addresses)).unwrap()
}

#[tokio::test]
async fn what_was_given_by_value_is_asked_and_obeyed() {
    const FIRST: u64 = 7_001;
    const SECOND: u64 = 5_003;
    let (acknowledged, made) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&made);
    let config = Config {
        controller: fixed(FIRST, &acknowledged),
        handover_policy: PolicyFactory::new(move || {
            count.fetch_add(1, Relaxed);
            Box::new(Eager { cwnd: SECOND })
        }),
        ..Config::default()
    };
    let server = endpoint(&["127.0.0.1:0"]);
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let client = endpoint(&["127.0.0.2:0", "127.0.0.3:0"]);
    let (first, second) = ("127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap());
    let peer = Peer { port: PORT, from: Some(vec![first]), ..Peer::new(server.local_addresses()[0]) };
    let association = client.connect(peer, Security::insecure(), config).await.unwrap();
    assert!(made.load(Relaxed) > 0);
    let accepted = server.accept(PORT).await.unwrap();
    let window = |local| association.paths().into_iter().find(|path| path.at.local == local).unwrap().cwnd;
    assert_eq!(window(first), FIRST);
    association.send_bytes(0, vec![1; 50_000]).await.unwrap();
    association.flush().await.unwrap();
    assert_eq!((window(first), acknowledged.load(Relaxed) > 50_000), (FIRST, true), "no other controller");

    association.add_local_address(second).unwrap();
    soon(async { while !matches!(association.event().await, Some(Event::PrimaryChanged { .. })) {} }).await;
    let primary = association.paths().into_iter().find(|path| path.primary).unwrap();
    assert_eq!((primary.at.local, primary.cwnd), (second, SECOND), "the policy's switch and window");
    assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 50_000);
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_sent() {
    let none = Arc::new(AtomicU64::new(0));
    let client = endpoint(&["127.0.0.1:0"]);
    let shut = Config { controller: fixed(0, &none), ..Config::default() };
    let want =
        "controller = fixed with a window of 0 bytes: want at least 1 PMDCS (1468) before the first data";
    assert_eq!(
        client.listen(PORT, Security::insecure(), shut.clone()).unwrap_err().to_string(),
        want.replace("1468", "1460")
    );
    let error = client
        .connect("127.0.0.1:9".parse::<SocketAddr>().unwrap(), Security::insecure(), shut.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, ConnectError::Config(_)), "{error:?}");
    assert_eq!(shut.validate().unwrap_err().to_string(), want);

    Config { controller: fixed(3000, &none), ..Config::default() }.validate().unwrap();
}

/// A policy that calls its association.
#[derive(Debug)]
struct Calling(Arc<OnceLock<msctp::Association>>);

impl HandoverPolicy for Calling {
    fn name(&self) -> &'static str {
        "calling"
    }
    fn wants_round_trips(&self) -> bool {
        true
    }
    fn on_round_trip(&mut self, _: PathId, _: Span, _: &View<'_>, _: &mut Vec<Action>) {
        if let Some(association) = self.0.get() {
            let _ = association.paths();
        }
    }
    fn on_primary_switch(
        &mut self,
        _old: &PathView,
        _new: &PathView,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        None
    }
}

/// Before, the endpoint waited for itself for ever.
#[tokio::test]
async fn a_policy_that_calls_its_association_ends_it_with_a_message() {
    let (server, client) = (bind(), bind());
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let called = Arc::<OnceLock<msctp::Association>>::default();
    let policy = Arc::clone(&called);
    let handover_policy = PolicyFactory::new(move || Box::new(Calling(Arc::clone(&policy))));
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    let config = Config { handover_policy, ..Config::default() };
    let association = client.connect(peer, Security::insecure(), config).await.unwrap();
    let _accepted = server.accept(PORT).await.unwrap();
    called.set(association.clone()).unwrap();
    association.send_bytes(0, "for an acknowledgement").await.unwrap();
    let AssociationError::Lost(LossReason::Panicked { message }) =
        soon(association.closed()).await.unwrap_err()
    else {
        panic!("it panicked")
    };
    assert!(
        message.contains("handover policy") && message.contains("have a task of its own make the call"),
        "{message}"
    );
}

/// A panic of the application's code in one association ends that one: both its ends are told, and the other
/// associations of the endpoint, and new ones, go on.
#[tokio::test]
async fn a_panic_in_a_controller_ends_one_association() {
    let (server, client) = (bind(), bind());
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
    let connect = async |config| {
        let association = client.connect(peer.clone(), Security::insecure(), config).await.unwrap();
        (association, server.accept(PORT).await.unwrap())
    };
    let (good, good_peer) = connect(Config::default()).await;
    let about_to_fail = Arc::new(AtomicU64::new(FAILS_AT - 1000));
    let (bad, bad_peer) =
        connect(Config { controller: fixed(100_000, &about_to_fail), ..Config::default() }).await;
    bad.send_bytes(0, vec![0; 5000]).await.unwrap();
    let lost = soon(bad.closed()).await.unwrap_err();
    let message = "the controller has failed".to_owned();
    assert_eq!(lost, AssociationError::Lost(LossReason::Panicked { message }));
    let told = loop {
        match soon(bad_peer.recv()).await {
            Ok(message) => assert!(message.is_some()),
            Err(error) => break error.to_string(),
        }
    };
    assert!(told.contains("code of this association panicked"), "{told}");
    good.send_bytes(0, "still here").await.unwrap();
    assert_eq!(soon(good_peer.recv()).await.unwrap().unwrap().data, "still here");
    let (again, again_peer) = connect(Config::default()).await;
    again.send_bytes(0, "new").await.unwrap();
    assert_eq!(soon(again_peer.recv()).await.unwrap().unwrap().data, "new");
    drop((bad, bad_peer));
    for association in [good, again] {
        soon(association.shutdown()).await.unwrap();
    }
    soon(client.close()).await.unwrap();
}

/// A policy that panics as soon as its association is made.
#[derive(Debug)]
struct Failing;

impl HandoverPolicy for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }
    fn on_established(&mut self, _view: &View<'_>, _actions: &mut Vec<Action>) {
        panic!("the policy has failed");
    }
    fn on_primary_switch(
        &mut self,
        _old: &PathView,
        _new: &PathView,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        None
    }
}

/// Before, the endpoint and all its associations ended.
#[tokio::test]
async fn a_panic_while_an_association_is_accepted_ends_that_set_up_only() {
    let failing = |handover_policy| Config { handover_policy, ..Config::default() };
    // The check of the options makes a controller too.
    let fails = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&fails);
    let controller = move |_: &ControllerConfig| -> Box<dyn Controller> {
        assert!(!armed.load(Relaxed), "the controller has failed");
        Box::new(Fixed { cwnd: 3000, acknowledged: Arc::default() })
    };
    let cases = [
        failing(PolicyFactory::new(|| Box::new(Failing))),
        Config { controller: ControllerFactory::new(controller), ..Config::default() },
    ];
    let (server, client) = (bind(), bind());
    let at = |port| Peer { port, ..Peer::new(server.local_addresses()[0]) };
    server.listen(PORT, Security::insecure(), Config::default()).unwrap();
    let first = client.connect(at(PORT), Security::insecure(), Config::default()).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    for (port, config) in (PORT + 1..).zip(cases) {
        fails.store(false, Relaxed);
        server.listen(port, Security::insecure(), config).unwrap();
        fails.store(true, Relaxed);
        let refused = soon(client.connect(at(port), Security::insecure(), Config::default())).await;
        let ended = match refused {
            Err(error) => error.to_string(),
            Ok(association) => soon(association.closed()).await.unwrap_err().to_string(),
        };
        assert!(ended.contains("abort") || ended.contains("refused"), "{ended}");
    }
    first.send_bytes(0, "alive").await.unwrap();
    assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "alive");
    let second = soon(client.connect(at(PORT), Security::insecure(), Config::default())).await.unwrap();
    let _second = (second, soon(server.accept(PORT)).await.unwrap());
}
