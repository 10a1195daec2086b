//! [`Known`]: measurements of one path: the rate that it carried, the results of trains, and their budget.

use std::collections::VecDeque;

use msctp_proto::PathId;
use msctp_proto::handover::PathView;
use msctp_units::{Rate, Span, Time};

/// Time over which a path's rate is averaged, and for which a measurement counts.
pub(super) const MEMORY: Span = Span::from_secs(4);
/// Wire bytes of a HEARTBEAT ACK without the padding of its HEARTBEAT.
const ANSWER: u64 = 72;
/// Trains that an unused budget saves up.
const SAVED: u64 = 4;
/// Share of a path's bandwidth that measuring it may take: one per cent.
const COST: u64 = 100;
/// Longest time between two trains on a path, budget permitting.
const SLOWEST: Span = Span::from_secs(4);

/// Measurements of one path. Rates are bit/s of IP packets.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: PathId,
    /// Bytes acknowledged up to certain times, while the path carries data; the oldest first.
    carried: VecDeque<(Time, u64)>,
    /// Results of trains, the oldest first.
    trains: VecDeque<(Time, Rate)>,
    pub(super) last_train: Option<Time>,
    /// A train is in flight.
    pub(super) measuring: bool,
    /// Bytes that may be spent on trains, and the time at which they were counted.
    budget: (u64, Time),
}

impl Known {
    /// Returns the state of a new path.
    pub(super) fn new(id: PathId, now: Time) -> Self {
        let (carried, trains) = (VecDeque::new(), VecDeque::new());
        Self { id, carried, trains, last_train: None, measuring: false, budget: (u64::MAX, now) }
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
        let rate = self.rate_over(now, Span::from_secs(1), path);
        self.carried.clear();
        self.trains.clear();
        if let Some(rate) = rate {
            self.trains.push_back((now, rate));
        }
    }

    /// Handles that data moves to the path.
    pub(super) fn on_entered(&mut self) {
        self.carried.clear();
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
        self.trains.push_back((now, rate));
        while self.trains.front().is_some_and(|(at, _)| now.since(*at) > MEMORY * 2) {
            self.trains.pop_front();
        }
    }

    /// The latest result, if it is at most `age` old.
    pub(super) fn latest(&self, now: Time, age: Span) -> Option<Rate> {
        self.trains.back().filter(|(at, _)| now.since(*at) <= age).map(|(_, rate)| *rate)
    }

    /// The mean of the recent results and their number.
    pub(super) fn mean_measured(&self, now: Time) -> Option<(Rate, usize)> {
        let recent = || self.trains.iter().filter(|(at, _)| now.since(*at) <= MEMORY + SLOWEST / 8);
        let count = recent().count();
        let sum: u128 = recent().map(|(_, rate)| u128::from(rate.as_bps())).sum();
        let mean = sum.checked_div(count as u128)?;
        Some((Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX)), count))
    }

    /// Packets of the next train: more where they pass quickly.
    pub(super) fn train_packets(&self) -> u64 {
        match self.trains.back().map(|(_, rate)| rate.as_bps()) {
            Some(bps) if bps < 1_000_000 => 2,
            Some(bps) if bps < 8_000_000 => 4,
            _ => 8,
        }
    }

    /// Takes a train of `packets` of `bytes` from the budget of `per_minute` bytes; false if that is not
    /// enough.
    pub(super) fn spend(&mut self, now: Time, packets: u64, bytes: u64, per_minute: u64) -> bool {
        let cost = packets * (bytes + ANSWER);
        let mean = self.mean_measured(now).map_or(per_minute, |(rate, _)| {
            // A path that carried little is asked again, rarely.
            let least = cost * 60_000 / SLOWEST.as_millis();
            (rate.bytes_in(Span::from_secs(60)) / COST).max(least)
        });
        let per_minute = per_minute.min(mean);
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
