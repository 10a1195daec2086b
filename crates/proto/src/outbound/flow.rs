//! [`Flow`]: what data transfer keeps per path beside the path's own state. Knows nothing of packets.

use std::collections::VecDeque;

use msctp_congestion::DeliveryRate;
use msctp_units::Time;

use super::chunk::{Fate, Outstanding, SendNumber};
use crate::PathId;
use crate::long_tsn::LongTsn;

/// One sending of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) number: SendNumber,
    pub(super) tsn: LongTsn,
}

/// What the SACK being processed says about one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowAck {
    /// Bytes newly acknowledged, as congestion control counts them.
    pub(super) bytes: u64,
    /// Some of those went over no other path, after its last time-out: the path works.
    pub(super) proves_path: bool,
    /// Bytes of those that were in flight.
    pub(super) landed: u64,
    /// Highest TSN newly acknowledged (HTNA, RFC 9260 §7.2.4).
    pub(super) htna: Option<Sending>,
    /// When the latest of the chunks newly acknowledged was sent, among those sent once.
    pub(super) latest_sent: Option<Time>,
    /// The path's lowest outstanding TSN was acknowledged (RFC 9260 §6.3.2 R3).
    pub(super) earliest: bool,
    /// Bytes in flight again because the peer reneged.
    pub(super) taken_back: u64,
    /// The path was in Fast Recovery when the SACK came.
    pub(super) in_recovery: bool,
    /// The path was in LD recovery when the SACK came.
    pub(super) in_ld: bool,
    /// Bytes of chunks reported as duplicates, as far as they are known (RFC 9260 §7.2.2).
    pub(super) duplicates: u64,
}

/// Data transfer on one path.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) id: PathId,
    /// Sendings on this path in the order in which they were made. What was acknowledged, marked or sent again since
    /// stays until a later sending is acknowledged, and is then skipped: miss indications cost no search.
    pub(super) log: VecDeque<Sending>,
    /// Chunks marked for retransmission on this path, by TSN. May hold entries that are out of date.
    queue: VecDeque<LongTsn>,
    /// Chunks marked for retransmission on this path.
    pub(super) marked: u32,
    /// Chunks last sent on this path and declared lost so far.
    pub(super) lost: u64,
    /// Chunks retransmitted on this path so far.
    pub(super) resent: u64,
    /// Chunks last sent on this path and not acknowledged, in flight or marked.
    pub(super) unacked: u32,
    /// The lowest TSN of those.
    pub(super) earliest: Option<LongTsn>,
    /// The latest sending that was acknowledged; 0: none.
    pub(super) latest_acked: SendNumber,
    /// The first sending after the last expiration of T3-rtx; 0: it never expired.
    pub(super) proof_from: SendNumber,
    /// Fast Recovery goes on until this TSN is acknowledged (RFC 9260 §7.2.4 (6)).
    pub(super) recovery_exit: Option<LongTsn>,
    /// LD recovery goes on until this TSN is acknowledged ([`super::differentiation`]).
    pub(super) ld_exit: Option<LongTsn>,
    /// One packet of retransmissions may go out whatever cwnd says (RFC 9260 §6.3.3 E3, §7.2.4 (3)).
    pub(super) forced: bool,
    /// Packets with new data sent since `burst_at` (RFC 9260 §6.1 rule D).
    pub(super) burst: u32,
    pub(super) burst_at: Time,
    pub(super) ack: FlowAck,
    /// For a controller that models what the path delivers.
    pub(super) delivery: Option<Box<DeliveryRate>>,
}

impl Flow {
    pub(super) fn new(id: PathId) -> Self {
        Self {
            id,
            log: VecDeque::new(),
            queue: VecDeque::new(),
            marked: 0,
            lost: 0,
            resent: 0,
            unacked: 0,
            earliest: None,
            latest_acked: 0,
            proof_from: 0,
            recovery_exit: None,
            ld_exit: None,
            forced: false,
            burst: 0,
            burst_at: Time::ZERO,
            ack: FlowAck::default(),
            delivery: None,
        }
    }

    /// A chunk is to be sent again on this path.
    pub(super) fn mark(&mut self, tsn: LongTsn) {
        self.marked += 1;
        if self.queue.back().is_none_or(|&back| back < tsn) {
            self.queue.push_back(tsn);
        } else if let Err(index) = self.queue.binary_search(&tsn) {
            self.queue.insert(index, tsn);
        }
    }

    /// The lowest chunk to be sent again on this path.
    pub(super) fn next_marked(&mut self, sent: &Outstanding) -> Option<LongTsn> {
        if self.marked == 0 {
            self.queue.clear();
            return None;
        }
        while let Some(&tsn) = self.queue.front() {
            if sent.at(tsn).is_some_and(|chunk| chunk.fate == Fate::Marked && chunk.target == self.id) {
                return Some(tsn);
            }
            self.queue.pop_front();
        }
        debug_assert!(false, "{} chunks marked on {} and none queued", self.marked, self.id);
        None
    }

    /// The chunk that `next_marked` gave is being sent.
    pub(super) fn unqueue(&mut self) {
        self.marked -= 1;
        self.queue.pop_front();
    }

    /// Finds the lowest outstanding TSN anew, after the one it was ceased to be. Gives the number of chunks looked at.
    pub(super) fn seek_earliest(&mut self, sent: &Outstanding) -> u64 {
        let Some(old) = self.earliest.take().filter(|_| self.unacked > 0) else { return 0 };
        let first = old.max(sent.first());
        let mut tsn = first;
        while let Some(chunk) = sent.at(tsn) {
            if chunk.path == self.id && chunk.fate.is_outstanding() {
                self.earliest = Some(tsn);
                return tsn.above(first);
            }
            tsn = tsn + 1;
        }
        debug_assert!(false, "{} chunks outstanding on {} and none found", self.unacked, self.id);
        tsn.above(first)
    }

    /// A chunk counts as outstanding on this path from now on.
    pub(super) fn adopt(&mut self, tsn: LongTsn) {
        self.unacked += 1;
        self.earliest = Some(self.earliest.map_or(tsn, |earliest| earliest.min(tsn)));
    }

    /// A chunk last sent on this path is taken for lost.
    pub(super) fn note_lost(&mut self, number: SendNumber, wire_len: u64) {
        self.lost += 1;
        if let Some(delivery) = &mut self.delivery {
            delivery.on_lost(number, wire_len);
        }
    }

    /// Puts sendings back in their places: the peer reneged on the chunks. Gives the number of sendings moved.
    pub(super) fn relog(&mut self, mut back: Vec<Sending>) -> u64 {
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

/// The flows of an association, in the order in which their paths were first used. There are few: a linear search is
/// the fastest.
#[derive(Debug, Default)]
pub(super) struct Flows(Vec<Flow>);

impl Flows {
    #[inline]
    pub(super) fn position(&self, id: PathId) -> Option<usize> {
        self.0.iter().position(|flow| flow.id == id)
    }

    /// The flow of a path, made if it is new.
    #[inline]
    pub(super) fn index(&mut self, id: PathId) -> usize {
        self.position(id).unwrap_or_else(|| {
            // Large, and seldom more than one.
            self.0.reserve_exact(1);
            self.0.push(Flow::new(id));
            self.0.len() - 1
        })
    }

    #[inline]
    pub(super) fn of(&self, id: PathId) -> Option<&Flow> {
        self.0.iter().find(|flow| flow.id == id)
    }

    #[inline]
    pub(super) fn of_mut(&mut self, id: PathId) -> Option<&mut Flow> {
        self.0.iter_mut().find(|flow| flow.id == id)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.0.iter_mut()
    }

    pub(super) fn remove(&mut self, id: PathId) -> Option<Flow> {
        self.position(id).map(|index| self.0.remove(index))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl core::ops::Index<usize> for Flows {
    type Output = Flow;
    #[inline]
    fn index(&self, index: usize) -> &Flow {
        &self.0[index]
    }
}

impl core::ops::IndexMut<usize> for Flows {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Flow {
        &mut self.0[index]
    }
}
