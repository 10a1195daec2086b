//! [`TraceLink`]: a link that sends at the instants of its schedule.

use std::collections::VecDeque;
use std::fmt;

use msctp_units::{Span, Time};

use super::schedule::{OPPORTUNITY_BYTES, Opportunity, Schedule};
use super::signal::SignalTrace;
use crate::fate::{Delivery, DropReason, LossReason, Offer, Outcome};
use crate::loss::LossProcess;
use crate::model::{Change, LinkModel, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::{QueueLen, QueueLimit};

/// Properties of a [`TraceLink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// Times at which the link may send.
    pub schedule: Schedule,
    /// Propagation delay, one way.
    pub delay: Span,
    /// Limit of the queue.
    pub queue: QueueLimit,
    /// Receive power; `None`: not recorded.
    pub signal: Option<SignalTrace>,
}

#[derive(Debug)]
struct Entry<P> {
    packet: P,
    wire_len: u32,
}

/// A packet that has left the queue.
#[derive(Debug)]
struct Leaving<P> {
    entry: Entry<P>,
    departed: Time,
    at: Time,
    lost: bool,
}

/// One direction of a link that follows a trace, as Mahimahi's `mm-link` does.
///
/// - An opportunity carries [`OPPORTUNITY_BYTES`]: several small packets, or a part of a large one whose rest
///   goes with the next. Unused capacity is lost.
/// - A packet leaves when its last byte does. A packet misses an opportunity at the instant of its arrival.
/// - When the link goes down its packets are lost. The trace continues.
pub struct TraceLink<P> {
    config: TraceConfig,
    loss: Option<Box<dyn LossProcess>>,
    up: bool,
    /// Queued packets. The first may be partly transmitted.
    waiting: VecDeque<Entry<P>>,
    waiting_bytes: u64,
    /// Bytes of the first packet that have been sent.
    sent: u32,
    /// The next opportunity, while packets are queued.
    next: Option<Opportunity>,
    leaving: VecDeque<Leaving<P>>,
    stats: LinkStats,
}

impl<P> TraceLink<P> {
    /// Creates a link that is up and empty.
    pub fn new(config: TraceConfig, loss: Option<Box<dyn LossProcess>>) -> Self {
        Self {
            config,
            loss,
            up: true,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sent: 0,
            next: None,
            leaving: VecDeque::new(),
            stats: LinkStats::default(),
        }
    }

    /// Returns the length of the queue, without a partly sent packet.
    fn queued(&self) -> QueueLen {
        let all = QueueLen { packets: self.waiting.len() as u64, bytes: self.waiting_bytes };
        let begun = self.waiting.front().filter(|_| self.sent > 0);
        begun.map_or(all, |begun| all.without(begun.wire_len))
    }

    /// Uses the opportunities up to `now`.
    fn advance(&mut self, now: Time) {
        while let Some(opportunity) = self.next {
            let at = self.config.schedule.at(opportunity);
            if at > now {
                return;
            }
            self.use_one(at);
            self.next = (!self.waiting.is_empty()).then(|| self.config.schedule.next(opportunity));
        }
    }

    fn use_one(&mut self, at: Time) {
        let mut left = OPPORTUNITY_BYTES;
        while let Some(first) = self.waiting.front() {
            let part = left.min(first.wire_len - self.sent);
            self.sent += part;
            left -= part;
            if self.sent < first.wire_len {
                return;
            }
            self.sent = 0;
            let Some(entry) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= u64::from(entry.wire_len);
            let before = self.leaving.back().map_or(Time::ZERO, |last| last.at);
            let arrives = (at + self.config.delay).max(before);
            self.leaving.push_back(Leaving { entry, departed: at, at: arrives, lost: false });
        }
    }

    fn go_down(&mut self, now: Time) {
        self.up = false;
        self.next = None;
        (self.sent, self.waiting_bytes) = (0, 0);
        for leaving in self.leaving.iter_mut().filter(|leaving| leaving.at > now) {
            (leaving.at, leaving.lost) = (now, true);
        }
        let waiting = self.waiting.drain(..);
        self.leaving.extend(waiting.map(|entry| Leaving { entry, departed: now, at: now, lost: true }));
    }
}

impl<P: Send> LinkModel<P> for TraceLink<P> {
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.stats.offered.add(wire_len);
        if !self.up {
            self.stats.dropped_down.add(wire_len);
            return Offer::Dropped(packet, DropReason::LinkDown);
        }
        self.advance(now);
        if !self.waiting.is_empty() && !self.config.queue.has_room(self.queued(), wire_len) {
            self.stats.dropped_full.add(wire_len);
            return Offer::Dropped(packet, DropReason::QueueFull);
        }
        self.waiting.push_back(Entry { packet, wire_len });
        self.waiting_bytes += u64::from(wire_len);
        self.next.get_or_insert_with(|| self.config.schedule.after(now));
        self.stats.saw_queue(self.queued());
        Offer::Queued
    }

    fn next_delivery(&self) -> Option<Time> {
        let arrival = self.leaving.front().map(|leaving| leaving.at);
        let opportunity = self.next.map(|next| self.config.schedule.at(next));
        arrival.into_iter().chain(opportunity).min()
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.advance(now);
        if self.leaving.front()?.at > now {
            return None;
        }
        let Leaving { entry, departed, lost, .. } = self.leaving.pop_front()?;
        let outcome = if lost {
            Outcome::Lost(LossReason::LinkDown)
        } else if self.loss.as_mut().is_some_and(|loss| loss.loses(departed, entry.wire_len)) {
            Outcome::Lost(LossReason::Channel)
        } else {
            Outcome::Arrived
        };
        let delivery = Delivery { packet: entry.packet, wire_len: entry.wire_len, outcome };
        self.stats.count(&delivery);
        Some(delivery)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        self.advance(now);
        match change {
            Change::Delay(delay) => self.config.delay = delay,
            Change::Up => self.up = true,
            Change::Down if self.up => self.go_down(now),
            Change::Down => {}
            Change::Rate(_) | Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. } => {
                return Err(Unsupported { change });
            }
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.up
    }

    fn queue_len(&self, _now: Time) -> QueueLen {
        self.queued()
    }

    fn stats(&self) -> &LinkStats {
        &self.stats
    }

    fn receive_power(&self, now: Time) -> Option<i32> {
        self.config.signal.as_ref().map(|signal| signal.at(now))
    }
}

impl<P> fmt::Debug for TraceLink<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceLink")
            .field("period", &self.config.schedule.period())
            .field("loss", &self.loss)
            .field("up", &self.up)
            .field("waiting", &self.queued())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn link(trace: &str, queue: QueueLimit) -> TraceLink<u32> {
        let schedule = Schedule::from_mahimahi(trace, None).unwrap();
        TraceLink::new(TraceConfig { schedule, delay: Span::from_millis(10), queue, signal: None }, None)
    }

    /// Returns the packets that leave by `until`: time, number, and whether the packet arrived.
    fn drain(link: &mut TraceLink<u32>, until: Time) -> Vec<(u64, u32, bool)> {
        let mut out = Vec::new();
        while let Some(now) = link.next_delivery().filter(|&next| next <= until) {
            while let Some(delivery) = link.deliver(now) {
                let arrived = delivery.outcome == Outcome::Arrived;
                out.push((now.since(Time::ZERO).as_millis(), delivery.packet, arrived));
            }
        }
        out
    }

    #[test]
    fn packets_leave_with_the_opportunities_after_them() {
        let mut link = link("1\n3\n3\n8\n", QueueLimit::Unbounded);
        for packet in 0..4 {
            assert_eq!(link.offer(at(1), packet, 1500), Offer::Queued);
        }
        let out = drain(&mut link, at(100));
        assert_eq!(out, [(13, 0, true), (13, 1, true), (18, 2, true), (19, 3, true)]);
        assert_eq!(link.next_delivery(), None);
    }

    #[test]
    fn an_opportunity_carries_small_packets_together_and_large_ones_in_parts() {
        let mut link = link("1\n2\n3\n4\n", QueueLimit::Unbounded);
        for (packet, len) in [(0, 700), (1, 700), (2, 1400), (3, 1500)] {
            assert_eq!(link.offer(at(0), packet, len), Offer::Queued);
        }
        // 700 + 700 + 100 of 1400; 1300 and 200 of 1500; 1300.
        let out = drain(&mut link, at(100));
        assert_eq!(out, [(11, 0, true), (11, 1, true), (12, 2, true), (13, 3, true)]);
    }

    #[test]
    fn the_queue_counts_packets_not_yet_begun() {
        let mut link = link("10\n20\n", QueueLimit::Packets(2));
        for (packet, len) in [(0, 2000), (1, 100)] {
            assert_eq!(link.offer(at(0), packet, len), Offer::Queued);
        }
        assert_eq!(link.offer(at(5), 2, 100), Offer::Dropped(2, DropReason::QueueFull));
        // At 10 ms three quarters of the first have left: there is room for one more.
        assert_eq!(link.offer(at(15), 3, 100), Offer::Queued);
        assert_eq!(link.queue_len(at(15)), QueueLen { packets: 2, bytes: 200 });
        assert_eq!(link.offer(at(15), 4, 100), Offer::Dropped(4, DropReason::QueueFull));
    }

    #[test]
    fn a_link_that_goes_down_loses_its_packets_and_the_trace_continues() {
        let mut link = link("1\n2\n100\n", QueueLimit::Unbounded);
        for packet in 0..4 {
            assert_eq!(link.offer(at(0), packet, 1500), Offer::Queued);
        }
        assert_eq!(drain(&mut link, at(11)), [(11, 0, true)]);
        link.change(at(11), Change::Down).unwrap();
        assert_eq!(drain(&mut link, at(11)), [(11, 1, false), (11, 2, false), (11, 3, false)]);
        assert_eq!(link.offer(at(12), 9, 1500), Offer::Dropped(9, DropReason::LinkDown));
        link.change(at(50), Change::Up).unwrap();
        assert_eq!(link.offer(at(50), 5, 1500), Offer::Queued);
        assert_eq!(drain(&mut link, at(200)), [(110, 5, true)]);
        assert!(link.change(at(200), Change::Rate(msctp_units::Rate::from_mbps(1))).is_err());
    }

    proptest! {
        /// The link delivers every packet once and in order, and no faster than the trace allows.
        #[test]
        fn packets_leave_once_in_order_at_the_traces_rate(
            mut times in prop::collection::vec(1..200u64, 1..30),
            packets in prop::collection::vec((0..300u64, 40..1500u32), 1..60),
        ) {
            times.sort_unstable();
            let trace: String = times.iter().map(|ms| format!("{ms}\n")).collect();
            let mut link = link(&trace, QueueLimit::Unbounded);
            let mut packets = packets;
            packets.sort_by_key(|packet| packet.0);
            let mut out = Vec::new();
            for (number, &(ms, len)) in packets.iter().enumerate() {
                out.extend(drain(&mut link, at(ms)));
                prop_assert_eq!(link.offer(at(ms), number as u32, len), Offer::Queued);
            }
            out.extend(drain(&mut link, at(10_000_000)));
            let numbers: Vec<u32> = out.iter().map(|delivery| delivery.1).collect();
            prop_assert_eq!(numbers, (0..packets.len() as u32).collect::<Vec<_>>());
            prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            let bytes: u64 = packets.iter().map(|packet| u64::from(packet.1)).sum();
            let first = packets[0].0;
            let last = out[out.len() - 1].0 - 10;
            let laps = |ms: u64| -> u64 {
                let period = times[times.len() - 1];
                let whole = ms / period * times.len() as u64;
                whole + times.iter().filter(|&&t| t <= ms % period).count() as u64
            };
            let opportunities = laps(last) - laps(first);
            prop_assert!(bytes <= opportunities * u64::from(OPPORTUNITY_BYTES), "{bytes} bytes, {opportunities}");
        }
    }
}
