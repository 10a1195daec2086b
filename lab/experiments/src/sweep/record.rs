//! `run.json`: everything that a sweep's numbers depend on, so that they can be computed again.

use serde::Serialize;

use super::{Outcome, Sweep};
use crate::report::Source;

/// The record of a sweep.
#[derive(Debug, Serialize)]
pub struct Record<'s> {
    /// Version of msctp.
    version: &'s str,
    /// Commit that msctp was built from; empty outside of a repository.
    commit: &'s str,
    /// The command.
    command: &'s str,
    /// Title of the sweep.
    title: &'s str,
    /// The seeds that were run.
    seeds: &'s [u64],
    /// The files: the sweep first.
    files: Vec<File<'s>>,
    /// The metrics.
    metrics: Vec<Metric<'s>>,
    /// The cells.
    cells: Vec<Cell<'s>>,
    /// Runs that failed, with the reason.
    failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    skipped: usize,
}

#[derive(Debug, Serialize)]
struct File<'s> {
    path: &'s str,
    sha256: &'s str,
    text: &'s str,
}

#[derive(Debug, Serialize)]
struct Metric<'s> {
    name: &'s str,
    of: &'s str,
    unit: &'s str,
    meaning: &'s str,
}

#[derive(Debug, Serialize)]
struct Cell<'s> {
    values: serde_json::Map<String, serde_json::Value>,
    scenario: &'s str,
    overrides: &'s [String],
}

impl<'s> Outcome<'s> {
    /// Returns the record.
    #[must_use]
    pub fn record(&'s self, command: &'s str, version: &'s str, commit: &'s str) -> Record<'s> {
        let Sweep { title, axes, metrics, cells, sources, .. } = self.sweep;
        let file =
            |source: &'s Source| File { path: &source.path, sha256: &source.sha256, text: &source.text };
        let metric = |column: &'s super::Column| Metric {
            name: &column.name,
            of: &column.written,
            unit: column.unit.unit.symbol(),
            meaning: &column.meaning,
        };
        let cell = |cell: &'s super::Cell| Cell {
            values: axes
                .iter()
                .zip(&cell.values)
                .map(|(axis, &value)| (axis.name.clone(), axis.values[value].name.clone().into()))
                .collect(),
            scenario: &cell.path,
            overrides: &cell.overrides,
        };
        Record {
            version,
            commit,
            command,
            title,
            seeds: &self.sweep.seeds,
            files: sources.iter().map(file).collect(),
            metrics: metrics.iter().map(metric).collect(),
            cells: cells.iter().map(cell).collect(),
            failed: self.runs.failures(),
            skipped: self.runs.skipped.len(),
        }
    }
}
