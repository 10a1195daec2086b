//! Explicit congestion notification in complete runs (RFC 4960 Appendix A, RFC 3168): a queue that marks
//! before it is full, and a transfer over it with and without ECN.

use crate::memory;

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::LinkSummary;
use msctp_sim::{Simulation, Summary};

use memory::Memory;

/// The results of a run.
struct Ran {
    summary: Summary,
    events: String,
    capture: Vec<u8>,
}

impl Ran {
    fn air(&self) -> &LinkSummary {
        self.summary.links.iter().find(|link| link.name == "wlan/forward").expect("the bottleneck")
    }

    fn count(&self, event: &str) -> usize {
        self.events.lines().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
    }
}

/// Runs the committed bulk transfer over 11 Mbps for 20 s, with a long queue that marks from 20 packets on.
fn run(set: &[&str]) -> Ran {
    let mut all = vec![
        "duration=20s".to_owned(),
        "probes.trace=true".to_owned(),
        "link.wlan.queue={ packets = 400 }".to_owned(),
        "link.wlan.mark={ packets = 20 }".to_owned(),
    ];
    all.extend(set.iter().map(|&pair| pair.to_owned()));
    let text = include_str!("../../../../scenarios/bulk-wlan.toml");
    let scenario = Scenario::from_toml(text, "bulk-wlan.toml", &all).unwrap_or_else(|e| panic!("{e}"));
    let (events, capture) = (Memory::default(), Memory::default());
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.hash_trace();
    simulation.write_events(Box::new(events.clone()));
    simulation.capture(&["wlan".to_owned()], Box::new(capture.clone())).expect("memory");
    simulation.run();
    simulation.finish_events().expect("memory");
    simulation.finish().expect("memory");
    let events = String::from_utf8(events.take()).expect("text");
    Ran { summary: simulation.summary(), events, capture: capture.take() }
}

#[test]
fn marked_packets_are_not_lost_and_slow_the_sender_down() {
    let (with, without) = (run(&["sctp.default.ecn=true"]), run(&[]));
    let (marked, dropped) =
        (&with.summary.associations[0].to_server, &without.summary.associations[0].to_server);
    // A packet that cannot be marked, a CWR alone, is dropped at the threshold; data is not.
    assert!(with.air().marked > 0, "{:?}", with.air());
    assert_eq!((marked.retransmitted, marked.timeouts, marked.fast_retransmits), (0, 0, 0));
    let reductions = with.count("ecn-reduction");
    assert!(reductions >= 3, "{reductions} in 20 s");
    // Without ECN the same queue drops.
    assert!(without.air().marked == 0 && without.air().queue_drops > 0, "{:?}", without.air());
    assert!(dropped.retransmitted > 0);
    assert_eq!(without.count("ecn-reduction"), 0);
    assert!(marked.goodput * 20 >= dropped.goodput * 19, "{} {}", marked.goodput, dropped.goodput);
    assert!(with.air().longest_queue < 400, "reductions keep the queue from filling up");
}

#[test]
fn a_mark_passes_routers_and_is_captured_and_the_run_repeats() {
    let runs = [run(&["sctp.default.ecn=true"]), run(&["sctp.default.ecn=true"])];
    assert_eq!(runs[0].summary, runs[1].summary);
    assert_eq!(runs[0].capture, runs[1].capture);
    assert_eq!(runs[0].events, runs[1].events);
    // Count IPv4 headers of the sender's packets by their TOS octet: version and length, TOS, then protocol
    // 132 and the address.
    let tos = |wanted: u8| {
        runs[0]
            .capture
            .windows(20)
            .filter(|b| b[0] == 0x45 && b[1] == wanted && b[9] == 132 && b[12..16] == [10, 0, 0, 1])
            .count() as u64
    };
    assert!(tos(0b11) > 0 && tos(0b11) <= runs[0].air().marked);
    assert!(tos(0b10) > tos(0b11), "most go through as ECT(0)");
    assert_eq!(runs[0].count("marked") as u64, tos(0b11), "every mark that arrived was reported");
}

#[test]
fn a_mark_set_on_the_first_of_two_links_arrives_at_the_far_end() {
    let ran = run(&[
        "sctp.default.ecn=true",
        "link.core.rate=5Mbps",
        "link.core.queue={ packets = 400 }",
        "link.core.mark={ packets = 20 }",
    ]);
    let core = ran.summary.links.iter().find(|link| link.name == "core/forward").expect("it is there");
    assert!(core.marked > 0 && ran.air().marked == 0, "{core:?}");
    let told = ran.count("marked") as u64;
    assert!(
        told > 0 && told <= core.marked && told + 30 >= core.marked,
        "{told} of {}; the rest is in flight",
        core.marked
    );
}
