//! [`Carried`]: the round trip and the rate that a path showed lately, for the choice between several paths.
//!
//! The window says little about a path that is not full: CUBIC keeps the window of its last queue. Does not
//! depend on packets.

use msctp_units::{Span, Time};

/// Minimum period over which acknowledged bytes are counted.
const PERIOD: Span = Span::from_millis(50);
/// Length of a window of the rate filter. The maximum covers one to two windows.
const MEMORY: Span = Span::from_secs(5);

/// The round-trip time and the rate that the acknowledgements of one path show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// The latest round-trip time of a chunk sent once.
    pub(crate) round_trip: Option<Span>,
    /// Start of the current period, and the bytes acknowledged in it.
    from: Time,
    bytes: u64,
    /// Maximum rates of this window and of the previous one, in bytes per second.
    best: [u64; 2],
    memory_end: Time,
}

impl Carried {
    pub(crate) fn new(now: Time) -> Self {
        Self { round_trip: None, from: now, bytes: 0, best: [0; 2], memory_end: now + MEMORY }
    }

    /// Records `bytes` newly acknowledged bytes, and the round-trip time if one was measured.
    pub(crate) fn on_acked(&mut self, now: Time, bytes: u64, round_trip: Option<Span>) {
        self.round_trip = round_trip.or(self.round_trip);
        self.bytes += bytes;
        let elapsed = now.since(self.from);
        if elapsed < PERIOD.max(self.round_trip.unwrap_or_default()) {
            return;
        }
        if now >= self.memory_end {
            self.best = [0, self.best[0]];
            self.memory_end = now + MEMORY;
        }
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(elapsed.as_nanos());
        self.best[0] = self.best[0].max(u64::try_from(rate).unwrap_or(u64::MAX));
        (self.from, self.bytes) = (now, 0);
    }

    /// Returns the maximum rate of the last seconds in bytes per second; `None` before the end of the first
    /// period.
    pub(crate) fn rate(&self) -> Option<u64> {
        Some(self.best[0].max(self.best[1])).filter(|&rate| rate > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_highest_rate_of_the_last_seconds_counts() {
        let mut carried = Carried::new(ms(0));
        assert_eq!(carried.rate(), None);
        for step in 1..=10 {
            carried.on_acked(ms(10 * step), 1000, Some(Span::from_millis(20)));
        }
        assert_eq!(carried.rate(), Some(100_000));
        // Less for five seconds, then for as long again.
        for step in 11..=1100 {
            carried.on_acked(ms(10 * step), 100, None);
            let expected = if step < 1000 { 100_000 } else { 10_000 };
            assert_eq!(carried.rate(), Some(expected), "at {} ms", 10 * step);
        }
        assert_eq!(carried.round_trip, Some(Span::from_millis(20)));
    }

    #[test]
    fn a_period_lasts_a_round_trip() {
        let mut carried = Carried::new(ms(0));
        carried.on_acked(ms(100), 1000, Some(Span::from_millis(200)));
        assert_eq!(carried.rate(), None);
        carried.on_acked(ms(200), 1000, None);
        assert_eq!(carried.rate(), Some(10_000));
    }
}
