//! Control chunks that wait to be sent to a certain place: replies, errors, aborts. Bounded; knows nothing of
//! their sense.

use core::net::IpAddr;
use std::collections::VecDeque;

use msctp_wire::{EncodeChunk, UnknownChunk};
use smallvec::SmallVec;

use crate::PathAddr;

/// Replies that may wait at a time. The caller drains after each input, so that more only ever wait when one
/// packet holds many HEARTBEATs; what a peer gains by sending more than this is nothing.
const MAX_WAITING: usize = 64;

/// One chunk on its way out.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: PathAddr,
    /// Verification tag of the packet.
    pub(super) tag: u32,
    /// Not to be bundled with anything else.
    pub(super) alone: bool,
    /// The chunk: header and value without padding.
    bytes: SmallVec<[u8; 64]>,
}

impl Waiting {
    /// The chunk.
    pub(super) fn chunk(&self) -> Option<UnknownChunk<'_>> {
        UnknownChunk::new(&self.bytes).ok()
    }
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct ControlQueue {
    waiting: VecDeque<Waiting>,
    scratch: Vec<u8>,
}

impl ControlQueue {
    /// To be bundled with others that go to the same place; dropped when too many wait.
    pub(super) fn push(&mut self, at: PathAddr, tag: u32, chunk: &impl EncodeChunk) {
        self.add(at, tag, false, chunk);
    }

    /// To be sent in a packet of its own; dropped when too many wait.
    pub(super) fn push_alone(&mut self, at: PathAddr, tag: u32, chunk: &impl EncodeChunk) {
        self.add(at, tag, true, chunk);
    }

    fn add(&mut self, at: PathAddr, tag: u32, alone: bool, chunk: &impl EncodeChunk) {
        if self.waiting.len() >= MAX_WAITING {
            return;
        }
        self.scratch.clear();
        chunk.encode(&mut self.scratch);
        self.waiting.push_back(Waiting { at, tag, alone, bytes: SmallVec::from_slice(&self.scratch) });
    }

    /// The one to be sent next.
    #[inline]
    pub(super) fn front(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    pub(super) fn pop(&mut self) {
        self.waiting.pop_front();
        if self.waiting.is_empty() {
            // Replies are rare, associations may be many: no room is kept for them.
            *self = Self::default();
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets what waits for an address of the peer that was deleted.
    pub(super) fn forget(&mut self, remote: &IpAddr) {
        self.waiting.retain(|waiting| waiting.at.remote != *remote);
    }

    /// Forgets everything that waits.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
