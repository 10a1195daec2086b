//! [`SilenceDetector`]: measures the signs of life of a path and how long it may be silent.
//!
//! `outbound::silence` acts on it. Our own; not in any RFC.

use msctp_units::{Span, Time};

use super::PathId;
use super::flow::SendNumber;
use crate::long_tsn::LongTsn;

/// Signs of life needed before the usual interval between them counts as known.
const MIN_SIGNS: u32 = 8;
/// Half intervals of silence before the first silence probe. Each unnecessary silence probe adds one.
const PROBE_HALF_INTERVALS: u64 = 3;
/// Divisor of `FailoverConfig::silence` that gives the minimum wait before the first silence probe.
pub(crate) const PROBE_MIN_FRACTION: u64 = 4;
/// Intervals of silence after which the path fails.
const FAILURE_INTERVALS: u64 = 3;
/// Maximum number of these intervals after repeated failures.
const MAX_FAILURE_INTERVALS: u64 = 32;
/// Time without failure or unnecessary silence probe after which a path restarts with the initial factors.
const CALM: Span = Span::from_secs(30);
/// Minimum time over which the usual interval is measured, besides two round trips. Only counted intervals
/// add to it: while too little is in flight, no interval counts, and none is forgotten.
const MEMORY: Span = Span::from_secs(1);

/// The signs of life of one path: packets received over it, acknowledgements of chunks sent on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceDetector {
    /// Time of the last sign of life.
    pub(crate) last_sign: Time,
    /// Transmission time of the latest acknowledged chunk, and the time of its acknowledgement.
    pub(crate) last_ack: Option<(Time, Time)>,
    /// True if more was in flight after the last SACK than a working path loses by chance.
    pub(crate) had_enough_in_flight: bool,
    /// True if the path failed since its last sign of life.
    failed: bool,
    /// Time before which the usual interval is unknown, because the path was observed too briefly.
    pub(crate) known_from: Time,
    /// Intervals in the current period and in the previous one.
    recent: [Intervals; 2],
    /// Sum of the intervals at which the current period ends.
    period: Span,
    /// Doubles with each failure that follows another one.
    failure_intervals: u64,
    probe_half_intervals: u64,
    calm_from: Time,
    /// Chunks of this path in flight on another one, to test whether the peer is reachable.
    pub(crate) silence_probe: Option<SilenceProbe>,
}

/// Intervals between signs of life with steady data.
#[derive(Clone, Copy, Debug, Default)]
struct Intervals {
    count: u32,
    longest: Span,
    sum: Span,
}

/// A silence probe: chunks of a silent path retransmitted on another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceProbe {
    /// The other path.
    pub(crate) path: PathId,
    /// The first of the chunks.
    pub(crate) tsn: LongTsn,
    /// Last transmission before the silence probe.
    pub(crate) before: SendNumber,
    /// Time at which the silence probe was sent.
    pub(crate) sent: Time,
    /// Time until which the silent path may still show a sign of life.
    pub(crate) fail_after: Time,
    /// Time at which the silence probe was acknowledged.
    pub(crate) answered: Option<Time>,
}

impl SilenceDetector {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            last_sign: now,
            last_ack: None,
            had_enough_in_flight: false,
            failed: false,
            known_from: now,
            recent: [Intervals::default(); 2],
            period: Span::ZERO,
            failure_intervals: FAILURE_INTERVALS,
            probe_half_intervals: PROBE_HALF_INTERVALS,
            calm_from: now,
            silence_probe: None,
        }
    }

    /// Records a sign of life, which ends a silence probe.
    pub(crate) fn on_sign(&mut self, now: Time, srtt: Option<Span>) {
        let interval = now.since(self.last_sign);
        self.last_sign = now;
        if now >= self.calm_from {
            self.failure_intervals = FAILURE_INTERVALS;
            self.probe_half_intervals = PROBE_HALF_INTERVALS;
        }
        let probed = self.silence_probe.take().is_some();
        if probed {
            self.probe_half_intervals = (self.probe_half_intervals + 1).min(2 * FAILURE_INTERVALS);
            self.calm_from = now + CALM;
        }
        // A path that answers after a silence probe or a failure shows how long an answer may take. Packets
        // that arrive together are one sign.
        let counts = core::mem::take(&mut self.failed) || self.had_enough_in_flight || probed;
        if !counts || interval.is_zero() {
            return;
        }
        if self.recent[0].sum >= self.period {
            self.recent = [Intervals::default(), self.recent[0]];
            self.period = MEMORY.max(srtt.unwrap_or_default() * 2);
        }
        if self.recent.iter().all(|intervals| intervals.count == 0) {
            self.known_from = now + MEMORY;
        }
        self.recent[0].count = self.recent[0].count.saturating_add(1);
        self.recent[0].longest = self.recent[0].longest.max(interval);
        self.recent[0].sum += interval;
    }

    /// Returns the time for which the path may be silent before a silence probe, and before it fails.
    ///
    /// `None` while the usual interval is unknown. `least` is `FailoverConfig::silence`.
    pub(crate) fn limits(&self, least: Span) -> Option<[Span; 2]> {
        let [now, before] = self.recent;
        let longest = now.longest.max(before.longest);
        let known = now.count.saturating_add(before.count) >= MIN_SIGNS;
        let probe_after = (longest * self.probe_half_intervals / 2).max(least / PROBE_MIN_FRACTION);
        known.then(|| [probe_after, (longest * self.failure_intervals).max(least)])
    }

    /// Records that the path failed.
    pub(crate) fn on_failure(&mut self, now: Time) {
        self.on_timeout();
        self.failure_intervals = (self.failure_intervals * 2).min(MAX_FAILURE_INTERVALS);
        self.calm_from = now + CALM;
        self.failed = true;
        self.recent = [Intervals::default(); 2];
    }

    /// Ends the silence probe after T3-rtx of the path expired.
    pub(crate) fn on_timeout(&mut self) {
        self.silence_probe = None;
        self.last_ack = None;
        self.had_enough_in_flight = false;
    }
}
