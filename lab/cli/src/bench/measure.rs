//! Measures the CPU time of whole processes, msctp's and ns-2's, by the system's accounting of children, and
//! their memory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use msctp_terminal::Failure;
use msctp_terminal::system::cannot_write;
use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;

use super::case::{CELL, Case, DUMBBELL};

/// Interval at which a process's memory is sampled.
const SAMPLING: Duration = Duration::from_millis(10);

/// The measurement of one simulation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    /// Data packets that crossed the bottleneck.
    pub(super) packets: u64,
    /// CPU time of the process in seconds, user and system.
    pub(super) cpu: f64,
    /// Data packets per CPU second.
    pub(super) per_second: f64,
    /// Peak resident memory in MB; `None` if the system does not report it.
    pub(super) memory_mb: Option<f64>,
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
    ns2: bool,
}

impl Tools {
    /// Finds this executable and, unless `without_ns2`, `ns`.
    pub(super) fn find(without_ns2: bool) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, script) in [DUMBBELL, CELL] {
            fs::write(folder.path().join(name), script)?;
        }
        let installed =
            Command::new("ns").arg("/dev/null").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let ns2 = !without_ns2 && installed.is_ok();
        Ok(Self { folder, msctp: std::env::current_exe()?, ns2 })
    }

    pub(super) fn has_ns2(&self) -> bool {
        self.ns2
    }

    /// Runs a case with msctp.
    pub(super) fn msctp(&self, case: &Case) -> Result<Measured, Failure> {
        let file = self.folder.path().join(format!("{}.toml", case.name));
        fs::write(&file, case.scenario()).map_err(|e| Failure::Run(cannot_write(file.display(), &e)))?;
        let (output, used) = self.timed(Command::new(&self.msctp).arg("sim").arg(&file).arg("--json"))?;
        let summary: serde_json::Value = serde_json::from_str(&output)
            .map_err(|e| Failure::Run(format!("{}: unreadable summary: {e}", case.name)))?;
        let list = |key: &str| summary[key].as_array().into_iter().flatten();
        // One DATA chunk fills a packet.
        let flows = list("associations").flat_map(|a| [&a["to_server"], &a["to_client"]]);
        let chunks = |flow: &serde_json::Value| {
            flow["data_chunks"].as_u64().unwrap_or(0) + flow["retransmitted"].as_u64().unwrap_or(0)
        };
        let sent: u64 = flows.map(chunks).sum();
        let dropped: u64 = list("links").filter_map(|link| link["queue_drops"].as_u64()).sum();
        Ok(used.of(sent - dropped.min(sent)))
    }

    /// Runs a case with ns-2; `None` if it cannot.
    pub(super) fn ns2(&self, case: &Case) -> Result<Option<Measured>, Failure> {
        let Some((script, arguments)) = case.ns2().filter(|_| self.ns2) else { return Ok(None) };
        let script = self.folder.path().join(script);
        let (text, used) = self.timed(Command::new("ns").arg(script).args(arguments))?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let packets =
            words.windows(2).find(|pair| pair[0] == "packets").and_then(|pair| pair[1].parse().ok());
        let packets = packets.ok_or_else(|| Failure::Run(format!("{}: ns-2 printed: {text}", case.name)))?;
        Ok(Some(used.of(packets)))
    }

    /// Runs a command to its end. Returns its output and its resource usage.
    #[expect(clippy::disallowed_methods, reason = "a real process in real time")]
    fn timed(&self, command: &mut Command) -> Result<(String, Used), Failure> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failure = |what: String| Failure::Run(format!("cannot time {name}: {what}"));
        let io = |e: std::io::Error| failure(e.to_string());
        let [out, err] = ["stdout", "stderr"].map(|file| self.folder.path().join(file));
        let before = children().map_err(&failure)?;
        command.stdout(File::create(&out).map_err(io)?).stderr(File::create(&err).map_err(io)?);
        let mut child = command.spawn().map_err(io)?;
        let mut memory_mb = None;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(io)? {
                break status;
            }
            memory_mb = memory_of(child.id()).or(memory_mb);
            thread::sleep(SAMPLING);
        };
        let cpu = children().map_err(&failure)? - before;
        let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if status.success() {
            Ok((read(&out).map_err(io)?, Used { cpu, memory_mb }))
        } else {
            Err(failure(format!("{status}: {}", read(&err).map_err(io)?)))
        }
    }
}

/// The resources that a process used.
struct Used {
    cpu: f64,
    memory_mb: Option<f64>,
}

impl Used {
    fn of(self, packets: u64) -> Measured {
        let Self { cpu, memory_mb } = self;
        Measured { packets, cpu, per_second: packets as f64 / cpu.max(1e-6), memory_mb }
    }
}

/// Returns the peak resident memory of a running process so far, in MB (Linux).
fn memory_of(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// Returns the CPU seconds of all finished children.
fn children() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("getrusage: {e}"))?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}
