//! The timer table of data transfer, and T3-rtx (RFC 9260 §6.3.3).

use msctp_units::Time;

use super::Outbound;
use super::chunk::Fate;
use super::options::RetransmissionPath;
use super::zero_window::ZeroWindowProbe;
use crate::addr::PathId;
use crate::path::{Evidence, Path, Paths, Rack};
use crate::timer_table::timer_table;
use crate::trace::TraceKind;

timer_table! {
    /// A timer of data transfer; some run on each path.
    DataTimer {
        /// Sends the zero window probe (RFC 9260 §6.1 A).
        ZeroWindowProbe,
        /// Abandons messages whose lifetime ended (RFC 3758 §4.1).
        Lifetime,
        /// Releases the next paced packet.
        Pacing,
        /// The reordering timer of a path (RFC 8985 §6.2 step 5).
        Reordering,
        /// PTO of a path (RFC 8985 §7.2). Before T3-rtx: it is due with T3-rtx at the latest, which it
        /// replaces.
        TailLossProbe,
        /// Probes or fails a path that fell silent (`FailoverConfig::silence`).
        Silence,
        /// T3-rtx of a path (RFC 9260 §6.3.3).
        T3Rtx,
    }
}

impl Outbound {
    /// Returns the earliest deadline; valid after [`next_path`](Self::next_path) returned `None`.
    pub(crate) fn next_timeout(&self, paths: &Paths) -> Option<Time> {
        DataTimer::earliest(|timer| self.deadline(timer, paths))
    }

    /// Returns when a timer expires first; `None` if it does not run.
    #[inline(always)]
    fn deadline(&self, timer: DataTimer, paths: &Paths) -> Option<Time> {
        let rack = |deadline: fn(&Rack) -> Option<Time>| {
            paths.iter().filter_map(|path| deadline(path.rack.as_deref()?)).min()
        };
        match timer {
            DataTimer::ZeroWindowProbe => self.zero_window_probe.deadline(),
            DataTimer::Lifetime if !self.partial.is_touched() => None,
            DataTimer::Lifetime => self.partial.next_deadline(),
            DataTimer::Pacing => self.paced_until,
            DataTimer::Reordering | DataTimer::TailLossProbe if !self.losses.rack => None,
            // RFC 8985 §8: the reordering timer and the PTO
            DataTimer::Reordering => rack(|rack| rack.reordering_timer),
            DataTimer::TailLossProbe => rack(|rack| rack.tlp.timer),
            DataTimer::Silence => self.silence_deadline(paths),
            DataTimer::T3Rtx => paths.earliest_t3(),
        }
    }

    /// Handles a timer where it is due.
    #[inline(always)]
    fn handle_timer(&mut self, now: Time, timer: DataTimer, paths: &mut Paths) {
        match timer {
            DataTimer::ZeroWindowProbe => self.zero_window_probe.tick(now),
            DataTimer::Lifetime => self.abandon_due(now, paths),
            // The packet leaves at the next `next_path`.
            DataTimer::Pacing => self.paced_until = self.paced_until.filter(|&until| until > now),
            DataTimer::Reordering | DataTimer::TailLossProbe if !self.losses.rack => {}
            DataTimer::Reordering => self.rack_timeout(now, paths),
            DataTimer::TailLossProbe => self.tail_loss_probe_timeout(now, paths),
            DataTimer::Silence => self.silence_timeout(now, paths),
            DataTimer::T3Rtx => self.t3_rtx_timeout(now, paths),
        }
    }

    /// Handles the timers due at `now`. Early calls have no effect.
    ///
    /// [`Paths::poll_event`] returns the effects on paths and association (inactive, unreachable).
    pub(crate) fn handle_timeout(&mut self, now: Time, paths: &mut Paths) {
        DataTimer::for_each(|timer| self.handle_timer(now, timer, paths));
        // Of messages whose chunks T3-rtx marked.
        self.abandon_due(now, paths);
    }

    fn t3_rtx_timeout(&mut self, now: Time, paths: &mut Paths) {
        // By index: a path may become inactive, but none is added or removed.
        for index in 0..paths.len() {
            let path = paths.at(index);
            if path.t3_rtx.is_some_and(|at| at <= now) {
                let evidence = path.evidence_at_t3(now);
                self.t3_rtx_expired(now, path.id(), evidence, paths);
                self.forward_after_timeout();
            }
        }
    }

    /// Handles the expiration of T3-rtx (RFC 9260 §6.3.3).
    pub(super) fn t3_rtx_expired(&mut self, now: Time, id: PathId, evidence: Evidence, paths: &mut Paths) {
        // §6.1 A: while the peer keeps sending SACKs, an unacknowledged zero window probe indicates no
        // failure and "does not affect the calculation of cwnd". Its interval still grows.
        let sack_received = self.zero_window_probe == ZeroWindowProbe::Sent { sack_received: true };
        if let ZeroWindowProbe::Sent { sack_received } = &mut self.zero_window_probe {
            *sack_received = false;
        }
        // Chunks sent before the window closed, which the peer has no room for, probe it as well. A SACK that
        // came for another path says nothing about this one.
        let refused = core::mem::take(&mut self.refused)
            && !paths.iter().any(|path| path.id() != id && path.flight_size > 0);
        let answered = sack_received || refused;
        let last = self.sent.next() - 1;
        let Some(path) = paths.get_mut(id) else { return };
        let rto = path.on_t3_rtx_expired(now, last, !sack_received);
        path.unanswered_timeouts += u32::from(!answered);
        if answered {
            paths.on_data_refused();
        } else {
            // §8.1, §8.2
            paths.on_t3_timeout(id, evidence);
            paths.count_data_timeout(now);
        }
        self.emit(TraceKind::T3Timeout { path: id, rto });
        let target = if answered { id } else { self.target_after_timeout(id, paths) };
        if answered {
            self.losses.frto = None;
        } else {
            self.start_frto(id, target, paths);
        }
        self.retransmit_path(now, id, target, paths);
    }

    /// Marks all chunks in flight on a path as lost; their first packet may be sent at once (RFC 9260 §6.3.3
    /// E3).
    pub(super) fn retransmit_path(&mut self, now: Time, id: PathId, target: PathId, paths: &mut Paths) {
        self.mark_path(id, target, paths);
        if let Some(path) = paths.get_mut(id) {
            path.flow.proof_from = self.next_number;
            path.end_recoveries(now, self.sent.next() - 1);
            self.trace_window(path);
        }
        if let Some(to) = paths.get_mut(target) {
            // E3: one packet now
            to.flow.forced = true;
            // A timeout starts a new burst (§6.1 D).
            to.flow.burst = 0;
        }
    }

    /// Retransmits on another path the chunks in flight on a path that carries nothing, without its T3-rtx.
    pub(super) fn leave_path(&mut self, now: Time, id: PathId, target: PathId, paths: &mut Paths) {
        self.losses.frto = None;
        self.retransmit_path(now, id, target, paths);
        if let Some(path) = paths.get_mut(id) {
            path.stop_t3_rtx_if_drained(self.forward.runs_t3_rtx_on(id));
        }
    }

    /// Retransmits the chunks in flight on a path whose link is up again.
    ///
    /// T3-rtx backed off while the link was down and would expire late. This is neither an error of the path
    /// nor a back-off: the peer could not answer. The capacity of the new link is unknown: slow start, as
    /// after a timeout.
    pub(crate) fn on_link_up(&mut self, now: Time, id: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id).filter(|path| path.flight_size > 0 && path.t3_rtx.is_some())
        else {
            return;
        };
        path.t3_rtx = None;
        path.rtt.end_back_off();
        path.on_timeout_loss(now, self.sent.next() - 1);
        self.losses.frto = None;
        let target = self.target_after_timeout(id, paths);
        self.retransmit_path(now, id, target, paths);
    }

    /// Retransmits the chunks in flight on a path whose UDP port has changed. The window stays: the network
    /// is the same (RFC 9000 §9.4).
    pub(crate) fn on_port_changed(&mut self, now: Time, id: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id).filter(|path| path.flight_size > 0 && path.t3_rtx.is_some())
        else {
            return;
        };
        path.t3_rtx = None;
        path.rtt.end_back_off();
        self.losses.frto = None;
        self.retransmit_path(now, id, id, paths);
    }

    /// Returns an active path other than the last one (RFC 9260 §6.4), unless `Same` is configured and
    /// usable.
    fn target_after_timeout(&self, last: PathId, paths: &Paths) -> PathId {
        let same = paths.get(last).is_some_and(Path::is_usable);
        match self.retransmission_path {
            RetransmissionPath::Same if same => last,
            RetransmissionPath::Alternate if paths.is_aggregating() => Self::repair_path_beside(last, paths),
            RetransmissionPath::Same | RetransmissionPath::Alternate => {
                paths.retransmission_path(last).unwrap_or(last)
            }
        }
    }

    /// Marks all chunks last sent on a path, pending fast retransmissions included.
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
                Fate::Marked => {
                    if core::mem::take(&mut chunk.unreported) {
                        path.flow.note_lost(chunk.number, chunk.wire_len());
                        self.partial.on_marked(chunk.piece.partial, tsn);
                    }
                    if chunk.target != id || target == id {
                        continue;
                    }
                    path.flow.marked -= 1;
                }
                Fate::GapAcked | Fate::Abandoned => continue,
            }
            chunk.fate = Fate::Marked;
            chunk.target = target;
            chunk.misses = 0;
            self.partial.on_marked(chunk.piece.partial, tsn);
            marked.push(tsn);
        }
        if let Some(to) = paths.get_mut(target) {
            marked.into_iter().for_each(|tsn| to.flow.mark(tsn));
        }
    }

    /// Updates the zero window probe after a SACK.
    pub(super) fn settle_zero_window_probe(&mut self, paths: &mut Paths) {
        let was_sent = matches!(self.zero_window_probe, ZeroWindowProbe::Sent { .. });
        let acked = self.sent.is_empty();
        self.refused = self.sent.at(self.sent.first()).is_some_and(|chunk| self.a_rwnd < chunk.len());
        // The zero window probe itself reduces rwnd: the window is open if the peer has room for the probe.
        let closed =
            if was_sent && !acked { self.refused } else { self.window_is_closed(self.max_payload(paths)) };
        self.zero_window_probe.on_sack(closed, acked);
        let opened = was_sent && !acked && self.zero_window_probe == ZeroWindowProbe::Idle;
        let tsn = self.sent.first();
        let Some(chunk) = self.sent.at(tsn).filter(|chunk| opened && chunk.fate == Fate::InFlight) else {
            return;
        };
        // The peer answers a dropped zero window probe at once (RFC 9260 §6.2), so the window opened later.
        // Waiting for the backed-off T3-rtx would waste it.
        let (path, wire_len) = (chunk.path, chunk.wire_len());
        if let Some(path) = paths.get_mut(path) {
            path.flight_size -= wire_len;
            path.stop_t3_rtx_if_drained(false);
        }
        self.mark(tsn, path, paths);
    }
}
