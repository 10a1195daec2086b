//! Two connections and a network between them, in virtual time.

use std::collections::BTreeMap;

use msctp_congestion::classifier::Cause;
use msctp_lab_schemes::classifiers::{Measured, Tally};
use msctp_lab_tcp::header::{self, Header};
use msctp_lab_tcp::{Config, Connection, Event, Ports, TraceEvent, TraceKind};
use msctp_units::{Span, Time};

/// One-way propagation delay.
pub(crate) const DELAY: Span = Span::from_millis(50);

/// Treatment of a segment by the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The segment arrives.
    Pass,
    /// The segment is lost.
    Lose,
    /// The segment arrives, and again after this time.
    Twice(Span),
    /// The segment arrives late by this time.
    Late(Span),
}

/// A segment observed in transit.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Time,
    pub(crate) from_client: bool,
    pub(crate) header: Header,
    pub(crate) blocks: Vec<header::Block>,
    pub(crate) len: u32,
    /// Bytes of header.
    pub(crate) header_len: usize,
}

/// Two ends: 0 the client, 1 the server.
pub(crate) struct Pair {
    pub(crate) ends: [Connection; 2],
    pub(crate) now: Time,
    wire: BTreeMap<(Time, u64), (usize, Vec<u8>, u32)>,
    sent: u64,
    pub(crate) seen: Vec<Seen>,
    pub(crate) events: [Vec<Event>; 2],
    pub(crate) traces: [Vec<TraceEvent>; 2],
    /// Transmission time of a segment with data on the client's link.
    pub(crate) spacing: Span,
    free_at: Time,
    /// Loss causes that the ends are given.
    pub(crate) losses_are: Cause,
}

pub(crate) const CLIENT_ISS: u32 = u32::MAX - 3000;
pub(crate) const SERVER_ISS: u32 = 77;

impl Pair {
    pub(crate) fn new(client: Config, server: Config) -> Self {
        let client =
            Connection::connect(Time::ZERO, client, Ports { local: 1000, remote: 80 }, CLIENT_ISS).unwrap();
        let server = Connection::listen(server, Ports { local: 80, remote: 1000 }, SERVER_ISS).unwrap();
        Self {
            ends: [client, server],
            now: Time::ZERO,
            wire: BTreeMap::new(),
            sent: 0,
            seen: Vec::new(),
            events: [Vec::new(), Vec::new()],
            traces: [Vec::new(), Vec::new()],
            spacing: Span::ZERO,
            free_at: Time::ZERO,
            losses_are: Cause::Wireless,
        }
    }

    pub(crate) fn same(config: &Config) -> Self {
        Self::new(config.clone(), config.clone())
    }

    pub(crate) fn client(&mut self) -> &mut Connection {
        &mut self.ends[0]
    }

    pub(crate) fn server(&mut self) -> &mut Connection {
        &mut self.ends[1]
    }

    fn report_loss(&mut self, end: usize, seen: &Seen, len: u32) {
        let classifier = self.ends[end].loss_classifier_mut();
        if let Some(measured) = classifier.and_then(Measured::of_mut) {
            measured.report(seen.header.sequence, len, self.losses_are);
        }
    }

    /// Returns the verdicts of the client's loss classifier.
    pub(crate) fn tally(&self) -> Tally {
        let measured = self.ends[0].loss_classifier().and_then(Measured::of);
        measured.map(Measured::tally).unwrap_or_default()
    }

    fn drain(&mut self, end: usize, fate: &mut impl FnMut(&Seen) -> Fate) {
        loop {
            let mut bytes = Vec::new();
            let Some(len) = self.ends[end].poll_transmit(self.now, &mut bytes) else { break };
            let parsed = header::parse(&bytes).expect("a header");
            let seen = Seen {
                at: self.now,
                from_client: end == 0,
                header: parsed.header,
                blocks: parsed.blocks().collect(),
                len,
                header_len: bytes.len(),
            };
            let mut at = self.now + DELAY;
            if len > 0 && end == 0 {
                self.free_at = self.free_at.max(self.now) + self.spacing;
                at = self.free_at + DELAY;
            }
            let fate = fate(&seen);
            if fate == Fate::Lose {
                self.report_loss(end, &seen, len);
            }
            let copies = match fate {
                Fate::Pass => vec![at],
                Fate::Lose => vec![],
                Fate::Twice(later) => vec![at, at + later],
                Fate::Late(later) => vec![at + later],
            };
            for at in copies {
                self.sent += 1;
                self.wire.insert((at, self.sent), (1 - end, bytes.clone(), len));
            }
            self.seen.push(seen);
        }
        while let Some(event) = self.ends[end].poll_event() {
            self.events[end].push(event);
        }
        while let Some(event) = self.ends[end].poll_trace() {
            self.traces[end].push(event);
        }
    }

    /// Runs until `until`, or until no event is left.
    pub(crate) fn run(&mut self, until: Time, mut fate: impl FnMut(&Seen) -> Fate) {
        self.drain(0, &mut fate);
        self.drain(1, &mut fate);
        loop {
            let arrival = self.wire.keys().next().map(|key| key.0);
            let timers = self.ends.each_ref().map(Connection::poll_timeout);
            let next = [arrival, timers[0], timers[1]].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, (to, bytes, len)) = self.wire.pop_first().expect("an arrival");
                self.ends[to].handle_segment(self.now, &bytes, len);
                self.drain(to, &mut fate);
                continue;
            }
            for end in [0, 1] {
                if timers[end].is_some_and(|at| at <= self.now) {
                    self.ends[end].handle_timeout(self.now);
                    self.drain(end, &mut fate);
                }
            }
        }
    }

    /// Returns the client's segments with data: number of the segment (`smss` bytes each, from 0), and time.
    pub(crate) fn data_sent(&self, smss: u32) -> Vec<(u32, Time)> {
        let data = self.seen.iter().filter(|seen| seen.from_client && seen.len > 0);
        data.map(|seen| (number(seen, smss), seen.at)).collect()
    }

    pub(crate) fn traced<T>(&self, end: usize, pick: impl Fn(&TraceKind) -> Option<T>) -> Vec<T> {
        self.traces[end].iter().filter_map(|event| pick(&event.kind)).collect()
    }
}

/// Returns the number of a client's data segment.
pub(crate) fn number(seen: &Seen, smss: u32) -> u32 {
    seen.header.sequence.wrapping_sub(CLIENT_ISS.wrapping_add(1)) / smss
}

/// Loses each of these data segments of the client once.
pub(crate) fn lose_once(numbers: &[u32], smss: u32) -> impl FnMut(&Seen) -> Fate + use<> {
    let mut left = numbers.to_vec();
    move |seen| {
        if seen.from_client
            && seen.len > 0
            && let Some(at) = left.iter().position(|&n| n == number(seen, smss))
        {
            left.remove(at);
            return Fate::Lose;
        }
        Fate::Pass
    }
}

pub(crate) fn secs(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}
