//! A bounded queue of control chunks with their destinations: replies, errors, aborts. Independent of their
//! meaning.

use core::net::IpAddr;
use std::collections::VecDeque;

use msctp_wire::{EncodeChunk, UnknownChunk};
use smallvec::SmallVec;

use crate::addr::PathAddr;

/// Maximum length of the queue of replies. The caller drains it after each input, so that only a packet with
/// many HEARTBEATs fills it.
const MAX_WAITING: usize = 64;

/// A queued chunk.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: PathAddr,
    /// Verification tag of the packet.
    pub(super) tag: u32,
    /// True if the chunk must not be bundled with others.
    pub(super) alone: bool,
    /// True if the DTLS chunk must not protect it, because it answers a packet that anyone may have sent.
    pub(super) clear: bool,
    /// UDP port of the destination, if it is not the one in use.
    pub(super) udp_port: Option<u16>,
    /// The chunk: header and value without padding.
    bytes: SmallVec<[u8; 64]>,
}

impl Waiting {
    /// Returns the chunk.
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
    /// Queues a chunk to be bundled with others for the same destination. Drops it if the queue is full.
    pub(super) fn push(&mut self, at: PathAddr, tag: u32, chunk: &impl EncodeChunk) {
        self.add(at, tag, (false, false), None, chunk);
    }

    /// Queues a chunk that is sent without others. Drops it if the queue is full.
    pub(super) fn push_alone(&mut self, at: PathAddr, tag: u32, chunk: &impl EncodeChunk) {
        self.add(at, tag, (true, false), None, chunk);
    }

    /// Queues a chunk like [`push_alone`](Self::push_alone), for a packet in clear.
    pub(super) fn push_clear(&mut self, at: PathAddr, tag: u32, chunk: &impl EncodeChunk) {
        self.add(at, tag, (true, true), None, chunk);
    }

    /// Queues a chunk like [`push`](Self::push), for this UDP port of the destination.
    pub(super) fn push_to_port(&mut self, at: PathAddr, tag: u32, udp_port: u16, chunk: &impl EncodeChunk) {
        self.add(at, tag, (false, false), Some(udp_port), chunk);
    }

    fn add(
        &mut self,
        at: PathAddr,
        tag: u32,
        (alone, clear): (bool, bool),
        udp_port: Option<u16>,
        chunk: &impl EncodeChunk,
    ) {
        if self.waiting.len() >= MAX_WAITING {
            return;
        }
        self.scratch.clear();
        chunk.encode(&mut self.scratch);
        let bytes = SmallVec::from_slice(&self.scratch);
        self.waiting.push_back(Waiting { at, tag, alone, clear, udp_port, bytes });
    }

    /// Returns the next chunk.
    #[inline]
    pub(super) fn front(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    pub(super) fn pop(&mut self) {
        self.waiting.pop_front();
        if self.waiting.is_empty() {
            // Replies are rare, and associations may be many: frees the buffer
            *self = Self::default();
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Drops chunks queued for a deleted address of the peer.
    pub(super) fn forget(&mut self, remote: &IpAddr) {
        self.waiting.retain(|waiting| waiting.at.remote != *remote);
    }

    /// Drops all chunks.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
