//! [`Allowance`]: the bytes that the bottleneck may queue.
//!
//! A queue overflows in two ways. This flow grows beyond it by half of the buffer in a round trip: then it
//! loses more than 2 % of a round. Or the queue is full and somebody adds a packet per round trip, which is
//! how rivals like CUBIC or Reno grow: then each flow loses a packet now and then, and CUBIC yields to its
//! own. Such a loss differs from the channel's by the queue that it meets, which is as long as at the last
//! overflow. The queue is a rival's too if this flow gets less of the link than it did in the last minute:
//! alone it gets the same rate whenever a queue stands.

use msctp_units::{Span, Time};

use super::channel::{Channel, Counts};
use crate::LostPacket;
use crate::amount::{over, per_second, permille};

/// The queueing delay at [`REFERENCE_RATE`].
const TARGET: Span = Span::from_millis(15);
/// 20 Mbit/s, in bytes per second.
const REFERENCE_RATE: u64 = 2_500_000;
/// Packets that the bottleneck may always queue.
const LEAST_PACKETS: u64 = 4;
/// Share of the bytes in flight at an overflow that may be in flight after it, in thousandths (BBR.Headroom,
/// draft-ietf-ccwg-bbr §2.5).
const HEADROOM: u64 = 850;
/// Time for which [`HEADROOM`] applies: the minimum time between BBR's probes (§5.3.3.5.3).
const CAUTIOUS: Span = Span::from_secs(2);
/// Share of the bytes in flight after a loss from a full queue, in thousandths: CUBIC's beta (RFC 9438
/// §4.6).
const AFTER_FULL: u64 = 700;
/// CUBIC's C (RFC 9438 §5), in thousandths.
const CUBIC_C: u64 = 400;
/// Share of the greatest recent delivery rate below which others have the rest of the link, in thousandths.
const SHARED: u64 = 980;
/// Length of a window of the greatest delivery rate, which covers one to two of them: several losses of
/// CUBIC.
const RATE_WINDOW: Span = Span::from_secs(30);
/// Share of the queueing delay at the last overflow from which a queue counts as full, in thousandths.
const FULL: u64 = 850;
/// Share of the overflowed queue that is allowed from then on, in thousandths.
const BELOW_OVERFLOW: u64 = 700;
/// Divisor of the bound by which a round without an overflow raises it at most.
const RECOVERY_DIVISOR: u64 = 16;
/// Time in which the bound grows by its size. Rounds of a short path would soon forget the buffer, and the
/// window grow beyond it by several times its size at once.
const RECOVERY: Span = Span::from_secs(4);

/// The target queue, and its bound where the buffer is shallow.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    /// Bytes that the buffer has held; `u64::MAX` before its first overflow.
    bound: u64,
    /// What was delivered and lost in this round.
    counts: Counts,
    /// Minimum bytes in flight when a packet left that was lost in this round.
    in_flight: u64,
    /// Maximum window after an overflow, and the time until which it applies.
    most: Option<(u64, Time)>,
    /// The longest queues that packets passed in the last round and in this one, in bytes. `None` if no round
    /// trip was measured: acknowledged retransmissions measure none.
    longest: [Option<u64>; 2],
    /// Their delays. A rival changes the share of a full queue that this flow's bytes are, not its delay.
    delays: [Span; 2],
    /// The queueing delay at the last overflow, when the buffer was full.
    full: Option<Span>,
    /// True if the queue was full when a loss of this round was detected.
    lost_from_full: bool,
    /// Maximum delivery rates of the last [`RATE_WINDOW`] and of this one, which ends at `rates_end`.
    rates: [u64; 2],
    rates_end: Time,
    /// After a timeout the delays and rates are those of the stall, until this time.
    stalled: Time,
    /// The end of the last round.
    ended: Option<Time>,
    /// The bound before a series of overflows.
    before: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            bound: u64::MAX,
            counts: Counts::default(),
            in_flight: u64::MAX,
            most: None,
            longest: [None; 2],
            delays: [Span::ZERO; 2],
            full: None,
            lost_from_full: false,
            rates: [0; 2],
            rates_end: Time::ZERO,
            stalled: Time::ZERO,
            ended: None,
            before: u64::MAX,
        }
    }
}

impl Allowance {
    /// Returns the bytes that the bottleneck may queue at this delivery rate (bytes per second).
    ///
    /// The delay falls with the square root of the rate, like Swift's flow scaling. Of two flows that see one
    /// queue, the slower one grows and the faster one yields.
    pub(super) fn target(&self, rate: u64, pmdcs: u64) -> u64 {
        let scaled = (u128::from(rate) * u128::from(REFERENCE_RATE)).isqrt();
        let bytes = over(u64::try_from(scaled).unwrap_or(u64::MAX), TARGET);
        bytes.max(pmdcs.saturating_mul(LEAST_PACKETS)).min(self.bound)
    }

    /// Limits growth by `step` bytes of a window of `cwnd`. The window grows in a round trip by at most the
    /// size of the buffer.
    pub(super) fn limit(&self, step: u64, cwnd: u64) -> u64 {
        if self.bound >= cwnd {
            return step;
        }
        u64::try_from(u128::from(step) * u128::from(self.bound) / u128::from(cwnd)).unwrap_or(step)
    }

    pub(super) fn on_delivered(&mut self, bytes: u64) {
        self.counts.sent = self.counts.sent.saturating_add(bytes);
    }

    /// Records the bytes queued when a packet passed, and their delay.
    pub(super) fn on_queue(&mut self, bytes: u64, delay: Span) {
        self.longest[1] = self.longest[1].max(Some(bytes));
        self.delays[1] = self.delays[1].max(delay);
    }

    pub(super) fn on_lost(&mut self, lost: &LostPacket) {
        self.counts.sent = self.counts.sent.saturating_add(lost.bytes);
        self.counts.lost = self.counts.lost.saturating_add(lost.bytes);
        self.counts.packets_lost += 1;
        self.in_flight = self.in_flight.min(lost.tx_in_flight);
        let is_full = |full: Span| self.longest_delay().as_nanos() >= permille(full.as_nanos(), FULL);
        self.lost_from_full |= self.full.is_some_and(is_full);
    }

    fn longest_delay(&self) -> Span {
        self.delays[0].max(self.delays[1])
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.stalled = now + CAUTIOUS;
        self.rates = [0; 2];
    }

    /// Records the delivery rate of a round. Returns whether others have a part of the link.
    fn is_shared(&mut self, now: Time, rate: u64) -> bool {
        if now < self.stalled {
            return false;
        }
        if now >= self.rates_end {
            (self.rates, self.rates_end) = ([self.rates[1], 0], now + RATE_WINDOW);
        }
        self.rates[1] = self.rates[1].max(rate);
        rate < permille(self.rates[0].max(self.rates[1]), SHARED)
    }

    /// Returns the maximum window, which leaves room for other flows after an overflow.
    pub(super) fn most(&self, now: Time) -> u64 {
        self.most.filter(|(_, until)| now < *until).map_or(u64::MAX, |(most, _)| most)
    }

    /// Ends a round with its delivery rate, in bytes per second. `path` is the capacity of the path without a
    /// queue, in bytes.
    pub(super) fn end_round(
        &mut self,
        now: Time,
        (rate, path): (u64, u64),
        pmdcs: u64,
        channel: &mut Channel,
    ) -> LossRound {
        let shared = self.is_shared(now, rate);
        let counts = self.counts;
        let longest = self.longest[0].max(self.longest[1]);
        self.longest = [self.longest[1], None];
        let delay = self.longest_delay();
        self.delays = [self.delays[1], Span::ZERO];
        let lost_from_full = core::mem::take(&mut self.lost_from_full);
        if channel.window().is_some() {
            self.start_round(now);
            return match channel.end_trial_round(&counts, pmdcs) {
                Some(false) => {
                    (self.bound, self.most) = (self.before, None);
                    LossRound::ChannelLoss
                }
                Some(true) | None => LossRound::Quiet,
            };
        }
        channel.on_round();
        // On a channel that loses packets, such a loss says nothing.
        let from_full = lost_from_full && shared && channel.is_lossless();
        if !from_full && channel.is_too_little(&counts, pmdcs) {
            return LossRound::Quiet;
        }
        let many = channel.overflowed(&counts, pmdcs);
        if !from_full && !many {
            channel.on_compared(&counts);
            let passed = self.ended.map_or(Span::ZERO, |ended| now.since(ended));
            let step = over(per_second(self.bound, RECOVERY), passed).min(self.bound / RECOVERY_DIVISOR);
            self.bound = self.bound.saturating_add(step.max(pmdcs));
            self.start_round(now);
            return LossRound::Quiet;
        }
        let first = many && channel.on_overflow(self.most.is_some_and(|(_, until)| now < until));
        if first {
            self.before = self.bound;
        }
        let least = pmdcs.saturating_mul(LEAST_PACKETS);
        if many {
            channel.try_if_due(&counts, path, least);
        }
        let lowered = longest.map_or(self.bound, |longest| permille(longest.min(self.bound), BELOW_OVERFLOW));
        self.bound = lowered.max(least);
        // The few losses of a full queue do not measure it, as those of an overflow do. A policer has none.
        let overflowed = longest.filter(|&longest| longest >= least && now >= self.stalled).map(|_| delay);
        self.full = self.full.filter(|_| from_full).max(overflowed);
        self.most = Some(if from_full {
            (permille(self.in_flight, AFTER_FULL), now + cubic_return(self.in_flight, pmdcs))
        } else {
            (permille(self.in_flight, HEADROOM).max(path), now + CAUTIOUS)
        });
        self.start_round(now);
        if first { LossRound::FirstOverflow } else { LossRound::Overflow }
    }

    fn start_round(&mut self, now: Time) {
        (self.counts, self.in_flight, self.ended) = (Counts::default(), u64::MAX, Some(now));
    }
}

/// Returns K, the time in which CUBIC's window returns to `flight` bytes (RFC 9438 §4.2).
fn cubic_return(flight: u64, pmdcs: u64) -> Span {
    let micros = crate::cubic::k(flight - permille(flight, AFTER_FULL), pmdcs, CUBIC_C);
    Span::from_millis(micros / 1000)
}

/// What the losses of a round say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossRound {
    /// Nothing.
    Quiet,
    /// The queue overflowed, not long after it did before.
    Overflow,
    /// The queue overflowed.
    FirstOverflow,
    /// The losses since the last [`FirstOverflow`](Self::FirstOverflow) were the channel's.
    ChannelLoss,
}
