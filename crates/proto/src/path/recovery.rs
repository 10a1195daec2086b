//! The effects of acknowledgements, losses and timers on a path: window, T3-rtx, Fast Recovery.
//!
//! The only calls of [`Controller::on_ack`](msctp_congestion::Controller::on_ack), `on_loss` and
//! `on_recovery_exit` are here.

use msctp_congestion::{Ack, Loss, LossKind, Prr};
use msctp_units::{Span, Time};

use super::{Evidence, Path};
use crate::long_tsn::LongTsn;

impl Path {
    /// Starts or restarts T3-rtx (RFC 9260 §6.3.2 R1, R3).
    #[inline]
    pub(crate) fn start_t3_rtx(&mut self, now: Time) {
        self.t3_rtx = Some(now + self.rtt.rto());
    }

    /// Restarts a running T3-rtx with the current RTO if that is sooner, because a back-off has ended.
    fn shorten_t3_rtx(&mut self, now: Time) {
        let soon = now + self.rtt.rto();
        self.t3_rtx = self.t3_rtx.map(|at| at.min(soon));
    }

    /// Adds a measurement of the round-trip time, which ends a back-off (RFC 9260 §6.3.3).
    ///
    /// A T3-rtx that was started with the backed-off RTO would keep the data waiting for up to RTO.Max on a
    /// path that has just answered. It restarts with the new RTO, as it does for an acknowledgement of the
    /// earliest outstanding TSN (§6.3.2 R3). Returns true if there was a back-off.
    pub(crate) fn measure_round_trip(&mut self, now: Time, rtt: Span) -> bool {
        let backed_off = self.rtt.is_backed_off();
        self.rtt.on_measurement(rtt);
        if backed_off {
            self.shorten_t3_rtx(now);
        }
        backed_off
    }

    /// Limits a back-off of the RTO to `limit`, that of a running T3-rtx included.
    pub(super) fn limit_back_off(&mut self, limit: Span, now: Time) {
        self.rtt.limit_back_off(limit);
        self.shorten_t3_rtx(now);
    }

    /// Stops T3-rtx if nothing is in flight (RFC 9260 §6.3.2 R2), unless it runs for a FORWARD TSN too.
    pub(crate) fn stop_t3_rtx_if_drained(&mut self, runs_for_forward_tsn: bool) {
        self.t3_rtx = self.t3_rtx.filter(|_| self.flight_size > 0 || runs_for_forward_tsn);
    }

    /// Applies the summary of a SACK to the window (RFC 9260 §7.2.1, §7.2.2).
    ///
    /// `flight_size_before`: bytes in flight before the SACK.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        flight_size_before: u64,
        cum_tsn_advanced: bool,
        answered_elsewhere: bool,
    ) {
        let ack = &self.flow.ack;
        let nothing_outstanding = self.flow.unacked == 0;
        self.bytes_acked += ack.bytes;
        if let Some(delivery) = &mut self.flow.delivery {
            while let Some(lost) = delivery.take_lost() {
                self.controller.on_packet_lost(now, &lost);
            }
            if let Some(sample) = delivery.sample(now, self.flight_size) {
                self.controller.on_delivery(&sample);
            }
        }
        if ack.bytes > 0 || (flight_size_before > 0 && nothing_outstanding) {
            self.controller.on_ack(&Ack {
                now,
                bytes_acked: ack.bytes,
                duplicate_bytes: ack.duplicates,
                flight_size_before,
                cum_tsn_advanced,
                in_fast_recovery: ack.in_recovery || ack.in_ld,
                nothing_outstanding,
                // For every SACK, unlike SRTT and RTO (RFC 9260 §6.3.1 C4): HyStart++ needs it.
                rtt: ack.latest_sent.map(|sent| now.since(sent)),
                srtt: self.rtt.srtt(),
                answered_elsewhere,
            });
        }
    }

    /// Reports a loss or an ECN mark to the controller.
    pub(crate) fn on_loss(&mut self, now: Time, kind: LossKind) {
        self.controller.on_loss(&Loss { now, kind, flight_size: self.flight_size });
    }

    /// Enters Fast Recovery up to TSN `exit` (RFC 9260 §7.2.4 (2), (3), (6)).
    ///
    /// `covered`: an ECNE already reduced the window for the same losses.
    pub(crate) fn enter_fast_recovery(&mut self, now: Time, exit: LongTsn, covered: bool, use_prr: bool) {
        if !covered {
            self.on_loss(now, LossKind::Gap);
        }
        self.flow.forced = true;
        self.flow.recovery_exit = Some(exit);
        let ssthresh = self.controller.window().ssthresh;
        self.prr = (use_prr && ssthresh < u64::MAX).then(|| {
            let recover_fs = self.flight_size + self.flow.ack.left_flight;
            Box::new(Prr::new(ssthresh, recover_fs, u64::from(self.pmdcs)))
        });
    }

    /// Leaves Fast Recovery and LD recovery when their last TSN is acknowledged (RFC 9260 §7.2.4 (6)).
    #[inline]
    pub(crate) fn leave_recovery(&mut self, now: Time, cum_tsn_ack: LongTsn) {
        self.flow.ld_exit.take_if(|exit| *exit <= cum_tsn_ack);
        if self.flow.recovery_exit.take_if(|exit| *exit <= cum_tsn_ack).is_some() {
            if let Some(rack) = &mut self.rack {
                rack.on_recovery_exit();
            }
            self.prr = None;
            self.controller.on_recovery_exit(now);
        }
    }

    /// Returns whether the path still answers when T3-rtx expires: in the last half of the RTO.
    ///
    /// A chunk of which each retransmission is lost leaves T3-rtx running (RFC 9260 §6.3.2 R3), while those
    /// behind it are acknowledged by gap blocks.
    pub(crate) fn evidence_at_t3(&self, now: Time) -> Evidence {
        if self.answered + self.rtt.rto() / 2 > now { Evidence::Answers } else { Evidence::Silent }
    }

    /// Applies an expiration of T3-rtx (RFC 9260 §6.3.3 E1, E2) and returns the new RTO.
    ///
    /// `last`: the last TSN sent. `counts`: the path failed to answer, so the window is reduced.
    pub(crate) fn on_t3_rtx_expired(&mut self, now: Time, last: LongTsn, counts: bool) -> Span {
        if let Some(detector) = &mut self.silence {
            detector.on_timeout();
        }
        self.t3_rtx = None;
        self.timeouts += 1;
        self.rtt.back_off();
        if counts {
            self.on_timeout_loss(now, last);
        }
        self.rtt.rto()
    }

    /// Reduces the window as for a T3-rtx expiration; ECN marks on chunks up to `last` reduce it no further.
    pub(crate) fn on_timeout_loss(&mut self, now: Time, last: LongTsn) {
        self.on_loss(now, LossKind::Timeout);
        self.flow.loss_reduced = Some(last);
    }

    /// Ends every recovery, because all chunks in flight are marked for retransmission.
    ///
    /// Slow start follows, which Fast Recovery would forbid (RFC 9260 §7.2.1). The RFC leaves this open.
    pub(crate) fn end_recoveries(&mut self, now: Time, last: LongTsn) {
        if let Some(rack) = &mut self.rack {
            rack.on_timeout(last);
        }
        self.prr = None;
        self.loss_probe = false;
        self.flow.ld_exit = None;
        if self.flow.recovery_exit.take().is_some() {
            self.controller.on_recovery_exit(now);
        }
    }

    /// Drops all chunks sent here when the association ends or restarts. Stops T3-rtx.
    pub(crate) fn forget_data(&mut self) {
        self.flight_size = 0;
        self.t3_rtx = None;
        self.rtt_slot = None;
        self.prr = None;
        self.loss_probe = false;
        self.flow = super::Flow::default();
        self.rack = None;
        self.silence = None;
    }
}
