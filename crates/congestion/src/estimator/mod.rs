//! Bandwidth estimators: the capacity of a path, measured by probing.
//!
//! An estimator decides when to send a bandwidth probe and its size, and receives the arrival times of the
//! answers. The caller builds and authenticates the probes, for example HEARTBEATs padded with PAD.

mod wbest;

pub use wbest::{InvalidWBest, Probe, WBest, WBestConfig};

use msctp_units::{Rate, Span};

/// An estimate of a path's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// C: the bottleneck's capacity, bit/s of IP packets.
    pub capacity: Rate,
    /// B: what of it is free, bit/s of IP packets, smoothed over iterations. May exceed `capacity` when that
    /// fell since the last iteration.
    pub available: Rate,
    /// Least round-trip time of all probes so far.
    pub rtt_min: Span,
    /// Share of this iteration's train that was lost, in millionths.
    pub loss_ppm: u32,
    /// Number of its iteration, from 1.
    pub iteration: u64,
}
