//! [`Flow`]: the part of a path's state that data transfer maintains. Does not depend on packets.

use std::collections::VecDeque;

use msctp_congestion::DeliveryRate;
use msctp_units::Time;

use super::carried::Carried;
use crate::long_tsn::LongTsn;

/// Number of a transmission or retransmission of a chunk, counted over all paths from 1.
pub(crate) type SendNumber = u64;

/// One transmission of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) number: SendNumber,
    pub(crate) tsn: LongTsn,
}

/// The summary of the SACK being processed, for one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    /// Bytes newly acknowledged (chunk header, data, padding).
    pub(crate) bytes: u64,
    /// True if some of the chunks were sent on no other path, after the path's last timeout, so that the path
    /// works.
    pub(crate) proves_path: bool,
    /// Newly acknowledged bytes that were in flight.
    pub(crate) left_flight: u64,
    /// Highest newly acknowledged TSN (HTNA, RFC 9260 §7.2.4).
    pub(crate) htna: Option<Sending>,
    /// Transmission time of the latest newly acknowledged chunk that was sent once.
    pub(crate) latest_sent: Option<Time>,
    /// True if the path's lowest outstanding TSN was acknowledged (RFC 9260 §6.3.2 R3).
    pub(crate) earliest: bool,
    /// Bytes returned to the flight because the peer reneged.
    pub(crate) reneged: u64,
    /// True if the path was in Fast Recovery before the SACK.
    pub(crate) in_recovery: bool,
    /// True if the path was in LD recovery before the SACK.
    pub(crate) in_ld: bool,
    /// Bytes of chunks that were reported as duplicates and are still stored (RFC 9260 §7.2.2).
    pub(crate) duplicates: u64,
}

/// The chunks sent on a path, and its loss recovery.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Transmissions on this path, in order.
    ///
    /// Entries of chunks that were acknowledged, marked or retransmitted later stay until a later
    /// transmission is acknowledged, and are then skipped. Miss indications need no search.
    pub(crate) log: VecDeque<Sending>,
    /// Chunks marked for retransmission on this path, by TSN. Some entries may be stale.
    pub(crate) queue: VecDeque<LongTsn>,
    /// Number of chunks marked for retransmission on this path.
    pub(crate) marked: u32,
    /// Number of chunks that were last sent on this path and were declared lost, or were retransmitted on
    /// another path.
    pub(crate) lost: u64,
    /// Number of chunks retransmitted on this path.
    pub(crate) resent: u64,
    /// Number of unacknowledged chunks last sent on this path, in flight or marked.
    pub(crate) unacked: u32,
    /// The lowest TSN of those.
    pub(crate) earliest: Option<LongTsn>,
    /// Number of the latest acknowledged transmission; 0 if there is none.
    pub(crate) latest_acked: SendNumber,
    /// Number of the first transmission after the last expiration of T3-rtx; 0 if it never expired.
    pub(crate) proof_from: SendNumber,
    /// TSN whose acknowledgement ends Fast Recovery (RFC 9260 §7.2.4 (6)).
    pub(crate) recovery_exit: Option<LongTsn>,
    /// TSN whose acknowledgement ends LD recovery ([`super::differentiation`]).
    pub(crate) ld_exit: Option<LongTsn>,
    /// True if one packet of retransmissions may be sent regardless of cwnd (RFC 9260 §6.3.3 E3, §7.2.4 (3)).
    pub(crate) forced: bool,
    /// Number of packets with new data sent at `burst_at`, less Max.Burst for each SACK since the first (RFC
    /// 9260 §6.1 rule D).
    pub(crate) burst: i32,
    pub(crate) burst_at: Time,
    pub(crate) ack: AckSummary,
    /// The last TSN sent at the last window reduction for an ECNE (RFC 3168 §6.1.2).
    pub(crate) ecn_reduced: Option<LongTsn>,
    /// The last TSN sent at the last window reduction for a loss.
    pub(crate) loss_reduced: Option<LongTsn>,
    /// The latest round-trip time and the rate; only where several paths may carry data.
    pub(crate) carried: Option<Box<Carried>>,
    /// Measures the delivery rate, for controllers that model it.
    pub(crate) delivery: Option<Box<DeliveryRate>>,
}

impl Flow {
    /// Queues a chunk for retransmission on this path.
    pub(crate) fn mark(&mut self, tsn: LongTsn) {
        self.marked += 1;
        if self.queue.back().is_none_or(|&back| back < tsn) {
            self.queue.push_back(tsn);
        } else if let Err(index) = self.queue.binary_search(&tsn) {
            self.queue.insert(index, tsn);
        }
    }

    /// Removes the chunk that `Outstanding::next_marked` returned, because it is being sent.
    pub(crate) fn unqueue(&mut self) {
        self.marked -= 1;
        self.queue.pop_front();
    }

    /// Counts a chunk as outstanding on this path.
    pub(crate) fn adopt(&mut self, tsn: LongTsn) {
        self.unacked += 1;
        self.earliest = Some(self.earliest.map_or(tsn, |earliest| earliest.min(tsn)));
    }

    /// Counts a chunk last sent on this path as lost.
    pub(crate) fn note_lost(&mut self, number: SendNumber, wire_len: u64) {
        self.lost += 1;
        if let Some(delivery) = &mut self.delivery {
            delivery.on_lost(number, wire_len);
        }
    }

    /// Counts a chunk last sent on this path as retransmitted on another one before it was declared lost.
    pub(crate) fn note_moved(&mut self, number: SendNumber) {
        self.lost += 1;
        if let Some(delivery) = &mut self.delivery {
            delivery.on_abandoned(number);
        }
    }

    /// Restores the log entries of chunks that the peer reneged on. Returns the number of entries moved.
    pub(crate) fn relog(&mut self, mut back: Vec<Sending>) -> u64 {
        back.sort_unstable_by_key(|sending| sending.number);
        let Some(first) = back.first() else { return 0 };
        let index = self.log.partition_point(|logged| logged.number < first.number);
        let mut behind = self.log.split_off(index).into_iter().peekable();
        let moved = (behind.len() + back.len()) as u64;
        for sending in back {
            while let Some(logged) = behind.next_if(|logged| logged.number <= sending.number) {
                self.log.push_back(logged);
            }
            if self.log.back() != Some(&sending) {
                self.log.push_back(sending);
            }
        }
        self.log.extend(behind);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The congestion control of a path is notified of losses, not of chunks that a silence probe moved.
    #[test]
    fn a_chunk_moved_before_it_was_lost_is_no_loss_to_the_controller() {
        let mut flow = Flow { delivery: Some(Box::default()), ..Flow::default() };
        let delivery = |flow: &mut Flow| flow.delivery.as_mut().and_then(|delivery| delivery.take_lost());
        for number in 1..=2 {
            flow.delivery.as_mut().unwrap().on_sent(Time::ZERO, number, 1, (0, 1000));
        }
        flow.note_moved(1);
        assert_eq!(delivery(&mut flow), None);
        flow.note_lost(2, 1000);
        assert_eq!(delivery(&mut flow).map(|lost| lost.bytes), Some(1000));
        assert_eq!(flow.lost, 2);
    }
}
