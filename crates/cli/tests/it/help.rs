//! The help texts of a program, msctp or msctp-lab: each command's purpose on one line, examples, exit codes,
//! no line broken twice.

use std::path::Path;
use std::process::Command;

use crate::PROGRAM;

fn help(args: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(args).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns names and purposes of the commands, as the program's `--help` lists them.
fn commands() -> Vec<(String, String)> {
    let text = help(&["--help"]);
    let list = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty());
    list.map(|line| {
        let (name, purpose) = line.trim().split_once("  ").unwrap_or_else(|| panic!("no purpose: {line}"));
        (name.to_owned(), purpose.trim().to_owned())
    })
    .filter(|(name, _)| name != "help")
    .collect()
}

#[test]
fn every_command_has_its_purpose_on_one_line() {
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for (name, purpose) in &commands {
        assert!(purpose.len() <= 80 && !purpose.contains(". "), "{name}: {purpose}");
    }
}

#[test]
fn every_command_has_examples_of_its_own_and_its_exit_codes() {
    let program = Path::new(PROGRAM).file_name().and_then(|name| name.to_str()).expect("a name");
    for (name, _) in commands() {
        let text = help(&[&name, "--help"]);
        let examples: Vec<&str> = text.lines().skip_while(|line| *line != "Examples:").skip(1).collect();
        let own = examples.iter().filter(|line| line.contains(&format!("{program} {name}"))).count();
        assert!(own >= 2, "{name}: {examples:?}");
        assert!(text.contains("\nExit codes: 0 "), "{name}: no exit codes");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("2 invalid arguments"), "{name}: exit code 2");
    }
}

/// No line of the help breaks where a source line ends, only at the width of the terminal.
#[test]
fn paragraphs_are_broken_at_the_width_of_the_terminal_only() {
    for (name, _) in commands() {
        let text = help(&[&name, "--help"]);
        let after: Vec<&str> = text.lines().skip_while(|line| *line != "Examples:").collect();
        for pair in after.windows(2) {
            let (line, next) = (pair[0], pair[1]);
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let room = 100_usize.saturating_sub(line.chars().count());
            let word = next.split(' ').next().unwrap_or_default().chars().count();
            assert!(!(is_prose(line) && is_prose(next) && word < room), "{name}: {line:?}, then {next:?}");
        }
    }
}
