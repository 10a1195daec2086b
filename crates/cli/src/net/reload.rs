//! SIGHUP: a server reads its rules and the keys of its clients again.

use std::fs::File;

use msctp_terminal::Failure;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Open, serve};

/// SIGHUP of a server.
pub(crate) struct Hangups {
    signal: Signal,
    /// True if the server was started in a terminal, which sends SIGHUP also when it closes.
    terminal: bool,
}

fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

impl Hangups {
    /// Registers a handler for SIGHUP, which then no longer ends the process.
    pub(crate) fn register(open: &Open) -> Result<Self, Failure> {
        open.reload_on_hangup();
        let signal = signal(SignalKind::hangup())
            .map_err(|error| Failure::Run(format!("cannot watch for signals: {error}")))?;
        Ok(Self { signal, terminal: has_terminal() })
    }

    /// Waits for SIGHUP. Returns the arguments of the command line and of the --config file, which it reads
    /// again.
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

/// Reports the result of a reload.
pub(crate) fn report(result: Result<(), Failure>) {
    match result {
        Ok(()) => eprintln!("SIGHUP: rules and keys are read again"),
        Err(failure) => eprintln!("msctp: SIGHUP: {failure}; rules and keys stay as they were"),
    }
}
