//! Telling the peer what was given up: Advanced.Peer.Ack.Point and FORWARD TSN (RFC 3758 §3.5, RFC 8260 §2.3.1).

use msctp_units::Time;
use msctp_wire::{
    EncodeChunk, ForwardTsn, IForwardTsn, List, Mid, PacketBuilder, SkippedMessages, SkippedStream, Ssn,
    StreamId, Tsn,
};
use smallvec::SmallVec;

use super::Outbound;
use super::chunk::Fate;
use crate::PathId;
use crate::long_tsn::LongTsn;
use crate::path::Paths;
use crate::rare::Untouched;

/// Bytes of a FORWARD TSN or I-FORWARD-TSN that skips no stream.
const FIXED: usize = 8;

/// What the peer was told.
#[derive(Debug)]
pub(super) struct Forward {
    /// Advanced.Peer.Ack.Point; below the Cumulative TSN Ack Point it counts as that.
    point: LongTsn,
    /// To be told now.
    due: bool,
    /// The last FORWARD TSN that was sent.
    last: Option<SentForward>,
    /// The path whose T3-rtx runs for it (C5) as long as it is not acknowledged.
    timed_on: Option<PathId>,
    /// The path on which the peer was told last and did not answer.
    tried: Option<PathId>,
}

/// A FORWARD TSN that was sent.
#[derive(Clone, Copy, Debug)]
struct SentForward {
    at: Time,
    path: Option<PathId>,
}

/// A FORWARD TSN or I-FORWARD-TSN that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardSummary {
    /// New Cumulative TSN.
    pub new_cum_tsn: Tsn,
    /// Its Chunk Type field.
    pub chunk_type: u8,
    /// Its Chunk Length.
    pub len: u16,
}

impl Untouched for Forward {
    const UNTOUCHED: &'static Self =
        &Self { point: LongTsn::LEAST, due: false, last: None, timed_on: None, tried: None };
}

impl Default for Forward {
    fn default() -> Self {
        Self { point: LongTsn::LEAST, due: false, last: None, timed_on: None, tried: None }
    }
}

impl Forward {
    /// Where it goes: as data does, once it was not answered to each path (RFC 9260 §6.4).
    fn path(&self, paths: &Paths) -> Option<PathId> {
        match self.tried {
            Some(last) => paths.retransmission_path(last),
            None => paths.data_path(),
        }
    }

    /// T3-rtx of this path runs for a FORWARD TSN, whether or not DATA is in flight there.
    #[inline]
    pub(super) fn is_timed_on(&self, path: PathId) -> bool {
        self.timed_on == Some(path)
    }
}

impl Outbound {
    /// Something was given up that the peer does not know of, or messages may still be given up.
    #[inline]
    pub fn may_forward(&self) -> bool {
        !self.partial.is_empty() || self.forward.point > self.sent.cum_tsn_ack()
    }

    /// C1 and C2: past all that was given up. Cost: what it passes.
    pub(super) fn advance_peer_ack_point(&mut self) {
        let cum_tsn_ack = self.sent.cum_tsn_ack();
        let mut point = self.forward.point.max(cum_tsn_ack);
        while self.sent.at(point + 1).is_some_and(|chunk| chunk.fate == Fate::Abandoned) {
            point = point + 1;
        }
        self.forward.due |= point > self.forward.point.max(cum_tsn_ack);
        self.forward.point = point;
        if point == cum_tsn_ack {
            self.forward.due = false;
            self.forward.last = None;
        }
    }

    /// Something was given up (A2, A3). Its T3-rtx may have been all that would have made the peer be told again of what was given
    /// up before.
    pub(super) fn forward_after_abandoning(&mut self, now: Time, paths: &mut Paths) {
        self.advance_peer_ack_point();
        self.keep_t3_running(now, paths);
    }

    /// A SACK was taken in (A4), which may have advanced the Cumulative TSN Ack Point; what is over now is given up. C3: as long as
    /// the peer is behind it is told again, at most once a round trip (F2).
    #[inline]
    pub(super) fn forward_after_sack(&mut self, now: Time, advanced: bool, paths: &mut Paths) {
        // Nothing can have been given up, or be.
        if self.partial.is_touched() {
            self.go_on_forward(now, advanced, paths);
        }
    }

    fn go_on_forward(&mut self, now: Time, advanced: bool, paths: &mut Paths) {
        // First: with all that was given up acknowledged, what the peer was told is forgotten.
        if advanced {
            self.settle_told(now, paths);
        }
        self.abandon_due(now, paths);
        self.advance_peer_ack_point();
        if self.forward.point == self.sent.cum_tsn_ack() {
            self.forward.tried = None;
            if let Some(path) = self.forward.timed_on.take().and_then(|id| paths.get_mut(id)) {
                // RFC 9260 §6.3.2 R2
                path.stop_t3_rtx_if_drained(false);
            }
            return;
        }
        let round_trip = paths.data_path().and_then(|id| paths.get(id)).map(|path| {
            // Without a measurement T3-rtx repeats it.
            path.rtt.srtt().unwrap_or(path.rtt.rto())
        });
        if let (Some(last), Some(round_trip)) = (self.forward.last, round_trip) {
            self.forward.due |= now.since(last.at) >= round_trip;
        }
        self.keep_t3_running(now, paths);
    }

    /// The peer goes where it is told to: it is there (RFC 9260 §8.1), and what T3-rtx waits for is later now. Chunks that were
    /// given up are acknowledged by nothing else (A2).
    fn settle_told(&mut self, now: Time, paths: &mut Paths) {
        let Some(last) = self.forward.last else { return };
        paths.clear_assoc_error_count();
        for id in [last.path, self.forward.timed_on].into_iter().flatten() {
            if let Some(path) = paths.get_mut(id).filter(|path| path.t3_rtx.is_some()) {
                // RFC 9260 §6.3.2 R3
                path.start_t3_rtx(now);
            }
        }
    }

    /// T3-rtx has expired (A5).
    pub(super) fn forward_after_timeout(&mut self) {
        if !self.partial.is_touched() {
            return;
        }
        self.advance_peer_ack_point();
        self.forward.tried = self.forward.timed_on.take().or(self.forward.tried);
        self.forward.due = self.forward.point > self.sent.cum_tsn_ack();
    }

    /// A path is gone, and with it the T3-rtx that ran for a FORWARD TSN: it is sent again elsewhere.
    pub(super) fn forward_after_removal(&mut self, gone: PathId) {
        if !self.partial.is_touched() {
            return;
        }
        self.forward.tried = self.forward.tried.filter(|&path| path != gone);
        if self.forward.timed_on.take_if(|path| *path == gone).is_some() {
            self.forward.due = self.forward.point > self.sent.cum_tsn_ack();
        }
    }

    /// C5: at least one T3-rtx runs while the peer was told and has not answered.
    fn keep_t3_running(&mut self, now: Time, paths: &mut Paths) {
        if self.forward.last.is_none() || paths.iter().any(|path| path.t3_rtx.is_some()) {
            return;
        }
        if let Some(path) = self.forward.path(paths).and_then(|id| paths.get_mut(id)) {
            path.start_t3_rtx(now);
            self.forward.timed_on = Some(path.id());
        }
    }

    /// The path on which a FORWARD TSN is to be sent now; lets lifetimes end first.
    pub fn forward_path(&mut self, now: Time, paths: &mut Paths) -> Option<PathId> {
        self.abandon_due(now, paths);
        let path = self.forward.path(paths).filter(|_| self.forward.due)?;
        paths.get(path).filter(|path| path.is_confirmed()).map(|_| path)
    }

    /// Writes the FORWARD TSN that is due. `None`: it does not fit.
    pub fn encode_forward_tsn(
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
            // RFC 3758 §3.2: "MUST NOT report TSN's corresponding to DATA chunks that are marked as unordered"
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

    /// C4: each stream with the largest number of it that was given up, as far as `room` allows; and how far that reaches.
    fn skipped(&self, room: usize) -> (LongTsn, SmallVec<[SkippedMessages; 16]>) {
        let mut skipped: SmallVec<[SkippedMessages; 16]> = SmallVec::new();
        let mut reached = self.sent.cum_tsn_ack();
        while reached < self.forward.point {
            let Some(chunk) = self.sent.at(reached + 1) else { break };
            let unordered = chunk.flags.unordered;
            if !unordered || self.interleaving {
                let key = (chunk.stream, unordered);
                let entry = SkippedMessages {
                    stream: StreamId::new(chunk.stream),
                    unordered,
                    mid: Mid::new(chunk.mid),
                };
                match skipped.binary_search_by_key(&key, |s| (s.stream.get(), s.unordered)) {
                    // Numbers of a stream go up with the TSN.
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
