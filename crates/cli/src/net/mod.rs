//! The commands for real networks. Each has a file; here is what they share: where the packets leave, how the association is
//! set up, how errors become exit codes. May not know how SCTP works.

pub(crate) mod connect;
pub(crate) mod perf;
pub(crate) mod recv;
pub(crate) mod send;
pub(crate) mod serve;

mod moves;
mod options;
mod transfer;

use std::future::Future;

use crate::Failure;

/// Threads beside that one, which read standard input and write standard output. Without a bound the runtime makes another
/// whenever none is idle at that moment, and over hours there are many.
const POOL: usize = 4;

/// Runs a command's work on one thread; Ctrl-C ends it.
fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(POOL)
        .build()
        .map_err(|error| Failure::Run(format!("no runtime: {error}")))?;
    let result = runtime.block_on(async {
        let interrupted = tokio::signal::ctrl_c();
        let (mut work, mut interrupted) = (std::pin::pin!(work), std::pin::pin!(interrupted));
        std::future::poll_fn(|cx| {
            if let done @ std::task::Poll::Ready(_) = work.as_mut().poll(cx) {
                return done;
            }
            match interrupted.as_mut().poll(cx) {
                std::task::Poll::Ready(_) => {
                    std::task::Poll::Ready(Err(Failure::Run("interrupted".to_owned())))
                }
                std::task::Poll::Pending => std::task::Poll::Pending,
            }
        })
        .await
    });
    // A read of standard input cannot be given up, so it is not waited for.
    runtime.shutdown_background();
    result
}

/// A failure on the way, after what was being done.
fn failed(what: &str) -> impl Fn(&dyn std::error::Error) -> Failure + '_ {
    move |error| Failure::Run(format!("{what}: {error}"))
}
