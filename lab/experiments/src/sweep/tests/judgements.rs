//! Estimates, comparisons and counts of runs, from given values.

use super::*;
use crate::claims::Grade;

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
