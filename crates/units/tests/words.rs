//! Comments of the crates in [`CLEAN`] are at most 110 columns wide, and no line of them uses a banned
//! paraphrase.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that keep these rules. Add a crate when it passes; never remove one.
const CLEAN: &[&str] = &["cli", "congestion", "emu", "live", "msctp", "udp", "units", "wire"];

/// Columns of a comment line; rustfmt does not wrap comments.
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

/// Rust sources below `folder`, build folders left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the faults of a line of a source.
fn faults(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let columns = line.chars().count();
    if line.trim_start().starts_with("//") && columns > COLUMNS {
        found.push(format!("comment of {columns} columns: wrap it at {COLUMNS}"));
    }
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

#[test]
fn clean_crates_use_the_fields_words_in_lines_of_110_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let mut paths = Vec::new();
    for name in CLEAN {
        sources(&root.join("crates").join(name), &mut paths);
    }
    paths.sort();
    assert!(paths.len() > 50, "only {} sources found below {}", paths.len(), root.display());
    let mut report = String::new();
    // This file holds the phrases themselves.
    for path in paths.iter().filter(|path| !path.ends_with("tests/words.rs")) {
        let text = fs::read_to_string(path).expect("a source");
        let name = path.strip_prefix(root).expect("below the root").display();
        for (number, line) in text.lines().enumerate() {
            for fault in faults(line) {
                writeln!(report, "{name}:{}: {fault}", number + 1).expect("a string");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
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
