//! `run.json`: everything that a sweep's numbers depend on, so that they can be computed again.

use serde::Deserialize;

use super::{Outcome, Sweep};
use crate::report::{Metric, Record, Source};
use crate::run_folder::{RecordedCell, RecordedFile};

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
            let named = |(name, value): (&String, &serde_json::Value)| {
                let axis = sweep.axes.iter().position(|axis| axis.name == *name);
                axis.is_some_and(|axis| *value == *sweep.axes[axis].values[values[axis]].name)
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

impl Outcome<'_> {
    /// Returns the record of the report that `command` makes, without a commit.
    pub(super) fn record(&self, command: &str, version: &str) -> Record {
        let Sweep { title, axes, metrics, cells, sources, .. } = self.sweep;
        let metric = |column: &super::Column| Metric {
            name: column.name.clone(),
            of: column.written.clone(),
            unit: column.unit.unit.symbol().to_owned(),
            meaning: column.meaning.clone(),
        };
        let cell = |cell: &super::Cell| RecordedCell {
            values: axes
                .iter()
                .zip(&cell.values)
                .map(|(axis, &value)| (axis.name.clone(), axis.values[value].name.clone().into()))
                .collect(),
            scenario: cell.path.clone(),
            overrides: cell.overrides.clone(),
        };
        Record {
            kind: "sweep",
            version: version.to_owned(),
            commit: String::new(),
            command: command.to_owned(),
            title: title.clone(),
            seeds: self.sweep.seeds.clone(),
            files: sources.iter().map(Source::recorded).collect(),
            metrics: metrics.iter().map(metric).collect(),
            cells: cells.iter().map(cell).collect(),
            failed: self.runs.failures(),
            skipped: self.runs.skipped.len(),
        }
    }
}
