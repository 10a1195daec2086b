//! Lengths and limits of queues.

/// Limit of a queue. The packet in transmission does not count, and an idle link accepts any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Maximum number of packets that wait while one more is in transmission. ns-2's `queue-limit q` is
    /// `Packets(q − 1)`: ns-2 drops an arriving packet if (waiting + 1) ≥ q.
    Packets(u64),
    /// Maximum number of bytes on the wire that wait.
    Bytes(u64),
    /// No limit: memory grows with the load.
    Unbounded,
}

impl QueueLimit {
    /// Returns whether a packet of `wire_len` bytes may join the waiting ones.
    #[must_use]
    pub fn has_room(self, waiting: QueueLen, wire_len: u32) -> bool {
        match self {
            Self::Packets(packets) => waiting.packets < packets,
            Self::Bytes(bytes) => waiting.bytes + u64::from(wire_len) <= bytes,
            Self::Unbounded => true,
        }
    }
}

/// Length of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLen {
    /// Packets.
    pub packets: u64,
    /// Bytes of the packets on the wire.
    pub bytes: u64,
}

impl QueueLen {
    /// Returns the length without a packet of the queue, such as the one in transmission.
    ///
    /// # Panics
    /// The queue is empty or has fewer bytes, in a build with overflow checks.
    #[must_use]
    pub fn without(self, wire_len: u32) -> Self {
        Self { packets: self.packets - 1, bytes: self.bytes - u64::from(wire_len) }
    }
}
