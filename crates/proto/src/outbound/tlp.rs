//! Tail loss probe (RFC 8985 §7), the other half of [`super::rack`]: when nothing is heard for two round trips the path gets one
//! packet more, new data if there is some, else the last chunk again, so that a SACK tells what is missing before T3-rtx
//! expires. Knows no packets.

use msctp_congestion::{Loss, LossKind};
use msctp_units::{Span, Time};

use super::Outbound;
use super::chunk::Fate;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths};
use crate::{PathId, TraceKind};

/// The probe of a path (RFC 8985 §7.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tlp {
    /// PTO; `None`: stopped.
    pub(super) timer: Option<Time>,
    probe: Option<Probe>,
}

/// A probe that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// TLP.end_seq: the highest TSN sent with it.
    end: LongTsn,
    /// TLP.is_retrans: the chunk that was sent again.
    resent: Option<LongTsn>,
    /// The chunk arrived twice: nothing had been lost.
    duplicate: bool,
}

impl Tlp {
    pub(super) fn on_duplicate(&mut self, tsn: LongTsn) {
        if let Some(probe) = &mut self.probe {
            probe.duplicate |= probe.resent == Some(tsn);
        }
    }

    /// RFC 8985 §7.4.2: true when the probe repaired a loss that nothing else shows.
    fn on_ack(&mut self, cum_tsn_ack: LongTsn) -> bool {
        let Some(probe) = self.probe.filter(|probe| cum_tsn_ack >= probe.end) else { return false };
        // With the chunk sent again and no word of a duplicate it takes an acknowledgement beyond the probe: until then the
        // report may be on its way.
        if probe.resent.is_none() || probe.duplicate {
            self.probe = None;
            return false;
        }
        let repaired = cum_tsn_ack > probe.end;
        if repaired {
            self.probe = None;
        }
        repaired
    }
}

/// RFC 8985 §7.2: TLP_calc_PTO; at the latest with T3-rtx.
fn pto(now: Time, path: &Path, one_packet: bool, max_ack_delay: Span) -> Time {
    let wait = match path.rtt.srtt() {
        // The peer may wait with the SACK of a single packet.
        Some(srtt) if one_packet => srtt * 2 + max_ack_delay,
        Some(srtt) => srtt * 2,
        None => Span::from_secs(1),
    };
    let at = now + wait;
    path.t3_rtx.map_or(at, |t3_rtx| at.min(t3_rtx))
}

impl Outbound {
    /// RFC 8985 §7.2: starts or restarts PTO of a path after new data was sent there (`fresh`) or acknowledged; stops it where
    /// other means are at work.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time, index: usize, fresh: bool, paths: &Paths) {
        if self.rack.is_some() {
            self.reschedule_probe(now, index, fresh, paths);
        }
    }

    fn reschedule_probe(&mut self, now: Time, index: usize, fresh: bool, paths: &Paths) {
        let flow = &self.flows[index];
        let (id, repairing) =
            (flow.id, flow.recovery_exit.is_some() || flow.ld_exit.is_some() || flow.marked > 0);
        let frto = self.frto.is_some();
        let gaps = self.gaps.highest().is_some();
        let Some(rack) = &mut self.rack else { return };
        let state = rack.of(id);
        let Some(path) = paths.get(id).filter(|path| path.flight_size > 0 && path.is_usable()) else {
            state.tlp.timer = None;
            return;
        };
        let busy = repairing
            || frto
            || gaps
            || state.recovers_from_timeout()
            || state.tlp.probe.is_some()
            || path.controller.one_packet_in_flight();
        if busy {
            state.tlp.timer = None;
        } else if fresh {
            let one_packet = path.flight_size <= u64::from(path.pmdcs());
            state.tlp.timer = Some(pto(now, path, one_packet, self.max_ack_delay));
        }
    }

    /// RFC 8985 §7.4: what a SACK says of the probes under way. What RACK sees in it is RACK's (RFC 8985 §7.4.1).
    pub(super) fn settle_probes(&mut self, now: Time, paths: &mut Paths) {
        let Some(rack) = &mut self.rack else { return };
        let cum_tsn_ack = self.sent.cum_tsn_ack();
        for flow in self.flows.iter_mut() {
            let repaired = rack.of(flow.id).tlp.on_ack(cum_tsn_ack);
            // "Invoke congestion control"; the recovery is over as it begins.
            if repaired
                && flow.recovery_exit.is_none()
                && let Some(path) = paths.get_mut(flow.id)
            {
                path.controller.on_loss(&Loss { now, kind: LossKind::Gap, flight_size: path.flight_size });
                flow.recovery_exit = Some(cum_tsn_ack);
            }
        }
    }

    /// PTO of any path expired: RFC 8985 §7.3.
    pub(super) fn probe_timeout(&mut self, now: Time, paths: &mut Paths) {
        for index in 0..self.flows.len() {
            let id = self.flows[index].id;
            let due = self
                .rack
                .as_mut()
                .is_some_and(|rack| rack.of(id).tlp.timer.take_if(|timer| *timer <= now).is_some());
            if due && paths.get(id).is_some_and(|path| path.flight_size > 0) {
                self.send_probe(now, index, id, paths);
            }
        }
    }

    fn send_probe(&mut self, now: Time, index: usize, id: PathId, paths: &mut Paths) {
        let max = self.max_payload(paths);
        let new = paths.data_path() == Some(id) && !self.queue.is_idle() && !self.window_is_closed(max);
        let last = self.sent.next() - 1;
        let resent = if new { None } else { self.last_in_flight(index) };
        if let Some(tsn) = resent {
            // Sent again as a fast retransmit is, whatever the window says, and without a loss being taken for granted.
            let wire_len = self.sent.at(tsn).map_or(0, super::chunk::Chunk::wire_len);
            if let Some(path) = paths.get_mut(id) {
                path.flight_size -= wire_len;
            }
            self.mark(tsn, id);
            self.flows[index].forced = true;
        } else if !new {
            return;
        }
        let Some(path) = paths.get_mut(id) else { return };
        path.loss_probe = new;
        path.loss_probes += 1;
        // "the sender MUST re-arm the RTO timer, not the PTO timer"
        let timed = path.flight_size > 0 || self.forward.is_timed_on(path.id());
        path.t3_rtx = timed.then(|| now + path.rtt.rto());
        if let Some(rack) = &mut self.rack {
            let end = if new { last + 1 } else { last };
            rack.of(id).tlp.probe = Some(Probe { end, resent, duplicate: false });
        }
        if let Some(trace) = &mut self.trace {
            let tsn = resent.map(|tsn| tsn.tsn().get());
            trace.push_back(TraceKind::LossProbe { path: id, tsn });
        }
    }

    /// The highest TSN in flight on a path. What lies behind it in the log was acknowledged or sent again.
    fn last_in_flight(&self, index: usize) -> Option<LongTsn> {
        let in_flight = |sending: &&super::flow::Sending| {
            let chunk = self.sent.at(sending.tsn);
            chunk.is_some_and(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number)
        };
        self.flows[index].log.iter().rev().find(in_flight).map(|sending| sending.tsn)
    }
}
