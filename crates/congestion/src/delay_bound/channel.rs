//! [`Channel`]: tells losses of the channel from those of an overflow, by a trial at a lower rate.

use crate::amount::permille;

/// Shares of lost bytes are in millionths.
const ALL: u64 = 1_000_000;
/// Loss rate above that of the channel from which a queue overflowed, in thousandths: 2 %. Without a trial
/// the channel counts as lossless (draft-ietf-ccwg-bbr §2.5, BBR.LossThresh).
const LOSS_THRESHOLD: u64 = 20;
/// Minimum number of packets lost at an overflow: a small window exceeds the rate with one or two.
const LEAST_LOST: u64 = 3;
/// Standard deviations of the channel's losses that are no overflow either.
const DEVIATIONS: u64 = 3;
/// Packets of a comparison on a channel that loses packets.
const COMPARED: u64 = 100;
/// Rounds after an overflow from which losses are of packets that left at the lowered rate.
const LOWERED: u32 = 3;
/// Share of the bandwidth-delay product in flight during a trial, in thousandths. This flow overflows no
/// queue then, and stays below a policer's rate.
const TRIED: u64 = 750;
/// Rounds of a trial before its losses count: the flight falls in the first.
const SETTLING: u32 = 2;
/// A trial ends after so many lost packets, or so many packets.
const TRIAL_LOST: u64 = 8;
const TRIAL_PACKETS: u64 = 300;
/// Divisor of the difference by which a comparison moves the channel's loss rate.
const SMOOTHING: u64 = 8;
/// Maximum loss rate that comparisons reach, in thousandths of the trial's: an overflow that grows slowly
/// does not become the channel's.
const MOST_GROWTH: u64 = 1500;
/// Loss rate below which the channel counts as lossless: 0.2 %.
const LOSSLESS: u64 = 2_000;

/// Packets and bytes delivered and lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Bytes delivered and lost.
    pub(super) sent: u64,
    /// Bytes lost.
    pub(super) lost: u64,
    pub(super) packets_lost: u64,
}

impl Counts {
    fn share(&self) -> u64 {
        let share = u128::from(self.lost) * u128::from(ALL) / u128::from(self.sent.max(1));
        u64::try_from(share).unwrap_or(ALL).min(ALL)
    }

    fn add(&mut self, other: &Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.lost = self.lost.saturating_add(other.lost);
        self.packets_lost = self.packets_lost.saturating_add(other.packets_lost);
    }
}

/// A trial: the path at a rate at which this flow overflows no queue.
#[derive(Clone, Copy, Debug)]
struct Trial {
    window: u64,
    rounds: u32,
    counts: Counts,
    /// The round whose losses began it.
    before: Counts,
}

/// The loss rate of the channel. Zero until a trial shows another one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Channel {
    /// Loss rate of the channel, and that of the last trial, in millionths.
    share: u64,
    tried: u64,
    /// Rounds since the first of a series of overflows.
    since_overflow: Option<u32>,
    trial: Option<Trial>,
}

impl Channel {
    /// Returns the bytes that must be in flight for `delivered` bytes of them to arrive.
    pub(super) fn with_losses(&self, delivered: u64) -> u64 {
        let bytes = u128::from(delivered) * u128::from(ALL) / u128::from((ALL - self.share).max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Returns whether the channel counts as lossless.
    pub(super) fn is_lossless(&self) -> bool {
        self.share == 0
    }

    /// Returns the window of a running trial.
    pub(super) fn window(&self) -> Option<u64> {
        self.trial.map(|trial| trial.window)
    }

    /// Returns whether a round, or several, are too few packets for a comparison.
    pub(super) fn is_too_little(&self, counts: &Counts, pmdcs: u64) -> bool {
        let enough = match self.share {
            0 if counts.packets_lost >= LEAST_LOST => 0,
            0 => LEAST_LOST * 1000 / LOSS_THRESHOLD,
            _ => COMPARED,
        };
        counts.sent < pmdcs.saturating_mul(enough)
    }

    /// Returns whether more was lost than the channel loses.
    pub(super) fn overflowed(&self, counts: &Counts, pmdcs: u64) -> bool {
        let expected = u128::from(counts.sent) * u128::from(self.share) / u128::from(ALL);
        // Of a binomial distribution with few losses.
        let deviation = (expected * u128::from(pmdcs)).isqrt() * u128::from(DEVIATIONS);
        let channel = u64::try_from(expected + deviation).unwrap_or(u64::MAX);
        let most = channel.saturating_add(permille(counts.sent, LOSS_THRESHOLD));
        counts.packets_lost >= LEAST_LOST && counts.lost > most
    }

    /// Ends a trial without a result: something else sets the window.
    pub(super) fn abandon_trial(&mut self) {
        if self.trial.take().is_some() {
            self.since_overflow = None;
        }
    }

    /// Counts a round outside a trial, whether or not it was compared.
    pub(super) fn on_round(&mut self) {
        self.since_overflow = self.since_overflow.map(|rounds| rounds.saturating_add(1));
    }

    /// Moves the channel's loss rate to that of a round without an overflow.
    pub(super) fn on_compared(&mut self, counts: &Counts) {
        if self.share == 0 {
            return;
        }
        let share = (self.share * (SMOOTHING - 1) + counts.share()) / SMOOTHING;
        self.share = share.min(permille(self.tried, MOST_GROWTH));
        if self.share < LOSSLESS {
            (self.share, self.tried) = (0, 0);
        }
    }

    /// Handles an overflow. `continues`: the window is still lowered for the last one. Returns true if it is
    /// the first of a series.
    pub(super) fn on_overflow(&mut self, continues: bool) -> bool {
        let first = !continues || self.since_overflow.is_none();
        if first {
            self.since_overflow = Some(0);
        }
        first
    }

    /// Starts a trial if the losses of `before` continue although the rate is lower since a while. `path` is
    /// the capacity of the path without a queue, in bytes.
    pub(super) fn try_if_due(&mut self, before: &Counts, path: u64, least: u64) {
        if self.since_overflow.is_some_and(|rounds| rounds >= LOWERED) {
            let window = permille(path, TRIED).max(least);
            let before = *before;
            self.trial = Some(Trial { window, rounds: 0, counts: Counts::default(), before });
        }
    }

    /// Ends a round of a trial. Returns, after the trial, whether its losses were an overflow's: whether
    /// fewer were lost at the lower rate.
    pub(super) fn end_trial_round(&mut self, counts: &Counts, pmdcs: u64) -> Option<bool> {
        let trial = self.trial.as_mut()?;
        trial.rounds = trial.rounds.saturating_add(1);
        if trial.rounds <= SETTLING {
            return None;
        }
        trial.counts.add(counts);
        if trial.counts.packets_lost < TRIAL_LOST && trial.counts.sent < pmdcs.saturating_mul(TRIAL_PACKETS) {
            return None;
        }
        let Trial { counts, before, .. } = *trial;
        (self.trial, self.since_overflow) = (None, None);
        (self.share, self.tried) = (counts.share(), counts.share());
        Some(self.overflowed(&before, pmdcs))
    }
}
