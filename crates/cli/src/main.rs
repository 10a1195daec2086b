//! The msctp command.
//!
//! One file per subcommand, each with an `Args` and a `run`. Exit codes: 0 done, 1 failed, 2 invalid input
//! (arguments, scenario file), 128 plus the signal's number after a signal (130 Ctrl-C, 143 SIGTERM).

// Comments of arguments are help texts: an IPv6 address in brackets is no link.
#![allow(rustdoc::broken_intra_doc_links)]

mod bench;
mod compare;
mod completions;
#[cfg(feature = "net")]
mod decrypt;
#[cfg(feature = "net")]
mod doctor;
#[cfg(target_os = "linux")]
mod emulate;
mod fit;
#[cfg(feature = "net")]
mod identity;
mod interrupt;
mod man;
mod metrics;
#[cfg(feature = "net")]
mod net;
mod output;
mod reproduce;
mod rerun;
mod running;
mod scenario;
mod sim;
mod sim_text;
mod sweep;
mod system;
mod validate;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Mobile SCTP: transfer data across network changes, and simulate, emulate and reproduce handovers.
#[derive(Parser)]
#[command(
    name = "msctp",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  msctp recv --out downloads                  wait for files
  msctp send film.mkv 192.0.2.1               send one there, across network changes
  msctp sim scenarios/handover.toml           simulate a handover
  msctp reproduce kim-koh --quick             reproduce a paper's experiment

`msctp COMMAND --help` describes a command, its options and its exit codes."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sim(sim::Args),
    #[cfg(target_os = "linux")]
    Emulate(Box<emulate::Args>),
    Bench(bench::Args),
    Sweep(sweep::Args),
    Compare(compare::Args),
    Rerun(rerun::Args),
    Metrics(metrics::Args),
    Scenario(scenario::Args),
    Reproduce(reproduce::Args),
    Fit(fit::Args),
    Validate(validate::Args),
    #[cfg(feature = "net")]
    Serve(net::serve::Args),
    #[cfg(feature = "net")]
    Connect(net::connect::Args),
    #[cfg(feature = "net")]
    Forward(Box<net::forward::Args>),
    #[cfg(feature = "net")]
    Perf(net::perf::Args),
    #[cfg(all(feature = "net", target_os = "linux"))]
    Tunnel(Box<net::tunnel::Args>),
    #[cfg(feature = "net")]
    Send(net::send::Args),
    #[cfg(feature = "net")]
    Recv(net::recv::Args),
    #[cfg(feature = "net")]
    Status(net::status::Args),
    #[cfg(feature = "net")]
    Top(net::top::Args),
    #[cfg(feature = "net")]
    Identity(identity::Args),
    #[cfg(feature = "net")]
    Decrypt(decrypt::Args),
    #[cfg(feature = "net")]
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The failure of a subcommand.
#[derive(Debug)]
enum Failure {
    /// The work failed: exit code 1.
    Run(String),
    /// The arguments or the scenario are invalid: exit code 2.
    Input(String),
    /// A signal ended the command (number, message): exit code 128 + the number.
    Signal(u8, String),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Run(_) => 1,
            Self::Input(_) => 2,
            Self::Signal(number, _) => 128 + number,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(message) | Self::Input(message) | Self::Signal(_, message) => {
                f.write_str(&system::without_number(message))
            }
        }
    }
}

/// Returns the arguments of the program.
fn program() -> clap::Command {
    Cli::command().mut_subcommands(|subcommand| {
        #[cfg(feature = "net")]
        let subcommand = net::config_file::add(subcommand);
        // A subcommand's --version is that of the program, and says so.
        subcommand.display_name("msctp").mut_args(|argument| {
            // A negative number gets the error about its range, not one about an unknown flag.
            let takes = argument.get_action().takes_values();
            if takes { argument.allow_negative_numbers(true) } else { argument }
        })
    })
}

/// Why the arguments cannot be used.
enum Unusable {
    /// The command line, or a request for help.
    Usage(clap::Error),
    /// The file of --config.
    #[cfg_attr(not(feature = "net"), expect(dead_code, reason = "only commands for networks have the file"))]
    File(Failure),
}

/// Parses the arguments of this process, and of its configuration file.
fn parse() -> Result<Cli, Unusable> {
    let (mut program, arguments) = (program(), std::env::args_os().collect());
    #[cfg(feature = "net")]
    let arguments = net::config_file::expand(&program, arguments).map_err(Unusable::File)?;
    let matches = program.try_get_matches_from_mut::<Vec<_>, _>(arguments).map_err(Unusable::Usage)?;
    Cli::from_arg_matches(&matches).map_err(|error| Unusable::Usage(error.format(&mut program)))
}

/// Returns the arguments of `serve`, with the current content of the --config file.
#[cfg(feature = "net")]
fn serve_arguments() -> Result<net::serve::Args, Failure> {
    let cli = parse().map_err(|unusable| match unusable {
        Unusable::Usage(error) => {
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            Failure::Input(first.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        Unusable::File(failure) => failure,
    })?;
    match cli.command {
        Command::Serve(args) => Ok(args),
        _ => Err(Failure::Input("this process is no `msctp serve`".to_owned())),
    }
}

fn main() -> ExitCode {
    let result = match parse() {
        Ok(cli) => run(cli),
        Err(Unusable::Usage(error)) => error.exit(),
        Err(Unusable::File(failure)) => Err(failure),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("msctp: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Sim(args) => sim::run(&args),
        #[cfg(target_os = "linux")]
        Command::Emulate(args) => emulate::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Rerun(args) => rerun::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Validate(args) => validate::run(&args),
        #[cfg(feature = "net")]
        Command::Serve(args) => net::serve::run(&args),
        #[cfg(feature = "net")]
        Command::Connect(args) => net::connect::run(&args),
        #[cfg(feature = "net")]
        Command::Forward(args) => net::forward::run(&args),
        #[cfg(feature = "net")]
        Command::Perf(args) => net::perf::run(&args),
        #[cfg(all(feature = "net", target_os = "linux"))]
        Command::Tunnel(args) => net::tunnel::run(&args),
        #[cfg(feature = "net")]
        Command::Send(args) => net::send::run(&args),
        #[cfg(feature = "net")]
        Command::Recv(args) => net::recv::run(&args),
        #[cfg(feature = "net")]
        Command::Status(args) => net::status::run(&args),
        #[cfg(feature = "net")]
        Command::Top(args) => net::top::run(&args),
        #[cfg(feature = "net")]
        Command::Identity(args) => identity::run(&args),
        #[cfg(feature = "net")]
        Command::Decrypt(args) => decrypt::run(&args),
        #[cfg(feature = "net")]
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
