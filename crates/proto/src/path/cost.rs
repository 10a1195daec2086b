//! [`Costs`]: what a path costs, by this end's word and by the peer's (docs/internals/path-cost.md).

use core::net::IpAddr;

use msctp_wire::PathCost;

use super::{Path, PathId, Paths};
use crate::cost::Cost;

/// The costs of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Costs {
    pub(super) ours: Cost,
    theirs: Cost,
    /// The version of the peer's; 0 before the first.
    version: u32,
}

impl Path {
    /// Returns what the path costs either end.
    pub(crate) fn cost(&self) -> Cost {
        self.costs.ours.or(self.costs.theirs)
    }
}

impl Paths {
    /// Sets what a local address costs. Returns whether that is a change. Has no effect on an unknown
    /// address.
    pub(crate) fn set_cost(&mut self, addr: &IpAddr, cost: Cost) -> bool {
        let Some(local) = self.locals.iter_mut().find(|local| local.addr == *addr) else { return false };
        if core::mem::replace(&mut local.cost, cost) == cost {
            return false;
        }
        self.cost_version = self.cost_version.saturating_add(1);
        for path in self.list.iter_mut().filter(|path| path.addr.local == *addr) {
            path.costs.ours = cost;
        }
        self.refresh();
        true
    }

    /// Returns what to tell the peer about a local address; `None` while no address ever had a cost.
    pub(crate) fn cost_to_tell(&self, addr: &IpAddr) -> Option<PathCost> {
        if self.cost_version == 0 {
            return None;
        }
        let Cost { backup, metered } = self.locals.iter().find(|local| local.addr == *addr)?.cost;
        Some(PathCost { backup, metered, version: self.cost_version })
    }

    /// Returns whether the peer's costs have changed since it told those of this path.
    pub(crate) fn lacks_cost(&self, id: PathId, told: &PathCost) -> bool {
        self.get(id).is_some_and(|path| path.confirmed && path.costs.version < told.version)
    }

    /// Records what the peer says of a path. Returns what the path costs now, if that is a change. An older
    /// word has no effect.
    pub(crate) fn note_peer_cost(&mut self, id: PathId, told: &PathCost) -> Option<Cost> {
        let path = self.get_mut(id).filter(|path| path.costs.version < told.version)?;
        let before = path.cost();
        path.costs.theirs = Cost { backup: told.backup, metered: told.metered };
        path.costs.version = told.version;
        let changed = Some(path.cost()).filter(|cost| *cost != before)?;
        self.refresh();
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{P0, P1, confirmed, fail, local, ms, remote};
    use super::*;

    const BACKUP: Cost = Cost { backup: true, metered: false };

    fn told(backup: bool, version: u32) -> PathCost {
        PathCost { backup, metered: false, version }
    }

    #[test]
    fn nothing_is_told_before_an_address_has_a_cost() {
        let mut paths = confirmed(2, 1);
        assert!(!paths.set_cost(&local(0), Cost::default()));
        assert_eq!(paths.cost_to_tell(&local(0)), None);
        assert!(paths.set_cost(&local(1), BACKUP) && !paths.set_cost(&local(1), BACKUP));
        assert_eq!(paths.cost_to_tell(&local(0)), Some(told(false, 1)));
        assert_eq!(paths.cost_to_tell(&local(1)), Some(told(true, 1)));
        assert!(paths.set_cost(&local(1), Cost::default()));
        assert_eq!(paths.cost_to_tell(&local(1)), Some(told(false, 2)));
        assert_eq!(paths.cost_to_tell(&local(9)), None);
    }

    #[test]
    fn the_latest_word_of_the_peer_counts_and_raises_no_cost_of_this_end() {
        let mut paths = confirmed(2, 1);
        assert_eq!(paths.note_peer_cost(P1, &told(true, 2)), Some(BACKUP));
        assert_eq!(paths.note_peer_cost(P1, &told(false, 1)), None);
        assert_eq!(paths.note_peer_cost(P1, &told(false, 2)), None);
        assert!(paths.get(P1).unwrap().cost().backup);
        assert!(paths.lacks_cost(P1, &told(true, 3)) && !paths.lacks_cost(P1, &told(true, 2)));
        paths.set_cost(&local(1), BACKUP);
        assert_eq!(paths.note_peer_cost(P1, &told(false, 3)), None);
        assert!(paths.get(P1).unwrap().cost().backup, "this end's own word stays");
    }

    #[test]
    fn a_path_to_an_address_that_the_peer_adds_later_costs_the_same() {
        let mut paths = confirmed(2, 1);
        paths.set_cost(&local(1), BACKUP);
        let added = paths.add_remote(remote(1), ms(1)).unwrap();
        let costs = added.iter().map(|id| paths.get(*id).unwrap()).map(|path| (path.addr.local, path.cost()));
        assert!(costs.eq([(local(0), Cost::default()), (local(1), BACKUP)]));
    }

    #[test]
    fn an_alternate_that_costs_nothing_comes_first() {
        let mut paths = confirmed(3, 1);
        paths.set_cost(&local(1), BACKUP);
        fail(&mut paths, P0);
        assert_eq!(paths.data_path(), Some(PathId::new(2)));
        // The one that costs is used if no other works.
        paths.set_link(&local(2), false, ms(1));
        assert_eq!(paths.data_path(), Some(P1));
    }
}
