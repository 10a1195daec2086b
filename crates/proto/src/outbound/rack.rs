//! RACK (RFC 8985 §6) in SCTP's terms, per path: a chunk is lost when one sent later on the same path was acknowledged and a
//! reordering window has passed since its own round trip was over. Off by default; no byte on the wire differs but for when
//! it is sent. [`super::tlp`] is its other half. Knows no packets.
//!
//! What RFC 8985 §5 and §5.2 keep per segment is there already: the number of a sending orders transmissions as (xmit_ts, end_seq)
//! does, and a flow's log is its time-ordered list. A DSACK is a TSN that a SACK reports as duplicate. There are no
//! timestamps: that a round trip below the least one belongs to the first sending (§6.2 step 2) is told by time alone.
//!
//! Where RFC 8985 arms one timer for the last chunk of a group that waits, each here is found at its own time. On T3-rtx
//! everything outstanding is marked, as RFC 9260 §6.3.3 does (RFC 8985 §6.3 spares what was sent last): one packet may be in
//! flight after it (RFC 9260 §7.2.3).

use std::collections::VecDeque;

use msctp_units::{Span, Time};
use msctp_wire::Tsn;

use super::Outbound;
use super::chunk::{Fate, SendNumber};
use super::flow::FlowAck;
use super::tlp::Tlp;
use crate::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths};

/// RFC 8985 §6.2 step 4: DupThresh.
const DUP_THRESH: u64 = 3;
/// RFC 8985 §6.2 step 4: recoveries without a DSACK until the reordering window is as at first.
const PERSIST: u32 = 16;
/// Retransmissions remembered so that a duplicate report finds its path. A peer reports 32 in a SACK of ours, others as
/// many as fit; what is older tells little.
const REMEMBERED: usize = 64;

/// RACK-TLP of an association: what RFC 8985 §5.3 keeps per connection, here per path.
#[derive(Debug, Default)]
pub(super) struct RackTlp {
    paths: Vec<PathRack>,
}

/// The latest sending known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    number: SendNumber,
    sent: Time,
}

/// RACK-TLP of a path.
#[derive(Debug)]
pub(super) struct PathRack {
    pub(super) id: PathId,
    /// RACK.xmit_ts and RACK.end_seq.
    latest: Option<SendNumber>,
    /// RACK.rtt
    rtt: Span,
    /// RACK.fack
    fack: Option<LongTsn>,
    reordering_seen: bool,
    /// RACK.dsack_round, RACK.reo_wnd_mult, RACK.reo_wnd_persist
    dsack_round: Option<LongTsn>,
    multiplier: u64,
    persist: u32,
    /// By the SACK being processed: the latest sending that was the only one of its chunk, and that was not.
    once: Option<Delivered>,
    again: Option<Delivered>,
    /// The SACK being processed reports a retransmission from here as duplicate.
    duplicate: bool,
    /// Retransmissions on this path, oldest first.
    resent: VecDeque<LongTsn>,
    /// When the next chunk is lost, should it not arrive (RFC 8985 §5.4).
    pub(super) reordering_timer: Option<Time>,
    /// T3-rtx expired; what was outstanding then is being repaired up to here.
    timeout_exit: Option<LongTsn>,
    pub(super) tlp: Tlp,
}

impl PathRack {
    fn new(id: PathId) -> Self {
        Self {
            id,
            latest: None,
            rtt: Span::ZERO,
            fack: None,
            reordering_seen: false,
            dsack_round: None,
            multiplier: 1,
            persist: PERSIST,
            once: None,
            again: None,
            duplicate: false,
            resent: VecDeque::new(),
            reordering_timer: None,
            timeout_exit: None,
            tlp: Tlp::default(),
        }
    }

    /// RFC 8985 §6.2 steps 2 and 3, as far as they concern one chunk; TSNs come in order.
    fn on_delivered(&mut self, tsn: LongTsn, number: SendNumber, sent: Time, again: bool) {
        let kind = if again { &mut self.again } else { &mut self.once };
        if kind.is_none_or(|latest| latest.number < number) {
            *kind = Some(Delivered { number, sent });
        }
        match self.fack {
            Some(fack) if tsn < fack => self.reordering_seen |= !again,
            _ => self.fack = Some(tsn),
        }
    }

    /// RFC 8985 §6.2 step 2: the latest sending that was acknowledged, and its round trip.
    fn update(&mut self, now: Time, least: Option<Span>) {
        let (once, again) = (self.once.take(), self.again.take());
        // Sooner than a round trip: the first sending was acknowledged, not the last.
        let again = again.filter(|sending| least.is_none_or(|least| now.since(sending.sent) >= least));
        for sending in [once, again].into_iter().flatten() {
            if self.latest.is_none_or(|latest| latest < sending.number) {
                self.latest = Some(sending.number);
                self.rtt = now.since(sending.sent);
            }
        }
    }

    /// RFC 8985 §6.2 step 4, what duplicates change. `cum_tsn_ack` is SND.UNA, `next` SND.NXT.
    fn adapt(&mut self, cum_tsn_ack: LongTsn, next: LongTsn) {
        self.dsack_round.take_if(|round| cum_tsn_ack + 1 >= *round);
        if core::mem::take(&mut self.duplicate) && self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// RFC 8985 §6.2 step 4: a recovery is over.
    fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// RFC 8985 §6.2 step 4: RACK.reo_wnd.
    fn reordering_window(&self, path: &Path, recovering: bool, sacked: u64) -> Span {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        let quarter = path.rtt.rtt_min().unwrap_or_default() / 4;
        (quarter * self.multiplier).min(path.rtt.srtt().unwrap_or(Span::MAX))
    }

    /// Something is being repaired.
    pub(super) fn recovers_from_timeout(&self) -> bool {
        self.timeout_exit.is_some()
    }

    fn remember(&mut self, tsn: LongTsn) {
        if self.resent.len() == REMEMBERED {
            self.resent.pop_front();
        }
        self.resent.push_back(tsn);
    }
}

impl RackTlp {
    pub(super) fn of(&mut self, id: PathId) -> &mut PathRack {
        let index = self.paths.iter().position(|path| path.id == id).unwrap_or_else(|| {
            self.paths.reserve_exact(1);
            self.paths.push(PathRack::new(id));
            self.paths.len() - 1
        });
        &mut self.paths[index]
    }

    pub(super) fn remove(&mut self, id: PathId) {
        self.paths.retain(|path| path.id != id);
    }

    pub(super) fn clear(&mut self) {
        self.paths.clear();
    }

    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        id: PathId,
        tsn: LongTsn,
        number: SendNumber,
        sent: Time,
        again: bool,
    ) {
        self.of(id).on_delivered(tsn, number, sent, again);
    }

    /// A chunk was sent again on a path.
    pub(super) fn on_resent(&mut self, id: PathId, tsn: LongTsn) {
        self.of(id).remember(tsn);
    }

    /// A SACK reports a TSN as duplicate. One that was not sent again was repeated by the network, which tells nothing.
    pub(super) fn on_duplicate(&mut self, near: LongTsn, tsn: Tsn) {
        let tsn = near.nearest(tsn);
        for path in &mut self.paths {
            if path.resent.contains(&tsn) {
                path.duplicate = true;
                path.tlp.on_duplicate(tsn);
            }
        }
    }

    /// A path left Fast Recovery.
    pub(super) fn on_recovery_exit(&mut self, id: PathId) {
        self.of(id).on_recovery_exit();
    }

    /// T3-rtx of a path expired with this TSN the last one sent.
    pub(super) fn on_timeout(&mut self, id: PathId, last: LongTsn) {
        let path = self.of(id);
        path.timeout_exit = Some(last);
        path.reordering_timer = None;
        path.tlp = Tlp::default();
    }

    /// When the next chunk is lost or the next probe due (RFC 8985 §8; T3-rtx runs beside them).
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.paths.iter().flat_map(|path| [path.reordering_timer, path.tlp.timer]).flatten().min()
    }
}

impl Outbound {
    /// A SACK was taken in: what it tells RACK, before losses are looked for.
    pub(super) fn update_rack(&mut self, now: Time, paths: &Paths) {
        let Some(rack) = &mut self.rack else { return };
        let (cum_tsn_ack, next) = (self.sent.cum_tsn_ack(), self.sent.next());
        for state in &mut rack.paths {
            let least = paths.get(state.id).and_then(|path| path.rtt.rtt_min());
            state.update(now, least);
            state.adapt(cum_tsn_ack, next);
            if state.timeout_exit.take_if(|exit| *exit <= cum_tsn_ack).is_some() {
                state.on_recovery_exit();
            }
        }
    }

    /// RFC 8985 §6.2 step 5 on one path: what is lost by now goes into `newly_lost`; for the next one the timer runs. Each
    /// sending is looked at once, but for the first that is not lost yet.
    pub(super) fn find_lost(&mut self, now: Time, index: usize, paths: &Paths) {
        let flow = &mut self.flows[index];
        let (Some(rack), Some(path)) = (&mut self.rack, paths.get(flow.id)) else { return };
        let recovering = flow.recovery_exit.is_some();
        let state = rack.of(flow.id);
        state.reordering_timer = None;
        let Some(latest) = state.latest else { return };
        let recovering = recovering || state.recovers_from_timeout();
        let sacked = self.gaps.count(DUP_THRESH);
        let wait = state.rtt + state.reordering_window(path, recovering, sacked);
        while let Some(&sending) = flow.log.front().filter(|sending| sending.number < latest) {
            let waiting = self
                .sent
                .at(sending.tsn)
                .filter(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number);
            if let Some(chunk) = waiting {
                let lost_at = chunk.sent + wait;
                if lost_at > now {
                    state.reordering_timer = Some(lost_at);
                    return;
                }
                self.newly_lost.push(sending.tsn);
            }
            flow.log.pop_front();
        }
    }

    /// The reordering timer of any path: what has not arrived is lost.
    pub(super) fn rack_timeout(&mut self, now: Time, paths: &mut Paths) {
        for index in 0..self.flows.len() {
            // No SACK: nothing of the last one counts again.
            self.flows[index].ack = FlowAck::default();
            let id = self.flows[index].id;
            let due = self
                .rack
                .as_mut()
                .is_some_and(|rack| rack.of(id).reordering_timer.is_some_and(|at| at <= now));
            if due {
                self.find_lost(now, index, paths);
            }
        }
        if !self.newly_lost.is_empty() {
            self.fast_retransmit(now, paths);
            for index in 0..self.flows.len() {
                self.settle_t3_rtx(index, now, paths);
            }
        }
    }
}
