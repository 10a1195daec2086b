//! [`BlockErrors`]: draws which blocks the channel loses, independently or in bursts, at a share that may
//! change while the link runs. It uses the loss processes of [`crate::loss`] and sees no block.

use msctp_units::Time;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::loss::{InvalidLoss, LossConfig, LossProcess, Probability};

/// Decides block by block, in the order of sending.
#[derive(Debug)]
pub struct BlockErrors {
    process: Option<Box<dyn LossProcess>>,
    share: Probability,
    /// Mean number of consecutively lost blocks; `None` if blocks are lost independently.
    mean_burst: Option<f64>,
    seeds: ChaCha8Rng,
}

impl BlockErrors {
    /// Loses blocks with probability `share`: independently, or in bursts of `mean_burst` blocks on
    /// average (see [`LossConfig::bursts`]).
    ///
    /// # Errors
    /// [`InvalidLoss`] if bursts of that length cannot have that share.
    pub fn new(share: Probability, mean_burst: Option<f64>, seed: [u8; 32]) -> Result<Self, InvalidLoss> {
        let mut errors =
            Self { process: None, share: Probability::ZERO, mean_burst, seeds: ChaCha8Rng::from_seed(seed) };
        errors.set_share(share)?;
        Ok(errors)
    }

    /// Loses no block until [`set_share`](Self::set_share).
    pub fn none(seed: [u8; 32]) -> Self {
        Self { process: None, share: Probability::ZERO, mean_burst: None, seeds: ChaCha8Rng::from_seed(seed) }
    }

    /// Loses the blocks that `process` selects, until [`set_share`](Self::set_share) replaces it.
    pub fn of(process: Box<dyn LossProcess>, seed: [u8; 32]) -> Self {
        Self { process: Some(process), ..Self::none(seed) }
    }

    /// Sets the share of lost blocks from the next one on, in bursts as before. The process starts
    /// afresh with the next seed of this component's stream, so that a run is a function of its seed.
    ///
    /// # Errors
    /// [`InvalidLoss`] as for [`new`](Self::new). Nothing is changed in that case.
    pub fn set_share(&mut self, share: Probability) -> Result<(), InvalidLoss> {
        let config = match self.mean_burst {
            None => LossConfig::Uniform { probability: share.as_f64() },
            Some(mean_burst) => LossConfig::bursts(share.as_f64(), mean_burst)?,
        };
        let mut seed = [0; 32];
        self.seeds.fill_bytes(&mut seed);
        self.process = if share == Probability::ZERO { None } else { config.build(seed)? };
        self.share = share;
        Ok(())
    }

    /// Returns the block loss rate; 0 if [another process](Self::of) decides losses.
    pub fn share(&self) -> Probability {
        self.share
    }

    /// Returns whether the block of `octets` sent by `at` is lost.
    pub(crate) fn takes(&mut self, at: Time, octets: u32) -> bool {
        self.process.as_mut().is_some_and(|process| process.loses(at, octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(errors: &mut BlockErrors, blocks: u32) -> u32 {
        (0..blocks).map(|_| u32::from(errors.takes(Time::ZERO, 50))).sum()
    }

    #[test]
    fn the_loss_rate_can_change_during_a_run() {
        let mut errors = BlockErrors::none([1; 32]);
        assert_eq!(lost(&mut errors, 10_000), 0);
        for ppm in [10_000, 150_000] {
            errors.set_share(Probability::from_ppm(ppm)).unwrap();
            let expected = f64::from(ppm) / 1e6 * 100_000.0;
            let measured = f64::from(lost(&mut errors, 100_000));
            // four standard deviations
            assert!((measured - expected).abs() < 4.0 * expected.sqrt(), "{measured} of {expected}");
        }
    }

    #[test]
    fn bursts_keep_their_length_at_another_share() {
        let mut errors = BlockErrors::new(Probability::from_ppm(10_000), Some(4.0), [2; 32]).unwrap();
        errors.set_share(Probability::from_ppm(100_000)).unwrap();
        let sequence: Vec<bool> = (0..400_000).map(|_| errors.takes(Time::ZERO, 50)).collect();
        let bursts: Vec<usize> =
            sequence.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean / 4.0 - 1.0).abs() < 0.05, "{mean}");
        let before = errors.share();
        assert!(errors.set_share(Probability::from_ppm(950_000)).is_err(), "not with bursts of 4");
        assert_eq!(errors.share(), before);
    }

    #[test]
    fn one_seed_one_sequence() {
        let run = |seed| {
            let mut errors = BlockErrors::new(Probability::from_ppm(300_000), None, [seed; 32]).unwrap();
            let first: Vec<bool> = (0..100).map(|_| errors.takes(Time::ZERO, 50)).collect();
            errors.set_share(Probability::from_ppm(300_000)).unwrap();
            (first, (0..100).map(|_| errors.takes(Time::ZERO, 50)).collect::<Vec<_>>())
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert_ne!(run(1).0, run(1).1, "a new share does not repeat the old one's draws");
    }
}
