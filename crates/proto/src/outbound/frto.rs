//! F-RTO for SCTP: was an expiration of T3-rtx spurious? RFC 5682 §2.1 in SCTP's terms: duplicate ACKs are SACKs that do not
//! advance the Cumulative TSN Ack Point, and acknowledged data that was not sent again is a marked chunk that is acknowledged.
//! Off by default.
//!
//! Applied only where what it concludes is sound: the retransmission goes to the same path, nothing is outstanding on another,
//! no earlier timeout is being repaired, and not in LD recovery (Park & Jang §2.1). What was marked stays marked meanwhile
//! and is not sent; when the timeout turns out spurious it is in flight again as if nothing had been.

use super::Outbound;
use super::chunk::Fate;
use super::sack::Processing;
use crate::long_tsn::LongTsn;
use crate::path::{Paths, Sending};
use crate::{PathId, TraceKind};

/// Where the algorithm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A packet was sent again: (2) waits for a SACK.
    Resent,
    /// New data instead of more retransmissions: (3) waits for a SACK. The window after the first acknowledgement, 1 packet
    /// and what was acknowledged, lets out the two packets that RFC 5682 allows.
    Probing,
}

/// The algorithm at work after one expiration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frto {
    path: PathId,
    /// The last TSN sent when the timer expired.
    recover: LongTsn,
    step: Step,
    /// A chunk that was not sent again was acknowledged by the SACK being processed.
    original_acked: bool,
}

impl Outbound {
    /// Step (1): T3-rtx of a path has expired, nothing is marked yet.
    pub(super) fn suspect_timeout(&mut self, path: PathId, target: PathId, paths: &Paths) {
        let sound = target == path
            && self.losses.frto.is_none()
            && paths.iter().all(|other| match other.id() == path {
                true => other.flow.marked == 0 && other.flow.ld_exit.is_none(),
                false => other.flow.unacked == 0,
            });
        let recover = self.sent.next() - 1;
        self.losses.frto = (self.losses.use_frto && sound).then_some(Frto {
            path,
            recover,
            step: Step::Resent,
            original_acked: false,
        });
        self.losses.fresh_from = None;
    }

    /// A marked chunk was acknowledged: it had arrived when it was sent before.
    #[inline]
    pub(super) fn note_original(&mut self) {
        if let Some(frto) = &mut self.losses.frto {
            frto.original_acked = true;
        }
    }

    /// New data goes out instead of retransmissions.
    #[inline]
    pub(super) fn frto_probes(&self) -> bool {
        self.losses.frto.is_some_and(|frto| frto.step == Step::Probing)
    }

    /// A SACK was taken in.
    pub(super) fn look_into_timeout(&mut self, processing: Processing, paths: &mut Paths) {
        let Some(frto) = &mut self.losses.frto else { return };
        let original_acked = core::mem::take(&mut frto.original_acked);
        match frto.step {
            // (2a): nothing new, or everything: it cannot be told. Without new data neither (§2.1, last paragraph of (2)).
            Step::Resent if !processing.advanced => self.losses.frto = None,
            Step::Resent if self.sent.cum_tsn_ack() >= frto.recover || self.queue.is_empty() => {
                self.losses.frto = None;
            }
            // (2b)
            Step::Resent => frto.step = Step::Probing,
            // (3a)
            Step::Probing if !processing.advanced => self.losses.frto = None,
            // (3b)
            Step::Probing if original_acked => self.undo_timeout(processing, paths),
            Step::Probing => {}
        }
    }

    /// What was marked is in flight as before, and the window is back.
    fn undo_timeout(&mut self, processing: Processing, paths: &mut Paths) {
        let Some(Frto { path: id, recover, .. }) = self.losses.frto.take() else { return };
        let Some(path) = paths.get_mut(id) else { return };
        let mut back = Vec::new();
        for (tsn, chunk) in self.sent.iter_mut() {
            if chunk.fate != Fate::Marked || chunk.target != id || chunk.path != id {
                continue;
            }
            chunk.fate = Fate::InFlight;
            self.in_flight += chunk.len();
            path.flight_size += chunk.wire_len();
            path.flow.marked -= 1;
            back.push(Sending { number: chunk.number, tsn });
        }
        path.flow.relog(back);
        path.flow.forced = false;
        path.flow.loss_reduced = None;
        path.spurious_timeouts += 1;
        path.controller.on_spurious_timeout(processing.now);
        self.losses.fresh_from = self.losses.restart_rtt.then_some((id, recover));
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::SpuriousTimeout { path: id });
        }
        self.trace_window(path);
    }
}
