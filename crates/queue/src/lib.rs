//! Queues that keep delay short: CoDel ([`codel`], RFC 8289) and FQ-CoDel ([`fair_queue`], RFC 8290), for any
//! packet type. Sans-IO: time is an argument.

pub mod codel;
pub mod fair_queue;
mod limit;

pub use limit::{QueueLen, QueueLimit};
