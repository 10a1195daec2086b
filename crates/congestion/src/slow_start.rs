//! [`SlowStart`]: how the window grows below the threshold. A part of controllers, not one itself.

use crate::{Ack, LossKind};

/// How slow start counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// min(bytes acknowledged, L full packets) per acknowledgement (RFC 5681 §3.1 eq. (2), RFC 3465 §2.2).
    Bytes {
        /// L, at least 1.
        limit: u64,
    },
    /// One full packet per acknowledgement that advances the cumulative point, whatever it acknowledges, as ns-2's TCP.
    Acks,
}

/// Slow start on one path.
#[derive(Clone, Debug)]
pub struct SlowStart {
    counting: Counting,
    /// A timeout happened: RFC 3465 §2.3 takes L = 1 from then on.
    after_timeout: bool,
}

impl SlowStart {
    /// Before the first data.
    pub fn new(counting: Counting) -> Self {
        Self { counting, after_timeout: false }
    }

    /// Bytes by which an acknowledgement opens a window in slow start.
    pub fn growth(&self, ack: &Ack, pmdcs: u64) -> u64 {
        match self.counting {
            Counting::Bytes { .. } if self.after_timeout => ack.bytes_acked.min(pmdcs),
            Counting::Bytes { limit } => ack.bytes_acked.min(pmdcs.saturating_mul(limit)),
            Counting::Acks if ack.cum_tsn_advanced && ack.bytes_acked > 0 => pmdcs,
            Counting::Acks => 0,
        }
    }

    /// The window is not opened beyond the threshold in one step: by bytes never, by packets possibly.
    pub fn stops_at_threshold(&self) -> bool {
        matches!(self.counting, Counting::Bytes { .. })
    }

    /// A loss or a mark was seen.
    pub fn on_loss(&mut self, kind: LossKind) {
        self.after_timeout |= kind == LossKind::Timeout;
    }
}
