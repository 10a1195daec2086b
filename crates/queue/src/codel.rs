//! [`CodelQueue`]: a queue with CoDel (RFC 8289): it drops or marks when packets have waited too long for too
//! long. Time is an argument.

use std::collections::VecDeque;

use msctp_units::{Span, Time};

use crate::limit::QueueLen;

/// A packet in a CoDel queue.
pub trait Queued {
    /// Returns the length on the wire in bytes.
    fn wire_len(&self) -> u32;

    /// Marks the packet with Congestion Experienced. Returns false if it does not support ECN (RFC 3168 §5).
    fn mark(&mut self) -> bool;
}

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Accepted standing queue delay (RFC 8289 §4.4).
    pub target: Span,
    /// Time for which the delay may exceed the target before CoDel drops; about the longest usual round-trip
    /// time (RFC 8289 §4.3).
    pub interval: Span,
    /// Maximum length of a packet in bytes. A queue of at most one such packet is never too long.
    pub max_packet: u32,
    /// Age from which a packet is always dropped, because it is useless; `None` for never.
    pub max_age: Option<Span>,
}

impl Default for CodelConfig {
    /// Returns RFC 8289's 5 ms and 100 ms, for packets of 1,500 bytes.
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            max_packet: 1500,
            max_age: None,
        }
    }
}

/// A first-in-first-out queue with CoDel's state (RFC 8289 §5.2). Its owner limits its length.
#[derive(Debug)]
pub struct CodelQueue<P> {
    packets: VecDeque<(Time, P)>,
    bytes: u64,
    /// Time at which the delay will have been above the target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl<P> Default for CodelQueue<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }
}

impl<P: Queued> CodelQueue<P> {
    /// Adds a packet at the end.
    pub fn push(&mut self, now: Time, packet: P) {
        self.bytes += u64::from(packet.wire_len());
        self.packets.push_back((now, packet));
    }

    /// Returns the queue's length.
    pub fn len(&self) -> QueueLen {
        QueueLen { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Returns whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Removes the oldest packet, regardless of its age.
    pub fn take(&mut self) -> Option<P> {
        self.take_aged().map(|(_, packet)| packet)
    }

    fn take_aged(&mut self) -> Option<(Time, P)> {
        let (at, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_len());
        Some((at, packet))
    }

    /// Takes the oldest packet, and whether it may be dropped (RFC 8289 §5.6).
    fn head(&mut self, now: Time, config: &CodelConfig, dropped: &mut impl FnMut(P)) -> (Option<P>, bool) {
        let next = loop {
            match self.take_aged() {
                Some((at, packet)) if config.max_age.is_some_and(|age| now.since(at) > age) => {
                    dropped(packet);
                }
                other => break other,
            }
        };
        let Some((at, packet)) = next else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(at) < config.target || self.bytes <= u64::from(config.max_packet) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let since = *self.first_above.get_or_insert(now + config.interval);
        (Some(packet), now >= since)
    }

    /// Returns the next packet that is not dropped (RFC 8289 §5.5), and appends dropped ones to `dropped`.
    /// Packets that support ECN are marked instead of dropped.
    pub fn pop(&mut self, now: Time, config: &CodelConfig, dropped: &mut impl FnMut(P)) -> Option<P> {
        let (mut packet, mut may_drop) = self.head(now, config, dropped);
        if !self.dropping {
            if may_drop && let Some(mut first) = packet.take() {
                if first.mark() {
                    packet = Some(first);
                } else {
                    dropped(first);
                    packet = self.head(now, config, dropped).0;
                }
                self.start(now, config);
            }
            return packet;
        }
        if !may_drop {
            self.dropping = false;
        }
        while self.dropping && now >= self.drop_next {
            self.count += 1;
            if let Some(mut first) = packet.take() {
                if first.mark() {
                    self.schedule(config);
                    return Some(first);
                }
                dropped(first);
            }
            (packet, may_drop) = self.head(now, config, dropped);
            if may_drop {
                self.schedule(config);
            } else {
                self.dropping = false;
            }
        }
        packet
    }

    /// Begins to drop, at the earlier rate if that was recent.
    fn start(&mut self, now: Time, config: &CodelConfig) {
        self.dropping = true;
        let recent = self.count - self.last_count;
        let soon = now.since(self.drop_next) < config.interval * 16;
        self.count = if recent > 1 && soon { recent } else { 1 };
        self.last_count = self.count;
        self.drop_next = now;
        self.schedule(config);
    }

    /// Sets the time of the next drop (the control law of RFC 8289 §5.6).
    fn schedule(&mut self, config: &CodelConfig) {
        let pause = config.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)));
        self.drop_next += Span::from_nanos(pause as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Packet {
        number: u32,
        ecn: bool,
        marked: bool,
    }

    impl Queued for Packet {
        fn wire_len(&self) -> u32 {
            1000
        }

        fn mark(&mut self) -> bool {
            self.marked = self.ecn;
            self.ecn
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Fills a queue with two packets a millisecond, of which one leaves. Returns the times in ms at which
    /// packets were dropped, and marked.
    fn overload(ecn: bool) -> (Vec<u64>, Vec<u64>) {
        let (mut queue, config) = (CodelQueue::default(), CodelConfig::default());
        let (mut dropped, mut marked, mut expected) = (Vec::new(), Vec::new(), 0);
        for ms in 0..1_000 {
            for half in 0..2 {
                queue.push(at(ms), Packet { number: 2 * ms as u32 + half, ecn, marked: false });
            }
            let mut gone = 0;
            let packet = queue.pop(at(ms), &config, &mut |_| gone += 1).unwrap();
            dropped.extend((0..gone).map(|_| ms));
            marked.extend(packet.marked.then_some(ms));
            assert_eq!(packet.number, expected + gone, "in order");
            expected = packet.number + 1;
        }
        (dropped, marked)
    }

    /// RFC 8289 §5.6: the first drop comes an interval after the delay exceeded the target. Later, the time
    /// to the n-th drop is an interval divided by the root of n.
    #[test]
    fn drops_follow_the_control_law() {
        let mut law = Vec::new();
        // A packet that leaves at t was added at t/2: its delay reaches 5 ms at t = 10 ms (9 after rounding).
        let (mut time, mut count) = (9.0 + 100.0, 1.0_f64);
        while time < 1_000.0 {
            law.push(time);
            time += 100.0 / count.sqrt();
            count += 1.0;
        }
        for (times, others) in [overload(false), {
            let (d, m) = overload(true);
            (m, d)
        }] {
            assert!(others.is_empty());
            assert!(times.len().abs_diff(law.len()) <= 1, "{times:?}, by the law {law:?}");
            for (&time, law) in times.iter().zip(&law) {
                assert!((time as f64 - law).abs() <= 2.0, "{times:?}, by the law {law:?}");
            }
        }
    }

    #[test]
    fn a_queue_below_the_target_or_of_one_packet_is_left_alone() {
        let (mut queue, config) = (CodelQueue::default(), CodelConfig::default());
        let mut none = |_: Packet| panic!("dropped");
        for ms in 0..500 {
            queue.push(at(ms), Packet { number: 0, ecn: true, marked: false });
            if ms >= 4 {
                assert!(!queue.pop(at(ms), &config, &mut none).unwrap().marked, "4 ms of delay");
            }
        }
        while queue.len().packets > 1 {
            queue.take();
        }
        // One packet every 300 ms, each 250 ms old.
        for turn in 0..10 {
            assert!(!queue.pop(at(800 + 300 * turn), &config, &mut none).unwrap().marked);
            queue.push(at(850 + 300 * turn), Packet { number: 0, ecn: true, marked: false });
        }
    }

    #[test]
    fn packets_beyond_the_maximum_age_are_dropped() {
        let config = CodelConfig { max_age: Some(Span::from_secs(1)), ..CodelConfig::default() };
        let mut queue = CodelQueue::default();
        for ms in [0, 500] {
            queue.push(at(ms), Packet { number: ms as u32, ecn: true, marked: false });
        }
        let mut dropped = Vec::new();
        let next = queue.pop(at(1_001), &config, &mut |packet| dropped.push(packet.number)).unwrap();
        assert_eq!((next.number, dropped), (500, vec![0]));
        assert!(queue.is_empty());
    }
}
