//! [`FairQueue`]: FQ-CoDel (RFC 8290) before the association, so that a download does not delay a call. Time
//! is an argument.

use std::collections::VecDeque;

use msctp::{Span, Time};

use super::packet::{flow_hash, mark_congestion};

/// Queues of flows, by a hash of the packet's addresses and ports (RFC 8290, section 4.1 has 1,024).
const FLOWS: usize = 256;
/// Bytes that a flow may send in its turn: a packet of the device's MTU.
const QUANTUM: i64 = super::MTU as i64;
/// Maximum number of queued bytes.
const LIMIT: usize = 4 << 20;
/// Accepted standing queue delay (RFC 8289, section 4.3).
const TARGET: Span = Span::from_millis(5);
/// Time the delay may exceed [`TARGET`] before CoDel drops (RFC 8289, section 4.2).
const INTERVAL: Span = Span::from_millis(100);
/// Maximum age of a queued packet; an older one waited through an outage and is dropped.
const MAX_AGE: Span = Span::from_secs(1);

#[derive(Debug)]
pub(super) struct FairQueue {
    seed: u64,
    flows: Vec<Flow>,
    /// Flows with packets: those that had none before, and the others, in turn.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Flow {
    packets: VecDeque<(Time, Vec<u8>)>,
    bytes: usize,
    deficit: i64,
    /// It is in one of the lists.
    listed: bool,
    codel: Codel,
}

/// The state of CoDel (RFC 8289, section 5.3).
#[derive(Debug, Default)]
struct Codel {
    /// When the delay will have been above the target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl FairQueue {
    /// Creates an empty queue. `seed`: so that nobody can choose ports that share another flow's queue.
    pub(super) fn new(seed: u64) -> Self {
        let flows = std::iter::repeat_with(Flow::default).take(FLOWS).collect();
        Self { seed, flows, new: VecDeque::new(), old: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds a packet. If the queue is full, the flow with the most bytes loses its oldest packets.
    pub(super) fn push(&mut self, now: Time, packet: Vec<u8>) {
        let index = (flow_hash(&packet, self.seed) % FLOWS as u64) as usize;
        let flow = &mut self.flows[index];
        flow.bytes += packet.len();
        self.bytes += packet.len();
        flow.packets.push_back((now, packet));
        if !std::mem::replace(&mut flow.listed, true) {
            flow.deficit = QUANTUM;
            self.new.push_back(index);
        }
        while self.bytes > LIMIT {
            let Some(longest) = self.flows.iter_mut().max_by_key(|flow| flow.bytes) else { return };
            self.bytes -= longest.take().map_or(0, |(_, packet)| packet.len());
        }
    }

    /// Returns the next packet (RFC 8290, section 4.2).
    pub(super) fn pop(&mut self, now: Time) -> Option<Vec<u8>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = flow.bytes;
            let packet = flow.dequeue(now);
            self.bytes -= before - flow.bytes;
            if let Some(packet) = packet {
                flow.deficit -= packet.len() as i64;
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
}

impl Flow {
    fn take(&mut self) -> Option<(Time, Vec<u8>)> {
        let (at, packet) = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some((at, packet))
    }

    /// Takes the oldest packet, and whether it may be dropped (RFC 8289, section 5.4).
    fn head(&mut self, now: Time) -> (Option<Vec<u8>>, bool) {
        let next = loop {
            match self.take() {
                Some((at, _)) if now.since(at) > MAX_AGE => {}
                other => break other,
            }
        };
        let Some((at, packet)) = next else {
            self.codel.first_above = None;
            return (None, false);
        };
        if now.since(at) < TARGET || self.bytes <= QUANTUM as usize {
            self.codel.first_above = None;
            return (Some(packet), false);
        }
        let since = *self.codel.first_above.get_or_insert(now + INTERVAL);
        (Some(packet), now >= since)
    }

    /// Returns the next packet that is not dropped (RFC 8289, section 5.5). Marks instead of dropping where
    /// the flow supports ECN.
    fn dequeue(&mut self, now: Time) -> Option<Vec<u8>> {
        let (mut packet, mut may_drop) = self.head(now);
        if !self.codel.dropping {
            if may_drop {
                if !packet.as_mut().is_some_and(|packet| mark_congestion(packet)) {
                    packet = self.head(now).0;
                }
                self.codel.start(now);
            }
            return packet;
        }
        if !may_drop {
            self.codel.dropping = false;
        }
        while self.codel.dropping && now >= self.codel.drop_next {
            self.codel.count += 1;
            if packet.as_mut().is_some_and(|packet| mark_congestion(packet)) {
                self.codel.schedule();
                return packet;
            }
            (packet, may_drop) = self.head(now);
            if may_drop {
                self.codel.schedule();
            } else {
                self.codel.dropping = false;
            }
        }
        packet
    }
}

impl Codel {
    /// Begins to drop: at the earlier rate, if that was not long ago.
    fn start(&mut self, now: Time) {
        self.dropping = true;
        let recent = self.count - self.last_count;
        let soon = now.since(self.drop_next) < INTERVAL * 16;
        self.count = if recent > 1 && soon { recent } else { 1 };
        self.last_count = self.count;
        self.drop_next = now;
        self.schedule();
    }

    /// Sets the time of the next drop (the control law of RFC 8289, section 4.1).
    fn schedule(&mut self) {
        let pause = INTERVAL.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        self.drop_next += Span::from_nanos(pause as u64);
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

    /// Fills the queue with two packets a millisecond and takes one. Returns those dropped and those marked.
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
        let left: usize = queue.flows.iter().map(|flow| flow.packets.len()).sum();
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
            assert!(queue.bytes <= LIMIT);
        }
        queue.push(at(0), udp(2, 100, 0));
        assert!(queue.flows.iter().any(|flow| flow.bytes == 100), "the longest flow loses");
        assert_eq!(queue.pop(at(1_001)), None, "older than a second");
        assert!(queue.is_empty());
        queue.push(at(2_000), udp(2, 100, 0));
        assert_eq!(queue.pop(at(2_000)).unwrap().len(), 100);
    }
}
