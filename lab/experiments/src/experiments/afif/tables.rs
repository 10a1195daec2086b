//! The tables of the report's `data/`: a row per run, and the curves of every run.

use super::claims::Measured;
use super::measure::{Run, STEP};
use super::plan::RunKey;
use super::run::{command, overrides, scenario};
use crate::table::Table;

/// Samples of a curve per row of the table: a row every ten seconds.
const EVERY: usize = 10;

/// Returns a row per run: conditions, measured figures, provenance. `run` is the row number, as in the other
/// table.
pub(super) fn runs(measured: &Measured) -> Table {
    let rows: Vec<(&RunKey, &Run)> = measured.runs.iter().collect();
    let keys = || rows.iter().map(|(key, _)| *key);
    let integers =
        |value: fn(&Run) -> u64| rows.iter().map(move |(_, run)| Some(value(run))).collect::<Vec<_>>();
    let reals = |value: fn(&Run) -> f64| rows.iter().map(move |(_, run)| value(run)).collect::<Vec<_>>();
    Table::new()
        .integer("run", (0..rows.len() as u64).map(Some))
        .text("course", keys().map(|key| key.course.words()))
        .text("variant", keys().map(|key| key.variant.slug()))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .real("duration_s", reals(|run| run.duration))
        .real("handover_at_s", reals(|run| run.handover_at))
        .integer("total_bytes", integers(|run| run.total_bytes))
        .integer("timeouts", integers(|run| run.timeouts.len() as u64))
        .text(
            "timeouts_at_s",
            rows.iter().map(|(_, run)| {
                run.timeouts.iter().map(|at| format!("{at:.2}")).collect::<Vec<_>>().join(" ")
            }),
        )
        .real("tsn_stall_s", reals(|run| run.tsn_stall.length))
        .real("tsn_stall_from_s", reals(|run| run.tsn_stall.from))
        .real("block_stall_s", reals(|run| run.block_stall.length))
        .integer("reports_sent", integers(|run| run.reports_sent))
        .integer("reports_taken", integers(|run| run.reports_taken))
        .integer("old_cwnd_bytes", integers(|run| run.switch.old_cwnd))
        .integer("start_cwnd_bytes", integers(|run| run.switch.cwnd))
        .integer("formula_cwnd_bytes", rows.iter().map(|(_, run)| run.switch.formula))
        .text(
            "changes",
            rows.iter().map(|(_, run)| {
                run.changes.iter().map(|(at, name)| format!("{at:.1} {name}")).collect::<Vec<_>>().join("; ")
            }),
        )
        .text("msctp_version", keys().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", keys().map(|key| scenario(key.course).path))
        .text("scenario_sha256", keys().map(|key| scenario(key.course).sha256()))
        .text("overrides", keys().map(|key| overrides(key).unwrap_or_default().join(" ")))
        .text("command", keys().map(command))
}

/// Returns the curves of every run, a row every ten seconds.
pub(super) fn series(measured: &Measured) -> Table {
    let samples = || {
        measured.runs.values().enumerate().flat_map(|(number, run)| {
            (0..run.cwnd.len()).step_by(EVERY).map(move |at| (number as u64, run, at))
        })
    };
    let of = |curve: fn(&Run) -> &Vec<f64>| {
        samples().map(move |(_, run, at)| curve(run).get(at).map(|value| *value as u64))
    };
    Table::new()
        .integer("run", samples().map(|(number, _, _)| Some(number)))
        .real("time_s", samples().map(|(_, _, at)| at as f64 * STEP))
        .integer("cwnd_bytes", of(|run| &run.cwnd))
        .integer("ssthresh_bytes", of(|run| &run.ssthresh).map(|value| value.filter(|&value| value > 0)))
        .integer("tsn", of(|run| &run.tsn))
        .integer("cumulative_tsn", of(|run| &run.cum_tsn))
        .integer("rlc_blocks", of(|run| &run.blocks))
}
