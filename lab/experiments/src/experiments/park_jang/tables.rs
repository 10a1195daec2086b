//! The tables of the report's `data/`: a row per run, with the command that repeats it.

use super::claims::Measured;
use super::grid::{Scheme, Transport};
use super::measure::Transfer;
use super::run::{RunSpec, handover_spec, microscope_spec, recovery_spec, sweep_spec, transfer_spec};
use crate::table::Table;

/// Adds the columns of a transfer.
fn figures(table: Table, runs: &[&Transfer]) -> Table {
    let column =
        |value: fn(&Transfer) -> u64| runs.iter().map(move |run| Some(value(run))).collect::<Vec<_>>();
    table
        .integer("delivered_bytes", column(|run| run.delivered))
        .integer("competitor_bytes", runs.iter().map(|run| run.competitor))
        .integer("gap_losses", column(|run| run.gap_losses))
        .integer("wireless_as_wireless", column(|run| run.confusion.wireless_as_wireless))
        .integer("wireless_as_congestion", column(|run| run.confusion.wireless_as_congestion))
        .integer("congestion_as_wireless", column(|run| run.confusion.congestion_as_wireless))
        .integer("congestion_as_congestion", column(|run| run.confusion.congestion_as_congestion))
        .integer("not_lost", column(|run| run.confusion.not_lost))
        .integer("timeouts", column(|run| run.timeouts))
        .integer("spurious_timeouts", column(|run| run.spurious))
        .integer("retransmitted", column(|run| run.retransmitted))
        .integer("queue_drops", column(|run| run.queue_drops))
}

/// Adds the columns of provenance.
fn provenance(table: Table, specs: &[RunSpec]) -> Table {
    table
        .text("msctp_version", specs.iter().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", specs.iter().map(|spec| spec.file.path))
        .text("scenario_sha256", specs.iter().map(|spec| spec.file.sha256()))
        .text("overrides", specs.iter().map(|spec| spec.overrides.join(" ")))
        .text("command", specs.iter().map(RunSpec::command))
}

/// Returns a row per transfer of Fig. 3.
pub(super) fn transfers(measured: &Measured) -> Table {
    let keys = || measured.transfers.keys();
    let runs: Vec<&Transfer> = measured.transfers.values().collect();
    let table = Table::new()
        .text("air", keys().map(|key| key.air.slug()))
        .text("cell", keys().map(|key| key.cell.slug()))
        .text("transport", keys().map(|key| key.transport.slug()))
        .text("scheme", keys().map(|key| key.scheme.slug()))
        .integer("seed", keys().map(|key| Some(key.seed)));
    provenance(figures(table, &runs), &keys().map(transfer_spec).collect::<Vec<_>>())
}

/// Returns a row per run of a sweep.
pub(super) fn sweeps(measured: &Measured) -> Table {
    let keys = || measured.sweeps.keys();
    let runs: Vec<&Transfer> = measured.sweeps.values().collect();
    let table = Table::new()
        .text("subject", keys().map(|key| key.subject.to_string()))
        .text("transport", keys().map(|key| key.transport.slug()))
        .text("told_apart_by", keys().map(|key| key.loss_test.words()))
        .integer("seed", keys().map(|key| Some(key.seed)));
    provenance(figures(table, &runs), &keys().map(sweep_spec).collect::<Vec<_>>())
}

/// Returns a row per handover.
pub(super) fn handovers(measured: &Measured) -> Table {
    let keys = || measured.handovers.keys();
    let runs = || measured.handovers.values();
    let resets = |value: fn(&super::measure::Reset) -> f64| {
        runs().map(move |run| run.reset.as_ref().map_or(f64::NAN, value)).collect::<Vec<_>>()
    };
    let table = Table::new()
        .text("from", keys().map(|key| key.from.slug()))
        .text("to", keys().map(|key| key.to().slug()))
        .text("transport", keys().map(|key| key.transport.slug()))
        .text("frto", keys().map(|key| if key.frto { "on" } else { "off" }))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .integer("lost", runs().map(|run| Some(run.lost)))
        .integer("timeouts", runs().map(|run| Some(run.timeouts)))
        .integer("recognised", runs().map(|run| Some(run.recognised)))
        .integer("window_before_bytes", runs().map(|run| Some(run.window_before)))
        .integer("window_after_bytes", runs().map(|run| Some(run.window_after)))
        .text("slow_start", runs().map(|run| if run.slow_start { "yes" } else { "no" }))
        .real("reset_rtt_s", resets(|reset| reset.rtt))
        .real("reset_min_s", resets(|reset| reset.min))
        .real("reset_avg_s", resets(|reset| reset.avg))
        .real("reset_dev_s", resets(|reset| reset.dev))
        .integer("delivered_bytes", runs().map(|run| Some(run.delivered)));
    provenance(table, &keys().map(handover_spec).collect::<Vec<_>>())
}

/// Returns a row per transfer over a link layer that recovers.
pub(super) fn recoveries(measured: &Measured) -> Table {
    let keys = || measured.recoveries.keys();
    let runs = || measured.recoveries.values();
    let table = Table::new()
        .text("transport", keys().map(|key| key.transport.slug()))
        .text("errors", keys().map(|key| if key.errors { "yes" } else { "no" }))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .integer("resent_blocks", runs().map(|run| Some(run.retransmitted_blocks)))
        .integer("lost", runs().map(|run| Some(run.lost)))
        .integer("duplicate_acks", runs().map(|run| Some(run.duplicate_acks)))
        .integer("gap_losses", runs().map(|run| Some(run.gap_losses)))
        .real("longest_rtt_s", runs().map(|run| run.longest_rtt));
    provenance(table, &keys().map(recovery_spec).collect::<Vec<_>>())
}

/// Returns commands that repeat single runs: a transfer, a run of the microscope, a handover.
pub(super) fn examples(measured: &Measured) -> Vec<(String, String)> {
    let proposed = |scheme, transport| scheme == Scheme::Proposed && transport == Transport::Sack;
    let transfer = measured.transfers.keys().find(|key| proposed(key.scheme, key.transport));
    let microscope = measured.microscope.keys().find(|key| proposed(key.scheme, key.transport));
    let handover = measured.handovers.keys().find(|key| key.frto);
    let of = |what: String, spec: RunSpec| (format!("{what}:"), spec.command());
    transfer
        .map(|key| of(key.to_string(), transfer_spec(key)))
        .into_iter()
        .chain(microscope.map(|key| of(key.to_string(), microscope_spec(key))))
        .chain(handover.map(|key| of(key.to_string(), handover_spec(key))))
        .collect()
}
