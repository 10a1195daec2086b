//! The tables of the report's `data/`.

use super::grid::{BlocksKey, GridKey, MicroscopeKey, Protocol};
use super::measure::{GridRun, Measured};
use super::parameters::Frozen;
use super::run::{MOBILE_IP, blocks_scenario, grid_overrides, microscope_scenario};
use crate::table::Table;

/// Returns the command that repeats a run of the grid.
fn grid_command(key: &GridKey) -> String {
    let overrides = Frozen::committed().map(|frozen| grid_overrides(key, &frozen.parameters));
    MOBILE_IP.command(key.seed, &overrides.unwrap_or_default())
}

/// Returns the command that repeats a run of the microscope.
fn microscope_command(key: &MicroscopeKey) -> String {
    let (file, overrides) = microscope_scenario(key);
    file.command(1, &overrides)
}

/// Returns the command that repeats a run of the sweep over the number of blocks.
fn blocks_command(key: &BlocksKey) -> String {
    let (file, overrides) = blocks_scenario(key);
    file.command(key.seed, &overrides)
}

/// Returns a row per run of the grid.
pub(super) fn runs(measured: &Measured) -> Table {
    let rows: Vec<(&GridKey, &GridRun)> = measured.grid.iter().collect();
    let keys = || rows.iter().map(|(key, _)| *key);
    let values =
        |value: fn(&GridRun) -> u64| rows.iter().map(move |(_, run)| Some(value(run))).collect::<Vec<_>>();
    let hash = MOBILE_IP.sha256();
    Table::new()
        .integer("wired_bps", keys().map(|key| Some(u64::from(key.wired))))
        .integer("wireless_bps", keys().map(|key| Some(u64::from(key.wireless))))
        .text("protocol", keys().map(|key| key.protocol.slug()))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .integer("delivered_segments", values(|run| run.delivered))
        .integer("retransmitted_segments", values(|run| run.retransmitted))
        .integer("timeouts", values(|run| run.timeouts))
        .integer("fast_retransmits", values(|run| run.fast_retransmits))
        .integer("lost_segments", values(|run| run.losses.len() as u64))
        .integer("handovers", values(|run| run.handovers.len() as u64))
        .text("msctp_version", keys().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", keys().map(|_| MOBILE_IP.path))
        .text("scenario_sha256", keys().map(|_| hash.as_str()))
        .text("command", keys().map(grid_command))
}

/// Returns a row per handover of the grid.
pub(super) fn handovers(measured: &Measured) -> Table {
    let rows = || {
        measured.grid.iter().flat_map(|(key, run)| run.handovers.iter().map(move |handover| (key, handover)))
    };
    Table::new()
        .integer("wired_bps", rows().map(|(key, _)| Some(u64::from(key.wired))))
        .integer("wireless_bps", rows().map(|(key, _)| Some(u64::from(key.wireless))))
        .text("protocol", rows().map(|(key, _)| key.protocol.slug()))
        .integer("seed", rows().map(|(key, _)| Some(key.seed)))
        .real("from_s", rows().map(|(_, handover)| handover.from))
        .real("to_s", rows().map(|(_, handover)| handover.to))
        .real("outage_s", rows().map(|(_, handover)| handover.outage))
        .real("rto_s", rows().map(|(_, handover)| handover.rto))
        .integer("lost_segments", rows().map(|(_, handover)| Some(handover.lost)))
        .integer("timeouts", rows().map(|(_, handover)| Some(handover.timeouts)))
        .integer("fast_retransmits", rows().map(|(_, handover)| Some(handover.fast_retransmits)))
}

/// Returns a row per segment sent in the drawn runs of the microscope.
pub(super) fn segments(measured: &Measured) -> Table {
    let rows = || {
        let drawn = measured
            .microscope
            .iter()
            .filter(|(key, _)| **key == MicroscopeKey::drawn(key.losses, key.protocol));
        drawn.flat_map(|(key, run)| run.sent.iter().map(move |sent| (key, run, sent)))
    };
    Table::new()
        .text("losses", rows().map(|(key, _, _)| key.losses.words()))
        .text("protocol", rows().map(|(key, _, _)| key.protocol.slug()))
        .real("time_s", rows().map(|(_, _, sent)| sent.at))
        .integer("segment", rows().map(|(_, _, sent)| Some(sent.segment)))
        .integer("again", rows().map(|(_, _, sent)| Some(u64::from(sent.retransmission))))
        .integer(
            "lost",
            rows().map(|(_, run, sent)| {
                Some(u64::from(!sent.retransmission && run.lost.contains(&sent.segment)))
            }),
        )
        .text("command", rows().map(|(key, _, _)| microscope_command(key)))
}

/// Returns a row per run of the sweep over the number of blocks.
pub(super) fn blocks(measured: &Measured) -> Table {
    let rows = || measured.blocks.iter();
    Table::new()
        .text("protocol", rows().map(|(key, _)| if key.protocol == Protocol::Sctp { "sctp" } else { "tcp" }))
        .text("blocks", rows().map(|(key, _)| key.blocks.words()))
        .integer("seed", rows().map(|(key, _)| Some(key.seed)))
        .integer("delivered_segments", rows().map(|(_, &delivered)| Some(delivered)))
        .text("command", rows().map(|(key, _)| blocks_command(key)))
}

/// Returns example commands that repeat a run.
pub(super) fn examples(measured: &Measured) -> Vec<(String, String)> {
    let grid = measured.grid.keys().find(|key| key.protocol == Protocol::Sctp);
    let grid = grid.map(|key| (format!("{key}:"), grid_command(key)));
    let microscope = measured.microscope.keys().find(|key| key.protocol == Protocol::Sack);
    let microscope = microscope.map(|key| (format!("{key}:"), microscope_command(key)));
    grid.into_iter().chain(microscope).collect()
}
