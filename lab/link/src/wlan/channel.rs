//! [`Channel`]: propagation delay and losses of frames between two stations. Both directions of a radio link
//! share one.

use core::fmt;

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::fades::{Fades, ParetoFades};
use super::radio::{MilliDb, Radio, outage_probability, propagation_ns};
use crate::loss::LossProcess;

/// Distance between two stations.
pub trait Distance: fmt::Debug + Send {
    /// Returns the distance in millimetres at a time. It depends only on time.
    fn at(&self, now: Time) -> u64;
}

/// Stations that do not move, at a distance in millimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(pub u64);

impl Distance for Fixed {
    fn at(&self, _now: Time) -> u64 {
        self.0
    }
}

/// Variation of the receive power around its mean.
#[derive(Clone, Debug)]
enum Fading {
    None,
    /// A new value for each frame.
    PerFrame {
        slope: MilliDb,
        rng: ChaCha8Rng,
    },
    InTime(Fades),
}

/// The channel between two stations. By default every frame is received.
pub struct Channel {
    distance: Box<dyn Distance>,
    radio: Option<Radio>,
    fading: Fading,
    loss: Option<Box<dyn LossProcess>>,
}

impl Channel {
    /// Creates a channel that loses nothing, with the delay of the distance.
    pub fn clear(distance: Box<dyn Distance>) -> Self {
        Self { distance, radio: None, fading: Fading::None, loss: None }
    }

    /// Loses every frame whose receive power is below the sensitivity.
    #[must_use]
    pub fn with_radio(mut self, radio: Radio) -> Self {
        self.radio = Some(radio);
        self
    }

    /// Loses each frame, independently of the others, with probability `1 − exp(−10^(−margin / slope))`. With
    /// a `slope` of 10,000 mdB it is Rayleigh fading that changes from frame to frame. Has no effect without
    /// a radio.
    #[must_use]
    pub fn with_fading_per_frame(mut self, slope: MilliDb, seed: [u8; 32]) -> Self {
        self.fading = Fading::PerFrame { slope, rng: ChaCha8Rng::from_seed(seed) };
        self
    }

    /// Loses frames in bad periods. Has no effect without a radio.
    #[must_use]
    pub fn with_fades(mut self, fades: ParetoFades, seed: [u8; 32]) -> Self {
        self.fading = Fading::InTime(Fades::new(fades, seed));
        self
    }

    /// Adds a loss process, which loses frames per attempt, regardless of the receive power.
    #[must_use]
    pub fn with_loss(mut self, loss: Option<Box<dyn LossProcess>>) -> Self {
        self.set_loss(loss);
        self
    }

    /// Replaces the loss process.
    pub fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        self.loss = loss;
    }

    /// Returns the receive power at a time, in mdBm; `None` without a radio.
    pub fn receive_power(&self, now: Time) -> Option<MilliDb> {
        Some(self.radio?.receive_power(self.distance.at(now)))
    }

    /// Returns whether the receive power, without fading, is at least the sensitivity; always true without a
    /// radio.
    pub fn covers(&self, now: Time) -> bool {
        self.radio.is_none_or(|radio| radio.covers(self.distance.at(now)))
    }

    /// Returns the propagation delay.
    pub(super) fn propagation(&self, now: Time) -> Span {
        Span::from_nanos(propagation_ns(self.distance.at(now)))
    }

    /// Returns whether a frame on the air from `from` to `to` is lost. Its rate needs `needs` more than the
    /// sensitivity. Frames come in the order of `from`. Bad periods are the same for every rate.
    pub(super) fn loses(&mut self, (from, to): (Time, Time), wire_len: u32, needs: MilliDb) -> bool {
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(to, wire_len));
        let Some(radio) = self.radio else { return lost };
        let margin = |at| radio.margin(self.distance.at(at)).saturating_sub(needs);
        let faded = match &mut self.fading {
            Fading::None => false,
            Fading::PerFrame { slope, rng } => outage_probability(margin(from), *slope).draw(rng),
            Fading::InTime(fades) => fades.touch(from, to, margin),
        };
        lost || faded || margin(from) < 0
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("distance", &self.distance)
            .field("radio", &self.radio)
            .field("loss", &self.loss)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_coverage_nothing_is_received() {
        for (metres, lost) in [(1, false), (99, false), (100, false), (102, true), (5000, true)] {
            let mut channel =
                Channel::clear(Box::new(Fixed(metres * 1000))).with_radio(Radio::covering(100_000));
            assert_eq!(channel.loses((Time::ZERO, Time::ZERO), 1500, 0), lost, "{metres} m");
            assert_eq!(channel.covers(Time::ZERO), !lost);
        }
        let mut clear = Channel::clear(Box::new(Fixed(u64::MAX)));
        assert!(!clear.loses((Time::ZERO, Time::ZERO), 1500, 0) && clear.covers(Time::ZERO));
    }

    #[test]
    fn fading_per_frame_loses_the_outage_of_the_margin() {
        // At half the radius: 28 · log10(2) = 8.429 dB, outage 13.38 %.
        let mut channel = Channel::clear(Box::new(Fixed(50_000)))
            .with_radio(Radio::covering(100_000))
            .with_fading_per_frame(10_000, [1; 32]);
        let n = 100_000;
        let lost = (0..n).filter(|_| channel.loses((Time::ZERO, Time::ZERO), 1500, 0)).count() as f64;
        let want = 1.0 - (-10f64.powf(-0.8429)).exp();
        assert!((lost / f64::from(n) - want).abs() < 4.0 * (want * (1.0 - want) / f64::from(n)).sqrt());
    }
}
