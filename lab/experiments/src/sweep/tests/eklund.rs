//! The claims and findings of Eklund's paper, from given values.

use super::*;
use crate::claims::Grade;
use crate::scenario_file::scenario_file;

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
    let report = outcome.report("msctp-lab reproduce eklund", "0.1.0");
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
    let failed = outcome.report("msctp-lab reproduce eklund", "0.1.0").provenance.failed;
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
