//! A path in miniature: one bottleneck with a drop-tail queue, a sender that has data, every packet
//! acknowledged alone. No randomness: the same window on every machine.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use msctp_congestion::{Ack, Controller, DeliveryRate, Loss, LossKind, Pacer, RtoConfig, RttEstimator};
use msctp_units::{Rate, Span, Time};

pub(crate) const PMDCS: u64 = 1468;
/// Around the chunk: the IPv4 and the SCTP header.
const HEADERS: u64 = 32;

/// The bottleneck.
pub(crate) struct Link {
    pub(crate) rate: Rate,
    /// The round trip of an empty path.
    pub(crate) rtt: Span,
    /// Packets that fit into the queue.
    pub(crate) queue: u64,
}

pub(crate) struct Path {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) now: Time,
    /// Maximum packets that the application sends per round trip.
    pub(crate) application: u64,
    /// Packets vanish.
    pub(crate) dead: bool,
    link: Link,
    rtt: RttEstimator,
    /// Time at which the link is free.
    free: Time,
    next: u64,
    /// Send time of each outstanding packet.
    outstanding: BTreeMap<u64, Time>,
    acks: VecDeque<(Time, u64)>,
    /// Fast recovery continues until all packets before this one are acknowledged or lost, and a later one is
    /// acknowledged.
    recovery_exit: Option<u64>,
    /// Packets before this one were declared lost by the timer.
    given_up: u64,
    last_sent: Time,
    pacer: Pacer,
    delivery: DeliveryRate,
    /// Every so-many-th packet is lost on the link; 0: none.
    pub(crate) loses_every: u64,
    /// Packets acknowledged.
    pub(crate) delivered: u64,
    /// Packets that found the queue full.
    pub(crate) overflows: u64,
    timer: Option<Time>,
    /// Events since the last row.
    events: BTreeMap<&'static str, u64>,
    pub(crate) table: String,
}

impl Path {
    pub(crate) fn new(controller: Box<dyn Controller>, link: Link) -> Self {
        let rto = RtoConfig { min: Span::from_millis(500), ..RtoConfig::default() };
        Self {
            controller,
            now: Time::ZERO,
            application: u64::MAX,
            dead: false,
            link,
            rtt: RttEstimator::new(rto),
            free: Time::ZERO,
            next: 0,
            outstanding: BTreeMap::new(),
            acks: VecDeque::new(),
            recovery_exit: None,
            given_up: 0,
            last_sent: Time::ZERO,
            pacer: Pacer::new(None, 0),
            delivery: DeliveryRate::new(),
            loses_every: 0,
            delivered: 0,
            overflows: 0,
            timer: None,
            events: BTreeMap::new(),
            table: String::new(),
        }
    }

    fn flight_size(&self) -> u64 {
        self.outstanding.len() as u64 * PMDCS
    }

    fn note(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    /// Stops the bottleneck for `span`, without loss.
    pub(crate) fn stall(&mut self, span: Span) {
        self.free = self.free.max(self.now) + span;
        for (at, _) in &mut self.acks {
            *at += span;
        }
    }

    /// The network marked a packet.
    pub(crate) fn mark(&mut self) {
        self.lose(LossKind::Ecn);
    }

    fn lose(&mut self, kind: LossKind) {
        self.note(match kind {
            LossKind::Gap => "loss",
            LossKind::Ecn => "mark",
            LossKind::Timeout => "timeout",
        });
        self.controller.on_loss(&Loss { now: self.now, kind, flight_size: self.flight_size() });
    }

    fn send(&mut self) {
        if self.outstanding.is_empty() && self.next > 0 {
            let rtos = self.now.since(self.last_sent).as_nanos() / self.rtt.rto().as_nanos();
            if rtos > 0 {
                self.note("idle");
                self.controller.on_idle(rtos);
                self.last_sent = self.now;
            }
        }
        while self.has_more() && self.departure() <= self.now {
            let transmission = self.link.rate.time_for(PMDCS);
            let lost = self.loses_every > 0 && self.next.is_multiple_of(self.loses_every);
            let full = self.queued() > self.link.queue;
            self.overflows += u64::from(full);
            if !self.dead && !lost && !full {
                self.free = self.free.max(self.now) + transmission;
                self.acks.push_back((self.free + self.link.rtt, self.next));
            }
            let flight_size = self.flight_size();
            self.delivery.on_sent(self.now, self.next, 1, (flight_size, flight_size + PMDCS));
            self.pacer.on_sent(self.now, PMDCS + HEADERS);
            self.outstanding.insert(self.next, self.now);
            self.next += 1;
            self.last_sent = self.now;
            self.timer.get_or_insert(self.now + self.rtt.rto());
        }
        if self.flight_size() < self.controller.window().cwnd && self.departure() <= self.now {
            self.delivery.on_limited(self.flight_size());
        }
    }

    /// Packets in the queue.
    pub(crate) fn queued(&self) -> u64 {
        self.free.since(self.now).as_nanos() / self.link.rate.time_for(PMDCS).as_nanos()
    }

    /// From now on the link has another rate.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.link.rate = rate;
    }

    /// Returns when the next packet may leave, at the controller's rate.
    fn departure(&mut self) -> Time {
        let rate = self.controller.pacing_rate();
        self.pacer.set_rate(self.now, rate);
        self.pacer.departure(self.now, PMDCS + HEADERS)
    }

    fn has_more(&self) -> bool {
        self.outstanding.len() < usize::try_from(self.application).unwrap_or(usize::MAX)
            && self.flight_size() < self.controller.window().cwnd
            && (self.outstanding.is_empty() || !self.controller.one_packet_in_flight())
    }

    fn acknowledged(&mut self, number: u64) {
        let flight_size_before = self.flight_size();
        let Some(sent) = self.outstanding.remove(&number) else {
            if number < self.given_up {
                self.given_up = 0;
                self.note("spurious");
                self.controller.on_spurious_timeout(self.now);
            }
            return;
        };
        let rtt = self.now.since(sent);
        self.rtt.on_measurement(rtt);
        let in_fast_recovery = self.recovery_exit.is_some();
        self.delivered += 1;
        self.delivery.on_acked(number, PMDCS);
        while let Some(lost) = self.delivery.take_lost() {
            self.controller.on_packet_lost(self.now, &lost);
        }
        if let Some(sample) = self.delivery.sample(self.now, self.flight_size()) {
            self.controller.on_delivery(&sample);
        }
        self.controller.on_ack(&Ack {
            now: self.now,
            bytes_acked: PMDCS,
            duplicate_bytes: 0,
            flight_size_before,
            cum_tsn_advanced: !in_fast_recovery,
            in_fast_recovery,
            nothing_outstanding: self.outstanding.is_empty(),
            rtt: Some(rtt),
            srtt: self.rtt.srtt(),
            answered_elsewhere: false,
        });
        // Three later packets arrived.
        let lost: Vec<u64> = self.outstanding.range(..number.saturating_sub(2)).map(|(&n, _)| n).collect();
        if !lost.is_empty() && self.recovery_exit.is_none() {
            self.lose(LossKind::Gap);
            self.recovery_exit = Some(self.next);
        }
        for number in lost {
            self.outstanding.remove(&number);
            self.delivery.on_lost(number, PMDCS);
        }
        let first = self.outstanding.keys().next().copied().unwrap_or(self.next);
        if self.recovery_exit.is_some_and(|exit| number >= exit && first >= exit) {
            self.recovery_exit = None;
            self.controller.on_recovery_exit(self.now);
        }
        self.timer = (!self.outstanding.is_empty()).then(|| self.now + self.rtt.rto());
    }

    fn timed_out(&mut self) {
        self.lose(LossKind::Timeout);
        self.rtt.back_off();
        if self.recovery_exit.take().is_some() {
            self.controller.on_recovery_exit(self.now);
        }
        for (number, _) in std::mem::take(&mut self.outstanding) {
            self.delivery.on_lost(number, PMDCS);
        }
        self.given_up = self.next;
        self.timer = None;
    }

    pub(crate) fn run_until(&mut self, end: Time) {
        loop {
            self.send();
            let ack = self.acks.front().map_or(Time::MAX, |&(at, _)| at);
            let timer = self.timer.unwrap_or(Time::MAX);
            let departure = if self.has_more() { self.departure() } else { Time::MAX };
            let next = ack.min(timer).min(departure);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if departure < ack.min(timer) {
                continue;
            }
            if ack <= timer {
                let (_, number) = self.acks.pop_front().expect("there is one");
                self.acknowledged(number);
            } else {
                self.timed_out();
            }
        }
    }

    /// One line: the time, the window, a bar of a character per two packets of it, what happened since the
    /// last line.
    pub(crate) fn row(&mut self, phase: &str) {
        let window = self.controller.window();
        let ssthresh = match window.ssthresh {
            u64::MAX => "high".to_owned(),
            bytes => bytes.to_string(),
        };
        let bar = "#".repeat(usize::try_from(window.cwnd / PMDCS / 2).unwrap().min(120));
        let events: Vec<String> = std::mem::take(&mut self.events)
            .iter()
            .map(|(event, times)| format!("{event} {times}"))
            .collect();
        let line = format!(
            "{:>5.2} {:>7} {ssthresh:>7} {phase:<12} {bar} {}",
            self.now.as_secs_f64(),
            window.cwnd,
            events.join(", ")
        );
        writeln!(self.table, "{}", line.trim_end()).unwrap();
    }
}
