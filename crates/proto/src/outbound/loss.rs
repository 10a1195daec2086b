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
        let any_lost = !self.losses.newly_lost.is_empty();
        if any_lost {
            self.fast_retransmit(processing.now, paths);
        }
        if self.losses.prr {
            reduce_in_proportion(processing.advanced && !any_lost, paths);
        }
    }

    /// Retransmits the chunks in `newly_lost` (RFC 9260 §7.2.4 (1) to (6)).
    pub(super) fn fast_retransmit(&mut self, now: Time, paths: &mut Paths) {
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
            let Some(chunk) = self.sent.at_mut(tsn).filter(|chunk| chunk.fate == Fate::InFlight) else {
                continue;
            };
            // (5)
            chunk.fast_retransmitted = true;
            let (id, wire_len) = (chunk.path, chunk.wire_len());
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
}
