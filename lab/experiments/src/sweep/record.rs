//! `run.json`: everything that a sweep's numbers depend on, so that they can be computed again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Outcome, Sweep};
use crate::report::Source;

/// The record of a sweep.
#[derive(Debug, Serialize)]
pub struct Record<'s> {
    /// Kind of the record: `sweep`. The record of a run of `msctp sim` has the same keys
    /// ([`RunRecord`](crate::run_folder::RunRecord)).
    kind: &'static str,
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

/// The parts of a record from which its sweep is run again.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// Version of msctp.
    pub version: String,
    /// Commit that msctp was built from.
    pub commit: String,
    /// The command.
    pub command: String,
    seeds: Vec<u64>,
    files: Vec<RecordedFile>,
    cells: Vec<RecordedCell>,
}

#[derive(Debug, Deserialize)]
struct RecordedFile {
    path: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct RecordedCell {
    values: BTreeMap<String, String>,
}

impl Recorded {
    /// Parses `run.json`.
    ///
    /// # Errors
    /// The text is not a sweep's record.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the sweep with the recorded files, cells and seeds.
    ///
    /// # Errors
    /// A file is invalid, or its cells differ from the recorded ones.
    pub fn sweep(&self) -> Result<Sweep, String> {
        let open = |path: &str| {
            let file = self.files.iter().find(|file| file.path == path);
            file.map(|file| file.text.clone()).ok_or_else(|| format!("{path} is not in the record"))
        };
        let first = self.files.first().ok_or("the record has no file")?;
        let mut sweep = Sweep::read(&first.text, &first.path, &open).map_err(|error| error.to_string())?;
        let known = |values: &[usize]| {
            let named = |(name, value): (&String, &String)| {
                let axis = sweep.axes.iter().position(|axis| axis.name == *name);
                axis.is_some_and(|axis| sweep.axes[axis].values[values[axis]].name == *value)
            };
            self.cells.iter().any(|cell| cell.values.iter().all(named))
        };
        let kept: Vec<bool> = sweep.cells.iter().map(|cell| known(&cell.values)).collect();
        let mut kept = kept.into_iter();
        sweep.cells.retain(|_| kept.next() == Some(true));
        if sweep.cells.len() != self.cells.len() {
            let (found, all) = (sweep.cells.len(), self.cells.len());
            return Err(format!("{found} of the recorded {all} cells are those of its files"));
        }
        sweep.reduced = self.seeds.len() < sweep.seeds.len() || sweep.cells.len() < sweep.grid.len();
        sweep.seeds.clone_from(&self.seeds);
        Ok(sweep)
    }
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
            kind: "sweep",
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
