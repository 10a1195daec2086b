//! Detects a peer that lost its keys, by a restart or its idle timeout. It answers protected packets with an
//! ABORT in clear (RFC 9260 §8.4). That ABORT only makes the end that connected probe the peer.

use msctp_units::{Span, Time};
use msctp_wire::{Chunk, Packet};

use super::Association;
use crate::addr::PathAddr;
use crate::event::LossReason;
use crate::path::Path;
use crate::protection::{PeerCheck, Verdict};

impl Association {
    /// Begins to check the peer if a discarded packet in clear is the ABORT of a host without the
    /// association. Such an ABORT has the T bit set and the peer's tag (RFC 9260 §8.5.1 B).
    #[cold]
    pub(super) fn note_clear_abort(&mut self, now: Time, at: PathAddr, packet: &Packet<'_>) {
        let (header, tags) = (packet.header, &self.tags);
        let reflected = (header.verification_tag.get(), header.dst_port, header.src_port)
            == (tags.peer_tag, tags.local_port, tags.peer_port)
            && matches!(packet.chunks().next(), Some(Ok(Chunk::Abort(abort))) if abort.tag_reflected);
        // RFC 5061 §5.3.1: not of a packet from an address being deleted
        if !reflected || !self.watches_paths() || !self.has_sent_to(at) || self.must_ignore_abort(at) {
            return;
        }
        if self.is_of_other_endpoint(at) {
            // The ABORT may be forged, and the peer's answer to the HEARTBEAT on its way.
            let unanswered = |path: &Path| path.error_count() > 0;
            if self.path_of(at).and_then(|path| self.paths.get(path)).is_some_and(unanswered) {
                self.fail_address_of_other_endpoint(now, at);
            }
            return;
        }
        let answer = self.answer_time();
        let Some(protection) = self.protection.as_mut().filter(|protection| protection.checks_peer()) else {
            return;
        };
        match &mut protection.peer_check {
            Some(check) => check.note_abort(),
            none => {
                *none = Some(PeerCheck::new(now, answer));
                self.probe_peer(now);
            }
        }
    }

    /// Sends a HEARTBEAT on every path: the answer may arrive on any of them.
    fn probe_peer(&mut self, now: Time) {
        self.paths.request_heartbeats();
        self.after_change(now);
    }

    /// Returns the largest RTO of the confirmed paths, without back-off and RTO.Min (RFC 9260 §6.3.1). A live
    /// peer answers within it.
    fn answer_time(&self) -> Span {
        let of = |path: &Path| match (path.rtt.srtt(), path.rtt.rttvar()) {
            (Some(srtt), Some(rttvar)) => srtt + rttvar * 4,
            _ => path.rtt.rto(),
        };
        let confirmed = self.paths.iter().filter(|path| path.is_confirmed());
        confirmed.map(of).max().unwrap_or_default()
    }

    /// Returns the timeout of the peer check, if one is in progress.
    pub(super) fn peer_check_timeout(&self) -> Option<Time> {
        self.protection.as_ref()?.peer_check.as_ref().map(PeerCheck::due)
    }

    /// Continues the check of the peer: probes again, or ends the association with a peer that has lost its
    /// keys.
    pub(super) fn continue_peer_check(&mut self, now: Time) {
        let (heard, watches) = (self.liveness.heard, self.watches_paths());
        let Some(protection) = &mut self.protection else { return };
        let Some(check) = &mut protection.peer_check else { return };
        let verdict = if watches { check.handle_timeout(now, heard) } else { Some(Verdict::Over) };
        match verdict {
            None => {}
            Some(Verdict::Probe) => self.probe_peer(now),
            Some(Verdict::Over) => protection.peer_check = None,
            Some(Verdict::Lost) => {
                protection.peer_check = None;
                self.close(now, Some(LossReason::PeerLostKeys));
            }
        }
    }
}
