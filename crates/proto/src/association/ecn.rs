//! Explicit congestion notification (RFC 4960 Appendix A, otherwise RFC 3168).
//!
//! It echoes received marks by ECNE chunks until a CWR answers. It passes received ECNE chunks to the sending
//! half, which reduces the window, and answers them.

use msctp_units::{Ecn, Time};
use msctp_wire::{Cwr, Ecne, PacketBuilder, Sack, Tsn};
use smallvec::SmallVec;

use super::Association;
use super::chunks::Seen;
use crate::addr::{PathAddr, PathId};
use crate::extensions::Extensions;
use crate::outbound::Echoed;
use crate::path::Path;
use crate::stats::EcnStats;
use crate::trace::{Direction, TraceKind};

/// Maximum number of paths whose marks are echoed at a time. A further one replaces the oldest. That path
/// will report new marks if data still arrives there.
const MAX_ECHOES: usize = 4;

/// State of ECN, created at the first mark or ECNE.
#[derive(Debug, Default)]
pub(super) struct EcnState {
    /// Marks without a CWR, at most one per path: the path, and the lowest TSN of the last marked packet.
    echoes: SmallVec<[(Option<PathId>, Tsn); 1]>,
    /// Time at which the last CWR was sent.
    answered: Option<Time>,
    stats: EcnStats,
}

impl Association {
    /// Returns the counters of explicit congestion notification (`Config::ecn`).
    pub fn ecn_stats(&self) -> EcnStats {
        EcnStats {
            agreed: self.speaks_ecn(),
            reductions: self.outbound.ecn_reductions(),
            ..self.ecn.as_ref().map(|ecn| ecn.stats).unwrap_or_default()
        }
    }

    /// Applies the negotiated use of ECN.
    pub(super) fn begin_ecn(&mut self) {
        self.ecn = None;
        self.outbound.set_ecn(self.speaks_ecn());
    }

    /// Returns whether both ends offered ECN.
    pub(super) fn speaks_ecn(&self) -> bool {
        self.tags.extensions.has(Extensions::ECN)
    }

    /// Returns whether a packet of the peer with this codepoint is marked, so that its lowest TSN must be
    /// found.
    #[inline]
    pub(super) fn watches_mark(&self, ecn: Ecn) -> bool {
        ecn == Ecn::Ce && self.speaks_ecn()
    }

    /// Records a marked packet with DATA. Its SACK, and each later one until a CWR arrives, carries an ECNE
    /// (RFC 4960 Appendix A).
    ///
    /// A mark before the CWR for an earlier one on the same path replaces it: it may belong to another
    /// window.
    pub(super) fn note_mark(&mut self, now: Time, at: PathAddr, seen: &Seen) {
        let Some(tsn) = seen.lowest else { return };
        let path = self.path_of(at);
        let state = self.ecn.get_or_insert_default();
        state.stats.marked_packets += 1;
        let before = state.echoes.iter().position(|&(of, _)| of == path);
        match before {
            Some(index) if state.echoes[index].1.precedes(tsn) => state.echoes[index].1 = tsn,
            Some(_) => {}
            None => {
                if state.echoes.len() >= MAX_ECHOES {
                    state.echoes.remove(0);
                }
                state.echoes.push((path, tsn));
            }
        }
        self.tracer.push(now, TraceKind::Marked { path, tsn: tsn.get() });
    }

    /// Returns the length in bytes of the ECNE chunks that go with the next SACK.
    pub(super) fn echo_len(&self) -> usize {
        self.ecn.as_ref().map_or(0, |ecn| ecn.echoes.len() * ECNE_LEN)
    }

    /// Writes the ECNE chunks before the SACK: it may acknowledge their TSNs.
    pub(super) fn push_echoes(&mut self, now: Time, path: PathId, builder: &mut PacketBuilder<'_>) {
        let Some(state) = &mut self.ecn else { return };
        for &(_, lowest_tsn) in &state.echoes {
            let echo = Ecne { lowest_tsn };
            if builder.remaining() < ECNE_LEN + Sack::MIN_LEN || builder.push(&echo).is_err() {
                return;
            }
            state.stats.echoes_sent += 1;
            self.tracer.control(now, Direction::Out, Some(path), &echo);
        }
    }

    /// Processes an ECNE: the peer received a marked packet.
    ///
    /// An ECNE that reduces a window is answered at once. A repeated one, whose CWR is in flight or lost, is
    /// answered at most once per round trip. One whose TSN this end did not send is not answered.
    pub(super) fn on_ecne(&mut self, now: Time, at: PathAddr, echo: &Ecne) {
        if !self.watches_paths() {
            self.faults.unexpected_chunks += 1;
            return;
        }
        let echoed = self.outbound.handle_ecne(now, echo.lowest_tsn, &mut self.paths);
        let to = self.reply_addr(at);
        let path = to.and_then(|to| self.path_of(to)).and_then(|path| self.paths.get(path));
        let round_trip = path
            .map_or(self.config.rto_initial, |path: &Path| path.rtt.srtt().unwrap_or_else(|| path.rtt.rto()));
        let state = self.ecn.get_or_insert_default();
        state.stats.echoes_received += 1;
        let due = match echoed {
            Echoed::Refused => false,
            Echoed::Answered => state.answered.is_none_or(|last| now.since(last) >= round_trip),
            Echoed::Reduced(_) => true,
        };
        if due {
            state.answered = Some(now);
            state.stats.answers_sent += 1;
            self.reply(to, &Cwr { lowest_tsn: echo.lowest_tsn });
        }
    }

    /// Processes a CWR: the peer reduced its window for the mark of this TSN and all before it.
    ///
    /// TSNs on different paths are not ordered, so a CWR for the exact TSN of one mark answers that one
    /// alone.
    pub(super) fn on_cwr(&mut self, answer: &Cwr) {
        let Some(state) = &mut self.ecn else { return };
        state.stats.answers_received += 1;
        let tsn = answer.lowest_tsn;
        let exact = state.echoes.iter().any(|&(_, echo)| echo == tsn);
        state.echoes.retain(|&mut (_, echo)| if exact { echo != tsn } else { tsn.precedes(echo) });
    }
}

/// Bytes of an ECNE.
const ECNE_LEN: usize = 8;
