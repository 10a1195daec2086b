//! [`Agenda`]: runs a radio link's own events in order of time, whatever they are.

use msctp_units::{Span, Time};

use super::Gate;
use crate::fate::Delivery;

/// A link with events of its own. Events at one instant happen in the order of [`Due`](Self::Due).
pub(crate) trait Agenda {
    type Packet;
    type Due: Copy + Ord;

    /// Returns the next event and its time.
    fn due(&self) -> Option<(Time, Self::Due)>;

    /// Runs the event. The gate's clock is already at `at`.
    fn step(&mut self, at: Time, due: Self::Due);

    fn gate(&self) -> &Gate<Self::Packet>;
    fn gate_mut(&mut self) -> &mut Gate<Self::Packet>;

    fn go(&mut self, at: Time, due: Self::Due) {
        self.gate_mut().tick(at);
        self.step(at, due);
    }

    /// Runs the events before `now`, and at `now` those no later than `last`.
    fn catch_up(&mut self, now: Time, last: Self::Due) {
        while let Some((at, due)) = self.due().filter(|&next| next <= (now, last)) {
            self.go(at, due);
        }
        self.gate_mut().tick(now);
    }

    /// Returns the next time, like [`LinkModel::next_delivery`](crate::LinkModel::next_delivery).
    fn next(&self) -> Option<Time> {
        self.gate().ready_since().or_else(|| self.due().map(|(at, _)| at))
    }

    /// Takes the next delivery, like [`LinkModel::deliver`](crate::LinkModel::deliver).
    fn take(&mut self, now: Time) -> Option<Delivery<Self::Packet>> {
        loop {
            if let Some(delivery) = self.gate_mut().pop() {
                return Some(delivery);
            }
            let (at, due) = self.due().filter(|&(at, _)| at <= now)?;
            self.go(at, due);
        }
    }
}

/// Returns the first whole multiple of `period` from `at` on.
pub(crate) fn next_multiple(at: Time, period: Span) -> Time {
    let period = period.as_nanos();
    Time::from_nanos(at.as_nanos().div_ceil(period).saturating_mul(period))
}
