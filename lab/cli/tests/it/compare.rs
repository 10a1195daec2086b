//! `msctp-lab bench policies` from outside: the matrix, its page, and that its runs can be repeated by hand.

use std::process::{Command, Output};

use serde_json::Value;

use crate::PROGRAM;

fn lab(dir: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).current_dir(dir).output().expect("msctp-lab starts")
}

#[test]
fn every_policy_meets_every_handover_and_the_oracle_has_no_regret() {
    let dir = tempfile::tempdir().unwrap();
    let done = lab(dir.path(), &["bench", "policies", "--seeds", "1", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    let cells = json["cells"].as_array().unwrap();
    let of = |policy: &str| cells.iter().filter(|cell| cell["policy"] == policy).collect::<Vec<_>>();
    let handovers = of("oracle").len();
    assert!(handovers >= 6);
    for policy in ["conservative", "inherit", "adaptive", "oracle"] {
        assert_eq!(of(policy).len(), handovers, "{policy}");
    }
    for cell in of("oracle") {
        assert!(cell["regret"]["mean"].as_f64().unwrap().abs() < 1e-9);
        assert!(cell["after"]["mean"].as_f64().unwrap() > 0.0);
    }
    // On an idle link the window that the oracle receives cannot be beaten by starting with one packet.
    assert!(of("conservative")[0]["regret"]["mean"].as_f64().unwrap() > 0.01);

    // docs/moving.md: the default has 0.95 of the optimum wherever a clairvoyant sender has it.
    for (mobile, clairvoyant) in of("mobile").into_iter().zip(of("clairvoyant")) {
        let used = |cell: &Value| cell["used"]["mean"].as_f64().unwrap();
        assert_eq!(mobile["handover"], clairvoyant["handover"]);
        let (used, clairvoyant) = (used(mobile), used(clairvoyant));
        println!("{}: {used:.3}, clairvoyant {clairvoyant:.3}", mobile["handover"]);
        assert!(used >= 0.95 || clairvoyant < 0.95, "{mobile}");
    }
    for cell in of("mobile").into_iter().filter(|cell| !cell["harm"].is_null()) {
        assert!(cell["harm"]["mean"].as_f64().unwrap() < 0.01, "more harm than one CUBIC flow: {cell}");
    }

    let report = dir.path().join("msctp-report/compare");
    for file in ["index.html", "run.json", "figures/figure-1.svg", "figures/figure-1.csv", "data/runs.csv"] {
        assert!(report.join(file).is_file(), "{file} is missing");
    }
}
