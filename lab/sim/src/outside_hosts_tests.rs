use super::*;
use crate::outside::Heard;
use msctp_units::Span;

/// Returns outside hosts of mn — two links of 1 Mbps and 5 ms — r — 100 Mbps, 1 ms — cn. `more` is added at
/// the end.
fn hosts(more: &str) -> OutsideHosts {
    let text = format!(
        r#"
        duration = "10s"
        [[node]]
        name = "mn"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[node]]
        name = "cn"
        kind = "host"
        [[link]]
        name = "wlan"
        a = "mn"
        b = "r"
        address_a = "10.0.1.1"
        rate = "1Mbps"
        delay = "5ms"
        [[link]]
        name = "lte"
        a = "mn"
        b = "r"
        address_a = "10.0.2.1"
        rate = "1Mbps"
        delay = "5ms"
        mtu = 1280
        [[link]]
        name = "core"
        a = "r"
        b = "cn"
        address_b = "10.0.0.1"
        rate = "100Mbps"
        delay = "1ms"
        {more}
        "#
    );
    let read = Scenario::from_toml_with_outside_hosts(&text, "t", &[], &|_| Err(String::new()));
    OutsideHosts::new(&read.expect("right").scenario, None).expect("right")
}

fn packet(from: [u8; 4], to: [u8; 4], len: u16) -> Vec<u8> {
    let mut packet = vec![0; usize::from(len)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[12..16].copy_from_slice(&from);
    packet[16..20].copy_from_slice(&to);
    packet
}

const MN: [u8; 4] = [10, 0, 1, 1];
const CN: [u8; 4] = [10, 0, 0, 1];

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn arrivals(hosts: &mut OutsideHosts) -> Vec<(Time, usize, Vec<u8>)> {
    let mut arrivals = Vec::new();
    hosts.take_arrivals(|at, interface, bytes| arrivals.push((at, interface, bytes.to_vec())));
    arrivals
}

#[test]
fn a_packet_passes_the_links_in_their_time_unchanged() {
    let mut hosts = hosts("");
    let sent = packet(MN, CN, 1000);
    hosts.send(at(100), 0, &sent).unwrap();
    // 8 ms at 1 Mbps, 5 ms; then 80 us at 100 Mbps, 1 ms.
    assert_eq!(hosts.next_wake(), Some(at(113)));
    hosts.run_until(at(113));
    let arrives = at(114) + Span::from_micros(80);
    assert_eq!(hosts.next_wake(), Some(arrives));
    hosts.run_until(arrives - Span::from_nanos(1));
    assert_eq!(arrivals(&mut hosts), []);
    hosts.run_until(arrives);
    hosts.run_until(arrives + Span::from_millis(3));
    assert_eq!(arrivals(&mut hosts), [(arrives, 2, sent)]);
    assert_eq!(hosts.next_wake(), None);
}

#[test]
fn each_interface_has_its_own_link_whatever_the_source_address() {
    let mut hosts = hosts("");
    hosts.send(at(0), 1, &packet(MN, CN, 100)).unwrap();
    hosts.run_until(at(100));
    assert_eq!(arrivals(&mut hosts).len(), 1);
    let summary = hosts.simulation().summary();
    let over: Vec<_> = summary.links.iter().filter(|l| l.delivered > 0).map(|l| &l.name[..]).collect();
    assert_eq!(over, ["lte/forward", "core/forward"]);
}

#[test]
fn strays_are_named() {
    let mut hosts = hosts("");
    let mut truncated = packet(MN, CN, 100);
    truncated.pop();
    for (bytes, stray) in [
        (vec![], Stray::Malformed),
        (vec![0x45], Stray::Malformed),
        (truncated, Stray::Malformed),
        (vec![0x10; 100], Stray::Malformed),
        (packet(MN, [224, 0, 0, 1], 100), Stray::NoDestination),
    ] {
        assert_eq!(hosts.send(at(0), 0, &bytes), Err(stray));
    }
    assert_eq!(hosts.next_wake(), None);
}

#[test]
fn hosts_are_notified_of_links_and_addresses() {
    let more = r#"
        [[action]]
        at = "1s"
        do = "link-down"
        link = "wlan"
        [[action]]
        at = "2s"
        do = "address-down"
        address = "10.0.2.1"
        [[action]]
        at = "3s"
        do = "link-up"
        link = "wlan"
    "#;
    let mut hosts = hosts(more);
    hosts.run_until(at(1000));
    assert_eq!(hosts.poll_news(), Some(News { interface: 0, what: Heard::Link { up: false } }));
    assert_eq!(hosts.poll_news(), None);
    hosts.send(at(1500), 0, &packet(MN, CN, 100)).unwrap();
    hosts.run_until(at(2000));
    assert_eq!(hosts.poll_news(), Some(News { interface: 1, what: Heard::Address { present: false } }));
    assert_eq!(hosts.send(at(2500), 1, &packet(MN, CN, 100)), Err(Stray::NoAddress));
    hosts.run_until(at(3000));
    assert_eq!(hosts.poll_news(), Some(News { interface: 0, what: Heard::Link { up: true } }));
    // Packets sent while the link was down are lost.
    assert_eq!(arrivals(&mut hosts), []);
    hosts.send(at(3500), 0, &packet(MN, CN, 100)).unwrap();
    hosts.run_until(at(3600));
    assert_eq!(arrivals(&mut hosts).len(), 1);
}

#[test]
fn the_path_mtu_is_that_of_the_narrowest_link() {
    let hosts = hosts("");
    assert_eq!(hosts.path_mtu(0, 2), Some(1500));
    assert_eq!(hosts.path_mtu(2, 1), Some(1280));
    assert_eq!(hosts.path_mtu(2, 9), None);
}

#[test]
fn constant_rate_sources_load_the_links_of_hosts_outside() {
    let more = r#"
        [[app]]
        name = "noise"
        type = "cbr"
        from = "10.0.1.1"
        to = "10.0.0.1"
        rate = "500kbps"
    "#;
    let mut hosts = hosts(more);
    hosts.run_until(at(5000));
    assert_eq!(arrivals(&mut hosts), []);
    let received = hosts.simulation().summary().cbr[0].received;
    assert!(received > 100, "{received}");
}

/// Returns the error of a scenario file of the repository, with values replaced.
fn refused(file: &str, overrides: &[&str]) -> String {
    let path = format!("{}/../../scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("there");
    let overrides: Vec<String> = overrides.iter().map(|&pair| pair.to_owned()).collect();
    let read = Scenario::from_toml_with_outside_hosts(&text, file, &overrides, &|_| Err(String::new()));
    read.map(drop).expect_err("refused").to_string()
}

#[test]
fn parts_that_cannot_run_with_hosts_outside_are_rejected_by_name() {
    let agents = refused("mobile-ip.toml", &[]);
    assert!(agents.starts_with("mobile-ip.toml:") && agents.contains("node.ha.kind"), "{agents}");
    let loopback = ["link.wlan.address_b=127.0.0.1", "action=[]"];
    let loopback = refused("handover.toml", &loopback);
    assert!(loopback.contains("link.wlan.address_b") && loopback.contains("want another"), "{loopback}");
    let waits = r#"action=[{ do = "link-down", link = "3g", after = { event = "established", association = "download" } }]"#;
    let waits = refused("handover.toml", &[waits]);
    assert!(waits.contains("action.0.after") && waits.contains("want at ="), "{waits}");
}

#[test]
fn associations_and_their_actions_are_omitted_and_named() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/handover.toml");
    let text = std::fs::read_to_string(path).expect("there");
    let scenario = Scenario::from_toml(&text, "handover.toml", &[]).expect("right");
    let with = scenario.with_outside_hosts().expect("can be done");
    let left_out = [
        "association \"download\"",
        "app \"file\"",
        "action 1 (add-address)",
        "action 2 (request-primary)",
        "action 3 (delete-address)",
    ];
    assert_eq!(with.left_out, left_out);
    let words: Vec<_> = with.scenario.actions.iter().map(|action| action.what.word()).collect();
    assert_eq!(words, ["link-up", "link-down"]);
    assert_eq!(with.scenario.links, scenario.links);
    with.scenario.check().expect("still makes sense");
}
