use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use msctp_schemes::policies::policies;

use super::*;
use crate::claims::{Claim, Grade};
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
    sweep.run(&execution).unwrap()
}

#[test]
fn cells_are_the_combinations_with_their_overrides() {
    let sweep = sweep();
    assert_eq!(sweep.cells.len(), 4);
    assert_eq!(sweep.named(&sweep.cells[1].values), "policy conservative, loss 0.02");
    assert_eq!(
        sweep.command(&sweep.keys()[4]),
        "msctp sim folder/walk.toml --seed 2 --set action.move.at=3s --set action.out-of-reach.at=4s --set action.fade.at=2s \
         --set duration=9s \
         --set sctp.server.handover_policy=conservative --set link.wifi.loss=0.02"
    );
    for (number, cell) in sweep.cells.iter().enumerate() {
        assert_eq!(sweep.cell(&cell.values), Some(number));
    }
    let paths: Vec<&str> = sweep.sources.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, ["folder/sweeps/try.toml", "folder/walk.toml"]);
    let effort = Effort { quick: true, seeds: Some(2), claims: false };
    assert_eq!(sweep.reduced(&effort).keys().len(), 8);
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
    let after = |cell: usize, seed: usize| *outcome.runs.done[3 * cell + seed].1.metrics[1].as_ref().unwrap();
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
    assert_eq!(ledger[2].grade, Grade::Reproduced);
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
    let head = "policy,loss,seed,gap_s,after_bps,msctp_version,scenario,scenario_sha256,overrides,command\n";
    assert!(csv.starts_with(head), "{csv}");
    assert_eq!(csv.lines().count(), 13);
    std::fs::remove_dir_all(dir).unwrap();
    let record =
        serde_json::to_value(outcome.report("msctp sweep try.toml", "0.1.0").built_from("abc").record)
            .unwrap();
    assert_eq!((&record["commit"], &record["seeds"][2]), (&"abc".into(), &3.into()));
    assert_eq!(record["files"][1]["text"], SCENARIO);
    assert_eq!(record["cells"][3]["overrides"][5], "link.wifi.loss=0.02");
}

#[test]
fn a_record_gives_its_sweep_again() {
    let whole = sweep();
    let quick = sweep().reduced(&Effort { quick: true, seeds: Some(2), claims: false });
    for sweep in [whole, quick] {
        let outcome = run(&sweep, 2, None);
        let text =
            serde_json::to_string(&outcome.report("msctp sweep try.toml", "0.1.0").built_from("abc").record)
                .unwrap();
        let recorded = Recorded::parse(&text).unwrap();
        assert_eq!((&*recorded.command, &*recorded.commit), ("msctp sweep try.toml", "abc"));
        let again = recorded.sweep().unwrap();
        assert_eq!(again.keys(), sweep.keys());
        assert_eq!(again.reduced, sweep.reduced);
        assert_eq!(run(&again, 1, None).json().unwrap(), outcome.json().unwrap());
        let other = Recorded::parse(&text.replace("\"inherit\"", "\"other\"")).unwrap();
        assert_eq!(other.sweep().unwrap_err(), "2 of the recorded 4 cells are those of its files");
        let gone = Recorded::parse(&text.replacen("folder/walk.toml", "folder/gone.toml", 1)).unwrap();
        assert!(gone.sweep().unwrap_err().contains("is not in the record"), "{:?}", gone.sweep().err());
    }
    assert!(Recorded::parse("{}").unwrap_err().to_string().contains("missing field"));
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
    let with = |more: &str| again("[comparison.gain]", &format!("{more}\n[comparison.gain]"));
    let curve = "[curve]\nrate = { of = \"association.goodput.curve\", every = ";
    assert_eq!(with("twice.is = \"after * 2\""), 0);
    assert_eq!(with("twice.is = \"after * 10\""), 0, "another formula");
    assert_eq!(with("twice = { is = \"after * 10\", label = \"ten\" }"), 12);
    assert_eq!(with("twice = { is = \"after * 10\", between = [0, 1e9] }"), 0, "another range");
    assert_eq!(with("twice.is = \"after * 10\"\nmore.is = \"after\""), 0, "one more metric");
    assert_eq!(with(&format!("{curve}\"1s\" }}")), 0);
    assert_eq!(with(&format!("{curve}\"2s\" }}")), 0, "other intervals");
    Store::open(&root, b"tests").unwrap().remove().unwrap();
}

/// Replaces the first text of [`TEXT`] by the second: the third is the error, without the file's name.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "seeds = \"1..3\"",
        "seeds = \"3\"",
        "4: seeds: \"3\" is not a range of seeds: want seeds = \"1..30\" (both included), or a list, such as [1, 7]",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = \"1..1000000000000\"",
        "4: seeds: \"1..1000000000000\" has more than 1000000 seeds: want at most 1000000 runs",
    ),
    ("seeds = \"1..3\"", "", " seeds: missing: want seeds = \"1..30\""),
    ("[axis.loss]", "[axes.loss]", "11: axes: unknown key; did you mean \"axis\"?"),
    ("set = \"link.wifi.loss\"", "", "11: axis.loss.set: missing: want set = \"link.wlan.loss\""),
    (
        "values = [0, 0.02]",
        "values = 0.02",
        "13: axis.loss.values: 0.02 is a number: want a list, such as [0, 0.01]",
    ),
    (
        "values = [0, 0.02]",
        "values = [0, 0]",
        "13: axis.loss.values: 0 is listed twice: want different values",
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
        "24: claim.0: want exactly one of below, above, within, level, at_least, at_most, not_below, not_above, mostly_above, rarely_above, agrees, such as below = { policy = \"inherit\" }",
    ),
    ("id = \"H2\"", "id = \"H1\"", "31: claim.1.id: \"H1\" is used twice: want ids that differ"),
    (
        "below = \"20Mbps\"",
        "below = \"20\"",
        "39: claim.2.below: \"20\" is not a rate: want a number of at least 0 with a unit, such as 384kbps, 11Mbps, 1Gbps or 9600bps",
    ),
    (
        "scenario = \"../walk.toml\"",
        "scenario = \"wlak.toml\"",
        "3: scenario: cannot read folder/sweeps/wlak.toml",
    ),
    (
        "handover_policy\"\nvalues",
        "handover_polcy\"\nvalues",
        "8: axis.policy.set: with policy conservative, loss 0: folder/walk.toml: sctp.server.handover_polcy: unknown key; did you mean \"handover_policy\"?",
    ),
    (
        "[axis.loss]\nset = \"link.wifi.loss\"",
        "[axis.loss]\nset = \"link.wfi.loss\"",
        "12: axis.loss.set: with policy conservative, loss 0: override link.wfi.loss=0: there is no link \"wfi\"; did you mean \"wifi\"?",
    ),
    (
        "{ \"action.move.at\" = \"3s\"",
        "{ link = { wifi = 3 }",
        "5: set.link: want the whole key in quotes, such as \"link.wlan.rate\" = \"2Mbps\"",
    ),
    (
        "values = [0, 0.02]",
        "values = [0, 2]",
        "13: axis.loss.values: with policy conservative, loss 2: folder/walk.toml: link.wifi.loss: 2 is not a \
         probability: want 0 to 1",
    ),
    (
        "set = \"link.wifi.loss\"\nvalues = [0, 0.02]",
        "set = \"sctp.server\"\nvalues = [0]",
        "11: axis.loss: with policy conservative, loss 0: the axes policy and loss both set \
         sctp.server.handover_policy, so that policy has no effect: want it in one of them",
    ),
    (
        "set = \"link.wifi.loss\"",
        "set = \"seed\"",
        "12: axis.loss.set: the seed of a scenario has no effect in a sweep: want seeds = \"1..30\"",
    ),
    (
        "gap.of = \"handover.gap\"",
        "gap = { of = \"handover.gap\", between = [\"9s\", \"8s\"] }",
        "16: metric.gap.between: with policy conservative, loss 0: 9s is above 8s: want the smaller value first",
    ),
    (
        "[axis.loss]",
        "[axis.seed]",
        "11: axis.seed: the tables would have two columns \"seed\": want another name",
    ),
    (
        "[axis.loss]",
        "[axis.gap_s]",
        "11: axis.gap_s: the tables would have two columns \"gap_s\": want another name",
    ),
    ("below = \"20Mbps\"", "below = inf", "39: claim.2.below: inf is not finite: want a number"),
    (
        "[axis.loss]",
        "[axis.gain]",
        "11: axis.gain: a metric or comparison has this name: want names that differ",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = [2, -1]",
        "4: seeds: -1 is negative: want seeds = \"1..30\" (both included), or a list, such as [1, 7]",
    ),
    (
        "seeds = \"1..3\"",
        "seeds = \"1..1000000000000\"",
        "4: seeds: \"1..1000000000000\" has more than 1000000 seeds: want at most 1000000 runs",
    ),
    (
        "scenario = \"../walk.toml\"",
        "scenario = \"../..\"",
        "3: scenario: is the folder of this file: want the path of a file, such as \"walk.toml\"",
    ),
    (
        "[comparison.gain]",
        "[estimate]\ngain = { is = \"{after}\" }\n[comparison.gain]",
        "20: estimate.gain: a comparison has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nafter = { is = \"{gap}\" }\n[comparison.gain]",
        "20: estimate.after: a metric has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nloss = { is = \"{gap}\" }\n[comparison.gain]",
        "20: estimate.loss: an axis has this name: want names that differ",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nmean = { is = \"{after}\", axes = [\"loss\"] }\n[comparison.gain]",
        "20: estimate.mean.axes: has no effect beside is: want one of them",
    ),
    (
        "[comparison.gain]",
        "[estimate]\nmean = { is = \"{after, loss}\" }\n[comparison.gain]",
        "20: estimate.mean.is: \"loss\": expected axis = value",
    ),
    (
        "metric = \"after\"\na = ",
        "metric = \"aftr\"\na = ",
        "26: claim.0.metric: there is no metric, comparison or estimate \"aftr\"; did you mean \"after\"?",
    ),
    (
        "\n[[claim]]\nid = \"H2\"",
        "[[claim.part]]\nmetric = \"after\"\nbelow = \"1Mbps\"\n[[claim]]\nid = \"H2\"",
        "26: claim.0.metric: has no effect beside part: want one of them",
    ),
    (
        "\n[[claim]]\nid = \"H2\"",
        "[[claim.check]]\nmetric = \"after\"\nbelow = \"1Mbps\"\n[[claim]]\nid = \"H2\"",
        "26: claim.0.metric: has no effect beside check: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = [\"conservative\", \"inherit\"] }",
        "28: claim.0.above.policy: has 2 values: want one, and a comparison of its own with each",
    ),
    (
        "against = { policy = \"conservative\" }",
        "against = { policy = [\"conservative\", \"inherit\"] }",
        "21: comparison.gain.against.policy: has 2 values: want one, and a comparison of its own with each",
    ),
    (
        "above = { policy = \"conservative\" }",
        "mostly_above = \"1Mbps\"\nover = { loss = [0, 0.02] }",
        "29: claim.0.over: has no effect with mostly_above: want the values in a, for each of which it must hold",
    ),
    (
        "above = { policy = \"conservative\" }",
        "rarely_above = { policy = \"conservative\" }",
        "28: claim.0.rarely_above: has no such value: want a number",
    ),
    (
        "above = { policy = \"conservative\" }",
        "best = \"policy\"\nmargin = \"9%\"",
        "29: claim.0.margin: has no effect beside best: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "best = \"policy\"\nbelow = { policy = \"conservative\" }",
        "29: claim.0.below: has no effect beside best: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = \"inherit\" }\nover = { loss = 0 }",
        "30: claim.0.over: has no effect beside nearer: want one of them",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = \"conservative\" }",
        "27: claim.0.a: compares a cell with itself (policy conservative, loss 0): want different cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"inherit\" }",
        "27: claim.0.a: compares a cell with itself (policy inherit, loss 0): want different cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"conservative\" }\nthan = \"gap\"",
        "29: claim.0.than: has another unit than handover.after: want the same unit",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = 5\nthan = \"gap\"",
        "29: claim.0.than: has no effect with above: want it with a relation to other cells",
    ),
    (
        "above = { policy = \"conservative\" }",
        "above = { policy = \"conservative\" }\nlinear = \"80%\"",
        "29: claim.0.linear: has no effect beside above: want one of them",
    ),
    (
        "below = \"20Mbps\"",
        "below = \"20Mbps\"\nmissing = \"skip\"",
        "40: claim.2.missing: has no effect with below: want it with mostly_above or rarely_above",
    ),
    (
        "below = \"20Mbps\"",
        "agrees = \"20Mbps\"",
        "39: claim.2.agrees: has no such value: want a cell, such as { policy = \"inherit\" }",
    ),
    (
        "above = { policy = \"conservative\" }",
        "nearer = { policy = \"conservative\" }\nto_than = { policy = [] }",
        "29: claim.0.to_than.policy: has 0 values: want one, and a comparison of its own with each",
    ),
];

#[test]
fn faults_are_named_with_their_line_their_key_and_the_remedy() {
    let fault = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        Sweep::read(&TEXT.replacen(from, to, 1), "folder/sweeps/try.toml", &open).unwrap_err().to_string()
    };
    let found: Vec<String> = FAULTS.iter().map(|(from, to, _)| fault(from, to)).collect();
    let wanted: Vec<String> =
        FAULTS.iter().map(|(.., want)| format!("folder/sweeps/try.toml:{want}")).collect();
    assert_eq!(found, wanted);
}

/// A draw is checked for every seed before the first run, and its stream is named by `with`.
#[test]
fn draws_are_checked_before_the_first_run() {
    let file = |draw: &str| {
        let axis = format!("[[axis.move.value]]\nname = \"m\"\nwith = {{ s = \"A\" }}\ndraw = {draw}\n");
        let start = TEXT.find("[axis.policy]").unwrap();
        let end = TEXT.find("[metric]").unwrap();
        let metric = TEXT.find("[comparison.gain]").unwrap();
        let text = TEXT[..start].replace("\"1..3\"", "\"1..30\"") + &axis + &TEXT[end..metric];
        Sweep::read(&text, "folder/sweeps/try.toml", &open)
    };
    let late = file("{ \"action.move.at\" = [\"2s\", \"9.5s\"] }").unwrap_err().to_string();
    let place = ":7: axis.move.value.m: with move m: seed ";
    assert!(late.contains(place) && late.contains("is after the end"), "{late}");
    let first_seed = file("{ \"action.move.at\" = [\"60s\", \"61s\"] }").unwrap_err().to_string();
    assert!(first_seed.contains(":7: axis.move.value.m: with move m: "), "{first_seed}");
    let first = |draw: &str| file(draw).unwrap().cells[0].overrides(1).pop().unwrap();
    let named = first("{ \"action.move.at\" = [\"2s\", \"6s\", \"c{s}\"] }");
    assert_eq!(named, first("{ \"action.move.at\" = [\"2s\", \"6s\", \"cA\"] }"));
    assert_ne!(named, first("{ \"action.move.at\" = [\"2s\", \"6s\", \"cB\"] }"));
    let unknown = file("{ \"action.move.at\" = [\"2s\", \"6s\", \"c{t}\"] }").unwrap_err().to_string();
    assert!(unknown.contains("no axis value defines {t}"), "{unknown}");
    for (draw, fault) in [
        ("handover = \"wifi\", within = 12", "within: has no effect beside handover: want one of them"),
        (
            "packets = 3, from = 10, within = 50, plus = \"2s\"",
            "plus: has no effect beside packets: want one of them",
        ),
    ] {
        let found = file(&format!("{{ \"link.wifi.loss\" = {{ {draw} }} }}")).unwrap_err().to_string();
        assert!(found.ends_with(&format!(".draw.link.wifi.loss.{fault}")), "{found}");
    }
}

/// The draws of every axis follow the sets of all axes.
#[test]
fn a_set_that_a_draw_replaces_is_without_effect() {
    let fault = |key: &str| {
        let axes = format!(
            "[[axis.first.value]]\nname = \"a\"\n\
             draw = {{ \"link.wifi.loss\" = {{ packets = 3, from = 10, within = 50 }} }}\n\
             [axis.second]\nset = \"{key}\"\nvalues = [0]\n"
        );
        let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
        let text = TEXT[..start].to_owned() + &axes + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
        Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap_err().to_string()
    };
    for key in ["link.wifi.loss", "link.wifi.loss.share"] {
        let want = format!(
            "axis.first: with first a, second 0: the axes second and first both set {key}, so that second \
             has no effect: want it in one of them"
        );
        assert!(fault(key).ends_with(&want), "{}", fault(key));
    }
}

#[test]
fn an_estimate_has_the_seeds_of_its_operands_which_have_as_many() {
    let read = |estimate: &str| {
        let axis = format!(
            "[[axis.arm.value]]\nname = \"base\"\n[[axis.arm.value]]\nname = \"few\"\nseeds = 2\n\
             [metric]\nat.of = \"handover.at\"\n[estimate]\nown = {{ is = \"{estimate}\" }}\n\
             [[claim]]\nid = \"A\"\nmetric = \"own\"\nabove = 0\n"
        );
        let text = TEXT[..TEXT.find("[axis.policy]").unwrap()].to_owned() + &axis;
        Sweep::read(&text, "folder/sweeps/try.toml", &open)
    };
    let fault = read("{at, arm = few} / {at, arm = base}").unwrap_err().to_string();
    let want = "estimate.own.is: with arm base: its operands have cells with 2 seeds and cells with all: \
                want the same number";
    assert!(fault.ends_with(want), "{fault}");
    // The cell beside which the estimate is shown has three seeds.
    let sweep = read("{at, arm = few}").unwrap();
    let outcome = synthetic(&sweep, |_, _, seed| 7.0 + seed as f64);
    assert_eq!(outcome.by_seed(Quantity::Estimate(0), 0), [(1, 8.0), (2, 9.0)]);
    let claim = &outcome.ledger()[0];
    assert_eq!(claim.effect.as_ref().map(|effect| effect.seeds), Some(2), "{claim:?}");
}

#[test]
fn means_over_several_cells_are_of_the_same_cells() {
    let read = |only: &str, rest: &str| {
        let axes = format!(
            "[[axis.arm.value]]\nname = \"base\"\n[[axis.arm.value]]\nname = \"some\"\nonly = {{ loss = {only} }}\n\
             [axis.loss]\nset = \"link.wifi.loss\"\nvalues = [0, 0.02]\n[metric]\nat.of = \"handover.at\"\n"
        );
        let text = TEXT[..TEXT.find("[axis.policy]").unwrap()].to_owned() + &axes + rest;
        Sweep::read(&text, "folder/sweeps/try.toml", &open).map_err(|error| error.to_string())
    };
    let claim = "[[claim]]\nid = \"A\"\nmetric = \"at\"\na = { arm = \"base\" }\nlevel = { arm = \"some\" }\n\
                 over = { loss = [0, 0.02] }\n";
    assert!(read("[0, 0.02]", claim).is_ok());
    let fault = read("[0.02]", claim).unwrap_err();
    let want = "claim.0.over: with arm base, loss 0: only one side has a cell with loss 0: want values that \
                both sides have";
    assert!(fault.ends_with(want), "{fault}");
    let sweep = read("[0.02]", "[estimate]\nall = { is = \"mean({at, loss = *})\" }\n").unwrap();
    let outcome = synthetic(&sweep, |_, _, seed| seed as f64);
    let mean = |arm: usize| outcome.estimated(0, &[arm, 1], None);
    assert_eq!((mean(0), mean(1)), (Ok(vec![2.0]), Err("1 of 2 cells exist".to_owned())));
}

#[test]
fn most_and_few_runs_are_counted_in_each_cell() {
    let grade = |loss: &str, relation: &str| {
        let start = TEXT.find("[comparison.gain]").unwrap();
        let claim = format!(
            "[[claim]]\nid = \"A\"\nmetric = \"gap\"\na = {{ loss = {loss} }}\n{relation} = \"1s\"\n"
        );
        let text = TEXT[..start].replace("\"1..3\"", "\"1..20\"") + &claim;
        let sweep = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap();
        let gap = |names: &[&str], _: &str, _: u64| if names[1] == "0" { 2.0 } else { 0.5 };
        let ledger = synthetic(&sweep, gap).ledger();
        (ledger[0].grade, ledger[0].effect.as_ref().map(|effect| effect.text.clone()))
    };
    let of_20 = |text: &str| Some(format!("{text} %)"));
    assert_eq!(grade("0", "mostly_above"), (Grade::Reproduced, of_20("20 of 20 (84 to 100")));
    assert_eq!(grade("[0, 0.02]", "mostly_above"), (Grade::Contradicted, of_20("0 of 20 (0 to 16")));
    assert_eq!(grade("[0, 0.02]", "margin = \"60%\"\nrarely_above").0, Grade::Contradicted);
    let (never, effect) = grade("[0, 0.02]", "rarely_above");
    assert_eq!((never, effect), (Grade::Contradicted, of_20("20 of 40 (35 to 65")), "one check of all runs");
}

#[test]
fn a_seed_without_a_value_leaves_estimates_and_counts_of_runs_unjudged() {
    let claims = "[estimate]\nmean = { is = \"{gap, policy = inherit, loss = 0}\" }\n\
                  [[claim]]\nid = \"A\"\nmetric = \"mean\"\nbelow = 1\n\
                  [[claim]]\nid = \"B\"\nmetric = \"gap\"\nrarely_above = \"1s\"\n\
                  [[claim]]\nid = \"C\"\nmetric = \"gap\"\nmostly_above = \"100ms\"\n\
                  [[claim]]\nid = \"D\"\nmetric = \"gap\"\nrarely_above = \"1s\"\nmissing = \"skip\"\n";
    let start = TEXT.find("[comparison.gain]").unwrap();
    let text = TEXT[..start].replace("\"1..3\"", "\"1..10\"") + claims;
    let sweep = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap();
    let mut outcome = synthetic(&sweep, |_, _, seed| 0.5 + 1e-3 * seed as f64);
    let grades = |outcome: &Outcome<'_>| outcome.ledger().iter().map(|claim| claim.grade).collect::<Vec<_>>();
    assert_eq!(grades(&outcome), [Grade::Reproduced; 4]);
    let cell = sweep.cell(&[1, 0]).unwrap();
    let run = outcome.runs.done.iter_mut().find(|(key, _)| (key.cell, key.seed) == (cell, 7)).unwrap();
    run.1.metrics[0] = Err("the transfer is not complete".to_owned());
    let without = [Grade::OutOfReach, Grade::OutOfReach, Grade::OutOfReach, Grade::Reproduced];
    assert_eq!(grades(&outcome), without);
    assert_eq!(outcome.ledger()[0].measured, "9 of 10 runs have a value");
    let why = &outcome.ledger()[1].measured;
    assert!(why.contains("policy inherit, loss 0: 9 of 10 runs have a value: want all"), "{why}");
}

#[test]
fn a_ratio_to_zero_leaves_a_comparison_without_a_mean() {
    let sweep = sweep();
    let after = |names: &[&str], _: &str, seed: u64| match (names[0], seed) {
        ("conservative", 2) => 0.0,
        _ => seed as f64,
    };
    let outcome = synthetic(&sweep, after);
    let cell = sweep.cell(&[1, 0]).unwrap();
    assert_eq!(outcome.values(Quantity::Contrast(0), cell).len(), 2);
    assert_eq!(outcome.mean(Quantity::Contrast(0), cell), None);
    let note = "gain has no value in 4 of 12 runs, first in policy conservative, loss 0, seed 2: after of policy \
                conservative is not above zero";
    assert_eq!(outcome.missing(), [note]);
}

#[test]
fn bare_numbers_are_in_the_unit_that_the_file_names() {
    let text = TEXT
        .replace("gap.of = \"handover.gap\"", "gap = { of = \"handover.gap\", unit = \"ms\", grain = 3 }")
        .replace("after.of = \"handover.after\"", "after = { of = \"handover.after\", unit = \"Mbps\" }")
        .replace("below = \"20Mbps\"", "below = 20")
        + "[metric.share]\nis = \"gap / 9s\"\nunit = \"%\"\nbetween = [0, 95]\n\
           [[claim]]\nid = \"H4\"\nmetric = \"share\"\nbelow = 5\nrelevant = 2\n\
           [estimate.known]\naxes = [\"loss\"]\nvalues = [7, 8]\nunit = \"kbps\"\n\
           [[table]]\ncells = \"gap\"\ngood = 100\nbad = \"200ms\"\n";
    let sweep = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap();
    assert_eq!(sweep.metrics[0].grain, 0.003);
    assert_eq!(sweep.cells[0].ranges[2], Some([0.0, 0.95]));
    let constants = sweep.claims.iter().filter_map(|claim| match &claim.checks[0].what {
        Wants::Relation { against: Against::Constant(constant), .. } => Some(*constant),
        _ => None,
    });
    assert_eq!(constants.collect::<Vec<_>>(), [2e7, 0.05]);
    assert_eq!(sweep.claims[3].checks[0].relevant, Some(Relevant::Value(0.02)));
    assert_eq!(synthetic(&sweep, |_, _, _| 1.0).estimated(0, &[0, 1], None), Ok(vec![8000.0]));
    assert_eq!(sweep.tables[0].tones, Some((0.1, 0.2)));
}

#[test]
fn equal_counts_of_runs_that_differ_are_no_proof() {
    let claims = "count.is = \"gap\"\n[[claim]]\nid = \"A\"\nmetric = \"count\"\nat_most = 0\n\
                  [[claim]]\nid = \"B\"\nmetric = \"count\"\na = { policy = \"inherit\" }\n\
                  level = { policy = \"conservative\" }\n\
                  [[claim]]\nid = \"C\"\nmetric = \"count\"\nabove = 1\n\
                  [[claim]]\nid = \"D\"\nmetric = \"gap\"\nat_most = \"0s\"\n";
    let text = TEXT[..TEXT.find("[comparison.gain]").unwrap()].to_owned() + claims;
    let sweep = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap();
    let mut outcome = synthetic(&sweep, |_, _, _| 0.0);
    let grades = |outcome: &Outcome<'_>| outcome.ledger().iter().map(|claim| claim.grade).collect::<Vec<_>>();
    let (holds, open, fails) = (Grade::Reproduced, Grade::Unresolved, Grade::Contradicted);
    assert_eq!(grades(&outcome), [holds, holds, fails, holds]);
    for (key, values) in &mut outcome.runs.done {
        values.summary = key.seed.to_string();
    }
    assert_eq!(grades(&outcome), [open, open, fails, holds], "a time that no seed changes is measured");
    let measured = &outcome.ledger()[0].measured;
    assert!(measured.contains("0.0, all 3 runs equal, although the runs differ"), "{measured}");
}

#[test]
fn the_runs_of_a_seed_without_effect_are_alike() {
    let differ = |sweep: &Sweep| -> Vec<bool> {
        let outcome = run(sweep, 2, None);
        sweep.cells.iter().map(|cell| outcome.differ(Quantity::Metric(0), &cell.values)).collect()
    };
    assert_eq!(differ(&sweep()), [true; 4]);
    let fixed = bundled("scenarios/park-jang/paper.toml").unwrap();
    let fixed = fixed.restricted("place = microscope", vec![1, 2]).unwrap();
    assert_eq!(differ(&fixed), [false; 4], "packets lost by their number");
}

#[test]
fn a_comparison_of_cells_with_other_numbers_of_seeds_has_one_grade() {
    let axis = "[[axis.arm.value]]\nname = \"base\"\ndraw = { \"action.move.at\" = [\"2s\", \"3s\", \"m\"] }\n\
                [[axis.arm.value]]\nname = \"few\"\nseeds = 2\n\
                draw = { \"action.move.at\" = [\"2.5s\", \"3.5s\", \"m\"] }\n\
                [metric]\nat.of = \"handover.at\"\n\
                [[claim]]\nid = \"A\"\nmetric = \"at\"\na = { arm = \"few\" }\nabove = { arm = \"base\" }\n\
                [[claim]]\nid = \"B\"\nmetric = \"at\"\na = { arm = \"base\" }\nbelow = { arm = \"few\" }\n";
    let text = TEXT[..TEXT.find("[axis.policy]").unwrap()].to_owned() + axis;
    let sweep = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap();
    let ledger = run(&sweep, 2, None).ledger();
    let graded: Vec<_> =
        ledger.iter().map(|claim| (claim.grade, claim.effect.as_ref().map(|e| e.seeds))).collect();
    assert_eq!(graded, [(Grade::Reproduced, Some(2)); 2]);
}

/// The texts of any axis, and of the sweep, name streams and links.
#[test]
fn a_draw_has_the_texts_of_its_cell() {
    let sweep = |stream: &str| {
        let axes = format!(
            "[[axis.a.value]]\nname = \"x\"\nwith = {{ s = \"A\" }}\n\
             [[axis.b.value]]\nname = \"y\"\ndraw = {{ \"link.wifi.loss\" = \
             {{ packets = 3, from = 10, within = 50, stream = \"{stream}\" }} }}\n"
        );
        let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
        let text = TEXT[..start].to_owned() + &axes + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
        Sweep::read(&text, "folder/sweeps/try.toml", &open)
    };
    let lost = |stream: &str| sweep(stream).unwrap().cells[0].overrides(2).pop().unwrap();
    assert_eq!(lost("c{s}"), lost("cA"));
    assert_ne!(lost("c{s}"), lost("cB"));
    let unknown = sweep("c{t}").unwrap_err().to_string();
    assert!(unknown.contains("axis.b.value.y: no axis value defines {t}"), "{unknown}");
    let draw = &sweep("cA").unwrap().cells[0].draws[0];
    let Drawing::Packets(numbers) = draw.drawn(2) else { panic!("{draw:?}") };
    assert_eq!((numbers.len(), numbers[0]), (3, 10));
    assert!(lost("cA").ends_with(&format!("packets=[10,{},{}]}}", numbers[1], numbers[2])), "{numbers:?}");
}

/// An override with `{name}` is compared with the other values of its axis, each with its own text.
#[test]
fn the_values_of_an_axis_are_at_fault_if_another_is_accepted() {
    let axis = "[[axis.rate.value]]\nname = \"r\"\nwith = { link = \"wifi\" }\n\
                [axis.loss]\nset = \"link.{link}.loss\"\nvalues = [2, 0]\n";
    let (start, end) = (TEXT.find("[axis.policy]").unwrap(), TEXT.find("[metric]").unwrap());
    let text = TEXT[..start].to_owned() + axis + &TEXT[end..TEXT.find("[comparison.gain]").unwrap()];
    let error = Sweep::read(&text, "folder/sweeps/try.toml", &open).unwrap_err().to_string();
    assert!(error.contains(":12: axis.loss.values: with rate r, loss 2: "), "{error}");
}

#[test]
fn the_bundled_comparison_has_every_policy_on_the_handovers_of_every_paper() {
    let sweep = compare(&Effort { quick: true, seeds: None, claims: false }).unwrap();
    let [handovers, chosen] = &sweep.axes[..] else { panic!("two axes") };
    let names: Vec<&str> = chosen.values.iter().map(|value| value.name.as_str()).collect();
    // The default of a program, and the flow that harm is measured against.
    let others = ["mobile", "CUBIC"];
    let mut expected: Vec<&str> = policies().iter().map(|policy| policy.name).chain(others).collect();
    let mut sorted = names.clone();
    expected.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    for experiment in crate::experiments::EXPERIMENTS {
        let of = |value: &Value| value.about.starts_with(&format!("{}: ", experiment.name));
        assert!(handovers.values.iter().any(of), "{}", experiment.name);
    }
    assert_eq!(sweep.keys().len(), 3 * handovers.values.len() * names.len());
    let command = sweep.command(&sweep.keys()[0]);
    assert!(command.starts_with("msctp sim scenarios/kim-koh/3g-to-wlan.toml --seed 1 "), "{command}");
    assert!(command.contains("available = \"11Mbps\""), "{command}");
    assert_eq!(
        (&*sweep.sources[0].path, sweep.sources[0].sha256.len()),
        ("scenarios/compare/policies.toml", 64)
    );
}

#[test]
fn eklunds_cells_are_the_papers_with_two_competitors_and_pacing() {
    let file = "scenarios/eklund/paper.toml";
    let sweep = bundled(file).unwrap();
    assert_eq!(sweep.cells.len(), 2 * 13 * 4 + 4 * 4);
    assert_eq!(sweep.keys().len(), 120 * 40);
    // 2 videos and 5 TCP flows on hc: the other applications wait for an action, the starts are drawn.
    let find = |sweep: &Sweep, name: &str| {
        let cell = sweep.cells.iter().position(|cell| sweep.named(&cell.values) == name);
        cell.unwrap_or_else(|| panic!("{name}"))
    };
    let cell = &sweep.cells[find(&sweep, "against CUBIC, hc, 2 videos, 5 TCP flows, at once, NR")];
    let sets = |seed| cell.overrides(seed);
    let waiting =
        |app: &str| sets(1).iter().filter(|set| set.starts_with(app) && set.ends_with("=action")).count();
    assert_eq!((waiting("app.video-"), waiting("app.bulk-")), (3, 5));
    let starts = |seed| sets(seed).into_iter().filter(|set| set.ends_with("ms")).collect::<Vec<_>>();
    assert_eq!(starts(1).len(), 5);
    assert!(starts(1).iter().zip(starts(2)).all(|(one, two)| *one != two), "{:?}", starts(1));
    let other = &sweep.cells[find(&sweep, "against NewReno, hc, 2 videos, 5 TCP flows, at once, 3 MSS")];
    assert!(starts(1).iter().all(|set| other.overrides(1).contains(set)), "windows share their starts");
    let quick = bundled(file).unwrap().reduced(&Effort { quick: true, seeds: None, claims: false });
    assert_eq!(quick.keys().len(), (7 * 4 + 4 * 4) * 5);
}

/// Returns an outcome whose metrics are a function of axes' value names and seeds.
pub(super) fn synthetic<'s>(sweep: &'s Sweep, value: impl Fn(&[&str], &str, u64) -> f64) -> Outcome<'s> {
    let values = |key: &Key| {
        let of = &sweep.cells[key.cell].values;
        let names: Vec<&str> =
            sweep.axes.iter().zip(of).map(|(axis, &value)| axis.values[value].name.as_str()).collect();
        let here = |column: &Column| contains(&column.only, of);
        let metric = |column: &Column| match here(column) {
            true => Ok(value(&names, &column.name, key.seed)),
            false => Err("not of this cell".to_owned()),
        };
        let curve = |column: &Column| {
            let points = if here(column) { 300 } else { 0 };
            (0..points)
                .map(|n| (f64::from(n), value(&names, &column.name, key.seed) + f64::from(n)))
                .collect()
        };
        outcome::Values {
            metrics: sweep.metrics.iter().map(metric).collect(),
            curves: sweep.curves.iter().map(curve).collect(),
            summary: String::new(),
        }
    };
    let done = sweep.keys().into_iter().map(|key| (key.clone(), values(&key))).collect();
    let runs = crate::plan::Outcomes { done, failed: Vec::new(), skipped: Vec::new() };
    Outcome { sweep, runs }
}

/// Returns the paper's runs, in which the window removes a delay unless ten TCP flows lose the first
/// messages.
pub(super) fn papers(names: &[&str], metric: &str, seed: u64) -> f64 {
    let (flows, window) = (names[1], names[3]);
    let noise = 1e-3 * ((seed * 7) % 5) as f64;
    let delay = match window {
        _ if flows.ends_with("10t") => 0.2,
        "3 MSS" => 0.7,
        "10 MSS" if flows.starts_with("lc") => 0.3,
        "10 MSS" => 0.02,
        "20 MSS" if flows.starts_with("lc") => 0.2,
        _ => 0.0,
    };
    match metric {
        "mmtt" | "mean_mtt" | "first_max" | "first_mean" => 0.3 + delay + noise * (1.0 + delay),
        "losses" if flows.ends_with("10t") => 2.0 + noise,
        "delivered" => 0.99,
        "tcp" | "tcp_first" => 3.5e6 + noise,
        _ => noise,
    }
}

#[test]
fn eklunds_claims_hold_for_the_papers_values_and_each_fails_for_its_contrary() {
    let sweep = bundled("scenarios/eklund/paper.toml").unwrap().reduced(&Effort {
        quick: false,
        seeds: Some(6),
        claims: false,
    });
    let verdicts = |value: &dyn Fn(&[&str], &str, u64) -> f64| {
        let ledger = synthetic(&sweep, value).ledger();
        assert_eq!(ledger.len(), 7);
        ledger.into_iter().map(|claim| (claim.id.to_string(), claim.grade)).collect::<Vec<_>>()
    };
    for (id, verdict) in verdicts(&papers) {
        assert_eq!(verdict, Grade::Reproduced, "{id}");
    }
    // The change of a metric under some flows and windows, and the claims that then fail.
    type Change = (&'static str, &'static str, &'static str, f64, &'static [&'static str]);
    let changes: [Change; 12] = [
        ("lc 1v 1t", "10 MSS", "mmtt", 0.4, &["EK1"]),
        ("lc 1v 1t", "20 MSS", "mmtt", 0.1, &["EK1"]),
        ("lc 1v 1t", "20 MSS", "mean_mtt", 0.1, &["EK1"]),
        ("lc 1v 1t", "20 MSS", "tcp_first", -0.3e6, &["EK2"]),
        ("lc 1v 1t", "NR", "delivered", -0.1, &["EK2"]),
        ("lc 2v 1t", "3 MSS", "tcp", -0.8e6, &["EK3"]),
        ("lc 2v 1t", "10 MSS", "first_mean", 0.4, &["EK3"]),
        ("hc 1v 2t", "3 MSS", "first_max", -0.7, &["EK4"]),
        ("hc 1v 2t", "10 MSS", "first_max", 0.2, &["EK4"]),
        ("hc 5v 2t", "10 MSS", "first_max", 0.1, &["EK5"]),
        ("hc 2v 10t", "3 MSS", "losses", -9.0, &["EK6"]),
        ("hc 1v 5t", "NR", "tcp", 0.3e6, &["EK7"]),
    ];
    for (flows, window, metric, by, fail) in changes {
        let changed = |names: &[&str], of: &str, seed: u64| {
            let is_it = (names[1], names[3], of) == (flows, window, metric);
            papers(names, of, seed) + if is_it { by } else { 0.0 }
        };
        let failed = verdicts(&changed).into_iter().filter(|(_, grade)| *grade != Grade::Reproduced);
        let failed: Vec<String> = failed.map(|(id, _)| id).collect();
        assert_eq!(failed, fail, "{metric} of {flows} with {window}");
    }
    // A curve that falls, and one that jumps.
    for slope in [-2.0, 0.0] {
        let mut outcome = synthetic(&sweep, papers);
        for (_, values) in &mut outcome.runs.done {
            for (x, y) in &mut values.curves[0] {
                *y = if slope == 0.0 { (*x * 7.0) % 5.0 } else { slope * *x };
            }
        }
        assert_eq!(outcome.ledger()[2].grade, Grade::Contradicted, "EK3, slope {slope}");
    }
}

#[test]
fn findings_have_their_numbers_from_the_runs() {
    let sweep = bundled("scenarios/eklund/paper.toml").unwrap().reduced(&Effort {
        quick: false,
        seeds: Some(2),
        claims: false,
    });
    let outcome = synthetic(&sweep, |names, metric, seed| match metric {
        "tcp_first" if names[3] == "NR" => 3.0e6,
        "video_first" if names[3] == "NR" => 1.25e6,
        "losses" if names[1].ends_with("10t") => 0.0,
        _ => papers(names, metric, seed),
    });
    let report = outcome.report("msctp reproduce eklund", "0.1.0");
    let text = |id: &str| {
        report.findings.iter().find(|finding| finding.id == id).map(|finding| finding.text.as_str())
    };
    assert!(text("EK2").unwrap().contains("−14.3 % with NR, and"), "{:?}", text("EK2"));
    assert!(text("EK2").unwrap().contains("1.25 Mbps with NR"), "{:?}", text("EK2"));
    assert!(text("EK2").unwrap().contains("from that with 3 MSS by"), "{:?}", text("EK2"));
    // A finding whose check fails fails the whole experiment, and is called unresolved in a part of it.
    assert_eq!(report.findings.len(), 2);
    assert!(text("EK6").unwrap().starts_with("Unresolved by these runs (want"), "{:?}", text("EK6"));
    assert!(report.provenance.failed.is_empty(), "two of the seeds are a part");
    let whole = bundled("scenarios/eklund/paper.toml").unwrap();
    let outcome = synthetic(&whole, |names, metric, seed| match metric {
        "losses" => 0.0,
        _ => papers(names, metric, seed),
    });
    let failed = outcome.report("msctp reproduce eklund", "0.1.0").provenance.failed;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].0, "the finding about EK6");
    let wrong = |text: &str, to: &str| {
        let file = scenario_file!("eklund/paper.toml");
        let open = |path: &str| bundled_text(path);
        match Sweep::read(&file.text.replacen(text, to, 1), file.path, &open) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    let fault = wrong("{losses, flows = hc 1v 10t", "{lossses, flows = hc 1v 10t");
    assert!(
        fault.contains("finding.1.text: there is no metric, comparison or estimate \"lossses\""),
        "{fault}"
    );
    let fault = wrong("{losses, flows = hc 1v 10t", "{losses, flows = hc 1v 11t");
    assert!(fault.contains("finding.1.text: {losses, flows = hc 1v 11t"), "{fault}");
    assert!(fault.contains("the axis flows has no value \"hc 1v 11t\""), "{fault}");
    let fault = wrong("{losses, flows = hc 1v 10t", "{losses, flows = hc 1v 10t|hc 1v 5t");
    assert!(fault.contains("want one value of flows"), "{fault}");
    let fault = wrong("Against NewReno only the first", "Against NewReno only 5 of the first");
    assert!(fault.contains("finding.0.text: has the number \"5\": want it from the runs"), "{fault}");
    let finding = "[[finding]]\nclaim = \"EK2\"";
    let fault = wrong(finding, &format!("{finding}\ntext = \"So it is\"\n\n{finding}"));
    assert!(fault.contains("finding.0.check: missing: want a [[finding.check]]"), "{fault}");
}

fn bundled_text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).map_err(|e| e.to_string())
}

/// Kim and Koh's values: windows and throughputs in the order that the paper says.
fn kim_koh(names: &[&str], metric: &str, seed: u64) -> f64 {
    let (movement, load, scheme) = (names[1], names[2].parse::<u32>().unwrap_or(0), names[3]);
    let rate = match (movement, scheme) {
        (_, "conservative") => 1.0,
        ("3g-to-wlan", "inherit") if load <= 40 => 1.05,
        ("3g-to-wlan", "inherit") => 0.9,
        ("3g-to-wlan", _) if load <= 40 => 1.051,
        ("3g-to-wlan", _) => 1.02,
        (_, "inherit") => 0.95,
        _ if load <= 70 => 1.05,
        _ => 1.0,
    };
    match metric {
        "throughput" => 1e6 * rate + 10.0 * seed as f64,
        "window_5s" | "window_30s" => 2e4 * rate,
        "start_cwnd" => {
            if scheme == "inherit" {
                4e4
            } else {
                3e4
            }
        }
        "depth" => 0.2,
        "timeouts_8s" | "fall_timeouts" => 1.0,
        "fall" => 32.0,
        "idle_error" => 0.01,
        "phases_below" => 4.0,
        _ if metric.ends_with("_error") => 0.03,
        _ => 0.0,
    }
}

/// Judges Kim and Koh's claims by these values, with windows whose minimum is at `at`.
fn kim_koh_ledger(sweep: &Sweep, at: f64, value: &dyn Fn(&[&str], &str, u64) -> f64) -> Vec<Claim> {
    let mut outcome = synthetic(sweep, value);
    let place = |name: &str| sweep.curves.iter().position(|curve| curve.name == name).unwrap();
    let curves = [place("half_seconds"), place("from_32")];
    for (_, values) in &mut outcome.runs.done {
        let point = |n: u32| (30.2 + 0.5 * f64::from(n), 1e4 + 1e3 * (30.2 + 0.5 * f64::from(n) - at).abs());
        for curve in curves {
            values.curves[curve] = (0..30).map(point).collect();
        }
    }
    outcome.ledger()
}

/// In the null model, the assignment of values to schemes changes from seed to seed, and the estimate equals
/// the capacity for any background traffic.
#[test]
fn no_claim_of_kim_and_koh_is_reproduced_with_permuted_labels() {
    let schemes = ["conservative", "inherit", "adaptive"];
    let permuted = |names: &[&str], metric: &str, seed: u64| {
        let own = schemes.iter().position(|scheme| *scheme == names[3]).unwrap();
        let other = schemes[(own + seed as usize) % 3];
        match metric {
            "idle_error" | "phases_below" => 0.0,
            "one_error" | "again_error" => -0.2,
            "two_error" | "busy_error" => -0.4,
            "three_error" => -0.6,
            _ => kim_koh(&[names[0], names[1], names[2], other], metric, seed),
        }
    };
    let sweep = bundled("scenarios/kim-koh/paper.toml").unwrap();
    for claim in kim_koh_ledger(&sweep, 35.2, &permuted) {
        assert_ne!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert!(claim.is_judged(), "{}", claim.id);
    }
}

#[test]
fn kim_kohs_claims_hold_for_the_papers_values_and_each_fails_for_its_contrary() {
    let sweep = bundled("scenarios/kim-koh/paper.toml").unwrap();
    assert_eq!(sweep.keys().len(), (2 * 2 * 10 * 3 + 2 + 16) * 30, "16: what the findings compare with");
    let lowest_at = |at: f64, value: &dyn Fn(&[&str], &str, u64) -> f64| kim_koh_ledger(&sweep, at, value);
    let papers = lowest_at(35.2, &kim_koh);
    assert_eq!(papers.len(), 9);
    for claim in &papers {
        assert_eq!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert_eq!(claim.judgements.len(), if claim.id == "KK1" { 1 } else { 2 }, "{}", claim.id);
    }
    assert_eq!(lowest_at(39.2, &kim_koh)[6].grade, Grade::Contradicted, "KK7: the low comes too late");
    assert_eq!(lowest_at(30.2, &kim_koh)[6].grade, Grade::Contradicted, "KK7: it does not fall");
    // The change of a metric of a scheme in a movement at a load, and the claims that then fail.
    type Change = (&'static str, &'static str, &'static str, &'static str, f64, &'static [&'static str]);
    let changes: [Change; 16] = [
        ("estimate-3g", "steps", "adaptive", "idle_error", 0.05, &["KK1"]),
        ("estimate-3g", "steps", "adaptive", "idle_error", -0.07, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "two_error", 0.08, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "phases_below", -2.0, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "busy_error", -0.03, &["KK1"]),
        ("3g-to-wlan", "0", "adaptive", "window_5s", -1e4, &["KK2"]),
        ("3g-to-wlan", "0", "adaptive", "throughput", -0.03e6, &["KK2"]),
        ("3g-to-wlan", "40", "adaptive", "start_cwnd", -1.5e4, &["KK3"]),
        ("3g-to-wlan", "40", "adaptive", "start_cwnd", 2e4, &["KK3"]),
        ("3g-to-wlan", "80", "inherit", "depth", 0.1, &["KK4"]),
        ("3g-to-wlan", "80", "inherit", "timeouts_8s", -1.0, &["KK4"]),
        ("3g-to-wlan", "50", "adaptive", "throughput", -0.2e6, &["KK5"]),
        ("wlan-to-3g", "0", "inherit", "fall", 3.0, &["KK6"]),
        ("wlan-to-3g", "40", "adaptive", "window_30s", -1e4, &["KK7"]),
        ("wlan-to-3g", "80", "adaptive", "throughput", -0.06e6, &["KK8"]),
        ("wlan-to-3g", "20", "adaptive", "throughput", -0.2e6, &["KK9"]),
    ];
    for (movement, load, scheme, metric, by, fail) in changes {
        let changed = |names: &[&str], of: &str, seed: u64| {
            let is_it = (names[1], names[2], names[3], of) == (movement, load, scheme, metric);
            kim_koh(names, of, seed) + if is_it { by } else { 0.0 }
        };
        let ledger = lowest_at(35.2, &changed);
        let failed = ledger.iter().filter(|claim| claim.grade != Grade::Reproduced);
        let failed: Vec<&str> = failed.map(|claim| &*claim.id).collect();
        assert_eq!(failed, fail, "{metric} of {scheme}, {movement} at {load} %");
    }
}
