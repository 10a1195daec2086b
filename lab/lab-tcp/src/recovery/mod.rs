//! Loss recovery: one file for each algorithm.
//!
//! A recovery receives acknowledgments and timeouts and selects the next segment to send. It reports when a
//! loss is found and how far the sender may exceed the window meanwhile. The controller has the window in
//! steady state, and the sender cuts it. A recovery sees no headers and no timers.

mod inflation;
mod ld;
mod newreno;
mod reno;
mod sack;

use std::fmt::Debug;

use crate::config::{Algorithm, Config};
use crate::outstanding::{Outstanding, Segment};

pub(crate) use ld::Response;

/// Creates the recovery of `algorithm` with its options.
pub(crate) fn start(algorithm: Algorithm, config: &Config) -> Box<dyn Recovery> {
    let limited_transmit = config.limited_transmit;
    match algorithm {
        Algorithm::Reno => Box::new(reno::Reno::new(limited_transmit, config.once_per_window)),
        Algorithm::NewReno => Box::new(newreno::NewReno::new(config)),
        Algorithm::Sack => Box::new(sack::Sack::new(limited_transmit, config.counted_pipe)),
    }
}

/// Content of an acknowledgment, already counted in [`Outstanding::una`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckView<'a> {
    /// Bytes newly acknowledged by the acknowledgment field.
    pub(crate) acked: u64,
    /// True for a duplicate as RFC 5681 §2 defines it: nothing new, no data, same window, something
    /// outstanding.
    pub(crate) plain_duplicate: bool,
    /// The congestion window in bytes, before this acknowledgment.
    pub(crate) cwnd: u64,
    /// Valid SACK blocks, as offsets.
    pub(crate) blocks: &'a [(u64, u64)],
}

/// Result of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// A loss was detected: call [`Recovery::enter`] with the response.
    pub(crate) lost: bool,
    /// Fast recovery or LD recovery ended.
    pub(crate) left: bool,
    /// The acknowledgment counted as a duplicate.
    pub(crate) duplicate: bool,
    /// True if the ACK of new data does not restart the retransmission timer.
    pub(crate) keep_timer: bool,
}

/// A loss recovery algorithm.
pub(crate) trait Recovery: Debug + Send {
    /// Handles an acknowledgment that is not older than the last one.
    fn on_ack(&mut self, at: &Outstanding, ack: &AckView<'_>) -> Outcome;

    /// Starts the response to a detected loss, or after a [`Response::Wait`]. Returns FlightSize in bytes.
    fn enter(&mut self, at: &Outstanding, response: Response) -> u64;

    /// Handles an expired retransmission timer. `at.nxt` is unchanged.
    fn on_timeout(&mut self, at: &Outstanding);

    /// Returns the segment to send next, if the congestion window `cwnd` (bytes) allows one.
    fn next(&self, at: &Outstanding, cwnd: u64) -> Option<Segment>;

    /// Records that the segment was sent. `at` is the state before it.
    fn on_sent(&mut self, at: &Outstanding, segment: &Segment);

    /// Returns whether fast recovery or LD recovery is in progress.
    fn is_recovering(&self) -> bool;

    /// Returns the algorithm's estimate of the bytes in the network.
    fn pipe(&self, at: &Outstanding) -> u64;
}

/// Number of duplicate ACKs that indicate a loss (RFC 5681 §3.2, RFC 6675 §2).
const DUP_THRESH: u32 = 3;
