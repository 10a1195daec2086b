//! [`Sdus`]: the packets inside a radio link. Segmentation and in-order reassembly without copying: the
//! packets lie one after the other in a stream of octets, a block is a range of that stream, and a packet is
//! complete when everything up to its end has arrived. It sees neither block numbers nor time.

use std::collections::VecDeque;
use std::ops::Range;

use crate::fate::{Delivery, LossReason, Outcome};
use msctp_queue::{QueueLen, QueueLimit};

#[derive(Debug)]
struct Sdu<P> {
    packet: P,
    wire_len: u32,
    /// Octets of the packet in the stream.
    octets: Range<u64>,
    lost: Option<LossReason>,
}

/// The packets inside, oldest first: those whose transmission has begun, then those that wait.
#[derive(Debug)]
pub(crate) struct Sdus<P> {
    sdus: VecDeque<Sdu<P>>,
    /// Octets that the link layer adds to each packet.
    overhead: u32,
    /// Number of entries, from the front, whose transmission has begun.
    begun: usize,
    waiting_bytes: u64,
    /// End of the octets handed out for transmission.
    sent: u64,
    /// End of the octets that the receiver has without a gap.
    arrived: u64,
}

impl<P> Sdus<P> {
    /// Creates an empty stream. Each packet occupies `overhead` octets more than its length.
    pub(crate) fn new(overhead: u32) -> Self {
        Self { sdus: VecDeque::new(), overhead, begun: 0, waiting_bytes: 0, sent: 0, arrived: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sdus.is_empty()
    }

    /// Returns the packets of which nothing has been sent.
    pub(crate) fn waiting(&self) -> QueueLen {
        QueueLen { packets: (self.sdus.len() - self.begun) as u64, bytes: self.waiting_bytes }
    }

    /// Returns whether a packet may enter. An empty link accepts any packet.
    pub(crate) fn has_room(&self, limit: QueueLimit, wire_len: u32) -> bool {
        self.is_empty() || limit.has_room(self.waiting(), wire_len)
    }

    pub(crate) fn push(&mut self, packet: P, wire_len: u32) {
        let start = self.end();
        // A packet without any octet could not be distinguished from the one before it.
        let octets = (u64::from(wire_len) + u64::from(self.overhead)).max(1);
        self.sdus.push_back(Sdu { packet, wire_len, octets: start..start + octets, lost: None });
        self.waiting_bytes += u64::from(wire_len);
    }

    /// Returns the end of the stream so far.
    fn end(&self) -> u64 {
        self.sdus.back().map_or(self.sent, |last| last.octets.end)
    }

    /// Returns the number of octets that have not been taken for transmission.
    pub(crate) fn unsent(&self) -> u64 {
        self.end() - self.sent
    }

    /// Takes the next octets for transmission, at most `most`; `None` if there are none.
    pub(crate) fn take(&mut self, most: u64) -> Option<Range<u64>> {
        let end = self.end().min(self.sent + most);
        if end == self.sent {
            return None;
        }
        let range = self.sent..end;
        self.sent = end;
        while let Some(sdu) = self.sdus.get(self.begun)
            && sdu.octets.start < end
        {
            self.waiting_bytes -= u64::from(sdu.wire_len);
            self.begun += 1;
        }
        Some(range)
    }

    /// Records that everything up to `octet` has arrived or was abandoned.
    pub(crate) fn arrived_up_to(&mut self, octet: u64) {
        debug_assert!(octet <= self.sent, "more has arrived than was sent");
        self.arrived = self.arrived.max(octet);
    }

    /// Returns whether a complete packet can be removed.
    pub(crate) fn is_ready(&self) -> bool {
        self.sdus.front().is_some_and(|sdu| sdu.octets.end <= self.arrived)
    }

    /// Returns the oldest packet, if it has arrived entirely or was lost, and all earlier ones are out.
    pub(crate) fn pop(&mut self) -> Option<Delivery<P>> {
        if !self.is_ready() {
            return None;
        }
        let sdu = self.sdus.pop_front()?;
        self.begun -= 1;
        let outcome = sdu.lost.map_or(Outcome::Arrived, Outcome::Lost);
        Some(Delivery { packet: sdu.packet, wire_len: sdu.wire_len, outcome })
    }

    /// Marks the packets with octets in `range` as lost, except complete ones. They come out in order.
    pub(crate) fn lose(&mut self, range: &Range<u64>, reason: LossReason) {
        let arrived = self.arrived;
        let first = self.sdus.partition_point(|sdu| sdu.octets.end <= range.start.max(arrived));
        for sdu in self.sdus.range_mut(first..).take_while(|sdu| sdu.octets.start < range.end) {
            sdu.lost.get_or_insert(reason);
        }
    }

    /// Rewinds to the first packet that has not arrived: such packets are retransmitted from their first
    /// octet.
    pub(crate) fn rewind(&mut self) {
        let arrived = self.arrived;
        let complete = self.sdus.partition_point(|sdu| sdu.octets.end <= arrived);
        if self.begun <= complete {
            return;
        }
        for sdu in self.sdus.range_mut(complete..self.begun) {
            sdu.lost = None;
            self.waiting_bytes += u64::from(sdu.wire_len);
        }
        let start = self.sdus[complete].octets.start;
        (self.sent, self.arrived, self.begun) = (start, start, complete);
    }

    /// Drops the packets whose transmission has begun and that have not arrived. The others stay queued.
    pub(crate) fn lose_begun(&mut self, reason: LossReason) {
        let Some(last) = self.begun.checked_sub(1) else { return };
        let end = self.sdus[last].octets.end;
        self.lose(&(self.arrived..end), reason);
        (self.sent, self.arrived) = (end, end);
    }

    /// Drops all packets that have not arrived.
    pub(crate) fn lose_all(&mut self, reason: LossReason) {
        self.take(u64::MAX - self.sent);
        self.lose_begun(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns three packets of 100 octets with 10 of overhead.
    fn three() -> Sdus<u32> {
        let mut sdus = Sdus::new(10);
        (1..=3).for_each(|n| sdus.push(n, 100));
        sdus
    }

    fn out(sdus: &mut Sdus<u32>) -> Vec<(u32, bool)> {
        core::iter::from_fn(|| sdus.pop()).map(|d| (d.packet, d.outcome == Outcome::Arrived)).collect()
    }

    #[test]
    fn packets_are_cut_without_gaps_and_come_out_when_complete() {
        let mut sdus = three();
        assert_eq!(sdus.waiting(), QueueLen { packets: 3, bytes: 300 });
        assert_eq!((sdus.take(50), sdus.take(100)), (Some(0..50), Some(50..150)));
        assert_eq!((sdus.waiting().packets, sdus.unsent()), (1, 180));
        assert_eq!((sdus.take(1000), sdus.take(1)), (Some(150..330), None));
        sdus.arrived_up_to(109);
        assert_eq!(out(&mut sdus), []);
        sdus.arrived_up_to(221);
        assert_eq!(out(&mut sdus), [(1, true), (2, true)]);
        sdus.push(4, 0);
        assert_eq!(sdus.take(1000), Some(330..340));
        sdus.arrived_up_to(340);
        assert_eq!(out(&mut sdus), [(3, true), (4, true)]);
        assert!(sdus.is_empty());
    }

    #[test]
    fn a_lost_range_takes_the_packets_that_touch_it() {
        let mut sdus = three();
        sdus.take(330);
        sdus.lose(&(100..110), LossReason::Channel);
        assert_eq!(out(&mut sdus), [], "it keeps its place");
        sdus.arrived_up_to(330);
        assert_eq!(out(&mut sdus), [(1, false), (2, true), (3, true)]);
    }

    #[test]
    fn rewound_packets_start_again_and_complete_ones_do_not() {
        let mut sdus = three();
        sdus.take(240);
        sdus.arrived_up_to(130);
        sdus.rewind();
        assert_eq!(sdus.waiting(), QueueLen { packets: 2, bytes: 200 });
        assert_eq!(out(&mut sdus), [(1, true)]);
        assert_eq!(sdus.take(1000), Some(110..330));
        sdus.arrived_up_to(330);
        assert_eq!(out(&mut sdus), [(2, true), (3, true)]);
    }

    #[test]
    fn losing_the_begun_leaves_those_that_wait() {
        let mut sdus = three();
        sdus.take(120);
        sdus.arrived_up_to(110);
        sdus.lose_begun(LossReason::LinkDown);
        assert_eq!(out(&mut sdus), [(1, true), (2, false)]);
        assert_eq!((sdus.waiting().packets, sdus.take(1000)), (1, Some(220..330)));
        sdus.push(4, 50);
        sdus.lose_all(LossReason::LinkDown);
        assert_eq!(out(&mut sdus), [(3, false), (4, false)]);
        assert_eq!(sdus.waiting(), QueueLen::default());
        sdus.push(5, 1);
        assert_eq!(sdus.take(1000).map(|range| range.end - range.start), Some(11));
    }
}
