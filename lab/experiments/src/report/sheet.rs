//! A page of figures without claims: a comparison, a sweep.

use std::path::{Path, PathBuf};

use maud::html;
use serde::Serialize;

use super::page::{document, figure, footer, tight};
use super::points;
use super::{Data, Figure, ReportError, folder, json, put, write_data, write_figures};

/// A page of figures with their data.
#[derive(Debug)]
pub struct Sheet {
    /// The title of the page.
    pub title: String,
    /// Subject of the page, and the number of runs.
    pub lead: String,
    /// Command that repeats the page.
    pub command: String,
    /// Version of msctp.
    pub version: String,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    pub skipped: usize,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The numbers.
    pub data: Vec<Data>,
}

/// The content of the sheet's `provenance.json`.
#[derive(Serialize)]
struct Origin<'s> {
    version: &'s str,
    command: &'s str,
    failed: &'s [(String, String)],
    skipped: usize,
}

impl Sheet {
    /// Writes the page, its figures, its data and `provenance.json` into `dir`. Creates the folder if it does
    /// not exist.
    ///
    /// # Errors
    /// A file cannot be written. The error names the first.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, ReportError> {
        let dir = folder(dir.to_owned())?;
        write_figures(&self.figures, &dir)?;
        write_data(&self.data, &dir, &[("msctp version", &self.version), ("command", &self.command)])?;
        let figures = self.figures.iter().map(figure).collect::<Result<Vec<_>, _>>()?;
        let script = points::script(&self.figures)?;
        let body = html! {
            header { h1 { (self.title) } p.lead { (tight(&self.lead)) } }
            main {
                @if self.skipped > 0 || !self.failed.is_empty() {
                    div.note {
                        @if self.skipped > 0 { p { "Interrupted: " (self.skipped) " runs are missing." } }
                        @for (run, why) in &self.failed { p { "This run failed and is missing: " b { (run) } ": " (why) } }
                    }
                }
                @for figure in &figures { (figure) }
                h2 { "Data and commands" }
                pre { code { (self.command) } }
                ul {
                    @for data in &self.data {
                        li { a href={ "data/" (data.name) ".csv" } { (data.name) ".csv" } ": " (data.about) ", with the command that repeats each" }
                    }
                }
            }
            (footer(&self.version))
            (script)
        };
        let Self { version, command, failed, skipped, .. } = self;
        put(&dir.join("provenance.json"), &json(&Origin { version, command, failed, skipped: *skipped })?)?;
        let page = dir.join("index.html");
        put(&page, document(&self.title, &body).into_string().as_bytes())?;
        Ok(page)
    }
}
