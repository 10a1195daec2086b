//! [`Outstanding`]: DATA and I-DATA chunks sent and not yet cumulatively acknowledged, by TSN.
//!
//! Does not depend on windows and timers.

use std::collections::VecDeque;

use bytes::Bytes;
use msctp_units::Time;
use msctp_wire::{Data, DataFlags, Fragment, Full, IData, Mid, PacketBuilder, Ppid, Ssn, StreamId, Tsn};

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
    pub(super) data: Bytes,
    pub(super) context: u64,
    /// Number of its message in [`PartialStore`](super::partial::PartialStore); 0 if that is fully reliable.
    pub(super) partial: u64,
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
    pub(super) ppid: u32,
    /// Message identifier; its low 16 bits are the stream sequence number of ordered messages.
    pub(super) mid: u32,
    /// Fragment sequence number.
    pub(super) fsn: u32,
    /// Number of retransmissions.
    pub(super) retransmissions: u16,
    pub(super) stream: u16,
    /// It is an I-DATA chunk (RFC 8260).
    pub(super) interleaved: bool,
    pub(super) flags: DataFlags,
    pub(super) fate: Fate,
    /// Miss indications since its last transmission (RFC 9260 §7.2.4).
    pub(super) misses: u8,
    /// It was fast retransmitted, and is not eligible again (RFC 9260 §7.2.4 (5)).
    pub(super) fast_retransmitted: bool,
    /// A gap block acknowledged it before the peer reneged: a second acknowledgement is not new.
    pub(super) acked_before: bool,
    /// A duplicate of it was credited to the window.
    pub(super) duplicate_credited: bool,
}

/// Returns the bytes of a chunk that are not user data.
#[inline]
pub(super) const fn overhead(interleaved: bool) -> usize {
    if interleaved { IData::OVERHEAD } else { Data::OVERHEAD }
}

/// Returns the bytes of a chunk with `len` user bytes, header and padding included (RFC 9260 §7.2).
#[inline]
pub(super) const fn wire_len(len: usize, interleaved: bool) -> u64 {
    (overhead(interleaved) + len).next_multiple_of(4) as u64
}

impl Chunk {
    /// Returns its user bytes.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.data.len() as u64
    }

    /// Returns its bytes as congestion control counts them.
    #[inline]
    pub(super) fn wire_len(&self) -> u64 {
        wire_len(self.data.len(), self.interleaved)
    }

    /// Writes it into a packet.
    #[inline]
    pub(super) fn push(&self, tsn: LongTsn, builder: &mut PacketBuilder<'_>) -> Result<(), Full> {
        let (stream, ppid) = (StreamId::new(self.stream), Ppid::new(self.ppid));
        if self.interleaved {
            return self.push_interleaved(tsn, builder);
        }
        builder.push(&Data {
            tsn: tsn.tsn(),
            stream,
            // RFC 9260 §6.6: an unordered message has no stream sequence number.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# when the Stream Sequence Number reaches the value 65535, the next Stream Sequence Number MUST
            //# be set to 0.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# the same Stream Sequence Number MUST be carried in each of the fragments of the message.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# This field MUST be sent even in fragmented DATA chunks
            ssn: Ssn::new(if self.flags.unordered { 0 } else { self.mid as u16 }),
            ppid,
            flags: self.flags,
            payload: &self.data,
        })
    }

    #[inline(never)]
    fn push_interleaved(&self, tsn: LongTsn, builder: &mut PacketBuilder<'_>) -> Result<(), Full> {
        let DataFlags { unordered, begin, end, immediate } = self.flags;
        let first = Fragment::First(Ppid::new(self.ppid));
        builder.push(&IData {
            tsn: tsn.tsn(),
            stream: StreamId::new(self.stream),
            mid: Mid::new(self.mid),
            fragment: if begin { first } else { Fragment::Later(self.fsn) },
            unordered,
            end,
            immediate,
            payload: &self.data,
        })
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

    #[cfg(test)]
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
