//! [`Reassembly`]: fragments of incomplete messages (RFC 9260 §6.9, RFC 8260 §2.2.3).
//!
//! Independent of stream order. Each fragment has a place: the TSN for DATA chunks, whose messages are
//! consecutive TSNs, and the fragment sequence number within the message for I-DATA chunks. Fragments without
//! a hole between them form one run.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};

use super::fault::DataFault;
use super::ordering::Arrived;
use super::piece::Piece;
use super::slab::{self, Slab};
use super::tsn_map::TsnMap;
use crate::long_tsn::LongTsn;
use crate::message::Message;
use crate::rare::rare_state;

/// Key of a message: stream, unordered, message identifier. All DATA chunks share one key, because TSNs
/// separate their messages.
type Key = (u16, bool, u32);

const DATA: Key = (0, false, 0);

/// Bytes of memory of an entry of `given_up`, with its share of the map's nodes.
pub(super) const GIVEN_UP: u64 = 24;

/// Fragments of one message at consecutive places.
#[derive(Debug)]
struct Run {
    /// Place of the last fragment.
    last: u64,
    /// Highest TSN of the fragments.
    highest: LongTsn,
    /// True if the first fragment is the message's first (B).
    begins: bool,
    /// True if the last fragment is the message's last (E).
    ends: bool,
    unordered: bool,
    stream: u16,
    number: u32,
    ppid: u32,
    chunks: u32,
    /// Fragments in order. A fragment that arrives in order is appended to the last piece, so that such a
    /// message is copied once.
    pieces: VecDeque<BytesMut>,
    /// True if the last piece is part of a shared buffer, so that it must not grow.
    in_slab: bool,
}

impl Run {
    /// Begins a run with one piece. In-order fragments are appended to `buffer` as long as it has room.
    fn new(tsn: LongTsn, place: u64, piece: &Piece<'_>, buffer: Option<BytesMut>) -> Self {
        let in_slab = buffer.is_some();
        let first = buffer.map_or_else(
            || BytesMut::from(piece.payload),
            |mut buffer| {
                buffer.extend_from_slice(piece.payload);
                buffer
            },
        );
        Self {
            in_slab,
            last: place,
            highest: tsn,
            begins: piece.begin,
            ends: piece.end,
            unordered: piece.unordered,
            stream: piece.stream,
            number: piece.number,
            ppid: piece.ppid,
            chunks: 1,
            pieces: VecDeque::from([first]),
        }
    }

    /// Returns whether the piece can belong to the run's message. All fragments of a message carry the same
    /// stream, U flag and Stream Sequence Number (which has no meaning with U set, §6.6).
    fn same_message(&self, piece: &Piece<'_>) -> bool {
        self.stream == piece.stream
            && self.unordered == piece.unordered
            && (self.unordered || self.number == piece.number)
    }

    fn append(&mut self, tsn: LongTsn, piece: &Piece<'_>) {
        self.last += 1;
        self.highest = self.highest.max(tsn);
        self.ends = piece.end;
        self.chunks += 1;
        match self.pieces.back_mut() {
            Some(last) if !self.in_slab || last.capacity() - last.len() >= piece.payload.len() => {
                last.extend_from_slice(piece.payload);
            }
            _ => {
                self.in_slab = false;
                self.pieces.push_back(BytesMut::from(piece.payload));
            }
        }
    }

    fn prepend(&mut self, tsn: LongTsn, piece: &Piece<'_>) {
        self.begins = piece.begin;
        self.highest = self.highest.max(tsn);
        self.ppid = piece.ppid;
        self.chunks += 1;
        self.pieces.push_front(BytesMut::from(piece.payload));
    }

    /// Joins the run that follows. Moves the pieces of the shorter one, so that joining many runs stays
    /// cheap.
    fn join(&mut self, mut next: Self) {
        self.last = next.last;
        self.highest = self.highest.max(next.highest);
        self.ends = next.ends;
        self.chunks += next.chunks;
        self.in_slab = next.in_slab;
        if self.pieces.len() >= next.pieces.len() {
            self.pieces.append(&mut next.pieces);
        } else {
            for piece in self.pieces.drain(..).rev() {
                next.pieces.push_front(piece);
            }
            self.pieces = next.pieces;
        }
    }

    fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Returns the run's content as a message or a part of one.
    fn into_arrived(mut self, begin: bool, ppid: u32) -> Arrived {
        let data = if self.pieces.len() == 1 {
            self.pieces.pop_front().map_or_else(Bytes::new, BytesMut::freeze)
        } else {
            let mut whole = BytesMut::with_capacity(self.len());
            self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            whole.freeze()
        };
        let Self { stream, number, unordered, chunks, ends: end, .. } = self;
        let message = Message { stream, ssn: number as u16, ppid, unordered, begin, end, data };
        Arrived { message, number, chunks }
    }
}

/// A message whose first parts were delivered already (RFC 9260 §11.1.7, partial delivery).
#[derive(Debug)]
struct Opened {
    /// Place of the next fragment.
    next: u64,
    unordered: bool,
    stream: u16,
    number: u32,
    ppid: u32,
}

/// The effect of a fragment on its message.
#[derive(Debug)]
pub(super) enum Assembled {
    /// The fragment completed the message, whose highest TSN is given.
    Whole(LongTsn, Arrived),
    /// The fragment continues a message whose first parts were delivered.
    Part(Arrived),
}

/// A message that is partly delivered and will not be completed (RFC 3758 §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialAbort {
    /// Stream of the message.
    pub stream: u16,
    /// Stream sequence number; with interleaving the low 16 bits of its message identifier.
    pub ssn: u16,
    /// True if the message was sent without regard to the order of the stream.
    pub unordered: bool,
}

/// A discarded message.
#[derive(Debug, Default)]
pub(super) struct Discarded {
    pub(super) bytes: usize,
    pub(super) chunks: u32,
    /// Partly delivered messages that were discarded.
    pub(super) aborts: Vec<PartialAbort>,
}

impl Discarded {
    fn add(&mut self, run: &Run) {
        self.bytes += run.len();
        self.chunks += run.chunks;
    }

    fn abort(&mut self, opened: &Opened) {
        let Opened { stream, number, unordered, .. } = *opened;
        self.aborts.push(PartialAbort { stream, ssn: number as u16, unordered });
    }
}

rare_state! {
    /// Incomplete messages, by message and place of the first fragment held.
    pub(super) struct Reassembly {
        runs: BTreeMap<(Key, u64), Run> = BTreeMap::new(),
        opened: BTreeMap<Key, Opened> = BTreeMap::new(),
        interleaving: bool = false,
        /// The last abandoned interleaved message of each stream and order, of which a late fragment may
        /// still arrive.
        given_up: BTreeMap<(u16, bool), u32> = BTreeMap::new(),
        /// TSN up to which the peer abandoned everything missing (RFC 3758 §3.6).
        skipped_to: Option<LongTsn> = None,
        /// User bytes of the latest complete message, reserved for the next one. The reservation thereby
        /// never exceeds what the peer has just sent.
        usual: usize = 0,
    }
}

impl Reassembly {
    /// Sets whether I-DATA chunks are received instead of DATA chunks.
    pub(super) fn set_interleaving(&mut self, interleaving: bool) {
        self.interleaving = interleaving;
    }

    /// Returns whether no message is incomplete, so that a DATA chunk with B and E needs no
    /// [`check`](Self::check).
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.opened.is_empty()
    }

    /// Recounts user bytes and chunks held.
    #[cfg(test)]
    pub(super) fn held(&self) -> (u64, u64) {
        self.runs
            .values()
            .fold((0, 0), |(bytes, chunks), run| (bytes + run.len() as u64, chunks + u64::from(run.chunks)))
    }

    /// Returns the place of a chunk.
    fn spot(&self, tsn: LongTsn, piece: &Piece<'_>) -> (Key, u64) {
        if !self.interleaving {
            return (DATA, tsn.get());
        }
        let key = (piece.stream, piece.unordered, piece.number);
        // RFC 8260 §2.1: it may wrap, which only a message can that is delivered in parts
        let next = self.opened.get(&key).map_or(0, |opened| opened.next);
        let ahead = piece.fsn.wrapping_sub(next as u32) as i32;
        (key, next.saturating_add_signed(i64::from(ahead)))
    }

    /// Returns the start of the run that ends just before this place.
    fn before(&self, key: Key, place: u64) -> Option<u64> {
        let (&(_, first), run) = self.runs.range((key, 0)..(key, place)).next_back()?;
        (run.last + 1 == place).then_some(first)
    }

    /// Checks that a chunk with these flags may have this TSN.
    pub(super) fn check(&self, tsn: LongTsn, piece: &Piece<'_>, received: &TsnMap) -> Result<(), DataFault> {
        let (key, place) = self.spot(tsn, piece);
        if let Some(opened) = self.opened.get(&key)
            && (self.interleaving || opened.next == place)
        {
            let same = (opened.stream, opened.unordered) == (piece.stream, piece.unordered)
                && (opened.unordered || opened.number == piece.number);
            match () {
                () if piece.begin => return Err(DataFault::BeginInsideMessage),
                () if !same => return Err(DataFault::FragmentsDiffer),
                () if place < opened.next => return Err(DataFault::FragmentRepeated),
                () => {}
            }
            return if self.interleaving {
                self.check_interleaved(key, place, piece)
            } else {
                self.check_after(place, piece, received, tsn)
            };
        }
        if self.interleaving {
            return self.check_interleaved(key, place, piece);
        }
        let skipped = self.skipped_to.is_some_and(|to| tsn - 1 <= to);
        match self.before(key, place).map(|first| &self.runs[&(key, first)]) {
            // The rest of an abandoned message ends where the next one begins.
            Some(run) if piece.begin && !run.ends && !skipped => return Err(DataFault::BeginInsideMessage),
            Some(run) if !piece.begin && run.ends => return Err(DataFault::NoBegin),
            Some(run) if !piece.begin && !run.same_message(piece) => return Err(DataFault::FragmentsDiffer),
            // Received and not incomplete: it ended a message, or was abandoned.
            None if !piece.begin && !skipped && received.contains(tsn - 1) => {
                return Err(DataFault::NoBegin);
            }
            _ => {}
        }
        self.check_after(place, piece, received, tsn)
    }

    /// Checks that a DATA chunk may precede its neighbour (RFC 9260 §3.3.1 table of B and E, §6.9). A
    /// message's fragments have consecutive TSNs, so that a chunk before a B or after an E belongs to another
    /// message.
    fn check_after(
        &self,
        place: u64,
        piece: &Piece<'_>,
        received: &TsnMap,
        tsn: LongTsn,
    ) -> Result<(), DataFault> {
        match self.runs.get(&(DATA, place + 1)) {
            Some(run) if piece.end && !run.begins => Err(DataFault::NoBegin),
            Some(run) if !piece.end && run.begins => Err(DataFault::BeginInsideMessage),
            Some(run) if !piece.end && !run.same_message(piece) => Err(DataFault::FragmentsDiffer),
            None if !piece.end && received.contains(tsn + 1) => Err(DataFault::BeginInsideMessage),
            _ => Ok(()),
        }
    }

    /// Checks that fragments are numbered consecutively from 0 (B) to the last one (E).
    fn check_interleaved(&self, key: Key, place: u64, piece: &Piece<'_>) -> Result<(), DataFault> {
        let is_open = self.opened.contains_key(&key);
        if !is_open && (piece.begin != (place == 0) || piece.fsn > i32::MAX as u32) {
            return Err(DataFault::NoBegin);
        }
        if let Some((_, run)) = self.runs.range((key, 0)..=(key, place)).next_back()
            && (run.last >= place || run.ends)
        {
            return Err(DataFault::FragmentRepeated);
        }
        let follows = self.runs.range((key, place)..=(key, u64::MAX)).next().is_some();
        if piece.end && follows { Err(DataFault::FragmentRepeated) } else { Ok(()) }
    }

    /// Discards the rest of an abandoned message just before a message that begins here.
    pub(super) fn discard_rest(&mut self, tsn: LongTsn, piece: &Piece<'_>) -> Discarded {
        let mut discarded = Discarded::default();
        if piece.begin
            && !self.interleaving
            && self.skipped_to.is_some_and(|to| tsn - 1 <= to)
            && let Some(first) = self.before(DATA, tsn.get())
            && let Some(run) = self.runs.remove(&(DATA, first))
        {
            discarded.add(&run);
        }
        discarded
    }

    /// Stores a checked fragment. Returns the data that can be delivered after it.
    pub(super) fn insert(&mut self, tsn: LongTsn, piece: &Piece<'_>, slab: &mut Slab) -> Option<Assembled> {
        let (key, place) = self.spot(tsn, piece);
        let before = self.before(key, place).filter(|_| !piece.begin);
        let after = if piece.end { None } else { self.runs.remove(&(key, place + 1)) };
        let (first, run) = match (before, after) {
            (Some(first), after) => {
                let run = self.runs.get_mut(&(key, first))?;
                run.append(tsn, piece);
                if let Some(after) = after {
                    run.join(after);
                }
                (first, run)
            }
            (None, Some(mut after)) => {
                after.prepend(tsn, piece);
                (place, self.runs.entry((key, place)).or_insert(after))
            }
            (None, None) => {
                let reserves = piece.begin
                    && self.runs.is_empty()
                    && (piece.payload.len()..=slab::MOST).contains(&self.usual);
                let buffer = reserves.then(|| slab.reserve(self.usual));
                let run = || Run::new(tsn, place, piece, buffer);
                (place, self.runs.entry((key, place)).or_insert_with(run))
            }
        };
        if run.begins && run.ends {
            let run = self.runs.remove(&(key, first))?;
            let ppid = run.ppid;
            self.usual = run.len();
            return Some(Assembled::Whole(run.highest, run.into_arrived(true, ppid)));
        }
        let opened = self.opened.get_mut(&key).filter(|opened| opened.next == first)?;
        let run = self.runs.remove(&(key, first))?;
        opened.next = run.last + 1;
        let ppid = opened.ppid;
        if run.ends {
            self.opened.remove(&key);
        }
        Some(Assembled::Part(run.into_arrived(false, ppid)))
    }

    /// Begins to deliver the message of the chunk just stored in parts, if its beginning has arrived. A
    /// stream has one such message at a time (RFC 8260 §2).
    pub(super) fn open(&mut self, tsn: LongTsn, piece: &Piece<'_>) -> Result<Option<Arrived>, DataFault> {
        let (key, place) = self.spot(tsn, piece);
        let Some((&spot, run)) = self.runs.range((key, 0)..=(key, place)).next_back() else {
            return Ok(None);
        };
        if !run.begins || run.last < place {
            return Ok(None);
        }
        let of_stream = (key.0, false, 0)..=(key.0, true, u32::MAX);
        if self.interleaving && self.opened.range(of_stream).next().is_some() {
            return Err(DataFault::Unfinished);
        }
        let Some(run) = self.runs.remove(&spot) else { return Ok(None) };
        let (next, ppid) = (run.last + 1, run.ppid);
        let Run { unordered, stream, number, .. } = run;
        self.opened.insert(key, Opened { next, unordered, stream, number, ppid });
        Ok(Some(run.into_arrived(true, ppid)))
    }

    /// Discards the message of the chunk just stored if it can never be complete, because everything up to it
    /// has arrived.
    pub(super) fn drop_message(&mut self, tsn: LongTsn, piece: &Piece<'_>) -> Discarded {
        if !self.interleaving {
            return self.forward(tsn);
        }
        let (key, _) = self.spot(tsn, piece);
        let mut discarded = Discarded::default();
        while let Some((&spot, _)) = self.runs.range((key, 0)..=(key, u64::MAX)).next() {
            if let Some(run) = self.runs.remove(&spot) {
                discarded.add(&run);
            }
        }
        discarded
    }

    /// Handles a Cumulative TSN that moved over abandoned chunks. Discards DATA messages that miss a chunk up
    /// to it (RFC 3758 §3.6). The cost is linear in the data removed.
    pub(super) fn forward(&mut self, new_cum_tsn: LongTsn) -> Discarded {
        let mut discarded = Discarded::default();
        self.skipped_to = Some(new_cum_tsn);
        if self.interleaving {
            return discarded;
        }
        let limit = new_cum_tsn.get();
        while let Some((&spot, run)) = self.runs.range(..=(DATA, limit)).next() {
            // Only the last run can continue above the limit, and only with its first fragment can it become
            // complete.
            if run.begins && run.last >= limit {
                break;
            }
            if let Some(run) = self.runs.remove(&spot) {
                discarded.add(&run);
            }
        }
        if let Some(opened) = self.opened.get(&DATA).filter(|opened| opened.next <= limit) {
            discarded.abort(opened);
            self.opened.remove(&DATA);
        }
        discarded
    }

    /// Discards messages of the stream up to this one after an I-FORWARD-TSN (RFC 8260 §2.3.1). The cost is
    /// linear in the data removed.
    pub(super) fn skip(&mut self, stream: u16, unordered: bool, mid: u32) -> Discarded {
        let mut discarded = Discarded::default();
        self.given_up.insert((stream, unordered), mid);
        // RFC 1982: the half of the numbers that ends here, in one piece or around the wrap.
        let lowest = mid.wrapping_sub(i32::MAX as u32);
        let halves = if lowest <= mid { [(lowest, mid), (1, 0)] } else { [(lowest, u32::MAX), (0, mid)] };
        for (from, to) in halves.into_iter().filter(|(from, to)| from <= to) {
            self.discard((stream, unordered, from), (stream, unordered, to), &mut discarded);
        }
        discarded
    }

    /// Discards the messages between these two, both included.
    fn discard(&mut self, from: Key, to: Key, discarded: &mut Discarded) {
        while let Some((&spot, _)) = self.runs.range((from, 0)..=(to, u64::MAX)).next() {
            if let Some(run) = self.runs.remove(&spot) {
                discarded.add(&run);
            }
        }
        while let Some((&key, opened)) = self.opened.range(from..=to).next() {
            discarded.abort(opened);
            self.opened.remove(&key);
        }
    }

    /// Returns whether this is a late fragment of an abandoned message. Only the last abandoned message
    /// counts: a stream has one message at a time (RFC 8260 §2.2.2).
    pub(super) fn is_given_up(&self, piece: &Piece<'_>) -> bool {
        self.given_up.get(&(piece.stream, piece.unordered)) == Some(&piece.number)
    }

    /// Returns the bytes of memory that abandoned messages take.
    pub(super) fn memory(&self) -> u64 {
        self.given_up.len() as u64 * GIVEN_UP
    }

    /// Returns the streams with incomplete or abandoned interleaved messages, each once.
    pub(super) fn unfinished(&self) -> Vec<u16> {
        if !self.interleaving {
            return Vec::new();
        }
        let mut streams: Vec<u16> = self
            .runs
            .keys()
            .map(|((stream, ..), _)| *stream)
            .chain(self.opened.keys().map(|key| key.0))
            .chain(self.given_up.keys().map(|key| key.0))
            .collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// Discards incomplete messages of a stream that was reset (RFC 6525 §5.2.2). By then, DATA messages are
    /// complete, or their TSNs show that the peer violates the protocol.
    pub(super) fn forget(&mut self, stream: u16) -> Discarded {
        let mut discarded = Discarded::default();
        if !self.interleaving {
            return discarded;
        }
        self.given_up.remove(&(stream, false));
        self.given_up.remove(&(stream, true));
        self.discard((stream, false, 0), (stream, true, u32::MAX), &mut discarded);
        discarded
    }
}
