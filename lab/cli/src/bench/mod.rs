//! `msctp-lab bench`: measures the simulator's speed, next to ns-2 if that is installed, and compares
//! handover policies on measured drives (`handover.rs`) and on the papers' handovers (`policies.rs`).
//!
//! Each run is a whole process, msctp's and ns-2's in turn, so that both are measured alike: CPU time (user
//! and system) by the operating system's accounting of finished children, data packets by those that crossed
//! the bottleneck.

mod case;
mod handover;
mod measure;
pub(crate) mod policies;

use std::io::{self, Write};

use msctp_lab_schemes::catalogue::suggest;
use msctp_terminal::system::cannot_write;
use msctp_terminal::{Failure, print};
use serde::Serialize;

use case::{CASES, Case};
use measure::{Measured, Tools};

/// Measure the simulator's speed, next to ns-2 if that is installed.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  msctp-lab bench                          every case, three runs each
  msctp-lab bench --case bulk --runs 5     one case, five runs
  msctp-lab bench --no-ns2 --json
  msctp-lab bench handover --traces DIR    handover policies on measured drives
  msctp-lab bench policies --quick         handover policies on the papers' handovers

The table has the median over the runs. Runs of msctp and ns-2 alternate: on a shared machine, quote the ratio.

Exit codes: 0 done, 1 failed, 2 invalid arguments.")]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Option<Benchmark>,
    /// Run only this case (bulk, fast, flows-1, flows-10, flows-100, flows-1000, cell-1000, cell-10000);
    /// repeatable.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Runs of each case, 1 to 100.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Skip ns-2.
    #[arg(long)]
    no_ns2: bool,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// Comparisons of handover policies.
#[derive(clap::Subcommand)]
enum Benchmark {
    Handover(handover::Args),
    Policies(policies::Args),
}

/// A case's result.
#[derive(Serialize)]
struct Row {
    case: &'static str,
    what: &'static str,
    /// Data packets per CPU second that the project aims at, as a multiple of ns-2's.
    aim: Option<f64>,
    msctp: Measured,
    ns2: Option<Measured>,
    /// msctp's data packets per CPU second over ns-2's.
    ratio: Option<f64>,
}

/// Runs the cases and prints the table.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.benchmark {
        Some(Benchmark::Handover(args)) => return handover::run(args),
        Some(Benchmark::Policies(args)) => return policies::run(args),
        None => {}
    }
    let cases = select(&args.cases)?;
    let folder = std::env::temp_dir();
    let tools = Tools::find(args.no_ns2)
        .map_err(|e| Failure::Run(cannot_write(format!("the cases into {}", folder.display()), &e)))?;
    if !tools.has_ns2() && !args.no_ns2 {
        eprintln!("ns-2 is not installed (command `ns`, Debian package ns2): only msctp is timed");
    }
    let mut rows = Vec::new();
    for case in cases {
        rows.push(time(case, args.runs, &tools)?);
    }
    print(|out| match args.json {
        true => serde_json::to_writer_pretty(&mut *out, &rows)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        false => table(out, &rows),
    })
}

fn select(names: &[String]) -> Result<Vec<&'static Case>, Failure> {
    let unknown = names.iter().find(|name| CASES.iter().all(|case| case.name != name.as_str()));
    if let Some(name) = unknown {
        let remedy = suggest(name, CASES.iter().map(|case| case.name));
        return Err(Failure::Input(format!("--case {name}: no such case{remedy}")));
    }
    Ok(CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)).collect())
}

fn time(case: &'static Case, runs: u32, tools: &Tools) -> Result<Row, Failure> {
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for run in 1..=runs {
        eprintln!("{}: run {run} of {runs}", case.name);
        ours.push(tools.msctp(case)?);
        theirs.extend(tools.ns2(case)?);
    }
    let msctp = Measured::median(ours);
    let ns2 = (!theirs.is_empty()).then(|| Measured::median(theirs));
    let ratio = ns2.as_ref().map(|ns2| msctp.per_second / ns2.per_second);
    Ok(Row { case: case.name, what: case.what, aim: case.aim, msctp, ns2, ratio })
}

fn table(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    writeln!(
        out,
        "{:<11} {:<46} {:>9} {:>8} {:>11} {:>8} {:>8} {:>11} {:>8} {:>7} {:>5}",
        "case", "what", "packets", "CPU s", "packets/s", "MB", "ns-2 s", "packets/s", "MB", "ratio", "aim"
    )?;
    for row in rows {
        let theirs = row.ns2.as_ref();
        writeln!(
            out,
            "{:<11} {:<46} {:>9} {:>8.3} {:>11.0} {:>8} {:>8} {:>11} {:>8} {:>7} {:>5}",
            row.case,
            row.what,
            row.msctp.packets,
            row.msctp.cpu,
            row.msctp.per_second,
            megabytes(Some(&row.msctp)),
            theirs.map_or_else(|| "-".into(), |m| format!("{:.3}", m.cpu)),
            theirs.map_or_else(|| "-".into(), |m| format!("{:.0}", m.per_second)),
            megabytes(theirs),
            row.ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
            row.aim.map_or_else(|| "-".into(), |aim| format!("{aim:.0}")),
        )?;
    }
    writeln!(out, "\nMB: the most memory in RAM at one time.")?;
    let flows = rows.iter().filter(|row| row.case.starts_with("flows-"));
    let costs: Vec<f64> = flows.map(|row| 1e9 / row.msctp.per_second).collect();
    if costs.len() > 1 {
        let (least, most) = costs.iter().fold((f64::MAX, 0f64), |(l, m), &c| (l.min(c), m.max(c)));
        writeln!(
            out,
            "\nmsctp's cost per data packet over the numbers of flows: {least:.0} to {most:.0} ns, a factor of {:.2}",
            most / least
        )?;
    }
    Ok(())
}

fn megabytes(of: Option<&Measured>) -> String {
    of.and_then(|measured| measured.memory_mb).map_or_else(|| "-".into(), |mb| format!("{mb:.0}"))
}
