//! SACK processing (RFC 9260 §6.2.1, §6.3.2, §6.7, §7.2).
//!
//! The cost is linear in the changes of a SACK, not in the outstanding chunks.

use msctp_units::{Span, Time};
use msctp_wire::{List, Sack, Tsn};

use super::Outbound;
use super::chunk::{Chunk, Fate};
use super::detector::{LossDetector, MISS_INDICATIONS};
use crate::long_tsn::LongTsn;
use crate::path::{AckSummary, Carried, Paths, Sending};
use crate::trace::TraceKind;

/// The result of processing a SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SackOutcome {
    /// True if the SACK was dropped: its Cumulative TSN Ack is older than one processed before (RFC 9260
    /// §6.2.1 D i).
    pub stale: bool,
    /// The Cumulative TSN Ack Point advanced.
    pub cum_tsn_advanced: bool,
    /// User bytes acknowledged for the first time.
    pub bytes_acked: u64,
    /// Number of chunks that the peer reneged on (RFC 9260 §6.2.1 D iii).
    pub reneged: u32,
    /// Gap blocks were out of order, overlapped, or exceeded the last TSN sent. Their valid parts were
    /// applied.
    pub malformed_gap_blocks: bool,
}

/// A SACK that violates the protocol: the association must be aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SackFault {
    /// The cause is a Protocol Violation (RFC 9260 §3.3.10.13).
    #[error("acknowledges TSN {0}, which was not sent")]
    NeverSent(Tsn),
}

impl SackFault {
    /// Returns the error cause code of the ABORT (RFC 9260 §3.3.10).
    pub(crate) const fn cause(self) -> msctp_wire::CauseCode {
        msctp_wire::CauseCode::PROTOCOL_VIOLATION
    }
}

/// The context that the steps of processing share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processing {
    pub(super) now: Time,
    pub(super) advanced: bool,
}

impl Outbound {
    /// Processes a SACK.
    ///
    /// # Errors
    ///
    /// The peer acknowledges a TSN that was never sent: abort the association. Nothing was changed.
    pub(crate) fn handle_sack(
        &mut self,
        now: Time,
        sack: &Sack<'_>,
        paths: &mut Paths,
    ) -> Result<SackOutcome, SackFault> {
        self.handle_acks(now, sack.cum_tsn_ack, Some(sack), paths)
    }

    /// Processes the Cumulative TSN Ack of a SHUTDOWN chunk (RFC 9260 §9.2), which has no gap blocks and no
    /// a_rwnd.
    ///
    /// # Errors
    ///
    /// The peer acknowledges a TSN that was never sent: abort the association. Nothing was changed.
    pub(crate) fn handle_cum_tsn_ack(
        &mut self,
        now: Time,
        cum_tsn_ack: Tsn,
        paths: &mut Paths,
    ) -> Result<SackOutcome, SackFault> {
        self.handle_acks(now, cum_tsn_ack, None, paths)
    }

    #[inline(always)]
    fn handle_acks(
        &mut self,
        now: Time,
        cum_tsn_ack: Tsn,
        sack: Option<&Sack<'_>>,
        paths: &mut Paths,
    ) -> Result<SackOutcome, SackFault> {
        let Some(cum_tsn_ack) = self.check_cum_tsn_ack(cum_tsn_ack)? else {
            return Ok(SackOutcome { stale: true, ..SackOutcome::default() });
        };
        let mut outcome = SackOutcome::default();
        let processing = self.begin(now, cum_tsn_ack, paths);
        self.losses.per_path = paths.recovers_per_path();
        self.acknowledge_up_to(cum_tsn_ack, paths, &mut outcome);
        match sack {
            Some(sack) => self.apply_sack(processing, cum_tsn_ack, sack, paths, &mut outcome),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.8
            //# the receiver of the SHUTDOWN chunk MUST NOT interpret the lack of a Gap Ack Block as a renege.
            None => {
                self.losses.coverage.on_cum_tsn_ack(cum_tsn_ack);
                if self.gaps.is_touched() {
                    self.gaps.advance(cum_tsn_ack);
                }
            }
        }
        self.settle(processing, paths, &mut outcome);
        Ok(outcome)
    }

    /// Applies what a SACK holds besides the Cumulative TSN Ack.
    #[inline(always)]
    fn apply_sack(
        &mut self,
        processing: Processing,
        cum_tsn_ack: LongTsn,
        sack: &Sack<'_>,
        paths: &mut Paths,
        outcome: &mut SackOutcome,
    ) {
        let overtaken = self.losses.per_path && self.is_overtaken(processing, paths);
        if !sack.gap_blocks.is_empty() || self.gaps.is_touched() {
            let allows_gap_blocks = self.reneging_budget.allows_gap_blocks(self.next_number, self.sent.len());
            let gap_blocks = if allows_gap_blocks { sack.gap_blocks } else { List::EMPTY };
            let last_sent = self.sent.next() - 1;
            outcome.malformed_gap_blocks = !self.gaps.update(cum_tsn_ack, gap_blocks, last_sent);
            // A chunk that arrives within a gap adds a block, which pushes the last ones out of the SACK.
            let highest = self.gaps.highest();
            if !self.gaps.lost.is_empty() {
                if overtaken {
                    self.gaps.keep_lost();
                } else if self.losses.coverage.is_truncated(sack.gap_blocks.len()) {
                    self.gaps.keep_lost_beyond_blocks();
                }
            }
            self.acknowledge_gaps(paths, outcome);
            if !overtaken {
                let reports_new = outcome.cum_tsn_advanced
                    || !self.gaps.gained.is_empty()
                    || !self.gaps.lost.is_empty()
                    || !sack.duplicates.is_empty()
                    || u64::from(sack.a_rwnd) > self.a_rwnd;
                self.losses.coverage.on_sack(sack.gap_blocks.len(), reports_new, highest);
            }
        }
        for duplicate in sack.duplicates {
            self.count_duplicate(duplicate, paths);
        }
        // RFC 9260 §6.2.1 D ii; `rwnd` subtracts the bytes in flight
        let a_rwnd = u64::from(sack.a_rwnd);
        if self.losses.per_path {
            let news = outcome.bytes_acked > 0;
            if news || !overtaken {
                self.note_newest_sack(processing.now, paths);
            }
            // An older SACK may announce less.
            self.a_rwnd = if overtaken && !news { self.a_rwnd.max(a_rwnd) } else { a_rwnd };
        } else {
            self.a_rwnd = a_rwnd;
        }
    }

    /// Checks a Cumulative TSN Ack; returns `None` if it is stale.
    fn check_cum_tsn_ack(&self, tsn: Tsn) -> Result<Option<LongTsn>, SackFault> {
        let cum_tsn_ack = self.sent.cum_tsn_ack().nearest(tsn);
        if cum_tsn_ack >= self.sent.next() {
            return Err(SackFault::NeverSent(tsn));
        }
        // RFC 9260 §6.2.1 D i
        Ok((cum_tsn_ack >= self.sent.cum_tsn_ack()).then_some(cum_tsn_ack))
    }

    fn begin(&self, now: Time, cum_tsn_ack: LongTsn, paths: &mut Paths) -> Processing {
        for path in paths.iter_mut() {
            let flow = &mut path.flow;
            let in_recovery = flow.recovery_exit.is_some();
            let in_ld = flow.ld_exit.is_some();
            flow.ack = AckSummary { in_recovery, in_ld, ..AckSummary::default() };
            // RFC 9260 §6.1 D: each SACK starts a new burst, also where a driver passes several before it
            // sends
            flow.burst =
                if flow.burst_at == now { flow.burst.saturating_sub_unsigned(self.max_burst) } else { 0 };
            flow.burst_at = now;
        }
        Processing { now, advanced: cum_tsn_ack > self.sent.cum_tsn_ack() }
    }

    /// Removes cumulatively acknowledged chunks from the queue (RFC 9260 §6.7).
    fn acknowledge_up_to(&mut self, cum_tsn_ack: LongTsn, paths: &mut Paths, outcome: &mut SackOutcome) {
        while self.sent.first() <= cum_tsn_ack {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
            //# the endpoint MUST remove all DATA chunks that have been acknowledged by the SACK chunk's
            //# Cumulative TSN Ack from its transmit queue.
            let Some((tsn, chunk)) = self.sent.pop() else { break };
            outcome.cum_tsn_advanced = true;
            self.sent_bytes -= chunk.len();
            if chunk.piece.partial != 0 {
                self.partial.on_acked(chunk.piece.partial);
            }
            if chunk.fate.is_outstanding() {
                Self::acknowledge((&mut self.in_flight, &mut self.losses), (tsn, &chunk), paths, outcome);
            }
        }
        self.note_room();
    }

    /// Applies gap blocks: newly acknowledged chunks, and reneging.
    fn acknowledge_gaps(&mut self, paths: &mut Paths, outcome: &mut SackOutcome) {
        for index in 0..self.gaps.gained.len() {
            for tsn in self.gaps.gained[index].iter() {
                // RFC 3758 §3.5 A2: abandoned chunks count as acknowledged already, and are credited to no
                // window
                let chunk = self.sent.at_mut(tsn).filter(|chunk| chunk.fate != Fate::Abandoned);
                let Some(chunk) = chunk else { continue };
                Self::acknowledge((&mut self.in_flight, &mut self.losses), (tsn, chunk), paths, outcome);
                chunk.fate = Fate::GapAcked;
                chunk.unreported = false;
            }
        }
        for index in 0..self.gaps.lost.len() {
            for tsn in self.gaps.lost[index].iter() {
                outcome.reneged += 1;
                self.on_reneged(tsn, paths);
            }
        }
        if outcome.reneged > 0 {
            self.relog_reneged(outcome.reneged, paths);
        }
    }

    /// Returns the reneged chunks to the logs of their paths, in the order of their transmission.
    #[cold]
    fn relog_reneged(&mut self, reneged: u32, paths: &mut Paths) {
        let mut moved = 0;
        for path in paths.iter_mut() {
            let id = path.id();
            let tsns = self.gaps.lost.iter().flat_map(|range| range.iter());
            let here = tsns.filter_map(|tsn| {
                let chunk = self.sent.at(tsn)?;
                let is_it = chunk.fate == Fate::InFlight && chunk.path == id;
                is_it.then_some(Sending { number: chunk.number, tsn })
            });
            moved += path.flow.relog(here.collect());
        }
        // Two steps per chunk: reneging, and acknowledging again. Moving a log entry costs less.
        self.reneging_budget.spend(2 * u64::from(reneged) + moved / 8);
    }

    /// Handles the acknowledgement of a chunk that is in flight or marked.
    #[inline(always)]
    fn acknowledge(
        (in_flight, losses): (&mut u64, &mut LossDetector),
        (tsn, chunk): (LongTsn, &Chunk),
        paths: &mut Paths,
        outcome: &mut SackOutcome,
    ) {
        let (len, wire_len) = (chunk.len(), chunk.wire_len());
        match chunk.fate {
            Fate::InFlight => *in_flight -= len,
            Fate::Marked => {
                if let Some(target) = paths.get_mut(chunk.target) {
                    target.flow.marked -= 1;
                }
                losses.on_original_acked();
            }
            Fate::GapAcked | Fate::Abandoned => debug_assert!(false, "{tsn:?} acknowledged twice"),
        }
        if !chunk.acked_before {
            outcome.bytes_acked += len;
        }
        let Some(path) = paths.get_mut(chunk.path) else { return };
        // Its time of arrival is unknown.
        let reported_late = losses.coverage.is_beyond(tsn);
        if let Some(rack) = &mut path.rack
            && !chunk.acked_before
            && !reported_late
        {
            rack.on_delivered(tsn, chunk.number, chunk.sent, chunk.again);
        }
        let flow = &mut path.flow;
        flow.unacked -= 1;
        flow.ack.earliest |= flow.earliest == Some(tsn);
        if chunk.fate == Fate::InFlight {
            flow.ack.left_flight += wire_len;
        }
        // RFC 9260 §7.2.4: "A newly acknowledged DATA chunk is one not previously acknowledged in a SACK
        // chunk"
        if !chunk.acked_before {
            flow.ack.bytes += wire_len;
            flow.ack.latest_sent =
                flow.ack.latest_sent.max((!chunk.again && !reported_late).then_some(chunk.sent));
            // Transmissions before a timeout may have arrived before the path failed.
            flow.ack.proves_path |= chunk.one_path && chunk.number >= flow.proof_from;
            flow.latest_acked = flow.latest_acked.max(chunk.number);
            if let Some(delivery) = &mut flow.delivery {
                match reported_late {
                    true => delivery.on_abandoned(chunk.number),
                    false => delivery.on_acked(chunk.number, wire_len),
                }
            }
            // Chunks are acknowledged in the order of their TSNs.
            flow.ack.htna = Some(Sending { number: chunk.number, tsn });
        }
    }

    /// Returns a reneged chunk to the flight (RFC 9260 §6.2.1 D iii); `settle` starts T3-rtx.
    fn on_reneged(&mut self, tsn: LongTsn, paths: &mut Paths) {
        let Some(chunk) = self.sent.at_mut(tsn).filter(|chunk| chunk.fate == Fate::GapAcked) else { return };
        chunk.fate = Fate::InFlight;
        chunk.acked_before = true;
        // "Count one miss indication towards Fast Retransmit"
        chunk.misses = chunk.misses.saturating_add(1);
        if chunk.misses >= MISS_INDICATIONS && !chunk.fast_retransmitted && !self.losses.rack {
            self.losses.newly_lost.push(tsn);
        }
        self.in_flight += chunk.len();
        let Some(path) = paths.get_mut(chunk.path) else {
            // Its path was removed.
            self.reneged_without_path.push(tsn);
            return;
        };
        path.flow.adopt(tsn);
        path.flow.ack.reneged += chunk.wire_len();
    }

    /// Credits a duplicate TSN to the window (RFC 9260 §7.2.2), as far as the chunk is still known.
    ///
    /// Each acknowledged chunk that was sent more than once counts once. Otherwise a receiver could report
    /// duplicates that grow the window by more than PMDCS per RTT, which the section forbids.
    fn count_duplicate(&mut self, tsn: Tsn, paths: &mut Paths) {
        let tsn = self.sent.first().nearest(tsn);
        if self.losses.rack {
            for rack in paths.iter_mut().filter_map(|path| path.rack.as_mut()) {
                rack.on_duplicate(tsn);
            }
        }
        let credible = |chunk: &&mut Chunk| {
            chunk.fate == Fate::GapAcked && (chunk.again || !chunk.one_path) && !chunk.duplicate_credited
        };
        if let Some(chunk) = self.sent.at_mut(tsn).filter(credible)
            && let Some(path) = paths.get_mut(chunk.path)
        {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.2
            //# SCTP MUST NOT increment cwnd by more than PMDCS per RTT.
            chunk.duplicate_credited = true;
            path.flow.ack.duplicates += chunk.wire_len();
        }
    }

    /// Updates paths, losses and timers after the acknowledgements of a SACK.
    fn settle(&mut self, processing: Processing, paths: &mut Paths, outcome: &mut SackOutcome) {
        for index in 0..paths.len() {
            self.settle_path(index, processing, paths);
        }
        // Applies to data on any path, removed paths included.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.1
        //# The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to that
        //# peer endpoint is acknowledged
        if outcome.bytes_acked > 0 {
            paths.on_data_acknowledged();
        }
        if !self.reneged_without_path.is_empty() {
            self.retransmit_without_path(paths);
        }
        self.check_timeout(processing, paths);
        if self.losses.per_path {
            self.seek_ack_points(paths);
        }
        if self.losses.rack {
            self.update_rack(processing.now, paths);
            self.settle_tail_loss_probes(processing.now, paths);
        }
        self.leave_recovery(processing.now, paths);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.4
        //# the cwnd adjustment rules defined in Sections 7.2.1 and 7.2.2 MUST be applied first.
        self.detect_losses(processing, paths);
        for index in 0..paths.len() {
            self.settle_t3_rtx(index, processing.now, paths);
            let fresh = match self.losses.per_path {
                true => paths.at(index).flow.ack.bytes > 0,
                false => processing.advanced,
            };
            self.schedule_tail_loss_probe(processing.now, index, fresh, paths);
        }
        self.settle_silence(processing.now, paths);
        self.settle_zero_window_probe(paths);
        self.forward_after_sack(processing.now, processing.advanced, paths);
        debug_assert!(outcome.cum_tsn_advanced == processing.advanced);
    }

    fn settle_path(&mut self, index: usize, processing: Processing, paths: &mut Paths) {
        let id = paths.at(index).id();
        let answered_elsewhere = paths.is_answered_elsewhere(id);
        let path = paths.at_mut(index);
        let (ack, rtt_restart) = (path.flow.ack, self.losses.rtt_restart);
        let flight_size_before = path.flight_size;
        path.flight_size = flight_size_before - ack.left_flight + ack.reneged;
        let measured = path.rtt_slot.map(|slot| (slot, self.sent.cum_tsn_ack().nearest(Tsn::new(slot.tsn))));
        if measured.is_some_and(|(_, tsn)| self.losses.coverage.is_beyond(tsn)) {
            // A later SACK acknowledges it; its time of arrival is unknown.
            path.rtt_slot = None;
        } else if let Some((slot, tsn)) = measured
            && self.sent.is_acked(tsn)
        {
            path.rtt_slot = None;
            let sample: Span = processing.now.since(slot.sent);
            if rtt_restart.is_some_and(|(fresh, recover)| fresh == id && tsn > recover) {
                self.losses.rtt_restart = None;
                path.rtt.start_over(sample);
                if let Some(times) = path.rtt.round_trips() {
                    self.emit(TraceKind::RttStartedOver { path: id, sample, times });
                }
            } else {
                path.measure_round_trip(processing.now, sample);
            }
            let (srtt, rto) = (path.rtt.srtt().unwrap_or_default(), path.rtt.rto());
            self.emit(TraceKind::Rtt { path: id, sample, srtt, rto });
        }
        // CMT's cumulative ack tracking: chunks of other paths hold back the Cumulative TSN Ack Point.
        let advanced = if self.losses.per_path {
            let round_trip = ack.latest_sent.map(|sent| processing.now.since(sent));
            let carried = path.flow.carried.get_or_insert_with(|| Box::new(Carried::new(processing.now)));
            carried.on_acked(processing.now, ack.bytes, round_trip);
            ack.earliest
        } else {
            processing.advanced
        };
        paths.couple(index);
        let path = paths.at_mut(index);
        path.on_ack(processing.now, flight_size_before, advanced, answered_elsewhere);
        if ack.bytes > 0 {
            // RFC 9260 §8.2
            if ack.proves_path {
                path.answered = processing.now;
                paths.on_acknowledged(id);
            }
            self.trace_window(paths.at(index));
        }
    }

    /// Marks reneged chunks of removed paths for retransmission on another path.
    fn retransmit_without_path(&mut self, paths: &mut Paths) {
        let reneged_without_path = core::mem::take(&mut self.reneged_without_path);
        if let Some(target) = paths.data_path().or_else(|| paths.primary()) {
            reneged_without_path.into_iter().for_each(|tsn| self.mark(tsn, target, paths));
        }
    }

    /// Stops or restarts T3-rtx of a path after a SACK (RFC 9260 §6.3.2 R2, R3 and R4).
    #[inline]
    pub(super) fn settle_t3_rtx(&mut self, index: usize, now: Time, paths: &mut Paths) {
        let path = paths.at_mut(index);
        let earliest_acked = path.flow.ack.earliest;
        if earliest_acked {
            self.reneging_budget.spend(self.sent.seek_earliest(path));
        }
        if path.flight_size == 0 && !self.forward.runs_t3_rtx_on(path.id()) {
            // R2; retransmitting a marked chunk starts it again
            path.t3_rtx = None;
        } else if earliest_acked || path.t3_rtx.is_none() {
            // R3, R4
            path.start_t3_rtx(now);
        }
    }
}
