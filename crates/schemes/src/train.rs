//! [`Train`]: measures a path's bandwidth once, by packets sent back to back.
//!
//! The bottleneck spreads the packets; the time between the first and the last answer gives its rate. The
//! answers are small, so that the way back spreads them less. A train measures what an instant offers: the
//! caller repeats it and averages. Answers that a busy host reads together show no spread: of those the round
//! trip tells, which is longer than without a queue. A shaper with a token bucket passes a short one at its
//! line rate; of a long one only the second half counts, which a bucket of 48 kB does not pass.

use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
use msctp_units::{Rate, Span, Time};

/// Packets from which on a train is long.
pub const LONG: u64 = 64;
/// Answers at fewer moments tell no rate by their spread.
const MOMENTS: u64 = 3;
/// The least time between two moments, and that a packet takes if the spread tells nothing: 1500 bytes at
/// 1.2 Gbit/s.
const LEAST: Span = Span::from_micros(10);

/// One train. Gives one estimate, when all its packets are answered or the last answer is overdue; without
/// any answer the bandwidth is zero.
#[derive(Clone, Debug)]
pub struct Train {
    packets: u64,
    bytes: u32,
    /// The longest wait for an answer.
    patience: Span,
    /// The round trip of a small packet without a queue, if it is known.
    unqueued: Option<Span>,
    sent: u64,
    first_sent: Time,
    deadline: Option<Time>,
    answered: u64,
    /// Answers of a long train's first half.
    skipped: u64,
    answers: Option<(Time, Time)>,
    /// Number of moments at which they arrived, and the last one.
    moments: (u64, Time),
    rtt_min: Option<Span>,
    estimate: Option<Estimate>,
    is_new: bool,
}

impl Train {
    /// `packets`: at least 2. `bytes`: of each as an IP packet, a multiple of 4. `patience`: the longest wait
    /// for an answer. `unqueued`: the path's least round trip, if it is known.
    pub fn new(packets: u64, bytes: u32, patience: Span, unqueued: Option<Span>) -> Self {
        Self {
            packets: packets.max(2),
            bytes,
            patience,
            unqueued,
            sent: 0,
            first_sent: Time::ZERO,
            deadline: None,
            answered: 0,
            skipped: 0,
            answers: None,
            moments: (0, Time::ZERO),
            rtt_min: None,
            estimate: None,
            is_new: false,
        }
    }

    /// The rate at which all packets pass in the time by which the last answer is later than one without a
    /// queue.
    fn by_round_trip(&self, last: Time) -> Option<Rate> {
        let queued = last.since(self.first_sent).saturating_sub(self.unqueued.unwrap_or_default());
        Rate::of(self.answered * u64::from(self.bytes), queued.max(LEAST * self.answered))
    }

    fn finish(&mut self) {
        self.deadline = None;
        // One answer shows that the path works, and no rate.
        let counted = self.answered - self.skipped;
        let measured = self.answers.filter(|_| counted >= 2 || self.sent < 2).and_then(|(first, last)| {
            let spread = last.since(first).max(Span::from_nanos(counted));
            let rate = Rate::of((counted - 1) * u64::from(self.bytes), spread)?;
            if self.moments.0 >= MOMENTS.min(counted) {
                return Some(rate);
            }
            Some(rate.min(self.by_round_trip(last)?))
        });
        let rate = measured.unwrap_or_default();
        self.is_new = true;
        self.estimate = Some(Estimate {
            capacity: rate,
            available: rate,
            rtt_min: self.rtt_min.unwrap_or(self.patience),
            loss_ppm: u32::try_from((self.sent - self.answered) * 1_000_000 / self.sent.max(1))
                .unwrap_or(u32::MAX),
            iteration: 1,
        });
    }
}

impl BandwidthEstimator for Train {
    fn probe_bytes(&self) -> u32 {
        self.bytes
    }

    fn poll_probe(&mut self, now: Time) -> Option<u64> {
        if self.sent == self.packets || self.estimate.is_some() {
            return None;
        }
        if self.sent == 0 {
            self.first_sent = now;
        }
        self.sent += 1;
        self.deadline = Some(now + self.patience);
        Some(self.sent)
    }

    fn outstanding(&self) -> usize {
        if self.estimate.is_some() { 0 } else { (self.sent - self.answered) as usize }
    }

    fn on_probe_ack(&mut self, now: Time, id: u64) {
        if self.estimate.is_some() {
            return;
        }
        self.answered += 1;
        if self.packets >= LONG && id <= self.packets / 2 {
            // Only the second half tells the rate.
            self.skipped += 1;
        }
        let rtt = now.since(self.first_sent);
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        if self.skipped < self.answered {
            if self.answers.is_none() || now.since(self.moments.1) >= LEAST {
                self.moments = (self.moments.0 + 1, now);
            }
            self.answers = Some((self.answers.map_or(now, |(first, _)| first), now));
        }
        if id == self.packets {
            self.finish();
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.finish();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.sent == 0 { Some(Time::ZERO) } else { self.deadline }
    }

    fn poll_estimate(&mut self) -> Option<Estimate> {
        core::mem::take(&mut self.is_new).then_some(self.estimate)?
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    fn restart(&mut self, _now: Time) {
        *self = Self::new(self.packets, self.bytes, self.patience, self.unqueued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn sent(packets: u64) -> Train {
        let mut train = Train::new(packets, 1500, Span::from_millis(200), Some(Span::from_millis(30)));
        assert_eq!(core::iter::from_fn(|| train.poll_probe(ms(10))).count() as u64, packets);
        train
    }

    /// 4 packets of 1500 bytes, one each ms: 3 · 12,000 bits in 3 ms.
    #[test]
    fn the_spread_of_the_answers_gives_the_rate() {
        let mut train = sent(4);
        for id in 1..=4 {
            assert_eq!(train.poll_estimate(), None);
            train.on_probe_ack(ms(40 + id), id);
        }
        let estimate = train.poll_estimate().unwrap();
        assert_eq!(estimate.available, Rate::from_mbps(12));
        assert_eq!((estimate.rtt_min, estimate.loss_ppm), (Span::from_millis(31), 0));
        assert_eq!(
            (train.poll_estimate(), train.poll_timeout(), train.poll_probe(ms(50))),
            (None, None, None)
        );
    }

    /// A bucket passes 20 packets at once; the others leave at 12 Mbit/s.
    #[test]
    fn a_token_bucket_does_not_deceive_a_long_train() {
        let mut train = sent(LONG);
        for id in 1..=LONG {
            train.on_probe_ack(ms(40 + id.saturating_sub(20)), id);
        }
        assert_eq!(train.poll_estimate().unwrap().available, Rate::from_mbps(12));
    }

    /// 8 packets of 1500 bytes, whose answers a busy host reads at once: 96,000 bits in the 12 ms by which
    /// the round trip is longer than without a queue.
    #[test]
    fn answers_that_are_read_together_show_no_spread() {
        let mut train = sent(8);
        for id in 1..=8 {
            train.on_probe_ack(ms(10 + 30 + 12), id);
        }
        assert_eq!(train.poll_estimate().unwrap().available, Rate::from_mbps(8));
        // Nor does the last one alone, read a moment later.
        let mut train = sent(8);
        for id in 1..=7 {
            train.on_probe_ack(ms(10 + 30 + 12), id);
        }
        train.on_probe_ack(ms(10 + 30 + 12) + Span::from_micros(5), 8);
        let rate = train.poll_estimate().unwrap().available;
        assert!(rate <= Rate::from_mbps(8), "{rate}");
        // On a host's own link all of it takes no time.
        let mut train = sent(8);
        for id in 1..=8 {
            train.on_probe_ack(ms(10), id);
        }
        assert_eq!(train.poll_estimate().unwrap().available, Rate::from_mbps(1200));
    }

    #[test]
    fn a_path_without_answers_carries_nothing() {
        let mut train = sent(4);
        train.handle_timeout(ms(209));
        assert_eq!(train.poll_estimate(), None);
        assert_eq!(train.poll_timeout(), Some(ms(210)));
        train.handle_timeout(ms(210));
        let estimate = train.poll_estimate().unwrap();
        assert_eq!((estimate.available, estimate.loss_ppm), (Rate::ZERO, 1_000_000));
    }

    #[test]
    fn the_rest_of_a_train_gives_the_rate_when_its_end_is_lost() {
        let mut train = sent(4);
        train.on_probe_ack(ms(41), 1);
        train.on_probe_ack(ms(43), 2);
        train.handle_timeout(ms(210));
        let estimate = train.poll_estimate().unwrap();
        assert_eq!((estimate.available, estimate.loss_ppm), (Rate::from_mbps(6), 500_000));
    }
}
