//! [`FairQueue`]: FQ-CoDel (RFC 8290): flows take turns, each with a [`CodelQueue`] of its own, so that a
//! download does not delay a call.

use std::collections::VecDeque;

use msctp_units::Time;

use crate::codel::{CodelConfig, CodelQueue, Queued};
use crate::limit::{QueueLen, QueueLimit};

/// Parameters of [`FairQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairQueueConfig {
    /// Number of queues; flows are distributed by a hash (RFC 8290 §5.2.5 has 1,024).
    pub flows: u32,
    /// Bytes that a flow may send in its turn (RFC 8290 §5.2.4), equal to a packet of the MTU.
    pub quantum: u32,
    /// Limit of all queues together. Beyond it, the longest queue drops its oldest packet.
    pub limit: QueueLimit,
    /// CoDel of each queue.
    pub codel: CodelConfig,
}

/// Queues served by deficit round robin, those that had no packets before first.
#[derive(Debug)]
pub struct FairQueue<P> {
    config: FairQueueConfig,
    seed: u64,
    flows: Vec<Flow<P>>,
    /// Flows with packets: those that had none before, and the others in turn.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    len: QueueLen,
}

#[derive(Debug)]
struct Flow<P> {
    queue: CodelQueue<P>,
    deficit: i64,
    /// True if the flow is in one of the lists.
    listed: bool,
}

impl<P: Queued> FairQueue<P> {
    /// Creates an empty queue. The `seed` prevents an attacker from choosing ports that share another flow's
    /// queue.
    ///
    /// # Panics
    /// The number of flows or the quantum is zero.
    #[must_use]
    pub fn new(config: FairQueueConfig, seed: u64) -> Self {
        assert!(config.flows > 0 && config.quantum > 0, "flows and quantum must be positive");
        let flow = || Flow { queue: CodelQueue::default(), deficit: 0, listed: false };
        Self {
            config,
            seed,
            flows: std::iter::repeat_with(flow).take(config.flows as usize).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            len: QueueLen::default(),
        }
    }

    /// Returns the length of all queues together.
    pub fn len(&self) -> QueueLen {
        self.len
    }

    /// Returns whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len.packets == 0
    }

    /// Adds a packet of the flow with this `hash`. Appends packets for which there is no room to `dropped`:
    /// the oldest of the longest queue (RFC 8290 §4.1).
    pub fn push(&mut self, now: Time, hash: u64, packet: P, mut dropped: impl FnMut(P)) {
        let index = (mix(hash ^ self.seed) % self.flows.len() as u64) as usize;
        let flow = &mut self.flows[index];
        self.len.packets += 1;
        self.len.bytes += u64::from(packet.wire_len());
        flow.queue.push(now, packet);
        if !std::mem::replace(&mut flow.listed, true) {
            flow.deficit = self.config.quantum.into();
            self.new.push_back(index);
        }
        // The limit already counts this packet.
        while !self.config.limit.has_room(QueueLen { packets: self.len.packets - 1, ..self.len }, 0) {
            let longest = self.flows.iter_mut().max_by_key(|flow| flow.queue.len().bytes);
            let Some(packet) = longest.and_then(|flow| flow.queue.take()) else { return };
            self.len.packets -= 1;
            self.len.bytes -= u64::from(packet.wire_len());
            dropped(packet);
        }
    }

    /// Returns the next packet (RFC 8290 §4.2). Appends packets that CoDel drops to `dropped`.
    pub fn pop(&mut self, now: Time, mut dropped: impl FnMut(P)) -> Option<P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = flow.queue.len();
            let packet = flow.queue.pop(now, &self.config.codel, &mut dropped);
            let after = flow.queue.len();
            self.len.packets -= before.packets - after.packets;
            self.len.bytes -= before.bytes - after.bytes;
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.wire_len());
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // So that a flow of single packets does not precede the old ones each time.
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    /// Removes all packets.
    pub fn drain(&mut self, mut removed: impl FnMut(P)) {
        for flow in &mut self.flows {
            while let Some(packet) = flow.queue.take() {
                removed(packet);
            }
        }
        self.len = QueueLen::default();
    }
}

/// Distributes hashes evenly (the finalizer of SplitMix64).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use msctp_units::Span;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Packet(u64, u32);

    impl Queued for Packet {
        fn wire_len(&self) -> u32 {
            self.1
        }

        fn mark(&mut self) -> bool {
            false
        }
    }

    const CONFIG: FairQueueConfig = FairQueueConfig {
        flows: 256,
        quantum: 1500,
        limit: QueueLimit::Bytes(4_000_000),
        codel: CodelConfig {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            max_packet: 1500,
            max_age: None,
        },
    };

    fn push(queue: &mut FairQueue<Packet>, flow: u64, len: u32) {
        queue.push(Time::ZERO, flow, Packet(flow, len), |packet| panic!("dropped {packet:?}"));
    }

    fn pop(queue: &mut FairQueue<Packet>) -> Packet {
        queue.pop(Time::ZERO, |packet| panic!("dropped {packet:?}")).unwrap()
    }

    #[test]
    fn a_download_does_not_delay_another_flow_and_two_share_by_bytes() {
        let mut queue = FairQueue::new(CONFIG, 7);
        for _ in 0..1000 {
            push(&mut queue, 1, 1200);
        }
        for _ in 0..3 {
            assert_eq!(pop(&mut queue).0, 1);
        }
        push(&mut queue, 2, 60);
        assert!((0..2).any(|_| pop(&mut queue).0 == 2), "a flow that had no packets is served first");
        for _ in 0..1000 {
            push(&mut queue, 3, 300);
        }
        let mut bytes = [0; 4];
        for _ in 0..800 {
            let packet = pop(&mut queue);
            bytes[packet.0 as usize] += packet.1;
        }
        assert!(bytes[1].abs_diff(bytes[3]) <= 2 * 1500, "{bytes:?}");
    }

    #[test]
    fn beyond_its_limit_the_longest_flow_loses() {
        for limit in [QueueLimit::Packets(100), QueueLimit::Bytes(100_000)] {
            let mut queue = FairQueue::new(FairQueueConfig { limit, ..CONFIG }, 1);
            push(&mut queue, 2, 1000);
            let mut lost = 0;
            for _ in 0..1_000 {
                queue.push(Time::ZERO, 1, Packet(1, 1000), |packet| {
                    assert_eq!(packet.0, 1);
                    lost += 1;
                });
                assert!(queue.len().packets <= 100 && queue.len().bytes <= 100_000);
            }
            assert_eq!(lost, 901);
            let mut left = 0;
            queue.drain(|_| left += 1);
            assert!(left == 100 && queue.is_empty());
        }
    }
}
