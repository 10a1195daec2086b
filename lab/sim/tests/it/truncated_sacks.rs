//! SACKs whose gap blocks do not fit: a queue drops every other packet of thousands.
//!
//! RFC 9260 §6.7 reports the lowest gap blocks. What lies beyond the last one may have arrived.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// The link's rate falls to three tenths for two seconds.
const COLLAPSE: &str = r#"
name = "collapse"
duration = "10s"
seed = 1
[sctp.sender]
profile = "mobile"
pmtu_discovery = false
receive_buffer = 67108864
send_buffer = 67108864
[[node]]
name = "client"
kind = "host"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "net"
a = "client"
b = "server"
address_a = "10.0.0.1"
address_b = "10.0.0.2"
rate = "1Gbps"
delay = "20ms"
queue = { packets = 500 }
[[action]]
at = "3s"
do = "set-link"
link = "net"
rate = "300Mbps"
[[action]]
at = "5s"
do = "set-link"
link = "net"
rate = "1Gbps"
[[association]]
name = "a"
client = "client"
server = "server"
sctp = "sender"
client_addresses = ["10.0.0.1"]
server_addresses = ["10.0.0.2"]
[[app]]
name = "bulk"
type = "bulk"
association = "a"
from = "client"
"#;

/// Returns the rate in Mbit/s, the retransmitted chunks and the dropped packets, each of one chunk.
fn run(set: &[&str]) -> (f64, u64, u64) {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::from_toml(COLLAPSE, "collapse.toml", &set).unwrap();
    let mut simulation = Simulation::new(&scenario, None).unwrap();
    simulation.run();
    let summary = simulation.summary();
    let flow = &summary.associations[0].to_server;
    let dropped = summary.links.iter().find(|link| link.name == "net/forward").unwrap().queue_drops;
    (flow.bytes as f64 * 8.0 / 10e6, flow.retransmitted, dropped)
}

#[test]
fn only_what_was_dropped_is_retransmitted() {
    // 363 blocks fit into a packet.
    let (rate, again, dropped) = run(&[]);
    assert!(dropped > 1000, "{dropped} dropped");
    assert!(again <= dropped, "{again} retransmitted, {dropped} dropped");
    assert!(rate > 550.0, "{rate} Mbit/s");
}

#[test]
fn a_peer_that_reports_16_gap_blocks_causes_no_needless_retransmissions() {
    // The limit of Linux.
    let (rate, again, dropped) = run(&["sctp.sender.max_gap_blocks=16"]);
    assert!(dropped > 1000, "{dropped} dropped");
    assert!(again <= dropped, "{again} retransmitted, {dropped} dropped");
    // 16 retransmissions in a round trip of 40 ms fill as many holes of two packets.
    assert!(rate > 16.0 * 2.0 * 1452.0 * 8.0 / 0.04 / 1e6, "{rate} Mbit/s");
}
