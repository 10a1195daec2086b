//! Captures of example scenarios, and tshark, which reads them.

#[path = "../../../../../crates/cli/tests/it/tshark/dissect.rs"]
pub(crate) mod dissect;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::PROGRAM;
use crate::process::temporary;

pub(crate) use dissect::*;

/// Runs a modified example and returns its capture.
pub(crate) fn capture_of(scenario: &str, changes: &[&str], name: &str) -> PathBuf {
    let file = temporary(name);
    let scenario = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(scenario);
    let run = Command::new(PROGRAM)
        .arg("sim")
        .arg(scenario)
        .args(changes.iter().flat_map(|change| ["--set", change]))
        .arg("--pcap")
        .arg(&file)
        .output()
        .expect("msctp-lab runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    file
}
