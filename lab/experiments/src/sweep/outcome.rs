//! Runs a sweep, and looks its values up.

use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::Summary;
use msctp_sim::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::read::{beside, hex};
use super::{Cell, Column, Contrast, How, Key, Quantity, Sweep, contains, moved, text};
use crate::metrics::{Results, Wanted, enable_series};
use crate::plan::{Execution, Outcomes, ThreadsError, execute_stored};
use crate::run_folder::long;
use crate::stats::Mean;
use crate::store::{Attachment, Store};
use crate::world::{Cancellable, World, carry_out};

/// A run's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The metrics in the order of the file, each with its value or the reason why there is none.
    pub metrics: Vec<Result<f64, String>>,
    /// The curves in the order of the file.
    pub curves: Vec<Vec<(f64, f64)>>,
    /// SHA-256 of the summary: equal for seeds that have no effect. Packets differ nevertheless, by their
    /// verification tags.
    pub summary: String,
}

/// Name of a sweep's plan in the store.
const PLAN: &str = "sweep";

/// A sweep that was run.
#[derive(Debug)]
pub struct Outcome<'s> {
    /// The sweep.
    pub sweep: &'s Sweep,
    /// The outcome of each run.
    pub runs: Outcomes<Key, Values>,
}

impl Sweep {
    /// Runs every cell with every seed. A cancellation also stops running ones.
    ///
    /// # Errors
    /// A [`ThreadsError`]. [`Outcome::runs`] lists the runs that fail.
    pub fn run(&self, execution: &Execution<'_>) -> Result<Outcome<'_>, ThreadsError> {
        self.run_in(&Cancellable(execution.cancel), self.keys(), execution)
    }

    /// Runs some of the [`keys`](Self::keys) in a world.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn run_in(
        &self,
        world: &dyn World,
        keys: Vec<Key>,
        execution: &Execution<'_>,
    ) -> Result<Outcome<'_>, ThreadsError> {
        let runs = self.runs_in(world, PLAN, keys, execution)?;
        Ok(Outcome { sweep: self, runs })
    }

    /// Runs keys in a world. `plan` separates its results in the store from those of other plans.
    pub(super) fn runs_in(
        &self,
        world: &dyn World,
        plan: &str,
        keys: Vec<Key>,
        execution: &Execution<'_>,
    ) -> Result<Outcomes<Key, Values>, ThreadsError> {
        let series = self.series && execution.store.is_some();
        let run = |key: &Key| self.values_and_series(world, key, series);
        execute_stored(keys, execution, |key| self.stored(plan, key), run)
    }

    /// Returns the name of a run's result in the store. A changed title or claim does not repeat a run; a
    /// changed scenario, override or metric does.
    fn stored(&self, plan: &str, key: &Key) -> String {
        format!("{plan}: {} seed {}", self.cells[key.cell].hash, key.seed)
    }

    /// Runs one of the [`keys`](Self::keys) in a world.
    ///
    /// # Errors
    /// The run failed, or a value is outside its range. The error is the reason.
    pub fn values(&self, world: &dyn World, key: &Key) -> Result<Values, String> {
        self.values_and_series(world, key, false).map(|(values, _)| values)
    }

    /// Runs a key like [`values`](Self::values). Returns also its time series as Parquet, empty without
    /// `series`.
    fn values_and_series(
        &self,
        world: &dyn World,
        key: &Key,
        series: bool,
    ) -> Result<(Values, Vec<u8>), String> {
        let cell = &self.cells[key.cell];
        let drawn = if cell.draws.is_empty() { None } else { Some(self.drawn(cell, key.seed)?) };
        let scenario = drawn.as_ref().unwrap_or(&cell.scenario);
        let (summary, recorded) = carry_out(world, scenario, key.seed)?;
        let results = Results { scenario, summary: &summary, series: &recorded };
        let mut metrics: Vec<Result<f64, String>> = Vec::new();
        for (number, column) in self.metrics.iter().enumerate() {
            let value = match (&cell.formulas[number], &cell.metrics[number]) {
                (Some(formula), _) => formula.value(&|index| metrics[index].clone()),
                (None, Some(wanted)) => wanted.value(&results),
                (None, None) => Err(format!("{}: not of this cell", column.name)),
            };
            if let Some([from, to]) = cell.ranges[number] {
                let found = value.clone()?;
                if !(from..=to).contains(&found) {
                    let show = |value| text::value(column.unit, value);
                    return Err(format!(
                        "{} is {}: want {} to {}",
                        column.label,
                        show(found),
                        show(from),
                        show(to)
                    ));
                }
            }
            metrics.push(value);
        }
        let curve = |(wanted, column): (&Option<Wanted>, &Column)| {
            let points = wanted.as_ref().map_or(Ok(Vec::new()), |wanted| wanted.curve(&results))?;
            Ok(super::curve::averaged(points, column.every))
        };
        let curves = cell.curves.iter().zip(&self.curves).map(curve).collect::<Result<_, String>>()?;
        let rows = if series { long(&summary, &recorded).to_parquet(&[]) } else { Ok(Vec::new()) };
        let rows = rows.map_err(|error| error.to_string())?;
        // The number of wake-ups varies with the jitter of heartbeats.
        let alike = Summary { seed: 0, events: 0, ..summary };
        let summary = hex(&serde_json::to_vec(&alike).map_err(|error| error.to_string())?);
        Ok((Values { metrics, curves, summary }, rows))
    }

    /// Returns the scenario of a cell with the draws of a seed.
    fn drawn(&self, cell: &Cell, seed: u64) -> Result<Scenario, String> {
        let text = |path: &str| {
            let source = self.sources.iter().find(|source| source.path == path);
            source.map(|source| source.text.clone()).ok_or_else(|| format!("{path} was not read"))
        };
        let open = |name: &str| text(&beside(&cell.path, name));
        let overrides = cell.overrides(seed);
        let mut scenario =
            Scenario::with_schemes(&text(&cell.path)?, &cell.path, &overrides, &open, &self.schemes)
                .map_err(|error| error.to_string())?;
        cell.metrics.iter().chain(&cell.curves).flatten().for_each(|wanted| wanted.enable(&mut scenario));
        if self.series {
            enable_series(&mut scenario);
        }
        Ok(scenario)
    }
}

impl Outcome<'_> {
    /// Returns true if every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.runs.complete()
    }

    /// Returns the stored time series of each run, in the order of the table of runs; `None` if the sweep has
    /// none. `store` is that of the execution.
    #[must_use]
    pub fn series(&self, store: &Store) -> Option<Vec<Attachment>> {
        let of = |(key, _): &(Key, Values)| store.attachment(&self.sweep.stored(PLAN, key));
        self.sweep.series.then(|| self.runs.done.iter().map(of).collect())
    }

    /// Returns the runs of a cell.
    pub(super) fn of_cell(&self, cell: usize) -> impl Iterator<Item = &(Key, Values)> {
        let done = &self.runs.done;
        let first = done.partition_point(|(key, _)| key.cell < cell);
        done[first..].iter().take_while(move |(key, _)| key.cell == cell)
    }

    /// Returns true if the runs behind a quantity in a combination differ from seed to seed.
    pub(super) fn differ(&self, quantity: Quantity, values: &[usize]) -> bool {
        let cells = match quantity {
            Quantity::Metric(_) => vec![values.to_vec()],
            Quantity::Contrast(contrast) => {
                vec![values.to_vec(), moved(values, &self.sweep.contrasts[contrast].against)]
            }
            Quantity::Estimate(estimate) => {
                self.sweep.operands_of(estimate, values).into_iter().flat_map(|(_, cells)| cells).collect()
            }
        };
        cells.iter().filter_map(|values| self.sweep.cell(values)).any(|cell| {
            let mut runs = self.of_cell(cell).map(|(_, values)| &values.summary);
            let first = runs.next();
            runs.any(|other| Some(other) != first)
        })
    }

    /// Returns the values of a metric in a cell, by seed.
    fn metric(&self, metric: usize, cell: usize) -> Vec<(u64, f64)> {
        let value = |(key, values): &(Key, Values)| Some((key.seed, *values.metrics[metric].as_ref().ok()?));
        self.of_cell(cell).filter_map(value).collect()
    }

    /// Returns the values of a metric or comparison in a cell, by seed.
    pub(super) fn by_seed(&self, quantity: Quantity, cell: usize) -> Vec<(u64, f64)> {
        match quantity {
            Quantity::Metric(metric) => self.metric(metric, cell),
            Quantity::Contrast(contrast) => {
                let compared = self.compared_by_seed(&self.sweep.contrasts[contrast], cell).into_iter();
                compared.filter_map(|(seed, value)| Some((seed, value?))).collect()
            }
            Quantity::Estimate(estimate) => self.estimate_by_seed(estimate, cell),
        }
    }

    /// Compares a cell by seed; `None` for a ratio to a value that is not above zero.
    fn compared_by_seed(&self, contrast: &Contrast, cell: usize) -> Vec<(u64, Option<f64>)> {
        let other = self.sweep.cell(&moved(&self.sweep.cells[cell].values, &contrast.against));
        let others = other.map_or_else(Vec::new, |other| self.metric(contrast.metric, other));
        let compare = |a: f64, b: f64| match contrast.how {
            How::Difference => Some(a - b),
            How::Relative => (b > 0.0).then(|| a / b - 1.0),
            How::Ratio => (b > 0.0).then(|| a / b),
            How::Shortfall => (b > 0.0).then(|| 1.0 - a / b),
        };
        let own = self.metric(contrast.metric, cell).into_iter();
        own.filter_map(|(seed, a)| {
            let (_, b) = others.iter().find(|(of, _)| *of == seed)?;
            Some((seed, compare(a, *b)))
        })
        .collect()
    }

    /// Returns the values of a metric or comparison in a cell.
    pub(super) fn values(&self, quantity: Quantity, cell: usize) -> Vec<f64> {
        self.by_seed(quantity, cell).into_iter().map(|(_, value)| value).collect()
    }

    /// Returns the mean of a metric or comparison in a cell. A comparison has none without every seed: the
    /// seeds that it lacks are not like the others.
    pub(super) fn mean(&self, quantity: Quantity, cell: usize) -> Option<Mean> {
        let values = self.values(quantity, cell);
        let seeds = self.sweep.seeds_behind(quantity, &self.sweep.cells[cell].values).len();
        let whole = !matches!(quantity, Quantity::Contrast(_)) || values.len() == seeds;
        Mean::of(&values).filter(|_| whole)
    }

    /// Returns the means of every cell as JSON: a member for each axis, metric and comparison.
    ///
    /// # Errors
    /// A value cannot be written as JSON.
    pub fn json(&self) -> Result<Json, serde_json::Error> {
        let mut cells = Vec::new();
        for (number, cell) in self.sweep.cells.iter().enumerate() {
            let mut members = Map::new();
            for (axis, &value) in self.sweep.axes.iter().zip(&cell.values) {
                members.insert(axis.name.clone(), axis.values[value].name.clone().into());
            }
            for (name, quantity) in self.sweep.of_cells() {
                members.insert(name.to_owned(), serde_json::to_value(self.mean(quantity, number))?);
            }
            cells.push(Json::Object(members));
        }
        let claims = serde_json::to_value(self.ledger())?;
        let mut out = Map::new();
        out.insert("cells".to_owned(), cells.into());
        out.insert("claims".to_owned(), claims);
        Ok(out.into())
    }

    /// Returns the metrics and comparisons without a value, each with the number of cases and the reason of
    /// the first.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (number, column) in self.sweep.metrics.iter().enumerate() {
            let of_cell = |key: &Key| contains(&column.only, &self.sweep.cells[key.cell].values);
            let runs = || self.runs.done.iter().filter(|(key, _)| of_cell(key));
            let faults =
                || runs().filter_map(|(key, values)| Some((key, values.metrics[number].as_ref().err()?)));
            if let Some((key, why)) = faults().next() {
                let (count, all) = (faults().count(), runs().count());
                notes.push(format!(
                    "{} has no value in {count} of {all} runs, first in {key}: {why}",
                    column.name
                ));
            }
        }
        for contrast in &self.sweep.contrasts {
            let compared: Vec<_> = (0..self.sweep.cells.len())
                .flat_map(|cell| self.compared_by_seed(contrast, cell).into_iter().map(move |of| (cell, of)))
                .collect();
            let mut faults = compared.iter().filter(|(_, (_, value))| value.is_none());
            if let Some((cell, (seed, _))) = faults.next() {
                notes.push(format!(
                    "{} has no value in {} of {} runs, first in {}, seed {seed}: {} of {} is not above zero",
                    contrast.name,
                    1 + faults.count(),
                    compared.len(),
                    self.sweep.named(&self.sweep.cells[*cell].values),
                    self.sweep.metrics[contrast.metric].name,
                    self.sweep.selected(&contrast.against)
                ));
            }
        }
        notes
    }
}

impl Sweep {
    /// Returns every metric, comparison and estimate with its name.
    pub(super) fn quantities(&self) -> impl Iterator<Item = (&str, Quantity)> {
        let estimates = self.estimates.iter().enumerate();
        let estimates = estimates.map(|(number, e)| (e.name.as_str(), Quantity::Estimate(number)));
        self.of_cells().chain(estimates)
    }

    /// Finds the metric, comparison or estimate of a name.
    pub(super) fn quantity(&self, name: &str) -> Result<Quantity, String> {
        let found = self.quantities().find(|(known, _)| *known == name).map(|(_, quantity)| quantity);
        found.ok_or_else(|| {
            let remedy = suggest(name, self.quantities().map(|(known, _)| known));
            format!("there is no metric, comparison or estimate \"{name}\"{remedy}")
        })
    }

    /// Returns every metric and comparison with its name.
    pub(super) fn of_cells(&self) -> impl Iterator<Item = (&str, Quantity)> {
        let metrics = self.metrics.iter().enumerate();
        let metrics = metrics.map(|(number, metric)| (metric.name.as_str(), Quantity::Metric(number)));
        let contrasts = self.contrasts.iter().enumerate();
        metrics.chain(contrasts.map(|(number, c)| (c.name.as_str(), Quantity::Contrast(number))))
    }
}
