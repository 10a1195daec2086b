//! The laboratory's command, msctp-lab.
//!
//! One file or folder per subcommand, each with an `Args` and a `run`. Exit codes: 0 done, 1 failed, 2
//! invalid input (arguments, scenario file), 128 plus the signal's number after a signal (130 Ctrl-C, 143
//! SIGTERM).

// Comments of arguments are help texts: an IPv6 address in brackets is no link.
#![allow(rustdoc::broken_intra_doc_links)]

mod bench;
#[cfg(target_os = "linux")]
mod emulate;
mod interrupt;
mod reproduce;
mod rerun;
mod running;
mod scenario;
mod sim;
mod sim_text;
mod sweep;
mod validate;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use msctp_terminal::program::{completions, man};
use msctp_terminal::{Failure, exit, program};

/// The program's name.
const PROGRAM: &str = "msctp-lab";

/// Simulate and emulate handovers of mobile SCTP, and reproduce papers about them.
#[derive(Parser)]
#[command(
    name = PROGRAM,
    version,
    propagate_version = true,
    after_help = "\
Examples:
  msctp-lab sim scenarios/handover.toml           simulate a handover
  msctp-lab reproduce kim-koh --quick             reproduce a paper's experiment
  msctp-lab sweep scenarios/compare/policies.toml --quick
  sudo msctp-lab emulate scenarios/wifi-lte.toml -- curl http://server/

`msctp-lab COMMAND --help` describes a command, its options and its exit codes."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sim(sim::Args),
    Sweep(sweep::Args),
    Rerun(rerun::Args),
    Scenario(scenario::Args),
    Reproduce(reproduce::Args),
    Validate(validate::Args),
    #[cfg(target_os = "linux")]
    Emulate(Box<emulate::Args>),
    Bench(bench::Args),
    #[command(hide = true)]
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
}

/// Returns the arguments of the program.
fn arguments() -> clap::Command {
    Cli::command().mut_subcommands(|subcommand| program::command(PROGRAM, subcommand))
}

fn main() -> ExitCode {
    let matches = arguments().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut arguments()).exit());
    exit(PROGRAM, run(cli))
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Sim(args) => sim::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Rerun(args) => rerun::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Validate(args) => validate::run(&args),
        #[cfg(target_os = "linux")]
        Command::Emulate(args) => emulate::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args, arguments()),
        Command::Man(args) => man::run(&args, arguments()),
    }
}
