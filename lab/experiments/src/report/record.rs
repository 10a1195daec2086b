//! `run.json` of a report: everything that its numbers depend on.

use serde::Serialize;

use crate::run_folder::{RecordedCell, RecordedFile};

/// The record of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Kind of the record: `sweep`. The record of a run of `msctp-lab sim` has the same keys
    /// ([`RunRecord`](crate::run_folder::RunRecord)).
    pub(crate) kind: &'static str,
    /// Version of msctp.
    pub(crate) version: String,
    /// Commit that msctp was built from; empty outside of a repository.
    pub(crate) commit: String,
    /// The command.
    pub(crate) command: String,
    /// Title of the report.
    pub(crate) title: String,
    /// The seeds that were run.
    pub(crate) seeds: Vec<u64>,
    /// The files; of a sweep, its own first.
    pub(crate) files: Vec<RecordedFile>,
    /// The metrics.
    pub(crate) metrics: Vec<Metric>,
    /// The cells.
    pub(crate) cells: Vec<RecordedCell>,
    /// Runs that failed, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    pub(crate) skipped: usize,
}

/// A metric of a sweep.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) of: String,
    pub(crate) unit: String,
    pub(crate) meaning: String,
}
