//! [`ChunkSet`]: a set of chunk types, one bit for each of the 256.

use core::fmt;

use super::ChunkType;

/// A set of chunk types.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkSet([u64; 4]);

impl ChunkSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 4]);

    /// Returns whether the type is in the set.
    #[inline]
    pub const fn has(&self, typ: ChunkType) -> bool {
        self.0[(typ.0 >> 6) as usize] >> (typ.0 & 63) & 1 == 1
    }

    /// Adds a type.
    pub const fn insert(&mut self, typ: ChunkType) {
        self.0[(typ.0 >> 6) as usize] |= 1 << (typ.0 & 63);
    }

    /// Removes a type.
    pub const fn remove(&mut self, typ: ChunkType) {
        self.0[(typ.0 >> 6) as usize] &= !(1 << (typ.0 & 63));
    }

    /// Returns whether no type is in the set.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Returns the types in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = ChunkType> {
        (0_u8..).zip(self.0).flat_map(|(word, bits)| {
            // The rest of the word, each time without its lowest bit.
            let rest = core::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
            let rest = rest.take_while(|bits| *bits != 0);
            rest.map(move |bits| ChunkType(word << 6 | bits.trailing_zeros() as u8))
        })
    }
}

impl Extend<ChunkType> for ChunkSet {
    fn extend<I: IntoIterator<Item = ChunkType>>(&mut self, types: I) {
        types.into_iter().for_each(|typ| self.insert(typ));
    }
}

impl FromIterator<ChunkType> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = ChunkType>>(types: I) -> Self {
        let mut set = Self::EMPTY;
        set.extend(types);
        set
    }
}

impl fmt::Debug for ChunkSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_a_bit_of_its_own() {
        for typ in (0..=u8::MAX).map(ChunkType) {
            let mut set = ChunkSet::from_iter([typ]);
            assert!(set.iter().eq([typ]));
            set.remove(typ);
            assert!(set.is_empty());
        }
        let all: ChunkSet = (0..=u8::MAX).map(ChunkType).collect();
        assert_eq!(all.iter().count(), 256);
    }
}
