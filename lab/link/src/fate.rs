//! Fates of packets: taken or dropped at the entrance of a link, arrived or lost at its end.

/// Fate of an offered packet.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a dropped packet is handed back"]
pub enum Offer<P> {
    /// The packet is in the link.
    Queued,
    /// The packet was dropped, and is returned.
    Dropped(P, DropReason),
}

/// Reason for a dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// The link is down.
    LinkDown,
}

/// A packet that has left a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// Length of the packet in bytes on the wire, as offered.
    pub wire_len: u32,
    /// Outcome of the packet.
    pub outcome: Outcome,
}

/// Outcome of a packet that left a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet arrived at the other end.
    Arrived,
    /// The packet arrived at the other end, and the queue marked it with Congestion Experienced.
    Marked,
    /// The packet was lost in flight. It is returned when it would have arrived, or when the link went down.
    Lost(LossReason),
}

/// Reason for a loss inside a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The loss process dropped it.
    Channel,
    /// The queue's discipline dropped it, as CoDel does.
    Discipline,
    /// The link went down with it inside, or the old cell's link did at a handover.
    LinkDown,
}
