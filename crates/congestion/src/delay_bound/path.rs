//! [`PathModel`]: the round trip without a queue and the delivery rate, measured in packet-timed rounds.

use msctp_units::{Span, Time};

use crate::DeliverySample;

/// Length of a window of the minimum filter. The minimum round-trip time covers one to two windows, since
/// routes and cells change.
const BASE_WINDOW: Span = Span::from_secs(10);

/// Age from which a round-trip time acknowledged over the path itself is stale. It may be of a time when the
/// path had hardly any rate, and all later ones may be acknowledged over another path.
const STALE: Span = Span::from_secs(1);

/// Rounds for which a measured round-trip time counts. By then the queue from a wrong measurement has
/// drained. The response to the measurement may have returned over another, shorter path.
const RESUMED_ROUNDS: u32 = 4;

/// Minimum round-trip times of the last window and of this one.
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
    /// Minimum round-trip times acknowledged over the path itself, and over another path.
    bases: [Base; 2],
    /// Time of the last round trip acknowledged over the path itself, and whether it is older than [`STALE`].
    own_seen: Option<Time>,
    own_is_stale: bool,
    /// Minimum round-trip time measured before data was sent, and the rounds for which it counts.
    resumed: Option<(Span, u32)>,
    /// Maximum delivery rates of the last round and of this one, in bytes per second.
    rates: [u64; 2],
    /// Delivery rate of the latest sample, in bytes per second.
    pub(super) latest_rate: u64,
    /// Delivered bytes at the start of the round. The round ends when a packet sent after that is
    /// acknowledged.
    round_end: u64,
    /// Minimum queueing delay of this round.
    queued: Option<Span>,
}

/// A round that has just ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Minimum queueing delay of the round; `None` without a measured round-trip time.
    pub(super) queued: Option<Span>,
    /// Maximum delivery rate of the round and the start of the next one, in bytes per second.
    pub(super) rate: u64,
}

impl PathModel {
    /// Starts with a rate (bytes per second) and a round-trip time without a queue that were measured before.
    pub(super) fn resume(&mut self, rate: u64, rtt_min: Span) {
        self.rates = [rate, 0];
        self.resumed = Some((rtt_min, RESUMED_ROUNDS));
    }

    /// Returns the round-trip time without a queue. A value acknowledged over another path counts until this
    /// path has its own, and beside a stale one.
    pub(super) fn base(&self) -> Option<Span> {
        let [own, other] = self.bases.each_ref().map(Base::least);
        let measured = own.filter(|_| !self.own_is_stale).or(own.into_iter().chain(other).min());
        self.resumed.map(|(least, _)| least).into_iter().chain(measured).min()
    }

    /// Returns the greatest delivery rate of the last two rounds, in bytes per second.
    pub(super) fn rate(&self) -> u64 {
        self.rates[0].max(self.rates[1])
    }

    /// Records a round trip and returns its queueing delay.
    ///
    /// A round-trip time acknowledged over another path is compared only with others of that kind.
    pub(super) fn on_round_trip(&mut self, now: Time, rtt: Span, elsewhere: bool) -> Span {
        if !elsewhere {
            self.own_seen = Some(now);
        }
        self.own_is_stale = self.own_seen.is_none_or(|seen| seen + STALE < now);
        let base = &mut self.bases[usize::from(elsewhere)];
        base.update(now, rtt);
        let measured = base.least().unwrap_or(rtt);
        let resumed = self.resumed.filter(|_| !elsewhere).map_or(measured, |(least, _)| least);
        rtt - resumed.min(measured)
    }

    /// Processes a delivery rate sample. Returns the round that it ends.
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
