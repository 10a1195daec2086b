//! [`FairQueue`]: FQ-CoDel (RFC 8290) before the association, so that a download does not delay a call.

use msctp::{Span, Time};
use msctp_queue::QueueLimit;
use msctp_queue::codel::{CodelConfig, Queued};
use msctp_queue::fair_queue::{self, FairQueueConfig};

use super::packet::{flow_hash, mark_congestion};

/// Number of queues for flows (RFC 8290 §5.2.5 has 1,024).
const FLOWS: u32 = 256;
/// Maximum number of queued bytes.
const LIMIT: u64 = 4 << 20;
/// Maximum age of a queued packet. An older one has waited through an outage and is dropped.
const MAX_AGE: Span = Span::from_secs(1);

#[derive(Debug)]
pub(super) struct FairQueue {
    queue: fair_queue::FairQueue<Packet>,
    seed: u64,
}

#[derive(Debug)]
struct Packet(Vec<u8>);

impl Queued for Packet {
    fn wire_len(&self) -> u32 {
        self.0.len() as u32
    }

    fn mark(&mut self) -> bool {
        mark_congestion(&mut self.0)
    }
}

impl FairQueue {
    /// Creates an empty queue. The `seed` prevents an attacker from choosing ports that share another flow's
    /// queue.
    pub(super) fn new(seed: u64) -> Self {
        let quantum = u32::from(super::MTU);
        let codel = CodelConfig { max_packet: quantum, max_age: Some(MAX_AGE), ..CodelConfig::default() };
        let config = FairQueueConfig { flows: FLOWS, quantum, limit: QueueLimit::Bytes(LIMIT), codel };
        Self { queue: fair_queue::FairQueue::new(config, seed), seed }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a packet. If the queue is full, drops the oldest packets of the flow with the most bytes.
    pub(super) fn push(&mut self, now: Time, packet: Vec<u8>) {
        let flow = flow_hash(&packet, self.seed);
        self.queue.push(now, flow, Packet(packet), drop);
    }

    /// Returns the next packet.
    pub(super) fn pop(&mut self, now: Time) -> Option<Vec<u8>> {
        self.queue.pop(now, drop).map(|packet| packet.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::udp;
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_download_does_not_delay_another_flow() {
        let mut queue = FairQueue::new(7);
        for _ in 0..1000 {
            queue.push(at(0), udp(5000, 1200, 0));
        }
        for _ in 0..3 {
            assert_eq!(queue.pop(at(0)).unwrap().len(), 1200);
        }
        queue.push(at(0), udp(53, 60, 0));
        let place = (0..4).position(|_| queue.pop(at(0)).unwrap().len() == 60);
        assert_eq!(place, Some(0));
        // Two downloads get the same.
        for _ in 0..1000 {
            queue.push(at(0), udp(6000, 1200, 0));
        }
        let from = |packet: Vec<u8>| u16::from_be_bytes([packet[20], packet[21]]);
        let second = (0..400).filter(|_| from(queue.pop(at(0)).unwrap()) == 6000).count();
        assert!((195..=205).contains(&second), "{second}");
    }

    /// Adds two packets a millisecond and removes one. Returns the dropped packets and the marked ones.
    fn overload(ecn: u8) -> (usize, usize) {
        let (mut queue, mut pushed, mut out, mut marked) = (FairQueue::new(1), 0, 0, 0);
        for ms in 0..600 {
            for _ in 0..2 {
                queue.push(at(ms), udp(1, 1200, ecn));
                pushed += 1;
            }
            if let Some(packet) = queue.pop(at(ms)) {
                out += 1;
                marked += usize::from(packet[1] & 3 == 3);
            }
        }
        let left = queue.queue.len().packets as usize;
        (pushed - out - left, marked)
    }

    #[test]
    fn a_standing_queue_is_dropped_from_or_marked() {
        // A drop or mark after 100 ms, and each next one after 100 ms divided by the root of their number.
        let (dropped, marked) = overload(0);
        assert!((4..=12).contains(&dropped) && marked == 0, "{dropped} dropped, {marked} marked");
        let (dropped, marked) = overload(2);
        assert!(dropped == 0 && (4..=12).contains(&marked), "{dropped} dropped, {marked} marked");
    }

    #[test]
    fn the_queue_is_bounded_and_old_packets_are_dropped() {
        let mut queue = FairQueue::new(1);
        for _ in 0..10_000 {
            queue.push(at(0), udp(1, 1200, 0));
            assert!(queue.queue.len().bytes <= LIMIT);
        }
        queue.push(at(0), udp(2, 100, 0));
        assert_eq!(queue.queue.len().bytes % 1200, 100, "the longest flow loses");
        assert_eq!(queue.pop(at(1_001)), None, "older than a second");
        assert!(queue.is_empty());
        queue.push(at(2_000), udp(2, 100, 0));
        assert_eq!(queue.pop(at(2_000)).unwrap().len(), 100);
    }
}
