//! What commands that carry out many runs share: the bar, Ctrl-C, results kept for going on.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressStyle};
use msctp_lab::store::Store;

use crate::Failure;

/// Where results are kept in a report's folder until all runs are done.
const KEPT: &str = ".runs";

/// What an earlier run of this program has left in the report's folder, or an empty store.
pub(crate) fn store(out: &Path) -> Result<Store, Failure> {
    // Before minutes of work, not after.
    std::fs::create_dir_all(out).map_err(|e| Failure::Input(format!("{}: {e}", out.display())))?;
    let program = std::env::current_exe().and_then(std::fs::read);
    let program = program.map_err(|e| Failure::Run(format!("cannot read this program: {e}")))?;
    let dir = kept(out);
    let store = Store::open(&dir, &program).map_err(|e| Failure::Input(format!("{}: {e}", dir.display())))?;
    if !store.is_empty() {
        eprintln!("Resuming: {} runs are done already.", store.len());
    }
    Ok(store)
}

/// The report is written: nothing needs to be kept.
pub(crate) fn done_with(store: Store, out: &Path) -> Result<(), Failure> {
    store.remove().map_err(|e| Failure::Run(format!("{}: {e}", kept(out).display())))
}

fn kept(out: &Path) -> PathBuf {
    out.join(KEPT)
}

/// Whether every run was made: the error names the first that failed, or how many are to go.
pub(crate) fn outcome(failed: &[(String, String)], skipped: usize) -> Result<(), Failure> {
    if let Some((key, reason)) = failed.first() {
        return Err(Failure::Run(format!(
            "{} runs failed, the first: {key}: {reason}; the report names them all",
            failed.len()
        )));
    }
    if skipped > 0 {
        return Err(Failure::Run(format!(
            "interrupted with {skipped} runs to go; the report has what was done, and the same command goes on from there"
        )));
    }
    Ok(())
}

/// The first Ctrl-C lets the runs under way finish and writes what was done; the second ends at once.
pub(crate) fn cancel_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    let interrupt = signal_hook::consts::SIGINT;
    // In this order: the shutdown looks at the flag before the first interrupt has set it.
    signal_hook::flag::register_conditional_shutdown(interrupt, 130, Arc::clone(&cancel))
        .and_then(|_| signal_hook::flag::register(interrupt, Arc::clone(&cancel)))
        .map_err(|e| Failure::Run(format!("cannot watch for Ctrl-C: {e}")))?;
    Ok(cancel)
}

/// A bar on a terminal, a line in a log.
pub(crate) fn progress(runs: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        eprintln!("{runs} runs …");
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
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Run(format!("stdout: {e}"))),
        _ => Ok(()),
    }
}
