//! [`Report`]: what happens, as text on standard error or JSON lines on standard output.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use msctp_forward::End;
use serde::Serialize;
use tokio::time::Instant;

use crate::net::security::Secured;
use crate::net::text::escape;
use crate::running::print;

/// An event of `forward` and `serve --allow`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Happened {
    /// Connected to the server.
    Connected {
        server: String,
        #[serde(flatten)]
        secured: Secured,
    },
    /// A forwarding is ready.
    Listening { forward: String, at: SocketAddr },
    /// The server does not listen for a remote forwarding; the client requests it again later.
    Refused { forward: String, why: String },
    /// A client came.
    Client {
        client: String,
        #[serde(flatten)]
        secured: Secured,
    },
    /// A connection was opened.
    Opened { client: String, target: String },
    /// A connection was refused or failed.
    Failed { client: String, target: String, why: String },
    /// Further connections failed within a second, which were not reported one by one.
    Omitted { client: String, connections: u64 },
    /// A connection ended; bytes sent to the target and received from it.
    Closed { client: String, target: String, sent: u64, received: u64 },
    /// The paths changed.
    Path { what: String },
    /// The association was lost.
    Lost { why: String },
    /// A reconnection failed; the next attempt follows in some seconds.
    Retrying { why: String, seconds: u64 },
}

impl Happened {
    /// Returns the event of a connection that ended.
    pub(crate) fn end(
        client: &str,
        target: &str,
        result: &Result<(), End>,
        (sent, received): (u64, u64),
    ) -> Self {
        let (client, target) = (client.to_owned(), target.to_owned());
        match result {
            Ok(()) => Self::Closed { client, target, sent, received },
            Err(end) => Self::Failed { client, target, why: end.to_string() },
        }
    }

    /// Returns the text for the user; `None` for events too common to print.
    fn text(&self) -> Option<String> {
        match self {
            Self::Connected { server, .. } => Some(format!("connected to {server}")),
            Self::Listening { forward, at } => Some(format!("{forward}: listening at {at}")),
            Self::Refused { forward, why } => Some(format!("{forward}: the server does not listen: {why}")),
            Self::Client { client, .. } => Some(format!("client {client}")),
            Self::Opened { .. } | Self::Closed { .. } => None,
            Self::Failed { client, target, why } => Some(format!("{client} to {target}: {why}")),
            Self::Omitted { client, connections } => {
                Some(format!("{client}: {connections} further connections failed within a second"))
            }
            Self::Path { what } => Some(what.clone()),
            Self::Lost { why } => Some(format!("association lost: {why}")),
            Self::Retrying { why, seconds } => {
                Some(format!("cannot connect: {why}; trying again in {seconds} s"))
            }
        }
    }
}

/// Form of the reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

impl Report {
    pub(crate) fn tell(self, happened: &Happened) {
        if self.json {
            // Nobody may read it any more.
            let _ = print(|out| {
                serde_json::to_writer(&mut *out, happened)?;
                writeln!(out)
            });
        } else if let Some(text) = happened.text().filter(|_| !self.quiet) {
            eprintln!("{}", escape(&text));
        }
    }
}

/// Number of failures of a client that are reported one by one in each second: a client may open 500
/// connections per second, and the log must not grow with them.
const FAILURES: u64 = 20;

/// The reports of one client: reports the first failures of each second, and counts the others.
pub(super) struct ClientReport {
    client: String,
    report: Report,
    second: Mutex<Second>,
}

/// When a second began, and the failures since.
struct Second {
    begin: Instant,
    count: u64,
}

impl Second {
    /// Counts a failure. Returns whether to report it, and the number of failures of an earlier second that
    /// were not reported.
    fn count(&mut self, now: Instant) -> (bool, u64) {
        let ended = now.duration_since(self.begin) >= Duration::from_secs(1);
        let omitted = if ended { self.end(now) } else { 0 };
        self.count += 1;
        (self.count <= FAILURES, omitted)
    }

    /// Begins another second. Returns the number of failures that were not reported.
    fn end(&mut self, now: Instant) -> u64 {
        self.begin = now;
        std::mem::take(&mut self.count).saturating_sub(FAILURES)
    }
}

impl ClientReport {
    pub(super) fn new(client: String, report: Report) -> Self {
        Self { client, report, second: Mutex::new(Second { begin: Instant::now(), count: 0 }) }
    }

    /// Reports an event. Counts it instead if it is a failure and the second had many.
    pub(super) fn tell(&self, happened: &Happened) {
        if matches!(happened, Happened::Failed { .. }) {
            let (reported, omitted) =
                self.second.lock().unwrap_or_else(PoisonError::into_inner).count(Instant::now());
            self.tell_omitted(omitted);
            if !reported {
                return;
            }
        }
        self.report.tell(happened);
    }

    /// Returns the name of the client in reports.
    pub(super) fn client(&self) -> &str {
        &self.client
    }

    fn tell_omitted(&self, connections: u64) {
        if connections > 0 {
            self.report.tell(&Happened::Omitted { client: self.client.clone(), connections });
        }
    }
}

impl Drop for ClientReport {
    fn drop(&mut self) {
        let omitted = self.second.get_mut().unwrap_or_else(PoisonError::into_inner).end(Instant::now());
        self.tell_omitted(omitted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failures_of_a_second_are_counted_after_the_first() {
        let begin = Instant::now();
        let mut second = Second { begin, count: 0 };
        let reported = (0..500).filter(|_| second.count(begin).0).count() as u64;
        assert_eq!(reported, FAILURES);
        assert_eq!(second.count(begin + Duration::from_secs(1)), (true, 500 - FAILURES));
        assert_eq!(second.count(begin + Duration::from_secs(3)), (true, 0));
        assert_eq!(second.end(begin), 0);
    }
}
