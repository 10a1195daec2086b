//! [`Quality`]: the rate of a user's channel, by a mean rate or by its signal, and its fading.

use msctp_units::{Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::config::TTI;
use crate::wlan::{Distance, MilliDb, Radio};

/// Minimum signal-to-noise ratio at which anything is sent, in thousandths of dB (3GPP TR 36.942, A.2).
const LEAST_SNR: MilliDb = -10_000;

/// The rate at which the whole resource of a cell carries a user's bytes.
#[derive(Debug)]
pub enum Quality {
    /// A mean rate, which fading multiplies by the channel's power gain, whose mean is one.
    Rate(Rate),
    /// A rate by the receive power.
    Signal(Signal),
}

/// Rate by receive power, from Shannon's formula, attenuated and truncated.
#[derive(Debug)]
pub struct Signal {
    /// Transmitter, path and receiver. At the sensitivity the signal is 10 dB below the noise, and the rate
    /// is zero below that.
    pub radio: Radio,
    /// Distance between the ends.
    pub distance: Box<dyn Distance>,
    /// Bandwidth in Hz.
    pub bandwidth_hz: u64,
    /// Attenuation and truncation of Shannon's capacity.
    pub shannon: Shannon,
}

/// Attenuation and truncation of Shannon's formula (3GPP TR 36.942 V17.0.0, annex A.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shannon {
    /// Share of the capacity that modulation and coding reach.
    pub share: f64,
    /// Maximum bits per second and Hz.
    pub most: f64,
}

impl Shannon {
    /// Downlink, from the base station to the user: 0.6, at most 4.4 bit/s/Hz.
    pub const DOWNLINK: Self = Self { share: 0.6, most: 4.4 };
    /// Uplink, from the user to the base station: 0.4, at most 2.0 bit/s/Hz.
    pub const UPLINK: Self = Self { share: 0.4, most: 2.0 };

    /// Returns the bits per second and Hz at a signal-to-noise ratio in thousandths of dB, multiplied by the
    /// fading's `gain`.
    pub fn efficiency(self, snr: MilliDb, gain: f64) -> f64 {
        let snr = libm::exp10(f64::from(snr) / 10_000.0) * gain;
        if snr < libm::exp10(f64::from(LEAST_SNR) / 10_000.0) {
            return 0.0;
        }
        (self.share * libm::log2(1.0 + snr)).min(self.most)
    }
}

impl Signal {
    /// Returns the signal-to-noise ratio at a time in thousandths of dB, without fading.
    fn snr(&self, now: Time) -> MilliDb {
        self.radio.margin(self.distance.at(now)).saturating_add(LEAST_SNR)
    }
}

impl Quality {
    /// Returns the bytes that a TTI carries at this power gain.
    pub(super) fn bytes_in_tti(&self, now: Time, gain: f64) -> u64 {
        let bps = match self {
            Self::Rate(rate) => rate.as_bps() as f64 * gain,
            Self::Signal(signal) => {
                signal.shannon.efficiency(signal.snr(now), gain) * signal.bandwidth_hz as f64
            }
        };
        // The cast rounds down and saturates.
        (bps * TTI.as_secs_f64() / 8.0) as u64
    }

    /// Returns the receive power without fading in thousandths of dBm; `None` below the sensitivity. Without
    /// a radio, returns the greatest value.
    pub(super) fn receive_power(&self, now: Time) -> Option<MilliDb> {
        match self {
            Self::Rate(_) => Some(MilliDb::MAX),
            Self::Signal(Signal { radio, distance, .. }) => {
                let distance = distance.at(now);
                radio.covers(distance).then(|| radio.receive_power(distance))
            }
        }
    }
}

/// Rayleigh block fading. The power gain is exponential with mean one, and independent between coherence
/// times. It depends only on seed, port and time, not on the traffic.
#[derive(Debug)]
pub(super) struct Fading {
    coherence: Span,
    rng: ChaCha8Rng,
    /// The last drawn block and its gain.
    last: Option<(u64, f64)>,
}

impl Fading {
    /// Creates the fading of a port. The ports of a cell draw from streams of one seed.
    pub(super) fn new(coherence: Span, seed: [u8; 32], port: usize) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed);
        rng.set_stream(port as u64);
        Self { coherence: coherence.max(TTI), rng, last: None }
    }

    /// Returns the power gain at a time.
    pub(super) fn gain(&mut self, now: Time) -> f64 {
        let block = now.as_nanos() / self.coherence.as_nanos();
        if let Some((known, gain)) = self.last
            && known == block
        {
            return gain;
        }
        // A draw takes two words: those of the next block follow.
        if self.last.is_none_or(|(known, _)| known + 1 != block) {
            self.rng.set_word_pos(2 * u128::from(block));
        }
        // Uniform above 0 and below 1.
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        let gain = -libm::log(uniform);
        self.last = Some((block, gain));
        gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::Fixed;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Values of TR 36.942's formula, worked out by hand: 0.6·log2(1 + 1) at 0 dB, 0.6·log2(11) at 10 dB.
    #[test]
    fn the_rate_is_shannons_attenuated_and_truncated() {
        let down = |db: i32| Shannon::DOWNLINK.efficiency(db * 1000, 1.0);
        assert!((down(0) - 0.6).abs() < 1e-12);
        assert!((down(10) - 2.075_659).abs() < 1e-6);
        assert!((down(22) - 4.390_34).abs() < 1e-4);
        assert_eq!((down(25), down(40)), (4.4, 4.4));
        assert!((down(-10) - 0.082_502).abs() < 1e-6);
        assert_eq!(down(-11), 0.0);
        assert_eq!(Shannon::UPLINK.efficiency(30_000, 1.0), 2.0);
        // A fade of 10 dB.
        assert!((Shannon::DOWNLINK.efficiency(10_000, 0.1) - down(0)).abs() < 1e-12);
    }

    #[test]
    fn a_users_rate_falls_to_nothing_at_the_edge_of_coverage() {
        let bytes = |metres: u64| {
            let radio = Radio::covering(1_000_000);
            let distance = Box::new(Fixed(metres * 1000));
            let quality = Quality::Signal(Signal {
                radio,
                distance,
                bandwidth_hz: 10_000_000,
                shannon: Shannon::DOWNLINK,
            });
            (quality.bytes_in_tti(Time::ZERO, 1.0), quality.receive_power(Time::ZERO).is_some())
        };
        // 10 MHz · 4.4 bit/s/Hz · 1 ms; at the edge 0.0825 bit/s/Hz.
        assert_eq!(bytes(50), (5500, true));
        assert_eq!(bytes(1000), (103, true));
        assert_eq!(bytes(1001), (0, false));
        let rates: Vec<u64> = [100, 200, 400, 800].map(|metres| bytes(metres).0).to_vec();
        assert!(rates.is_sorted_by(|a, b| a > b), "{rates:?}");
    }

    #[test]
    fn gains_are_exponential_and_constant_for_the_coherence_time() {
        let mut fading = Fading::new(Span::from_millis(5), [7; 32], 3);
        let n = 100_000;
        let gains: Vec<f64> = (0..n).map(|block| fading.gain(at(5 * block + 2))).collect();
        let share = |above: f64| gains.iter().filter(|gain| **gain > above).count() as f64 / n as f64;
        for above in [0.1, 1.0, 3.0] {
            let want = f64::exp(-above);
            assert!((share(above) - want).abs() < 4.0 * (want * (1.0 - want) / n as f64).sqrt(), "{above}");
        }
        let same: Vec<f64> = (0..5).map(|ms| fading.gain(at(50 + ms))).collect();
        assert_eq!(same, [gains[10]; 5], "and does not depend on what was asked before");
        assert_ne!(Fading::new(Span::from_millis(5), [7; 32], 4).gain(at(50)), gains[10], "another port");
    }
}
