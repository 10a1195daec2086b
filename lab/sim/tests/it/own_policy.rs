//! A handover policy defined outside the crates, in the simulator: data moves to the path with the lowest
//! round trip without an action.

use msctp_congestion::StartState;
use msctp_proto::handover::{Action, Grounds, HandoverPolicy, PathView, PolicyFactory, View};
use msctp_proto::{PathId, PathState};
use msctp_sim::scenario::{Do, Scenario};
use msctp_sim::{Simulation, Summary};
use msctp_units::Span;

#[derive(Debug)]
struct LowestRoundTrip;

impl HandoverPolicy for LowestRoundTrip {
    fn name(&self) -> &'static str {
        "lowest-round-trip"
    }

    fn wants_round_trips(&self) -> bool {
        true
    }

    fn on_round_trip(&mut self, _: PathId, _: Span, view: &View<'_>, actions: &mut Vec<Action>) {
        let usable = view.paths.iter().filter(|path| path.state == PathState::Active);
        let best = usable.filter_map(|path| Some((path.srtt?, path.id))).min();
        if let Some((_, path)) = best.filter(|best| best.1 != view.primary) {
            actions.push(Action::SwitchPrimary { path, grounds: Grounds::default() });
        }
    }

    fn on_primary_switch(
        &mut self,
        _: &PathView,
        _: &PathView,
        _: &View<'_>,
        _: &mut Vec<Action>,
    ) -> Option<StartState> {
        None
    }
}

/// Runs `scenarios/handover.toml` without the action that requests the switch to the WLAN.
fn run(own: bool) -> Summary {
    let text = include_str!("../../../../scenarios/handover.toml");
    let mut scenario = Scenario::from_toml(text, "handover.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    scenario.duration = Span::from_secs(39);
    scenario.actions.retain(|action| matches!(action.what, Do::LinkUp { .. } | Do::AddAddress { .. }));
    if own {
        scenario.sctp[0].config.handover_policy = PolicyFactory::new(|| Box::new(LowestRoundTrip));
    }
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.hash_trace();
    simulation.run();
    simulation.summary()
}

#[test]
fn the_lowest_round_trip_takes_the_data_to_the_wlan() {
    let (registered, own) = (run(false), run(true));
    let switches = |summary: &Summary| -> Vec<(f64, String)> {
        let all = summary.associations[0].handovers.iter();
        all.filter(|h| h.side == "server").map(|h| (h.at, h.cause.to_string())).collect()
    };
    assert_eq!(switches(&registered), [], "no action requests it");
    let moved = switches(&own);
    assert_eq!(moved.len(), 1, "{moved:?}");
    // The WLAN address is added at 20 s and measured by its verification heartbeat.
    assert!(moved[0].0 > 20.0 && moved[0].0 < 22.0 && moved[0].1 == "policy", "{moved:?}");
    let bytes = |summary: &Summary| summary.associations[0].to_client.bytes;
    assert!(bytes(&own) > 5 * bytes(&registered), "{} and {}", bytes(&own), bytes(&registered));
    assert_eq!(own.trace_hash, run(true).trace_hash, "deterministic");
}
