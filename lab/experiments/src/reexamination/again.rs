//! The grades with other seeds, and with the stacks of the papers' time.

use std::fmt::Write;

use super::sources::{Judged, Paper, Sources};
use crate::again::Ways;
use crate::claims::{Grade, Repeated};
use crate::words::counted;

/// Returns the text of a range of seeds, such as `1–10`.
fn range([first, last]: [u64; 2]) -> String {
    format!("{first}–{last}")
}

/// Returns a grade with its effect.
fn graded(grade: Grade, effect: &str) -> String {
    with_effect(grade.words("paper"), effect)
}

fn with_effect(words: &str, effect: &str) -> String {
    if effect.is_empty() { words.to_owned() } else { format!("{words}: {effect}") }
}

impl Judged {
    /// Returns the grade of the report's own seeds.
    pub(super) fn own_grade(&self) -> Grade {
        self.judgements.first().map_or(self.grade, |first| first.grade)
    }

    /// Returns the grade with other seeds, if it differs.
    pub(super) fn differs(&self) -> Option<&Repeated> {
        self.again.as_ref().filter(|again| again.grade != self.own_grade())
    }

    fn own(&self) -> String {
        let effect = self.effect.as_ref().map_or(String::new(), |effect| {
            format!("{}, {}", effect.text, counted(effect.seeds as u64, "seed"))
        });
        with_effect(&self.own_words(), &effect)
    }

    /// Returns the text of the grade with the report's own seeds, with the direction of an unresolved one.
    pub(super) fn own_words(&self) -> String {
        let direction = self.judgements.first().and_then(|first| first.direction_agrees);
        crate::claims::graded(self.own_grade(), direction, "paper")
    }
}

/// Returns the number of claims whose grade is the same with other seeds, and names the others.
pub(super) fn seeds(sources: &Sources) -> String {
    let claims = || sources.papers.iter().flat_map(|paper| &paper.claims);
    let judged = claims().filter(|claim| claim.again.is_some()).count();
    let differ: Vec<String> = claims()
        .filter_map(|claim| {
            let again = claim.differs()?;
            let words = |grade: Grade| grade.words("paper");
            let text = format!(
                "{} ({} with the first, {} with seeds {})",
                claim.id,
                words(claim.own_grade()),
                words(again.grade),
                range(again.seeds)
            );
            Some(text)
        })
        .collect();
    let same = judged - differ.len();
    let mut text = format!(
        "With as many other seeds, {same} of {} have the same grade",
        counted(judged as u64, "claim")
    );
    match differ.is_empty() {
        true => text.push('.'),
        false => {
            let _ = write!(text, ". The others are graded unresolved: {}.", differ.join("; "));
        }
    }
    text
}

/// Returns a page that compares all claims' grades with two sets of seeds.
pub(super) fn seeds_page(sources: &Sources) -> String {
    let mut text = format!(
        "# Grades with two sets of seeds\n\n{} No seed is in both sets of a paper. [The re-examination](../re-examination.md) rests on \
         the first set.\n",
        seeds(sources)
    );
    for paper in &sources.papers {
        let Some(again) = &paper.again else { continue };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n## {}\n", paper.name);
        let runs = counted(again.runs as u64, "run");
        let (first, at) = (&paper.command, paper.at_commit());
        let _ = writeln!(text, "First set: `{first}`{at}. Second set: {runs} of `{}`.\n", again.command);
        let head = format!("| claim | first seeds | seeds {} | the same |", range(again.seeds));
        let _ = writeln!(text, "{head}\n|---|---|---|---|");
        for claim in &paper.claims {
            let Some(other) = &claim.again else { continue };
            let same = if claim.differs().is_none() { "yes" } else { "no: unresolved" };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {same} |",
                claim.id,
                claim.own(),
                graded(other.grade, &other.effect)
            );
        }
    }
    text
}

/// Returns the grades with the stacks of current RFCs and of each paper's time, and the omissions of the
/// latter. Returns `None` if the stacks of a paper's time cannot be read.
pub(super) fn period(sources: &Sources) -> Option<String> {
    let mut text = "| claim | today’s RFCs | the stacks of its time | |\n|---|---|---|---|\n".to_owned();
    let mut notes = String::new();
    for paper in &sources.papers {
        let Some(ways) = Ways::of(&paper.name).ok()? else { continue };
        rows(paper, &mut text);
        let says = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ =
            writeln!(notes, "- {}: {} No option is: {}", paper.name, says(&ways.says), says(&ways.cannot));
    }
    Some(format!("{text}\n{}", notes.trim_end()))
}

fn rows(paper: &Paper, text: &mut String) {
    for claim in &paper.claims {
        let Some(period) = &claim.period else { continue };
        let about = match (claim.own_grade(), period.grade) {
            (a, b) if a == b => "",
            (Grade::Reproduced, _) | (_, Grade::Reproduced) => "the stacks decide",
            _ => "another grade",
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {about} |",
            claim.id,
            claim.own(),
            graded(period.grade, &period.effect)
        );
    }
}
