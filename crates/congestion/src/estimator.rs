//! [`BandwidthEstimator`]: measures the capacity and the available bandwidth of one path by probes.

use core::fmt;

use msctp_units::{Rate, Span, Time};

/// An estimate of a path's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The bottleneck's capacity, bit/s of IP packets.
    pub capacity: Rate,
    /// Available bandwidth, bit/s of IP packets. May exceed `capacity` if that fell since the last estimate.
    pub available: Rate,
    /// Minimum round-trip time of all probes so far.
    pub rtt_min: Span,
    /// Share of the probes of this estimate that were lost, in millionths.
    pub loss_ppm: u32,
    /// Number of the estimate, from 1.
    pub iteration: u64,
}

/// Schedules the probes of one path, and estimates its bandwidth from the arrival times of the responses.
///
/// Sans-IO. The caller sends what [`poll_probe`](Self::poll_probe) returns until it returns `None`, then
/// takes [`poll_estimate`](Self::poll_estimate). It calls [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout). Probing ends when the estimator is dropped. The caller builds and
/// authenticates the probes: `msctp-proto` sends HEARTBEATs padded with PAD (RFC 4820).
pub trait BandwidthEstimator: fmt::Debug + Send {
    /// Returns the size of each probe as an IP packet, in bytes; a multiple of 4.
    fn probe_bytes(&self) -> u32;

    /// Returns the id of the next probe to send now. Ids ascend, and none repeats between two restarts.
    fn poll_probe(&mut self, now: Time) -> Option<u64>;

    /// Returns the number of probes in flight: neither answered nor timed out.
    fn outstanding(&self) -> usize;

    /// Processes the answer to probe `id`, received at `now`.
    fn on_probe_ack(&mut self, now: Time, id: u64);

    /// Handles timers due at `now`. Does nothing if none is.
    fn handle_timeout(&mut self, now: Time);

    /// Returns when [`handle_timeout`](Self::handle_timeout) or [`poll_probe`](Self::poll_probe) is due next.
    fn poll_timeout(&self) -> Option<Time>;

    /// Returns each new estimate once.
    fn poll_estimate(&mut self) -> Option<Estimate>;

    /// Returns the latest estimate.
    fn estimate(&self) -> Option<Estimate>;

    /// Restarts the estimate after a time in which the path could not carry probes. The probes in flight
    /// measure nothing.
    fn restart(&mut self, now: Time);
}
