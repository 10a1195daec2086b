//! `msctp compare`: runs every handover policy on the papers' handovers.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use msctp_experiments::compare::{self, Comparison};
use msctp_experiments::plan::Execution;
use msctp_experiments::report::{Sheet, publish};
use msctp_experiments::words::counted;

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::running::{done_with, outcome, print, progress, say_extent, store, unwritten};

/// Compare all handover policies on the papers' handovers.
///
/// Every policy runs every handover with the same seeds. Its regret is the throughput lost in the 5 s
/// after the switch against an oracle that knows the available bandwidth of the new path. An interrupted
/// comparison resumes when the same command runs again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp compare --quick
  msctp compare --json | jq '.[].cells[] | {policy, regret}'

Exit codes: 0 every run completed, 1 a run failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Use 3 seeds instead of 10.
    #[arg(long)]
    quick: bool,
    /// Folder of the report.
    #[arg(long, value_name = "DIR", default_value = "msctp-report/compare")]
    out: PathBuf,
    /// Seeds of each handover, 1 to 1000 [default: 10, with --quick 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the matrix as JSON.
    #[arg(long)]
    json: bool,
}

/// Seeds of a comparison.
pub(crate) fn seeds(quick: bool, seeds: Option<u64>) -> u64 {
    seeds.unwrap_or(if quick { 3 } else { 10 })
}

/// Number of runs of a comparison.
pub(crate) fn runs(quick: bool, seeds: Option<u64>) -> usize {
    compare::keys(self::seeds(quick, seeds)).len()
}

/// Runs the comparison.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let store = store(&args.out)?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(runs(args.quick, args.seeds));
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: Some(&store),
    };
    let seeds = seeds(args.quick, args.seeds);
    let comparison = compare::compare(seeds, &execution).map_err(|e| Failure::Run(e.to_string()))?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let (failed, skipped) = (comparison.failed(), comparison.outcomes.skipped.len());
    let sheet = sheet(args, seeds, &comparison);
    let complete = failed.is_empty() && skipped == 0;
    let page = publish(&args.out, complete, |dir| sheet.write(dir).map(drop)).map_err(unwritten)?;
    say_extent(comparison.outcomes.done.len(), &store, elapsed);
    if complete {
        done_with(store, &args.out)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&comparison.rows).map_err(|e| Failure::Run(e.to_string()))?;
        print(|out| writeln!(out, "{text}"))?;
    } else {
        print(|out| write!(out, "{}", comparison.text()))?;
    }
    eprintln!("Report: {}", page.display());
    outcome(&failed, skipped, &page, &interrupt)
}

fn sheet(args: &Args, seeds: u64, comparison: &Comparison) -> Sheet {
    let mut command = "msctp compare".to_owned();
    if args.quick {
        command.push_str(" --quick");
    }
    if let Some(seeds) = args.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    Sheet {
        title: "Every policy on all ground".to_owned(),
        lead: format!(
            "The handover policies of the core on the handovers of the papers, {} each, the same for every policy.",
            counted(seeds, "seed")
        ),
        command,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        failed: comparison.failed(),
        skipped: comparison.outcomes.skipped.len(),
        figures: vec![comparison.figure()],
        data: vec![comparison.data()],
    }
}
