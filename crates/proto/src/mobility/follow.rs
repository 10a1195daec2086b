//! [`follow`]: makes the requests and switches that are due for an association: adds a new address
//! (RFC 5061), moves the data, has the peer send there, deletes the old address. Uses the decisions of
//! [`Links`] and the paths' states, and only calls that an application can make.

use core::net::IpAddr;

use msctp_units::{Span, Time};

use super::links::Links;
use crate::association::{Association, Moves};
use crate::call_error::CallError;
use crate::cost::Cost;
use crate::path::HostAddrs;
use crate::path::pairing::can_pair;
use crate::stats::{AssociationState, PathState, PathStats};
use crate::trace::PrimaryCause;

/// Returns whether no path of the association carries packets, so that another link could only help.
pub(crate) fn is_stranded(association: &Association, links: &Links) -> bool {
    association.state() == AssociationState::Established
        && !association.paths().any(|path| carries(&path, links))
}

/// Returns whether a path carries packets, as far as is known. One whose link is down may still be active.
fn carries(path: &PathStats, links: &Links) -> bool {
    path.state == PathState::Active && links.rank(path.at.local).is_some()
}

/// Makes the requests and switches that are due for one association, and sets the time of the next call.
pub(crate) fn follow(association: &mut Association, moves: &mut Moves, links: &Links, now: Time) {
    moves.again = None;
    moves.take_answers(now, |ip| links.rank(ip).is_some());
    if association.state() != AssociationState::Established {
        return;
    }
    if !core::mem::replace(&mut moves.begun, true) {
        begin(association, moves, links);
    }
    set_costs(association, moves, links, now);
    if moves.fixed || moves.chosen {
        return;
    }
    for &ip in moves.deleted.iter().filter(|ip| links.rank(**ip).is_some()) {
        association.withdraw_deletion(now, ip);
    }
    let paths: Vec<PathStats> = association.paths().collect();
    add_new(association, moves, links, (&paths, now));
    free_waiting(association, links, now);
    list_heard(association, moves, &paths, now);
    if let Some((path, cause)) = better(association, links, moves, &paths, now)
        && association.choose_primary(now, path.id, cause).is_ok()
    {
        moves.confirmed.clear();
        moves.note_offered(path.at.local, links.used_since(path.at.local));
    }
    ask_for_primary(association, moves, links, now);
    delete_doomed(association, moves, links, (&paths, now));
}

/// Adds the addresses that the set-up, in clear, did not name because of their scope, once requests may, to
/// an association that does not move.
pub(crate) fn name_others(association: &mut Association, host: &HostAddrs, now: Time) {
    if association.state() != AssociationState::Established || association.keeps_addresses() {
        return;
    }
    let peer = association.remotes();
    for &ip in &host.unnamed {
        // The peer may get a network of a family in which it has no address now.
        let meets = peer.iter().any(|theirs| theirs.is_loopback() == ip.is_loopback());
        if meets && !association.locals().contains(&ip) && association.may_name(ip) {
            // A peer without RFC 5061 uses the first addresses.
            let _ = association.add_local_address(now, ip);
        }
    }
}

/// Begins with the addresses of the set-up: the peer sends to the primary's, and a NAT translates some.
fn begin(association: &mut Association, moves: &mut Moves, links: &Links) {
    let paths: Vec<PathStats> = association.paths().collect();
    moves.peer_primary = primary_of(&paths);
    if let Some(first) = moves.peer_primary {
        moves.note_offered(first, links.used_since(first));
    }
    let peer = association.remotes();
    for path in &paths {
        let translated = links.translation().of(path.at.local, remotes(&peer, path.at.local));
        let there = association.set_translated(path.at.local, translated);
        debug_assert_eq!(there, Ok(()), "a path's address is there");
    }
}

/// Says what the association's addresses cost. An end that uses several networks at once wants them all.
fn set_costs(association: &mut Association, moves: &mut Moves, links: &Links, now: Time) {
    for ip in association.locals() {
        let cost = links.cost(ip);
        let cost = Cost { backup: cost.backup && !association.uses_several_paths(), ..cost };
        // Between two changes of the link's the application may say something else.
        if moves.costs.insert(ip, cost) != Some(cost) {
            let there = association.set_address_cost(now, ip, cost);
            debug_assert_eq!(there, Ok(()), "the address is there");
        }
    }
}

/// Adds addresses that are in use, and that the association does not have.
fn add_new(
    association: &mut Association,
    moves: &mut Moves,
    links: &Links,
    (paths, now): (&[PathStats], Time),
) {
    let new = links.used().filter(|ip| !paths.iter().any(|path| path.at.local == *ip));
    let mut new: Vec<IpAddr> = new.collect();
    new.sort_by_key(|ip| links.rank(*ip));
    // No path works: one request has everything the peer needs to know.
    let mut lost = paths.iter().all(|path| links.is_doomed(path.at.local));
    let stuck = is_stranded(association, links);
    let probe = links.probe(association.policy_measures());
    let peer = association.remotes();
    for ip in new {
        let reachable = remotes(&peer, ip).next().is_some();
        if !reachable || !moves.may_add(now, ip, links.used_since(ip)) {
            continue;
        }
        let at_once = lost || probe.is_zero() && is_better(links, moves, paths, ip);
        let translated = links.translation().of(ip, remotes(&peer, ip));
        let named = association.may_name(ip);
        if !translated && !named && !lost {
            // In clear, an address of another scope than the peer's is no one's business.
            continue;
        }
        if (translated || stuck) && !association.may_ask_from(&ip) {
            if association.use_unlisted_address(now, ip).is_ok() {
                moves.unlisted.push(ip);
            }
            continue;
        }
        let added = if translated || !named {
            association.add_translated_address(now, ip)
        } else if at_once {
            lost = false;
            move_to(association, links, moves, paths, (now, ip))
        } else {
            association.add_local_address(now, ip)
        };
        match added {
            Ok(()) => moves.note_added(ip),
            Err(CallError::PeerLacksAsconf) => moves.fixed = true,
            // Too many requests are pending: the next answer calls this again.
            Err(_) => {}
        }
    }
}

/// Has addresses whose request waits for a path speak for themselves, if none works.
fn free_waiting(association: &mut Association, links: &Links, now: Time) {
    if !is_stranded(association, links) {
        return;
    }
    for ip in association.locals() {
        if links.rank(ip).is_some() && !association.may_ask_from(&ip) {
            // In clear it waits for one of the others.
            let _ = association.use_unlisted_address(now, ip);
        }
    }
}

/// Has the peer list the addresses that it knows from HEARTBEATs alone.
fn list_heard(association: &mut Association, moves: &mut Moves, paths: &[PathStats], now: Time) {
    let own = association.locals();
    moves.unlisted.retain(|ip| own.contains(ip));
    let heard =
        |ip: &IpAddr| paths.iter().any(|path| path.at.local == *ip && path.state == PathState::Active);
    for ip in moves.unlisted.clone().into_iter().filter(heard) {
        if association.add_translated_address(now, ip).is_ok() {
            moves.unlisted.retain(|unlisted| *unlisted != ip);
            moves.note_added(ip);
        }
    }
}

/// Has the peer send to our primary as well, whether the policy or this module chose it.
fn ask_for_primary(association: &mut Association, moves: &mut Moves, links: &Links, now: Time) {
    let primary = association.paths().find(|path| path.primary);
    let left = primary.map(|path| path.at.local);
    moves.moving.take_if(|(from, to)| left != *from || links.is_doomed(*to));
    if let Some(primary) = primary
        && moves.moving.is_none()
        && primary.state == PathState::Active
        && links.rank(primary.at.local).is_some()
        && moves.peer_primary != Some(primary.at.local)
        && association.request_peer_primary(now, primary.at.local).is_ok()
    {
        moves.peer_primary = Some(primary.at.local);
    }
}

/// Deletes the addresses that are down for good, if another works.
fn delete_doomed(
    association: &mut Association,
    moves: &mut Moves,
    links: &Links,
    (paths, now): (&[PathStats], Time),
) {
    let working: Vec<PathStats> = association.paths().filter(|path| carries(path, links)).collect();
    if working.is_empty() {
        return;
    }
    for ip in doomed_addresses(links, moves, paths) {
        match association.remove_local_address(now, ip) {
            Ok(()) => moves.deleted.push(ip),
            // The peer does not know the address by this name, but it understands "delete all but this one".
            Err(CallError::TranslatedAddress(_)) => {
                let Some(kept) = working.iter().find(|path| path.primary) else { continue };
                // An address whose link is up may only fail for a moment.
                let only =
                    paths.iter().all(|path| path.at.local == kept.at.local || links.is_doomed(path.at.local));
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
}

/// Adds an address, requests it as the peer's primary destination, and deletes addresses that are down for
/// good, in one request.
fn move_to(
    association: &mut Association,
    links: &Links,
    moves: &mut Moves,
    paths: &[PathStats],
    (now, ip): (Time, IpAddr),
) -> Result<(), CallError> {
    let gone = doomed_addresses(links, moves, paths);
    if association.move_local_address(now, ip, &gone).is_err() {
        // Without such a request: one at a time.
        return association.add_local_address(now, ip);
    }
    moves.peer_primary = Some(ip);
    moves.moving = Some((primary_of(paths), ip));
    moves.note_offered(ip, links.used_since(ip));
    moves.deleted.extend(gone);
    Ok(())
}

/// Returns those of the peer's addresses that a local address can reach.
fn remotes(peer: &[IpAddr], local: IpAddr) -> impl Iterator<Item = IpAddr> {
    peer.iter().copied().filter(move |remote| can_pair(&local, remote))
}

/// Returns the association's addresses that are down for good and not being deleted.
fn doomed_addresses(links: &Links, moves: &Moves, paths: &[PathStats]) -> Vec<IpAddr> {
    let mut doomed: Vec<IpAddr> = paths.iter().map(|path| path.at.local).collect();
    doomed.retain(|ip| links.is_doomed(*ip) && !moves.deleted.contains(ip));
    doomed.dedup();
    doomed
}

/// Returns whether data should move to this new address as soon as it works. There is only one such address
/// at a time.
fn is_better(links: &Links, moves: &Moves, paths: &[PathStats], ip: IpAddr) -> bool {
    let before = |rank| primary_of(paths).is_some_and(|of| links.rank(of).is_none_or(|of| rank < of));
    moves.moving.is_none() && links.rank(ip).is_some_and(before)
}

/// Returns the local address of the primary path.
fn primary_of(paths: &[PathStats]) -> Option<IpAddr> {
    paths.iter().find(|path| path.primary).map(|path| path.at.local)
}

/// Returns the path to make primary and why, if its measurement is long enough. Otherwise `moves.again` is
/// the time of the next call.
fn better(
    association: &Association,
    links: &Links,
    moves: &mut Moves,
    paths: &[PathStats],
    now: Time,
) -> Option<(PathStats, PrimaryCause)> {
    let probe: Span = links.probe(association.policy_measures());
    let primary = paths.iter().find(|path| path.primary)?;
    let usable = paths
        .iter()
        .filter(|path| path.state == PathState::Active && !moves.deleted.contains(&path.at.local));
    let ranked = usable.filter_map(|path| Some((links.rank(path.at.local)?, path)));
    let (rank, best) = ranked.min_by_key(|(rank, path)| (*rank, !path.primary, path.id))?;
    if best.at.local == primary.at.local {
        return None;
    }
    let primary_works = primary.state == PathState::Active;
    let mut cause = PrimaryCause::LinkDown;
    if let Some(primary_rank) = links.rank(primary.at.local).filter(|_| primary_works) {
        if rank >= primary_rank {
            return None;
        }
        // From the first move on the policy decides, if it does: otherwise each would undo the other's moves.
        if association.policy_chooses() && moves.was_offered(best.at.local, links.used_since(best.at.local)) {
            return None;
        }
        // The old path still carries data, so the new one can be measured.
        let due = *moves.confirmed.entry(best.at.local).or_insert(now) + probe;
        if due > now {
            moves.decide_again(due);
            return None;
        }
        cause = PrimaryCause::Link;
    }
    Some((*best, cause))
}
