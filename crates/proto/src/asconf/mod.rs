//! Dynamic addresses (RFC 5061): our requests, one outstanding at a time, and the peer's, answered and
//! cached.
//!
//! [`AsconfOut`] and [`AsconfIn`] keep serial numbers, address lists and answers. They do not touch paths:
//! they return [`AsconfEvent`]s and [`Effect`]s, whose `apply` changes the paths.

mod apply;
mod incoming;
mod outgoing;

#[cfg(test)]
mod agreement_tests;

pub use apply::{Applied, prepare_local};
pub use incoming::{AsconfIn, Effect, Received, Reception};
pub use outgoing::{Ack, AsconfEvent, AsconfOut, MAX_BUNDLED, MAX_WAITING, Rejection};
