//! Associations through NATs, firewalls and captive portals in complete runs.

use std::fmt::Write;

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::{AssociationSummary, MiddleboxSummary, Summary};
use msctp_sim::{Simulation, Summary as Run};

const EXAMPLE: &str = include_str!("../../../../scenarios/three-interfaces-nat.toml");

/// A mobile behind a middlebox, and a server with two addresses. `{box}` is the middlebox.
const ONE: &str = r#"
    duration = "30s"
    [[node]]
    name = "mobile"
    kind = "host"
    [[node]]
    name = "server"
    kind = "host"
    [[node]]
    name = "r"
    kind = "router"
    [[node]]
    name = "box"
    {box}
    [[link]]
    name = "inside"
    a = "mobile"
    b = "box"
    address_a = "10.0.0.2"
    rate = "10Mbps"
    delay = "5ms"
    [[link]]
    name = "outside"
    a = "box"
    b = "r"
    {public}
    rate = "10Mbps"
    delay = "5ms"
    [[link]]
    name = "first"
    a = "r"
    b = "server"
    address_b = "192.0.2.1"
    rate = "100Mbps"
    delay = "5ms"
    [[link]]
    name = "second"
    a = "r"
    b = "server"
    address_b = "192.0.2.2"
    rate = "100Mbps"
    delay = "5ms"
    [sctp.both]
    profile = "mobile"
    hb_interval = "5s"
    [[association]]
    name = "a"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.0.2"
    server_addresses = ["192.0.2.1", "192.0.2.2"]
    sctp = "both"
    [[app]]
    name = "down"
    type = "bulk"
    association = "a"
    from = "server"
"#;

fn nat(options: &str) -> String {
    ONE.replace("{box}", &format!("kind = \"nat\"\nnat = {{ outside = \"outside\", {options} }}"))
        .replace("{public}", "address_a = \"203.0.113.7\"")
}

fn without_address(middlebox: &str) -> String {
    ONE.replace("{box}", middlebox).replace("{public}", "")
}

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::from_toml(text, "t.toml", &overrides).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, overrides: &[&str]) -> Run {
    let mut simulation = Simulation::new(&parse(text, overrides), None).expect("right");
    simulation.hash_trace();
    simulation.run();
    simulation.summary()
}

fn error(text: &str) -> String {
    Scenario::from_toml(text, "t.toml", &[]).expect_err("wrong").to_string()
}

fn association(summary: &Summary) -> &AssociationSummary {
    &summary.associations[0]
}

fn middlebox<'s>(summary: &'s Summary, name: &str) -> &'s MiddleboxSummary {
    summary.middleboxes.iter().find(|it| it.name == name).expect(name)
}

/// Adds an action.
fn with_action(text: &str, action: &str) -> String {
    format!("{text}\n[[action]]\n{action}\n")
}

const KINDS: [&str; 3] = ["endpoint-independent", "address-dependent", "address-and-port-dependent"];

#[test]
fn a_download_passes_every_kind_of_nat() {
    for mapping in KINDS {
        for filtering in KINDS {
            let text = nat(&format!("mapping = \"{mapping}\", filtering = \"{filtering}\""));
            let summary = run(&text, &["duration=10s"]);
            let it = association(&summary);
            assert_eq!(it.ended, None, "{mapping} {filtering}");
            // 10 Mbps for 10 s are 12.5 MB.
            assert!(it.to_client.bytes > 11_000_000, "{mapping} {filtering}: {}", it.to_client.bytes);
            assert!(it.to_client.longest_gap < 1.0, "{mapping} {filtering}: {:?}", it.to_client);
            let nat = middlebox(&summary, "box");
            // One mapping, or one for each of the server's addresses.
            let expected = if mapping == "endpoint-independent" { 1 } else { 2 };
            assert_eq!(nat.created, expected, "{mapping} {filtering}");
            assert_eq!(nat.outward_dropped, 0);
        }
    }
}

/// Packets from the server's other address pass a symmetric NAT only at the port that the mobile's packets to
/// that address have.
#[test]
fn both_addresses_of_the_server_reach_a_mobile_behind_a_symmetric_nat() {
    let text = nat("mapping = \"address-and-port-dependent\"");
    let failing = with_action(&text, "at = \"10s\"\ndo = \"link-down\"\nlink = \"first\"");
    let summary = run(&failing, &["sctp.both.path_max_retrans=1", "sctp.both.rto_max=2s"]);
    let it = association(&summary);
    assert_eq!(it.ended, None);
    assert!(it.to_client.bytes > 20_000_000, "{:?}", it.to_client);
    assert!(it.to_client.last > Some(29.9), "{:?}", it.to_client);
}

#[test]
fn the_association_survives_a_rebinding_in_mid_transfer() {
    for mapping in KINDS {
        let text = nat(&format!("mapping = \"{mapping}\""));
        let mut text = with_action(&text, "at = \"10s\"\ndo = \"rebind\"\nnode = \"box\"");
        text = with_action(&text, "at = \"20s\"\ndo = \"rebind\"\nnode = \"box\"");
        let summary = run(&text, &[]);
        let it = association(&summary);
        assert_eq!(it.ended, None, "{mapping}");
        assert!(it.to_client.last > Some(29.9), "{mapping}: {:?}", it.to_client);
        let nat = middlebox(&summary, "box");
        assert!(nat.created >= 3 && nat.inward_dropped > 0, "{mapping}: {nat:?}");
        assert!(it.to_client.longest_gap < 4.0, "{mapping}: {:?}", it.to_client);
    }
}

/// An upload sends the packets that create new mappings itself, so that only the answers in flight are lost.
#[test]
fn an_upload_hardly_notices_a_rebinding() {
    let text = nat("").replace("from = \"server\"", "from = \"client\"");
    let summary = run(&with_action(&text, "at = \"10s\"\ndo = \"rebind\"\nnode = \"box\""), &[]);
    let it = association(&summary);
    assert!(it.ended.is_none() && it.to_server.longest_gap < 0.1, "{:?}", it.to_server);
    assert_eq!(middlebox(&summary, "box").created, 2);
}

/// Heartbeats of an idle association keep the mapping alive if they are more frequent than its timeout.
/// Otherwise the next packet from inside gets another port, which the server learns.
#[test]
fn heartbeats_keep_a_mapping_alive_if_they_are_shorter_than_its_timeout() {
    let idle = |timeout: &str| {
        let text = nat(&format!("timeout = \"{timeout}\""))
            .replace("name = \"down\"", "name = \"down\"\nbytes = 20000");
        let late = r#"
            [[app]]
            name = "late"
            type = "bulk"
            association = "a"
            from = "server"
            bytes = 100000
            start = "100s"
        "#;
        run(&(text + late), &["duration=120s", "sctp.both.hb_interval=20s"])
    };
    let kept = idle("60s");
    assert_eq!(middlebox(&kept, "box").created, 1);
    assert_eq!(association(&kept).to_client.bytes, 120_000);
    let forgotten = idle("10s");
    assert!(middlebox(&forgotten, "box").created > 3, "{:?}", forgotten.middleboxes);
    assert_eq!(association(&forgotten).ended, None);
}

#[test]
fn a_mobile_with_three_interfaces_moves_between_all_of_them() {
    let summary = run(EXAMPLE, &[]);
    let it = association(&summary);
    assert_eq!(it.ended, None);
    for action in &summary.actions {
        assert!(action.at.is_some() && action.refused.is_none(), "{action:?}");
    }
    let at_server: Vec<(u64, &str)> = it
        .handovers
        .iter()
        .filter(|handover| handover.side == "server")
        .map(|handover| (handover.at as u64, handover.to.as_str()))
        .collect();
    assert_eq!(
        at_server,
        [(20, "192.0.2.1→203.0.113.9"), (40, "192.0.2.1→198.51.100.2"), (60, "192.0.2.1→203.0.113.7")]
    );
    assert!(it.to_client.longest_gap < 0.5, "{:?}", it.to_client);
    // 20, 10, 30 and 20 Mbps for 20 s each are 200 MB.
    assert!(it.to_client.bytes > 170_000_000, "{:?}", it.to_client);
    assert_eq!(summary, run(EXAMPLE, &[]), "the same seed repeats the run");
}

#[test]
fn clients_of_one_nat_are_told_apart() {
    let mut text = nat("");
    for number in 2..5 {
        write!(
            text,
            r#"
            [[node]]
            name = "m{number}"
            kind = "host"
            [[link]]
            name = "inside{number}"
            a = "m{number}"
            b = "box"
            address_a = "10.0.{number}.2"
            rate = "10Mbps"
            delay = "5ms"
            [[association]]
            name = "a{number}"
            client = "m{number}"
            server = "server"
            client_addresses = "10.0.{number}.2"
            server_addresses = ["192.0.2.1", "192.0.2.2"]
            sctp = "both"
            [[app]]
            name = "up{number}"
            type = "bulk"
            association = "a{number}"
            from = "client"
            bytes = {number}00000
            "#
        )
        .expect("a string");
    }
    let summary = run(&text, &[]);
    let sent: Vec<u64> = summary.associations[1..].iter().map(|a| a.to_server.bytes).collect();
    assert_eq!(sent, [200_000, 300_000, 400_000]);
    assert_eq!(middlebox(&summary, "box").created, 4);
}

#[test]
fn tcp_and_constant_rate_traffic_pass_a_nat_from_inside() {
    let traffic = r#"
        [[tcp]]
        name = "t"
        client = "mobile"
        server = "server"
        client_address = "10.0.0.2"
        server_address = "192.0.2.1"
        [[app]]
        name = "page"
        type = "bulk"
        tcp = "t"
        from = "server"
        bytes = 1000000
        [[app]]
        name = "out"
        type = "cbr"
        from = "10.0.0.2"
        to = "192.0.2.2"
        rate = "100kbps"
        [[app]]
        name = "in"
        type = "cbr"
        from = "192.0.2.2"
        to = "10.0.0.2"
        rate = "100kbps"
    "#;
    let summary = run(&(nat("") + traffic), &[]);
    assert_eq!(summary.tcp[0].to_client.bytes, 1_000_000);
    let [out, unsolicited] = &summary.cbr[..] else { panic!("two") };
    assert!(out.sent > 300 && out.received + 5 > out.sent, "{out:?}");
    assert_eq!(unsolicited.received, 0, "nobody asked for it");
    assert!(middlebox(&summary, "box").inward_dropped > 300);
}

#[test]
fn a_firewall_lets_answers_in_and_nothing_else() {
    let text =
        without_address("kind = \"firewall\"\nfirewall = { outside = \"outside\", timeout = \"30s\" }");
    let noise = r#"
        [[app]]
        name = "in"
        type = "cbr"
        from = "192.0.2.2"
        to = "10.0.0.2"
        rate = "100kbps"
    "#;
    let summary = run(&(text + noise), &[]);
    let it = association(&summary);
    assert!(it.ended.is_none() && it.to_client.bytes > 33_000_000, "{:?}", it.to_client);
    assert_eq!(summary.cbr[0].received, 0);
    assert_eq!(middlebox(&summary, "box").created, 2, "one for each of the server's addresses");
}

#[test]
fn a_captive_portal_passes_nothing_until_somebody_signs_in() {
    let text = without_address("kind = \"captive-portal\"\nportal = { outside = \"outside\" }");
    let closed = run(&text, &[]);
    assert_eq!(association(&closed).established, None);
    assert!(middlebox(&closed, "box").outward_dropped > 0);
    let opened = run(&with_action(&text, "at = \"3s\"\ndo = \"open-portal\"\nnode = \"box\""), &[]);
    assert!(association(&opened).established > Some(3.0), "{:?}", association(&opened));
}

/// LTE works; the Wi-Fi of a café has a captive portal. `{open}` says whether it is open at the start.
const CAFE: &str = r#"
    duration = "40s"
    [[node]]
    name = "mobile"
    kind = "host"
    [[node]]
    name = "server"
    kind = "host"
    [[node]]
    name = "r"
    kind = "router"
    [[node]]
    name = "cafe"
    kind = "captive-portal"
    portal = { outside = "uplink", open = {open} }
    [[link]]
    name = "core"
    a = "server"
    b = "r"
    address_a = "192.0.2.1"
    rate = "100Mbps"
    delay = "5ms"
    [[link]]
    name = "lte"
    a = "r"
    b = "mobile"
    address_b = "198.51.100.2"
    rate = "10Mbps"
    delay = "20ms"
    [[link]]
    name = "uplink"
    a = "r"
    b = "cafe"
    rate = "50Mbps"
    delay = "5ms"
    [[link]]
    name = "wifi"
    a = "cafe"
    b = "mobile"
    address_b = "198.51.100.66"
    rate = "50Mbps"
    delay = "2ms"
    [sctp.both]
    profile = "mobile"
    [[association]]
    name = "a"
    client = "mobile"
    server = "server"
    client_addresses = "198.51.100.2"
    server_addresses = "192.0.2.1"
    sctp = "both"
    [[app]]
    name = "down"
    type = "bulk"
    association = "a"
    from = "server"
    [[action]]
    at = "5s"
    do = "add-address"
    association = "a"
    address = "198.51.100.66"
    [[action]]
    at = "10s"
    do = "request-primary"
    association = "a"
    address = "198.51.100.66"
"#;

#[test]
fn a_move_into_a_captive_portal_is_not_made() {
    let summary = run(&CAFE.replace("{open}", "false"), &[]);
    let it = association(&summary);
    assert_eq!(it.ended, None);
    assert!(it.to_client.longest_gap < 1.0, "the data stayed on LTE: {:?}", it.to_client);
    assert!(it.to_client.bytes > 40_000_000, "{:?}", it.to_client);
}

/// The session at the portal ends during the transfer: the carrier stays up, and no packet passes any more.
#[test]
fn a_portal_that_closes_under_a_transfer_is_retreated_from() {
    let text =
        with_action(&CAFE.replace("{open}", "true"), "at = \"20s\"\ndo = \"close-portal\"\nnode = \"cafe\"");
    let summary = run(&text, &[]);
    let it = association(&summary);
    let moved: Vec<u64> = it.handovers.iter().filter(|h| h.side == "server").map(|h| h.at as u64).collect();
    assert_eq!(moved.first(), Some(&10), "it moved to the open portal: {:?}", it.handovers);
    assert_eq!(it.ended, None);
    assert!(it.to_client.longest_gap < 2.0, "{:?}", it.to_client);
    assert!(it.to_client.last > Some(39.9), "{:?}", it.to_client);
    // 10 s on LTE, 10 s on Wi-Fi, 20 s on LTE: 12.5, 62 and 25 MB.
    assert!(it.to_client.bytes > 85_000_000, "{:?}", it.to_client);
}

#[test]
fn errors_name_the_key_and_the_remedy() {
    let text = nat("");
    for (from, to, expected) in [
        (
            "nat = { outside = \"outside\",  }",
            "",
            "node.box.nat: missing: want nat = { outside = \"the link to the outside\" }",
        ),
        (
            "outside = \"outside\"",
            "outside = \"outsid\"",
            "node.box.nat.outside: \"box\" has no link \"outsid\"; did you mean \"outside\"?",
        ),
        (
            "address_a = \"203.0.113.7\"",
            "",
            "node.box.nat.outside: its public address is missing: want address_a, such as \"198.51.100.7\", in link \"outside\"",
        ),
        (
            "    b = \"box\"\n",
            "    b = \"box\"\n    address_b = \"10.0.0.1\"\n",
            "node.box.nat.outside: \"box\" has no address inside: want address_b of link \"inside\" left out",
        ),
        (
            "outside = \"outside\", ",
            "outside = \"outside\", ports = [90, 80]",
            "node.box.nat.ports: [90, 80]: want the first and the last port, such as [1024, 65535]",
        ),
        (
            "outside = \"outside\", ",
            "outside = \"outside\", timeout = \"0s\"",
            "node.box.nat.timeout: a timeout of 0s blocks every answer: want a longer one, such as \"30s\"",
        ),
        (
            "outside = \"outside\", ",
            "outside = \"outside\", mapping = \"symmetric\"",
            "node.box.nat.mapping: \"symmetric\" is unknown; want one of endpoint-independent, address-dependent, address-and-port-dependent",
        ),
        (
            "kind = \"nat\"",
            "kind = \"firewall\"",
            "node.box.nat: the node is of kind \"firewall\": want this table left out, or kind = \"nat\"",
        ),
        (
            "client_addresses = \"10.0.0.2\"\n    server_addresses = [\"192.0.2.1\", \"192.0.2.2\"]",
            "client_addresses = \"192.0.2.1\"\n    server_addresses = [\"10.0.0.2\"]",
            "association.a.server_addresses: 10.0.0.2 is behind the nat \"box\": want a server outside of it",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let mut text = text.replacen(from, to, 1);
        if expected.contains("server outside") {
            text = text.replace(
                "client = \"mobile\"\n    server = \"server\"",
                "client = \"server\"\n    server = \"mobile\"",
            );
        }
        let error = error(&text);
        let (place, fault) = error.split_once(": ").expect("a place");
        assert_eq!(fault, expected);
        assert!(place.strip_prefix("t.toml:").is_some_and(|line| line.parse::<u32>().is_ok()), "{place}");
    }
    let listed = EXAMPLE
        .replace("client_addresses = [\"10.0.1.2\"]", "client_addresses = [\"10.0.1.2\", \"100.64.0.2\"]");
    assert!(error(&listed).ends_with(
        "10.0.1.2 is behind the nat \"home\", so the server cannot use it: want one address, and an action do = \"add-address\" for each other one"
    ));
    let wrong = with_action(&text, "at = \"1s\"\ndo = \"open-portal\"\nnode = \"box\"");
    assert!(error(&wrong).ends_with(
        "action.0.node: \"box\" is not a captive-portal: want a node with kind = \"captive-portal\""
    ));
    let scenario = parse(&text, &[]);
    let refused = scenario.with_outside_hosts().expect_err("a NAT").to_string();
    assert_eq!(
        refused,
        "node.box.kind: a nat works inside the simulator and cannot be emulated: want kind = \"router\""
    );
}

#[test]
fn addresses_that_one_nat_translates_are_one_path_and_a_warning() {
    let warnings = |text: &str| Scenario::from_toml(text, "nat.toml", &[]).expect("valid").unused();
    assert_eq!(warnings(EXAMPLE), [""; 0], "a NAT for each interface");
    // The LTE link leads to the home router too.
    let (before, after) = EXAMPLE.split_once("name = \"lte\"").expect("the link");
    let one = format!("{before}name = \"lte\"{}", after.replacen("a = \"operator\"", "a = \"home\"", 1));
    let warned = warnings(&one);
    assert!(
        warned.iter().any(|text| text
            == "association.download has one path over 10.0.1.2, 100.64.0.2: all are 203.0.113.7 behind the nat \"home\", \
                and nothing moves between them; want a nat for each"),
        "{warned:?}"
    );
    // The move is not one: the server has no path that it could move to.
    let run = |text: &str| {
        let scenario = Scenario::from_toml(text, "nat.toml", &["duration=30s".to_owned()]).expect("valid");
        let mut simulation = Simulation::new(&scenario, None).expect("valid");
        simulation.run();
        let handovers = simulation.summary().associations.remove(0).handovers;
        handovers.iter().filter(|handover| handover.at > 20.0).count()
    };
    let short = |text: &str| {
        text.replace("at = \"30s\"", "at = \"29s\"")
            .replace("at = \"40s\"", "at = \"30s\"")
            .replace("at = \"60s\"", "at = \"30s\"")
    };
    assert_eq!(run(&short(&one)), 0);
    assert!(run(&short(EXAMPLE)) > 0);
}
