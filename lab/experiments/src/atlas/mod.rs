//! The atlas of a paper: over the box of what the paper leaves open, where does each claim hold, and which
//! parameter decides?
//!
//! A box is declared in a TOML file beside the paper's, an axis for each open parameter with the reason. The
//! claims are judged at the points of a Halton sequence, which fills the box evenly and is always the same.

mod decide;
mod page;
mod rule;

use msctp_sim::scenario::compose::Text;
use msctp_sim::scenario::document::{Document, Section};
use msctp_sim::scenario::{Problem, ScenarioError};
use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use crate::claims::{Check, Deciding, Grade, Share};
use crate::plan::Execution;
use crate::reproduce::ReproduceError;
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::sweep::{Part as SweepPart, bundled_part};

/// The compiled-in atlases: the paper, its sweep and its boxes.
const FILES: [(&str, &str, ScenarioFile); 5] = [
    ("afif", "scenarios/afif/paper.toml", scenario_file!("afif/atlas.toml")),
    ("eklund", "scenarios/eklund/paper.toml", scenario_file!("eklund/atlas.toml")),
    ("fu-atiquzzaman", "scenarios/fu-atiquzzaman/repair.toml", scenario_file!("fu-atiquzzaman/atlas.toml")),
    ("kim-koh", "scenarios/kim-koh/paper.toml", scenario_file!("kim-koh/atlas.toml")),
    ("park-jang", "scenarios/park-jang/paper.toml", scenario_file!("park-jang/atlas.toml")),
];

/// Number of points of a box in `--quick`, and of their seeds.
const QUICK: (usize, u64) = (6, 3);

/// The papers that have an atlas.
#[must_use]
pub fn papers() -> Vec<&'static str> {
    FILES.iter().map(|(paper, ..)| *paper).collect()
}

/// The boxes of a paper.
#[derive(Clone, Debug)]
pub struct Atlas {
    paper: &'static str,
    quick: bool,
    sweep: &'static str,
    points: usize,
    seeds: u64,
    boxes: Vec<Region>,
    /// Claims without a box, each with the reason.
    pub without: Vec<(Vec<String>, String)>,
}

/// A box of parameters, and the claims that are judged over it.
#[derive(Clone, Debug)]
struct Region {
    claims: Vec<String>,
    axes: Vec<Dimension>,
}

/// A parameter that the paper leaves open.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dimension {
    name: String,
    label: String,
    /// The overrides, in which `{}` stands for the value.
    set: Vec<String>,
    why: String,
    range: Range,
}

/// The values of a parameter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Range {
    /// Numbers between two limits, spread evenly by their logarithms if `log`.
    Numbers { from: f64, to: f64, log: bool },
    /// One of several texts.
    Choice(Vec<String>),
}

impl Range {
    /// Returns the value at a position in [0, 1), as a number and as text. The number of a choice is its
    /// index plus an offset of up to 0.3 that depends on the position, so that points with the same value do
    /// not coincide on a map.
    fn at(&self, place: f64) -> (f64, String) {
        match self {
            Self::Numbers { from, to, log } => {
                let value = if *log {
                    libm::exp(libm::log(*from) + place * (libm::log(*to) - libm::log(*from)))
                } else {
                    from + place * (to - from)
                };
                let value = libm::round(value);
                (value, format!("{value:.0}"))
            }
            Self::Choice(values) => {
                let index = ((place * values.len() as f64) as usize).min(values.len() - 1);
                let inside = place * values.len() as f64 - index as f64;
                (index as f64 + 0.6 * (inside - 0.5), values[index].clone())
            }
        }
    }
}

impl Range {
    /// Returns the value for a number of [`at`](Self::at): for a choice, its index.
    fn value(&self, number: f64) -> f64 {
        match self {
            Self::Numbers { .. } => number,
            Self::Choice(_) => libm::round(number),
        }
    }
}

/// Returns the coordinate of a point of the Halton sequence, in [0, 1).
fn halton(mut number: usize, base: usize) -> f64 {
    let (mut place, mut share) = (0.0, 1.0);
    while number > 0 {
        share /= base as f64;
        place += share * (number % base) as f64;
        number /= base;
    }
    place
}

/// The bases of the sequence, which are primes. A box has at most as many axes.
const BASES: [usize; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// Result of a claim over its box.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mapped {
    /// Identifier of the claim, such as `KK8`.
    pub claim: String,
    /// Short statement of the claim.
    pub statement: String,
    /// Number of points where the claim is reproduced.
    pub holds: usize,
    /// Number of all points.
    pub points: usize,
    /// Share of the box where the claim is reproduced.
    pub share_of_box: f64,
    /// The 95 % interval of the share (Wilson).
    pub interval: [f64; 2],
    /// The parameter that best separates the points where the claim holds, if it holds at some points only.
    pub deciding: Option<Deciding>,
    /// Texts of the claim's checks.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Every point, with its values on the axes and the grade there.
    pub at: Vec<Place>,
    axes: Vec<Dimension>,
}

/// A point of a box.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The overrides.
    pub set: Vec<String>,
    /// The grade.
    pub grade: Grade,
    /// The claim's checks at the point.
    #[serde(default)]
    pub checks: Vec<Part>,
    values: Vec<f64>,
}

impl Place {
    /// Returns the greatest grade of some of the claim's checks; `None` if there are none.
    fn grade_of(&self, checks: &[usize]) -> Option<Grade> {
        checks.iter().filter_map(|&check| self.checks.get(check)).map(|part| part.grade).max()
    }
}

/// A check of a claim at a point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Grade of the check.
    pub grade: Grade,
    /// Effect of the check; `None` without measurements, or without a spread between runs.
    pub effect: Option<f64>,
}

/// Results of a paper's claims over their boxes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charted {
    /// Identifier of the paper, such as `kim-koh`.
    pub paper: String,
    /// True if only some points and seeds were run.
    pub quick: bool,
    /// Version of msctp.
    pub version: String,
    /// The claims.
    pub claims: Vec<Mapped>,
    /// Number of seeds at each point.
    pub seeds: u64,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    pub skipped: usize,
    /// Number of runs that completed.
    pub runs: usize,
}

impl Atlas {
    /// Reads the atlas of a paper; `None` if it has none.
    ///
    /// # Errors
    /// The file is invalid, which a test excludes.
    pub fn of(paper: &str, quick: bool) -> Result<Option<Self>, ScenarioError> {
        let Some((name, sweep, file)) = FILES.iter().find(|(name, ..)| *name == paper) else {
            return Ok(None);
        };
        let alone = Text::new(file.text, file.path);
        let document = Document::parse(&alone)?;
        let read = || -> Result<Self, Problem> {
            let top =
                Section::open(&document.root, String::new(), &["points", "seeds", "axis", "box", "without"])?;
            let points = top.required("points", top.integer("points", 2, 10_000)?, "32")?;
            let seeds = top.required("seeds", top.integer("seeds", 2, 1000)?, "10")?;
            let axes = top.items("axis")?.into_iter().map(|(path, table)| {
                let keys = ["name", "label", "from", "to", "scale", "values", "set", "why"];
                dimension(&Section::open(table, path, &keys)?)
            });
            let axes = axes.collect::<Result<Vec<_>, Problem>>()?;
            let boxes = top
                .items("box")?
                .into_iter()
                .map(|(path, table)| region(&Section::open(table, path, &["claims", "axes"])?, &axes));
            let boxes = boxes.collect::<Result<_, _>>()?;
            let without = top.items("without")?.into_iter().map(|(path, table)| {
                let section = Section::open(table, path, &["claims", "why"])?;
                let why = section.required("why", section.text("why")?, "\"…\"")?;
                Ok((texts(&section, "claims")?, why.to_owned()))
            });
            let without = without.collect::<Result<_, Problem>>()?;
            Ok(Self { paper: *name, quick, sweep, points, seeds, boxes, without })
        };
        let mut atlas = read().map_err(|problem| document.locate(problem))?;
        if quick {
            (atlas.points, atlas.seeds) = (QUICK.0.min(atlas.points), QUICK.1.min(atlas.seeds));
        }
        Ok(Some(atlas))
    }

    /// Returns the points of a box, each with its values and its overrides.
    fn places(&self, region: &Region) -> Vec<(Vec<f64>, Vec<String>)> {
        let place = |number: usize| {
            let each = region.axes.iter().zip(BASES);
            let values = each.map(|(axis, base)| axis.range.at(halton(number, base)));
            let (numbers, texts): (Vec<f64>, Vec<String>) = values.unzip();
            let set = region.axes.iter().zip(&texts);
            let set = set.flat_map(|(axis, text)| axis.set.iter().map(|set| set.replace("{}", text)));
            (numbers, set.collect())
        };
        (1..=self.points).map(place).collect()
    }

    /// Returns the number of runs.
    ///
    /// # Errors
    /// An override is not a key of a scenario, which a test excludes.
    pub fn size(&self) -> Result<usize, ScenarioError> {
        let mut runs = 0;
        for region in &self.boxes {
            let places = self.places(region);
            let first = places.first().map_or(&[][..], |(_, set)| set);
            let part = bundled_part(
                self.sweep,
                &SweepPart { claims: &region.claims, overrides: first, ..SweepPart::default() },
            )?;
            runs += part.cells.len() * places.len() * self.seeds as usize;
        }
        Ok(runs)
    }

    /// Returns the atlas without claims.
    fn empty(&self) -> Charted {
        Charted {
            paper: self.paper.to_owned(),
            quick: self.quick,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            claims: Vec::new(),
            seeds: self.seeds,
            failed: Vec::new(),
            skipped: 0,
            runs: 0,
        }
    }

    /// Returns the atlas without any run, with grades that follow from the position on the first axis.
    #[cfg(test)]
    pub(crate) fn drawn(&self, grade: impl Fn(f64) -> Grade) -> Charted {
        let mut charted = self.empty();
        for region in &self.boxes {
            let places = self.places(region).into_iter().enumerate();
            let place = |(number, (values, set))| Place {
                set,
                grade: grade(halton(number + 1, BASES[0])),
                checks: Vec::new(),
                values,
            };
            let at: Vec<Place> = places.map(place).collect();
            let mapped =
                |claim: &String| region.mapped([claim.clone(), String::new()], Vec::new(), at.clone());
            charted.claims.extend(region.claims.iter().map(mapped));
        }
        charted
    }

    /// Judges every claim at every point of its box.
    ///
    /// # Errors
    /// Threads cannot start, or an override is invalid. The result lists runs that failed.
    pub fn chart(&self, execution: &Execution<'_>) -> Result<Charted, ReproduceError> {
        let mut charted = self.empty();
        for region in &self.boxes {
            let mut found: Vec<([String; 2], Vec<String>, Vec<Place>)> = Vec::new();
            for (values, set) in self.places(region) {
                let mut sweep = bundled_part(
                    self.sweep,
                    &SweepPart { claims: &region.claims, overrides: &set, ..SweepPart::default() },
                )?;
                sweep.seeds = (1..=self.seeds).collect();
                let outcome = sweep.run(execution)?;
                charted.runs += outcome.runs.done.len();
                charted.skipped += outcome.runs.skipped.len();
                charted.failed.extend(outcome.runs.failures());
                for (number, claim) in outcome.ledger().into_iter().enumerate() {
                    let judged = claim.judgements.first().map_or(&[][..], |first| &first.checks);
                    if found.len() == number {
                        let words = [claim.id.to_string(), claim.statement.to_string()];
                        let wants = judged.iter().map(|check| check.want.clone()).collect();
                        found.push((words, wants, Vec::new()));
                    }
                    let part = |check: &Check| {
                        let effect = check.effect.as_ref().map(|effect| effect.effect);
                        Part { grade: check.grade, effect }
                    };
                    let checks = judged.iter().map(part).collect();
                    let place =
                        Place { set: set.clone(), grade: claim.grade, checks, values: values.clone() };
                    found[number].2.push(place);
                }
            }
            let mapped = found.into_iter().map(|(words, checks, at)| region.mapped(words, checks, at));
            charted.claims.extend(mapped);
        }
        Ok(charted)
    }
}

impl Region {
    /// Summarizes the points of a claim.
    fn mapped(&self, [claim, statement]: [String; 2], checks: Vec<String>, at: Vec<Place>) -> Mapped {
        let holds = at.iter().filter(|place| place.grade == Grade::Reproduced).count();
        let points = at.len();
        let interval = Share { those: holds, of: points }.interval();
        let deciding = decide::deciding(&self.axes, &at).into_iter().next();
        let share_of_box = holds as f64 / points as f64;
        let axes = self.axes.clone();
        Mapped { claim, statement, holds, points, share_of_box, interval, deciding, checks, at, axes }
    }
}

/// Reads an axis of a box.
fn dimension(section: &Section<'_, '_>) -> Result<Dimension, Problem> {
    let owned = |key: &str| section.required(key, section.text(key)?, "\"…\"").map(str::to_owned);
    let range = match texts(section, "values")? {
        values if values.len() > 1 => Range::Choice(values),
        _ => {
            let from = section.required("from", section.number("from")?, "5")?;
            let to = section.required("to", section.number("to")?, "100")?;
            let log = section.choice("scale", &[("log", true), ("linear", false)])?.unwrap_or(false);
            if from >= to || (log && from <= 0.0) {
                let message =
                    format!("{to} is not above from = {from}: want a range, above zero if scale = \"log\"");
                return Err(Problem::new(section.key("to"), message));
            }
            Range::Numbers { from, to, log }
        }
    };
    let set = texts(section, "set")?;
    if set.is_empty() || set.iter().any(|set| !set.contains("{}")) {
        let message = "want overrides with {} for the value, such as [\"link.wlan.queue={}\"]";
        return Err(Problem::new(section.key("set"), message));
    }
    Ok(Dimension { name: owned("name")?, label: owned("label")?, set, why: owned("why")?, range })
}

/// Reads a box.
fn region(section: &Section<'_, '_>, axes: &[Dimension]) -> Result<Region, Problem> {
    let claims = texts(section, "claims")?;
    let names = texts(section, "axes")?;
    let find = |name: &String| {
        axes.iter().find(|axis| axis.name == *name).cloned().ok_or_else(|| {
            Problem::new(section.key("axes"), format!("there is no [[axis]] with name = \"{name}\""))
        })
    };
    let chosen = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if claims.is_empty() || !(2..=BASES.len()).contains(&chosen.len()) {
        let message = format!("want one or more claims, and 2 to {} axes", BASES.len());
        return Err(Problem::new(section.path(), message));
    }
    Ok(Region { claims, axes: chosen })
}

/// Reads a list of strings; empty without the key.
pub(crate) fn texts(section: &Section<'_, '_>, key: &str) -> Result<Vec<String>, Problem> {
    let Some(value) = section.value(key) else { return Ok(Vec::new()) };
    let wrong = || section.wrong_type(key, value, "a list of strings");
    let DeValue::Array(items) = value else { return Err(wrong()) };
    let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err(wrong()),
    };
    items.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_haltons() {
        let places: Vec<f64> = (1..=4).map(|number| halton(number, 2)).collect();
        assert_eq!(places, [0.5, 0.25, 0.75, 0.125]);
        assert!((halton(5, 3) - 7.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn every_point_of_every_box_is_valid_and_names_the_files_claims() {
        points_are_valid(16);
    }

    #[test]
    #[ignore = "reads a paper's sweep at some hundred points"]
    fn slow_every_point_of_every_box_is_valid_and_names_the_files_claims() {
        points_are_valid(1);
    }

    /// Checks each point of every box whose number is a multiple of `step`, the first included.
    fn points_are_valid(step: usize) {
        for paper in papers() {
            let atlas = Atlas::of(paper, false).unwrap().unwrap();
            for region in &atlas.boxes {
                for (_, set) in atlas.places(region).into_iter().step_by(step) {
                    let part = SweepPart { claims: &region.claims, overrides: &set, ..SweepPart::default() };
                    let sweep = bundled_part(atlas.sweep, &part).unwrap();
                    assert!(!sweep.cells.is_empty());
                    assert!(sweep.cells.iter().all(|cell| cell.overrides.ends_with(&set)), "the box decides");
                }
                let alone = |claim: &String| {
                    bundled_part(
                        atlas.sweep,
                        &SweepPart { claims: std::slice::from_ref(claim), ..SweepPart::default() },
                    )
                    .unwrap()
                };
                assert!(region.claims.iter().all(|claim| !alone(claim).cells.is_empty()), "{paper}");
            }
        }
    }
}
