//! [`Gate`]: the packet side of a radio link: accepts packets while the link is up and the queue has room,
//! and returns each once, counted. It sees no blocks and draws no random numbers.

use msctp_units::Time;

use crate::arq::Sdus;
use crate::fate::{Delivery, DropReason, LossReason, Offer};
use crate::model::Carries;
use crate::stats::LinkStats;
use msctp_queue::QueueLimit;

/// The packets inside a radio link, and the outcomes of the others.
#[derive(Debug)]
pub(crate) struct Gate<P> {
    pub(crate) sdus: Sdus<P>,
    queue: QueueLimit,
    up: bool,
    /// Time since which a packet is ready, if one is; else the time of the last event.
    clock: Time,
    stats: LinkStats,
}

impl<P> Gate<P> {
    /// Creates a gate that is up and empty. Each packet occupies `overhead` octets more than its length.
    /// `queue` limits the packets whose transmission has not begun.
    pub(crate) fn new(overhead: u32, queue: QueueLimit) -> Self {
        Self { sdus: Sdus::new(overhead), queue, up: true, clock: Time::ZERO, stats: LinkStats::default() }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    pub(crate) fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Advances the clock to `now`, which may make packets ready.
    pub(crate) fn tick(&mut self, now: Time) {
        if !self.sdus.is_ready() {
            self.clock = now;
        }
    }

    /// Returns the time since which a packet is ready.
    pub(crate) fn ready_since(&self) -> Option<Time> {
        self.sdus.is_ready().then_some(self.clock)
    }

    pub(crate) fn offer(&mut self, packet: P, wire_len: u32) -> Offer<P> {
        self.stats.offered.add(wire_len);
        if !self.up {
            self.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        if !self.sdus.has_room(self.queue, wire_len) {
            self.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        self.sdus.push(packet, wire_len);
        self.stats.saw_queue(self.sdus.waiting());
        Offer::Queued
    }

    pub(crate) fn pop(&mut self) -> Option<Delivery<P>> {
        let delivery = self.sdus.pop()?;
        self.stats.count(&delivery);
        Some(delivery)
    }

    pub(crate) fn go_up(&mut self) {
        self.up = true;
    }

    /// Loses everything inside.
    pub(crate) fn go_down(&mut self) {
        self.up = false;
        self.sdus.lose_all(LossReason::LinkDown);
    }

    /// Discards blocks in flight. Packets that the old cell does not forward are lost.
    pub(crate) fn hand_over(&mut self, carries: Carries) {
        match carries {
            Carries::Everything => self.sdus.rewind(),
            Carries::Unsent => self.sdus.lose_begun(LossReason::LinkDown),
            Carries::Nothing => self.sdus.lose_all(LossReason::LinkDown),
        }
    }
}
