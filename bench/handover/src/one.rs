//! One run: the emulation, the two programs in it, and the metrics of the receiver's log.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use msctp_emu::contain::{self, Role};
use msctp_emu::session::{self, Ended, Note, Task};
use msctp_emu::{Emulation, Mptcp, Options, need};
use msctp_sim::scenario::{Scenario, WithOutsideHosts};
use msctp_units::Span;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::arrivals::{Log, Measured, monotonic};
use crate::capture;
use crate::case::{AFTER, Case, Stack};
use crate::stacks::quinn::certify;

/// Start of the receiver, in seconds.
const SETTLE: f64 = 0.3;

/// A run and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// The stack.
    pub stack: Stack,
    /// Its number among the runs of this case and stack, from 0.
    pub round: u32,
    /// The result.
    #[serde(flatten)]
    pub measured: Measured,
    /// The emulator's lateness in delivering packets: the 99th percentile, in ms.
    pub late_ms: f64,
}

/// Executes a run and writes its metrics to `result`, and msctp's capture to `qlog`.
pub fn run(
    case: Case,
    stack: Stack,
    round: u32,
    policy: Option<&str>,
    result: &Path,
    qlog: Option<&Path>,
) -> Result<(), Failure> {
    need::check()?;
    if let Role::Outer(status) = contain::enter()? {
        std::process::exit(contain::code(status).into());
    }
    let folder = result.with_extension("run");
    fs::create_dir_all(&folder)?;
    certify(&folder)?;
    let log = folder.join("arrivals");
    let WithOutsideHosts { scenario, .. } =
        Scenario::from_toml_with_outside_hosts(&case.scenario(), "handover", &[], &|_: &str| {
            Err("there are no other files".to_owned())
        })?;
    let program = std::env::current_exe()?.into_os_string();
    let word = |stack: Stack| serde_json::to_string(&stack).map(|word| word.trim_matches('"').to_owned());
    let mut common: Vec<OsString> = ["--stack", &word(stack)?, "--folder"].map(OsString::from).to_vec();
    common.push(folder.clone().into());
    if let Some(policy) = policy {
        common.extend(["--policy", policy].map(OsString::from));
    }
    let task = |host: &str, what: &str, more: &[&str]| Task {
        host: host.to_owned(),
        argv: [program.clone(), what.into()]
            .into_iter()
            .chain(common.clone())
            .chain(more.iter().map(OsString::from))
            .collect(),
        reads_input: false,
    };
    let mptcp = (stack == Stack::Mptcp).then_some(Mptcp::Handover);
    let emulation =
        Emulation::start(&scenario, Options { seed: Some(u64::from(round)), mptcp, ..Options::default() })?;
    // Both clocks are the monotonic one.
    let origin = monotonic()? - emulation.clock().now().as_nanos();
    let captures = ["mobile.sqlog", "server.sqlog"].map(|name| folder.join(name).display().to_string());
    let origin_text = origin.to_string();
    let captured = |file| match qlog {
        Some(_) => vec!["--qlog", file, "--origin", &origin_text],
        None => Vec::new(),
    };
    let time = case.route.switch() + AFTER + 0.4 - SETTLE;
    let log_name = log.display().to_string();
    let receiver = task(
        "mobile",
        "receive",
        &[
            &["--prefer", case.preferred(), "--time", &time.to_string(), "--log", &log_name],
            &captured(&captures[0])[..],
        ]
        .concat(),
    );
    let servers = [task("server", "serve", &captured(&captures[1]))];
    let settle = Span::from_nanos((SETTLE * 1e9) as u64);
    let ended = session::run(&emulation, &servers, Some(&receiver), settle, |note| match note {
        Note::Failed(why) => eprintln!("{why}"),
        Note::Left(task, status) => eprintln!("{}: {status}", task.shown()),
        _ => {}
    })?;
    let (summary, _) = emulation.finish()?;
    match ended {
        Ended::Commands(_) => {}
        Ended::Scenario | Ended::Interrupted => return Err("the run was cut short".into()),
    }
    let switch = origin + (case.route.switch() * 1e9) as u64;
    let measured = Measured::of(&Log::read(&log)?, switch, case);
    let run = Run { case, stack, round, measured, late_ms: summary.lateness.p99 * 1e3 };
    if let Some(qlog) = qlog {
        let [mobile, server] = captures.map(PathBuf::from);
        capture::join(&server, &mobile, qlog)?;
    }
    fs::write(result, serde_json::to_vec(&run)?)?;
    fs::remove_dir_all(folder)?;
    Ok(())
}
