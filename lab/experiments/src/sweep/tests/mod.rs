//! Tests of sweeps, by topic, and what they share.

mod draws;
mod eklund;
mod faults;
mod judgements;
mod kim_koh;
mod runs;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;

use super::*;
use crate::plan::Execution;
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

fn bundled_text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).map_err(|e| e.to_string())
}
