//! Congestion controllers for comparison.

mod rfc4960;

pub use rfc4960::{Rfc4960, Rfc4960Config};
