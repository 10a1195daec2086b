//! Every congestion controller of the catalogue with the real core, over a simulated path.

use msctp_schemes::catalogue::controllers;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::FlowSummary;
use msctp_sim::{Simulation, Summary};

/// Runs the committed bulk transfer over a WLAN.
fn run(set: &[String]) -> Summary {
    let text = include_str!("../../../scenarios/bulk-wlan.toml");
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
