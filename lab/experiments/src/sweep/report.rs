//! The page of a sweep, and its tables of runs and cells.

use super::{Key, Outcome, Sweep};
use crate::metrics::Unit;
use crate::report::{Data, Provenance, Report};
use crate::scenario_file::command;
use crate::table::Table;
use crate::words::counted;

const TERMS: &[(&str, &str)] = &[
    (
        "Paired",
        "Cells run under the same seeds, and so under the same losses and traffic. A comparison is of the differences \
         seed by seed; its interval is Student's t with 95 %.",
    ),
    (
        "Below, above",
        "The interval of the paired difference excludes zero, and the mean difference is at least the margin, as a share \
         of the other mean.",
    ),
    ("Within", "The whole interval of the paired difference lies inside the margin on both sides."),
    (
        "Every condition",
        "A claim holds if it holds in every combination of the axes that it does not name. Without a value for every seed \
         it is not judged.",
    ),
];

impl Outcome<'_> {
    /// Returns the report. `command` repeats it; `version` is that of msctp.
    #[must_use]
    pub fn report(&self, command: &str, version: &str) -> Report {
        let sweep = self.sweep;
        let mut extent = format!(
            "{} × {}.",
            counted(sweep.cells.len() as u64, "cell"),
            counted(self.seeds.len() as u64, "seed")
        );
        for note in self.missing() {
            extent.push_str(&format!(" {note}."));
        }
        let example = self.runs.done.first().map(|(key, _)| (format!("{key}:"), sweep.command(key)));
        Report {
            paper: "",
            citation: "",
            title: sweep.title.clone(),
            question: sweep.description.clone().into(),
            extent,
            terms: if sweep.claims.is_empty() { &[] } else { TERMS },
            ledger: self.ledger(),
            findings: Vec::new(),
            figures: self.figures(),
            set_up: &[],
            provenance: Provenance {
                version: version.to_owned(),
                command: command.to_owned(),
                runs: self.runs.done.len(),
                failed: self.runs.failures(),
                skipped: self.runs.skipped.len(),
                scenarios: sweep.sources.iter().map(crate::report::Source::inside).collect(),
                examples: example.into_iter().collect(),
            },
            data: self.data(),
        }
    }

    /// Returns the tables of runs and of cells.
    #[must_use]
    pub fn data(&self) -> Vec<Data> {
        let data = |name: &'static str, about: &'static str, table| Data { name, about, table, csv: true };
        vec![
            data("runs", "every run with its values and the command that repeats it", self.run_table()),
            data(
                "cells",
                "every cell with its means and the half-widths of their 95 % intervals",
                self.cell_table(),
            ),
        ]
    }

    fn run_table(&self) -> Table {
        let sweep = self.sweep;
        let keys = || self.runs.done.iter().map(|(key, _)| key);
        let mut table = self.coordinates(&keys().map(|key| key.cell).collect::<Vec<_>>());
        table = table.integer("seed", keys().map(|key| Some(key.seed)));
        for (number, column) in sweep.metrics.iter().enumerate() {
            let values =
                self.runs.done.iter().map(|(_, values)| *values[number].as_ref().unwrap_or(&f64::NAN));
            table = table.real(&named(&column.name, column.of.metric.unit), values);
        }
        table
            .text("scenario", keys().map(|key| sweep.cells[key.cell].path.clone()))
            .text("command", keys().map(|key| sweep.command(key)))
    }

    fn cell_table(&self) -> Table {
        let cells = || 0..self.sweep.cells.len();
        let mut table = self.coordinates(&cells().collect::<Vec<_>>());
        for (name, quantity) in self.quantities() {
            let means: Vec<_> = cells().map(|cell| self.mean(quantity, cell)).collect();
            let name = named(name, self.sweep.unit(quantity));
            table = table
                .real(&name, means.iter().map(|mean| mean.map_or(f64::NAN, |mean| mean.mean)))
                .real(
                    &format!("{name}_half_width"),
                    means.iter().map(|mean| mean.map_or(f64::NAN, |mean| mean.half_width)),
                )
                .integer(
                    &format!("{name}_n"),
                    means.iter().map(|mean| Some(mean.map_or(0, |mean| mean.n as u64))),
                );
        }
        table
    }

    /// Returns a column of value names for each axis.
    fn coordinates(&self, cells: &[usize]) -> Table {
        let axes = self.sweep.axes.iter().enumerate();
        axes.fold(Table::new(), |table, (number, axis)| {
            let value = |cell: usize| axis.values[self.sweep.cells[cell].values[number]].name.clone();
            table.text(&axis.name, cells.iter().copied().map(value))
        })
    }
}

impl Sweep {
    /// Returns the command that repeats a run.
    #[must_use]
    pub fn command(&self, key: &Key) -> String {
        let cell = &self.cells[key.cell];
        command(&cell.path, key.seed, &cell.overrides)
    }
}

/// Returns the name of a column with its unit.
fn named(name: &str, unit: Unit) -> String {
    match unit {
        Unit::Rate => format!("{name}_bps"),
        Unit::Bytes => format!("{name}_bytes"),
        Unit::Seconds => format!("{name}_s"),
        Unit::Ratio | Unit::Count(_) => name.to_owned(),
    }
}
