//! Bandwidth estimators: what a path can carry, found by probing it.
//!
//! An estimator says when to send a probe of which size, and is told when the answer to it came. What a probe is
//! (a HEARTBEAT padded with PAD, for one) and how it is authenticated is the caller's business.

mod wbest;

pub use wbest::{InvalidWBest, Probe, WBest, WBestConfig};

use msctp_units::{Rate, Span};

/// What an estimator found out about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// C: the bottleneck's capacity, bit/s of IP packets.
    pub capacity: Rate,
    /// B: what of it is free, bit/s of IP packets, smoothed over iterations. May exceed `capacity` when that fell
    /// since the last iteration.
    pub available: Rate,
    /// Least round-trip time of all probes so far.
    pub rtt_min: Span,
    /// Share of this iteration's train that was lost, in millionths.
    pub loss_ppm: u32,
    /// Which iteration it comes from, counted from 1.
    pub iteration: u64,
}
