//! Sweeps that are compiled in.

use msctp_sim::scenario::ScenarioError;

use super::Sweep;
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The files of the bundled sweeps.
const FILES: [ScenarioFile; 4] = [
    scenario_file!("compare/policies.toml"),
    scenario_file!("compare/two-paths.toml"),
    scenario_file!("kim-koh/3g-to-wlan.toml"),
    scenario_file!("kim-koh/wlan-to-3g.toml"),
];

/// Returns `scenarios/compare/policies.toml`: every handover policy on the papers' handovers, with the seeds
/// 1 to `seeds`.
///
/// # Errors
/// A fault of the file; a test excludes it.
pub fn compare(seeds: u64) -> Result<Sweep, ScenarioError> {
    let open = |path: &str| {
        let file = FILES.iter().find(|file| file.path == path);
        file.map(|file| file.text.to_owned()).ok_or_else(|| format!("{path} is not compiled in"))
    };
    let mut sweep = Sweep::read(FILES[0].text, FILES[0].path, &open)?;
    sweep.seeds = (1..=seeds).collect();
    Ok(sweep)
}
