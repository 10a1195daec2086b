//! [`CellularCell`]: users that share the TTIs of a cell, each with a queue of its own.

use core::fmt;
use std::collections::VecDeque;

use msctp_units::{Span, Time};

use super::config::{CellularConfig, PortConfig, Scheduler, TTI};
use super::quality::{Fading, Quality};
use crate::arq::next_multiple;
use crate::fate::{Delivery, DropReason, LossReason, Offer, Outcome};
use crate::loss::LossProcess;
use crate::medium::{Medium, PortId};
use crate::model::{Change, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::{QueueLen, QueueLimit};

/// Minimum average throughput in bytes per TTI, so that a user that was never served comes first.
const LEAST_AVERAGE: f64 = 1e-3;

#[derive(Debug)]
struct Entry<P> {
    packet: P,
    wire_len: u32,
}

/// One direction of a user's link.
struct Port<P> {
    up: bool,
    delay: Span,
    limit: QueueLimit,
    quality: Quality,
    fading: Option<Fading>,
    loss: Option<Box<dyn LossProcess>>,
    /// Queued packets. The first may be partly sent.
    waiting: VecDeque<Entry<P>>,
    waiting_bytes: u64,
    /// Bytes of the first packet that have been sent.
    sent: u32,
    /// Average throughput in bytes per TTI, before the TTI with the number `averaged`.
    average: f64,
    averaged: u64,
    /// Number of the port's last grant, counted over all ports.
    last_grant: u64,
    /// Time at which the last sent packet leaves the other end.
    last_arrival: Time,
    stats: LinkStats,
}

/// A packet that has left its queue.
#[derive(Debug)]
struct Leaving<P> {
    port: usize,
    entry: Entry<P>,
    at: Time,
    outcome: Outcome,
}

/// A user that may be served in a TTI.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    port: usize,
    /// Number of the user's bytes that the whole TTI carries.
    room: u64,
    metric: f64,
    last_grant: u64,
}

/// A cell whose users share the time of its resource, in each direction.
///
/// - TTIs begin at whole multiples of [`TTI`]. The scheduler grants each to the first user in its order; what
///   that user has no bytes for goes to the next one.
/// - A packet is sent in as many TTIs as it needs, and arrives `delay` after the end of the last one.
/// - A packet offered at the instant of a TTI is sent in it if [`deliver`](Medium::deliver) has not been
///   called for it.
/// - A link that goes down loses the packets inside.
pub struct CellularCell<P> {
    config: CellularConfig,
    seed: [u8; 32],
    ports: Vec<Port<P>>,
    /// Packets in flight, in order of departure.
    leaving: VecDeque<Leaving<P>>,
    /// Number of ports with packets queued.
    backlogged: usize,
    /// Time of the next TTI, while packets are queued.
    next_tti: Option<Time>,
    /// Time before which no TTI begins.
    free_from: Time,
    grants: u64,
}

impl<P> CellularCell<P> {
    /// Creates an empty cell. `seed` is that of the fading.
    pub fn new(config: CellularConfig, seed: [u8; 32]) -> Self {
        Self {
            config,
            seed,
            ports: Vec::new(),
            leaving: VecDeque::new(),
            backlogged: 0,
            next_tti: None,
            free_from: Time::ZERO,
            grants: 0,
        }
    }

    /// Adds a user's link in the state up. Returns its two directions, downlink first.
    pub fn add_link(&mut self, [down, up]: [PortConfig; 2]) -> [PortId; 2] {
        let first = self.ports.len();
        for (way, config) in [down, up].into_iter().enumerate() {
            let fading = config.coherence.map(|time| Fading::new(time, self.seed, first + way));
            self.ports.push(Port {
                up: true,
                delay: config.delay,
                limit: config.queue,
                quality: config.quality,
                fading,
                loss: config.loss,
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                sent: 0,
                average: 0.0,
                averaged: 0,
                last_grant: 0,
                last_arrival: Time::ZERO,
                stats: LinkStats::default(),
            });
        }
        [PortId(first), PortId(first + 1)]
    }

    /// Runs the TTIs before `end`.
    fn advance(&mut self, end: Time) {
        while let Some(tti) = self.next_tti.filter(|tti| *tti < end) {
            for way in 0..2 {
                self.schedule(tti, way);
            }
            self.free_from = tti + TTI;
            self.next_tti = (self.backlogged > 0).then_some(self.free_from);
        }
    }

    /// Grants a TTI in one direction.
    fn schedule(&mut self, tti: Time, way: usize) {
        let mut candidates = self.candidates(tti, way);
        let mut left = TTI.as_nanos();
        while !candidates.is_empty() && left > 0 {
            let before = |a: &Candidate, b: &Candidate| {
                b.metric.total_cmp(&a.metric).then(a.last_grant.cmp(&b.last_grant)).then(a.port.cmp(&b.port))
            };
            let first = (0..candidates.len()).min_by(|&a, &b| before(&candidates[a], &candidates[b]));
            let Some(first) = first else { break };
            let Candidate { port, room, .. } = candidates.swap_remove(first);
            let granted = ratio(room, left, TTI.as_nanos());
            if granted == 0 {
                continue;
            }
            self.grants += 1;
            self.ports[port].last_grant = self.grants;
            let used = self.serve(tti, port, granted);
            let gain = used as f64 / self.time_constant();
            self.ports[port].average += gain;
            left -= ratio_up(used, TTI.as_nanos(), room).min(left);
        }
    }

    /// Returns the users of a direction that have packets and a channel, with their averages up to the TTI.
    fn candidates(&mut self, tti: Time, way: usize) -> Vec<Candidate> {
        let number = tti.as_nanos() / TTI.as_nanos();
        let keep = 1.0 - 1.0 / self.time_constant();
        let scheduler = self.config.scheduler;
        let ports = self.ports.iter_mut().enumerate().skip(way).step_by(2);
        let candidate = |(index, port): (usize, &mut Port<P>)| {
            if port.waiting.is_empty() {
                return None;
            }
            let gain = port.fading.as_mut().map_or(1.0, |fading| fading.gain(tti));
            let room = port.quality.bytes_in_tti(tti, gain);
            port.average *= libm::pow(keep, number.saturating_sub(port.averaged) as f64);
            let metric = match scheduler {
                Scheduler::ProportionalFair => room as f64 / port.average.max(LEAST_AVERAGE),
                Scheduler::RoundRobin => 1.0,
                Scheduler::MaxRate => room as f64,
            };
            // This TTI's share of the average comes with the grant.
            port.average *= keep;
            port.averaged = number + 1;
            (room > 0).then_some(Candidate { port: index, room, metric, last_grant: port.last_grant })
        };
        ports.filter_map(candidate).collect()
    }

    /// Returns the time constant of the averages in TTIs.
    fn time_constant(&self) -> f64 {
        (self.config.average.as_nanos() as f64 / TTI.as_nanos() as f64).max(1.0)
    }

    /// Sends at most `granted` bytes of a port's queue. Returns their number.
    fn serve(&mut self, tti: Time, number: usize, granted: u64) -> u64 {
        let mut left = granted;
        while let Some(first) = self.ports[number].waiting.front() {
            let port = &self.ports[number];
            let part = left.min(u64::from(first.wire_len - port.sent));
            left -= part;
            let sent = port.sent + part as u32;
            if sent < first.wire_len {
                self.ports[number].sent = sent;
                break;
            }
            self.send_first(tti, number);
        }
        granted - left
    }

    /// Removes a port's first packet, whose last byte is in the TTI, from its queue.
    fn send_first(&mut self, tti: Time, number: usize) {
        let port = &mut self.ports[number];
        port.sent = 0;
        let Some(entry) = port.waiting.pop_front() else { return };
        port.waiting_bytes -= u64::from(entry.wire_len);
        self.backlogged -= usize::from(port.waiting.is_empty());
        let departs = tti + TTI;
        let lost = port.loss.as_mut().is_some_and(|loss| loss.loses(departs, entry.wire_len));
        let outcome = if lost { Outcome::Lost(LossReason::Channel) } else { Outcome::Arrived };
        let at = (departs + port.delay).max(port.last_arrival);
        port.last_arrival = at;
        let place = self.leaving.partition_point(|leaving| leaving.at <= at);
        self.leaving.insert(place, Leaving { port: number, entry, at, outcome });
    }

    fn go_down(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        port.up = false;
        self.backlogged -= usize::from(!port.waiting.is_empty());
        (port.sent, port.waiting_bytes) = (0, 0);
        port.last_arrival = port.last_arrival.min(now);
        let outcome = Outcome::Lost(LossReason::LinkDown);
        let queued = std::mem::take(&mut port.waiting);
        let (mut gone, mut kept) = (VecDeque::new(), VecDeque::new());
        for mut leaving in self.leaving.drain(..) {
            // What has arrived by now is not lost.
            if leaving.port == number && leaving.at > now {
                (leaving.at, leaving.outcome) = (now, outcome);
            }
            if leaving.at <= now { gone.push_back(leaving) } else { kept.push_back(leaving) }
        }
        gone.extend(queued.into_iter().map(|entry| Leaving { port: number, entry, at: now, outcome }));
        gone.append(&mut kept);
        self.leaving = gone;
        if self.backlogged == 0 {
            self.next_tti = None;
        }
    }
}

impl<P> Port<P> {
    /// Returns the length of the queue, without a partly sent packet.
    fn queued(&self) -> QueueLen {
        let all = QueueLen { packets: self.waiting.len() as u64, bytes: self.waiting_bytes };
        let begun = self.waiting.front().filter(|_| self.sent > 0);
        begun.map_or(all, |begun| all.without(begun.wire_len))
    }
}

/// Returns `a · b / c`, rounded down.
fn ratio(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(c.max(1))).unwrap_or(u64::MAX)
}

/// Returns `a · b / c`, rounded up.
fn ratio_up(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from((u128::from(a) * u128::from(b)).div_ceil(u128::from(c.max(1)))).unwrap_or(u64::MAX)
}

impl<P: Send> Medium<P> for CellularCell<P> {
    fn offer(&mut self, now: Time, PortId(number): PortId, packet: P, wire_len: u32) -> Offer<P> {
        self.advance(now);
        let port = &mut self.ports[number];
        port.stats.offered.add(wire_len);
        if !port.up {
            port.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        let idle = port.waiting.is_empty();
        if !idle && !port.limit.has_room(port.queued(), wire_len) {
            port.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        port.waiting.push_back(Entry { packet, wire_len });
        port.waiting_bytes += u64::from(wire_len);
        let queued = port.queued();
        port.stats.saw_queue(queued);
        self.backlogged += usize::from(idle);
        self.next_tti.get_or_insert(next_multiple(now.max(self.free_from), TTI));
        Offer::Queued
    }

    fn next_delivery(&self) -> Option<Time> {
        let arrival = self.leaving.front().map(|leaving| leaving.at);
        arrival.into_iter().chain(self.next_tti).min()
    }

    fn deliver(&mut self, now: Time) -> Option<(PortId, Delivery<P>)> {
        self.advance(now + Span::from_nanos(1));
        if self.leaving.front()?.at > now {
            return None;
        }
        let Leaving { port, entry, outcome, .. } = self.leaving.pop_front()?;
        let delivery = Delivery { packet: entry.packet, wire_len: entry.wire_len, outcome };
        self.ports[port].stats.count(&delivery);
        Some((PortId(port), delivery))
    }

    fn change(&mut self, now: Time, PortId(number): PortId, change: Change) -> Result<(), Unsupported> {
        self.advance(now);
        let port = &mut self.ports[number];
        match (change, &mut port.quality) {
            (Change::Rate(rate), Quality::Rate(old)) => *old = rate,
            (Change::Delay(delay), _) => port.delay = delay,
            (Change::Up, _) => port.up = true,
            (Change::Down, _) if port.up => self.go_down(now, number),
            (Change::Down, _) => {}
            (Change::Rate(_) | Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. }, _) => {
                return Err(Unsupported { change });
            }
        }
        Ok(())
    }

    fn set_loss(&mut self, port: PortId, loss: Option<Box<dyn LossProcess>>) {
        self.ports[port.0].loss = loss;
    }

    fn is_up(&self, port: PortId) -> bool {
        self.ports[port.0].up
    }

    fn queue_len(&self, port: PortId) -> QueueLen {
        self.ports[port.0].queued()
    }

    fn stats(&self, port: PortId) -> &LinkStats {
        &self.ports[port.0].stats
    }

    fn receive_power(&self, now: Time, port: PortId) -> Option<i32> {
        let port = &self.ports[port.0];
        port.quality.receive_power(now).filter(|_| port.up)
    }
}

impl<P> fmt::Debug for CellularCell<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellularCell")
            .field("config", &self.config)
            .field("ports", &self.ports.len())
            .field("backlogged", &self.backlogged)
            .field("next_tti", &self.next_tti)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
