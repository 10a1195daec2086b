//! A download and a video share a link with a long queue: who waits depends on the queue's discipline.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::{LinkSummary, Summary};

const BUFFERBLOAT: &str = include_str!("../../../../scenarios/bufferbloat.toml");

fn run(text: &str, overrides: &[&str]) -> Summary {
    let overrides: Vec<String> = overrides.iter().map(|&set| set.to_owned()).collect();
    let scenario =
        Scenario::from_toml(text, "bufferbloat.toml", &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, None).unwrap_or_else(|error| panic!("{error}"));
    simulation.run();
    simulation.summary()
}

/// The direction of the download.
fn radio(summary: &Summary) -> &LinkSummary {
    summary.links.iter().find(|link| link.name == "radio/forward").expect("there")
}

/// Returns the 95th percentile of the video's delay in ms, the download's goodput in Mbps, and the drops at
/// the queue.
fn shares(overrides: &[&str]) -> (f64, f64, u64) {
    let summary = run(BUFFERBLOAT, overrides);
    let goodput = summary.tcp[0].to_client.bytes as f64 * 8.0 / 28e6;
    let late = summary.video[0].p95_transfer.expect("frames arrive");
    (late * 1e3, goodput, radio(&summary).queue_drops)
}

#[test]
fn codel_shortens_the_queue_and_fq_codel_protects_the_video() {
    let (drop_tail, full, _) = shares(&[]);
    let (codel, most, drops) = shares(&["link.radio.discipline=codel"]);
    let (fair, as_much, _) = shares(&["link.radio.discipline=fq-codel"]);
    // 25 ms of delay, up to 4 ms of jitter, 1 ms of transmission each; a full queue is 1.2 s.
    assert!(drop_tail > 500.0, "{drop_tail} ms");
    assert!(drops > 0 && codel < 100.0, "{codel} ms, {drops} drops");
    assert!(fair < 40.0 && fair < codel, "{fair} ms");
    // NewReno's window halves at each drop: with a short queue it has three quarters of the rate on average.
    for goodput in [most, as_much] {
        assert!(goodput > 0.75 * full, "drop-tail {full}, CoDel {most}, FQ-CoDel {as_much} Mbps");
    }
}

/// RFC 8290 §5.2.6 and RFC 3168 §5: a sender with ECN is slowed down without a loss.
#[test]
fn codel_marks_packets_of_a_sender_with_ecn() {
    let tcp = BUFFERBLOAT.find("[[tcp]]").unwrap()..BUFFERBLOAT.find("[[app]]").unwrap();
    let text = BUFFERBLOAT
        .replace(&BUFFERBLOAT[tcp], "")
        .replace("tcp = \"download\"", "association = \"call\"")
        .replace("name = \"call\"", "name = \"call\"\nsctp = \"x\"")
        + "[sctp.x]\n";
    for (ecn, marks) in [("true", true), ("false", false)] {
        let overrides = [&format!("sctp.x.ecn={ecn}") as &str, "link.radio.discipline=codel"];
        let summary = run(&text, &overrides);
        let link = radio(&summary);
        assert_eq!((link.marked > 0, link.queue_drops > 0), (marks, !marks), "{link:?}");
        assert!(summary.associations[0].to_client.bytes > 25_000_000, "{ecn}");
    }
}

#[test]
fn the_same_seed_gives_the_same_jitter_and_reordering() {
    let overrides = ["link.radio.reorder={ share = 0.05, by = \"8ms\" }", "link.radio.discipline=fq-codel"];
    let first = run(BUFFERBLOAT, &overrides);
    assert_eq!(first, run(BUFFERBLOAT, &overrides));
    assert!(first.tcp[0].to_client.duplicate_acks > 100, "overtaken segments");
    assert_ne!(first.packets, run(BUFFERBLOAT, &[&overrides[..], &["seed=2"]].concat()).packets);
}
