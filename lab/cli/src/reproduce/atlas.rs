//! `msctp-lab reproduce PAPER --atlas`: where in the box of what a paper leaves open do its claims hold?

use std::path::PathBuf;

use msctp_experiments::atlas::{Atlas, papers};
use msctp_experiments::output::{Kind, OutputFolder};
use msctp_experiments::plan::Execution;
use msctp_experiments::report::ReportError;
use msctp_terminal::{Failure, print};

use super::Args;
use crate::interrupt::Interrupt;
use crate::running::{check_folder, done_with, outcome, progress, say_extent, store, unwritten};

/// Judges the claims over their boxes, prints the result and writes it.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let paper = args.paper.as_deref().unwrap_or_default();
    let atlas = Atlas::of(paper, args.quick).map_err(|e| Failure::Run(e.to_string()))?;
    let known = papers().join(", ");
    let atlas = atlas.ok_or_else(|| Failure::Input(format!("--atlas: want one of {known}, not {paper}")))?;
    let default = PathBuf::from("msctp-report").join(format!("{paper}-atlas"));
    let out = args.out.clone().unwrap_or(default);
    check_folder(&out, Kind::Atlas)?;
    let store = store(&out)?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(atlas.size().map_err(|e| Failure::Run(e.to_string()))?);
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: Some(&store),
    };
    let charted = atlas.chart(&execution).map_err(|e| Failure::Run(e.to_string()))?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    say_extent(charted.runs, &store, elapsed);
    let page = out.join("atlas.md");
    if charted.skipped > 0 {
        return outcome(&charted.failed, charted.skipped, &page, &interrupt);
    }
    let failed = |source| unwritten(ReportError::File { path: out.clone(), source });
    let folder = OutputFolder::create(&out, Kind::Atlas).map_err(failed)?;
    charted.write(folder.stage()).map_err(unwritten)?;
    folder.commit().map_err(failed)?;
    done_with(store, &out)?;
    print(|to| write!(to, "{}", charted.text()))?;
    eprintln!("Atlas: {}", page.display());
    outcome(&charted.failed, 0, &page, &interrupt)
}
