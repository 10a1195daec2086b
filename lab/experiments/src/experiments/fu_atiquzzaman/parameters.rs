//! The free parameters, which the paper leaves open and the fit determines: one place for the fit and all
//! protocols' runs.

use serde::{Deserialize, Serialize};

use crate::scenario_file::{ScenarioFile, scenario_file};

/// The compiled-in file of the frozen parameters, which `msctp fit fu-atiquzzaman` writes.
pub const FILE: ScenarioFile = scenario_file!("fu-atiquzzaman/parameters.toml");

/// The fitted parameters. The rest of the scenario follows the paper or, where the paper gives no value, the
/// scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Increase of the receive power margin in dB that reduces the radio's share of bad time to a tenth.
    pub fading_slope_db: f64,
    /// Shortest bad period of the radio in milliseconds.
    pub shortest_fade_ms: f64,
    /// Pareto shape of the bad periods' lengths.
    pub fade_shape: f64,
    /// Lifetime of an agent's advertisement in seconds, after which a mobile looks for another agent.
    pub advertisement_lifetime_s: u32,
}

/// The frozen parameters and the record of their fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// The parameters.
    pub parameters: Parameters,
    /// Record of the fit that found the parameters.
    pub fit: FitRecord,
}

/// The record of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitRecord {
    /// The command that repeats the fit.
    pub command: String,
    /// The table used.
    pub table: String,
    /// Number of parameter sets that were tried.
    pub evaluations: usize,
    /// Seeds of each cell.
    pub seeds: u64,
    /// The minimized error: mean over the 30 cells of |ln(measured / paper)|.
    pub mean_log_error: f64,
    /// Median over the 30 cells of the absolute relative error.
    pub median_relative_error: f64,
}

impl Parameters {
    /// Returns the overrides of the scenario file, in the form of `msctp sim --set`.
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
    /// Returns the committed parameters.
    ///
    /// # Errors
    /// The file is not in the form written by `msctp fit`.
    pub fn committed() -> Result<Self, String> {
        toml::from_str(FILE.text).map_err(|error| format!("{}: {error}", FILE.path))
    }

    /// Formats the content of the file.
    ///
    /// # Errors
    /// TOML cannot express a value.
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
    fn the_committed_file_has_the_form_written_by_a_fit() {
        let frozen = Frozen::committed().unwrap();
        assert_eq!(frozen.to_toml().unwrap(), FILE.text);
        assert!(frozen.fit.median_relative_error > 0.0 && frozen.fit.evaluations > 0);
    }
}
