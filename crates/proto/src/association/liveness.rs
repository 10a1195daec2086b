//! Idle timeout: an association is lost when its peer was silent for `Config::idle_timeout`. HEARTBEATs keep
//! an idle one alive, and one follows data that stops coming.

use msctp_units::{Span, Time};

use super::Association;
use crate::event::LossReason;
use crate::timer_table::earlier;

/// Divisor of the idle timeout that gives the silence after which HEARTBEATs begin.
const KEEP_ALIVE: u64 = 3;
/// Divisor of the idle timeout that gives the time between them. A peer has sixteen chances to answer before
/// the timeout.
const REPEAT: u64 = 24;

/// Silence after data, after which this end asks whether the peer still reaches it. Its network may have
/// another address since, of which only a packet from here tells (`roaming`).
const QUIET: Span = Span::from_secs(1);

/// Time of the peer's last sign of life.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// Time of the last packet with the right verification tag. It is recorded for every packet, without
    /// moving a timer.
    pub(super) heard: Time,
    /// True if the packet being processed has a valid AUTH chunk.
    pub(super) packet_is_signed: bool,
    /// Time of the next check of `heard`; `None` without an idle timeout, and before the association is up.
    alarm: Option<Time>,
    /// Time of the next check whether data stopped coming; `None` if none has come since the last one.
    quiet: Option<Time>,
}

impl Liveness {
    /// Returns the time of the next check.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        earlier(self.alarm, self.quiet)
    }
}

impl Association {
    /// Starts the timeout when the association is up.
    pub(super) fn start_liveness(&mut self, now: Time) {
        self.liveness.heard = now;
        self.liveness.alarm = self.config.idle_timeout.map(|limit| now + limit / KEEP_ALIVE);
    }

    /// Records that data came.
    #[inline]
    pub(super) fn note_data(&mut self, now: Time) {
        if self.liveness.quiet.is_none() && self.outbound.watches_silence() {
            self.liveness.quiet = Some(now + QUIET);
            self.output.upkeep_due = true;
        }
    }

    /// Sends a HEARTBEAT where data stopped coming from.
    fn quiet_timeout(&mut self, now: Time) {
        if self.liveness.quiet.take_if(|at| *at <= now).is_none() {
            return;
        }
        let silent_from = self.liveness.heard + QUIET;
        if now < silent_from {
            self.liveness.quiet = Some(silent_from);
        } else if let Some(path) = self.paths.data_path() {
            self.paths.request_heartbeat(path);
        }
    }

    /// Sends HEARTBEATs to a silent peer. Ends the association at the idle timeout.
    pub(super) fn liveness_timeout(&mut self, now: Time) {
        self.quiet_timeout(now);
        let Some(limit) =
            self.config.idle_timeout.filter(|_| self.liveness.alarm.is_some_and(|at| at <= now))
        else {
            return;
        };
        let heard = self.liveness.heard;
        if now >= heard + limit {
            self.liveness.alarm = None;
            // The peer may still receive: the ABORT spares it its own timeout.
            return self.abort_with(now, &[], LossReason::IdleTimeout { after: limit });
        }
        let silent_from = heard + limit / KEEP_ALIVE;
        if now < silent_from {
            self.liveness.alarm = Some(silent_from);
            return;
        }
        // RFC 9260 §8.3 D. Any path may bring the answer.
        self.paths.request_heartbeats();
        self.liveness.alarm = Some((now + limit / REPEAT).min(heard + limit));
    }
}
