//! ECN at the sender (RFC 4960 Appendix A): one window reduction per window of data (RFC 3168 §6.1.2).
//!
//! An ECNE names a TSN. Only packets with new data alone are sent ECT, so a mark concerns the path that
//! carried new data at that TSN. A few (TSN, path) pairs suffice to find it, however long ago the chunk was
//! acknowledged. This file does not depend on packets.

use std::collections::VecDeque;

use msctp_congestion::LossKind;
use msctp_units::Time;
use msctp_wire::Tsn;

use super::Outbound;
use super::zero_window::ZeroWindowProbe;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Flow, Paths};
use crate::trace::TraceKind;

/// Number of path changes of new data that are remembered. An ECNE arrives a round trip after its TSN, or
/// later if it was lost.
const REMEMBERED: usize = 8;

/// The result of an ECNE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echoed {
    /// No effect: ECN was not negotiated, or the TSN was never sent or is no longer known.
    Refused,
    /// No effect: the window was reduced since, or the path was removed.
    Answered,
    /// The window of this path was reduced.
    Reduced(PathId),
}

/// The ECN state of the sender, created with the first new data.
#[derive(Debug, Default)]
pub(super) struct EcnSender {
    /// The first TSN of each run of new data on one path, in order.
    starts: VecDeque<(LongTsn, PathId)>,
    reductions: u64,
}

impl EcnSender {
    fn path_of(&self, tsn: LongTsn) -> Option<PathId> {
        self.starts.iter().rev().find(|(start, _)| *start <= tsn).map(|&(_, path)| path)
    }
}

/// Starts Fast Recovery up to TSN `exit` for ECN's purposes; returns true if `lost` needs no window
/// reduction.
///
/// It needs none if the window was reduced for a mark after the chunk was sent: the loss belongs to the same
/// window (RFC 3168 §6.1.2). The loss of a retransmission is "a new instance of congestion".
pub(super) fn covers_loss(flow: &mut Flow, lost: LongTsn, again: bool, exit: LongTsn) -> bool {
    let covered = !again && flow.ecn_reduced >= Some(lost);
    if !covered {
        flow.loss_reduced = Some(exit);
    }
    covered
}

impl Outbound {
    /// Sets whether both ends negotiated ECN. Must be called before anything is sent.
    pub(crate) fn set_ecn(&mut self, agreed: bool) {
        self.use_ecn = agreed;
    }

    /// Returns the number of windows reduced for an ECNE, over all paths.
    pub(crate) fn ecn_reductions(&self) -> u64 {
        self.ecn.as_ref().map_or(0, |ecn| ecn.reductions)
    }

    /// Returns true if a packet with DATA may be sent ECT on this path now: it would hold new chunks only
    /// (RFC 3168 §6.1.5).
    pub(crate) fn would_be_ect(&self, path: PathId, paths: &Paths) -> bool {
        self.use_ecn && paths.get(path).is_none_or(|path| !self.may_retransmit(path))
    }

    /// Records the new chunks from `first` on, written into a packet beside `retransmitted` retransmitted
    /// ones.
    ///
    /// Returns true if the packet may be sent ECT.
    pub(super) fn note_new(&mut self, id: PathId, first: LongTsn, again: u32) -> bool {
        let ecn = self.ecn.get_or_insert_default();
        if ecn.starts.back().is_none_or(|&(_, path)| path != id) {
            if ecn.starts.len() >= REMEMBERED {
                ecn.starts.pop_front();
            }
            ecn.starts.push_back((first, id));
        }
        // RFC 3168 §6.1.5 excludes retransmissions, §6.1.6 zero window probes.
        again == 0 && !matches!(self.zero_window_probe, ZeroWindowProbe::Sent { .. })
    }

    /// Processes an ECNE.
    pub(crate) fn handle_ecne(&mut self, now: Time, tsn: Tsn, paths: &mut Paths) -> Echoed {
        let last = self.sent.next() - 1;
        let tsn = last.nearest(tsn);
        let Some(ecn) = self.ecn.as_mut().filter(|_| tsn <= last) else { return Echoed::Refused };
        let Some(id) = ecn.path_of(tsn) else { return Echoed::Refused };
        let Some(path) = paths.get_mut(id) else { return Echoed::Answered };
        // RFC 3168 §6.1.2: "only once in response to a series of dropped and/or CE packets from a single
        // window of data"
        if path.flow.ecn_reduced.max(path.flow.loss_reduced) >= Some(tsn) {
            return Echoed::Answered;
        }
        path.flow.ecn_reduced = Some(last);
        ecn.reductions += 1;
        path.on_loss(now, LossKind::Ecn);
        self.emit(TraceKind::EcnReduction { path: id, tsn: tsn.tsn().get() });
        self.trace_window(path);
        Echoed::Reduced(id)
    }
}
