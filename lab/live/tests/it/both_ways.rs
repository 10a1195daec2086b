//! One short scenario in virtual time and on real stacks, and how far the two agree. As root; without it the
//! tests say so and are left out, unless MSCTP_NEED_EMULATION=1.

use std::sync::atomic::AtomicBool;

use msctp_live::{Error, Live, Options, run};
use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

/// A video moves from one path to another on which TCP is at work: 8 s.
///
///            5 Mbps, 15 ms
///     cn --- r --- one --- mn (10.0.1.2)
///            +---- two --- mn (10.0.2.2, from 3 s, primary at 4 s)
///     bulk --- r, sink behind the same queue as mn's second address
const TEXT: &str = r#"
    name = "both-ways"
    duration = "8s"
    [[node]]
    name = "cn"
    kind = "host"
    [[node]]
    name = "mn"
    kind = "host"
    [[node]]
    name = "r"
    kind = "router"
    [[link]]
    name = "core"
    a = "cn"
    b = "r"
    address_a = "10.0.0.1"
    rate = "100Mbps"
    delay = "5ms"
    [[link]]
    name = "one"
    a = "r"
    b = "mn"
    address_b = "10.0.1.2"
    rate = "2Mbps"
    delay = "30ms"
    [[link]]
    name = "two"
    a = "r"
    b = "mn"
    address_b = "10.0.2.2"
    rate = "5Mbps"
    delay = "15ms"
    queue = { packets = 30 }
    [sctp.cn]
    handover_policy = "large-initial-window"
    max_burst = 0
    [sctp.cn.policy]
    initial_window = { packets = 10 }
    [[association]]
    name = "session"
    client = "mn"
    server = "cn"
    client_addresses = ["10.0.1.2"]
    server_addresses = ["10.0.0.1"]
    server_sctp = "cn"
    start = "100ms"
    [[app]]
    name = "video"
    type = "video"
    association = "session"
    from = "server"
    size = 4000
    interval = "33ms"
    start = "1s"
    stop = "7s"
    [[tcp]]
    name = "flow"
    client = "cn"
    server = "mn"
    client_address = "10.0.0.1"
    server_address = "10.0.2.2"
    [[app]]
    name = "file"
    type = "bulk"
    tcp = "flow"
    from = "client"
    start = "500ms"
    [[action]]
    at = "3s"
    do = "add-address"
    association = "session"
    address = "10.0.2.2"
    [[action]]
    at = "4s"
    do = "request-primary"
    association = "session"
    address = "10.0.2.2"
    [[action]]
    at = "6s"
    do = "delete-address"
    association = "session"
    address = "10.0.1.2"
    [probes]
    throughput = "100ms"
    trace = true
    messages = true
"#;

fn scenario() -> Scenario {
    Scenario::from_toml(TEXT, "both-ways", &[]).expect("right")
}

fn simulated(scenario: &Scenario) -> Summary {
    let mut simulation = Simulation::new(scenario, None).expect("right");
    simulation.run();
    simulation.summary()
}

/// Runs the scenario on real stacks. Returns `None` where hosts cannot be emulated.
fn real(scenario: &Scenario) -> Option<Result<Live, Error>> {
    if let Err(missing) = msctp_emu::need::check() {
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{missing}");
        eprintln!("left out: {missing}");
        return None;
    }
    Some(run(scenario, Options { seed: None, capture: None, qlog: None, cancel: &AtomicBool::new(false) }))
}

#[track_caller]
fn close(what: &str, real: f64, simulated: f64, share: f64, slack: f64) {
    let allowed = share * simulated + slack;
    assert!((real - simulated).abs() <= allowed, "{what}: {real} on real stacks, {simulated} simulated");
}

/// The time bounds include how late packets and programs were at most, so that a busy machine does not fail.
#[test]
fn alone_one_scenario_gives_the_same_result_in_virtual_time_and_on_real_stacks() {
    let scenario = scenario();
    let Some(live) = real(&scenario) else { return };
    let (live, summary) = (live.expect("carried out"), simulated(&scenario));
    let (ours, theirs) = (&live.summary.associations[0], &summary.associations[0]);
    // A packet is late where the emulator is; a program is late in the same way when it answers.
    let late = 8.0 * live.emulation.lateness.max;
    // The data sent does not depend on the machine.
    assert_eq!(live.summary.video[0].generated, summary.video[0].generated);
    assert_eq!(live.summary.video[0].undelivered, 0);
    assert_eq!(ours.to_client.bytes, theirs.to_client.bytes);
    assert_eq!(ours.ended, None);
    assert!(live.summary.actions.iter().all(|action| action.refused.is_none()), "{:?}", live.summary.actions);
    // Set-up: two round trips of 70 ms, and a handover at the request's arrival.
    close("set-up, s", ours.established.expect("up"), theirs.established.expect("up"), 0.0, 0.01 + late);
    let moved = |summary: &Summary| {
        let handovers = &summary.associations[0].handovers;
        handovers.iter().find(|h| h.side == "server").map(|h| h.at).expect("it moved")
    };
    // Its packet may wait behind TCP's: 30 packets at 5 Mbps.
    close("handover, s", moved(&live.summary), moved(&summary), 0.0, 0.08 + late);
    // A message's queueing time beside a TCP depends on where the two saw-teeth meet, so one run of each
    // proves nothing. The table in docs/validation.md compares many.
    assert!(live.summary.video[0].mean_transfer.expect("delivered") < 0.2, "{:?}", live.summary.video[0]);
    let tcp = |summary: &Summary| summary.tcp[0].to_server.bytes as f64;
    close("TCP, bytes", tcp(&live.summary), tcp(&summary), 0.10, 0.0);
    // The same books: a trace of both ends, deliveries over time.
    assert!(live.series.traces.iter().any(|trace| trace.side == "server" && !trace.window.at.is_empty()));
    let over_time: u64 = live.series.delivery[0].total.sums.iter().sum();
    assert_eq!(over_time, ours.to_client.bytes);
}

#[test]
fn a_cancelled_run_returns_an_error() {
    if msctp_emu::need::check().is_err() {
        return;
    }
    let done =
        run(&scenario(), Options { seed: None, capture: None, qlog: None, cancel: &AtomicBool::new(true) });
    assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
}
