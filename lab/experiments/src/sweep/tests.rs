use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use msctp_schemes::policies::policies;

use super::*;
use crate::claims::Verdict;
use crate::plan::Execution;
use crate::scenario_file::scenario_file;
use crate::store::Store;

const SCENARIO: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/walk.toml"));

/// A sweep of two policies and two loss rates over the first seconds of the walk.
const TEXT: &str = r#"
title = "Walk"
scenario = "../walk.toml"
seeds = "1..3"
set = { "action.move.at" = "3s", "action.out-of-reach.at" = "4s", "action.fade.at" = "2s", "duration" = "9s" }

[axis.policy]
set = "sctp.server.handover_policy"
values = ["conservative", "inherit"]

[axis.loss]
set = "link.wifi.loss"
values = [0, 0.02]

[metric]
gap.of = "handover.gap"
after.of = "handover.after"

[comparison.gain]
metric = "after"
against = { policy = "conservative" }
as = "relative"

[[claim]]
id = "H1"
metric = "after"
a = { policy = "inherit", loss = 0 }
above = { policy = "conservative" }

[[claim]]
id = "H2"
metric = "after"
a = { policy = "inherit" }
above = { policy = "conservative" }

[[claim]]
id = "H3"
metric = "after"
below = "20Mbps"
"#;

fn open(path: &str) -> Result<String, String> {
    if path == "folder/walk.toml" { Ok(SCENARIO.to_owned()) } else { Err(format!("cannot read {path}")) }
}

fn sweep() -> Sweep {
    Sweep::read(TEXT, "folder/sweeps/try.toml", &open).unwrap()
}

fn run<'s>(sweep: &'s Sweep, threads: usize, store: Option<&Store>) -> Outcome<'s> {
    let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
    let threads = NonZeroUsize::new(threads);
    let execution = Execution { threads, cancel: &cancel, progress: &progress, store };
    sweep.run(None, &execution).unwrap()
}

#[test]
fn cells_are_the_combinations_with_their_overrides() {
    let sweep = sweep();
    assert_eq!(sweep.cells.len(), 4);
    assert_eq!(sweep.named(&sweep.cells[1].values), "policy conservative, loss 0.02");
    assert_eq!(
        sweep.command(&sweep.keys(None)[4]),
        "msctp sim folder/walk.toml --seed 2 --set action.move.at=3s --set action.out-of-reach.at=4s --set action.fade.at=2s \
         --set duration=9s \
         --set sctp.server.handover_policy=conservative --set link.wifi.loss=0.02"
    );
    for (number, cell) in sweep.cells.iter().enumerate() {
        assert_eq!(sweep.cell(&cell.values), number);
    }
    let paths: Vec<&str> = sweep.sources.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, ["folder/sweeps/try.toml", "folder/walk.toml"]);
    assert_eq!(sweep.keys(Some(2)).len(), 8);
}

#[test]
fn an_outcome_has_means_comparisons_and_verdicts_whatever_the_threads() {
    let sweep = sweep();
    let outcome = run(&sweep, 2, None);
    assert!(outcome.complete(), "{:?}", outcome.runs.failures());
    let json = outcome.json().unwrap();
    assert_eq!(json, run(&sweep, 1, None).json().unwrap());
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells[2]["policy"], "inherit");
    let after = |cell: usize, seed: usize| *outcome.runs.done[3 * cell + seed].1[1].as_ref().unwrap();
    let gain = cells[2]["gain"]["mean"].as_f64().unwrap();
    let gains = (0..3).map(|seed| after(2, seed) / after(0, seed) - 1.0).sum::<f64>() / 3.0;
    assert!((gain - gains).abs() < 1e-9, "the mean of the seeds' gains: {gain} {gains}");
    assert_eq!(cells[0]["gain"]["mean"], 0.0);
    let ledger = outcome.ledger();
    assert_eq!(
        ledger[0].statement,
        "handover.after with policy inherit, loss 0 is above that with policy conservative"
    );
    assert_eq!(ledger[1].judgements[0].checks.len(), 2, "one for each loss rate");
    assert_eq!(ledger[2].judgements[0].checks.len(), 4);
    assert_eq!(ledger[2].verdict, Verdict::Reproduced);
    let text = outcome.text(100);
    for part in ["handover.gap", "conservative", "Mbps", "H2", "HOLDS (every condition)"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn the_report_has_a_table_and_a_figure_of_each_metric_and_the_record_its_sources() {
    let sweep = sweep();
    let outcome = run(&sweep, 2, None);
    let report = outcome.report("msctp sweep try.toml", "0.1.0");
    assert_eq!(report.figures[0].grids.len(), 2);
    assert_eq!(report.figures.len(), 3);
    let chart = &report.figures[1].groups[0].1[0].chart;
    assert_eq!((chart.series.len(), chart.series[0].points.len()), (2, 2), "policies over loss rates");
    assert!(chart.x.places.is_empty(), "a numeric axis");
    let dir = std::env::temp_dir().join(format!("msctp-sweep-{}", std::process::id()));
    report.write(&dir).unwrap();
    let page = std::fs::read_to_string(dir.join("index.html")).unwrap();
    for part in ["H1", "files/folder/walk.toml", "claims hold, every condition"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert!(!page.contains("The paper says"));
    assert!(dir.join("files/folder/walk.toml").is_file());
    let csv = std::fs::read_to_string(dir.join("data/runs.csv")).unwrap();
    assert!(csv.starts_with("policy,loss,seed,gap_s,after_bps,scenario,command\n"), "{csv}");
    assert_eq!(csv.lines().count(), 13);
    std::fs::remove_dir_all(dir).unwrap();
    let record = serde_json::to_value(outcome.record("msctp sweep try.toml", "0.1.0", "abc")).unwrap();
    assert_eq!((&record["commit"], &record["seeds"][2]), (&"abc".into(), &3.into()));
    assert_eq!(record["files"][1]["text"], SCENARIO);
    assert_eq!(record["cells"][3]["overrides"][5], "link.wifi.loss=0.02");
}

#[test]
fn a_changed_claim_repeats_no_run_and_a_changed_override_its_own() {
    let root = std::env::temp_dir().join(format!("msctp-sweep-store-{}", std::process::id()));
    let first = sweep();
    run(&first, 2, Some(&Store::open(&root, b"tests").unwrap()));
    let again = |from: &str, to: &str| {
        assert!(TEXT.contains(from));
        let sweep = Sweep::read(&TEXT.replace(from, to), "folder/sweeps/try.toml", &open).unwrap();
        let store = Store::open(&root, b"tests").unwrap();
        run(&sweep, 2, Some(&store));
        store.reused()
    };
    assert_eq!(again("below = \"20Mbps\"", "below = \"1Mbps\""), 12);
    assert_eq!(again("[0, 0.02]", "[0, 0.03]"), 6);
    assert_eq!(again("\"1..3\"", "\"1..4\""), 12);
    assert_eq!(again("gap.of = \"handover.gap\"", "gap.of = \"association.gap\""), 0);
    Store::open(&root, b"tests").unwrap().remove().unwrap();
}

#[test]
fn faults_are_named_with_their_line_their_key_and_the_remedy() {
    let fault = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        Sweep::read(&TEXT.replacen(from, to, 1), "folder/sweeps/try.toml", &open).unwrap_err().to_string()
    };
    let faults = [
        (
            "seeds = \"1..3\"",
            "seeds = \"3\"",
            "4: seeds: \"3\" is not a range of seeds: want seeds = \"1..30\" (both included), or a list, as [1, 7]",
        ),
        ("seeds = \"1..3\"", "", " seeds: missing: want seeds = \"1..30\""),
        ("[axis.loss]", "[axes.loss]", "11: axes: unknown key; did you mean \"axis\"?"),
        ("set = \"link.wifi.loss\"", "", "11: axis.loss.set: missing: want set = \"link.wlan.loss\""),
        (
            "values = [0, 0.02]",
            "values = 0.02",
            "13: axis.loss.values: 0.02 is a number: want a list, as [0, 0.01]",
        ),
        (
            "values = [0, 0.02]",
            "values = [0, 0]",
            "13: axis.loss.values: 0 is there twice: want values that differ",
        ),
        (
            "gap.of = \"handover.gap\"",
            "gap.of = \"handover.gpa\"",
            "16: metric.gap.of: there is no metric \"handover.gpa\"; did you mean \"handover.gap\"?; msctp metrics lists them",
        ),
        (
            "metric = \"after\"",
            "metric = \"aftr\"",
            "20: comparison.gain.metric: there is no [metric.aftr]; did you mean \"after\"?",
        ),
        (
            "policy = \"conservative\" }",
            "policy = \"conservativ\" }",
            "21: comparison.gain.against.policy: the axis policy has no value \"conservativ\"; did you mean \"conservative\"?",
        ),
        (
            "policy = \"inherit\", loss = 0",
            "loss = 0",
            "27: claim.0.a: names no policy, but above does: want a = { policy = \"…\" }",
        ),
        (
            "above = ",
            "margin = ",
            "24: claim.0: want exactly one of below, above and within, as below = { policy = \"inherit\" }",
        ),
        ("id = \"H2\"", "id = \"H1\"", "31: claim.1.id: \"H1\" is used twice: want ids that differ"),
        (
            "below = \"20Mbps\"",
            "below = \"20\"",
            "39: claim.2.below: \"20\" is not a rate: want a number of at least 0 with a unit, as 384kbps, 11Mbps, 1Gbps or 9600bps",
        ),
        (
            "scenario = \"../walk.toml\"",
            "scenario = \"wlak.toml\"",
            "3: scenario: cannot read folder/sweeps/wlak.toml",
        ),
        (
            "handover_policy\"\nvalues",
            "handover_polcy\"\nvalues",
            "3: scenario: with policy conservative, loss 0: folder/walk.toml: sctp.server.handover_polcy: unknown key; did you mean \"handover_policy\"?",
        ),
        (
            "[axis.loss]\nset = \"link.wifi.loss\"",
            "[axis.loss]\nset = \"link.wfi.loss\"",
            "3: scenario: with policy conservative, loss 0: override link.wfi.loss=0: there is no link \"wfi\"; did you mean \"wifi\"?",
        ),
        (
            "{ \"action.move.at\" = \"3s\"",
            "{ link = { wifi = 3 }",
            "5: set.link: want the whole key in quotes, as \"link.wlan.rate\" = \"2Mbps\"",
        ),
    ];
    let found: Vec<String> = faults.iter().map(|(from, to, _)| fault(from, to)).collect();
    let wanted: Vec<String> =
        faults.iter().map(|(.., want)| format!("folder/sweeps/try.toml:{want}")).collect();
    assert_eq!(found, wanted);
}

#[test]
fn the_bundled_comparison_has_every_policy_on_the_handovers_of_every_paper() {
    let sweep = compare(3).unwrap();
    let [handovers, chosen] = &sweep.axes[..] else { panic!("two axes") };
    let names: Vec<&str> = chosen.values.iter().map(|value| value.name.as_str()).collect();
    assert_eq!(names, policies().iter().map(|policy| policy.name).collect::<Vec<_>>());
    for experiment in crate::experiments::EXPERIMENTS {
        let of = |value: &Value| value.about.starts_with(&format!("{}: ", experiment.name));
        assert!(handovers.values.iter().any(of), "{}", experiment.name);
    }
    assert_eq!(sweep.keys(None).len(), 3 * handovers.values.len() * policies().len());
    let command = sweep.command(&sweep.keys(None)[0]);
    assert!(command.starts_with("msctp sim scenarios/kim-koh/3g-to-wlan.toml --seed 1 "), "{command}");
    assert!(command.contains("available = \"11Mbps\""), "{command}");
    assert_eq!(scenario_file!("compare/policies.toml").sha256(), sweep.sources[0].sha256);
}
