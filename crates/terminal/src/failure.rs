//! [`Failure`]: why a command failed, and its exit code.

use std::fmt;
use std::process::ExitCode;

use crate::input::without_number;

/// The failure of a command. Its display has no number of an operating system's error.
#[derive(Debug)]
pub enum Failure {
    /// The work failed: exit code 1.
    Run(String),
    /// The arguments or an input file are invalid: exit code 2.
    Input(String),
    /// A signal ended the command (number, message): exit code 128 + the number.
    Signal(u8, String),
}

impl Failure {
    /// Returns the exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Run(_) => 1,
            Self::Input(_) => 2,
            Self::Signal(number, _) => 128 + number,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(message) | Self::Input(message) | Self::Signal(_, message) => {
                f.write_str(&without_number(message))
            }
        }
    }
}

/// Returns the exit code of `program`'s command, and prints its failure to standard error.
#[must_use]
pub fn exit(program: &str, result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
