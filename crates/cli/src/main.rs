//! The msctp command.
//!
//! One file or folder per subcommand, each with an `Args` and a `run`. Exit codes: 0 done, 1 failed, 2
//! invalid input (arguments, configuration file), 128 plus the signal's number after a signal (130 Ctrl-C,
//! 143 SIGTERM).

// Comments of arguments are help texts: an IPv6 address in brackets is no link.
#![allow(rustdoc::broken_intra_doc_links)]

mod decrypt;
mod doctor;
mod identity;
mod net;
mod renamed;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use msctp_terminal::program::{completions, man};
use msctp_terminal::{Failure, exit, program};

/// The program's name.
const PROGRAM: &str = "msctp";

/// Mobile SCTP: transfer data across network changes.
#[derive(Parser)]
#[command(
    name = PROGRAM,
    version,
    propagate_version = true,
    after_help = "\
Examples:
  msctp recv --out downloads                  wait for files
  msctp send film.mkv 192.0.2.1               send one there, across network changes
  msctp serve --allow localhost:22            let `msctp forward` reach the SSH server here
  msctp forward -L 2222:localhost:22 192.0.2.1

`msctp COMMAND --help` describes a command, its options and its exit codes. The simulator and the emulator are commands of \
msctp-lab."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Send(net::send::Args),
    Recv(net::recv::Args),
    Serve(net::serve::Args),
    Forward(Box<net::forward::Args>),
    #[cfg(target_os = "linux")]
    Tunnel(Box<net::tunnel::Args>),
    Connect(net::connect::Args),
    Perf(net::perf::Args),
    Status(net::status::Args),
    Identity(identity::Args),
    Decrypt(decrypt::Args),
    Doctor(doctor::Args),
    #[command(hide = true)]
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
}

/// Returns the arguments of the program.
fn arguments() -> clap::Command {
    Cli::command().mut_subcommands(|subcommand| program::command(PROGRAM, net::config_file::add(subcommand)))
}

/// Why the arguments cannot be used.
enum Unusable {
    /// The command line, or a request for help.
    Usage(clap::Error),
    /// The file of --config.
    File(Failure),
}

/// Parses the arguments of this process, and of its configuration file.
fn parse() -> Result<Cli, Unusable> {
    let mut program = arguments();
    let given: Vec<_> = std::env::args_os().collect();
    let name = given.iter().skip(1).find(|argument| *argument != "help").and_then(|name| name.to_str());
    if let Some(error) = name.and_then(renamed::error) {
        return Err(Unusable::Usage(program.error(ErrorKind::InvalidSubcommand, error)));
    }
    let given = net::config_file::expand(&program, given).map_err(Unusable::File)?;
    let matches = program.try_get_matches_from_mut::<Vec<_>, _>(given).map_err(Unusable::Usage)?;
    Cli::from_arg_matches(&matches).map_err(|error| Unusable::Usage(error.format(&mut program)))
}

/// Returns the arguments of `serve`, with the current content of the --config file.
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
    exit(PROGRAM, result)
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Send(args) => net::send::run(&args),
        Command::Recv(args) => net::recv::run(&args),
        Command::Serve(args) => net::serve::run(&args),
        Command::Forward(args) => net::forward::run(&args),
        #[cfg(target_os = "linux")]
        Command::Tunnel(args) => net::tunnel::run(&args),
        Command::Connect(args) => net::connect::run(&args),
        Command::Perf(args) => net::perf::run(&args),
        Command::Status(args) => net::status::run(&args),
        Command::Identity(args) => identity::run(&args),
        Command::Decrypt(args) => decrypt::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args, arguments()),
        Command::Man(args) => man::run(&args, arguments()),
    }
}
