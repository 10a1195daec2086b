//! Timers of an association: the earliest deadline, and the handling of those that are due.

use msctp_units::Time;

use super::Association;
use crate::stats::AssociationState as State;

/// Returns the earlier of two optional deadlines.
#[inline]
fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Association {
    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called next; `None` if no timer runs.
    /// A time in the past is due at once. Linear in the number of paths.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Closed {
            return None;
        }
        let data = earlier(self.sack_deadline(), self.outbound.next_timeout(&self.paths));
        let upkeep = if self.output.upkeep_due { self.upkeep_timeout() } else { self.output.watch_timeout };
        let next = earlier(data, upkeep);
        if self.state == State::Established {
            return next;
        }
        earlier(earlier(next, self.setup.t1), earlier(self.closing.t2, self.closing.t5))
    }

    /// Returns the earliest deadline of heartbeats, probes, address requests, the policy's timer and the idle
    /// timeout.
    pub(super) fn upkeep_timeout(&self) -> Option<Time> {
        let watch = if self.watches_paths() { self.paths.next_timeout() } else { None };
        let requests = earlier(self.readdressing.ours.next_timeout(), self.reconfig.next_timeout());
        earlier(earlier(earlier(watch, requests), self.handover.timer), self.liveness.next_timeout())
    }

    /// Returns whether HEARTBEATs may be sent: from ESTABLISHED until the SHUTDOWN or SHUTDOWN ACK (RFC 9260
    /// §8.3). Bandwidth probes included.
    pub(super) fn watches_paths(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Handles every timer that is due. No effect if none is.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.state == State::Closed {
            return;
        }
        self.setup_timeout(now);
        self.shutdown_timeout(now);
        self.liveness_timeout(now);
        if self.state == State::Closed {
            return;
        }
        // A delayed SACK needs nothing here: `poll_transmit` checks it.
        self.outbound.handle_timeout(now, &mut self.paths);
        if self.watches_paths() {
            self.paths.handle_timeout(now);
        }
        self.readdressing_timeout(now);
        self.reconfig_timeout(now);
        self.policy_timeout(now);
        self.after_change(now);
    }
}
