//! The commands for real networks. Each has a file; here is what they share: where the packets leave, how the
//! association is set up, how errors become exit codes. May not know how SCTP works.

pub(crate) mod connect;
pub(crate) mod perf;
pub(crate) mod recv;
pub(crate) mod send;
pub(crate) mod serve;

mod exchange;
mod moves;
mod open;
mod options;
mod service;
mod text;
mod transfer;

use self::open::Open;
use crate::Failure;

/// Threads beside that one, which read standard input and write standard output. Without a bound the runtime
/// makes another whenever none is idle at that moment, and over hours there are many.
const POOL: usize = 4;

/// Runs a command's work on one thread until it is done or a signal comes. In either case the peers hear of
/// it before the process ends.
fn block_on(work: impl AsyncFnOnce(&Open) -> Result<(), Failure>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(POOL)
        .build()
        .map_err(|error| Failure::Run(format!("no runtime: {}", text::system(&error))))?;
    let result = runtime.block_on(async {
        let open = Open::default();
        let result = tokio::select! {
            result = work(&open) => result,
            signal = signal() => Err(signal),
        };
        open.close(&result).await;
        result
    });
    // A read of standard input cannot be cancelled, so it is not waited for.
    runtime.shutdown_background();
    result
}

/// Waits for SIGINT or SIGTERM.
async fn signal() -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
    match (signal(interrupt), signal(terminate)) {
        (Ok(mut interrupted), Ok(mut terminated)) => {
            let kind = tokio::select! {
                _ = interrupted.recv() => interrupt,
                _ = terminated.recv() => terminate,
            };
            let how = if kind == interrupt { "interrupted" } else { "terminated" };
            Failure::Signal(u8::try_from(kind.as_raw_value()).unwrap_or(0), how.to_owned())
        }
        (Err(error), _) | (_, Err(error)) => {
            Failure::Run(format!("cannot watch for signals: {}", text::system(&error)))
        }
    }
}

/// A failure on the way, after what was being done. What the peer said of it is made safe to print.
fn failed(what: &str) -> impl Fn(&dyn std::error::Error) -> Failure + '_ {
    move |error| Failure::Run(format!("{what}: {}", text::shown(&error.to_string())))
}
