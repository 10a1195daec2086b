//! Tail loss probe (RFC 8985 §7), the other half of [`super::rack`].
//!
//! After two round trips without an acknowledgement the path sends one more packet: new data, or else the
//! last chunk again. Its SACK reveals losses before T3-rtx expires. This file does not depend on packets.

use msctp_congestion::LossKind;
use msctp_units::{Span, Time};

use super::Outbound;
use crate::path::{Path, Paths, TailLossProbe};
use crate::trace::TraceKind;

/// Returns the time of the tail loss probe (RFC 8985 §7.2: TLP_calc_PTO), at the latest that of T3-rtx.
fn pto(now: Time, path: &Path, one_packet: bool, max_ack_delay: Span) -> Time {
    let wait = match path.rtt.srtt() {
        // The peer may delay the SACK of a single packet.
        Some(srtt) if one_packet => srtt * 2 + max_ack_delay,
        Some(srtt) => srtt * 2,
        None => Span::from_secs(1),
    };
    let at = now + wait;
    path.t3_rtx.map_or(at, |t3_rtx| at.min(t3_rtx))
}

impl Outbound {
    /// Restarts PTO of a path after new data was sent or acknowledged (`fresh`) (RFC 8985 §7.2).
    ///
    /// Stops it during a recovery.
    #[inline]
    pub(super) fn schedule_tail_loss_probe(
        &mut self,
        now: Time,
        index: usize,
        fresh: bool,
        paths: &mut Paths,
    ) {
        if self.losses.rack {
            self.reschedule_tail_loss_probe(now, index, fresh, paths);
        }
    }

    fn reschedule_tail_loss_probe(&self, now: Time, index: usize, fresh: bool, paths: &mut Paths) {
        let paths_differ = paths.recovers_per_path();
        let path = paths.at_mut(index);
        let Some(rack) = path.rack.as_deref() else { return };
        let flow = &path.flow;
        let repairing = flow.recovery_exit.is_some() || flow.ld_exit.is_some() || flow.marked > 0;
        let busy = repairing
            || self.losses.frto.is_some()
            || self.sees_gap(path, paths_differ)
            || rack.recovers_from_timeout()
            || rack.tlp.tail_loss_probe.is_some()
            || path.controller.one_packet_in_flight();
        let timer = if busy || path.flight_size == 0 || !path.is_usable() {
            None
        } else if fresh {
            let one_packet = path.flight_size <= u64::from(path.pmdcs());
            Some(pto(now, path, one_packet, self.losses.max_ack_delay))
        } else {
            rack.tlp.timer
        };
        if let Some(rack) = &mut path.rack {
            rack.tlp.timer = timer;
        }
    }

    /// Returns true if a chunk was acknowledged beyond one in flight: RACK finds the loss, not a probe.
    /// `per_path`: both must have been sent on this path.
    fn sees_gap(&self, path: &Path, per_path: bool) -> bool {
        if !per_path {
            return self.gaps.highest().is_some();
        }
        let first = path.flow.log.iter().find(|sending| self.sent.is_in_flight(sending));
        first.is_some_and(|first| first.number < path.flow.latest_acked)
    }

    /// Processes acknowledgements of tail loss probes (RFC 8985 §7.4). RACK detects the losses revealed
    /// (§7.4.1).
    pub(super) fn settle_tail_loss_probes(&self, now: Time, paths: &mut Paths) {
        let per_path = paths.recovers_per_path();
        for path in paths.iter_mut() {
            let cum_tsn_ack = match &path.rack {
                // Later data of other paths does not show that the report of a duplicate has arrived.
                Some(rack) if per_path => self.ack_point(path, true).min(rack.highest_delivered()),
                _ => self.sent.cum_tsn_ack(),
            };
            let repaired = path.rack.as_mut().is_some_and(|rack| rack.tlp.on_ack(cum_tsn_ack));
            // "Invoke congestion control"; the recovery ends at once.
            if repaired && path.flow.recovery_exit.is_none() {
                path.on_loss(now, LossKind::Gap);
                path.flow.recovery_exit = Some(cum_tsn_ack);
            }
        }
    }

    /// Sends the tail loss probe of each path whose PTO expired (RFC 8985 §7.3).
    pub(super) fn tail_loss_probe_timeout(&mut self, now: Time, paths: &mut Paths) {
        for index in 0..paths.len() {
            let path = paths.at_mut(index);
            let expired = |rack: &mut Box<crate::path::Rack>| rack.tlp.timer.take_if(|at| *at <= now);
            if path.rack.as_mut().and_then(expired).is_some() && path.flight_size > 0 {
                self.send_tail_loss_probe(now, index, paths);
            }
        }
    }

    fn send_tail_loss_probe(&mut self, now: Time, index: usize, paths: &mut Paths) {
        let id = paths.at(index).id();
        let max = self.max_payload(paths);
        let new = paths.is_carrier(id) && !self.queue.is_idle() && !self.window_is_closed(max);
        let last = self.sent.next() - 1;
        let resent = if new { None } else { self.sent.in_flight(&paths.at(index).flow).next_back() };
        if let Some(tsn) = resent {
            // Sent like a fast retransmission, regardless of the window, but without declaring a loss.
            let wire_len = self.sent.at(tsn).map_or(0, super::chunk::Chunk::wire_len);
            let path = paths.at_mut(index);
            path.flight_size -= wire_len;
            path.flow.forced = true;
            self.mark(tsn, id, paths);
        } else if !new {
            return;
        }
        let path = paths.at_mut(index);
        path.loss_probe = new;
        path.loss_probes += 1;
        // "the sender MUST re-arm the RTO timer, not the PTO timer"
        let timed = path.flight_size > 0 || self.forward.runs_t3_rtx_on(id);
        path.t3_rtx = timed.then(|| now + path.rtt.rto());
        if let Some(rack) = &mut path.rack {
            let end = if new { last + 1 } else { last };
            rack.tlp.tail_loss_probe = Some(TailLossProbe { end, resent, duplicate: false });
        }
        self.emit(TraceKind::LossProbe { path: id, tsn: resent.map(|tsn| tsn.tsn().get()) });
    }
}
