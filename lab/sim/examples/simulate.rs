//! Simulates bulk transfers and prints what a data packet costs: both ends, the links, queues and events.
//!
//! `cargo run --release -p msctp-sim --example simulate [SECONDS [CASE]]`, cases counted from 0
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock; the simulation has virtual time")]

use std::time::Instant;

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// Name, scenario and overrides of each case.
const CASES: [(&str, &str, &[&str]); 3] = [
    (
        "one flow, 11 Mbps",
        include_str!("../../../scenarios/bulk-wlan.toml"),
        &["sctp.default.send_buffer=2097152", "sctp.default.initial_ssthresh=1048576"],
    ),
    (
        "200 mobiles of a cell, a handover each",
        include_str!("../../../scenarios/cell.toml"),
        &["link.core.queue={ packets = 10000 }"],
    ),
    ("10,000 mobiles, a file and a handover each", include_str!("../../../scenarios/mobiles.toml"), &[]),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds: u32 = args.next().map_or(600, |arg| arg.parse().expect("a number of seconds"));
    let only: Option<usize> = args.next().map(|arg| arg.parse().expect("the number of a case"));
    for (i, (name, text, overrides)) in CASES.into_iter().enumerate() {
        if only.is_some_and(|only| only != i) {
            continue;
        }
        let duration = format!("duration={seconds}s");
        let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).chain([duration]).collect();
        let scenario = Scenario::from_toml(text, "simulate", &overrides).expect("a valid scenario");
        let mut simulation = Simulation::new(&scenario, None).expect("a valid scenario");
        let start = Instant::now();
        simulation.run();
        let nanos = start.elapsed().as_nanos();
        let associations = simulation.summary().associations;
        let flows = associations.iter().flat_map(|a| [&a.to_server, &a.to_client]);
        let packets: u64 = flows.map(|flow| flow.data_chunks + flow.retransmitted).sum();
        println!(
            "{name}: {:4.0} ns per data packet ({packets} packets)",
            nanos as f64 / packets.max(1) as f64
        );
    }
}
