//! A seeded generator for tests: the same seed gives the same numbers on every machine.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

pub(crate) struct TestRng(ChaCha8Rng);

impl TestRng {
    /// Creates a generator; `purpose` separates the numbers of different users of one seed.
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self(ChaCha8Rng::from_seed(bytes(seed, purpose)))
    }

    /// Returns a number from 0 to `end` − 1.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end.max(1)
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with this probability in percent.
    pub(crate) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Derives a seed for one purpose from the seed of a sequence.
pub(crate) fn bytes(seed: u64, purpose: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (slot, byte) in bytes[8..].iter_mut().zip(purpose.bytes()) {
        *slot = byte;
    }
    bytes
}
