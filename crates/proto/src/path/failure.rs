//! Error counters of paths and association (RFC 9260 §8.1, §8.2).

use super::{PathEvent, PathId, PathState, Paths};

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
