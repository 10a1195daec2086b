//! `msctp reproduce`: carry out a paper's experiment, judge its claims, write the report.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::{PossibleValue, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use msctp_lab::claims::{Claim, render};
use msctp_lab::experiments::{self, EXPERIMENTS, Effort, Experiment};
use msctp_lab::plan::Execution;
use msctp_lab::report::{Overview, Report, ReportError};
use msctp_lab::store::Store;

use crate::Failure;

/// Carry out a paper's experiment, or all of them: judge the claims, write the report.
///
/// Interrupted, it goes on where it stopped when the same command is given again.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  msctp reproduce --quick              every paper, a look
  msctp reproduce kim-koh              one paper, all of it
  msctp reproduce kim-koh --seeds 30   more runs under each condition
Exit code 0 when every run completed, whatever the verdicts; 1 when one failed or was interrupted; 2 for wrong arguments.")]
pub(crate) struct Args {
    /// The paper [default: all of them, in one report].
    #[arg(value_parser = papers())]
    paper: Option<String>,
    /// Fewer seeds and conditions: a look in under a minute.
    #[arg(long)]
    quick: bool,
    /// Folder of the report [default: msctp-report/PAPER, or msctp-report for all].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seeds under each condition [default: as the experiment has].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Threads [default: one per core]. The results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the ledger as JSON.
    #[arg(long)]
    json: bool,
}

/// The experiments as values of the argument.
fn papers() -> PossibleValuesParser {
    EXPERIMENTS.iter().map(|experiment| PossibleValue::new(experiment.name).help(experiment.summary)).into()
}

/// Runs the experiment, or all. What was asked for is done when every run completed, whatever the verdicts.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let effort = Effort { quick: args.quick, seeds: args.seeds };
    let one = args.paper.as_deref().and_then(experiments::find);
    let chosen: Vec<&Experiment> = one.map_or_else(|| EXPERIMENTS.iter().collect(), |one| vec![one]);
    let root = PathBuf::from("msctp-report");
    let out = args.out.clone().unwrap_or_else(|| one.map_or(root.clone(), |one| root.join(one.name)));
    // Before minutes of work, not after.
    std::fs::create_dir_all(&out).map_err(|e| Failure::Input(format!("{}: {e}", out.display())))?;
    let store = store(&out)?;
    let cancel = cancel_on_interrupt()?;
    let progress = progress(chosen.iter().map(|experiment| (experiment.size)(&effort)).sum());
    let execution =
        Execution { threads: args.threads, cancel: &cancel, progress: &progress, store: Some(&store) };
    let mut reports = Vec::new();
    for experiment in &chosen {
        progress.set_message(experiment.name);
        reports.push((experiment.reproduce)(&effort, &execution).map_err(|e| Failure::Run(e.to_string()))?);
    }
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let unwritten = |e: ReportError| Failure::Run(format!("the report could not be written: {e}"));
    let overview = Overview {
        command: effort.command_for_all(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        reports,
    };
    let page = match overview.reports.as_slice() {
        [report] if one.is_some() => report.write(&out),
        _ => overview.write(&out),
    };
    let page = page.map_err(unwritten)?;
    if overview.reports.iter().all(Report::complete) {
        store.remove().map_err(|e| Failure::Run(format!("{}: {e}", out.join(KEPT).display())))?;
    }
    print(&overview.claims().cloned().collect::<Vec<_>>(), args.json)?;
    let runs: usize = overview.reports.iter().map(|report| report.provenance.runs).sum();
    eprintln!("{runs} runs in {:.1} s", elapsed.as_secs_f64());
    eprintln!("Report: {}", page.display());
    outcome(&overview.reports)
}

/// Where results are kept in the report's folder until all runs are done.
const KEPT: &str = ".runs";

/// What an earlier run of this program has left in the report's folder, or an empty store.
fn store(out: &Path) -> Result<Store, Failure> {
    let program = std::env::current_exe().and_then(std::fs::read);
    let program = program.map_err(|e| Failure::Run(format!("cannot read this program: {e}")))?;
    let dir = out.join(KEPT);
    let store = Store::open(&dir, &program).map_err(|e| Failure::Input(format!("{}: {e}", dir.display())))?;
    if !store.is_empty() {
        eprintln!("Resuming: {} runs are done already.", store.len());
    }
    Ok(store)
}

fn outcome(reports: &[Report]) -> Result<(), Failure> {
    let failed: Vec<_> = reports.iter().flat_map(|report| &report.provenance.failed).collect();
    if let Some((key, reason)) = failed.first() {
        return Err(Failure::Run(format!(
            "{} runs failed, the first: {key}: {reason}; the report names them all",
            failed.len()
        )));
    }
    let skipped: usize = reports.iter().map(|report| report.provenance.skipped).sum();
    if skipped > 0 {
        return Err(Failure::Run(format!(
            "interrupted with {skipped} runs to go; the report has what was done, and the same command goes on from there"
        )));
    }
    Ok(())
}

fn print(ledger: &[Claim], json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string_pretty(ledger).map_err(|e| Failure::Run(e.to_string()))?;
        println!("{text}");
    } else {
        println!("{}", render(ledger, 100));
    }
    Ok(())
}

/// The first Ctrl-C lets the runs under way finish and writes the report of what was done; the second ends at once.
fn cancel_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    let interrupt = signal_hook::consts::SIGINT;
    // In this order: the shutdown looks at the flag before the first interrupt has set it.
    signal_hook::flag::register_conditional_shutdown(interrupt, 130, Arc::clone(&cancel))
        .and_then(|_| signal_hook::flag::register(interrupt, Arc::clone(&cancel)))
        .map_err(|e| Failure::Run(format!("cannot watch for Ctrl-C: {e}")))?;
    Ok(cancel)
}

/// A bar on a terminal, a line in a log.
fn progress(runs: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        eprintln!("{runs} runs …");
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:32} {pos}/{len} runs, {msg}, {elapsed} so far, {eta} to go")
    {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
