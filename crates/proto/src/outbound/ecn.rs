//! ECN at the sender (RFC 4960 Appendix A): which path a TSN went over first, and one reduction per window of data there
//! (RFC 3168 §6.1.2). Knows no packets.
//!
//! Only packets whose DATA is all new are sent ECT, so a mark always speaks of the path that took new data when its TSN
//! was the next: a few (TSN, path) pairs tell which, however long ago the chunk was acknowledged.

use std::collections::VecDeque;

use msctp_congestion::LossKind;
use msctp_units::Time;
use msctp_wire::Tsn;

use super::Outbound;
use super::probe::ZeroWindowProbe;
use crate::long_tsn::LongTsn;
use crate::path::{Flow, Paths};
use crate::{PathId, TraceKind};

/// Changes of the path of new data that are remembered. An ECNE comes a round trip after its TSN, or somewhat later when it was
/// lost.
const REMEMBERED: usize = 8;

/// What an ECNE led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echoed {
    /// ECN was not agreed, or the TSN was never sent or is long gone: nothing.
    Refused,
    /// It speaks of a window that was reduced since, or of a path that is gone.
    Answered,
    /// The window of this path was reduced.
    Reduced(PathId),
}

/// What ECN keeps of the paths; made with the first new data.
#[derive(Debug, Default)]
pub(super) struct EcnSender {
    /// From which TSN on new data took which path, in order.
    starts: VecDeque<(LongTsn, PathId)>,
    reductions: u64,
}

impl EcnSender {
    fn path_of(&self, tsn: LongTsn) -> Option<PathId> {
        self.starts.iter().rev().find(|(start, _)| *start <= tsn).map(|&(_, path)| path)
    }
}

/// Fast Recovery begins on a path, up to TSN `exit`, with this chunk lost. Returns true when its window was reduced for a
/// mark after the chunk was sent: the loss belongs to the same window and reduces it no further (RFC 3168 §6.1.2). The
/// loss of a retransmission (`again`) is "a new instance of congestion".
pub(super) fn covers_loss(flow: &mut Flow, lost: LongTsn, again: bool, exit: LongTsn) -> bool {
    let covered = !again && flow.ecn_reduced >= Some(lost);
    if !covered {
        flow.loss_reduced = Some(exit);
    }
    covered
}

impl Outbound {
    /// Both ends agreed on ECN. To be said before anything is sent.
    pub fn set_ecn(&mut self, agreed: bool) {
        self.use_ecn = agreed;
    }

    /// Windows reduced for an ECNE, over all paths.
    pub fn ecn_reductions(&self) -> u64 {
        self.ecn.as_ref().map_or(0, |ecn| ecn.reductions)
    }

    /// A packet with DATA on this path may be sent ECT now: it would begin with a new chunk (RFC 3168 §6.1.5).
    pub fn would_be_ect(&self, path: PathId, paths: &Paths) -> bool {
        self.use_ecn && paths.get(path).is_none_or(|path| !self.may_retransmit(path))
    }

    /// New chunks from `first` on were written into a packet on a path, and `again` chunks sent again. True when the packet
    /// may be sent ECT.
    pub(super) fn note_new(&mut self, id: PathId, first: LongTsn, again: u32) -> bool {
        let ecn = self.ecn.get_or_insert_default();
        if ecn.starts.back().is_none_or(|&(_, path)| path != id) {
            if ecn.starts.len() >= REMEMBERED {
                ecn.starts.pop_front();
            }
            ecn.starts.push_back((first, id));
        }
        // RFC 3168 §6.1.5: not what is sent again; §6.1.6: not a window probe
        again == 0 && !matches!(self.probe, ZeroWindowProbe::Sent { .. })
    }

    /// Takes an ECNE.
    pub fn handle_ecne(&mut self, now: Time, tsn: Tsn, paths: &mut Paths) -> Echoed {
        let last = self.sent.next() - 1;
        let tsn = last.nearest(tsn);
        let Some(ecn) = self.ecn.as_mut().filter(|_| tsn <= last) else { return Echoed::Refused };
        let Some(id) = ecn.path_of(tsn) else { return Echoed::Refused };
        let Some(path) = paths.get_mut(id) else { return Echoed::Answered };
        // RFC 3168 §6.1.2: "only once in response to a series of dropped and/or CE packets from a single window of data"
        if path.flow.ecn_reduced.max(path.flow.loss_reduced) >= Some(tsn) {
            return Echoed::Answered;
        }
        path.flow.ecn_reduced = Some(last);
        ecn.reductions += 1;
        path.on_loss(now, LossKind::Ecn);
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::EcnReduction { path: id, tsn: tsn.tsn().get() });
        }
        self.trace_window(path);
        Echoed::Reduced(id)
    }
}
