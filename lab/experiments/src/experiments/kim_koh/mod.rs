//! Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two
//! movements, loads from 0 to 90 %, and the accuracy of the estimator.

pub mod claims;
mod emulated;
pub mod estimation;
pub mod figures;
mod findings;
pub mod grid;
pub mod measure;
pub mod run;
mod tables;
mod words;

use self::claims::Measured;
use self::estimation::{Estimation, EstimationKey};
use self::grid::{Extent, Movement, RunKey};
use self::measure::Handover;
use super::Experiment;
use crate::plan::{Execution, Outcomes, ThreadsError, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::ScenarioFile;

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "kim-koh",
    summary: "Adaptive congestion control of mSCTP for vertical handover (Kim and Koh, 2009)",
    size: |effort| {
        let extent = Extent::of(effort);
        estimation_keys(&extent).len() + extent.runs().len()
    },
    reproduce: |effort, execution| {
        reproduce(&Extent::of(effort), execution, effort.command("kim-koh")).map(|done| done.report)
    },
    emulated: Some(emulated::EMULATED),
};

fn estimation_keys(extent: &Extent) -> Vec<EstimationKey> {
    let both = Movement::ALL.into_iter();
    both.flat_map(|movement| extent.seeds().map(move |seed| EstimationKey { movement, seed })).collect()
}

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
    let estimations = execute("kim-koh estimation", estimation_keys(extent), execution, run::estimation)?;
    let handovers = execute("kim-koh handover", extent.runs(), execution, run::handover)?;
    Ok(conclude(extent, estimations, handovers, command))
}

/// Builds the report from the measurements.
fn conclude(
    extent: &Extent,
    estimations: Outcomes<EstimationKey, Estimation>,
    handovers: Outcomes<RunKey, Handover>,
    command: String,
) -> Reproduction {
    let runs = estimations.done.len() + handovers.done.len();
    let mut failed = estimations.failures();
    failed.extend(handovers.failures());
    let skipped = estimations.skipped.len() + handovers.skipped.len();
    let measured = Measured {
        handovers: handovers.done.into_iter().collect(),
        estimations: estimations.done.into_iter().collect(),
    };
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        runs,
        failed,
        skipped,
        scenarios: run::SCENARIOS.iter().map(ScenarioFile::source).collect(),
        examples: examples(&measured),
    };
    let ledger = claims::ledger(&measured);
    let report = Report {
        paper: "kim-koh",
        citation: words::CITATION,
        title: "Which window after a vertical handover?".to_owned(),
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
                about: "every handover run with its scenario, seed, overrides and measured figures",
                table: tables::runs(&measured),
                csv: true,
            },
            Data {
                name: "series",
                about: "the curves of every handover run, twice a second",
                table: tables::series(&measured),
                csv: false,
            },
            Data {
                name: "estimates",
                about: "every estimate of the estimation runs",
                table: tables::estimates(&measured),
                csv: true,
            },
        ],
    };
    Reproduction { measured, report }
}

fn extent_in_words(extent: &Extent) -> String {
    let loads: Vec<String> = extent.loads.iter().map(u8::to_string).collect();
    let whole = *extent == Extent::full();
    format!(
        "{}: three schemes, two movements, background of {} %, {} under each condition, two receive windows.",
        if whole { "The whole experiment" } else { "A part of the experiment" },
        loads.join(", "),
        if extent.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", extent.seeds) }
    )
}

fn examples(measured: &Measured) -> Vec<(String, String)> {
    let handover = tables::example(measured).map(|(key, command)| (format!("{key}:"), command));
    let estimation =
        measured.estimations.keys().next().map(|key| (format!("{key}:"), tables::estimation_command(key)));
    handover.into_iter().chain(estimation).collect()
}
