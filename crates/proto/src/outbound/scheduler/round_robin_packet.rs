//! Round robin per packet (RFC 8260 §3.3): streams take turns, one packet each. A lost packet blocks one
//! stream only.

use super::{Rank, RoundRobin, Scheduler, Share};

/// Round robin per packet.
#[derive(Debug, Default)]
pub(crate) struct RoundRobinPacket(RoundRobin);

impl RoundRobinPacket {
    /// Name of this scheduler.
    pub(crate) const NAME: &'static str = "round-robin-packet";
}

impl Scheduler for RoundRobinPacket {
    fn join(&mut self, share: &mut Share, head: u64) -> Rank {
        self.0.join(share, head)
    }

    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, head: u64) -> Rank {
        self.0.served(share, rank, bytes, head)
    }

    fn one_stream_per_packet(&self) -> bool {
        true
    }
}
