//! [`HyStart`]: HyStart++ (RFC 9406), which ends slow start when the RTT grows, before the queue overflows.
//!
//! A part of slow start: it takes every acknowledgement of the first slow start and limits the window's
//! growth. A round ends when the flight at its start is acknowledged. That is RFC 9406's windowEnd as long as
//! nothing is lost; a loss ends the first slow start and HyStart++ with it.

use msctp_units::{Span, Time};

use crate::controller::Ack;

/// RFC 9406 §4.3: RTT growth below this never ends slow start.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
/// RFC 9406 §4.3: RTT growth from which slow start always ends.
const MAX_RTT_THRESH: Span = Span::from_millis(16);
/// RFC 9406 §4.3: between the two, divisor of the last round's minimum RTT that gives the limit of growth.
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples that a round needs (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// RFC 9406 §4.3: Conservative Slow Start opens the window by slow start's growth divided by this.
pub(crate) const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of Conservative Slow Start (RFC 9406 §4.3), including the one in which it began.
const CSS_ROUNDS: u32 = 5;

/// The phase after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Slow start.
    Standard,
    /// Conservative Slow Start: open the window by 1/[`CSS_GROWTH_DIVISOR`] of slow start's growth.
    Conservative,
    /// Slow start is over: ssthresh = cwnd.
    Over,
}

/// HyStart++ on one path, from its start to its first loss.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStart {
    /// Bytes that must still be acknowledged until the round ends.
    round_left: u64,
    last_round_min: Option<Span>,
    current_round_min: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Span,
    rounds: u32,
}

impl HyStart {
    /// Processes one acknowledgement in slow start (RFC 9406 §4.2).
    pub(crate) fn on_ack(&mut self, ack: &Ack) -> Phase {
        if self.round_left == 0 {
            // the first, or nothing was in flight when the last one ended
            self.round_left = ack.flight_size_before;
        }
        if let Some(rtt) = ack.rtt {
            self.samples += 1;
            self.current_round_min = Some(self.current_round_min.map_or(rtt, |least| least.min(rtt)));
        }
        if self.samples >= N_RTT_SAMPLE
            && let (Some(current), Some(last)) = (self.current_round_min, self.last_round_min)
        {
            self.judge(current, last);
        }
        // The acknowledgement of windowEnd belongs to the round that it ends.
        self.round_left = self.round_left.saturating_sub(ack.bytes_acked);
        if self.round_left == 0 {
            self.round_left = ack.flight_size_before.saturating_sub(ack.bytes_acked);
            self.last_round_min = self.current_round_min.take();
            self.samples = 0;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CSS_ROUNDS {
                    return Phase::Over;
                }
            }
        }
        match self.conservative {
            Some(_) => Phase::Conservative,
            None => Phase::Standard,
        }
    }

    fn judge(&mut self, current: Span, last: Span) {
        match self.conservative {
            None => {
                if has_grown(current, last) {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
            // The growth did not last: it was jitter.
            Some(conservative) if current < conservative.baseline => self.conservative = None,
            Some(_) => {}
        }
    }
}

/// Returns whether the RTT grew by more than jitter explains (RFC 9406 §4.2).
fn has_grown(current: Span, last: Span) -> bool {
    current >= last + (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH)
}

/// Detects a queue for a paced, model-based controller, within a round.
///
/// Such a controller's queue grows within a round, so that the next round is too late. The detector needs as
/// many consecutive samples as RFC 9406 requires of a round. They must span a quarter of the round trip,
/// because samples that arrive together were delayed together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queueing {
    /// Number of samples, their minimum, and the arrival time of the first.
    samples: Option<(u32, Span, Time)>,
}

impl Queueing {
    /// Adds a sample. Returns true if the samples show a queue that was absent when `baseline` was measured.
    pub(crate) fn on_sample(&mut self, now: Time, rtt: Span, baseline: Span) -> bool {
        let (count, least, since) = self.samples.unwrap_or((0, rtt, now));
        let (count, least) = (count + 1, least.min(rtt));
        if count < N_RTT_SAMPLE || now.since(since) < baseline / 4 {
            self.samples = Some((count, least, since));
            return false;
        }
        self.samples = None;
        has_grown(least, baseline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLIGHT: u64 = 20_000;

    fn ack(rtt_ms: Option<u64>) -> Ack {
        Ack {
            now: Time::ZERO,
            bytes_acked: 2_000,
            duplicate_bytes: 0,
            flight_size_before: FLIGHT,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt: rtt_ms.map(Span::from_millis),
            srtt: None,
            answered_elsewhere: false,
        }
    }

    /// Returns a state with nine acknowledgements left of the first round.
    fn begun() -> HyStart {
        let mut hystart = HyStart::default();
        hystart.on_ack(&ack(None));
        hystart
    }

    /// Returns the phase after each of a round of nine acknowledgements.
    fn round(hystart: &mut HyStart, rtts: [Option<u64>; 9]) -> Vec<Phase> {
        rtts.iter().map(|&rtt| hystart.on_ack(&ack(rtt))).collect()
    }

    fn rounds(rtts: &[u64]) -> Vec<Phase> {
        let mut hystart = begun();
        rtts.iter().map(|&rtt| *round(&mut hystart, [Some(rtt); 9]).last().unwrap()).collect()
    }

    #[test]
    fn a_round_ends_when_the_flight_at_its_start_is_acknowledged() {
        let mut hystart = begun();
        for left in (1..9).rev() {
            hystart.on_ack(&ack(Some(7)));
            assert_eq!(hystart.round_left, left * 2_000);
        }
        hystart.on_ack(&ack(Some(5)));
        assert_eq!((hystart.round_left, hystart.samples), (18_000, 0), "what is left in flight is the next");
        assert_eq!(hystart.last_round_min, Some(Span::from_millis(5)), "its last sample counts");
        // All acknowledged: the next round is what is in flight next time.
        let mut hystart = HyStart::default();
        hystart.on_ack(&Ack { bytes_acked: FLIGHT, ..ack(None) });
        assert_eq!(hystart.round_left, 0);
        hystart.on_ack(&ack(None));
        assert_eq!(hystart.round_left, 18_000);
    }

    #[test]
    fn growth_of_the_round_trip_by_an_eighth_within_4_and_16_ms_slows_down() {
        use Phase::{Conservative, Standard};
        for (first, second, phase) in [
            (100, 112, Standard),
            (100, 113, Conservative),
            (10, 13, Standard),
            (10, 14, Conservative),
            (800, 815, Standard),
            (800, 816, Conservative),
            (100, 50, Standard),
        ] {
            assert_eq!(rounds(&[first, second]), [Standard, phase], "{first} to {second}");
        }
    }

    #[test]
    fn eight_samples_in_a_row_show_a_queue_unless_they_arrived_together() {
        let base = Span::from_millis(40);
        let show = |apart: u64, rtt: fn(u64) -> u64| {
            let mut queueing = Queueing::default();
            let at = |n| Time::ZERO + Span::from_millis(apart * n);
            let mut seen = (0..40).filter(|&n| queueing.on_sample(at(n), Span::from_millis(rtt(n)), base));
            seen.next()
        };
        assert_eq!(show(2, |_| 44), None, "an eighth of 40 is 5");
        assert_eq!(show(2, |_| 45), Some(7));
        assert_eq!(show(0, |_| 60), None);
        assert_eq!(show(1, |_| 60), Some(10), "10 ms are a quarter of 40");
        assert_eq!(show(2, |n| if n % 8 == 3 { 41 } else { 90 }), None, "the least counts");
        assert_eq!(show(2, |n| 30 + n), Some(23), "the third row is the first that is above 45 throughout");
    }

    #[test]
    fn eight_samples_are_needed() {
        let mut hystart = begun();
        round(&mut hystart, [Some(100); 9]);
        let mut few = [Some(200); 9];
        (few[0], few[1]) = (None, None);
        assert!(round(&mut hystart, few).iter().all(|phase| *phase == Phase::Standard));
        let mut hystart = begun();
        round(&mut hystart, [Some(100); 9]);
        let phases = round(&mut hystart, [Some(200); 9]);
        assert_eq!(phases.iter().position(|phase| *phase == Phase::Conservative), Some(7));
    }

    #[test]
    fn css_ends_after_five_rounds_or_resumes_slow_start_if_the_rtt_falls() {
        use Phase::{Conservative, Over, Standard};
        assert_eq!(
            rounds(&[100, 120, 121, 122, 123, 124]),
            [Standard, Conservative, Conservative, Conservative, Conservative, Over],
            "the round in which it began is the first"
        );
        assert_eq!(rounds(&[100, 120, 119]), [Standard, Conservative, Standard]);
    }
}
