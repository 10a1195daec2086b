//! [`Open`] aborts the endpoints of a command when the command ends, so that no peer waits for it, and
//! completes its qlog.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use msctp::{Endpoint, TraceSink};
use msctp_qlog::Vantage;
use msctp_terminal::Failure;

use tokio::task::JoinSet;

use super::qlog::{Qlog, QlogArgs};
use super::status::Monitor;
use super::tcp::{Ending, Relays};

/// Time to wait until the kernel accepts the ABORTs.
const LEAVE: Duration = Duration::from_secs(1);

/// The endpoints that a command has bound.
#[derive(Default)]
pub(crate) struct Open {
    monitor: Monitor,
    /// Tasks that end with the command.
    tasks: RefCell<JoinSet<()>>,
    qlog: RefCell<Option<Qlog>>,
    drain: Cell<Duration>,
    reloads: Cell<bool>,
    relays: RefCell<Relays>,
}

impl Open {
    /// Registers an endpoint to abort when the command ends, whether it succeeds, fails or gets a signal.
    pub(crate) fn add(&self, endpoint: &Endpoint) {
        self.monitor.add(endpoint);
    }

    /// Returns the status of this process, which has its endpoints.
    pub(crate) const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Adds a packet relay, which is notified of the command's end.
    pub(crate) fn add_relay(&self) -> Ending {
        self.relays.borrow().add()
    }

    /// Makes SIGTERM wait at most this time for connections.
    pub(crate) fn drain_within(&self, limit: Duration) {
        self.drain.set(limit);
    }

    /// Makes SIGHUP a request to reload, which the command handles itself.
    pub(crate) fn reload_on_hangup(&self) {
        self.reloads.set(true);
    }

    /// Returns whether SIGHUP does not end the command.
    pub(crate) const fn reloads(&self) -> bool {
        self.reloads.get()
    }

    /// Returns the time for which SIGTERM waits for connections.
    pub(crate) const fn drain_limit(&self) -> Duration {
        self.drain.get()
    }

    /// Shuts every association down, so that each peer receives all data and the SHUTDOWN. Only the
    /// associations' own failures limit the time.
    pub(crate) async fn shut_down(&self) {
        let endpoints = self.monitor.endpoints();
        let mut ending = JoinSet::new();
        for association in endpoints.iter().flat_map(Endpoint::associations) {
            ending.spawn(async move { association.shutdown().await });
        }
        ending.join_all().await;
        for endpoint in endpoints {
            let _ = tokio::time::timeout(LEAVE, endpoint.idle()).await;
        }
    }

    /// Runs a task until the command ends.
    pub(crate) fn keep(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.borrow_mut().spawn(task);
    }

    /// Opens the qlog of the endpoints that are bound from now on, if the arguments ask for one.
    pub(crate) fn log(&self, args: &QlogArgs, vantage: Vantage) -> Result<(), Failure> {
        *self.qlog.borrow_mut() = Qlog::open(args, vantage)?;
        Ok(())
    }

    /// Returns the trace sink of the next endpoint to be bound.
    pub(crate) fn trace(&self) -> Option<TraceSink> {
        self.qlog.borrow_mut().as_mut().map(Qlog::sink)
    }

    /// Aborts the associations that are still up, and completes the qlog. The ABORTs carry the error that
    /// ended the command.
    pub(crate) async fn close(&self, result: &Result<(), Failure>) -> Result<(), Failure> {
        let reason = result.as_ref().err().map_or("the command is over".to_owned(), ToString::to_string);
        self.tasks.take().shutdown().await;
        for endpoint in self.monitor.take_endpoints() {
            let _ = tokio::time::timeout(LEAVE, endpoint.abort(reason.clone())).await;
        }
        self.relays.take().finish().await;
        self.qlog.take().map_or(Ok(()), Qlog::finish)
    }
}
