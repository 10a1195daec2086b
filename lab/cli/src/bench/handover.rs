//! `msctp-lab bench handover`: the leaderboard of handover policies on measured drives.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use msctp_experiments::leaderboard::{self, Leaderboard, Ranking, candidates};
use msctp_experiments::output::{Kind, write_file};
use msctp_experiments::plan::Execution;
use msctp_experiments::report::{Sheet, publish};
use msctp_experiments::validation::replace_generated_by;
use msctp_lab_schemes::catalogue::{controllers, suggest};
use msctp_terminal::system::{cannot_write, read_text};
use msctp_terminal::{Failure, counted, print};

use crate::interrupt::Interrupt;
use crate::running::{at_least_one, check_folder, done_with, progress, store, unwritten};

/// The generator that the document's marker lines name.
const GENERATOR: &str = "msctp-lab bench handover";

/// Compare handover policies on measured drives with two networks.
///
/// Simulates a download and a video of 20 Mbps on every drive: over each network alone, with the mobile
/// profile's controller and with CUBIC, and over both under every policy, beginning on each. The yardstick is
/// the better single network of each drive.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab bench handover --traces traces --drives 20
  msctp-lab bench handover --traces traces --policy anticipate --out report
  msctp-lab bench handover --traces traces --policy conservative --json | jq '.[] | {sender, first, of_better}'

DIR/index.csv lists the drives: the columns file and, for each network NAME, ping_NAME_ms. Each file is a table of
rates with two networks (docs/models/trace.md).

Exit codes: 0 every run completed, 1 a run failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Folder of the drives.
    #[arg(long, value_name = "DIR")]
    traces: PathBuf,
    /// Use only N drives, evenly spaced.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    drives: Option<NonZeroUsize>,
    /// Run only this policy; repeatable [default: all].
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// Send with this congestion controller [default: that of the mobile profile].
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Write a report with a plot for each drive into this folder. An interrupted run resumes when the same
    /// command runs again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the table between the markers in this Markdown file (scripts/measure does).
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
    /// Print the rows as JSON, with every drive's goodput.
    #[arg(long)]
    json: bool,
}

/// Runs the leaderboard.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let policies = select(&args.policies)?;
    check_controller(args.controller.as_deref())?;
    args.out.as_deref().map_or(Ok(()), |out| check_folder(out, Kind::Report))?;
    args.table.as_deref().map_or(Ok(()), |path| replace(path, None))?;
    let drives = leaderboard::load(&args.traces, args.drives.map(NonZeroUsize::get))
        .map_err(|error| Failure::Input(format!("--traces {}: {error}", args.traces.display())))?;
    let ranking = Ranking { drives: &drives, policies: &policies, controller: args.controller.as_deref() };
    let store = args.out.as_deref().map(store).transpose()?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(leaderboard::keys(&ranking).len());
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: store.as_ref(),
    };
    let board =
        leaderboard::leaderboard(&ranking, &execution).map_err(|error| Failure::Run(error.to_string()))?;
    progress.finish_and_clear();
    let complete = board.failed.is_empty() && board.skipped == 0;
    if let Some(out) = &args.out {
        let sheet = sheet(args, &board);
        let page = publish(out, complete, |dir| sheet.write(dir).map(drop)).map_err(unwritten)?;
        if let Some(store) = store.filter(|_| complete) {
            done_with(store, out)?;
        }
        eprintln!("Report: {}", page.display());
    }
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
    args.table.as_deref().map_or(Ok(()), |path| replace(path, Some(&board)))
}

fn sheet(args: &Args, board: &Leaderboard) -> Sheet {
    let mut command = format!("msctp-lab bench handover --traces {}", args.traces.display());
    if let Some(drives) = args.drives {
        command.push_str(&format!(" --drives {drives}"));
    }
    for policy in &args.policies {
        command.push_str(&format!(" --policy {policy}"));
    }
    if let Some(controller) = &args.controller {
        command.push_str(&format!(" --controller {controller}"));
    }
    Sheet {
        title: "Two networks on one drive".to_owned(),
        lead: format!(
            "A download and a video on {} with two networks each: over one of them, over both under handover \
             policies, and what the networks would have carried.",
            counted(board.drives as u64, "drive")
        ),
        command,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        failed: board.failed.clone(),
        skipped: board.skipped,
        figures: board.figures(),
        data: board.data(),
    }
}

/// Replaces the table between the markers of a Markdown file. Without a leaderboard, checks only that the
/// markers exist.
fn replace(path: &Path, board: Option<&Leaderboard>) -> Result<(), Failure> {
    let what = format!("--table {}", path.display());
    let text = read_text(&what, path)?;
    let generated = board.map(Leaderboard::markdown).unwrap_or_default();
    let updated = replace_generated_by(GENERATOR, &text, &generated).ok_or_else(|| {
        Failure::Input(format!(
            "{what}: want the line <!-- generated by {GENERATOR}: begin --> once and, below it, the same with end"
        ))
    })?;
    match board {
        None => Ok(()),
        Some(_) => write_file(path, updated.as_bytes()).map_err(|e| Failure::Run(cannot_write(what, &e))),
    }
}

fn check_controller(name: Option<&str>) -> Result<(), Failure> {
    let known = || controllers().iter().map(|controller| controller.name);
    match name {
        Some(name) if known().all(|known| known != name) => {
            let remedy = suggest(name, known());
            Err(Failure::Input(format!("--controller {name}: no such controller{remedy}")))
        }
        _ => Ok(()),
    }
}

fn select(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    if let Some(name) = names.iter().find(|name| candidates().all(|known| known != name.as_str())) {
        let remedy = suggest(name, candidates());
        return Err(Failure::Input(format!("--policy {name}: no such policy{remedy}")));
    }
    Ok(candidates().filter(|known| names.is_empty() || names.iter().any(|name| name == known)).collect())
}
