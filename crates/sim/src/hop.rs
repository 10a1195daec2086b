//! One direction of a link in the simulation: the link model, its one wake-up in the event queue, and its
//! counters.

use std::fmt::Display;

use msctp_congestion::classifier::Cause;
use msctp_link::trace::TraceLink;
use msctp_link::{
    Change, Conditions, Delivery, Judgement, Link, LinkConfig, LinkModel, LinkStats, LossConfig, LossProcess,
    Marking, Offer, Outcome, QueueLen, Unsupported, WhenDown,
};
use msctp_units::{Ecn, Time};

use crate::air::{self, Air, AirPort};
use crate::losses::{self, Lost};
use crate::mobility::Between;
use crate::packet::{PacketId, PacketPool};
use crate::radio;
use crate::random;
use crate::scenario::DirectionSpec;
use crate::summary::LinkSummary;

/// The model of one direction. Nearly every packet of a big run goes over plain links: those are called
/// directly.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are plain, and a box would cost a cache miss per packet"
)]
enum Model {
    Plain(Link<PacketId>),
    Other(Box<dyn LinkModel<PacketId>>),
    /// A port of a cell, which is elsewhere because several directions share it.
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
            DirectionSpec::Egprs(egprs) => Self::Other(radio::egprs(egprs, label, seed)),
            DirectionSpec::Lte(lte) => Self::Other(radio::lte(lte, label, seed)),
            DirectionSpec::Trace(trace) => {
                let loss = loss_process(&trace.loss, label, seed);
                Self::Other(Box::new(TraceLink::new(trace.config.clone(), loss)))
            }
            DirectionSpec::Plain(plain) => {
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
    fn offer(&mut self, now: Time, air: &mut Air, id: PacketId, wire_len: u32) -> Offer<PacketId> {
        match self {
            Self::Plain(link) => link.offer(now, id, wire_len),
            Self::Other(model) => model.offer(now, id, wire_len),
            Self::Air(port) => air.offer(now, *port, id, wire_len),
        }
    }

    /// What a cell delivers is taken from the cell.
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
    /// Node it leads to.
    pub(crate) leads_to: u32,
    /// Largest IP packet that passes, in bytes.
    mtu: u32,
    /// What its loss process stands for.
    channel: Cause,
    /// How its queue tells of congestion before it is full.
    marking: Option<Marking>,
    /// Packets marked.
    marked: u64,
    /// Packets dropped because they could not be marked.
    unmarkable: u64,
    /// Packets dropped because they were larger.
    too_big: u64,
    /// Earliest wake-up in the event queue; [`Time::MAX`]: none.
    wake: Time,
}

/// The loss process of a direction, drawing from the beginning of the stream `LABEL/loss`.
pub(crate) fn loss_process(
    loss: &LossConfig,
    label: impl Display,
    seed: u64,
) -> Option<Box<dyn LossProcess>> {
    if *loss == LossConfig::None {
        return None;
    }
    let stream = random::component_seed(seed, &format!("{label}/loss"));
    loss.build(stream).expect("the scenario's checks let no other probabilities through")
}

impl Hop {
    /// `port`: where the direction is one of a cell's. `distance`: between its ends. The link is up.
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

    /// The cell the direction is a port of.
    #[inline]
    pub(crate) fn cell(&self) -> Option<u32> {
        match self.link {
            Model::Air(port) => Some(port.cell),
            Model::Plain(_) | Model::Other(_) => None,
        }
    }

    /// What its queue makes of a packet that arrives; counts it.
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

    /// Gives the link a packet; gives back what it drops, and why.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        air: &mut Air,
        id: PacketId,
        wire_len: u32,
    ) -> Option<(PacketId, Option<Cause>)> {
        if wire_len > self.mtu {
            self.too_big += 1;
            return Some((id, None));
        }
        self.enter(now, air, id, wire_len)
    }

    /// What a packet of this length measures on the link when it has to go in pieces: each has an IPv4 header
    /// of its own. `None`: it goes as it is.
    #[inline]
    pub(crate) fn in_pieces(&self, wire_len: u32) -> Option<u32> {
        const HEADER: u32 = 20;
        if wire_len <= self.mtu {
            return None;
        }
        // RFC 791 §3.2: all pieces but the last hold whole words of 8 bytes.
        let piece = (self.mtu - HEADER) / 8 * 8;
        Some((wire_len - HEADER) + HEADER * (wire_len - HEADER).div_ceil(piece))
    }

    /// As [`offer`](Self::offer), whatever the length: the pieces of one packet travel, and are lost, as one.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Time,
        air: &mut Air,
        id: PacketId,
        wire_len: u32,
    ) -> Option<(PacketId, Option<Cause>)> {
        match self.link.offer(now, air, id, wire_len) {
            Offer::Queued => None,
            Offer::Dropped(id, reason) => Some((id, Some(losses::dropped(reason)))),
        }
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

    /// A wake-up has been handled: when the next one must be scheduled.
    #[inline]
    pub(crate) fn rearm(&mut self, now: Time) -> Option<Time> {
        // A wake-up that was overtaken by an earlier one is still to come.
        if self.wake <= now {
            self.wake = Time::MAX;
        }
        self.arm()
    }

    /// The next packet that has arrived by `now`; what was lost on the way is `lost`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, pool: &mut PacketPool, lost: &mut Lost) -> Option<PacketId> {
        // Looking first is cheaper than asking a link that has nothing, which is every second time.
        while self.link.next_delivery().is_some_and(|next| next <= now) {
            let delivery = self.link.deliver(now)?;
            match delivery.outcome {
                Outcome::Arrived => return Some(delivery.packet),
                Outcome::Lost(reason) => {
                    lost.lose(pool, delivery.packet, Some(losses::lost(reason, self.channel)));
                }
            }
        }
        None
    }

    /// Packets and bytes that wait.
    pub(crate) fn queue(&self, now: Time, air: &Air) -> (u64, u64) {
        let len = self.link.queue_len(now, air);
        (len.packets, len.bytes)
    }

    /// What a radio link that is up is like.
    pub(crate) fn conditions(&self) -> Option<Conditions> {
        match &self.link {
            Model::Plain(_) | Model::Air(_) => None,
            Model::Other(model) => model.conditions().filter(|_| model.is_up()),
        }
    }

    /// Radio data blocks sent for the first time, so far; `None` on links without.
    pub(crate) fn blocks_sent(&self) -> Option<u64> {
        match &self.link {
            Model::Plain(_) | Model::Air(_) => None,
            Model::Other(model) => model.blocks_sent(),
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

    /// Replaces the loss process of a plain link, and that of both directions of one in a cell; others are as
    /// they are.
    pub(crate) fn set_loss(&mut self, air: &mut Air, loss: Option<Box<dyn LossProcess>>) {
        match &mut self.link {
            Model::Plain(link) => link.set_loss(loss),
            Model::Air(port) => air.set_loss(*port, loss),
            Model::Other(_) => {}
        }
    }

    /// Receive power at the far end, in mdBm; `None` when the far end is out of coverage or the link is down.
    /// The greatest there is for links without a radio.
    pub(crate) fn receive_power(&self, now: Time, air: &Air) -> Option<i32> {
        match &self.link {
            Model::Air(port) => air.receive_power(now, *port),
            Model::Plain(link) => link.is_up().then_some(i32::MAX),
            Model::Other(model) => model.is_up().then_some(i32::MAX),
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
            queue_drops: stats.dropped_full.packets + self.unmarkable,
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
