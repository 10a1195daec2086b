//! [`RenegingBudget`]: limits the work a peer can cause by reneging (RFC 9260 §6.2.1 D iii).
//!
//! One SACK of 28 bytes can renege on 65,534 chunks, and the next one acknowledge them again, without end.
//! This file does not depend on chunks.

use crate::path::SendNumber;

/// Steps of work that each transmission of a chunk earns.
///
/// A receiver short of memory reneges on a transmission once, at 2 steps. Reordered SACKs look like reneging
/// on a few chunks each.
const STEPS_PER_TRANSMISSION: u64 = 16;
/// Maximum of unspent steps, and their initial number: enough to renege on all outstanding chunks and
/// acknowledge them again.
const MAX_CREDIT: u64 = 2 * 65_535;

/// A budget of work: transmissions earn steps, reneging spends them.
///
/// When the budget is exhausted, gap blocks are ignored: the chunks they acknowledged count as outstanding.
/// That is always correct, because gap blocks are advisory (RFC 9260 §6.2.1). Further transmissions restore
/// the budget.
#[derive(Debug, Default)]
pub(super) struct RenegingBudget {
    /// Steps spent; raised so that at most `MAX_CREDIT` steps remain unspent.
    spent: u64,
    /// Gap blocks are ignored.
    exhausted: bool,
}

impl RenegingBudget {
    /// Charges steps of work to the budget.
    #[inline]
    pub(super) fn spend(&mut self, steps: u64) {
        self.spent += steps;
    }

    /// Returns whether to process gap blocks. `next`: number of the next transmission. `outstanding`: number
    /// of chunks.
    #[inline]
    pub(super) fn allows_gap_blocks(&mut self, next: SendNumber, outstanding: usize) -> bool {
        let earned = MAX_CREDIT + STEPS_PER_TRANSMISSION * next;
        self.spent = self.spent.max(earned.saturating_sub(MAX_CREDIT));
        // Processing gap blocks again costs up to two steps per outstanding chunk.
        let least = if self.exhausted { 2 * outstanding as u64 } else { 0 };
        self.exhausted = self.spent + least > earned;
        !self.exhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_budget_is_restored_by_transmissions() {
        let mut reneging_budget = RenegingBudget::default();
        assert!(reneging_budget.allows_gap_blocks(65_536, 65_535));
        reneging_budget.spend(MAX_CREDIT);
        assert!(reneging_budget.allows_gap_blocks(65_536, 65_535));
        reneging_budget.spend(1);
        assert!(!reneging_budget.allows_gap_blocks(65_536, 65_535));
        // The acknowledgement of all outstanding chunks, and reneging on them, must be earned again.
        let again = 65_536 + (2 * 65_535) / STEPS_PER_TRANSMISSION + 1;
        assert!(!reneging_budget.allows_gap_blocks(again - 1, 65_535));
        assert!(reneging_budget.allows_gap_blocks(again, 65_535));
    }

    #[test]
    fn unspent_steps_are_limited() {
        let mut reneging_budget = RenegingBudget::default();
        assert!(reneging_budget.allows_gap_blocks(1 << 40, 100));
        reneging_budget.spend(MAX_CREDIT + 1);
        assert!(!reneging_budget.allows_gap_blocks(1 << 40, 100));
    }
}
