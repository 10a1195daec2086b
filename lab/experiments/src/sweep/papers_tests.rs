//! The claims of the papers hold for values that the papers describe, and each part fails for its contrary.

use super::tests::{papers, synthetic};
use super::*;
use crate::claims::Grade;

/// A change to the values: some axes' values by index, a metric, the amount added, and the claims that fail
/// after it.
type Change = (&'static [(usize, &'static str)], &'static str, f64, &'static [&'static str]);

/// Checks that every claim is reproduced with the values, and that each change makes its claims fail.
fn check(file: &str, seeds: u64, value: &dyn Fn(&[&str], &str, u64) -> f64, changes: &[Change]) {
    let sweep = bundled(file).unwrap().reduced(&Effort { quick: false, seeds: Some(seeds), claims: false });
    for claim in synthetic(&sweep, value).ledger() {
        assert_eq!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
    }
    for (at, metric, by, fail) in changes {
        let changed = |names: &[&str], of: &str, seed: u64| {
            let is_it = of == *metric && at.iter().all(|&(axis, name)| names[axis] == name);
            value(names, of, seed) + if is_it { *by } else { 0.0 }
        };
        let ledger = synthetic(&sweep, changed).ledger();
        let failed = ledger.iter().filter(|claim| claim.grade != Grade::Reproduced);
        let failed: Vec<&str> = failed.map(|claim| &*claim.id).collect();
        assert_eq!(failed, *fail, "{metric} {by:+} at {at:?}");
    }
    // Without runs no claim is judged.
    let none = crate::plan::Outcomes { done: Vec::new(), failed: Vec::new(), skipped: Vec::new() };
    for claim in (Outcome { sweep: &sweep, runs: none }).ledger() {
        assert_eq!(claim.grade, Grade::OutOfReach, "{}", claim.id);
        assert!(!claim.measured.is_empty(), "{}: says what is missing", claim.id);
    }
}

/// Returns Park and Jang's values: loss differentiation gains, most with the proposed scheme.
fn park_jang(names: &[&str], metric: &str, seed: u64) -> f64 {
    let (place, scheme) = (names[1], names[3]);
    let gain = if place.ends_with("congestion") { 1.05 } else { 1.3 };
    let noise = 1.0 + 0.05 * (seed as f64 - 3.0);
    let frto = scheme == "f-rto";
    match (metric, scheme) {
        ("throughput", "standard") => 1e6 * noise,
        ("throughput", "previous") => 9e5 * gain * noise,
        ("throughput", _) => 1e6 * gain * noise,
        ("after_third", _) => 0.0,
        ("after_first", "proposed") => 2.0,
        ("after_first", _) => 20.0,
        ("resent", _) if place == "lte-errors" => 100.0,
        ("longest", _) => (if place == "lte-errors" { 0.6 } else { 0.5 }) + 1e-3 * noise,
        ("needless", _) if !frto => 1.0,
        _ => 0.0,
    }
}

#[test]
fn park_and_jangs_claims_hold_for_the_papers_values_and_each_fails_for_its_contrary() {
    let changes: &[Change] = &[
        (
            &[(0, "plain"), (1, "lte-mixed"), (2, "sack"), (3, "proposed")],
            "throughput",
            -0.4e6,
            &["PJ1", "PJ5"],
        ),
        (&[(0, "plain"), (2, "reno"), (3, "previous")], "throughput", 0.4e6, &["PJ1"]),
        (&[(2, "reno"), (3, "proposed")], "after_third", 3.0, &["PJ2"]),
        (&[(2, "reno"), (3, "proposed")], "after_third", -1.0, &["PJ2"]),
        (&[(2, "sack"), (3, "previous")], "after_first", -10.0, &["PJ2"]),
        (&[(2, "sack"), (3, "previous")], "after_first", 5.0, &["PJ2"]),
        (&[(2, "sack"), (3, "proposed")], "after_first", 2.0, &["PJ2"]),
        (&[(1, "lte-errors"), (2, "sack")], "resent", -100.0, &["PJ3"]),
        (&[(1, "lte-errors"), (2, "sack")], "lost", 1.0, &["PJ3"]),
        (&[(1, "lte-errors"), (2, "sack")], "duplicates", 1.0, &["PJ3"]),
        (&[(1, "lte-errors"), (2, "reno")], "fast_retransmits", 1.0, &["PJ3"]),
        (&[(1, "lte-errors"), (2, "reno")], "longest", -0.1, &["PJ3"]),
        (&[(1, "wlan-to-lte"), (2, "sack"), (3, "f-rto")], "missed", 1.0, &["PJ4"]),
        (&[(1, "wlan-to-lte"), (2, "sack"), (3, "f-rto")], "lost", 1.0, &["PJ4"]),
        (&[(1, "lte-to-wlan"), (2, "reno"), (3, "f-rto")], "shrunk", 1460.0, &["PJ4"]),
        (&[(2, "reno"), (3, "f-rto")], "needless", 1.0, &["PJ4"]),
        (&[(2, "reno"), (3, "f-rto")], "unset", 1.0, &["PJ4"]),
        (&[(2, "reno"), (3, "f-rto")], "off", 0.5, &["PJ4"]),
        (&[(2, "sack"), (3, "f-rto")], "too_short", 0.01, &["PJ4"]),
        (&[(0, "plain"), (1, "lte-wireless"), (2, "sctp"), (3, "proposed")], "throughput", -0.3e6, &["PJ5"]),
        (&[(0, "plain"), (1, "lte-mixed"), (2, "sctp"), (3, "proposed")], "throughput", -0.8e6, &["PJ5"]),
        (&[(1, "wlan-to-lte"), (2, "sctp"), (3, "f-rto")], "missed", 1.0, &["PJ5"]),
    ];
    check("scenarios/park-jang/paper.toml", 5, &park_jang, changes);
}

/// Checks that no claim of a set is reproduced by a null model, and that each is judged.
fn none_holds(file: &str, null: &dyn Fn(&[&str], &str, u64) -> f64, claims: &[&str]) {
    let sweep = bundled(file).unwrap().reduced(&Effort { quick: false, seeds: Some(6), claims: false });
    let ledger = synthetic(&sweep, null).ledger();
    let chosen: Vec<_> = ledger.iter().filter(|claim| claims.contains(&&*claim.id)).collect();
    assert_eq!(chosen.len(), claims.len(), "{file}");
    for claim in chosen {
        assert_ne!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert!(claim.is_judged(), "{}: {:#?}", claim.id, claim.judgements[0].checks);
    }
}

#[test]
fn no_claim_of_park_and_jang_is_reproduced_by_the_standard_under_every_name() {
    let null = |names: &[&str], metric: &str, seed: u64| {
        let place = if names[1] == "lte-errors" { "lte-quiet" } else { names[1] };
        park_jang(&[names[0], place, names[2], "standard"], metric, seed)
    };
    none_holds("scenarios/park-jang/paper.toml", &null, &["PJ1", "PJ2", "PJ3", "PJ4", "PJ5"]);
}

#[test]
fn no_claim_of_eklund_is_reproduced_where_the_window_does_nothing_or_costs_a_fifth() {
    let nothing = |names: &[&str], metric: &str, seed: u64| match metric {
        "losses" => 0.0,
        _ => papers(&[names[0], names[1], names[2], "3 MSS"], metric, seed),
    };
    let file = "scenarios/eklund/paper.toml";
    none_holds(file, &nothing, &["EK1", "EK3", "EK4", "EK5", "EK6"]);
    // EK2 and EK7 are that there is no cost.
    let costly = |names: &[&str], metric: &str, seed: u64| {
        let share = if metric.starts_with("tcp") && names[3] != "3 MSS" { 0.8 } else { 1.0 };
        share * papers(names, metric, seed)
    };
    none_holds(file, &costly, &["EK2", "EK7"]);
}

/// Under standard SCTP with every name, no claim is reproduced: the chunk has no effect. A peer without the
/// chunk sends and receives reports, and ends with errors, like one with it.
#[test]
fn no_claim_of_afif_is_reproduced_by_standard_sctp_under_every_name() {
    let null = |_: &[&str], metric: &str, seed: u64| match metric {
        "at_change" | "slow" | "accepted" => 1.0,
        "not_slow" => 0.0,
        "from_formula" => 1000.0,
        _ => 10.0 + seed as f64,
    };
    none_holds("scenarios/afif/paper.toml", &null, &["AF1", "AF2", "AF3", "AF4", "AF5"]);
}

#[test]
fn the_models_of_the_air_are_judged_apart_and_the_first_decides() {
    let sweep = bundled("scenarios/park-jang/paper.toml").unwrap();
    let turned = |names: &[&str], metric: &str, seed: u64| {
        let lost = names[0] == "recovering" && metric == "throughput" && names[3] == "proposed";
        park_jang(names, metric, seed) * if lost { 0.5 } else { 1.0 }
    };
    let ledger = synthetic(&sweep, turned).ledger();
    let verdicts: Vec<Grade> = ledger[0].judgements.iter().map(|judgement| judgement.grade).collect();
    assert_eq!(verdicts, [Grade::Reproduced, Grade::Contradicted]);
    assert_eq!(ledger[0].grade, Grade::Reproduced);
    assert_eq!(ledger[3].judgements.len(), 1);
    assert_eq!(ledger[3].judgements[0].conditions, "handovers");
}

#[test]
fn handovers_have_the_times_and_silences_of_their_seeds() {
    let sweep = bundled("scenarios/park-jang/paper.toml").unwrap();
    let cell = sweep.cells.iter().find(|cell| cell.path.ends_with("handover.toml")).unwrap();
    let times = |seed| cell.overrides(seed).into_iter().filter(|set| set.ends_with("ms")).collect::<Vec<_>>();
    let with = |at: u64, then: u64| [format!("action.0.at={at}ms"), format!("action.1.at={then}ms")];
    assert!(times(1).ends_with(&with(30_137, 30_637)), "{:?}", times(1));
    assert!(times(6).ends_with(&with(30_822, 33_822)), "{:?}", times(6));
    assert!(times(7).ends_with(&with(30_959, 31_459)), "{:?}", times(7));
}

#[test]
fn every_claims_figure_is_in_the_report() {
    for file in [
        "scenarios/kim-koh/paper.toml",
        "scenarios/eklund/paper.toml",
        "scenarios/park-jang/paper.toml",
        "scenarios/afif/paper.toml",
        "scenarios/fu-atiquzzaman/paper.toml",
    ] {
        let sweep = bundled(file).unwrap().reduced(&Effort { quick: true, seeds: Some(2), claims: false });
        let report = synthetic(&sweep, |_, _, seed| seed as f64).report("msctp", "0.1.0");
        for claim in &report.ledger {
            let is_it = |figure: &&crate::report::Figure| figure.label == claim.figure;
            assert!(report.figures.iter().any(|figure| is_it(&figure)), "{file}: {}", claim.id);
        }
        let slugs =
            || report.figures.iter().flat_map(|f| &f.groups).flat_map(|(_, panels)| panels).map(|p| &p.slug);
        for (number, slug) in slugs().enumerate() {
            assert!(slugs().take(number).all(|other| other != slug), "{file}: {slug} is there twice");
        }
    }
}

#[test]
fn a_part_of_the_claims_cells_and_metrics_gives_the_grades_of_the_whole() {
    for paper in ["kim-koh", "eklund", "park-jang", "afif", "fu-atiquzzaman"] {
        let file = format!("scenarios/{paper}/paper.toml");
        let effort = Effort { quick: false, seeds: Some(3), claims: false };
        let whole = bundled(&file).unwrap().reduced(&effort);
        let claims = whole.claim_ids();
        let of = |report| {
            let part = Part { claims: &claims, report, ..Part::default() };
            bundled_part(&file, &part).unwrap().reduced(&effort)
        };
        // Any values: a cell that is missing would change what a check says.
        let value = |names: &[&str], metric: &str, seed: u64| {
            let text = format!("{names:?} {metric}");
            let sum =
                text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
            (sum % 97) as f64 + 0.1 * seed as f64
        };
        let checks = |sweep: &Sweep| {
            let ledger = synthetic(sweep, value).ledger().into_iter();
            ledger.map(|claim| claim.judgements.into_iter().next().unwrap().checks).collect::<Vec<_>>()
        };
        let all = checks(&whole);
        assert!(all.iter().flatten().all(crate::claims::Check::is_measured), "{paper}");
        let (alone, report) = (of(false), of(true));
        assert_eq!(checks(&alone), all, "{paper}");
        assert_eq!(checks(&report), all, "{paper}");
        let sizes = [&alone, &report, &whole].map(|sweep| sweep.cells.len());
        assert!(sizes.is_sorted() && sizes[0] < sizes[2], "{paper}: {sizes:?}");
        let operands = alone.cells.iter().flat_map(|cell| {
            let there = |&index: &usize| cell.metrics[index].is_some() || cell.formulas[index].is_some();
            let formulas = cell.formulas.iter().flatten();
            formulas.flat_map(move |formula| {
                let seen = std::cell::RefCell::new(Vec::new());
                let _ = formula.value(&|index| {
                    seen.borrow_mut().push(index);
                    Ok(1.0)
                });
                seen.into_inner().into_iter().filter(move |index| !there(index))
            })
        });
        let missing: Vec<&str> = operands.map(|index| alone.metrics[index].name.as_str()).collect();
        // An operand that the file computes elsewhere only has no value in the whole either.
        let elsewhere = |name: &&str| {
            let column = whole.metrics.iter().find(|column| column.name == *name).unwrap();
            column.only.is_empty()
        };
        assert!(!missing.iter().any(elsewhere), "{paper}: {missing:?}");
    }
}

const FU: &str = "scenarios/fu-atiquzzaman/paper.toml";

/// Returns the segments of Fu and Atiquzzaman's tables, by protocol and rates.
fn published() -> impl Fn(&[&str]) -> f64 {
    let sweep = bundled(FU).unwrap();
    let estimate = sweep.estimates.iter().find(|estimate| estimate.name == "published").unwrap();
    let estimate::Source::Published(values) = &estimate.source else { panic!("no table") };
    let names = |key: &[usize]| [1, 2, 3].map(|axis: usize| sweep.axes[axis].values[key[axis]].name.clone());
    let known: Vec<([String; 3], f64)> = values.iter().map(|(key, value)| (names(key), *value)).collect();
    move |at| known.iter().find(|(names, _)| names[..] == at[1..4]).unwrap().1
}

#[test]
fn fu_and_atiquzzamans_claims_hold_for_their_own_tables_and_each_fails_for_its_contrary() {
    let published = published();
    let value = |names: &[&str], metric: &str, _: u64| match (metric, names[1]) {
        ("delivered", _) if names[0] == "grid" => published(names),
        ("repair", "sctp") | ("calm" | "expired", _) => 1.0,
        ("repair", _) => 3.0,
        ("rto", _) => {
            if names[2] == "28.8" {
                1000.0
            } else {
                100.0
            }
        }
        _ => 0.0,
    };
    let changes: &[Change] = &[
        (&[(1, "sctp"), (2, "54"), (3, "2000")], "delivered", -300.0, &["FA1"]),
        (&[(1, "sack")], "delivered", -400.0, &["FA1", "FA3", "FA6"]),
        (&[(3, "2000")], "delivered", 2000.0, &["FA2"]),
        (&[(1, "sctp"), (3, "1000")], "delivered", 1500.0, &["FA3"]),
        (&[(1, "sctp")], "delivered", 500.0, &["FA6"]),
        (&[(0, "same"), (1, "sctp")], "repair", 1.0, &["FA4"]),
        (&[(0, "same"), (1, "sack")], "other_losses", 1.0, &["FA4"]),
        (&[(0, "same"), (1, "sack")], "calm", -1.0, &["FA4"]),
        (&[(0, "same"), (1, "reno")], "expired", -1.0, &["FA4"]),
        (&[], "slow_start", -1000.0, &["FA5"]),
        (&[(2, "28.8")], "rto", -900.0, &["FA5"]),
        (&[(2, "28.8")], "fast_alone", -1000.0, &["FA5"]),
    ];
    check(FU, 6, &value, changes);
}

#[test]
fn an_estimate_of_a_mean_has_its_values_by_seed_and_its_interval() {
    let sweep = bundled(FU).unwrap().reduced(&Effort { quick: false, seeds: Some(5), claims: false });
    let published = published();
    let value = |names: &[&str], _: &str, seed: u64| published(names) * (1.0 + 0.01 * (seed * seed) as f64);
    let outcome = synthetic(&sweep, value);
    let by_name = |name: &str| sweep.quantities().find(|(known, _)| *known == name).unwrap().1;
    let cell = |w: usize, r: usize| sweep.cell(&[0, 2, w, r, 0, 0]).unwrap();
    let slow = (0..6).flat_map(|w| (0..5).map(move |r| (w, r))).filter(|&(w, r)| w < 2 || r < 2);
    let slow: Vec<Vec<f64>> = slow.map(|(w, r)| outcome.values(by_name("delivered"), cell(w, r))).collect();
    assert_eq!(slow.len(), 18);
    for (seed, found) in outcome.values(by_name("slow"), cell(0, 0)).into_iter().enumerate() {
        let mean = slow.iter().map(|values| values[seed]).sum::<f64>() / 18.0;
        assert!((found - mean).abs() < 1e-9 * mean, "{found} {mean}");
    }
    // A ratio of means is not the mean of the ratios.
    let gain = outcome.mean(by_name("gain"), sweep.cell(&[0, 0, 0, 0, 0, 0]).unwrap()).unwrap();
    assert!((gain.mean - (423.0 / 287.0 - 1.0)).abs() < 1e-9, "{gain:?}");
    assert!(gain.half_width < 1e-9, "both vary alike");
    let fault = |from: &str, to: &str| {
        let file = crate::scenario_file::scenario_file!("fu-atiquzzaman/paper.toml");
        let open = |path: &str| {
            std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR")))
                .map_err(|e| e.to_string())
        };
        Sweep::read(&file.text.replacen(from, to, 1), file.path, &open).map(drop).unwrap_err().to_string()
    };
    for (from, to, want) in [
        (
            "{over_r, r = 1000}",
            "{over_q, r = 1000}",
            "estimate.before_r.is: there is no metric, curve or estimate \"over_q\" above",
        ),
        (
            "{over_r, r = 1000}",
            "{over_r, r = 1001}",
            "estimate.before_r.is: the axis r has no value \"1001\"",
        ),
        ("[287, 316, ", "[287, ", "estimate.published.values: want is = "),
        (
            "with = \"parameters.toml\"",
            "with = \"blocks.toml\"",
            "with: scenarios/fu-atiquzzaman/blocks.toml has no table [parameters]",
        ),
    ] {
        assert!(fault(from, to).contains(want), "{}", fault(from, to));
    }
}

#[test]
fn the_error_of_a_fit_needs_its_axis_its_estimate_and_its_cells() {
    let restricted = |value: &str| bundled(FU).unwrap().restricted(value, vec![1, 2]);
    let fault = |value: &str| restricted(value).map(drop).unwrap_err();
    assert_eq!(fault("protocl = reno"), "there is no axis \"protocl\"; did you mean \"protocol\"?");
    assert_eq!(fault("protocol = rena"), "the axis protocol has no value \"rena\"; did you mean \"reno\"?");
    let (reno, published) = (restricted("protocol = reno").unwrap(), published());
    let outcome = synthetic(&reno, |names, _, _| published(names));
    assert_eq!(outcome.estimate("fit_error"), Ok(Some(0.0)));
    let fault = outcome.estimate("fit_errors").unwrap_err();
    assert_eq!(fault, "there is no [estimate.fit_errors]");
    let nothing = synthetic(&reno, |_, _, _| 0.0);
    assert_eq!(nothing.estimate("fit_error"), Ok(None), "the logarithm of zero");
    assert_eq!(nothing.estimate("fit_median"), Ok(Some(1.0)));
    let sctp = restricted("protocol = sctp").unwrap();
    let fault = synthetic(&sctp, |_, _, _| 1.0).estimate("fit_error").unwrap_err();
    assert_eq!(fault, "fit_error: not every cell was run");
}

#[test]
fn a_ratio_of_points_without_an_interval_says_why() {
    let sweep = bundled(FU).unwrap().reduced(&Effort { quick: false, seeds: Some(2), claims: false });
    let rto = sweep.curves.iter().position(|curve| curve.name == "rto").unwrap();
    let measured = |points: &[f64]| {
        let mut outcome = synthetic(&sweep, |_, _, _| 1.0);
        for (key, values) in &mut outcome.runs.done {
            let at = &sweep.cells[key.cell].values;
            if at[2] == 0 {
                let points = if at[1..] == [0; 5] && key.seed == 1 { points } else { &[] };
                values.curves[rto] = points.iter().map(|y| (1.0, *y)).collect();
            }
        }
        let ledger = outcome.ledger();
        let claim = ledger.iter().find(|claim| claim.id == "FA5").unwrap();
        claim.judgements[0].checks[1].measured.clone()
    };
    for (points, why) in [
        (&[][..], " with w = 28.8: no point"),
        (&[1.0], " with w = 28.8: one point: want at least 2"),
        (&[0.0, 0.0], " with w = 28.8: the mean is not above zero"),
        (&[f64::NAN, 0.0], " with w = 28.8: a point is not finite"),
    ] {
        assert!(measured(points).ends_with(why), "{}", measured(points));
    }
}

#[test]
fn six_packets_are_lost_that_are_not_in_a_row_and_the_first_seed_has_the_papers() {
    let sweep = bundled(FU).unwrap();
    let cell = &sweep.cells[sweep.cell(&[1, 2, 0, 2, 0, 0]).unwrap()];
    let sets: Vec<String> = (1..=60).filter_map(|seed| cell.overrides(seed).pop()).collect();
    assert_eq!(sets[0], "link.radio.forward.loss={packets=[202,204,208,210,213,214]}");
    for set in &sets {
        let numbers = set.split(['[', ']']).nth(1).unwrap().split(',');
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        assert!(numbers.len() == 6 && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{set}");
        assert!(numbers[0] == 202 && (208..=214).contains(&numbers[5]), "{set}");
    }
    let different: BTreeSet<_> = sets.iter().collect();
    assert!(different.len() > 50, "the seeds are replicates: {}", different.len());
}
