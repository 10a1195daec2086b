//! [`LinkStats`]: counters of a link.

use core::ops::AddAssign;

use crate::fate::{Delivery, LossReason, Outcome};
use msctp_queue::QueueLen;

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet.
    pub fn add(&mut self, wire_len: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire_len);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Counters of one direction of a link. One of the others counts each offered packet, unless it is still
/// inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets offered.
    pub offered: Count,
    /// Arrived at the other end.
    pub delivered: Count,
    /// Dropped because the queue was full.
    pub dropped_full: Count,
    /// Packets dropped by the queue's discipline, because they waited too long or were the oldest of the
    /// longest flow.
    pub dropped_discipline: Count,
    /// Dropped because the link was down.
    pub dropped_down: Count,
    /// Lost by the loss process.
    pub lost: Count,
    /// Packets lost inside when the link went down, or left behind at a handover.
    pub lost_down: Count,
    /// Maximum number of packets queued, without the one in transmission.
    pub max_queue_packets: u64,
    /// Maximum number of bytes queued, without the packet in transmission.
    pub max_queue_bytes: u64,
}

impl LinkStats {
    /// Counts a packet that left the link.
    pub fn count<P>(&mut self, delivery: &Delivery<P>) {
        let count = match delivery.outcome {
            Outcome::Arrived | Outcome::Marked => &mut self.delivered,
            Outcome::Lost(LossReason::Discipline) => &mut self.dropped_discipline,
            Outcome::Lost(LossReason::Channel) => &mut self.lost,
            Outcome::Lost(LossReason::LinkDown) => &mut self.lost_down,
        };
        count.add(delivery.wire_len);
    }

    /// Records the queue's length.
    pub fn saw_queue(&mut self, waiting: QueueLen) {
        self.max_queue_packets = self.max_queue_packets.max(waiting.packets);
        self.max_queue_bytes = self.max_queue_bytes.max(waiting.bytes);
    }

    /// Returns the packets and bytes that are inside.
    pub fn inside(&self) -> Count {
        let mut gone = Count::default();
        let all = [
            self.delivered,
            self.dropped_full,
            self.dropped_discipline,
            self.dropped_down,
            self.lost,
            self.lost_down,
        ];
        for count in all {
            gone += count;
        }
        Count { packets: self.offered.packets - gone.packets, bytes: self.offered.bytes - gone.bytes }
    }
}
