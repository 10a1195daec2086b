//! [`Gaps`]: the TSNs that the last SACK acknowledged by gap blocks, and the changes made by the next one.
//!
//! Does not depend on chunks.

use msctp_wire::{GapBlock, List};

use crate::long_tsn::{LongTsn, TsnRange};
use crate::rare::rare_state;

rare_state! {
    /// The gap-acknowledged ranges, in order and disjoint, and the changes made by the last SACK.
    pub(super) struct Gaps {
        acked: Vec<TsnRange> = Vec::new(),
        /// TSNs newly acknowledged by the last SACK.
        pub(super) gained: Vec<TsnRange> = Vec::new(),
        /// TSNs no longer acknowledged by the last SACK: reneged (RFC 9260 §6.2.1 D iii).
        pub(super) lost: Vec<TsnRange> = Vec::new(),
        /// The ranges of the previous SACK, from the first that differs.
        previous: Vec<TsnRange> = Vec::new(),
        /// The last SACK, if each of its blocks became one range of `acked`.
        last: Option<(LongTsn, Vec<GapBlock>)> = None,
    }
}

impl Gaps {
    /// Returns the highest TSN acknowledged by a gap block.
    pub(super) fn highest(&self) -> Option<LongTsn> {
        self.acked.last().map(|range| range.last)
    }

    /// Returns the number of TSNs acknowledged by gap blocks; stops counting at `enough`.
    pub(super) fn count(&self, enough: u64) -> u64 {
        let mut count = 0;
        for range in &self.acked {
            count += range.last.above(range.first) + 1;
            if count >= enough {
                break;
            }
        }
        count
    }

    #[cfg(test)]
    pub(super) fn ranges(&self) -> &[TsnRange] {
        &self.acked
    }

    /// Applies the blocks of a SACK; `last_sent` is the highest TSN sent.
    ///
    /// The cost is linear in the number of blocks, not in the TSNs they cover. Returns false if the blocks
    /// violate RFC 9260 §3.3.4: they must be in order, disjoint, behind the TSN after the Cumulative TSN Ack,
    /// and at most `last_sent`. The valid parts of such blocks are applied.
    pub(super) fn update(
        &mut self,
        cum_tsn_ack: LongTsn,
        blocks: List<'_, GapBlock>,
        last_sent: LongTsn,
    ) -> bool {
        self.gained.clear();
        self.lost.clear();
        if blocks.is_empty() && self.acked.is_empty() {
            return true;
        }
        let unchanged = self.keep_common_blocks(cum_tsn_ack, blocks);
        let mut exact = true;
        // RFC 9260 §3.3.4: the TSN after the Cumulative TSN Ack is missing. If a block took it out of flight,
        // all chunks could be acknowledged by blocks alone, with no T3-rtx for the next SACK.
        let mut reached = self.acked.last().map_or(1, |range| range.last.above(cum_tsn_ack));
        let limit = last_sent.above(cum_tsn_ack);
        self.acked.reserve(blocks.len() - unchanged);
        for block in blocks_from(blocks, unchanged) {
            let (start, end) = (u64::from(block.start), u64::from(block.end));
            exact &= reached < start && start <= end && end <= limit;
            let (start, end) = (start.max(reached + 1), end.min(limit));
            if start <= end {
                self.acked.push(TsnRange { first: cum_tsn_ack + start, last: cum_tsn_ack + end });
                reached = end;
            }
        }
        self.compare(cum_tsn_ack, unchanged);
        self.remember(cum_tsn_ack, blocks, unchanged, exact);
        exact
    }

    /// Keeps the ranges that the SACK has in common with the previous one, and moves the others to
    /// `previous`.
    ///
    /// While the Cumulative TSN Ack does not advance, a SACK begins with the blocks of the previous one.
    /// Returns the number of ranges kept.
    fn keep_common_blocks(&mut self, cum_tsn_ack: LongTsn, blocks: List<'_, GapBlock>) -> usize {
        let unchanged = match &self.last {
            Some((cum, last)) if *cum == cum_tsn_ack => {
                last.iter().zip(blocks).take_while(|(before, now)| *before == now).count()
            }
            _ => 0,
        };
        self.previous.clear();
        self.previous.extend(self.acked.drain(unchanged..));
        unchanged
    }

    fn remember(&mut self, cum_tsn_ack: LongTsn, blocks: List<'_, GapBlock>, unchanged: usize, exact: bool) {
        let (cum, last) = self.last.get_or_insert((cum_tsn_ack, Vec::new()));
        *cum = cum_tsn_ack;
        last.truncate(unchanged);
        last.extend(blocks_from(blocks, unchanged));
        if !exact {
            self.last = None;
        }
    }

    /// Computes `gained` and `lost` from range number `unchanged` on.
    ///
    /// Most ranges are those of the previous SACK: equal ranges at either end cost one comparison each.
    fn compare(&mut self, cum_tsn_ack: LongTsn, unchanged: usize) {
        let passed = self.previous.iter().take_while(|range| range.last <= cum_tsn_ack).count();
        let (mut before, mut now) = (&self.previous[passed..], &self.acked[unchanged..]);
        let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
        (before, now) = (&before[same..], &now[same..]);
        let same = before.iter().rev().zip(now.iter().rev()).take_while(|(a, b)| a == b).count();
        (before, now) = (&before[..before.len() - same], &now[..now.len() - same]);
        subtract(now, before, cum_tsn_ack, &mut self.gained);
        subtract(before, now, cum_tsn_ack, &mut self.lost);
    }

    /// Keeps the TSNs in `lost` beyond the last block acknowledged: the blocks of a truncated SACK end there.
    pub(super) fn keep_lost_beyond_blocks(&mut self) {
        let highest = self.highest();
        let below = self.lost.partition_point(|range| Some(range.first) < highest);
        let reneged = self.lost.drain(..below).collect();
        self.keep_lost();
        self.lost = reneged;
    }

    /// Keeps the TSNs in `lost` acknowledged: a later SACK overtook this one.
    pub(super) fn keep_lost(&mut self) {
        self.acked.append(&mut self.lost);
        self.acked.sort_unstable_by_key(|range| range.first);
        self.acked.dedup_by(|next, range| {
            let joins = next.first <= range.last + 1;
            if joins {
                range.last = range.last.max(next.last);
            }
            joins
        });
        self.last = None;
    }

    /// Advances the Cumulative TSN Ack without a SACK (SHUTDOWN, RFC 9260 §9.2). The ranges above it stay.
    pub(super) fn advance(&mut self, cum_tsn_ack: LongTsn) {
        self.gained.clear();
        self.lost.clear();
        self.last = None;
        self.acked.retain_mut(|range| {
            range.first = range.first.max(cum_tsn_ack + 1);
            range.first <= range.last
        });
    }
}

/// Returns the blocks from index `from` on, without a step through those before.
fn blocks_from(blocks: List<'_, GapBlock>, from: usize) -> impl Iterator<Item = GapBlock> {
    (from..blocks.len()).filter_map(move |index| blocks.at(index))
}

/// Appends the TSNs of `from` above `floor` and outside of `what` to `out`. All are in order and disjoint.
fn subtract(from: &[TsnRange], what: &[TsnRange], floor: LongTsn, out: &mut Vec<TsnRange>) {
    let mut what = what.iter().peekable();
    for range in from {
        let mut first = range.first.max(floor + 1);
        while first <= range.last {
            while what.next_if(|taken| taken.last < first).is_some() {}
            let last = match what.peek() {
                Some(taken) if taken.first <= first => {
                    first = taken.last + 1;
                    continue;
                }
                Some(taken) => range.last.min(taken.first - 1),
                None => range.last,
            };
            out.push(TsnRange { first, last });
            first = last + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use msctp_wire::Tsn;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn zero() -> LongTsn {
        LongTsn::first(Tsn::new(u32::MAX - 20))
    }

    fn set(ranges: &[TsnRange]) -> BTreeSet<u64> {
        ranges.iter().flat_map(|range| range.iter()).map(|tsn| tsn.above(zero())).collect()
    }

    proptest! {
        /// Gap blocks may overlap, be reversed or be out of range.
        #[test]
        fn gained_and_lost_are_the_set_differences(
            sacks in prop::collection::vec((0u64..40, prop::collection::vec((0u16..60, 0u16..60), 0..8)), 1..8)
        ) {
            let mut gaps = Gaps::default();
            let mut before = BTreeSet::new();
            let mut cum = 0;
            for (step, blocks) in sacks {
                cum = (cum + step / 8).min(50);
                let blocks: Vec<_> = blocks.into_iter().map(|(start, end)| GapBlock { start, end }).collect();
                gaps.update(zero() + cum, List::from(&blocks[..]), zero() + 50);
                let now = set(&gaps.acked);
                prop_assert!(gaps.acked.windows(2).all(|pair| pair[0].last < pair[1].first));
                prop_assert!(now.iter().all(|&tsn| tsn > cum && tsn <= 50));
                let above: BTreeSet<u64> = before.into_iter().filter(|&tsn| tsn > cum).collect();
                prop_assert_eq!(set(&gaps.gained), &now - &above);
                prop_assert_eq!(set(&gaps.lost), &above - &now);
                before = now;
            }
        }

        #[test]
        fn well_formed_blocks_are_applied_whole(steps in prop::collection::vec((2u16..5, 0u16..5), 0..8)) {
            let mut reached = 0;
            let blocks: Vec<_> = steps.into_iter().map(|(skip, len)| {
                let start = reached + skip;
                reached = start + len;
                GapBlock { start, end: reached }
            }).collect();
            let mut gaps = Gaps::default();
            prop_assert!(gaps.update(zero(), List::from(&blocks[..]), zero() + 100));
            let expected: BTreeSet<u64> = blocks.iter().flat_map(|b| u64::from(b.start)..=u64::from(b.end)).collect();
            prop_assert_eq!(set(&gaps.acked), expected);
        }
    }

    #[test]
    fn malformed_blocks_are_reported() {
        let block = |start, end| GapBlock { start, end };
        for blocks in [
            [block(2, 3), block(3, 4)],
            [block(6, 7), block(2, 3)],
            [block(3, 2), block(5, 6)],
            [block(2, 3), block(5, 11)],
        ] {
            assert!(!Gaps::default().update(zero(), List::from(&blocks), zero() + 10), "{blocks:?}");
        }
    }
}
