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

use self::grid::Extent;
use self::measure::Measured;
use self::parameters::Frozen;
use super::{Effort, Experiment, ReproduceError};
use crate::again::{Ledger, Other, Ways};
use crate::paper::{Results, Texts};
use crate::plan::{Execution, execute};
use crate::report::{Data, Provenance, Record, Report};
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::world::Cancellable;

/// The texts of the report.
const TEXTS: ScenarioFile = scenario_file!("fu-atiquzzaman/paper.toml");

/// The entry of [`EXPERIMENTS`](super::EXPERIMENTS).
pub const EXPERIMENT: Experiment = Experiment {
    name: "fu-atiquzzaman",
    summary: "SCTP, TCP SACK and TCP Reno through Mobile IP handovers (Fu and Atiquzzaman)",
    size: |effort| Extent::of(effort).size(),
    reproduce: |effort, execution| {
        reproduce(&Extent::of(effort), execution, effort.command("fu-atiquzzaman"))
    },
    again,
    again_size: |effort| Extent::of(effort).size(),
    emulated: None,
};

/// Runs the experiment. The report shows `command` as the command that repeats it.
///
/// # Errors
/// A [`ReproduceError`]. A run that fails is not an error; the report's provenance lists it.
pub fn reproduce(
    extent: &Extent,
    execution: &Execution<'_>,
    command: String,
) -> Result<Report, ReproduceError> {
    let texts = Texts::read(&TEXTS)?;
    let mut provenance = Provenance::new(command, &run::SCENARIOS);
    let measured = &measured(extent, &Ways::default(), execution, &mut provenance)?;
    provenance.examples = tables::examples(measured);
    let data = |name, about, table, csv| Data { name, about, table, csv };
    let mut report = texts.report(Results {
        extent: extent_in_words(extent),
        ledger: judging::claims::ledger(&texts, measured),
        evidence: judging::findings::all(measured),
        whole: *extent == Extent::FULL,
        figures: judging::figures::all(measured),
        data: vec![
            data("runs", "every run of the grid", tables::runs(measured), true),
            data("handovers", "every handover of the grid’s runs", tables::handovers(measured), true),
            data("segments", "every segment under the microscope", tables::segments(measured), true),
            data("blocks", "every run over the number of SACK blocks", tables::blocks(measured), true),
        ],
        provenance,
    });
    report.record = Some(Record::of_paper(&report, extent.seeds().collect()));
    Ok(report)
}

/// Makes the runs, with the stacks changed by `ways`.
fn measured(
    extent: &Extent,
    ways: &Ways,
    execution: &Execution<'_>,
    provenance: &mut Provenance,
) -> Result<Measured, ReproduceError> {
    let world = Cancellable(execution.cancel);
    let plan = |what: &str| format!("fu-atiquzzaman {what}{}", ways.name());
    let grid = execute(&plan("grid"), extent.grid(), execution, |key| run::grid(&world, key, ways))?;
    let microscope = execute(&plan("microscope"), extent.microscope(), execution, |key| {
        run::microscope(&world, key, ways)
    })?;
    let blocks = execute(&plan("blocks"), extent.blocks(), execution, |key| run::blocks(&world, key, ways))?;
    Ok(Measured {
        grid: provenance.take(grid),
        microscope: provenance.take(microscope),
        blocks: provenance.take(blocks),
    })
}

/// Judges the claims again, with other seeds or other stacks.
fn again(other: Other, effort: &Effort, execution: &Execution<'_>) -> Result<Ledger, ReproduceError> {
    let extent = Extent::of(effort);
    let (seeds, ways) = other.of("fu-atiquzzaman", &extent.seeds().collect::<Vec<_>>())?;
    let extent = Extent { first: seeds.first().copied().unwrap_or(1), ..extent };
    let mut provenance = Provenance::new(String::new(), &run::SCENARIOS);
    let measured = measured(&extent, &ways, execution, &mut provenance)?;
    let claims = judging::claims::ledger(&Texts::read(&TEXTS)?, &measured);
    let Provenance { runs, failed, skipped, .. } = provenance;
    Ok(Ledger { claims, runs, failed, skipped, seeds })
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
