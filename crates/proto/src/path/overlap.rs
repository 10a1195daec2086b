//! Paths beside the data path that may take new data (`Moves::Fast`). Sends nothing.
//!
//! One is the previous data path, until the rate of the new one is known. The other is the path that the peer
//! asked for, within its early allowance before it is confirmed.

use smallvec::SmallVec;

use super::{Path, PathAddr, PathId, Paths};

impl Paths {
    /// Updates the previous data path after a change that may move data. `left`: the path that data left, if
    /// any.
    pub(super) fn keep_former(&mut self, left: Option<PathId>) {
        if !self.config.overlap {
            return;
        }
        let former = left.or(self.former).filter(|&id| Some(id) != self.data_path);
        self.former =
            former.filter(|&id| self.get(id).is_some_and(|path| path.is_confirmed() && path.is_usable()));
    }

    /// Returns true if new data may have more than one path.
    #[inline]
    pub(crate) fn may_have_carriers(&self) -> bool {
        self.former.is_some() || self.wanted_primary.is_some()
    }

    /// Returns the paths that may take new data, in order of preference.
    ///
    /// The path that the peer asked for comes first while unconfirmed, then the data path, then the previous
    /// one.
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

    /// Returns true if new data may be sent here.
    #[inline]
    pub(crate) fn is_carrier(&self, id: PathId) -> bool {
        Some(id) == self.data_path
            || Some(id) == self.former
            || self.wanted_primary.is_some() && self.early_path() == Some(id)
    }

    /// Returns the path that the peer asked for, while it has some early allowance left.
    fn early_path(&self) -> Option<PathId> {
        let id = self.best_to(self.wanted_primary.as_ref()?)?;
        let path = self.get(id)?;
        let may = !path.is_confirmed() && path.may_carry_packet() && path.link_is_up();
        (may && path.source() == super::SourceUse::Full).then_some(id)
    }

    /// Returns the previous data path while the new one searches for its rate.
    ///
    /// Only if its round trip is not the longer one: otherwise its chunks would delay those that overtake
    /// them.
    fn overlapping(&mut self) -> Option<PathId> {
        let former = self.former?;
        let new = self.data_path.and_then(|id| self.get(id));
        let starts = |new: &&Path| new.is_usable() && new.controller.is_starting();
        let round_trips = (self.get(former)?.rtt.srtt(), new.filter(starts).map(|new| new.rtt.srtt()));
        match round_trips {
            (Some(old), Some(Some(new))) if old <= new => Some(former),
            // the rate is not known yet
            (None, Some(_)) | (_, Some(None)) => None,
            (_, None) | (Some(_), Some(Some(_))) => {
                self.former = None;
                None
            }
        }
    }

    /// Records the addresses at which a SACK arrived. Needed only where two paths may carry data at once.
    #[inline]
    pub(crate) fn note_sack(&mut self, at: PathAddr) {
        let asked_for = self.config.overlap && self.list.len() > 1;
        self.heard_on = if asked_for { self.by_addr(at) } else { None };
    }

    /// Returns true if the SACK being processed came over another path than this one.
    #[inline]
    pub(crate) fn is_answered_elsewhere(&self, id: PathId) -> bool {
        self.heard_on.is_some_and(|heard| heard != id)
    }
}
