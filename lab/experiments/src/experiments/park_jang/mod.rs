//! Park & Jang, "TCP Throughput Improvement over Vertical Handover between 3G LTE and WLAN": classification
//! of losses by the round-trip time and detection of spurious timeouts, in the paper's six cells and at a
//! handover, for TCP and SCTP.

pub mod claims;
pub mod figures;
mod findings;
pub mod grid;
pub mod measure;
pub mod run;
mod sweeps;
mod tables;
mod words;

use std::fmt::Display;

use self::claims::Measured;
use self::grid::Extent;
use super::Experiment;
use crate::plan::{Execution, Outcomes, ThreadsError, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::ScenarioFile;

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "park-jang",
    summary: "TCP with loss differentiation across LTE and WLAN (Park and Jang)",
    size: |effort| Extent::of(effort).size(),
    reproduce: |effort, execution| {
        reproduce(&Extent::of(effort), execution, effort.command("park-jang")).map(|done| done.report)
    },
    emulated: None,
};

/// A completed experiment.
#[derive(Debug)]
pub struct Reproduction {
    /// The measurements.
    pub measured: Measured,
    /// The report, not yet written.
    pub report: Report,
}

/// The numbers of completed, failed and skipped runs.
#[derive(Default)]
struct Count {
    done: usize,
    failed: Vec<(String, String)>,
    skipped: usize,
}

impl Count {
    /// Counts the outcomes of a plan and returns the results.
    fn take<K: Display + Ord, T>(&mut self, outcomes: Outcomes<K, T>) -> std::collections::BTreeMap<K, T> {
        self.done += outcomes.done.len();
        self.failed.extend(outcomes.failed.into_iter().map(|(key, reason)| (key.to_string(), reason)));
        self.skipped += outcomes.skipped.len();
        outcomes.done.into_iter().collect()
    }
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
    let mut count = Count::default();
    let microscope = execute("park-jang microscope", extent.microscope(), execution, run::microscope)?;
    let transfers = execute("park-jang transfer", extent.transfers(), execution, run::transfer)?;
    let recoveries = execute("park-jang recovery", extent.recoveries(), execution, run::recovery)?;
    let handovers = execute("park-jang handover", extent.handovers(), execution, run::handover)?;
    let sweeps = execute("park-jang sweep", extent.sweeps(), execution, run::sweep)?;
    let measured = Measured {
        transfers: count.take(transfers),
        microscope: count.take(microscope),
        recoveries: count.take(recoveries),
        handovers: count.take(handovers),
        sweeps: count.take(sweeps),
    };
    let report = report(extent, &measured, count, command);
    Ok(Reproduction { measured, report })
}

/// Builds the report from the measurements.
fn report(extent: &Extent, measured: &Measured, count: Count, command: String) -> Report {
    let ledger = claims::ledger(measured);
    Report {
        paper: "park-jang",
        citation: words::CITATION,
        title: "Was the packet lost on the air, or in a queue?".to_owned(),
        question: words::QUESTION.into(),
        extent: extent_in_words(extent),
        terms: &words::TERMS,
        findings: findings::about(&ledger),
        ledger,
        figures: figures::all(measured),
        set_up: &words::SET_UP,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            runs: count.done,
            failed: count.failed,
            skipped: count.skipped,
            scenarios: run::SCENARIOS.iter().map(ScenarioFile::source).collect(),
            examples: tables::examples(measured),
        },
        data: vec![
            Data {
                name: "runs",
                about: "every transfer of Fig. 3 with its command and measured figures",
                table: tables::transfers(measured),
                csv: true,
            },
            Data {
                name: "sweeps",
                about: "every run of the sweeps of k, buffers, loss rates and of two flows side by side",
                table: tables::sweeps(measured),
                csv: true,
            },
            Data {
                name: "handovers",
                about: "every handover: timeouts, what was recognised, windows, the reset parameters",
                table: tables::handovers(measured),
                csv: true,
            },
            Data {
                name: "recoveries",
                about: "every transfer over the LTE link layer that recovers",
                table: tables::recoveries(measured),
                csv: true,
            },
        ],
    }
}

fn extent_in_words(extent: &Extent) -> String {
    let seeds = |count: u64| if count == 1 { "one seed".to_owned() } else { format!("{count} seeds") };
    let whole = Extent::of(&super::Effort::default()) == *extent;
    format!(
        "{}: six cells under two models of the air, TCP Reno and SACK with three schemes and SCTP with two, {} under each \
         condition; handovers both ways; sweeps of k, buffers and loss rates with {}.",
        if whole { "The whole experiment" } else { "A part of the experiment" },
        seeds(extent.seeds),
        seeds(extent.sweep_seeds)
    )
}
