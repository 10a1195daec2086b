//! [`LossClassifier`]: was a loss congestion, or did a radio link lose a packet?
//!
//! The sender asks at the third duplicate acknowledgement (SCTP: third miss indication), before it tells its
//! [`Controller`](crate::Controller) of the loss. After [`Cause::Congestion`] it goes on as without a classifier; after
//! [`Cause::Wireless`] it sends the packet again and the controller hears nothing, so the window stays. How the sender recovers
//! then is its own business. A classifier sees plain data; it decides nothing about windows.

mod none;
mod oracle;
mod park_jang;
mod registry;
mod tally;

use core::fmt;

use crate::RoundTrips;

pub use none::None;
pub use oracle::Oracle;
pub use park_jang::{K, ParkJang};
pub use registry::{ClassifierInfo, classifiers, create, find};
pub use tally::Tally;

/// What a loss was due to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A queue overflowed: the window must go down.
    Congestion,
    /// A radio link lost the packet: the window need not.
    Wireless,
}

/// What is known when a loss is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The path's round-trip times, the last measured before the loss was seen; `None`: none was measured yet.
    pub round_trips: Option<RoundTrips>,
    /// What the simulator knows of the lost packet; `None` on a real network, or when it cannot tell. Only
    /// [`Oracle`] may look at it.
    pub truth: Option<Cause>,
}

/// Tells one kind of loss from the other, on one path.
pub trait LossClassifier: fmt::Debug + Send {
    /// The name under which [`create`] makes this classifier.
    fn name(&self) -> &'static str;

    /// What the loss seen now was due to. [`Cause::Congestion`] when in doubt.
    fn classify(&mut self, evidence: &Evidence) -> Cause;
}
