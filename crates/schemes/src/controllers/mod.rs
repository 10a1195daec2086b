//! Congestion controllers of our own and for comparison.

mod delay_bound;
mod rfc4960;

pub use delay_bound::{DelayBound, DelayBoundConfig};
pub use rfc4960::{Rfc4960, Rfc4960Config};
