//! Silence detection (`FailoverConfig::silence`): detects long before T3-rtx that a path stopped answering.
//!
//! Our own extension; off by default. This file does not depend on packets.
//!
//! T3-rtx waits for the RTO after the *last* acknowledgement, never less than RTO.Min. A path with steady
//! data shows continuous signs of life: packets received over it, and acknowledgements of data sent there.
//! The longest recent interval between two of them reflects its queues, its jitter and the peer's delayed
//! SACKs.
//!
//! If a path is silent for somewhat longer than that, the sender probes the silence. It requests a HEARTBEAT
//! on the silent path. It also retransmits the oldest chunks in flight there on another usable path, at most
//! an initial window of them. The silence starts when the acknowledgement of the oldest chunk in flight was
//! due, or at the last sign of life if that is later. When the other path acknowledges the silence probe,
//! more chunks follow as its window allows: the receiver gets its data before the state of the silent path is
//! known. An unnecessary silence probe costs those packets and delays the next one.
//!
//! Any sign of life of the silent path ends the silence probe. The path fails if it was silent for several of
//! its usual intervals, the other path acknowledged the silence probe, and a minimum round trip passed since
//! then. The failure is handled like the expiration of its T3-rtx (RFC 9260 §6.3.3, RFC 7829 §3.2).
//!
//! With few packets in flight all of them may be lost on a working path: then only T3-rtx decides.

use msctp_units::{Span, Time};

use super::Outbound;
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Evidence, PROBE_MIN_FRACTION, Path, Paths, SilenceDetector, SilenceProbe};
use crate::stats::PathState;
use crate::trace::TraceKind;

/// Full packets in flight required: a working path does not lose that many by chance.
const MIN_IN_FLIGHT: u64 = 4;
/// Maximum packets of a silence probe: TCP's initial window (RFC 6928).
const MAX_SILENCE_PROBE: u64 = 10;

/// Returns true if the flight is too large for a working path to lose all of it by chance.
fn enough_in_flight(path: &Path) -> bool {
    path.flight_size >= MIN_IN_FLIGHT * u64::from(path.pmdcs())
}

impl Outbound {
    /// Returns true if silence detection is on: the association then reports packets received.
    #[inline]
    pub(crate) fn watches_silence(&self) -> bool {
        self.silence.is_some()
    }

    /// Records that a packet from the peer was received over a path.
    pub(crate) fn on_heard(&self, now: Time, path: PathId, paths: &mut Paths) {
        if self.silence.is_some()
            && let Some(path) = paths.get_mut(path)
        {
            let srtt = path.rtt.srtt();
            path.silence_detector(now).on_sign(now, srtt);
        }
    }

    /// Returns the next time at which a silent path is probed or fails.
    #[inline]
    pub(super) fn silence_deadline(&self, paths: &Paths) -> Option<Time> {
        let least = self.silence?;
        if paths.len() < 2 {
            return None;
        }
        paths.iter().filter_map(|path| self.silent_at(least, path, paths)).min()
    }

    /// Returns when a silent path is probed or fails; `None` if T3-rtx decides, or no other path is usable.
    fn silent_at(&self, least: Span, path: &Path, paths: &Paths) -> Option<Time> {
        let detector = path.silence.as_deref()?;
        if let Some(probe) = &detector.silence_probe {
            // The peer is reachable: a working path would have shown a sign of life by now. A stall gets as
            // much time as if the silence probe had been sent when the path counted as silent.
            let answered = probe.answered?;
            let silent = answered.max(probe.fail_after + answered.since(probe.sent));
            return Some(silent + path.rtt.rtt_min().unwrap_or(least));
        }
        if !(detector.had_enough_in_flight && enough_in_flight(path) && path.is_usable()) {
            return None;
        }
        let [probe_after, _] = detector.limits(least)?;
        let second = self.second_ack_due(detector, path).map(|due| due + least / PROBE_MIN_FRACTION);
        let at = (self.ack_due(detector, path)? + probe_after).max(detector.known_from);
        let at = second.map_or(at, |second| second.max(at));
        let first = path.t3_rtx.is_some_and(|t3_rtx| at < t3_rtx);
        (first && other_path(path.id(), paths).is_some()).then_some(at)
    }

    /// Returns when the acknowledgement of the oldest chunk in flight is due, or the last sign of life if
    /// that is later.
    fn ack_due(&self, detector: &SilenceDetector, path: &Path) -> Option<Time> {
        self.sent.in_flight(&path.flow).next().and_then(|oldest| self.due(oldest, detector, path))
    }

    /// Returns when the acknowledgement of the second chunk in flight is due, as [`ack_due`](Self::ack_due).
    ///
    /// The peer acknowledges every second packet at once, and delays the SACK of a single one (RFC 9260
    /// §6.2). After a pause of the sender that SACK waits for the second packet.
    fn second_ack_due(&self, detector: &SilenceDetector, path: &Path) -> Option<Time> {
        self.sent.in_flight(&path.flow).nth(1).and_then(|second| self.due(second, detector, path))
    }

    fn due(&self, tsn: LongTsn, detector: &SilenceDetector, path: &Path) -> Option<Time> {
        let sent = self.sent.at(tsn)?.sent;
        let usual = sent + path.rtt.srtt()? + path.rtt.rttvar()?;
        let clocked = detector.last_ack.map(|(before, acked)| acked + sent.since(before));
        Some(clocked.map_or(usual, |clocked| clocked.min(usual)).max(detector.last_sign))
    }

    /// Probes or fails each path whose silence lasted until `now`.
    pub(super) fn silence_timeout(&mut self, now: Time, paths: &mut Paths) {
        let Some(least) = self.silence.filter(|_| paths.len() >= 2) else { return };
        for index in 0..paths.len() {
            let path = paths.at(index);
            if self.silent_at(least, path, paths).is_none_or(|at| at > now) {
                continue;
            }
            match path.silence.as_ref().and_then(|detector| detector.silence_probe) {
                Some(probe) => self.fail_silent_path(now, path.id(), probe.path, paths),
                None => self.send_silence_probe(now, path.id(), least, paths),
            }
        }
    }

    fn send_silence_probe(&mut self, now: Time, id: PathId, least: Span, paths: &mut Paths) {
        let Some(by) = other_path(id, paths) else { return };
        let (Some(path), Some(other)) = (paths.get(id), paths.get(by)) else { return };
        let Some(detector) = path.silence.as_deref() else { return };
        let fail_after = detector.limits(least).map_or(least, |[_, fail_after]| fail_after);
        let due = self.ack_due(detector, path).unwrap_or(now);
        let most = MAX_SILENCE_PROBE * u64::from(other.pmdcs());
        let before = self.next_number - 1;
        let Some(tsn) = self.retransmit_on(id, by, most, paths) else { return };
        paths.request_heartbeat(id);
        if let Some(other) = paths.get_mut(by) {
            // One packet regardless of the window: that path showed no sign of life either.
            other.flow.forced = true;
        }
        if let Some(path) = paths.get_mut(id) {
            path.silence_detector(now).silence_probe = Some(SilenceProbe {
                path: by,
                tsn,
                before,
                sent: now,
                fail_after: due + fail_after,
                answered: None,
            });
        }
        self.emit(TraceKind::LossProbe { path: by, tsn: Some(tsn.tsn().get()) });
    }

    /// Marks the oldest chunks of a silent path for retransmission on path `by`.
    ///
    /// At least one chunk, otherwise as many as the window there allows, and at most `most` bytes. Returns
    /// the first TSN.
    pub(super) fn retransmit_on(
        &mut self,
        id: PathId,
        by: PathId,
        most: u64,
        paths: &mut Paths,
    ) -> Option<LongTsn> {
        let (other, path) = (paths.get(by)?, paths.get(id)?);
        let waiting = u64::from(other.flow.marked) * u64::from(other.pmdcs());
        let window = other.controller.window().cwnd.saturating_sub(other.flight_size + waiting);
        let (mut bytes, room) = (0, window.min(most));
        let chunk_len = |&tsn: &LongTsn| self.sent.at(tsn).map_or(0, super::chunk::Chunk::wire_len);
        let chosen: Vec<_> = self
            .sent
            .in_flight(&path.flow)
            .take_while(|tsn| {
                let fits = bytes == 0 || bytes < room;
                bytes += chunk_len(tsn);
                fits
            })
            .collect();
        let moved = chosen.iter().map(chunk_len).sum::<u64>();
        paths.get_mut(id)?.flight_size -= moved;
        for &tsn in &chosen {
            self.mark_unacked(tsn, by, paths);
        }
        // RFC 7053 §5.1: the SACKs of a single packet and of the last one would be delayed.
        for &tsn in [chosen.first()?, chosen.last()?] {
            if let Some(chunk) = self.sent.at_mut(tsn) {
                chunk.piece.flags.immediate = true;
            }
        }
        chosen.first().copied()
    }

    /// Retransmits on `to` what is in flight on `from`, which a handover policy left, as far as the window of
    /// `to` allows.
    pub(crate) fn resend_on(&mut self, from: PathId, to: PathId, paths: &mut Paths) {
        let usable = paths.get(to).is_some_and(Path::is_usable);
        if from == to || !usable || self.retransmit_on(from, to, u64::MAX, paths).is_none() {
            return;
        }
        if let Some(path) = paths.get_mut(from) {
            path.stop_t3_rtx_if_drained(false);
        }
    }

    /// Retransmits on `to`, which answers again or has its link back, what is in flight on paths that have
    /// failed. Without it, data in flight waits until the T3-rtx of a network that is gone expires, after up
    /// to RTO.Max, and all that follows in order waits for it.
    pub(crate) fn leave_failed_paths(&mut self, now: Time, to: PathId, paths: &mut Paths) {
        if self.silence.is_none() || !paths.get(to).is_some_and(Path::is_usable) {
            return;
        }
        for index in 0..paths.len() {
            let path = paths.at(index);
            if path.state() != PathState::Active && path.flight_size > 0 {
                self.leave_path(now, path.id(), to, paths);
            }
        }
    }

    /// Takes signs of life and acknowledged silence probes from a SACK.
    pub(super) fn settle_silence(&mut self, now: Time, paths: &mut Paths) {
        if self.silence.is_none() {
            return;
        }
        let mut answered = None;
        for index in 0..paths.len() {
            let path = paths.at(index);
            // A path that never carried data cannot become silent.
            if !path.has_carried_data() {
                continue;
            }
            let (id, srtt, ack) = (path.id(), path.rtt.srtt(), path.flow.ack);
            let had_enough_in_flight = enough_in_flight(path);
            let probe = path.silence.as_ref().and_then(|detector| detector.silence_probe);
            let least = probe.and_then(|probe| paths.get(probe.path)).and_then(|path| path.rtt.rtt_min());
            let detector = paths.at_mut(index).silence_detector(now);
            match probe.filter(|probe| probe.answered.is_none() && self.sent.is_acked(probe.tsn)) {
                // An answer sooner than the minimum RTT (RFC 8985 §6.2) is for the first transmission: the
                // path is not silent. Everything else this SACK acknowledges was received before the
                // silence probe.
                Some(probe) if now.since(probe.sent) >= least.unwrap_or_default() => {
                    detector.silence_probe = Some(SilenceProbe { answered: Some(now), ..probe });
                }
                Some(_) => detector.on_sign(now, srtt),
                None if ack.bytes > 0 => {
                    detector.on_sign(now, srtt);
                    detector.last_ack = ack.latest_sent.map(|sent| (sent, now)).or(detector.last_ack);
                }
                None => {}
            }
            // A chunk since retransmitted on another path proves nothing about the probed path.
            detector.silence_probe.take_if(|probe| {
                let chunk = self.sent.at(probe.tsn);
                probe.answered.is_none()
                    && chunk.is_some_and(|chunk| chunk.path != probe.path && chunk.number > probe.before)
            });
            detector.had_enough_in_flight = had_enough_in_flight;
            let by = detector.silence_probe.filter(|probe| probe.answered.is_some()).map(|probe| probe.path);
            answered = answered.or(by.map(|by| (id, by)));
        }
        if let Some((id, by)) = answered
            && paths.get(by).is_some_and(|path| path.flight_size < path.controller.window().cwnd)
        {
            self.retransmit_on(id, by, u64::MAX, paths);
        }
    }

    /// Fails a path that is silent while the peer answers on path `by`: handles it like a T3-rtx expiration.
    fn fail_silent_path(&mut self, now: Time, id: PathId, by: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id) else { return };
        path.silence_detector(now).on_failure(now);
        if !path.is_usable() {
            return;
        }
        self.emit(TraceKind::Silence { path: id, by });
        self.t3_rtx_expired(now, id, Evidence::Silent, paths);
        self.forward_after_timeout();
    }
}

/// Returns another usable path.
fn other_path(silent: PathId, paths: &Paths) -> Option<PathId> {
    let other = paths.retransmission_path(silent).filter(|&other| other != silent)?;
    paths.get(other).is_some_and(Path::is_usable).then_some(other)
}
