//! `msctp bench handover`: the leaderboard of handover policies on measured drives.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use msctp_experiments::leaderboard::{self, candidates};
use msctp_experiments::plan::Execution;
use msctp_experiments::words::counted;
use msctp_schemes::catalogue::suggest;

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::running::{print, progress};

/// Compare handover policies on measured drives with two networks.
///
/// Simulates a download on every drive: over each network alone, with the mobile profile's controller and
/// with CUBIC, and over both under every policy, beginning on each. The yardstick is the better single
/// network of each drive.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp bench handover --traces traces --drives 20
  msctp bench handover --traces traces --policy conservative --json | jq '.[] | {sender, first, of_better}'

DIR/index.csv lists the drives: the columns file and, for each network NAME, ping_NAME_ms. Each file is a table of
rates with two networks (docs/models/trace.md).

Exit codes: 0 every run completed, 1 a run failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Folder of the drives.
    #[arg(long, value_name = "DIR")]
    traces: PathBuf,
    /// Use only N drives, evenly spaced.
    #[arg(long, value_name = "N")]
    drives: Option<NonZeroUsize>,
    /// Run only this policy; repeatable [default: all].
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the rows as JSON, with every drive's goodput.
    #[arg(long)]
    json: bool,
}

/// Runs the leaderboard.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let policies = select(&args.policies)?;
    let drives = leaderboard::load(&args.traces, args.drives.map(NonZeroUsize::get))
        .map_err(|error| Failure::Input(format!("--traces {}: {error}", args.traces.display())))?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(leaderboard::keys(&drives, &policies).len());
    let execution =
        Execution { threads: args.threads, cancel: interrupt.flag(), progress: &progress, store: None };
    let board = leaderboard::leaderboard(&drives, &policies, &execution)
        .map_err(|error| Failure::Run(error.to_string()))?;
    progress.finish_and_clear();
    print(|out| match args.json {
        true => serde_json::to_writer_pretty(&mut *out, &board.rows)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        false => write!(out, "{}", board.text()),
    })?;
    if let Some((key, reason)) = board.failed.first() {
        let failed = counted(board.failed.len() as u64, "run");
        return Err(Failure::Run(format!("{failed} failed, the first: {key}: {reason}")));
    }
    if board.skipped > 0 {
        let skipped = counted(board.skipped as u64, "run");
        return Err(interrupt.failure(format!("interrupted with {skipped} to go")));
    }
    Ok(())
}

fn select(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    if let Some(name) = names.iter().find(|name| candidates().all(|known| known != name.as_str())) {
        let remedy = suggest(name, candidates());
        return Err(Failure::Input(format!("--policy {name}: no such policy{remedy}")));
    }
    Ok(candidates().filter(|known| names.is_empty() || names.iter().any(|name| name == known)).collect())
}
