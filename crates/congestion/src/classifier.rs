//! [`LossClassifier`]: distinguishes congestion losses from wireless losses.
//!
//! The sender calls it at the third duplicate acknowledgement (SCTP: third miss indication), before
//! [`Controller::on_loss`](crate::Controller::on_loss). [`Cause::Congestion`] changes nothing. After
//! [`Cause::Wireless`] the sender retransmits the packet without reporting the loss, so the window stays. The
//! classifier sees plain data and never sets a window.

use core::any::Any;
use core::fmt;

use crate::factory::{Factory, Make};
use crate::rtt::RoundTrips;

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A queue overflowed: the window must shrink.
    Congestion,
    /// A radio link lost the packet: the window may stay.
    Wireless,
}

/// The evidence when a loss is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The first TSN (TCP: sequence number) that was lost, as on the wire.
    pub sequence: u32,
    /// The first TSN (TCP: sequence number) that is not cumulatively acknowledged, as on the wire.
    pub unacknowledged: u32,
    /// The path's round-trip times, the last measured before the loss was detected; `None`: none was measured
    /// yet.
    pub round_trips: Option<RoundTrips>,
}

/// A loss classifier, one per association or connection.
///
/// [`Any`] lets the owner of an association find its own type again.
pub trait LossClassifier: Any + fmt::Debug + Send {
    /// Returns the name of the classifier for messages.
    fn name(&self) -> &'static str;

    /// Returns the cause of the loss detected now; [`Cause::Congestion`] if in doubt.
    fn classify(&mut self, evidence: &Evidence) -> Cause;
}

/// Makes the loss classifier of each association.
pub type ClassifierFactory = Factory<(), dyn LossClassifier>;

impl<M: Make<(), dyn LossClassifier>> From<M> for ClassifierFactory {
    fn from(options: M) -> Self {
        Self::of(options)
    }
}
