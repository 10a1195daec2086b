//! Timers: T3-rtx (RFC 9260 §6.3.3) and the zero window probe (§6.1 A).

use msctp_units::Time;

use super::Outbound;
use super::chunk::Fate;
use super::probe::ZeroWindowProbe;
use crate::config::RetransmissionPath;
use crate::path::{Path, Paths};
use crate::{PathId, TraceKind};

impl Outbound {
    /// Handles what is due at `now`: T3-rtx of any path, the zero window probe, the end of a wait for pacing. Early calls do
    /// nothing.
    ///
    /// What this does to paths and association (inactive, unreachable) comes from [`Paths::poll_event`].
    pub fn handle_timeout(&mut self, now: Time, paths: &mut Paths) {
        self.probe.tick(now);
        self.abandon_due(now, paths);
        // It may leave when it is asked for.
        self.held_until = self.held_until.filter(|&until| until > now);
        if self.losses.rack {
            // Before T3-rtx: it is at the latest when that expires that the probe goes instead (RFC 8985 §7.2).
            self.rack_timeout(now, paths);
            self.tail_loss_probe_timeout(now, paths);
        }
        self.silence_timeout(now, paths);
        // By index: a path may become inactive, but none appears or goes.
        for index in 0..paths.len() {
            let path = paths.at(index);
            if path.t3_rtx.is_some_and(|at| at <= now) {
                self.t3_rtx_expired(now, path.id(), paths);
                self.forward_after_timeout();
            }
        }
        self.abandon_due(now, paths);
    }

    /// RFC 9260 §6.3.3
    pub(super) fn t3_rtx_expired(&mut self, now: Time, id: PathId, paths: &mut Paths) {
        // §6.1 A: while the peer keeps sending SACKs, an unacknowledged zero window probe is no sign of a failure and "does
        // not affect the calculation of cwnd"; its interval grows all the same.
        let heard = self.probe == ZeroWindowProbe::Sent { heard: true };
        if let ZeroWindowProbe::Sent { heard } = &mut self.probe {
            *heard = false;
        }
        let last = self.sent.next() - 1;
        let Some(path) = paths.get_mut(id) else { return };
        let rto = path.on_t3_rtx_expired(now, last, !heard);
        if !heard {
            // §8.1, §8.2
            paths.on_timeout(id);
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::T3Timeout { path: id, rto });
        }
        let target = if heard { id } else { self.target_after_timeout(id, paths) };
        if heard {
            self.losses.frto = None;
        } else {
            self.suspect_timeout(id, target, paths);
        }
        self.send_again(now, id, target, paths);
    }

    /// All that is in flight on a path counts as lost; the first packet of it may go at once (RFC 9260 §6.3.3 E3).
    fn send_again(&mut self, now: Time, id: PathId, target: PathId, paths: &mut Paths) {
        self.mark_path(id, target, paths);
        if let Some(path) = paths.get_mut(id) {
            path.flow.proof_from = self.next_number;
            path.end_recoveries(now, self.sent.next() - 1);
            self.trace_window(path);
        }
        if let Some(to) = paths.get_mut(target) {
            // E3: one packet now
            to.flow.forced = true;
            // A timeout is a new time to transmit (§6.1 D).
            to.flow.burst = 0;
        }
    }

    /// The link below a path is up again: what was in flight there is sent again now, and not when the T3-rtx that backed off
    /// while it was down expires. No error of the path, and no back-off: nobody waited for an answer. What the new
    /// link carries is not known: slow start, as after a time-out.
    pub fn on_link_up(&mut self, now: Time, id: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id).filter(|path| path.flight_size > 0 && path.t3_rtx.is_some())
        else {
            return;
        };
        path.t3_rtx = None;
        path.rtt.end_back_off();
        path.on_timeout_loss(now, self.sent.next() - 1);
        self.losses.frto = None;
        let target = self.target_after_timeout(id, paths);
        self.send_again(now, id, target, paths);
    }

    /// RFC 9260 §6.4: an active path other than the last one, unless the same is wanted and works.
    fn target_after_timeout(&self, last: PathId, paths: &Paths) -> PathId {
        let same = paths.get(last).is_some_and(Path::is_usable);
        match self.retransmission_path {
            RetransmissionPath::Same if same => last,
            RetransmissionPath::Same | RetransmissionPath::Alternate => {
                paths.retransmission_path(last).unwrap_or(last)
            }
        }
    }

    /// Marks all that was last sent on a path, also what waits to be fast retransmitted there.
    fn mark_path(&mut self, id: PathId, target: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id) else { return };
        path.flow.log.clear();
        path.flight_size = 0;
        let mut marked = Vec::new();
        for (tsn, chunk) in self.sent.iter_mut().filter(|(_, chunk)| chunk.path == id) {
            match chunk.fate {
                // RFC 9260 §6.2.1 C
                Fate::InFlight => {
                    self.in_flight -= chunk.len();
                    path.flow.note_lost(chunk.number, chunk.wire_len());
                }
                Fate::Marked if chunk.target == id && target != id => path.flow.marked -= 1,
                Fate::Marked | Fate::GapAcked | Fate::Abandoned => continue,
            }
            chunk.fate = Fate::Marked;
            chunk.target = target;
            chunk.misses = 0;
            self.partial.suspect(chunk.partial, tsn);
            marked.push(tsn);
        }
        if let Some(to) = paths.get_mut(target) {
            marked.into_iter().for_each(|tsn| to.flow.mark(tsn));
        }
    }

    /// After a SACK: does the zero window go on?
    pub(super) fn settle_zero_window_probe(&mut self, paths: &mut Paths) {
        let was_sent = matches!(self.probe, ZeroWindowProbe::Sent { .. });
        let acked = self.sent.is_empty();
        // The probe is outstanding and takes its own size off rwnd: what counts is whether the peer has room for it.
        let closed = if was_sent && !acked {
            self.sent.at(self.sent.first()).is_some_and(|chunk| self.a_rwnd < chunk.len())
        } else {
            self.window_is_closed(self.max_payload(paths))
        };
        self.probe.on_sack(closed, acked);
        let opened = was_sent && !acked && self.probe == ZeroWindowProbe::Idle;
        let tsn = self.sent.first();
        let Some(chunk) = self.sent.at(tsn).filter(|chunk| opened && chunk.fate == Fate::InFlight) else {
            return;
        };
        // The peer answers a probe it drops at once (RFC 9260 §6.2): the window opened after that. Waiting for the
        // backed-off T3-rtx would waste it.
        let (path, wire_len) = (chunk.path, chunk.wire_len());
        if let Some(path) = paths.get_mut(path) {
            path.flight_size -= wire_len;
            path.stop_t3_rtx_if_drained(false);
        }
        self.mark(tsn, path, paths);
    }
}
