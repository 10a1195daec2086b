//! The re-examination of all papers as one Markdown page: a template in the repository, filled from reports
//! and atlases in a folder.

mod again;
mod sources;

use std::fmt::Write;
use std::path::Path;

use self::sources::{Judged, Sources};
use crate::atlas::{Atlas, Charted};
use crate::claims::{Grade, Rule, RulePart};
use crate::experiments::EXPERIMENTS;
use crate::figure::{Axis, Chart, Mark, Point, Series, Style};
use crate::report::ReportError;
use crate::words::counted;

/// The template of the page. Generated parts are `{overview}`, `{shares}`, `{seeds}` and `{period}`, for a
/// paper `{basis PAPER}` and `{claims PAPER}`, for a claim `{case CLAIM}`.
const TEMPLATE: &str = include_str!("template.md");

/// Number of a claim's parts that are shown.
const PARTS: usize = 4;

/// The page, with its figures by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The Markdown text.
    pub text: String,
    /// Names of files in the folder `images` beside the page, each with its SVG.
    pub figures: Vec<(String, String)>,
    /// Names of files in the folder `results` beside the page, each with its Markdown text.
    pub tables: Vec<(String, String)>,
}

/// The page could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A report or an atlas is missing or cannot be read, or a figure cannot be drawn.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The template names an unknown item, which a test excludes.
    #[error(
        "the template of the re-examination: {{{0}}}: want {{overview}}, {{shares}}, {{seeds}}, {{period}}, {{basis PAPER}}, {{claims PAPER}} or {{case CLAIM}}"
    )]
    Place(String),
}

impl Page {
    /// Builds the page from the reports `DIR/PAPER` and the atlases `DIR/PAPER-atlas`.
    ///
    /// # Errors
    /// A [`PageError`].
    pub fn of(dir: &Path) -> Result<Self, PageError> {
        let papers: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        Self::from(&Sources::read(dir, &papers)?)
    }

    fn from(sources: &Sources) -> Result<Self, PageError> {
        let mut page = Self { text: String::new(), figures: Vec::new(), tables: Vec::new() };
        let mut rest = TEMPLATE;
        while let Some((before, after)) = rest.split_once('{') {
            let wrong = |place: &str| PageError::Place(place.to_owned());
            let (place, next) = after.split_once('}').ok_or_else(|| wrong(after))?;
            page.text.push_str(before);
            let (what, which) = place.split_once(' ').unwrap_or((place, ""));
            match what {
                "overview" => page.text.push_str(&overview(sources)),
                "shares" => page.shares(sources)?,
                "seeds" => page.text.push_str(&again::seeds(sources)),
                "period" => page.text.push_str(&again::period(sources).ok_or_else(|| wrong(place))?),
                "basis" => page.text.push_str(&basis(sources, which).ok_or_else(|| wrong(place))?),
                "claims" => page.text.push_str(&claims(sources, which).ok_or_else(|| wrong(place))?),
                "case" => page.case(sources, which).ok_or_else(|| wrong(place))??,
                _ => return Err(wrong(place)),
            }
            rest = next;
        }
        page.text.push_str(rest);
        page.tables.push(("seeds.md".to_owned(), again::seeds_page(sources)));
        Ok(page)
    }

    /// Adds a figure and the line that shows it.
    fn figure(&mut self, name: &str, chart: &Chart) -> Result<(), PageError> {
        let file = format!("re-examination-{name}.svg");
        let svg = chart.to_svg_file().map_err(ReportError::from)?;
        let _ = write!(self.text, "![{}](images/{file})", chart.title);
        self.figures.push((file, svg));
        Ok(())
    }

    /// Adds the share of the box in which each claim holds.
    fn shares(&mut self, sources: &Sources) -> Result<(), PageError> {
        let mapped: Vec<_> = sources.papers.iter().flat_map(|paper| &paper.atlas.claims).collect();
        let names = mapped.iter().map(|claim| claim.claim.clone()).collect();
        let points = mapped.iter().enumerate().map(|(at, claim)| {
            // An interval of Wilson's is not symmetric; a bar is: the longer side.
            let [low, high] = claim.interval.map(|end| (end - claim.share_of_box).abs() * 100.0);
            Point { x: at as f64, y: claim.share_of_box * 100.0, half_width: Some(low.max(high)) }
        });
        let series = Series {
            name: "reproduced, with the 95 % interval’s longer side".to_owned(),
            style: Style::Second,
            points: points.collect(),
            mark: Mark::Dots,
            ..Series::default()
        };
        let chart = Chart {
            title: "Where each claim is reproduced: share of what its paper leaves open".to_owned(),
            x: Axis::named("claim", names),
            y: Axis::new("share of the box (%)", 0.0, 100.0),
            series: vec![series],
            markers: Vec::new(),
        };
        self.figure("shares", &chart)
    }

    /// Adds a claim at length: the paper's statement, the grade, the region where it holds, the deciding
    /// parameters and the map.
    fn case(&mut self, sources: &Sources, id: &str) -> Option<Result<(), PageError>> {
        let paper = sources.papers.iter().find(|paper| paper.claims.iter().any(|claim| claim.id == id))?;
        let claim = paper.claims.iter().find(|claim| claim.id == id)?;
        let mapped = paper.atlas.claims.iter().find(|mapped| mapped.claim == id)?;
        let _ = writeln!(self.text, "**{id}: {}.** “{}”\n", verdict(mapped), tight(&claim.statement));
        let _ = writeln!(self.text, "- In the paper’s set-up: {}.", claim.outcome());
        let _ = writeln!(self.text, "- Over its box: {}", mapped.sentence());
        let parts = mapped.by_check();
        if parts.len() > 1 {
            let shown = parts.iter().take(PARTS).cloned().collect::<Vec<_>>();
            let more = parts.len() - shown.len();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let all = mapped.points;
            let _ = writeln!(self.text, "- By its parts, of {all} points: {}{more}.", shown.join("; "));
        }
        if let Some(moved) = mapped.moved_by() {
            let _ = writeln!(self.text, "- The effect: {moved}");
        }
        let _ = writeln!(self.text, "- What would have to be true: {}", wanted(mapped));
        for finding in &claim.findings {
            let _ = writeln!(self.text, "- Why: {}", tight(finding));
        }
        self.text.push('\n');
        Some(self.figure(&id.to_lowercase(), &mapped.map()))
    }
}

/// Returns a text without line breaks.
fn tight(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a short text about the claim at the points of the box.
fn verdict(mapped: &crate::atlas::Mapped) -> String {
    let against = mapped.count(Grade::Contradicted);
    match (mapped.holds, against) {
        (holds, _) if holds == mapped.points => "reproduced at every point".to_owned(),
        (0, against) if against == mapped.points => "contradicted at every point".to_owned(),
        (0, 0) => "neither reproduced nor contradicted anywhere".to_owned(),
        (0, against) => {
            format!("reproduced nowhere, contradicted at {against} of {} points", mapped.points)
        }
        (holds, _) => format!("reproduced at {holds} of {} points", mapped.points),
    }
}

/// Returns the values of the box's parameters under which a claim holds.
fn wanted(mapped: &crate::atlas::Mapped) -> String {
    let against = mapped.count(Grade::Contradicted);
    match &mapped.deciding {
        _ if mapped.holds == 0 => {
            let high = mapped.interval[1] * 100.0;
            let open = match mapped.points - against {
                0 => "every one contradicts it".to_owned(),
                open => format!("{against} contradict it, and at the other {open} the runs do not decide"),
            };
            format!("it is at none of the points; {open}. Up to {high:.0} % of the box may lie between them.")
        }
        None => "nothing more than what the paper says; it holds in the whole box.".to_owned(),
        Some(split) if split.is_chance() => match mapped.rule().filter(Rule::predicts) {
            Some(rule) => best_part(&rule),
            None => "the points do not tell; it holds at some of them, and neither one nor two parameters separate these."
                .to_owned(),
        },
        Some(split) => {
            let share = |[those, of]: [usize; 2]| those as f64 / of.max(1) as f64;
            let lower = share(split.below) > share(split.above);
            let side = if lower { "up to" } else { "beyond" };
            let [those, of] = if lower { split.below } else { split.above };
            let only = if those < of { ", which is not enough by itself" } else { "" };
            format!("{} {side} {}: it holds at {those} of {of} points there{only}.", split.label, split.split)
        }
    }
}

/// Returns the part of the box in which a rule has the largest share of points.
fn best_part(rule: &Rule) -> String {
    rule.best().map_or(String::new(), |RulePart { place, those, of }| {
        let only = if those < of { ", which is not enough by itself" } else { "" };
        format!("{place}: it holds at {those} of {of} points there{only}.")
    })
}

/// Returns the number of claims of each grade, by paper.
fn overview(sources: &Sources) -> String {
    let mut text = "| paper | claims |".to_owned();
    for grade in Grade::ALL {
        let _ = write!(text, " {} |", grade.words("paper"));
    }
    text.push_str(" atlas |\n|---|---:|---:|---:|---:|---:|---:|---|\n");
    for paper in &sources.papers {
        let _ = write!(text, "| {} | {} |", paper.name, paper.claims.len());
        for grade in Grade::ALL {
            let of = paper.claims.iter().filter(|claim| claim.grade == grade).count();
            let _ = write!(text, " {of} |");
        }
        let _ = writeln!(text, " {} |", extent(&paper.atlas));
    }
    text.trim_end().to_owned()
}

/// Returns the size of an atlas, such as `quick: 6 points, 3 seeds each`.
fn extent(atlas: &Charted) -> String {
    let points = atlas.claims.iter().map(|claim| claim.points).max().unwrap_or(0);
    let kind = if atlas.quick { "quick" } else { "full" };
    format!("{kind}: {}, {} each", counted(points as u64, "point"), counted(atlas.seeds, "seed"))
}

/// Returns the runs behind a paper's grades, with their commands.
fn basis(sources: &Sources, name: &str) -> Option<String> {
    let paper = sources.papers.iter().find(|paper| paper.name == name)?;
    let quick = if paper.atlas.quick { " --quick" } else { "" };
    Some(format!(
        "Grades: {} of `{}`{}. Atlas ({}): {} of `msctp-lab reproduce {name} --atlas{quick}`.",
        counted(paper.runs as u64, "run"),
        paper.command,
        paper.at_commit(),
        extent(&paper.atlas),
        counted(paper.atlas.runs as u64, "run"),
    ))
}

/// Returns a row for each claim of a paper.
fn claims(sources: &Sources, name: &str) -> Option<String> {
    let paper = sources.papers.iter().find(|paper| paper.name == name)?;
    let mut text =
        "| claim | the paper says | grade, effect | reproduced in its box | what decides |\n".to_owned();
    text.push_str("|---|---|---|---|---|\n");
    for claim in &paper.claims {
        let mapped = paper.atlas.claims.iter().find(|mapped| mapped.claim == claim.id);
        let share = mapped.map_or("no box".to_owned(), |mapped| {
            let [low, high] = mapped.interval.map(|end| end * 100.0);
            format!("{} of {} ({low:.0} to {high:.0} %)", mapped.holds, mapped.points)
        });
        let decides = mapped.map_or("–".to_owned(), |mapped| match &mapped.deciding {
            None => "–".to_owned(),
            Some(split) if split.is_chance() => match mapped.rule().filter(Rule::predicts) {
                Some(rule) => format!(
                    "{} and {} together: {:.0} % of the variation, {:.0} % at points left out",
                    rule.axes[0],
                    rule.axes[1],
                    rule.explains * 100.0,
                    rule.held_out * 100.0
                ),
                None => format!("not told from chance (best: {})", split.axis),
            },
            Some(split) => {
                let of = split.grade.words("paper");
                let [[a, b], [c, d]] = [split.below, split.above];
                format!("{}: {of} at {a} of {b} up to {}, {c} of {d} beyond", split.axis, split.split)
            }
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {share} | {decides} |",
            claim.id,
            tight(&claim.statement),
            claim.outcome()
        );
    }
    let without = Atlas::of(name, false).ok()?.map_or_else(Vec::new, |atlas| atlas.without);
    for (ids, why) in without {
        let _ = write!(text, "\nNo box for {}: {}\n", ids.join(", "), tight(&why));
    }
    Some(text.trim_end().to_owned())
}

impl Judged {
    /// Returns the grade with the effect that decides it and the power.
    fn outcome(&self) -> String {
        if let Some(again) = self.differs() {
            let [first, last] = again.seeds;
            let [own, other] = [self.own_grade(), again.grade].map(|grade| grade.words("paper"));
            return format!("unresolved: {own} with the first seeds, {other} with seeds {first}–{last}");
        }
        let grade = self.own_words();
        let Some(effect) = &self.effect else { return grade };
        let power = effect.power.map_or(String::new(), |power| format!(", power {power:.2}"));
        format!("{grade}: {}, {}{power}", effect.text, counted(effect.seeds as u64, "seed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::Atlas;
    use crate::claims::Repeated;
    use crate::reexamination::sources::{Judgement, Other, Paper, Shown};

    fn repeated(grade: Grade) -> Repeated {
        Repeated { grade, effect: "e".to_owned(), seeds: [11, 20] }
    }

    /// Returns reports and atlases of all papers, in which claims hold in half of each box, along the first
    /// axis.
    fn sources() -> Sources {
        let paper = |name: &str| {
            let atlas = Atlas::of(name, true).unwrap().unwrap();
            let atlas = atlas.drawn(|place| match place < 0.5 {
                true => Grade::Reproduced,
                false => Grade::Contradicted,
            });
            let short = atlas.claims[0].claim[..2].to_owned();
            let claim = |number: u32| Judged {
                id: format!("{short}{number}"),
                statement: "a\nstatement".to_owned(),
                grade: Grade::Unresolved,
                effect: Some(Shown { text: "+1 kbps".to_owned(), seeds: 5, power: Some(0.5) }),
                findings: vec!["a finding".to_owned()],
                judgements: vec![Judgement { grade: Grade::Unresolved, direction_agrees: Some(true) }],
                again: Some(repeated(if number == 2 { Grade::Reproduced } else { Grade::Unresolved })),
                period: Some(repeated(Grade::Reproduced)),
            };
            let command = format!("msctp-lab reproduce {name} --quick");
            let again = Other { command: "again".to_owned(), seeds: [11, 20], runs: 7 };
            let claims = (1..=9).map(claim).collect();
            let commit = "0a1b2c3d".to_owned();
            Paper { name: name.to_owned(), command, runs: 7, commit, claims, atlas, again: Some(again) }
        };
        Sources { papers: EXPERIMENTS.iter().map(|experiment| paper(experiment.name)).collect() }
    }

    #[test]
    fn every_place_of_the_template_is_filled() {
        let page = Page::from(&sources()).unwrap();
        assert!(!page.text.contains(['{', '}']), "{}", page.text);
        for id in ["KK8", "KK6", "FA4"] {
            assert!(page.text.contains(&format!("**{id}: reproduced at ")), "{}", page.text);
            let name = format!("re-examination-{}.svg", id.to_lowercase());
            assert!(
                page.figures.iter().any(|(file, svg)| *file == name && svg.starts_with("<svg")),
                "{name}"
            );
            assert!(page.text.contains(&format!("(images/{name})")), "{name} is not shown");
        }
        let said = "| KK1 | a statement | direction agrees, unresolved: +1 kbps, 5 seeds, power 0.50 | ";
        assert!(page.text.contains(said), "{}", page.text);
        let differ = "| KK2 | a statement | unresolved: unresolved with the first seeds, reproduced with seeds 11–20 | ";
        assert!(page.text.contains(differ), "{}", page.text);
        assert!(page.text.contains("40 of 45 claims have the same grade"), "{}", page.text);
        let (name, table) = &page.tables[0];
        assert_eq!(name, "seeds.md");
        assert!(table.contains("| KK2 | ") && table.contains("| no: unresolved |"), "{table}");
        assert!(page.text.contains("| the stacks decide |"), "{}", page.text);
        assert!(page.text.contains("(quick: 6 points, 3 seeds each)"), "the page says what it rests on");
    }

    #[test]
    fn the_template_has_no_number_of_a_result() {
        let mut outside = String::new();
        for part in TEMPLATE.split('{') {
            outside.push_str(part.split_once('}').map_or(part, |(_, after)| after));
        }
        // Names with a digit: RFC 9260, ns-2, KK8, the years of the papers, 95 % of an interval.
        let words = outside.split(|c: char| c.is_whitespace() || "()[],;:“”".contains(c));
        let named = |word: &str| {
            let digits = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            ["9260", "6675", "95", "1", "ns-2", "ns-2’s", "SACK1"].contains(&digits)
                || (digits.len() == 3 && digits.starts_with(|c: char| c.is_ascii_uppercase()))
                || digits.starts_with("20") && digits.len() == 4
        };
        let numbers: Vec<&str> =
            words.filter(|word| word.contains(|c: char| c.is_ascii_digit()) && !named(word)).collect();
        assert!(numbers.is_empty(), "typed by hand: {numbers:?}");
    }

    #[test]
    fn what_would_have_to_be_true_follows_from_the_points() {
        let atlas = Atlas::of("kim-koh", false).unwrap().unwrap();
        let of = |grade: fn(f64) -> Grade| {
            let charted = atlas.drawn(grade);
            let mapped = &charted.claims[charted.claims.len() - 1];
            (verdict(mapped), wanted(mapped))
        };
        let (verdict, wanted) = of(|_| Grade::Contradicted);
        assert_eq!(verdict, "contradicted at every point");
        assert!(wanted.starts_with("it is at none of the points; every one contradicts it."), "{wanted}");
        let half = of(|place| if place < 0.5 { Grade::Unresolved } else { Grade::Contradicted });
        assert!(
            half.1.contains(" contradict it, and at the other "),
            "no evidence is no evidence: {}",
            half.1
        );
        let (verdict, wanted) = of(|place| if place < 0.5 { Grade::Reproduced } else { Grade::Contradicted });
        assert!(verdict.starts_with("reproduced at ") && verdict.ends_with(" of 32 points"), "{verdict}");
        assert!(wanted.starts_with("queues of the radio links (packets) up to "), "{wanted}");
        let (verdict, wanted) = of(|_| Grade::Reproduced);
        assert_eq!(verdict, "reproduced at every point");
        assert!(wanted.starts_with("nothing more"), "{wanted}");
    }
}
