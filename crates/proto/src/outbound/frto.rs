//! F-RTO: detects spurious expirations of T3-rtx (RFC 5682 §2.1, in SCTP's terms). Off by default.
//!
//! A SACK that does not advance the Cumulative TSN Ack Point is a duplicate ACK. An acknowledged chunk that
//! is still marked is acknowledged data that was not retransmitted.
//!
//! F-RTO runs only where its conclusion is sound. The retransmission goes to the same path, no chunk is
//! outstanding on another path, no earlier timeout is being repaired, and the path is not in LD recovery
//! (Park & Jang §2.1). Marked chunks are not sent meanwhile. If the timeout was spurious, they return to the
//! flight unchanged.

use super::Outbound;
use super::chunk::Fate;
use super::detector::LossDetector;
use super::sack::Processing;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Paths, Sending};
use crate::trace::TraceKind;

/// State of F-RTO after one expiration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrtoState {
    /// One packet was retransmitted: step (2) needs a SACK.
    Retransmitted,
    /// New data is sent instead of further retransmissions: step (3) needs a SACK.
    ///
    /// After the first acknowledgement the window is 1 packet plus the bytes acknowledged. It allows the two
    /// packets of RFC 5682.
    NewDataSent,
}

/// The check of one T3-rtx expiration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frto {
    path: PathId,
    /// The last TSN sent when the timer expired.
    recover: LongTsn,
    state: FrtoState,
    /// The SACK being processed acknowledged a chunk that was not retransmitted.
    original_acked: bool,
}

impl LossDetector {
    /// Records that a marked chunk was acknowledged: its original transmission arrived.
    #[inline]
    pub(super) fn on_original_acked(&mut self) {
        if let Some(frto) = &mut self.frto {
            frto.original_acked = true;
        }
    }
}

impl Outbound {
    /// Starts the check (step 1) when T3-rtx of a path has expired, before any chunk is marked.
    pub(super) fn start_frto(&mut self, path: PathId, target: PathId, paths: &Paths) {
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
            state: FrtoState::Retransmitted,
            original_acked: false,
        });
        self.losses.rtt_restart = None;
    }

    /// Returns true while F-RTO sends new data instead of retransmissions: as long as there is new data, or
    /// some was sent of which no SACK has told.
    #[inline]
    pub(super) fn frto_sends_new_data(&self) -> bool {
        let sends = self.losses.frto.is_some_and(|frto| frto.state == FrtoState::NewDataSent);
        sends && (self.in_flight > 0 || !self.queue.is_empty())
    }

    /// Advances the check after a SACK.
    pub(super) fn check_timeout(&mut self, processing: Processing, paths: &mut Paths) {
        let Some(frto) = &mut self.losses.frto else { return };
        let original_acked = core::mem::take(&mut frto.original_acked);
        match frto.state {
            // (2a): a SACK that acknowledges nothing new, or everything, decides nothing; nor does one
            // without new data to send (§2.1, last paragraph of (2)).
            FrtoState::Retransmitted if !processing.advanced => self.losses.frto = None,
            FrtoState::Retransmitted if self.sent.cum_tsn_ack() >= frto.recover || self.queue.is_empty() => {
                self.losses.frto = None;
            }
            // (2b)
            FrtoState::Retransmitted => frto.state = FrtoState::NewDataSent,
            // (3a)
            FrtoState::NewDataSent if !processing.advanced => self.losses.frto = None,
            // (3b)
            FrtoState::NewDataSent if original_acked => self.undo_timeout(processing, paths),
            FrtoState::NewDataSent => {}
        }
    }

    /// Undoes a spurious timeout: returns the marked chunks to the flight and restores the window.
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
        self.losses.rtt_restart = self.losses.restart_rtt.then_some((id, recover));
        self.emit(TraceKind::SpuriousTimeout { path: id });
        self.trace_window(path);
    }
}
