//! Random numbers of associations and endpoints.
//!
//! An association stores an [`RngState`]: a seed and a position, a tenth of the bytes of a generator with its
//! buffer. It rarely needs a number (nonces, jitter). [`Rng`] serves where several numbers are drawn in a
//! row.

use core::fmt;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};
use zeroize::Zeroizing;

/// A stored [`ChaCha8Rng`]. Each use generates a whole buffer of numbers again.
#[derive(Clone)]
pub(crate) struct RngState {
    seed: Zeroizing<[u8; 32]>,
    /// Number of 32-bit words drawn so far.
    position: u64,
}

impl fmt::Debug for RngState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tags, Random Numbers and cookie secrets follow from the seed: it is in no log.
        f.debug_struct("RngState").field("position", &self.position).finish_non_exhaustive()
    }
}

impl RngState {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), position: 0 }
    }

    /// Draws several numbers with one generator.
    pub(crate) fn with<R>(&mut self, draw: impl FnOnce(&mut Rng) -> R) -> R {
        let mut generator = ChaCha8Rng::from_seed(*self.seed);
        generator.set_word_pos(u128::from(self.position));
        let mut rng = Rng { generator, seed: self.seed.clone() };
        let drawn = draw(&mut rng);
        *self = rng.state();
        drawn
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.with(Rng::next_u64)
    }

    /// Draws a verification tag like [`Rng::next_tag`].
    pub(crate) fn next_tag(&mut self) -> u32 {
        self.with(Rng::next_tag)
    }

    /// Draws a seed like [`Rng::next_seed`].
    pub(crate) fn next_seed(&mut self) -> [u8; 32] {
        self.with(Rng::next_seed)
    }
}

/// A [`ChaCha8Rng`] that keeps its buffer; yields the same numbers as an [`RngState`].
pub(crate) struct Rng {
    seed: Zeroizing<[u8; 32]>,
    generator: ChaCha8Rng,
}

impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rng").finish_non_exhaustive()
    }
}

impl Rng {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), generator: ChaCha8Rng::from_seed(seed) }
    }

    /// Returns the state that continues at this generator's position.
    pub(crate) fn state(&self) -> RngState {
        RngState { seed: self.seed.clone(), position: self.generator.get_word_pos() as u64 }
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.generator.next_u32()
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Returns a nonzero number, for a verification tag (RFC 9260 §5.3.1).
    pub(crate) fn next_tag(&mut self) -> u32 {
        nonzero(|| self.next_u32())
    }

    /// Returns the seed of another generator.
    pub(crate) fn next_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.generator.fill_bytes(&mut seed);
        seed
    }
}

/// Returns the first number that is not zero.
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
        let (mut stored, mut rng) = (RngState::new([7; 32]), Rng::new([7; 32]));
        let mut reference = ChaCha8Rng::from_seed([7; 32]);
        for round in 0..200 {
            match round % 3 {
                0 => {
                    let number = reference.next_u32();
                    assert_eq!((stored.next_tag(), rng.next_tag()), (number, number), "{round}");
                }
                1 => {
                    let number = reference.next_u64();
                    assert_eq!((stored.next_u64(), rng.next_u64()), (number, number), "{round}");
                }
                _ => {
                    let mut seed = [0; 32];
                    reference.fill_bytes(&mut seed);
                    assert_eq!((stored.next_seed(), rng.next_seed()), (seed, seed), "{round}");
                }
            }
            if round % 50 == 10 {
                assert_eq!(rng.state().next_u64(), stored.clone().next_u64(), "{round}");
            }
        }
    }
}
