//! The commands for real networks, a file each, and their shared parts: endpoints, connecting, exit codes.
//! Contains no protocol logic.

pub(crate) mod config_file;
pub(crate) mod connect;
pub(crate) mod forward;
pub(crate) mod perf;
pub(crate) mod recv;
pub(crate) mod send;
pub(crate) mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod tunnel;

mod devices;
pub(crate) mod drain;
mod exchange;
mod failures;
mod listen;
mod moves;
mod notify;
mod open;
pub(crate) mod options;
mod outage;
mod qlog;
pub(crate) mod reach;
mod reload;
mod schemes;
pub(crate) mod security;
mod server;
mod service;
mod sources;
pub(crate) mod status;
mod tcp;
mod text;
mod transfer;

use std::time::Duration;

use msctp::{AssociationError, LossReason, SendError};
use msctp_terminal::Failure;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use self::open::Open;

/// Limit of blocking threads, which read standard input and write standard output. The runtime starts another
/// whenever none is idle, so without a limit their number would grow over hours.
const POOL: usize = 4;

/// Interval at which a draining process checks for open connections.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a command's work on one thread until it is done or a signal arrives, then aborts the associations
/// that are still up.
pub(crate) fn block_on(work: impl AsyncFnOnce(&Open) -> Result<(), Failure>) -> Result<(), Failure> {
    block_on_with(POOL, work)
}

/// Same as [`block_on`], with another limit of blocking threads.
fn block_on_with(pool: usize, work: impl AsyncFnOnce(&Open) -> Result<(), Failure>) -> Result<(), Failure> {
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(pool)
        .build()
        .map_err(|error| Failure::Run(format!("cannot start the event loop: {error}")))?;
    let result = runtime.block_on(async {
        // Before the work begins: a user who sees its first line may send a signal.
        let mut signals = Signals::register()?;
        let open = Open::default();
        let result = tokio::select! {
            result = work(&open) => result,
            signal = signals.end(&open) => Err(signal),
        };
        let logged = open.close(&result).await;
        result.and(logged)
    });
    // A read of standard input cannot be cancelled, so do not wait for it.
    runtime.shutdown_background();
    result
}

/// Maximum number of descriptors that a process requests: 1024 clients with 1024 connections each.
const DESCRIPTORS: u64 = 1 << 20;

/// Raises the soft limit of open files to the hard one: a connection takes one, and the usual soft limit is
/// 1024.
fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let wanted = hard.min(DESCRIPTORS);
        if soft < wanted {
            // It goes on with fewer, and says so where a descriptor is missing.
            let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
        }
    }
}

/// The signals that end a command. SIGHUP is ignored if it was ignored at start (nohup) or if the server
/// reloads on it.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    hangup: Option<Signal>,
}

/// Returns whether this process was started with SIGHUP ignored. Linux only: elsewhere false.
fn ignores_hangups() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SignalKind::hangup().as_raw_value() - 1)) != 0)
}

impl Signals {
    fn register() -> Result<Self, Failure> {
        let registered =
            |kind| signal(kind).map_err(|error| Failure::Run(format!("cannot watch for signals: {error}")));
        Ok(Self {
            interrupt: registered(SignalKind::interrupt())?,
            terminate: registered(SignalKind::terminate())?,
            quit: registered(SignalKind::quit())?,
            hangup: if ignores_hangups() { None } else { Some(registered(SignalKind::hangup())?) },
        })
    }

    /// Waits for a signal. After SIGTERM, waits until the connections have ended if --drain is given.
    async fn end(&mut self, open: &Open) -> Failure {
        let signal = self.receive(open).await;
        let limit = open.drain_limit();
        if limit.is_zero()
            || !matches!(signal, Failure::Signal(number, _) if i32::from(number) == SignalKind::terminate().as_raw_value())
        {
            return signal;
        }
        let (monitor, seconds) = (open.monitor(), limit.as_secs());
        monitor.start_draining();
        match monitor.connections() {
            0 => {}
            open => eprintln!("terminated: waiting at most {seconds} s until {open} connections end"),
        }
        let ended = async {
            while monitor.connections() > 0 {
                tokio::time::sleep(LOOK).await;
            }
            open.shut_down().await;
        };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(limit) => {}
            second = self.receive(open) => return second,
        }
        signal
    }

    /// Waits for one of the signals.
    async fn receive(&mut self, open: &Open) -> Failure {
        let Self { interrupt, terminate, quit, hangup } = self;
        let hangup = async {
            match hangup {
                Some(hangup) => while hangup.recv().await.is_some() && open.reloads() {},
                None => std::future::pending().await,
            }
        };
        let (kind, how) = tokio::select! {
            _ = interrupt.recv() => (SignalKind::interrupt(), "interrupted"),
            _ = terminate.recv() => (SignalKind::terminate(), "terminated"),
            _ = quit.recv() => (SignalKind::quit(), "ended by SIGQUIT"),
            () = hangup => (SignalKind::hangup(), "ended by SIGHUP"),
        };
        Failure::Signal(u8::try_from(kind.as_raw_value()).unwrap_or(0), how.to_owned())
    }
}

/// Adds the operation to an error, unless the peer's reason already explains it. Escapes control characters
/// that the peer may have sent.
fn failed(what: &str) -> impl Fn(&(dyn std::error::Error + 'static)) -> Failure + '_ {
    move |error| {
        let lost = match error.downcast_ref() {
            Some(SendError::Association(error)) => Some(error),
            _ => error.downcast_ref::<AssociationError>(),
        };
        Failure::Run(text::escape(&match lost {
            Some(AssociationError::Lost(LossReason::PeerAborted { reason, .. })) if !reason.is_empty() => {
                format!("the peer ended the association: {}", String::from_utf8_lossy(reason))
            }
            _ => format!("{what}: {error}"),
        }))
    }
}
