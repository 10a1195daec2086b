//! [`WlanLink`]: one direction of a radio hop that shares its airtime with no other, as a [`LinkModel`].

use core::fmt;

use msctp_units::{Span, Time};

use super::cell::{Cell, CellStats, RadioLinkConfig};
use super::channel::Channel;
use super::mac::MacConfig;
use crate::fate::{Delivery, Offer};
use crate::loss::LossProcess;
use crate::medium::PortId;
use crate::model::{Change, LinkModel, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::{QueueLen, QueueLimit};

/// A cell with one sending station: stop-and-wait over a radio channel.
pub struct WlanLink<P> {
    cell: Cell<P>,
    port: PortId,
}

impl<P> WlanLink<P> {
    /// Creates a link that is up and empty. `delay` is added to the signal's propagation time, and `seed` is
    /// that of the backoffs.
    pub fn new(mac: MacConfig, delay: Span, queue: QueueLimit, channel: Channel, seed: [u8; 32]) -> Self {
        let mut cell = Cell::new(mac, seed);
        let (a, b) = (cell.add_station(), cell.add_station());
        let [port, _] = cell.add_link(RadioLinkConfig { a, b, delay, queues: [queue; 2], channel });
        Self { cell, port }
    }

    /// Replaces the process that loses single attempts.
    pub fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        self.cell.channel_mut(self.port).set_loss(loss);
    }

    /// Returns the counters of attempts, retries and abandoned frames.
    pub fn cell_stats(&self) -> &CellStats {
        self.cell.stats()
    }
}

impl<P: Send> LinkModel<P> for WlanLink<P> {
    fn resent(&self) -> u64 {
        self.cell_stats().retries
    }

    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.cell.offer(now, self.port, packet, wire_len)
    }

    fn next_delivery(&self) -> Option<Time> {
        self.cell.next_delivery()
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.cell.deliver(now).map(|(_, delivery)| delivery)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        self.cell.change(now, self.port, change)
    }

    fn is_up(&self) -> bool {
        self.cell.is_up(self.port)
    }

    fn queue_len(&self, _now: Time) -> QueueLen {
        self.cell.queue_len(self.port)
    }

    fn stats(&self) -> &LinkStats {
        self.cell.port_stats(self.port)
    }
}

impl<P> fmt::Debug for WlanLink<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WlanLink").field("cell", &self.cell).finish_non_exhaustive()
    }
}
