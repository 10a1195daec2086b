//! Measures the CPU time of whole processes, msctp's and ns-2's, by the system's accounting of children.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;

use super::case::Case;
use crate::Failure;
use crate::system::cannot_write;

/// The ns-2 script of the same topology.
const DUMBBELL: &str = include_str!("../../../../bench/ns2/dumbbell.tcl");

/// The measurement of one simulation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    /// Data packets that crossed the bottleneck.
    pub(super) packets: u64,
    /// CPU seconds of the process, user and system.
    pub(super) cpu: f64,
    /// Data packets per CPU second.
    pub(super) per_second: f64,
}

impl Measured {
    /// Returns the run with the median rate; `runs` is not empty.
    pub(super) fn median(mut runs: Vec<Self>) -> Self {
        runs.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        let middle = runs.len() / 2;
        runs.swap_remove(middle)
    }
}

/// The programs that run the cases.
pub(super) struct Tools {
    folder: tempfile::TempDir,
    msctp: PathBuf,
    ns2: Option<PathBuf>,
}

impl Tools {
    /// Finds this executable and, unless `without_ns2`, `ns`.
    pub(super) fn find(without_ns2: bool) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("dumbbell.tcl");
        fs::write(&script, DUMBBELL)?;
        let installed =
            Command::new("ns").arg("/dev/null").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let ns2 = (!without_ns2 && installed.is_ok()).then_some(script);
        Ok(Self { folder, msctp: std::env::current_exe()?, ns2 })
    }

    pub(super) fn has_ns2(&self) -> bool {
        self.ns2.is_some()
    }

    /// Runs a case with msctp.
    pub(super) fn msctp(&self, case: &Case) -> Result<Measured, Failure> {
        let file = self.folder.path().join(format!("{}.toml", case.name));
        fs::write(&file, case.scenario()).map_err(|e| Failure::Run(cannot_write(file.display(), &e)))?;
        let (output, cpu) = timed(Command::new(&self.msctp).arg("sim").arg(&file).arg("--json"))?;
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| Failure::Run(format!("{}: unreadable summary: {e}", case.name)))?;
        let sum = |key: &str| -> u64 {
            let flows = summary["associations"].as_array().into_iter().flatten();
            flows.filter_map(|a| a["to_server"][key].as_u64()).sum()
        };
        // One DATA chunk fills a packet.
        let sent = sum("data_chunks") + sum("retransmitted");
        let dropped =
            summary["links"].as_array().into_iter().flatten().filter_map(|l| l["queue_drops"].as_u64());
        Ok(measured(sent - dropped.sum::<u64>().min(sent), cpu))
    }

    /// Runs a case with ns-2.
    pub(super) fn ns2(&self, case: &Case) -> Result<Measured, Failure> {
        let Some(script) = &self.ns2 else { return Err(Failure::Run("ns-2 is not installed".into())) };
        let (output, cpu) = timed(Command::new("ns").arg(script).args(case.ns2_arguments()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = text.split_whitespace().collect();
        let packets =
            words.windows(2).find(|pair| pair[0] == "packets").and_then(|pair| pair[1].parse().ok());
        let packets = packets.ok_or_else(|| Failure::Run(format!("{}: ns-2 printed: {text}", case.name)))?;
        Ok(measured(packets, cpu))
    }
}

fn measured(packets: u64, cpu: f64) -> Measured {
    Measured { packets, cpu, per_second: packets as f64 / cpu.max(1e-6) }
}

/// Runs a command to its end. Returns its output and CPU seconds.
fn timed(command: &mut Command) -> Result<(Output, f64), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failure = |what: String| Failure::Run(format!("cannot time {name}: {what}"));
    let before = children().map_err(&failure)?;
    let output = command.output().map_err(|e| failure(e.to_string()))?;
    let cpu = children().map_err(&failure)? - before;
    if output.status.success() {
        Ok((output, cpu))
    } else {
        Err(failure(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))))
    }
}

/// Returns the CPU seconds of all finished children.
fn children() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("getrusage: {e}"))?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}
