//! [`RateControl`]: the data rate of a sender, stepped by the fate of its frames (ARF and AARF).

use msctp_units::Rate;

use super::mac::MacConfig;
use super::radio::MilliDb;

/// Algorithm that selects the rate of a sender's data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adaptation {
    /// Always [`MacConfig::rate`]. The default.
    #[default]
    Fixed,
    /// Automatic rate fallback (Kamerman and Monteban, *WaveLAN-II*, Bell Labs Technical Journal 2(3), 1997).
    /// It steps down after two consecutive failures and up after ten successes. It steps down at once if the
    /// first frame after a step up fails.
    Arf,
    /// Adaptive ARF (Lacage, Manshaei and Turletti, *IEEE 802.11 Rate Adaptation*, MSWiM 2004). Each failure
    /// of the first frame after a step up doubles the number of successes before the next step, up to fifty.
    Aarf,
}

/// Consecutive successes before a step up.
const SUCCESSES: u32 = 10;
/// Maximum number of successes that AARF requires.
const MOST_SUCCESSES: u32 = 50;
/// Consecutive failures before a step down.
const FAILURES: u32 = 2;

/// Rates of 802.11b, each with the required margin above the sensitivity of the lowest rate: receivers of
/// −94, −91, −87 and −82 dBm (Lucent ORiNOCO).
const DOT11B: [(u64, MilliDb); 4] =
    [(1_000_000, 0), (2_000_000, 3_000), (5_500_000, 7_000), (11_000_000, 12_000)];

/// The rate of one direction of a link.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    adaptation: Adaptation,
    /// Index of the rate among those of 802.11b.
    index: usize,
    /// Index of the highest rate that the sender may use.
    highest: usize,
    successes: u32,
    failures: u32,
    /// Successes before the next step up.
    wanted: u32,
    /// True for the first frame after a step up.
    probing: bool,
}

impl RateControl {
    /// Starts at the highest rate of 802.11b that does not exceed the cell's.
    pub(super) fn new(mac: &MacConfig) -> Self {
        let highest = DOT11B.iter().rposition(|&(bps, _)| bps <= mac.rate.as_bps()).unwrap_or(0);
        Self {
            adaptation: mac.adaptation,
            index: highest,
            highest,
            successes: 0,
            failures: 0,
            wanted: SUCCESSES,
            probing: false,
        }
    }

    /// Returns the timing of the next frame, and its required margin above the sensitivity.
    pub(super) fn timing(&self, mac: &MacConfig) -> (MacConfig, MilliDb) {
        if self.adaptation == Adaptation::Fixed {
            return (*mac, 0);
        }
        let (bps, margin) = DOT11B[self.index];
        (MacConfig { rate: Rate::from_bps(bps), ..*mac }, margin)
    }

    /// Learns whether a frame was acknowledged.
    pub(super) fn note(&mut self, acknowledged: bool) {
        if self.adaptation == Adaptation::Fixed {
            return;
        }
        if acknowledged {
            (self.successes, self.failures, self.probing) = (self.successes + 1, 0, false);
            if self.successes >= self.wanted && self.index < self.highest {
                self.step(self.index + 1);
                self.probing = true;
            }
            return;
        }
        (self.successes, self.failures) = (0, self.failures + 1);
        if self.probing {
            if self.adaptation == Adaptation::Aarf {
                self.wanted = (2 * self.wanted).min(MOST_SUCCESSES);
            }
            self.step(self.index.saturating_sub(1));
        } else if self.failures >= FAILURES {
            self.wanted = SUCCESSES;
            self.step(self.index.saturating_sub(1));
        }
    }

    fn step(&mut self, index: usize) {
        self.index = index;
        (self.successes, self.failures, self.probing) = (0, 0, false);
    }

    /// Returns the rate of the next frame.
    #[cfg(test)]
    fn mbps(&self) -> f64 {
        DOT11B[self.index].0 as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::{Span, Time};

    use super::*;
    use crate::QueueLimit;
    use crate::model::LinkModel;
    use crate::wlan::{Channel, Distance, Fixed, Radio, WlanLink};

    fn mac(adaptation: Adaptation) -> MacConfig {
        MacConfig { adaptation, ..MacConfig::dot11b(Rate::from_mbps(11)) }
    }

    #[test]
    fn arf_steps_down_after_two_failures_and_up_after_ten_successes() {
        let mut control = RateControl::new(&mac(Adaptation::Arf));
        let rates = |control: &mut RateControl, fates: &str| -> Vec<f64> {
            let note = |fate: char| {
                control.note(fate == '+');
                control.mbps()
            };
            fates.chars().map(note).collect()
        };
        assert_eq!(rates(&mut control, "-+--"), [11.0, 11.0, 11.0, 5.5]);
        assert_eq!(rates(&mut control, "----"), [5.5, 2.0, 2.0, 1.0]);
        assert_eq!(rates(&mut control, "----"), [1.0; 4], "there is no lower rate");
        assert_eq!(rates(&mut control, "++++++++++")[8..], [1.0, 2.0]);
        assert_eq!(rates(&mut control, "-"), [1.0], "the first frame after the step fails");
        assert_eq!(rates(&mut control, "++++++++++")[8..], [1.0, 2.0], "ARF tries again as soon");
    }

    #[test]
    fn aarf_waits_twice_as_long_after_each_failed_step() {
        let mut control = RateControl::new(&mac(Adaptation::Aarf));
        (0..2).for_each(|_| control.note(false));
        let mut waited = Vec::new();
        for _ in 0..5 {
            let mut successes = 0;
            while control.mbps() < 11.0 {
                control.note(true);
                successes += 1;
            }
            control.note(false);
            waited.push(successes);
        }
        assert_eq!(waited, [10, 20, 40, 50, 50]);
        (0..2).for_each(|_| control.note(false));
        assert_eq!((control.mbps(), control.wanted), (2.0, 10), "a step down by two failures resets it");
    }

    /// Returns the bytes that a saturated link delivers in `secs`.
    fn bytes(adaptation: Adaptation, rate: Rate, distance: Box<dyn Distance>, secs: u64) -> u64 {
        let mac = MacConfig { rate, ..mac(adaptation) };
        let channel = Channel::clear(distance)
            .with_radio(Radio::covering(100_000))
            .with_fading_per_frame(3_000, [2; 32]);
        let mut link = WlanLink::new(mac, Span::ZERO, QueueLimit::Packets(10), channel, [3; 32]);
        for ms in 0..1000 * secs {
            let now = Time::ZERO + Span::from_millis(ms);
            for _ in 0..4 {
                let _ = link.offer(now, 0, 1500);
            }
            while link.deliver(now).is_some() {}
        }
        link.stats().delivered.bytes
    }

    /// With a constant signal, AARF is near the best fixed rate with the same required margin, at any
    /// distance.
    #[test]
    fn it_settles_at_the_best_rate_of_a_constant_signal() {
        for (metres, best) in [(20, 11_000_000), (40, 5_500_000), (57, 2_000_000), (80, 1_000_000)] {
            let margin = DOT11B.iter().find(|(bps, _)| *bps == best).map_or(0, |(_, margin)| *margin);
            let channel = |metres: u64| Box::new(Fixed(metres * 1000));
            let adapted = bytes(Adaptation::Aarf, Rate::from_mbps(11), channel(metres), 5);
            // At the fixed rate the channel needs the sensitivity only: farther away it leaves as much.
            let left = (metres as f64 * 10_f64.powf(f64::from(margin) / 28_000.0)) as u64;
            let fixed = bytes(Adaptation::Fixed, Rate::from_bps(best), channel(left), 5);
            assert!(adapted as f64 > 0.8 * fixed as f64, "{metres} m: {adapted}, fixed {fixed}");
            assert!((adapted as f64) < 1.25 * fixed as f64, "{metres} m: {adapted}, fixed {fixed}");
        }
    }

    /// Walks away at 5 m/s and returns.
    #[derive(Debug)]
    struct Walk;

    impl Distance for Walk {
        fn at(&self, now: Time) -> u64 {
            let ms = now.as_nanos() / 1_000_000;
            (5 * ms).min(5 * 40_000_u64.saturating_sub(ms)).max(5_000)
        }
    }

    /// On a walk out to 100 m and back, AARF delivers more than any fixed rate with its margin.
    #[test]
    fn it_follows_a_walk() {
        let walk = |adaptation| bytes(adaptation, Rate::from_mbps(11), Box::new(Walk), 40);
        let (arf, aarf) = (walk(Adaptation::Arf), walk(Adaptation::Aarf));
        // Ideal: at each second the best of the four rates, of the 802.11b time for a frame of 1500 bytes.
        let ideal: f64 = (0..400)
            .map(|tenth| {
                let at = Time::ZERO + Span::from_millis(100 * tenth);
                let left = Radio::covering(100_000).margin(Walk.at(at));
                let rate = |(bps, margin): &(u64, MilliDb)| {
                    let received = 1.0 - super::super::radio::outage(left - margin, 3_000);
                    let time =
                        MacConfig::dot11b(Rate::from_bps(*bps)).mean_attempt_time(0, 1500).as_secs_f64();
                    if left < *margin { 0.0 } else { received * 1500.0 / time }
                };
                0.1 * DOT11B.iter().map(rate).fold(0.0, f64::max)
            })
            .sum();
        for got in [arf, aarf] {
            assert!(got as f64 > 0.75 * ideal && (got as f64) < 1.02 * ideal, "{got} of {ideal}");
        }
    }
}
