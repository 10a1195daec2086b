//! What commands that carry out many runs share: the progress bar, results kept for resuming, how it ends.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use msctp_lab::report::ReportError;
use msctp_lab::store::Store;
use msctp_lab::words::counted;

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::system::cannot_write;

/// Where results are kept in a report's folder until all runs are done.
const KEPT: &str = ".runs";

/// What an earlier run of this program has left in the report's folder, or an empty store.
pub(crate) fn store(out: &Path) -> Result<Store, Failure> {
    // Before minutes of work, not after.
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

/// The report is written: nothing needs to be kept.
pub(crate) fn done_with(store: Store, out: &Path) -> Result<(), Failure> {
    store
        .remove()
        .map_err(|e| Failure::Run(format!("cannot remove {}: {e}; remove it yourself", kept(out).display())))
}

fn kept(out: &Path) -> PathBuf {
    out.join(KEPT)
}

/// Says how many runs were made in this time, and how many an earlier one had left.
pub(crate) fn say_extent(done: usize, store: &Store, elapsed: Duration) {
    let reused = store.reused().min(done);
    let made = counted((done - reused) as u64, "run");
    let before = match reused {
        0 => String::new(),
        some => format!("; {some} more came from the run before"),
    };
    eprintln!("{made} in {:.1} s{before}", elapsed.as_secs_f64());
}

/// Whether every run was made: the error names the first that failed, or how many are to go, and where the
/// report is.
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
            "interrupted with {} to go; {} has what was done, and the same command goes on from there",
            counted(skipped as u64, "run"),
            page.display()
        )));
    }
    Ok(())
}

/// A bar on a terminal, a line in a log.
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

/// Writes to standard output. A reader that has seen enough (head, jq) is no failure.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Run(cannot_write("standard output", &e)))
        }
        _ => Ok(()),
    }
}
