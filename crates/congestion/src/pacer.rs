//! [`Pacer`]: a token bucket that paces packets, in exact integers.
//!
//! Nothing is rounded, however often the rate changes. It returns the departure time; the caller owns timers
//! and sending. The rate usually comes from [`Controller::pacing_rate`](crate::Controller::pacing_rate).

use msctp_units::{Rate, Span, Time};

/// A byte in bit/s times nanoseconds.
const BYTE: i128 = 8 * 1_000_000_000;

/// A token bucket for one path.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Option<Rate>,
    /// Size of the bucket, in [`BYTE`]s.
    burst: i128,
    /// Tokens at `at`; below zero after a packet larger than the bucket.
    tokens: i128,
    at: Time,
}

impl Pacer {
    /// Returns a full bucket. `rate` is on the IP wire; `None`: unpaced.
    ///
    /// `burst` is the number of bytes that may leave at once after a pause. A larger packet needs a full
    /// bucket, so with 0 one packet leaves at a time.
    pub fn new(rate: Option<Rate>, burst: u64) -> Self {
        let burst = i128::from(burst) * BYTE;
        Self { rate, burst, tokens: burst, at: Time::ZERO }
    }

    /// Returns the tokens at `now`, which is never before `at`.
    fn tokens_at(&self, now: Time) -> i128 {
        let rate = self.rate.map_or(u64::MAX, Rate::as_bps);
        let gained = i128::try_from(u128::from(now.since(self.at).as_nanos()) * u128::from(rate));
        self.tokens.saturating_add(gained.unwrap_or(i128::MAX)).min(self.burst)
    }

    fn advance(&mut self, now: Time) {
        self.tokens = self.tokens_at(now);
        self.at = self.at.max(now);
    }

    /// Returns the time of the last packet or the last change.
    pub const fn counted_to(&self) -> Time {
        self.at
    }

    /// Sets the rate from `now` on; the tokens in the bucket stay.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.advance(now);
        self.rate = rate;
    }

    /// Sets the bucket size in bytes from `now` on.
    pub fn set_burst(&mut self, now: Time, burst: u64) {
        self.advance(now);
        self.burst = i128::from(burst) * BYTE;
        self.tokens = self.tokens.min(self.burst);
    }

    /// Returns when a packet of `bytes` bytes on the IP wire may leave: `now` or later; [`Time::MAX`] if
    /// never at this rate.
    pub fn departure(&self, now: Time, bytes: u64) -> Time {
        let Some(rate) = self.rate else { return now };
        let wanted = (i128::from(bytes) * BYTE).min(self.burst);
        let missing = wanted - self.tokens_at(now);
        if missing <= 0 {
            return now;
        }
        if rate.is_zero() {
            return Time::MAX;
        }
        // rounded up: at that time it may leave
        let wait = missing.unsigned_abs().div_ceil(u128::from(rate.as_bps()));
        now + Span::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Records a packet of `bytes` bytes sent at `now`. A packet sent early delays the next ones.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        self.advance(now);
        if self.rate.is_some() {
            self.tokens = self.tokens.saturating_sub(i128::from(bytes) * BYTE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Returns the departure times of packets of `bytes` that leave as early as allowed.
    fn departures(pacer: &mut Pacer, mut now: Time, bytes: u64, count: usize) -> Vec<Time> {
        let mut times = Vec::new();
        for _ in 0..count {
            now = pacer.departure(now, bytes);
            pacer.on_sent(now, bytes);
            times.push(now);
        }
        times
    }

    #[test]
    fn packets_leave_at_the_rate_after_the_burst() {
        // 1500 bytes at 12 Mbps: 1 ms
        let mut pacer = Pacer::new(Some(Rate::from_mbps(12)), 3000);
        assert_eq!(departures(&mut pacer, us(5), 1500, 5), [us(5), us(5), us(1005), us(2005), us(3005)]);
        // After a pause of 1.5 ms one packet may leave at once, the next half a millisecond later.
        assert_eq!(departures(&mut pacer, us(4505), 1500, 3), [us(4505), us(5005), us(6005)]);
        assert_eq!(
            departures(&mut pacer, us(1_000_000), 1500, 3)[1],
            us(1_000_000),
            "no more than the burst"
        );
    }

    #[test]
    fn without_a_rate_packets_leave_when_they_will() {
        let mut pacer = Pacer::new(None, 0);
        assert_eq!(departures(&mut pacer, us(7), 1500, 100), [us(7); 100]);
        pacer.set_rate(us(7), Some(Rate::from_mbps(12)));
        assert_eq!(departures(&mut pacer, us(7), 1500, 2), [us(7), us(1007)]);
    }

    #[test]
    fn without_a_burst_one_packet_leaves_at_a_time() {
        let mut pacer = Pacer::new(Some(Rate::from_mbps(12)), 0);
        assert_eq!(departures(&mut pacer, us(0), 1500, 3), [us(0), us(1000), us(2000)]);
        assert_eq!(departures(&mut pacer, us(9000), 750, 3), [us(9000), us(9500), us(10_000)]);
    }

    #[test]
    fn a_change_of_rate_counts_from_then_on() {
        let mut pacer = Pacer::new(Some(Rate::from_mbps(12)), 0);
        pacer.on_sent(us(0), 1500);
        pacer.set_rate(us(500), Some(Rate::from_mbps(6)));
        assert_eq!(
            pacer.departure(us(500), 1500),
            us(1500),
            "half was paid, the other half takes twice as long"
        );
        pacer.set_rate(us(500), Some(Rate::ZERO));
        assert_eq!(pacer.departure(us(800), 1500), Time::MAX);
        pacer.set_rate(us(900), None);
        assert_eq!(pacer.departure(us(900), 1500), us(900));
        pacer.set_burst(us(900), 100);
        assert_eq!(pacer.departure(us(900), 1500), us(900));
    }

    proptest::proptest! {
        /// No interval carries more than rate × time plus one burst or one packet. A sender that always has
        /// data gets the exact rate.
        #[test]
        fn packets_keep_the_exact_rate(
            bps in 1_000u64..10_000_000_000, burst in 0u64..20_000,
            packets in proptest::collection::vec((40u64..9000, 0u64..3_000_000), 2..80),
        ) {
            let rate = Rate::from_bps(bps);
            let mut pacer = Pacer::new(Some(rate), burst);
            let mut now = Time::ZERO;
            let mut sent = Vec::new();
            for &(bytes, pause) in &packets {
                now = pacer.departure(now + Span::from_nanos(pause), bytes);
                pacer.on_sent(now, bytes);
                sent.push((now, bytes));
            }
            for first in 0..sent.len() {
                let mut total = 0u128;
                for &(at, bytes) in &sent[first..] {
                    total += u128::from(bytes);
                    let span = u128::from(at.since(sent[first].0).as_nanos());
                    let given = span * u128::from(bps) / 8_000_000_000 + 1;
                    let at_once = u128::from(burst.max(bytes)) + 9000;
                    proptest::prop_assert!(total <= given + at_once, "{total} in {span} ns");
                }
            }
            let mut pacer = Pacer::new(Some(rate), burst);
            let total: u64 = packets.iter().map(|(bytes, _)| bytes).sum();
            let mut now = Time::ZERO;
            for &(bytes, _) in &packets {
                now = pacer.departure(now, bytes);
                pacer.on_sent(now, bytes);
            }
            let least = u128::from(total.saturating_sub(burst + 9000)) * 8_000_000_000 / u128::from(bps);
            let most = u128::from(total) * 8_000_000_000 / u128::from(bps) + packets.len() as u128;
            let took = u128::from(now.as_nanos());
            proptest::prop_assert!((least..=most).contains(&took), "{took} ns: {least} to {most}");
        }

        /// A packet may leave at the returned time, and not a nanosecond earlier.
        #[test]
        fn the_departure_is_the_earliest(bps: u64, burst: u64, bytes: u64, sent: u64, at: u64, now: u64) {
            let mut pacer = Pacer::new(Some(Rate::from_bps(bps)), burst);
            pacer.on_sent(Time::from_nanos(at), sent);
            let now = Time::from_nanos(now.max(at));
            let departure = pacer.departure(now, bytes);
            proptest::prop_assert!(departure >= now);
            if departure < Time::MAX {
                proptest::prop_assert_eq!(pacer.departure(departure, bytes), departure);
                if departure > now {
                    let before = Time::from_nanos(departure.as_nanos() - 1);
                    proptest::prop_assert_eq!(pacer.departure(before, bytes), departure);
                }
            }
        }
    }
}
