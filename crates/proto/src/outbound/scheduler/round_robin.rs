//! Round robin (RFC 8260 §3.2, §3.3): streams take turns, one message each, one chunk each with interleaving,
//! or one packet each. In the last case a lost packet blocks one stream only.

use super::{Rank, Scheduler, Share};

/// Round robin.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    pub(super) turns: u64,
    /// A turn is a packet.
    pub(super) by_packet: bool,
}

impl RoundRobin {
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

    fn one_stream_per_packet(&self) -> bool {
        self.by_packet
    }
}
