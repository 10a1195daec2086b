//! [`SlowStart`]: window growth below the threshold. A part of controllers, not a controller.

use crate::controller::{Ack, LossKind};
use crate::hystart::{CSS_GROWTH_DIVISOR, HyStart, Phase};

/// Slow start on one path.
#[derive(Clone, Debug)]
pub struct SlowStart {
    counting: Counting,
    hystart: Option<HyStart>,
    /// The last HyStart++ phase.
    phase: Phase,
    /// True after a timeout: L is 1 from then on (RFC 3465 §2.3).
    after_timeout: bool,
}

/// Unit of growth in slow start.
#[derive(Clone, Copy, Debug)]
enum Counting {
    /// Grow by min(bytes acknowledged, L packets) per acknowledgement (RFC 5681 §3.1 eq. (2), RFC 3465 §2.2).
    Bytes { limit: u64 },
    /// Grow by a packet per acknowledgement that advances the cumulative point, as ns-2's TCP does.
    Acks,
}

impl SlowStart {
    /// Returns slow start before the first data, counting bytes.
    ///
    /// `limit` is L: the maximum growth by one acknowledgement in packets, at least 1 (RFC 3465 §2.2).
    /// `None`: 8 with HyStart++ (RFC 9406 §4.2), otherwise 1 (RFC 5681 §3.1).
    pub fn by_bytes(limit: Option<u64>, hystart: bool) -> Self {
        let limit = limit.unwrap_or(if hystart { 8 } else { 1 }).max(1);
        Self {
            counting: Counting::Bytes { limit },
            hystart: hystart.then(HyStart::default),
            phase: Phase::Standard,
            after_timeout: false,
        }
    }

    /// Returns slow start before the first data, counting acknowledgements.
    pub fn by_acks(hystart: bool) -> Self {
        Self { counting: Counting::Acks, ..Self::by_bytes(None, hystart) }
    }

    /// Handles an acknowledgement in slow start, whether or not the window is fully used.
    ///
    /// Returns true if slow start is over and the window equals the threshold.
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        let Some(hystart) = &mut self.hystart else { return false };
        self.phase = hystart.on_ack(ack);
        if self.phase == Phase::Over {
            self.leave();
            return true;
        }
        false
    }

    /// Returns the bytes by which an acknowledgement opens a used window. `room` is the number of bytes below
    /// the threshold. When counting acknowledgements, as ns-2 does, the last step may exceed it.
    pub fn growth(&self, ack: &Ack, pmdcs: u64, room: u64) -> u64 {
        let growth = match self.counting {
            Counting::Bytes { .. } if self.after_timeout => ack.bytes_acked.min(pmdcs).min(room),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
            //# If these conditions are met, then cwnd MUST be increased by, at most, the lesser of
            Counting::Bytes { limit } => ack.bytes_acked.min(pmdcs.saturating_mul(limit)).min(room),
            Counting::Acks if ack.cum_tsn_advanced => pmdcs,
            Counting::Acks => 0,
        };
        match self.phase {
            Phase::Conservative => growth / CSS_GROWTH_DIVISOR,
            Phase::Standard | Phase::Over => growth,
        }
    }

    /// Ends the first slow start: RFC 9406 §4.3 uses HyStart++ "only for the initial slow start".
    pub fn leave(&mut self) {
        self.hystart = None;
        self.phase = Phase::Standard;
    }

    /// Handles a loss or an ECN mark.
    pub fn on_loss(&mut self, kind: LossKind) {
        self.leave();
        self.after_timeout |= kind == LossKind::Timeout;
    }
}
