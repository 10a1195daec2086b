//! `msctp-lab emulate` as a user runs it. What sets up namespaces needs root: without it those tests say so
//! and are left out, unless MSCTP_NEED_EMULATION=1.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::PROGRAM;
use crate::process::{end, signal, wait_for};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wifi-lte.toml");

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["emulate", SCENARIO]).args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    lab(arguments).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns whether this machine can emulate; prints the reason if not.
fn can() -> bool {
    let output = run(&["--quiet", "--", "true"]);
    if output.status.success() {
        return true;
    }
    let why = text(&output.stderr);
    assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{why}");
    eprintln!("left out: {why}");
    false
}

/// Returns the processes whose environment has this variable, and their network namespaces.
fn left(marker: &str) -> (Vec<String>, BTreeSet<PathBuf>) {
    let mut processes = Vec::new();
    let mut namespaces = BTreeSet::new();
    for entry in fs::read_dir("/proc").expect("there").flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if !environment.split(|&byte| byte == 0).any(|variable| variable == marker.as_bytes()) {
            continue;
        }
        processes.push(text(&fs::read(entry.path().join("cmdline")).unwrap_or_default()));
        let threads = fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten();
        namespaces.extend(threads.filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok()));
    }
    (processes, namespaces)
}

/// Returns whether any process of the machine is in this network namespace.
fn namespace_exists(namespace: &Path) -> bool {
    let processes = fs::read_dir("/proc").expect("there").flatten();
    let threads = processes.flat_map(|p| fs::read_dir(p.path().join("task")).into_iter().flatten().flatten());
    threads.filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok()).any(|ns| ns == namespace)
}

/// Checks that no process and no namespace remains after an emulation.
///
/// It starts an emulation with processes that would outlive it if they could, waits until they run, and ends
/// it with `stop`. Devices are in namespaces and end with them.
fn nothing_is_left(marker: &str, stop: impl FnOnce(&mut Child)) {
    if !can() {
        return;
    }
    let (name, value) = marker.split_once('=').expect("a variable");
    // One that ignores requests to end, and one that has left its session and its parent.
    let stubborn = "trap '' TERM INT HUP; setsid sleep 1000 & while :; do sleep 1; done";
    let mut child = lab(&["--in", "server", stubborn, "--quiet", "--", "sleep", "1000"])
        .env(name, value)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let own = fs::read_link("/proc/self/ns/net").expect("there");
    // Outer and inner msctp, the shell, its two sleeps, the main sleep.
    wait_for("everything runs", || left(marker).0.len() >= 6);
    let (_, mut namespaces) = left(marker);
    namespaces.remove(&own);
    assert_eq!(namespaces.len(), 2, "a namespace for each host");
    stop(&mut child);
    end(&mut child);
    wait_for("no process is left", || left(marker).0.is_empty());
    for namespace in namespaces {
        wait_for("no namespace is left", || !namespace_exists(&namespace));
    }
    let named = Command::new("ip").args(["netns", "list"]).output().expect("ip runs");
    assert!(!text(&named.stdout).contains("msctp"), "namespaces have no names");
}

#[test]
fn nothing_is_left_after_sigterm() {
    nothing_is_left("MSCTP_TEST_MARKER=term", |child| signal(child, "TERM"));
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    nothing_is_left("MSCTP_TEST_MARKER=int", |child| signal(child, "INT"));
}

#[test]
fn nothing_is_left_after_kill_9() {
    nothing_is_left("MSCTP_TEST_MARKER=kill", |child| signal(child, "KILL"));
}

#[test]
fn nothing_is_left_when_the_inner_process_crashes() {
    nothing_is_left("MSCTP_TEST_MARKER=crash", |child| {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let inner = fs::read_to_string(children).expect("a child");
        let killed = Command::new("kill").args(["-KILL", inner.trim()]).status().expect("kill runs");
        assert!(killed.success());
    });
}

#[test]
fn the_exit_code_is_that_of_the_work() {
    if !can() {
        return;
    }
    assert_eq!(run(&["--", "true"]).status.code(), Some(0));
    let failed = run(&["--", "false"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("false: ended with exit status: 1"), "{}", text(&failed.stderr));
    let helper = run(&["--in", "server", "exit 3"]);
    assert_eq!(helper.status.code(), Some(1));
    assert!(text(&helper.stderr).contains("exit status: 3"), "{}", text(&helper.stderr));
    assert_eq!(run(&["--", "/no/such/program"]).status.code(), Some(1));
    let over = run(&[
        "--set",
        "duration=300ms",
        "--set",
        "action.0.at=100ms",
        "--set",
        "action.1.at=100ms",
        "--",
        "sleep",
        "100",
    ]);
    assert_eq!(over.status.code(), Some(1));
    assert!(text(&over.stderr).contains("the scenario ended at 300ms"), "{}", text(&over.stderr));
}

#[test]
fn a_command_sees_its_hosts_addresses_and_the_summary_counts_arrivals() {
    if !can() {
        return;
    }
    let dir = tempfile::tempdir().expect("made");
    let (summary, pcap) = (dir.path().join("summary.json"), dir.path().join("run.pcapng"));
    let output = run(&[
        "--summary",
        &summary.display().to_string(),
        "--pcap",
        &pcap.display().to_string(),
        "--",
        "ip",
        "-brief",
        "-4",
        "address",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    assert!(out.contains("wifi") && out.contains("10.0.1.2/32") && out.contains("10.0.2.2/32"), "{out}");
    assert!(!out.contains("10.0.0.1"), "that is the server's: {out}");
    let said: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(summary).expect("written")).expect("JSON");
    assert_eq!(said["scenario"], "wifi-lte");
    assert_eq!(said["hosts"][0]["name"], "mobile");
    assert_eq!(fs::read(pcap).expect("written")[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let err = text(&output.stderr);
    assert!(err.contains("not run, because your commands replace them: association \"download\""), "{err}");
}

/// Returns the records of a qlog: the header, then the events.
fn records(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).expect("written");
    text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).expect("JSON")).collect()
}

#[test]
fn the_scenarios_own_associations_are_logged_as_by_the_simulator() {
    if !can() {
        return;
    }
    let dir = tempfile::tempdir().expect("made");
    let logs = ["emulated", "simulated"].map(|name| dir.path().join(format!("{name}.sqlog")));
    let set = ["duration=4s", "action.0.at=1500ms", "action.1.at=1500ms"];
    let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    for (command, more, log) in
        [("emulate", &["--applications", "--quiet"][..], &logs[0]), ("sim", &[], &logs[1])]
    {
        let mut run = Command::new(PROGRAM);
        run.args([command, SCENARIO]).args(more).args(&set).arg("--qlog").arg(log);
        let output = run.output().expect("starts");
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    }
    let [emulated, simulated] = logs.map(|log| records(&log));
    assert_eq!(emulated[0], simulated[0], "the header");
    // The same ends report the same kinds of events about the same paths.
    let kinds = |records: &[serde_json::Value]| -> BTreeSet<String> {
        let wanted = ["connectivity:", "msctp:primary", "recovery:metrics", "transport:packet_"];
        let event = |event: &serde_json::Value| {
            let name = event["name"].as_str().expect("a name");
            let key = format!("{name} {} {}", event["group_id"], event["tuple"]);
            wanted.iter().any(|wanted| name.starts_with(wanted)).then_some(key)
        };
        records[1..].iter().filter_map(event).collect()
    };
    // A machine that is held up may lose a packet or fail a path besides.
    let (emulated_kinds, simulated_kinds) = (kinds(&emulated), kinds(&simulated));
    let missing: Vec<_> = simulated_kinds.difference(&emulated_kinds).collect();
    assert!(missing.is_empty(), "{missing:#?} of {simulated_kinds:#?}");
    let moved = emulated.iter().find(|event| event["name"] == "msctp:primary").expect("a move");
    assert!(moved["time"].as_f64() >= Some(1500.0), "{moved}");
    let times: Vec<_> = emulated[1..].iter().map(|event| event["time"].as_f64().expect("a time")).collect();
    assert!(times.is_sorted(), "in order of time");
    let alone = run(&["--qlog", "x.sqlog", "--", "true"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(text(&alone.stderr).contains("--applications"), "{}", text(&alone.stderr));
}

#[test]
fn invalid_input_is_rejected_before_any_set_up() {
    let refused = |output: Output, words: &[&str]| {
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        for word in words {
            assert!(text(&output.stderr).contains(word), "{word}: {}", text(&output.stderr));
        }
    };
    refused(run(&[]), &["nothing to run"]);
    refused(run(&["--in", "nobody", "true"]), &["--in nobody", "mobile, server"]);
    refused(run(&["--host", "r", "--", "true"]), &["--host r", "mobile, server"]);
    refused(run(&["--set", "link.wifi.rate=fast", "--", "true"]), &["link.wifi.rate"]);
    let mut mobile_ip = Command::new(PROGRAM);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/mobile-ip.toml");
    let output = mobile_ip.args(["emulate", scenario, "--", "true"]).output().expect("starts");
    refused(output, &["mobile-ip.toml:", "node.ha.kind", "want kind = \"router\""]);
}

/// Returns the mobile's rates around the loss of its Wi-Fi at `at`. `wrapper` runs iperf3 for some seconds.
fn around_the_loss(wrapper: &str, at: &str, seconds: u32) -> serde_json::Value {
    let dir = tempfile::tempdir().expect("made");
    let summary = dir.path().join("summary.json").display().to_string();
    let server = format!("{wrapper} iperf3 -s >/dev/null 2>&1");
    let limit = seconds + 1;
    let client = format!("exec timeout {limit} {wrapper} iperf3 -c 10.0.0.1 -R -t {seconds} >/dev/null 2>&1");
    let times = [0, 1].map(|action| format!("action.{action}.at={at}"));
    let mut command = lab(&["--set", &times[0], "--set", &times[1]]);
    command.args(["--mptcp", "handover", "--quiet", "--summary", &summary, "--in", "server", &server]);
    // iperf3 only reports that the download failed; the arrivals show when.
    command.args(["--", "sh", "-c", &client]).output().expect("starts");
    let said = fs::read_to_string(summary).expect("written");
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    said["hosts"][0]["around"][0].clone()
}

/// Returns whether iperf3 and mptcpize are installed and this machine can emulate.
fn can_download() -> bool {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !there("iperf3") || !there("mptcpize") {
        let why = "needs iperf3 and mptcpize (apt-get install iperf3 mptcpize)";
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{why}");
        eprintln!("left out: {why}");
        return false;
    }
    can()
}

fn number(around: &serde_json::Value, key: &str) -> f64 {
    around[key].as_f64().expect("a number")
}

#[test]
fn alone_a_download_over_tcp_dies_with_its_wifi_and_over_mptcp_it_moves() {
    if !can_download() {
        return;
    }
    let tcp = around_the_loss("", "1s", 3);
    assert!(number(&tcp, "before") > 0.0, "{tcp}");
    assert_eq!((number(&tcp, "after"), tcp["silent"].as_bool()), (0.0, Some(true)), "{tcp}");
    let mptcp = around_the_loss("mptcpize run", "1s", 4);
    assert!(number(&mptcp, "before") > 0.0, "{mptcp}");
    assert!(number(&mptcp, "after") > 0.0 && mptcp["silent"] == false, "{mptcp}");
}

#[test]
#[ignore = "takes 20 s of real time"]
fn slow_a_download_over_tcp_dies_with_its_wifi_and_over_mptcp_it_moves() {
    if !can_download() {
        return;
    }
    let tcp = around_the_loss("", "3s", 8);
    assert!(number(&tcp, "before") > 5e6, "{tcp}");
    assert_eq!((number(&tcp, "after"), tcp["silent"].as_bool()), (0.0, Some(true)), "{tcp}");
    let mptcp = around_the_loss("mptcpize run", "3s", 8);
    assert!(number(&mptcp, "before") > 5e6, "{mptcp}");
    // LTE has 10 Mbps; the download uses it within a second.
    assert!(number(&mptcp, "after") > 5e6 && number(&mptcp, "gap") < 1.0, "{mptcp}");
}

/// Runs the self-test with measurements of `each` milliseconds.
fn self_test(each: u64) {
    if !can() {
        return;
    }
    let arguments = ["emulate", "--self-test", "--each", &format!("{each}ms"), "--json"];
    let output = Command::new(PROGRAM).args(arguments).output().expect("starts");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let points = said["points"].as_array().expect("a list");
    let rates: Vec<_> = points.iter().filter_map(|point| point["rate"].as_u64()).collect();
    assert_eq!(rates, [1, 10, 50, 100, 300, 1000].map(|mbps| mbps * 1_000_000));
    // Above 100 Mbps the test only reports what this machine can do.
    let required = points.iter().filter(|point| point["required"] == true);
    assert_eq!(required.clone().count(), 4);
    let all = required.clone().all(|point| point["passed"] == true);
    assert_eq!(said["passed"], all);
    assert_eq!(output.status.code(), Some(if all { 0 } else { 1 }), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).contains("cannot keep up"), !all, "{}", text(&output.stderr));
    // Whatever the machine: packets cannot be early by more than the clock's resolution, and some arrive.
    assert!(points.iter().all(|point| point["packets"].as_u64() > Some(each / 20)), "{said}");
}

#[test]
fn the_self_test_says_whether_it_passed() {
    self_test(200);
}

#[test]
#[ignore = "takes 30 s of real time"]
fn slow_the_self_test_says_whether_it_passed() {
    self_test(1000);
}
