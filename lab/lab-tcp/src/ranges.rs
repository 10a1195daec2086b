//! [`Ranges`]: a set of offsets as sorted, disjoint ranges, for out-of-order and SACKed data.

/// Half-open ranges of offsets, sorted. No two of them touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Adds a range. Returns the whole range to which it now belongs, and the number of new offsets.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> ((u64, u64), u64) {
        debug_assert!(start < end);
        let first = self.0.partition_point(|range| range.1 < start);
        let behind = self.0.partition_point(|range| range.0 <= end);
        let touched = &self.0[first..behind];
        let known: u64 = touched.iter().map(|range| range.1 - range.0).sum();
        let whole = match (touched.first(), touched.last()) {
            (Some(low), Some(high)) => (low.0.min(start), high.1.max(end)),
            _ => (start, end),
        };
        self.0.splice(first..behind, [whole]);
        (whole, whole.1 - whole.0 - known)
    }

    /// Forgets everything below `offset`.
    pub(crate) fn drop_below(&mut self, offset: u64) {
        let gone = self.0.partition_point(|range| range.1 <= offset);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(offset);
        }
    }

    /// Returns the range that begins at or below `offset` and ends above it.
    pub(crate) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.0.partition_point(|range| range.1 <= offset);
        self.0.get(at).copied().filter(|range| range.0 <= offset)
    }

    /// Returns the first range that begins at or above `offset`.
    pub(crate) fn next_from(&self, offset: u64) -> Option<(u64, u64)> {
        self.0.get(self.0.partition_point(|range| range.0 < offset)).copied()
    }

    /// Returns the number of offsets in [`start`, `end`) that are in the set.
    pub(crate) fn covered(&self, start: u64, end: u64) -> u64 {
        let from = self.0.partition_point(|range| range.1 <= start);
        let inside = self.0[from..].iter().take_while(|range| range.0 < end);
        inside.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }

    /// Returns one past the highest offset.
    pub(crate) fn end(&self) -> Option<u64> {
        self.0.last().map(|range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut set = Ranges::default();
        assert_eq!(set.insert(10, 20), ((10, 20), 10));
        assert_eq!(set.insert(30, 40), ((30, 40), 10));
        assert_eq!(set.insert(20, 25), ((10, 25), 5));
        assert_eq!(set.insert(24, 31), ((10, 40), 5));
        assert_eq!(set.as_slice(), [(10, 40)]);
        set.drop_below(15);
        assert_eq!(set.as_slice(), [(15, 40)]);
        set.drop_below(40);
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn ranges_equal_the_set_of_their_offsets(
            operations in prop::collection::vec((0_u64..60, 1_u64..12, 0_u64..8), 1..40),
            from in 0_u64..60,
            len in 0_u64..30,
        ) {
            let mut set = Ranges::default();
            let mut model = [false; 80];
            for (start, length, below) in operations {
                let new = (start..start + length).filter(|&i| !model[i as usize]).count() as u64;
                model[start as usize..(start + length) as usize].fill(true);
                let (whole, counted) = set.insert(start, start + length);
                prop_assert_eq!(counted, new);
                prop_assert!(whole.0 <= start && whole.1 >= start + length);
                if below == 0 {
                    set.drop_below(start);
                    model[..start as usize].fill(false);
                }
            }
            let flat: Vec<u64> = set.as_slice().iter().flat_map(|&(a, b)| a..b).collect();
            let wanted: Vec<u64> = (0..80).filter(|&i| model[i as usize]).collect();
            prop_assert_eq!(&flat, &wanted);
            prop_assert!(set.as_slice().windows(2).all(|w| w[0].1 < w[1].0), "no two touch");
            let inside = wanted.iter().filter(|i| (from..from + len).contains(i)).count() as u64;
            prop_assert_eq!(set.covered(from, from + len), inside);
            prop_assert_eq!(set.containing(from).is_some(), model[from as usize]);
            prop_assert_eq!(set.end(), wanted.last().map(|last| last + 1));
        }
    }
}
