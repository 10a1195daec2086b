//! Weighted fair queueing (RFC 8260 §3.6): ready streams share the capacity in proportion to their values, or
//! equally (fair capacity, §3.5), whatever their message size.
//!
//! Start-time fair queueing (Goyal, Vin, Cheng 1996): a stream's rank is the virtual start time of its next
//! bytes, which end `bytes / weight` later. A stream that had nothing to send starts now, without credit for
//! its idle time.

use super::{Rank, Scheduler, Share};

/// Virtual time of one byte at weight 1; divides well by small weights.
const SCALE: u64 = 5040;

/// Weighted fair queueing. A stream's value is its weight; 0 (not set) counts as 1.
#[derive(Debug, Default)]
pub(crate) struct WeightedFair {
    /// Virtual start time of the bytes sent last.
    pub(super) virtual_time: u64,
    /// All weights are 1.
    pub(super) equal: bool,
}

impl Scheduler for WeightedFair {
    fn join(&mut self, share: &mut Share, _: u64) -> Rank {
        share.finish.max(self.virtual_time)
    }

    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, _: u64) -> Rank {
        let weight = if self.equal { 1 } else { share.value.max(1) };
        self.virtual_time = self.virtual_time.max(rank);
        share.finish = rank.saturating_add(bytes.saturating_mul(SCALE) / u64::from(weight));
        share.finish
    }
}
