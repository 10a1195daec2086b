//! The tables of the report's `data/`: a row per run, and the transfer times of every run.

use super::claims::Measured;
use super::grid::{Mix, Network, RunKey, Window};
use super::measure::Run;
use super::run::scenario;
use crate::table::Table;

/// Returns the command that repeats a run.
fn command(key: &RunKey) -> String {
    scenario(key.mix.network).command(key.seed, &key.overrides())
}

/// Returns a row per run: conditions, measured figures, provenance. `run` is the row number, as in the other
/// table.
pub(super) fn runs(measured: &Measured) -> Table {
    let keys = || measured.keys();
    let count =
        |value: fn(&Run) -> u64| measured.values().map(move |run| Some(value(run))).collect::<Vec<_>>();
    let real = |value: fn(&Run) -> f64| measured.values().map(value).collect::<Vec<_>>();
    let most = |times: &[f32]| f64::from(times.iter().copied().fold(0.0, f32::max));
    Table::new()
        .integer("run", (0..measured.len() as u64).map(Some))
        .text("network", keys().map(|key| key.mix.network.slug()))
        .integer("videos", keys().map(|key| Some(u64::from(key.mix.videos))))
        .integer("tcp_flows", keys().map(|key| Some(u64::from(key.mix.tcps))))
        .text("competitor", keys().map(|key| key.tcp.slug()))
        .text("initial_window", keys().map(|key| key.window.words()))
        .text("start", keys().map(|key| if key.paced { "paced" } else { "at once" }))
        .integer("seed", keys().map(|key| Some(key.seed)))
        .real("startup_mean_transfer_ms", real(|run| super::claims::startup_mean(run).unwrap_or(f64::NAN)))
        .real("startup_max_transfer_ms", real(|run| super::claims::mmtt(run).unwrap_or(f64::NAN)))
        .real("startup_max_transfer_all_videos_ms", measured.values().map(|run| most(&run.startup_max)))
        .real("whole_max_transfer_all_videos_ms", measured.values().map(|run| most(&run.whole_max)))
        .integer("undelivered_messages", count(|run| u64::from(run.undelivered)))
        .integer("startup_loss_events", count(|run| u64::from(run.startup_losses)))
        .integer("loss_events", count(|run| u64::from(run.losses)))
        .integer("video_bytes", count(|run| run.video_bytes.iter().sum()))
        .integer("tcp_bytes", count(|run| run.tcp_bytes.iter().sum()))
        .integer("start_cwnd_bytes", count(|run| run.start_cwnd))
        .real("start_rtt_ms", real(|run| f64::from(run.start_rtt)))
        .text("msctp_version", keys().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", keys().map(|key| scenario(key.mix.network).path))
        .text("scenario_sha256", keys().map(|key| scenario(key.mix.network).sha256()))
        .text("overrides", keys().map(|key| key.overrides().join(" ")))
        .text("command", keys().map(command))
}

/// Returns the transfer times of the first video's messages, in every run.
pub(super) fn transfers(measured: &Measured) -> Table {
    let points = || {
        measured.values().enumerate().flat_map(|(run, of)| {
            of.transfer.iter().enumerate().map(move |(number, &time)| (run, number, time))
        })
    };
    Table::new()
        .integer("run", points().map(|(run, _, _)| Some(run as u64)))
        .integer("message", points().map(|(_, number, _)| Some(number as u64)))
        .real("transfer_ms", points().map(|(_, _, time)| f64::from(time)))
}

/// Returns an example command that repeats a run: one of Fig. 3.
pub(super) fn example(measured: &Measured) -> Option<(String, String)> {
    let shown = |key: &&RunKey| key.mix == Mix::new(Network::Low, 1, 1) && key.window == Window::Ten;
    let key = measured.keys().find(shown).or_else(|| measured.keys().next())?;
    Some((format!("{key}:"), command(key)))
}
