//! Cells with a scheduler, recorded signals, and the scenarios that show them.

use std::fs;
use std::path::Path;

use msctp_sim::scenario::{Scenario, Schemes};
use msctp_sim::{Simulation, Summary};

/// Runs a file of `scenarios/`.
fn file(name: &str, set: &[&str]) -> Summary {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = fs::read_to_string(folder.join(name)).expect("a scenario");
    run(&text, set, &|name| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string()))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str, set: &[&str], open: &dyn Fn(&str) -> Result<String, String>) -> Result<Summary, String> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::with_schemes(text, "test.toml", &set, open, &Schemes::none())
        .map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&scenario, None).map_err(|error| error.to_string())?;
    simulation.run();
    Ok(simulation.summary())
}

/// Returns two users of a cell with a constant stream for each, and more keys for the links.
fn cell(one: &str, two: &str) -> String {
    let user = |number: u32, keys: &str| {
        format!(
            "[[node]]\nname = \"m{number}\"\nkind = \"host\"\n[[link]]\nname = \"u{number}\"\ntype = \"cellular\"\ncell = \"x\"\n\
             a = \"bs\"\nb = \"m{number}\"\naddress_b = \"10.0.{number}.2\"\nqueue = {{ packets = 20 }}\n{keys}\n\
             [[app]]\nname = \"s{number}\"\ntype = \"cbr\"\nfrom = \"10.0.0.1\"\nto = \"10.0.{number}.2\"\nrate = \"40Mbps\"\n"
        )
    };
    format!(
        "duration = \"4s\"\n[[node]]\nname = \"server\"\nkind = \"host\"\n[[node]]\nname = \"bs\"\nkind = \"router\"\n[[link]]\n\
         name = \"core\"\na = \"server\"\nb = \"bs\"\naddress_a = \"10.0.0.1\"\nrate = \"1Gbps\"\ndelay = \"1ms\"\n{}{}",
        user(1, one),
        user(2, two)
    )
}

fn received(text: &str, set: &[&str]) -> Result<[f64; 2], String> {
    let summary = run(text, set, &|name| Err(format!("{name} is not there")))?;
    Ok([0, 1].map(|user| summary.cbr[user].received_bytes as f64 * 8.0 / 4.0 / 1e6))
}

#[test]
fn the_users_of_a_cell_share_it_and_those_of_two_cells_do_not() {
    let text = cell("rate = \"20Mbps\"", "rate = \"20Mbps\"");
    for mbps in received(&text, &[]).expect("a run") {
        assert!((9.5..10.1).contains(&mbps), "{mbps}");
    }
    for mbps in received(&text, &["link.u2.cell=y"]).expect("a run") {
        assert!((19.0..20.1).contains(&mbps), "{mbps}");
    }
    let [near, far] = received(&cell("rate = \"30Mbps\"", "rate = \"6Mbps\""), &[]).expect("a run");
    assert!((4.6..5.2).contains(&(near / far)), "equal time: {near} and {far} Mbps");
}

#[test]
fn a_users_rate_follows_its_distance() {
    let radio = "radio = { coverage = 500 }\nbandwidth = 10";
    let at = |metres: u32| {
        let text = cell(radio, "rate = \"1Mbps\"")
            .replace("name = \"m1\"\n", &format!("name = \"m1\"\nposition = [{metres}, 0]\n"));
        received(&text, &["link.u2.cell=y"]).expect("a run")[0]
    };
    let [near, half, edge, out] = [10, 250, 499, 501].map(at);
    // 0.6 · log2(1 + SNR) · 10 MHz: at half the radius −10 + 28 · log10(2) = −1.57 dB, 4.56 Mbps; at most
    // 44 Mbps.
    assert!((39.0..40.1).contains(&near), "{near}: the stream");
    assert!((4.3..4.6).contains(&half), "{half}");
    assert!((0.7..0.9).contains(&edge), "{edge}");
    assert_eq!(out, 0.0);
}

#[test]
fn faulty_cells_are_rejected() {
    let rate = "rate = \"20Mbps\"";
    let fault = |one: &str, two: &str, set: &[&str]| received(&cell(one, two), set).expect_err("faulty");
    let has = |error: &str, part: &str| assert!(error.contains(part), "{error}");
    has(
        &fault("", rate, &[]),
        "u1.rate: want exactly one of rate = \"20Mbps\", and radio = { coverage = 500 } with bandwidth",
    );
    has(&fault("rate = \"2Mbps\"\nbandwidth = 10", rate, &[]), "u1.rate: want exactly one of rate");
    has(
        &fault("radio = { coverage = 9 }\nbandwidth = 0", rate, &[]),
        "u1.bandwidth: 0: want 0.1 to 1000 (MHz)",
    );
    has(&fault(rate, rate, &["link.u1.average=1us"]), "u1.average: want at least 1ms");
    has(&fault(rate, rate, &["link.u1.coherence=1us"]), "u1.coherence: want at least 1ms");
    has(&fault(rate, rate, &["link.u2.rate=7kbps"]), "u2.rate: a rate below 8kbps carries no byte");
    has(
        &fault(rate, rate, &["link.u2.scheduler=round-robin"]),
        "u2.cell: scheduler or average differ from those of link \"u1\" in the same cell \"x\"",
    );
    has(&fault(rate, rate, &["link.u2.scheduler=fair"]), "u2.scheduler: \"fair\" is unknown");
    let text =
        cell(rate, rate).replace("a = \"bs\"\nb = \"m2\"\naddress_b", "a = \"m2\"\nb = \"bs\"\naddress_a");
    has(
        &received(&text, &[]).expect_err("faulty"),
        "u2.a: \"m2\" is not the base station of cell \"x\": want \"bs\"",
    );
}

#[test]
fn a_rate_that_an_action_sets_holds_from_then_on() {
    let action = "[[action]]\nat = \"2s\"\ndo = \"set-link\"\nlink = \"u1\"\ndirection = \"forward\"\nrate = \"10Mbps\"\n";
    let text = cell("rate = \"30Mbps\"", "rate = \"1Mbps\"") + action;
    let [mbps, _] = received(&text, &["link.u2.cell=y"]).expect("a run");
    assert!((19.0..20.5).contains(&mbps), "{mbps}");
}

const RECORDED: &str = r#"
    duration = "9s"
    [[node]]
    name = "server"
    kind = "host"
    [[node]]
    name = "mobile"
    kind = "host"
    [[node]]
    name = "r"
    kind = "router"
    [[link]]
    name = "core"
    a = "server"
    b = "r"
    address_a = "10.0.0.1"
    rate = "1Gbps"
    delay = "5ms"
    [[link]]
    name = "wifi"
    type = "trace"
    a = "r"
    b = "mobile"
    address_b = "10.0.1.2"
    trace = "walk.csv"
    column = "wifi"
    signal = "wifi_dbm"
    delay = "5ms"
    [[action]]
    after = { event = "signal-below", link = "wifi", dbm = -70, repeat = true }
    do = "link-down"
    link = "wifi"
    [[action]]
    after = { event = "signal-above", link = "wifi", dbm = -70, repeat = true }
    do = "link-up"
    link = "wifi"
"#;

#[test]
fn a_recorded_signal_triggers_actions() {
    let table = "time,wifi,wifi_dbm\n0,20,-50\n3,10,-75\n5,20,-60\n10,0,0\n";
    let open = |_: &str| Ok(table.to_owned());
    let summary = run(RECORDED, &[], &open).expect("a run");
    let done: Vec<_> = summary.actions.iter().map(|action| (action.action.as_str(), action.at)).collect();
    assert_eq!(done[0], ("link-down", Some(3.0)), "{done:?}");
    let fault = |set: &str| run(RECORDED, &[set], &open).expect_err("faulty");
    assert!(fault("link.wifi.signal=dbm").contains("there is no column \"dbm\"; want one of wifi, wifi_dbm"));
    let text = RECORDED.replace("    signal = \"wifi_dbm\"\n", "");
    let error = run(&text, &[], &open).expect_err("no signal");
    assert!(error.contains("\"wifi\" has no receive power"), "{error}");
}

#[test]
fn two_hundred_mobiles_of_one_cell_hand_over_together_in_under_sixty_lines() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shared-cell.toml"));
    assert!(text.lines().count() < 60, "{} lines", text.lines().count());
    let fair = file("shared-cell.toml", &["duration=7s"]);
    let moved = fair.associations.iter().filter(|association| {
        association
            .handovers
            .iter()
            .any(|handover| handover.side == "server" && handover.to.contains("→10.2."))
    });
    assert_eq!(moved.count(), 200);
    // Before the handover the cell alone is used: the scheduler gains over taking turns.
    let early = ["duration=5s"];
    let bytes = |set: &[&str]| -> f64 {
        let summary = file("shared-cell.toml", &[&early, set].concat());
        summary
            .links
            .iter()
            .filter(|link| link.name.ends_with("/forward") && link.name.starts_with("cell-"))
            .map(|l| l.delivered_bytes as f64)
            .sum()
    };
    let (fair, turns) = (bytes(&[]), bytes(&["link.cell-{i}.scheduler=round-robin"]));
    assert!(fair > 1.8 * turns, "{fair} and {turns} bytes");
}

#[test]
fn the_signal_then_the_rate_move_the_walk_between_measured_networks() {
    let summary = file("walk-trace.toml", &[]);
    let moves: Vec<_> = summary.associations[0]
        .handovers
        .iter()
        .filter(|handover| handover.side == "server")
        .map(|handover| (handover.at, handover.to.clone()))
        .collect();
    let place = |address: &str| moves.iter().position(|(_, to)| to.ends_with(address));
    assert!(place("10.0.2.2") < place("10.0.3.2") && place("10.0.2.2").is_some(), "{moves:?}");
    // 24.5 dBm, 31.7 dB at 1 m, an exponent of 2.8, at 3 m/s from 5 s on.
    let leaves = 5.0 + (10_f64.powf((24.5 - 31.7 + 60.0) / 28.0).powi(2) - 25.0).sqrt() / 3.0 - 5.0 / 3.0;
    let at = moves[place("10.0.2.2").expect("found")].0;
    assert!((leaves..leaves + 2.0).contains(&at), "{at} for {leaves}");
    assert!(summary.tcp[0].to_client.bytes > 1_000_000, "the cross flow runs");
}
