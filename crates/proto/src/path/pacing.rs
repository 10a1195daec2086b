//! When a packet with DATA may leave on a path whose controller wants packets spaced. Sends nothing and has no timer of its
//! own: the sender asks, and waits for the time it is told.

use msctp_congestion::Pacer;
use msctp_units::{Rate, Span, Time};

use super::Path;

/// What may leave at once, as the time it takes at the rate: real timers are not better than this.
const AT_ONCE: Span = Span::from_millis(1);

/// A packet that waited for its time and left later, because a timer was late, counts as having left in time, up to so much
/// later: timers of operating systems are a millisecond or two late each time, and with that lost once per packet a rate of 11 Mbps
/// becomes one of 5. In virtual time none is late.
const LATE: Span = Span::from_millis(5);

/// The pacer of a path, under the rate its controller last gave.
#[derive(Debug)]
pub(super) struct Pacing {
    rate: Rate,
    pacer: Pacer,
    /// A packet waits, or did when the one before it left.
    waiting: bool,
    /// The next packet counts as having left then.
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
    /// When the next packet with DATA may leave, `now` or before if at once; [`Time::MAX`]: not at this rate.
    #[inline]
    pub fn departure(&mut self, now: Time) -> Time {
        match self.controller.pacing_rate() {
            None => {
                self.pacing = None;
                now
            }
            Some(rate) => self.paced_departure(now, rate),
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

    /// A packet with DATA of so many bytes on the IP wire left.
    #[inline]
    pub fn on_departure(&mut self, now: Time, bytes: u64) {
        if let Some(pacing) = &mut self.pacing {
            let at = pacing.leaves.take().unwrap_or(now);
            pacing.pacer.on_sent(at, bytes);
        }
    }

    /// No packet waits for its time: what does not leave from now on is not late.
    #[inline]
    pub fn on_nothing_paced(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.waiting = false;
        }
    }
}
