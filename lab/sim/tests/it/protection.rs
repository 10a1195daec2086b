//! The committed handover with associations protected by the DTLS chunk, beside the same in clear.

use crate::memory;

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

use memory::Memory;

fn run(set: &[&str]) -> (Summary, Vec<u8>) {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let text = include_str!("../../../../scenarios/handover.toml");
    let scenario = Scenario::from_toml(text, "handover.toml", &set).unwrap_or_else(|error| panic!("{error}"));
    let memory = Memory::default();
    let mut simulation = Simulation::new(&scenario, Some(1)).expect("right");
    simulation.capture(&["core".to_owned()], Box::new(memory.clone())).expect("memory");
    simulation.run();
    simulation.finish().expect("memory");
    let bytes = memory.take();
    (simulation.summary(), bytes)
}

#[test]
fn a_handover_under_protection_takes_no_longer() {
    // Room for the receiver's window, whatever the size of packets.
    let queue = "link.3g.queue={ packets = 100 }";
    let (clear, _) = run(&[queue, "sctp.default.authentication=false", "sctp.default.auth=not-required"]);
    let (protected, bytes) = run(&[queue, "sctp.default.protection=psk"]);
    assert_eq!(run(&[queue, "sctp.default.protection=psk"]).1, bytes, "repeatable to the bit");
    let [clear, protected] = [&clear, &protected].map(|summary| &summary.associations[0]);
    println!("in clear: {clear:#?}\nprotected: {protected:#?}");
    assert_eq!(protected.ended, None);
    // A round trip takes 230 ms.
    let set_up = [protected, clear].map(|association| association.established.unwrap());
    assert!((set_up[0] - set_up[1]).abs() < 0.01, "no round trip more: {set_up:?}");
    assert_eq!(protected.handovers.len(), clear.handovers.len());
    for (protected, clear) in protected.handovers.iter().zip(&clear.handovers) {
        assert_eq!(protected.to, clear.to);
        assert!((protected.at - clear.at).abs() < 0.05, "{} {}", protected.at, clear.at);
    }
    // A packet of 1500 bytes has 1452 bytes of user data in clear, and 28 less under protection. Where the
    // window limits the rate, that costs nothing.
    let share = protected.to_client.bytes as f64 / clear.to_client.bytes as f64;
    assert!((0.97..1.03).contains(&share), "{share}");
    assert!(protected.to_client.longest_gap <= clear.to_client.longest_gap + 0.05);
}
