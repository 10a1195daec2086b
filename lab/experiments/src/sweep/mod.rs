//! Sweeps: experiments as data. A TOML file names a scenario, axes of overrides, seeds, metrics, comparisons,
//! tables, figures and claims; [`Sweep::read`] checks it, [`Sweep::run`] runs it on all cores, and
//! [`Outcome::report`] lays out the same page as the papers have. docs/sweeps.md describes the keys.

mod bundled;
mod claim;
mod figure;
mod outcome;
mod read;
mod record;
mod report;
mod text;

use std::fmt;

use msctp_sim::scenario::Scenario;

pub use self::bundled::compare;
pub use self::outcome::Outcome;
pub use self::record::Record;
use crate::metrics::{Unit, Wanted};
use crate::report::Source;

/// A sweep file, read and checked.
#[derive(Debug)]
pub struct Sweep {
    /// Path of the file.
    pub file: String,
    /// Title of the page.
    pub title: String,
    /// The question, in a paragraph; may be empty.
    pub description: String,
    /// Seeds of every cell: the same, so that cells are compared under the same losses and traffic.
    pub seeds: Vec<u64>,
    /// The axes, in the order of the file.
    pub axes: Vec<Axis>,
    /// The metrics, in the order of the file.
    pub metrics: Vec<Column>,
    /// Every combination of the axes' values: the last axis varies fastest.
    pub cells: Vec<Cell>,
    /// The files that the runs depend on: the sweep first, then scenarios, then what they name.
    pub sources: Vec<Source>,
    contrasts: Vec<Contrast>,
    tables: Vec<TableSpec>,
    figures: Vec<FigureSpec>,
    claims: Vec<ClaimSpec>,
}

/// A dimension of the sweep.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its name for readers, with a unit if it has one.
    pub label: String,
    /// Its values.
    pub values: Vec<Value>,
}

/// A value of an axis.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name, such as `adaptive` or `0.01`.
    pub name: String,
    /// Its description for readers; may be empty.
    pub about: String,
    /// Its place on a numeric axis of a figure; `None`: it is not a number.
    number: Option<f64>,
    /// The scenario that it chooses; `None`: the sweep's.
    scenario: Option<String>,
    /// The overrides, in the form of `--set`.
    set: Vec<String>,
}

/// A metric of the sweep.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name in the file and in tables.
    pub name: String,
    /// Its name for readers.
    pub label: String,
    /// The metric.
    pub of: Wanted,
}

/// A combination of values.
#[derive(Debug)]
pub struct Cell {
    /// The index of the value on each axis.
    pub values: Vec<usize>,
    /// The overrides of the scenario file.
    pub overrides: Vec<String>,
    /// Path of the scenario file.
    pub path: String,
    /// The scenario with the overrides.
    pub scenario: Scenario,
    /// SHA-256 of everything that the runs depend on, except the seed.
    hash: String,
}

/// A choice of values on some axes.
type Selector = Vec<(usize, usize)>;

/// How two runs of the same seed are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// a − b.
    Difference,
    /// a / b − 1.
    Relative,
    /// 1 − a / b.
    Shortfall,
}

/// A paired comparison: a metric of every cell against that of another.
#[derive(Clone, Debug)]
struct Contrast {
    name: String,
    label: String,
    metric: usize,
    against: Selector,
    how: How,
}

/// A metric or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Metric(usize),
    Contrast(usize),
}

#[derive(Clone, Debug)]
struct TableSpec {
    title: String,
    rows: Option<usize>,
    columns: Option<usize>,
    cells: Quantity,
    note: Option<Quantity>,
    /// Values of the note (of the cell, without one) from which it is good and bad; the order of the two
    /// says whether less or more is better.
    tones: Option<(f64, f64)>,
    at: Selector,
}

#[derive(Clone, Debug)]
struct FigureSpec {
    title: String,
    x: usize,
    y: Quantity,
    series: Option<usize>,
    at: Selector,
}

/// What a claim compares with.
#[derive(Clone, Debug)]
enum Against {
    Cells(Selector),
    Constant(f64),
}

/// The relation of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Below,
    Above,
    Within,
}

#[derive(Clone, Debug)]
struct ClaimSpec {
    id: String,
    says: String,
    metric: usize,
    a: Selector,
    relation: Relation,
    against: Against,
    /// Relative to the mean of the other side.
    margin: f64,
}

/// One run: a cell and a seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the cell.
    pub cell: usize,
    /// Seed of every random stream.
    pub seed: u64,
    /// The cell's values and the seed, for messages.
    name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Sweep {
    /// Returns the runs, for the first `seeds` seeds of the file; `None`: for all.
    #[must_use]
    pub fn keys(&self, seeds: Option<usize>) -> Vec<Key> {
        let chosen = self.chosen(seeds);
        let key = |cell: usize, seed: u64| {
            let named = self.named(&self.cells[cell].values);
            let name =
                if named.is_empty() { format!("seed {seed}") } else { format!("{named}, seed {seed}") };
            Key { cell, seed, name }
        };
        (0..self.cells.len()).flat_map(|cell| chosen.iter().map(move |&seed| key(cell, seed))).collect()
    }

    /// Returns the seeds that are run.
    fn chosen(&self, seeds: Option<usize>) -> &[u64] {
        &self.seeds[..seeds.unwrap_or(self.seeds.len()).min(self.seeds.len())]
    }

    /// Returns the values of a cell in words, as `policy adaptive, loss 0.01`.
    fn named(&self, values: &[usize]) -> String {
        let part = |(axis, &value): (&Axis, &usize)| format!("{} {}", axis.name, axis.values[value].name);
        self.axes.iter().zip(values).map(part).collect::<Vec<_>>().join(", ")
    }

    /// Returns the values of a choice in words.
    fn selected(&self, selector: &[(usize, usize)]) -> String {
        let part = |&(axis, value): &(usize, usize)| {
            format!("{} {}", self.axes[axis].name, self.axes[axis].values[value].name)
        };
        selector.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Returns the index of the cell with these values.
    fn cell(&self, values: &[usize]) -> usize {
        let place = |number: usize, (axis, &value): (&Axis, &usize)| number * axis.values.len() + value;
        self.axes.iter().zip(values).fold(0, place)
    }

    /// Returns the combinations of values of the axes that `fixed` does not name, as choices that include
    /// `fixed`; axes in `free` are left out.
    fn combinations(&self, fixed: &[(usize, usize)], free: &[usize]) -> Vec<Selector> {
        let mut all: Vec<Selector> = vec![Vec::new()];
        for (axis, of) in self.axes.iter().enumerate() {
            if free.contains(&axis) {
                continue;
            }
            let values = match fixed.iter().find(|(fixed, _)| *fixed == axis) {
                Some(&(_, value)) => value..value + 1,
                None => 0..of.values.len(),
            };
            let longer = |chosen: &Selector| {
                values.clone().map(|value| [&chosen[..], &[(axis, value)]].concat()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    fn unit(&self, quantity: Quantity) -> Unit {
        match quantity {
            Quantity::Metric(metric) => self.metrics[metric].of.metric.unit,
            Quantity::Contrast(contrast) => match self.contrasts[contrast].how {
                How::Difference => self.metrics[self.contrasts[contrast].metric].of.metric.unit,
                How::Relative | How::Shortfall => Unit::Ratio,
            },
        }
    }

    fn label(&self, quantity: Quantity) -> &str {
        match quantity {
            Quantity::Metric(metric) => &self.metrics[metric].label,
            Quantity::Contrast(contrast) => &self.contrasts[contrast].label,
        }
    }
}

#[cfg(test)]
mod tests;
