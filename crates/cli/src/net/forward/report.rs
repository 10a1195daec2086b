//! [`Report`]: what happens, as text on standard error or JSON lines on standard output.

use std::net::SocketAddr;
use std::sync::Arc;

use msctp_forward::End;
use msctp_terminal::print;
use serde::Serialize;

use crate::net::failures::Failures;
use crate::net::security::Secured;
use crate::net::text::escape;

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
    /// Further connections of the client's source failed within a second, which were not reported one by one.
    Omitted { client: String, connections: u64 },
    /// Further clients of this client's source came or went within a second, which were not reported one by
    /// one.
    #[serde(rename = "omitted-clients")]
    OmittedClients { client: String, count: u64 },
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
            Self::OmittedClients { client, count } => {
                Some(format!("{client}: {count} further clients of its source came or went within a second"))
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

/// What is reported of one source in each second.
#[derive(Default)]
pub(super) struct Counts {
    /// Connections that failed.
    connections: Failures,
    /// Clients that came or went.
    clients: Failures,
}

/// The reports of one client: reports the first failures of its source in each second, and counts the others.
/// The same for the clients of the source that come and go.
pub(super) struct ClientReport {
    client: String,
    report: Report,
    counts: Arc<Counts>,
}

impl ClientReport {
    pub(super) const fn new(client: String, report: Report, counts: Arc<Counts>) -> Self {
        Self { client, report, counts }
    }

    /// Reports an event. Counts it instead if the second had many of its kind.
    pub(super) fn tell(&self, happened: &Happened) {
        let client = || self.client.clone();
        let (reported, omitted) = match happened {
            Happened::Failed { .. } => {
                let (reported, connections) = self.counts.connections.count();
                (reported, (connections > 0).then(|| Happened::Omitted { client: client(), connections }))
            }
            Happened::Client { .. } | Happened::Lost { .. } => {
                let (reported, count) = self.counts.clients.count();
                (reported, (count > 0).then(|| Happened::OmittedClients { client: client(), count }))
            }
            _ => (true, None),
        };
        if let Some(omitted) = omitted {
            self.report.tell(&omitted);
        }
        if reported {
            self.report.tell(happened);
        }
    }

    /// Returns the name of the client in reports.
    pub(super) fn client(&self) -> &str {
        &self.client
    }
}
