//! Addresses that several interfaces have, as behind routers that lease the same private one: which interface
//! to use. A socket is bound to one at a time.

use core::net::IpAddr;
use std::collections::BTreeSet;

use msctp_units::{Span, Time};

use super::{Links, Step};

/// Time without a path that carries packets after which another interface is tried.
const PATIENCE: Span = Span::from_secs(2);

/// The longest wait before a better interface is used, as a multiple of the first.
const MAX_WAIT: u64 = 32;

/// What is known of an address that several interfaces have.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Time at which to use the better interface.
    pub(super) swap_at: Option<Time>,
    /// The wait before that, longer each time.
    wait: Span,
    /// Time since which no path of an association carries packets.
    stranded: Option<Time>,
    /// Interfaces that carried nothing, and have not changed since.
    doubted: BTreeSet<u32>,
}

impl Links {
    /// Returns through which of these interfaces an address is used best.
    pub(super) fn best_holder(&self, ip: IpAddr, working: &[u32]) -> Option<u32> {
        let shared = self.shared.get(&ip);
        working.iter().copied().min_by_key(|interface| {
            let doubted = shared.is_some_and(|shared| shared.doubted.contains(interface));
            let link = self.links.get(interface);
            let rank = link.map(|link| (self.options.rank_of(&link.name), self.options.cost_of(link).backup));
            (doubted, rank, *interface)
        })
    }

    /// Decides whether to leave an interface through which an address works for a better one.
    pub(super) fn consider_swap(&mut self, now: Time, ip: IpAddr, held: u32, working: &[u32]) {
        if self.best_holder(ip, working).is_none_or(|best| best == held) {
            if let Some(shared) = self.shared.get_mut(&ip) {
                shared.swap_at = None;
            }
            return;
        }
        let calm = self.used_since(ip).is_some_and(|since| now.since(since) >= Span::from(self.options.calm));
        let hold = Span::from(self.options.hold);
        let shared = self.shared.entry(ip).or_default();
        shared.wait = if calm { hold } else { shared.wait.max(hold) };
        shared.swap_at.get_or_insert(now + shared.wait);
    }

    /// An interface changed: what it carried before says nothing.
    pub(super) fn trust(&mut self, interface: u32) {
        self.shared.values_mut().for_each(|shared| {
            shared.doubted.remove(&interface);
        });
    }

    /// Leaves interfaces for better ones whose time has come.
    pub(super) fn swap_due(&mut self, now: Time) -> Vec<Step> {
        let due = |shared: &mut Shared| shared.swap_at.take_if(|at| *at <= now).is_some();
        let due: Vec<IpAddr> =
            self.shared.iter_mut().filter_map(|(&ip, shared)| due(shared).then_some(ip)).collect();
        let mut steps = Vec::new();
        for ip in due {
            let (_, working) = self.holders_of(ip);
            let held = self.holders.get(&ip).copied();
            let Some(best) = self.best_holder(ip, &working).filter(|best| Some(*best) != held) else {
                continue;
            };
            let hold = Span::from(self.options.hold);
            if let Some(shared) = self.shared.get_mut(&ip) {
                shared.wait = (shared.wait.max(hold) * 2).min(hold * MAX_WAIT);
            }
            steps.extend(self.hand_over(now, ip, best));
        }
        steps
    }

    /// Returns whether an address works through several interfaces.
    pub(crate) fn is_shared(&self, ip: IpAddr) -> bool {
        self.holders_of(ip).1.len() > 1
    }

    /// Records whether an association has a path that carries packets, of one whose address is
    /// [shared](Self::is_shared). Tries another interface after a while without, at the next timeout. Returns
    /// the time at which to call this again.
    pub(crate) fn note_stranded(&mut self, now: Time, ip: IpAddr, stranded: bool) -> Option<Time> {
        let since = self.used_since(ip).unwrap_or(now);
        let (_, working) = self.holders_of(ip);
        let held = self.holders.get(&ip).copied()?;
        let shared = self.shared.entry(ip).or_default();
        if !stranded {
            shared.stranded = None;
            return None;
        }
        let due = (*shared.stranded.get_or_insert(now)).max(since) + PATIENCE;
        if now < due {
            return Some(due);
        }
        shared.stranded = None;
        shared.doubted.insert(held);
        if working.iter().all(|interface| shared.doubted.contains(interface)) {
            // Begins anew with the others.
            shared.doubted.retain(|interface| *interface == held);
        }
        shared.swap_at = Some(now);
        Some(now + PATIENCE)
    }
}
