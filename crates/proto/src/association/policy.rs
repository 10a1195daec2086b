//! The handover policy of an association: builds its view, calls it, performs its actions. Decides nothing
//! itself.

use core::net::IpAddr;

use msctp_congestion::RoundTrips;
use msctp_congestion::estimator::Estimate;
use msctp_units::Time;
use msctp_wire::{ChunkType, EncodeChunk, UnknownChunk};
use smallvec::SmallVec;

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::call_error::CallError;
use crate::config::Config;
use crate::event::Event;
use crate::handover::{
    Action, HandoverPolicy, LinkEvent, LinkState, MAX_PRIVATE_CHUNKS, MIN_TIMER, PathView, View,
};
use crate::path::{Path, Paths};
use crate::stats::{AssociationState as State, PathState};
use crate::trace::{PrimaryCause, TraceKind};

/// The policy and the state of its actions.
#[derive(Debug)]
pub(super) struct Handover {
    policy: Box<dyn HandoverPolicy>,
    /// Paths for which `HandoverPolicy::on_path_added` was called.
    announced: SmallVec<[PathId; 4]>,
    /// Paths of bicasting: new DATA on the first is copied to the second.
    pub(super) bicast: Option<(PathId, PathId)>,
    /// The path that the last [`Event::PrimaryChanged`] named; `None` before the first.
    pub(super) reported: Option<PathId>,
    /// The round-trip times last reported, for a policy that uses them.
    round_trips: Option<Vec<(PathId, RoundTrips)>>,
    /// Expiration of the policy's timer.
    pub(super) timer: Option<Time>,
}

impl Handover {
    pub(super) fn new(config: &Config) -> Self {
        let policy = config.handover_policy.make();
        Self {
            round_trips: policy.wants_round_trips().then(Vec::new),
            timer: None,
            policy,
            announced: SmallVec::new(),
            bicast: None,
            reported: None,
        }
    }

    /// Returns the first path with unreported round-trip times, and marks them as reported.
    fn next_round_trip(&mut self, paths: &Paths) -> Option<(PathId, RoundTrips)> {
        let known = self.round_trips.as_mut()?;
        let announced = &self.announced;
        let mut measured = paths.iter().filter(|path| announced.contains(&path.id()));
        measured.find_map(|path| {
            let news = (path.id(), path.rtt.round_trips()?);
            match known.iter_mut().find(|(id, _)| *id == news.0) {
                Some(entry) if *entry == news => return None,
                Some(entry) => *entry = news,
                None => known.push(news),
            }
            Some(news)
        })
    }
}

/// Returns a policy's view of a path.
pub(super) fn view_of(path: &Path) -> PathView {
    PathView {
        id: path.id(),
        local: path.addr().local,
        remote: path.addr().remote,
        state: path.state(),
        link_up: path.link_is_up(),
        cost: path.cost(),
        window: path.controller.window(),
        flight_size: path.flight_size,
        bytes_acked: path.bytes_acked,
        srtt: path.rtt.srtt(),
        rtt_min: path.rtt.rtt_min(),
        rto: path.rtt.rto(),
        pmdcs: u64::from(path.pmdcs()),
        estimate: path.estimate(),
    }
}

impl Association {
    /// Calls the policy with a fresh view, then performs its actions. Has no effect without a primary path.
    pub(super) fn ask_policy<R>(
        &mut self,
        now: Time,
        ask: impl FnOnce(&mut dyn HandoverPolicy, &View<'_>, &mut Vec<Action>) -> R,
    ) -> Option<R> {
        let primary = self.paths.primary()?;
        let views: Vec<PathView> = self.paths.iter().map(view_of).collect();
        let mut actions = Vec::new();
        let peer_rwnd = u64::try_from(self.outbound.rwnd()).unwrap_or(0);
        let unsent = self.outbound.unsent();
        let view = View { now, primary, peer_rwnd, unsent, paths: &views };
        let answer = ask(self.handover.policy.as_mut(), &view, &mut actions);
        // A probe or the policy's timer may be the next thing due.
        self.output.upkeep_due |= !actions.is_empty();
        for action in actions {
            self.carry_out(now, action);
        }
        Some(answer)
    }

    fn carry_out(&mut self, now: Time, action: Action) {
        match action {
            Action::StartProbing { path, estimator } => {
                // A removed path, or one too small for the probes, is not probed; the policy gets no
                // estimate.
                if self.paths.start_probing(path, estimator) {
                    self.tracer.push(now, TraceKind::Probing { path, on: true });
                }
            }
            Action::StopProbing { path } => {
                self.paths.stop_probing(path);
                self.tracer.push(now, TraceKind::Probing { path, on: false });
            }
            Action::StartBicast { from, to } => {
                self.handover.bicast = Some((from, to));
                self.tracer.push(now, TraceKind::Bicast { to: Some(to) });
            }
            Action::StopBicast => {
                self.handover.bicast = None;
                self.tracer.push(now, TraceKind::Bicast { to: None });
            }
            Action::Adjust { path, cwnd, ssthresh } => self.adjust_window(now, path, cwnd, ssthresh),
            Action::SendChunk { path, chunk_type, value } => {
                self.send_private_chunk(path, chunk_type, &value);
            }
            Action::Note { name, address, value } => {
                self.tracer.push(now, TraceKind::PolicyNote { name, address, value });
            }
            Action::Resume { path, measured } => self.resume_path(now, path, &measured),
            Action::Resend { from, to } => self.outbound.resend_on(from, to, &mut self.paths),
            Action::SwitchPrimary { path, grounds } => {
                // A removed or unconfirmed path is no error of the policy. Where every other path loses
                // packets, the policy may not have noticed that this one's link is down.
                if self.paths.get(path).is_some_and(Path::link_is_up) {
                    let _ = self.switch_primary(now, path, PrimaryCause::Policy(grounds));
                }
            }
            Action::SetTimer { at } => self.handover.timer = at.map(|at| at.max(now + MIN_TIMER)),
        }
    }

    /// Returns whether the policy exchanges chunks of this type with the peer's.
    pub(super) fn is_private(&self, chunk_type: ChunkType) -> bool {
        self.handover.policy.private_chunks().contains(&chunk_type)
    }

    /// Queues those of the policy's chunks that waited for keys.
    #[inline]
    pub(super) fn send_waiting_chunks(&mut self) {
        if !self.seals() {
            return;
        }
        let Some(protection) = self.protection.as_mut() else { return };
        for (path, chunk_type, value) in core::mem::take(&mut protection.policy_chunks) {
            self.send_private_chunk(path, chunk_type, &value);
        }
    }

    /// Queues one of the policy's own chunks. It waits until it can be protected, if both ends have agreed on
    /// that: the peer's policy takes it only then.
    fn send_private_chunk(&mut self, path: PathId, chunk_type: ChunkType, value: &[u8]) {
        let is_early = self.has_external_keys() && !self.seals();
        if let Some(protection) = self.protection.as_mut().filter(|_| is_early) {
            // The latest ones.
            let waiting = &mut protection.policy_chunks;
            waiting.push((path, chunk_type, value.to_vec()));
            waiting.drain(..waiting.len().saturating_sub(MAX_PRIVATE_CHUNKS as usize));
            return;
        }
        let own = self.is_private(chunk_type);
        let Some(path) = self.paths.get(path).filter(|path| own && path.is_usable()) else { return };
        let (at, room) = (path.addr(), self.packet_room(path.addr()));
        let mut bytes = vec![chunk_type.0, 0];
        let len = value.len() + 4;
        let fits = len.next_multiple_of(4) + self.least_packet() <= room;
        if let (true, State::Established, Ok(length)) = (fits, self.state, u16::try_from(len)) {
            bytes.extend(length.to_be_bytes());
            bytes.extend(value);
            if let Ok(chunk) = UnknownChunk::new(&bytes) {
                self.control.push(at, self.tags.peer_tag, &chunk);
            }
        }
    }

    /// Passes one of the policy's own chunks to it. Returns false if the chunk is not one of them.
    pub(super) fn take_private_chunk(&mut self, now: Time, at: PathAddr, chunk: &UnknownChunk<'_>) -> bool {
        if !self.is_private(chunk.chunk_type()) {
            return false;
        }
        if self.watches_paths() {
            self.ask_policy(now, |policy, view, actions| policy.on_chunk(at, chunk, view, actions));
        } else {
            self.faults.unexpected_chunks += 1;
        }
        true
    }

    /// Notifies the policy that the association is up, or restarted.
    pub(super) fn notify_established(&mut self, now: Time) {
        self.ask_policy(now, |policy, view, actions| policy.on_established(view, actions));
    }

    /// Notifies the policy that the peer added or deleted an address of this end.
    pub(super) fn notify_local_address(&mut self, now: Time, address: IpAddr, added: bool) {
        self.ask_policy(now, |policy, view, actions| policy.on_local_address(address, added, view, actions));
    }

    /// Notifies the policy of a request that the peer send to `local`.
    pub(super) fn notify_primary_requested(&mut self, now: Time, local: IpAddr) {
        self.ask_policy(now, |policy, view, actions| policy.on_primary_requested(local, view, actions));
    }

    /// Handles the policy's timer.
    pub(super) fn policy_timeout(&mut self, now: Time) {
        if self.handover.timer.take_if(|at| *at <= now).is_some() {
            self.ask_policy(now, |policy, view, actions| policy.on_timer(view, actions));
        }
    }

    /// Passes new round-trip times to a policy that uses them. Returns whether there were any.
    #[inline]
    pub(super) fn report_round_trips(&mut self, now: Time) -> bool {
        self.handover.round_trips.is_some() && self.notify_round_trips(now)
    }

    #[cold]
    fn notify_round_trips(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some((path, times)) = self.handover.next_round_trip(&self.paths) {
            any = true;
            self.ask_policy(now, |policy, view, actions| {
                policy.on_round_trip(path, times.current, view, actions);
            });
        }
        any
    }

    /// Returns whether the policy knows a path.
    pub(super) fn knows_path(&self, path: PathId) -> bool {
        self.handover.announced.contains(&path)
    }

    /// Notifies the policy that the state of a path it knows changed from `from`.
    pub(super) fn notify_path_state(&mut self, now: Time, path: PathId, from: PathState) {
        // The association may be closed or the path removed meanwhile.
        if self.state != State::Closed && self.knows_path(path) {
            self.ask_policy(now, |policy, view, actions| policy.on_path_state(path, from, view, actions));
        }
    }

    /// Returns whether the handover policy measures new paths before data moves there
    /// ([`HandoverPolicy::measures`]).
    pub fn policy_measures(&self) -> bool {
        self.handover.policy.measures()
    }

    /// Returns whether the policy moves data from one working path to another by itself.
    pub(crate) fn policy_chooses(&self) -> bool {
        self.handover.policy.chooses()
    }

    /// Passes new estimates to the policy.
    pub(super) fn report_estimates(&mut self, now: Time) {
        while let Some((path, estimate)) = self.paths.poll_estimate() {
            let Estimate { capacity, available, rtt_min, loss_ppm, .. } = estimate;
            self.tracer
                .push(now, TraceKind::Estimate { path, capacity, available, min_rtt: rtt_min, loss_ppm });
            self.ask_policy(now, |policy, view, actions| policy.on_estimate(path, &estimate, view, actions));
        }
    }

    /// Notifies the policy of the existing paths when the association is up.
    pub(super) fn notify_paths(&mut self, now: Time) {
        let paths: SmallVec<[(PathId, PathState); 4]> =
            self.paths.iter().map(|path| (path.id(), path.state())).collect();
        for (path, state) in paths {
            self.notify_path_active(now, path, state);
        }
    }

    /// Notifies the policy of a path when it first becomes active.
    pub(super) fn notify_path_active(&mut self, now: Time, path: PathId, state: PathState) {
        let up = !matches!(self.state, State::CookieWait | State::CookieEchoed | State::Closed);
        if up && state == PathState::Active && !self.handover.announced.contains(&path) {
            self.handover.announced.push(path);
            self.ask_policy(now, |policy, view, actions| policy.on_path_added(path, view, actions));
        }
    }

    /// Cleans up after removed paths. `old` is the previous primary.
    pub(super) fn forget_paths(&mut self, now: Time, removed: &[Path], old: Option<PathView>) {
        for path in removed {
            let id = path.id();
            self.keys_version += 1;
            self.outbound.remove_path(path, &mut self.paths);
            self.forget_port(path.addr());
            if self.handover.bicast.is_some_and(|(from, to)| from == id || to == id) {
                self.handover.bicast = None;
                self.tracer.push(now, TraceKind::Bicast { to: None });
            }
            self.events.push(Event::PathRemoved { path: id, at: path.addr() });
            self.tracer.push(now, TraceKind::PathRemoved { path: id });
        }
        self.after_switch(now, old, PrimaryCause::Removed);
        for path in removed {
            let id = path.id();
            if let Some(index) = self.handover.announced.iter().position(|&path| path == id) {
                self.handover.announced.remove(index);
                if let Some(known) = self.handover.round_trips.as_mut() {
                    known.retain(|&(known, _)| known != id);
                }
                self.ask_policy(now, |policy, view, actions| policy.on_path_removed(id, view, actions));
            }
        }
    }

    /// Handles a link event of a local address, and notifies the policy. Paths over a link that is down carry
    /// nothing.
    ///
    /// # Errors
    ///
    /// The address is not one of this end's, or a quality has a field out of range.
    pub fn link_event(&mut self, now: Time, event: LinkEvent) -> Result<(), CallError> {
        if !self.paths.has_local(&event.local) {
            return Err(CallError::UnknownAddress(event.local));
        }
        if self.state == State::Closed {
            return Err(CallError::WrongState { state: self.state });
        }
        if let LinkState::Quality(quality) = event.state {
            quality.validate()?;
        }
        match event.state {
            LinkState::Up
            | LinkState::Degrading
            | LinkState::PredictedDown { .. }
            | LinkState::Quality(_) => {
                if event.state == LinkState::Up && self.request_may_be_lost(&event.local) {
                    self.readdressing.ours.retransmit_now();
                }
                let came_up = |path: &&Path| path.addr().local == event.local && !path.link_is_up();
                let back: Vec<PathId> = self.paths.iter().filter(came_up).map(Path::id).collect();
                self.paths.set_link(&event.local, true, now);
                for path in back {
                    self.outbound.on_link_up(now, path, &mut self.paths);
                }
                self.ask_policy(now, |policy, view, actions| policy.on_link_event(event, view, actions));
            }
            LinkState::Down => {
                // The policy first: its switch prevents a failover.
                self.ask_policy(now, |policy, view, actions| policy.on_link_event(event, view, actions));
                self.paths.set_link(&event.local, false, now);
                self.outbound.on_link_down(now, &mut self.paths);
            }
        }
        self.after_change(now);
        Ok(())
    }
}
