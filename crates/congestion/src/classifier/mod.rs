//! [`LossClassifier`]: tells a congestion loss from a wireless loss.
//!
//! The sender calls it at the third duplicate acknowledgement (SCTP: third miss indication), before
//! [`Controller::on_loss`](crate::Controller::on_loss). [`Cause::Congestion`] changes nothing. After
//! [`Cause::Wireless`] the sender retransmits the packet without reporting the loss, so the window stays. The
//! classifier sees plain data and never sets a window. [`Controller`](crate::Controller) of the loss. After
//! [`Cause::Congestion`] it goes on as without a classifier; after [`Cause::Wireless`] it sends the packet
//! again and the controller hears nothing, so the window stays. How the sender recovers then is its own
//! business. A classifier sees plain data; it decides nothing about windows.

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

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A queue overflowed: the window must go down.
    Congestion,
    /// A radio link lost the packet: the window need not.
    Wireless,
}

/// The evidence when a loss is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The path's round-trip times, the last measured before the loss was seen; `None`: none was measured
    /// yet.
    pub round_trips: Option<RoundTrips>,
    /// The simulator's truth about the lost packet; `None` on a real network, or when it cannot tell. Only
    /// [`Oracle`] may look at it.
    pub truth: Option<Cause>,
}

/// A loss classifier for one path.
pub trait LossClassifier: fmt::Debug + Send {
    /// The name under which [`create`] makes this classifier.
    fn name(&self) -> &'static str;

    /// Returns the cause of the loss detected now; [`Cause::Congestion`] if in doubt.
    fn classify(&mut self, evidence: &Evidence) -> Cause;
}
