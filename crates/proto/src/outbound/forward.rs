//! Notifying the peer of abandoned chunks: Advanced.Peer.Ack.Point and FORWARD TSN (RFC 3758 §3.5,
//! RFC 8260 §2.3.1).

use msctp_units::Time;
use msctp_wire::{
    EncodeChunk, ForwardTsn, IForwardTsn, List, Mid, PacketBuilder, SkippedMessages, SkippedStream, Ssn,
    StreamId, Tsn,
};
use smallvec::SmallVec;

use super::Outbound;
use super::chunk::Fate;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::Paths;
use crate::rare::rare_state;

/// Length in bytes of a FORWARD TSN or I-FORWARD-TSN that skips no stream.
const FIXED: usize = 8;

rare_state! {
    /// The sender's FORWARD TSN state.
    pub(super) struct Forward {
        /// Advanced.Peer.Ack.Point; the Cumulative TSN Ack Point if that is higher.
        advanced_peer_ack_point: LongTsn = LongTsn::LEAST,
        /// A FORWARD TSN must be sent now.
        due: bool = false,
        /// The last FORWARD TSN sent.
        last: Option<SentForward> = None,
        /// The path whose T3-rtx runs for an unacknowledged FORWARD TSN (C5).
        t3_rtx_on: Option<PathId> = None,
        /// The path of the last FORWARD TSN whose T3-rtx expired.
        unanswered_on: Option<PathId> = None,
        /// The last TSN before a reset that was requested: the peer may have performed it.
        before_reset: Option<LongTsn> = None,
        /// The last TSN before the last reset that the peer has performed. It has received or skipped all up
        /// to there (RFC 6525 §5.2.2 E3).
        reset_at: LongTsn = LongTsn::LEAST,
    }
}

/// A sent FORWARD TSN.
#[derive(Clone, Copy, Debug)]
struct SentForward {
    at: Time,
    path: Option<PathId>,
}

/// A FORWARD TSN or I-FORWARD-TSN written into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForwardSummary {
    /// New Cumulative TSN.
    pub new_cum_tsn: Tsn,
    /// Its Chunk Type field.
    pub chunk_type: u8,
    /// Its Chunk Length.
    pub len: u16,
}

impl Forward {
    /// Returns the path for a FORWARD TSN: the data path, or an alternate after a timeout (RFC 9260 §6.4).
    fn path(&self, paths: &Paths) -> Option<PathId> {
        match self.unanswered_on {
            Some(last) => paths.retransmission_path(last),
            None => paths.data_path(),
        }
    }

    /// Returns true if T3-rtx of this path runs for a FORWARD TSN, with or without DATA in flight there.
    #[inline]
    pub(super) fn runs_t3_rtx_on(&self, path: PathId) -> bool {
        self.t3_rtx_on == Some(path)
    }
}

impl Outbound {
    /// Returns true if the peer does not know of some abandoned chunk, or messages may still be abandoned.
    #[inline]
    pub(crate) fn may_forward(&self) -> bool {
        !self.partial.is_empty() || self.lacks_forward_tsn()
    }

    /// Returns true if the peer does not know of some abandoned chunk.
    #[inline]
    pub(super) fn lacks_forward_tsn(&self) -> bool {
        self.forward.advanced_peer_ack_point > self.sent.cum_tsn_ack()
    }

    /// Moves Advanced.Peer.Ack.Point past all abandoned chunks (C1, C2), at a cost linear in their number.
    pub(super) fn advance_peer_ack_point(&mut self) {
        let cum_tsn_ack = self.sent.cum_tsn_ack();
        let mut point = self.forward.advanced_peer_ack_point.max(cum_tsn_ack);
        while self.sent.at(point + 1).is_some_and(|chunk| chunk.fate == Fate::Abandoned) {
            point = point + 1;
        }
        self.forward.due |= point > self.forward.advanced_peer_ack_point.max(cum_tsn_ack);
        self.forward.advanced_peer_ack_point = point;
        if point == cum_tsn_ack {
            self.forward.due = false;
            self.forward.last = None;
        }
    }

    /// Updates the FORWARD TSN state after chunks were abandoned (A2, A3).
    ///
    /// Abandoning may stop the only T3-rtx that would repeat an earlier FORWARD TSN.
    pub(super) fn forward_after_abandoning(&mut self, now: Time, paths: &mut Paths) {
        self.advance_peer_ack_point();
        self.keep_t3_running(now, paths);
    }

    /// Updates the FORWARD TSN state after a SACK (A4), and abandons expired messages.
    ///
    /// While the peer is behind, the FORWARD TSN is repeated at most once a round trip (C3, F2).
    #[inline]
    pub(super) fn forward_after_sack(&mut self, now: Time, advanced: bool, paths: &mut Paths) {
        // Without partial reliability there is nothing to abandon.
        if self.partial.is_touched() {
            self.update_forward(now, advanced, paths);
        }
    }

    fn update_forward(&mut self, now: Time, advanced: bool, paths: &mut Paths) {
        // Before the state is reset below, once all abandoned chunks are acknowledged.
        if advanced {
            self.on_forward_tsn_acked(now, paths);
        }
        self.abandon_due(now, paths);
        self.advance_peer_ack_point();
        if self.forward.advanced_peer_ack_point == self.sent.cum_tsn_ack() {
            self.forward.unanswered_on = None;
            if let Some(path) = self.forward.t3_rtx_on.take().and_then(|id| paths.get_mut(id)) {
                // RFC 9260 §6.3.2 R2
                path.stop_t3_rtx_if_drained(false);
            }
            return;
        }
        let round_trip = paths.data_path().and_then(|id| paths.get(id)).map(|path| {
            // Without a measurement T3-rtx repeats the FORWARD TSN.
            path.rtt.srtt().unwrap_or(path.rtt.rto())
        });
        if let (Some(last), Some(round_trip)) = (self.forward.last, round_trip) {
            self.forward.due |= now.since(last.at) >= round_trip;
        }
        self.keep_t3_running(now, paths);
    }

    /// Handles the acknowledgement of a FORWARD TSN: resets the error count (RFC 9260 §8.1) and restarts
    /// T3-rtx.
    ///
    /// Abandoned chunks are acknowledged in no other way (A2).
    fn on_forward_tsn_acked(&mut self, now: Time, paths: &mut Paths) {
        let Some(last) = self.forward.last else { return };
        paths.on_data_acknowledged();
        for id in [last.path, self.forward.t3_rtx_on].into_iter().flatten() {
            if let Some(path) = paths.get_mut(id).filter(|path| path.t3_rtx.is_some()) {
                // RFC 9260 §6.3.2 R3
                path.start_t3_rtx(now);
            }
        }
    }

    /// Updates the FORWARD TSN state after T3-rtx expired (A5).
    pub(super) fn forward_after_timeout(&mut self) {
        if !self.partial.is_touched() {
            return;
        }
        self.advance_peer_ack_point();
        self.forward.unanswered_on = self.forward.t3_rtx_on.take().or(self.forward.unanswered_on);
        self.forward.due = self.forward.advanced_peer_ack_point > self.sent.cum_tsn_ack();
    }

    /// Repeats a FORWARD TSN on another path if the T3-rtx that ran for it was on a removed path.
    pub(super) fn forward_after_removal(&mut self, gone: PathId) {
        if !self.partial.is_touched() {
            return;
        }
        self.forward.unanswered_on = self.forward.unanswered_on.filter(|&path| path != gone);
        if self.forward.t3_rtx_on.take_if(|path| *path == gone).is_some() {
            self.forward.due = self.forward.advanced_peer_ack_point > self.sent.cum_tsn_ack();
        }
    }

    /// Keeps at least one T3-rtx running while a FORWARD TSN is unacknowledged (C5).
    fn keep_t3_running(&mut self, now: Time, paths: &mut Paths) {
        if self.forward.last.is_none() || paths.iter().any(|path| path.t3_rtx.is_some()) {
            return;
        }
        if let Some(path) = self.forward.path(paths).and_then(|id| paths.get_mut(id)) {
            path.start_t3_rtx(now);
            self.forward.t3_rtx_on = Some(path.id());
        }
    }

    /// Returns the path on which a FORWARD TSN must be sent now. Abandons expired messages first.
    pub(crate) fn forward_path(&mut self, now: Time, paths: &mut Paths) -> Option<PathId> {
        self.abandon_due(now, paths);
        let path = self.forward.path(paths).filter(|_| self.forward.due)?;
        paths.get(path).filter(|path| path.is_confirmed()).map(|_| path)
    }

    /// Writes the pending FORWARD TSN; returns `None` if it does not fit.
    pub(crate) fn encode_forward_tsn(
        &mut self,
        now: Time,
        paths: &mut Paths,
        builder: &mut PacketBuilder<'_>,
    ) -> Option<ForwardSummary> {
        let entry = if self.interleaving { 8 } else { 4 };
        let room = builder.remaining().checked_sub(FIXED)? / entry;
        let (point, skipped) = self.skipped(room);
        let new_cum_tsn = point.tsn();
        let (chunk_type, len) = if self.interleaving {
            let skipped = List::from(&skipped[..]);
            let chunk = IForwardTsn { new_cum_tsn, skipped };
            builder.push(&chunk).ok()?;
            (chunk.chunk_type().0, chunk.encoded_len())
        } else {
            // RFC 3758 §3.2: "MUST NOT report TSN's corresponding to DATA chunks that are marked as
            // unordered"
            let streams: SmallVec<[SkippedStream; 16]> = skipped
                .iter()
                .map(|s| SkippedStream { stream: s.stream, ssn: Ssn::new(s.mid.get() as u16) })
                .collect();
            let chunk = ForwardTsn { new_cum_tsn, skipped: List::from(&streams[..]) };
            builder.push(&chunk).ok()?;
            (chunk.chunk_type().0, chunk.encoded_len())
        };
        self.forward.due = false;
        self.forward.last = Some(SentForward { at: now, path: self.forward.path(paths) });
        self.keep_t3_running(now, paths);
        Some(ForwardSummary { new_cum_tsn, chunk_type, len: len as u16 })
    }

    /// Records that a reset of streams is requested, which send nothing until it is answered.
    pub(crate) fn begin_reset(&mut self) {
        // Without partial reliability nothing that was sent is abandoned.
        if self.partial.is_touched() {
            self.forward.before_reset = Some(self.sent.next() - 1);
        }
    }

    /// Records the answer to the reset that was requested.
    pub(super) fn end_reset(&mut self, performed: bool) {
        if self.forward.is_touched()
            && let Some(last) = self.forward.before_reset.take()
            && performed
        {
            self.forward.reset_at = last;
        }
    }

    /// Returns the last abandoned message of each stream (C4), for at most `room` streams, and the TSN
    /// reached.
    ///
    /// A FORWARD TSN does not go beyond a reset that the peer may have performed. Its numbers would skip
    /// messages of the streams' next use if it arrived later. Up to the reset, it would be out of date then.
    fn skipped(&self, room: usize) -> (LongTsn, SmallVec<[SkippedMessages; 16]>) {
        let mut skipped: SmallVec<[SkippedMessages; 16]> = SmallVec::new();
        let point = self.forward.advanced_peer_ack_point;
        let mut reached = self.sent.cum_tsn_ack().max(self.forward.reset_at).min(point);
        let last =
            self.forward.before_reset.filter(|&last| last > reached).map_or(point, |last| last.min(point));
        while reached < last {
            let Some(chunk) = self.sent.at(reached + 1) else { break };
            let unordered = chunk.piece.flags.unordered;
            if !unordered || self.interleaving {
                let key = (chunk.piece.stream, unordered);
                let entry = SkippedMessages {
                    stream: StreamId::new(chunk.piece.stream),
                    unordered,
                    mid: Mid::new(chunk.piece.mid),
                };
                match skipped.binary_search_by_key(&key, |s| (s.stream.get(), s.unordered)) {
                    // A stream's message numbers increase with the TSN.
                    Ok(index) => skipped[index] = entry,
                    Err(_) if skipped.len() >= room => break,
                    Err(index) => skipped.insert(index, entry),
                }
            }
            reached = reached + 1;
        }
        (reached, skipped)
    }
}
