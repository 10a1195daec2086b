//! [`SilenceDetector`]: how often a path shows signs of life, and for how long it may be without one.
//! `outbound::silence` acts on it. Ours; not in any RFC.

use msctp_units::{Span, Time};

use super::PathId;
use super::flow::SendNumber;
use crate::long_tsn::LongTsn;

/// Signs of life needed before the usual interval between them counts as known.
const MIN_SIGNS: u32 = 8;
/// Half intervals of silence before the first probe; each probe in vain adds one.
const PROBE_HALF_INTERVALS: u64 = 3;
/// The first probe waits for at least this fraction of the shortest silence (`FailoverConfig::silence`).
const PROBE_MIN_FRACTION: u64 = 4;
/// Intervals of silence after which the path counts as failed.
const FAILURE_INTERVALS: u64 = 3;
/// Largest value of those after repeated failures.
const MAX_FAILURE_INTERVALS: u64 = 32;
/// A path without failure or probe in vain for this long starts over with the initial factors.
const CALM: Span = Span::from_secs(30);
/// The usual interval is measured over at least this long, and at least two round trips.
const MEMORY: Span = Span::from_secs(1);

/// Signs of life of one path: packets that arrive over it, acknowledgements of what was sent on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceDetector {
    /// When the last sign of life came.
    pub(crate) last_heard: Time,
    /// When the latest acknowledged chunk was sent, and when its acknowledgement came.
    pub(crate) last_ack: Option<(Time, Time)>,
    /// Enough was in flight after the last SACK that not all of it can be lost by chance.
    pub(crate) had_enough_in_flight: bool,
    /// The path counted as failed since its last sign of life.
    failed: bool,
    /// Before this time the usual interval is not known: the path was observed too briefly.
    pub(crate) known_from: Time,
    /// Intervals in the current period and in the one before.
    recent: [Intervals; 2],
    period_end: Time,
    /// Doubles with each failure that follows another one.
    failure_intervals: u64,
    probe_half_intervals: u64,
    calm_from: Time,
    /// Chunks of this path under way on another one, to learn whether the peer is there.
    pub(crate) silence_probe: Option<SilenceProbe>,
}

/// Intervals between signs of life while data streamed.
#[derive(Clone, Copy, Debug, Default)]
struct Intervals {
    count: u32,
    longest: Span,
}

/// Chunks of a silent path retransmitted on another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceProbe {
    /// The other path.
    pub(crate) path: PathId,
    /// The first of the chunks.
    pub(crate) tsn: LongTsn,
    /// Sendings up to this one precede the probe.
    pub(crate) before: SendNumber,
    /// When the probe was sent.
    pub(crate) sent: Time,
    /// Until then the silent path may still show that it works.
    pub(crate) fail_after: Time,
    /// When the probe was acknowledged.
    pub(crate) answered: Option<Time>,
}

impl SilenceDetector {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            last_heard: now,
            last_ack: None,
            had_enough_in_flight: false,
            failed: false,
            known_from: now,
            recent: [Intervals::default(); 2],
            period_end: now,
            failure_intervals: FAILURE_INTERVALS,
            probe_half_intervals: PROBE_HALF_INTERVALS,
            calm_from: now,
            silence_probe: None,
        }
    }

    /// Records a sign of life. It ends a probe under way.
    pub(crate) fn on_sign(&mut self, now: Time, srtt: Option<Span>) {
        let interval = now.since(self.last_heard);
        self.last_heard = now;
        if now >= self.calm_from {
            self.failure_intervals = FAILURE_INTERVALS;
            self.probe_half_intervals = PROBE_HALF_INTERVALS;
        }
        let probed = self.silence_probe.take().is_some();
        if probed {
            self.probe_half_intervals = (self.probe_half_intervals + 1).min(2 * FAILURE_INTERVALS);
            self.calm_from = now + CALM;
        }
        // A path that answers after a probe or a failure shows how long an answer may take. Packets that arrive
        // together are one sign.
        let counts = core::mem::take(&mut self.failed) || self.had_enough_in_flight || probed;
        if !counts || interval.is_zero() {
            return;
        }
        if now >= self.period_end {
            self.recent = [Intervals::default(), self.recent[0]];
            self.period_end = now + MEMORY.max(srtt.unwrap_or_default() * 2);
        }
        if self.recent.iter().all(|intervals| intervals.count == 0) {
            self.known_from = now + MEMORY;
        }
        self.recent[0].count = self.recent[0].count.saturating_add(1);
        self.recent[0].longest = self.recent[0].longest.max(interval);
    }

    /// Returns how long the path may be silent before the peer is probed elsewhere, and before the path counts as failed;
    /// `None` while the usual interval is not known. `least` is `FailoverConfig::silence`.
    pub(crate) fn limits(&self, least: Span) -> Option<[Span; 2]> {
        let [now, before] = self.recent;
        let longest = now.longest.max(before.longest);
        let known = now.count.saturating_add(before.count) >= MIN_SIGNS;
        let probe_after = (longest * self.probe_half_intervals / 2).max(least / PROBE_MIN_FRACTION);
        known.then(|| [probe_after, (longest * self.failure_intervals).max(least)])
    }

    /// The path counts as failed.
    pub(crate) fn on_failure(&mut self, now: Time) {
        self.on_timeout();
        self.failure_intervals = (self.failure_intervals * 2).min(MAX_FAILURE_INTERVALS);
        self.calm_from = now + CALM;
        self.failed = true;
        self.recent = [Intervals::default(); 2];
    }

    /// T3-rtx of the path expired and takes over.
    pub(crate) fn on_timeout(&mut self) {
        self.silence_probe = None;
        self.last_ack = None;
        self.had_enough_in_flight = false;
    }
}
