//! [`Flow`]: the part of a path's state that data transfer keeps. Knows nothing of packets.

use std::collections::VecDeque;

use msctp_congestion::DeliveryRate;
use msctp_units::Time;

use crate::long_tsn::LongTsn;

/// Numbers every transmission and retransmission of a chunk, over all paths, from 1.
pub(crate) type SendNumber = u64;

/// One transmission of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) number: SendNumber,
    pub(crate) tsn: LongTsn,
}

/// What the SACK being processed says about one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    /// Bytes newly acknowledged, as congestion control counts them.
    pub(crate) bytes: u64,
    /// Some of those went over no other path, after its last time-out: the path works.
    pub(crate) proves_path: bool,
    /// Bytes of those that were in flight.
    pub(crate) left_flight: u64,
    /// Highest TSN newly acknowledged (HTNA, RFC 9260 §7.2.4).
    pub(crate) htna: Option<Sending>,
    /// When the latest of the chunks newly acknowledged was sent, among those sent once.
    pub(crate) latest_sent: Option<Time>,
    /// The path's lowest outstanding TSN was acknowledged (RFC 9260 §6.3.2 R3).
    pub(crate) earliest: bool,
    /// Bytes in flight again because the peer reneged.
    pub(crate) reneged: u64,
    /// The path was in Fast Recovery when the SACK came.
    pub(crate) in_recovery: bool,
    /// The path was in LD recovery when the SACK came.
    pub(crate) in_ld: bool,
    /// Bytes of chunks reported as duplicates, as far as they are known (RFC 9260 §7.2.2).
    pub(crate) duplicates: u64,
}

/// Which chunks went over a path, and where its loss recovery stands.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Sendings on this path in the order in which they were made. What was acknowledged, marked or sent again since
    /// stays until a later sending is acknowledged, and is then skipped: miss indications cost no search.
    pub(crate) log: VecDeque<Sending>,
    /// Chunks marked for retransmission on this path, by TSN. May hold entries that are out of date.
    pub(crate) queue: VecDeque<LongTsn>,
    /// Chunks marked for retransmission on this path.
    pub(crate) marked: u32,
    /// Chunks last sent on this path and declared lost so far.
    pub(crate) lost: u64,
    /// Chunks retransmitted on this path so far.
    pub(crate) resent: u64,
    /// Chunks last sent on this path and not acknowledged, in flight or marked.
    pub(crate) unacked: u32,
    /// The lowest TSN of those.
    pub(crate) earliest: Option<LongTsn>,
    /// The latest sending that was acknowledged; 0: none.
    pub(crate) latest_acked: SendNumber,
    /// The first sending after the last expiration of T3-rtx; 0: it never expired.
    pub(crate) proof_from: SendNumber,
    /// Fast Recovery goes on until this TSN is acknowledged (RFC 9260 §7.2.4 (6)).
    pub(crate) recovery_exit: Option<LongTsn>,
    /// LD recovery goes on until this TSN is acknowledged ([`super::differentiation`]).
    pub(crate) ld_exit: Option<LongTsn>,
    /// One packet of retransmissions may go out whatever cwnd says (RFC 9260 §6.3.3 E3, §7.2.4 (3)).
    pub(crate) forced: bool,
    /// Packets with new data sent since `burst_at` (RFC 9260 §6.1 rule D).
    pub(crate) burst: u32,
    pub(crate) burst_at: Time,
    pub(crate) ack: AckSummary,
    /// The last TSN sent when an ECNE last reduced the window (RFC 3168 §6.1.2).
    pub(crate) ecn_reduced: Option<LongTsn>,
    /// The last TSN sent when a loss last did.
    pub(crate) loss_reduced: Option<LongTsn>,
    /// The rate at which the path delivers, for a controller that models it.
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

    /// Removes the chunk that `Outstanding::next_marked` returned: it is being sent.
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
