//! [`Gaps`]: which TSNs the last SACK acknowledged above its Cumulative TSN Ack, and what the next one changes. Knows
//! nothing of chunks.

use msctp_wire::{GapBlock, List};

use crate::long_tsn::LongTsn;
use crate::rare::Untouched;

/// TSNs in a row, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TsnRange {
    pub(super) first: LongTsn,
    pub(super) last: LongTsn,
}

impl TsnRange {
    pub(super) fn iter(self) -> impl Iterator<Item = LongTsn> {
        (0..=self.last.above(self.first)).map(move |step| self.first + step)
    }
}

/// The gap-acknowledged ranges, in order and disjoint, and the difference that the last update made.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    acked: Vec<TsnRange>,
    /// Acknowledged by the last update and not before.
    pub(super) gained: Vec<TsnRange>,
    /// Acknowledged before and not by the last update: reneged (RFC 9260 §6.2.1 D iii).
    pub(super) lost: Vec<TsnRange>,
    /// Ranges that were in `acked` before the update, from where it differs.
    previous: Vec<TsnRange>,
    /// The last SACK, when each of its blocks became one range of `acked`.
    last: Option<(LongTsn, Vec<GapBlock>)>,
}

impl Untouched for Gaps {
    const UNTOUCHED: &'static Self =
        &Self { acked: Vec::new(), gained: Vec::new(), lost: Vec::new(), previous: Vec::new(), last: None };
}

impl Gaps {
    /// The highest TSN acknowledged by a gap block.
    pub(super) fn highest(&self) -> Option<LongTsn> {
        self.acked.last().map(|range| range.last)
    }

    /// TSNs acknowledged by gap blocks, counted as far as `enough`.
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

    /// Takes the blocks of a SACK; `last_sent` is the highest TSN sent. The cost is linear in the number of blocks, not in
    /// what they cover. Gives false when the blocks were not as RFC 9260 §3.3.4 has them (in order, disjoint, not beyond
    /// what was sent); what makes sense of them is taken.
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
        let kept = self.keep_common_blocks(cum_tsn_ack, blocks);
        let mut exact = true;
        let mut reached = self.acked.last().map_or(0, |range| range.last.above(cum_tsn_ack));
        let limit = last_sent.above(cum_tsn_ack);
        self.acked.reserve(blocks.len() - kept);
        for block in blocks_from(blocks, kept) {
            let (start, end) = (u64::from(block.start), u64::from(block.end));
            exact &= reached < start && start <= end && end <= limit;
            let (start, end) = (start.max(reached + 1), end.min(limit));
            if start <= end {
                self.acked.push(TsnRange { first: cum_tsn_ack + start, last: cum_tsn_ack + end });
                reached = end;
            }
        }
        self.compare(cum_tsn_ack, kept);
        self.remember(cum_tsn_ack, blocks, kept, exact);
        exact
    }

    /// While the Cumulative TSN Ack stands still, a SACK begins with the blocks of the one before. Keeps their ranges, moves
    /// the others to `previous`, and gives the number of those kept.
    fn keep_common_blocks(&mut self, cum_tsn_ack: LongTsn, blocks: List<'_, GapBlock>) -> usize {
        let kept = match &self.last {
            Some((cum, last)) if *cum == cum_tsn_ack => {
                last.iter().zip(blocks).take_while(|(before, now)| *before == now).count()
            }
            _ => 0,
        };
        self.previous.clear();
        self.previous.extend(self.acked.drain(kept..));
        kept
    }

    fn remember(&mut self, cum_tsn_ack: LongTsn, blocks: List<'_, GapBlock>, kept: usize, exact: bool) {
        let (cum, last) = self.last.get_or_insert((cum_tsn_ack, Vec::new()));
        *cum = cum_tsn_ack;
        last.truncate(kept);
        last.extend(blocks_from(blocks, kept));
        if !exact {
            self.last = None;
        }
    }

    /// Finds `gained` and `lost` from the range numbered `kept` on. Most ranges are those of the SACK before: what is equal
    /// at both ends of the lists is passed over at the cost of a comparison.
    fn compare(&mut self, cum_tsn_ack: LongTsn, kept: usize) {
        let passed = self.previous.iter().take_while(|range| range.last <= cum_tsn_ack).count();
        let (mut before, mut now) = (&self.previous[passed..], &self.acked[kept..]);
        let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
        (before, now) = (&before[same..], &now[same..]);
        let same = before.iter().rev().zip(now.iter().rev()).take_while(|(a, b)| a == b).count();
        (before, now) = (&before[..before.len() - same], &now[..now.len() - same]);
        subtract(now, before, cum_tsn_ack, &mut self.gained);
        subtract(before, now, cum_tsn_ack, &mut self.lost);
    }

    /// The Cumulative TSN Ack moved on without a SACK (SHUTDOWN, RFC 9260 §9.2): the blocks above it stay.
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

/// The blocks from index `from` on; does not step through those before.
fn blocks_from(blocks: List<'_, GapBlock>, from: usize) -> impl Iterator<Item = GapBlock> {
    (from..blocks.len()).filter_map(move |index| blocks.at(index))
}

/// Appends to `out` what of `from` is above `floor` and not in `what`. All in order and disjoint.
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
        /// Any blocks at all: overlapping, backwards, beyond what was sent.
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
        fn well_formed_blocks_are_taken_whole(steps in prop::collection::vec((2u16..5, 0u16..5), 0..8)) {
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
    fn malformed_blocks_are_noticed() {
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
