//! The programs in the hosts: a server that sends for as long as it can, and a receiver that logs each
//! delivery to its application.

mod mptcp;
mod msctp;
pub mod quinn;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::Failure;
use crate::capture::{Capture, Wanted};
use crate::case::{SERVER, Stack};

/// UDP or TCP port of every server.
const PORT: u16 = 9899;

/// Length of a write or message: it fits one packet, so that no message waits for its rest.
const MESSAGE: usize = 1400;

/// Length of a read in bytes, if the stack has no messages.
const READ: usize = 1 << 16;

/// The certificate of quinn's server and its key, in the run's folder.
pub const CERTIFICATE: &str = "certificate.der";
pub const KEY: &str = "key.der";

/// Options of a receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Link names, the best first.
    pub prefer: Vec<String>,
    /// Time for which it receives.
    pub time: Duration,
    /// File of the log.
    pub log: PathBuf,
    /// The run's folder.
    pub folder: PathBuf,
    /// Handover policy of msctp, else its mobile profile's.
    pub policy: Option<String>,
    /// Capture of msctp.
    pub capture: Wanted,
}

fn server() -> Result<SocketAddr, Failure> {
    Ok(SocketAddr::new(SERVER.parse::<IpAddr>()?, PORT))
}

/// Serves until it is stopped.
pub fn serve(
    stack: Stack,
    folder: &std::path::Path,
    policy: Option<&str>,
    capture: &Wanted,
) -> Result<(), Failure> {
    match stack {
        Stack::Msctp => runtime()?.block_on(msctp::serve(policy, capture)),
        Stack::Mptcp => mptcp::serve(),
        Stack::Quinn => runtime()?.block_on(quinn::serve(folder)),
    }
}

/// Receives for its whole time, even if the transfer ends early, and writes the log.
pub fn receive(stack: Stack, receiver: &Receiver) -> Result<(), Failure> {
    let mut log = crate::arrivals::Log::default();
    let end = tokio::time::Instant::now() + receiver.time;
    let ended = match stack {
        Stack::Msctp => runtime()?.block_on(async {
            let capture = receiver.capture.open("mobile")?;
            let received = msctp::receive(receiver, capture.as_ref(), &mut log);
            let ended = tokio::time::timeout_at(end, received).await.unwrap_or(Ok(()));
            capture.map_or(Ok(()), Capture::finish)?;
            ended
        }),
        Stack::Mptcp => mptcp::receive(end.into_std(), &mut log),
        Stack::Quinn => runtime()?.block_on(async {
            tokio::time::timeout_at(end, quinn::receive(receiver, &mut log)).await.unwrap_or(Ok(()))
        }),
    };
    log.write(&receiver.log)?;
    ended
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
