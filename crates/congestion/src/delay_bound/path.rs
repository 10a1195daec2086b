//! [`PathModel`]: the round trip without a queue and the delivery rate, measured in packet-timed rounds.

use msctp_units::{Span, Time};

use crate::DeliverySample;

/// The least round trip is that of one to two windows of this length: routes and cells change.
const BASE_WINDOW: Span = Span::from_secs(10);

/// Rounds for which a measured round trip counts; a queue built by a wrong measurement has then drained. The
/// measured answer may have come over another, shorter path.
const RESUMED_ROUNDS: u32 = 4;

/// The least round trip of the last window and of this one.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    before: Option<Span>,
    now: Option<Span>,
    began: Time,
}

impl Base {
    fn least(&self) -> Option<Span> {
        self.before.into_iter().chain(self.now).min()
    }

    fn update(&mut self, now: Time, rtt: Span) {
        if self.now.is_some() && now.since(self.began) < BASE_WINDOW {
            self.now = self.now.map(|least| least.min(rtt));
        } else {
            *self = Self { before: self.now, now: Some(rtt), began: now };
        }
    }
}

/// The path model of [`DelayBound`](super::DelayBound).
#[derive(Clone, Debug, Default)]
pub(super) struct PathModel {
    /// Base round trips answered over the path itself, and over another one.
    bases: [Base; 2],
    /// The least round trip that was measured before data was sent, and the rounds for which it counts.
    resumed: Option<(Span, u32)>,
    /// The greatest delivery rates of the last round and of this one, in bytes per second.
    rates: [u64; 2],
    /// The delivery rate of the latest sample.
    pub(super) latest_rate: u64,
    /// Delivered bytes at the start of the round, which ends when a packet sent after that is acknowledged.
    round_end: u64,
    /// The least queueing delay of this round.
    queued: Option<Span>,
}

/// A round that has just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Its least queueing delay; `None` if it measured no round trip.
    pub(super) queued: Option<Span>,
    /// The greatest delivery rate of it and the start of the next, in bytes per second.
    pub(super) rate: u64,
}

impl PathModel {
    /// Starts with a rate (bytes per second) and a round trip without a queue that were measured before.
    pub(super) fn resume(&mut self, rate: u64, rtt_min: Span) {
        self.rates = [rate, 0];
        self.resumed = Some((rtt_min, RESUMED_ROUNDS));
    }

    /// Returns the round trip without a queue; one answered over another path counts until this one answers.
    pub(super) fn base(&self) -> Option<Span> {
        let measured = self.bases[0].least().or(self.bases[1].least());
        self.resumed.map(|(least, _)| least).into_iter().chain(measured).min()
    }

    /// Returns the greatest delivery rate of the last two rounds, in bytes per second.
    pub(super) fn rate(&self) -> u64 {
        self.rates[0].max(self.rates[1])
    }

    /// Records a round trip and returns its queueing delay.
    ///
    /// A round trip answered over another path is compared only with others like it.
    pub(super) fn on_round_trip(&mut self, now: Time, rtt: Span, elsewhere: bool) -> Span {
        let base = &mut self.bases[usize::from(elsewhere)];
        base.update(now, rtt);
        let measured = base.least().unwrap_or(rtt);
        let resumed = self.resumed.filter(|_| !elsewhere).map_or(measured, |(least, _)| least);
        rtt - resumed.min(measured)
    }

    /// Takes a delivery rate sample; returns the round that it ends.
    pub(super) fn on_sample(&mut self, sample: &DeliverySample, base: Span) -> Option<Round> {
        self.latest_rate = sample.rate(Some(base)).unwrap_or(0);
        self.rates[1] = self.rates[1].max(self.latest_rate);
        if sample.prior_delivered < self.round_end {
            return None;
        }
        self.round_end = sample.total_delivered;
        self.rates = [self.rates[1], self.latest_rate];
        self.resumed =
            self.resumed.filter(|(_, rounds)| *rounds > 1).map(|(least, rounds)| (least, rounds - 1));
        Some(Round { queued: self.queued.take(), rate: self.rate() })
    }

    /// Counts a queueing delay in the current round.
    pub(super) fn count(&mut self, queued: Span) {
        self.queued = Some(self.queued.map_or(queued, |least| least.min(queued)));
    }
}
