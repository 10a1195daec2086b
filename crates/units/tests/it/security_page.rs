//! The tests that docs/security.md names exist, and each row and item of its section on keys names one.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{root, sources};

/// The section of which each row and item names a test.
const SECTION: &str = "## What the keys depend on";

/// Returns the names of tests in backticks: three words or more, joined by underscores.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let of_test = |text: &&str| {
        text.split('_').count() > 2
            && text.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
    };
    text.split('`').skip(1).step_by(2).filter(of_test)
}

/// Returns the names of the functions in the sources that follow an attribute with `test`.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in sources() {
        let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        for (i, line) in lines.iter().enumerate() {
            let attributes = lines[..i].iter().rev().take_while(|line| line.starts_with("#["));
            if attributes.clone().any(|attribute| attribute.contains("test")) {
                let name = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
                found.extend(name.map(|(name, _)| name.to_owned()));
            }
        }
    }
    found
}

/// Returns the rows and items of a section, each in one text.
fn entries(section: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in section.lines() {
        match (line.starts_with("- ") || line.starts_with("| "), found.last_mut()) {
            (true, _) => found.push(line.to_owned()),
            (false, Some(entry)) if line.starts_with("  ") => *entry += line,
            _ => {}
        }
    }
    // The first row names the columns.
    found.retain(|entry| !entry.ends_with("| test |"));
    found
}

#[test]
fn tests_that_the_page_names_exist_and_each_statement_on_keys_names_one() {
    let page = fs::read_to_string(root().join("docs/security.md")).expect("docs/security.md");
    let (tests, names) = (tests(), named(&page).collect::<BTreeSet<_>>());
    assert!(names.len() > 80, "only {} names found", names.len());
    let missing: Vec<&str> = names.into_iter().filter(|name| !tests.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that do not exist: {missing:?}");
    let (_, section) = page.split_once(SECTION).expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let entries = entries(section);
    assert!(entries.len() > 25, "only {} rows and items found", entries.len());
    let untested: Vec<&String> = entries.iter().filter(|entry| named(entry).next().is_none()).collect();
    assert!(untested.is_empty(), "docs/security.md says without the name of a test: {untested:#?}");
}

#[test]
fn names_rows_and_items_are_found() {
    let text = "`a_test_of_it` and `known_hosts`, `Type::a_b_c`, `crates/a_b_c/d.rs`, `EndpointOptions`";
    assert_eq!(named(text).collect::<Vec<_>>(), ["a_test_of_it"]);
    let section = "Text.\n| what | test |\n|---|---|\n| a | `b` |\n\n- one\n  two\n- three\n\nText.\n";
    assert_eq!(entries(section), ["| a | `b` |", "- one  two", "- three"]);
}
