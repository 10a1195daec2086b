//! [`TsnMap`]: which TSNs were received (RFC 9260 §6.2, §6.7). Independent of their content.

use std::collections::VecDeque;

use msctp_wire::{GapBlock, Tsn};

use crate::long_tsn::{LongTsn, TsnRange};

/// Maximum distance of a TSN from the Cumulative TSN Ack. Gap Ack Blocks have 16-bit offsets (RFC 9260
/// §3.3.4), so that a TSN further ahead is dropped.
const MAX_AHEAD: u64 = u16::MAX as u64;

/// Maximum number of ranges kept above the Cumulative TSN Ack. It bounds memory and the work of shifting the
/// array, of which at most half moves. A sender with 5,800 chunks outstanding that loses every second one
/// creates 2,900 ranges.
const MAX_RANGES: usize = 4096;

/// The place of a TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The TSN follows the Cumulative TSN Ack.
    Next,
    /// The TSN is above the Cumulative TSN Ack, with a hole in between, and precedes this range.
    Ahead(usize),
    /// Received before.
    Duplicate,
    /// The TSN is dropped: it is too far ahead, or would open one hole too many.
    TooFar,
}

/// The Cumulative TSN Ack Point and the ranges received above it, in order, with holes between them.
///
/// A TSN in order or at the end costs O(1). Otherwise a place is found in O(log ranges); opening or closing a
/// hole in the middle shifts at most half of a bounded array.
#[derive(Debug)]
pub(super) struct TsnMap {
    cum_tsn_ack: LongTsn,
    ranges: VecDeque<TsnRange>,
    /// The ranges as Gap Ack Blocks, valid up to `built`. The next SACK builds the others.
    blocks: Vec<GapBlock>,
    built: usize,
}

impl TsnMap {
    /// Creates an empty map; the peer starts at `initial_tsn`.
    pub(super) fn new(initial_tsn: Tsn) -> Self {
        // RFC 9260 §5.1: the Cumulative TSN Ack Point is the peer's Initial TSN minus one
        let cum_tsn_ack = LongTsn::first(initial_tsn) - 1;
        Self { cum_tsn_ack, ranges: VecDeque::new(), blocks: Vec::new(), built: 0 }
    }

    pub(super) fn cum_tsn_ack(&self) -> LongTsn {
        self.cum_tsn_ack
    }

    /// Returns the highest TSN received, or the Cumulative TSN Ack Point.
    pub(super) fn highest(&self) -> LongTsn {
        self.ranges.back().map_or(self.cum_tsn_ack, |range| range.last)
    }

    /// Returns whether a TSN is missing below one that was received.
    pub(super) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Returns the number nearest to the Cumulative TSN Ack with this TSN.
    pub(super) fn extend(&self, tsn: Tsn) -> LongTsn {
        self.cum_tsn_ack.nearest(tsn)
    }

    /// Returns the index of the first range that begins above `tsn`.
    fn after(&self, tsn: LongTsn) -> usize {
        match self.ranges.back() {
            Some(back) if back.first > tsn => self.ranges.partition_point(|range| range.first <= tsn),
            _ => self.ranges.len(),
        }
    }

    pub(super) fn contains(&self, tsn: LongTsn) -> bool {
        tsn <= self.cum_tsn_ack || self.after(tsn).checked_sub(1).is_some_and(|i| self.ranges[i].last >= tsn)
    }

    #[inline]
    pub(super) fn place(&self, tsn: LongTsn) -> Place {
        if tsn == self.cum_tsn_ack + 1 && self.ranges.front().is_none_or(|range| range.first != tsn) {
            return Place::Next;
        }
        if tsn <= self.cum_tsn_ack {
            return Place::Duplicate;
        }
        let index = self.after(tsn);
        let touches_before = match index.checked_sub(1).map(|i| self.ranges[i].last) {
            Some(last) if last >= tsn => return Place::Duplicate,
            Some(last) => last + 1 == tsn,
            None => false,
        };
        let touches_after = self.ranges.get(index).is_some_and(|range| range.first == tsn + 1);
        let full = self.ranges.len() >= MAX_RANGES && !touches_before && !touches_after;
        if tsn.above(self.cum_tsn_ack) > MAX_AHEAD || full { Place::TooFar } else { Place::Ahead(index) }
    }

    /// Marks everything up to `tsn` as received (RFC 3758 §3.6). Returns false if it already was. The cost is
    /// linear in the ranges passed.
    pub(super) fn forward(&mut self, tsn: LongTsn) -> bool {
        if tsn <= self.cum_tsn_ack {
            return false;
        }
        self.cum_tsn_ack = tsn;
        self.built = 0;
        while let Some(&front) = self.ranges.front()
            && front.first <= self.cum_tsn_ack + 1
        {
            self.cum_tsn_ack = self.cum_tsn_ack.max(front.last);
            self.ranges.pop_front();
        }
        true
    }

    /// Records `tsn` at `place`.
    pub(super) fn insert(&mut self, tsn: LongTsn, place: Place) {
        match place {
            Place::Next => {
                self.cum_tsn_ack = tsn;
                self.built = 0;
                if let Some(&front) = self.ranges.front()
                    && front.first == tsn + 1
                {
                    self.cum_tsn_ack = front.last;
                    self.ranges.pop_front();
                }
            }
            Place::Ahead(index) => self.insert_ahead(tsn, index),
            Place::Duplicate | Place::TooFar => debug_assert!(false, "{tsn:?} was not to be recorded"),
        }
    }

    fn insert_ahead(&mut self, tsn: LongTsn, index: usize) {
        let before = index.checked_sub(1).filter(|&i| self.ranges[i].last + 1 == tsn);
        self.built = self.built.min(before.unwrap_or(index));
        let touches_after = self.ranges.get(index).is_some_and(|range| range.first == tsn + 1);
        match (before, touches_after) {
            (Some(before), true) => {
                self.ranges[before].last = self.ranges[index].last;
                self.ranges.remove(index);
            }
            (Some(before), false) => self.ranges[before].last = tsn,
            (None, true) => self.ranges[index].first = tsn,
            (None, false) => self.ranges.insert(index, TsnRange { first: tsn, last: tsn }),
        }
    }

    /// Returns the first `limit` Gap Ack Blocks, lowest first (RFC 9260 §6.7). The cost is linear in the
    /// changes since the last call, which are few while the Cumulative TSN Ack does not move.
    #[inline]
    pub(super) fn gap_blocks(&mut self, limit: usize) -> &[GapBlock] {
        if self.ranges.is_empty() {
            return &[];
        }
        // MAX_AHEAD keeps the offsets within 16 bits
        let cum_tsn_ack = self.cum_tsn_ack;
        let offset = |tsn: LongTsn| tsn.above(cum_tsn_ack) as u16;
        self.blocks.truncate(self.built);
        let missing = limit.min(self.ranges.len()).saturating_sub(self.built);
        self.blocks.extend(
            self.ranges
                .range(self.built..self.built + missing)
                .map(|range| GapBlock { start: offset(range.first), end: offset(range.last) }),
        );
        self.built = self.blocks.len();
        &self.blocks[..self.built.min(limit)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Receives all TSNs that are not dropped, like `Inbound`.
    fn receive(map: &mut TsnMap, tsn: u32) -> Place {
        let long = map.extend(Tsn::new(tsn));
        let place = map.place(long);
        if matches!(place, Place::Next | Place::Ahead(_)) {
            map.insert(long, place);
        }
        place
    }

    fn blocks(map: &mut TsnMap) -> Vec<(u16, u16)> {
        map.gap_blocks(usize::MAX).iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn rfc9260_3_3_4_blocks_of_the_figure() {
        // §3.3.4: 10 to 12, 14, 15 and 17 received, 13 and 16 missing
        let mut map = TsnMap::new(Tsn::new(10));
        for tsn in [10, 11, 12, 14, 15, 17] {
            receive(&mut map, tsn);
        }
        assert_eq!(map.cum_tsn_ack().tsn(), Tsn::new(12));
        assert_eq!(blocks(&mut map), [(2, 3), (5, 5)]);
        assert_eq!(receive(&mut map, 15), Place::Duplicate);
        assert_eq!(receive(&mut map, 13), Place::Next);
        assert_eq!(map.cum_tsn_ack().tsn(), Tsn::new(15));
        assert_eq!(blocks(&mut map), [(2, 2)]);
    }

    #[test]
    fn a_tsn_beyond_gap_blocks_is_not_accepted() {
        let mut map = TsnMap::new(Tsn::new(1));
        assert_eq!(receive(&mut map, 65_535), Place::Ahead(0));
        assert_eq!(receive(&mut map, 65_536), Place::TooFar);
        assert_eq!(blocks(&mut map), [(65_535, 65_535)]);
        // half the space ahead is behind in serial arithmetic
        assert_eq!(receive(&mut map, 0x8000_0001), Place::Duplicate);
    }

    #[test]
    fn the_number_of_holes_is_bounded() {
        let mut map = TsnMap::new(Tsn::new(0));
        for tsn in (1..).step_by(2).take(MAX_RANGES) {
            assert!(matches!(receive(&mut map, tsn), Place::Ahead(_)));
        }
        let beyond = 2 * MAX_RANGES as u32 + 1;
        assert_eq!(receive(&mut map, beyond), Place::TooFar);
        assert_eq!(receive(&mut map, beyond - 1), Place::Ahead(MAX_RANGES), "extends a range");
        assert_eq!(receive(&mut map, 2), Place::Ahead(1), "closes a hole");
        assert_eq!(receive(&mut map, beyond + 1), Place::Ahead(MAX_RANGES - 1), "room again");
        assert_eq!(receive(&mut map, 0), Place::Next);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(start: u32, offsets in prop::collection::vec(0u32..60, 0..200)) {
            let mut map = TsnMap::new(Tsn::new(start));
            let mut set = BTreeSet::new();
            for offset in offsets {
                let place = receive(&mut map, start.wrapping_add(offset));
                prop_assert_eq!(place == Place::Duplicate, !set.insert(offset));
                let cum = (0..).find(|o| !set.contains(o)).unwrap();
                prop_assert_eq!(map.cum_tsn_ack().tsn(), Tsn::new(start.wrapping_add(cum).wrapping_sub(1)));
                let reported: Vec<u32> =
                    blocks(&mut map).iter().flat_map(|&(s, e)| s..=e).map(|o| cum + u32::from(o) - 1).collect();
                let expected: Vec<u32> = set.iter().copied().filter(|&o| o > cum).collect();
                prop_assert_eq!(reported, expected);
                for o in 0..60 {
                    prop_assert_eq!(map.contains(map.extend(Tsn::new(start.wrapping_add(o)))), set.contains(&o));
                }
                for pair in blocks(&mut map).windows(2) {
                    prop_assert!(pair[0].1 + 1 < pair[1].0, "ranges touch");
                }
            }
        }
    }
}
