//! [`Patience`]: how much work a peer may cause by taking back what its gap blocks acknowledged (RFC 9260 §6.2.1 D iii). One SACK
//! of 28 bytes can take back 65,534 chunks, and the next one acknowledge them again, without end. Knows no chunks.

use crate::path::SendNumber;

/// Steps of work that each sending of a chunk earns. A receiver short of memory takes a sending back once, which is 2 steps; SACKs
/// that overtake each other seem to, a few chunks each time.
const EARNED: u64 = 16;
/// Steps that can be saved up, which is also what there is at first: all that can be outstanding, taken back and acknowledged again.
const SAVED: u64 = 2 * 65_535;

/// An account of work: sending earns, taking back spends.
///
/// When it is overdrawn gap blocks are not listened to any more: all that they acknowledged counts as outstanding, as with a
/// sender that knows cumulative acknowledgements only, which is always right (gap blocks are advice, RFC 9260 §6.2.1). Sending
/// on, the account recovers.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Steps spent. Stands above what was earned less what can be saved.
    spent: u64,
    /// Gap blocks are not listened to.
    lost: bool,
}

impl Patience {
    /// So many steps of work were done.
    #[inline]
    pub(super) fn spend(&mut self, steps: u64) {
        self.spent += steps;
    }

    /// Whether gap blocks are listened to, with `next` the number of the next sending and so many chunks outstanding.
    #[inline]
    pub(super) fn listens(&mut self, next: SendNumber, outstanding: usize) -> bool {
        let earned = SAVED + EARNED * next;
        self.spent = self.spent.max(earned.saturating_sub(SAVED));
        // To begin again and find nothing changed has to be paid for.
        let least = if self.lost { 2 * outstanding as u64 } else { 0 };
        self.lost = self.spent + least > earned;
        !self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_lost_when_it_is_spent_and_comes_back_with_sending() {
        let mut patience = Patience::default();
        assert!(patience.listens(65_536, 65_535));
        patience.spend(SAVED);
        assert!(patience.listens(65_536, 65_535));
        patience.spend(1);
        assert!(!patience.listens(65_536, 65_535));
        // What is outstanding, acknowledged and taken back, has to be earned anew.
        let again = 65_536 + (2 * 65_535) / EARNED + 1;
        assert!(!patience.listens(again - 1, 65_535));
        assert!(patience.listens(again, 65_535));
    }

    #[test]
    fn no_more_is_saved_than_that() {
        let mut patience = Patience::default();
        assert!(patience.listens(1 << 40, 100));
        patience.spend(SAVED + 1);
        assert!(!patience.listens(1 << 40, 100));
    }
}
