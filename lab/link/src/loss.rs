//! Loss processes: draw which packets are lost after queue and transmission. Each has a random stream of its
//! own; none sees a packet.

use core::fmt;

use msctp_units::Time;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Decides the loss of each packet, in the order of departure.
pub trait LossProcess: fmt::Debug + Send {
    /// Returns whether the packet of `wire_len` bytes whose transmission ended at `at` is lost.
    fn loses(&mut self, at: Time, wire_len: u32) -> bool;
}

/// A probability, stored as a 64-bit threshold for a uniformly drawn integer, so that it gives the same
/// results everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(u128);

impl Probability {
    /// The probability 0.
    pub const ZERO: Self = Self(0);
    /// The probability 1.
    pub const ONE: Self = Self(1 << 64);

    /// Returns the probability `p`, 0 to 1, to within 2⁻⁶⁴.
    ///
    /// # Errors
    /// [`InvalidLoss`] naming `what` if `p` is not within 0 to 1.
    pub fn new(what: &'static str, p: f64) -> Result<Self, InvalidLoss> {
        if (0.0..=1.0).contains(&p) {
            // Scaling by a power of two is exact.
            Ok(Self((p * 18_446_744_073_709_551_616.0) as u128))
        } else {
            Err(InvalidLoss { what, value: p, want: "0 to 1" })
        }
    }

    /// Returns the probability of `ppm` millionths. Values above 1,000,000 are clamped.
    pub fn from_ppm(ppm: u32) -> Self {
        Self((u128::from(ppm.min(1_000_000)) << 64) / 1_000_000)
    }

    /// Returns the probability as a float, for display and statistics.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 18_446_744_073_709_551_616.0
    }

    /// Draws once. Returns true with this probability. Always takes one number from `rng`.
    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> bool {
        u128::from(rng.next_u64()) < self.0
    }
}

/// The error of a loss parameter that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {value}, want {want}")]
pub struct InvalidLoss {
    /// The parameter.
    pub what: &'static str,
    /// The invalid value.
    pub value: f64,
    /// The allowed values.
    pub want: &'static str,
}

/// A loss process by its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossConfig {
    /// Nothing is lost.
    #[default]
    None,
    /// Loses each packet with this probability, independently of the others.
    Uniform {
        /// Probability of a loss, 0 to 1.
        probability: f64,
    },
    /// Loses packets in bursts. The channel has a good and a bad state, and may change its state at each
    /// packet.
    GilbertElliott {
        /// Probability per packet of a change from good to bad, 0 to 1.
        good_to_bad: f64,
        /// Probability per packet of a change from bad to good, 0 to 1. Bad periods last 1 / this packets on
        /// average.
        bad_to_good: f64,
        /// Probability of losing a packet in the good state, 0 to 1.
        loss_good: f64,
        /// Probability of losing a packet in the bad state, 0 to 1.
        loss_bad: f64,
    },
    /// Loses these packets, counted from 0 in the order of departure. For tests.
    Scripted {
        /// Numbers of the packets, in any order.
        packets: Vec<u64>,
    },
}

impl fmt::Display for LossConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0"),
            Self::Uniform { probability } => write!(f, "{probability}"),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => write!(
                f,
                "{loss_good} good, {loss_bad} bad, good to bad {good_to_bad}, bad to good {bad_to_good}"
            ),
            Self::Scripted { packets } => write!(f, "of packets {packets:?}"),
        }
    }
}

impl LossConfig {
    /// Returns a Gilbert–Elliott channel that loses everything in the bad state and nothing in the good one.
    /// `loss` is the long-run share of packets lost, and `mean_burst` the mean number of consecutive losses.
    ///
    /// With b the mean burst and l the loss: bad_to_good = 1/b, good_to_bad = l / ((1 − l)·b).
    ///
    /// # Errors
    /// [`InvalidLoss`] if `loss` is not within 0 to below 1, `mean_burst` below 1, or the loss too high for
    /// so short bursts (good_to_bad would exceed 1).
    pub fn bursts(loss: f64, mean_burst: f64) -> Result<Self, InvalidLoss> {
        if !(0.0..1.0).contains(&loss) {
            return Err(InvalidLoss { what: "loss", value: loss, want: "at least 0 and below 1" });
        }
        if !(mean_burst >= 1.0 && mean_burst.is_finite()) {
            return Err(InvalidLoss { what: "mean_burst", value: mean_burst, want: "at least 1 packet" });
        }
        let good_to_bad = loss / ((1.0 - loss) * mean_burst);
        if good_to_bad > 1.0 {
            let want = "at least loss / (1 − loss) packets, or less loss";
            return Err(InvalidLoss { what: "mean_burst", value: mean_burst, want });
        }
        Ok(Self::GilbertElliott { good_to_bad, bad_to_good: 1.0 / mean_burst, loss_good: 0.0, loss_bad: 1.0 })
    }

    /// Creates the process, which draws from a stream seeded with `seed`; `None` if nothing is ever lost.
    ///
    /// # Errors
    /// [`InvalidLoss`] for the first parameter that is out of range.
    pub fn build(&self, seed: [u8; 32]) -> Result<Option<Box<dyn LossProcess>>, InvalidLoss> {
        Ok(match self {
            Self::None => None,
            &Self::Uniform { probability } => {
                Some(Box::new(Uniform::new(Probability::new("loss probability", probability)?, seed)))
            }
            &Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                Some(Box::new(GilbertElliott::new(
                    Probability::new("good_to_bad", good_to_bad)?,
                    Probability::new("bad_to_good", bad_to_good)?,
                    Probability::new("loss_good", loss_good)?,
                    Probability::new("loss_bad", loss_bad)?,
                    seed,
                )))
            }
            Self::Scripted { packets } => Some(Box::new(Scripted::new(packets.clone()))),
        })
    }
}

/// Independent losses, with one draw per packet.
#[derive(Clone, Debug)]
pub struct Uniform {
    probability: Probability,
    rng: ChaCha8Rng,
}

impl Uniform {
    /// Creates losses with `probability`, drawn from a stream seeded with `seed`.
    pub fn new(probability: Probability, seed: [u8; 32]) -> Self {
        Self { probability, rng: ChaCha8Rng::from_seed(seed) }
    }
}

impl LossProcess for Uniform {
    fn loses(&mut self, _at: Time, _wire_len: u32) -> bool {
        self.probability.draw(&mut self.rng)
    }
}

/// Losses in bursts (Gilbert 1960, Elliott 1963). The state counts in packets, not in time.
///
/// A packet is lost with its state's probability. Then the state may change. With p = good_to_bad and r =
/// bad_to_good the channel is bad p/(p+r) of the time, in periods of 1/r packets on average; so the loss in
/// the long run is (r·loss_good + p·loss_bad)/(p+r). The first packet's state is drawn from that
/// distribution. Two draws per packet, one more at the start.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    good_to_bad: Probability,
    bad_to_good: Probability,
    loss_good: Probability,
    loss_bad: Probability,
    bad: bool,
    rng: ChaCha8Rng,
}

impl GilbertElliott {
    /// Creates the channel of these four probabilities, drawn from a stream seeded with `seed`. If the state
    /// can never change (both transitions 0) it is good.
    pub fn new(
        good_to_bad: Probability,
        bad_to_good: Probability,
        loss_good: Probability,
        loss_bad: Probability,
        seed: [u8; 32],
    ) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed);
        let sum = good_to_bad.0 + bad_to_good.0;
        // p/(p+r) in units of 2⁻⁶⁴. For p = 1 the dividend would not fit 128 bits; half of it always does.
        let stationary = ((good_to_bad.0 >> 1) << 64).checked_div(sum).map_or(0, |half| half << 1);
        let bad = Probability(stationary).draw(&mut rng);
        Self { good_to_bad, bad_to_good, loss_good, loss_bad, bad, rng }
    }
}

impl LossProcess for GilbertElliott {
    fn loses(&mut self, _at: Time, _wire_len: u32) -> bool {
        let (loss, change) =
            if self.bad { (self.loss_bad, self.bad_to_good) } else { (self.loss_good, self.good_to_bad) };
        let lost = loss.draw(&mut self.rng);
        self.bad ^= change.draw(&mut self.rng);
        lost
    }
}

/// Loses the packets of a list, without draws.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// Remaining packets in ascending order, with the next one last.
    remaining: Vec<u64>,
    next: u64,
}

impl Scripted {
    /// Creates a process that loses the packets with these numbers, counted from 0 in the order of departure.
    pub fn new(mut packets: Vec<u64>) -> Self {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        packets.dedup();
        Self { remaining: packets, next: 0 }
    }
}

impl LossProcess for Scripted {
    fn loses(&mut self, _at: Time, _wire_len: u32) -> bool {
        let lost = self.remaining.last() == Some(&self.next);
        if lost {
            self.remaining.pop();
        }
        self.next += 1;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn losses(config: &LossConfig, seed: u8, packets: usize) -> Vec<bool> {
        let mut process = config.build([seed; 32]).unwrap().unwrap();
        (0..packets).map(|_| process.loses(Time::ZERO, 1500)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64
    }

    fn mean_burst(losses: &[bool]) -> f64 {
        let bursts = losses.chunk_by(|a, b| a == b).filter(|run| run[0]);
        let (count, total) = bursts.fold((0, 0), |(count, total), run| (count + 1, total + run.len()));
        total as f64 / f64::from(count)
    }

    #[test]
    fn losses_are_shown_as_numbers() {
        assert_eq!(LossConfig::None.to_string(), "0");
        assert_eq!(LossConfig::Uniform { probability: 0.01 }.to_string(), "0.01");
        assert_eq!(LossConfig::Scripted { packets: vec![3, 17] }.to_string(), "of packets [3, 17]");
    }

    #[test]
    fn uniform_losses_have_their_probability_and_no_memory() {
        for p in [0.001, 0.01, 0.3] {
            let losses = losses(&LossConfig::Uniform { probability: p }, 1, PACKETS);
            // four standard deviations
            let tolerance = 4.0 * (p * (1.0 - p) / PACKETS as f64).sqrt();
            assert!((share(&losses) - p).abs() < tolerance, "{p}: {}", share(&losses));
            // bursts of independent losses: 1 / (1 − p)
            assert!((mean_burst(&losses) * (1.0 - p) - 1.0).abs() < 0.05, "{p}: {}", mean_burst(&losses));
        }
    }

    #[test]
    fn never_and_always_are_exact() {
        assert_eq!(share(&losses(&LossConfig::Uniform { probability: 0.0 }, 1, 10_000)), 0.0);
        assert_eq!(share(&losses(&LossConfig::Uniform { probability: 1.0 }, 1, 10_000)), 1.0);
    }

    #[test]
    fn probabilities_convert_exactly() {
        assert_eq!(Probability::new("p", 0.5), Ok(Probability(1 << 63)));
        assert_eq!(Probability::new("p", 1.0), Ok(Probability::ONE));
        assert_eq!(Probability::from_ppm(500_000), Probability(1 << 63));
        assert_eq!(Probability::from_ppm(2_000_000), Probability::ONE);
        assert!((Probability::from_ppm(10_000).as_f64() - 0.01).abs() < 1e-15);
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = Probability::new("p", bad).unwrap_err();
            assert!(error.to_string().starts_with("p is"), "{error}");
        }
    }

    /// Simulated channels agree with the closed forms in [`GilbertElliott`]'s documentation to within 3 %.
    #[test]
    fn gilbert_elliott_has_its_stationary_loss_and_mean_burst() {
        for (loss, burst) in [(0.01, 5.0), (0.05, 2.0), (0.2, 10.0)] {
            let losses = losses(&LossConfig::bursts(loss, burst).unwrap(), 3, 4 * PACKETS);
            assert!((share(&losses) / loss - 1.0).abs() < 0.03, "{loss}: {}", share(&losses));
            assert!((mean_burst(&losses) / burst - 1.0).abs() < 0.03, "{burst}: {}", mean_burst(&losses));
        }
        let (p, r, g, b) = (0.02, 0.1, 0.005, 0.4);
        let config = LossConfig::GilbertElliott { good_to_bad: p, bad_to_good: r, loss_good: g, loss_bad: b };
        let expected = (r * g + p * b) / (p + r);
        let measured = share(&losses(&config, 4, 4 * PACKETS));
        assert!((measured / expected - 1.0).abs() < 0.03, "{measured} of {expected}");
    }

    #[test]
    fn gilbert_elliott_starts_in_its_stationary_distribution() {
        let config = LossConfig::bursts(0.25, 1000.0).unwrap();
        let first_lost = (0..4000u32).filter(|n| {
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            config.build(seed).unwrap().unwrap().loses(Time::ZERO, 1)
        });
        let share = first_lost.count() as f64 / 4000.0;
        assert!((share - 0.25).abs() < 0.03, "{share}");
    }

    #[test]
    fn gilbert_elliott_extremes() {
        let one = Probability::ONE;
        let zero = Probability::ZERO;
        let run = |p, r, n: usize| {
            let mut process = GilbertElliott::new(p, r, zero, one, [9; 32]);
            (0..n).map(|_| process.loses(Time::ZERO, 1)).collect::<Vec<_>>()
        };
        assert_eq!(share(&run(zero, zero, 1000)), 0.0, "no transitions: good");
        assert_eq!(share(&run(zero, one, 1000)), 0.0);
        assert_eq!(share(&run(one, zero, 1000)), 1.0, "once bad, always bad");
        let alternating = run(one, one, 1000);
        assert!(alternating.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn impossible_bursts_are_refused() {
        for (loss, burst, what) in
            [(1.0, 5.0, "loss"), (-0.1, 5.0, "loss"), (0.1, 0.5, "mean_burst"), (0.9, 2.0, "mean_burst")]
        {
            assert_eq!(LossConfig::bursts(loss, burst).unwrap_err().what, what);
        }
        let bad =
            LossConfig::GilbertElliott { good_to_bad: 0.1, bad_to_good: 2.0, loss_good: 0.0, loss_bad: 1.0 };
        assert_eq!(bad.build([0; 32]).unwrap_err().what, "bad_to_good");
    }

    #[test]
    fn scripts_name_packets_in_any_order() {
        let losses = losses(&LossConfig::Scripted { packets: vec![4, 0, 2, 2] }, 0, 7);
        assert_eq!(losses, [true, false, true, false, true, false, false]);
    }

    #[test]
    fn one_seed_one_sequence() {
        let config = LossConfig::Uniform { probability: 0.5 };
        assert_eq!(losses(&config, 1, 1000), losses(&config, 1, 1000));
        assert_ne!(losses(&config, 1, 1000), losses(&config, 2, 1000));
    }
}
