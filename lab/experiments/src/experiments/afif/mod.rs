//! Afif, Martins, Tabbane, Godlewski, "SCTP-Cross Layer Mechanism Performance For EGPRS Data Handover in
//! Variable Radio Transmission Conditions": a download over EGPRS while the coding scheme falls and the
//! mobile changes its cell, with and without QoS_Measurement.

pub mod claims;
pub mod figures;
pub mod measure;
pub mod plan;
pub mod run;
mod tables;

use self::claims::Measured;
use self::measure::Run;
use self::plan::{Course, Extent, RunKey, Variant};
use super::Experiment;
use crate::paper::{Results, Texts};
use crate::plan::{Outcomes, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The texts of the report.
const TEXTS: ScenarioFile = scenario_file!("afif/paper.toml");

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "afif",
    summary: "SCTP with QoS_Measurement over EGPRS in variable radio conditions (Afif and others)",
    size: |effort| Extent::of(effort).runs().len(),
    reproduce: |effort, execution| {
        let extent = Extent::of(effort);
        let outcomes = execute("afif", extent.runs(), execution, run::run)?;
        Ok(conclude(&Texts::read(&TEXTS)?, &extent, outcomes, effort.command("afif")))
    },
    emulated: None,
};

/// Builds the report from the measurements.
fn conclude(texts: &Texts, extent: &Extent, outcomes: Outcomes<RunKey, Run>, command: String) -> Report {
    let mut provenance = Provenance::new(command, &run::SCENARIOS);
    let measured = Measured { runs: provenance.take(outcomes) };
    provenance.examples = examples(&measured);
    texts.report(Results {
        extent: extent_in_words(extent),
        ledger: claims::ledger(texts, &measured),
        figures: figures::all(&measured),
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
        provenance,
    })
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
