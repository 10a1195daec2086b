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

use core::net::IpAddr;

pub(crate) use apply::prepare_local;
pub(crate) use incoming::{AsconfIn, Effect, Received, Reception};
pub(crate) use outgoing::{Ack, AsconfEvent, AsconfOut};

/// A request to the peer to change addresses (RFC 5061).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRequest {
    /// Add this local address.
    Add(IpAddr),
    /// Delete this local address.
    Delete(IpAddr),
    /// Send data to this local address from now on.
    SetPrimary(IpAddr),
    /// Delete all addresses of this end except this one, the source of the request (the wildcard of RFC 5061
    /// §4.2.2).
    KeepOnly(IpAddr),
}
