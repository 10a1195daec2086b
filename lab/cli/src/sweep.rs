//! `msctp-lab sweep`: runs an experiment that a TOML file describes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use msctp_experiments::experiments::Effort;
use msctp_experiments::output::Kind;
use msctp_experiments::plan::Execution;
use msctp_experiments::report::{Extent, ReportError, publish};
use msctp_experiments::store::Store;
use msctp_experiments::sweep::{Outcome, Sweep};
use msctp_terminal::system::read_text;
use msctp_terminal::{Failure, print};

use crate::interrupt::Interrupt;
use crate::running::{
    at_least_one, check_folder, outcome, progress, say_extent, say_report, store, unwritten,
};

/// Run an experiment that a TOML file describes, and write its report.
///
/// The file names a scenario, axes of overrides, seeds, metrics, comparisons, tables, figures and claims
/// (docs/sweeps.md). All of it is checked before the first run. An interrupted sweep resumes when the same
/// command runs again; runs that a change of the file does not affect are not repeated.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab sweep scenarios/compare/policies.toml --quick
  msctp-lab sweep walk.toml --out report
  msctp-lab sweep walk.toml --json | jq '.claims[] | {id, grade, effect}'

Exit codes: 0 every run completed, whatever the grades, 1 a run failed, 2 invalid arguments or file, 130 Ctrl-C, \
143 SIGTERM.")]
pub(crate) struct Args {
    /// The sweep file (TOML).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Run the part that the file's [quick] names [default: all cells, the first 3 seeds]. If DIR
    /// has a report of the whole, this one goes to DIR/part.
    #[arg(long)]
    quick: bool,
    /// Folder of the report [default: msctp-report/NAME, after the file's name].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
    /// Print the cells' means and the claims as JSON.
    #[arg(long)]
    json: bool,
}

/// Reads the file, runs the sweep, writes its report and prints its tables.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = args.file.display().to_string();
    let text = read_text(&file, &args.file)?;
    let open = |path: &str| read_text(path, Path::new(path)).map_err(|failure| failure.to_string());
    let sweep = Sweep::read(&text, &file, &open).map_err(|error| Failure::Input(error.to_string()))?;
    let name = args.file.file_stem().map_or_else(|| PathBuf::from("sweep"), PathBuf::from);
    let out = args.out.clone().unwrap_or_else(|| Path::new("msctp-report").join(name));
    let quick = if args.quick { " --quick" } else { "" };
    let how =
        How { command: format!("msctp-lab sweep {file}{quick}"), threads: args.threads, json: args.json };
    carry_out(&sweep.reduced(&Effort { quick: args.quick, seeds: None, claims: false }), &out, &how)
}

/// Options for running and printing a sweep.
pub(crate) struct How {
    /// The command that repeats the report.
    pub(crate) command: String,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) json: bool,
}

/// Runs a sweep, writes its report into `out` and prints its tables.
pub(crate) fn carry_out(sweep: &Sweep, out: &Path, how: &How) -> Result<(), Failure> {
    check_folder(out, Kind::Report)?;
    let store = store(out)?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(sweep.keys().len());
    let execution = Execution {
        threads: how.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: Some(&store),
    };
    let done = sweep.run(&execution).map_err(|e| Failure::Run(e.to_string()))?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let extent = Extent { complete: done.complete(), part: sweep.is_reduced() };
    let page = publish(out, extent, |dir| write(dir, &done, &how.command, &store)).map_err(unwritten)?;
    say_extent(done.runs.done.len(), &store, elapsed);
    if how.json {
        let json = done.json().and_then(|json| serde_json::to_string_pretty(&json));
        let text = json.map_err(|e| Failure::Run(e.to_string()))?;
        print(|out| writeln!(out, "{text}"))?;
    } else {
        print(|out| write!(out, "{}", done.text(100)))?;
    }
    say_report(out, &page);
    outcome(&done.runs.failures(), done.runs.skipped.len(), &page, &interrupt)
}

/// Writes the report. `store` has the series of the runs, if the sweep has them.
pub(crate) fn write(dir: &Path, done: &Outcome<'_>, command: &str, store: &Store) -> Result<(), ReportError> {
    let mut report = done.report(command, env!("CARGO_PKG_VERSION")).built_from(env!("MSCTP_COMMIT"));
    report.series = done.series(store);
    report.write(dir)?;
    Ok(())
}
