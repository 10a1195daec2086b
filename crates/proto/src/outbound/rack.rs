//! RACK (RFC 8985 §6) in SCTP's terms, per path: a chunk is lost when one sent later on the same path was acknowledged
//! and a reordering window has passed since its own round trip was over. Off by default; only the time of sending
//! differs on the wire. [`super::tlp`] is its other half. Knows no packets.
//!
//! Two structures of RFC 8985 §5.1 and §5.2 exist already: the number of a sending orders transmissions as (xmit_ts, end_seq) does,
//! and a flow's log is the time-ordered list. A TSN that a SACK reports as duplicate is the DSACK. There are no timestamps:
//! only time tells that a round trip below the least one belongs to the first sending (§6.2 step 2).
//!
//! RFC 8985 arms one timer for the last chunk of a group; here each chunk is declared lost at its own time. On T3-rtx
//! everything outstanding is marked, as RFC 9260 §6.3.3 does (RFC 8985 §6.3 spares what was sent last): one packet may be
//! in flight after it (RFC 9260 §7.2.3).

use msctp_units::Time;

use super::Outbound;
use crate::path::{AckSummary, Paths};

impl Outbound {
    /// Updates RACK from the SACK that was taken in, before losses are detected.
    pub(super) fn update_rack(&self, now: Time, paths: &mut Paths) {
        let (cum_tsn_ack, next) = (self.sent.cum_tsn_ack(), self.sent.next());
        for path in paths.iter_mut() {
            if let Some(rack) = &mut path.rack {
                rack.on_sack(now, path.rtt.rtt_min(), cum_tsn_ack, next);
            }
        }
    }

    /// Declares chunks lost on each path whose reordering timer expired.
    pub(super) fn rack_timeout(&mut self, now: Time, paths: &mut Paths) {
        for index in 0..paths.len() {
            let path = paths.at_mut(index);
            // There is no SACK: its summary must not count twice.
            path.flow.ack = AckSummary::default();
            let timer = path.rack.as_ref().and_then(|rack| rack.reordering_timer);
            if timer.is_some_and(|at| at <= now) {
                self.losses.find_late(now, &self.sent, &self.gaps, path);
            }
        }
        if !self.losses.newly_lost.is_empty() {
            self.fast_retransmit(now, paths);
            for index in 0..paths.len() {
                self.settle_t3_rtx(index, now, paths);
            }
        }
    }
}
