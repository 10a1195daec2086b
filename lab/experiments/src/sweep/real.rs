//! A sweep on real stacks beside the simulator.

use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;

use super::read::{list, plain_text, selector};
use super::text::Shown;
use super::{Outcome, Quantity, Selector, Sweep, bundled, contains};
use crate::agreement::{Agreement, Row};
use crate::reproduce::{Effort, ReproduceError, Worlds};
use crate::scenario_file::emulation;

/// The part of a sweep that runs on real stacks.
#[derive(Clone, Debug)]
pub(super) struct Real {
    at: Selector,
    /// The part that runs on real stacks with `--quick`.
    quick: Selector,
    extent: String,
    /// The metrics to compare.
    metrics: Vec<usize>,
    /// Known differences and their causes.
    reasons: Vec<(String, String)>,
}

impl Real {
    /// Reads `[real]`.
    pub(super) fn read(top: &Section<'_, '_>, sweep: &Sweep) -> Result<Option<Self>, Problem> {
        let keys = ["at", "quick", "extent", "metrics", "reason"];
        let Some(section) = top.section("real", &keys)? else { return Ok(None) };
        let at = selector(&section, "at", sweep)?.unwrap_or_default();
        let mut quick = selector(&section, "quick", sweep)?.unwrap_or_default();
        quick.extend(
            at.iter()
                .filter(|(axis, _)| quick.iter().all(|(own, _)| own != axis))
                .cloned()
                .collect::<Vec<_>>(),
        );
        let names = section.value("metrics").map(list).unwrap_or_default();
        let metric = |name: String| {
            let found = sweep.metrics.iter().position(|metric| metric.name == name);
            found.ok_or_else(|| Problem::new(section.key("metrics"), format!("there is no [metric.{name}]")))
        };
        let metrics = names.into_iter().map(plain_text).map(metric).collect::<Result<Vec<_>, _>>()?;
        let mut reasons = Vec::new();
        for (path, table) in section.items("reason")? {
            let reason = Section::open(table, path, &["what", "why"])?;
            let part = |key: &str| reason.required(key, reason.text(key)?, "\"…\"").map(str::to_owned);
            reasons.push((part("what")?, part("why")?));
        }
        let extent = section.text("extent")?.unwrap_or_default().to_owned();
        Ok(Some(Self { at, quick, extent, metrics, reasons }))
    }
}

impl Sweep {
    /// Restricts the sweep to the cells that run on real stacks, with this many seeds. There are none if the
    /// file has no `[real]`.
    fn on_real_stacks(mut self, quick: bool, seeds: u64) -> Self {
        let at = self.real.as_ref().map(|real| if quick { real.quick.clone() } else { real.at.clone() });
        self.cells.retain(|cell| at.as_ref().is_some_and(|at| contains(at, &cell.values)));
        self.seeds = (1..=seeds).collect();
        self
    }
}

/// Returns the number of simulator runs under each condition for a number of runs on real stacks. It is at
/// least ten, since they are cheap.
fn simulator_repetitions(repetitions: u64) -> u64 {
    repetitions.max(10)
}

/// Returns the duration of every real-time run, in seconds.
pub(crate) fn plan(path: &str, effort: &Effort, repetitions: u64) -> Vec<u32> {
    let Ok(sweep) = bundled(path) else { return Vec::new() };
    let sweep = sweep.on_real_stacks(effort.quick, repetitions);
    let seconds = |cell: usize| sweep.cells[cell].scenario.duration.as_secs_f64().ceil() as u32;
    sweep.keys().into_iter().map(|key| seconds(key.cell)).collect()
}

/// Returns the number of the simulator's runs.
pub(crate) fn simulated(path: &str, effort: &Effort, repetitions: u64) -> usize {
    plan(path, effort, simulator_repetitions(repetitions)).len()
}

/// Runs the sweep's part on real stacks and in the simulator.
///
/// # Errors
/// A [`ReproduceError`]. A run that fails is not an error; the agreement lists it.
pub(crate) fn carry_out(
    path: &str,
    effort: &Effort,
    worlds: &Worlds<'_>,
) -> Result<Agreement, ReproduceError> {
    let counts = [simulator_repetitions(worlds.repetitions), worlds.repetitions];
    let (simulated, real) = (bundled(path)?, bundled(path)?);
    let simulated = simulated.on_real_stacks(effort.quick, counts[0]);
    let real = real.on_real_stacks(effort.quick, counts[1]);
    let simulated = simulated.run(worlds.simulator)?;
    let runs = real.runs_in(worlds.world, "real stacks", real.keys(), worlds.real)?;
    let real = Outcome { sweep: &real, runs };
    let sweep = real.sweep;
    let part = sweep.real.as_ref();
    let first = sweep.cells.first();
    let mut failed = simulated.runs.failures();
    failed.extend(real.runs.failures());
    Ok(Agreement {
        paper: sweep.paper.as_ref().map_or(String::new(), |paper| paper.name.clone()),
        extent: format!(
            "{} {} runs on real stacks and {} in the simulator under each condition.",
            part.map_or("", |part| &part.extent),
            counts[1],
            counts[0]
        ),
        example: first.map_or(String::new(), |cell| emulation(&cell.path, 1, &cell.overrides(1))),
        machine: String::new(),
        rows: part.map_or_else(Vec::new, |part| rows(&part.metrics, &simulated, &real)),
        claims: simulated.ledger().into_iter().zip(real.ledger()).collect(),
        reasons: part.map_or_else(Vec::new, |part| part.reasons.clone()),
        failed,
        skipped: simulated.runs.skipped.len() + real.runs.skipped.len(),
    })
}

fn rows(metrics: &[usize], simulated: &Outcome<'_>, real: &Outcome<'_>) -> Vec<Row> {
    let sweep = real.sweep;
    let mut rows = Vec::new();
    for (cell, of) in sweep.cells.iter().enumerate() {
        for &metric in metrics {
            let column = &sweep.metrics[metric];
            let values = |outcome: &Outcome<'_>| outcome.values(Quantity::Metric(metric), cell);
            let (simulated, real) = (values(simulated), values(real));
            let scale = column.unit.scale(real.iter().copied().fold(0.0, f64::max));
            let scaled = |values: Vec<f64>| values.into_iter().map(|value| value * scale.factor).collect();
            rows.push(Row {
                case: sweep.open_values(&of.values),
                measure: Shown::named(&column.label, scale),
                simulated: scaled(simulated),
                real: scaled(real),
            });
        }
    }
    rows
}
