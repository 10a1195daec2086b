//! Several paths at once (`PathUse::Aggregate`, concurrent multipath transfer): which path takes new data and
//! retransmissions, and SACKs that overtake each other.
//!
//! Loss recovery is per path (CMT's split fast retransmit and cumulative ack tracking): [`super::sack`],
//! [`super::detector`] and [`super::tlp`] ask [`Paths::recovers_per_path`]. This file does not depend on
//! packets.
//!
//! The scheduler looks at one packet at a time. The path with the shortest round trip takes it if its window
//! and its pacer allow, otherwise the next one. A path takes none while:
//!
//! - the fastest path that takes data would have carried all unsent data before this one delivers the packet
//!   (ECF, Lim et al. 2017): the last data would wait for the slower path. An application that had data
//!   queued at every look for a round trip is expected to continue;
//! - what the path with the highest rate carries during this one's round trip exceeds the peer's receive
//!   window or the send buffer (BLEST, Ferlin et al. 2016): one of them would be full behind the packet.
//!
//! If that happens all the same, the chunks at the left edge are retransmitted on a faster path
//! (opportunistic retransmission, Raiciu et al. 2012).

use core::cmp::Reverse;

use msctp_units::{Span, Time};

use super::Outbound;
use super::chunk::Fate;
use super::sack::Processing;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths};

/// Sender state while several paths carry data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The path and the arrival time of the newest SACK.
    newest_sack: Option<(PathId, Time)>,
    /// Since then unsent data was there at every look: the application sends faster than the paths.
    pub(super) supplied_since: Option<Time>,
}

impl Outbound {
    /// Returns the path that takes the next packet with new data.
    pub(super) fn next_aggregate(&mut self, now: Time, max: usize, paths: &mut Paths) -> Option<PathId> {
        let supplied = &mut self.aggregation.get_or_insert_default().supplied_since;
        // With a full send buffer the application waits for the sender, not the sender for it.
        let idle = self.queue.is_idle();
        *supplied = if idle && !self.enqueue_rejected { None } else { supplied.or(Some(now)) };
        let carriers = paths.carriers();
        let main = self.main_path(&carriers, paths)?;
        let mut fastest = None;
        for id in carriers {
            if self.would_block(id, main, max, paths) {
                // It takes no data, so that no other path waits for it: each would leave the data to the
                // other.
                self.hold(id, paths);
                continue;
            }
            if fastest.is_some_and(|fast| self.ends_sooner(now, fast, id, paths)) {
                self.hold(id, paths);
            } else if self.offer(now, id, max, paths) {
                self.ready_path = Some(id);
                return self.ready_path;
            }
            fastest = fastest.or(Some(id));
        }
        let blocked = self.window_is_closed(max) || idle && self.enqueue_rejected;
        (blocked && self.unblock(now, main, paths)).then_some(main)
    }

    /// Returns since when unsent data was there at every look.
    fn supplied_since(&self) -> Option<Time> {
        self.aggregation.as_ref()?.supplied_since
    }

    /// Returns the path that would carry most alone, within the buffers of both ends.
    fn main_path(&self, carriers: &[PathId], paths: &Paths) -> Option<PathId> {
        let buffer = self.a_rwnd.min(self.send_buffer);
        let rate = |id: PathId| paths.get(id).map(|path| path.carries_in(Span::from_secs(1), buffer));
        carriers.iter().copied().min_by_key(|&id| (Reverse(rate(id)), id))
    }

    /// Returns true if the fast path would carry all unsent data before `slow` delivers a packet (ECF).
    ///
    /// An application that keeps some data queued all the time will continue: its end is far.
    fn ends_sooner(&self, now: Time, fast: PathId, slow: PathId, paths: &Paths) -> bool {
        let (Some(fast), Some(slow)) = (paths.get(fast), paths.get(slow)) else { return false };
        let round_trip = slow.expected_round_trip();
        let steady = self.supplied_since().is_some_and(|since| since + round_trip <= now);
        let before = round_trip.saturating_sub(fast.expected_round_trip());
        !steady && self.queue.bytes() < fast.carries_in(before, u64::MAX)
    }

    /// Returns true if a packet on path `id` would stop the main path: it fills a buffer behind the packet
    /// (BLEST).
    ///
    /// What is in flight on the main path is free again by then. The packet stays in the send buffer as long
    /// as in the window.
    fn would_block(&self, id: PathId, main: PathId, max: usize, paths: &Paths) -> bool {
        let (Some(slow), Some(fast)) = (paths.get(id), paths.get(main)) else { return false };
        if id == main {
            return false;
        }
        let unsent_room = self.send_buffer.saturating_sub(self.sent_bytes);
        let room = self.rwnd().min(unsent_room as i64) + fast.flight_size as i64;
        let late = slow.expected_round_trip() + slow.rtt.rttvar().unwrap_or_default();
        let overtaking = i64::try_from(fast.carries_in(late, u64::MAX)).unwrap_or(i64::MAX);
        overtaking.saturating_add(max as i64) > room
    }

    /// Notes that a path gets no data although its window allows it.
    fn hold(&self, id: PathId, paths: &mut Paths) {
        if let Some(path) = paths.get_mut(id) {
            super::fill::note_limited(path);
            path.on_nothing_paced();
        }
    }

    /// Retransmits the chunks that keep the window closed or the send buffer full on path `by`, if they
    /// arrive sooner that way. Returns true if a packet may leave there now.
    #[cold]
    fn unblock(&mut self, now: Time, by: PathId, paths: &mut Paths) -> bool {
        let blocking = self.sent.at(self.sent.first()).filter(|chunk| chunk.fate == Fate::InFlight);
        // Once per chunk: the path with the highest rate may change.
        let Some(chunk) = blocking.filter(|chunk| chunk.path != by && !chunk.again) else { return false };
        let (slow, sent) = (chunk.path, chunk.sent);
        let (Some(from), Some(to)) = (paths.get(slow), paths.get(by)) else { return false };
        let arrives = sent + from.expected_round_trip();
        let late = now > arrives + from.rtt.rttvar().unwrap_or_default();
        let sooner = late || now + to.expected_round_trip() < arrives;
        if !sooner || !to.has_room() || !to.is_usable() {
            return false;
        }
        if self.retransmit_on(slow, by, u64::MAX, paths).is_none() {
            return false;
        }
        if let Some(from) = paths.get_mut(slow) {
            from.stop_t3_rtx_if_drained(self.forward.runs_t3_rtx_on(slow));
        }
        let Some(path) = paths.get_mut(by) else { return false };
        self.may_retransmit(path) && self.may_leave(now, path)
    }

    /// Returns the path for the retransmission of a chunk lost on `last`: the same, unless another one has
    /// room in its window and delivers sooner.
    pub(super) fn repair_path(last: PathId, paths: &Paths) -> PathId {
        let Some(same) = paths.get(last).filter(|_| paths.is_aggregating()) else { return last };
        let sooner = |id: PathId| {
            paths.get(id).is_some_and(|path| {
                let variation = path.rtt.rttvar().unwrap_or_default();
                path.has_room() && path.expected_delivery() + variation < same.expected_round_trip()
            })
        };
        Self::soonest(|id| id != last && sooner(id), paths).unwrap_or(last)
    }

    /// Returns the path that delivers a retransmission first other than `last`, whose T3-rtx expired.
    pub(super) fn repair_path_beside(last: PathId, paths: &Paths) -> PathId {
        let other = Self::soonest(|id| id != last, paths);
        other.or_else(|| paths.retransmission_path(last)).unwrap_or(last)
    }

    /// Returns the admitted path for data on which the next retransmission arrives first.
    fn soonest(admitted: impl Fn(PathId) -> bool, paths: &Paths) -> Option<PathId> {
        let usable = |path: &&Path| path.is_usable() && paths.is_carrier(path.id()) && admitted(path.id());
        paths.iter().filter(usable).min_by_key(|path| (path.expected_delivery(), path.id())).map(Path::id)
    }

    /// Returns what is in flight on paths whose link went down to the other paths at once.
    pub(crate) fn on_link_down(&mut self, now: Time, paths: &mut Paths) {
        if !paths.recovers_per_path() {
            return;
        }
        for index in 0..paths.len() {
            let path = paths.at(index);
            let (id, stranded) = (path.id(), !path.link_is_up() && path.flight_size > 0);
            let target = Self::repair_path(id, paths);
            let target = if target == id { paths.data_path().unwrap_or(id) } else { target };
            if !stranded || !paths.get(target).is_some_and(Path::is_usable) {
                continue;
            }
            self.leave_path(now, id, target, paths);
        }
    }

    /// Returns the TSN up to which nothing sent on a path is outstanding, for its loss recovery.
    ///
    /// With one path for data it is the Cumulative TSN Ack Point. `path.flow.earliest` must be up to date.
    #[inline]
    pub(super) fn ack_point(&self, path: &Path, per_path: bool) -> LongTsn {
        if !per_path {
            return self.sent.cum_tsn_ack();
        }
        let earliest = path.flow.earliest.unwrap_or(self.sent.next());
        (earliest - 1).max(self.sent.cum_tsn_ack())
    }

    /// Updates the earliest outstanding chunk of each path after a SACK, where recovery is per path.
    pub(super) fn seek_ack_points(&mut self, paths: &mut Paths) {
        for path in paths.iter_mut().filter(|path| path.flow.ack.earliest) {
            self.reneging_budget.spend(self.sent.seek_earliest(path));
        }
    }

    /// Returns true if a SACK was overtaken by another one that left on another path: its Cumulative TSN Ack
    /// is the last one's. What it lacks then says nothing.
    ///
    /// After an RTO without newer SACKs it is taken as it is: a peer may change the path of its SACKs, and
    /// may renege.
    pub(super) fn is_overtaken(&self, processing: Processing, paths: &Paths) -> bool {
        let newest = self.aggregation.as_ref().and_then(|aggregation| aggregation.newest_sack);
        let (Some((newest, at)), Some(heard_on)) = (newest, paths.heard_on()) else { return false };
        let rto = paths.get(heard_on).map_or(Span::ZERO, |path| path.rtt.rto());
        !processing.advanced && newest != heard_on && processing.now < at + rto
    }

    /// Records a SACK with news, or one that was not overtaken.
    pub(super) fn note_newest_sack(&mut self, now: Time, paths: &Paths) {
        self.aggregation.get_or_insert_default().newest_sack = paths.heard_on().map(|path| (path, now));
    }
}
