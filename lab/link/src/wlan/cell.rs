//! [`Cell`]: a medium that stations share, with contention, retransmission and queues. The [`Channel`]
//! decides which frames are received, [`MacConfig`] how long a frame takes.

use core::fmt;
use std::collections::VecDeque;

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::adaptation::{Adaptation, RateControl};
use super::channel::Channel;
use super::mac::{Backoff, MacConfig};
use crate::fate::{Delivery, DropReason, LossReason, Offer, Outcome};
use crate::medium::PortId;
use crate::model::{Change, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::{QueueLen, QueueLimit};

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationId(usize);

/// A radio link between two stations of a cell.
#[derive(Debug)]
pub struct RadioLinkConfig {
    /// Station at one end.
    pub a: StationId,
    /// Station at the other end.
    pub b: StationId,
    /// Delay added to the propagation time of the signal.
    pub delay: Span,
    /// Limits of the queues from `a` to `b` and from `b` to `a`.
    pub queues: [QueueLimit; 2],
    /// Loss and delay of frames, in either direction.
    pub channel: Channel,
}

/// Counters of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStats {
    /// Attempts to send a frame.
    pub attempts: u64,
    /// Number of attempts that were retransmissions.
    pub retries: u64,
    /// Number of attempts that failed because another station's fell on the same instant.
    pub collided: u64,
    /// Frames abandoned after the last attempt.
    pub given_up: u64,
    /// Time for which the medium was busy, without backoff.
    pub busy: Span,
}

#[derive(Debug)]
struct Frame<P> {
    packet: P,
    wire_len: u32,
    port: usize,
}

/// State of a station.
#[derive(Debug)]
enum Service<P> {
    Idle,
    /// The station waits for its turn: until `from` the medium is not free, then `left` counts down.
    Contending {
        frame: Frame<P>,
        attempt: u32,
        from: Time,
        left: Span,
    },
    /// The frame has left, but the exchange is not over.
    Finishing,
}

#[derive(Debug)]
struct Station<P> {
    service: Service<P>,
    queue: VecDeque<Frame<P>>,
    /// Number of the station's last turn, counted over all stations.
    last_turn: u64,
}

#[derive(Debug)]
struct Port {
    station: usize,
    queue: QueueLimit,
    waiting: QueueLen,
    /// Time at which the last sent frame leaves the other end.
    last_arrival: Time,
    rate: RateControl,
    stats: LinkStats,
}

#[derive(Debug)]
struct RadioLink {
    channel: Channel,
    delay: Span,
    up: bool,
}

/// A frame in flight, or lost.
#[derive(Debug)]
struct Leaving<P> {
    frame: Frame<P>,
    at: Time,
    outcome: Outcome,
}

/// A medium that stations share.
///
/// - One exchange at a time: RTS and CTS if there are any, the frame, its acknowledgement. Then every station
///   that has a frame waits DIFS and its backoff. The station whose backoff ends first sends; the others keep
///   the rest of theirs.
/// - A frame that is not acknowledged is retransmitted, after a backoff from a doubled window, until its
///   retries are used up.
/// - A station sends its frames in order over all its links: one that is retransmitted repeatedly delays the
///   others.
/// - As in the other models, a frame that left at an instant makes room for one offered at that instant.
///
/// `now` never goes back. After any call, [`next_delivery`](Self::next_delivery) returns the time to call
/// [`deliver`](Self::deliver).
pub struct Cell<P> {
    mac: MacConfig,
    rng: ChaCha8Rng,
    stations: Vec<Station<P>>,
    /// Two for each link.
    ports: Vec<Port>,
    links: Vec<RadioLink>,
    /// The end of the last exchange.
    free: Time,
    /// Packets in flight, in order of departure.
    leaving: VecDeque<Leaving<P>>,
    turns: u64,
    stats: CellStats,
}

impl<P> Cell<P> {
    /// Creates an empty cell. `seed` is that of the backoffs.
    pub fn new(mac: MacConfig, seed: [u8; 32]) -> Self {
        Self {
            mac,
            rng: ChaCha8Rng::from_seed(seed),
            stations: Vec::new(),
            ports: Vec::new(),
            links: Vec::new(),
            free: Time::ZERO,
            leaving: VecDeque::new(),
            turns: 0,
            stats: CellStats::default(),
        }
    }

    /// Adds a station.
    pub fn add_station(&mut self) -> StationId {
        self.stations.push(Station { service: Service::Idle, queue: VecDeque::new(), last_turn: 0 });
        StationId(self.stations.len() - 1)
    }

    /// Adds a link between two stations in the state up. Returns its two directions.
    pub fn add_link(&mut self, config: RadioLinkConfig) -> [PortId; 2] {
        let first = self.ports.len();
        for (StationId(station), queue) in [config.a, config.b].into_iter().zip(config.queues) {
            let (waiting, stats) = (QueueLen::default(), LinkStats::default());
            let rate = RateControl::new(&self.mac);
            self.ports.push(Port { station, queue, waiting, last_arrival: Time::ZERO, rate, stats });
        }
        self.links.push(RadioLink { channel: config.channel, delay: config.delay, up: true });
        [PortId(first), PortId(first + 1)]
    }

    /// Offers a packet at a port. `wire_len` includes its headers, in bytes.
    pub fn offer(&mut self, now: Time, port: PortId, packet: P, wire_len: u32) -> Offer<P> {
        self.advance(now);
        let PortId(number) = port;
        let port = &mut self.ports[number];
        port.stats.offered.add(wire_len);
        if !self.links[number / 2].up {
            port.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        let station = &mut self.stations[port.station];
        if matches!(station.service, Service::Idle) {
            let frame = Frame { packet, wire_len, port: number };
            let from = now.max(self.free) + self.mac.difs;
            let left = backoff(&self.mac, &mut self.rng, 0);
            station.service = Service::Contending { frame, attempt: 0, from, left };
            return Offer::Queued;
        }
        let room = match port.queue {
            QueueLimit::Packets(packets) => port.waiting.packets < packets,
            QueueLimit::Bytes(bytes) => port.waiting.bytes + u64::from(wire_len) <= bytes,
            QueueLimit::Unbounded => true,
        };
        if !room {
            port.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        port.waiting.packets += 1;
        port.waiting.bytes += u64::from(wire_len);
        port.stats.max_queue_packets = port.stats.max_queue_packets.max(port.waiting.packets);
        port.stats.max_queue_bytes = port.stats.max_queue_bytes.max(port.waiting.bytes);
        station.queue.push_back(Frame { packet, wire_len, port: number });
        Offer::Queued
    }

    /// Returns the earliest time at which [`deliver`](Self::deliver) has work.
    pub fn next_delivery(&self) -> Option<Time> {
        let arrival = self.leaving.front().map(|leaving| leaving.at);
        [arrival, self.next_turn(), self.end_of_exchange()].into_iter().flatten().min()
    }

    /// Returns the next packet that has left by `now`, with its destination port, in order of departure. Each
    /// accepted packet comes out exactly once. It may return nothing and advance
    /// [`next_delivery`](Self::next_delivery).
    pub fn deliver(&mut self, now: Time) -> Option<(PortId, Delivery<P>)> {
        self.advance(now);
        if self.leaving.front()?.at > now {
            return None;
        }
        let Leaving { frame, outcome, .. } = self.leaving.pop_front()?;
        let delivery = Delivery { packet: frame.packet, wire_len: frame.wire_len, outcome };
        self.ports[frame.port].stats.count(&delivery);
        Some((PortId(frame.port), delivery))
    }

    /// Changes a property from the next attempt on.
    ///
    /// The rate applies to the cell's data frames. The delay, and up or down, apply to the port's link in
    /// both directions. A link that goes down loses its packets. An exchange in progress occupies the medium
    /// to its end.
    ///
    /// # Errors
    ///
    /// [`Unsupported`] for a rate of zero (take the link down instead), for a rate with rate adaptation, and
    /// for properties of radio blocks.
    pub fn change(&mut self, now: Time, port: PortId, change: Change) -> Result<(), Unsupported> {
        self.advance(now);
        let link = port.0 / 2;
        match change {
            Change::Rate(rate) if !rate.is_zero() && self.mac.adaptation == Adaptation::Fixed => {
                self.mac.rate = rate;
            }
            Change::Delay(delay) => self.links[link].delay = delay,
            Change::Up => self.set_up(now, link, true),
            Change::Down => self.set_up(now, link, false),
            Change::Rate(_) | Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. } => {
                return Err(Unsupported { change });
            }
        }
        Ok(())
    }

    fn set_up(&mut self, now: Time, link: usize, up: bool) {
        if self.links[link].up == up {
            return;
        }
        self.links[link].up = up;
        if !up {
            self.flush(now, link);
        }
    }

    /// Returns whether the port's link is up.
    pub fn is_up(&self, port: PortId) -> bool {
        self.links[port.0 / 2].up
    }

    /// Returns the channel of the port's link.
    pub fn channel(&self, port: PortId) -> &Channel {
        &self.links[port.0 / 2].channel
    }

    /// Returns the channel of the port's link, to change its losses.
    pub fn channel_mut(&mut self, port: PortId) -> &mut Channel {
        &mut self.links[port.0 / 2].channel
    }

    /// Returns the length of a port's queue, without the frame that its station is trying to send.
    pub fn queue_len(&self, port: PortId) -> QueueLen {
        self.ports[port.0].waiting
    }

    /// Returns the counters of one direction of a link.
    pub fn port_stats(&self, port: PortId) -> &LinkStats {
        &self.ports[port.0].stats
    }

    /// Returns the counters of the cell.
    pub fn stats(&self) -> &CellStats {
        &self.stats
    }

    /// Returns the timing.
    pub fn mac(&self) -> &MacConfig {
        &self.mac
    }

    /// Returns the time of the next turn: the earliest end of a backoff.
    fn next_turn(&self) -> Option<Time> {
        self.stations.iter().filter_map(Station::ready).min()
    }

    /// Returns the time at which a station that waits for the end of the exchange continues, if it has more
    /// to send.
    fn end_of_exchange(&self) -> Option<Time> {
        let waits = |s: &Station<P>| matches!(s.service, Service::Finishing) && !s.queue.is_empty();
        self.stations.iter().any(waits).then_some(self.free)
    }

    /// Runs the medium up to `now`.
    fn advance(&mut self, now: Time) {
        loop {
            if self.free <= now {
                self.finish_exchange();
            }
            match self.next_turn() {
                Some(turn) if turn <= now => self.take_turn(turn),
                _ => return,
            }
        }
    }

    /// Ends the exchange: its stations take their next frames.
    fn finish_exchange(&mut self) {
        for number in 0..self.stations.len() {
            if matches!(self.stations[number].service, Service::Finishing) {
                self.take_next(number, self.free);
            }
        }
    }

    /// Removes the next frame from a station's queue. The medium is free from `free` on.
    fn take_next(&mut self, number: usize, free: Time) {
        let station = &mut self.stations[number];
        station.service = match station.queue.pop_front() {
            None => Service::Idle,
            Some(frame) => {
                let port = &mut self.ports[frame.port];
                port.waiting.packets -= 1;
                port.waiting.bytes -= u64::from(frame.wire_len);
                let left = backoff(&self.mac, &mut self.rng, 0);
                Service::Contending { frame, attempt: 0, from: free + self.mac.difs, left }
            }
        };
    }

    /// Lets the stations that are ready at `turn` send, while the others wait.
    fn take_turn(&mut self, turn: Time) {
        self.turns += 1;
        let mut ready: Vec<usize> =
            (0..self.stations.len()).filter(|&n| self.stations[n].ready() == Some(turn)).collect();
        // Of those that are ready at once, the one whose last turn is longest ago goes first.
        ready.sort_by_key(|&n| self.stations[n].last_turn);
        let collide = self.mac.collisions && ready.len() > 1;
        if !collide {
            ready.truncate(1);
        }
        let took: Vec<(usize, Frame<P>, u32)> = ready
            .into_iter()
            .filter_map(|n| {
                self.stations[n].last_turn = self.turns;
                match std::mem::replace(&mut self.stations[n].service, Service::Finishing) {
                    Service::Contending { frame, attempt, .. } => Some((n, frame, attempt)),
                    Service::Idle | Service::Finishing => None,
                }
            })
            .collect();
        let busy = |frame: &Frame<P>| {
            let (mac, _) = self.ports[frame.port].rate.timing(&self.mac);
            if collide { mac.collision_time(frame.wire_len) } else { mac.exchange_time(frame.wire_len) }
        };
        let busy = took.iter().map(|(_, frame, _)| busy(frame)).max().unwrap_or(Span::ZERO);
        self.free = turn + busy;
        self.stats.busy += busy;
        self.freeze(turn);
        for (number, frame, attempt) in took {
            self.attempt(turn, number, frame, attempt, collide);
        }
    }

    /// Freezes the other stations' backoffs until the medium is free again.
    fn freeze(&mut self, turn: Time) {
        let resume = self.free + self.mac.difs;
        let slot = self.mac.slot.as_nanos();
        for station in &mut self.stations {
            if let Service::Contending { from, left, .. } = &mut station.service {
                let mut counted = turn.since(*from);
                if self.mac.backoff == Backoff::Drawn && slot > 0 {
                    // Only whole slots count.
                    counted = Span::from_nanos(counted.as_nanos() / slot * slot);
                }
                *left = left.saturating_sub(counted);
                *from = resume;
            }
        }
    }

    /// Attempts to send a frame, from `turn` on.
    fn attempt(&mut self, turn: Time, number: usize, frame: Frame<P>, attempt: u32, collides: bool) {
        self.stats.attempts += 1;
        self.stats.retries += u64::from(attempt > 0);
        self.stats.collided += u64::from(collides);
        let (mac, needs) = self.ports[frame.port].rate.timing(&self.mac);
        let begins = turn + mac.request_time();
        let ends = begins + mac.frame_time(frame.wire_len);
        let link = &mut self.links[frame.port / 2];
        // A frame that collides is on the air too: the channel counts it.
        let lost = link.channel.loses((begins, ends), frame.wire_len, needs) || collides;
        self.ports[frame.port].rate.note(!lost);
        let arrives = ends + link.delay + link.channel.propagation(ends);
        if !lost {
            self.leave(frame, arrives, Outcome::Arrived);
        } else if attempt < self.mac.retries {
            let left = backoff(&self.mac, &mut self.rng, attempt + 1);
            let from = self.free + self.mac.difs;
            self.stations[number].service = Service::Contending { frame, attempt: attempt + 1, from, left };
        } else {
            self.stats.given_up += 1;
            self.leave(frame, arrives, Outcome::Lost(LossReason::Channel));
        }
    }

    /// Schedules the frame's arrival. No frame overtakes another at a port: after a shortened delay, frames
    /// arrive together.
    fn leave(&mut self, frame: Frame<P>, at: Time, outcome: Outcome) {
        let port = &mut self.ports[frame.port];
        let at = at.max(port.last_arrival);
        port.last_arrival = at;
        let place = self.leaving.partition_point(|leaving| leaving.at <= at);
        self.leaving.insert(place, Leaving { frame, at, outcome });
    }

    /// Drops everything inside a link as lost.
    fn flush(&mut self, now: Time, link: usize) {
        let lost = Outcome::Lost(LossReason::LinkDown);
        let mut flushed: Vec<Leaving<P>> = Vec::new();
        let mut kept = VecDeque::new();
        for mut leaving in self.leaving.drain(..) {
            // Frames that have arrived by now are not lost.
            if leaving.frame.port / 2 == link && leaving.at > now {
                (leaving.at, leaving.outcome) = (now, lost);
            }
            if leaving.at <= now { flushed.push(leaving) } else { kept.push_back(leaving) }
        }
        for number in 0..self.stations.len() {
            let station = &mut self.stations[number];
            let (gone, stays): (VecDeque<_>, VecDeque<_>) =
                station.queue.drain(..).partition(|frame| frame.port / 2 == link);
            station.queue = stays;
            let head = match &station.service {
                Service::Contending { frame, .. } if frame.port / 2 == link => {
                    match std::mem::replace(&mut station.service, Service::Idle) {
                        Service::Contending { frame, .. } => Some(frame),
                        Service::Idle | Service::Finishing => None,
                    }
                }
                _ => None,
            };
            if head.is_some() {
                self.take_next(number, now.max(self.free));
            }
            let all = head.into_iter().chain(gone);
            flushed.extend(all.map(|frame| Leaving { frame, at: now, outcome: lost }));
        }
        for port in [2 * link, 2 * link + 1] {
            let port = &mut self.ports[port];
            port.waiting = QueueLen::default();
            port.last_arrival = port.last_arrival.min(now);
        }
        self.leaving = flushed.into_iter().chain(kept).collect();
    }
}

/// Returns the backoff before the attempt with this number.
fn backoff(mac: &MacConfig, rng: &mut ChaCha8Rng, attempt: u32) -> Span {
    match mac.backoff {
        Backoff::Mean => mac.mean_backoff(attempt),
        // Multiply and shift: uniform to 2⁻³² of a slot.
        Backoff::Drawn => {
            let slots = (u64::from(rng.next_u32()) * (u64::from(mac.window(attempt)) + 1)) >> 32;
            mac.slot * slots
        }
    }
}

impl<P> Station<P> {
    /// Returns the end of the station's backoff, if no other station is earlier.
    fn ready(&self) -> Option<Time> {
        match self.service {
            Service::Contending { from, left, .. } => Some(from + left),
            Service::Idle | Service::Finishing => None,
        }
    }
}

impl<P> fmt::Debug for Cell<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("mac", &self.mac)
            .field("stations", &self.stations.len())
            .field("links", &self.links)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
