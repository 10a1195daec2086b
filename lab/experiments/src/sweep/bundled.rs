//! The sweeps that are compiled in: the policy comparison, and the papers that are data alone.

use msctp_sim::scenario::{ScenarioError, Schemes};

use super::{Part, Sweep};
use crate::reproduce::Effort;
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The files of the bundled sweeps.
const FILES: [ScenarioFile; 25] = [
    scenario_file!("compare/policies.toml"),
    scenario_file!("compare/two-paths.toml"),
    scenario_file!("kim-koh/3g-to-wlan.toml"),
    scenario_file!("kim-koh/wlan-to-3g.toml"),
    scenario_file!("eklund/paper.toml"),
    scenario_file!("eklund/lc.toml"),
    scenario_file!("eklund/hc.toml"),
    scenario_file!("fu-atiquzzaman/paper.toml"),
    scenario_file!("fu-atiquzzaman/parameters.toml"),
    scenario_file!("fu-atiquzzaman/repair.toml"),
    scenario_file!("fu-atiquzzaman/mobile-ip.toml"),
    scenario_file!("fu-atiquzzaman/microscope.toml"),
    scenario_file!("fu-atiquzzaman/blocks.toml"),
    scenario_file!("kim-koh/paper.toml"),
    scenario_file!("kim-koh/estimation-wlan.toml"),
    scenario_file!("kim-koh/estimation-3g.toml"),
    scenario_file!("afif/paper.toml"),
    scenario_file!("afif/deterministic.toml"),
    scenario_file!("afif/random.toml"),
    scenario_file!("park-jang/paper.toml"),
    scenario_file!("park-jang/plain.toml"),
    scenario_file!("park-jang/recovering-wlan.toml"),
    scenario_file!("park-jang/recovering-lte.toml"),
    scenario_file!("park-jang/microscope.toml"),
    scenario_file!("park-jang/handover.toml"),
];

/// Returns the sweep `path`, as `scenarios/eklund/paper.toml`.
///
/// # Errors
/// The path is not bundled, or the file is invalid. A test excludes both.
pub fn bundled(path: &str) -> Result<Sweep, ScenarioError> {
    bundled_part(path, &Part::default())
}

/// Returns a part of the sweep `path`.
pub(crate) fn bundled_part(path: &str, part: &Part<'_>) -> Result<Sweep, ScenarioError> {
    let open = |path: &str| {
        let file = FILES.iter().find(|file| file.path == path);
        file.map(|file| file.text.to_owned()).ok_or_else(|| format!("{path} is not compiled in"))
    };
    let text = open(path).map_err(|message| ScenarioError {
        file: Some(path.to_owned()),
        line: None,
        key: String::new(),
        message,
    })?;
    Sweep::read_part(&text, path, &open, part, Schemes::none())
}

/// Returns `scenarios/compare/policies.toml`: every handover policy on the papers' handovers.
///
/// # Errors
/// Same as [`bundled`].
pub fn compare(effort: &Effort) -> Result<Sweep, ScenarioError> {
    Ok(bundled("scenarios/compare/policies.toml")?.reduced(effort))
}
