//! SCTP in complete runs: handovers, windows, timers, ends. The core's own tests check the protocol; these
//! check its use by the simulator.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::Summary;
use msctp_sim::{Series, Simulation};

/// Returns the scenario client — 10 Mbps, 10 ms — server with one association `x`. `more` is added at the
/// end.
fn scenario(more: &str, set: &[&str]) -> Scenario {
    let text = format!(
        r#"
        name = "one hop"
        duration = "20s"
        [[node]]
        name = "client"
        kind = "host"
        [[node]]
        name = "server"
        kind = "host"
        [[link]]
        name = "wire"
        a = "client"
        b = "server"
        address_a = "10.0.0.1"
        address_b = "10.0.0.2"
        rate = "10Mbps"
        delay = "10ms"
        [sctp.default]
        receive_buffer = 131072
        [[association]]
        name = "x"
        client = "client"
        server = "server"
        client_addresses = "10.0.0.1"
        server_addresses = "10.0.0.2"
        sctp = "default"
        [probes]
        throughput = "100ms"
        {more}
        "#
    );
    let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
    Scenario::from_toml(&text, "one hop", &set).unwrap_or_else(|e| panic!("{e}"))
}

fn bulk(more: &str) -> String {
    format!("[[app]]\nname = \"file\"\ntype = \"bulk\"\nassociation = \"x\"\nfrom = \"client\"\n{more}\n")
}

fn run(scenario: &Scenario) -> (Summary, Series) {
    let mut simulation = Simulation::new(scenario, None).expect("right");
    simulation.run();
    (simulation.summary(), simulation.into_series())
}

#[test]
fn a_finite_transfer_arrives_whole_and_then_shuts_down() {
    let text = bulk("bytes = 1000000\nmessage = 1000")
        + "[[action]]\nafter = { event = \"delivered\", app = \"file\", delay = \"1s\" }\ndo = \"shutdown\"\nassociation = \"x\"";
    let (summary, series) = run(&scenario(&text, &[]));
    let x = &summary.associations[0];
    assert_eq!((x.to_server.bytes, x.to_server.messages), (1_000_000, 1000));
    // INIT and COOKIE ECHO take two round trips of 20 ms, plus transmission.
    let established = x.established.expect("up");
    assert!((0.040..0.042).contains(&established), "{established}");
    // 1000 bytes in packets of 1048: at least 0.84 s at 10 Mbps.
    let completed = x.to_server.completed.expect("complete");
    assert!((0.88..1.5).contains(&completed), "{completed}");
    assert_eq!(x.ended.as_deref(), Some("closed in good order"));
    let at = summary.actions[0].at.expect("done");
    assert!((at - completed - 1.0).abs() < 1e-6, "{at} {completed}");
    // Counters remain after the association has ended.
    assert_eq!(x.to_server.data_chunks, 1000);
    let total: u64 = series.delivery.iter().flat_map(|d| &d.total.sums).sum();
    assert_eq!(total, 1_000_000);
}

#[test]
fn an_endless_transfer_fills_the_link() {
    let (summary, series) = run(&scenario(&bulk(""), &[]));
    let goodput = summary.associations[0].to_server.goodput;
    // 1452 of 1500 bytes are user data: at most 9.68 Mbps.
    assert!((9_500_000..9_680_000).contains(&goodput), "{goodput}");
    let delivery = series.delivery.iter().find(|d| d.side == "server").expect("there");
    assert_eq!(delivery.total.sums.len(), 200);
    assert_eq!(delivery.per_path.len(), 1);
    assert_eq!(delivery.per_path[0].1.sums, delivery.total.sums);
    assert!(series.traces.is_empty(), "not recorded");
}

#[test]
fn a_slow_reader_closes_the_window_and_sets_the_rate() {
    let reader = "[[app]]\nname = \"slow\"\ntype = \"reader\"\nassociation = \"x\"\nat = \"server\"\nrate = \"800kbps\"\n";
    let (summary, _) = run(&scenario(&(bulk("") + reader), &[]));
    let x = &summary.associations[0];
    // 100,000 bytes per second from the start, one message ahead.
    let bytes = x.to_server.bytes;
    assert!((1_980_000..=2_001_452).contains(&bytes), "{bytes}");
    assert_eq!(x.to_server.timeouts, 0, "a closed window is not a loss");
    let stopped = reader.replace("800kbps", "0bps") + "stop = \"10s\"\n";
    let (summary, _) = run(&scenario(&(bulk("") + &stopped), &[]));
    let x = &summary.associations[0];
    // No reads for ten seconds, then all at once.
    assert!(x.to_server.first.is_some_and(|first| first >= 10.0), "{:?}", x.to_server);
    assert!(x.to_server.bytes > 8_000_000, "{}", x.to_server.bytes);
    assert!(x.ended.is_none());
}

#[test]
fn impossible_actions_are_rejected_and_reported() {
    let text = bulk("")
        + "[[action]]\nat = \"0s\"\ndo = \"set-primary\"\nassociation = \"x\"\naddress = \"10.0.0.2\"\n\
           [[action]]\nat = \"1s\"\ndo = \"delete-address\"\nassociation = \"x\"\naddress = \"10.0.0.1\"\n\
           [[action]]\nat = \"2s\"\ndo = \"heartbeat\"\nassociation = \"x\"\naddress = \"10.0.0.2\"\n";
    let (summary, _) = run(&scenario(&text, &[]));
    assert!(summary.actions[0].refused.is_none(), "a path to it exists: {:?}", summary.actions[0]);
    assert_eq!(
        summary.actions[1].refused.as_deref(),
        Some("10.0.0.1 is the last local address that reaches the peer: add another one first")
    );
    assert_eq!(summary.actions[2].refused, None);
}

#[test]
fn traces_hold_windows_and_round_trips() {
    let text = bulk("") + "[[action]]\nat = \"0s\"\ndo = \"link-up\"\nlink = \"wire\"";
    let (_, series) = run(&scenario(&text, &["probes.trace=true"]));
    let trace = series.traces.iter().find(|t| t.side == "client").expect("there");
    let w = &trace.window;
    assert!(w.at.len() > 100 && w.at.windows(2).all(|two| two[0] <= two[1]));
    assert_eq!((w.at.len(), w.at.len()), (w.cwnd.len(), w.flight_size.len()));
    assert!(w.cwnd.iter().max() > Some(&20_000), "it grew");
    assert!(trace.rtt.sample.iter().all(|s| s.as_millis() >= 20), "two ways of 10 ms");
    assert!(trace.chunks.is_empty(), "not recorded");
    let mut csv = Vec::new();
    series.write_window_csv(&mut csv).expect("memory");
    let csv = String::from_utf8(csv).expect("text");
    assert!(
        csv.starts_with("time_s,association,side,path,cwnd,ssthresh,flight_size\n0.0"),
        "{}",
        &csv[..120]
    );
}

#[test]
fn an_unreachable_server_ends_the_association() {
    let text = bulk("") + "[[action]]\nat = \"0s\"\ndo = \"link-down\"\nlink = \"wire\"";
    let (summary, _) = run(&scenario(&text, &["duration=300s"]));
    let x = &summary.associations[0];
    assert_eq!(x.established, None);
    assert_eq!(x.ended.as_deref(), Some("lost: SetupTimeout"));
}

#[test]
fn a_thousand_associations_with_one_server_are_demultiplexed() {
    let mut s = scenario("", &["duration=5s", "link.wire.rate=1Gbps", "link.wire.queue=unlimited"]);
    let first = s.associations.remove(0);
    for i in 0..1000u32 {
        let mut association = first.clone();
        association.name = format!("x{i}");
        s.associations.push(association);
        s.apps.push(msctp_sim::scenario::AppSpec {
            name: format!("file{i}"),
            start: Some(msctp_units::Span::ZERO),
            stop: None,
            kind: msctp_sim::scenario::AppKind::Bulk {
                association: format!("x{i}"),
                from: msctp_sim::scenario::Side::Client,
                bytes: Some(10_000 + u64::from(i)),
                message: 700,
                sending: msctp_sim::scenario::Sending::default(),
            },
        });
    }
    let (summary, _) = run(&s);
    for (i, x) in summary.associations.iter().enumerate() {
        assert_eq!(x.to_server.bytes, 10_000 + i as u64, "{}", x.name);
        assert!(x.to_server.completed.is_some());
    }
}

/// The summary shows every step of the committed example.
#[test]
fn the_handover_example_hands_over() {
    let text = include_str!("../../../../scenarios/handover.toml");
    let scenario = Scenario::from_toml(text, "handover.toml", &[]).expect("right");
    let (summary, series) = run(&scenario);
    assert!(summary.actions.iter().all(|a| a.refused.is_none() && a.at.is_some()), "{:?}", summary.actions);
    let x = &summary.associations[0];
    let switch = x.handovers.iter().find(|h| h.side == "server").expect("the sender switched");
    assert_eq!(switch.to, "10.0.0.1→10.0.2.2");
    assert_eq!(switch.cause, "peer");
    // Half a round trip over the 3G path after the request.
    assert!((30.1..30.3).contains(&switch.at), "{}", switch.at);
    let (before, after) = (switch.before.expect("recorded"), switch.after.expect("recorded"));
    assert!((300_000..384_000).contains(&before), "{before}");
    assert!(after > 3_000_000, "{after}");
    assert!(x.to_client.longest_gap < 0.5, "{}", x.to_client.longest_gap);
    assert_eq!(x.to_client.timeouts, 0);
    let delivery = series.delivery.iter().find(|d| d.side == "client").expect("there");
    assert_eq!(delivery.per_path.len(), 2, "over 3G, then over WLAN");
}

/// A time without deliveries is a gap only while data is missing.
#[test]
fn the_time_after_a_source_was_stopped_is_no_gap() {
    let stop = "[[action]]\nat = \"33s\"\ndo = \"stop-app\"\napp = \"file\"\n";
    let down = "[[action]]\nat = \"32.9s\"\ndo = \"link-down\"\nlink = \"wlan\"\n\
                [[action]]\nat = \"32.9s\"\ndo = \"link-down\"\nlink = \"3g\"\n";
    let text = include_str!("../../../../scenarios/handover.toml");
    let gaps = |more: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
        let scenario = Scenario::from_toml(&format!("{text}\n{more}"), "handover.toml", &set);
        let (summary, _) = run(&scenario.unwrap_or_else(|error| panic!("{error}")));
        let x = &summary.associations[0];
        let switch = x.handovers.iter().find(|h| h.side == "server").expect("the sender switched");
        assert_eq!(x.to_client.completed, None);
        (switch.gap.expect("deliveries"), x.to_client.longest_gap)
    };
    for bytes in [&[][..], &["app.file.bytes=1000000000"]] {
        let (gap, longest) = gaps(stop, &[&["duration=120s"], bytes].concat());
        assert!(gap < 0.5 && longest < 0.5, "{gap} {longest}");
    }
    // The data in flight is lost with the links.
    let (gap, longest) = gaps(&format!("{down}{stop}"), &["duration=60s"]);
    assert!(gap > 26.0 && longest > 26.0, "{gap} {longest}");
}
