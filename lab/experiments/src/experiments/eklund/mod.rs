//! Eklund, Grinnemo, Brunstrom (2012), "Implications of using a Large Initial Congestion Window to Improve
//! mSCTP Handover Delay": live video moves to a path with competing TCP, with four initial windows.

pub mod claims;
mod emulated;
pub mod figures;
mod findings;
pub mod grid;
pub mod measure;
pub mod run;
mod tables;
mod words;

use self::claims::Measured;
use self::grid::{Extent, RunKey};
use self::measure::Run;
use super::Experiment;
use crate::plan::{Execution, Outcomes, ThreadsError, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::ScenarioFile;

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "eklund",
    summary: "A large initial congestion window after mSCTP handover (Eklund, Grinnemo and Brunstrom, 2012)",
    size: |effort| Extent::of(effort).runs().len(),
    reproduce: |effort, execution| {
        reproduce(&Extent::of(effort), execution, effort.command("eklund")).map(|done| done.report)
    },
    emulated: Some(emulated::EMULATED),
};

/// A completed experiment.
#[derive(Debug)]
pub struct Reproduction {
    /// The measurements.
    pub measured: Measured,
    /// The report, not yet written.
    pub report: Report,
}

/// Runs the experiment. The report shows `command` as the command that repeats it.
///
/// # Errors
/// [`ThreadsError`]. A run that fails is listed in the report's provenance, not an error.
pub fn reproduce(
    extent: &Extent,
    execution: &Execution<'_>,
    command: String,
) -> Result<Reproduction, ThreadsError> {
    let outcomes = execute("eklund", extent.runs(), execution, run::run)?;
    Ok(conclude(extent, outcomes, command))
}

/// Builds the report from the measurements.
fn conclude(extent: &Extent, outcomes: Outcomes<RunKey, Run>, command: String) -> Reproduction {
    let failed = outcomes.failures();
    let runs = outcomes.done.len();
    let measured: Measured = outcomes.done.into_iter().collect();
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        runs,
        failed,
        skipped: outcomes.skipped.len(),
        scenarios: run::SCENARIOS.iter().map(ScenarioFile::source).collect(),
        examples: tables::example(&measured).into_iter().collect(),
    };
    let ledger = claims::ledger(&measured);
    let report = Report {
        paper: "eklund",
        citation: words::CITATION,
        title: "How large a window after a handover of live video?".to_owned(),
        question: words::QUESTION.into(),
        extent: extent_in_words(extent),
        terms: &words::TERMS,
        findings: findings::about(&ledger),
        ledger,
        figures: figures::all(&measured),
        set_up: &words::SET_UP,
        provenance,
        data: vec![
            Data {
                name: "runs",
                about: "every run with its scenario, seed, overrides and measured figures",
                table: tables::runs(&measured),
                csv: true,
            },
            Data {
                name: "transfers",
                about: "transfer times of the first video's messages in every run, for ten seconds",
                table: tables::transfers(&measured),
                csv: false,
            },
        ],
    };
    Reproduction { measured, report }
}

fn extent_in_words(extent: &Extent) -> String {
    let whole = *extent == Extent::full();
    format!(
        "{}: {} combinations of network, videos and TCP flows, four initial windows, {} of competing TCP, {} under each \
         condition; and the same windows paced, under four of the combinations.",
        if whole { "The whole experiment" } else { "A part of the experiment" },
        extent.mixes.len(),
        if extent.tcps.len() == 1 { "one kind" } else { "two kinds" },
        if extent.seeds == 1 { "one run".to_owned() } else { format!("{} runs", extent.seeds) }
    )
}
