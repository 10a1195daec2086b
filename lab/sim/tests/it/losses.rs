//! The causes of losses that the simulator reports to senders are true, and change no byte for senders
//! without an oracle.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::VerdictSummary;
use msctp_sim::{Simulation, Summary};

const PLAIN: &str = include_str!("../../../../scenarios/park-jang/plain.toml");

fn run(overrides: &[&str]) -> Summary {
    let mut all: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    all.push("duration=60s".to_owned());
    for flow in ["association.sctp-transfer", "tcp.competitor"] {
        if !overrides.iter().any(|text| text.starts_with(flow)) {
            all.push(format!("{flow}.start=60s"));
        }
    }
    let scenario = Scenario::from_toml(PLAIN, "plain.toml", &all).unwrap();
    let mut simulation = Simulation::new(&scenario, Some(1)).unwrap();
    simulation.run();
    simulation.summary()
}

/// No loss on the wire, on the air, or in the short queues is reported with a wrong cause.
#[test]
fn the_oracle_gets_true_causes_over_tcp_and_sctp() {
    let lossy =
        ["link.wire.forward.loss=0.005", "link.radio.forward.loss=0.005", "link.radio.queue={ packets = 5 }"];
    let tcp = [&lossy[..], &["tcp-profile.sender.loss_classifier=oracle"]].concat();
    let sctp = [
        &lossy[..],
        &[
            "sctp.sender.loss_classifier=oracle",
            "association.sctp-transfer.start=0s",
            "tcp.transfer.start=60s",
        ],
    ]
    .concat();
    let (over_tcp, over_sctp) = (run(&tcp), run(&sctp));
    let verdicts = [over_tcp.tcp[0].to_client.verdicts, over_sctp.associations[0].to_client.verdicts];
    for verdicts in verdicts.map(Option::unwrap) {
        let VerdictSummary { wireless_as_wireless, congestion_as_congestion, .. } = verdicts;
        assert!(wireless_as_wireless > 5 && congestion_as_congestion > 5, "{verdicts:?}");
        assert_eq!(
            (verdicts.wireless_as_congestion, verdicts.congestion_as_wireless),
            (0, 0),
            "{verdicts:?}"
        );
    }
}

#[test]
fn a_loss_has_the_cause_configured_for_its_link() {
    let oracle = "tcp-profile.sender.loss_classifier=oracle";
    // No queue can be full.
    let queues = ["link.wire.queue=unlimited", "link.radio.queue=unlimited"];
    let air = [&queues[..], &["link.radio.forward.loss=0.01", oracle]].concat();
    let as_is = run(&air).tcp[0].to_client.verdicts.unwrap();
    assert!(as_is.wireless_as_wireless > 0 && as_is.congestion_as_congestion == 0, "{as_is:?}");
    let turned = run(&[&air[..], &["link.radio.loss_means=congestion"]].concat());
    let turned = turned.tcp[0].to_client.verdicts.unwrap();
    assert!(turned.wireless_as_wireless == 0 && turned.congestion_as_congestion > 0, "{turned:?}");
}

#[test]
fn causes_are_not_recorded_without_a_classifier() {
    assert_eq!(run(&["link.radio.forward.loss=0.01"]).tcp[0].to_client.verdicts, None);
}
