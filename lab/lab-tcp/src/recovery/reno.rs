//! Reno: fast retransmit and fast recovery of RFC 5681 §3.2.

use crate::outstanding::{Outstanding, Segment};

use super::inflation::Inflation;
use super::{AckView, Outcome, Recovery, Response};

/// Fast recovery that ends at the first ACK of new data. A second loss in the same window must cause three
/// duplicate ACKs of its own, or wait for the timeout.
#[derive(Debug)]
pub(super) struct Reno {
    inflation: Inflation,
    /// Offset below which duplicates after a timeout are ignored: they come from retransmitted segments that
    /// had arrived (RFC 6582 §3.2 (4)).
    recover: u64,
    /// True to allow one fast recovery per window of data (ns-2's `bug_fix_`).
    once_per_window: bool,
}

impl Reno {
    pub(super) fn new(limited_transmit: bool, once_per_window: bool) -> Self {
        Self { inflation: Inflation::new(limited_transmit), recover: 0, once_per_window }
    }
}

impl Recovery for Reno {
    fn on_ack(&mut self, at: &Outstanding, ack: &AckView<'_>) -> Outcome {
        if ack.acked > 0 {
            // RFC 5681 §3.2 (6): deflate
            let left = self.inflation.phase.is_recovering();
            self.inflation.reset();
            return Outcome { left, ..Outcome::default() };
        }
        if !ack.plain_duplicate {
            return Outcome::default();
        }
        let lost = self.inflation.duplicate(at, at.una > self.recover);
        Outcome { lost, duplicate: true, ..Outcome::default() }
    }

    fn enter(&mut self, at: &Outstanding, response: Response) -> u64 {
        if response == Response::Fast && self.once_per_window {
            self.recover = at.max;
        }
        self.inflation.enter(at, response)
    }

    fn on_timeout(&mut self, at: &Outstanding) {
        self.inflation.reset();
        self.recover = at.max;
    }

    fn next(&self, at: &Outstanding, cwnd: u64) -> Option<Segment> {
        self.inflation.next(at, cwnd)
    }

    fn on_sent(&mut self, _at: &Outstanding, segment: &Segment) {
        self.inflation.sent(segment);
    }

    fn is_recovering(&self) -> bool {
        self.inflation.phase.is_recovering()
    }

    fn pipe(&self, at: &Outstanding) -> u64 {
        self.inflation.pipe(at)
    }
}
