//! Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two
//! movements, loads from 0 to 90 %, and the accuracy of the estimator.

pub mod claims;
mod emulated;
pub mod estimation;
pub mod figures;
pub mod grid;
pub mod measure;
pub mod run;
mod tables;

use self::claims::Measured;
use self::estimation::EstimationKey;
use self::grid::{Extent, Movement};
use super::{Experiment, ReproduceError};
use crate::paper::{Results, Texts};
use crate::plan::{Execution, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The texts of the report.
const TEXTS: ScenarioFile = scenario_file!("kim-koh/paper.toml");

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "kim-koh",
    summary: "Adaptive congestion control of mSCTP for vertical handover (Kim and Koh, 2009)",
    size: |effort| {
        let extent = Extent::of(effort);
        estimation_keys(&extent).len() + extent.runs().len()
    },
    reproduce: |effort, execution| reproduce(&Extent::of(effort), execution, effort.command("kim-koh")),
    emulated: Some(emulated::EMULATED),
};

fn estimation_keys(extent: &Extent) -> Vec<EstimationKey> {
    let both = Movement::ALL.into_iter();
    both.flat_map(|movement| extent.seeds().map(move |seed| EstimationKey { movement, seed })).collect()
}

/// Runs the experiment. The report shows `command` as the command that repeats it.
fn reproduce(extent: &Extent, execution: &Execution<'_>, command: String) -> Result<Report, ReproduceError> {
    let texts = Texts::read(&TEXTS)?;
    let mut provenance = Provenance::new(command, &run::SCENARIOS);
    let estimations = execute("kim-koh estimation", estimation_keys(extent), execution, run::estimation)?;
    let handovers = execute("kim-koh handover", extent.runs(), execution, run::handover)?;
    let measured =
        &Measured { estimations: provenance.take(estimations), handovers: provenance.take(handovers) };
    provenance.examples = examples(measured);
    Ok(texts.report(Results {
        extent: extent_in_words(extent),
        ledger: claims::ledger(&texts, measured),
        figures: figures::all(measured),
        data: vec![
            Data {
                name: "runs",
                about: "every handover run with its scenario, seed, overrides and measured figures",
                table: tables::runs(measured),
                csv: true,
            },
            Data {
                name: "series",
                about: "the curves of every handover run, twice a second",
                table: tables::series(measured),
                csv: false,
            },
            Data {
                name: "estimates",
                about: "every estimate of the estimation runs",
                table: tables::estimates(measured),
                csv: true,
            },
        ],
        provenance,
    }))
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
