//! [`Known`]: measurements of one path: the rate that it carried, the results of trains, and their budget.

use std::collections::VecDeque;

use msctp_proto::PathId;
use msctp_proto::handover::PathView;
use msctp_units::{Rate, Span, Time};

/// Time over which a path's rate is averaged, and for which a measurement counts.
pub(super) const MEMORY: Span = Span::from_secs(4);
/// Time in which short trains do not exceed the result of a long one.
pub(super) const CONFIRMS: Span = Span::from_secs(30);
/// Wire bytes of a HEARTBEAT ACK without the padding of its HEARTBEAT.
const ANSWER: u64 = 72;
/// Trains that an unused budget saves up.
const SAVED: u64 = 4;
/// Share of a path's bandwidth that measuring it may take: one per cent.
const COST: u64 = 100;
/// Longest time between two trains on a path, budget permitting.
const SLOWEST: Span = Span::from_secs(4);
/// Latest results whose least counts as the path's rate: a rise is believed before the median shows it.
const RISEN: usize = 2;
/// Trains that claim at least so many times what data carried are discounted. A shaper with a token bucket
/// passes a train at its line rate.
const EXCESS: u64 = 4;
/// Time after which a discount halves, so that the path is tried again.
const EXCESS_HALVES: Span = Span::from_secs(20);

/// Measurements of one path. Rates are bit/s of IP packets.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: PathId,
    /// Bytes acknowledged up to certain times, while the path carries data; the oldest first.
    carried: VecDeque<(Time, u64)>,
    /// Measured rates, the oldest first.
    measured: VecDeque<Sample>,
    /// The lower of the last two results of trains, however old.
    pub(super) remembered: Option<Rate>,
    last_result: Option<Rate>,
    pub(super) last_train: Option<Time>,
    /// A train is in flight.
    pub(super) measuring: bool,
    /// Time of the last long train, and its result once it is there.
    pub(super) long: Option<(Time, Option<Rate>)>,
    /// Bytes that may be spent on trains, and the time at which they were counted.
    budget: (u64, Time),
    /// While the path carries data: the median of its trains before, and the highest rate carried since.
    visit: Option<(Rate, Rate)>,
    /// Quotients of the two in the last two visits, and the end of the last one. One alone may be an outage.
    excess: [u64; 2],
    excess_at: Time,
}

/// One measured rate.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    rate: Rate,
    /// The path carried it, as no train: data shows what it bears.
    carried: bool,
}

impl Known {
    /// Returns the state of a new path.
    pub(super) fn new(id: PathId, now: Time) -> Self {
        let (carried, measured) = (VecDeque::new(), VecDeque::new());
        Self {
            id,
            carried,
            measured,
            remembered: None,
            last_result: None,
            last_train: None,
            measuring: false,
            long: None,
            budget: (u64::MAX, now),
            visit: None,
            excess: [1; 2],
            excess_at: now,
        }
    }

    /// Records the bytes that the path has carried up to now.
    pub(super) fn on_tick(&mut self, now: Time, path: &PathView) {
        self.carried.push_back((now, path.bytes_acked));
        // One entry from before the memory is kept: a rate needs its beginning.
        while self.carried.get(1).is_some_and(|(at, _)| now.since(*at) >= MEMORY) {
            self.carried.pop_front();
        }
    }

    /// Handles that data left the path: its last rate counts as a measurement.
    pub(super) fn on_left(&mut self, now: Time, path: &PathView) {
        if let Some((claimed, most)) = self.visit.take().filter(|(_, most)| most.as_bps() > 0) {
            self.excess = [self.excess[1], claimed.as_bps() / most.as_bps()];
            self.excess_at = now;
        }
        let rate = self.rate_over(now, Span::from_secs(1), path);
        self.carried.clear();
        self.measured.clear();
        if let Some(rate) = rate {
            self.measured.push_back(Sample { at: now, rate, carried: true });
        }
    }

    /// Handles that data moves to the path.
    pub(super) fn on_entered(&mut self, now: Time) {
        let trains = self.recent(now).filter(|sample| !sample.carried);
        self.visit = median(trains.map(|sample| sample.rate)).map(|claimed| (claimed, Rate::ZERO));
        self.restart();
    }

    /// Drops what the path has carried up to now: the rate is measured from now on.
    pub(super) fn restart(&mut self) {
        self.carried.clear();
    }

    /// Records the rate that the path carries for a sender that has more data.
    pub(super) fn on_carried(&mut self, rate: Rate) {
        if let Some((_, most)) = &mut self.visit {
            *most = (*most).max(rate);
        }
    }

    /// Returns the rate that the path carried in the last `over`; `None` if data came later than that.
    pub(super) fn rate_over(&self, now: Time, over: Span, path: &PathView) -> Option<Rate> {
        let from = self.carried.iter().rev().find(|(at, _)| now.since(*at) >= over)?;
        Rate::of(path.wire_bytes(path.bytes_acked.saturating_sub(from.1)), now.since(from.0))
    }

    /// Returns the mean rate over [`MEMORY`], or over the shorter time known.
    pub(super) fn mean_carried(&self, now: Time, path: &PathView) -> Option<Rate> {
        let &(at, bytes) = self.carried.front()?;
        Rate::of(path.wire_bytes(path.bytes_acked.saturating_sub(bytes)), now.since(at))
    }

    /// Records the result of a train.
    pub(super) fn on_train(&mut self, now: Time, rate: Rate) {
        self.measuring = false;
        if let Some((_, result @ None)) = &mut self.long {
            *result = Some(rate);
        }
        let most = match self.long {
            Some((at, Some(most))) if now.since(at) <= CONFIRMS => most,
            _ => Rate::from_bps(u64::MAX),
        };
        self.remembered = self.last_result.replace(rate).map(|last| last.min(rate).min(most));
        self.measured.push_back(Sample { at: now, rate, carried: false });
        while self.measured.front().is_some_and(|sample| now.since(sample.at) > MEMORY * 2) {
            self.measured.pop_front();
        }
    }

    /// The latest result, if it is at most `age` old.
    pub(super) fn latest(&self, now: Time, age: Span) -> Option<Rate> {
        let latest = self.measured.back().filter(|sample| now.since(sample.at) <= age);
        latest.map(|sample| self.believed(now, sample))
    }

    /// Returns a result, discounted if the path carried much less than its trains claimed.
    fn believed(&self, now: Time, sample: &Sample) -> Rate {
        let excess = self.excess[0].min(self.excess[1]);
        if sample.carried || excess < EXCESS {
            return sample.rate;
        }
        let halves = now.since(self.excess_at).as_nanos() / EXCESS_HALVES.as_nanos();
        Rate::from_bps(sample.rate.as_bps() / (excess >> halves.min(63)).max(1))
    }

    fn recent(&self, now: Time) -> impl Iterator<Item = &Sample> {
        self.measured.iter().filter(move |sample| now.since(sample.at) <= MEMORY + SLOWEST / 8)
    }

    /// The median of the recent results. A train that the link held back and released at once measures far
    /// too much.
    pub(super) fn typical(&self, now: Time) -> Option<Rate> {
        median(self.recent(now).map(|sample| self.believed(now, sample)))
    }

    /// The least of the latest results.
    fn risen(&self, now: Time) -> Option<Rate> {
        let latest = || self.measured.iter().rev().take(RISEN).filter(|s| now.since(s.at) <= MEMORY);
        latest().map(|sample| self.believed(now, sample)).min().filter(|_| latest().count() == RISEN)
    }

    /// The rate that the path offers, from its typical result and the latest ones, if the last is at most
    /// `age` old. `None` after a single train.
    pub(super) fn promise(&self, now: Time, age: Span) -> Option<Rate> {
        let (latest, typical) = (self.latest(now, age)?, self.typical(now)?);
        let mut recent = self.recent(now);
        let confirmed = recent.next()?.carried || recent.next().is_some();
        let offered = self.risen(now).map_or(typical, |risen| risen.max(typical));
        confirmed.then(|| offered.min(latest.mul_ratio(3, 2)))
    }

    /// Packets of the next train: more where they pass quickly.
    pub(super) fn train_packets(&self) -> u64 {
        match self.measured.back().map(|sample| sample.rate.as_bps()) {
            Some(bps) if bps < 1_000_000 => 2,
            Some(bps) if bps < 8_000_000 => 4,
            _ => 8,
        }
    }

    /// Takes a train of `packets` of `bytes` from the budget of `per_minute` bytes; false if that is not
    /// enough.
    pub(super) fn spend(&mut self, now: Time, packets: u64, bytes: u64, per_minute: u64) -> bool {
        let cost = packets * (bytes + ANSWER);
        let typical = self.typical(now).map_or(per_minute, |rate| {
            // A path that carried little is asked again, rarely.
            let least = cost * 60_000 / SLOWEST.as_millis();
            (rate.bytes_in(Span::from_secs(60)) / COST).max(least)
        });
        let per_minute = per_minute.min(typical);
        let earned =
            u128::from(per_minute) * u128::from(now.since(self.budget.1).as_nanos()) / 60_000_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX);
        let most = SAVED * 8 * (bytes + ANSWER);
        // A budget too small for what is saved up is all saved up.
        let saved = self.budget.0.saturating_add(earned).min(most.min(per_minute));
        self.budget = (saved, now);
        if saved < cost {
            return false;
        }
        self.budget.0 -= cost;
        true
    }
}

/// The median of rates; the lower one of an even number.
fn median(rates: impl Iterator<Item = Rate>) -> Option<Rate> {
    let mut rates: Vec<Rate> = rates.collect();
    rates.sort_unstable();
    rates.get(rates.len().checked_sub(1)? / 2).copied()
}
