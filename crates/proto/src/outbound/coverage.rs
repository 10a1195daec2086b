//! [`Coverage`]: how much a SACK reports when its gap blocks do not fit.
//!
//! A SACK reports the lowest gap blocks that fit into a packet (RFC 9260 §6.7); some stacks send 16 or 20 at
//! most. The chunks above the last block may have arrived. To infer their loss retransmits what the peer
//! has, and the time of a later report is not that of their arrival.

use std::collections::BTreeSet;

use crate::long_tsn::LongTsn;
use crate::rare::{Rare, rare_state};

/// Number of gap blocks from which a SACK may be truncated: the lowest limit of the stacks in use (Linux).
const LEAST_LIMIT: usize = 16;
/// Consecutive SACKs with the same last block and nothing new that show the peer's limit.
const REPEATS: u32 = 3;

rare_state! {
    /// The limit of gap blocks of the peer's SACKs, and the TSNs that the last SACK covers.
    ///
    /// While chunks are missing, each arriving packet causes a SACK (RFC 9260 §6.7). One that reports nothing
    /// new was caused by a packet beyond its last block: its blocks did not fit.
    pub(super) struct Coverage {
        /// The number of blocks of a truncated SACK, if one was seen.
        limit: Option<usize> = None,
        /// Number of blocks of the last SACK, and their last TSN.
        blocks: usize = 0,
        highest: Option<LongTsn> = None,
        /// Number of consecutive SACKs like that one that reported nothing new.
        repeats: u32 = 0,
        /// The last TSN reported, if the last SACK was truncated.
        reported: Option<LongTsn> = None,
        /// Chunks that left the network and are not marked yet: the last SACK does not show whether they
        /// arrived.
        pub(super) unreported: Vec<LongTsn> = Vec::new(),
        /// Those that are marked: lost if a SACK covers them and does not acknowledge them.
        pub(super) set_aside: BTreeSet<LongTsn> = BTreeSet::new(),
    }
}

impl Rare<Coverage> {
    /// Records a SACK. `reports_new`: it acknowledged something, withdrew an acknowledgement, reported a
    /// duplicate or a larger window. `highest`: the last TSN of its gap blocks.
    #[inline]
    pub(super) fn on_sack(&mut self, blocks: usize, reports_new: bool, highest: Option<LongTsn>) {
        if blocks < LEAST_LIMIT && self.blocks < LEAST_LIMIT {
            return;
        }
        let same = blocks == self.blocks && highest == self.highest && blocks >= LEAST_LIMIT;
        self.repeats = if same && !reports_new { self.repeats + 1 } else { 0 };
        (self.blocks, self.highest) = (blocks, highest);
        if self.repeats >= REPEATS {
            self.limit = Some(blocks);
        } else {
            self.limit.take_if(|limit| blocks > *limit);
        }
        self.reported = highest.filter(|_| self.is_truncated(blocks));
    }

    /// Records an acknowledgement without gap blocks (SHUTDOWN, RFC 9260 §9.2).
    ///
    /// It says nothing of later chunks: those that the last SACK does not cover stay so.
    pub(super) fn on_cum_tsn_ack(&mut self, cum_tsn_ack: LongTsn) {
        if self.reported.is_some_and(|reported| reported <= cum_tsn_ack) {
            self.reported = None;
        }
    }

    /// Returns true if a SACK with this number of blocks is truncated.
    #[inline]
    pub(super) fn is_truncated(&self, blocks: usize) -> bool {
        self.limit == Some(blocks)
    }

    /// Returns true if the last SACK does not show whether this chunk arrived.
    #[inline]
    pub(super) fn is_beyond(&self, tsn: LongTsn) -> bool {
        self.is_touched() && self.reported.is_some_and(|reported| tsn > reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: LongTsn = LongTsn::first(msctp_wire::Tsn::new(100));

    #[test]
    fn repeated_sacks_show_the_limit() {
        let mut coverage = Rare::<Coverage>::default();
        for _ in 0..3 {
            coverage.on_sack(16, false, Some(H));
            assert!(!coverage.is_beyond(H + 1));
        }
        coverage.on_sack(16, false, Some(H));
        assert!(coverage.is_beyond(H + 1));
        assert!(!coverage.is_beyond(H));
        coverage.on_sack(16, true, Some(H + 5));
        assert!(
            coverage.is_beyond(H + 6) && !coverage.is_beyond(H + 5),
            "blocks merged, others came into view"
        );
        coverage.on_sack(15, true, Some(H + 9));
        assert!(!coverage.is_beyond(H + 20), "all blocks fit");
    }

    #[test]
    fn a_longer_sack_refutes_the_limit() {
        let mut coverage = Rare::<Coverage>::default();
        (0..4).for_each(|_| coverage.on_sack(20, false, Some(H)));
        coverage.on_sack(21, true, Some(H + 2));
        assert!(!coverage.is_beyond(H + 3));
        coverage.on_sack(20, true, Some(H + 2));
        assert!(!coverage.is_beyond(H + 3));
    }

    #[test]
    fn sacks_that_report_something_or_have_few_blocks_show_nothing() {
        let mut coverage = Rare::<Coverage>::default();
        for number in 0..9 {
            coverage.on_sack(300, true, Some(H + number));
            assert!(!coverage.is_beyond(H + 100));
        }
        (0..9).for_each(|_| coverage.on_sack(15, false, Some(H)));
        assert!(!coverage.is_beyond(H + 100));
    }
}
