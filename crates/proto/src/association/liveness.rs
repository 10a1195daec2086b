//! Idle timeout: an association whose peer has been silent for `Config::idle_timeout` is lost. HEARTBEATs
//! keep one alive that is merely idle.

use msctp_units::Time;

use super::Association;
use crate::LossReason;

/// HEARTBEATs begin after this share of the idle timeout.
const KEEP_ALIVE: u64 = 3;
/// Time between them as a share of the idle timeout: sixteen chances to be answered before it ends.
const REPEAT: u64 = 24;

/// When the peer was last heard of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Liveness {
    /// The last packet with the right verification tag. Noted for every packet, so that no timer is moved for
    /// any.
    pub(super) heard: Time,
    /// When to look at `heard` next; [`Time::MAX`]: there is no idle timeout, or the association is not up
    /// yet.
    alarm: Time,
}

impl Default for Liveness {
    fn default() -> Self {
        Self { heard: Time::ZERO, alarm: Time::MAX }
    }
}

impl Liveness {
    /// When to look whether the peer is silent.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        Some(self.alarm).filter(|alarm| *alarm < Time::MAX)
    }
}

impl Association {
    /// The association is up: the timeout begins.
    pub(super) fn start_liveness(&mut self, now: Time) {
        self.liveness.heard = now;
        self.liveness.alarm = self.config.idle_timeout.map_or(Time::MAX, |limit| now + limit / KEEP_ALIVE);
    }

    /// Asks a silent peer for a sign of life; gives it up at the end of the idle timeout.
    pub(super) fn liveness_timeout(&mut self, now: Time) {
        let Some(limit) = self.config.idle_timeout.filter(|_| self.liveness.alarm <= now) else { return };
        let heard = self.liveness.heard;
        if now >= heard + limit {
            self.liveness.alarm = Time::MAX;
            // The peer may still hear us: the ABORT spares it its own timeout.
            return self.abort_with(now, &[], LossReason::IdleTimeout { after: limit });
        }
        let silent_from = heard + limit / KEEP_ALIVE;
        if now < silent_from {
            self.liveness.alarm = silent_from;
            return;
        }
        // RFC 9260 §8.3 D. Any path may bring the answer.
        self.paths.request_heartbeats();
        self.liveness.alarm = (now + limit / REPEAT).min(heard + limit);
    }
}
