//! The tables of the report's `data/`: a row per run, and the curves of every run.

use super::claims::Measured;
use super::estimation::EstimationKey;
use super::grid::{RunKey, Scheme};
use super::measure::{Handover, STEP};
use super::run::{estimation_scenario, handover_scenario};
use crate::table::Table;

/// Samples of a curve per row of the table: two rows a second.
const EVERY: usize = 5;

/// Returns the command that repeats a handover run.
pub(super) fn handover_command(key: &RunKey) -> String {
    handover_scenario(key.movement).command(key.seed, &key.overrides())
}

/// Returns the command that repeats an estimation run.
pub(super) fn estimation_command(key: &EstimationKey) -> String {
    estimation_scenario(key.movement).command(key.seed, &[])
}

/// Returns a row per handover run: conditions, measured figures, provenance. `run` is the row number, as in
/// the other tables.
pub(super) fn runs(measured: &Measured) -> Table {
    let rows: Vec<(&RunKey, &Handover)> = measured.handovers.iter().collect();
    let keys = || rows.iter().map(|(key, _)| *key);
    let values =
        |value: fn(&Handover) -> Option<u64>| rows.iter().map(move |(_, run)| value(run)).collect::<Vec<_>>();
    let reals = |value: fn(&Handover) -> f64| rows.iter().map(move |(_, run)| value(run)).collect::<Vec<_>>();
    Table::new()
        .integer("run", (0..rows.len() as u64).map(Some))
        .text("movement", keys().map(|key| key.movement.slug()))
        .integer("receive_window_bytes", keys().map(|key| Some(u64::from(key.windows.bytes()))))
        .integer("load_percent", keys().map(|key| Some(u64::from(key.load))))
        .text("scheme", keys().map(|key| key.scheme.policy()))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .integer("total_bytes", values(|run| Some(run.total_bytes)))
        .integer("bytes_after_switch", values(|run| Some(run.after_bytes)))
        .real("switch_at_s", reals(|run| run.switch_at))
        .integer("start_cwnd_bytes", values(|run| Some(run.start_cwnd)))
        .integer("start_ssthresh_bytes", values(|run| Some(run.start_ssthresh)))
        .real("estimated_capacity_bps", reals(|run| run.estimate.map_or(f64::NAN, |e| e.capacity)))
        .real("estimated_available_bps", reals(|run| run.estimate.map_or(f64::NAN, |e| e.available)))
        .real("estimated_min_rtt_s", reals(|run| run.estimate.map_or(f64::NAN, |e| e.min_rtt)))
        .integer("timeouts_after_switch", values(|run| Some(run.timeouts.len() as u64)))
        .integer("fast_retransmits_after_switch", values(|run| Some(run.fast_retransmits.len() as u64)))
        .real("first_fall_s", reals(|run| run.first_fall.map_or(f64::NAN, |fall| fall.at)))
        .text(
            "first_fall_by",
            rows.iter().map(|(_, run)| match run.first_fall {
                None => "",
                Some(fall) if fall.by_timeout => "timeout",
                Some(_) => "fast retransmit",
            }),
        )
        .integer("retransmitted_chunks", values(|run| Some(run.retransmitted)))
        .integer("target_queue_drops", values(|run| Some(run.queue_drops)))
        .text("msctp_version", keys().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", keys().map(|key| handover_scenario(key.movement).path))
        .text("scenario_sha256", keys().map(|key| handover_scenario(key.movement).sha256()))
        .text("overrides", keys().map(|key| key.overrides().join(" ")))
        .text("command", keys().map(handover_command))
}

/// Returns the curves of every handover run, twice a second: the window at that time, and the bytes delivered
/// until the next row.
pub(super) fn series(measured: &Measured) -> Table {
    let samples = || {
        measured.handovers.values().enumerate().flat_map(|(number, run)| {
            let length = run.cwnd.len().min(run.delivered.len());
            (0..length).step_by(EVERY).map(move |at| (number as u64, run, at))
        })
    };
    Table::new()
        .integer("run", samples().map(|(number, _, _)| Some(number)))
        .real("time_s", samples().map(|(_, _, at)| (at as f64 * STEP * 10.0).round() / 10.0))
        .integer("cwnd_bytes", samples().map(|(_, run, at)| Some(run.cwnd[at] as u64)))
        .integer(
            "delivered_bytes",
            samples().map(|(_, run, at)| Some(run.delivered.iter().skip(at).take(EVERY).sum::<f64>() as u64)),
        )
}

/// Returns every estimate of every estimation run.
pub(super) fn estimates(measured: &Measured) -> Table {
    let points = || {
        measured.estimations.iter().flat_map(|(key, run)| run.points.iter().map(move |point| (key, point)))
    };
    Table::new()
        .text("movement", points().map(|(key, _)| key.movement.slug()))
        .integer("seed", points().map(|(key, _)| Some(key.seed)))
        .real("time_s", points().map(|(_, point)| point.at))
        .real("capacity_bps", points().map(|(_, point)| point.capacity))
        .real("available_bps", points().map(|(_, point)| point.available))
        .real("loss", points().map(|(_, point)| point.loss))
        .text("command", points().map(|(key, _)| estimation_command(key)))
}

/// Returns an example command that repeats a run: one of Fig. 8.
pub(super) fn example(measured: &Measured) -> Option<(&RunKey, String)> {
    let key = measured
        .handovers
        .keys()
        .find(|key| key.load == 80 && key.scheme == Scheme::Inherit)
        .or_else(|| measured.handovers.keys().next())?;
    Some((key, handover_command(key)))
}
