//! [`Links`]: which of the host's addresses to use, which is better, and how long a flapping link waits.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use msctp_units::{Span, Time};

use super::link::{LinkChange, LinkKind};
use super::options::{Mobility, Translation};
use crate::cost::Cost;
use crate::path::Scope;

mod shared;

use shared::Shared;

/// The longest hold, as a multiple of the first.
const MAX_HOLD: u64 = 32;

/// Number of removed addresses kept; the least recently used is dropped first.
const MAX_GONE: usize = 32;

/// A change to make for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Use the address: open a socket unless there is one, and add it to the associations.
    Use(IpAddr),
    /// The link of the address is down.
    Down(IpAddr),
    /// The address is down for good: delete it from associations that have another.
    Delete(IpAddr),
    /// The address was removed: delete it like `Delete`, and close its socket.
    Gone(IpAddr),
}

/// An address that was used, or may be.
#[derive(Debug)]
struct Known {
    /// Name of its interface; empty if nobody told it.
    interface: String,
    /// True if the application named the address, whatever the options say of its interface.
    named: bool,
    /// True if the link of the address is up.
    link_up: bool,
    /// [`Step::Use`] was the last step.
    used: bool,
    /// Time until which the address waits because its link flaps.
    held_until: Option<Time>,
    /// Duration of the next hold.
    hold: Span,
    /// Time at which the use of the address began.
    since: Time,
    /// Time at which to delete the address.
    delete_at: Option<Time>,
    /// True if the address was removed; its record of failures is kept.
    gone: bool,
}

/// The host's links and addresses, and their use by an endpoint.
#[derive(Debug)]
pub(crate) struct Links {
    options: Mobility,
    /// The interfaces, as reported last.
    links: BTreeMap<u32, LinkChange>,
    /// The interface through which each address is used. Several may have the same address.
    holders: BTreeMap<IpAddr, u32>,
    /// Addresses that several interfaces have, or had.
    shared: BTreeMap<IpAddr, Shared>,
    known: BTreeMap<IpAddr, Known>,
    /// Unspecified addresses with a socket: the host chooses addresses of their families that nothing
    /// reports.
    unlisted: Vec<IpAddr>,
}

impl Links {
    /// Creates the state. `sockets` are the local addresses of the sockets at first.
    pub(crate) fn new(options: Mobility, sockets: &[IpAddr]) -> Self {
        let unlisted = sockets.iter().filter(|ip| ip.is_unspecified()).copied().collect();
        Self {
            options,
            links: BTreeMap::new(),
            holders: BTreeMap::new(),
            shared: BTreeMap::new(),
            known: BTreeMap::new(),
            unlisted,
        }
    }

    /// Uses an address that the application names, whatever the options say of its interface.
    pub(crate) fn add(&mut self, now: Time, ip: IpAddr, interface: &str) -> Vec<Step> {
        let steps = self.up(now, ip, interface);
        if let Some(known) = self.known.get_mut(&ip) {
            known.named = true;
        }
        steps
    }

    /// Ends the use of an address that the application names.
    pub(crate) fn remove(&mut self, now: Time, ip: IpAddr) -> Vec<Step> {
        let known = self.known.entry(ip).or_insert_with(|| {
            let mut known = Known::new(now);
            known.start(now, ip);
            known
        });
        known.named = false;
        self.down(now, ip, true)
    }

    /// Ends the use of an address for which there is no socket, until its link changes.
    pub(crate) fn refuse(&mut self, now: Time, ip: IpAddr) -> Vec<Step> {
        self.down(now, ip, false)
    }

    /// Returns the name of an address's interface, if it was reported.
    pub(crate) fn interface_of(&self, ip: IpAddr) -> Option<&str> {
        self.known.get(&ip).map(|known| known.interface.as_str())
    }

    /// Returns whether an address was reported and cannot be used now.
    pub(crate) fn is_down(&self, ip: IpAddr) -> bool {
        self.known.get(&ip).is_some_and(|known| !known.used)
    }

    /// Applies reports that belong together. Losses come first: a host that has lost all addresses then moves
    /// with one request instead of several.
    pub(crate) fn change(&mut self, now: Time, changes: &[LinkChange]) -> Vec<Step> {
        let mut touched = BTreeSet::new();
        for change in changes {
            touched.extend(&change.addresses);
            let old = if change.addresses.is_empty() && !change.carrier {
                self.links.remove(&change.interface)
            } else {
                self.links.insert(change.interface, change.clone())
            };
            if old.as_ref().is_none_or(|old| old.carrier != change.carrier) {
                self.trust(change.interface);
            }
            touched.extend(old.iter().flat_map(|old| &old.addresses));
        }
        let mut steps = Vec::new();
        let mut arrived = Vec::new();
        for ip in touched {
            let (exists, working) = self.holders_of(ip);
            let before = self.holders.get(&ip).copied();
            if let Some(interface) = before.filter(|interface| working.contains(interface)) {
                self.rename(ip, interface);
                self.consider_swap(now, ip, interface, &working);
                continue;
            }
            match self.best_holder(ip, &working) {
                Some(interface) => {
                    // Its sockets may be bound to the interface that it leaves.
                    if before.is_some() {
                        steps.extend(self.down(now, ip, true));
                    }
                    self.holders.insert(ip, interface);
                    arrived.push((ip, interface));
                }
                None if before.is_some() || !exists => {
                    self.holders.remove(&ip);
                    steps.extend(self.down(now, ip, !exists));
                }
                None => {}
            }
        }
        for (ip, interface) in arrived {
            let name = self.links.get(&interface).map(|link| link.name.clone()).unwrap_or_default();
            steps.extend(self.up(now, ip, &name));
        }
        steps
    }

    /// Uses an address through another interface, at once.
    fn hand_over(&mut self, now: Time, ip: IpAddr, to: u32) -> Vec<Step> {
        let mut steps = self.down(now, ip, true);
        self.holders.insert(ip, to);
        if let Some(known) = self.known.get_mut(&ip) {
            known.hold = Span::ZERO;
        }
        let name = self.links.get(&to).map(|link| link.name.clone()).unwrap_or_default();
        steps.extend(self.up(now, ip, &name));
        steps
    }

    /// Takes over the name of an address's interface.
    fn rename(&mut self, ip: IpAddr, interface: u32) {
        if let (Some(link), Some(known)) = (self.links.get(&interface), self.known.get_mut(&ip)) {
            known.interface.clone_from(&link.name);
        }
    }

    /// Returns whether an interface has the address, and those through which it works and may be used.
    fn holders_of(&self, ip: IpAddr) -> (bool, Vec<u32>) {
        let having = || self.links.values().filter(|link| link.addresses.contains(&ip));
        let usable = having().filter(|link| link.carrier && self.wants(link, ip));
        (having().next().is_some(), usable.map(|link| link.interface).collect())
    }

    fn wants(&self, link: &LinkChange, ip: IpAddr) -> bool {
        let loopback = link.kind == LinkKind::Loopback || ip.is_loopback();
        let named = self.known.get(&ip).is_some_and(|known| known.named);
        let followed = self.options.follows(&link.name) && (self.options.loopback || !loopback);
        // A link-local address names another host on the next link.
        named || followed && Scope::of(&ip) != Scope::LinkLocal
    }

    fn others_work(&self, ip: IpAddr) -> bool {
        self.known.iter().any(|(&other, known)| other != ip && known.used)
    }

    fn up(&mut self, now: Time, ip: IpAddr, interface: &str) -> Vec<Step> {
        let (others_work, hold) = (self.others_work(ip), Span::from(self.options.hold));
        let known = self.known.entry(ip).or_insert_with(|| Known::new(now));
        if known.interface != interface {
            known.interface = interface.to_owned();
        }
        known.link_up = true;
        known.gone = false;
        if known.used {
            return Vec::new();
        }
        if known.hold.is_zero() || !others_work {
            // A new address has no record, and waiting gains nothing if no other address works.
            known.hold = known.hold.max(hold);
            return vec![known.start(now, ip)];
        }
        known.held_until = Some(now + known.hold);
        known.hold = (known.hold * 2).min(hold * MAX_HOLD);
        Vec::new()
    }

    fn down(&mut self, now: Time, ip: IpAddr, gone: bool) -> Vec<Step> {
        let (calm, hold) = (Span::from(self.options.calm), Span::from(self.options.hold));
        let delete_after = Span::from(self.options.delete_after);
        let Some(known) = self.known.get_mut(&ip) else { return Vec::new() };
        let mut steps = Vec::new();
        known.link_up = false;
        known.held_until = None;
        if core::mem::replace(&mut known.used, false) {
            if now.since(known.since) >= calm {
                known.hold = hold;
            }
            known.delete_at = Some(now + delete_after);
            steps.push(Step::Down(ip));
        }
        if gone && !core::mem::replace(&mut known.gone, true) {
            known.delete_at = None;
            steps.push(Step::Gone(ip));
        }
        if !self.known.values().any(|known| known.used) {
            // No other address is left: held ones are used at once.
            let held = self.known.iter_mut().filter(|(_, known)| known.held_until.is_some());
            steps.extend(held.map(|(&ip, known)| known.start(now, ip)));
        }
        self.forget();
        steps
    }

    /// Returns whether an address waits because its link flaps.
    pub(crate) fn has_held(&self) -> bool {
        self.known.values().any(|known| known.held_until.is_some())
    }

    /// Has the addresses that wait because their links flap used at the next timeout, which is due: none of
    /// the others carries packets.
    pub(crate) fn end_holds(&mut self, now: Time) {
        for until in self.known.values_mut().filter_map(|known| known.held_until.as_mut()) {
            *until = now;
        }
    }

    /// Forgets old records.
    fn forget(&mut self) {
        while self.known.values().filter(|known| known.gone).count() > MAX_GONE {
            let gone = self.known.iter().filter(|(_, known)| known.gone);
            let Some(oldest) = gone.min_by_key(|(_, known)| known.since).map(|(&ip, _)| ip) else { break };
            self.known.remove(&oldest);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let swaps = self.shared.values().map(|shared| shared.swap_at);
        self.known.values().flat_map(|known| [known.held_until, known.delete_at]).chain(swaps).flatten().min()
    }

    pub(crate) fn timeout(&mut self, now: Time) -> Vec<Step> {
        let mut steps = Vec::new();
        for (&ip, known) in &mut self.known {
            if known.held_until.is_some_and(|until| until <= now) {
                steps.push(known.start(now, ip));
            }
            if known.delete_at.take_if(|at| *at <= now).is_some() {
                steps.push(Step::Delete(ip));
            }
        }
        steps.extend(self.swap_due(now));
        steps
    }

    /// Returns the rank of an address, 0 for the best; `None` if it cannot be used now.
    pub(crate) fn rank(&self, ip: IpAddr) -> Option<usize> {
        let Some(known) = self.known.get(&ip) else {
            let unlisted = self.unlisted.iter().any(|any| any.is_ipv4() == ip.is_ipv4());
            return unlisted.then_some(self.options.prefer.len());
        };
        known.used.then(|| self.options.rank_of(&known.interface))
    }

    /// Returns what the use of an address costs, by its link.
    pub(crate) fn cost(&self, ip: IpAddr) -> Cost {
        let link = self.holders.get(&ip).and_then(|interface| self.links.get(interface));
        link.map(|link| self.options.cost_of(link)).unwrap_or_default()
    }

    /// Returns whether an address has been down or removed for longer than the associations wait for it.
    pub(crate) fn is_doomed(&self, ip: IpAddr) -> bool {
        let due = |known: &Known| known.delete_at.is_none() || self.options.delete_after.is_zero();
        self.known.get(&ip).is_some_and(|known| !known.used && !known.link_up && due(known))
    }

    /// Returns the time since which an address is in use.
    pub(crate) fn used_since(&self, ip: IpAddr) -> Option<Time> {
        self.known.get(&ip).filter(|known| known.used).map(|known| known.since)
    }

    /// Returns the addresses in use.
    pub(crate) fn used(&self) -> impl Iterator<Item = IpAddr> {
        self.known.iter().filter(|(_, known)| known.used).map(|(&ip, _)| ip)
    }

    pub(crate) fn translation(&self) -> Translation {
        self.options.translation
    }

    /// Returns the time for which to measure a new path. `measures` says whether the policy measures.
    pub(crate) fn probe(&self, measures: bool) -> Span {
        self.options.probe(measures)
    }
}

impl Known {
    fn new(now: Time) -> Self {
        Self {
            interface: String::new(),
            named: false,
            link_up: false,
            used: false,
            held_until: None,
            hold: Span::ZERO,
            since: now,
            delete_at: None,
            gone: false,
        }
    }

    fn start(&mut self, now: Time, ip: IpAddr) -> Step {
        self.used = true;
        self.since = now;
        self.held_until = None;
        self.delete_at = None;
        Step::Use(ip)
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
