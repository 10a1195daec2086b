//! Strict priorities (RFC 8260 §3.4): the stream with the lowest value is served first.
//!
//! Value 0, the default, is the highest priority (§4.3.2). Streams of one priority take turns.

use super::{Rank, RoundRobin, Scheduler, Share};

/// Strict priorities.
#[derive(Debug, Default)]
pub(crate) struct Priority(RoundRobin);

/// Bits of a rank that count turns.
const TURN_BITS: u32 = 48;

impl Priority {
    fn rank(&mut self, share: &Share) -> Rank {
        u64::from(share.value) << TURN_BITS | self.0.last() & ((1 << TURN_BITS) - 1)
    }
}

impl Scheduler for Priority {
    fn join(&mut self, share: &mut Share, _: u64) -> Rank {
        self.rank(share)
    }

    fn served(&mut self, share: &mut Share, _: Rank, _: u64, _: u64) -> Rank {
        self.rank(share)
    }
}
