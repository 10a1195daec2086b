//! `measure --qlog`: the capture of a move. Needs root and TUN devices, as `measure` does; without them the
//! test says so and passes, unless MSCTP_NEED_NETNS=1.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Time of the switch of slow-up, in ms.
const SWITCH: f64 = 10_000.0;
/// The paths as the server sees them, before and after the move.
const OLD: &str = "10.0.0.1→10.0.1.2";
const NEW: &str = "10.0.0.1→10.0.2.2";

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line.trim_start_matches('\x1e')).unwrap()).collect()
}

#[test]
fn a_capture_has_every_path_and_move_of_both_ends() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("qlog");
    let _ = fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_msctp-bench-handover"));
    command.args(["measure", "--routes", "slow-up", "--kinds", "make-before-break", "--stacks", "msctp"]);
    command.args(["--rounds", "1", "--qlog"]).arg(&folder).arg("--results").arg(folder.join("results.json"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("handover: the emulator ") {
        assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "{said}");
        eprintln!("not tested: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");

    let records = records(&folder.join("slow-up-make-before-break-0.sqlog"));
    assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    let times: Vec<f64> = records[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "both ends are in one order of time");

    // Each end's moves, as (time, from, to).
    let mut moves: BTreeMap<&str, Vec<(f64, &str, &str)>> = BTreeMap::new();
    for record in records.iter().filter(|record| record["name"] == "msctp:primary") {
        let [from, to] = ["from", "to"].map(|name| record["data"][name].as_str().unwrap_or(""));
        let group = record["group_id"].as_str().unwrap();
        moves.entry(group).or_default().push((record["time"].as_f64().unwrap(), from, to));
    }
    assert_eq!(moves.keys().copied().collect::<Vec<_>>(), ["mobile.0", "server.0"], "{moves:?}");
    for (group, from, to) in [("server.0", OLD, NEW), ("mobile.0", "10.0.1.2→10.0.0.1", "10.0.2.2→10.0.0.1")]
    {
        let moved: Vec<_> = moves[group].iter().filter(|moved| (moved.1, moved.2) == (from, to)).collect();
        let at = moved.iter().map(|moved| moved.0).find(|at| *at >= SWITCH);
        let at = at.unwrap_or_else(|| panic!("{group}: a move from {from} to {to}, found {moves:?}"));
        assert!(at < SWITCH + 5_000.0, "{group} moved at {at} ms");
        for path in [from, to] {
            let on = |name: &str| {
                let here = |record: &&Value| record["group_id"] == group && record["tuple"] == path;
                let named = records.iter().filter(here).filter(|record| record["name"] == name);
                named.collect::<Vec<_>>()
            };
            assert!(!on("connectivity:tuple_assigned").is_empty(), "{group} {path}");
            let metrics = on("recovery:metrics_updated");
            for metric in ["congestion_window", "latest_rtt"] {
                let known = metrics.iter().any(|record| record["data"][metric].as_f64() > Some(0.0));
                assert!(known, "{group} {path} has no {metric}");
            }
        }
    }
    // The server sends DATA on either path in its time.
    let sent = |path: &str| {
        let data = |record: &&Value| {
            record["name"] == "transport:packet_sent"
                && record["tuple"] == path
                && record["data"]["frames"][0]["frame_type"] == "data"
        };
        records.iter().filter(data).map(|record| record["time"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert!(sent(OLD).iter().filter(|&&at| at < SWITCH).count() > 100);
    assert!(sent(NEW).iter().filter(|&&at| at > SWITCH).count() > 300);
}
