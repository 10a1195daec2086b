//! `msctp-lab reproduce PAPER --again seeds|period`: do other seeds, or the stacks of the paper's time, give
//! the same grades?

use std::path::PathBuf;

use msctp_experiments::again::{Grades, Other};
use msctp_experiments::experiments::{self, Effort};
use msctp_experiments::output::{Kind, OutputFolder};
use msctp_experiments::plan::Execution;
use msctp_experiments::report::ReportError;
use msctp_terminal::{Failure, print};

use super::Args;
use crate::interrupt::Interrupt;
use crate::running::{check_folder, done_with, outcome, progress, say_extent, store, unwritten};

/// Judges the claims again under other conditions, prints the grades and writes them.
pub(super) fn run(args: &Args, other: Other) -> Result<(), Failure> {
    let paper = args.paper.as_deref().unwrap_or_default();
    let Some(experiment) = experiments::find(paper) else {
        return Err(Failure::Input(format!("--again: there is no paper {paper}")));
    };
    if !other.is_of(paper) {
        let why = format!("--again {}: {paper} ran on real stacks: want another paper", other.name());
        return Err(Failure::Input(why));
    }
    let effort = Effort { quick: args.quick, seeds: args.seeds, claims: false };
    let default = PathBuf::from("msctp-report").join(format!("{paper}-{}", other.name()));
    let out = args.out.clone().unwrap_or(default);
    check_folder(&out, Kind::Grades)?;
    let store = store(&out)?;
    let interrupt = Interrupt::watch()?;
    let progress = progress(experiment.again_size(&effort));
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: Some(&store),
    };
    let ledger = experiment.again(other, &effort, &execution).map_err(|e| Failure::Run(e.to_string()))?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    say_extent(ledger.runs, &store, elapsed);
    let file = out.join("grades.json");
    if ledger.skipped > 0 {
        return outcome(&ledger.failed, ledger.skipped, &file, &interrupt);
    }
    let command = format!("{} --again {}", effort.command(paper), other.name());
    let grades = Grades::of(paper, command, &ledger);
    let failed = |source| unwritten(ReportError::File { path: out.clone(), source });
    let folder = OutputFolder::create(&out, Kind::Grades).map_err(failed)?;
    grades.write(folder.stage()).map_err(unwritten)?;
    folder.commit().map_err(failed)?;
    done_with(store, &out)?;
    super::print_ledger(&ledger.claims, false)?;
    let [first, last] = grades.seeds;
    print(|to| writeln!(to, "Seeds {first} to {last}."))?;
    eprintln!("Grades: {}", file.display());
    outcome(&ledger.failed, 0, &file, &interrupt)
}
