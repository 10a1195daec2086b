//! [`Rack`]: the state of RACK-TLP (RFC 8985 §5.3, §7.1) for one path. `outbound::rack` and `outbound::tlp`
//! use it.
//!
//! Does not depend on packets.

use std::collections::VecDeque;

use msctp_congestion::RttEstimator;
use msctp_units::{Span, Time};

use super::flow::SendNumber;
use crate::long_tsn::LongTsn;

/// RFC 8985 §6.2 step 4: DupThresh.
pub(crate) const DUP_THRESH: u64 = 3;
/// Number of recoveries without a DSACK after which the reordering window is reset (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;
/// Number of retransmissions stored to find the path of a duplicate TSN. This end's SACKs report 32.
const REMEMBERED: usize = 64;

/// The latest transmission known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    number: SendNumber,
    sent: Time,
}

/// The RACK-TLP state of one path.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq.
    pub(crate) latest: Option<SendNumber>,
    /// RACK.rtt
    pub(crate) rtt: Span,
    /// RACK.fack
    fack: Option<LongTsn>,
    reordering_seen: bool,
    /// RACK.dsack_round
    dsack_round: Option<LongTsn>,
    /// RACK.reo_wnd_mult − 1
    widened: u64,
    /// Number of recoveries since the last DSACK, up to `PERSIST`; RACK.reo_wnd_persist counts them down.
    recoveries: u32,
    /// Latest transmissions acknowledged by the current SACK: of a chunk sent once, and of a retransmitted
    /// one.
    once: Option<Delivered>,
    again: Option<Delivered>,
    /// True if the current SACK reports a retransmission on this path as duplicate.
    duplicate: bool,
    /// Retransmissions on this path, oldest first.
    resent: VecDeque<LongTsn>,
    /// Time at which the next chunk is declared lost unless acknowledged (RFC 8985 §5.4).
    pub(crate) reordering_timer: Option<Time>,
    /// TSN up to which chunks are being retransmitted after T3-rtx expired.
    timeout_exit: Option<LongTsn>,
    pub(crate) tlp: Tlp,
}

impl Rack {
    /// Records an acknowledged chunk, in the order of TSNs (RFC 8985 §6.2 steps 2 and 3).
    pub(crate) fn on_delivered(&mut self, tsn: LongTsn, number: SendNumber, sent: Time, again: bool) {
        let kind = if again { &mut self.again } else { &mut self.once };
        if kind.is_none_or(|latest| latest.number < number) {
            *kind = Some(Delivered { number, sent });
        }
        match self.fack {
            Some(fack) if tsn < fack => self.reordering_seen |= !again,
            _ => self.fack = Some(tsn),
        }
    }

    /// Returns the highest TSN delivered on the path.
    pub(crate) fn highest_delivered(&self) -> LongTsn {
        self.fack.unwrap_or(LongTsn::LEAST)
    }

    /// Processes a SACK after its chunks were recorded. `rtt_min`: the path's minimum RTT; `next`: SND.NXT.
    pub(crate) fn on_sack(&mut self, now: Time, rtt_min: Option<Span>, cum_tsn_ack: LongTsn, next: LongTsn) {
        self.update(now, rtt_min);
        self.adapt(cum_tsn_ack, next);
        if self.timeout_exit.take_if(|exit| *exit <= cum_tsn_ack).is_some() {
            self.on_recovery_exit();
        }
    }

    /// Updates the latest acknowledged transmission and its round trip (RFC 8985 §6.2 step 2).
    fn update(&mut self, now: Time, rtt_min: Option<Span>) {
        let (once, again) = (self.once.take(), self.again.take());
        // Sooner than the minimum RTT: the first transmission was acknowledged, not the last.
        let again = again.filter(|sending| rtt_min.is_none_or(|least| now.since(sending.sent) >= least));
        for sending in [once, again].into_iter().flatten() {
            if self.latest.is_none_or(|latest| latest < sending.number) {
                self.latest = Some(sending.number);
                self.rtt = now.since(sending.sent);
            }
        }
    }

    /// Widens the reordering window at most once a round trip with duplicates (RFC 8985 §6.2 step 4).
    fn adapt(&mut self, cum_tsn_ack: LongTsn, next: LongTsn) {
        self.dsack_round.take_if(|round| cum_tsn_ack + 1 >= *round);
        if core::mem::take(&mut self.duplicate) && self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.widened = self.widened.saturating_add(1);
            self.recoveries = 0;
        }
    }

    /// Counts a finished recovery (RFC 8985 §6.2 step 4).
    pub(crate) fn on_recovery_exit(&mut self) {
        self.recoveries = (self.recoveries + 1).min(PERSIST);
        if self.recoveries == PERSIST {
            self.widened = 0;
        }
    }

    /// Returns RACK.reo_wnd (RFC 8985 §6.2 step 4). `sacked`: number of chunks acknowledged by gap blocks.
    pub(crate) fn reordering_window(&self, rtt: &RttEstimator, recovering: bool, sacked: u64) -> Span {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        let quarter = rtt.rtt_min().unwrap_or_default() / 4;
        (quarter * self.widened.saturating_add(1)).min(rtt.srtt().unwrap_or(Span::MAX))
    }

    /// Returns true while chunks outstanding at the last T3-rtx expiration are being retransmitted.
    pub(crate) fn recovers_from_timeout(&self) -> bool {
        self.timeout_exit.is_some()
    }

    /// Records a retransmission on the path.
    pub(crate) fn on_resent(&mut self, tsn: LongTsn) {
        if self.resent.len() == REMEMBERED {
            self.resent.pop_front();
        }
        self.resent.push_back(tsn);
    }

    /// Records a TSN reported as duplicate. It counts if the chunk was retransmitted here; otherwise the
    /// network duplicated it.
    pub(crate) fn on_duplicate(&mut self, tsn: LongTsn) {
        if self.resent.contains(&tsn) {
            self.duplicate = true;
            self.tlp.on_duplicate(tsn);
        }
    }

    /// Handles the expiration of T3-rtx; `last` is the last TSN sent.
    pub(crate) fn on_timeout(&mut self, last: LongTsn) {
        self.timeout_exit = Some(last);
        self.reordering_timer = None;
        self.tlp = Tlp::default();
    }
}

/// The tail loss probe state of one path (RFC 8985 §7.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    /// PTO; `None` if stopped.
    pub(crate) timer: Option<Time>,
    pub(crate) tail_loss_probe: Option<TailLossProbe>,
}

/// An unacknowledged tail loss probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailLossProbe {
    /// TLP.end_seq: the highest TSN sent together with the probe.
    pub(crate) end: LongTsn,
    /// TLP.is_retrans: the retransmitted chunk.
    pub(crate) resent: Option<LongTsn>,
    /// True if the peer reported the chunk as duplicate, so that it was not lost.
    pub(crate) duplicate: bool,
}

impl Tlp {
    fn on_duplicate(&mut self, tsn: LongTsn) {
        if let Some(probe) = &mut self.tail_loss_probe {
            probe.duplicate |= probe.resent == Some(tsn);
        }
    }

    /// Processes an acknowledgement. Returns true if only the tail loss probe repaired a loss (RFC 8985
    /// §7.4.2).
    pub(crate) fn on_ack(&mut self, cum_tsn_ack: LongTsn) -> bool {
        let Some(probe) = self.tail_loss_probe.filter(|probe| cum_tsn_ack >= probe.end) else { return false };
        // The report of a duplicate may be in flight until a TSN beyond the tail loss probe is acknowledged.
        if probe.resent.is_none() || probe.duplicate {
            self.tail_loss_probe = None;
            return false;
        }
        let repaired = cum_tsn_ack > probe.end;
        if repaired {
            self.tail_loss_probe = None;
        }
        repaired
    }
}
