//! The same scenario and seed give the same bytes on every link, however many runs execute in parallel.

use crate::memory;

use std::sync::Arc;

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

use memory::Memory;

/// Returns the committed handover with jittered background traffic and losses on both radio links.
fn scenario() -> Scenario {
    let base = include_str!("../../../../scenarios/handover.toml");
    let text = base.to_owned()
        + r#"
        [[node]]
        name = "other"
        kind = "host"
        [[link]]
        name = "side"
        a = "other"
        b = "r"
        address_a = "10.0.9.1"
        rate = "100Mbps"
        delay = "1ms"
        [[app]]
        name = "noise"
        type = "cbr"
        from = "10.0.9.1"
        to = "10.0.2.2"
        rate = "3Mbps"
        "#;
    let set = ["link.3g.loss=0.01", "link.wlan.loss={ share = 0.01, mean_burst = 3 }"].map(str::to_owned);
    Scenario::from_toml(&text, "handover.toml", &set).expect("right")
}

fn run(scenario: &Scenario, seed: u64) -> (Summary, Vec<u8>) {
    let memory = Memory::default();
    let mut simulation = Simulation::new(scenario, Some(seed)).expect("right");
    simulation.hash_trace();
    simulation.capture(&["3g".to_owned(), "wlan".to_owned()], Box::new(memory.clone())).expect("memory");
    simulation.run();
    simulation.finish().expect("memory");
    let bytes = memory.take();
    (simulation.summary(), bytes)
}

#[test]
fn the_same_seed_repeats_the_run_and_another_seed_differs() {
    let scenario = scenario();
    let (first, second, other) = (run(&scenario, 1), run(&scenario, 1), run(&scenario, 2));
    assert!(first.1.len() > 100_000, "{} bytes captured", first.1.len());
    assert!(first == second, "same seed, other run");
    assert_ne!(first.0.trace_hash, other.0.trace_hash);
    assert_ne!(first.1, other.1);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the point is runs in several threads at once")]
fn parallel_runs_equal_single_runs() {
    let scenario = Arc::new(scenario());
    let alone: Vec<_> = (1..=4).map(|seed| run(&scenario, seed)).collect();
    let threads: Vec<_> = (1..=4)
        .map(|seed| {
            let scenario = Arc::clone(&scenario);
            std::thread::spawn(move || run(&scenario, seed))
        })
        .collect();
    for (alone, thread) in alone.into_iter().zip(threads) {
        assert!(alone == thread.join().expect("no panic"), "seed {}", alone.0.seed);
    }
}

#[test]
fn pausing_a_run_changes_nothing() {
    let scenario = scenario();
    let (whole, _) = run(&scenario, 3);
    let mut pieces = Simulation::new(&scenario, Some(3)).expect("right");
    pieces.hash_trace();
    for ms in (0..=60_000).step_by(777) {
        pieces.run_until(msctp_units::Time::from_nanos(ms * 1_000_000));
    }
    pieces.run();
    assert_eq!(pieces.summary(), whole);
}

#[test]
fn captured_packets_have_their_checksum_whenever_the_capture_begins() {
    use msctp_wire::{Checksum, Packet};
    use pcap_file::pcapng::{Block, PcapNgReader};
    let memory = Memory::default();
    let mut simulation = Simulation::new(&scenario(), Some(1)).expect("right");
    simulation.run_until(msctp_units::Time::from_nanos(5_000_000_000));
    simulation.capture(&[], Box::new(memory.clone())).expect("memory");
    simulation.run_until(msctp_units::Time::from_nanos(6_000_000_000));
    simulation.finish().expect("memory");
    let bytes = memory.take();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut packets = 0;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        // IPv4 without options; protocol 132 is SCTP.
        if packet.data[9] == 132 {
            Packet::parse(&packet.data[20..], Checksum::Verify).unwrap();
            packets += 1;
        }
    }
    assert!(packets > 100, "{packets}");
}
