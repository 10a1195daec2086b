//! Checks in debug builds that an association never waits without a timer.

use super::Association;
use crate::stats::AssociationState as State;

impl Association {
    /// Panics if data may be sent or is in flight, and no timer would ever continue it.
    ///
    /// Call it when nothing is left to send. A peer that fell silent is otherwise never noticed, and a window
    /// that opened in a lost SACK stays closed.
    pub(super) fn assert_timed(&self) {
        let may_send =
            matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived);
        // Without keys, or without the proof that the peer has them, key management continues.
        let keyed = self.protection.is_none() || self.seals() && !self.awaits_proof();
        if !may_send || !keyed {
            return;
        }
        let untimed = self.outbound.untimed(&self.paths);
        assert!(untimed.is_none(), "{untimed:?} and no timer runs: {self:?}");
        // No path may carry data: the verification of one, or a request, continues.
        let held = self.outbound.unsent() > 0 && self.paths.data_path().is_none();
        let verifiable = self.paths.iter().any(crate::path::Path::may_heartbeat);
        assert!(
            !held || !verifiable || self.poll_timeout().is_some(),
            "data waits for a path, and no timer runs: {self:?}"
        );
    }
}
