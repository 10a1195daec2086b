//! `msctp-lab reproduce fit`: fits the parameters that a paper leaves open to the part of its data reserved
//! for fitting.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use msctp_experiments::fit::{Budget, FILE, FitError, fit};
use msctp_experiments::plan::Execution;
use msctp_terminal::Failure;
use msctp_terminal::output::Output;

use crate::interrupt::Interrupt;
use crate::running::at_least_one;

/// Fit the parameters that a paper leaves open and write them to a file.
///
/// The parameters are compiled in: build msctp again before the next `msctp-lab reproduce`. The search is
/// deterministic: the same options give the same file.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab reproduce fit fu-atiquzzaman             in the repository's root, replaces the committed file
  msctp-lab reproduce fit fu-atiquzzaman --evaluations 20 --out x.toml

Exit codes: 0 done, 1 failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Paper whose parameters to fit.
    #[arg(value_parser = PossibleValuesParser::new(["fu-atiquzzaman"]))]
    paper: String,
    /// Largest number of parameter sets to try.
    #[arg(long, value_name = "N", default_value_t = Budget::default().evaluations, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    evaluations: usize,
    /// Seeds of each cell of the paper's table, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = Budget::default().seeds, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
    /// Write the parameters to this file.
    #[arg(long, value_name = "FILE", default_value = FILE.path)]
    out: PathBuf,
}

/// Fits and writes the file.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let budget = Budget { evaluations: args.evaluations, seeds: args.seeds };
    let folder = args.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Failure::Input(format!(
            "--out {}: no such folder; run it from the repository's root, or name another file",
            folder.display()
        )));
    }
    let output = Output::open("--out", &args.out)?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(budget.runs());
    let execution =
        Execution { threads: args.threads, cancel: interrupt.flag(), progress: &progress, store: None };
    let frozen = fit(budget, &execution).map_err(|error| match error {
        FitError::Interrupted => {
            interrupt.failure(format!("interrupted: {} is as it was", args.out.display()))
        }
        other => Failure::Run(other.to_string()),
    })?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let text = frozen.to_toml().map_err(|error| Failure::Run(error.to_string()))?;
    output.write(text.as_bytes())?;
    let record = &frozen.fit;
    println!(
        "{} parameter sets in {:.0} s: median relative error of the {} cells {:.1} %",
        record.evaluations,
        elapsed.as_secs_f64(),
        record.table,
        record.median_relative_error * 100.0
    );
    println!("Written: {}. Build again before msctp-lab reproduce.", args.out.display());
    Ok(())
}

/// Shows a progress bar on a terminal, a line in a log.
fn progress(runs: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        eprintln!("at most {runs} runs …");
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos} of at most {len} runs, {elapsed} so far")
    {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
