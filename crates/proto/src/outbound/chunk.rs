//! [`Outstanding`]: DATA and I-DATA chunks sent and not yet cumulatively acknowledged, by TSN.
//!
//! Does not depend on windows and timers.

use std::collections::VecDeque;

use msctp_units::Time;
use msctp_wire::Tsn;

use super::piece::Piece;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Flow, Path, SendNumber, Sending};

/// The state of a chunk that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// In flight.
    InFlight,
    /// Declared lost and marked for retransmission; not in flight.
    Marked,
    /// Acknowledged by a gap block; the peer may still renege (RFC 9260 §6.2.1).
    GapAcked,
    /// Abandoned with its message: treated as acknowledged, but credited to no window (RFC 3758 §3.5 A2).
    ///
    /// Its data is freed. It stays until the peer acknowledges a FORWARD TSN past it.
    Abandoned,
}

impl Fate {
    /// Returns true for a chunk neither acknowledged nor abandoned.
    #[inline]
    pub(super) fn is_outstanding(self) -> bool {
        matches!(self, Self::InFlight | Self::Marked)
    }
}

/// A DATA or I-DATA chunk that was sent.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) piece: Piece,
    /// Number of its last transmission.
    pub(super) number: SendNumber,
    /// Time of its last transmission (RFC 8985 §5.2, §6.1: Segment.xmit_ts).
    pub(super) sent: Time,
    /// It was retransmitted: an acknowledgement is ambiguous between its transmissions (RFC 9260 §6.3.1 C5).
    pub(super) again: bool,
    /// Path of its last transmission.
    pub(super) path: PathId,
    /// It was sent on no other path: an acknowledgement proves that this path works (RFC 7829 §3.2).
    pub(super) one_path: bool,
    /// While marked: the path to retransmit it on.
    pub(super) target: PathId,
    /// Number of retransmissions.
    pub(super) retransmissions: u16,
    pub(super) fate: Fate,
    /// Miss indications since its last transmission (RFC 9260 §7.2.4).
    pub(super) misses: u8,
    /// It was fast retransmitted, and is not eligible again (RFC 9260 §7.2.4 (5)).
    pub(super) fast_retransmitted: bool,
    /// A gap block acknowledged it before the peer reneged: a second acknowledgement is not new.
    pub(super) acked_before: bool,
    /// A duplicate of it was credited to the window.
    pub(super) duplicate_credited: bool,
    /// While marked: it may have arrived, beyond the gap blocks of a truncated SACK.
    pub(super) unreported: bool,
}

impl Chunk {
    /// Returns the chunk of a piece that is sent for the first time.
    #[inline]
    pub(super) fn new(piece: Piece, number: SendNumber, sent: Time, path: PathId) -> Self {
        Self {
            piece,
            number,
            sent,
            again: false,
            path,
            one_path: true,
            target: path,
            retransmissions: 0,
            fate: Fate::InFlight,
            misses: 0,
            fast_retransmitted: false,
            acked_before: false,
            duplicate_credited: false,
            unreported: false,
        }
    }

    /// Returns true if it was declared lost and is marked for retransmission.
    pub(super) fn is_lost(&self) -> bool {
        self.fate == Fate::Marked && !self.unreported
    }

    /// Returns its user bytes.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.piece.len()
    }

    /// Returns its bytes as congestion control counts them.
    #[inline]
    pub(super) fn wire_len(&self) -> u64 {
        self.piece.wire_len()
    }
}

/// The chunks from the one after the Cumulative TSN Ack Point to the last one sent. A lookup by TSN takes
/// O(1).
#[derive(Debug)]
pub(super) struct Outstanding {
    first: LongTsn,
    chunks: VecDeque<Chunk>,
}

impl Outstanding {
    pub(super) fn new(initial_tsn: Tsn) -> Self {
        Self { first: LongTsn::first(initial_tsn), chunks: VecDeque::new() }
    }

    /// Returns the lowest TSN not cumulatively acknowledged, or the next TSN if there is none.
    #[inline]
    pub(super) fn first(&self) -> LongTsn {
        self.first
    }

    /// Returns the Cumulative TSN Ack Point.
    #[inline]
    pub(super) fn cum_tsn_ack(&self) -> LongTsn {
        self.first - 1
    }

    /// Returns the TSN of the next new chunk.
    #[inline]
    pub(super) fn next(&self) -> LongTsn {
        self.first + self.chunks.len() as u64
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    #[inline]
    pub(super) fn at(&self, tsn: LongTsn) -> Option<&Chunk> {
        if tsn < self.first {
            return None;
        }
        self.chunks.get(tsn.above(self.first) as usize)
    }

    #[inline]
    pub(super) fn at_mut(&mut self, tsn: LongTsn) -> Option<&mut Chunk> {
        if tsn < self.first {
            return None;
        }
        self.chunks.get_mut(tsn.above(self.first) as usize)
    }

    /// Returns true if a chunk is acknowledged, cumulatively or by a gap block; false for a TSN never sent.
    #[inline]
    pub(super) fn is_acked(&self, tsn: LongTsn) -> bool {
        tsn < self.first || self.at(tsn).is_some_and(|chunk| chunk.fate == Fate::GapAcked)
    }

    #[inline]
    pub(super) fn push(&mut self, chunk: Chunk) {
        self.chunks.push_back(chunk);
    }

    /// Removes the lowest chunk, which is cumulatively acknowledged.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(LongTsn, Chunk)> {
        let chunk = self.chunks.pop_front()?;
        let tsn = self.first;
        self.first = tsn + 1;
        Some((tsn, chunk))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (LongTsn, &Chunk)> {
        self.chunks.iter().enumerate().map(|(i, chunk)| (self.first + i as u64, chunk))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (LongTsn, &mut Chunk)> {
        let first = self.first;
        self.chunks.iter_mut().enumerate().map(move |(i, chunk)| (first + i as u64, chunk))
    }

    /// Returns true if the chunk is in flight and this is its last transmission.
    #[inline]
    pub(super) fn is_in_flight(&self, sending: &Sending) -> bool {
        let chunk = self.at(sending.tsn);
        chunk.is_some_and(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number)
    }

    /// Returns the chunks in flight on a path, in the order of their transmission.
    pub(super) fn in_flight(&self, flow: &Flow) -> impl DoubleEndedIterator<Item = LongTsn> {
        flow.log.iter().filter(|sending| self.is_in_flight(sending)).map(|sending| sending.tsn)
    }

    /// Returns the lowest chunk marked for retransmission on a path.
    pub(super) fn next_marked(&self, path: &mut Path) -> Option<LongTsn> {
        let id = path.id();
        let flow = &mut path.flow;
        if flow.marked == 0 {
            flow.queue.clear();
            return None;
        }
        while let Some(&tsn) = flow.queue.front() {
            if self.at(tsn).is_some_and(|chunk| chunk.fate == Fate::Marked && chunk.target == id) {
                return Some(tsn);
            }
            flow.queue.pop_front();
        }
        debug_assert!(false, "{} chunks marked on {id} and none queued", flow.marked);
        None
    }

    /// Finds a path's lowest outstanding TSN after the previous one ceased to be outstanding there.
    ///
    /// Returns the number of chunks examined.
    pub(super) fn seek_earliest(&self, path: &mut Path) -> u64 {
        let id = path.id();
        let flow = &mut path.flow;
        let Some(old) = flow.earliest.take().filter(|_| flow.unacked > 0) else { return 0 };
        let first = old.max(self.first);
        let mut tsn = first;
        while let Some(chunk) = self.at(tsn) {
            if chunk.path == id && chunk.fate.is_outstanding() {
                flow.earliest = Some(tsn);
                return tsn.above(first);
            }
            tsn = tsn + 1;
        }
        debug_assert!(false, "{} chunks outstanding on {id} and none found", flow.unacked);
        tsn.above(first)
    }

    /// Removes and returns all chunks.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Chunk> {
        self.first = self.next();
        core::mem::take(&mut self.chunks).into_iter()
    }
}
