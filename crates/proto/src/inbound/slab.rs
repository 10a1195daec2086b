//! [`Slab`]: buffers for messages that can be read at once, many to a buffer. A buffer is reused after the
//! application has dropped its messages, so receiving allocates nothing while data is read.
//!
//! A message that is held for others would keep a whole buffer from reuse, as often as a peer likes, so it is
//! not copied here. A fragmented message is, while it is the only incomplete one.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Size of the first buffer, so that an association with little data stays small.
const FIRST: usize = 2048;
/// Maximum size of a buffer. Each buffer is twice as large as the previous one, up to this.
pub(super) const MOST: usize = 64 << 10;

/// Buffers for payload.
#[derive(Debug)]
pub(super) struct Slab {
    /// Free part of the newest buffer.
    room: BytesMut,
    /// Full buffers, oldest first, kept for reuse.
    full: VecDeque<BytesMut>,
    size: usize,
    /// Maximum bytes of `full`.
    keep: usize,
}

impl Slab {
    /// Creates a slab. `keep` is the number of bytes of full buffers kept for reuse, equal to the receive
    /// buffer.
    pub(super) fn new(keep: usize) -> Self {
        Self { room: BytesMut::new(), full: VecDeque::new(), size: 0, keep }
    }

    /// Copies `payload`.
    #[inline]
    pub(super) fn copy(&mut self, payload: &[u8]) -> Bytes {
        // The room after the part split off; the rest of the buffer is requested only when that is used up.
        if self.room.capacity() < payload.len() {
            self.make_room(payload.len());
        }
        self.room.extend_from_slice(payload);
        self.room.split().freeze()
    }

    /// Returns an empty buffer for `len` bytes, at most [`MOST`]. The caller must not grow it.
    pub(super) fn reserve(&mut self, len: usize) -> BytesMut {
        debug_assert!(len <= MOST, "one buffer holds no more");
        if self.room.capacity() < len {
            self.make_room(len);
        }
        let rest = self.room.split_off(len);
        core::mem::replace(&mut self.room, rest)
    }

    #[cold]
    fn make_room(&mut self, len: usize) {
        // Alone with it: nothing was queued to be read.
        if self.room.try_reclaim(len) {
            return;
        }
        let full_size = self.size;
        let reusable =
            full_size == MOST && self.full.front_mut().is_some_and(|oldest| oldest.try_reclaim(MOST));
        let next = if reusable { self.full.pop_front() } else { None };
        let next = next.unwrap_or_else(|| {
            self.size = (self.size * 2).clamp(FIRST, MOST);
            BytesMut::with_capacity(self.size.max(len))
        });
        let full = core::mem::replace(&mut self.room, next);
        // Small buffers, and more than a window's worth, are not kept.
        if full_size == MOST && (self.full.len() + 1) * MOST <= self.keep {
            self.full.push_back(full);
        }
    }

    /// Frees all buffers after a time without data.
    pub(super) fn rest(&mut self) {
        *self = Self::new(self.keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_once_nothing_of_them_is_held() {
        let mut slab = Slab::new(1 << 20);
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..2000u32 {
            let payload = [round as u8; 1200];
            let copy = slab.copy(&payload);
            assert_eq!(copy[..], payload);
            if round >= 200 {
                seen.insert(copy.as_ptr() as usize / MOST);
            }
        }
        assert!(seen.len() <= 2, "one buffer does: {seen:?}");
    }

    #[test]
    fn batches_that_are_read_at_once_go_round_the_same_buffers() {
        let mut slab = Slab::new(1 << 20);
        let mut batch = || (0..800).map(|_| slab.copy(&[5; 1200])).collect::<Vec<_>>();
        for _ in 0..4 {
            batch();
        }
        let places = |batch: &[Bytes]| {
            batch.iter().map(|b| b.as_ptr() as usize).collect::<std::collections::BTreeSet<_>>()
        };
        let known: std::collections::BTreeSet<_> = (0..4).flat_map(|_| places(&batch())).collect();
        for _ in 0..50 {
            assert!(places(&batch()).is_subset(&known));
        }
    }

    #[test]
    fn reserved_buffers_go_round_as_copies_do() {
        let mut slab = Slab::new(1 << 20);
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..400u32 {
            let mut buffer = slab.reserve(16_000);
            assert_eq!((buffer.len(), buffer.capacity()), (0, 16_000));
            buffer.extend_from_slice(&[round as u8; 15_999]);
            let beside = slab.copy(&[7; 100]);
            assert_eq!(buffer.freeze()[..], [round as u8; 15_999]);
            assert_eq!(beside[..], [7; 100]);
            if round >= 100 {
                seen.insert(beside.as_ptr() as usize / MOST);
            }
        }
        assert!(seen.len() <= 4, "two buffers do: {seen:?}");
    }

    #[test]
    fn held_messages_are_never_overwritten_and_kept_buffers_are_bounded() {
        let mut slab = Slab::new(256 << 10);
        let held: Vec<Bytes> = (0..1000u32).map(|n| slab.copy(&n.to_be_bytes().repeat(300))).collect();
        for (n, bytes) in (0..1000u32).zip(&held) {
            assert_eq!(bytes[..], n.to_be_bytes().repeat(300));
        }
        assert!(slab.full.len() * MOST <= 256 << 10);
        drop(held);
        assert_eq!(slab.copy(&[3; 70_000])[..], [3; 70_000], "larger than any buffer");
        slab.rest();
        assert_eq!((slab.full.len(), slab.room.capacity()), (0, 0));
    }
}
