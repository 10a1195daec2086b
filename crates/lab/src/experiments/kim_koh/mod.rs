//! Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two movements, loads
//! from 0 to 90 %, and the accuracy of the estimator.

pub mod claims;
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
use crate::plan::{Execution, Outcomes, ThreadsError, execute};
use crate::report::{Provenance, Report, Source};

/// Number of runs of the experiment.
#[must_use]
pub fn size(extent: &Extent) -> usize {
    estimation_keys(extent).len() + extent.runs().len()
}

fn estimation_keys(extent: &Extent) -> Vec<EstimationKey> {
    let both = Movement::ALL.into_iter();
    both.flat_map(|movement| extent.seeds().map(move |seed| EstimationKey { movement, seed })).collect()
}

/// The experiment, carried out.
#[derive(Debug)]
pub struct Reproduction {
    /// What was measured.
    pub measured: Measured,
    /// The report, still to be written.
    pub report: Report,
}

impl Reproduction {
    /// True when every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.report.provenance.failed.is_empty() && self.report.provenance.skipped == 0
    }
}

/// Carries the experiment out. `command` is what the report says makes it again.
///
/// # Errors
/// [`ThreadsError`]. A run that fails is in the report's provenance, not an error.
pub fn reproduce(
    extent: &Extent,
    execution: &Execution<'_>,
    command: String,
) -> Result<Reproduction, ThreadsError> {
    let estimations = execute(estimation_keys(extent), execution, run::estimation)?;
    let handovers = execute(extent.runs(), execution, run::handover)?;
    Ok(conclude(extent, estimations, handovers, command))
}

/// From what was measured to the report.
fn conclude(
    extent: &Extent,
    estimations: Outcomes<EstimationKey, Estimation>,
    handovers: Outcomes<RunKey, Handover>,
    command: String,
) -> Reproduction {
    let runs = estimations.done.len() + handovers.done.len();
    let mut failed = named(&estimations.failed);
    failed.extend(named(&handovers.failed));
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
        scenarios: run::SCENARIOS
            .iter()
            .map(|&file| Source {
                path: file.path.to_owned(),
                sha256: tables::sha256(file),
                text: file.text.to_owned(),
            })
            .collect(),
        examples: examples(&measured),
    };
    let ledger = claims::ledger(&measured);
    let report = Report {
        paper: "kim-koh",
        citation: words::CITATION,
        title: "Which window after a vertical handover?".to_owned(),
        question: words::QUESTION,
        extent: extent_in_words(extent),
        terms: &words::TERMS,
        findings: findings::about(&ledger),
        ledger,
        figures: figures::all(&measured),
        set_up: &words::SET_UP,
        provenance,
        tables: vec![
            ("runs", tables::runs(&measured), true),
            ("series", tables::series(&measured), false),
            ("estimates", tables::estimates(&measured), true),
        ],
    };
    Reproduction { measured, report }
}

fn named<K: ToString>(failed: &[(K, String)]) -> Vec<(String, String)> {
    failed.iter().map(|(key, reason)| (key.to_string(), reason.clone())).collect()
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
