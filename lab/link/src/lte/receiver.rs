//! [`Receiver`]: the receiving side of RLC in acknowledged mode (3GPP TS 36.322 §5.1.3.2, §5.2.3). It decides
//! when HARQ can no longer fill a gap, and when to report. The [`Window`] knows which PDUs arrived; VR(R) is
//! its V(Q), VR(H) its V(R).

use msctp_units::{Span, Time};

use crate::arq::Window;

/// A STATUS PDU: the receiver's state at its creation, for the PDUs before `ack_sn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) made: Time,
    pub(super) ack_sn: u64,
}

#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// VR(MS): the oldest missing PDU for which t-Reordering has not expired.
    vr_ms: u64,
    /// t-Reordering while it runs: its expiration, and VR(X), one past the PDU that started it.
    reordering: Option<(Time, u64)>,
    /// PDU with a poll that is answered once the PDU is before VR(MS).
    poll: Option<u64>,
    /// A report must be sent.
    triggered: bool,
    /// Time until which t-StatusProhibit runs.
    prohibited: Option<Time>,
}

impl Receiver {
    /// Returns when a timer expires next.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        [self.reordering.map(|(at, _)| at), self.prohibited].into_iter().flatten().min()
    }

    /// Handles a received or abandoned PDU, or a part of one (§5.1.3.2.3).
    pub(super) fn received<X>(&mut self, at: Time, window: &Window<X>, t_reordering: Span) {
        self.vr_ms = first_lacking(window, self.vr_ms);
        if self.reordering.is_some_and(|(_, vr_x)| vr_x <= window.vq()) {
            self.reordering = None;
        }
        if self.reordering.is_none() && window.vr() > window.vq() {
            self.reordering = Some((at + t_reordering, window.vr()));
        }
        self.answer_poll();
    }

    /// Handles a PDU with a poll (§5.2.3). The answer waits while HARQ may still fill a gap before it.
    pub(super) fn polled(&mut self, number: u64) {
        self.poll = self.poll.max(Some(number));
        self.answer_poll();
    }

    fn answer_poll(&mut self) {
        if self.poll.is_some_and(|number| number < self.vr_ms) {
            self.poll = None;
            self.triggered = true;
        }
    }

    /// Runs the timers that expired by `at`.
    pub(super) fn timeout<X>(&mut self, at: Time, window: &Window<X>, t_reordering: Span) {
        if self.prohibited.is_some_and(|until| until <= at) {
            self.prohibited = None;
        }
        // §5.1.3.2.4
        if let Some((_, vr_x)) = self.reordering.take_if(|(until, _)| *until <= at) {
            self.vr_ms = first_lacking(window, vr_x);
            if window.vr() > self.vr_ms {
                self.reordering = Some((at + t_reordering, window.vr()));
            }
            // §5.2.3: detection of reception failure
            self.triggered = true;
            self.answer_poll();
        }
    }

    /// Returns the report to send at `at`, if one is due and not prohibited.
    pub(super) fn report(&mut self, at: Time, t_status_prohibit: Span) -> Option<Status> {
        if !self.triggered || self.prohibited.is_some() {
            return None;
        }
        self.triggered = false;
        self.prohibited = (!t_status_prohibit.is_zero()).then_some(at + t_status_prohibit);
        Some(Status { made: at, ack_sn: self.vr_ms })
    }

    /// Restarts the receiver. The next PDU has the number `next`.
    pub(super) fn restart(&mut self, next: u64) {
        *self = Self { vr_ms: next, ..Self::default() };
    }
}

/// Returns the first PDU from `from` on that the receiver lacks.
fn first_lacking<X>(window: &Window<X>, from: u64) -> u64 {
    debug_assert!(from >= window.va(), "acknowledged before it could be reported");
    (from..).find(|&number| !window.get(number).is_some_and(|block| block.is_received())).unwrap_or(from)
}
