//! [`Contest`]: distinguishes this flow's queue from that of rivals, and competes with rivals.

use msctp_units::{Span, Time};

use super::path::Round;
use crate::amount::{over, permille};
use crate::{Ack, Controller, ControllerConfig, Cubic, Loss};

/// Consecutive rounds above the target after which the path is drained, at most once per [`DRAIN_INTERVAL`].
const ROUNDS_ABOVE: u32 = 3;
/// Time without a round-trip time near the minimum after which a path is drained.
const DRAIN_INTERVAL: Span = Span::from_secs(5);
/// Time between drains against a rival: each drain yields bandwidth to it.
const RIVAL_INTERVAL: Span = Span::from_secs(10);
/// Share of the bandwidth-delay product in flight during a drain, in thousandths.
const DRAINED: u64 = 750;
/// Threshold above which a queue counts as too long, in thousandths of the target.
const TOO_MUCH: u64 = 1500;

/// State of the path when the queue first stayed above the target.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    cwnd: u64,
    rate: u64,
}

#[derive(Clone, Copy, Debug)]
struct Drain {
    window: u64,
    before: u64,
    /// Number of rounds that began with at most `window` bytes in flight.
    settled: u32,
}

/// Detects rival flows on one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Contest {
    rounds_above: u32,
    before: Before,
    drain: Option<Drain>,
    rival: Option<Box<Cubic>>,
    /// True if this round began with at most the window in flight, so that the queue is not this flow's
    /// backlog.
    settled: bool,
    /// Time of the last round-trip time near the minimum, or of the end of the last drain.
    near_base: Option<Time>,
    /// The end of the last drain.
    drained: Option<Time>,
    /// True after a loss: the window against a rival starts at the current one, not in slow start.
    has_lost: bool,
}

/// The controller's state at the end of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) now: Time,
    pub(super) round: Round,
    pub(super) base: Span,
    pub(super) in_flight: u64,
    pub(super) cwnd: u64,
    /// The least window.
    pub(super) least: u64,
}

impl Contest {
    /// Returns the window that a drain or a rival imposes, if any.
    pub(super) fn window(&self) -> Option<u64> {
        let rival = || self.rival.as_ref().map(|rival| rival.window().cwnd);
        self.drain.map(|drain| drain.window).or_else(rival)
    }

    #[cfg(test)]
    pub(super) fn has_rival(&self) -> bool {
        self.rival.is_some()
    }

    /// Records a round-trip time without a queue. Against a rival it only shows that the rival's window fell.
    pub(super) fn on_near_base(&mut self, now: Time) {
        if self.rival.is_none() {
            self.near_base = Some(now);
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if let Some(rival) = &mut self.rival {
            rival.on_ack(ack);
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss) {
        self.has_lost = true;
        if let Some(rival) = &mut self.rival {
            rival.on_loss(loss);
        }
    }

    pub(super) fn on_spurious_timeout(&mut self, now: Time) {
        if let Some(rival) = &mut self.rival {
            rival.on_spurious_timeout(now);
        }
    }

    /// Ends a round. Returns the window after a drain. `target` is the target queue in bytes at a rate.
    pub(super) fn end_round(
        &mut self,
        end: &End,
        path: &ControllerConfig,
        target: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let rate = end.round.rate;
        // The rate before the queue stood: that of a flow that gives way falls, and its target rises.
        let reference = if self.rounds_above > 0 || self.drain.is_some() { self.before.rate } else { rate };
        let above =
            end.round.queued.map(|queued| over(reference, queued) > permille(target(reference), TOO_MUCH));
        let mut after = None;
        if let Some(drain) = &mut self.drain {
            if drain.settled >= 2 {
                after = Some(drain.before);
                self.end_drain(end, path, above == Some(true));
            } else if drain.settled > 0 || end.in_flight <= drain.window {
                drain.settled += 1;
            }
        } else {
            self.count_above(end, above);
            self.drain_if_due(end);
        }
        self.settled = end.in_flight <= end.cwnd.saturating_add(path.pmdcs.saturating_mul(2));
        after
    }

    fn count_above(&mut self, end: &End, above: Option<bool>) {
        match above.filter(|_| self.settled) {
            Some(true) => {
                if self.rounds_above == 0 {
                    self.before = Before { cwnd: end.cwnd, rate: end.round.rate };
                }
                self.rounds_above += 1;
            }
            Some(false) => self.rounds_above = 0,
            None => {}
        }
    }

    fn drain_if_due(&mut self, end: &End) {
        let interval = if self.rival.is_some() { RIVAL_INTERVAL } else { DRAIN_INTERVAL };
        let contested = self.rival.is_none()
            && self.rounds_above >= ROUNDS_ABOVE
            && self.drained.is_none_or(|at| end.now.since(at) > DRAIN_INTERVAL);
        let seen = *self.near_base.get_or_insert(end.now);
        if !contested && end.now.since(seen) <= interval {
            return;
        }
        if self.rounds_above == 0 {
            self.before = Before { cwnd: end.cwnd, rate: end.round.rate };
        }
        let window = permille(over(end.round.rate, end.base), DRAINED).max(end.least);
        self.drain = Some(Drain { window, before: end.cwnd, settled: 0 });
    }

    /// Ends a drain. A queue that remains belongs to a rival.
    fn end_drain(&mut self, end: &End, path: &ControllerConfig, stands: bool) {
        if !stands {
            self.rival = None;
        } else if self.rival.is_none() {
            // half of the rate before, at the round trip with the rival's queue
            let round_trip = end.base + end.round.queued.unwrap_or_default();
            let cwnd = self.before.cwnd.max(over(self.before.rate / 2, round_trip));
            let mut rival = Box::new(Cubic::new(path));
            rival.adjust(cwnd, if self.has_lost { cwnd } else { u64::MAX });
            self.rival = Some(rival);
        }
        self.drain = None;
        self.rounds_above = 0;
        self.near_base = Some(end.now);
        self.drained = Some(end.now);
    }
}
