//! Handover policies to deploy: [`Anticipate`], with which every association of the crate `msctp` moves
//! unless its options name another.
//!
//! It uses the public traits of `msctp-proto` and `msctp-congestion` only, as a policy in any other crate
//! would. RFC 9260's own policy is [`Conservative`](msctp_proto::handover::Conservative).

mod anticipate;
#[cfg(test)]
mod testing;
pub mod train;

pub use anticipate::Anticipate;
