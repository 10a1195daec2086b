//! The claims of a paper judged again: with seeds that its report has not, or with the stacks of the paper's
//! time.
//!
//! A grade that other seeds do not repeat is unresolved. A grade that other stacks do not repeat is about the
//! stacks.

use std::path::Path;
use std::{fs, io};

use msctp_sim::scenario::compose::Text;
use msctp_sim::scenario::document::{Document, Section};
use msctp_sim::scenario::{Problem, ScenarioError};
use serde::{Deserialize, Serialize};

use crate::atlas::texts;
use crate::claims::{Claim, Grade, Repeated};
use crate::output::write_file;
use crate::plan::Execution;
use crate::report::ReportError;
use crate::reproduce::{Effort, ReproduceError};
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::sweep::{Part, Sweep, bundled, bundled_part};

/// Name of the file with the grades as data.
const JSON: &str = "grades.json";

/// The changes to the stacks for each paper that used a simulator of its time.
const WAYS: [(&str, ScenarioFile); 4] = [
    ("afif", scenario_file!("afif/period.toml")),
    ("fu-atiquzzaman", scenario_file!("fu-atiquzzaman/period.toml")),
    ("kim-koh", scenario_file!("kim-koh/period.toml")),
    ("park-jang", scenario_file!("park-jang/period.toml")),
];

/// The change of conditions under which the claims are judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// As many other seeds, none of which the report has.
    Seeds,
    /// The stacks that the paper's tools had, with the report's seeds.
    Period,
}

impl Other {
    /// Both changes, with their names on the command line.
    pub const ALL: [(&'static str, Self); 2] = [("seeds", Self::Seeds), ("period", Self::Period)];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::Period => "period",
        }
    }

    /// Returns true if the claims of a paper can be judged again under this change.
    #[must_use]
    pub fn is_of(self, paper: &str) -> bool {
        self == Self::Seeds || WAYS.iter().any(|(of, _)| *of == paper)
    }

    /// Returns the seeds, given those of the report, and the changes to the stacks.
    ///
    /// # Errors
    /// The file of the changes is invalid, which a test excludes.
    pub(crate) fn of(self, paper: &str, seeds: &[u64]) -> Result<(Vec<u64>, Ways), ScenarioError> {
        let next = seeds.iter().max().map_or(1, |last| last + 1);
        Ok(match self {
            Self::Seeds => ((next..).take(seeds.len()).collect(), Ways::default()),
            Self::Period => (seeds.to_vec(), Ways::of(paper)?.unwrap_or_default()),
        })
    }
}

/// The differences between the stacks of a paper's tools and those of its report.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Name of the tool, and its differences.
    pub says: String,
    /// Differences that no option can express.
    pub cannot: String,
    /// Overrides of every scenario.
    set: Vec<String>,
    /// Overrides for each scenario, by its name.
    files: Vec<(String, Vec<String>)>,
}

impl Ways {
    /// Reads the differences of a paper; `None` if it used real stacks.
    ///
    /// # Errors
    /// The file is invalid, which a test excludes.
    pub fn of(paper: &str) -> Result<Option<Self>, ScenarioError> {
        let Some((_, file)) = WAYS.iter().find(|(of, _)| *of == paper) else { return Ok(None) };
        let alone = Text::new(file.text, file.path);
        let document = Document::parse(&alone)?;
        let read = || -> Result<Self, Problem> {
            let top = Section::open(&document.root, String::new(), &["says", "cannot", "set", "file"])?;
            let owned = |key: &str| top.required(key, top.text(key)?, "\"…\"").map(str::to_owned);
            let file = |(path, table)| -> Result<(String, Vec<String>), Problem> {
                let section = Section::open(table, path, &["scenario", "set"])?;
                let scenario = section.required("scenario", section.text("scenario")?, "\"walk.toml\"")?;
                Ok((scenario.to_owned(), texts(&section, "set")?))
            };
            let files = top.items("file")?.into_iter().map(file).collect::<Result<_, _>>()?;
            Ok(Self { says: owned("says")?, cannot: owned("cannot")?, set: texts(&top, "set")?, files })
        };
        read().map(Some).map_err(|problem| document.locate(problem))
    }
}

/// The claims judged again, and the runs behind it.
#[derive(Debug)]
pub struct Ledger {
    /// The claims.
    pub claims: Vec<Claim>,
    /// Number of runs that completed.
    pub runs: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    pub skipped: usize,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// Judges the claims of a bundled sweep again. Runs only their cells.
pub(crate) fn of_sweep(
    file: &str,
    (paper, other): (&str, Other),
    effort: &Effort,
    execution: &Execution<'_>,
) -> Result<Ledger, ReproduceError> {
    let whole = bundled(file)?.reduced(effort);
    let (seeds, ways) = other.of(paper, &whole.seeds)?;
    let mut sweep = part(file, &ways)?.reduced(effort);
    sweep.seeds = seeds;
    let outcome = sweep.run(execution)?;
    let (runs, failed, skipped) =
        (outcome.runs.done.len(), outcome.runs.failures(), outcome.runs.skipped.len());
    Ok(Ledger { claims: outcome.ledger(), runs, failed, skipped, seeds: sweep.seeds.clone() })
}

/// Returns the number of runs of [`of_sweep`].
pub(crate) fn size_of_sweep(file: &str, effort: &Effort) -> usize {
    part(file, &Ways::default()).map_or(0, |sweep| sweep.reduced(effort).keys().len())
}

fn part(file: &str, ways: &Ways) -> Result<Sweep, ScenarioError> {
    let claims = bundled(file)?.claim_ids();
    bundled_part(file, &Part { claims: &claims, overrides: &ways.set, files: &ways.files, ..Part::default() })
}

/// The grades of a paper's claims under other conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grades {
    /// The paper.
    pub paper: String,
    /// The command.
    pub command: String,
    /// Version of msctp.
    pub version: String,
    /// First and last seed.
    pub seeds: [u64; 2],
    /// Number of runs that completed.
    pub runs: usize,
    /// Identifier and grade of each claim, with a text about the effect that decides it.
    pub claims: Vec<(String, Grade, String)>,
}

impl Grades {
    /// Returns the grades of a ledger that `command` produced.
    #[must_use]
    pub fn of(paper: &str, command: String, ledger: &Ledger) -> Self {
        let claim = |claim: &Claim| {
            let effect = claim.effect.as_ref().map_or(String::new(), crate::claims::said);
            (claim.id.to_string(), claim.grade, effect)
        };
        let ends =
            |seeds: &[u64]| [seeds.first().copied(), seeds.last().copied()].map(Option::unwrap_or_default);
        Self {
            paper: paper.to_owned(),
            command,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seeds: ends(&ledger.seeds),
            runs: ledger.runs,
            claims: ledger.claims.iter().map(claim).collect(),
        }
    }

    /// Adds the grade with these seeds to each claim. A claim whose grade differs is unresolved.
    pub fn add_seeds_to(&self, ledger: &mut [Claim]) {
        for claim in ledger {
            let found = self.claims.iter().find(|(id, ..)| *id == claim.id);
            let Some((_, grade, effect)) = found else { continue };
            let effect = effect.clone();
            claim.again = Some(Repeated { grade: *grade, effect, seeds: self.seeds });
            if *grade != claim.grade {
                claim.grade = Grade::Unresolved;
            }
        }
    }

    /// Adds the grade with the stacks of the paper's time to each claim.
    pub fn add_period_to(&self, ledger: &mut [Claim]) {
        for claim in ledger {
            let found = self.claims.iter().find(|(id, ..)| *id == claim.id);
            claim.period = found.map(|(_, grade, effect)| Repeated {
                grade: *grade,
                effect: effect.clone(),
                seeds: self.seeds,
            });
        }
    }

    /// Reads the `grades.json` of a folder; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has no grades.
    pub fn read(dir: &Path) -> Result<Option<Self>, ReportError> {
        let path = dir.join(JSON);
        match fs::read(&path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ReportError::File { path, source }),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                let why = format!(
                    "has grades of another version of msctp: {error}; delete it, or repeat it with --again"
                );
                ReportError::File { path, source: io::Error::new(io::ErrorKind::InvalidData, why) }
            }),
        }
    }

    /// Writes `grades.json` into a folder.
    ///
    /// # Errors
    /// The file system fails.
    pub fn write(&self, dir: &Path) -> Result<(), ReportError> {
        let path = dir.join(JSON);
        let text = serde_json::to_string_pretty(self)?;
        write_file(&path, text.as_bytes()).map_err(|source| ReportError::File { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Check, judge};
    use crate::experiments::EXPERIMENTS;

    fn claim(id: &'static str, holds: bool) -> Claim {
        Claim::new(id, "p", "", "s", vec![judge("c", vec![Check::new("x", "y", holds)])])
    }

    #[test]
    fn a_grade_that_other_seeds_do_not_repeat_is_unresolved() {
        let mut ledger = [claim("A1", true), claim("A2", true), claim("A3", false)];
        let graded = |id: &str, grade| (id.to_owned(), grade, "e".to_owned());
        let grades = Grades {
            paper: "p".to_owned(),
            command: "c".to_owned(),
            version: "1".to_owned(),
            seeds: [11, 20],
            runs: 3,
            claims: vec![graded("A1", Grade::Reproduced), graded("A2", Grade::Contradicted)],
        };
        grades.add_seeds_to(&mut ledger);
        let of = ledger.each_ref().map(|claim| claim.grade);
        assert_eq!(of, [Grade::Reproduced, Grade::Unresolved, Grade::Contradicted]);
        assert_eq!(ledger[1].judgements[0].grade, Grade::Reproduced, "its own runs are not changed");
        assert_eq!(ledger[1].again.as_ref().unwrap().seeds, [11, 20]);
        assert!(ledger[2].again.is_none());
        grades.add_period_to(&mut ledger);
        assert_eq!(ledger[1].period.as_ref().unwrap().grade, Grade::Contradicted);
        assert_eq!(ledger[0].grade, Grade::Reproduced, "other stacks are another question");
    }

    #[test]
    fn other_seeds_are_as_many_and_none_of_the_reports() {
        let (seeds, ways) = Other::Seeds.of("kim-koh", &[1, 2, 3]).unwrap();
        assert_eq!((seeds, ways.files.len()), (vec![4, 5, 6], 0));
        let (seeds, ways) = Other::Period.of("kim-koh", &[1, 2, 3]).unwrap();
        assert_eq!(seeds, [1, 2, 3]);
        assert!(!ways.set.is_empty());
    }

    #[test]
    fn the_ways_of_every_paper_are_read_and_are_options_of_its_scenarios() {
        for experiment in EXPERIMENTS {
            let Some(ways) = Ways::of(experiment.name).unwrap() else {
                assert!(!Other::Period.is_of(experiment.name));
                continue;
            };
            assert!(!ways.says.is_empty() && !ways.cannot.is_empty(), "{}", experiment.name);
            let file = format!("scenarios/{}/paper.toml", experiment.name);
            let cells = part(&file, &ways).unwrap().cells;
            let all = ways.set.iter().chain(ways.files.iter().flat_map(|(_, set)| set));
            for set in all {
                let has = |cell: &crate::sweep::Cell| cell.overrides.contains(set);
                assert!(cells.iter().any(has), "{}: {set}", experiment.name);
            }
        }
    }
}
