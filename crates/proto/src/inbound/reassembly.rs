//! [`Reassembly`]: fragments of messages that are not complete yet (RFC 9260 §6.9). Knows nothing of stream order.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use msctp_wire::{Data, DataFlags};

use super::fault::DataFault;
use super::ordering::Arrived;
use super::tsn_map::TsnMap;
use crate::Message;
use crate::long_tsn::LongTsn;

/// Fragments of one message with consecutive TSNs.
#[derive(Debug)]
struct Run {
    last: LongTsn,
    /// Its first fragment is the message's first (B).
    begins: bool,
    /// Its last fragment is the message's last (E).
    ends: bool,
    unordered: bool,
    stream: u16,
    ssn: u16,
    ppid: u32,
    chunks: u32,
    /// In order. What arrives in order is appended to the last piece, so that such a message is copied once.
    pieces: VecDeque<BytesMut>,
}

impl Run {
    fn new(tsn: LongTsn, data: &Data<'_>) -> Self {
        Self {
            last: tsn,
            begins: data.flags.begin,
            ends: data.flags.end,
            unordered: data.flags.unordered,
            stream: data.stream.get(),
            ssn: data.ssn.get(),
            ppid: data.ppid.get(),
            chunks: 1,
            pieces: VecDeque::from([BytesMut::from(data.payload)]),
        }
    }

    /// RFC 9260 §3.3.1: all fragments of a message carry the same stream, U flag and Stream Sequence Number (which has no
    /// meaning with U set, §6.6).
    fn same_message(&self, stream: u16, ssn: u16, flags: DataFlags) -> bool {
        self.stream == stream && self.unordered == flags.unordered && (self.unordered || self.ssn == ssn)
    }

    fn append(&mut self, tsn: LongTsn, data: &Data<'_>) {
        self.last = tsn;
        self.ends = data.flags.end;
        self.chunks += 1;
        match self.pieces.back_mut() {
            Some(piece) => piece.extend_from_slice(data.payload),
            None => self.pieces.push_back(BytesMut::from(data.payload)),
        }
    }

    fn prepend(&mut self, data: &Data<'_>) {
        self.begins = data.flags.begin;
        self.ppid = data.ppid.get();
        self.chunks += 1;
        self.pieces.push_front(BytesMut::from(data.payload));
    }

    /// Joins the run that follows. Moves the pieces of the shorter one, so that joining many stays cheap.
    fn join(&mut self, mut next: Self) {
        self.last = next.last;
        self.ends = next.ends;
        self.chunks += next.chunks;
        if self.pieces.len() >= next.pieces.len() {
            self.pieces.append(&mut next.pieces);
        } else {
            for piece in self.pieces.drain(..).rev() {
                next.pieces.push_front(piece);
            }
            self.pieces = next.pieces;
        }
    }

    fn into_message(mut self) -> Arrived {
        let data = if self.pieces.len() == 1 {
            self.pieces.pop_front().map_or_else(Bytes::new, BytesMut::freeze)
        } else {
            let mut whole = BytesMut::with_capacity(self.pieces.iter().map(|piece| piece.len()).sum());
            self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            whole.freeze()
        };
        let Self { stream, ssn, ppid, unordered, chunks, .. } = self;
        Arrived { message: Message { stream, ssn, ppid, unordered, data }, chunks }
    }
}

/// Incomplete messages by the TSN of their first fragment held.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    runs: BTreeMap<LongTsn, Run>,
}

impl Reassembly {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Nothing is incomplete: a chunk with B and E needs no [`check`](Self::check).
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// User bytes and chunks held, counted anew.
    #[cfg(test)]
    pub(super) fn held(&self) -> (u64, u64) {
        self.runs.values().fold((0, 0), |(bytes, chunks), run| {
            let len: usize = run.pieces.iter().map(|piece| piece.len()).sum();
            (bytes + len as u64, chunks + u64::from(run.chunks))
        })
    }

    /// The first TSN of the run that ends just before `tsn`.
    fn before(&self, tsn: LongTsn) -> Option<LongTsn> {
        let (&first, run) = self.runs.range(..tsn).next_back()?;
        (run.last + 1 == tsn).then_some(first)
    }

    /// Whether a chunk with these flags may stand between its neighbours (RFC 9260 §3.3.1 table of B and E, §6.9): a
    /// message's fragments have consecutive TSNs, so what precedes a B, or follows an E, is another message.
    pub(super) fn check(&self, tsn: LongTsn, data: &Data<'_>, received: &TsnMap) -> Result<(), DataFault> {
        let same = |run: &Run| run.same_message(data.stream.get(), data.ssn.get(), data.flags);
        match self.before(tsn).map(|first| &self.runs[&first]) {
            Some(run) if data.flags.begin && !run.ends => return Err(DataFault::BeginInsideMessage),
            Some(run) if !data.flags.begin && run.ends => return Err(DataFault::NoBegin),
            Some(run) if !data.flags.begin && !same(run) => return Err(DataFault::FragmentsDiffer),
            // Received and not incomplete: it ended a message.
            None if !data.flags.begin && received.contains(tsn - 1) => return Err(DataFault::NoBegin),
            _ => {}
        }
        match self.runs.get(&(tsn + 1)) {
            Some(run) if data.flags.end && !run.begins => Err(DataFault::NoBegin),
            Some(run) if !data.flags.end && run.begins => Err(DataFault::BeginInsideMessage),
            Some(run) if !data.flags.end && !same(run) => Err(DataFault::FragmentsDiffer),
            None if !data.flags.end && received.contains(tsn + 1) => Err(DataFault::BeginInsideMessage),
            _ => Ok(()),
        }
    }

    /// Keeps a checked fragment; gives the message it completes and the TSN of its last fragment.
    pub(super) fn insert(&mut self, tsn: LongTsn, data: &Data<'_>) -> Option<(LongTsn, Arrived)> {
        let before = self.before(tsn).filter(|_| !data.flags.begin);
        let after = if data.flags.end { None } else { self.runs.remove(&(tsn + 1)) };
        let (first, run) = match (before, after) {
            (Some(first), after) => {
                let run = self.runs.get_mut(&first)?;
                run.append(tsn, data);
                if let Some(after) = after {
                    run.join(after);
                }
                (first, run)
            }
            (None, Some(mut after)) => {
                after.prepend(data);
                (tsn, self.runs.entry(tsn).or_insert(after))
            }
            (None, None) => (tsn, self.runs.entry(tsn).or_insert_with(|| Run::new(tsn, data))),
        };
        if !(run.begins && run.ends) {
            return None;
        }
        let run = self.runs.remove(&first)?;
        Some((run.last, run.into_message()))
    }
}
