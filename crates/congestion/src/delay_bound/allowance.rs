//! [`Allowance`]: the bytes that the bottleneck may queue.

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

    /// Records the bytes queued when a packet passed.
    pub(super) fn on_queue(&mut self, bytes: u64) {
        self.longest[1] = self.longest[1].max(Some(bytes));
    }

    pub(super) fn on_lost(&mut self, lost: &LostPacket) {
        self.counts.sent = self.counts.sent.saturating_add(lost.bytes);
        self.counts.lost = self.counts.lost.saturating_add(lost.bytes);
        self.counts.packets_lost += 1;
        self.in_flight = self.in_flight.min(lost.tx_in_flight);
    }

    /// Returns the maximum window, which leaves room for other flows after an overflow.
    pub(super) fn most(&self, now: Time) -> u64 {
        self.most.filter(|(_, until)| now < *until).map_or(u64::MAX, |(most, _)| most)
    }

    /// Ends a round. Returns true if the queue overflowed. `path` is the capacity of the path without a
    /// queue, in bytes.
    pub(super) fn end_round(&mut self, now: Time, path: u64, pmdcs: u64, channel: &mut Channel) -> LossRound {
        let counts = self.counts;
        let longest = self.longest[0].max(self.longest[1]);
        self.longest = [self.longest[1], None];
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
        if channel.is_too_little(&counts, pmdcs) {
            return LossRound::Quiet;
        }
        if !channel.overflowed(&counts, pmdcs) {
            channel.on_compared(&counts);
            let passed = self.ended.map_or(Span::ZERO, |ended| now.since(ended));
            let step = over(per_second(self.bound, RECOVERY), passed).min(self.bound / RECOVERY_DIVISOR);
            self.bound = self.bound.saturating_add(step.max(pmdcs));
            self.start_round(now);
            return LossRound::Quiet;
        }
        let first = channel.on_overflow(self.most.is_some_and(|(_, until)| now < until));
        if first {
            self.before = self.bound;
        }
        let least = pmdcs.saturating_mul(LEAST_PACKETS);
        channel.try_if_due(&counts, path, least);
        let lowered = longest.map_or(self.bound, |longest| permille(longest.min(self.bound), BELOW_OVERFLOW));
        self.bound = lowered.max(least);
        self.most = Some((permille(self.in_flight, HEADROOM).max(path), now + CAUTIOUS));
        self.start_round(now);
        if first { LossRound::FirstOverflow } else { LossRound::Overflow }
    }

    fn start_round(&mut self, now: Time) {
        (self.counts, self.in_flight, self.ended) = (Counts::default(), u64::MAX, Some(now));
    }
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
