//! [`PacketId`]: names a packet without its content, for link models of the caller's too.

/// A packet on the simulated network. A link model takes it and returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId(pub(crate) u32);
