//! Pins the figures of the cases without randomness, so that a change that moves one is noticed. Not part of
//! every test run: they simulate some minutes of traffic (`scripts/test --all` runs them).

use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;

use super::*;

/// Of the cases, the short form simulates every 15th.
const SOME: usize = 15;
/// The pinned figures: case, transport, metric, msctp's with the RFCs' behaviour, and msctp's with ns-2's.
const PINNED: &str = include_str!("found.csv");

/// Returns every `step`th of cases a and b and the handover without background traffic.
fn deterministic_cases(step: usize) -> Vec<Comparison> {
    let all = cases().unwrap();
    let wanted: Vec<Case> = all.into_iter().filter(|case| case.seeds == 1).collect();
    assert_eq!(wanted.len(), 9 + 36);
    let wanted: Vec<Case> = wanted.into_iter().step_by(step).collect();
    let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
    let execution = Execution { threads: None, cancel: &cancel, progress: &progress, store: None };
    run(&wanted, &execution).unwrap().into_iter().flat_map(|(_, rows)| rows).collect()
}

/// Returns the distance by which a figure may move from its pinned value.
fn tolerance(metric: Metric, found: f64) -> f64 {
    match metric {
        // Counters of rare events.
        Metric::Rtx | Metric::QueueDrops | Metric::FastRtxEvents => 3.0,
        Metric::Timeouts => 0.0,
        // Rates, bytes, SACKs, times.
        _ => found * 0.01,
    }
}

fn line(row: &Comparison) -> String {
    let [rfcs, ns2_ways] = Ways::ALL.map(|ways| row.ours(ways).unwrap().mean);
    format!("{},{},{},{rfcs},{ns2_ways}", row.case, row.parameters, row.metric)
}

/// Checks every `step`th case. Returns the number of figures that are pinned, and of those compared.
fn check_pinned(step: usize) -> (usize, usize) {
    let rows = deterministic_cases(step);
    let mut lines = PINNED.lines();
    assert_eq!(lines.next(), Some("case,parameters,metric,rfcs,ns2_ways"));
    let found: Vec<&str> = lines.collect();
    let mut moved = Vec::new();
    for row in &rows {
        let key = format!("{},{},{},", row.case, row.parameters, row.metric);
        let figures = found.iter().find_map(|line| line.strip_prefix(&key));
        let Some(figures) = figures else {
            moved.push(format!("new; now {}", line(row)));
            continue;
        };
        let metric = Metric::named(&row.metric).unwrap();
        for (ways, figure) in Ways::ALL.into_iter().zip(figures.split(',')) {
            let (found, now) = (figure.parse::<f64>().unwrap(), row.ours(ways).unwrap().mean);
            if (now - found).abs() > tolerance(metric, found) {
                moved.push(format!("{key} {}: from {found} to {now}; now {}", ways.words(), line(row)));
            }
        }
    }
    assert!(
        moved.is_empty(),
        "These figures moved. If that is right, say why in docs/validation-reasons.md, regenerate the tables \
         (scripts/measure validation) and put the new lines into found.csv:\n{}",
        moved.join("\n")
    );
    (found.len(), rows.len())
}

#[test]
fn validation_figures_of_some_deterministic_cases_stay_pinned() {
    assert!(check_pinned(SOME).1 > 10);
}

#[test]
#[ignore = "slow: run by scripts/test --all"]
fn slow_validation_figures_of_deterministic_cases_stay_pinned() {
    let (pinned, compared) = check_pinned(1);
    assert_eq!(pinned, compared, "a pinned figure is no longer computed");
}

/// Without loss, ns-2's behaviour accounts for every difference: the same SACKs at the same times. Its short
/// form is `validation_figures_of_some_deterministic_cases_stay_pinned`, since ns-2's ways are pinned too.
#[test]
#[ignore = "slow: run by scripts/test --all"]
fn slow_validation_transfers_without_loss_are_ns2s_to_the_packet() {
    let rows = deterministic_cases(1);
    let without_loss = ["stock", "stock_nodelack"];
    let mut compared = 0;
    for row in rows.iter().filter(|row| without_loss.contains(&row.parameters.as_str())) {
        let ours = row.ours(Ways::Ns2).unwrap();
        // The reference has six digits.
        let differs = (ours.mean - row.ns2).abs();
        assert!(differs <= row.ns2 * 1e-5, "{row:?}");
        compared += 1;
    }
    assert_eq!(compared, 2 * (12 + 11));
}
