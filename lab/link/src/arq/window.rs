//! [`Window`]: the numbered blocks from the oldest unacknowledged to the newest sent, with both ends' state
//! of each. It has no clock, no timers and no report format.
//!
//! Names are those of 3GPP TS 44.060 §9.1 (V(A), V(S), V(Q), V(R)); TS 36.322 §7.1 calls the same VT(A),
//! VT(S), VR(R) and VR(H). Numbers count from 0 and never wrap: the window is smaller than half any sequence
//! number space, so that the two ends of a real link never mistake one block for another either.

use std::collections::VecDeque;
use std::ops::Range;

use msctp_units::Time;

/// The sender's knowledge of a block: an element of V(B) in TS 44.060.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckState {
    /// No report covers the block since it was sent.
    Pending,
    /// The block is missing, and was not retransmitted since.
    Missing,
    /// The receiver has acknowledged the block.
    Acked,
}

/// A part of a block: number `index` of `of` equal parts, of which there are 1 to 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) index: u8,
    pub(crate) of: u8,
}

impl Part {
    /// A part that is the whole block.
    pub(crate) const WHOLE: Self = Self { index: 0, of: 1 };
}

/// A block, with the state of one model in `extra`.
#[derive(Clone, Debug)]
pub(crate) struct Block<X> {
    /// Octets of the block in the stream of packets.
    pub(crate) octets: Range<u64>,
    /// The sender's knowledge.
    pub(crate) ack_state: AckState,
    /// Time at which the block's last transmission reached, or would have reached, the receiver.
    pub(crate) sent: Time,
    /// Number of parts in the last transmission, and a bit mask of the received ones, the first in the lowest
    /// bit.
    parts: u8,
    parts_there: u128,
    /// Time at which the receiver had the whole block; [`Time::MAX`] before.
    pub(crate) received: Time,
    pub(crate) extra: X,
}

impl<X> Block<X> {
    pub(crate) fn new(octets: Range<u64>, extra: X) -> Self {
        Self {
            octets,
            ack_state: AckState::Pending,
            sent: Time::ZERO,
            parts: 1,
            parts_there: 0,
            received: Time::MAX,
            extra,
        }
    }

    /// Records that the block is sent in `parts`, the last of which arrives by `sent`.
    pub(crate) fn note_sent(&mut self, sent: Time, parts: u8) {
        self.ack_state = AckState::Pending;
        self.sent = sent;
        if self.parts != parts {
            (self.parts, self.parts_there) = (parts, 0);
        }
    }

    pub(crate) fn is_received(&self) -> bool {
        self.received != Time::MAX
    }
}

/// The blocks from V(A) to V(S).
#[derive(Debug)]
pub(crate) struct Window<X> {
    blocks: VecDeque<Block<X>>,
    /// Maximum number of blocks: WS.
    size: u64,
    /// V(A): the oldest block that is not yet acknowledged.
    va: u64,
    /// V(Q): the oldest block that the receiver lacks.
    vq: u64,
    /// V(R): one past the newest block that the receiver has.
    vr: u64,
    /// Number below which no block is [`AckState::Missing`].
    missing_from: u64,
    /// Block at which [`next_pending`](Self::next_pending) continues.
    pending_from: u64,
}

impl<X> Window<X> {
    pub(crate) fn new(size: u64) -> Self {
        let blocks = VecDeque::with_capacity(size as usize);
        Self { blocks, size, va: 0, vq: 0, vr: 0, missing_from: 0, pending_from: 0 }
    }

    pub(crate) fn va(&self) -> u64 {
        self.va
    }

    pub(crate) fn vq(&self) -> u64 {
        self.vq
    }

    pub(crate) fn vr(&self) -> u64 {
        self.vr
    }

    /// Returns V(S), the number of the next new block.
    pub(crate) fn vs(&self) -> u64 {
        self.va + self.blocks.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns whether V(S) = V(A) + WS, so that no new block may be sent.
    pub(crate) fn is_full(&self) -> bool {
        self.blocks.len() as u64 >= self.size
    }

    fn index(&self, number: u64) -> Option<usize> {
        Some(number.checked_sub(self.va)? as usize)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Block<X>> {
        self.blocks.get(self.index(number)?)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Block<X>> {
        let index = self.index(number)?;
        self.blocks.get_mut(index)
    }

    /// Adds a new block. Returns its number.
    pub(crate) fn push(&mut self, block: Block<X>) -> u64 {
        debug_assert!(!self.is_full(), "the window is full");
        let number = self.vs();
        self.blocks.push_back(block);
        number
    }

    /// Records that a part of the block arrived at `at`. Returns true if that completes the block. Parts of
    /// different transmissions combine if they were cut alike.
    pub(crate) fn part_arrives(&mut self, number: u64, part: Part, at: Time) -> bool {
        let Some(block) = self.get_mut(number).filter(|block| !block.is_received()) else { return false };
        if part != Part::WHOLE {
            if part.of != block.parts {
                return false;
            }
            block.parts_there |= 1 << part.index;
            if block.parts_there.count_ones() < part.of.into() {
                return false;
            }
        }
        self.receive(number, at);
        true
    }

    /// Records that the receiver has the block, or skips it.
    pub(crate) fn receive(&mut self, number: u64, at: Time) {
        let Some(block) = self.get_mut(number).filter(|block| !block.is_received()) else { return };
        block.received = at;
        self.vr = self.vr.max(number + 1);
        while self.get(self.vq).is_some_and(Block::is_received) {
            self.vq += 1;
        }
    }

    /// Returns the end of the octets before V(Q), or `None` before the first block.
    pub(crate) fn in_order_end(&self) -> Option<u64> {
        let last = self.index(self.vq)?.checked_sub(1)?;
        Some(self.blocks.get(last)?.octets.end)
    }

    /// Records that the sender knows that the block arrived.
    pub(crate) fn is_there(&mut self, number: u64) {
        if let Some(block) = self.get_mut(number) {
            debug_assert!(block.is_received(), "acknowledged without having been received");
            block.ack_state = AckState::Acked;
        }
    }

    /// Records that the sender knows that the block is missing. Returns false if it knew that already, or
    /// knew that the block arrived.
    pub(crate) fn is_missing(&mut self, number: u64) -> bool {
        let Some(block) = self.get_mut(number).filter(|block| block.ack_state == AckState::Pending) else {
            return false;
        };
        block.ack_state = AckState::Missing;
        self.missing_from = self.missing_from.min(number);
        true
    }

    /// Advances V(A) past the received blocks. Returns whether it moved.
    pub(crate) fn advance(&mut self) -> bool {
        let before = self.va;
        while self.blocks.front().is_some_and(|block| block.ack_state == AckState::Acked) {
            self.blocks.pop_front();
            self.va += 1;
        }
        self.va != before
    }

    /// Returns the oldest block known to be missing.
    pub(crate) fn next_missing(&mut self) -> Option<u64> {
        let mut number = self.missing_from.max(self.va);
        while self.get(number).is_some_and(|block| block.ack_state != AckState::Missing) {
            number += 1;
        }
        self.missing_from = number;
        (number < self.vs()).then_some(number)
    }

    /// Returns the next block without a report, in a cycle from the oldest to the newest.
    pub(crate) fn next_pending(&mut self) -> Option<u64> {
        let from = if self.pending_from < self.vs() { self.pending_from.max(self.va) } else { self.va };
        let pending =
            |number: &u64| self.get(*number).is_some_and(|block| block.ack_state == AckState::Pending);
        let found = (from..self.vs()).find(pending).or_else(|| (self.va..from).find(pending))?;
        self.pending_from = found + 1;
        Some(found)
    }

    /// Removes all blocks. Numbers continue.
    pub(crate) fn clear(&mut self) {
        let next = self.vs();
        self.blocks.clear();
        (self.va, self.vq, self.vr) = (next, next, next);
        (self.missing_from, self.pending_from) = (next, next);
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
