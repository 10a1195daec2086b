//! Every congestion controller of the catalogue with the real core, over a simulated path.

use msctp_lab_schemes::catalogue::controllers;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::FlowSummary;
use msctp_sim::{Simulation, Summary};
use msctp_units::Time;

/// Runs the committed bulk transfer over a WLAN.
fn run(set: &[String]) -> Summary {
    let text = include_str!("../../../../scenarios/bulk-wlan.toml");
    let scenario = Scenario::from_toml(text, "bulk-wlan.toml", set).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    simulation.summary()
}

fn set(pairs: &[&str]) -> Vec<String> {
    pairs.iter().map(|&pair| pair.to_owned()).collect()
}

fn sent(summary: &Summary) -> &FlowSummary {
    &summary.associations[0].to_server
}

#[test]
fn every_controller_fills_the_link_and_yields_to_losses() {
    for info in controllers() {
        let choose = format!("sctp.default.controller={}", info.name);
        let clean = run(&set(&[&choose, "duration=20s"]));
        // 1452 of 1500 bytes are user data: 10.6 Mbps at most.
        let rate = sent(&clean).bytes as f64 * 8.0 / 20e6;
        println!("{}: {rate:.2} Mbps, {} retransmitted", info.name, sent(&clean).retransmitted);
        assert!(rate > 9.5, "{}: {rate} Mbps", info.name);
        let lossy = run(&set(&[&choose, "duration=20s", "link.wlan.loss=0.02"]));
        let with_losses = sent(&lossy).bytes as f64 * 8.0 / 20e6;
        println!("{}: {with_losses:.2} Mbps with 2 % losses", info.name);
        assert!(with_losses > 0.5 && with_losses < rate, "{}: {with_losses} Mbps", info.name);
    }
}

/// RFC 9406 §1: leaving slow start early avoids the losses of its overshoot.
#[test]
fn hystart_avoids_most_losses_of_slow_start() {
    let again = |hystart: bool| {
        let summary = run(&set(&[
            "duration=5s",
            "link.wlan.rate=50Mbps",
            "link.wlan.delay=50ms",
            "link.wlan.queue={ packets = 500 }",
            "sctp.default.receive_buffer=8388608",
            "sctp.default.send_buffer=8388608",
            "sctp.default.controller=cubic",
            &format!("sctp.default.controller_options.hystart={hystart}"),
        ]));
        println!(
            "hystart {hystart}: {} of {} retransmitted",
            sent(&summary).retransmitted,
            sent(&summary).data_chunks
        );
        sent(&summary).retransmitted
    };
    let (with, without) = (again(true), again(false));
    assert!(with * 2 < without, "{with} with, {without} without");
}

/// Rates in Mbit/s, each for half a second, in a cycle.
const CHANGES: [u32; 8] = [40, 4, 12, 40, 28, 3, 18, 40];

/// A download for 30 s over 25 ms each way and a queue of 500 packets, at a rate that changes tenfold within
/// a second. Returns the share of the capacity and the 95th percentile of the queueing delay in seconds,
/// sampled every 10 ms.
fn changing(controller: &str) -> (f64, f64) {
    let text = format!(
        r#"
duration = "30s"
[[node]]
name = "mobile"
kind = "host"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "air"
type = "trace"
a = "server"
b = "mobile"
address_a = "10.0.0.1"
address_b = "10.0.1.2"
trace = "changing.csv"
column = "rate"
delay = "25ms"
queue = {{ packets = 500 }}
[sctp.mobile]
profile = "mobile"
{controller}
[[association]]
name = "download"
sctp = "mobile"
client = "mobile"
server = "server"
client_addresses = ["10.0.1.2"]
server_addresses = ["10.0.0.1"]
[[app]]
name = "file"
type = "bulk"
association = "download"
from = "server"
[probes]
queues = "10ms"
"#
    );
    let mut table = String::from("time,rate\n");
    for (half, rate) in CHANGES.iter().enumerate() {
        table += &format!("{},{rate}\n", half as f64 / 2.0);
    }
    table += "4.0,0\n";
    let open = |_: &str| Ok(table.clone());
    let scenario = Scenario::from_toml_and_files(&text, "changing.toml", &[], &open).expect("right");
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let carried = simulation.summary().associations[0].to_client.bytes as f64 * 8.0;
    let series = simulation.into_series();
    let queue = series.queues.iter().find(|queue| queue.direction == "air/forward").expect("there");
    let mut delays: Vec<f64> =
        queue.at.iter().zip(&queue.bytes).map(|(&at, &bytes)| drain(at, bytes)).collect();
    delays.sort_by(f64::total_cmp);
    let mean = f64::from(CHANGES.iter().sum::<u32>()) / CHANGES.len() as f64;
    // 1452 of 1500 bytes are user data
    (carried / (mean * 1e6 * 30.0 * 0.968), delays[delays.len() * 95 / 100])
}

/// Returns the seconds that the bytes in the queue at `at` need to leave.
fn drain(at: Time, bytes: u64) -> f64 {
    let (start, mut bits) = (at.as_secs_f64(), bytes as f64 * 8.0);
    let mut now = start;
    loop {
        let half = (now * 2.0).floor();
        let rate = f64::from(CHANGES[half as usize % CHANGES.len()]) * 1e6;
        let end = (half + 1.0) / 2.0;
        if bits <= (end - now) * rate {
            return now + bits / rate - start;
        }
        bits -= (end - now) * rate;
        now = end;
    }
}

#[test]
fn delay_bound_follows_a_rate_that_changes_tenfold() {
    let cubic = changing("controller = \"cubic\"");
    let bbr = changing("controller = \"bbr\"\ncontroller_options = { hystart = true }");
    let own = changing("controller = \"delay-bound\"");
    println!("share and p95 of the queueing delay: delay-bound {own:?}, cubic {cubic:?}, bbr {bbr:?}");
    assert!(own.0 >= 0.9, "{own:?}");
    // A flight of 40 Mbit/s takes half a second at 4 Mbit/s.
    assert!(own.1 <= cubic.1 * 0.65 && own.1 < bbr.1, "{own:?}, cubic {cubic:?}, bbr {bbr:?}");
}

/// Runs two downloads over one link of 20 Mbit/s, the second one five seconds later. `rtt` is in
/// milliseconds. Returns the share of the link that each gets in 60 s.
fn shares(first: &str, second: &str, queue: u32, rtt: u32) -> Vec<f64> {
    let delay = rtt / 2 - 2;
    let profile = |name: &str, controller: &str| {
        format!("[sctp.{name}]\nprofile = \"mobile\"\ncontroller = \"{controller}\"\n")
    };
    let pair = |number: u32, name: &str| {
        format!(
            r#"
[[node]]
name = "c{number}"
kind = "host"
[[node]]
name = "s{number}"
kind = "host"
[[link]]
name = "left{number}"
a = "s{number}"
b = "left"
address_a = "10.0.{number}.1"
rate = "1Gbps"
delay = "1ms"
queue = {{ packets = 1000 }}
[[link]]
name = "right{number}"
a = "right"
b = "c{number}"
address_b = "10.1.{number}.1"
rate = "1Gbps"
delay = "1ms"
queue = {{ packets = 1000 }}
[[association]]
name = "a{number}"
sctp = "{name}"
client = "c{number}"
server = "s{number}"
client_addresses = ["10.1.{number}.1"]
server_addresses = ["10.0.{number}.1"]
[[app]]
name = "file{number}"
type = "bulk"
association = "a{number}"
from = "server"
start = "{}s"
"#,
            (number - 1) * 5
        )
    };
    let text = format!(
        r#"
duration = "60s"
{}{}
[[node]]
name = "left"
kind = "router"
[[node]]
name = "right"
kind = "router"
[[link]]
name = "bottleneck"
a = "left"
b = "right"
rate = "20Mbps"
delay = "{delay}ms"
queue = {{ packets = {queue} }}
{}{}"#,
        profile("one", first),
        profile("two", second),
        pair(1, "one"),
        pair(2, "two")
    );
    let scenario = Scenario::from_toml(&text, "pair.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let associations = simulation.summary().associations;
    associations.iter().map(|a| a.to_client.bytes as f64 * 8.0 / 1.2e9).collect()
}

#[test]
fn delay_bound_and_cubic_leave_each_other_room() {
    leave_room(&[(20, 15), (50, 25), (80, 100)]);
}

#[test]
#[ignore = "ten seconds; scripts/test slow runs it"]
fn slow_delay_bound_and_cubic_leave_each_other_room_on_all_paths() {
    let paths = [20, 50, 80].into_iter().flat_map(|rtt| [15, 25, 50, 100].map(|queue| (rtt, queue)));
    leave_room(&paths.collect::<Vec<_>>());
}

/// Each controller gets at least a tenth, and `delay-bound` at most 0.6 beside CUBIC, also if the buffer is
/// shallow. `paths`: the round trip (ms) and the queue (packets) of each; bandwidth-delay products are 33 to
/// 133 packets.
fn leave_room(paths: &[(u32, u32)]) {
    let beside = [("delay-bound", "cubic"), ("cubic", "delay-bound")].into_iter();
    let cases = paths.iter().flat_map(|&path| beside.clone().map(move |pair| (pair, path)));
    for ((first, second), (rtt, queue)) in cases.chain([(("delay-bound", "delay-bound"), (50, 100))]) {
        let shares = shares(first, second, queue, rtt);
        println!("{first} {:.2}, then {second} {:.2}: {queue} packets, {rtt} ms", shares[0], shares[1]);
        assert!(shares.iter().all(|&share| share >= 0.1), "{first} and {second}: {shares:?}");
        let own = [first, second].iter().position(|name| *name == "delay-bound").expect("one of them");
        let beside_cubic = first != second;
        assert!(!beside_cubic || shares[own] <= 0.6, "{first} and {second}: {shares:?}");
        assert!(shares.iter().sum::<f64>() >= 0.85, "{first} and {second}: {shares:?}");
    }
}
