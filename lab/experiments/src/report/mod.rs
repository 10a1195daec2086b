//! The report: a folder that opens offline in a browser, with figures and their data.
//!
//! The experiment provides the content; this module lays it out and writes it.

mod overview;
mod page;
mod points;
mod publish;
mod record;
mod sheet;
mod style;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

pub use overview::Overview;
pub use publish::{Extent, publish};
pub(crate) use record::Metric;
pub use record::Record;
pub use sheet::Sheet;

use crate::claims::Claim;
use crate::figure::{Chart, FigureError};
use crate::output::write_file;
use crate::run_folder::{RUN, RecordedFile, SERIES, write_all};
use crate::store::Attachment;
use crate::table::{Table, TableError};

/// A chart with its caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Unique name in the report, for file names.
    pub slug: String,
    /// Caption.
    pub caption: String,
    /// The chart.
    pub chart: Chart,
}

/// A table in the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Caption above the table.
    pub caption: String,
    /// Headings of the columns, that of the row names first.
    pub head: Vec<String>,
    /// Rows, each with its name first.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A cell of a [`Grid`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The figure.
    pub text: String,
    /// Small text below the value.
    pub note: String,
    /// The assessment of the value.
    pub tone: Tone,
}

/// The assessment of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good.
    Good,
    /// Bad.
    Bad,
}

/// A figure or table of the paper that was reproduced, or one of msctp's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Label, such as `Fig. 5` or `Table VI`. Claims refer to it.
    pub label: String,
    /// Topic.
    pub title: String,
    /// Explanation for the reader.
    pub caption: String,
    /// Tables above the panels.
    pub grids: Vec<Grid>,
    /// Rows of panels; each row has its conditions if there are several.
    pub groups: Vec<(Option<Cow<'static, str>>, Vec<Panel>)>,
}

/// A line of the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// The parameter.
    pub what: String,
    /// The paper's value; `None` if the paper leaves it open.
    pub paper: Option<String>,
    /// The experiment's value.
    pub ours: String,
    /// The reason, if the paper leaves the value open or the experiment deviates from it.
    pub why: Option<String>,
}

/// A scenario file of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Path in the repository, and in the report.
    pub path: String,
    /// SHA-256 of its contents, hexadecimal.
    pub sha256: String,
    /// Contents.
    #[serde(skip)]
    pub text: String,
}

impl Source {
    /// Returns a file with its path inside the report's folder, regardless of its own location.
    #[must_use]
    pub fn inside(&self) -> Self {
        let parts = Path::new(&self.path).components();
        let normal = parts.filter(|part| matches!(part, Component::Normal(_)));
        let path = Path::new("files").join(normal.collect::<PathBuf>());
        Self { path: path.to_string_lossy().into_owned(), ..self.clone() }
    }

    /// Returns the file for a record.
    pub(crate) fn recorded(&self) -> RecordedFile {
        let Self { path, sha256, text } = self.clone();
        RecordedFile { path, sha256, text }
    }
}

/// The provenance of the numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Version of msctp.
    pub version: String,
    /// Commit that msctp was built from; empty outside of a repository.
    pub commit: String,
    /// Command that repeats this report.
    pub command: String,
    /// Number of runs that completed.
    pub runs: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started because the command was interrupted.
    pub skipped: usize,
    /// The scenario files.
    pub scenarios: Vec<Source>,
    /// Example commands that repeat single runs, each with a description of the run.
    pub examples: Vec<(String, String)>,
}

/// A finding about a claim that is not reproduced, from packets and time series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Identifier of the claim.
    pub id: String,
    /// The observation and its cause, in a few sentences.
    pub text: String,
}

/// Adds to each claim the texts of the findings about it.
pub(crate) fn attach(ledger: &mut [Claim], findings: &[Finding]) {
    for claim in ledger {
        let own = findings.iter().filter(|finding| finding.id == claim.id);
        claim.findings = own.map(|finding| finding.text.clone()).collect();
    }
}

/// A table for `data/`.
#[derive(Clone, Debug)]
pub struct Data {
    /// Stem of the file names.
    pub name: &'static str,
    /// Short description of the content.
    pub about: &'static str,
    /// The numbers.
    pub table: Table,
    /// True for CSV in addition to Parquet, for tables of a readable size.
    pub csv: bool,
}

/// The content of a report.
#[derive(Clone, Debug)]
pub struct Report {
    /// Short name of the paper; empty for a sweep.
    pub paper: String,
    /// Authors, title and journal; empty without a paper.
    pub citation: String,
    /// The title of the page.
    pub title: String,
    /// The question in a paragraph.
    pub question: String,
    /// A sentence about the number and duration of the runs.
    pub extent: String,
    /// True if seeds or conditions of the experiment were left out.
    pub part: bool,
    /// Explanations of the terms in the ledger.
    pub terms: Vec<(String, String)>,
    /// The ledger.
    pub ledger: Vec<Claim>,
    /// Why claims did not reproduce.
    pub findings: Vec<Finding>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The set-up, including the parameters that the paper leaves open.
    pub set_up: Vec<SetUp>,
    /// The provenance of the numbers.
    pub provenance: Provenance,
    /// The record for `run.json`; `None` if it could not repeat the report.
    pub record: Option<Record>,
    /// Tables for `data/`. By convention one is called `runs` and has a row per run.
    pub data: Vec<Data>,
    /// The stored time series of each row of `runs`, for `data/series.parquet`; `None` to write none.
    pub series: Option<Vec<Attachment>>,
}

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A table could not be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A chart could not be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// The ledger could not be converted to JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    write_file(path, bytes).map_err(|source| ReportError::File { path: path.to_owned(), source })
}

fn folder(path: PathBuf) -> Result<PathBuf, ReportError> {
    match fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(ReportError::File { path, source }),
    }
}

impl Report {
    /// Returns true if every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.provenance.failed.is_empty() && self.provenance.skipped == 0
    }

    /// Names the commit that msctp was built from.
    #[must_use]
    pub fn built_from(mut self, commit: &str) -> Self {
        commit.clone_into(&mut self.provenance.commit);
        if let Some(record) = &mut self.record {
            commit.clone_into(&mut record.commit);
        }
        self
    }

    /// Writes the report's files into `dir`, and creates the folder if it does not exist. [`publish`] passes
    /// a folder that replaces an earlier report.
    ///
    /// # Errors
    /// A file cannot be written. The error names the first.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, ReportError> {
        let dir = folder(dir.to_owned())?;
        write_figures(&self.figures, &dir)?;
        let notes = [
            ("paper", self.paper.as_str()),
            ("msctp version", &self.provenance.version),
            ("command", &self.provenance.command),
        ];
        write_data(&self.data, &dir, &notes)?;
        if let Some(series) = &self.series {
            write_all(&dir.join("data").join(SERIES), series, &notes)?;
        }
        for source in &self.provenance.scenarios {
            let path = dir.join(&source.path);
            if let Some(parent) = path.parent() {
                folder(parent.to_owned())?;
            }
            put(&path, source.text.as_bytes())?;
        }
        put(&dir.join("provenance.json"), &json(&self.provenance)?)?;
        put(&dir.join("claims.json"), &json(&self.ledger)?)?;
        if let Some(record) = &self.record {
            put(&dir.join(RUN), &json(record)?)?;
        }
        let page = dir.join("index.html");
        put(&page, page::html(self)?.as_bytes())?;
        Ok(page)
    }
}

/// Writes each panel as SVG and as CSV, in `figures/`.
fn write_figures(figures: &[Figure], dir: &Path) -> Result<(), ReportError> {
    let dir = folder(dir.join("figures"))?;
    for panel in figures.iter().flat_map(|f| &f.groups).flat_map(|(_, panels)| panels) {
        put(&dir.join(format!("{}.svg", panel.slug)), panel.chart.to_svg_file()?.as_bytes())?;
        panel.chart.table().write_csv(&dir.join(format!("{}.csv", panel.slug)))?;
    }
    Ok(())
}

/// Writes each table as Parquet, with notes in the file, and as CSV on request, in `data/`.
fn write_data(data: &[Data], dir: &Path, notes: &[(&str, &str)]) -> Result<(), ReportError> {
    let dir = folder(dir.join("data"))?;
    for Data { name, table, csv, .. } in data {
        table.write_parquet(&dir.join(format!("{name}.parquet")), notes)?;
        if *csv {
            table.write_csv(&dir.join(format!("{name}.csv")))?;
        }
    }
    Ok(())
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
