//! Actions that a link's signal, queue or rate triggers.

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

const SIGNAL: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/signal.toml"));

fn run(set: &[&str]) -> Result<Summary, String> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::from_toml(SIGNAL, "signal.toml", &set).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&scenario, None).map_err(|error| error.to_string())?;
    simulation.run();
    Ok(simulation.summary())
}

/// Returns the times at which the server changed its primary path, with the address.
fn moves(summary: &Summary) -> Vec<(f64, bool)> {
    let of = summary.associations[0].handovers.iter().filter(|handover| handover.side == "server");
    of.map(|handover| (handover.at, handover.to.contains("10.0.2.2"))).collect()
}

#[test]
fn the_signal_moves_the_association_away_and_back() {
    let summary = run(&[]).unwrap();
    let moves = moves(&summary);
    let [.., (away, true), (back, false)] = moves[..] else { panic!("{moves:?}") };
    // The radio of docs/models/wlan.md: 24.5 dBm, 31.7 dB at 1 m, an exponent of 2.8.
    let distance = |dbm: f64| 10_f64.powf((24.5 - 31.7 - dbm) / 28.0);
    let walked = |x: f64| (x * x - 25.0).sqrt() - 5.0;
    let leaves = 10.0 + walked(distance(-60.0)) / 1.5;
    assert!((leaves..leaves + 2.0).contains(&away), "{away} for {leaves}");
    let returns = 90.0 + (95.0 - walked(distance(-57.0))) / 1.5 + 1.0;
    assert!((returns..returns + 2.0).contains(&back), "{back} for {returns}");
    assert!(summary.tcp[0].to_client.bytes > 1_000_000, "the cross flow runs");
}

#[test]
fn without_repeat_the_first_crossing_alone_counts() {
    let summary = run(&[
        "action.leave.after.event=signal-above",
        "action.leave.after.dbm=-57",
        "action.leave.after.repeat=false",
    ]);
    let at = summary.unwrap().actions.iter().find(|a| a.subject.contains("10.0.2.2")).unwrap().at;
    assert_eq!(at, Some(0.0), "above at the start, not when it comes back");
}

#[test]
fn a_queue_and_a_rate_trigger_actions_too() {
    let queue = run(&[
        "action.leave.after={ event = \"queue-above\", link = \"lte\", direction = \"forward\", packets = 5 }",
    ]);
    let leave =
        |summary: Summary| summary.actions.into_iter().find(|a| a.subject.contains("10.0.2.2")).unwrap().at;
    assert_eq!(leave(queue.unwrap()), None, "nothing is sent there");
    let rate = "action.leave.after={ event = \"rate-above\", link = \"wifi\", direction = \"forward\", rate = \"1Mbps\" }";
    let at = leave(run(&[rate]).unwrap()).unwrap();
    assert!((1.0..5.0).contains(&at), "{at}");
}

#[test]
fn a_level_that_a_link_does_not_have_is_refused() {
    let fault = |set: &str| run(&[set]).unwrap_err();
    assert_eq!(
        fault("action.leave.after.link=lte"),
        "signal.toml: action.leave.after.link: \"lte\" has no receive power: want a link of type wlan or cellular with \
         radio = { coverage = 250 }, or a trace with a column signal"
    );
    assert_eq!(
        fault("action.leave.after.packets=3"),
        "signal.toml: action.leave.after.packets: \"signal-below\" has no packets: want link, dbm"
    );
    assert!(
        fault("action.leave.after={ event = \"queue-above\", link = \"lte\" }")
            .contains("direction: missing")
    );
}
