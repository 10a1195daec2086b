//! Measures handovers of a bulk download: msctp, the kernel's multipath TCP and quinn over the same emulated
//! links, in turn. See README.md.

mod arrivals;
mod capture;
mod case;
mod measure;
mod one;
#[cfg(feature = "picture")]
mod picture;
mod report;
mod stacks;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::case::{Case, Kind, Move, Stack};

/// The error of a command.
type Failure = Box<dyn std::error::Error>;

/// Handovers of a bulk download: msctp, multipath TCP and quinn over the same emulated links.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make all runs, or some, and write their results and the table.
    Measure(measure::Args),
    /// Write table and picture again, from existing results.
    Report {
        /// The results.
        results: PathBuf,
        #[command(flatten)]
        into: report::Into,
    },
    /// One run (used by `measure`).
    #[command(hide = true)]
    One {
        #[arg(long)]
        route: Move,
        #[arg(long)]
        kind: Kind,
        #[command(flatten)]
        end: End,
        #[arg(long)]
        round: u32,
        #[arg(long)]
        result: PathBuf,
        /// File for the capture of both ends.
        #[arg(long)]
        qlog: Option<PathBuf>,
    },
    /// The sender of a run (used by `one`).
    #[command(hide = true)]
    Serve {
        #[command(flatten)]
        end: End,
        #[arg(long)]
        folder: PathBuf,
        #[command(flatten)]
        capture: capture::Wanted,
    },
    /// The receiver of a run (used by `one`).
    #[command(hide = true)]
    Receive {
        #[command(flatten)]
        end: End,
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        prefer: String,
        /// Seconds.
        #[arg(long)]
        time: f64,
        #[arg(long)]
        log: PathBuf,
        #[command(flatten)]
        capture: capture::Wanted,
    },
}

/// The stack and files of one end.
#[derive(clap::Args)]
struct End {
    #[arg(long)]
    stack: Stack,
    #[arg(long)]
    policy: Option<String>,
}

fn main() -> ExitCode {
    let done = match Args::parse().what {
        What::Measure(args) => measure::run(&args),
        What::Report { results, into } => measure::read(&results).and_then(|runs| into.write(&runs)),
        What::One { route, kind, end, round, result, qlog } => {
            let case = Case { route, kind };
            one::run(case, end.stack, round, end.policy.as_deref(), &result, qlog.as_deref())
        }
        What::Serve { end, folder, capture } => {
            stacks::serve(end.stack, &folder, end.policy.as_deref(), &capture)
        }
        What::Receive { end, folder, prefer, time, log, capture } => {
            let prefer = vec![prefer];
            let time = Duration::from_secs_f64(time);
            stacks::receive(
                end.stack,
                &stacks::Receiver { prefer, time, log, folder, policy: end.policy, capture },
            )
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("handover: {error}");
            ExitCode::FAILURE
        }
    }
}
