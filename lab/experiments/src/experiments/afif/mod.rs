//! Afif, Martins, Tabbane, Godlewski, "SCTP-Cross Layer Mechanism Performance For EGPRS Data Handover in
//! Variable Radio Transmission Conditions": a download over EGPRS while the coding scheme falls and the
//! mobile changes its cell, with and without QoS_Measurement.

pub mod claims;
pub mod figures;
mod findings;
pub mod measure;
pub mod plan;
pub mod run;
mod tables;
mod words;

use self::claims::Measured;
use self::measure::Run;
use self::plan::{Course, Extent, RunKey, Variant};
use super::Experiment;
use crate::plan::{Outcomes, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::ScenarioFile;

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "afif",
    summary: "SCTP with QoS_Measurement over EGPRS in variable radio conditions (Afif and others)",
    size: |effort| Extent::of(effort).runs().len(),
    reproduce: |effort, execution| {
        let extent = Extent::of(effort);
        let outcomes = execute("afif", extent.runs(), execution, run::run)?;
        Ok(conclude(&extent, outcomes, effort.command("afif")))
    },
    emulated: None,
};

/// Builds the report from the measurements.
fn conclude(extent: &Extent, outcomes: Outcomes<RunKey, Run>, command: String) -> Report {
    let runs = outcomes.done.len();
    let failed = outcomes.failures();
    let measured = Measured { runs: outcomes.done.into_iter().collect() };
    let ledger = claims::ledger(&measured);
    Report {
        paper: "afif",
        citation: words::CITATION,
        title: "Should the radio tell the sender?".to_owned(),
        question: words::QUESTION.into(),
        extent: extent_in_words(extent),
        terms: &words::TERMS,
        findings: findings::about(&ledger),
        ledger,
        figures: figures::all(&measured),
        set_up: &words::SET_UP,
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            runs,
            failed,
            skipped: outcomes.skipped.len(),
            scenarios: run::SCENARIOS.iter().map(ScenarioFile::source).collect(),
            examples: examples(&measured),
        },
        data: vec![
            Data {
                name: "runs",
                about: "every run with its scenario, seed, overrides and measured figures",
                table: tables::runs(&measured),
                csv: true,
            },
            Data {
                name: "series",
                about: "the curves of every run, every ten seconds",
                table: tables::series(&measured),
                csv: false,
            },
        ],
    }
}

fn extent_in_words(extent: &Extent) -> String {
    let seeds = |count| if count == 1 { "one seed".to_owned() } else { format!("{count} seeds") };
    format!(
        "{}: the deterministic run under {}, with a sender of either kind and one that is told and does not know the chunk; the random \
         run under {}, with a sender of either kind.",
        if *extent == Extent::FULL { "The whole experiment" } else { "A part of the experiment" },
        seeds(extent.deterministic),
        seeds(extent.random)
    )
}

fn examples(measured: &Measured) -> Vec<(String, String)> {
    let wanted = [(Course::Deterministic, Variant::Extended), (Course::Random, Variant::Extended)];
    let first =
        |(course, variant)| measured.runs.keys().find(|key| (key.course, key.variant) == (course, variant));
    wanted.into_iter().filter_map(first).map(|key| (format!("{key}:"), run::command(key))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use indicatif::ProgressBar;

    use super::*;
    use crate::experiments::Effort;
    use crate::plan::Execution;

    #[test]
    fn every_claims_figure_is_in_the_report() {
        let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
        let execution = Execution { threads: None, cancel: &cancel, progress: &progress, store: None };
        let effort = Effort { quick: true, seeds: Some(1) };
        let report = (EXPERIMENT.reproduce)(&effort, &execution).unwrap();
        assert!(report.complete(), "{:?}", report.provenance.failed);
        for claim in &report.ledger {
            assert!(report.figures.iter().any(|figure| figure.label == claim.figure), "{}", claim.id);
        }
    }
}
