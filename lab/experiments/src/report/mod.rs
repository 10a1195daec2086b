//! The report: a folder that opens offline in a browser, with figures and their data.
//!
//! The experiment provides the content; this module lays it out and writes it.

mod overview;
mod page;
mod points;
mod publish;
mod sheet;
mod style;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

pub use overview::Overview;
pub use publish::publish;
pub use sheet::Sheet;

use crate::claims::Claim;
use crate::figure::{Chart, FigureError};
use crate::output::write_file;
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
    /// Caption, above the table.
    pub caption: String,
    /// Heads of the columns, that of the rows' names first.
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

/// A reproduced figure or table of the paper, or one of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Name, as `Fig. 5` or `Table VI`. Claims refer to it.
    pub label: String,
    /// Topic.
    pub title: String,
    /// Explanation for the reader.
    pub caption: String,
    /// Tables, above the panels.
    pub grids: Vec<Grid>,
    /// Rows of panels; each row has its conditions if there are several.
    pub groups: Vec<(Option<Cow<'static, str>>, Vec<Panel>)>,
}

/// A line of the set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// The parameter.
    pub what: String,
    /// The paper's value; `None`: the paper leaves it open.
    pub paper: Option<String>,
    /// Ours.
    pub ours: String,
    /// The reason, if the paper leaves it open or we depart from it.
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
    /// Returns the file with a path inside the report's folder, wherever the file is.
    #[must_use]
    pub fn inside(&self) -> Self {
        let parts = Path::new(&self.path).components();
        let normal = parts.filter(|part| matches!(part, Component::Normal(_)));
        let path = Path::new("files").join(normal.collect::<PathBuf>());
        Self { path: path.to_string_lossy().into_owned(), ..self.clone() }
    }
}

/// The provenance of the numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Version of msctp.
    pub version: String,
    /// The command that repeats this report.
    pub command: String,
    /// Number of runs that completed.
    pub runs: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started because the command was interrupted.
    pub skipped: usize,
    /// The scenario files.
    pub scenarios: Vec<Source>,
    /// Commands that repeat single runs, as examples, with what each repeats.
    pub examples: Vec<(String, String)>,
}

/// A finding about a claim that does not reproduce, from packets and series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The claim.
    pub id: String,
    /// The observation and its cause, in a few sentences.
    pub text: String,
}

/// Gives each claim the texts of the findings about it.
pub(crate) fn attach(ledger: &mut [Claim], findings: &[Finding]) {
    for claim in ledger {
        let own = findings.iter().filter(|finding| finding.id == claim.id);
        claim.findings = own.map(|finding| finding.text.clone()).collect();
    }
}

/// A table for `data/`.
#[derive(Clone, Debug)]
pub struct Data {
    /// Stem of its files' names.
    pub name: &'static str,
    /// Content, in a few words.
    pub about: &'static str,
    /// The numbers.
    pub table: Table,
    /// Written as CSV too, not as Parquet alone: for tables of a readable size.
    pub csv: bool,
}

/// The content of a report.
#[derive(Clone, Debug)]
pub struct Report {
    /// The short name of the paper; empty: of a sweep.
    pub paper: String,
    /// Authors, title, journal; empty: of none.
    pub citation: String,
    /// The title of the page.
    pub title: String,
    /// The question in a paragraph.
    pub question: String,
    /// The extent of the runs, in a sentence.
    pub extent: String,
    /// Explanations of the terms in the ledger.
    pub terms: Vec<(String, String)>,
    /// The ledger.
    pub ledger: Vec<Claim>,
    /// Why claims did not reproduce.
    pub findings: Vec<Finding>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The set-up, with what the paper leaves open.
    pub set_up: Vec<SetUp>,
    /// The provenance of the numbers.
    pub provenance: Provenance,
    /// Tables for `data/`. By habit one is called `runs` and has a row per run.
    pub data: Vec<Data>,
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
    /// The ledger could not be turned into JSON.
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

    /// Writes the report's files into `dir`, which is created if it does not exist; [`publish`] gives it a
    /// folder that replaces an earlier report.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, ReportError> {
        let dir = folder(dir.to_owned())?;
        write_figures(&self.figures, &dir)?;
        let notes = [
            ("paper", self.paper.as_str()),
            ("msctp version", &self.provenance.version),
            ("command", &self.provenance.command),
        ];
        write_data(&self.data, &dir, &notes)?;
        for source in &self.provenance.scenarios {
            let path = dir.join(&source.path);
            if let Some(parent) = path.parent() {
                folder(parent.to_owned())?;
            }
            put(&path, source.text.as_bytes())?;
        }
        put(&dir.join("provenance.json"), &json(&self.provenance)?)?;
        put(&dir.join("claims.json"), &json(&self.ledger)?)?;
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
