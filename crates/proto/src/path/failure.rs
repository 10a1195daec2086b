//! Error counters of paths and association (RFC 9260 §8.1, §8.2).

use msctp_units::Time;

use super::{PathAddr, PathEvent, PathId, PathState, Paths};

impl Paths {
    /// Something sent on the path to get an answer was not answered in time: T3-rtx expired (RFC 9260 §8.2) or T4-rto
    /// did (RFC 5061 §5.1 B1, B2). Counts for the path and the association. The RTO is the caller's to back off.
    pub fn on_timeout(&mut self, id: PathId) {
        if let Some(index) = self.index(id) {
            self.count_path_error(index);
        }
        // RFC 9260 §8.1. Counted even if the path is gone: the peer did not answer.
        self.count_assoc_error();
    }

    /// Data sent on the path was acknowledged, or a request (RFC 5061 §5.1 A5): clears both counters; an inactive path is
    /// active again (RFC 9260 §8.1, §8.2).
    #[inline]
    pub fn on_acknowledged(&mut self, id: PathId) {
        self.assoc_error_count = 0;
        let Some(index) = self.index(id) else { return };
        let path = &mut self.list[index];
        path.error_count = 0;
        if path.state == PathState::Inactive && path.confirmed {
            self.set_state(index, PathState::Active);
        }
    }

    /// A request that was last sent on path `id` was answered by a packet that came at `at` (RFC 5061 §5.1 A5). If that is the
    /// same pair, and its remote address was confirmed before, the pair is confirmed too: an interface that replaces
    /// another needs no further round trip before data.
    pub fn on_request_answered(&mut self, id: PathId, at: PathAddr, now: Time) {
        self.on_acknowledged(id);
        if self.get(id).is_some_and(|path| path.addr == at) && self.remote_is_confirmed(&at.remote) {
            self.confirm(id, now);
        }
    }

    /// Errors in a row over all paths (RFC 9260 §8.1).
    pub fn assoc_error_count(&self) -> u32 {
        self.assoc_error_count
    }

    /// The association's counter alone: for T1 and T2, whose limits are the association's own business, and for a
    /// heartbeat unanswered on the data path.
    pub(super) fn count_assoc_error(&mut self) {
        let limit = self.config.assoc_max_retrans;
        // RFC 9260 §8.1: "exceeds"
        if self.assoc_error_count == limit {
            self.emit(PathEvent::PeerUnreachable);
        }
        self.assoc_error_count = self.assoc_error_count.saturating_add(1).min(limit.saturating_add(1));
    }

    pub(super) fn count_path_error(&mut self, index: usize) {
        let limit = self.config.path_max_retrans;
        let path = &mut self.list[index];
        path.error_count = path.error_count.saturating_add(1);
        // RFC 9260 §8.2: "exceeds"
        if path.error_count > limit && path.state != PathState::Inactive {
            self.set_state(index, PathState::Inactive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceUse;
    use super::super::testing::{P0, P1, confirmed, events, fail, local, ms, remote};
    use super::*;

    #[test]
    fn a_path_becomes_inactive_when_its_counter_exceeds_path_max_retrans() {
        // RFC 9260 §8.2
        let mut paths = confirmed(2, 1);
        for _ in 0..5 {
            paths.on_timeout(P0);
        }
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Active, "5 do not exceed 5");
        paths.on_timeout(P0);
        assert_eq!(
            events(&mut paths),
            [
                PathEvent::StateChanged { path: P0, from: PathState::Active, to: PathState::Inactive },
                PathEvent::DataPathChanged { from: Some(P0), to: Some(P1) },
            ]
        );
    }

    #[test]
    fn an_acknowledgement_clears_both_counters_and_revives_the_path() {
        // RFC 9260 §8.1, §8.2
        let mut paths = confirmed(1, 1);
        fail(&mut paths, P0);
        paths.on_timeout(P0);
        events(&mut paths);
        paths.on_acknowledged(P0);
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (0, 0));
        assert_eq!(
            events(&mut paths),
            [PathEvent::StateChanged { path: P0, from: PathState::Inactive, to: PathState::Active }]
        );
    }

    #[test]
    fn the_peer_is_unreachable_when_the_common_counter_exceeds_its_limit() {
        // RFC 9260 §8.1: over all paths together
        let mut paths = confirmed(2, 1);
        for n in 0..10 {
            paths.on_timeout(if n % 2 == 0 { P0 } else { P1 });
        }
        assert_eq!(events(&mut paths), []);
        paths.on_timeout(P0);
        let told = events(&mut paths);
        assert_eq!(told.iter().filter(|event| **event == PathEvent::PeerUnreachable).count(), 1);
        paths.on_timeout(P0);
        assert!(!events(&mut paths).contains(&PathEvent::PeerUnreachable), "told once");
    }

    #[test]
    fn a_request_answered_over_the_same_pair_confirms_it_if_the_address_is() {
        // RFC 9260 §5.4 is about addresses
        let mut paths = confirmed(1, 1);
        let new = paths.add_local(local(1), SourceUse::AsconfOnly, ms(0)).unwrap()[0];
        let at = paths.get(new).unwrap().addr();
        paths.on_request_answered(new, paths.get(P0).unwrap().addr(), ms(1));
        assert!(!paths.get(new).unwrap().is_confirmed(), "answered over another pair");
        paths.on_request_answered(new, at, ms(1));
        assert!(paths.get(new).unwrap().is_confirmed());
        let stranger = paths.add_remote(remote(1), ms(2)).unwrap()[0];
        paths.on_request_answered(stranger, paths.get(stranger).unwrap().addr(), ms(3));
        assert!(!paths.get(stranger).unwrap().is_confirmed(), "the address was never verified");
    }

    #[test]
    fn a_timeout_on_a_path_that_is_gone_still_counts_for_the_association() {
        let mut paths = confirmed(1, 1);
        paths.on_timeout(P1);
        assert_eq!(paths.assoc_error_count(), 1);
    }
}
