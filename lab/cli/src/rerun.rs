//! `msctp-lab rerun`: repeats a run, or the runs of a sweep's report, and compares the files.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use msctp_experiments::metrics::enable_series;
use msctp_experiments::plan::Execution;
use msctp_experiments::run_folder::{self, Program, Recorded as Recording, RunRecord};
use msctp_experiments::store::Store;
use msctp_experiments::sweep::Recorded;
use msctp_sim::Simulation;
use msctp_terminal::system::{cannot_read, cannot_write, read, read_text};
use msctp_terminal::{Failure, counted, print};
use msctp_units::Time;
use serde::Deserialize;

use crate::interrupt::Interrupt;
use crate::running::{at_least_one, progress, unwritten};
use crate::sweep::write;

/// Repeat a run or a sweep, and compare every file byte by byte.
///
/// Takes files, overrides and seeds from DIR/run.json, which `msctp-lab sim --out`, `msctp-lab sweep`,
/// `msctp-lab bench policies` and `msctp-lab reproduce` write, and nothing else from this machine. Warns if
/// another build of msctp-lab wrote the report: its results may differ.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab sim scenarios/handover.toml --out run && msctp-lab rerun run
  msctp-lab rerun msctp-report/walk
  msctp-lab rerun msctp-report/compare --threads 1

Exit codes: 0 the same results, 1 other results or a run failed, 2 invalid arguments or run.json, 130 Ctrl-C, \
143 SIGTERM.")]
pub(crate) struct Args {
    /// Folder of the run or the report.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
}

/// The kind of a record.
#[derive(Deserialize)]
struct Kind {
    /// `sim` or `sweep`; records of older versions are of sweeps.
    #[serde(default)]
    kind: String,
}

/// Repeats the report in a temporary folder and compares both.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.dir.join("run.json");
    let name = path.display().to_string();
    let invalid = |why: String| Failure::Input(format!("{name}: {why}"));
    if args.dir.is_dir() && !path.exists() {
        let want = "want a folder of msctp-lab sim --out, or a report of msctp-lab sweep, bench policies or reproduce PAPER";
        return Err(Failure::Input(format!("{name}: no such file: {want}")));
    }
    let text = read_text(&name, &path)?;
    let kind: Kind = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    if kind.kind == "sim" {
        return run_one(args, &name, &text);
    }
    let recorded = Recorded::parse(&text).map_err(|error| invalid(error.to_string()))?;
    let sweep = recorded.sweep().map_err(invalid)?;
    let same_build = warn_of_build(&name, &recorded.version, &recorded.commit);
    let interrupt = Interrupt::watch()?;
    let progress = progress(sweep.keys().len());
    let kept = temporary()?;
    let store =
        Store::open(kept.path(), &[]).map_err(|e| Failure::Run(cannot_write(kept.path().display(), &e)))?;
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: sweep.series.then_some(&store),
    };
    let done = sweep.run(&execution).map_err(|e| Failure::Run(e.to_string()))?;
    progress.finish_and_clear();
    if !done.runs.skipped.is_empty() {
        return Err(interrupt.failure("interrupted; nothing was compared".to_owned()));
    }
    let write = |dir: &Path| write(dir, &done, &recorded.command, &store).map_err(unwritten);
    compare(&args.dir, same_build, &counted(done.runs.done.len() as u64, "run"), write)
}

/// Repeats the run of `msctp-lab sim --out` in a temporary folder and compares both.
fn run_one(args: &Args, name: &str, text: &str) -> Result<(), Failure> {
    let invalid = |why: String| Failure::Input(format!("{name}: {why}"));
    let record: RunRecord = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    let recorded = Recording::from_record(&record).map_err(invalid)?;
    let same_build = warn_of_build(name, &record.version, &record.commit);
    let mut scenario = recorded.scenario.clone();
    enable_series(&mut scenario);
    let seed = record.seeds.first().copied();
    let mut simulation = Simulation::new(&scenario, seed).map_err(|error| invalid(error.to_string()))?;
    simulation.hash_trace();
    let interrupt = Interrupt::watch()?;
    let end = Time::from_nanos(record.until_ns);
    let complete = simulation.run_in_pieces(end, |_| !interrupt.flag().load(Ordering::Relaxed));
    if !complete {
        return Err(interrupt.failure("interrupted".to_owned()));
    }
    let (summary, end) = (simulation.summary(), simulation.now());
    let series = simulation.into_series();
    let own = (env!("CARGO_PKG_VERSION"), env!("MSCTP_COMMIT"));
    let program = Program { version: own.0, commit: own.1, command: &record.command };
    let again = recorded.record(&summary, end, &program);
    let write = |dir: &Path| {
        run_folder::write(dir, &again, &summary, &series).map_err(|e| Failure::Run(e.to_string()))
    };
    compare(&args.dir, same_build, &counted(1, "run"), write)
}

/// Returns whether this build wrote the record; warns if another did.
fn warn_of_build(name: &str, version: &str, commit: &str) -> bool {
    let own = (env!("CARGO_PKG_VERSION"), env!("MSCTP_COMMIT"));
    if (version, commit) != own {
        eprintln!("msctp-lab: {name} was written by {version} ({commit}), this is {} ({})", own.0, own.1);
    }
    (version, commit) == own
}

/// Compares a folder with the files that `write` creates in a temporary one.
fn compare(
    dir: &Path,
    same_build: bool,
    runs: &str,
    write: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let again = temporary()?;
    write(again.path())?;
    let mut files = Vec::new();
    list(again.path(), Path::new(""), &mut files)?;
    // These files name the build.
    let named = ["run.json", "provenance.json", "index.html"];
    files.retain(|file| same_build || !named.iter().any(|own| file == Path::new(own)));
    let differences = differences(dir, again.path(), &files)?;
    let count = files.len();
    if differences.is_empty() {
        return print(|out| writeln!(out, "{}: {runs} and {count} files are the same", dir.display()));
    }
    let some = differences.iter().take(5).map(|file| file.display().to_string()).collect::<Vec<_>>();
    Err(Failure::Run(format!(
        "{}: {} of {count} files differ: {}{}",
        dir.display(),
        differences.len(),
        some.join(", "),
        if differences.len() > some.len() { ", …" } else { "" }
    )))
}

/// Creates a folder that is removed when it is dropped.
fn temporary() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::Run(format!("cannot make a temporary folder: {e}")))
}

/// Lists the files of a folder and those below it, relative to `root`.
fn list(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let dir = root.join(below);
    let failed = |error| Failure::Run(cannot_read(dir.display(), &error));
    let mut entries: Vec<_> = fs::read_dir(&dir).and_then(Iterator::collect).map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the files that the first folder lacks or has with other content.
fn differences(first: &Path, second: &Path, files: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut differences = Vec::new();
    for file in files {
        let [old, new] = [first.join(file), second.join(file)];
        if !old.exists() || read(old.display(), &old)? != read(new.display(), &new)? {
            differences.push(file.clone());
        }
    }
    Ok(differences)
}
