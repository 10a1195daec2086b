//! Pins the figures of the cases without randomness, so that a change that moves one is noticed. Not part of
//! every test run: they simulate some minutes of traffic (`scripts/test --all` runs them).

use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;

use super::*;

/// The pinned figures: case, transport, metric, msctp's with the RFCs' behaviour, and msctp's with ns-2's.
const PINNED: &str = include_str!("found.csv");

/// Returns cases a and b and the handover without background traffic.
fn deterministic_cases() -> Vec<Comparison> {
    let all = cases().unwrap();
    let wanted: Vec<Case> = all.into_iter().filter(|case| case.seeds == 1).collect();
    assert_eq!(wanted.len(), 9 + 36);
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

#[test]
#[ignore = "slow: run by scripts/test --all"]
fn slow_validation_figures_of_deterministic_cases_stay_pinned() {
    let rows = deterministic_cases();
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
        moved.is_empty() && found.len() == rows.len(),
        "These figures moved. If that is right, say why in docs/validation-reasons.md, regenerate the tables \
         (scripts/measure validation) and put the new lines into found.csv:\n{}",
        moved.join("\n")
    );
}

/// Without loss, ns-2's behaviour accounts for every difference: the same SACKs at the same times.
#[test]
#[ignore = "slow: run by scripts/test --all"]
fn slow_validation_transfers_without_loss_are_ns2s_to_the_packet() {
    let rows = deterministic_cases();
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
