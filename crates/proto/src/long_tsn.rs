//! [`LongTsn`]: a TSN that does not wrap, so that TSNs have an ordinary order. No state.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, Sub};

use msctp_wire::Tsn;

/// A TSN continued to 64 bits: the low 32 bits are the TSN on the wire. Never zero, so that an
/// `Option<LongTsn>` is as small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongTsn(NonZeroU64);

impl LongTsn {
    /// A number below all numbers in use.
    pub(crate) const LEAST: Self = Self(NonZeroU64::MIN);

    /// Returns this number, or the least if it is zero.
    const fn of(number: u64) -> Self {
        match NonZeroU64::new(number) {
            Some(number) => Self(number),
            None => Self::LEAST,
        }
    }

    /// Returns the first number of a direction. It lies above 2^32, so that the numbers before it exist as
    /// well.
    pub(crate) const fn first(tsn: Tsn) -> Self {
        Self::of((1 << 32) + tsn.get() as u64)
    }

    /// Returns the number with this TSN that is nearest to `self`: at most 2^31 away (RFC 9260 §1.6 serial
    /// arithmetic).
    pub(crate) const fn nearest(self, tsn: Tsn) -> Self {
        let step = tsn.get().wrapping_sub(self.get() as u32) as i32;
        Self::of(self.get().wrapping_add_signed(step as i64))
    }

    /// Returns the plain number, to order TSNs together with other numbers.
    pub(crate) const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the TSN on the wire.
    pub(crate) const fn tsn(self) -> Tsn {
        Tsn::new(self.get() as u32)
    }

    /// Returns the distance of `self` above `earlier`; zero if it is not above.
    pub(crate) const fn above(self, earlier: Self) -> u64 {
        self.get().saturating_sub(earlier.get())
    }
}

impl Add<u64> for LongTsn {
    type Output = Self;
    fn add(self, steps: u64) -> Self {
        Self::of(self.get() + steps)
    }
}

impl Sub<u64> for LongTsn {
    type Output = Self;
    fn sub(self, steps: u64) -> Self {
        Self::of(self.get() - steps)
    }
}

impl fmt::Debug for LongTsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tsn())
    }
}

/// A range of TSNs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TsnRange {
    pub(crate) first: LongTsn,
    pub(crate) last: LongTsn,
}

impl TsnRange {
    pub(crate) fn iter(self) -> impl Iterator<Item = LongTsn> {
        (0..=self.last.above(self.first)).map(move |step| self.first + step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_number_is_as_small_as_a_number() {
        assert_eq!(size_of::<Option<LongTsn>>(), 8);
    }

    #[test]
    fn nearest_goes_both_ways_over_the_wrap() {
        let last = LongTsn::first(Tsn::new(u32::MAX));
        assert_eq!(last.nearest(Tsn::new(0)), last + 1);
        assert_eq!((last + 1).nearest(Tsn::new(u32::MAX)), last);
        assert_eq!(LongTsn::first(Tsn::new(0)).nearest(Tsn::new(u32::MAX)) + 1, LongTsn::first(Tsn::new(0)));
        assert_eq!((last + 5).tsn(), Tsn::new(4));
        assert_eq!(((last + 5).above(last), last.above(last + 5)), (5, 0));
    }
}
