//! Fair capacity (RFC 8260 §3.5): streams with data to send get equal numbers of bytes, whatever their
//! message size.

use super::{Rank, Scheduler, Share, WeightedFair};

/// Weighted fair queueing with equal weights; ignores a stream's value.
#[derive(Debug, Default)]
pub(crate) struct FairCapacity(WeightedFair);

impl FairCapacity {
    /// Name of this scheduler.
    pub(crate) const NAME: &'static str = "fair";
}

impl Scheduler for FairCapacity {
    fn join(&mut self, share: &mut Share, head: u64) -> Rank {
        self.0.join(share, head)
    }

    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, _: u64) -> Rank {
        self.0.serve(share, rank, bytes, 1)
    }
}
