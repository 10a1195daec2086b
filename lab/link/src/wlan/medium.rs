//! A [`Cell`] as a [`Medium`].

use msctp_units::Time;

use super::cell::Cell;
use crate::fate::{Delivery, Offer};
use crate::loss::LossProcess;
use crate::medium::{Medium, PortId};
use crate::model::{Change, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::QueueLen;

impl<P: Send> Medium<P> for Cell<P> {
    fn offer(&mut self, now: Time, port: PortId, packet: P, wire_len: u32) -> Offer<P> {
        Self::offer(self, now, port, packet, wire_len)
    }

    fn next_delivery(&self) -> Option<Time> {
        Self::next_delivery(self)
    }

    fn deliver(&mut self, now: Time) -> Option<(PortId, Delivery<P>)> {
        Self::deliver(self, now)
    }

    fn change(&mut self, now: Time, port: PortId, change: Change) -> Result<(), Unsupported> {
        Self::change(self, now, port, change)
    }

    fn set_loss(&mut self, port: PortId, loss: Option<Box<dyn LossProcess>>) {
        self.channel_mut(port).set_loss(loss);
    }

    fn is_up(&self, port: PortId) -> bool {
        Self::is_up(self, port)
    }

    fn queue_len(&self, port: PortId) -> QueueLen {
        Self::queue_len(self, port)
    }

    fn stats(&self, port: PortId) -> &LinkStats {
        self.port_stats(port)
    }

    fn resent(&self) -> u64 {
        Self::stats(self).retries
    }

    fn receive_power(&self, now: Time, port: PortId) -> Option<i32> {
        let channel = self.channel(port);
        let heard = Self::is_up(self, port) && channel.covers(now);
        heard.then(|| channel.receive_power(now).unwrap_or(i32::MAX))
    }
}
