//! The free parameters: what the paper leaves open and what is fitted, in one place for the fit and for all
//! protocols' runs.

use serde::{Deserialize, Serialize};

use crate::scenario_file::{ScenarioFile, scenario_file};

/// Where the frozen parameters are: written by `msctp fit fu-atiquzzaman`, compiled in.
pub const FILE: ScenarioFile = scenario_file!("fu-atiquzzaman/parameters.toml");

/// What is fitted. All the rest of the scenario is as the paper says or, where that is silent, as the
/// scenario file says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// By how many dB more margin of the receive power the share of bad time on the radio falls to a tenth.
    pub fading_slope_db: f64,
    /// The shortest bad period of the radio in milliseconds.
    pub shortest_fade_ms: f64,
    /// Pareto's shape of the bad periods' lengths.
    pub fade_shape: f64,
    /// For how many seconds an agent's advertisement is valid: how long a mobile waits before it looks for
    /// another.
    pub advertisement_lifetime_s: u32,
}

/// The frozen parameters and how they came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// The parameters.
    pub parameters: Parameters,
    /// The fit that found them.
    pub fit: FitRecord,
}

/// What a fit came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitRecord {
    /// The command that makes it again.
    pub command: String,
    /// The table it looked at.
    pub table: String,
    /// Parameter sets that were tried.
    pub evaluations: usize,
    /// Seeds under each cell.
    pub seeds: u64,
    /// What was made least: mean over the 30 cells of |ln(measured / paper)|.
    pub mean_log_error: f64,
    /// Median over the 30 cells of the relative error's size.
    pub median_relative_error: f64,
}

impl Parameters {
    /// What replaces values of the scenario file, as `--set` of `msctp sim` takes it.
    #[must_use]
    pub fn overrides(&self) -> Vec<String> {
        let mut overrides = Vec::new();
        for cell in ["cell-ha", "cell-fa"] {
            let fading = format!("link.{cell}.fading");
            overrides.push(format!("{fading}.slope={}", self.fading_slope_db));
            overrides.push(format!("{fading}.shortest={}us", (self.shortest_fade_ms * 1000.0).round()));
            overrides.push(format!("{fading}.shape={}", self.fade_shape));
        }
        for agent in ["ha", "fa"] {
            overrides.push(format!("node.{agent}.agent.lifetime={}s", self.advertisement_lifetime_s));
        }
        overrides
    }
}

impl Frozen {
    /// The committed ones.
    ///
    /// # Errors
    /// Where the file is not what `msctp fit` writes.
    pub fn committed() -> Result<Self, String> {
        toml::from_str(FILE.text).map_err(|error| format!("{}: {error}", FILE.path))
    }

    /// As a file.
    ///
    /// # Errors
    /// What TOML cannot express.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let head = "# The free parameters of the Fu & Atiquzzaman experiment, fitted to the paper's Table V (TCP Reno) alone and frozen:\n\
                    # the runs of all three protocols read them from here. Written by the command below; do not edit.\n\n";
        Ok(format!("{head}{}", toml::to_string(self)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_is_what_a_fit_writes() {
        let frozen = Frozen::committed().unwrap();
        assert_eq!(frozen.to_toml().unwrap(), FILE.text);
        assert!(frozen.fit.median_relative_error > 0.0 && frozen.fit.evaluations > 0);
    }
}
