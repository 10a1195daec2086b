//! Paths beside the data path that may take new data. Sends nothing.
//!
//! With `PathUse::Aggregate` they are all paths that work, one per network. With `Moves::Fast` one is the
//! previous data path, until the rate of the new one is known. The other is the path that the peer asked for,
//! within its early allowance before it is confirmed.

use msctp_congestion::CoupledPaths;
use msctp_units::Span;
use smallvec::SmallVec;

use super::{Path, PathAddr, PathId, Paths};

impl Path {
    /// Returns the round-trip time of data sent here now; before the first measurement, the RTO.
    ///
    /// SRTT follows a queue late, and a window that opened on an empty path builds one at once. So the
    /// estimate uses the latest round-trip time, and the time in which the path carries its bytes in flight.
    pub(crate) fn expected_round_trip(&self) -> Span {
        let Some(srtt) = self.rtt.srtt() else { return self.rtt.rto() };
        if self.flight_size == 0 {
            return self.rtt.rtt_min().unwrap_or(srtt);
        }
        let Some(carried) = &self.flow.carried else { return srtt };
        let drains = carried.rate().map(|rate| scale(1_000_000_000, self.flight_size, rate));
        let drains = Span::from_nanos(drains.unwrap_or_default());
        srtt.max(drains).max(carried.round_trip.unwrap_or_default())
    }

    /// Returns the number of bytes that the path carries in `span`: a window of at most `buffer` bytes per
    /// round trip.
    ///
    /// The rate is at most the pacing rate, and twice the rate that the path carried before.
    pub(crate) fn carries_in(&self, span: Span, buffer: u64) -> u64 {
        let round_trip = u128::from(self.expected_round_trip().as_nanos().max(1));
        let window = u128::from(self.controller.window().cwnd.min(buffer));
        let windows = window * u128::from(span.as_nanos()) / round_trip;
        let by_window = u64::try_from(windows).unwrap_or(u64::MAX);
        let carried = self.flow.carried.as_ref().and_then(|carried| carried.rate());
        let by_rate =
            carried.map_or(u64::MAX, |rate| scale(rate.saturating_mul(2), span.as_nanos(), 1_000_000_000));
        self.controller.pacing_rate().map_or(u64::MAX, |rate| rate.bytes_in(span)).min(by_window).min(by_rate)
    }

    /// Returns true if the window has room for a full packet behind the retransmissions that are due here.
    pub(crate) fn has_room(&self) -> bool {
        let waiting = (u64::from(self.flow.marked) + 1) * u64::from(self.pmdcs());
        let one = self.controller.one_packet_in_flight();
        self.flight_size + waiting <= self.controller.window().cwnd && !(one && self.flight_size > 0)
    }

    /// Returns the time at which the next chunk sent here would be acknowledged, as the window determines it.
    /// Chunks in flight and marked for this path precede it.
    pub(crate) fn expected_delivery(&self) -> Span {
        let round_trip = self.expected_round_trip();
        let waiting = u64::from(self.flow.marked) * u64::from(self.pmdcs());
        let window = self.controller.window().cwnd.max(1);
        let ahead = (self.flight_size + waiting + u64::from(self.pmdcs())).saturating_sub(window);
        // In windows, each of which takes a round trip.
        round_trip + Span::from_nanos(scale(round_trip.as_nanos(), ahead, window))
    }
}

/// Returns `value` × `times` / `by`.
fn scale(value: u64, times: u64, by: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(times) / u128::from(by.max(1))).unwrap_or(u64::MAX)
}

impl Paths {
    /// Updates the previous data path after a change that may move data. `left` is the path that data left,
    /// if any.
    pub(super) fn keep_former(&mut self, left: Option<PathId>) {
        if !self.config.overlap || self.config.aggregate {
            return;
        }
        let former = left.or(self.former).filter(|&id| Some(id) != self.data_path);
        let former = former.filter(|&id| self.get(id).is_some_and(|path| path.cost().may_be_shared()));
        self.former =
            former.filter(|&id| self.get(id).is_some_and(|path| path.is_confirmed() && path.is_usable()));
    }

    /// Returns true if new data may use more than one path.
    #[inline]
    pub(crate) fn may_have_carriers(&self) -> bool {
        self.former.is_some() || self.wanted_primary.is_some() || self.is_aggregating()
    }

    /// Returns the paths that may take new data, in order of preference.
    ///
    /// The path that the peer requested comes first while unconfirmed, then the data path, then the previous
    /// one. Paths that carry data at once follow by round trip, the shortest first.
    pub(crate) fn carriers(&mut self) -> SmallVec<[PathId; 3]> {
        let mut carriers = SmallVec::new();
        if self.wanted_primary.is_some() {
            carriers.extend(self.early_path().filter(|&id| Some(id) != self.data_path));
        }
        if self.is_aggregating() {
            let early = carriers.len();
            carriers.extend(self.list.iter().filter(|path| path.joined).map(Path::id));
            carriers[early..].sort_by_key(|&id| (self.get(id).map(Path::expected_round_trip), id));
            return carriers;
        }
        carriers.extend(self.data_path);
        if self.former.is_some() {
            carriers.extend(self.overlapping());
        }
        carriers
    }

    /// Returns true if new data may be sent here.
    #[inline]
    pub(crate) fn is_carrier(&self, id: PathId) -> bool {
        Some(id) == self.data_path
            || Some(id) == self.former
            || self.is_aggregating() && self.get(id).is_some_and(|path| path.joined)
            || self.wanted_primary.is_some() && self.early_path() == Some(id)
    }

    /// Returns the path that the peer requested, while it has some early allowance left.
    fn early_path(&self) -> Option<PathId> {
        let id = self.best_to(self.wanted_primary.as_ref()?)?;
        let path = self.get(id)?;
        let may = !path.is_confirmed() && path.may_carry_packet() && path.link_is_up();
        (may && path.source() == super::SourceUse::Full).then_some(id)
    }

    /// Returns the previous data path while the new one searches for its rate.
    ///
    /// Only if its round trip is not the longer one: otherwise its chunks would delay those that overtake
    /// them.
    fn overlapping(&mut self) -> Option<PathId> {
        let former = self.former?;
        let new = self.data_path.and_then(|id| self.get(id));
        let starts = |new: &&Path| new.is_usable() && new.controller.is_starting();
        let round_trips = (self.get(former)?.rtt.srtt(), new.filter(starts).map(|new| new.rtt.srtt()));
        match round_trips {
            (Some(old), Some(Some(new))) if old <= new => Some(former),
            // the rate is not known yet
            (None, Some(_)) | (_, Some(None)) => None,
            (_, None) | (Some(_), Some(Some(_))) => {
                self.former = None;
                None
            }
        }
    }

    /// Records the addresses at which a SACK arrived. This is needed only where several paths may carry data
    /// at once.
    #[inline]
    pub(crate) fn note_sack(&mut self, at: PathAddr) {
        let asked_for = (self.config.overlap || self.config.aggregate) && self.list.len() > 1;
        self.heard_on = if asked_for { self.by_addr(at) } else { None };
    }

    /// Returns the path on which the SACK being processed arrived, if it was recorded.
    #[inline]
    pub(crate) fn heard_on(&self) -> Option<PathId> {
        self.heard_on
    }

    /// Returns true if the SACK being processed may have arrived over another path than this one. While
    /// several paths carry data, the first SACK to arrive acknowledges the data of all.
    #[inline]
    pub(crate) fn is_answered_elsewhere(&self, id: PathId) -> bool {
        self.is_aggregating() || self.heard_on.is_some_and(|heard| heard != id)
    }

    /// Returns true while several paths carry new data at once.
    #[inline]
    pub(crate) fn is_aggregating(&self) -> bool {
        self.joined > 1
    }

    /// Reports the state of the other paths to a coupled controller, before it handles a SACK (RFC 6356 §3).
    #[inline]
    pub(crate) fn couple(&mut self, index: usize) {
        if self.config.aggregate && self.list[index].controller.is_coupled() {
            let carry = |path: &&Path| path.flight_size > 0 || path.flow.ack.bytes > 0;
            let others = self.list.iter().enumerate().filter(|&(other, _)| other != index);
            let coupled =
                others.map(|(_, path)| path).filter(carry).fold(CoupledPaths::default(), |sum, path| {
                    path.rtt.srtt().map_or(sum, |srtt| sum.with(path.controller.window().cwnd, srtt))
                });
            self.list[index].controller.on_other_paths(coupled);
        }
    }

    /// Returns true if chunks of several paths may be outstanding by design, so that loss recovery considers
    /// each path alone.
    #[inline]
    pub(crate) fn recovers_per_path(&self) -> bool {
        self.config.aggregate && self.list.len() > 1
    }

    /// Selects the paths that carry new data at once, after a change of the paths.
    ///
    /// No two of them share a local or a remote address, except where an end has only one: pairs that share
    /// an address share its network. The data path comes first, then the others by id.
    pub(super) fn join_paths(&mut self) {
        if !self.config.aggregate {
            return;
        }
        let joined = self.data_path.map(|id| self.apart(id)).unwrap_or_default();
        // One path alone is the data path.
        self.joined = if joined.len() > 1 { joined.len() as u8 } else { 0 };
        for path in &mut self.list {
            path.joined = self.joined > 0 && joined.contains(&path.id);
        }
    }

    /// Returns the usable paths of networks other than that of `path`, one each, by id.
    pub(crate) fn other_networks(&self, path: PathId) -> SmallVec<[PathId; 4]> {
        let mut paths = self.apart(path);
        paths.retain(|id| *id != path);
        paths
    }

    /// Returns the usable paths that share no address: `first`, then the others by id. Returns none if
    /// `first` is not usable. Others lead to addresses that the peer has listed: an observer may have
    /// answered for any other, and would get a part of the data. A path that costs an end something is alone.
    fn apart(&self, first: PathId) -> SmallVec<[PathId; 4]> {
        let mut chosen: SmallVec<[&Path; 4]> = SmallVec::new();
        let Some(first) = self.get(first).filter(|path| path.is_usable()) else {
            return SmallVec::new();
        };
        let shared = first.cost().may_be_shared();
        let admitted = |path: &Path| {
            path.id == first.id
                || shared && path.cost().may_be_shared() && !self.is_heard_only(&path.addr.remote)
        };
        let usable = || self.list.iter().filter(|path| path.is_usable() && path.confirmed && admitted(path));
        let one_local = usable().all(|path| path.addr.local == first.addr.local);
        let one_remote = usable().all(|path| path.addr.remote == first.addr.remote);
        for path in core::iter::once(first).chain(usable().filter(|path| path.id != first.id)) {
            let apart = |other: &&Path| {
                let (a, b) = (other.addr, path.addr);
                (one_local || a.local != b.local) && (one_remote || a.remote != b.remote)
            };
            if chosen.iter().all(apart) {
                chosen.push(path);
            }
        }
        chosen.iter().map(|path| path.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathsConfig;
    use super::super::testing::{P0, P1, P2, P3, confirmed, confirmed_with, fail, local, ms};
    use super::*;
    use crate::cost::Cost;

    fn aggregate(locals: u8, remotes: u8) -> Paths {
        confirmed_with(PathsConfig { aggregate: true, ..PathsConfig::default() }, locals, remotes)
    }

    fn joined(paths: &Paths) -> Vec<PathId> {
        paths.list.iter().filter(|path| path.joined).map(Path::id).collect()
    }

    #[test]
    fn a_path_that_costs_something_carries_no_data_beside_others() {
        for cost in [Cost { backup: true, metered: false }, Cost { backup: false, metered: true }] {
            let mut paths = aggregate(3, 1);
            paths.set_cost(&local(1), cost);
            assert_eq!(joined(&paths), [P0, P2]);
            paths.set_cost(&local(0), cost);
            assert!(!paths.is_aggregating(), "the data path costs something");
        }
    }

    #[test]
    fn one_path_per_network_carries_data() {
        assert_eq!(joined(&aggregate(2, 1)), [P0, P1]);
        assert_eq!(joined(&aggregate(1, 2)), [P0, P1]);
        // P0 = 0-0, P1 = 1-0, P2 = 0-1, P3 = 1-1
        assert_eq!(joined(&aggregate(2, 2)), [P0, P3], "no address twice");
        assert!(!aggregate(1, 1).is_aggregating() && !confirmed(2, 1).is_aggregating());
    }

    #[test]
    fn paths_that_do_not_work_carry_nothing() {
        let mut paths = aggregate(2, 2);
        fail(&mut paths, P3);
        assert!(!paths.is_aggregating(), "P1 and P2 share an address with the data path");
        paths.on_acknowledged(P3);
        paths.set_link(&local(1), false, ms(1));
        assert_eq!(joined(&paths), [P0, P2], "of one local address");
        assert!(!paths.is_carrier(P3));
        paths.set_link(&local(1), true, ms(2));
        paths.set_primary(P1).unwrap();
        assert_eq!(joined(&paths), [P1, P2], "the data path is one of them");
    }

    #[test]
    fn the_shortest_round_trip_comes_first() {
        let mut paths = aggregate(3, 1);
        paths.get_mut(P1).unwrap().rtt.on_measurement(Span::from_millis(20));
        paths.get_mut(P2).unwrap().rtt.on_measurement(Span::from_millis(10));
        assert_eq!(paths.carriers()[..], [P2, P1, P0], "the RTO of a path without measurement");
    }
}
