//! `msctp-lab sim` from outside: what it prints, what it writes, how it exits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::PROGRAM;
use crate::process::{self, finish, signal, temporary, wait_for};

fn scenario(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(name)
}

fn sim(args: &[&str]) -> Output {
    Command::new(PROGRAM).arg("sim").args(args).output().expect("msctp-lab runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_run_prints_a_summary_and_exits_with_0() {
    let out = sim(&[scenario("handover.toml").to_str().expect("UTF-8"), "--hash"]);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    for part in [
        "handover: 60.000 s, seed 1",
        "server to client:",
        ": the server sends over 10.0.0.1→10.0.2.2 (peer): ",
        "20.000 s  add-address download 10.0.2.2\n",
        "trace hash ",
    ] {
        assert!(stdout.contains(part), "no \"{part}\" in\n{stdout}");
    }
}

#[test]
fn json_is_one_object_with_the_numbers() {
    let path = scenario("bulk-wlan.toml");
    let out = sim(&[
        path.to_str().expect("UTF-8"),
        "--json",
        "--set",
        "duration=2s",
        "--seed",
        "18446744073709551615",
    ]);
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["seed"], u64::MAX);
    assert_eq!(json["duration_s"], 2.0);
    assert!(json["associations"][0]["to_server"]["bytes"].as_u64() > Some(1_000_000), "{json}");
    assert_eq!(json["trace_hash"], serde_json::Value::Null);
}

#[test]
fn the_same_seed_gives_the_same_bytes_another_seed_others() {
    let path = scenario("handover.toml");
    let capture = |name: &str, seed: &str| {
        let file = temporary(name);
        let set = ["--until", "25s", "--set", "link.3g.loss=0.02", "--pcap-link", "3g"];
        let mut args =
            vec![path.to_str().expect("UTF-8"), "--seed", seed, "--pcap", file.to_str().expect("UTF-8")];
        args.extend(set);
        let out = sim(&args);
        assert!(out.status.success(), "{}", text(&out.stderr));
        (text(&out.stdout), std::fs::read(file).expect("written"))
    };
    let first = capture("first.pcapng", "1");
    assert!(first == capture("second.pcapng", "1"));
    assert!(first.1 != capture("third.pcapng", "2").1);
}

#[test]
fn series_are_written_as_csv() {
    let dir = temporary("series");
    let path = scenario("handover.toml");
    let out =
        sim(&[path.to_str().expect("UTF-8"), "--until", "5s", "--series", dir.to_str().expect("UTF-8")]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    for (file, least) in [("throughput", 20), ("window", 50), ("rtt", 10), ("estimate", 1), ("queue", 100)] {
        let csv = std::fs::read_to_string(dir.join(format!("{file}.csv"))).expect("written");
        assert!(csv.lines().count() >= least, "{file}: {} lines", csv.lines().count());
        let columns = csv.lines().next().map_or(0, |head| head.split(',').count());
        assert!(csv.lines().all(|line| line.split(',').count() == columns), "{file}");
    }
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let dir = temporary("one-path");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    let at = |name: &str| dir.join(name).to_str().expect("UTF-8").to_owned();
    for name in ["rate-adaptation.toml", "signal.toml"] {
        std::fs::copy(scenario(name), at(name)).expect("copied");
    }
    std::os::unix::fs::symlink(at("signal.toml"), at("link")).expect("a link");
    let [own, extended, link, same, out] =
        ["rate-adaptation.toml", "signal.toml", "link", "same", "out"].map(at);
    std::fs::create_dir_all(&out).expect("a folder");
    let summary = at("out/summary.json");
    let replaces = |flag: &str, path: &str, input: &str| {
        format!("msctp-lab: {flag} {path}: would replace the input {input}: want another path\n")
    };
    let shared = |flag: &str, path: &str, other: &str| {
        format!("msctp-lab: {flag} {path}: also the output of {other}: want another path\n")
    };
    let [pcap, events, series] = ["--pcap", "--events", "--series"].map(|flag| [flag, same.as_str()]);
    for (outputs, message) in [
        (vec!["--events", &own], replaces("--events", &own, &own)),
        (vec!["--pcap", &extended], replaces("--pcap", &extended, &extended)),
        (vec!["--qlog", &link], replaces("--qlog", &link, &extended)),
        ([pcap, events].concat(), shared("--events", &same, &format!("--pcap {same}"))),
        ([pcap, series].concat(), shared("--series", &same, &format!("--pcap {same}"))),
        (vec!["--out", &out, "--pcap", &summary], shared("--pcap", &summary, &format!("--out {out}"))),
    ] {
        let ran = sim(&[&[own.as_str(), "--until", "1s"], &outputs[..]].concat());
        assert_eq!((ran.status.code(), text(&ran.stderr)), (Some(2), message));
    }
    let draw = ["scenario", "draw", &own, "--out", &own];
    let draw = Command::new(PROGRAM).args(draw).output().expect("msctp-lab runs");
    assert_eq!((draw.status.code(), text(&draw.stderr)), (Some(2), replaces("--out", &own, &own)));
    for name in ["rate-adaptation.toml", "signal.toml"] {
        assert!(std::fs::read(at(name)).expect("kept") == std::fs::read(scenario(name)).expect("read"));
    }
    assert_eq!(names(&dir), ["link", "out", "rate-adaptation.toml", "signal.toml"]);
    let null = ["--pcap", "/dev/null", "--events", "/dev/null"];
    let ran = sim(&[&[own.as_str(), "--until", "1s"], &null[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
}

#[test]
fn a_run_folder_has_everything_to_repeat_the_run() {
    let dir = temporary("run-folder");
    let _ = std::fs::remove_dir_all(&dir);
    let place = dir.to_str().expect("UTF-8");
    let path = scenario("rate-adaptation.toml");
    let set = ["--set", "link.lte.rate=4Mbps", "--seed", "9", "--until", "12s"];
    let out = sim(&[&[path.to_str().expect("UTF-8"), "--out", place], &set[..]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("written");
    let record: serde_json::Value = serde_json::from_str(&read("run.json")).expect("JSON");
    assert_eq!((&record["kind"], &record["seeds"][0]), (&"sim".into(), &9.into()));
    assert_eq!(record["cells"][0]["overrides"], serde_json::json!(["link.lte.rate=4Mbps"]));
    assert_eq!(record["until_ns"], 12_000_000_000_u64);
    let links = record["scenario"]["link"].as_array().expect("the composed scenario");
    assert!(links.iter().any(|link| link["name"] == "lte" && link["rate"] == "4Mbps"), "{links:?}");
    let files = record["files"].as_array().expect("files");
    assert_eq!(files.len(), 2, "the scenario and the one that it extends");
    assert_eq!(files[1]["path"], "signal.toml");
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).expect("JSON");
    assert_eq!(record["trace_hash"], summary["trace_hash"]);
    assert_eq!(summary["trace_hash"].as_str().map(str::len), Some(64));
    assert_eq!(names(&dir), [".msctp-files", "run.json", "series.parquet", "summary.json"]);

    let rerun = |dir: &str| Command::new(PROGRAM).args(["rerun", dir]).output().expect("msctp-lab runs");
    let same = rerun(place);
    assert_eq!(
        text(&same.stdout),
        format!("{place}: 1 run and 3 files are the same\n"),
        "{}",
        text(&same.stderr)
    );
    // A changed result is found, and so is a changed scenario.
    let mut bytes = std::fs::read(dir.join("series.parquet")).expect("there");
    bytes[100] ^= 1;
    std::fs::write(dir.join("series.parquet"), bytes).expect("written");
    std::fs::write(
        dir.join("run.json"),
        read("run.json").replace("link.lte.rate=4Mbps", "template.wifi.rate=5.5Mbps"),
    )
    .expect("written");
    let other = rerun(place);
    assert_eq!(other.status.code(), Some(1));
    assert!(
        text(&other.stderr).contains("3 of 3 files differ: run.json, series.parquet, summary.json"),
        "{}",
        text(&other.stderr)
    );
    std::fs::write(dir.join("run.json"), "{\"kind\": \"sim\"}").expect("written");
    assert_eq!(rerun(place).status.code(), Some(2));
}

#[test]
fn wrong_input_gives_one_line_and_exits_with_2() {
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    for (args, message) in [
        (
            vec!["nowhere.toml"],
            "msctp-lab: cannot read nowhere.toml: No such file or directory; want the path of a file\n"
                .to_owned(),
        ),
        (
            vec![path, "--set", "link=[]"],
            format!(
                "msctp-lab: {path}:90: association.download.client_addresses: \"mn\" does not have the address 10.0.1.2: want a link to it with that address\n"
            ),
        ),
        (
            vec![path, "--set", "link.wlan.rate=-1Mbps"],
            format!(
                "msctp-lab: {path}: link.wlan.rate: \"-1Mbps\" is not a rate: want a number of at least 0 with a unit, such as \
                 384kbps, 11Mbps, 1Gbps or 9600bps\n"
            ),
        ),
        (
            vec![path, "--pcap", "/dev/null", "--pcap-link", "wlam"],
            "msctp-lab: --pcap-link: there is no link \"wlam\"; did you mean \"wlan\"?\n".to_owned(),
        ),
        (
            vec![path, "--set", "sctp.default.handover_policy=adaptiv"],
            format!(
                "msctp-lab: {path}: sctp.default.handover_policy: \"adaptiv\" is unknown; did you mean \"adaptive\"?\n"
            ),
        ),
        (
            vec![path, "--set", "sctp.default.controller=cubik"],
            format!(
                "msctp-lab: {path}: sctp.default.controller: \"cubik\" is unknown; did you mean \"cubic\"?\n"
            ),
        ),
    ] {
        let out = sim(&args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&out.stderr), message);
        assert!(out.stdout.is_empty());
    }
    assert_eq!(sim(&[path, "--no-such-option"]).status.code(), Some(2));
    let out = sim(&[path, "--until", "0s"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("'--until <TIME>': want more than 0"), "{}", text(&out.stderr));
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run_by_its_flag() {
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    let missing = "No such file or directory; make its folder first, or name another\n";
    for (flag, place, why) in [
        ("--pcap", "/nowhere/file.pcapng", missing),
        ("--events", "/nowhere/file.jsonl", missing),
        ("--qlog", "/nowhere/file.sqlog", missing),
        ("--series", "/dev/null", "File exists; want a path in a folder\n"),
        ("--series", "/proc/series", missing),
    ] {
        let out = sim(&[path, flag, place]);
        assert_eq!(text(&out.stderr), format!("msctp-lab: cannot write {flag} {place}: {why}"));
        assert_eq!(out.status.code(), Some(2), "{flag} {place}");
        assert!(out.stdout.is_empty(), "nothing was run: {}", text(&out.stdout));
    }
}

/// A signal during a long run leaves a valid capture, a summary of the run so far and the signal's exit code.
#[cfg(unix)]
#[test]
fn a_signal_leaves_a_valid_capture_and_its_exit_code() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let file = temporary(&format!("interrupted-{name}.pcapng"));
        std::fs::write(&file, "old").expect("written");
        let qlog = temporary(&format!("interrupted-{name}.sqlog"));
        let child = Command::new(PROGRAM)
            .arg("sim")
            .arg(scenario("bulk-wlan.toml"))
            .args(["--set", "duration=1000000s", "--pcap-link", "wlan/reverse", "--pcap"])
            .arg(&file)
            .arg("--qlog")
            .arg(&qlog)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("msctp-lab runs");
        let part = PathBuf::from(format!("{}.{}.part", file.display(), child.id()));
        wait_for("it captures", || std::fs::metadata(&part).is_ok_and(|m| m.len() > 10_000));
        assert_eq!(std::fs::read(&file).expect("there"), b"old", "until the run is over");
        signal(&child, name);
        let out = finish(child);
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
        let stderr = text(&out.stderr);
        let at = stderr.strip_prefix("msctp-lab: interrupted at ").and_then(|rest| rest.split(' ').next());
        let at: f64 = at.and_then(|at| at.parse().ok()).unwrap_or_else(|| panic!("{stderr}"));
        assert!(at % 1000.0 != 0.0, "not only at the end of a piece of 1000 s: {stderr}");
        assert!(text(&out.stdout).starts_with("bulk-wlan: "), "{}", text(&out.stdout));
        assert!(!part.exists());
        assert_whole_capture(&std::fs::read(file).expect("written"));
        let log = std::fs::read_to_string(qlog).expect("written");
        assert!(log.ends_with('\n') && log.matches('\u{1e}').count() > 1000, "{} bytes", log.len());
        for record in log.split('\u{1e}').skip(1) {
            serde_json::from_str::<serde_json::Value>(record).expect(record);
        }
    }
}

/// Checks that a pcapng file consists of blocks with their length at both ends, up to the last byte.
fn assert_whole_capture(bytes: &[u8]) {
    assert!(bytes.len() > 10_000, "{} bytes", bytes.len());
    let word =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
    let mut at = 0;
    while at < bytes.len() {
        let len = word(at + 4);
        assert_eq!(word(at + len - 4), len, "block at {at}");
        at += len;
    }
}

/// Creates a folder with these files, each with the content "old".
fn folder(name: &str, files: &[&str]) -> PathBuf {
    let dir = process::folder(name);
    for file in files {
        std::fs::write(dir.join(file), "old").expect("written");
    }
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("one").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn a_refused_command_leaves_the_files_it_would_have_written() {
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    let dir = folder("refused", &["keep.pcapng", "keep.jsonl"]);
    let [pcap, events] = ["keep.pcapng", "keep.jsonl"].map(|name| dir.join(name).display().to_string());
    for (args, code) in [
        (vec![path, "--events", &events, "--pcap", &pcap, "--pcap-link", "typo"], 2),
        (vec![path, "--pcap", &pcap, "--events", "/nowhere/events.jsonl"], 2),
        (vec![path, "--pcap", &pcap, "--series", "/dev/null/series"], 2),
    ] {
        let out = sim(&args);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {}", text(&out.stderr));
        assert!(out.stdout.is_empty(), "known before the run: {}", text(&out.stdout));
        assert_eq!(names(&dir), ["keep.jsonl", "keep.pcapng"], "nothing else is left");
        for file in [&pcap, &events] {
            assert_eq!(std::fs::read(file).expect("there"), b"old", "{args:?}");
        }
    }
}

#[test]
fn standard_output_is_no_capture_file_and_no_folder() {
    let dir = folder("dash", &[]);
    let path = std::fs::canonicalize(scenario("handover.toml")).expect("there");
    for flag in ["--pcap", "--out"] {
        let mut command = Command::new(PROGRAM);
        command.current_dir(&dir).arg("sim").arg(&path).args([flag, "-"]);
        let out = command.output().expect("msctp-lab runs");
        assert_eq!(out.status.code(), Some(2));
        let want = format!("msctp-lab: {flag} -: standard output is for the summary");
        assert!(text(&out.stderr).starts_with(&want), "{}", text(&out.stderr));
        assert_eq!(names(&dir), [""; 0], "no file called -");
    }
}

#[test]
fn a_run_does_not_replace_files_of_the_user() {
    let dir = folder("of-the-user", &["run.json"]);
    let path = scenario("bulk-wlan.toml");
    let place = dir.to_str().expect("UTF-8");
    let out = sim(&[path.to_str().expect("UTF-8"), "--set", "duration=2s", "--out", place]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
    let error = text(&out.stderr);
    assert!(error.contains("/run.json is not an output of msctp: want a new or empty folder"), "{error}");
    assert!(out.stdout.is_empty(), "known before the run");
    assert_eq!(
        (names(&dir), std::fs::read(dir.join("run.json")).expect("there")),
        (vec!["run.json".to_owned()], b"old".to_vec())
    );
}

#[test]
fn a_run_ends_at_its_duration_at_the_latest() {
    let path = scenario("bulk-wlan.toml");
    let out = sim(&[path.to_str().expect("UTF-8"), "--set", "duration=2s", "--until", "1000h"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
    let error = text(&out.stderr);
    assert!(error.contains("--until 3600000s is after the end: want at most the duration, 2s"), "{error}");
    let out = sim(&[path.to_str().expect("UTF-8"), "--set", "duration=2s", "--until", "2s", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["duration_s"], 2.0);
}

/// A sweep counts such a run as failed.
#[test]
fn metrics_of_a_run_with_a_refused_action_fail() {
    let path = scenario("walk.toml");
    let path = path.to_str().expect("UTF-8");
    let early = ["--set", "action.move.at=0s", "--set", "duration=13s"];
    let out = sim(&[&[path, "--metric", "association.bytes"], &early[..]].concat());
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(text(&out.stdout).trim().parse::<f64>().is_ok(), "the value is printed: {}", text(&out.stdout));
    let error = text(&out.stderr);
    assert!(
        error.contains("request-primary download 10.0.2.2 was refused: not possible in state"),
        "{error}"
    );
    let summary = sim(&[&[path], &early[..]].concat());
    assert_eq!(summary.status.code(), Some(0), "the summary has the refusal");
}

#[test]
fn an_override_of_an_unknown_profile_is_rejected_and_unused_parts_are_listed() {
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    let out = sim(&[path, "--set", "sctp.defualt.pmtu=1400"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(
        text(&out.stderr),
        "msctp-lab: override sctp.defualt.pmtu=1400: there is no sctp profile \"defualt\"; did you mean \"default\"?\n"
    );
    let out = sim(&[path, "--until", "1s"]);
    assert_eq!(text(&out.stderr), "", "everything in it is used");
    let dir = folder("unused", &[]);
    let file = dir.join("unused.toml");
    let more = "\n[sctp.spare]\npmtu = 1400\n\n[[node]]\nname = \"alone\"\nkind = \"host\"\n\n[[node]]\nname = \"idle\"\nkind = \"host\"\n\n\
                [[link]]\nname = \"unneeded\"\na = \"r\"\nb = \"idle\"\naddress_b = \"10.9.0.1\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
    let written = std::fs::read_to_string(path).expect("there") + more;
    std::fs::write(&file, written).expect("written");
    let out = sim(&[file.to_str().expect("UTF-8"), "--until", "1s"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(
        text(&out.stderr),
        "msctp-lab: warning: sctp.spare is not used: no association names it\n\
         msctp-lab: warning: node.alone is not used: it has no link\n\
         msctp-lab: warning: node.idle is not used: no traffic starts or ends there\n\
         msctp-lab: warning: link.unneeded is not used: no traffic is routed over it\n"
    );
}

#[test]
fn the_version_is_the_programs_and_counts_agree_with_their_nouns() {
    assert!(
        text(&sim(&["--version"]).stdout).starts_with("msctp-lab 0."),
        "{}",
        text(&sim(&["--version"]).stdout)
    );
    let path = scenario("handover.toml");
    let out = sim(&[path.to_str().expect("UTF-8")]);
    let stdout = text(&out.stdout);
    assert!(!stdout.contains(" 1 timeouts") && !stdout.contains("time-out"), "{stdout}");
    // Numbers are aligned in columns, whatever the names are.
    let table: Vec<&str> = stdout.lines().skip_while(|line| !line.starts_with("link ")).take(11).collect();
    let ends: Vec<usize> = table.iter().map(|line| line.chars().count()).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "{}", table.join("\n"));
    assert!(table[2].starts_with("  core/reverse") || table[2].starts_with("  core"), "{}", table.join("\n"));
}

#[test]
fn metrics_are_printed_in_place_of_the_summary() {
    let listed = Command::new(PROGRAM).args(["scenario", "metrics"]).output().expect("msctp-lab runs");
    assert!(text(&listed.stdout).contains("\nrun.fairness:NAME[@FROM..TO] (1)\n"), "its link must be named");
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    let one = sim(&[path, "--metric", "handover.gap"]);
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    let gap: f64 = text(&one.stdout).trim().parse().expect("a number alone");
    let json: serde_json::Value = serde_json::from_slice(&sim(&[path, "--json"]).stdout).expect("JSON");
    let handovers = json["associations"][0]["handovers"].as_array().expect("a list");
    assert!(
        handovers.iter().any(|handover| handover["gap_s"].as_f64() == Some(gap)),
        "{gap} in {handovers:?}"
    );

    let two = sim(&[path, "--metric", "path.cwnd@31s", "--metric", "link.drops:wlan", "--json"]);
    let values: serde_json::Value = serde_json::from_slice(&two.stdout).expect("JSON");
    assert!(values["path.cwnd@31s"].as_f64() > Some(1000.0), "{values}");
    assert!(values["link.drops:wlan"].is_number(), "{values}");

    let wrong = sim(&[path, "--metric", "link.drops:wlna"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(
        text(&wrong.stderr).lines().last(),
        Some(
            "msctp-lab: --metric: link.drops:wlna: the scenario has no link \"wlna\"; did you mean \"wlan\"?"
        )
    );
    let none = sim(&[path, "--metric", "handover.gap@41s.."]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    assert!(text(&none.stderr).contains("no association handed over"), "{}", text(&none.stderr));
}

#[test]
fn a_key_is_explained_and_a_mistyped_one_exits_with_2() {
    let lab = |args: &[&str]| {
        let output = Command::new(PROGRAM).args(args).output().expect("starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, _) = lab(&["scenario", "explain", "node.home.nat.mapping"]);
    assert!(code == Some(0) && out.contains("default: \"endpoint-independent\""), "{out}");
    let (code, _, err) = lab(&["scenario", "explain", "link.rat"]);
    assert!(
        code == Some(2) && err.contains("there is no key \"link.rat\"; did you mean \"link.rate\"?"),
        "{err}"
    );
    let (code, out, _) = lab(&["scenario", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &schema["properties"]["seed"]["type"]), (Some(0), &serde_json::json!("integer")));
}

#[test]
fn wrong_numbers_and_combinations_are_rejected_in_plain_words() {
    let path = scenario("handover.toml");
    let path = path.to_str().expect("UTF-8");
    for (args, want) in [
        (&["sim", path, "--seed", "-1"][..], "want a whole number, 0 to 18446744073709551615"),
        (&["sweep", path, "--threads", "0"], "want a whole number, at least 1"),
        (&["sim", path, "--metric", "handover.gap", "--hash"], "cannot be used with"),
    ] {
        let out = Command::new(PROGRAM).args(args).output().expect("msctp-lab runs");
        let said = text(&out.stderr);
        assert!(out.status.code() == Some(2) && said.contains(want), "{said}");
    }
}
