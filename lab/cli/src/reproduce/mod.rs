//! `msctp-lab reproduce`: runs a paper's experiment, judges its claims and writes the report.

mod again;
mod atlas;
#[cfg(target_os = "linux")]
mod emulated;
mod fit;
mod page;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use msctp_experiments::again::{Grades, Other};
#[cfg(target_os = "linux")]
use msctp_experiments::agreement::Agreement;
use msctp_experiments::atlas::Charted;
use msctp_experiments::claims::{Claim, render};
use msctp_experiments::experiments::{self, EXPERIMENTS, Effort, Experiment};
use msctp_experiments::output::Kind;
#[cfg(target_os = "linux")]
use msctp_experiments::output::write_file;
use msctp_experiments::plan::Execution;
use msctp_experiments::report::{Extent, Overview, Report, ReportError, publish};
use msctp_experiments::sweep::Outcome;
use msctp_terminal::{Failure, print};

use crate::bench::policies;
use crate::interrupt::Interrupt;
use crate::running::{
    at_least_one, check_folder, done_with, outcome, progress, say_extent, say_report, store, unwritten,
};

/// Reproduce a paper's experiment, judge its claims and write a report.
///
/// Without a paper it reproduces all of them and compares the handover policies. An interrupted reproduction
/// resumes when the same command runs again.
#[derive(Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  msctp-lab reproduce --quick                     every paper, fewer seeds and conditions
  msctp-lab reproduce kim-koh                     one paper, every seed and condition
  msctp-lab reproduce kim-koh --seeds 30
  msctp-lab reproduce kim-koh --atlas             where do its claims hold?
  msctp-lab reproduce kim-koh --again seeds       do other seeds give the same grades?
  msctp-lab reproduce --page docs/re-examination.md --quick
  sudo msctp-lab reproduce kim-koh --emulated     also on real stacks over emulated links
  msctp-lab reproduce fit fu-atiquzzaman          fit the parameters that the paper leaves open

Exit codes: 0 every run completed, whatever the grades, 1 a run failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    #[command(subcommand)]
    instead: Option<Instead>,
    /// Paper to reproduce [default: all, in one report].
    #[arg(value_parser = papers())]
    paper: Option<String>,
    /// Run fewer seeds and conditions. If DIR has a report of the whole, this one goes to DIR/part.
    #[arg(long)]
    quick: bool,
    /// Folder of the report [default: msctp-report/PAPER, or msctp-report for all].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seeds of each condition, 1 to 1000 [default: the experiment's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
    /// Print the claims and grades as JSON.
    #[arg(long)]
    json: bool,
    /// Make only the runs that the claims and findings need: fewer figures, the same grades.
    #[arg(long, conflicts_with = "atlas")]
    claims: bool,
    /// Judge the claims again instead, and print their grades: `seeds`, with as many seeds that the report
    /// has not; `period`, with the stacks of the paper's simulator.
    #[arg(long, value_name = "OTHER", requires = "paper", conflicts_with_all = ["atlas", "json"], value_parser = other)]
    again: Option<Other>,
    /// Judge the claims over the whole box of what the paper leaves open instead, and print where they hold
    /// and which parameter decides.
    #[arg(long, requires = "paper", conflicts_with_all = ["seeds", "json"])]
    atlas: bool,
    /// Write the re-examination of all papers into this Markdown file, its figures into `images` beside it
    /// (docs/re-examination.md). Reports and atlases that are not below --out are made first.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paper", "atlas", "seeds", "json"])]
    page: Option<PathBuf>,
    /// Also run it on real stacks over emulated links, in real time, and add both to the report. For eklund
    /// and kim-koh, on Linux, as root.
    #[cfg(target_os = "linux")]
    #[arg(long, requires = "paper", conflicts_with = "atlas")]
    emulated: bool,
    /// Runs of each condition on real stacks, 2 to 100.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "N", default_value_t = 5, requires = "emulated", value_parser = clap::value_parser!(u64).range(2..=100))]
    repetitions: u64,
    /// Emulations that run at the same time [default: two per core].
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "N", requires = "emulated", value_parser = at_least_one)]
    parallel: Option<NonZeroUsize>,
    /// Replace the table of both results between the markers in this Markdown file
    /// (docs/results/validation.md).
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "FILE", requires = "emulated")]
    table: Option<PathBuf>,
}

/// Other work on a paper than its reproduction.
#[derive(Clone, clap::Subcommand)]
enum Instead {
    Fit(fit::Args),
}

/// Parses the value of `--again`.
fn other(text: &str) -> Result<Other, String> {
    let found = Other::ALL.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, other)| other).ok_or_else(|| "want seeds or period".to_owned())
}

/// Returns the experiments as values of the argument.
fn papers() -> PossibleValuesParser {
    EXPERIMENTS.iter().map(|experiment| PossibleValue::new(experiment.name).help(experiment.summary)).into()
}

/// Runs the experiment, or all. Succeeds if every run completed, whatever the grades.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(Instead::Fit(args)) = &args.instead {
        return fit::run(args);
    }
    if let Some(page) = &args.page {
        return page::run(args, page);
    }
    if args.atlas {
        return atlas::run(args);
    }
    if let Some(other) = args.again {
        return again::run(args, other);
    }
    report(args)
}

/// Reproduces one paper, or all, and writes the report.
fn report(args: &Args) -> Result<(), Failure> {
    let effort = Effort { quick: args.quick, seeds: args.seeds, claims: args.claims };
    let one = args.paper.as_deref().and_then(experiments::find);
    let chosen: Vec<&Experiment> = one.map_or_else(|| EXPERIMENTS.iter().collect(), |one| vec![one]);
    let root = PathBuf::from("msctp-report");
    let out = args.out.clone().unwrap_or_else(|| one.map_or(root.clone(), |one| root.join(one.name)));
    let real = real_runs(args, one, &effort)?;
    check_folder(&out, Kind::Report)?;
    let store = store(&out)?;
    let interrupt = Interrupt::watch()?;
    let runs: usize = chosen.iter().map(|experiment| experiment.size(&effort)).sum();
    let sweep = if one.is_some() { None } else { Some(policies::sweep(&effort)?) };
    let compared = sweep.as_ref().map_or(0, |sweep| sweep.keys().len());
    let progress = progress(runs + compared + real);
    let execution = Execution {
        threads: args.threads,
        cancel: interrupt.flag(),
        progress: &progress,
        store: Some(&store),
    };
    let mut reports = Vec::new();
    for experiment in &chosen {
        progress.set_message(format!("{}, ", experiment.name));
        let report = experiment.reproduce(&effort, &execution).map_err(|e| Failure::Run(e.to_string()))?;
        reports.push(report.built_from(env!("MSCTP_COMMIT")));
    }
    add_others(&mut reports, &out, one.is_some())?;
    let agreements = beside(args, one, &effort, &execution, &mut reports)?;
    let comparison = sweep.as_ref().map(|sweep| {
        progress.set_message("comparison, ");
        sweep.run(&execution).map_err(|e| Failure::Run(e.to_string()))
    });
    let comparison = comparison.transpose()?;
    let elapsed = progress.elapsed();
    progress.finish_and_clear();
    let overview = Overview {
        command: effort.command_for_all(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        reports,
        figures: comparison.iter().flat_map(Outcome::figures).collect(),
        data: comparison.iter().flat_map(Outcome::data).collect(),
    };
    let (failed, skipped) = unmade(&overview.reports, comparison.as_ref());
    let complete = failed.is_empty() && skipped == 0;
    let reduced = comparison.as_ref().is_some_and(|comparison| comparison.sweep.is_reduced());
    let part = reduced || overview.reports.iter().any(|report| report.part);
    let page = publish(&out, Extent { complete, part }, |dir| {
        match overview.reports.as_slice() {
            [report] if one.is_some() => report.write(dir)?,
            _ => overview.write(dir)?,
        };
        keep(dir, agreements.as_ref())
    });
    let page = page.map_err(unwritten)?;
    update(args, agreements.as_ref().filter(|_| complete))?;
    let done: usize = overview.reports.iter().map(|report| report.provenance.runs).sum();
    let compared = comparison.as_ref().map_or(0, |comparison| comparison.runs.done.len());
    say_extent(done + compared, &store, elapsed);
    if complete {
        done_with(store, &out)?;
    }
    print_ledger(&overview.claims().cloned().collect::<Vec<_>>(), args.json)?;
    say_report(&out, &page);
    outcome(&failed, skipped, &page, &interrupt)
}

/// Adds the results of other conditions to the claims. It reads the folders beside the reports: `OUT-atlas`
/// of one paper, `OUT/PAPER-atlas` of all, and those with the name of each [`Other`]. A record does not give
/// them.
fn add_others(reports: &mut [Report], out: &Path, one: bool) -> Result<(), Failure> {
    let invalid = |e: ReportError| Failure::Input(e.to_string());
    for report in reports {
        let beside = |what: &str| match one {
            true => PathBuf::from(format!("{}-{what}", out.display())),
            false => out.join(format!("{}-{what}", report.paper)),
        };
        if let Some(atlas) = Charted::read(&beside("atlas")).map_err(invalid)? {
            atlas.add_to(&mut report.ledger);
            report.record = None;
        }
        for (name, other) in Other::ALL {
            let grades = Grades::read(&beside(name)).map_err(invalid)?;
            if grades.is_some() {
                report.record = None;
            }
            match (grades, other) {
                (Some(grades), Other::Seeds) => grades.add_seeds_to(&mut report.ledger),
                (Some(grades), Other::Period) => grades.add_period_to(&mut report.ledger),
                (None, _) => {}
            }
        }
    }
    Ok(())
}

/// Announces the runs of `--emulated`. Returns their number in both worlds.
#[cfg(target_os = "linux")]
fn real_runs(args: &Args, one: Option<&Experiment>, effort: &Effort) -> Result<usize, Failure> {
    if !args.emulated {
        return Ok(0);
    }
    let able = EXPERIMENTS.iter().filter(|e| e.emulated).map(|e| e.name).collect::<Vec<_>>();
    let Some(one) = one.filter(|one| one.emulated) else {
        return Err(Failure::Input(format!("--emulated: want one of {}", able.join(", "))));
    };
    emulated::check(args.table.as_deref(), one.name)?;
    let plan = one.emulated_plan(effort, args.repetitions);
    emulated::announce(&plan, args.parallel);
    Ok(plan.len() + one.emulated_simulated(effort, args.repetitions))
}

/// Runs the paper on real stacks for `--emulated`, and adds a section to its report.
#[cfg(target_os = "linux")]
fn beside(
    args: &Args,
    one: Option<&Experiment>,
    effort: &Effort,
    execution: &Execution<'_>,
    reports: &mut [Report],
) -> Result<Option<Agreement>, Failure> {
    let (true, Some(emulated), [report]) = (args.emulated, one.filter(|one| one.emulated), reports) else {
        return Ok(None);
    };
    execution.progress.set_message("on real stacks, ");
    let agreement = emulated::carry_out(emulated, effort, (args.repetitions, args.parallel), execution)?;
    report.figures.push(agreement.figure());
    report.data.push(agreement.data());
    report.provenance.failed.extend(agreement.failed.iter().cloned());
    report.provenance.skipped += agreement.skipped;
    report.provenance.command.push_str(" --emulated");
    // The record gives the simulator's runs alone.
    report.record = None;
    Ok(Some(agreement))
}

/// Writes the results on real stacks as JSON into the report's folder.
#[cfg(target_os = "linux")]
fn keep(dir: &Path, agreement: Option<&Agreement>) -> Result<(), ReportError> {
    let Some(agreement) = agreement else { return Ok(()) };
    let path = dir.join("real-stacks.json");
    let text = serde_json::to_string_pretty(agreement)?;
    write_file(&path, text.as_bytes()).map_err(|source| ReportError::File { path, source })
}

/// Writes the table of a complete comparison for `--table`.
#[cfg(target_os = "linux")]
fn update(args: &Args, agreement: Option<&Agreement>) -> Result<(), Failure> {
    match (args.table.as_deref(), agreement) {
        (Some(table), Some(agreement)) => emulated::replace(table, &agreement.paper, Some(agreement)),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn real_runs(_: &Args, _: Option<&Experiment>, _: &Effort) -> Result<usize, Failure> {
    Ok(0)
}

#[cfg(not(target_os = "linux"))]
fn beside(
    _: &Args,
    _: Option<&Experiment>,
    _: &Effort,
    _: &Execution<'_>,
    _: &mut [Report],
) -> Result<Option<()>, Failure> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn keep(_: &Path, _: Option<&()>) -> Result<(), ReportError> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn update(_: &Args, _: Option<&()>) -> Result<(), Failure> {
    Ok(())
}

/// Returns the failed runs, and the number of runs that were not started.
fn unmade(reports: &[Report], comparison: Option<&Outcome<'_>>) -> (Vec<(String, String)>, usize) {
    let mut failed: Vec<_> = reports.iter().flat_map(|report| report.provenance.failed.clone()).collect();
    let mut skipped: usize = reports.iter().map(|report| report.provenance.skipped).sum();
    if let Some(comparison) = comparison {
        failed.extend(comparison.runs.failures());
        skipped += comparison.runs.skipped.len();
    }
    (failed, skipped)
}

fn print_ledger(ledger: &[Claim], json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string_pretty(ledger).map_err(|e| Failure::Run(e.to_string()))?;
        print(|out| writeln!(out, "{text}"))
    } else {
        print(|out| writeln!(out, "{}", render(ledger, 100)))
    }
}
