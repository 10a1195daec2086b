//! RACK (RFC 8985 §6) in SCTP's terms, per path: a chunk is lost when one sent later on the same path was acknowledged
//! and a reordering window has passed since its own round trip was over. Off by default; only the time of sending
//! differs on the wire. [`super::tlp`] is its other half. Knows no packets.
//!
//! Two structures of RFC 8985 §5 exist already: the number of a sending orders transmissions as (xmit_ts, end_seq) does,
//! and a flow's log is the time-ordered list. A TSN that a SACK reports as duplicate is the DSACK. There are no timestamps:
//! only time tells that a round trip below the least one belongs to the first sending (§6.2 step 2).
//!
//! RFC 8985 arms one timer for the last chunk of a group; here each chunk is declared lost at its own time. On T3-rtx
//! everything outstanding is marked, as RFC 9260 §6.3.3 does (RFC 8985 §6.3 spares what was sent last): one packet may be
//! in flight after it (RFC 9260 §7.2.3).

use msctp_units::Time;

use super::Outbound;
use crate::path::{AckSummary, DUP_THRESH, Paths};

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

    /// RFC 8985 §6.2 step 5 on one path: puts lost chunks into `newly_lost` and arms the timer for the next one. Examines
    /// each sending once, but for the first that is not lost yet.
    pub(super) fn find_lost(&mut self, now: Time, index: usize, paths: &mut Paths) {
        let path = paths.at_mut(index);
        let Some(rack) = &mut path.rack else { return };
        rack.reordering_timer = None;
        let Some(latest) = rack.latest else { return };
        let recovering = path.flow.recovery_exit.is_some() || rack.recovers_from_timeout();
        let sacked = self.gaps.count(DUP_THRESH);
        let wait = rack.rtt + rack.reordering_window(&path.rtt, recovering, sacked);
        while let Some(&sending) = path.flow.log.front().filter(|sending| sending.number < latest) {
            if self.sent.is_in_flight(&sending)
                && let Some(chunk) = self.sent.at(sending.tsn)
            {
                let lost_at = chunk.sent + wait;
                if lost_at > now {
                    rack.reordering_timer = Some(lost_at);
                    return;
                }
                self.newly_lost.push(sending.tsn);
            }
            path.flow.log.pop_front();
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
                self.find_lost(now, index, paths);
            }
        }
        if !self.newly_lost.is_empty() {
            self.fast_retransmit(now, paths);
            for index in 0..paths.len() {
                self.settle_t3_rtx(index, now, paths);
            }
        }
    }
}
