//! The texts of a reproduction: the publication, the terms of its grades, its set-up, its claims, and what
//! was found about claims that do not hold. They are in the experiment's TOML file.

use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;

use crate::claims::{Check, Claim, Grade, Judgement};
use crate::report::{Finding, SetUp};

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
                    "has the number \"{number}\": want it from the runs, such as {{gap, policy = adaptive}}, \
                     or from the set-up, such as {{queue = short}}"
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
