//! `msctp rerun`: repeats the runs of a sweep's report and compares the files.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use msctp_experiments::plan::Execution;
use msctp_experiments::sweep::Recorded;

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::running::{print, progress, unwritten};
use crate::sweep::write;
use crate::system::{cannot_read, read, read_text};

/// Repeat the runs of a sweep's report, and compare every file of it byte by byte.
///
/// Takes files, cells and seeds from DIR/run.json, which `msctp sweep` and `msctp compare` write, and nothing
/// else from this machine. Warns if another build of msctp wrote the report: its results may differ.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp rerun msctp-report/walk
  msctp rerun msctp-report/compare --threads 1

Exit codes: 0 the same results, 1 other results or a run failed, 2 invalid arguments or run.json, 130 Ctrl-C, \
143 SIGTERM.")]
pub(crate) struct Args {
    /// Folder of the report.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Repeats the report in a temporary folder and compares.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.dir.join("run.json");
    let name = path.display().to_string();
    let invalid = |why: String| Failure::Input(format!("{name}: {why}"));
    let recorded = Recorded::parse(&read_text(&name, &path)?).map_err(|error| invalid(error.to_string()))?;
    let sweep = recorded.sweep().map_err(invalid)?;
    let own = (env!("CARGO_PKG_VERSION"), env!("MSCTP_COMMIT"));
    let same_build = (&*recorded.version, &*recorded.commit) == own;
    if !same_build {
        eprintln!(
            "msctp: {name} was written by {} ({}), this is {} ({})",
            recorded.version, recorded.commit, own.0, own.1
        );
    }
    let interrupt = Interrupt::watch()?;
    let progress = progress(sweep.keys().len());
    let execution =
        Execution { threads: args.threads, cancel: interrupt.flag(), progress: &progress, store: None };
    let done = sweep.run(&execution).map_err(|e| Failure::Run(e.to_string()))?;
    progress.finish_and_clear();
    if !done.runs.skipped.is_empty() {
        return Err(interrupt.failure("interrupted; nothing was compared".to_owned()));
    }
    let again = std::env::temp_dir().join(format!("msctp-rerun-{}", std::process::id()));
    let compared = write(&again, &done, &recorded.command).map_err(unwritten).and_then(|()| {
        let mut files = Vec::new();
        list(&again, Path::new(""), &mut files)?;
        // The record and the page name the build.
        files.retain(|file| {
            same_build || !["run.json", "index.html"].iter().any(|own| file == Path::new(own))
        });
        differences(&args.dir, &again, &files).map(|differences| (files.len(), differences))
    });
    // A folder that cannot be removed is no failure of the comparison.
    let _ = fs::remove_dir_all(&again);
    let (files, differences) = compared?;
    if differences.is_empty() {
        return print(|out| {
            writeln!(
                out,
                "{}: {} runs and {files} files are the same",
                args.dir.display(),
                done.runs.done.len()
            )
        });
    }
    let some = differences.iter().take(5).map(|file| file.display().to_string()).collect::<Vec<_>>();
    Err(Failure::Run(format!(
        "{}: {} of {files} files differ: {}{}",
        args.dir.display(),
        differences.len(),
        some.join(", "),
        if differences.len() > some.len() { ", …" } else { "" }
    )))
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

/// Returns the files that are missing in the first folder, or have other bytes there.
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
