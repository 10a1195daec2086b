//! Mobile IP in complete runs: agents, tunnels, and the number of packets delivered.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::{LinkSummary, MobileIpSummary, Summary};
use msctp_sim::{Simulation, Summary as Run};
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../../../../scenarios/mobile-ip.toml");

/// Returns the example with these overrides.
fn example(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::from_toml(EXAMPLE, "mobile-ip.toml", &overrides).expect("right")
}

/// Returns the example with packets at a constant rate from the correspondent in place of its application and
/// association.
fn with_cbr(overrides: &[&str]) -> Scenario {
    let mut scenario = example(overrides);
    let cbr = r#"
        name = "cbr"
        duration = "200s"
        [[node]]
        name = "x"
        kind = "host"
        [[node]]
        name = "y"
        kind = "host"
        [[link]]
        name = "l"
        a = "x"
        b = "y"
        address_a = "10.0.0.1"
        address_b = "10.0.1.2"
        rate = "1Mbps"
        delay = "1ms"
        [[app]]
        name = "stream"
        type = "cbr"
        from = "10.0.0.1"
        to = "10.0.1.2"
        rate = "80kbps"
        packet = 500
        jitter = false
        random_phase = false
        stop = "190s"
    "#;
    scenario.apps = Scenario::from_toml(cbr, "cbr", &[]).expect("right").apps;
    scenario.associations.clear();
    scenario
}

fn run(scenario: &Scenario, seed: u64) -> Run {
    let mut simulation = Simulation::new(scenario, Some(seed)).expect("right");
    simulation.hash_trace();
    simulation.run();
    simulation.summary()
}

fn mobile_ip(summary: &Summary) -> &MobileIpSummary {
    summary.mobile_ip.as_ref().expect("there are agents")
}

fn link<'s>(summary: &'s Summary, name: &str) -> &'s LinkSummary {
    summary.links.iter().find(|link| link.name == name).expect(name)
}

#[test]
fn the_example_registers_abroad_renews_and_comes_home() {
    let summary = run(&example(&[]), 1);
    let [mobile] = &mobile_ip(&summary).mobiles[..] else { panic!("one mobile") };
    let to: Vec<&str> = mobile.handovers.iter().map(|handover| handover.to.as_str()).collect();
    assert_eq!(to, ["fa", "ha"]);
    for handover in &mobile.handovers {
        let registered = handover.registered.expect("accepted");
        // Over the radio, 20 ms to the router and 20 ms to the home agent, and back: 80 ms. At home it is
        // immediate.
        let expected = if handover.to == "fa" { 0.08..0.2 } else { 0.0..0.1 };
        assert!(expected.contains(&(registered - handover.at)), "{handover:?}");
    }
    // 30 s of lifetime, renewed after 22.5 s, for about 100 s.
    assert_eq!(mobile.renewals, 4);
    assert_eq!((mobile.denied, mobile.lost.len()), (0, 0));
    let [home, foreign] = &mobile_ip(&summary).agents[..] else { panic!("two agents") };
    assert!(home.tunnelled > 1000);
    assert_eq!(home.tunnelled, foreign.delivered + foreign.strangers);
    // The mobile sends directly from its visited network: none of its data passes the home agent meanwhile.
    let abroad = link(&summary, "fa-wire/reverse").delivered;
    assert!(abroad > 10_000, "{abroad}");
    let upload = &summary.associations[0];
    assert!(upload.ended.is_none() && upload.to_server.longest_gap < 10.0, "{:?}", upload.to_server);
}

/// Waiting for three silent seconds takes up to three seconds longer than changing at the first
/// advertisement.
#[test]
fn an_eager_mobile_has_a_shorter_gap_than_a_lazy_one() {
    let gaps = |switching: &str| -> Vec<f64> {
        let scenario = with_cbr(&[&format!("node.mh.mobile.switching={switching}")]);
        let summary = run(&scenario, 1);
        mobile_ip(&summary).mobiles[0].handovers.iter().map(|h| h.gap.expect("reached again")).collect()
    };
    let (lazy, eager) = (gaps("lazy"), gaps("eager"));
    assert_eq!((lazy.len(), eager.len()), (2, 2));
    for (lazy, eager) in lazy.iter().zip(&eager) {
        assert!(*eager < 0.3, "cells overlap, so there need be no gap: {eager} s");
        assert!((1.5..5.0).contains(lazy), "{lazy} s");
    }
}

#[test]
fn the_same_seed_repeats_the_run_and_another_seed_differs() {
    let scenario = example(&["duration=100s"]);
    let first = run(&scenario, 7);
    assert_eq!(first, run(&scenario, 7));
    assert_ne!(first.trace_hash, run(&scenario, 8).trace_hash);
}

#[test]
fn without_the_foreign_agent_the_mobile_is_unreachable_abroad() {
    // Its cell reaches one metre only.
    let summary = run(&with_cbr(&["link.cell-fa.radio.coverage=1"]), 1);
    let mobile = &mobile_ip(&summary).mobiles[0];
    assert_eq!(mobile.lost.len(), 1, "{mobile:?}");
    assert_eq!(mobile_ip(&summary).agents[0].tunnelled, 0);
    // Out of coverage from 62 s to 157 s, 20 packets a second. Up to 51 of them are still being retransmitted
    // at the home agent when it returns.
    let lost = summary.cbr[0].sent - summary.cbr[0].received;
    assert!((1849..=1920).contains(&lost), "{lost}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// For any timing, each packet of a stream to the mobile is delivered once or lost at one known place.
    /// The tunnel duplicates none, and none disappears.
    #[test]
    fn no_packet_is_duplicated_or_unaccounted(
        eager: bool,
        leaves in 1..60u64,
        speed in 5..120u64,
        offset in 0..1000u64,
        lifetime in 2..40u64,
        slope in 2..12u64,
        seed: u64,
    ) {
        let overrides = [
            format!("node.mh.mobile.switching={}", if eager { "eager" } else { "lazy" }),
            format!("node.mh.mobile.lifetime={lifetime}s"),
            format!("node.mh.waypoints=[{{ at = \"{leaves}s\", to = [390, 0], speed = {speed} }}, {{ at = \"100s\", to = [10, 0], speed = {speed} }}]"),
            format!("node.fa.agent.offset={offset}ms"),
            format!("link.cell-ha.fading.slope={slope}"),
            format!("link.cell-fa.fading.slope={slope}"),
        ];
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let mut scenario = with_cbr(&overrides);
        // Everything has arrived at the end: in the last ten seconds only signalling is sent.
        let stopped = {
            scenario.duration = msctp_units::Span::from_secs(200);
            run(&scenario, seed)
        };
        let cbr = &stopped.cbr[0];
        prop_assert!((3800..=3801).contains(&cbr.sent), "20 a second for 190 s");
        let lost_on_links: u64 =
            stopped.links.iter().map(|l| l.queue_drops + l.losses + l.down_drops + l.too_big).sum();
        let elsewhere = stopped.no_address + stopped.no_route;
        let strangers: u64 = mobile_ip(&stopped).agents.iter().map(|agent| agent.strangers).sum();
        let missing = cbr.sent - cbr.received;
        // Signalling is lost on the same links: the losses exceed the missing packets by at most that.
        let signalling: u64 = 2 * 201 + 400;
        let accounted = lost_on_links + elsewhere + strangers;
        prop_assert!(missing <= accounted && accounted <= missing + signalling, "{missing} {accounted}");
        let [home, foreign] = &mobile_ip(&stopped).agents[..] else { panic!("two agents") };
        prop_assert_eq!(home.tunnelled, foreign.delivered + foreign.strangers);
        prop_assert!(foreign.delivered <= cbr.sent && home.tunnelled <= cbr.sent);
    }
}

/// Returns the error after replacing the first occurrence of `from` by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "{from} is not in the scenario");
    let text = EXAMPLE.replacen(from, to, 1);
    let error = Scenario::from_toml(&text, "m.toml", &[]).expect_err(to);
    let line = error.line.expect("a line");
    let text = error.to_string();
    assert!(text.starts_with(&format!("m.toml:{line}: ")), "{text}");
    text.split_once(": ").expect("a message").1.to_owned()
}

#[test]
fn errors_of_agents_and_mobiles_name_the_key() {
    for (from, to, want) in [
        ("kind = \"home-agent\"", "kind = \"agent\"", "node.ha.kind: \"agent\" is unknown; want one of"),
        (
            "home_agent = \"ha\"",
            "home_agent = \"hb\"",
            "node.mh.mobile.home_agent: there is no home agent \"hb\"; did you mean \"ha\"?",
        ),
        (
            "address_b = \"10.0.1.1\"          # the home agent's address\n",
            "",
            "node.ha.kind: a mobility agent with 0 addresses: want one",
        ),
        ("switching = \"lazy\"", "switching = \"lasy\"", "\"lasy\" is unknown; did you mean \"lazy\"?"),
        (
            "lifetime = \"30s\"",
            "lifetime = \"1500ms\"",
            "node.mh.mobile.lifetime: 1500ms: want whole seconds",
        ),
        ("interval = \"1s\"", "intervall = \"1s\"", "intervall: unknown key; did you mean \"interval\"?"),
        ("interval = \"1s\"", "interval = \"9s\"", "node.ha.agent.lifetime: 3s is shorter than the interval"),
        ("speed = 20", "speed = 0", "0: want 0.001 to 1000000 (metres per second)"),
        ("to = [390, 0]", "to = [390]", "want two numbers, metres eastwards and northwards"),
        ("at = \"150s\"", "at = \"5s\"", "node.mh.waypoints: 5s follows 50s"),
        ("kind = \"router\"", "kind = \"router\"\nagent = {}", "node.r.agent: the node is not an agent"),
    ] {
        let text = error(from, to);
        assert!(text.contains(want), "{text}\nwant {want}");
    }
}

#[test]
fn errors_of_wireless_links_name_the_key() {
    for (from, to, want) in [
        ("rate = \"2Mbps\"", "rate = \"0bps\"", "link.cell-ha.rate: a link of 0bps carries nothing"),
        ("rate = \"2Mbps\"", "rat = \"2Mbps\"", "link.cell-ha.rat: unknown key; did you mean \"rate\"?"),
        ("rate = \"2Mbps\"\n", "", "link.cell-ha.rate: missing: want rate = \"11Mbps\""),
        ("{ coverage = 250 }", "{ coverage = 0 }", "link.cell-ha.radio.coverage: 0: want 1 to 1000000"),
        (
            "{ coverage = 250 }",
            "{ exponent = 3 }",
            "want exactly one of coverage = 250 (metres) and sensitivity",
        ),
        ("radio = { coverage = 250 }\n", "", "link.cell-ha.fading: needs the receive power: want radio"),
        ("{ slope = 4 }", "{ slope = 0 }", "link.cell-ha.fading.slope: want more than 0"),
        ("{ slope = 4 }", "{ slope = 4, shape = 2 }", "link.cell-ha.fading.shortest: missing"),
        (
            "{ slope = 4 }",
            "{ slope = 4, shortest = \"1s\", longest = \"1ms\", shape = 2 }",
            "link.cell-ha.fading.shortest: want more than 0s and at most longest",
        ),
        ("type = \"wlan\"", "type = \"wlan\"\nretries = -1", "link.cell-ha.retries: -1 is out of range"),
        (
            "type = \"wlan\"",
            "type = \"wlan\"\nshared = false\ncell = \"x\"",
            "link.cell-ha.cell: the link shares its airtime with nobody",
        ),
        (
            "type = \"wlan\"",
            "type = \"wlam\"",
            "link.cell-ha.type: \"wlam\" is unknown; did you mean \"wlan\"?",
        ),
    ] {
        let text = error(from, to);
        assert!(text.contains(want), "{text}\nwant {want}");
    }
    let both = [
        "link.cell-ha.cell=x".to_owned(),
        "link.cell-fa.cell=x".to_owned(),
        "link.cell-fa.rts=true".to_owned(),
    ];
    let text = Scenario::from_toml(EXAMPLE, "m.toml", &both).expect_err("two timings").to_string();
    assert!(
        text.contains("link.cell-fa.cell: rates, retries, rts, backoff, adaptation or collisions differ"),
        "{text}"
    );
}

const FU: &str = include_str!("../../../../scenarios/fu-atiquzzaman/mobile-ip.toml");

/// Each of the three transports of the paper's scenario delivers data after both handovers.
#[test]
fn the_papers_scenario_runs_with_each_transport() {
    for (transport, overrides) in [
        ("sctp", &[][..]),
        ("reno", &["association.sctp.start=200s", "tcp.reno.start=0s"][..]),
        ("sack", &["association.sctp.start=200s", "tcp.sack.start=0s"][..]),
    ] {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        let scenario = Scenario::from_toml(FU, "fu.toml", &overrides).expect("right");
        let summary = run(&scenario, 1);
        let over_sctp = (summary.associations[0].to_server.bytes, summary.associations[0].to_server.last);
        let over_tcp = summary.tcp.iter().map(|tcp| {
            let its = if tcp.name == transport { tcp.to_server.bytes } else { 0 };
            assert!(tcp.name == transport || tcp.to_server.bytes == 0, "{} sends too", tcp.name);
            (its, tcp.to_server.last.filter(|_| tcp.name == transport))
        });
        let all = std::iter::once(over_sctp).chain(over_tcp);
        let (bytes, last) = all.into_iter().find(|&(bytes, _)| bytes > 0).expect("one sends");
        // 948 bytes per segment. The paper has far more, and both handovers are complete at 175 s.
        assert!(bytes / 948 > 500, "{transport}: {} segments", bytes / 948);
        assert!(last.is_some_and(|last| last > 185.0), "{transport}: {last:?}");
        let mobile = &mobile_ip(&summary).mobiles[0];
        // Near the end of a cell, advertisements are lost and it may change back. From 79 s to 150 s it is
        // abroad, at the end at home.
        let used = |until: f64| {
            let registered = mobile.handovers.iter().filter(|h| h.registered.is_some_and(|at| at < until));
            registered.max_by(|a, b| a.at.total_cmp(&b.at)).map(|handover| handover.to.as_str())
        };
        assert_eq!((used(150.0), used(200.0)), (Some("fa"), Some("ha")), "{transport}");
    }
}
