//! Silence detection (`FailoverConfig::silence`): finds out that a path stopped answering long before T3-rtx expires.
//! Ours; off by default. Knows no packets.
//!
//! T3-rtx waits for the RTO after the *last* acknowledgement, never less than RTO.Min. A path that carries a stream of
//! data shows signs of life all the time: packets that arrive over it, acknowledgements of what was sent there. The
//! longest interval between two of them lately reflects its queues, its jitter and the peer's delayed SACKs.
//!
//! When a path is silent for somewhat longer than that, the sender probes: it requests a HEARTBEAT on the silent path and
//! retransmits the oldest chunks in flight there on another path that works, at most an initial window of them. The
//! silence counts from the time at which the acknowledgement of the oldest chunk in flight was due, or from the last sign of
//! life if that is later. When the other path acknowledges the probe, more chunks follow as its window allows: the receiver
//! gets its data before the state of the silent path is known. A probe in vain costs those packets and delays the next one.
//!
//! Any sign of life of the silent path ends the probe. The path counts as failed when it was silent for several of its usual
//! intervals, the other path acknowledged the probe, and a least round trip passed since then. Then the same happens as on
//! the expiration of its T3-rtx (RFC 9260 §6.3.3, RFC 7829 §3.2).
//!
//! With few packets in flight all of them may be lost on a path that works: then only T3-rtx decides.

use msctp_units::{Span, Time};

use super::Outbound;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths, SilenceDetector, SilenceProbe};
use crate::{PathId, TraceKind};

/// Full packets in flight that make a stream: a working path does not lose as many by chance.
const STREAM: u64 = 4;
/// Packets of a probe at most: an initial window, as TCP's (RFC 6928).
const MAX_PROBE: u64 = 10;

/// True when so much is in flight that it cannot all be lost by chance.
fn has_stream(path: &Path) -> bool {
    path.flight_size >= STREAM * u64::from(path.pmdcs())
}

impl Outbound {
    /// True when silence detection is on and packets that arrive must be reported.
    #[inline]
    pub(crate) fn watches_silence(&self) -> bool {
        self.silence.is_some()
    }

    /// Records that a packet of the peer arrived over a path.
    pub fn on_heard(&self, now: Time, path: PathId, paths: &mut Paths) {
        if self.silence.is_some()
            && let Some(path) = paths.get_mut(path)
        {
            let srtt = path.rtt.srtt();
            path.silence_detector(now).on_sign(now, srtt);
        }
    }

    /// When the silence of a path next requires a probe, or makes it count as failed.
    #[inline]
    pub(super) fn silence_deadline(&self, paths: &Paths) -> Option<Time> {
        let least = self.silence?;
        if paths.len() < 2 {
            return None;
        }
        paths.iter().filter_map(|path| self.silent_at(least, path, paths)).min()
    }

    /// When something is to be done about the silence of a path; `None`: T3-rtx decides, or no other path works.
    fn silent_at(&self, least: Span, path: &Path, paths: &Paths) -> Option<Time> {
        let detector = path.silence.as_deref()?;
        if let Some(probe) = &detector.probe {
            // The peer is there. A path that works would have shown a sign of life by then: a stall is given as much time
            // as if the probe had been sent when the path counted as silent.
            let answered = probe.answered?;
            let silent = answered.max(probe.fail_after + answered.since(probe.sent));
            return Some(silent + path.rtt.rtt_min().unwrap_or(least));
        }
        if !(detector.streaming && has_stream(path) && path.is_usable()) {
            return None;
        }
        let [probe_after, _] = detector.limits(least)?;
        let at = (self.ack_due(detector, path)? + probe_after).max(detector.known_from);
        let first = path.t3_rtx.is_some_and(|t3_rtx| at < t3_rtx);
        (first && other_path(path.id(), paths).is_some()).then_some(at)
    }

    /// When a path that works acknowledges its oldest chunk in flight, or the last sign of life if that is later.
    fn ack_due(&self, detector: &SilenceDetector, path: &Path) -> Option<Time> {
        let oldest = self.sent.in_flight(&path.flow).next()?;
        let sent = self.sent.at(oldest)?.sent;
        let usual = sent + path.rtt.srtt()? + path.rtt.rttvar()?;
        let clocked = detector.last_ack.map(|(before, acked)| acked + sent.since(before));
        Some(clocked.map_or(usual, |clocked| clocked.min(usual)).max(detector.last_heard))
    }

    /// Probes for, or declares failed, each path whose silence is due by `now`.
    pub(super) fn silence_timeout(&mut self, now: Time, paths: &mut Paths) {
        let Some(least) = self.silence.filter(|_| paths.len() >= 2) else { return };
        for index in 0..paths.len() {
            let path = paths.at(index);
            if self.silent_at(least, path, paths).is_none_or(|at| at > now) {
                continue;
            }
            match path.silence.as_ref().and_then(|detector| detector.probe) {
                Some(probe) => self.fail_silent_path(now, path.id(), probe.path, paths),
                None => self.probe_other_path(now, path.id(), least, paths),
            }
        }
    }

    fn probe_other_path(&mut self, now: Time, id: PathId, least: Span, paths: &mut Paths) {
        let Some(by) = other_path(id, paths) else { return };
        let (Some(path), Some(other)) = (paths.get(id), paths.get(by)) else { return };
        let Some(detector) = path.silence.as_deref() else { return };
        let fail_after = detector.limits(least).map_or(least, |[_, fail_after]| fail_after);
        let due = self.ack_due(detector, path).unwrap_or(now);
        let most = MAX_PROBE * u64::from(other.pmdcs());
        let before = self.next_number - 1;
        let Some(tsn) = self.send_elsewhere(id, by, most, paths) else { return };
        paths.request_heartbeat(id);
        if let Some(other) = paths.get_mut(by) {
            // One packet, whatever the window there says: no sign of life came from that path either.
            other.flow.forced = true;
        }
        if let Some(path) = paths.get_mut(id) {
            path.silence_detector(now).probe = Some(SilenceProbe {
                path: by,
                tsn,
                before,
                sent: now,
                fail_after: due + fail_after,
                answered: None,
            });
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::LossProbe { path: by, tsn: Some(tsn.tsn().get()) });
        }
    }

    /// Marks chunks of a silent path for retransmission on another one: the oldest ones, as many as the window there allows,
    /// but at least one, and no more than `most` bytes. Returns the first.
    fn send_elsewhere(&mut self, id: PathId, by: PathId, most: u64, paths: &mut Paths) -> Option<LongTsn> {
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
            self.mark(tsn, by, paths);
        }
        // RFC 7053 §5.1: the SACK of a single packet, and of the last one, would be delayed.
        for &tsn in [chosen.first()?, chosen.last()?] {
            if let Some(chunk) = self.sent.at_mut(tsn) {
                chunk.flags.immediate = true;
            }
        }
        chosen.first().copied()
    }

    /// Takes signs of life and acknowledged probes from a SACK.
    pub(super) fn settle_silence(&mut self, now: Time, paths: &mut Paths) {
        if self.silence.is_none() {
            return;
        }
        let mut answered = None;
        for index in 0..paths.len() {
            let path = paths.at(index);
            // Without data sent it has nothing to be silent about.
            if !path.has_carried_data() {
                continue;
            }
            let (id, srtt, ack) = (path.id(), path.rtt.srtt(), path.flow.ack);
            let streaming = has_stream(path);
            let probe = path.silence.as_ref().and_then(|detector| detector.probe);
            let least = probe.and_then(|probe| paths.get(probe.path)).and_then(|path| path.rtt.rtt_min());
            let detector = paths.at_mut(index).silence_detector(now);
            match probe.filter(|probe| probe.answered.is_none() && self.sent.is_acked(probe.tsn)) {
                // Sooner than a round trip (RFC 8985 §6.2) the first sending arrived: the path is not silent. Whatever else
                // this SACK acknowledges was received before the probe.
                Some(probe) if now.since(probe.sent) >= least.unwrap_or_default() => {
                    detector.probe = Some(SilenceProbe { answered: Some(now), ..probe });
                }
                Some(_) => detector.on_sign(now, srtt),
                None if ack.bytes > 0 => {
                    detector.on_sign(now, srtt);
                    detector.last_ack = ack.latest_sent.map(|sent| (sent, now)).or(detector.last_ack);
                }
                None => {}
            }
            // A chunk that was retransmitted elsewhere since proves nothing about the path of the probe.
            detector.probe.take_if(|probe| {
                let chunk = self.sent.at(probe.tsn);
                probe.answered.is_none()
                    && chunk.is_some_and(|chunk| chunk.path != probe.path && chunk.number > probe.before)
            });
            detector.streaming = streaming;
            let by = detector.probe.filter(|probe| probe.answered.is_some()).map(|probe| probe.path);
            answered = answered.or(by.map(|by| (id, by)));
        }
        if let Some((id, by)) = answered
            && paths.get(by).is_some_and(|path| path.flight_size < path.controller.window().cwnd)
        {
            self.send_elsewhere(id, by, u64::MAX, paths);
        }
    }

    /// The peer answers on another path and not on this one: treats it as T3-rtx expired.
    fn fail_silent_path(&mut self, now: Time, id: PathId, by: PathId, paths: &mut Paths) {
        let Some(path) = paths.get_mut(id) else { return };
        path.silence_detector(now).on_failure(now);
        if !path.is_usable() {
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::Silence { path: id, by });
        }
        self.t3_rtx_expired(now, id, paths);
        self.forward_after_timeout();
    }
}

/// Another path that works.
fn other_path(silent: PathId, paths: &Paths) -> Option<PathId> {
    let other = paths.retransmission_path(silent).filter(|&other| other != silent)?;
    paths.get(other).is_some_and(Path::is_usable).then_some(other)
}
