//! [`SlowStart`]: window growth below the threshold. A part of controllers, not a controller.

use crate::hystart::{CSS_GROWTH_DIVISOR, HyStart, Phase};
use crate::{Ack, LossKind, OptionInfo, Options};

/// The byte limit of slow start.
pub const LIMIT: OptionInfo = OptionInfo::integer(
    "l",
    0,
    (0, 1_000_000),
    "L: slow start opens the window by at most L packets per ACK (RFC 3465 §2.2); 0: 8 with HyStart++ (RFC 9406 §4.2), \
     otherwise 1 (RFC 5681 §3.1)",
);

/// HyStart++, on or off by default.
pub const fn hystart(default: bool) -> OptionInfo {
    OptionInfo::flag(
        "hystart",
        default,
        "leave the first slow start when the round trip grows (HyStart++, RFC 9406)",
    )
}

/// Slow start on one path.
#[derive(Clone, Debug)]
pub struct SlowStart {
    counting: Counting,
    hystart: Option<HyStart>,
    /// The last HyStart++ phase.
    phase: Phase,
    /// A timeout happened: L is 1 from then on (RFC 3465 §2.3).
    after_timeout: bool,
}

/// Unit of growth in slow start.
#[derive(Clone, Copy, Debug)]
enum Counting {
    /// min(bytes acknowledged, L packets) per acknowledgement (RFC 5681 §3.1 eq. (2), RFC 3465 §2.2).
    Bytes { limit: u64 },
    /// One packet per acknowledgement that advances the cumulative point, whatever it acknowledges, as ns-2's
    /// TCP.
    Acks,
}

impl SlowStart {
    /// By bytes, before the first data. `hystart`: the controller's [`hystart`] option.
    pub fn by_bytes(options: &Options, hystart: &OptionInfo) -> Self {
        let hystart = options.flag(hystart).then(HyStart::default);
        let limit = match options.get(&LIMIT) {
            0 if hystart.is_some() => 8,
            0 => 1,
            limit => limit,
        };
        Self { counting: Counting::Bytes { limit }, hystart, phase: Phase::Standard, after_timeout: false }
    }

    /// By acknowledgements, before the first data.
    pub fn by_acks(options: &Options, hystart: &OptionInfo) -> Self {
        Self { counting: Counting::Acks, ..Self::by_bytes(options, hystart) }
    }

    /// Handles an acknowledgement in slow start, whether or not the window is fully used.
    ///
    /// True if slow start is over and the window is the threshold.
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        let Some(hystart) = &mut self.hystart else { return false };
        self.phase = hystart.on_ack(ack);
        if self.phase == Phase::Over {
            self.leave();
            return true;
        }
        false
    }

    /// Bytes by which an acknowledgement opens a window that is used, with `room` bytes left below the
    /// threshold. By acknowledgements, as in ns-2, the last step may go over it.
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
