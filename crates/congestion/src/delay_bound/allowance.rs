//! [`Allowance`]: the bytes that the bottleneck may queue.

use msctp_units::{Span, Time};

use crate::LostPacket;
use crate::amount::{over, permille};

/// The queueing delay at [`REFERENCE_RATE`].
const TARGET: Span = Span::from_millis(15);
/// 20 Mbit/s, in bytes per second.
const REFERENCE_RATE: u64 = 2_500_000;
/// Packets that the bottleneck may always queue.
const LEAST_PACKETS: u64 = 4;
/// More than 2 % lost in a round is an overflow, not the channel (draft-ietf-ccwg-bbr §2.5, BBR.LossThresh) …
const LOSS_THRESHOLD: u64 = 20;
/// … if it is not one or two packets of a small window.
const LEAST_LOST: u64 = 3;
/// Share of what was in flight at an overflow that may be in flight afterwards, in thousandths: as BBR's
/// headroom (draft-ietf-ccwg-bbr §2.5, BBR.Headroom) …
const HEADROOM: u64 = 850;
/// … and for how long: as the least time between BBR's probes (§5.3.3.5.3).
const CAUTIOUS: Span = Span::from_secs(2);
/// Share of the queue that overflowed that is allowed from then on, in thousandths.
const BELOW_OVERFLOW: u64 = 700;
/// A round without an overflow raises the bound by this part.
const RECOVERY_DIVISOR: u64 = 16;

/// The target of the queue, and its bound where the buffer is shallow.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    /// Bytes that the buffer was seen to hold; `u64::MAX`: it has not overflowed.
    bound: u64,
    /// Delivered and lost in this round.
    delivered: u64,
    lost: u64,
    packets_lost: u64,
    /// The least that was in flight when a packet left that was lost in this round.
    in_flight: u64,
    /// The largest window after an overflow, and until when it holds.
    most: Option<(u64, Time)>,
    /// The longest queue, in bytes, that packets passed in the last round and in this one.
    longest: [u64; 2],
}

impl Default for Allowance {
    fn default() -> Self {
        let (delivered, lost, packets_lost) = (0, 0, 0);
        Self {
            bound: u64::MAX,
            delivered,
            lost,
            packets_lost,
            in_flight: u64::MAX,
            most: None,
            longest: [0; 2],
        }
    }
}

impl Allowance {
    /// Returns the bytes that the bottleneck may queue at this delivery rate (bytes per second).
    ///
    /// The delay falls with the square root of the rate, as Swift's flow scaling: of two flows that see one
    /// queue, the slower one grows and the faster one yields.
    pub(super) fn target(&self, rate: u64, pmdcs: u64) -> u64 {
        let scaled = (u128::from(rate) * u128::from(REFERENCE_RATE)).isqrt();
        let bytes = over(u64::try_from(scaled).unwrap_or(u64::MAX), TARGET);
        bytes.max(pmdcs.saturating_mul(LEAST_PACKETS)).min(self.bound)
    }

    /// Limits growth by `step` bytes of a window of `cwnd`: in a round trip it grows by what the buffer
    /// holds.
    pub(super) fn limit(&self, step: u64, cwnd: u64) -> u64 {
        if self.bound >= cwnd {
            return step;
        }
        u64::try_from(u128::from(step) * u128::from(self.bound) / u128::from(cwnd)).unwrap_or(step)
    }

    pub(super) fn on_delivered(&mut self, bytes: u64) {
        self.delivered = self.delivered.saturating_add(bytes);
    }

    /// Records the queue in bytes that a packet passed.
    pub(super) fn on_queue(&mut self, bytes: u64) {
        self.longest[1] = self.longest[1].max(bytes);
    }

    pub(super) fn on_lost(&mut self, lost: &LostPacket) {
        self.lost = self.lost.saturating_add(lost.bytes);
        self.packets_lost += 1;
        self.in_flight = self.in_flight.min(lost.tx_in_flight);
    }

    /// Returns the largest window: others that share a buffer which overflowed get some room.
    pub(super) fn most(&self, now: Time) -> u64 {
        self.most.filter(|(_, until)| now < *until).map_or(u64::MAX, |(most, _)| most)
    }

    /// Ends a round; true if the queue overflowed. `path`: the bytes that the path holds without a queue.
    pub(super) fn end_round(&mut self, now: Time, path: u64, pmdcs: u64) -> bool {
        let sent = self.delivered.saturating_add(self.lost);
        let longest = self.longest[0].max(self.longest[1]);
        self.longest = [self.longest[1], 0];
        let enough = pmdcs.saturating_mul(LEAST_LOST * 1000 / LOSS_THRESHOLD);
        if self.packets_lost < LEAST_LOST && sent < enough {
            return false;
        }
        let overflowed = self.packets_lost >= LEAST_LOST && self.lost > permille(sent, LOSS_THRESHOLD);
        let bound = if overflowed {
            permille(longest.min(self.bound), BELOW_OVERFLOW).max(pmdcs.saturating_mul(LEAST_PACKETS))
        } else {
            self.bound.saturating_add((self.bound / RECOVERY_DIVISOR).max(pmdcs))
        };
        let most = if overflowed {
            Some((permille(self.in_flight, HEADROOM).max(path), now + CAUTIOUS))
        } else {
            self.most
        };
        *self = Self { bound, longest: self.longest, most, ..Self::default() };
        overflowed
    }
}
