//! Round robin (RFC 8260 §3.2): streams take turns, one message each, or one chunk each with interleaving.

use super::{Rank, Scheduler, Share};

/// Round robin.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    turns: u64,
}

impl RoundRobin {
    /// Name of this scheduler.
    pub(crate) const NAME: &'static str = "round-robin";

    /// Returns the highest rank so far plus 1.
    pub(super) fn last(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Scheduler for RoundRobin {
    fn join(&mut self, _: &mut Share, _: u64) -> Rank {
        self.last()
    }

    fn served(&mut self, _: &mut Share, _: Rank, _: u64, _: u64) -> Rank {
        self.last()
    }
}
