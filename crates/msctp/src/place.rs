//! [`Place`]: which shard of an endpoint.

use msctp_proto::Handle;

/// Index of a shard among those of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) index: u16,
    /// Number of shards.
    pub(crate) of: u16,
}

impl Place {
    /// Returns the number of an association, unique within the endpoint.
    pub(crate) fn number(self, handle: Handle) -> u64 {
        // A generation, and a small number within the shard.
        let (generation, slot) = (handle.number() >> 32, handle.number() & u64::from(u32::MAX));
        generation << 32 | (slot * u64::from(self.of) + u64::from(self.index)) & u64::from(u32::MAX)
    }
}
