//! One direction of a link in the simulation: the link model, its one wake-up in the event queue, and its
//! counters.

use std::fmt::Display;

use msctp_congestion::classifier::Cause;
use msctp_link::trace::TraceLink;
use msctp_link::{
    Change, Class, Conditions, Delivery, Judgement, Link, LinkConfig, LinkModel, LinkStats, LossProcess,
    Marking, Offer, Outcome, QueueLen, Unsupported, WhenDown,
};
use msctp_units::{Ecn, Time};

use crate::air::{self, Air, AirPort};
use crate::link_models::{self, loss_process};
use crate::losses::{self, Lost};
use crate::mobility::Between;
use crate::packet::{PacketId, PacketPool};
use crate::scenario::DirectionSpec;
use crate::summary::LinkSummary;

/// The link model of one direction. Plain links, which carry most packets of a large run, are called without
/// dynamic dispatch.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are plain, and a box would cost a cache miss per packet"
)]
enum Model {
    Plain(Link<PacketId>),
    Other(Box<dyn LinkModel<PacketId>>),
    /// A port of a cell in [`Air`](crate::air::Air), which several directions share.
    Air(AirPort),
}

impl Model {
    fn new(
        spec: &DirectionSpec,
        port: Option<AirPort>,
        distance: Between,
        label: impl Display,
        seed: u64,
    ) -> Self {
        match spec {
            DirectionSpec::Wlan(wlan) => match port {
                Some(port) => Self::Air(port),
                None => Self::Other(air::unshared(wlan, distance, label, seed)),
            },
            DirectionSpec::Cellular(_) => Self::Air(port.expect(link_models::CHECKED)),
            DirectionSpec::Egprs(egprs) => Self::Other(link_models::egprs(egprs, label, seed)),
            DirectionSpec::Lte(lte) => Self::Other(link_models::lte(lte, label, seed)),
            DirectionSpec::Trace(trace) => {
                let loss = loss_process(&trace.loss, label, seed);
                Self::Other(Box::new(TraceLink::new(trace.config.clone(), loss)))
            }
            DirectionSpec::Own(own) => Self::Other(link_models::own(own, label, seed)),
            DirectionSpec::Plain(plain) => {
                if let Some(config) = plain.managed() {
                    return Self::Other(link_models::managed(config, &plain.loss, label, seed));
                }
                let config = LinkConfig {
                    rate: plain.rate,
                    delay: plain.delay,
                    queue: plain.queue,
                    when_down: WhenDown::Drop,
                };
                Self::Plain(Link::new(config, loss_process(&plain.loss, label, seed)))
            }
        }
    }

    #[inline]
    fn offer(
        &mut self,
        now: Time,
        air: &mut Air,
        id: PacketId,
        wire_len: u32,
        class: impl FnOnce() -> Class,
    ) -> Offer<PacketId> {
        match self {
            Self::Plain(link) => link.offer(now, id, wire_len),
            Self::Other(model) => model.offer_as(now, id, wire_len, class()),
            Self::Air(port) => air.offer(now, *port, id, wire_len),
        }
    }

    /// Returns `None` for a port of a cell, since the cell schedules its deliveries.
    #[inline]
    fn next_delivery(&self) -> Option<Time> {
        match self {
            Self::Plain(link) => link.next_delivery(),
            Self::Other(model) => model.next_delivery(),
            Self::Air(_) => None,
        }
    }

    #[inline]
    fn deliver(&mut self, now: Time) -> Option<Delivery<PacketId>> {
        match self {
            Self::Plain(link) => link.deliver(now),
            Self::Other(model) => model.deliver(now),
            Self::Air(_) => None,
        }
    }

    fn change(&mut self, now: Time, air: &mut Air, change: Change) -> Result<(), Unsupported> {
        match self {
            Self::Plain(link) => link.change(now, change),
            Self::Other(model) => model.change(now, change),
            Self::Air(port) => air.change(now, *port, change),
        }
    }

    fn queue_len(&self, now: Time, air: &Air) -> QueueLen {
        match self {
            Self::Plain(link) => link.queue_len(now),
            Self::Other(model) => model.queue_len(now),
            Self::Air(port) => air.queue_len(*port),
        }
    }

    fn stats<'s>(&'s self, air: &'s Air) -> &'s LinkStats {
        match self {
            Self::Plain(link) => link.stats(),
            Self::Other(model) => model.stats(),
            Self::Air(port) => air.stats(*port),
        }
    }
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Hop {
    link: Model,
    /// Node at the far end.
    pub(crate) leads_to: u32,
    /// MTU in bytes.
    mtu: u32,
    /// The cause that its loss process represents.
    channel: Cause,
    /// Marking of packets before the queue is full.
    marking: Option<Marking>,
    /// Packets marked.
    marked: u64,
    /// Packets dropped because they could not be marked.
    unmarkable: u64,
    /// Packets dropped because they exceeded the MTU.
    too_big: u64,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
}

impl Hop {
    /// Creates a direction that is up. `port` is its port in a cell, if it has one. `distance` is that
    /// between its ends.
    pub(crate) fn new(
        spec: &DirectionSpec,
        port: Option<AirPort>,
        distance: Between,
        (leads_to, mtu, channel): (u32, u32, Cause),
        marking: Option<Marking>,
        label: impl Display,
        seed: u64,
    ) -> Self {
        let link = Model::new(spec, port, distance, label, seed);
        Self { link, leads_to, mtu, channel, marking, marked: 0, unmarkable: 0, too_big: 0, wake: Time::MAX }
    }

    /// Returns the port of a direction in a cell.
    #[inline]
    pub(crate) fn cell(&self) -> Option<u32> {
        match self.link {
            Model::Air(port) => Some(port.cell),
            Model::Plain(_) | Model::Other(_) => None,
        }
    }

    /// Applies the queue's marking to an arriving packet and counts it.
    #[inline]
    pub(crate) fn judge(&mut self, now: Time, air: &Air, wire_len: u32, ecn: Ecn) -> Judgement {
        let Some(marking) = self.marking else { return Judgement::Pass };
        let judgement = marking.judge(self.link.queue_len(now, air), wire_len, ecn.is_capable());
        match judgement {
            Judgement::Pass => {}
            Judgement::Mark => self.marked += 1,
            Judgement::Drop => self.unmarkable += 1,
        }
        judgement
    }

    /// Offers a packet to the link. Calls `class` if the link's queue uses it. Returns a dropped packet and
    /// the cause.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        air: &mut Air,
        id: PacketId,
        wire_len: u32,
        class: impl FnOnce() -> Class,
    ) -> Option<(PacketId, Option<Cause>)> {
        if wire_len > self.mtu {
            self.too_big += 1;
            return Some((id, None));
        }
        self.enter(now, air, id, wire_len, class)
    }

    /// Returns the total length of a packet's fragments, each with an IPv4 header; `None` if it needs no
    /// fragmentation.
    #[inline]
    pub(crate) fn in_pieces(&self, wire_len: u32) -> Option<u32> {
        const HEADER: u32 = 20;
        if wire_len <= self.mtu {
            return None;
        }
        // RFC 791 §3.2: all fragments but the last have multiples of 8 bytes.
        let piece = (self.mtu - HEADER) / 8 * 8;
        Some((wire_len - HEADER) + HEADER * (wire_len - HEADER).div_ceil(piece))
    }

    /// Offers a packet like [`offer`](Self::offer), but ignores the MTU: the fragments of a packet are
    /// transmitted, and lost, together.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Time,
        air: &mut Air,
        id: PacketId,
        wire_len: u32,
        class: impl FnOnce() -> Class,
    ) -> Option<(PacketId, Option<Cause>)> {
        match self.link.offer(now, air, id, wire_len, class) {
            Offer::Queued => None,
            Offer::Dropped(id, reason) => Some((id, Some(losses::dropped(reason)))),
        }
    }

    /// Returns the time at which a wake-up must be scheduled, if none is that early.
    #[inline]
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.link.next_delivery()?;
        if next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    /// Returns the time at which the next wake-up must be scheduled, after one was handled.
    #[inline]
    pub(crate) fn rearm(&mut self, now: Time) -> Option<Time> {
        // A wake-up that an earlier one replaced is still in the queue.
        if self.wake <= now {
            self.wake = Time::MAX;
        }
        self.arm()
    }

    /// Returns the next packet that has arrived by `now`. Reports lost packets to `lost`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, pool: &mut PacketPool, lost: &mut Lost) -> Option<PacketId> {
        // The check is cheaper than a call of the model, which often has no packet.
        while self.link.next_delivery().is_some_and(|next| next <= now) {
            let delivery = self.link.deliver(now)?;
            match delivery.outcome {
                Outcome::Arrived => return Some(delivery.packet),
                Outcome::Marked => {
                    self.marked += 1;
                    pool.mark(delivery.packet);
                    return Some(delivery.packet);
                }
                Outcome::Lost(reason) => {
                    lost.lose(pool, delivery.packet, Some(losses::lost(reason, self.channel)));
                }
            }
        }
        None
    }

    /// Returns the queue length in packets and bytes.
    pub(crate) fn queue(&self, now: Time, air: &Air) -> (u64, u64) {
        let len = self.link.queue_len(now, air);
        (len.packets, len.bytes)
    }

    /// Returns the bytes delivered so far.
    pub(crate) fn delivered_bytes(&self, air: &Air) -> u64 {
        self.link.stats(air).delivered.bytes
    }

    /// Returns the number of packets dropped or lost so far, for any reason.
    pub(crate) fn dropped(&self, air: &Air) -> u64 {
        let stats = self.link.stats(air);
        let counts =
            [stats.dropped_full, stats.dropped_discipline, stats.dropped_down, stats.lost, stats.lost_down];
        counts.iter().map(|count| count.packets).sum::<u64>() + self.too_big + self.unmarkable
    }

    /// Returns the conditions of a radio link that is up.
    pub(crate) fn conditions(&self) -> Option<Conditions> {
        match &self.link {
            Model::Plain(_) | Model::Air(_) => None,
            Model::Other(model) => model.conditions().filter(|_| model.is_up()),
        }
    }

    /// Returns the number of radio data blocks sent for the first time; `None` for links without blocks.
    pub(crate) fn blocks_sent(&self) -> Option<u64> {
        match &self.link {
            Model::Plain(_) | Model::Air(_) => None,
            Model::Other(model) => model.blocks_sent(),
        }
    }

    /// Returns whether the link is up.
    pub(crate) fn is_up(&self, air: &Air) -> bool {
        match &self.link {
            Model::Plain(link) => link.is_up(),
            Model::Other(model) => model.is_up(),
            Model::Air(port) => air.is_up(*port),
        }
    }

    /// Brings the link up or takes it down.
    pub(crate) fn set_up(&mut self, now: Time, air: &mut Air, up: bool) {
        let done = self.link.change(now, air, if up { Change::Up } else { Change::Down });
        debug_assert!(done.is_ok(), "every link can go up and down");
    }

    /// Changes a property of the link.
    ///
    /// # Errors
    /// The model has no such property.
    pub(crate) fn change(&mut self, now: Time, air: &mut Air, change: Change) -> Result<(), Unsupported> {
        self.link.change(now, air, change)
    }

    /// Replaces the loss process of a plain link, or of both directions of one in a cell. Does not change
    /// links whose losses are not a process.
    pub(crate) fn set_loss(&mut self, air: &mut Air, loss: Option<Box<dyn LossProcess>>) {
        match &mut self.link {
            Model::Plain(link) => link.set_loss(loss),
            Model::Air(port) => air.set_loss(*port, loss),
            Model::Other(model) => model.set_loss(loss),
        }
    }

    /// Returns the receive power at the far end in mdBm; `None` if that is out of coverage or the link is
    /// down. Links without a radio return the greatest value.
    pub(crate) fn receive_power(&self, now: Time, air: &Air) -> Option<i32> {
        match &self.link {
            Model::Air(port) => air.receive_power(now, *port),
            Model::Plain(link) => link.is_up().then_some(i32::MAX),
            Model::Other(model) => model.is_up().then(|| model.receive_power(now).unwrap_or(i32::MAX)),
        }
    }

    pub(crate) fn summary(&self, air: &Air, name: String, from: String, to: String) -> LinkSummary {
        let stats = self.link.stats(air);
        LinkSummary {
            name,
            from,
            to,
            offered: stats.offered.packets + self.too_big + self.unmarkable,
            delivered: stats.delivered.packets,
            delivered_bytes: stats.delivered.bytes,
            queue_drops: stats.dropped_full.packets + stats.dropped_discipline.packets + self.unmarkable,
            marked: self.marked,
            losses: stats.lost.packets,
            resent: match &self.link {
                Model::Plain(_) => 0,
                Model::Other(model) => model.resent(),
                Model::Air(port) => air.resent(*port),
            },
            down_drops: stats.dropped_down.packets + stats.lost_down.packets,
            too_big: self.too_big,
            longest_queue: stats.max_queue_packets,
        }
    }
}
