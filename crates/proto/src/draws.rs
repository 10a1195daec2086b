//! [`Draws`]: the random numbers of an association, at rest: a seed and a position instead of a generator with its buffer, a
//! tenth of the bytes. Draws are rare (tags, nonces, jitter), associations may be many.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The same numbers as a [`ChaCha8Rng`] from the same seed gives.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    seed: [u8; 32],
    /// Words of 32 bits drawn so far.
    position: u64,
}

impl Draws {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, position: 0 }
    }

    fn with<R>(&mut self, draw: impl FnOnce(&mut ChaCha8Rng) -> R) -> R {
        let mut rng = ChaCha8Rng::from_seed(self.seed);
        rng.set_word_pos(u128::from(self.position));
        let drawn = draw(&mut rng);
        self.position = rng.get_word_pos() as u64;
        drawn
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.with(Rng::next_u32)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.with(Rng::next_u64)
    }

    /// A number that is not zero, as a verification tag has to be (RFC 9260 §5.3.1).
    pub(crate) fn next_tag(&mut self) -> u32 {
        loop {
            let tag = self.next_u32();
            if tag != 0 {
                return tag;
            }
        }
    }

    /// The seed of another generator.
    pub(crate) fn next_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.with(|rng| rng.fill_bytes(&mut seed));
        seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_generator_across_its_blocks() {
        let (mut draws, mut rng) = (Draws::new([7; 32]), ChaCha8Rng::from_seed([7; 32]));
        for round in 0..200 {
            match round % 3 {
                0 => assert_eq!(draws.next_u32(), rng.next_u32(), "{round}"),
                1 => assert_eq!(draws.next_u64(), rng.next_u64(), "{round}"),
                _ => {
                    let mut seed = [0; 32];
                    rng.fill_bytes(&mut seed);
                    assert_eq!(draws.next_seed(), seed, "{round}");
                }
            }
        }
    }
}
