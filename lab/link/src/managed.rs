//! [`ManagedLink`]: a point-to-point link with CoDel or FQ-CoDel, jitter and reordering.
//!
//! Packets are taken from the queue when the transmitter is free, so that the queue can decide then; a
//! [`Link`](crate::Link) knows their times when they enter, and is faster.

use std::collections::VecDeque;

use msctp_units::{Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::fate::{Delivery, DropReason, LossReason, Offer, Outcome};
use crate::link::{WORK_PER_BYTE, rounded};
use crate::loss::{LossProcess, Probability};
use crate::model::{Change, Class, LinkModel, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::codel::{CodelConfig, CodelQueue, Queued};
use msctp_queue::fair_queue::{FairQueue, FairQueueConfig};
use msctp_queue::{QueueLen, QueueLimit};

/// Properties of a [`ManagedLink`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagedConfig {
    /// Transmission rate in bit/s of the wire. [`Rate::ZERO`] transmits nothing until it changes.
    pub rate: Rate,
    /// Minimum propagation delay, one way.
    pub delay: Span,
    /// Discipline of the queue.
    pub discipline: Discipline,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// Maximum additional delay, drawn uniformly from zero for each packet. A packet waits for earlier ones.
    pub jitter: Span,
    /// Packets that others overtake.
    pub reorder: Option<Reorder>,
}

/// Order of transmission and selection of drops in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// First in, first out. Drops a packet that arrives at a full queue.
    #[default]
    DropTail,
    /// First in, first out, with CoDel (RFC 8289).
    Codel(CodelConfig),
    /// FQ-CoDel (RFC 8290): 1,024 queues served in turn, each with CoDel.
    FqCodel(CodelConfig),
}

/// Random selection of packets that take longer than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share of packets.
    pub share: Probability,
    /// Additional delay of these packets. Packets sent in the meantime overtake them.
    pub by: Span,
}

/// Number of queues of FQ-CoDel (RFC 8290 §5.2.5). The next constant is the number of bytes of a turn
/// (§5.2.4: an Ethernet frame).
const FLOWS: u32 = 1024;
const QUANTUM: u32 = 1514;

/// A packet in the queue.
#[derive(Debug)]
struct Waiting<P> {
    packet: P,
    wire_len: u32,
    ecn_capable: bool,
    marked: bool,
}

impl<P> Queued for Waiting<P> {
    fn wire_len(&self) -> u32 {
        self.wire_len
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }
}

#[derive(Debug)]
enum Queue<P> {
    DropTail(VecDeque<Waiting<P>>, u64),
    Codel(CodelQueue<Waiting<P>>, CodelConfig),
    Fair(Box<FairQueue<Waiting<P>>>),
}

impl<P> Queue<P> {
    fn new(config: &ManagedConfig, seed: u64) -> Self {
        match config.discipline {
            Discipline::DropTail => Self::DropTail(VecDeque::new(), 0),
            Discipline::Codel(codel) => Self::Codel(CodelQueue::default(), codel),
            Discipline::FqCodel(codel) => {
                let config = FairQueueConfig { flows: FLOWS, quantum: QUANTUM, limit: config.queue, codel };
                Self::Fair(Box::new(FairQueue::new(config, seed)))
            }
        }
    }

    fn len(&self) -> QueueLen {
        match self {
            Self::DropTail(packets, bytes) => QueueLen { packets: packets.len() as u64, bytes: *bytes },
            Self::Codel(queue, _) => queue.len(),
            Self::Fair(queue) => queue.len(),
        }
    }

    fn push(&mut self, now: Time, flow: u64, packet: Waiting<P>, dropped: impl FnMut(Waiting<P>)) {
        match self {
            Self::DropTail(packets, bytes) => {
                *bytes += u64::from(packet.wire_len);
                packets.push_back(packet);
            }
            Self::Codel(queue, _) => queue.push(now, packet),
            Self::Fair(queue) => queue.push(now, flow, packet, dropped),
        }
    }

    fn pop(&mut self, now: Time, mut dropped: impl FnMut(Waiting<P>)) -> Option<Waiting<P>> {
        match self {
            Self::DropTail(packets, bytes) => {
                let packet = packets.pop_front()?;
                *bytes -= u64::from(packet.wire_len);
                Some(packet)
            }
            Self::Codel(queue, config) => queue.pop(now, config, &mut dropped),
            Self::Fair(queue) => queue.pop(now, dropped),
        }
    }

    fn drain(&mut self, mut removed: impl FnMut(Waiting<P>)) {
        match self {
            Self::DropTail(packets, bytes) => {
                *bytes = 0;
                packets.drain(..).for_each(removed);
            }
            Self::Codel(queue, _) => {
                while let Some(packet) = queue.take() {
                    removed(packet);
                }
            }
            Self::Fair(queue) => queue.drain(removed),
        }
    }
}

/// The packet in transmission.
#[derive(Debug)]
struct Transmission<P> {
    packet: Waiting<P>,
    /// End of the transmission; [`Time::MAX`] while the rate is zero.
    departs: Time,
    /// Remaining work while the rate is zero, in bit/s · ns.
    stalled_work: u128,
}

impl<P> Transmission<P> {
    fn begin(now: Time, packet: Waiting<P>, rate: Rate) -> Self {
        let work = u128::from(packet.wire_len) * WORK_PER_BYTE;
        let departs = if rate.is_zero() { Time::MAX } else { now + rate.time_for(packet.wire_len.into()) };
        Self { packet, departs, stalled_work: if rate.is_zero() { work } else { 0 } }
    }

    /// Changes the rate for the rest of the transmission.
    fn change(&mut self, now: Time, from: Rate, to: Rate) {
        let work = match from.as_bps() {
            0 => self.stalled_work,
            bps => u128::from(self.departs.since(now).as_nanos()) * u128::from(bps),
        };
        (self.departs, self.stalled_work) = match to.as_bps() {
            0 => (Time::MAX, work),
            bps => (now + rounded(work, bps), 0),
        };
    }
}

/// A point-to-point link in one direction, with a discipline for its queue, jitter and reordering.
///
/// A rate, a delay or a link that goes down acts as on a [`Link`](crate::Link) with
/// [`WhenDown::Drop`](crate::WhenDown::Drop); the loss process decides when a packet departs.
#[derive(Debug)]
pub struct ManagedLink<P> {
    config: ManagedConfig,
    loss: Option<Box<dyn LossProcess>>,
    rng: ChaCha8Rng,
    up: bool,
    queue: Queue<P>,
    transmission: Option<Transmission<P>>,
    /// In order of arrival.
    propagating: VecDeque<(Time, Delivery<P>)>,
    /// Latest arrival of a packet that was not reordered.
    last_arrival: Time,
    /// Packets that left without arriving and were not returned yet, with their times.
    gone: VecDeque<(Time, Delivery<P>)>,
    stats: LinkStats,
}

impl<P> ManagedLink<P> {
    /// Creates a link that is up and empty. `seed` is that of jitter, reordering and the hash of flows.
    pub fn new(config: ManagedConfig, loss: Option<Box<dyn LossProcess>>, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed);
        let queue = Queue::new(&config, rng.next_u64());
        Self {
            config,
            loss,
            rng,
            up: true,
            queue,
            transmission: None,
            propagating: VecDeque::new(),
            last_arrival: Time::ZERO,
            gone: VecDeque::new(),
            stats: LinkStats::default(),
        }
    }

    /// Ends the transmissions that are over at `now` and begins the next ones.
    fn advance(&mut self, now: Time) {
        while let Some(departs) = self.transmission.as_ref().map(|current| current.departs)
            && departs <= now
        {
            if let Some(current) = self.transmission.take() {
                self.propagate(departs, current.packet);
            }
            self.begin(departs);
        }
    }

    /// Begins the transmission of the next packet, if one waits.
    fn begin(&mut self, now: Time) {
        let Self { queue, gone, .. } = self;
        let dropped = |packet| gone.push_back((now, lost(packet, LossReason::Discipline)));
        let Some(packet) = queue.pop(now, dropped) else { return };
        self.transmission = Some(Transmission::begin(now, packet, self.config.rate));
    }

    /// Starts the propagation of a packet whose transmission ended at `now`.
    fn propagate(&mut self, now: Time, packet: Waiting<P>) {
        let mut arrives = now + self.config.delay;
        if !self.config.jitter.is_zero() {
            arrives += self.config.jitter.mul_ratio(u64::from(self.rng.next_u32()), 1 << 32);
        }
        arrives = arrives.max(self.last_arrival);
        match self.config.reorder {
            Some(reorder) if reorder.share.draw(&mut self.rng) => arrives += reorder.by,
            _ => self.last_arrival = arrives,
        }
        let is_lost = self.loss.as_mut().is_some_and(|loss| loss.loses(now, packet.wire_len));
        let outcome = match (is_lost, packet.marked) {
            (true, _) => Outcome::Lost(LossReason::Channel),
            (false, true) => Outcome::Marked,
            (false, false) => Outcome::Arrived,
        };
        let place = self.propagating.partition_point(|(other, _)| *other <= arrives);
        let delivery = Delivery { packet: packet.packet, wire_len: packet.wire_len, outcome };
        self.propagating.insert(place, (arrives, delivery));
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.advance(now);
        if let Some(current) = &mut self.transmission {
            current.change(now, self.config.rate, rate);
        }
        self.config.rate = rate;
    }

    fn go_down(&mut self, now: Time) {
        self.advance(now);
        self.up = false;
        let Self { queue, gone, transmission, propagating, .. } = self;
        // What arrives at this instant has arrived.
        let arrived = propagating.partition_point(|(arrives, _)| *arrives <= now);
        let inside = propagating.drain(arrived..).map(|(_, delivery)| delivery);
        let outcome = Outcome::Lost(LossReason::LinkDown);
        gone.extend(inside.map(|delivery| (now, Delivery { outcome, ..delivery })));
        gone.extend(transmission.take().map(|current| (now, lost(current.packet, LossReason::LinkDown))));
        queue.drain(|packet| gone.push_back((now, lost(packet, LossReason::LinkDown))));
        self.last_arrival = self.last_arrival.min(now);
    }
}

fn lost<P>(packet: Waiting<P>, reason: LossReason) -> Delivery<P> {
    Delivery { packet: packet.packet, wire_len: packet.wire_len, outcome: Outcome::Lost(reason) }
}

impl<P: Send + std::fmt::Debug> LinkModel<P> for ManagedLink<P> {
    /// Offers a packet without a class, which belongs to a single flow that does not support ECN.
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.offer_as(now, packet, wire_len, Class::default())
    }

    fn offer_as(&mut self, now: Time, packet: P, wire_len: u32, class: Class) -> Offer<P> {
        self.stats.offered.add(wire_len);
        if !self.up {
            self.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        self.advance(now);
        // FQ-CoDel makes room at the expense of the longest queue.
        let makes_room = matches!(self.queue, Queue::Fair(_));
        let room = makes_room || self.config.queue.has_room(self.queue.len(), wire_len);
        if !room && self.transmission.is_some() {
            self.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        let Self { queue, gone, .. } = self;
        let waiting = Waiting { packet, wire_len, ecn_capable: class.ecn_capable, marked: false };
        let dropped = |packet| gone.push_back((now, lost(packet, LossReason::Discipline)));
        if self.transmission.is_none() {
            // An idle link takes any packet.
            self.transmission = Some(Transmission::begin(now, waiting, self.config.rate));
        } else {
            queue.push(now, class.flow, waiting, dropped);
        }
        self.stats.saw_queue(self.queue.len());
        Offer::Queued
    }

    fn next_delivery(&self) -> Option<Time> {
        let gone = self.gone.front().map(|(at, _)| *at);
        let departs = self.transmission.as_ref().map(|current| current.departs);
        let arrives = self.propagating.front().map(|(arrives, _)| *arrives);
        [gone, departs, arrives].into_iter().flatten().min().filter(|&at| at != Time::MAX)
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.advance(now);
        let arrived = self.propagating.front().is_some_and(|(arrives, _)| *arrives <= now);
        let delivery = if arrived {
            self.propagating.pop_front().map(|(_, delivery)| delivery)?
        } else {
            self.gone.pop_front().map(|(_, delivery)| delivery)?
        };
        self.stats.count(&delivery);
        Some(delivery)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        match change {
            Change::Rate(rate) => self.set_rate(now, rate),
            Change::Delay(delay) => {
                self.advance(now);
                self.config.delay = delay;
            }
            Change::Up => self.up = true,
            Change::Down if self.up => self.go_down(now),
            Change::Down => {}
            Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. } => {
                return Err(Unsupported { change });
            }
        }
        Ok(())
    }

    fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        self.loss = loss;
    }

    fn is_up(&self) -> bool {
        self.up
    }

    fn queue_len(&self, _now: Time) -> QueueLen {
        self.queue.len()
    }

    fn stats(&self) -> &LinkStats {
        &self.stats
    }
}

#[cfg(test)]
#[path = "managed_tests.rs"]
mod tests;
