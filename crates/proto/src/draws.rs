//! Random numbers of an association and of an endpoint: [`Draws`] at rest, a seed and a position instead of a generator with its
//! buffer, a tenth of the bytes, since draws are rare (nonces, jitter) and associations may be many; [`Dice`] where several are
//! drawn one after the other.

use core::fmt;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

/// The numbers of a [`ChaCha8Rng`]. Each draw generates a buffer of them.
#[derive(Clone)]
pub(crate) struct Draws {
    seed: Zeroizing<[u8; 32]>,
    /// Words of 32 bits drawn so far.
    position: u64,
}

impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tags, Random Numbers and cookie secrets follow from the seed: it is in no log.
        f.debug_struct("Draws").field("position", &self.position).finish_non_exhaustive()
    }
}

impl Draws {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), position: 0 }
    }

    /// Several numbers at once.
    pub(crate) fn with<R>(&mut self, draw: impl FnOnce(&mut Dice) -> R) -> R {
        let mut rng = ChaCha8Rng::from_seed(*self.seed);
        rng.set_word_pos(u128::from(self.position));
        let mut dice = Dice { rng, seed: self.seed.clone() };
        let drawn = draw(&mut dice);
        *self = dice.at_rest();
        drawn
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.with(Dice::next_u64)
    }

    /// See [`Dice::next_tag`].
    pub(crate) fn next_tag(&mut self) -> u32 {
        self.with(Dice::next_tag)
    }

    /// See [`Dice::next_seed`].
    pub(crate) fn next_seed(&mut self) -> [u8; 32] {
        self.with(Dice::next_seed)
    }
}

/// The same numbers, from a generator that keeps its buffer.
pub(crate) struct Dice {
    seed: Zeroizing<[u8; 32]>,
    rng: ChaCha8Rng,
}

impl fmt::Debug for Dice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dice").finish_non_exhaustive()
    }
}

impl Dice {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), rng: ChaCha8Rng::from_seed(seed) }
    }

    /// What is drawn later goes on where this ended.
    pub(crate) fn at_rest(&self) -> Draws {
        Draws { seed: self.seed.clone(), position: self.rng.get_word_pos() as u64 }
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.rng.next_u32()
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A number that is not zero, as a verification tag has to be (RFC 9260 §5.3.1).
    pub(crate) fn next_tag(&mut self) -> u32 {
        nonzero(|| self.next_u32())
    }

    /// The seed of another generator.
    pub(crate) fn next_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        seed
    }
}

/// The first number that is not zero.
fn nonzero(mut next: impl FnMut() -> u32) -> u32 {
    loop {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# The Initiate Tag MUST NOT take the value 0.
        match next() {
            0 => {}
            number => return number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
    //= type=test
    //# The Initiate Tag MUST NOT take the value 0.
    #[test]
    fn a_tag_is_never_zero() {
        let mut numbers = [0, 0, 7, 0].into_iter();
        assert_eq!(nonzero(|| numbers.next().expect("a fourth is not needed")), 7);
    }

    #[test]
    fn the_numbers_are_those_of_the_generator_across_its_blocks() {
        let (mut draws, mut dice) = (Draws::new([7; 32]), Dice::new([7; 32]));
        let mut rng = ChaCha8Rng::from_seed([7; 32]);
        for round in 0..200 {
            match round % 3 {
                0 => {
                    let number = rng.next_u32();
                    assert_eq!((draws.next_tag(), dice.next_tag()), (number, number), "{round}");
                }
                1 => {
                    let number = rng.next_u64();
                    assert_eq!((draws.next_u64(), dice.next_u64()), (number, number), "{round}");
                }
                _ => {
                    let mut seed = [0; 32];
                    rng.fill_bytes(&mut seed);
                    assert_eq!((draws.next_seed(), dice.next_seed()), (seed, seed), "{round}");
                }
            }
            if round % 50 == 10 {
                assert_eq!(dice.at_rest().next_u64(), draws.clone().next_u64(), "{round}");
            }
        }
    }
}
