//! [`PeerCheck`]: decides whether a peer lost its keys, after an ABORT in clear (RFC 9260 §8.4).
//! Its sender claims not to know the association.
//!
//! Anyone who sees the packets can send that ABORT, so it is only a hint: it makes this end probe the peer.
//! A peer that has the keys answers a probe with a protected packet, which ends the check. Without keys its
//! host answers each probe with another ABORT. Knows no packet and no clock.

use msctp_units::{Span, Time};

/// Number of intervals with an ABORT and without a protected packet after which the peer has lost its keys.
/// At 30 % packet loss, a live peer fails to answer in 1 of 40,000 checks.
const REFUSED: u32 = 16;
/// Number of consecutive intervals without either, after which the check ends: the peer is silent, not
/// without keys.
const SILENT: u32 = 8;
/// Number of probes per expected answer time.
const PER_ANSWER: u64 = 4;
/// Minimum interval between two probes.
const MIN_INTERVAL: Span = Span::from_millis(125);

/// The action after an interval has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The peer must be probed again.
    Probe,
    /// The check is over: the peer has the keys, or is silent.
    Over,
    /// The peer has lost its keys.
    Lost,
}

/// A check in progress, for which a probe was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerCheck {
    begun: Time,
    /// End of the present interval.
    due: Time,
    interval: Span,
    /// True if an ABORT arrived since the last probe.
    hinted: bool,
    /// Intervals in which an ABORT arrived.
    refused: u32,
    /// Number of consecutive latest intervals in which nothing arrived.
    silent: u32,
}

impl PeerCheck {
    /// Begins at the first ABORT. The caller sends a probe. `answer` is the time within which a live peer
    /// answers.
    pub(crate) fn new(now: Time, answer: Span) -> Self {
        let interval = (answer / PER_ANSWER).max(MIN_INTERVAL);
        Self { begun: now, due: now + interval, interval, hinted: false, refused: 0, silent: 0 }
    }

    /// Records another ABORT. One per interval counts.
    pub(crate) fn note_abort(&mut self) {
        self.hinted = true;
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Returns the action that is due now; `None` before the end of the interval. `heard` is the time at
    /// which the last protected packet arrived.
    pub(crate) fn handle_timeout(&mut self, now: Time, heard: Time) -> Option<Verdict> {
        if now < self.due {
            return None;
        }
        if heard > self.begun {
            return Some(Verdict::Over);
        }
        if core::mem::take(&mut self.hinted) {
            (self.refused, self.silent) = (self.refused + 1, 0);
        } else {
            self.silent += 1;
        }
        self.due = now + self.interval;
        Some(match () {
            () if self.refused >= REFUSED => Verdict::Lost,
            () if self.silent >= SILENT => Verdict::Over,
            () => Verdict::Probe,
        })
    }
}
