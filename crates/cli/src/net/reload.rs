//! SIGHUP: a server reads its rules and the keys of its clients again.

use std::fs::File;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::serve;
use crate::Failure;

/// SIGHUP of a server.
pub(crate) struct Hangups {
    signal: Signal,
    /// The server was started in a terminal, whose end sends SIGHUP as well.
    terminal: bool,
}

fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

impl Hangups {
    /// Registers the signal, which from now on does not end the process.
    pub(crate) fn register() -> Result<Self, Failure> {
        let signal = signal(SignalKind::hangup())
            .map_err(|error| Failure::Run(format!("cannot watch for signals: {error}")))?;
        Ok(Self { signal, terminal: has_terminal() })
    }

    /// Waits for SIGHUP, and returns the arguments as the command line and the file of --config are now.
    ///
    /// # Errors
    ///
    /// The terminal closed.
    pub(crate) async fn next(&mut self) -> Result<Result<serve::Args, Failure>, Failure> {
        self.signal.recv().await;
        if self.terminal && !has_terminal() {
            return Err(Failure::Signal(1, "the terminal closed".to_owned()));
        }
        Ok(crate::serve_arguments())
    }
}

/// Reports how a reload went.
pub(crate) fn report(result: Result<(), Failure>) {
    match result {
        Ok(()) => eprintln!("SIGHUP: rules and keys are read again"),
        Err(failure) => eprintln!("msctp: SIGHUP: {failure}; rules and keys stay as they were"),
    }
}
