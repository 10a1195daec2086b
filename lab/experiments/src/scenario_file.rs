//! The scenario files of an experiment: compiled in, named by their path in the repository, run with
//! overrides.

use std::fmt::Write;

use crate::table::Table;

/// A scenario file of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// Path in the repository, for commands that repeat runs.
    pub path: &'static str,
    /// Contents.
    pub text: &'static str,
}

/// Expands to the file `scenarios/NAME` as a [`ScenarioFile`].
macro_rules! scenario_file {
    ($name:literal) => {
        $crate::scenario_file::ScenarioFile {
            path: concat!("scenarios/", $name),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/", $name)),
        }
    };
}
pub(crate) use scenario_file;

/// Returns the command that repeats a run of the scenario file at `path`.
#[must_use]
pub fn command(path: &str, seed: u64, overrides: &[String]) -> String {
    with(format!("msctp-lab sim {} --seed {seed}", quoted_path(path)), overrides)
}

/// Returns the part of the command before the seed, which a shell loop sets.
#[must_use]
pub(crate) fn without_seed(path: &str, overrides: &[String]) -> String {
    with(format!("msctp-lab sim {}", quoted_path(path)), overrides)
}

fn quoted_path(path: &str) -> String {
    let quoted = path.contains(|c: char| !(c.is_ascii_alphanumeric() || "._-/+".contains(c)));
    if quoted { format!("'{path}'") } else { path.to_owned() }
}

/// Returns the command that runs the scenario file at `path` on real stacks.
#[must_use]
pub fn emulation(path: &str, seed: u64, overrides: &[String]) -> String {
    with(format!("msctp-lab emulate {path} --applications --seed {seed}"), overrides)
}

/// Adds the columns that identify the origin of each row's numbers: the scenario's path, the seed, the
/// overrides, and the SHA-256 of the scenario.
#[must_use]
pub fn provenance(table: Table, runs: &[(&str, u64, Vec<String>, String)]) -> Table {
    table
        .text("msctp_version", runs.iter().map(|_| env!("CARGO_PKG_VERSION")))
        .text("scenario", runs.iter().map(|(path, ..)| *path))
        .text("scenario_sha256", runs.iter().map(|(.., sha256)| sha256.as_str()))
        .text("overrides", runs.iter().map(|(_, _, overrides, _)| overrides.join(" ")))
        .text("command", runs.iter().map(|(path, seed, overrides, _)| command(path, *seed, overrides)))
}

/// Formats a command with its overrides.
pub(crate) fn with(mut command: String, overrides: &[String]) -> String {
    for set in overrides {
        let quoted = set.contains(|c: char| !(c.is_ascii_alphanumeric() || "._-=/:,+%".contains(c)));
        let _ = if quoted { write!(command, " --set '{set}'") } else { write!(command, " --set {set}") };
    }
    command
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_repeats_the_run_and_is_quoted_for_the_shell() {
        let sets = ["link.wlan.rate=2Mbps".to_owned(), "link.wlan.loss={ share = 0.1 }".to_owned()];
        assert_eq!(
            super::command("scenarios/handover.toml", 3, &sets),
            "msctp-lab sim scenarios/handover.toml --seed 3 --set link.wlan.rate=2Mbps --set 'link.wlan.loss={ share = 0.1 }'"
        );
    }
}
