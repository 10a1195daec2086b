//! RACK (RFC 8985 §6) for SCTP, per path: detects losses by time. Off by default.
//!
//! A chunk is lost if one sent later on the same path was acknowledged and a reordering window has passed
//! since its own round trip. Only the time of transmissions differs on the wire. [`super::tlp`] is the other
//! half of RACK-TLP. This file does not depend on packets.
//!
//! Two structures of RFC 8985 §5.1 and §5.2 exist already. The number of a transmission gives the order of
//! (xmit_ts, end_seq), and a flow's log is the time-ordered list. A TSN that a SACK reports as duplicate
//! replaces the DSACK. SCTP has no timestamps: a round trip below the minimum RTT shows that the first
//! transmission was acknowledged (§6.2 step 2).
//!
//! RFC 8985 arms one timer for the last chunk of a group; here each chunk is declared lost at its own time.
//! T3-rtx marks all outstanding chunks (RFC 9260 §6.3.3), because only one packet may be in flight after it
//! (RFC 9260 §7.2.3). RFC 8985 §6.3 would exempt the latest ones.

use msctp_units::Time;

use super::Outbound;
use crate::path::{AckSummary, Paths};

impl Outbound {
    /// Updates RACK after a SACK, before losses are detected.
    pub(super) fn update_rack(&self, now: Time, paths: &mut Paths) {
        let (per_path, next) = (paths.recovers_per_path(), self.sent.next());
        for path in paths.iter_mut() {
            let cum_tsn_ack = self.ack_point(path, per_path);
            if let Some(rack) = &mut path.rack {
                rack.on_sack(now, path.rtt.rtt_min(), cum_tsn_ack, next);
            }
        }
    }

    /// Declares chunks lost on each path whose reordering timer expired.
    pub(super) fn rack_timeout(&mut self, now: Time, paths: &mut Paths) {
        self.losses.per_path = paths.recovers_per_path();
        for index in 0..paths.len() {
            let path = paths.at_mut(index);
            // Without a SACK, the summary of the last one must not count twice.
            path.flow.ack = AckSummary::default();
            let timer = path.rack.as_ref().and_then(|rack| rack.reordering_timer);
            if timer.is_some_and(|at| at <= now) {
                self.losses.find_late(now, &self.sent, &self.gaps, path);
            }
        }
        let any_unreported = !self.losses.coverage.unreported.is_empty();
        if self.act_on_losses(now, paths) || any_unreported {
            for index in 0..paths.len() {
                self.settle_t3_rtx(index, now, paths);
            }
        }
    }
}
