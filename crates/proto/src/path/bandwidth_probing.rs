//! Bandwidth probing: runs a [`BandwidthEstimator`] on a path with HEARTBEATs as bandwidth probes.
//!
//! A bandwidth probe is a small HEARTBEAT bundled with a PAD chunk (RFC 4820) that gives the IP packet the
//! size the estimator asks for. The peer drops the PAD chunk, so its answer stays small. A lost bandwidth
//! probe is a measurement, not an error of the path. An answered one proves that the path works.

use std::collections::VecDeque;

use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
use msctp_units::Time;

use super::{
    COMMON_HEADER, HEARTBEAT_INFO_LEN, HeartbeatInfo, Path, PathId, PathState, Paths, Purpose, SourceUse,
    ip_header,
};
use crate::rng::RngState;

/// Length in bytes of a chunk header (RFC 9260 §3.2) or a parameter header (§3.2.1).
const TLV_HEADER: u32 = 4;
/// Length in bytes of a HEARTBEAT chunk with this end's information.
const HEARTBEAT: u32 = TLV_HEADER + TLV_HEADER + HEARTBEAT_INFO_LEN as u32;
/// Number of bandwidth probes per path whose answer is recognized: the length of the longest train.
const REMEMBERED: usize = 1000;

/// A bandwidth or PMTU probe to send: one packet with a HEARTBEAT and a PAD chunk, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeRequest {
    /// The path.
    pub path: PathId,
    /// The HEARTBEAT's information.
    pub info: [u8; HEARTBEAT_INFO_LEN],
    /// Bytes of padding data in the PAD chunk, without its header; a multiple of 4.
    pub padding: u32,
}

/// The bandwidth probing of one path.
#[derive(Debug)]
pub(super) struct BandwidthProber {
    estimator: Box<dyn BandwidthEstimator>,
    /// Ids and nonces of the latest bandwidth probes, ascending.
    nonces: VecDeque<(u64, u64)>,
    /// The bandwidth probe whose round trip updates the path's RTO.
    timed: Option<(u64, Time)>,
    /// True if the path could not send, so that the measurement in progress is invalid.
    interrupted: bool,
}

impl BandwidthProber {
    fn new(estimator: Box<dyn BandwidthEstimator>) -> Self {
        Self { estimator, nonces: VecDeque::new(), timed: None, interrupted: false }
    }

    /// Creates the next bandwidth probe that is due: its id and nonce.
    fn next(&mut self, now: Time, rng: &mut RngState) -> Option<(u64, u64)> {
        if self.interrupted {
            // Ids restart at 0; answers to old bandwidth probes fail by their nonce.
            self.estimator.restart(now);
            (self.nonces, self.timed, self.interrupted) = (VecDeque::new(), None, false);
        }
        let alone = self.estimator.outstanding() == 0;
        let id = self.estimator.poll_probe(now)?;
        let nonce = rng.next_u64();
        if self.nonces.len() == REMEMBERED {
            self.nonces.pop_front();
        }
        self.nonces.push_back((id, nonce));
        if alone {
            // RFC 9260 §6.3.1 C4: one measurement per round trip. The others queue behind this one.
            self.timed = Some((id, now));
        }
        Some((id, nonce))
    }

    /// Returns true once if `id` was sent with `nonce`.
    fn take(&mut self, id: u64, nonce: u64) -> bool {
        match self.nonces.binary_search_by_key(&id, |probe| probe.0) {
            Ok(at) if self.nonces[at].1 == nonce => self.nonces.remove(at).is_some(),
            _ => false,
        }
    }
}

impl Path {
    /// Returns true if bandwidth and PMTU probes may be sent now.
    ///
    /// RFC 9260 §5.4 allows no such rate to an unconfirmed address, and an inactive path waits for its
    /// heartbeats.
    fn may_probe(&self) -> bool {
        self.state == PathState::Active && self.link_up && self.source == SourceUse::Full
    }

    /// Returns true if bandwidth probing of this path is on, even while it pauses.
    #[cfg(test)]
    pub(crate) fn is_probed(&self) -> bool {
        self.bandwidth_prober.is_some()
    }

    /// Returns the latest estimate of the running bandwidth probing.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        self.bandwidth_prober.as_ref().and_then(|prober| prober.estimator.estimate())
    }

    /// Updates bandwidth probing after a change of link, source or state.
    pub(super) fn check_probing(&mut self) {
        let may_probe = self.may_probe();
        if let Some(prober) = &mut self.bandwidth_prober
            && !may_probe
        {
            prober.interrupted = true;
        }
    }
}

impl Paths {
    /// Starts bandwidth probing of a path, or restarts it.
    ///
    /// Probing pauses while the path is unconfirmed or cannot send. An interrupted measurement restarts.
    ///
    /// Returns false if the path does not exist, or if it cannot carry a bandwidth probe of that size: a
    /// multiple of 4 from HEARTBEAT and empty PAD chunk, with headers, to the PMTU.
    pub(crate) fn start_probing(&mut self, id: PathId, estimator: Box<dyn BandwidthEstimator>) -> bool {
        let Some(path) = self.get_mut(id) else { return false };
        let bytes = estimator.probe_bytes();
        let may = (smallest_probe(path)..=path.pmtu).contains(&bytes) && bytes.is_multiple_of(4);
        if may {
            path.bandwidth_prober = Some(Box::new(BandwidthProber::new(estimator)));
            path.check_probing();
        }
        may
    }

    /// Stops bandwidth probing of a path. Outstanding answers are ignored.
    pub(crate) fn stop_probing(&mut self, id: PathId) {
        if let Some(path) = self.get_mut(id) {
            path.bandwidth_prober = None;
        }
    }

    /// Returns the next bandwidth or PMTU probe to send now.
    ///
    /// Must be called until it returns `None`: the probes of a pair are due at the same time.
    pub(crate) fn poll_probe(&mut self, now: Time) -> Option<ProbeRequest> {
        if !self.may_probe() {
            return None;
        }
        for path in &mut self.list {
            if !path.may_probe() {
                continue;
            }
            let padding = |bytes: u32, path: &Path| bytes.saturating_sub(smallest_probe(path));
            let Some(prober) = &mut path.bandwidth_prober else { continue };
            let Some((id, nonce)) = prober.next(now, &mut self.rng) else { continue };
            let bytes = prober.estimator.probe_bytes();
            let info = HeartbeatInfo { path: path.id, purpose: Purpose::Bandwidth(id), sent: now, nonce };
            return Some(ProbeRequest {
                path: path.id,
                info: info.to_bytes(),
                padding: padding(bytes, path),
            });
        }
        if self.pmtu_discovery_pending {
            return None;
        }
        let rng = &mut self.rng;
        self.list.iter_mut().filter(|path| path.may_probe()).find_map(|path| path.next_pmtu_probe(now, rng))
    }

    /// Returns true while probes may be sent: like heartbeats, from ESTABLISHED to the shutdown
    /// (RFC 9260 §8.3).
    fn may_probe(&self) -> bool {
        self.schedule.running && !self.probes_held
    }

    /// Sets whether probes wait. In clear, an observer could answer those that the path does not carry, and
    /// the PMTU or rate would stay.
    pub(crate) fn hold_probes(&mut self, held: bool) {
        self.probes_held = held;
    }

    /// Returns the next deadline of probing.
    pub(super) fn next_probe_timeout(&self) -> Option<Time> {
        if !self.may_probe() {
            return None;
        }
        let waiting = |path: &Path| {
            let prober = path.bandwidth_prober.as_ref()?;
            if prober.interrupted { Some(Time::ZERO) } else { prober.estimator.poll_timeout() }
        };
        let probed = self.list.iter().filter(|path| path.may_probe());
        let searching =
            |path: &Path| if self.pmtu_discovery_pending { None } else { path.next_pmtu_timeout() };
        probed.flat_map(|path| [waiting(path), searching(path)]).flatten().min()
    }

    /// Times out unanswered probes.
    pub(super) fn handle_probe_timeout(&mut self, now: Time) {
        if !self.may_probe() {
            return;
        }
        for path in self.list.iter_mut().filter(|path| path.may_probe()) {
            if let Some(prober) = &mut path.bandwidth_prober
                && !prober.interrupted
            {
                prober.estimator.handle_timeout(now);
            }
        }
        for index in 0..self.list.len() {
            if self.list[index].may_probe() {
                let event = self.list[index].handle_pmtu_timeout(now);
                self.emit_all(event);
            }
        }
    }

    /// Handles a HEARTBEAT ACK with the nonce of a PMTU probe. Returns true if a probe has that nonce.
    pub(super) fn on_pmtu_probe_ack(&mut self, index: usize, nonce: u64, now: Time) -> bool {
        let Some(event) = self.list[index].on_pmtu_probe_ack(nonce, now) else { return false };
        self.emit_all(event);
        self.on_path_proven(index, now);
        true
    }

    /// Returns the next new estimate, with its path.
    pub(crate) fn poll_estimate(&mut self) -> Option<(PathId, Estimate)> {
        self.list
            .iter_mut()
            .find_map(|path| Some((path.id, path.bandwidth_prober.as_mut()?.estimator.poll_estimate()?)))
    }

    /// Handles a HEARTBEAT ACK for bandwidth probe `probe`. Returns true if `info` matches the probe.
    pub(super) fn on_probe_ack(&mut self, index: usize, info: &HeartbeatInfo, probe: u64, now: Time) -> bool {
        let path = &mut self.list[index];
        let Some(prober) = &mut path.bandwidth_prober else { return false };
        if !prober.take(probe, info.nonce) {
            return false;
        }
        let timed = prober.timed.take_if(|timed| timed.0 == probe);
        if !prober.interrupted {
            prober.estimator.on_probe_ack(now, probe);
        }
        if let Some((_, sent)) = timed {
            path.measure_round_trip(now, now.since(sent));
        }
        self.on_path_proven(index, now);
        true
    }
}

/// Returns the bytes on the IP wire of a probe with an empty PAD chunk.
pub(super) fn smallest_probe(path: &Path) -> u32 {
    ip_header(&path.addr.remote) + COMMON_HEADER + HEARTBEAT + TLV_HEADER
}

#[cfg(test)]
mod tests {
    use msctp_units::{Rate, Span};

    use super::super::testing::{P0, P1, confirmed, events, fail, local, ms, pairs, pairs_of, paths};
    use super::super::{Acknowledged, PathEvent};
    use super::*;

    /// Sets the paths to ESTABLISHED, without heartbeats.
    fn up(mut paths: Paths) -> Paths {
        paths.set_hb_interval(Span::ZERO, ms(0));
        paths.schedule.running = true;
        paths
    }

    /// A bottleneck of `rate` with `delay` in each direction; drops every `lose`-th probe.
    struct Wire {
        rate: Rate,
        delay: Span,
        free: Time,
        lose: usize,
        sent: usize,
        answers: VecDeque<(Time, [u8; HEARTBEAT_INFO_LEN])>,
    }

    impl Wire {
        fn new(kbps: u64, delay: u64) -> Self {
            let delay = Span::from_millis(delay);
            Self {
                rate: Rate::from_kbps(kbps),
                delay,
                free: Time::ZERO,
                lose: 0,
                sent: 0,
                answers: VecDeque::new(),
            }
        }

        fn carry(&mut self, now: Time, probe: &ProbeRequest) {
            self.sent += 1;
            if self.lose > 0 && self.sent.is_multiple_of(self.lose) {
                return;
            }
            let bytes = 20 + 12 + 8 + 28 + 4 + u64::from(probe.padding);
            self.free = self.free.max(now) + self.rate.time_for(bytes);
            self.answers.push_back((self.free + self.delay * 2, probe.info));
        }

        /// Runs until `until` and returns the estimates.
        fn run(&mut self, paths: &mut Paths, mut now: Time, until: Time) -> Vec<(PathId, Estimate)> {
            let mut estimates = Vec::new();
            while now <= until {
                paths.handle_timeout(now);
                while let Some(probe) = paths.poll_probe(now) {
                    self.carry(now, &probe);
                }
                estimates.extend(core::iter::from_fn(|| paths.poll_estimate()));
                let next = [self.answers.front().map(|answer| answer.0), paths.next_timeout()];
                let Some(next) = next.into_iter().flatten().min() else { break };
                now = now.max(next);
                while let Some((_, info)) = self.answers.pop_front_if(|answer| answer.0 <= now) {
                    assert_eq!(paths.on_heartbeat_ack(&info, now), Acknowledged::Probe { path: P0 });
                }
            }
            estimates
        }
    }

    #[test]
    fn an_idle_bottleneck_is_measured_with_packets_of_the_exact_size() {
        let mut paths = up(confirmed(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        let first = paths.poll_probe(ms(0)).unwrap();
        // RFC 9260 §3.1, §3.3.5, RFC 4820 §3: 20 IP + 12 + (4 + 4 + 28) + (4 + padding) = 700
        assert_eq!(first.padding, 700 - 20 - 12 - 36 - 4);
        assert_eq!(paths.poll_probe(ms(0)).map(|probe| probe.path), Some(P0), "the other one of the pair");
        assert_eq!(paths.poll_probe(ms(0)), None);
        let mut paths = up(confirmed(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        let estimates = Wire::new(384, 100).run(&mut paths, ms(0), ms(10_000));
        assert!(estimates.len() >= 2, "{estimates:?}");
        for (path, estimate) in estimates {
            assert_eq!(path, P0);
            for rate in [estimate.capacity, estimate.available] {
                assert!((380_000..=388_000).contains(&rate.as_bps()), "{estimate:?}");
            }
            // 200 ms and the probe's own 14.583 ms
            assert_eq!(estimate.rtt_min.as_millis(), 214);
        }
        let path = paths.get(P0).unwrap();
        assert_eq!(
            path.rtt.rtt_min().map(Span::as_millis),
            Some(214),
            "the first probe of each group is timed"
        );
        assert!(
            path.rtt.srtt().unwrap() < Span::from_millis(220),
            "those behind it are not: {:?}",
            path.rtt.srtt()
        );
    }

    #[test]
    fn lost_probes_are_no_errors_of_the_path() {
        let mut paths = up(confirmed(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        let mut wire = Wire::new(11_000, 20);
        wire.lose = 5;
        let estimates = wire.run(&mut paths, ms(0), ms(20_000));
        assert!(estimates.iter().any(|(_, estimate)| estimate.loss_ppm > 0));
        wire.lose = 1;
        wire.run(&mut paths, ms(20_000), ms(60_000));
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (0, 0));
        assert_eq!(events(&mut paths), []);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let mut paths = up(confirmed(1, 1));
        let mut start = |bytes| paths.start_probing(P0, pairs_of(bytes));
        assert_eq!([71, 68, 702, 1504, 0].map(&mut start), [false; 5]);
        assert_eq!([72, 1500].map(&mut start), [true; 2]);
        assert!(!paths.start_probing(P1, pairs()));
    }

    #[test]
    fn probing_waits_for_confirmation() {
        // RFC 9260 §5.4
        let mut paths = up(paths(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        assert_eq!((paths.poll_probe(ms(0)), paths.next_timeout()), (None, None));
        paths.confirm(P0, ms(50));
        assert!(paths.poll_probe(ms(50)).is_some());
    }

    #[test]
    fn probes_are_sent_only_while_heartbeats_are() {
        // RFC 9260 §8.3
        let mut paths = confirmed(1, 1);
        assert!(paths.start_probing(P0, pairs()));
        assert_eq!((paths.poll_probe(ms(0)), paths.next_timeout()), (None, None), "not up yet");
        paths.start_heartbeats(ms(100));
        assert!(paths.next_timeout().unwrap() <= ms(100));
        assert!(paths.poll_probe(ms(100)).is_some());
        paths.stop_heartbeats();
        assert_eq!((paths.poll_probe(ms(200)), paths.next_timeout()), (None, None), "shut down");
    }

    #[test]
    fn an_interruption_starts_the_measurement_over() {
        let mut paths = up(confirmed(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        let old = paths.poll_probe(ms(0)).unwrap();
        paths.set_link(&local(0), false, ms(10));
        assert_eq!((paths.poll_probe(ms(10)), paths.next_timeout()), (None, None));
        paths.set_link(&local(0), true, ms(5000));
        assert!(paths.next_timeout().unwrap() <= ms(5000));
        let probes: Vec<_> = core::iter::from_fn(|| paths.poll_probe(ms(5000))).collect();
        assert_eq!(probes.len(), 2, "a pair, not the train that was missed");
        assert_eq!(paths.on_heartbeat_ack(&old.info, ms(5100)), Acknowledged::Unknown);
        fail(&mut paths, P0);
        assert_eq!(paths.poll_probe(ms(6000)), None, "inactive");
    }

    #[test]
    fn forged_answers_are_ignored_and_true_ones_revive_the_path() {
        let mut paths = up(confirmed(1, 1));
        assert!(paths.start_probing(P0, pairs()));
        let probe = paths.poll_probe(ms(0)).unwrap();
        let right = HeartbeatInfo::from_bytes(&probe.info).unwrap();
        for wrong in [
            HeartbeatInfo { nonce: right.nonce ^ 1, ..right },
            HeartbeatInfo { purpose: Purpose::Bandwidth(77), ..right },
            HeartbeatInfo { purpose: Purpose::Heartbeat, ..right },
        ] {
            assert_eq!(paths.on_heartbeat_ack(&wrong.to_bytes(), ms(5)), Acknowledged::Unknown, "{wrong:?}");
        }
        fail(&mut paths, P0);
        events(&mut paths);
        assert_eq!(paths.on_heartbeat_ack(&probe.info, ms(50)), Acknowledged::Probe { path: P0 });
        assert_eq!(paths.on_heartbeat_ack(&probe.info, ms(60)), Acknowledged::Unknown, "once");
        assert_eq!(
            events(&mut paths),
            [PathEvent::StateChanged { path: P0, from: PathState::Inactive, to: PathState::Active }]
        );
        paths.stop_probing(P0);
        assert_eq!(paths.poll_probe(ms(70)), None);
        assert!(!paths.get(P0).unwrap().is_probed());
    }
}
