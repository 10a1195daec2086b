//! Shared parts of commands with many runs: the progress bar, stored results for resuming, the outcome.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use msctp_experiments::output::{Kind, STORE, check};
use msctp_experiments::report::ReportError;
use msctp_experiments::store::Store;
use msctp_terminal::system::cannot_write;
use msctp_terminal::{Failure, counted};

use crate::interrupt::Interrupt;

/// Parses a number greater than 0.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "want a whole number, at least 1".to_owned())
}

/// Parses a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("want a whole number, 0 to {}", u64::MAX))
}

/// Checks before the runs that the folder of `--out` has no files of the user.
pub(crate) fn check_folder(dir: &Path, kind: Kind) -> Result<(), Failure> {
    if dir == Path::new("-") {
        let why = "standard output is for the summary: want a folder, such as ./-";
        return Err(Failure::Input(format!("--out -: {why}")));
    }
    check(dir, kind).map_err(|e| Failure::Input(cannot_write(format!("--out {}", dir.display()), &e)))
}

/// Opens the store of results in the report's folder, with results of an earlier interrupted run.
pub(crate) fn store(out: &Path) -> Result<Store, Failure> {
    // Reported before minutes of work.
    let named = |dir: &Path| format!("--out {}", dir.display());
    std::fs::create_dir_all(out).map_err(|e| Failure::Input(cannot_write(named(out), &e)))?;
    let program = std::env::current_exe().and_then(std::fs::read);
    let program = program.map_err(|e| Failure::Run(format!("cannot read this program: {e}")))?;
    let dir = kept(out);
    let store = Store::open(&dir, &program).map_err(|e| Failure::Input(cannot_write(named(&dir), &e)))?;
    if !store.is_empty() {
        let verb = if store.len() == 1 { "is" } else { "are" };
        eprintln!("Resuming: {} {verb} done already.", counted(store.len() as u64, "run"));
    }
    Ok(store)
}

/// Returns the failure of writing a report.
pub(crate) fn unwritten(error: ReportError) -> Failure {
    Failure::Run(match error {
        ReportError::File { path, source } => cannot_write(path.display(), &source),
        error => format!("cannot write the report: {error}"),
    })
}

/// Removes the store after the report is written.
pub(crate) fn done_with(store: Store, out: &Path) -> Result<(), Failure> {
    store
        .remove()
        .map_err(|e| Failure::Run(format!("cannot remove {}: {e}; remove it yourself", kept(out).display())))
}

fn kept(out: &Path) -> PathBuf {
    out.join(STORE)
}

/// Prints the number of runs, their duration and the number of reused results.
pub(crate) fn say_extent(done: usize, store: &Store, elapsed: Duration) {
    let reused = store.reused().min(done);
    let made = counted((done - reused) as u64, "run");
    let before = match reused {
        0 => String::new(),
        some => format!("; {some} more from an earlier run"),
    };
    eprintln!("{made} in {:.1} s{before}", elapsed.as_secs_f64());
}

/// Prints the page of a report, and that it is beside an earlier one if it does not replace it.
pub(crate) fn say_report(out: &Path, page: &Path) {
    if let Some(aside) = page.parent().filter(|dir| *dir != out) {
        let earlier = match aside.ends_with("part") {
            true => "a report of all seeds and cells",
            false => "a complete report",
        };
        eprintln!("{} has {earlier}, which stays.", out.display());
    }
    eprintln!("Report: {}", page.display());
}

/// Returns a failure if a run failed or is missing. It names the first failed run, or the number of missing
/// ones, and the report.
pub(crate) fn outcome(
    failed: &[(String, String)],
    skipped: usize,
    page: &Path,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    if let Some((key, reason)) = failed.first() {
        return Err(Failure::Run(format!(
            "{} failed, the first: {key}: {reason}; {} names them all",
            counted(failed.len() as u64, "run"),
            page.display()
        )));
    }
    if skipped > 0 {
        return Err(interrupt.failure(format!(
            "interrupted with {} to go; {} has the completed ones; run the same command again to resume",
            counted(skipped as u64, "run"),
            page.display()
        )));
    }
    Ok(())
}

/// Shows a progress bar on a terminal, a line in a log.
pub(crate) fn progress(runs: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        eprintln!("{} …", counted(runs as u64, "run"));
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:32} {pos}/{len} runs, {msg}{elapsed} so far, {eta} to go")
    {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
