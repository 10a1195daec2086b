//! `--drain`: a process that SIGTERM ends lets its connections end first.

use std::time::Duration;

use msctp_terminal::Failure;

use super::options::MAX_TIMEOUT;

/// Time for which a process that received SIGTERM waits for its connections.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct DrainArgs {
    /// On SIGTERM accept no new connections, and wait at most this time until those that are open end. A
    /// second signal ends the command at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = parse_drain)]
    drain: u64,
}

fn parse_drain(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= MAX_TIMEOUT);
    seconds.ok_or_else(|| format!("want 0 to {MAX_TIMEOUT} seconds, without a fraction"))
}

impl DrainArgs {
    /// Returns the time to wait.
    pub(crate) const fn limit(self) -> Duration {
        Duration::from_secs(self.drain)
    }

    /// Rejects --drain where there are no connections to wait for.
    ///
    /// # Errors
    ///
    /// The option was given; the message says what it `wants`.
    pub(crate) fn check_unused(self, wants: &str) -> Result<(), Failure> {
        match self.drain {
            0 => Ok(()),
            seconds => Err(Failure::Input(format!("--drain {seconds}: want it with {wants}"))),
        }
    }
}
