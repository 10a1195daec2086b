//! Dynamic addresses (RFC 5061): requests of ours, one outstanding at a time, and the peer's, answered and cached.
//!
//! [`AsconfOut`] and [`AsconfIn`] are pure bookkeeping of serial numbers, address lists and answers. They may not touch
//! paths: what has to change there comes out as [`AsconfEvent`]s and [`Effect`]s, whose `apply` does it.

mod apply;
mod incoming;
mod outgoing;

#[cfg(test)]
mod agreement_tests;

pub use apply::{Applied, prepare_local};
pub use incoming::{AsconfIn, Effect, Received, Reception};
pub use outgoing::{Ack, AsconfEvent, AsconfOut, MAX_BUNDLED, MAX_WAITING, Rejection};
