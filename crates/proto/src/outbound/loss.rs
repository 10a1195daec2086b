//! Losses seen in SACKs: miss indications, fast retransmit, Fast Recovery (RFC 9260 §7.2.4).

use msctp_congestion::PrrAck;
use msctp_congestion::classifier::Cause;
use msctp_units::Time;

use super::Outbound;
use super::chunk::Fate;
use super::ecn::covers_loss;
use super::sack::Processing;
use crate::path::Paths;
use crate::trace::TraceKind;

/// Updates PRR's allowance on paths in Fast Recovery after a SACK, which may have started it (RFC 9937).
fn reduce_in_proportion(safe: bool, paths: &mut Paths) {
    for path in paths.iter_mut() {
        if let Some(prr) = &mut path.prr {
            prr.on_ack(&PrrAck { delivered: path.flow.ack.bytes, in_flight: path.flight_size, safe });
        }
    }
}

impl Outbound {
    /// Ends Fast Recovery on paths whose exit TSN is acknowledged (RFC 9260 §7.2.4 (6), §6.2.1 D iv).
    pub(super) fn leave_recovery(&mut self, now: Time, paths: &mut Paths) {
        let per_path = paths.recovers_per_path();
        for path in paths.iter_mut() {
            path.leave_recovery(now, self.ack_point(path, per_path));
        }
    }

    /// Counts the miss indications of a SACK and marks lost chunks.
    pub(super) fn detect_losses(&mut self, processing: Processing, paths: &mut Paths) {
        for index in 0..paths.len() {
            let path = paths.at_mut(index);
            self.losses.detect(processing, &mut self.sent, &self.gaps, path);
        }
        let any_lost = self.act_on_losses(processing.now, paths);
        if self.losses.prr {
            reduce_in_proportion(processing.advanced && !any_lost, paths);
        }
    }

    /// Sets aside and retransmits what was found late. Returns true if anything was lost.
    #[inline(always)]
    pub(super) fn act_on_losses(&mut self, now: Time, paths: &mut Paths) -> bool {
        if self.losses.coverage.is_touched() {
            self.set_aside_unreported(paths);
            self.losses.find_covered(&self.sent);
        }
        let any_lost = !self.losses.newly_lost.is_empty();
        if any_lost {
            self.fast_retransmit(now, paths);
        }
        any_lost
    }

    /// Retransmits the chunks in `newly_lost` (RFC 9260 §7.2.4 (1) to (6)).
    fn fast_retransmit(&mut self, now: Time, paths: &mut Paths) {
        let mut newly_lost = core::mem::take(&mut self.losses.newly_lost);
        // A reneged chunk may be listed twice.
        newly_lost.sort_unstable();
        newly_lost.dedup();
        let exit = self.sent.next() - 1;
        for path in paths.iter_mut() {
            let id = path.id();
            let lost_here = |tsn: &&_| self.sent.at(**tsn).is_some_and(|chunk| chunk.path == id);
            let Some(&first) = newly_lost.iter().find(lost_here) else { continue };
            let last = newly_lost.iter().rfind(lost_here).copied();
            path.fast_retransmits += 1;
            let in_recovery = path.flow.recovery_exit.is_some();
            let verdict = match in_recovery {
                true => None,
                false => self.losses.classifier.as_mut().and_then(|judge| {
                    judge.judge(first, self.sent.first(), path.controller.window(), &path.rtt)
                }),
            };
            if let Some(cause) = verdict {
                self.emit(TraceKind::Verdict { path: id, tsn: first.tsn().get(), cause });
            }
            if verdict == Some(Cause::Wireless) {
                path.ld_recoveries += 1;
                path.flow.forced = true;
                path.flow.ld_exit = path.flow.ld_exit.max(last);
            } else if !in_recovery {
                // (2), (3), (6)
                let again = self.sent.at(first).is_none_or(|chunk| chunk.again);
                let covered = covers_loss(&mut path.flow, first, again, exit);
                path.enter_fast_recovery(now, exit, covered, self.losses.prr);
            }
            self.emit(TraceKind::FastRetransmit { path: id, tsn: first.tsn().get() });
            self.trace_window(path);
        }
        for &tsn in &newly_lost {
            let Some(chunk) = self.sent.at_mut(tsn) else { continue };
            let (id, number, wire_len) = (chunk.path, chunk.number, chunk.wire_len());
            // (5)
            chunk.fast_retransmitted = true;
            if core::mem::take(&mut chunk.unreported) {
                // Marked and out of the flight already.
                self.partial.on_marked(chunk.piece.partial, tsn);
                if let Some(path) = paths.get_mut(id) {
                    path.flow.note_lost(number, wire_len);
                }
                continue;
            }
            if chunk.fate != Fate::InFlight {
                continue;
            }
            if let Some(path) = paths.get_mut(id) {
                path.flight_size -= wire_len;
            }
            // (1). RFC 9260 §6.4: to the address the data was sent to
            let target = Self::repair_path(id, paths);
            self.mark(tsn, target, paths);
        }
        newly_lost.clear();
        self.losses.newly_lost = newly_lost;
    }

    /// Takes the chunks in `unreported` out of the flight, and marks them. They count as lost, and are
    /// retransmitted, once a SACK covers them.
    #[cold]
    fn set_aside_unreported(&mut self, paths: &mut Paths) {
        let mut unreported = core::mem::take(&mut self.losses.coverage.unreported);
        for tsn in unreported.drain(..) {
            let Some(chunk) = self.sent.at_mut(tsn).filter(|chunk| chunk.fate == Fate::InFlight) else {
                continue;
            };
            let (id, wire_len) = (chunk.path, chunk.wire_len());
            chunk.unreported = true;
            if let Some(path) = paths.get_mut(id) {
                path.flight_size -= wire_len;
            }
            self.requeue(tsn, Self::repair_path(id, paths), paths);
            self.losses.coverage.set_aside.insert(tsn);
        }
        self.losses.coverage.unreported = unreported;
    }
}
