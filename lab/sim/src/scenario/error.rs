//! Errors of scenario and sweep files: the first fault, with its place and the fix.

use std::fmt;

pub(crate) use msctp_lab_schemes::catalogue::suggest;

/// The first fault of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The scenario file; `None` for a scenario built in code.
    pub file: Option<String>,
    /// Number of the line in the file, from 1; `None` if the value comes from an override or from code.
    pub line: Option<usize>,
    /// The key, such as `link.wlan.rate`.
    pub key: String,
    /// The fault, and the allowed values.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            match self.line {
                Some(line) => write!(f, "{line}: ")?,
                None => f.write_str(" ")?,
            }
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// A fault without file and line.
#[derive(Debug)]
pub struct Problem {
    /// Path of the key, such as `link.wlan.rate`.
    pub key: String,
    /// The fault, and the allowed values.
    pub message: String,
}

impl Problem {
    /// Creates the fault of a key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }

    /// Prefixes the key of the problem with `outer`.
    #[must_use]
    pub fn within(self, outer: &str) -> Self {
        let key = if self.key.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.key) };
        Self { key, ..self }
    }

    pub(super) fn without_file(self) -> ScenarioError {
        ScenarioError { file: None, line: None, key: self.key, message: self.message }
    }
}

/// Keys of earlier versions, with their replacements.
const REMOVED_KEYS: &[(&str, &str)] = &[
    (
        "quality_reports",
        "set `handover_policy = \"qos-measurement\"` at both ends; another policy neither sends nor reads reports",
    ),
    ("quality_interval", "reports about one address are at least 200ms apart"),
    ("quality_repeats", "a report is sent once"),
    ("quality_growth", "a report raises a window at most to what the path carried since its last loss"),
    ("wait_for_confirmation", "data goes to each path as soon as that path is confirmed (RFC 9260 §5.4)"),
    ("per_path_miss_indications", "miss indications are counted per path"),
    ("per_path_recovery", "each path has its own Fast Recovery"),
    ("sack_immediately_when_blocked", "the I bit is set where the application, a shutdown or a reset waits"),
    ("peer_may_reset", "set `reconfiguration` to \"off\", \"own\" or \"accept\""),
    ("peer_may_add", "set `reconfiguration` to \"off\", \"own\" or \"accept\""),
    ("ask_from_new", "set `moves` to \"standard\" or \"fast\""),
    ("early_data", "set `moves` to \"standard\" or \"fast\""),
    ("copies", "set `moves` to \"standard\" or \"fast\""),
    ("overlap", "set `moves` to \"standard\" or \"fast\""),
    ("pmtu_base", "discovery begins with 1200 bytes, 1280 on IPv6"),
    ("pmtu_raise_interval", "a new search follows 600s after one that ended below `pmtu`"),
    ("prr", "set `loss_recovery` to \"prr\" or \"rack-prr\""),
    ("hb_max_burst", "`moves = \"fast\"` has HB.Max.Burst 4, `moves = \"standard\"` 1"),
    ("max_receive_buffer", "set `receive_buffer`: memory is taken as data arrives"),
    ("qos", "`policy.qos.delay` is `policy.qos_delay`; `policy.qos.raise_rto` is gone"),
];

/// Returns the replacement of a key of an earlier version.
pub(crate) fn removed_key(name: &str) -> Option<&'static str> {
    REMOVED_KEYS.iter().find(|(key, _)| *key == name).map(|(_, now)| *now)
}
