//! When a packet with DATA may leave on a path whose controller wants packets spaced. Sends nothing and has no timer of its
//! own: the sender asks, and waits for the time it is told.

use msctp_congestion::Pacer;
use msctp_units::{Rate, Span, Time};

use super::Path;

/// What may leave at once, as the time it takes at the rate: real timers are not better than this.
const AT_ONCE: Span = Span::from_millis(1);

/// The pacer of a path, under the rate its controller last gave.
#[derive(Debug)]
pub(super) struct Pacing {
    rate: Rate,
    pacer: Pacer,
}

impl Path {
    /// When the next packet with DATA may leave, `now` if at once; [`Time::MAX`]: not at this rate.
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
            Box::new(Pacing { rate, pacer: Pacer::new(Some(rate), rate.bytes_in(AT_ONCE)) })
        });
        if pacing.rate != rate {
            pacing.rate = rate;
            pacing.pacer.set_rate(now, Some(rate));
            pacing.pacer.set_burst(now, rate.bytes_in(AT_ONCE));
        }
        pacing.pacer.departure(now, pmtu)
    }

    /// A packet with DATA of so many bytes on the IP wire left.
    #[inline]
    pub fn on_departure(&mut self, now: Time, bytes: u64) {
        if let Some(pacing) = &mut self.pacing {
            pacing.pacer.on_sent(now, bytes);
        }
    }
}
