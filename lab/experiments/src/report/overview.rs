//! The overview of several reports: every paper, every claim with its grade, and the commands that repeat
//! single runs.

use std::path::{Path, PathBuf};

use maud::{Markup, html};
use serde::Serialize;

use super::page::{document, effect, figure, footer, grade, how_to_repeat, tight};
use super::points;
use super::{Data, Figure, Report, ReportError, folder, json, put, write_data, write_figures};
use crate::claims::{Claim, Grade};
use crate::words::counted;

/// The reports of several papers.
#[derive(Debug)]
pub struct Overview {
    /// Command that repeats all reports.
    pub command: String,
    /// Version of msctp.
    pub version: String,
    /// The reports, each in the folder of its paper's name beside the page.
    pub reports: Vec<Report>,
    /// Figures over all papers.
    pub figures: Vec<Figure>,
    /// The data of the figures, for `data/`.
    pub data: Vec<Data>,
}

/// The content of the overview's `provenance.json`.
#[derive(Serialize)]
struct Whole<'o> {
    version: &'o str,
    command: &'o str,
    runs: usize,
    failed: Vec<(String, String)>,
    skipped: usize,
    papers: Vec<&'o str>,
}

impl Overview {
    /// Returns all claims, paper by paper.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.reports.iter().flat_map(|report| &report.ledger)
    }

    /// Writes the reports into folders of `dir`, then the page, `claims.json` with all claims and
    /// `provenance.json`.
    ///
    /// # Errors
    /// A file cannot be written. The error names the first.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, ReportError> {
        let dir = folder(dir.to_owned())?;
        for report in &self.reports {
            report.write(&dir.join(&report.paper))?;
        }
        write_figures(&self.figures, &dir)?;
        write_data(&self.data, &dir, &[("msctp version", &self.version), ("command", &self.command)])?;
        put(&dir.join("provenance.json"), &json(&self.whole())?)?;
        put(&dir.join("claims.json"), &json(&self.claims().collect::<Vec<_>>())?)?;
        let page = dir.join("index.html");
        put(&page, self.html()?.into_string().as_bytes())?;
        Ok(page)
    }

    fn whole(&self) -> Whole<'_> {
        let failed = |report: &Report| {
            let paper = report.paper.clone();
            report
                .provenance
                .failed
                .clone()
                .into_iter()
                .map(move |(run, why)| (format!("{paper}: {run}"), why))
        };
        Whole {
            version: &self.version,
            command: &self.command,
            runs: self.reports.iter().map(|report| report.provenance.runs).sum(),
            failed: self.reports.iter().flat_map(failed).collect(),
            skipped: self.reports.iter().map(|report| report.provenance.skipped).sum(),
            papers: self.reports.iter().map(|report| &*report.paper).collect(),
        }
    }

    fn count(&self, wanted: Grade) -> usize {
        self.claims().filter(|claim| claim.grade == wanted).count()
    }

    fn html(&self) -> Result<Markup, ReportError> {
        let figures = self.figures.iter().map(figure).collect::<Result<Vec<_>, _>>()?;
        let script = points::script(&self.figures)?;
        let papers = if self.reports.len() == 1 { "paper" } else { "papers" };
        let title = format!("{} {papers} on one transport", in_words(self.reports.len()));
        let whole = self.whole();
        let body = html! {
            header {
                h1 { (title) }
                p.lead {
                    "Each paper proposes how a transport should react to a change of network. These are the results of all of them on one SCTP "
                    "core and one simulator."
                }
                nav {
                    a href="#papers" { "Papers" }
                    a href="#claims" { "All claims" }
                    @if !figures.is_empty() { a href="#across" { "Across the papers" } }
                    a href="#again" { "Repeat the runs" }
                    a href="claims.json" { "claims.json" }
                    a href="provenance.json" { "provenance.json" }
                }
            }
            main {
                ul.tally {
                    @for grade in Grade::ALL { li { b { (self.count(grade)) } (grade.words("paper")) } }
                }
                @if whole.skipped > 0 || !whole.failed.is_empty() {
                    div.note {
                        @if whole.skipped > 0 {
                            p { "Interrupted: " (whole.skipped) " runs are missing. The verdicts rest on the completed ones." }
                        }
                        @for (run, why) in &whole.failed { p { "This run failed: " b { (run) } ": " (why) } }
                    }
                }
                h2 #papers { "Papers" }
                @for report in &self.reports { (paper(report)) }
                h2 #claims { "All claims" }
                p.quiet { "One grade each, under the conditions that decide; the paper’s page has every check, other conditions and our findings." }
                (claims(&self.reports))
                @if !figures.is_empty() {
                    h2 #across { "Across the papers" }
                    @if !script.0.is_empty() { (how_to_repeat("in the repository")) }
                    @for figure in &figures { (figure) }
                }
                h2 #again { "Repeat the runs" }
                (self.commands())
            }
            (footer(&self.version))
            (script)
        };
        Ok(document(&title, &body))
    }

    fn commands(&self) -> Markup {
        html! {
            p { "Everything here:" }
            pre { code { (self.command) } }
            p {
                "One paper: the same command with its name. One point of a figure: every run is a row of its paper’s "
                code { "data/runs.csv" } " with the command that repeats it, as"
            }
            @for report in &self.reports {
                @for (what, command) in &report.provenance.examples {
                    p.quiet { (report.paper) ", " (what) }
                    pre { code { (command) } }
                }
            }
            p { "Add " code { "--pcap FILE" } " to any of them for the packets of its links, " code { "--series DIR" } " for its curves." }
        }
    }
}

fn paper(report: &Report) -> Markup {
    let count = |wanted| report.ledger.iter().filter(|claim| claim.grade == wanted).count();
    let place = format!("{}/index.html", report.paper);
    html! {
        section {
            h3 { a href=(place) { (report.title) } }
            p.cite { (report.citation) }
            p { (tight(&report.question)) }
            p {
                b { (count(Grade::Reproduced)) " of " (counted(report.ledger.len() as u64, "claim")) " reproduced" }
                ", " (report.provenance.runs) " runs. "
                a href=(place) { "The ledger, the figures, the set-up" }
            }
        }
    }
}

fn claims(reports: &[Report]) -> Markup {
    html! {
        table.ledger.cards {
            thead { tr { th { "Claim" } th { "The paper says" } th { "Measured" } } }
            tbody {
                @for (report, claim) in reports.iter().flat_map(|report| report.ledger.iter().map(move |c| (report, c))) {
                    tr {
                        td { a.id href={ (report.paper) "/index.html#" (claim.id) } { (claim.id) } br; span.quiet { (report.paper) } }
                        td.says { (tight(&claim.statement)) }
                        td data-name="Measured" { (grade(claim.grade, &claim.paper)) (effect(claim.effect.as_ref())) p.quiet { (tight(&claim.measured)) } }
                    }
                }
            }
        }
    }
}

fn in_words(number: usize) -> String {
    let words = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    words.get(number).map_or_else(|| number.to_string(), |&word| word.to_owned())
}
