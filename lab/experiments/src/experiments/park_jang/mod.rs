//! Park & Jang, "TCP Throughput Improvement over Vertical Handover between 3G LTE and WLAN": classification
//! of losses by the round-trip time and detection of spurious timeouts, in the paper's six cells and at a
//! handover, for TCP and SCTP.

pub mod claims;
pub mod figures;
pub mod grid;
pub mod measure;
pub mod run;
mod sweeps;
mod tables;

use self::claims::Measured;
use self::grid::Extent;
use super::{Experiment, ReproduceError};
use crate::paper::{Results, Texts};
use crate::plan::{Execution, execute};
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The texts of the report.
const TEXTS: ScenarioFile = scenario_file!("park-jang/paper.toml");

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "park-jang",
    summary: "TCP with loss differentiation across LTE and WLAN (Park and Jang)",
    size: |effort| Extent::of(effort).size(),
    reproduce: |effort, execution| reproduce(&Extent::of(effort), execution, effort.command("park-jang")),
    emulated: None,
};

/// Runs the experiment. The report shows `command` as the command that repeats it.
fn reproduce(extent: &Extent, execution: &Execution<'_>, command: String) -> Result<Report, ReproduceError> {
    let texts = Texts::read(&TEXTS)?;
    let mut provenance = Provenance::new(command, &run::SCENARIOS);
    let microscope = execute("park-jang microscope", extent.microscope(), execution, run::microscope)?;
    let transfers = execute("park-jang transfer", extent.transfers(), execution, run::transfer)?;
    let recoveries = execute("park-jang recovery", extent.recoveries(), execution, run::recovery)?;
    let handovers = execute("park-jang handover", extent.handovers(), execution, run::handover)?;
    let sweeps = execute("park-jang sweep", extent.sweeps(), execution, run::sweep)?;
    let measured = &Measured {
        transfers: provenance.take(transfers),
        microscope: provenance.take(microscope),
        recoveries: provenance.take(recoveries),
        handovers: provenance.take(handovers),
        sweeps: provenance.take(sweeps),
    };
    provenance.examples = tables::examples(measured);
    Ok(texts.report(Results {
        extent: extent_in_words(extent),
        ledger: claims::ledger(&texts, measured),
        figures: figures::all(measured),
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
        provenance,
    }))
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
