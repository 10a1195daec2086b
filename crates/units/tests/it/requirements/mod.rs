//! Every MUST and SHALL of the RFCs below is annotated at its code and at a test, or has a reason why not.
//!
//! The sentences are extracted from `docs/requirements/rfcN.txt` into `rfcN.toml` beside it (the format of
//! the tool `duvet`); annotations in the sources quote them. `docs/results/requirements.md` lists where each
//! is held.
//!
//! `MSCTP_WRITE=1 cargo test -p msctp-units --test it requirements` writes the requirements, the table, and
//! removes from `docs/requirements/pending.txt` the sentences that are annotated by now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use annotations::{Annotation, Kind, SITE};
use common::root;
use rfc::Section;

use crate::common;

mod annotations;
mod rfc;
mod table;

/// The RFCs whose sentences are checked, with the checked sections. Their subsections are included.
const EXTRACTED: [(&str, &[&str]); 3] =
    [("rfc9260", &["3.3", "4", "5", "6", "7", "8", "9"]), ("rfc5061", &["4", "5"]), ("rfc4895", &["6"])];

/// A sentence with a MUST or a SHALL, and its annotations.
pub(crate) struct Requirement<'a> {
    pub(crate) rfc: &'static str,
    pub(crate) section: String,
    pub(crate) title: String,
    /// Number of the sentence in its section, from 1.
    pub(crate) number: usize,
    pub(crate) quote: String,
    /// Kinds of annotation found, by the sentence's binding words.
    keywords: Vec<Held>,
    pub(crate) by: Vec<&'a Annotation>,
    /// Reason why the sentence does not apply to an implementation, from `not-applicable.toml`.
    pub not_applicable: Option<String>,
}

/// The kinds of annotation that cover one MUST.
#[derive(Clone, Copy, Default)]
struct Held {
    code: bool,
    test: bool,
    exception: bool,
}

impl Requirement<'_> {
    pub(crate) fn id(&self) -> String {
        format!("{} {}-{}", self.rfc, self.section, self.number)
    }

    /// Returns the annotation that this sentence still lacks.
    fn lacks(&self) -> Option<&'static str> {
        if self.not_applicable.is_some() {
            return None;
        }
        if !self.keywords.iter().all(|held| held.code || held.exception) {
            return Some("no code quotes it");
        }
        (!self.keywords.iter().all(|held| held.test)).then_some("no test quotes it")
    }
}

fn is_within(section: &str, parts: &[&str]) -> bool {
    parts
        .iter()
        .any(|part| section == *part || section.strip_prefix(part).is_some_and(|rest| rest.starts_with('.')))
}

fn read_rfcs() -> BTreeMap<&'static str, Vec<Section>> {
    let read = |rfc| {
        let path = root().join(format!("docs/requirements/{rfc}.txt"));
        rfc::sections(&fs::read_to_string(path).expect("the text of an RFC"))
    };
    EXTRACTED.iter().map(|(rfc, _)| (*rfc, read(rfc))).collect()
}

/// Returns one RFC's requirements in duvet's format.
fn toml_of(rfc: &str, sections: &[Section], parts: &[&str]) -> String {
    let mut out = format!(
        "# Extracted from {rfc}.txt by `MSCTP_WRITE=1 cargo test -p msctp-units --test it requirements`; do not edit.\n\n\
         target = \"{SITE}{rfc}\"\n"
    );
    for section in sections.iter().filter(|section| is_within(&section.number, parts)) {
        if !section.required.is_empty() {
            let _ = write!(out, "\n# {}.  {}\n", section.number, section.title);
        }
        for sentence in &section.required {
            let _ = write!(out, "\n[[spec]]\ntarget = \"{SITE}{rfc}#section-{}\"\n", section.number);
            let _ = write!(
                out,
                "level = \"MUST\"\nquote = '''\n{}'''\n",
                wrapped(&section.text[sentence.clone()])
            );
        }
    }
    out
}

/// Returns a sentence in lines of at most 76 columns.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        if width > 0 && width + 1 + word.len() > 76 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += word.len();
    }
    out.push('\n');
    out
}

/// Returns the requirements with their annotations, and the faults of the annotations.
fn requirements<'a>(annotations: &'a [Annotation]) -> (Vec<Requirement<'a>>, String) {
    let rfcs = read_rfcs();
    let mut wrong = String::new();
    let mut all: Vec<Requirement<'a>> = Vec::new();
    for (rfc, parts) in EXTRACTED {
        for section in rfcs[rfc].iter().filter(|section| is_within(&section.number, parts)) {
            for (i, sentence) in section.required.iter().enumerate() {
                let quote = section.text[sentence.clone()].to_owned();
                all.push(Requirement {
                    rfc,
                    section: section.number.clone(),
                    title: section.title.clone(),
                    number: i + 1,
                    keywords: vec![Held::default(); rfc::keywords(&quote).len()],
                    quote,
                    by: Vec::new(),
                    not_applicable: None,
                });
            }
        }
    }
    for annotation in annotations {
        let place = format!("{}:{}", annotation.file, annotation.line);
        let section = rfcs
            .get(annotation.rfc.as_str())
            .and_then(|sections| sections.iter().find(|section| section.number == annotation.section));
        match section {
            None => _ = writeln!(wrong, "{place}: no section {} in {}", annotation.section, annotation.rfc),
            Some(section) => {
                if let Err(error) = attach(annotation, section, &mut all) {
                    let _ = writeln!(wrong, "{place}: {error}: {:?}", annotation.quote);
                }
            }
        }
    }
    for (target, quote, reason) in not_applicable() {
        let found = all.iter_mut().find(|requirement| {
            target == format!("{SITE}{}#section-{}", requirement.rfc, requirement.section)
                && requirement.quote == quote
        });
        match found {
            Some(requirement) => requirement.not_applicable = Some(reason),
            None => _ = writeln!(wrong, "not-applicable.toml: {target} has no such sentence: {quote:?}"),
        }
    }
    (all, wrong)
}

/// Attaches an annotation to the sentences that it quotes.
fn attach<'a>(
    annotation: &'a Annotation,
    section: &Section,
    all: &mut [Requirement<'a>],
) -> Result<(), &'static str> {
    let places: Vec<usize> = section.text.match_indices(&annotation.quote).map(|(at, _)| at).collect();
    if places.is_empty() {
        return Err("these words are not in that section");
    }
    let mut sentences: Vec<&str> = Vec::new();
    for (i, sentence) in section.required.iter().enumerate() {
        let text = &section.text[sentence.clone()];
        for &start in &places {
            let end = start + annotation.quote.len();
            let quoted = |at: &usize| (start..end).contains(&(sentence.start + at));
            let hit: Vec<bool> = rfc::keywords(text).iter().map(quoted).collect();
            if !hit.contains(&true) {
                continue;
            }
            if !sentences.contains(&text) {
                sentences.push(text);
            }
            let requirement = all.iter_mut().find(|requirement| {
                (requirement.rfc, &requirement.section, requirement.number)
                    == (annotation.rfc.as_str(), &section.number, i + 1)
            });
            let Some(requirement) = requirement else { continue };
            if !requirement.by.iter().any(|other| std::ptr::eq(*other, annotation)) {
                requirement.by.push(annotation);
            }
            for (held, _) in requirement.keywords.iter_mut().zip(&hit).filter(|(_, hit)| **hit) {
                match annotation.kind {
                    Kind::Code => held.code = true,
                    Kind::Test => held.test = true,
                    Kind::Exception => held.exception = true,
                }
            }
        }
    }
    if places.len() > 1 && sentences.len() > 1 {
        return Err("these words are in more than one sentence of that section: quote more of it");
    }
    Ok(())
}

/// Returns target, quote and reason of each sentence that does not apply to an implementation.
fn not_applicable() -> Vec<(String, String, String)> {
    let path = root().join("docs/requirements/not-applicable.toml");
    let page: toml::Table = fs::read_to_string(path).expect("not-applicable.toml").parse().expect("TOML");
    let rows = page.get("exception").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let cell = |row: &toml::Value, name| {
        let text =
            row.get(name).and_then(toml::Value::as_str).unwrap_or_else(|| panic!("want {name}: {row}"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(|row| (cell(row, "target"), cell(row, "quote"), cell(row, "reason"))).collect()
}

fn writes() -> bool {
    std::env::var_os("MSCTP_WRITE").is_some()
}

/// Compares a generated file, or writes it.
fn generated(path: &str, text: &str) {
    if writes() {
        fs::write(root().join(path), text).expect("a generated file");
        return;
    }
    let now = fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(
        now == text,
        "{path} is stale: run `MSCTP_WRITE=1 cargo test -p msctp-units --test it requirements`"
    );
}

#[test]
fn the_requirements_are_those_of_the_rfcs() {
    let rfcs = read_rfcs();
    for (rfc, parts) in EXTRACTED {
        generated(&format!("docs/requirements/{rfc}.toml"), &toml_of(rfc, &rfcs[rfc], parts));
    }
}

#[test]
fn every_must_is_held_by_code_and_by_a_test() {
    let annotations = annotations::read(&root()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let (all, mut wrong) = requirements(&annotations);
    let path = root().join("docs/requirements/pending.txt");
    let list = fs::read_to_string(&path).expect("pending.txt");
    let pending: Vec<&str> = list.lines().filter_map(|line| line.split_once(':')).map(|(id, _)| id).collect();
    let mut still = String::new();
    for requirement in &all {
        let id = requirement.id();
        match (requirement.lacks(), pending.contains(&id.as_str())) {
            (Some(lack), false) => _ = writeln!(wrong, "{id}: {lack}: {}", requirement.quote),
            (Some(_), true) => {
                let words: Vec<&str> = requirement.quote.split(' ').take(12).collect();
                let _ = writeln!(still, "{id}: {}", words.join(" "));
            }
            (None, true) if !writes() => {
                let _ = writeln!(wrong, "{id}: is held: remove it from pending.txt (MSCTP_WRITE=1 does)");
            }
            (None, _) => {}
        }
    }
    if writes() {
        fs::write(&path, still).expect("pending.txt");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_table_of_requirements_is_current() {
    let annotations = annotations::read(&root()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let (all, _) = requirements(&annotations);
    generated("docs/results/requirements.md", &table::of(&all));
}

#[test]
fn a_sentence_is_cut_as_a_reader_would() {
    let text = "6.2.  Title\n\n   *  One.  A receiver MUST\n      answer (e.g. A\n      B).  SHALLOW.\n\n   Tag: 32 bits\n      \
                It SHALL NOT\n\n\n\nX, et al.   Standards Track   [Page 3]\n\u{c}\nRFC 1   X   September 2007\n\n\n   \
                be 0.\n";
    let sections = rfc::sections(text);
    let [section] = &sections[..] else { panic!("want one section") };
    let required: Vec<&str> = section.required.iter().map(|at| &section.text[at.clone()]).collect();
    assert_eq!(required, ["A receiver MUST answer (e.g. A B).", "It SHALL NOT be 0."]);
}

#[test]
fn an_annotation_knows_its_item_and_its_kind() {
    let text = format!(
        "fn code() {{\n    //= {SITE}rfc9260#section-6.2\n    //# It MUST\n    //# answer.\n    answer();\n}}\n\n\
         //= {SITE}rfc9260#section-6.2\n//= type=test\n//# It MUST\n#[test]\nfn held() {{}}\n"
    );
    let read: Vec<Annotation> = annotations::parse("a.rs", &text).into_iter().map(Result::unwrap).collect();
    let [code, test] = &read[..] else { panic!("want two") };
    assert_eq!((code.item.as_str(), code.kind, code.quote.as_str()), ("code", Kind::Code, "It MUST answer."));
    assert_eq!((test.item.as_str(), test.kind, test.line), ("held", Kind::Test, 8));
    let no_test = format!("//= {SITE}rfc9260#section-6.2\n//= type=test\n//# It MUST\nfn code() {{}}\n");
    assert!(annotations::parse("a.rs", &no_test)[0].is_err());
}
