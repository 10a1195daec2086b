//! `msctp reproduce`: carry out a paper's experiment, judge its claims, write the report.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::{PossibleValue, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use msctp_lab::claims::{Claim, render};
use msctp_lab::experiments::{self, EXPERIMENTS, Effort};
use msctp_lab::plan::Execution;
use msctp_lab::store::Store;

use crate::Failure;

/// Carry out a paper's experiment, judge its claims, write the report.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The paper.
    #[arg(value_parser = papers())]
    paper: String,
    /// Fewer seeds and conditions: a look in under a minute.
    #[arg(long)]
    quick: bool,
    /// Folder of the report [default: msctp-report/PAPER].
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

/// Runs the experiment. What was asked for is done when every run completed, whatever the verdicts.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let effort = Effort { quick: args.quick, seeds: args.seeds };
    let experiment = experiments::find(&args.paper)
        .ok_or_else(|| Failure::Input(format!("there is no experiment \"{}\"", args.paper)))?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("msctp-report").join(experiment.name));
    // Before minutes of work, not after.
    std::fs::create_dir_all(&out).map_err(|e| Failure::Input(format!("{}: {e}", out.display())))?;
    let store = store(&out)?;
    let cancel = cancel_on_interrupt()?;
    let progress = progress((experiment.size)(&effort));
    let execution =
        Execution { threads: args.threads, cancel: &cancel, progress: &progress, store: Some(&store) };
    let report = (experiment.reproduce)(&effort, &execution).map_err(|e| Failure::Run(e.to_string()))?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let page =
        report.write(&out).map_err(|e| Failure::Run(format!("the report could not be written: {e}")))?;
    if report.complete() {
        store.remove().map_err(|e| Failure::Run(format!("{}: {e}", out.join(KEPT).display())))?;
    }
    print(&report.ledger, args.json)?;
    eprintln!("{} runs in {:.1} s", report.provenance.runs, elapsed.as_secs_f64());
    eprintln!("Report: {}", page.display());
    outcome(&report.provenance)
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

fn outcome(provenance: &msctp_lab::report::Provenance) -> Result<(), Failure> {
    if let Some((key, reason)) = provenance.failed.first() {
        return Err(Failure::Run(format!(
            "{} runs failed, the first: {key}: {reason}; the report names them all",
            provenance.failed.len()
        )));
    }
    if provenance.skipped > 0 {
        return Err(Failure::Run(format!(
            "interrupted with {} runs to go; the report has what was done, and the same command goes on from there",
            provenance.skipped
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
        ProgressStyle::with_template("{bar:32} {pos}/{len} runs, {elapsed} so far, {eta} to go")
    {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
