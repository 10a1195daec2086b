//! [`Precise`]: a window in bytes with a binary fraction, for growth by less than a byte per acknowledgement.

/// Bytes, with 32 bits after the point. Integer arithmetic gives the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precise(u128);

impl Precise {
    /// Converts from whole bytes.
    pub const fn new(bytes: u64) -> Self {
        Self((bytes as u128) << 32)
    }

    /// Returns the whole bytes, rounded down.
    pub const fn bytes(self) -> u64 {
        (self.0 >> 32) as u64
    }

    /// Returns the product with `factor`, saturating.
    pub fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(u128::from(factor)))
    }

    /// Adds `a · b / divisor` bytes; nothing when the divisor is zero. Saturates at 2^64 − 1 bytes. Factors
    /// above 2^47 count as 2^47, so that no product overflows.
    pub fn add_ratio(&mut self, a: u64, b: u64, divisor: Self) {
        const MOST: u64 = 1 << 47;
        let product = u128::from(a.min(MOST)) * u128::from(b.min(MOST));
        // (product · 2^32) / (divisor / 2^32), in steps that keep what fits in 128 bits
        let shift = product.leading_zeros().min(64);
        let divisor = divisor.0 >> (64 - shift);
        if divisor == 0 {
            return;
        }
        let sum = self.0.saturating_add((product << shift) / divisor);
        self.0 = sum.min(Self::new(u64::MAX).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_less_than_a_byte() {
        let mut window = Precise::new(10);
        for _ in 0..2 {
            window.add_ratio(1, 1, Precise::new(2));
        }
        assert_eq!(window, Precise::new(11));
        for _ in 0..3 {
            window.add_ratio(1, 1, Precise::new(3));
        }
        assert_eq!(window.bytes(), 11, "a third three times, rounded down");
    }

    proptest::proptest! {
        #[test]
        fn a_ratio_adds_its_whole_quotient(a in 0u64..1 << 40, b in 0u64..1 << 20, divisor in 1u64..1 << 40) {
            let mut sum = Precise::new(0);
            sum.add_ratio(a, b, Precise::new(divisor));
            let exact = (u128::from(a) * u128::from(b) / u128::from(divisor)).min(u128::from(u64::MAX));
            proptest::prop_assert_eq!(u128::from(sum.bytes()), exact);
        }

        #[test]
        fn never_overflows(a: u64, b: u64, divisor: u64, start: u64) {
            let mut sum = Precise::new(start);
            sum.add_ratio(a, b, Precise::new(divisor));
            proptest::prop_assert!(sum.bytes() >= start);
        }
    }
}
