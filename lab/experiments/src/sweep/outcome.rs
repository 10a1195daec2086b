//! Runs a sweep, and looks its values up.

use serde_json::{Map, Value as Json};

use super::{How, Key, Quantity, Sweep};
use crate::metrics::Results;
use crate::plan::{Execution, Outcomes, ThreadsError, execute_stored};
use crate::stats::Mean;
use crate::world::{Simulator, carry_out};

/// The metrics of a run, in the order of the file: the value, or why there is none.
pub(super) type Values = Vec<Result<f64, String>>;

/// A sweep that was run.
#[derive(Debug)]
pub struct Outcome<'s> {
    /// The sweep.
    pub sweep: &'s Sweep,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// The outcome of each run.
    pub runs: Outcomes<Key, Vec<Result<f64, String>>>,
}

impl Sweep {
    /// Runs every cell with the first `seeds` seeds of the file; `None`: with all.
    ///
    /// # Errors
    /// [`ThreadsError`]. Runs that fail are in [`Outcome::runs`].
    pub fn run(&self, seeds: Option<usize>, execution: &Execution<'_>) -> Result<Outcome<'_>, ThreadsError> {
        // A changed title or claim does not repeat a run; a changed scenario, override or metric does.
        let stored = |key: &Key| format!("sweep: {} seed {}", self.cells[key.cell].hash, key.seed);
        let runs = execute_stored(self.keys(seeds), execution, stored, |key| {
            let (summary, series) = carry_out(&Simulator, &self.cells[key.cell].scenario, key.seed)?;
            let results = Results { summary: &summary, series: &series };
            Ok(self.metrics.iter().map(|column| column.of.value(&results)).collect::<Values>())
        })?;
        Ok(Outcome { sweep: self, seeds: self.chosen(seeds).to_vec(), runs })
    }
}

impl Outcome<'_> {
    /// Returns true if every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.runs.complete()
    }

    /// Returns the values of a metric in a cell, by seed.
    fn metric(&self, metric: usize, cell: usize) -> Vec<(u64, f64)> {
        let done = &self.runs.done;
        let first = done.partition_point(|(key, _)| key.cell < cell);
        let own = done[first..].iter().take_while(|(key, _)| key.cell == cell);
        own.filter_map(|(key, values)| Some((key.seed, *values[metric].as_ref().ok()?))).collect()
    }

    /// Returns the values of two cells for the seeds for which both have one.
    pub(super) fn pairs(&self, metric: usize, a: usize, b: usize) -> Vec<(f64, f64)> {
        let b = self.metric(metric, b);
        let other = |seed: u64| b.iter().find(|(of, _)| *of == seed).map(|&(_, value)| value);
        self.metric(metric, a).into_iter().filter_map(|(seed, a)| Some((a, other(seed)?))).collect()
    }

    /// Returns the values of a metric or comparison in a cell.
    pub(super) fn values(&self, quantity: Quantity, cell: usize) -> Vec<f64> {
        let contrast = match quantity {
            Quantity::Metric(metric) => {
                return self.metric(metric, cell).into_iter().map(|(_, value)| value).collect();
            }
            Quantity::Contrast(contrast) => &self.sweep.contrasts[contrast],
        };
        let mut other = self.sweep.cells[cell].values.clone();
        for &(axis, value) in &contrast.against {
            other[axis] = value;
        }
        let pairs = self.pairs(contrast.metric, cell, self.sweep.cell(&other));
        let compare = |(a, b): (f64, f64)| match contrast.how {
            How::Difference => Some(a - b),
            How::Relative => (b > 0.0).then(|| a / b - 1.0),
            How::Shortfall => (b > 0.0).then(|| 1.0 - a / b),
        };
        pairs.into_iter().filter_map(compare).collect()
    }

    /// Returns the mean of a metric or comparison in a cell.
    pub(super) fn mean(&self, quantity: Quantity, cell: usize) -> Option<Mean> {
        Mean::of(&self.values(quantity, cell))
    }

    /// Returns every metric and comparison with its name.
    pub(super) fn quantities(&self) -> Vec<(&str, Quantity)> {
        let metrics = self.sweep.metrics.iter().enumerate();
        let contrasts = self.sweep.contrasts.iter().enumerate();
        let metrics = metrics.map(|(number, metric)| (metric.name.as_str(), Quantity::Metric(number)));
        metrics.chain(contrasts.map(|(number, c)| (c.name.as_str(), Quantity::Contrast(number)))).collect()
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
            for (name, quantity) in self.quantities() {
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

    /// Returns the metrics without a value: how often, and why the first time.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (number, column) in self.sweep.metrics.iter().enumerate() {
            let faults = || {
                self.runs.done.iter().filter_map(|(key, values)| Some((key, values[number].as_ref().err()?)))
            };
            if let Some((key, why)) = faults().next() {
                let (count, all) = (faults().count(), self.runs.done.len());
                notes.push(format!(
                    "{} has no value in {count} of {all} runs, first in {key}: {why}",
                    column.name
                ));
            }
        }
        notes
    }
}
