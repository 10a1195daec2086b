//! The texts of a reproduction: the publication, the terms of its grades, its set-up, its claims, and what
//! was found about claims that do not hold. They are in the experiment's TOML file.

use std::collections::BTreeMap;
use std::fmt;

use msctp_sim::scenario::compose::Text;
use msctp_sim::scenario::document::{Document, Section};
use msctp_sim::scenario::{Problem, ScenarioError};

use crate::claims::{Check, Claim, Grade, Judgement, judge};
use crate::plan::Outcomes;
use crate::report::{Data, Figure, Finding, Provenance, Report, SetUp, attach};
use crate::scenario_file::ScenarioFile;

/// The publication that an experiment reproduces.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Short name, such as `eklund`.
    pub name: String,
    /// Authors, title, journal.
    pub citation: String,
    /// Explanations of the terms in the ledger.
    pub terms: Vec<(String, String)>,
    /// The set-up, including the parameters that the publication leaves open.
    pub set_up: Vec<SetUp>,
    /// Findings about claims.
    pub findings: Vec<Note>,
}

/// A finding about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Identifier of the claim.
    pub claim: String,
    /// The observation and its cause.
    pub text: String,
    /// True if the note is shown beside every grade, because the claim is narrow.
    pub always: bool,
}

/// The texts of an experiment whose runs and predicates are in Rust.
#[derive(Clone, Debug)]
pub struct Texts {
    title: String,
    question: String,
    /// The publication.
    pub paper: Paper,
    /// Identifier, figure and statement.
    claims: Vec<[String; 3]>,
}

/// Results of the runs of an experiment.
#[derive(Debug)]
pub struct Results {
    /// A sentence about the number and duration of the runs.
    pub extent: String,
    /// The ledger.
    pub ledger: Vec<Claim>,
    /// The evidence for the findings.
    pub evidence: Vec<Evidence>,
    /// True if these are all runs of the experiment, so that a finding must hold.
    pub whole: bool,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub data: Vec<Data>,
    /// The provenance of the numbers.
    pub provenance: Provenance,
}

/// The evidence for the finding about a claim.
#[derive(Debug)]
pub struct Evidence {
    /// Identifier of the claim.
    pub claim: &'static str,
    /// The checks, which fail if the finding is wrong.
    pub checks: Vec<Check>,
    /// Numbers of the finding's text, by the names that stand for them in braces.
    pub numbers: Vec<(&'static str, String)>,
}

impl Evidence {
    /// Replaces the names of numbers in a text.
    #[must_use]
    pub fn filled(&self, text: &str) -> String {
        let replace =
            |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
        self.numbers.iter().fold(text.to_owned(), replace)
    }
}

/// Returns a text about the checks of a finding that fail; `None` if none does.
pub(crate) fn refuted(judged: &Judgement) -> Option<String> {
    let failed = judged.checks.iter().filter(|check| check.grade != Grade::Reproduced);
    let failed: Vec<String> =
        failed.map(|check| format!("want {}; found {}", check.want, check.measured)).collect();
    (judged.grade != Grade::Reproduced).then(|| failed.join("; "))
}

/// Marks the text of a finding whose checks fail.
pub(crate) fn doubted(text: &str, failed: &str) -> String {
    format!("Unresolved by these runs ({failed}). {text}")
}

/// Returns the text of a required key.
fn owned(section: &Section<'_, '_>, key: &str, example: &str) -> Result<String, Problem> {
    section.required(key, section.text(key)?, example).map(str::to_owned)
}

impl Paper {
    /// Reads `[paper]`, `[[term]]`, `[[set_up]]` and `[[finding]]`; `None` without `[paper]`.
    pub(crate) fn read(top: &Section<'_, '_>) -> Result<Option<Self>, Problem> {
        let Some(section) = top.section("paper", &["name", "citation"])? else { return Ok(None) };
        let mut paper = Self {
            name: owned(&section, "name", "\"eklund\"")?,
            citation: owned(&section, "citation", "\"authors, title, year\"")?,
            terms: Vec::new(),
            set_up: Vec::new(),
            findings: Vec::new(),
        };
        for (path, table) in top.items("term")? {
            let term = Section::open(table, path, &["term", "means"])?;
            paper.terms.push((owned(&term, "term", "\"…\"")?, owned(&term, "means", "\"…\"")?));
        }
        for (path, table) in top.items("set_up")? {
            let line = Section::open(table, path, &["what", "paper", "ours", "why"])?;
            let optional = |key: &str| line.text(key).map(|text| text.map(str::to_owned));
            paper.set_up.push(SetUp {
                what: owned(&line, "what", "\"…\"")?,
                paper: optional("paper")?,
                ours: owned(&line, "ours", "\"…\"")?,
                why: optional("why")?,
            });
        }
        for (path, table) in top.items("finding")? {
            let finding = Section::open(table, path, &FINDING)?;
            let text = owned(&finding, "text", "\"…\"")?;
            if let Some(number) = typed_number(&text) {
                let message = format!(
                    "has the number \"{number}\": want it from the runs, as {{gap, policy = adaptive}}, or from the set-up, as \
                     {{queue = short}}"
                );
                return Err(Problem::new(finding.key("text"), message));
            }
            paper.findings.push(Note {
                claim: owned(&finding, "claim", "\"H1\"")?,
                text,
                always: finding.flag("always")?.unwrap_or(false),
            });
        }
        Ok(Some(paper))
    }

    /// Returns the findings about claims that do not hold under some set of conditions, by their number.
    pub fn about(&self, ledger: &[Claim]) -> Vec<(usize, Finding)> {
        let open = |claim: &Claim| {
            let fails = |judgement: &Judgement| {
                judgement.grade != Grade::Reproduced && judgement.checks.iter().any(Check::is_measured)
            };
            claim.judgements.iter().any(fails)
        };
        let shown =
            |note: &Note| ledger.iter().any(|claim| claim.id == note.claim && (note.always || open(claim)));
        let finding = |note: &Note| Finding { id: note.claim.clone(), text: note.text.clone() };
        let all = self.findings.iter().enumerate().filter(|(_, note)| shown(note));
        all.map(|(number, note)| (number, finding(note))).collect()
    }
}

/// The keys of a finding.
pub(crate) const FINDING: [&str; 4] = ["claim", "text", "always", "check"];

/// Returns the first number typed into a text, unless it belongs to a reference or name such as `Table V`,
/// `KK8` and `3G`. Text in braces comes from the runs and does not count.
fn typed_number(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let mut before = "";
    for word in plain.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '§');
        let reference = ["RFC", "Table", "Tables", "Fig.", "Figs", "eq."].contains(&before);
        let name =
            bare.starts_with(|c: char| c.is_uppercase() || c == '§') || bare == "3G" || bare == "802.11";
        if bare.contains(|c: char| c.is_ascii_digit()) && !reference && !name {
            return Some(bare.to_owned());
        }
        before = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    None
}

impl Texts {
    /// Reads the texts of an experiment.
    ///
    /// # Errors
    /// The file is invalid, which a test excludes.
    pub fn read(file: &ScenarioFile) -> Result<Self, ScenarioError> {
        let alone = Text::new(file.text, file.path);
        let document = Document::parse(&alone)?;
        let keys = ["title", "description", "paper", "term", "set_up", "finding", "claim"];
        let read = || {
            let top = Section::open(&document.root, String::new(), &keys)?;
            let mut claims = Vec::new();
            for (path, table) in top.items("claim")? {
                let claim = Section::open(table, path, &["id", "figure", "says"])?;
                let part = |key: &str| owned(&claim, key, "\"…\"");
                claims.push([part("id")?, part("figure")?, part("says")?]);
            }
            let paper = top.required("paper", Paper::read(&top)?, "{ name = \"…\", citation = \"…\" }")?;
            Ok(Self {
                title: owned(&top, "title", "\"…\"")?,
                question: owned(&top, "description", "\"…\"")?,
                paper,
                claims,
            })
        };
        read().map_err(|problem| document.locate(problem))
    }

    /// Returns the ledger: every claim of the file with the judgements that `judged` gives its identifier.
    pub fn ledger(&self, judged: impl Fn(&str) -> Vec<Judgement>) -> Vec<Claim> {
        let claim = |[id, figure, says]: &[String; 3]| {
            Claim::new(id.clone(), self.paper.name.clone(), figure.clone(), says.clone(), judged(id))
        };
        self.claims.iter().map(claim).collect()
    }

    /// Returns the report.
    #[must_use]
    pub fn report(&self, found: Results) -> Report {
        let Results { extent, mut ledger, evidence, whole, figures, data, mut provenance } = found;
        let whole = whole && provenance.failed.is_empty() && provenance.skipped == 0;
        let mut findings = Vec::new();
        for (_, mut finding) in self.paper.about(&ledger) {
            let own = evidence.iter().find(|own| own.claim == finding.id);
            finding.text = own.map_or_else(|| finding.text.clone(), |own| own.filled(&finding.text));
            let judged = judge("", own.map_or_else(Vec::new, |own| own.checks.clone()));
            if let Some(failed) = refuted(&judged) {
                finding.text = doubted(&finding.text, &failed);
                if whole {
                    provenance.failed.push((format!("the finding about {}", finding.id), failed));
                }
            }
            findings.push(finding);
        }
        attach(&mut ledger, &findings);
        Report {
            paper: self.paper.name.clone(),
            citation: self.paper.citation.clone(),
            title: self.title.clone(),
            question: self.question.clone(),
            extent,
            findings,
            terms: self.paper.terms.clone(),
            ledger,
            figures,
            set_up: self.paper.set_up.clone(),
            provenance,
            record: None,
            data,
        }
    }
}

impl Provenance {
    /// Creates the provenance of a report, without runs.
    #[must_use]
    pub fn new(command: String, scenarios: &[ScenarioFile]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: String::new(),
            command,
            runs: 0,
            failed: Vec::new(),
            skipped: 0,
            scenarios: scenarios.iter().map(ScenarioFile::source).collect(),
            examples: Vec::new(),
        }
    }

    /// Counts the outcomes of a plan and returns the results.
    pub fn take<K: Ord + fmt::Display, T>(&mut self, outcomes: Outcomes<K, T>) -> BTreeMap<K, T> {
        self.runs += outcomes.done.len();
        self.failed.extend(outcomes.failures());
        self.skipped += outcomes.skipped.len();
        outcomes.done.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_findings_are_names_or_refused() {
        for text in [
            "(RFC 9260 §6.4) in Table V, Fig. 12 and KK8: SACK1 on 3G, T3-rtx",
            "the lead is {lead, load = 80} with {queue = 10}",
        ] {
            assert_eq!(typed_number(text), None, "{text}");
        }
        for (text, number) in [
            ("with 46 packets", "46"),
            ("by −21 ± 3 kbps", "21"),
            ("{lead}, some 3.5 s", "3.5"),
            ("of 0.5–3", "0.5–3"),
            ("Table V has 66", "66"),
        ] {
            assert_eq!(typed_number(text).as_deref(), Some(number), "{text}");
        }
    }
}
