//! A handover policy defined outside the crate: round trips, path states and a timer suffice for "the lowest
//! round trip wins".

use crate::support;

use core::net::IpAddr;
use std::sync::{Arc, Mutex};

use msctp_proto::handover::{Action, Grounds, HandoverPolicy, MIN_TIMER, PathView, PolicyFactory, View};
use msctp_proto::{Config, Event, PathId, PathState, PrimaryCause};
use msctp_units::{Span, Time};
use support::{Flight, Pair, Side, a_ip, b_ip};

/// A call of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Added(PathId),
    RoundTrip(PathId),
    State(PathId, PathState, PathState),
    Timer(Time),
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// A policy that moves data to a path whose smoothed round-trip time is a quarter shorter, and keeps it there
/// for at least a second.
#[derive(Debug)]
struct LowestRoundTrip {
    calls: Calls,
    interested: bool,
    holding: bool,
}

impl LowestRoundTrip {
    fn choose(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let Some(now) = view.path(view.primary).and_then(|path| path.srtt) else { return };
        let usable = view.paths.iter().filter(|path| path.state == PathState::Active);
        let best = usable.filter_map(|path| Some((path.srtt?, path.id))).min();
        if let Some((srtt, path)) = best
            && path != view.primary
            && srtt * 5 < now * 4
            && !self.holding
        {
            self.holding = true;
            actions.push(Action::SwitchPrimary { path, grounds: Grounds::default() });
            actions.push(Action::SetTimer { at: Some(view.now + Span::from_secs(1)) });
        }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

impl HandoverPolicy for LowestRoundTrip {
    fn name(&self) -> &'static str {
        "lowest-round-trip"
    }

    fn wants_round_trips(&self) -> bool {
        self.interested
    }

    fn on_path_added(&mut self, path: PathId, _: &View<'_>, _: &mut Vec<Action>) {
        self.note(Call::Added(path));
    }

    fn on_round_trip(&mut self, path: PathId, sample: Span, view: &View<'_>, actions: &mut Vec<Action>) {
        assert!(!sample.is_zero() && view.path(path).unwrap().srtt.is_some());
        self.note(Call::RoundTrip(path));
        self.choose(view, actions);
    }

    fn on_path_state(&mut self, path: PathId, from: PathState, view: &View<'_>, actions: &mut Vec<Action>) {
        self.note(Call::State(path, from, view.path(path).unwrap().state));
        self.choose(view, actions);
    }

    fn on_timer(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        self.note(Call::Timer(view.now));
        self.holding = false;
        self.choose(view, actions);
    }

    fn on_primary_switch(
        &mut self,
        _: &PathView,
        _: &PathView,
        _: &View<'_>,
        _: &mut Vec<Action>,
    ) -> Option<msctp_congestion::StartState> {
        None
    }
}

/// Returns a pair with two networks; A has the policy and sends.
fn pair(interested: bool) -> (Pair, Calls) {
    let calls = Calls::default();
    let own = Arc::clone(&calls);
    let handover_policy = PolicyFactory::new(move || {
        Box::new(LowestRoundTrip { calls: Arc::clone(&own), interested, holding: false })
    });
    let fast = Span::from_millis(200);
    let b = Config { rto_min: fast, hb_interval: Span::from_secs(1), ..Config::default() };
    let a = Config { handover_policy, ..b.clone() };
    let pair = Pair::established_with(a, b, vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)]);
    (pair, calls)
}

/// Returns A's address on the primary path, which identifies its network.
fn primary(pair: &mut Pair) -> IpAddr {
    pair.with(Side::A, |a, _| a.paths().find(|path| path.primary).unwrap().at.local)
}

fn over(network: u8) -> impl Fn(&Flight) -> bool {
    move |flight| flight.at.local == a_ip(network) || flight.at.local == b_ip(network)
}

#[test]
fn data_moves_to_the_lowest_round_trip_and_back() {
    let (mut pair, _calls) = pair(true);
    assert_eq!(primary(&mut pair), a_ip(0), "equal round trips move nothing");
    for (slow, fast) in [(0, 1), (1, 0)] {
        pair.delays.insert(a_ip(slow), Span::from_millis(150));
        pair.delays.insert(a_ip(fast), Span::from_millis(10));
        pair.transfer(Side::A, 600, 1000, Span::from_secs(60));
        assert_eq!(primary(&mut pair), a_ip(fast), "network {slow} is the slow one");
    }
    let local: Vec<_> = pair.with(Side::A, |a, _| a.paths().map(|path| (path.id, path.at.local)).collect());
    let network = |of: PathId| local.iter().find(|(path, _)| *path == of).unwrap().1;
    let mut visited: Vec<_> = (pair.a.events.iter())
        .filter_map(|event| match event {
            Event::PrimaryChanged { path, cause: PrimaryCause::Policy(_), .. } => Some(network(*path)),
            _ => None,
        })
        .collect();
    // Two paths use each network; a move between them does not change the network.
    visited.dedup();
    assert_eq!(visited, [a_ip(1), a_ip(0)], "there and back, and no flapping");
}

#[test]
fn heartbeats_measure_an_idle_association() {
    let (mut pair, calls) = pair(true);
    pair.delays.insert(a_ip(0), Span::from_millis(300));
    calls.lock().unwrap().clear();
    assert!(pair.run_until(Span::from_secs(60), |pair| primary(pair) == a_ip(1)));
    assert!(calls.lock().unwrap().iter().any(|call| matches!(call, Call::RoundTrip(_))));
}

#[test]
fn a_policy_without_interest_in_round_trips_gets_none() {
    let (mut pair, calls) = pair(false);
    pair.transfer(Side::A, 200, 1000, Span::from_secs(60));
    let calls = calls.lock().unwrap();
    assert!(!calls.iter().any(|call| matches!(call, Call::RoundTrip(_))), "{calls:?}");
    assert!(calls.iter().any(|call| matches!(call, Call::Added(_))));
}

#[test]
fn a_policy_receives_the_states_of_known_paths() {
    let (mut pair, calls) = pair(false);
    let second = pair.path(Side::A, a_ip(1), b_ip(1));
    calls.lock().unwrap().clear();
    pair.drop_if(over(1));
    let gone = Call::State(second, PathState::Active, PathState::Inactive);
    assert!(pair.run_until(Span::from_secs(120), |_| calls.lock().unwrap().contains(&gone)));
    pair.pass_all();
    let back = Call::State(second, PathState::Inactive, PathState::Active);
    assert!(pair.run_until(Span::from_secs(120), |_| calls.lock().unwrap().contains(&back)));
    assert!(!calls.lock().unwrap().contains(&Call::Added(second)), "added once only");
}

/// A policy that repeatedly sets its timer to a past time.
#[derive(Debug)]
struct Impatient(Calls);

impl HandoverPolicy for Impatient {
    fn name(&self) -> &'static str {
        "impatient"
    }

    fn on_path_added(&mut self, _: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        actions.push(Action::SetTimer { at: Some(view.now + Span::from_secs(2)) });
    }

    fn on_timer(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let mut calls = self.0.lock().unwrap();
        calls.push(Call::Timer(view.now));
        let at = (calls.len() < 3).then_some(Time::ZERO);
        actions.push(Action::SetTimer { at });
    }

    fn on_primary_switch(
        &mut self,
        _: &PathView,
        _: &PathView,
        _: &View<'_>,
        _: &mut Vec<Action>,
    ) -> Option<msctp_congestion::StartState> {
        None
    }
}

#[test]
fn the_timer_fires_on_time_and_never_spins() {
    let calls = Calls::default();
    let own = Arc::clone(&calls);
    let handover_policy = PolicyFactory::new(move || Box::new(Impatient(Arc::clone(&own))));
    let config = Config { handover_policy, ..Config::default() };
    // One address each, with the policy at A only.
    let mut pair = Pair::established_with(config, Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(10));
    let times: Vec<Time> = calls
        .lock()
        .unwrap()
        .iter()
        .map(|call| match call {
            Call::Timer(at) => *at,
            other => panic!("{other:?}"),
        })
        .collect();
    let [first, second, third] = times[..] else { panic!("three times, then off: {times:?}") };
    // Set when the association was up: two round trips after the start at 1 s.
    assert_eq!(first, Time::ZERO + Span::from_millis(3080), "2 s after the path was added");
    assert_eq!((second.since(first), third.since(second)), (MIN_TIMER, MIN_TIMER));
}
