//! The page of a sweep, and its tables of runs and cells.

use std::path::{Component, Path};

use super::{Key, Outcome, Quantity, Sweep};
use crate::metrics::Unit;
use crate::paper::Paper;
use crate::report::{Data, Provenance, Report, Source, attach};
use crate::scenario_file::{command, provenance};
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
         of the other mean. The interval may reach below the margin.",
    ),
    ("Within", "The whole interval of the paired difference lies inside the margin on both sides."),
    (
        "Every condition",
        "A claim holds if it holds in every combination of the axes that it does not name. Without a value for every seed \
         it is not judged.",
    ),
];

impl Outcome<'_> {
    /// Returns the report. `command` repeats it, and `version` is that of msctp.
    #[must_use]
    pub fn report(&self, command: &str, version: &str) -> Report {
        let sweep = self.sweep;
        let mut extent = match (&sweep.paper, sweep.reduced) {
            (None, _) => String::new(),
            (Some(_), false) => "The whole experiment: ".to_owned(),
            (Some(_), true) => "A part of the experiment: ".to_owned(),
        };
        let (cells, seeds) = (sweep.cells.len() as u64, sweep.seeds.len() as u64);
        extent.push_str(&format!("{} × {}.", counted(cells, "cell"), counted(seeds, "seed")));
        for note in self.missing() {
            extent.push_str(&format!(" {note}."));
        }
        let example = self.runs.done.first().map(|(key, _)| (format!("{key}:"), sweep.command(key)));
        let paper = sweep.paper.as_ref();
        let text = |of: fn(&Paper) -> &String| paper.map_or(String::new(), |paper| of(paper).clone());
        let mut ledger = self.ledger();
        let (findings, refuted) = self.findings(&ledger);
        attach(&mut ledger, &findings);
        let terms = match paper {
            Some(paper) => paper.terms.clone(),
            None if sweep.claims.is_empty() => Vec::new(),
            None => TERMS.iter().map(|&(term, means)| (term.to_owned(), means.to_owned())).collect(),
        };
        Report {
            paper: text(|paper| &paper.name),
            citation: text(|paper| &paper.citation),
            title: sweep.title.clone(),
            question: sweep.description.clone(),
            extent,
            part: sweep.reduced,
            terms,
            findings,
            ledger,
            figures: self.figures(),
            set_up: paper.map_or_else(Vec::new, |paper| paper.set_up.clone()),
            provenance: Provenance {
                version: version.to_owned(),
                commit: String::new(),
                command: command.to_owned(),
                runs: self.runs.done.len(),
                failed: self.runs.failures().into_iter().chain(refuted).collect(),
                skipped: self.runs.skipped.len(),
                scenarios: sweep.sources.iter().map(|source| self.kept(source)).collect(),
                examples: example.into_iter().collect(),
            },
            record: Some(self.record(command, version)),
            data: self.data(),
            series: None,
        }
    }

    /// Returns a file for the report's folder. A reproduction keeps the paths of the repository, so that the
    /// commands of its runs work in the folder.
    fn kept(&self, source: &Source) -> Source {
        let mut parts = Path::new(&source.path).components();
        match self.sweep.paper.is_some() && parts.all(|part| matches!(part, Component::Normal(_))) {
            true => source.clone(),
            false => source.inside(),
        }
    }

    /// Returns the tables of runs, of cells and of curves.
    #[must_use]
    pub fn data(&self) -> Vec<Data> {
        let data = |name: &'static str, about: &'static str, table, csv| Data { name, about, table, csv };
        let mut all = vec![
            data("runs", "every run with its values and the command that repeats it", self.run_table(), true),
            data(
                "cells",
                "every cell with its means and the half-widths of their 95 % intervals",
                self.cell_table(),
                true,
            ),
        ];
        if !self.sweep.curves.is_empty() {
            all.push(data(
                "curves",
                "the curves of every run, by its row in runs",
                self.curve_table(),
                false,
            ));
        }
        all
    }

    /// Returns every run with its values. A missing value is missing in the table.
    #[must_use]
    pub fn run_table(&self) -> Table {
        let sweep = self.sweep;
        let keys = || self.runs.done.iter().map(|(key, _)| key);
        let cell = |key: &Key| &sweep.cells[key.cell];
        let mut table = self.coordinates(&keys().map(|key| key.cell).collect::<Vec<_>>());
        table = table.integer("seed", keys().map(|key| Some(key.seed)));
        for (number, column) in sweep.metrics.iter().enumerate() {
            let values = self.runs.done.iter();
            let values = values.map(|(_, values)| *values.metrics[number].as_ref().unwrap_or(&f64::NAN));
            table = table.real(&named(&column.name, column.unit.unit), values);
        }
        let sha256 = |key: &Key| {
            let source = sweep.sources.iter().find(|source| source.path == cell(key).path);
            source.map_or(String::new(), |source| source.sha256.clone())
        };
        let runs: Vec<_> = keys()
            .map(|key| (cell(key).path.as_str(), key.seed, cell(key).overrides(key.seed), sha256(key)))
            .collect();
        provenance(table, &runs)
    }

    /// Returns the points of every run's curves, by the number of the run's row.
    fn curve_table(&self) -> Table {
        let points = || {
            self.runs.done.iter().enumerate().flat_map(|(run, (_, values))| {
                let curves = self.sweep.curves.iter().zip(&values.curves);
                curves.flat_map(move |(column, points)| points.iter().map(move |point| (run, column, point)))
            })
        };
        Table::new()
            .integer("run", points().map(|(run, ..)| Some(run as u64)))
            .text("curve", points().map(|(_, column, _)| named(&column.name, column.unit.unit)))
            .real("x", points().map(|(.., point)| point.0))
            .real("value", points().map(|(.., point)| point.1))
    }

    /// Returns every cell with its means, the half-widths of their 95 % intervals and the numbers of values.
    #[must_use]
    pub fn cell_table(&self) -> Table {
        let cells = || 0..self.sweep.cells.len();
        let mut table = self.coordinates(&cells().collect::<Vec<_>>());
        for (name, quantity) in self.sweep.of_cells() {
            let means: Vec<_> = cells().map(|cell| self.mean(quantity, cell)).collect();
            let name = named(name, self.sweep.unit(quantity).unit);
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

/// The columns of the table of runs that are not the sweep's own.
const OWN: [&str; 6] = ["seed", "msctp_version", "scenario", "scenario_sha256", "overrides", "command"];

impl Sweep {
    /// Returns a name that two columns of the table of runs, or of that of cells, would have.
    pub(super) fn ambiguous_column(&self) -> Option<String> {
        let axes = || self.axes.iter().map(|axis| axis.name.clone());
        let metrics = self.metrics.iter().map(|column| named(&column.name, column.unit.unit));
        let runs = axes().chain(metrics).chain(OWN.map(str::to_owned));
        let of = |(name, quantity): (&str, Quantity)| {
            let name = named(name, self.unit(quantity).unit);
            [format!("{name}_half_width"), format!("{name}_n"), name]
        };
        let cells = axes().chain(self.quantities().flat_map(of));
        let twice = |names: Vec<String>| {
            names
                .iter()
                .enumerate()
                .find(|(n, name)| names[..*n].contains(name))
                .map(|(_, name)| name.clone())
        };
        twice(runs.collect()).or_else(|| twice(cells.collect()))
    }

    /// Returns the command that repeats a run.
    #[must_use]
    pub fn command(&self, key: &Key) -> String {
        let cell = &self.cells[key.cell];
        command(&cell.path, key.seed, &cell.overrides(key.seed))
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
