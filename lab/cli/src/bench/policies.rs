//! `msctp-lab bench policies`: runs every handover policy on the papers' handovers.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use msctp_experiments::experiments::Effort;
use msctp_experiments::sweep::{self, Sweep};
use msctp_terminal::Failure;

use crate::running::at_least_one;
use crate::sweep::{How, carry_out};

/// Compare all handover policies on the papers' handovers.
///
/// Every policy runs every handover with the same seeds. Its regret is the throughput lost in the 5 s
/// after the switch against an oracle that knows the available bandwidth of the new path. A second table has
/// the share of the physical optimum that it used, and the harm to other traffic beside one CUBIC flow. It is
/// the sweep scenarios/compare/policies.toml, and resumes as one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab bench policies --quick
  msctp-lab bench policies --json | jq '.cells[] | {handover, policy, regret}'

Exit codes: 0 every run completed, 1 a run failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Use 3 seeds instead of 10. If DIR has a report of all seeds, this one goes to DIR/part.
    #[arg(long)]
    quick: bool,
    /// Folder of the report.
    #[arg(long, value_name = "DIR", default_value = "msctp-report/compare")]
    out: PathBuf,
    /// Seeds of each handover, 1 to 1000 [default: 10, with --quick 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Threads [default: one per core]; they do not change the result.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
    /// Print the means of every handover and policy as JSON.
    #[arg(long)]
    json: bool,
}

/// Returns the sweep of the comparison.
pub(crate) fn sweep(effort: &Effort) -> Result<Sweep, Failure> {
    sweep::compare(effort).map_err(|error| Failure::Run(error.to_string()))
}

/// Runs the comparison.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let quick = if args.quick { " --quick" } else { "" };
    let seeds = args.seeds.map(|seeds| format!(" --seeds {seeds}")).unwrap_or_default();
    let how = How {
        command: format!("msctp-lab bench policies{quick}{seeds}"),
        threads: args.threads,
        json: args.json,
    };
    carry_out(&sweep(&Effort { quick: args.quick, seeds: args.seeds, claims: false })?, &args.out, &how)
}
