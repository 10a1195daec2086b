//! Losses seen in SACKs: miss indications, fast retransmit, Fast Recovery (RFC 9260 §7.2.4).

use msctp_congestion::PrrAck;
use msctp_congestion::classifier::Cause;
use msctp_units::Time;

use super::Outbound;
use super::chunk::Fate;
use super::ecn::covers_loss;
use super::sack::Processing;
use crate::TraceKind;
use crate::path::{Flow, Paths, Sending};

/// RFC 9260 §7.2.4: the third miss indication starts a fast retransmit.
pub(super) const MISS_INDICATIONS: u8 = 3;

/// Lets PRR allow what a SACK acknowledged on paths in Fast Recovery, those that it puts there included (RFC 9937).
fn reduce_in_proportion(safe: bool, paths: &mut Paths) {
    for path in paths.iter_mut() {
        if let Some(prr) = &mut path.prr {
            prr.on_ack(&PrrAck { delivered: path.flow.ack.bytes, in_flight: path.flight_size, safe });
        }
    }
}

impl Outbound {
    /// RFC 9260 §7.2.4 (6), §6.2.1 D iv
    pub(super) fn leave_recovery(&mut self, now: Time, paths: &mut Paths) {
        let cum_tsn_ack = self.sent.cum_tsn_ack();
        for path in paths.iter_mut() {
            path.leave_recovery(now, cum_tsn_ack);
        }
    }

    /// Counts the miss indications of a SACK and marks what is lost.
    pub(super) fn detect_losses(&mut self, processing: Processing, paths: &mut Paths) {
        for index in 0..paths.len() {
            if self.use_rack {
                self.find_lost(processing.now, index, paths);
            } else if let flow = &mut paths.at_mut(index).flow
                && let Some(limit) = self.miss_limit(flow, processing.advanced)
            {
                self.count_misses(flow, limit);
            }
        }
        let found = !self.newly_lost.is_empty();
        if found {
            self.fast_retransmit(processing.now, paths);
        }
        if self.use_prr {
            reduce_in_proportion(processing.advanced && !found, paths);
        }
    }

    /// Up to where a flow's chunks get a miss indication: those below this TSN whose last sending came before this one.
    ///
    /// Only what was last sent on the same path counts; RFC 9260 §7.2.4 compares TSNs over all paths. When data moves
    /// to a faster path, its chunks overtake those still under way on the old one, which the RFC's rule takes for
    /// losses. Each path has its own window (§7.2) and its own Fast Recovery for the same reason. That is stricter
    /// than the RFC, as §7 allows.
    ///
    /// RFC 9260 §7.2.4 compares TSNs. For chunks sent once that is the same; a chunk sent again is counted only when
    /// something sent after *that* was acknowledged, since what was sent before says nothing of it.
    fn miss_limit(&self, flow: &Flow, advanced: bool) -> Option<Sending> {
        // "If an endpoint is in Fast Recovery and a SACK chunk arrives that advances the Cumulative TSN Ack Point, the miss
        // indications are incremented for all TSNs reported missing in the SACK chunk."
        if flow.ack.in_recovery
            && advanced
            && let Some(tsn) = self.gaps.highest()
        {
            return Some(Sending { number: flow.latest_acked, tsn });
        }
        // "Miss indications are incremented only for missing TSNs prior to the HTNA in the SACK chunk."
        flow.ack.htna
    }

    /// Walks a flow's log as far as `limit`. What was acknowledged or sent again since, or cannot be fast retransmitted any
    /// more, leaves the log here; so each sending is looked at once, and each lost one at most three times.
    fn count_misses(&mut self, flow: &mut Flow, limit: Sending) {
        let log = &mut flow.log;
        while let Some(&sending) = log.front() {
            if sending.number > limit.number {
                break;
            }
            let waiting = self
                .sent
                .at_mut(sending.tsn)
                .filter(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number);
            let Some(chunk) = waiting else {
                log.pop_front();
                continue;
            };
            if sending.tsn >= limit.tsn {
                break;
            }
            log.pop_front();
            // RFC 9260 §7.2.4 (5)
            if chunk.fast_retransmitted {
                continue;
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
            //# that are smaller than the highest-acknowledged TSN reported in the SACK chunk MUST be treated
            //# as "missing" by the sending endpoint. The number of "missing" reports for each outstanding
            //# DATA chunk MUST be recorded by the data sender
            chunk.misses = chunk.misses.saturating_add(1);
            if chunk.misses >= MISS_INDICATIONS {
                self.newly_lost.push(sending.tsn);
            } else {
                self.kept.push(sending);
            }
        }
        while let Some(sending) = self.kept.pop() {
            log.push_front(sending);
        }
    }

    /// RFC 9260 §7.2.4 (1) to (6) for the chunks in `newly_lost`.
    pub(super) fn fast_retransmit(&mut self, now: Time, paths: &mut Paths) {
        let mut newly_lost = core::mem::take(&mut self.newly_lost);
        // A chunk reneged on may be in it twice.
        newly_lost.sort_unstable();
        newly_lost.dedup();
        let exit = self.sent.next() - 1;
        for path in paths.iter_mut() {
            let id = path.id();
            let lost_here = |tsn: &&_| self.sent.at(**tsn).is_some_and(|chunk| chunk.path == id);
            let Some(&first) = newly_lost.iter().find(lost_here) else { continue };
            path.fast_retransmits += 1;
            let in_recovery = path.flow.recovery_exit.is_some();
            let verdict = match in_recovery {
                true => None,
                false => self.differentiation.as_mut().and_then(|judge| {
                    judge.judge(first, self.sent.first(), path.controller.window(), &path.rtt)
                }),
            };
            if let (Some(cause), Some(trace)) = (verdict, &mut self.trace) {
                trace.push_back(TraceKind::Verdict { path: id, tsn: first.tsn().get(), cause });
            }
            if verdict == Some(Cause::Wireless) {
                path.ld_recoveries += 1;
                path.flow.forced = true;
                let last = newly_lost.iter().rev().find(lost_here).copied();
                path.flow.ld_exit = path.flow.ld_exit.max(last);
            } else if !in_recovery {
                // (2), (3), (6)
                let again = self.sent.at(first).is_none_or(|chunk| chunk.again);
                let covered = covers_loss(&mut path.flow, first, again, exit);
                path.enter_fast_recovery(now, exit, covered, self.use_prr);
            }
            if let Some(trace) = &mut self.trace {
                trace.push_back(TraceKind::FastRetransmit { path: id, tsn: first.tsn().get() });
            }
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
            self.mark(tsn, id, paths);
        }
        newly_lost.clear();
        self.newly_lost = newly_lost;
    }
}
