//! Formats a [`Report`] as a self-contained HTML page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::points;
use super::style::PAGE;
use super::{Cell, Figure, Grid, Panel, Report, ReportError, SetUp, Tone};
use crate::claims::{Check, Claim, Effect, Grade, Judgement, said};
use crate::figure::{FigureError, STYLESHEET};
use crate::run_folder::SERIES;

pub(super) fn html(report: &Report) -> Result<String, ReportError> {
    let figures = report.figures.iter().map(figure).collect::<Result<Vec<_>, _>>()?;
    let script = points::script(&report.figures)?;
    let page = document(
        &report.title,
        &html! {
                (header(report))
                main {
                    (tally(report))
                    (incomplete(report))
                    @if !report.ledger.is_empty() {
                        h2 #ledger { "What holds" }
                        (ledger(report))
                        (terms(report))
                    }
                    h2 #figures { "Figures" }
                    p.quiet {
                        "Each chart is beside this page as SVG, and its numbers as CSV. All curves are from runs of this report."
                    }
                    @if !script.0.is_empty() { (how_to_repeat(if report.paper.is_empty() { "where the sweep ran" } else { "in this folder or in the repository" })) }
                    @for figure in &figures { (figure) }
                    @if !report.set_up.is_empty() {
                        h2 #set-up { "Set-up" }
                        (set_up(&report.set_up))
                    }
                    h2 #provenance { "Provenance" }
                    (provenance(report))
                }
                (footer(&report.provenance.version))
                (script)
        },
    );
    Ok(page.into_string())
}

/// Explains the commands of points, which run `place`.
pub(super) fn how_to_repeat(place: &str) -> Markup {
    html! {
        p.quiet {
            "Choose a point of a chart for the command that repeats it: the command prints the point’s value. It runs in sh, with awk, "
            (place) "."
        }
    }
}

/// Formats a self-contained page.
pub(super) fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLESHEET)) (PreEscaped(PAGE)) }
            }
            body { (body) }
        }
    }
}

pub(super) fn footer(version: &str) -> Markup {
    html! {
        footer { "msctp " (version) ", deterministic: the same version and command repeat this page byte for byte." }
    }
}

/// Formats text without line breaks before a unit or inside a name.
pub(super) fn tight(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
        .replace(" ± ", "\u{a0}±\u{a0}")
        .replace(" kbps", "\u{a0}kbps")
        .replace(" B:", "\u{a0}B:")
        .replace("C-SCTP", "C\u{2011}SCTP")
        .replace('\'', "’")
}

fn header(report: &Report) -> Markup {
    html! {
        header {
            h1 { (report.title) }
            @if !report.citation.is_empty() { p.cite { (report.citation) } }
            p.lead { (tight(&report.question)) }
            nav {
                @if !report.ledger.is_empty() { a href="#ledger" { "What holds" } }
                a href="#figures" { "Figures" }
                @if !report.set_up.is_empty() { a href="#set-up" { "Set-up" } }
                a href="#provenance" { "Provenance and repetition" }
                @if !report.ledger.is_empty() { a href="claims.json" { "claims.json" } }
                a href="data/runs.csv" { "runs.csv" }
            }
        }
    }
}

/// Returns the conditions under which claims were judged, in the order of the ledger's columns.
fn conditions(ledger: &[Claim]) -> Vec<&str> {
    let longest = ledger.iter().max_by_key(|claim| claim.judgements.len());
    longest.map(|claim| claim.judgements.iter().map(|j| j.conditions.as_str()).collect()).unwrap_or_default()
}

/// Returns the judgement of a claim for a column. A claim with a single judgement has it in every column.
fn judgement(claim: &Claim, column: usize) -> Option<&Judgement> {
    claim.judgements.get(column).or_else(|| claim.judgements.first())
}

fn tally(report: &Report) -> Markup {
    let count = |column, grade| {
        let judged = report.ledger.iter().filter_map(|claim| judgement(claim, column));
        judged.filter(|judgement| judgement.grade == grade).count()
    };
    html! {
        @if !report.ledger.is_empty() { ul.tally {
            @for (column, conditions) in conditions(&report.ledger).into_iter().enumerate() {
                li {
                    b { (count(column, Grade::Reproduced)) " of " (report.ledger.len()) }
                    (claimed(&report.paper, report.ledger.len())) ", " (conditions)
                    @for other in Grade::ALL.into_iter().filter(|&grade| grade != Grade::Reproduced && count(column, grade) > 0) {
                        br; span.quiet { (count(column, other)) " " (other.words(&report.paper)) }
                    }
                }
            }
        } }
        p { (tight(&report.extent)) }
    }
}

/// Returns the label of claims that are fulfilled, after their number of `all`.
fn claimed(paper: &str, all: usize) -> &'static str {
    match (paper.is_empty(), all) {
        (true, 1) => "claim holds",
        (true, _) => "claims hold",
        (false, 1) => "claim reproduced",
        (false, _) => "claims reproduced",
    }
}

fn incomplete(report: &Report) -> Markup {
    let provenance = &report.provenance;
    html! {
        @if !provenance.failed.is_empty() || provenance.skipped > 0 {
            div.note {
                @if provenance.skipped > 0 {
                    p { "Interrupted: " (provenance.skipped) " runs are missing. The verdicts rest on the completed ones." }
                }
                @for (run, reason) in &provenance.failed {
                    p { "This run failed and is missing below: " b { (run) } ": " (reason) }
                }
            }
        }
    }
}

fn ledger(report: &Report) -> Markup {
    let conditions = conditions(&report.ledger);
    html! {
        table.ledger.cards {
            thead {
                tr {
                    th { "Claim" }
                    th { @if report.paper.is_empty() { "It says" } @else { "The paper says" } }
                    @for (column, name) in conditions.iter().enumerate() {
                        th { "Measured, " (name) @if column == 0 && !report.paper.is_empty() { " (decides)" } }
                    }
                }
            }
            tbody {
                @for claim in &report.ledger {
                    tr #(claim.id) {
                        td { span.id { (claim.id) } @if !claim.figure.is_empty() { br; (figure_link(claim)) } }
                        td.says { (tight(&claim.statement)) }
                        (judgements(claim, &conditions))
                    }
                    @for finding in report.findings.iter().filter(|finding| finding.id == claim.id) {
                        tr.finding { td colspan=(2 + conditions.len()) { b { "Findings. " } (tight(&finding.text)) } }
                    }
                }
            }
        }
    }
}

fn figure_link(claim: &Claim) -> Markup {
    html! { a href={ "#" (anchor(&claim.figure)) } { (claim.figure) } }
}

/// Returns the anchor of a figure in the page.
fn anchor(label: &str) -> String {
    let words = label.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn judgements(claim: &Claim, conditions: &[&str]) -> Markup {
    let single = claim.judgements.len() == 1 && conditions.len() > 1;
    html! {
        @for judgement in &claim.judgements {
            td.set colspan=[single.then_some(conditions.len())] data-name=(judgement.conditions) {
                (grade(judgement.grade, &claim.paper))
                (effect(judgement.effect.as_ref()))
                ul.checks { @for check in &judgement.checks { (self::check(check)) } }
            }
        }
    }
}

pub(super) fn grade(grade: Grade, paper: &str) -> Markup {
    html! { span class={ "verdict " (grade.class()) } { (grade.mark()) " " (grade.words(paper)) } }
}

/// Formats the effect that decides a grade, with its interval and the number of seeds.
pub(super) fn effect(effect: Option<&Effect>) -> Markup {
    html! { @if let Some(effect) = effect { p.effect { (tight(&said(effect))) } } }
}

fn check(check: &Check) -> Markup {
    html! {
        li {
            span class={ "mark " (check.grade.class()) } title=(check.grade.words("")) { (check.grade.mark()) }
            span.found { (tight(&check.measured)) }
            span.want { "wanted: " (tight(&check.want)) }
        }
    }
}

/// Returns a text with a capital first letter.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

fn terms(report: &Report) -> Markup {
    html! {
        h3 { "How the grades are found" }
        p.quiet {
            (capitalized(Grade::Reproduced.words(&report.paper))) ": the 95 % interval excludes the contrary of each check. \
             Unresolved: the interval excludes neither the claim nor its contrary; the direction agrees if the mean is where the claim has it. \
             No effect: the interval lies inside what counts as no difference. Contradicted: the interval excludes the claim, \
             with Holm’s adjustment for the number of its checks. " (capitalized(Grade::OutOfReach.words(&report.paper))) ": values are \
             missing. Behind a grade stand the effect that decides it, with its interval, and the number of seeds."
        }
        dl {
            @for (term, meaning) in &report.terms { dt { (tight(term)) } dd { (tight(meaning)) } }
        }
    }
}

pub(super) fn figure(figure: &Figure) -> Result<Markup, FigureError> {
    let mut groups = Vec::with_capacity(figure.groups.len());
    for (conditions, panels) in &figure.groups {
        let drawn = panels.iter().map(panel).collect::<Result<Vec<_>, _>>()?;
        groups.push((conditions, drawn));
    }
    Ok(html! {
        section #(anchor(&figure.label)) {
            h3 { (figure.label) ". " (tight(&figure.title)) }
            p.quiet { (tight(&figure.caption)) }
            @for grid in &figure.grids { (self::grid(grid)) }
            @for (conditions, panels) in &groups {
                @if let Some(conditions) = conditions { h4 { (conditions) } }
                div.panels.two[panels.len() == 2] { @for panel in panels { (panel) } }
            }
        }
    })
}

fn grid(grid: &Grid) -> Markup {
    html! {
        div.scroll {
            table.grid {
                caption { (tight(&grid.caption)) }
                thead { tr { @for head in &grid.head { th { (head) } } } }
                tbody {
                    @for (name, cells) in &grid.rows {
                        tr {
                            th { (name) }
                            @for cell in cells { (self::cell(cell)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    let class = match cell.tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
    };
    html! { td class=(class) { (cell.text) @if !cell.note.is_empty() { span.quiet { (tight(&cell.note)) } } } }
}

fn panel(panel: &Panel) -> Result<Markup, FigureError> {
    let svg = panel.chart.to_svg()?;
    Ok(html! {
        figure {
            (PreEscaped(svg))
            figcaption {
                (tight(&panel.caption)) ". "
                a href={ "figures/" (panel.slug) ".csv" } { "CSV" } " "
                a href={ "figures/" (panel.slug) ".svg" } { "SVG" }
            }
            (points::place(panel))
        }
    })
}

fn set_up(rows: &[SetUp]) -> Markup {
    let stated = rows.iter().filter(|row| row.paper.is_some());
    let open = rows.iter().filter(|row| row.paper.is_none());
    html! {
        h3 { "What the paper states" }
        table.cards {
            thead { tr { th { "" } th { "Paper" } th { "Here" } } }
            tbody {
                @for row in stated {
                    tr {
                        td { b { (row.what) } }
                        td data-name="Paper" { (row.paper.as_deref().unwrap_or_default()) }
                        td data-name="Here" { (tight(&row.ours)) @if let Some(why) = &row.why { " " span.quiet { (why) } } }
                    }
                }
            }
        }
        h3 { "What the paper leaves open" }
        table.cards {
            thead { tr { th { "" } th { "Our choice" } th { "Why" } } }
            tbody {
                @for row in open {
                    tr {
                        td { b { (row.what) } }
                        td data-name="Our choice" { (tight(&row.ours)) }
                        td data-name="Why" { (row.why.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn provenance(report: &Report) -> Markup {
    let provenance = &report.provenance;
    html! {
        p { (provenance.runs) " runs, each single-threaded and in virtual time. To repeat this page:" }
        pre { code { (provenance.command) } }
        p {
            "The numbers are in " code { "data/" } ", each table with the command that repeats each run:"
        }
        ul {
            @for data in &report.data {
                li {
                    a href={ "data/" (data.name) ".parquet" } { (data.name) ".parquet" }
                    @if data.csv { ", " a href={ "data/" (data.name) ".csv" } { "CSV" } }
                    ": " (data.about)
                }
            }
            @if report.series.is_some() {
                li { a href={ "data/" (SERIES) } { (SERIES) } ": the time series of every run, by its row in runs" }
            }
        }
        @if report.paper.is_empty() {
            p { "A command runs where the sweep ran; its files, as they were, are below. As an example:" }
        } @else {
            p { "The scenario files lie in this folder too, so that the commands work in it as in the repository:" }
        }
        @for (what, command) in &provenance.examples {
            p.quiet { (what) }
            pre { code { (command) } }
        }
        p { "Add " code { "--pcap FILE" } " to any of them for the packets of its links." }
        table.cards {
            thead { tr { th { @if report.paper.is_empty() { "File" } @else { "Scenario" } } th { "SHA-256" } } }
            tbody {
                @for source in &provenance.scenarios {
                    tr {
                        td { a href=(source.path) { (source.path) } }
                        td data-name="SHA-256" { code { (source.sha256) } }
                    }
                }
            }
        }
    }
}
