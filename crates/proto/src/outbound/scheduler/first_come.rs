//! First come, first served (RFC 8260 §3.1): messages are sent in the order of `send`. The default.

use super::{Rank, Scheduler, Share};

/// First come, first served.
#[derive(Debug, Default)]
pub(crate) struct FirstCome;

impl Scheduler for FirstCome {
    #[inline]
    fn join(&mut self, _: &mut Share, head: u64) -> Rank {
        head
    }

    #[inline]
    fn served(&mut self, _: &mut Share, _: Rank, _: u64, head: u64) -> Rank {
        head
    }

    fn beheaded(&mut self, _: Rank, head: u64) -> Rank {
        head
    }
}
