//! Heartbeats: verification of unconfirmed paths (RFC 9260 §5.4), monitoring of idle paths (§8.3) and of
//! potentially failed ones (RFC 7829 §3.2).
//!
//! Timers are lazy: sending data only records the time. A heartbeat that falls due on a path used meanwhile
//! is postponed.

use std::sync::Arc;

use msctp_units::{Span, Time};

use super::{
    Evidence, HEARTBEAT_INFO_LEN, HeartbeatInfo, Path, PathId, PathState, Paths, PathsConfig, Purpose,
    SourceUse,
};

/// Number of heartbeats per path whose answer is recognized. With a doubling timeout, four cover 15 RTOs.
const REMEMBERED: usize = 4;

/// A sent heartbeat.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    nonce: u64,
}

/// The heartbeat state of one path.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// True if monitoring is off (RFC 9260 §8.3 A, C).
    disabled: bool,
    /// True if a heartbeat must be sent at the next opportunity.
    ready: bool,
    /// True if the next heartbeat does not wait for the answer to an earlier one.
    is_test: bool,
    /// Time at which to check whether the path was idle.
    due: Option<Time>,
    /// HB.interval + RTO with jitter, drawn when `due` was set.
    period: Span,
    /// Time at which the oldest unanswered heartbeat times out.
    answer_by: Option<Time>,
    sent: [Option<Sent>; REMEMBERED],
    next_slot: usize,
}

impl Heartbeat {
    /// Drops sent and pending heartbeats. Whether the path is monitored does not change.
    pub(super) fn forget(&mut self) {
        *self = Self { disabled: self.disabled, ..Self::default() };
    }
}

/// The heartbeat state shared by all paths.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// True from ESTABLISHED until a SHUTDOWN is sent.
    pub(super) running: bool,
    /// End of the RTO in which `burst` verification heartbeats were sent.
    burst_until: Time,
    burst: u32,
}

/// A HEARTBEAT to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatRequest {
    /// The path.
    pub path: PathId,
    /// Heartbeat Info of the chunk.
    pub info: [u8; HEARTBEAT_INFO_LEN],
}

/// The meaning of a HEARTBEAT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// A heartbeat of this path.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Round-trip time, which the path's estimator has already processed.
        rtt: Span,
        /// True if this measurement ended a back-off of the path's RTO.
        ended_back_off: bool,
    },
    /// A bandwidth or PMTU probe of this path.
    Probe {
        /// The path.
        path: PathId,
    },
    /// No known chunk: the answer is forged, very late or duplicate, and must be ignored.
    Unknown,
}

impl Path {
    /// Returns true if a heartbeat may be sent on this path now.
    pub(crate) fn may_heartbeat(&self) -> bool {
        self.link_up && self.source == SourceUse::Full
    }

    /// Returns true if the path is unconfirmed and not inactive, so that it is verified once per RTO
    /// (RFC 9260 §5.4).
    fn in_verification(&self) -> bool {
        self.state == PathState::Unconfirmed
    }

    /// Returns true if the path gets a heartbeat every RTO, regardless of HB.interval.
    ///
    /// This holds during verification (RFC 9260 §5.4), and while the path is potentially failed (RFC 7829
    /// §3.2).
    fn heartbeats_every_rto(&self) -> bool {
        matches!(self.state, PathState::Unconfirmed | PathState::PotentiallyFailed)
    }

    /// Remembers a sent heartbeat. It replaces the oldest one, or the newest if the answer to the oldest may
    /// still come: forged packets may cause heartbeats faster than they are answered.
    fn remember(&mut self, sent: Sent) {
        let rto = self.rtt.rto();
        let heartbeat = &mut self.heartbeat;
        let oldest = heartbeat.sent[heartbeat.next_slot];
        if oldest.is_some_and(|oldest| sent.at < oldest.at + rto) {
            heartbeat.sent[(heartbeat.next_slot + REMEMBERED - 1) % REMEMBERED] = Some(sent);
            return;
        }
        heartbeat.sent[heartbeat.next_slot] = Some(sent);
        heartbeat.next_slot = (heartbeat.next_slot + 1) % REMEMBERED;
    }
}

impl Paths {
    /// Starts verification and the monitoring of idle paths at ESTABLISHED (RFC 9260 §5.4, §8.3).
    pub(crate) fn start_heartbeats(&mut self, now: Time) {
        self.schedule.running = true;
        for index in 0..self.list.len() {
            self.schedule_first(index, now);
        }
    }

    /// Stops heartbeats after a SHUTDOWN or SHUTDOWN ACK was sent (RFC 9260 §8.3).
    pub(crate) fn stop_heartbeats(&mut self) {
        self.schedule.running = false;
        for path in &mut self.list {
            path.heartbeat.ready = false;
            path.heartbeat.due = None;
            path.heartbeat.answer_by = None;
        }
    }

    /// Turns monitoring of one path off or on (RFC 9260 §8.3 A and C). Verification continues in either case.
    pub(crate) fn enable_heartbeats(&mut self, id: PathId, enabled: bool, now: Time) {
        let Some(index) = self.index(id) else { return };
        if self.list[index].heartbeat.disabled == enabled {
            self.list[index].heartbeat.disabled = !enabled;
            self.schedule_next(index, now);
        }
    }

    /// Sets HB.interval for all paths (RFC 9260 §8.3 B). [`Span::ZERO`] ends monitoring.
    pub(crate) fn set_hb_interval(&mut self, interval: Span, now: Time) {
        Arc::make_mut(&mut self.config).hb_interval = interval;
        for index in 0..self.list.len() {
            self.schedule_next(index, now);
        }
    }

    /// Requests a heartbeat on this path now, idle or not (RFC 9260 §8.3 D).
    ///
    /// The heartbeat waits while the path's link is down or its address may not be a source.
    pub(crate) fn request_heartbeat(&mut self, id: PathId) {
        if let Some(path) = self.get_mut(id) {
            path.heartbeat.ready = true;
        }
    }

    /// Requests a heartbeat on every confirmed path now. Verification is independent of it.
    pub(crate) fn request_heartbeats(&mut self) {
        for path in self.list.iter_mut().filter(|path| path.confirmed) {
            path.heartbeat.ready = true;
        }
    }

    /// Sends a verification heartbeat now on every unconfirmed path. Answers to earlier ones do not count.
    pub(crate) fn verify_again(&mut self) {
        if self.schedule.running {
            for path in self.list.iter_mut().filter(|path| !path.confirmed && path.may_heartbeat()) {
                path.heartbeat.forget();
                path.heartbeat.ready = true;
            }
        }
    }

    /// Sends a verification heartbeat now on an unconfirmed path that received a packet, at most once per
    /// RTO.Initial.
    ///
    /// Replies to the peer wait for this verification if the path is not the data path (RFC 9260 §5.4). A
    /// receiver does not notice that its data path died, to which its SACKs go meanwhile. During an outage,
    /// the verification may have backed off or slowed down to the rate of heartbeats.
    pub(crate) fn verify_receiving_path(&mut self, id: PathId, now: Time) {
        if !self.schedule.running {
            return;
        }
        let every = self.config.rto.initial;
        let Some(path) = self.get_mut(id) else { return };
        if !path.confirmed && path.may_heartbeat() && now >= path.last_used + every {
            path.heartbeat.ready = true;
            // RFC 9260 §5.4, HB.Max.Burst: the RTOs of unanswered heartbeats do not delay it.
            self.schedule.burst_until = self.schedule.burst_until.min(now);
        }
    }

    /// Sends a heartbeat soon on a path that failed, or whose RTO has backed off, and received a packet of
    /// the peer, even if heartbeats are off (RFC 9260 §8.3): half a round trip after the one before.
    ///
    /// The packet may be the first sign of a network that works again, while the path's own retransmissions
    /// and heartbeats have backed off: the answer to this one ends that. On a path other than the data path,
    /// an observer may have delivered a protected packet, so that SACKs take the data path until the path
    /// answers.
    #[inline]
    pub(crate) fn test_receiving_path(&mut self, id: PathId, now: Time) {
        let failed = |path: &Path| match path.state {
            PathState::Unconfirmed => false,
            PathState::PotentiallyFailed | PathState::Inactive => true,
            PathState::Active => path.rtt.is_backed_off(),
        };
        if self.schedule.running && self.get(id).is_some_and(failed) {
            self.test_failed_path(id, now);
        }
    }

    #[cold]
    fn test_failed_path(&mut self, id: PathId, now: Time) {
        let initial = self.config.rto.initial;
        let other_works = self.list.iter().any(|other| other.id != id && other.is_usable());
        // A path that answers heartbeats and delivers no data is not asked more often while another works.
        let may_test = |path: &&mut Path| path.may_heartbeat() && !(other_works && path.doubt.is_founded());
        let Some(path) = self.get_mut(id).filter(may_test) else { return };
        // What was sent on an active path a moment ago may still be answered.
        if path.state == PathState::Active && now < path.last_used + path.rto_without_back_off() {
            return;
        }
        let pause = path.rtt.srtt().unwrap_or(initial).min(initial) / 2;
        let last = path.heartbeat.sent.iter().flatten().map(|sent| sent.at).max();
        let from = last.map_or(now, |last| last + pause);
        let heartbeat = &mut path.heartbeat;
        if from <= now {
            heartbeat.ready = true;
        } else if heartbeat.due.is_none_or(|due| from < due) {
            (heartbeat.due, heartbeat.period, heartbeat.is_test) = (Some(from), pause, true);
        }
    }

    /// Schedules the first heartbeat of a path: at once if unconfirmed, otherwise after an idle period.
    pub(super) fn schedule_first(&mut self, index: usize, now: Time) {
        if !self.schedule.running {
            return;
        }
        if self.list[index].heartbeats_every_rto() {
            self.list[index].heartbeat.ready = true;
        } else {
            self.schedule_next(index, now);
        }
    }

    /// Sends the first heartbeat of a potentially failed path at once, unless one is outstanding.
    pub(super) fn heartbeat_every_rto(&mut self, index: usize) {
        let path = &mut self.list[index];
        if self.schedule.running && path.may_heartbeat() {
            path.heartbeat.due = None;
            path.heartbeat.ready = path.heartbeat.answer_by.is_none();
        }
    }

    /// Returns whether no path carries packets, as far as is known, with `FailoverConfig::silence`.
    fn is_stranded(&self) -> bool {
        self.config.failover.silence.is_some() && !self.list.iter().any(Path::is_usable)
    }

    /// Tests every path but the one that just failed, once none is left that carries packets: one of them may
    /// work again by now, whose heartbeats have become rare.
    ///
    /// Each gets a heartbeat at once. Further ones follow after an RTO, which doubles, so that the interval
    /// is never longer than the time without a path; on the data path, where they count for the association
    /// (RFC 9260 §8.1), at its usual rate.
    pub(super) fn test_others_if_stranded(&mut self, failed: Option<PathId>) {
        if !self.schedule.running || !self.is_stranded() {
            return;
        }
        // They do not wait for the RTOs of those unanswered (RFC 9260 §5.4, HB.Max.Burst).
        self.schedule.burst_until = Time::ZERO;
        for path in self.list.iter_mut().filter(|path| path.may_heartbeat() && Some(path.id) != failed) {
            if path.flight_size == 0 {
                path.rtt.end_back_off();
            }
            let heartbeat = &mut path.heartbeat;
            (heartbeat.ready, heartbeat.answer_by, heartbeat.due) = (true, None, None);
        }
    }

    /// Updates the schedule after a change of a path's link, source or confirmation.
    pub(super) fn reschedule(&mut self, index: usize, now: Time) {
        self.list[index].check_probing();
        if !self.schedule.running {
            return;
        }
        let path = &mut self.list[index];
        if !path.may_heartbeat() {
            // A heartbeat that we held back ourselves is no error of the path.
            path.heartbeat.answer_by = None;
            path.heartbeat.due = None;
            path.heartbeat.ready = false;
        } else if path.heartbeat.due.is_none() && path.heartbeat.answer_by.is_none() {
            // The path may send now: test at once whether it works.
            path.heartbeat.ready = true;
        } else if !path.heartbeats_every_rto() {
            self.schedule_next(index, now);
        }
    }

    /// Schedules the next heartbeat (RFC 9260 §8.3): HB.interval + RTO ± 50 % of the RTO after `from`.
    fn schedule_next(&mut self, index: usize, from: Time) {
        let path = &mut self.list[index];
        // RFC 9260 §5.4: verification ends when the path is confirmed. An inactive path gets the normal rate.
        let interval = match self.config.hb_interval {
            Span::ZERO if !path.confirmed => PathsConfig::default().hb_interval,
            interval => interval,
        };
        if !self.schedule.running
            || path.heartbeat.disabled && path.confirmed
            || interval.is_zero()
            || path.heartbeats_every_rto()
            || !path.may_heartbeat()
        {
            path.heartbeat.due = None;
            return;
        }
        let rto = path.rtt.rto();
        let jitter = Span::from_nanos(bounded(self.rng.next_u64(), rto.as_nanos()));
        path.heartbeat.period = interval + rto / 2 + jitter;
        path.heartbeat.due = Some(from + path.heartbeat.period);
    }

    /// Waits for no answer to the heartbeats sent so far, and schedules the next one.
    pub(super) fn postpone_heartbeat(&mut self, index: usize, now: Time) {
        let heartbeat = &mut self.list[index].heartbeat;
        (heartbeat.ready, heartbeat.answer_by) = (false, None);
        self.schedule_next(index, now);
    }

    /// Returns the next deadline of the heartbeats.
    pub(super) fn next_heartbeat_timeout(&self) -> Option<Time> {
        if !self.schedule.running {
            return None;
        }
        let gate = self.schedule.burst_until;
        self.list
            .iter()
            .flat_map(|path| {
                let heartbeat = &path.heartbeat;
                // `poll_heartbeat` takes ready heartbeats that are not gated before the timeout is queried.
                let gated =
                    (heartbeat.ready && path.in_verification() && path.may_heartbeat()).then_some(gate);
                [heartbeat.due, heartbeat.answer_by, gated]
            })
            .flatten()
            .min()
    }

    /// Times out unanswered heartbeats and sends new ones on idle paths.
    pub(super) fn handle_heartbeat_timeout(&mut self, now: Time) {
        for index in 0..self.list.len() {
            if self.list[index].heartbeat.answer_by.is_some_and(|at| at <= now) {
                self.on_unanswered(index);
            }
            let path = &mut self.list[index];
            let Some(due) = path.heartbeat.due.filter(|due| *due <= now) else { continue };
            let idle_from = path.last_used + path.heartbeat.period;
            if idle_from > due {
                // RFC 9260 §8.3: not idle, a transmission within the period can update the RTT
                path.heartbeat.due = Some(idle_from);
            } else if let Some(answer_by) = path.heartbeat.answer_by.filter(|_| !path.heartbeat.is_test) {
                // An interval below half the RTO must not hide an unanswered heartbeat.
                path.heartbeat.due = Some(answer_by);
            } else {
                path.heartbeat.due = None;
                path.heartbeat.ready = true;
            }
        }
    }

    /// Counts a heartbeat that was not acknowledged within one RTO.
    fn on_unanswered(&mut self, index: usize) {
        let path = &mut self.list[index];
        path.heartbeat.answer_by = None;
        // RFC 9260 §8.3: exponential back-off of the RTO
        path.rtt.back_off();
        let state = path.state;
        let last_used = path.last_used;
        let for_association = self.counts_for_association(index);
        // RFC 9260 §8.3: an inactive path's counter SHOULD not increase further
        if state != PathState::Inactive {
            self.count_path_error(index, Evidence::Silent);
        }
        if for_association {
            self.count_assoc_error();
        }
        let stranded = self.data_path != Some(self.list[index].id) && self.is_stranded();
        if self.list[index].heartbeats_every_rto() || stranded {
            // RFC 9260 §5.4, RFC 7829 §3.2: one per RTO
            self.list[index].heartbeat.ready = true;
        } else {
            // Scheduled with the current RTO, from the unanswered heartbeat on.
            self.schedule_next(index, last_used);
        }
    }

    /// Returns true if an unanswered heartbeat counts for the association.
    ///
    /// RFC 9260 §8.1: only heartbeats on the data path count; §5.4: those of verification do not. §5.4
    /// assumes a confirmed address (its rules 1 and 2 begin with one). RFC 5061 does not: either end may
    /// delete all addresses except one that is not verified yet. Then only verification tests whether the
    /// peer is reachable, so the heartbeats of the first path that may be verified count. Otherwise an
    /// association with a dead address would never end.
    fn counts_for_association(&self, index: usize) -> bool {
        let path = &self.list[index];
        if self.has_confirmed_source() {
            return path.state != PathState::Unconfirmed && self.data_path == Some(path.id);
        }
        self.list.iter().position(Path::may_heartbeat) == Some(index)
    }

    /// Returns true if a confirmed path has a source that is being neither added nor deleted (RFC 5061 §5.3).
    ///
    /// Otherwise only verification, of paths that are not confirmed, tests whether the peer is reachable.
    pub(crate) fn has_confirmed_source(&self) -> bool {
        self.list.iter().any(|path| path.confirmed && path.source == SourceUse::Full)
    }

    /// Returns the next HEARTBEAT to send now. Call it until it returns `None`.
    ///
    /// Verification heartbeats are limited to HB.Max.Burst per RTO (RFC 9260 §5.4). The path with the fewest
    /// unanswered ones goes first, so that pairs of addresses without a route do not hold back those that
    /// have one.
    pub(crate) fn poll_heartbeat(&mut self, now: Time) -> Option<HeartbeatRequest> {
        if !self.schedule.running {
            return None;
        }
        let ready = |path: &Path| path.heartbeat.ready && path.may_heartbeat();
        if let Some(index) = self.list.iter().position(|path| ready(path) && !path.in_verification()) {
            return Some(self.make_heartbeat(index, now));
        }
        let in_verification = self.list.iter().enumerate().filter(|(_, path)| ready(path));
        let (index, _) = in_verification.min_by_key(|(_, path)| (path.error_count, path.last_used))?;
        self.pass_burst_gate(now).then(|| self.make_heartbeat(index, now))
    }

    /// Returns a HEARTBEAT to bundle with a chunk for an unconfirmed address; `None` without such a path.
    ///
    /// COOKIE ECHO, COOKIE ACK (RFC 9260 §5.4) and ASCONF-ACK (RFC 5061 §5.3 F1) may be sent there only with
    /// one.
    pub(crate) fn bundled_heartbeat(&mut self, id: PathId, now: Time) -> Option<HeartbeatRequest> {
        self.index(id).map(|index| self.make_heartbeat(index, now))
    }

    /// Counts a verification heartbeat. Returns false if HB.Max.Burst heartbeats were sent in this RTO.
    ///
    /// Of several paths' RTOs, the shortest counts, because unanswered heartbeats on other paths do not back
    /// it off.
    fn pass_burst_gate(&mut self, now: Time) -> bool {
        let rto = self.list.iter().map(|path| path.rtt.rto()).min().unwrap_or(Span::ZERO);
        let schedule = &mut self.schedule;
        if now >= schedule.burst_until {
            schedule.burst = 0;
            schedule.burst_until = now + rto;
        }
        let pass = schedule.burst < self.config.hb_max_burst;
        schedule.burst += u32::from(pass);
        pass
    }

    fn make_heartbeat(&mut self, index: usize, now: Time) -> HeartbeatRequest {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.5
        //# When a HEARTBEAT chunk is being used for path verification purposes, it MUST include a random
        //# nonce of length 64 bits or longer
        let nonce = self.rng.next_u64();
        let path = &mut self.list[index];
        path.remember(Sent { at: now, nonce });
        (path.heartbeat.ready, path.heartbeat.is_test) = (false, false);
        if self.schedule.running {
            // The oldest unanswered one counts. Before ESTABLISHED T1 covers the packet.
            path.heartbeat.answer_by.get_or_insert(now + path.rtt.rto());
        }
        path.last_used = now;
        let id = path.id;
        self.schedule_next(index, now);
        let info = HeartbeatInfo { path: id, purpose: Purpose::Heartbeat, sent: now, nonce }.to_bytes();
        HeartbeatRequest { path: id, info }
    }

    /// Handles a HEARTBEAT ACK that returned `info`.
    ///
    /// An answer to a sent heartbeat measures the RTT and clears both error counters. It also confirms or
    /// reactivates the path (RFC 9260 §5.4, §8.1, §8.3).
    pub(crate) fn on_heartbeat_ack(&mut self, info: &[u8], now: Time) -> Acknowledged {
        let Some(info) = HeartbeatInfo::from_bytes(info) else { return Acknowledged::Unknown };
        let Some(index) = self.index(info.path) else { return Acknowledged::Unknown };
        let probe = match info.purpose {
            Purpose::Heartbeat => None,
            Purpose::Bandwidth(probe) => Some(self.on_probe_ack(index, &info, probe, now)),
            Purpose::PathMtu => Some(self.on_pmtu_probe_ack(index, info.nonce, now)),
            // `association::encapsulation` knows them.
            Purpose::Port(_) | Purpose::Address => Some(false),
        };
        if let Some(known) = probe {
            return if known { Acknowledged::Probe { path: info.path } } else { Acknowledged::Unknown };
        }
        let path = &mut self.list[index];
        // RFC 9260 §5.4: the nonce is the one sent on the path named by the info
        let known = |sent: &Sent| sent.nonce == info.nonce && sent.at == info.sent;
        let Some(slot) = path.heartbeat.sent.iter_mut().find(|slot| slot.as_ref().is_some_and(known)) else {
            return Acknowledged::Unknown;
        };
        *slot = None;
        let (id, rtt) = (path.id, now.since(info.sent));
        path.heartbeat.answer_by = None;
        let ended_back_off = path.measure_round_trip(now, rtt);
        self.on_path_proven(index, now);
        Acknowledged::Heartbeat { path: id, rtt, ended_back_off }
    }

    /// Handles an answer to a HEARTBEAT that [`poll_heartbeat`](Self::poll_heartbeat) did not return.
    pub(crate) fn prove(&mut self, id: PathId, now: Time) {
        if let Some(index) = self.index(id) {
            self.on_path_proven(index, now);
        }
    }

    /// Handles an answer that only a working pair of addresses can return.
    pub(super) fn on_path_proven(&mut self, index: usize, now: Time) {
        self.assoc_error_count = 0;
        let path = &mut self.list[index];
        path.error_count = 0;
        path.answered = now;
        if path.confirmed && path.state != PathState::Active && !self.is_revived(index) {
            // The next answer is as soon as that of a potentially failed path.
            let path = &mut self.list[index];
            path.heartbeat.period = path.rtt.rto();
            path.heartbeat.due = Some(now + path.heartbeat.period);
        } else if self.list[index].confirmed {
            self.set_state(index, PathState::Active);
            if self.list[index].heartbeat.due.is_none() {
                // A potentially failed path had none.
                self.schedule_next(index, now);
            }
        } else {
            self.list[index].heartbeat.ready = false;
            self.mark_confirmed(index);
            self.schedule_next(index, now);
        }
    }
}

/// Returns a number in `0..=limit` from a uniform `u64`. The bias of the remainder is negligible.
fn bounded(random: u64, limit: u64) -> u64 {
    ((u128::from(random) * (u128::from(limit) + 1)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        P0, P1, P2, confirmed, events, fail, heartbeat_paths, heartbeats, local, ms, paths, paths_with,
        remote,
    };
    use super::super::{PathEvent, PathsConfig};
    use super::*;

    /// Fires all timers up to `until` without answers. Returns the time and path of each heartbeat sent.
    fn run(paths: &mut Paths, until: Time) -> Vec<(Time, PathId)> {
        let mut sent = Vec::new();
        while let Some(at) = paths.next_heartbeat_timeout().filter(|at| *at <= until) {
            paths.handle_heartbeat_timeout(at);
            sent.extend(heartbeat_paths(paths, at).into_iter().map(|path| (at, path)));
        }
        sent
    }

    #[test]
    fn an_unconfirmed_path_is_probed_at_once_and_confirmed_by_its_nonce() {
        // RFC 9260 §5.4
        let mut paths = paths(2, 1);
        paths.confirm(P0, ms(0));
        events(&mut paths);
        assert_eq!(heartbeats(&mut paths, ms(0)), [], "not before ESTABLISHED");
        paths.start_heartbeats(ms(10));
        let sent = heartbeats(&mut paths, ms(10));
        assert_eq!(sent.iter().map(|request| request.path).collect::<Vec<_>>(), [P1]);
        assert_eq!(
            paths.on_heartbeat_ack(&sent[0].info, ms(80)),
            Acknowledged::Heartbeat { path: P1, rtt: Span::from_millis(70), ended_back_off: false }
        );
        assert_eq!(
            events(&mut paths),
            [PathEvent::StateChanged { path: P1, from: PathState::Unconfirmed, to: PathState::Active }]
        );
        assert_eq!(paths.get(P1).unwrap().rtt.srtt(), Some(Span::from_millis(70)));
        assert_eq!(
            paths.on_heartbeat_ack(&sent[0].info, ms(90)),
            Acknowledged::Unknown,
            "an answer counts once"
        );
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.5
    //= type=test
    //# When a HEARTBEAT chunk is being used for path verification purposes, it MUST include a random nonce
    //# of length 64 bits or longer
    #[test]
    fn every_heartbeat_has_a_nonce_of_64_random_bits() {
        let mut paths = paths_with(PathsConfig { hb_max_burst: 9, ..PathsConfig::default() }, 2, 4);
        paths.start_heartbeats(ms(0));
        let sent = heartbeats(&mut paths, ms(0));
        let nonces: Vec<u64> =
            sent.iter().map(|request| HeartbeatInfo::from_bytes(&request.info).unwrap().nonce).collect();
        assert!(nonces.len() >= 4, "{nonces:?}");
        for (n, nonce) in nonces.iter().enumerate() {
            assert!(*nonce > u64::from(u32::MAX) && *nonce as u32 != 0, "{nonce:#x}");
            assert!(!nonces[..n].contains(nonce), "{nonce:#x} twice");
            assert!(
                sent[n].info.windows(8).any(|bytes| bytes == nonce.to_be_bytes()),
                "{nonce:#x} is not sent"
            );
        }
    }

    #[test]
    fn a_wrong_nonce_path_time_or_length_confirms_nothing() {
        // RFC 9260 §5.4
        let mut paths = paths_with(PathsConfig { hb_max_burst: 9, ..PathsConfig::default() }, 2, 1);
        paths.start_heartbeats(ms(0));
        let sent = heartbeats(&mut paths, ms(0));
        let right = HeartbeatInfo::from_bytes(&sent[0].info).unwrap();
        for wrong in [
            HeartbeatInfo { nonce: right.nonce ^ 1, ..right },
            HeartbeatInfo { path: P1, ..right },
            HeartbeatInfo { path: PathId::new(99), ..right },
            HeartbeatInfo { sent: ms(1), ..right },
            HeartbeatInfo { purpose: Purpose::Bandwidth(1), ..right },
        ] {
            assert_eq!(paths.on_heartbeat_ack(&wrong.to_bytes(), ms(5)), Acknowledged::Unknown, "{wrong:?}");
        }
        assert_eq!(paths.on_heartbeat_ack(&sent[0].info[1..], ms(5)), Acknowledged::Unknown);
        assert_eq!(events(&mut paths), []);
        assert!(!paths.get(P0).unwrap().is_confirmed());
    }

    #[test]
    fn verification_sends_hb_max_burst_per_rto() {
        // RFC 9260 §5.4, HB.Max.Burst = 1 and RTO.Initial = 1 s (§16)
        let mut paths = paths(1, 3);
        paths.start_heartbeats(ms(0));
        assert_eq!(heartbeat_paths(&mut paths, ms(0)), [P0]);
        assert_eq!(heartbeat_paths(&mut paths, ms(999)), []);
        assert_eq!(paths.next_heartbeat_timeout(), Some(ms(1000)));
        let mut other = paths_with(PathsConfig { hb_max_burst: 2, ..PathsConfig::default() }, 1, 3);
        other.start_heartbeats(ms(0));
        assert_eq!(heartbeat_paths(&mut other, ms(0)), [P0, P1]);
        assert_eq!(heartbeat_paths(&mut other, ms(1000)), [P2]);
    }

    #[test]
    fn pairs_without_a_route_do_not_hold_back_verification_of_the_others() {
        // RFC 9260 §5.4, §16: HB.Max.Burst = 1; of nine pairs the last answers.
        let mut paths = paths(3, 3);
        paths.confirm(P0, ms(0));
        paths.start_heartbeats(ms(0));
        let last = paths.iter().last().unwrap().id();
        let mut sent = heartbeat_paths(&mut paths, ms(0));
        sent.extend(run(&mut paths, ms(8_000)).into_iter().map(|(_, path)| path));
        assert!(sent.contains(&last), "eight pairs in eight RTOs: {sent:?}");
        // One heartbeat per RTO, that of the confirmed path: 1 s.
        assert!(sent.len() <= 9, "{sent:?}");
    }

    #[test]
    fn unanswered_verification_backs_off_and_stops_without_an_association_error() {
        // RFC 9260 §5.4, §8.3
        let mut paths = paths(2, 1);
        paths.confirm(P0, ms(0));
        paths.enable_heartbeats(P0, false, ms(0));
        paths.start_heartbeats(ms(0));
        let mut sent =
            heartbeat_paths(&mut paths, ms(0)).iter().map(|path| (ms(0), *path)).collect::<Vec<_>>();
        sent.extend(run(&mut paths, ms(63_000)));
        // 1, 2, 4, 8, 16, 32 s apart; the sixth is unanswered at 63 s
        let at = [0, 1000, 3000, 7000, 15_000, 31_000].map(|at| (ms(at), P1));
        assert_eq!(sent, at);
        assert_eq!(paths.get(P1).unwrap().state(), PathState::Inactive);
        assert_eq!(paths.get(P1).unwrap().error_count(), 6);
        assert_eq!(paths.assoc_error_count(), 0);
        // Now the normal rate: 30 s + 60 s ± 30 s after the last one, and the counter stays.
        let later = run(&mut paths, ms(400_000));
        assert!(later.len() >= 2, "{later:?}");
        assert!(later[0].0 >= ms(31_000 + 60_000) && later[0].0 <= ms(31_000 + 120_000), "{later:?}");
        assert_eq!(paths.get(P1).unwrap().error_count(), 6);
        assert_eq!(paths.data_path(), Some(P0));
    }

    #[test]
    fn idle_paths_are_monitored_every_interval_plus_rto_with_jitter() {
        // RFC 9260 §8.3: 30 s + 1 s ± 0.5 s
        let mut paths = confirmed(1, 1);
        paths.start_heartbeats(ms(0));
        let mut last = ms(0);
        let mut spread = Vec::new();
        for _ in 0..40 {
            let at = paths.next_heartbeat_timeout().unwrap();
            paths.handle_heartbeat_timeout(at);
            let sent = heartbeats(&mut paths, at);
            assert_eq!(sent.len(), 1);
            let answer = at + Span::from_millis(20);
            assert!(matches!(paths.on_heartbeat_ack(&sent[0].info, answer), Acknowledged::Heartbeat { .. }));
            spread.push(at.since(last).as_millis());
            last = at;
        }
        assert!(spread.iter().all(|ms| (30_500..=31_500).contains(ms)), "{spread:?}");
        assert!(
            spread.iter().min().unwrap() < &30_700 && spread.iter().max().unwrap() > &31_300,
            "{spread:?}"
        );
    }

    #[test]
    fn a_path_that_is_used_needs_no_heartbeat() {
        // RFC 9260 §8.3
        let mut paths = confirmed(1, 1);
        paths.start_heartbeats(ms(0));
        for second in 1..300 {
            let now = ms(second * 1000);
            paths.get_mut(P0).unwrap().on_sent(now);
            assert_eq!(run(&mut paths, now), []);
        }
        let sent = run(&mut paths, ms(299_000 + 31_500));
        assert_eq!(sent.len(), 1);
        assert!(sent[0].0 >= ms(299_000 + 30_500));
    }

    #[test]
    fn an_unanswered_heartbeat_counts_for_the_association_only_on_the_data_path() {
        // RFC 9260 §8.1, §8.3
        let mut paths = confirmed(2, 1);
        paths.start_heartbeats(ms(0));
        paths.request_heartbeat(P1);
        assert_eq!(heartbeat_paths(&mut paths, ms(0)), [P1]);
        paths.handle_heartbeat_timeout(ms(1000));
        assert_eq!((paths.get(P1).unwrap().error_count(), paths.assoc_error_count()), (1, 0));
        assert_eq!(paths.get(P1).unwrap().rtt.rto(), Span::from_secs(2), "backed off");
        paths.request_heartbeat(P0);
        assert_eq!(heartbeat_paths(&mut paths, ms(1000)), [P0]);
        paths.handle_heartbeat_timeout(ms(2000));
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (1, 1));
    }

    #[test]
    fn a_late_answer_revives_an_inactive_path_and_clears_the_counters() {
        // RFC 9260 §8.3
        let mut paths = confirmed(2, 1);
        paths.start_heartbeats(ms(0));
        paths.request_heartbeat(P0);
        let sent = heartbeats(&mut paths, ms(0));
        fail(&mut paths, P0);
        paths.on_timeout(P1);
        events(&mut paths);
        paths.handle_heartbeat_timeout(ms(1000));
        assert_eq!(
            paths.on_heartbeat_ack(&sent[0].info, ms(2500)),
            Acknowledged::Heartbeat { path: P0, rtt: Span::from_millis(2500), ended_back_off: true }
        );
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (0, 0));
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Active);
        assert_eq!(paths.data_path(), Some(P0));
    }

    #[test]
    fn heartbeats_more_frequent_than_the_rto_do_not_hide_a_dead_path() {
        let config = PathsConfig { hb_interval: Span::from_millis(10), ..PathsConfig::default() };
        let mut paths = paths_with(config, 1, 1);
        paths.confirm(P0, ms(0));
        paths.start_heartbeats(ms(0));
        run(&mut paths, ms(600_000));
        assert!(events(&mut paths).contains(&PathEvent::PeerUnreachable));
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Inactive);
    }

    #[test]
    fn repeatedly_requested_heartbeats_do_not_hide_a_dead_path() {
        let mut paths = confirmed(2, 1);
        paths.enable_heartbeats(P0, false, ms(0));
        paths.start_heartbeats(ms(0));
        for tenth in 0..1300 {
            let now = ms(tenth * 100);
            paths.request_heartbeat(P1);
            assert_eq!(heartbeat_paths(&mut paths, now), [P1]);
            paths.handle_timeout(now);
        }
        assert_eq!(paths.get(P1).unwrap().state(), PathState::Inactive, "6 timeouts take 63 s");
    }

    #[test]
    fn a_dead_idle_association_is_found_by_heartbeats_alone() {
        // RFC 9260 §8.1: 11 unanswered on the data path exceed Association.Max.Retrans = 10
        let mut paths = confirmed(1, 1);
        paths.start_heartbeats(ms(0));
        let mut sent = 0;
        while !events(&mut paths).contains(&PathEvent::PeerUnreachable) {
            let at = paths.next_heartbeat_timeout().unwrap();
            paths.handle_heartbeat_timeout(at);
            sent += heartbeats(&mut paths, at).len();
            assert!(sent < 100);
        }
        assert_eq!(sent, 11);
    }

    #[test]
    fn an_unconfirmed_path_with_packets_of_the_peer_is_verified_at_once() {
        let mut paths = paths(1, 1);
        paths.start_heartbeats(ms(0));
        let sent = run(&mut paths, ms(40_000));
        assert_eq!(sent.last(), Some(&(ms(31_000), P0)), "the next one is 64 s later");
        for (at, asks) in [(31_900, 0), (40_000, 1), (40_500, 0), (41_000, 1)] {
            paths.verify_receiving_path(P0, ms(at));
            assert_eq!(heartbeat_paths(&mut paths, ms(at)).len(), asks, "{at}");
        }
        let mut paths = confirmed(1, 1);
        let other = paths.add_remote(remote(1), ms(0)).unwrap()[0];
        paths.start_heartbeats(ms(0));
        assert_eq!(heartbeat_paths(&mut paths, ms(0)), [other]);
        paths.verify_receiving_path(other, ms(500));
        assert_eq!(heartbeat_paths(&mut paths, ms(500)), [], "once per RTO.Initial");
        paths.verify_receiving_path(other, ms(1000));
        assert_eq!(heartbeat_paths(&mut paths, ms(1000)), [other], "the data path may be dead");
    }

    /// Answers no heartbeat until the peer is unreachable. Returns the paths of the heartbeats.
    fn heartbeats_until_unreachable(paths: &mut Paths) -> Vec<PathId> {
        let mut sent = Vec::new();
        while !events(paths).contains(&PathEvent::PeerUnreachable) {
            let at = paths.next_heartbeat_timeout().unwrap();
            paths.handle_heartbeat_timeout(at);
            sent.extend(heartbeat_paths(paths, at));
            assert!(sent.len() < 100, "{sent:?}");
        }
        sent
    }

    #[test]
    fn without_a_confirmed_address_verification_alone_detects_an_unreachable_peer() {
        // RFC 9260 §8.1. No address of the peer's is confirmed: RFC 5061 lets it delete those that were.
        let mut paths = paths(2, 1);
        paths.start_heartbeats(ms(0));
        let sent = heartbeats_until_unreachable(&mut paths);
        assert_eq!(
            sent.iter().filter(|path| **path == P0).count(),
            11,
            "they exceed Association.Max.Retrans = 10"
        );
        assert!(sent.contains(&P1), "whose heartbeats do not count beside them");
        assert_eq!(paths.assoc_error_count(), 11);
    }

    #[test]
    fn verification_alone_detects_an_unreachable_peer_while_the_confirmed_source_is_deleted() {
        // RFC 5061 §5.3, RFC 9260 §8.1
        let mut paths = paths(2, 1);
        paths.confirm(P0, ms(0));
        paths.set_source_use(&local(0), SourceUse::ReceiveOnly, ms(0));
        paths.start_heartbeats(ms(0));
        let sent = heartbeats_until_unreachable(&mut paths);
        assert!(sent.iter().all(|path| *path == P1));
        assert_eq!(sent.len(), 11, "they exceed Association.Max.Retrans = 10");
    }

    #[test]
    fn monitoring_can_be_turned_off_but_not_verification() {
        // RFC 9260 §8.3 A, C
        let mut paths = paths_with(PathsConfig { hb_interval: Span::ZERO, ..PathsConfig::default() }, 2, 1);
        paths.confirm(P0, ms(0));
        paths.start_heartbeats(ms(0));
        let sent = heartbeats(&mut paths, ms(0));
        assert_eq!(sent.len(), 1);
        paths.on_heartbeat_ack(&sent[0].info, ms(10));
        assert_eq!(paths.next_heartbeat_timeout(), None);
        paths.set_hb_interval(Span::from_secs(5), ms(20));
        paths.enable_heartbeats(P0, false, ms(20));
        let sent = run(&mut paths, ms(8000));
        assert_eq!(sent.iter().map(|(_, path)| *path).collect::<Vec<_>>(), [P1]);
        paths.stop_heartbeats();
        assert_eq!(paths.next_heartbeat_timeout(), None, "a SHUTDOWN was sent");
    }

    #[test]
    fn a_failed_path_that_receives_is_tested_even_with_heartbeats_off() {
        // RFC 9260 §8.2, §8.3
        let mut paths = paths_with(PathsConfig { hb_interval: Span::ZERO, ..PathsConfig::default() }, 2, 1);
        for path in [P0, P1] {
            paths.confirm(path, ms(0));
        }
        paths.start_heartbeats(ms(0));
        heartbeats(&mut paths, ms(0));
        paths.test_receiving_path(P1, ms(5000));
        assert_eq!(heartbeat_paths(&mut paths, ms(5000)), [], "active");
        for path in [P0, P1] {
            fail(&mut paths, path);
            paths.test_receiving_path(path, ms(6000));
        }
        let data_path = paths.data_path().unwrap();
        let other = if data_path == P0 { P1 } else { P0 };
        let sent = heartbeats(&mut paths, ms(6000));
        assert_eq!(sent.iter().map(|request| request.path).collect::<Vec<_>>(), [P0, P1]);
        paths.test_receiving_path(other, ms(6010));
        assert_eq!(heartbeat_paths(&mut paths, ms(6010)), [], "half a round trip, which is not known");
        paths.handle_heartbeat_timeout(ms(6500));
        assert_eq!(heartbeat_paths(&mut paths, ms(6500)), [other], "although none was answered");
        paths.on_heartbeat_ack(&sent[usize::from(other == P1)].info, ms(6520));
        assert_eq!((paths.get(other).unwrap().state(), paths.data_path()), (PathState::Active, Some(other)));
    }

    #[test]
    fn silence_of_our_own_making_is_no_error_and_ends_with_a_heartbeat() {
        let mut paths = confirmed(2, 1);
        paths.start_heartbeats(ms(0));
        paths.request_heartbeat(P1);
        assert_eq!(heartbeat_paths(&mut paths, ms(0)), [P1]);
        paths.set_link(&local(1), false, ms(100));
        paths.handle_heartbeat_timeout(ms(5000));
        assert_eq!(paths.get(P1).unwrap().error_count(), 0);
        paths.request_heartbeat(P1);
        assert_eq!(heartbeat_paths(&mut paths, ms(5000)), [], "the link is down");
        paths.set_link(&local(1), true, ms(6000));
        assert_eq!(heartbeat_paths(&mut paths, ms(6000)), [P1]);
    }

    #[test]
    fn an_address_being_added_is_verified_when_it_may_be_a_source() {
        // RFC 5061 §5.3 F1, F2
        let mut paths = confirmed(1, 1);
        paths.start_heartbeats(ms(0));
        let new = paths.add_local(local(3), crate::path::SourceUse::AsconfOnly, ms(100)).unwrap()[0];
        assert_eq!(heartbeat_paths(&mut paths, ms(100)), []);
        paths.set_source_use(&local(3), crate::path::SourceUse::Full, ms(300));
        assert_eq!(heartbeat_paths(&mut paths, ms(300)), [new]);
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=test
    //# The receiver MUST use the path-verification procedure for the added address before using that address.
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=test
    //# F14) All addresses added by the reception of an ASCONF Chunk MUST be
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=test
    //# put into the UNCONFIRMED state and MUST have path verification performed on them before the address
    //# can be used as described in [RFC4960], Section 5.4.
    #[test]
    fn an_address_the_peer_added_is_verified_at_once() {
        // RFC 5061 §5.3 F14
        let mut paths = confirmed(1, 1);
        paths.start_heartbeats(ms(0));
        let new = paths.add_remote(remote(3), ms(100)).unwrap()[0];
        let request = paths.bundled_heartbeat(new, ms(100)).unwrap();
        assert_eq!(heartbeat_paths(&mut paths, ms(100)), [], "it went with the ASCONF-ACK");
        paths.on_heartbeat_ack(&request.info, ms(150));
        assert!(paths.get(new).unwrap().is_usable());
    }
}
