//! Weighted fair queueing (RFC 8260 §3.6): ready streams share the capacity in proportion to their values.
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
    virtual_time: u64,
}

impl WeightedFair {
    /// Name of this scheduler.
    pub(crate) const NAME: &'static str = "weighted-fair";

    /// Applies `served` with this weight.
    pub(super) fn serve(&mut self, share: &mut Share, rank: Rank, bytes: u64, weight: u16) -> Rank {
        self.virtual_time = self.virtual_time.max(rank);
        share.finish = rank.saturating_add(bytes.saturating_mul(SCALE) / u64::from(weight.max(1)));
        share.finish
    }
}

impl Scheduler for WeightedFair {
    fn join(&mut self, share: &mut Share, _: u64) -> Rank {
        share.finish.max(self.virtual_time)
    }

    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, _: u64) -> Rank {
        self.serve(share, rank, bytes, share.value)
    }
}
