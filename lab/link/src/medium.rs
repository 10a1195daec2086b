//! [`Medium`]: the interface of a resource that several links share, and its ports.

use core::fmt;

use msctp_units::Time;

use crate::fate::{Delivery, Offer};
use crate::loss::LossProcess;
use crate::model::{Change, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::QueueLen;

/// One direction of a link over a [`Medium`]. The first of a pair leads from the link's `a` to its `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId(pub(crate) usize);

impl PortId {
    /// Returns the port's number in its medium, from 0, in the order of addition.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A resource that several links share: a cell of a wireless network. `now` never goes back.
///
/// It is like [`LinkModel`](crate::LinkModel), with a port in place of the one direction. After any call,
/// [`next_delivery`](Self::next_delivery) returns the time to call [`deliver`](Self::deliver).
pub trait Medium<P>: fmt::Debug + Send {
    /// Offers a packet of `wire_len` bytes at a port.
    fn offer(&mut self, now: Time, port: PortId, packet: P, wire_len: u32) -> Offer<P>;

    /// Returns the earliest time at which [`deliver`](Self::deliver) has work.
    fn next_delivery(&self) -> Option<Time>;

    /// Returns the next packet that has left by `now`, with its port, in order of leaving.
    fn deliver(&mut self, now: Time) -> Option<(PortId, Delivery<P>)>;

    /// Changes a property of a port's link.
    ///
    /// # Errors
    /// [`Unsupported`] if the model has no such property; nothing changes in that case.
    fn change(&mut self, now: Time, port: PortId, change: Change) -> Result<(), Unsupported>;

    /// Replaces the loss process of a port's link.
    fn set_loss(&mut self, port: PortId, loss: Option<Box<dyn LossProcess>>);

    /// Returns whether a port's link is up.
    fn is_up(&self, port: PortId) -> bool;

    /// Returns the length of a port's queue.
    fn queue_len(&self, port: PortId) -> QueueLen;

    /// Returns the counters of a port.
    fn stats(&self, port: PortId) -> &LinkStats;

    /// Returns the number of frames that the medium has retransmitted.
    fn resent(&self) -> u64 {
        0
    }

    /// Returns the receive power at the far end of a port in thousandths of dBm; `None` if it is too weak or
    /// the link is down. A link without a radio returns the greatest value.
    fn receive_power(&self, now: Time, port: PortId) -> Option<i32>;
}
