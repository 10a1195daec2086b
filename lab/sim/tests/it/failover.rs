//! Three networks that fail silently in turn: the delivery gaps with and without RFC 7829.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::Summary;
use msctp_units::{Span, Time};

/// Runs a client that reaches the server over three links. The first is silent from 5 s on, and the second
/// from 10 s on. All links are up again at 25 s.
fn run(options: &str) -> Summary {
    let mut text = String::from("name = \"three links\"\nduration = \"40s\"\n");
    for (name, kind) in [
        ("client", "host"),
        ("server", "host"),
        ("r1", "router"),
        ("r2", "router"),
        ("r3", "router"),
        ("s1", "router"),
        ("s2", "router"),
        ("s3", "router"),
    ] {
        text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    for n in 1..=3 {
        text += &format!(
            "[[link]]\nname = \"access{n}\"\na = \"client\"\nb = \"r{n}\"\naddress_a = \"10.0.{n}.1\"\n\
             rate = \"10Mbps\"\ndelay = \"10ms\"\n\
             [[link]]\nname = \"middle{n}\"\na = \"r{n}\"\nb = \"s{n}\"\nrate = \"100Mbps\"\ndelay = \"1ms\"\n\
             [[link]]\nname = \"core{n}\"\na = \"s{n}\"\nb = \"server\"\naddress_b = \"10.1.{n}.1\"\n\
             rate = \"100Mbps\"\ndelay = \"5ms\"\n"
        );
    }
    text += &format!(
        "[sctp.default]\nreceive_buffer = 131072\n{options}\n\
         [[association]]\nname = \"x\"\nclient = \"client\"\nserver = \"server\"\n\
         client_addresses = [\"10.0.1.1\", \"10.0.2.1\", \"10.0.3.1\"]\n\
         server_addresses = [\"10.1.1.1\", \"10.1.2.1\", \"10.1.3.1\"]\nsctp = \"default\"\n\
         [[app]]\nname = \"file\"\ntype = \"bulk\"\nassociation = \"x\"\nfrom = \"server\"\n\
         [probes]\nthroughput = \"100ms\"\n"
    );
    // The network fails between the routers: neither end is notified.
    for (at, what, n) in [(5, "down", 1), (10, "down", 2), (25, "up", 1), (25, "up", 2)] {
        text += &format!("[[action]]\nat = \"{at}s\"\ndo = \"link-{what}\"\nlink = \"middle{n}\"\n");
    }
    let scenario = Scenario::from_toml(&text, "three links", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    simulation.summary()
}

#[test]
fn potentially_failed_paths_are_left_after_one_timeout() {
    let usual = run("");
    let quick = run("potentially_failed_threshold = 0");
    let (usual, quick) = (&usual.associations[0].to_client, &quick.associations[0].to_client);
    // RFC 9260: data stays on the dead path after each of its timeouts, 1, 2, 4 … seconds, until the sixth.
    assert!(usual.longest_gap > 1.9, "{usual:?}");
    // RFC 7829: a timeout for each of two failures, RTO.Min and a round trip.
    assert!(quick.longest_gap < 1.5, "{quick:?}");
    assert!(quick.bytes > usual.bytes * 5 / 4, "{} {}", quick.bytes, usual.bytes);
    assert!(quick.timeouts < usual.timeouts, "{quick:?} {usual:?}");
}

#[test]
fn impossible_thresholds_are_rejected() {
    let wrong = Scenario::from_toml(
        "name = \"x\"\nduration = \"1s\"\n[sctp.default]\nprimary_switchover_threshold = 2\n",
        "x",
        &[],
    );
    let error = wrong.expect_err("data leaves the primary after six errors").to_string();
    assert!(error.contains("sctp.default.primary_switchover_threshold"), "{error}");
}

/// A bulk transfer whose mobile loses its only link at 10 s and returns at once with another address.
/// Deadlines of the server's old path are then in the past.
const BREAK_BEFORE_MAKE: &str = r#"
duration = "15s"
node = [{ name = "mobile", kind = "host" }, { name = "server", kind = "host" }, { name = "r", kind = "router" }]
[[link]]
name = "core"
a = "server"
b = "r"
address_a = "10.0.0.1"
rate = "1Gbps"
delay = "0ms"
queue = { packets = 1000 }
[[link]]
name = "old"
a = "r"
b = "mobile"
address_b = "10.0.1.2"
rate = "11Mbps"
delay = "20ms"
queue = { packets = 50 }
[[link]]
name = "new"
a = "r"
b = "mobile"
address_b = "10.0.2.2"
rate = "384kbps"
delay = "100ms"
queue = { packets = 50 }
[sctp.default]
profile = "mobile"
[[association]]
name = "d"
sctp = "default"
client = "mobile"
server = "server"
client_addresses = ["10.0.1.2"]
server_addresses = ["10.0.0.1"]
[[app]]
name = "file"
type = "bulk"
association = "d"
from = "server"
[[action]]
at = "0s"
do = "link-down"
link = "new"
[[action]]
at = "10s"
do = "link-down"
link = "old"
[[action]]
at = "10s"
do = "link-up"
link = "new"
[[action]]
at = "10s"
do = "add-address"
association = "d"
address = "10.0.2.2"
[[action]]
at = "10s"
do = "request-primary"
association = "d"
address = "10.0.2.2"
"#;

#[test]
fn a_deadline_in_the_past_does_not_turn_the_clock_back() {
    let scenario =
        Scenario::from_toml(BREAK_BEFORE_MAKE, "break.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    // `Simulation::run` asserts in debug builds that no event lies before the last one.
    let mut simulation = Simulation::new(&scenario, None).unwrap_or_else(|e| panic!("{e}"));
    simulation.run();
    assert_eq!(simulation.now(), Time::ZERO + Span::from_secs(15));
}
