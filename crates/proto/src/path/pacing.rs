//! Pacing: when a packet with DATA may leave on a path whose controller sets a rate.
//!
//! Sends nothing and has no timer of its own: the sender queries the time and waits for it.

use msctp_congestion::Pacer;
use msctp_units::{Rate, Span, Time};

use super::Path;

/// Burst that may leave at once, as its duration at the pacing rate. It equals the resolution of real timers.
const AT_ONCE: Span = Span::from_millis(1);

/// Maximum lateness of a timer that is credited to the next packet.
///
/// Timers of operating systems are a millisecond or two late each time. Without the credit for each packet, a
/// rate of 11 Mbps would become one of 5. In virtual time no timer is late.
const LATE: Span = Span::from_millis(5);

/// Lowest rate, a packet of 1500 bytes a second. At a rate of zero nothing would be in flight whose
/// acknowledgement could raise it.
const SLOWEST: Rate = Rate::from_bps(12_000);

/// The pacer of a path, at the last rate of its controller.
#[derive(Debug)]
pub(super) struct Pacing {
    rate: Rate,
    pacer: Pacer,
    /// True if a packet is waiting, or was waiting when the previous one left.
    waiting: bool,
    /// The departure time credited to the next packet.
    leaves: Option<Time>,
}

impl Pacing {
    fn departure(&mut self, now: Time, rate: Rate, bytes: u64) -> Time {
        let from = match self.waiting {
            true => self.pacer.counted_to().max(now - LATE).min(now),
            false => now,
        };
        let mut departure = self.pacer.departure(from, bytes);
        if self.rate != rate {
            let at = departure.min(now);
            self.rate = rate;
            self.pacer.set_rate(at, Some(rate));
            self.pacer.set_burst(at, rate.bytes_in(AT_ONCE));
            departure = self.pacer.departure(at, bytes);
        }
        self.leaves = (departure <= now).then_some(departure);
        self.waiting |= departure > now;
        departure
    }
}

impl Path {
    /// Returns the time at which the next packet with DATA may leave: `now` or before if at once.
    #[inline]
    pub(crate) fn departure(&mut self, now: Time) -> Time {
        match self.controller.pacing_rate() {
            None => {
                self.pacing = None;
                now
            }
            Some(rate) => self.paced_departure(now, rate.max(SLOWEST)),
        }
    }

    fn paced_departure(&mut self, now: Time, rate: Rate) -> Time {
        let pmtu = u64::from(self.pmtu);
        let pacing = self.pacing.get_or_insert_with(|| {
            let pacer = Pacer::new(Some(rate), rate.bytes_in(AT_ONCE));
            Box::new(Pacing { rate, pacer, waiting: false, leaves: None })
        });
        pacing.departure(now, rate, pmtu)
    }

    /// Records the departure of a packet with DATA of `bytes` bytes on the IP wire.
    #[inline]
    pub(crate) fn on_departure(&mut self, now: Time, bytes: u64) {
        if let Some(pacing) = &mut self.pacing {
            let at = pacing.leaves.take().unwrap_or(now);
            pacing.pacer.on_sent(at, bytes);
        }
    }

    /// Clears the waiting state, because nothing is queued: no catch-up credit.
    #[inline]
    pub(crate) fn on_nothing_paced(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.waiting = false;
        }
    }
}
