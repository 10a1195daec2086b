//! Comments are at most 110 columns wide, and no line of the crates or of the documents uses a banned
//! paraphrase.

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use common::{files, root};

/// Maximum columns of a comment line, which rustfmt does not wrap.
const COLUMNS: usize = 110;

/// Paraphrases, in lower case, and the field's word for each.
const BANNED: &[(&str, &str)] = &[
    ("as much as it bears", "its capacity"),
    ("asked after", "queried, or probed"),
    ("be had", "created, opened or bound: name the operation that fails"),
    ("curiosity", "name the probe"),
    ("give up on", "abandon, or time out"),
    ("given up", "abandoned, or timed out"),
    ("hears of", "receives, or is notified of"),
    ("in a hurry", "urgent, or immediate"),
    ("is told of", "receives, or is notified of"),
    ("listened at", "bound, or listening"),
    ("makes no sense", "is invalid"),
    ("nobody was told", "name the queue or the event"),
    ("send again", "retransmit"),
    ("sending again", "retransmitting"),
    ("sent again", "retransmitted"),
    ("sent once more", "retransmitted"),
    ("stirred", "name the change"),
    ("struck", "name the event"),
    ("taken for lost", "declared lost"),
    ("the path bears", "the path's capacity"),
    ("what waits", "queued data, or the send buffer"),
    ("with a hurry", "urgent, or immediate"),
];

/// Documents that quote the text of an RFC.
const QUOTED: &[&str] = &["docs/requirements", "docs/results/requirements.md"];

/// Returns the faults of a line of a source.
fn faults(line: &str) -> Vec<String> {
    let mut found = paraphrases(line);
    let columns = line.chars().count();
    if line.trim_start().starts_with("//") && columns > COLUMNS {
        found.push(format!("comment of {columns} columns: wrap it at {COLUMNS}"));
    }
    found
}

/// Returns the banned paraphrases of a line.
fn paraphrases(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let line = line.to_lowercase();
    for (phrase, better) in BANNED {
        let words = line.match_indices(phrase).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + phrase.len()..]);
            !before.ends_with(char::is_alphabetic) && !after.starts_with(char::is_alphabetic)
        });
        if words {
            found.push(format!("\"{phrase}\": write {better}"));
        }
    }
    found
}

/// Fails with the faults of all lines of these files.
fn check(paths: &[PathBuf], faults: fn(&str) -> Vec<String>) {
    let mut report = String::new();
    for path in paths {
        let text = fs::read_to_string(path).expect("a file of the repository");
        let name = path.strip_prefix(root()).expect("below the root").display();
        for (number, line) in text.lines().enumerate() {
            for fault in faults(line) {
                writeln!(report, "{name}:{}: {fault}", number + 1).expect("a string");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn clean_crates_use_the_fields_words_in_lines_of_110_columns() {
    let mut paths = Vec::new();
    for folder in ["crates", "lab"] {
        files(&root().join(folder), "rs", &mut paths);
    }
    assert!(paths.len() > 50, "only {} sources found", paths.len());
    // This file holds the phrases themselves.
    paths.retain(|path| !path.ends_with("tests/it/words.rs"));
    check(&paths, faults);
}

#[test]
fn documents_use_the_fields_words() {
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(|name| root().join(name)).into();
    for folder in ["docs", "bench", "fuzz"] {
        files(&root().join(folder), "md", &mut paths);
    }
    assert!(paths.len() > 30, "only {} documents found", paths.len());
    paths.retain(|path| !QUOTED.iter().any(|quoted| path.starts_with(root().join(quoted))));
    check(&paths, paraphrases);
}

#[test]
fn long_comments_and_paraphrases_are_found() {
    let long = format!("    // {}", "x".repeat(COLUMNS));
    assert_eq!(faults(&long), ["comment of 117 columns: wrap it at 110"]);
    assert_eq!(faults("/// Data that is Sent again."), ["\"sent again\": write retransmitted"]);
    assert_eq!(faults("error!(\"no socket can be had\")").len(), 1);
    assert!(faults("/// Retransmits; may behad, was destruck.").is_empty());
    assert!(faults(&format!("let text = \"{}\";", "x".repeat(COLUMNS))).is_empty(), "code is rustfmt's");
}
