//! Cited RFC sections exist, and the code cites each section that docs/standards.md calls done.
//!
//! Reads the sources and the tables of docs/standards.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use common::{root, sources};

use crate::common;

/// A citation: number of the RFC and section, as in ("9260", "6.2.1") or ("9260", "A").
type Citation = (String, String);

/// State of a section in its row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    Partial,
    No,
    /// Nothing to build, as in introductions, registries and references.
    Nothing,
}

/// Returns the section with which a text begins, such as "6.2.1" of "6.2.1 C4)" and "A.1" of "A.1". Returns
/// an empty text without a section.
fn section(text: &str) -> String {
    let mut out = String::new();
    for part in text.split('.') {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let letter = part.chars().next().filter(|first| {
            out.is_empty() && first.is_ascii_uppercase() && !part[1..].starts_with(char::is_alphanumeric)
        });
        let piece = letter.map_or_else(|| digits.clone(), String::from);
        if piece.is_empty() {
            break;
        }
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(&piece);
        if piece.len() < part.len() {
            break;
        }
    }
    out
}

/// Returns the citations in lines of prose. A bare "§" belongs to the RFC named last, until a line that is
/// not prose or the name of a paper.
fn citations<'a>(lines: impl Iterator<Item = (usize, Option<&'a str>)>) -> Vec<(usize, Citation)> {
    let mut found = Vec::new();
    let mut rfc: Option<String> = None;
    for (number, line) in lines {
        let Some(line) = line else {
            rfc = None;
            continue;
        };
        let mut rest = line;
        while let Some(at) = rest.find(['R', '§', '&', 'A', 'e', 'd']) {
            let here = &rest[at..];
            let step = here.chars().next().map_or(1, char::len_utf8);
            if let Some(after) = here.strip_prefix("RFC ") {
                let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
                if !digits.is_empty() {
                    rfc = Some(digits);
                }
            } else if here.starts_with("& ") || here.starts_with("et al") || here.starts_with("draft-") {
                rfc = None;
            } else if let (Some(of), Some(after)) =
                (&rfc, here.strip_prefix('§').or_else(|| here.strip_prefix("Appendix ")))
            {
                let name = section(after.trim_start());
                if !name.is_empty() {
                    found.push((number, (of.clone(), name)));
                }
            }
            rest = &here[step..];
        }
    }
    found
}

/// Returns the prose of a Rust source, its comments.
fn comments(source: &str) -> impl Iterator<Item = (usize, Option<&str>)> {
    source.lines().enumerate().map(|(i, line)| (i + 1, line.find("//").map(|at| &line[at..])))
}

/// Returns all citations of the sources, with their places.
fn cited() -> Vec<(String, Citation)> {
    let root = root();
    let sources = sources();
    let mut found = Vec::new();
    for path in sources.iter().filter(|path| !path.ends_with("units/tests/citations.rs")) {
        let text = fs::read_to_string(path).expect("a source");
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        for (line, citation) in citations(comments(&text)) {
            found.push((format!("{name}:{line}"), citation));
        }
    }
    found
}

/// Returns the tables of docs/standards.md: RFC, section, state and note. A table follows a heading that
/// begins with "RFC N".
fn listed() -> BTreeMap<Citation, (State, String)> {
    let page = fs::read_to_string(root().join("docs/standards.md")).expect("docs/standards.md");
    let mut rows = BTreeMap::new();
    let mut rfc = String::new();
    for (i, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            rfc = heading
                .strip_prefix("RFC ")
                .map_or_else(String::new, |after| after.chars().take_while(char::is_ascii_digit).collect());
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if rfc.is_empty() || !line.starts_with('|') || cells[0] == "§" || cells[0].starts_with("--") {
            continue;
        }
        assert_eq!(cells.len(), 4, "docs/standards.md:{}: want | § | title | state | note |", i + 1);
        let state = match cells[2] {
            "done" => State::Done,
            "partial" => State::Partial,
            "no" => State::No,
            "–" => State::Nothing,
            other => panic!("docs/standards.md:{}: state {other:?}: want done, partial, no or –", i + 1),
        };
        let explained = matches!(state, State::Done | State::Nothing) || !cells[3].is_empty();
        assert!(explained, "docs/standards.md:{}: {} needs a note that says why", i + 1, cells[2]);
        let old = rows.insert((rfc.clone(), cells[0].to_owned()), (state, cells[3].to_owned()));
        assert!(old.is_none(), "docs/standards.md:{}: §{} twice", i + 1, cells[0]);
    }
    rows
}

/// Returns the cited standards without a table: "RFC N: 1, 2.1, …" under "Others".
fn others() -> BTreeSet<Citation> {
    let page = fs::read_to_string(root().join("docs/standards.md")).expect("docs/standards.md");
    let part = page.split("\n## Others").nth(1).expect("a part \"Others\"");
    let mut all = BTreeSet::new();
    for line in part.lines().filter_map(|line| line.strip_prefix("| RFC ")) {
        let (rfc, rest) = line.split_once('|').expect("a row");
        let sections = rest.rsplit('|').nth(1).expect("sections in the last column");
        all.extend(sections.split(',').map(|section| (rfc.trim().to_owned(), section.trim().to_owned())));
    }
    all
}

#[test]
fn every_citation_names_a_section_that_exists() {
    let (listed, others) = (listed(), others());
    let mut wrong = String::new();
    for (place, citation) in cited() {
        if !listed.contains_key(&citation) && !others.contains(&citation) {
            let _ = writeln!(wrong, "{place}: RFC {} §{}", citation.0, citation.1);
        }
    }
    assert!(wrong.is_empty(), "cited, but not in docs/standards.md:\n{wrong}");
}

#[test]
fn done_sections_are_cited_by_the_code() {
    let cited: BTreeSet<Citation> = cited().into_iter().map(|(_, citation)| citation).collect();
    let mut wrong = String::new();
    for ((rfc, section), (state, note)) in listed() {
        let here = (rfc.clone(), section.clone());
        let below = format!("{section}.");
        let found = cited.contains(&here)
            || cited.iter().any(|(of, part)| *of == rfc && part.starts_with(&below))
            || note.contains("crates/");
        if matches!(state, State::Done | State::Partial) && !found {
            let _ = writeln!(wrong, "RFC {rfc} §{section}");
        }
    }
    assert!(
        wrong.is_empty(),
        "called done or partial, but no code cites it and no note names the file:\n{wrong}"
    );
}

#[test]
fn bare_sections_belong_to_the_last_cited_rfc() {
    let read = |text: &str| -> Vec<String> {
        citations(comments(text)).into_iter().map(|(_, (rfc, section))| format!("{rfc} {section}")).collect()
    };
    assert_eq!(
        read("// RFC 9260 §6.2.1 C4, §7.2.4 (5)\n// (§8.5.1.)"),
        ["9260 6.2.1", "9260 7.2.4", "9260 8.5.1"]
    );
    assert_eq!(read("// RFC 9260 Appendix A, RFC 5061 §5.2 D5."), ["9260 A", "5061 5.2"]);
    assert_eq!(read("// Park & Jang §2.2; Afif et al. §IV"), Vec::<String>::new());
    assert_eq!(read("// RFC 9260\nlet x = 1;\n// §3"), Vec::<String>::new());
    assert_eq!(read("// RFC 9260 (2022); Park & Jang §2.2"), Vec::<String>::new());
}
