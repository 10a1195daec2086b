//! The report: one folder that opens offline in a browser, with the numbers beside what is drawn of them.
//!
//! What a report says comes from the experiment; here is only how it is laid out and written.

mod overview;
mod page;
mod publish;
mod sheet;
mod style;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use overview::Overview;
pub use publish::publish;
pub use sheet::Sheet;

use crate::claims::Claim;
use crate::figure::{Chart, FigureError};
use crate::output::write_file;
use crate::table::{Table, TableError};

/// One chart of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Name of its files, unique in the report.
    pub slug: String,
    /// What stands under it.
    pub caption: String,
    /// What is drawn.
    pub chart: Chart,
}

/// A table to be read in the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What stands above it.
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
    /// What stands under it, small.
    pub note: String,
    /// How it is to be taken.
    pub tone: Tone,
}

/// How a figure is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// As wanted.
    Good,
    /// Not as wanted.
    Bad,
}

/// A figure or table of the paper, made again, or one of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What it is called, as `Fig. 5` or `Table VI`. Claims refer to it by this.
    pub label: String,
    /// What it shows.
    pub title: String,
    /// What must be known to read it.
    pub caption: String,
    /// Tables, above the panels.
    pub grids: Vec<Grid>,
    /// Rows of panels, each with the conditions they were measured under, if there are several.
    pub groups: Vec<(Option<&'static str>, Vec<Panel>)>,
}

/// A line of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// What is set.
    pub what: &'static str,
    /// The paper's value; `None`: the paper leaves it open.
    pub paper: Option<&'static str>,
    /// Ours.
    pub ours: &'static str,
    /// Why, where the paper leaves it open or we depart from it.
    pub why: Option<&'static str>,
}

impl SetUp {
    /// What the paper states.
    pub(crate) const fn stated(what: &'static str, paper: &'static str, ours: &'static str) -> Self {
        Self { what, paper: Some(paper), ours, why: None }
    }

    /// What the paper states, and why ours needs a word.
    pub(crate) const fn explained(
        what: &'static str,
        paper: &'static str,
        ours: &'static str,
        why: &'static str,
    ) -> Self {
        Self { what, paper: Some(paper), ours, why: Some(why) }
    }

    /// What the paper leaves open.
    pub(crate) const fn open(what: &'static str, ours: &'static str, why: &'static str) -> Self {
        Self { what, paper: None, ours, why: Some(why) }
    }
}

/// A scenario file the runs were made from.
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

/// Where the numbers come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    /// Version of msctp.
    pub version: String,
    /// The command that makes this report again.
    pub command: String,
    /// Number of runs that completed.
    pub runs: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not begun because the command was interrupted.
    pub skipped: usize,
    /// The scenario files.
    pub scenarios: Vec<Source>,
    /// Commands that repeat single runs, as examples, with what each repeats.
    pub examples: Vec<(String, String)>,
}

/// A finding about a claim that does not reproduce: what was seen in packets and series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The claim.
    pub id: &'static str,
    /// What was seen and why, in a few sentences.
    pub text: &'static str,
}

/// A table for `data/`.
#[derive(Clone, Debug)]
pub struct Data {
    /// Stem of its files' names.
    pub name: &'static str,
    /// What it holds, in a few words.
    pub about: &'static str,
    /// The numbers.
    pub table: Table,
    /// Written as CSV too, not as Parquet alone: for tables of a readable size.
    pub csv: bool,
}

/// Everything a report is made of.
#[derive(Clone, Debug)]
pub struct Report {
    /// The short name of the paper.
    pub paper: &'static str,
    /// Authors, title, journal.
    pub citation: &'static str,
    /// What the page is called.
    pub title: String,
    /// The question in a paragraph.
    pub question: &'static str,
    /// How much was run, in a sentence.
    pub extent: String,
    /// What the words of the ledger mean.
    pub terms: &'static [(&'static str, &'static str)],
    /// The ledger.
    pub ledger: Vec<Claim>,
    /// Why claims did not reproduce.
    pub findings: Vec<Finding>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The set-up, with what the paper leaves open.
    pub set_up: &'static [SetUp],
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// Tables for `data/`. By habit one is called `runs` and has a row per run.
    pub data: Vec<Data>,
}

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file system refused.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
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
    /// True when every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.provenance.failed.is_empty() && self.provenance.skipped == 0
    }

    /// Writes the report's files into `dir`, which is made if need be; [`publish`] gives it a folder that
    /// replaces an earlier report.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, ReportError> {
        let dir = folder(dir.to_owned())?;
        write_figures(&self.figures, &dir)?;
        let notes = [
            ("paper", self.paper),
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

/// Each panel as SVG and as CSV, in `figures/`.
fn write_figures(figures: &[Figure], dir: &Path) -> Result<(), ReportError> {
    let dir = folder(dir.join("figures"))?;
    for panel in figures.iter().flat_map(|f| &f.groups).flat_map(|(_, panels)| panels) {
        put(&dir.join(format!("{}.svg", panel.slug)), panel.chart.to_svg_file()?.as_bytes())?;
        panel.chart.table().write_csv(&dir.join(format!("{}.csv", panel.slug)))?;
    }
    Ok(())
}

/// Each table as Parquet, with notes in the file, and as CSV where wanted, in `data/`.
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
