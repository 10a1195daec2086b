//! [`TagTable`]: associations by verification tag, with one cache line read per packet.

/// Index of an association in the endpoint's slab.
pub(super) type Slot = u32;

/// The entry of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tagged {
    pub(super) slot: Slot,
    pub(super) local_port: u16,
    pub(super) peer_port: u16,
}

/// A hash table with open addressing and linear probing. Tags are this end's random numbers, so that each is
/// its own hash. Tag 0, which no association has, marks a free place.
#[derive(Debug, Default)]
pub(super) struct TagTable {
    /// Places, a power of two or none. At most half of them are in use.
    places: Vec<(u32, Tagged)>,
    used: usize,
}

impl TagTable {
    fn home(&self, tag: u32) -> usize {
        tag as usize & (self.places.len() - 1)
    }

    /// Returns the index of the tag, or of the free place for it.
    #[inline]
    fn find(&self, tag: u32) -> usize {
        let mut place = self.home(tag);
        while self.places[place].0 != tag && self.places[place].0 != 0 {
            place = (place + 1) & (self.places.len() - 1);
        }
        place
    }

    /// Returns the entry of this tag.
    #[inline]
    pub(super) fn get(&self, tag: u32) -> Option<Tagged> {
        if tag == 0 || self.places.is_empty() {
            return None;
        }
        let (found, tagged) = self.places[self.find(tag)];
        (found == tag).then_some(tagged)
    }

    /// Sets the entry of this tag, which is not 0.
    pub(super) fn insert(&mut self, tag: u32, tagged: Tagged) {
        debug_assert_ne!(tag, 0);
        if (self.used + 1) * 2 > self.places.len() {
            let bigger = (self.places.len() * 2).max(8);
            let old = core::mem::replace(&mut self.places, vec![(0, Tagged::default()); bigger]);
            for (tag, tagged) in old.into_iter().filter(|place| place.0 != 0) {
                let place = self.find(tag);
                self.places[place] = (tag, tagged);
            }
        }
        let place = self.find(tag);
        self.used += usize::from(self.places[place].0 == 0);
        self.places[place] = (tag, tagged);
    }

    /// Removes the tag. Displaced entries move back, so that no search ends early.
    pub(super) fn remove(&mut self, tag: u32) {
        if self.get(tag).is_none() {
            return;
        }
        let mask = self.places.len() - 1;
        let mut hole = self.find(tag);
        let mut next = (hole + 1) & mask;
        while self.places[next].0 != 0 {
            let home = self.home(self.places[next].0);
            // Movable if its home is not between the hole and its place
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.places[hole] = self.places[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.places[hole] = (0, Tagged::default());
        self.used -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Few different tags with few home places, so that they collide.
        #[test]
        fn agrees_with_a_map(operations in prop::collection::vec((any::<bool>(), 1u32..40, 0u32..100), 0..400)) {
            let mut table = TagTable::default();
            let mut map = BTreeMap::new();
            for (insert, tag, slot) in operations {
                let tag = tag * 16 + tag % 3;
                if insert {
                    let tagged = Tagged { slot, local_port: 1, peer_port: 2 };
                    table.insert(tag, tagged);
                    map.insert(tag, tagged);
                } else {
                    table.remove(tag);
                    map.remove(&tag);
                }
                prop_assert_eq!(table.used, map.len());
                for tag in (1..40).map(|tag| tag * 16 + tag % 3).chain([0, 1, 2, 3]) {
                    prop_assert_eq!(table.get(tag), map.get(&tag).copied(), "tag {}", tag);
                }
            }
        }
    }
}
