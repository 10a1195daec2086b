//! Scenario files, and the files that they name.

use std::path::{Path, PathBuf};

use msctp_sim::scenario::{Scenario, ScenarioError, Schemes};
pub use msctp_terminal::input::{cannot_read, cannot_write, os_error, read_text, without_number};

/// The text and the location of a scenario file.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    /// Path of the file, for errors.
    pub file: String,
    /// Contents.
    pub text: String,
    folder: PathBuf,
}

impl ScenarioText {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Same as [`read_text`].
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = path.display().to_string();
        let text = read_text(&file, path)?;
        Ok(Self { file, text, folder: path.parent().unwrap_or_else(|| Path::new("")).to_owned() })
    }

    /// Reads a file that the scenario names by a path relative to its own folder.
    ///
    /// # Errors
    /// Same as [`read_text`].
    pub fn open(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        read_text(path.display(), &path)
    }

    /// Returns the scenario with overrides, each `KEY=VALUE`.
    ///
    /// # Errors
    /// The scenario, a file that it names or an override is invalid. The error describes the first fault.
    pub fn scenario(&self, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        self.with_schemes(overrides, &Schemes::none())
    }

    /// Returns the scenario like [`scenario`](Self::scenario), for a scenario that may name `schemes`.
    ///
    /// # Errors
    /// Same as [`scenario`](Self::scenario).
    pub fn with_schemes(&self, overrides: &[String], schemes: &Schemes) -> Result<Scenario, ScenarioError> {
        Scenario::with_schemes(&self.text, &self.file, overrides, &|name| self.open(name), schemes)
    }
}
