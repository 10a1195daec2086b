//! `msctp-lab validate`: runs the reference cases of ns-2's SCTP and TCP and compares the results.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use msctp_experiments::plan::Execution;
use msctp_experiments::validation::{self, Case, Comparison, ValidationError, Ways};
use msctp_terminal::output::Output;
use msctp_terminal::system::read_text;
use msctp_terminal::{Failure, counted, print};

use crate::interrupt::Interrupt;
use crate::running::{at_least_one, progress};

/// Compare msctp's SCTP and TCP with ns-2's on reference cases.
///
/// Runs the cases of scenarios/validation with all their seeds, once as the RFCs require and once with ns-2's
/// behaviour as far as options express it. Prints both next to ns-2's results. ns-2 need not be installed:
/// its results are committed (validation/ns2.csv).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab validate
  msctp-lab validate --case a --case 'b stock_big'
  msctp-lab validate --case c --seeds 100
  msctp-lab validate --case 'a sack1' --case 'g_wlan_cong1 reno w718'
  msctp-lab validate --list
  msctp-lab validate --json | jq '.[] | select(.metric == \"goodput_kbps\")'
  msctp-lab validate --out docs/results/validation.md

Exit codes: 0 done, whatever the differences, 1 failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Run only this case (c_wlan_loss0.01), family of cases (a, c, c_3g), transport of a case ('a
    /// stock_big', 'a reno w718') or TCP variant of a family ('a reno'); repeatable.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// List the cases, with the command that runs one seed of each, and exit.
    #[arg(long, conflicts_with_all = ["json", "out"])]
    list: bool,
    /// Print the comparison as JSON.
    #[arg(long)]
    json: bool,
    /// Also replace the tables between the markers in this Markdown file.
    #[arg(long, value_name = "FILE", conflicts_with = "case")]
    out: Option<PathBuf>,
    /// Seeds of each random case, 2 to 10000 [default: as many as ns-2 ran].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=10_000), conflicts_with = "out")]
    seeds: Option<u64>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
}

/// Runs the cases and prints the comparison.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut cases = select(&args.case)?;
    if let Some(seeds) = args.seeds {
        cases.iter_mut().filter(|case| case.seeds > 1).for_each(|case| case.seeds = seeds);
    }
    if args.list {
        return print(|out| list(out, &cases));
    }
    // Opened before it is read, since no output may replace an input; read before the work, so that a wrong
    // file is reported at once.
    let output = Output::open_optional("--out", args.out.as_deref())?;
    let document = args.out.as_deref().map(|path| read(path).map(|text| (path, text))).transpose()?;
    let interrupt = Interrupt::watch()?;
    let compared = carry_out(&cases, args.threads, &interrupt)?;
    if let (Some((path, text)), Some(output)) = (document, output) {
        let updated = validation::replace_generated(&text, &validation::tables(&compared))
            .map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
        output.write(updated.as_bytes())?;
    }
    let rows: Vec<&Comparison> = compared.iter().flat_map(|(_, rows)| rows).collect();
    print(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, &rows).map_err(io::Error::from)?;
            writeln!(out)
        } else {
            table(out, &rows)
        }
    })
}

fn select(names: &[String]) -> Result<Vec<Case>, Failure> {
    let all = validation::cases().map_err(|e| Failure::Run(e.to_string()))?;
    if let Some(name) = names.iter().find(|name| !all.iter().any(|case| case.matches_name(name))) {
        let mut known: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Failure::Input(format!(
            "--case: there is no case \"{name}\"; want one of {}, alone or with its parameters as 'a stock_big'",
            known.join(", ")
        )));
    }
    let wanted = |case: &Case| names.is_empty() || names.iter().any(|name| case.matches_name(name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Reads the document and checks that it contains the markers.
fn read(path: &Path) -> Result<String, Failure> {
    let what = format!("--out {}", path.display());
    let text = read_text(&what, path)?;
    validation::replace_generated(&text, "").map_err(|e| Failure::Input(format!("{what}: {e}")))?;
    Ok(text)
}

fn carry_out(
    cases: &[Case],
    threads: Option<NonZeroUsize>,
    interrupt: &Interrupt,
) -> Result<Vec<(Case, Vec<Comparison>)>, Failure> {
    let progress = progress(validation::runs(cases));
    let result = validation::run(
        cases,
        &Execution { threads, cancel: interrupt.flag(), progress: &progress, store: None },
    );
    progress.finish_and_clear();
    result.map_err(|e| match e {
        ValidationError::Cancelled { .. } => interrupt.failure("interrupted".to_owned()),
        other => Failure::Run(other.to_string()),
    })
}

fn list(out: &mut dyn Write, cases: &[Case]) -> io::Result<()> {
    for case in cases {
        writeln!(out, "{case} ({})", counted(case.seeds, "seed"))?;
        for ways in Ways::ALL {
            writeln!(out, "  {:11} {}", ways.words(), case.command(ways))?;
        }
    }
    Ok(())
}

fn table(out: &mut dyn Write, rows: &[&Comparison]) -> io::Result<()> {
    let columns = ["ns-2", Ways::Rfcs.words(), "differ", Ways::Ns2.words(), "differ"];
    let [ns2, rfcs, d1, ns2_ways, d2] = columns;
    let mut of = "";
    for row in rows {
        if of != row.case.as_str() {
            writeln!(out, "\n{:46}{ns2:>18}{rfcs:>18}{d1:>9}{ns2_ways:>18}{d2:>9}", row.case)?;
        }
        of = &row.case;
        let label = format!("  {} {}", row.parameters, row.metric);
        let [first, second] = Ways::ALL.map(|ways| (row.ours_text(ways), row.difference_text(ways)));
        writeln!(
            out,
            "{label:46}{:>18}{:>18}{:>9}{:>18}{:>9}",
            row.ns2_text(),
            first.0,
            first.1,
            second.0,
            second.1
        )?;
    }
    Ok(())
}
