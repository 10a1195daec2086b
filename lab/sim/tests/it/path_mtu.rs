//! Path MTU discovery by probes (RFC 8899): a narrow link, a path that becomes narrower, and data fragmented
//! before that.

use msctp_sim::Simulation;
use msctp_sim::scenario::{Scenario, ScenarioError};
use msctp_sim::summary::Summary;

/// Returns a scenario of a server that sends 2 MB to a client over a link with an MTU of `first` bytes,
/// then to a second address over one with `second`. At 5 s the client requests data on the second. Links
/// send no ICMP.
fn read(first: u32, second: u32, options: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        r#"
        name = "narrow"
        duration = "60s"
        [[node]]
        name = "client"
        kind = "host"
        [[node]]
        name = "server"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[link]]
        name = "core"
        a = "server"
        b = "r"
        address_a = "10.0.0.1"
        rate = "100Mbps"
        delay = "5ms"
        [[link]]
        name = "one"
        a = "r"
        b = "client"
        address_b = "10.0.1.1"
        rate = "2Mbps"
        delay = "10ms"
        mtu = {first}
        queue = "unlimited"
        [[link]]
        name = "two"
        a = "r"
        b = "client"
        address_b = "10.0.2.1"
        rate = "2Mbps"
        delay = "10ms"
        mtu = {second}
        queue = "unlimited"
        [sctp.default]
        receive_buffer = 65536
        {options}
        [[association]]
        name = "x"
        client = "client"
        server = "server"
        client_addresses = ["10.0.1.1", "10.0.2.1"]
        server_addresses = "10.0.0.1"
        sctp = "default"
        [[app]]
        name = "file"
        type = "bulk"
        association = "x"
        from = "server"
        bytes = 2000000
        message = 4000
        [[action]]
        at = "5s"
        do = "request-primary"
        association = "x"
        address = "10.0.2.1"
        "#
    );
    Scenario::from_toml(&text, "narrow", &[])
}

fn run(first: u32, second: u32, options: &str) -> Summary {
    let scenario = read(first, second, options).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    simulation.summary()
}

const FINDING: &str = "pmtu_discovery = true";

#[test]
fn without_discovery_a_narrow_link_would_deliver_nothing_and_is_rejected() {
    let said = read(1500, 1400, "").unwrap_err().to_string();
    let want = "packets of pmtu = 1500 bytes exceed the mtu of link \"two\", 1400: want pmtu = 1400 or less, or pmtu_discovery = true";
    assert!(said.contains(want), "{said}");
}

#[test]
fn with_discovery_data_is_fragmented_for_the_narrowest_path_and_lost_probes_are_no_losses() {
    let summary = run(1500, 1300, FINDING);
    let x = &summary.associations[0].to_client;
    assert_eq!(x.bytes, 2_000_000);
    assert_eq!((x.timeouts, x.fast_retransmits, x.retransmitted), (0, 0, 0), "{x:?}");
    let two = summary.links.iter().find(|l| l.name == "two/forward").expect("there");
    assert!(two.too_big >= 3, "three probes of 1500 bytes: {}", two.too_big);
    // 2 MB at 2 Mbps take just over 8 s.
    assert!(x.completed.expect("complete") < 11.0, "{x:?}");
}

#[test]
fn a_path_narrower_than_the_base_is_found_and_larger_packets_arrive_as_ip_fragments() {
    let summary = run(1500, 800, FINDING);
    let x = &summary.associations[0].to_client;
    assert_eq!(x.bytes, 2_000_000, "{x:?}");
    assert!(x.completed.expect("complete") < 15.0, "{x:?}");
}
