//! Fu & Atiquzzaman, "Improving End-to-End Throughput of Mobile IP using SCTP": SCTP, TCP Reno and TCP SACK
//! from a mobile that changes its Mobile IP agent and loses several segments of a window at each change.

pub mod fit;
pub mod flow;
pub mod grid;
pub mod judging;
pub mod measure;
pub mod paper;
pub mod parameters;
pub mod run;
mod tables;
mod words;

use self::grid::Extent;
use self::measure::Measured;
use self::parameters::Frozen;
use super::Experiment;
use crate::plan::{Execution, ThreadsError, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::ScenarioFile;

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "fu-atiquzzaman",
    summary: "SCTP, TCP SACK and TCP Reno through Mobile IP handovers (Fu and Atiquzzaman)",
    size: |effort| Extent::of(effort).size(),
    reproduce: |effort, execution| {
        reproduce(&Extent::of(effort), execution, effort.command("fu-atiquzzaman"))
    },
    emulated: None,
};

/// Runs the experiment. The report shows `command` as the command that repeats it.
///
/// # Errors
/// [`ThreadsError`]. A run that fails is listed in the report's provenance, not an error.
pub fn reproduce(
    extent: &Extent,
    execution: &Execution<'_>,
    command: String,
) -> Result<Report, ThreadsError> {
    let grid = execute("fu-atiquzzaman grid", extent.grid(), execution, run::grid)?;
    let microscope = execute("fu-atiquzzaman microscope", extent.microscope(), execution, run::microscope)?;
    let blocks = execute("fu-atiquzzaman blocks", extent.blocks(), execution, run::blocks)?;
    let failed = [grid.failures(), microscope.failures(), blocks.failures()].concat();
    let skipped = grid.skipped.len() + microscope.skipped.len() + blocks.skipped.len();
    let runs = grid.done.len() + microscope.done.len() + blocks.done.len();
    let measured = Measured {
        grid: grid.done.into_iter().collect(),
        microscope: microscope.done.into_iter().collect(),
        blocks: blocks.done.into_iter().collect(),
    };
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        runs,
        failed,
        skipped,
        scenarios: run::SCENARIOS.iter().map(ScenarioFile::source).collect(),
        examples: tables::examples(&measured),
    };
    Ok(report(extent, &measured, provenance))
}

/// Builds the report from the measurements.
fn report(extent: &Extent, measured: &Measured, provenance: Provenance) -> Report {
    let ledger = judging::claims::ledger(measured);
    let data = |name, about, table, csv| Data { name, about, table, csv };
    Report {
        paper: "fu-atiquzzaman",
        citation: words::CITATION,
        title: "How many SACK blocks does a handover need?".to_owned(),
        question: words::QUESTION.into(),
        extent: extent_in_words(extent),
        terms: &words::TERMS,
        findings: judging::findings::about(&ledger),
        ledger,
        figures: judging::figures::all(measured),
        set_up: &words::SET_UP,
        provenance,
        data: vec![
            data("runs", "every run of the grid", tables::runs(measured), true),
            data("handovers", "every handover of the grid’s runs", tables::handovers(measured), true),
            data("segments", "every segment under the microscope", tables::segments(measured), true),
            data("blocks", "every run over the number of SACK blocks", tables::blocks(measured), true),
        ],
    }
}

fn extent_in_words(extent: &Extent) -> String {
    let whole = *extent == Extent::FULL;
    let fit = Frozen::committed().map_or_else(
        |error| error,
        |frozen| {
            let fit = frozen.fit;
            format!(
                "The free parameters are those of {} ({} parameter sets, {} seeds): median relative error {:.1} % of Table V.",
                fit.command,
                fit.evaluations,
                fit.seeds,
                fit.median_relative_error * 100.0
            )
        },
    );
    format!(
        "{}: 30 cells, three protocols, {}; six losses under the microscope; seven numbers of SACK blocks. {fit}",
        if whole { "The whole experiment" } else { "A part of the experiment" },
        if extent.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", extent.seeds) }
    )
}
