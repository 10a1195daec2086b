//! Paths beside the data path that new data may take: the one that data has just left, until the new one's rate is known
//! (`Moves::Fast`), and the one that the peer wants it on, as far as it may be told data before it is confirmed
//! (`Moves::Fast`). Sends nothing.

use smallvec::SmallVec;

use super::{Path, PathAddr, PathId, Paths};

impl Paths {
    /// Data left this path, if any; called after every change that could make another one carry it, or forbid this one to.
    pub(super) fn keep_former(&mut self, left: Option<PathId>) {
        if !self.config.overlap {
            return;
        }
        let former = left.or(self.former).filter(|&id| Some(id) != self.data_path);
        self.former =
            former.filter(|&id| self.get(id).is_some_and(|path| path.is_confirmed() && path.is_usable()));
    }

    /// New data may have more than one way to go.
    #[inline]
    pub(crate) fn may_have_carriers(&self) -> bool {
        self.former.is_some() || self.wanted_primary.is_some()
    }

    /// Where new data may go, in the order in which paths are asked whether they take it: the address that asked for it and is not
    /// confirmed yet, the data path, the path that was left.
    pub(crate) fn carriers(&mut self) -> SmallVec<[PathId; 3]> {
        let mut carriers = SmallVec::new();
        if self.wanted_primary.is_some() {
            carriers.extend(self.early_path().filter(|&id| Some(id) != self.data_path));
        }
        carriers.extend(self.data_path);
        if self.former.is_some() {
            carriers.extend(self.overlapping());
        }
        carriers
    }

    /// New data may go here.
    #[inline]
    pub(crate) fn is_carrier(&self, id: PathId) -> bool {
        Some(id) == self.data_path
            || Some(id) == self.former
            || self.wanted_primary.is_some() && self.early_path() == Some(id)
    }

    /// Where the peer wants data, while that has some allowance left.
    fn early_path(&self) -> Option<PathId> {
        let id = self.best_to(self.wanted_primary.as_ref()?)?;
        let path = self.get(id)?;
        let may = !path.is_confirmed() && path.may_carry_packet() && path.link_is_up();
        (may && path.source() == super::SourceUse::Full).then_some(id)
    }

    /// The path that was left, while the other one looks for its rate. Only if its round trip is not the longer one: else what goes
    /// there would hold up what overtakes it.
    fn overlapping(&mut self) -> Option<PathId> {
        let former = self.former?;
        let new = self.data_path.and_then(|id| self.get(id));
        let starts = |new: &&Path| new.is_usable() && new.controller.is_starting();
        let round_trips = (self.get(former)?.rtt.srtt(), new.filter(starts).map(|new| new.rtt.srtt()));
        match round_trips {
            (Some(old), Some(Some(new))) if old <= new => Some(former),
            // not known yet
            (None, Some(_)) | (_, Some(None)) => None,
            (_, None) | (Some(_), Some(Some(_))) => {
                self.former = None;
                None
            }
        }
    }

    /// A SACK came at these addresses. Asked for only where two paths may carry data at a time.
    #[inline]
    pub(crate) fn note_sack(&mut self, at: PathAddr) {
        let asked_for = self.config.overlap && self.list.len() > 1;
        self.heard_on = if asked_for { self.by_addr(at) } else { None };
    }

    /// The SACK that is processed came over another path than this one.
    #[inline]
    pub(crate) fn is_answered_elsewhere(&self, id: PathId) -> bool {
        self.heard_on.is_some_and(|heard| heard != id)
    }
}
