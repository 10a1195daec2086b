//! Cells, outcomes, reports, records and the store of a sweep.

use msctp_lab_schemes::policies::policies;

use super::*;
use crate::claims::Grade;

#[test]
fn cells_are_the_combinations_with_their_overrides() {
    let sweep = sweep();
    assert_eq!(sweep.cells.len(), 4);
    assert_eq!(sweep.named(&sweep.cells[1].values), "policy conservative, loss 0.02");
    assert_eq!(
        sweep.command(&sweep.keys()[4]),
        "msctp-lab sim folder/walk.toml --seed 2 --set action.move.at=3s --set action.out-of-reach.at=4s --set action.fade.at=2s \
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
    let report = outcome.report("msctp-lab sweep try.toml", "0.1.0");
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
        serde_json::to_value(outcome.report("msctp-lab sweep try.toml", "0.1.0").built_from("abc").record)
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
        let text = serde_json::to_string(
            &outcome.report("msctp-lab sweep try.toml", "0.1.0").built_from("abc").record,
        )
        .unwrap();
        let recorded = Recorded::parse(&text).unwrap();
        assert_eq!((&*recorded.command, &*recorded.commit), ("msctp-lab sweep try.toml", "abc"));
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
    assert!(command.starts_with("msctp-lab sim scenarios/kim-koh/3g-to-wlan.toml --seed 1 "), "{command}");
    assert!(command.contains("available = \"11Mbps\""), "{command}");
    assert_eq!(
        (&*sweep.sources[0].path, sweep.sources[0].sha256.len()),
        ("scenarios/compare/policies.toml", 64)
    );
}
