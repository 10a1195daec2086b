//! [`Marking`]: marks congestion before the queue is full, as a switch for DCTCP does (RFC 8257 §3.1). It
//! sees the queue's length and whether a packet may be marked, not the packet.

use msctp_queue::{QueueLen, QueueLimit};

/// Threshold from which a queue marks congestion. It compares the queue at each packet's arrival, without
/// averaging and randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Queue length without marks: RFC 8257's K, less the packet in transmission.
    pub threshold: QueueLimit,
}

/// Verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Do nothing.
    Pass,
    /// Mark the packet with Congestion Experienced.
    Mark,
    /// Drop the packet, which cannot be marked (RFC 3168 §5: CE replaces a drop).
    Drop,
}

impl Marking {
    /// Judges a packet of `wire_len` bytes that arrives at this queue. `capable` is true if it may be marked.
    pub fn judge(self, waiting: QueueLen, wire_len: u32, capable: bool) -> Judgement {
        match (self.threshold.has_room(waiting, wire_len), capable) {
            (true, _) => Judgement::Pass,
            (false, true) => Judgement::Mark,
            (false, false) => Judgement::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_threshold_capable_packets_are_marked_and_others_dropped() {
        let waiting = |packets| QueueLen { packets, bytes: packets * 1500 };
        for threshold in [QueueLimit::Packets(3), QueueLimit::Bytes(4 * 1500 - 1)] {
            let marking = Marking { threshold };
            for capable in [true, false] {
                assert_eq!(marking.judge(waiting(2), 1500, capable), Judgement::Pass);
            }
            assert_eq!(marking.judge(waiting(3), 1500, true), Judgement::Mark);
            assert_eq!(marking.judge(waiting(3), 1500, false), Judgement::Drop);
        }
        // A threshold of nothing marks whatever has to wait for the one in transmission, and what finds the
        // link idle.
        assert_eq!(
            Marking { threshold: QueueLimit::Packets(0) }.judge(waiting(0), 40, true),
            Judgement::Mark
        );
    }
}
