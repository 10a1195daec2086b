//! Applies changes of the host's addresses to associations: adds a new address (RFC 5061), moves the data,
//! has the peer send there, deletes the old address. Uses the decisions of
//! [`Follower`](crate::mobile::Follower) and the paths' states.

use std::net::IpAddr;

use msctp_proto::can_pair;
use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{
    AddressRequest, Association, AssociationState, CallError, Event, Handle, PathState, PathStats,
};
use msctp_units::{Span, Time};

use crate::mobile::{Follower, Moves};
use crate::slot::Slot;
use crate::state::State;

impl State {
    /// Notifies every association that the link of a local address changed.
    pub(crate) fn notify_links(&mut self, now: Time, local: IpAddr, up: bool) {
        let state = if up { LinkState::Up } else { LinkState::Down };
        for handle in self.slots.keys().copied().collect::<Vec<_>>() {
            if let Some(association) = self.core.association_mut(handle) {
                // An association without the address ignores it.
                let _ = association.link_event(now, LinkEvent { local, state });
            }
            self.follow(now, handle);
        }
    }

    /// Updates every association.
    pub(crate) fn follow_all(&mut self, now: Time) {
        for handle in self.slots.keys().copied().collect::<Vec<_>>() {
            self.follow(now, handle);
        }
    }

    /// Continues a move after an event of the association.
    pub(crate) fn follow_event(&mut self, now: Time, handle: Handle, event: &Event) {
        if self.follower.is_none() {
            if matches!(event, Event::Connected { .. } | Event::Restarted | Event::Protected) {
                self.name_others(now, handle);
            }
            return;
        }
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        match event {
            Event::AddressChange { request, accepted } => {
                let used = |ip| self.follower.as_ref().is_some_and(|follower| follower.rank(ip).is_some());
                slot.moves.get_or_insert_default().answered(*request, *accepted, used);
            }
            Event::Connected { .. } | Event::Restarted => {
                let primary = self.core.association(handle).and_then(|a| a.paths().find(|path| path.primary));
                let peer_primary = primary.map(|path| path.at.local);
                slot.moves = Some(Box::new(Moves { peer_primary, ..Moves::default() }));
                self.name_addresses(handle);
            }
            Event::PathState { .. }
            | Event::PrimaryChanged { .. }
            | Event::PathRemoved { .. }
            | Event::Protected => {}
            _ => return,
        }
        self.follow(now, handle);
    }

    /// Adds the addresses that the set-up, in clear, did not name because of their scope, once requests may.
    fn name_others(&mut self, now: Time, handle: Handle) {
        let unnamed = self.local_ips().into_iter().filter(|ip| self.host.is_unnamed(ip));
        let unnamed: Vec<IpAddr> = unnamed.collect();
        let fixed = |slot: &Slot| slot.moves.as_ref().is_some_and(|moves| moves.fixed);
        if self.slots.get(&handle).is_none_or(|slot| fixed(slot)) {
            return;
        }
        let Some(association) = self.core.association_mut(handle) else { return };
        for ip in unnamed {
            let paths: Vec<PathStats> = association.paths().collect();
            let new = !paths.iter().any(|path| path.at.local == ip) && remotes(&paths, ip).next().is_some();
            if new && association.may_name(ip) {
                // A peer without RFC 5061 uses the first addresses.
                let _ = association.add_local_address(now, ip);
            }
        }
    }

    /// Tells the core which of the association's first addresses a NAT translates.
    fn name_addresses(&mut self, handle: Handle) {
        let Some(translation) = self.follower.as_ref().map(Follower::translation) else { return };
        let Some(association) = self.core.association_mut(handle) else { return };
        let paths: Vec<PathStats> = association.paths().collect();
        for path in &paths {
            let translated = translation.of(path.at.local, remotes(&paths, path.at.local));
            let there = association.set_translated(path.at.local, translated);
            debug_assert_eq!(there, Ok(()), "a path's address is there");
        }
    }

    /// Makes the requests and switches that are due for one association, and schedules the next call.
    pub(crate) fn follow(&mut self, now: Time, handle: Handle) {
        let (Some(follower), Some(slot)) = (&self.follower, self.slots.get_mut(&handle)) else { return };
        self.follow_at.retain(|(_, waiting)| *waiting != handle);
        let Some(association) = self.core.association_mut(handle) else { return };
        let moves = slot.moves.get_or_insert_default();
        if association.state() != AssociationState::Established || moves.fixed {
            return;
        }
        let paths: Vec<PathStats> = association.paths().collect();
        let new = follower.used().filter(|ip| !paths.iter().any(|path| path.at.local == *ip));
        let mut new: Vec<IpAddr> = new.collect();
        new.sort_by_key(|ip| follower.rank(*ip));
        // No path works: one request has everything the peer needs to know.
        let mut lost = paths.iter().all(|path| follower.is_doomed(path.at.local));
        let probe = follower.probe(association.policy_measures());
        for ip in new {
            let reachable = paths.iter().any(|path| can_pair(&ip, &path.at.remote));
            if reachable && !moves.added.contains(&ip) {
                let at_once = lost || probe.is_zero() && is_better(follower, moves, &paths, ip);
                let translated = follower.translation().of(ip, remotes(&paths, ip));
                let named = association.may_name(ip);
                if !translated && !named && !lost {
                    // In clear, an address of another scope than the peer's is no one's business.
                    continue;
                }
                let added = if translated || !named {
                    association.add_translated_address(now, ip)
                } else if at_once {
                    lost = false;
                    move_to(association, follower, moves, &paths, (now, ip))
                } else {
                    association.add_local_address(now, ip)
                };
                match added {
                    Ok(()) => moves.added.push(ip),
                    Err(CallError::PeerLacksAsconf) => moves.fixed = true,
                    // Too many requests are pending: the next answer calls this again.
                    Err(_) => {}
                }
            }
        }
        let mut again = None;
        if let Some(path) = better(follower, moves, &paths, (now, probe), &mut again)
            && association.set_primary(now, path.id).is_ok()
        {
            moves.confirmed.clear();
        }
        // The peer is to send to our primary as well, whether the policy or this module chose it.
        let primary = association.paths().find(|path| path.primary);
        let left = primary.map(|path| path.at.local);
        moves.moving.take_if(|(from, to)| left != *from || follower.is_doomed(*to));
        if let Some(primary) = primary
            && moves.moving.is_none()
            && primary.state == PathState::Active
            && follower.rank(primary.at.local).is_some()
            && moves.peer_primary != Some(primary.at.local)
            && association.request_peer_primary(now, primary.at.local).is_ok()
        {
            moves.peer_primary = Some(primary.at.local);
        }
        let works =
            |path: &PathStats| path.state == PathState::Active && follower.rank(path.at.local).is_some();
        let working: Vec<PathStats> = association.paths().filter(works).collect();
        let mut old = doomed_addresses(follower, moves, &paths);
        old.retain(|_| !working.is_empty());
        for ip in old {
            match association.remove_local_address(now, ip) {
                Ok(()) => moves.deleted.push(ip),
                // The peer does not know the address by this name, but it understands "delete all but this
                // one".
                Err(CallError::TranslatedAddress(_)) => {
                    let Some(kept) = working.iter().find(|path| path.primary) else { continue };
                    let only = working.iter().all(|path| path.at.local == kept.at.local);
                    if only
                        && moves.kept != Some(kept.at.local)
                        && association.keep_only_address(now, kept.at.local).is_ok()
                    {
                        moves.kept = Some(kept.at.local);
                    }
                }
                Err(_) => {}
            }
        }
        if let Some(again) = again {
            self.follow_at.insert((again, handle));
        }
    }
}

/// Adds an address, requests it as the peer's primary destination, and deletes addresses that are down for
/// good, in one request.
fn move_to(
    association: &mut Association,
    follower: &Follower,
    moves: &mut Moves,
    paths: &[PathStats],
    (now, ip): (Time, IpAddr),
) -> Result<(), CallError> {
    let gone = doomed_addresses(follower, moves, paths);
    if association.move_local_address(now, ip, &gone).is_err() {
        // Without such a request: one at a time.
        return association.add_local_address(now, ip);
    }
    moves.peer_primary = Some(ip);
    moves.moving = Some((primary_of(paths), ip));
    moves.deleted.extend(gone);
    Ok(())
}

/// Returns the peer's addresses that a local address can reach.
fn remotes(paths: &[PathStats], local: IpAddr) -> impl Iterator<Item = IpAddr> {
    paths.iter().map(|path| path.at.remote).filter(move |remote| can_pair(&local, remote))
}

/// Returns the association's addresses that are down for good and not being deleted.
fn doomed_addresses(follower: &Follower, moves: &Moves, paths: &[PathStats]) -> Vec<IpAddr> {
    let mut doomed: Vec<IpAddr> = paths.iter().map(|path| path.at.local).collect();
    doomed.retain(|ip| follower.is_doomed(*ip) && !moves.deleted.contains(ip));
    doomed.dedup();
    doomed
}

/// Returns whether data should move to this new address as soon as it works. Records it as the only such
/// address.
fn is_better(follower: &Follower, moves: &Moves, paths: &[PathStats], ip: IpAddr) -> bool {
    let before = |rank| primary_of(paths).is_some_and(|of| follower.rank(of).is_none_or(|of| rank < of));
    moves.moving.is_none() && follower.rank(ip).is_some_and(before)
}

/// Returns the local address of the primary path.
fn primary_of(paths: &[PathStats]) -> Option<IpAddr> {
    paths.iter().find(|path| path.primary).map(|path| path.at.local)
}

/// Returns the path to make primary, if its measurement is long enough. Otherwise `again` is the time of the
/// next call.
fn better(
    follower: &Follower,
    moves: &mut Moves,
    paths: &[PathStats],
    (now, probe): (Time, Span),
    again: &mut Option<Time>,
) -> Option<PathStats> {
    let primary = paths.iter().find(|path| path.primary)?;
    let usable = paths
        .iter()
        .filter(|path| path.state == PathState::Active && !moves.deleted.contains(&path.at.local));
    let ranked = usable.filter_map(|path| Some((follower.rank(path.at.local)?, path)));
    let (rank, best) = ranked.min_by_key(|(rank, path)| (*rank, !path.primary, path.id))?;
    if best.at.local == primary.at.local {
        return None;
    }
    let primary_works = primary.state == PathState::Active;
    if let Some(primary_rank) = follower.rank(primary.at.local).filter(|_| primary_works) {
        if rank >= primary_rank {
            return None;
        }
        // The old path still carries data, so the new one can be measured.
        let due = *moves.confirmed.entry(best.at.local).or_insert(now) + probe;
        if due > now {
            *again = Some(due);
            return None;
        }
    }
    Some(*best)
}

impl Moves {
    /// Records the answer to a request. `used` returns whether an address is in use.
    fn answered(&mut self, request: AddressRequest, accepted: bool, used: impl Fn(IpAddr) -> bool) {
        match request {
            // The address returned before the answer, and stays.
            AddressRequest::Delete(ip) if !accepted && used(ip) => {
                self.deleted.retain(|deleted| *deleted != ip);
            }
            // The peer is asked for its primary again once there is one.
            AddressRequest::Add(ip) | AddressRequest::SetPrimary(ip)
                if !accepted && self.moving.is_some_and(|(_, to)| to == ip) =>
            {
                self.moving = None;
                self.peer_primary = None;
            }
            // A refused request is not repeated.
            AddressRequest::Add(ip) if accepted => {
                self.added.retain(|added| *added != ip);
                self.deleted.retain(|deleted| *deleted != ip);
            }
            AddressRequest::Delete(ip) if accepted => {
                self.deleted.retain(|deleted| *deleted != ip);
                self.added.retain(|added| *added != ip);
                self.confirmed.remove(&ip);
            }
            AddressRequest::KeepOnly(ip) => {
                self.kept.take_if(|kept| *kept == ip);
                if accepted {
                    self.added.clear();
                    self.deleted.clear();
                    self.confirmed.retain(|known, _| *known == ip);
                }
            }
            _ => {}
        }
    }
}
