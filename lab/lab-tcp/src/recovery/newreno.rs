//! NewReno: the modification of RFC 6582.

use crate::config::Config;
use crate::outstanding::{Outstanding, Segment};

use super::inflation::Inflation;
use super::{AckView, Outcome, Recovery, Response};

/// Fast recovery that ends when everything outstanding at the loss is acknowledged. Each partial ACK
/// retransmits the next missing segment.
#[derive(Debug)]
pub(super) struct NewReno {
    inflation: Inflation,
    /// The highest offset sent when the last loss was detected, plus one (RFC 6582 §3.2: "recover").
    recover: u64,
    slow_but_steady: bool,
    /// Number of partial ACKs in this fast recovery.
    partial_acks: u32,
    ack_heuristic: bool,
    /// Bytes that the last ACK of new data acknowledged.
    last_acked: u64,
}

impl NewReno {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            inflation: Inflation::new(config.limited_transmit),
            recover: 0,
            slow_but_steady: config.slow_but_steady,
            partial_acks: 0,
            ack_heuristic: config.ack_heuristic,
            last_acked: 0,
        }
    }

    /// Returns whether a third duplicate may start fast recovery.
    fn may_enter(&self, at: &Outstanding, cwnd: u64) -> bool {
        // RFC 6582 §3.2 (2): only when the ACK covers more than "recover", which is one less than ours
        let covers_more = at.una > self.recover;
        // RFC 6582 §4.1: needless retransmissions make duplicates of an ACK that covered many at once.
        let few_covered = cwnd > at.smss && self.last_acked <= 4 * at.smss;
        covers_more || self.ack_heuristic && few_covered
    }

    /// Handles a partial acknowledgment (RFC 6582 §3.2 (3)).
    fn partial(&mut self, at: &Outstanding, acked: u64) -> Outcome {
        let inflation = &mut self.inflation;
        inflation.resend_first = true;
        inflation.extra -= acked as i64;
        if acked >= at.smss {
            inflation.extra += at.smss as i64;
        }
        self.partial_acks += 1;
        // "For the first partial ACK that arrives during fast recovery, also reset the retransmit timer."
        let keep_timer = self.partial_acks > 1 && !self.slow_but_steady;
        Outcome { keep_timer, ..Outcome::default() }
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, at: &Outstanding, ack: &AckView<'_>) -> Outcome {
        if ack.acked > 0 {
            self.last_acked = ack.acked;
            if self.inflation.phase.is_fast() && at.una < self.recover {
                return self.partial(at, ack.acked);
            }
            // Full acknowledgments, option 2: the window is ssthresh, where the controller put it.
            let left = self.inflation.phase.is_recovering();
            self.inflation.reset();
            return Outcome { left, ..Outcome::default() };
        }
        if !ack.plain_duplicate {
            return Outcome::default();
        }
        let may_enter = self.may_enter(at, ack.cwnd);
        let lost = self.inflation.duplicate(at, may_enter);
        Outcome { lost, duplicate: true, ..Outcome::default() }
    }

    fn enter(&mut self, at: &Outstanding, response: Response) -> u64 {
        if response == Response::Fast {
            self.recover = at.max;
            self.partial_acks = 0;
        }
        self.inflation.enter(at, response)
    }

    fn on_timeout(&mut self, at: &Outstanding) {
        self.inflation.reset();
        // RFC 6582 §3.2 (4)
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
