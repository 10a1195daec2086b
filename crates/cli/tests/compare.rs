//! `msctp compare` from outside: the matrix, its page, and that its runs can be repeated by hand.

use std::process::{Command, Output};

use serde_json::Value;

fn msctp(dir: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_msctp")).args(arguments).current_dir(dir).output().expect("msctp starts")
}

#[test]
fn every_policy_meets_every_handover_and_the_oracle_has_no_regret() {
    let dir = tempfile::tempdir().unwrap();
    let done = msctp(dir.path(), &["compare", "--seeds", "1", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let rows: Value = serde_json::from_slice(&done.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= 6);
    let policies = |row: &Value| -> Vec<String> {
        let cells = row["cells"].as_array().unwrap();
        cells.iter().map(|cell| cell["policy"].as_str().unwrap().to_owned()).collect()
    };
    let first = policies(&rows[0]);
    for name in ["conservative", "inherit", "adaptive", "oracle"] {
        assert!(first.iter().any(|policy| policy == name), "{name} is missing in {first:?}");
    }
    for row in rows {
        assert_eq!(policies(row), first, "{}", row["case"]);
        let oracle = row["cells"].as_array().unwrap().iter().find(|cell| cell["policy"] == "oracle").unwrap();
        assert!(oracle["regret"]["mean"].as_f64().unwrap().abs() < 1e-9);
        assert!(oracle["after"]["mean"].as_f64().unwrap() > 0.0);
    }
    // On an idle link the window that the oracle receives cannot be beaten by starting with one packet.
    let conservative =
        rows[0]["cells"].as_array().unwrap().iter().find(|cell| cell["policy"] == "conservative");
    assert!(conservative.unwrap()["regret"]["mean"].as_f64().unwrap() > 0.01);

    let report = dir.path().join("msctp-report/compare");
    for file in ["index.html", "figures/comparison.svg", "figures/comparison.csv", "data/comparison.csv"] {
        assert!(report.join(file).is_file(), "{file} is missing");
    }
    assert!(!report.join(".runs").exists(), "nothing is kept after the report");
}
