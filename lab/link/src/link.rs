//! [`Link`]: a point-to-point link. Store-and-forward, first in first out: drop-tail queue, transmission at a
//! rate, propagation, then the loss process.

use core::fmt;

use msctp_units::{Rate, Span, Time};

use crate::fate::{Delivery, DropReason, LossReason, Offer, Outcome};
use crate::loss::LossProcess;
use crate::model::{Change, LinkModel, Unsupported};
use crate::queue::{Entry, Fifo};
use crate::stats::LinkStats;
use msctp_queue::{QueueLen, QueueLimit};

/// Properties of a [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Transmission rate in bit/s of the wire. [`Rate::ZERO`] transmits nothing until it changes.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Span,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// Treatment of packets when the link goes down.
    pub when_down: WhenDown,
}

/// Treatment of packets by a link that is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenDown {
    /// Drops all packets in the link (queued, in transmission and propagating) and new ones. The default.
    #[default]
    Drop,
    /// Stops transmitting. Propagating packets arrive, the others wait, and the queue fills until the link is
    /// up again.
    Keep,
}

/// Transmission work of a byte in bit/s · ns, which divided by a rate gives the time.
pub(crate) const WORK_PER_BYTE: u128 = 8 * 1_000_000_000;

/// A point-to-point link in one direction.
///
/// - Packets leave in order: after a shorter delay or a higher rate was set, no packet arrives before one
///   sent earlier.
/// - A new rate holds for the rest of the packet in transmission too; a new delay for packets that depart
///   after it was set.
/// - Transmission time is rounded to the nearest nanosecond for each packet.
/// - A departure comes before an arrival at the same instant: the packet in transmission makes room first.
pub struct Link<P> {
    config: LinkConfig,
    loss: Option<Box<dyn LossProcess>>,
    up: bool,
    fifo: Fifo<P>,
    /// Remaining work of the packet in transmission while the rate is zero, in bit/s · ns.
    stalled_work: u128,
    stats: LinkStats,
}

impl<P> Link<P> {
    /// Creates a link that is up and empty. Without a loss process it loses no packets in flight.
    pub fn new(config: LinkConfig, loss: Option<Box<dyn LossProcess>>) -> Self {
        Self { config, loss, up: true, fifo: Fifo::new(), stalled_work: 0, stats: LinkStats::default() }
    }

    /// Returns the properties now.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Replaces the loss process, from the next packet that arrives on; with `None` no packets are lost in
    /// flight.
    pub fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        self.loss = loss;
    }

    /// Returns the rate at which packets are transmitted now: zero while the link is down.
    fn service_rate(&self) -> Rate {
        if self.up { self.config.rate } else { Rate::ZERO }
    }

    /// Returns the departure and arrival time of the next packet, which enters now.
    fn times(&self, now: Time, wire_len: u32) -> (Time, Time) {
        let rate = self.service_rate();
        let (free, last_arrival) =
            self.fifo.last().map_or((now, Time::ZERO), |last| (last.departs.max(now), last.arrives));
        let departs = if rate.is_zero() { Time::MAX } else { free + rate.time_for(wire_len.into()) };
        (departs, (departs + self.config.delay).max(last_arrival))
    }

    /// Runs `alter`, then recomputes the times of the packets that have not departed.
    fn reschedule(&mut self, now: Time, alter: impl FnOnce(&mut Self)) {
        self.fifo.advance(now);
        let before = self.service_rate();
        let head_work = {
            let (_, mut undeparted) = self.fifo.undeparted_mut();
            match undeparted.next() {
                None => 0,
                Some(_) if before.is_zero() => self.stalled_work,
                Some(head) => u128::from(head.departs.since(now).as_nanos()) * u128::from(before.as_bps()),
            }
        };
        alter(self);
        let (rate, delay) = (self.service_rate(), self.config.delay);
        self.stalled_work = if rate.is_zero() { head_work } else { 0 };
        let (last_arrival, undeparted) = self.fifo.undeparted_mut();
        let mut departs = now;
        let mut arrives = last_arrival.unwrap_or(Time::ZERO);
        for (index, entry) in undeparted.enumerate() {
            departs = match (rate.as_bps(), index) {
                (0, _) => Time::MAX,
                (bps, 0) => departs + rounded(head_work, bps),
                _ => departs + rate.time_for(entry.wire_len.into()),
            };
            arrives = arrives.max(departs + delay);
            (entry.departs, entry.arrives) = (departs, arrives);
        }
    }

    fn go_down(&mut self, now: Time) {
        match self.config.when_down {
            WhenDown::Keep => self.reschedule(now, |link| link.up = false),
            WhenDown::Drop => {
                self.up = false;
                self.fifo.lose_inside(now);
                self.stalled_work = 0;
            }
        }
    }
}

/// Returns `work / bps` nanoseconds, rounded to the nearest.
pub(crate) fn rounded(work: u128, bps: u64) -> Span {
    let ns = (work + u128::from(bps / 2)) / u128::from(bps);
    Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl<P: Send> LinkModel<P> for Link<P> {
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.stats.offered.add(wire_len);
        if !self.up && self.config.when_down == WhenDown::Drop {
            self.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        self.fifo.advance(now);
        if !self.fifo.has_room(self.config.queue, wire_len) {
            self.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        if self.fifo.is_idle() && self.service_rate().is_zero() {
            self.stalled_work = u128::from(wire_len) * WORK_PER_BYTE;
        }
        let (departs, arrives) = self.times(now, wire_len);
        self.fifo.push(Entry { packet, wire_len, lost: false, departs, arrives });
        self.stats.saw_queue(self.fifo.waiting());
        Offer::Queued
    }

    fn next_delivery(&self) -> Option<Time> {
        self.fifo.front().map(|entry| entry.arrives).filter(|&arrives| arrives != Time::MAX)
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        if self.fifo.front()?.arrives > now {
            return None;
        }
        self.fifo.advance(now);
        let entry = self.fifo.pop()?;
        let outcome = if entry.lost {
            Outcome::Lost(LossReason::LinkDown)
        } else if self.loss.as_mut().is_some_and(|loss| loss.loses(entry.departs, entry.wire_len)) {
            Outcome::Lost(LossReason::Channel)
        } else {
            Outcome::Arrived
        };
        let delivery = Delivery { packet: entry.packet, wire_len: entry.wire_len, outcome };
        self.stats.count(&delivery);
        Some(delivery)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        match change {
            Change::Rate(rate) => self.reschedule(now, |link| link.config.rate = rate),
            Change::Delay(delay) => self.reschedule(now, |link| link.config.delay = delay),
            Change::Up if !self.up => self.reschedule(now, |link| link.up = true),
            Change::Down if self.up => self.go_down(now),
            Change::Up | Change::Down => {}
            Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. } => {
                return Err(Unsupported { change });
            }
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.up
    }

    fn queue_len(&self, now: Time) -> QueueLen {
        self.fifo.waiting_at(now)
    }

    fn stats(&self) -> &LinkStats {
        &self.stats
    }
}

impl<P> fmt::Debug for Link<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("config", &self.config)
            .field("loss", &self.loss)
            .field("up", &self.up)
            .field("packets_inside", &self.fifo.len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
