//! Several paths (RFC 9260 §5.4, §6.4, §8): confirmation, failover, primary switches, heartbeats, bicasting.

use crate::support;

use msctp_congestion::{ControllerFactory, InitialWindow};
use msctp_lab_schemes::policies::{PolicyConfig, SwitchSsthresh, policy};
use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{
    CallError, Config, Event, LossReason, PathAddr, PathId, PathState, PrimaryCause, RetransmissionPath,
    TraceKind,
};
use msctp_units::{Rate, Span};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk};

fn config() -> Config {
    Config { trace: true, ..Config::default() }
}

fn two_networks(config: Config) -> Pair {
    Pair::established_with(config.clone(), config, vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)])
}

/// Matches packets that need network 0 at either end.
fn over_first(flight: &Flight) -> bool {
    [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a_ip(0) || *ip == b_ip(0))
}

fn primary(pair: &mut Pair, side: Side) -> PathId {
    pair.with(side, |association, _| association.paths().find(|path| path.primary).unwrap().id)
}

#[test]
fn every_pair_is_confirmed_by_heartbeat_and_then_monitored() {
    let mut pair = Pair::new(config(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.connect(config(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    for side in [Side::A, Side::B] {
        let states: Vec<_> = pair.with(side, |a, _| a.paths().map(|path| path.state).collect());
        assert_eq!(states, [PathState::Active; 4], "{side:?}");
    }
    // RFC 9260 §8.3: idle paths get one heartbeat per HB.interval + RTO ± 50 %.
    let before = pair.log_len();
    pair.run_for(Span::from_secs(310));
    let heartbeats = pair.sent_since(Side::A, before).iter().filter(|f| f.has(chunk::HEARTBEAT)).count();
    assert!((36..=44).contains(&heartbeats), "{heartbeats} heartbeats on 4 paths in 310 s");
}

#[test]
fn no_heartbeats_when_they_are_off() {
    let mut pair = two_networks(Config { hb_interval: Span::ZERO, ..config() });
    pair.log = Some(Vec::new());
    pair.run_for(Span::from_secs(600));
    assert_eq!(pair.log_len(), 0);
    assert_eq!(pair.a.endpoint.poll_timeout(), None);
}

#[test]
fn data_moves_to_the_other_path_when_the_primary_fails_and_back_when_it_recovers() {
    for retransmission_path in [RetransmissionPath::Alternate, RetransmissionPath::Same] {
        let fast = Span::from_millis(200);
        let mut pair = two_networks(Config {
            retransmission_path,
            path_max_retrans: 2,
            rto_min: fast,
            rto_initial: fast,
            hb_interval: Span::from_secs(2),
            ..config()
        });
        let old = primary(&mut pair, Side::B);
        let mut waiting = (0..2000).collect();
        pair.feed(Side::B, &mut waiting, 1000);
        pair.run_until(Span::from_secs(5), |p| p.a.received.len() > 300);
        pair.drop_if(over_first);
        let done = pair.run_until(Span::from_secs(200), |pair| {
            pair.feed(Side::B, &mut waiting, 1000);
            pair.a.received.len() == 2000
        });
        assert!(done, "{retransmission_path:?}: {} of 2000", pair.a.received.len());
        assert!(pair.b.saw(|e| *e == Event::PathState { path: old, state: PathState::Inactive }));
        let failover = |e: &Event| matches!(e, Event::PrimaryChanged { path, cause: PrimaryCause::Failover } if *path != old);
        assert!(pair.b.saw(failover));
        assert_eq!(primary(&mut pair, Side::B), old, "RFC 9260 §6.4.1: still the primary");
        pair.pass_all();
        pair.run_for(Span::from_secs(120));
        assert!(pair.b.events.contains(&Event::PathState { path: old, state: PathState::Active }));
        let back = Event::PrimaryChanged { path: old, cause: PrimaryCause::Failover };
        assert!(pair.b.saw(|e| *e == back));
        pair.transfer(Side::B, 100, 1000, Span::from_secs(10));
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-8.1
//= type=test
//# SHALL stop transmitting any more data to it (and thus the association enters the CLOSED state).
#[test]
fn a_peer_without_any_answer_is_lost_after_association_max_retrans() {
    let fast = Span::from_millis(100);
    let config = Config { rto_min: fast, rto_initial: fast, rto_max: Span::from_secs(1), ..config() };
    let mut pair = two_networks(config);
    pair.drop_if(|_| true);
    pair.send(Side::A, support::text_message("anybody?"));
    pair.run_for(Span::from_secs(120));
    assert_eq!(pair.a.events.last(), Some(&Event::Lost(LossReason::PeerUnreachable)));
    assert!(pair.a.saw(|e| matches!(e, Event::SendFailed(failure) if !failure.unsent)));
    assert_eq!(pair.a.endpoint.len(), 0);
    // RFC 9260 §8.1: B has no data; its heartbeats on the path in use count.
    pair.run_for(Span::from_secs(2000));
    assert_eq!(pair.b.events.last(), Some(&Event::Lost(LossReason::PeerUnreachable)));
}

#[test]
fn a_primary_switch_in_the_middle_of_a_transfer_moves_new_data_at_once() {
    let mut pair = two_networks(config());
    pair.delays.insert(a_ip(1), Span::from_millis(80));
    let mut waiting = (0..3000).collect();
    pair.feed(Side::B, &mut waiting, 1000);
    pair.run_until(Span::from_secs(10), |p| p.a.received.len() > 500);
    let (old, new) = (primary(&mut pair, Side::B), pair.path(Side::B, b_ip(1), a_ip(1)));
    pair.with(Side::B, |b, now| b.set_primary(now, new)).unwrap();
    let done = pair.run_until(Span::from_secs(60), |pair| {
        pair.feed(Side::B, &mut waiting, 1000);
        pair.a.received.len() == 3000
    });
    assert!(done);
    for (i, message) in pair.a.received.iter().enumerate() {
        assert_eq!(message.data[..4], (i as u32).to_be_bytes());
    }
    assert!(pair.b.saw(|e| *e == Event::PrimaryChanged { path: new, cause: PrimaryCause::Local }));
    assert!(!pair.b.saw(|e| matches!(e, Event::PrimaryChanged { cause: PrimaryCause::Failover, .. })));
    let trace: Vec<_> = pair.b.trace.iter().map(|e| e.kind).collect();
    let switch = trace.iter().position(|k| matches!(k, TraceKind::Primary { .. })).unwrap();
    let late = trace[switch..].iter().filter(
        |k| matches!(k, TraceKind::Data { direction: msctp_proto::Direction::Out, path, again: false, .. } if *path == Some(old)),
    );
    assert_eq!(late.count(), 0, "new data on the old path after the switch");
    let stats = pair.with(Side::B, |b, _| b.stats());
    assert_eq!(stats.data_chunks_retransmitted, 0, "nothing was lost");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5
//= type=test
//# the congestion control MUST be reinitialized.
//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5.2
//= type=test
//# the congestion control parameters for the affected destination addresses MUST be reset to their initial
//# values.
#[test]
fn another_source_address_to_the_same_destination_starts_with_the_initial_window() {
    let mut pair = Pair::established_with(config(), config(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.transfer(Side::A, 200, 1000, Span::from_secs(30));
    let (old, new) = (pair.path(Side::A, a_ip(0), b_ip(0)), pair.path(Side::A, a_ip(1), b_ip(0)));
    pair.with(Side::A, |a, now| a.set_primary(now, new)).unwrap();
    let window = |pair: &mut Pair, id| {
        let path = pair.with(Side::A, |a, _| a.paths().find(|path| path.id == id).unwrap());
        (path.cwnd, path.ssthresh, path.partial_bytes_acked)
    };
    assert_eq!(window(&mut pair, new), (4404, u64::MAX, 0));
    assert!(window(&mut pair, old).0 > 4404);
}

#[test]
fn only_confirmed_paths_of_this_association_can_be_primary() {
    let mut pair = Pair::new(config(), vec![b_ip(0), b_ip(1)]);
    pair.drop_if(|flight| flight.has(chunk::HEARTBEAT));
    pair.connect(config(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(1));
    let unconfirmed = pair.path(Side::A, a_ip(0), b_ip(1));
    let none = PathId::new(77);
    pair.with(Side::A, |a, now| {
        assert_eq!(a.set_primary(now, unconfirmed), Err(CallError::UnconfirmedPath(unconfirmed)));
        assert_eq!(a.set_primary(now, none), Err(CallError::UnknownPath(none)));
    });
}

fn switched_with(name: &str, options: &PolicyConfig) -> (Pair, PathId, PathId) {
    let config = Config {
        handover_policy: policy(name, options).unwrap(),
        controller: ControllerFactory::default().with_initial_ssthresh(40_000),
        ..config()
    };
    let mut pair = two_networks(config);
    let (old, new) = (primary(&mut pair, Side::B), pair.path(Side::B, b_ip(1), a_ip(1)));
    pair.transfer(Side::B, 400, 1000, Span::from_secs(30));
    (pair, old, new)
}

fn cwnd(pair: &mut Pair, path: PathId) -> (u64, u64) {
    pair.with(Side::B, |b, _| b.paths().find(|p| p.id == path).map(|p| (p.cwnd, p.ssthresh)).unwrap())
}

#[test]
fn the_policy_gives_the_new_path_its_window() {
    let ssthresh = SwitchSsthresh::Bytes(30_000);
    let (mut pair, old, new) =
        switched_with("inherit", &PolicyConfig { ssthresh, ..PolicyConfig::default() });
    let before = cwnd(&mut pair, old);
    assert!(before.0 > 20_000);
    pair.with(Side::B, |b, now| b.set_primary(now, new)).unwrap();
    assert_eq!(cwnd(&mut pair, new), (before.0, 30_000));
    assert!(
        pair.b
            .trace
            .iter()
            .any(|e| matches!(e.kind, TraceKind::StartState { path, ssthresh: 30_000, .. } if path == new))
    );
    let one = PolicyConfig { initial_window: Some(InitialWindow::Packets(1)), ..PolicyConfig::default() };
    let (mut pair, _, new) = switched_with("conservative", &one);
    pair.with(Side::B, |b, now| b.set_primary(now, new)).unwrap();
    assert_eq!(cwnd(&mut pair, new).0, 1468);
}

#[test]
fn adaptive_probes_the_new_path_and_estimates() {
    let (mut pair, _, new) = switched_with("adaptive", &PolicyConfig::default());
    pair.rate = Some(Rate::from_mbps(11));
    pair.run_for(Span::from_secs(5));
    let on = |k: &TraceKind| matches!(k, TraceKind::Probing { path, on: true } if *path == new);
    assert!(pair.b.trace.iter().any(|e| on(&e.kind)));
    let estimates: Vec<u64> = pair
        .b
        .trace
        .iter()
        .filter_map(|e| match e.kind {
            TraceKind::Estimate { path, capacity, .. } if path == new => Some(capacity.as_bps()),
            _ => None,
        })
        .collect();
    // Two address pairs are probed over one link: their probes meet occasionally.
    let right = estimates.iter().filter(|c| (10_900_000..11_100_000).contains(*c)).count();
    assert!(right > 5 && right * 4 >= estimates.len() * 3, "{estimates:?}");
    pair.with(Side::B, |b, now| b.set_primary(now, new)).unwrap();
    let off = |k: &TraceKind| matches!(k, TraceKind::Probing { path, on: false } if *path == new);
    assert!(pair.b.trace.iter().any(|e| off(&e.kind)));
    pair.transfer(Side::B, 200, 1000, Span::from_secs(30));
}

#[test]
fn copies_use_the_second_path_and_are_not_counted() {
    let options = PolicyConfig { bicast: true, ..PolicyConfig::default() };
    let config = Config { handover_policy: policy("inherit", &options).unwrap(), ..config() };
    let mut pair = two_networks(config);
    let primary = primary(&mut pair, Side::B);
    // The primary loses a tenth of its data; the copies repair it without retransmissions.
    let mut n = 0;
    let at = pair.with(Side::B, |b, _| b.paths().find(|p| p.id == primary).unwrap().at);
    pair.drop_if(move |flight| {
        let data = flight.from == Side::B && flight.at == at && flight.has(chunk::DATA);
        n += u32::from(data);
        data && n.is_multiple_of(10)
    });
    pair.transfer(Side::B, 500, 1000, Span::from_secs(60));
    let stats = pair.with(Side::B, |b, _| b.stats());
    assert!(stats.data_chunks_copied >= 500, "{stats:?}");
    assert_eq!(stats.data_chunks_retransmitted, 0);
    pair.run_for(Span::from_secs(1));
    let flights: Vec<u64> = pair.with(Side::B, |b, _| b.paths().map(|p| p.flight_size).collect());
    assert!(flights.iter().all(|flight| *flight == 0), "{flights:?}");
    assert_eq!(pair.a.received.len(), 500);
}

#[test]
fn the_last_primary_change_names_the_path_that_carries_data() {
    let fast = Span::from_millis(100);
    let mut pair = two_networks(Config { rto_min: fast, rto_initial: fast, path_max_retrans: 1, ..config() });
    let (first, second) = (primary(&mut pair, Side::B), pair.path(Side::B, b_ip(1), a_ip(1)));
    pair.drop_if(|flight| {
        [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a_ip(1) || *ip == b_ip(1))
    });
    let inactive = Event::PathState { path: second, state: PathState::Inactive };
    assert!(pair.run_until(Span::from_secs(300), |pair| pair.b.saw(|event| *event == inactive)));
    let changes = |pair: &Pair| -> Vec<(PathId, PrimaryCause)> {
        let of = |event: &Event| match event {
            Event::PrimaryChanged { path, cause } => Some((*path, *cause)),
            _ => None,
        };
        pair.b.events.iter().filter_map(of).collect()
    };
    assert_eq!(changes(&pair), []);
    pair.with(Side::B, |b, now| b.set_primary(now, second)).unwrap();
    // The new primary does not work: data stays on the first path.
    let switched = [(second, PrimaryCause::Local), (first, PrimaryCause::Failover)];
    assert_eq!(changes(&pair), switched);
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    pair.pass_all();
    pair.run_for(Span::from_secs(120));
    assert_eq!(changes(&pair)[2..], [(second, PrimaryCause::Failover)]);
    // Setting the same primary again is no change.
    pair.with(Side::B, |b, now| b.set_primary(now, second)).unwrap();
    assert_eq!(changes(&pair).len(), 3);
}

// RFC 9260 §7.2.1: the window decays by half for each RTO without data, also while the link is down.
#[test]
fn the_window_of_a_path_decays_while_its_link_is_down() {
    let window_after = |down: Span| {
        let mut pair = Pair::established(Config { hb_interval: Span::from_secs(3600), ..config() });
        pair.transfer(Side::B, 400, 1000, Span::from_secs(60));
        pair.run_for(Span::from_millis(300));
        let before = pair.with(Side::B, |b, _| b.paths().next().unwrap());
        assert_eq!(before.flight_size, 0);
        assert!(before.cwnd > 20_000, "{before:?}");
        let link = |state| LinkEvent { local: b_ip(0), state };
        pair.with(Side::B, |b, now| b.link_event(now, link(LinkState::Down))).unwrap();
        pair.run_for(down);
        pair.with(Side::B, |b, now| b.link_event(now, link(LinkState::Up))).unwrap();
        pair.send(Side::B, support::text_message("back"));
        (before, pair.with(Side::B, |b, _| b.paths().next().unwrap()))
    };
    let (before, after) = window_after(Span::from_millis(100));
    assert_eq!(after.cwnd, before.cwnd, "less than an RTO");
    let (before, after) = window_after(before.rto * 2);
    assert!(after.cwnd <= before.cwnd / 4 && after.ssthresh <= before.cwnd, "{before:?} {after:?}");
    let (_, after) = window_after(Span::from_secs(3600));
    assert_eq!(after.cwnd, 4 * u64::from((after.pmtu - 32) & !3), "{after:?}");
}

/// RFC 9260 §8.3, §11.1.9: the application sets the interval, and turns the heartbeats of a path off and on.
#[test]
fn the_application_changes_the_heartbeats() {
    let mut pair = Pair::established_with(
        Config { hb_interval: Span::ZERO, ..Config::default() },
        Config { hb_interval: Span::ZERO, ..Config::default() },
        vec![a_ip(0), a_ip(1)],
        vec![b_ip(0), b_ip(1)],
    );
    pair.run_for(Span::from_secs(10));
    pair.log = Some(Vec::new());
    let heartbeats = |pair: &mut Pair| {
        let since = pair.log_len();
        pair.run_for(Span::from_secs(60));
        let sent = pair.sent_since(Side::A, since);
        let to = |network| {
            let at = PathAddr { local: a_ip(network), remote: b_ip(network) };
            let on = |flight: &&Flight| flight.has(chunk::HEARTBEAT) && flight.at == at;
            sent.iter().filter(on).count()
        };
        (to(0), to(1))
    };
    assert_eq!(heartbeats(&mut pair), (0, 0), "no interval");
    pair.with(Side::A, |a, now| a.set_hb_interval(now, Span::from_secs(5)));
    let (first, second) = heartbeats(&mut pair);
    assert!(first >= 5 && second >= 5, "{first} {second}");
    let path = pair.path(Side::A, a_ip(0), b_ip(0));
    pair.with(Side::A, |a, now| a.enable_heartbeats(now, path, false)).unwrap();
    let (first, second) = heartbeats(&mut pair);
    assert!(first == 0 && second >= 5, "{first} {second}");
    pair.with(Side::A, |a, now| a.enable_heartbeats(now, path, true)).unwrap();
    assert!(heartbeats(&mut pair).0 >= 5);
    let none = PathId::new(77);
    let refused = pair.with(Side::A, |a, now| a.enable_heartbeats(now, none, true));
    assert_eq!(refused, Err(CallError::UnknownPath(none)));
}
