//! Sequence numbers with RFC 1982 serial arithmetic: TSN, SSN, MID and request numbers.
//!
//! Serial order is not total (two numbers half the space apart precede neither way), so these types have no
//! `PartialOrd`; use [`Tsn::precedes`] and [`Tsn::distance_from`].

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name($int);

        impl $name {
            /// Returns the number with this value on the wire. The whole range is valid.
            #[inline]
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the value on the wire.
            #[inline]
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns the number after this one, which wraps to 0 (RFC 9260 §1.6).
            #[inline]
            pub const fn next(self) -> Self {
                Self(self.0.wrapping_add(1))
            }

            /// Returns the number before this one, which wraps to the largest.
            #[inline]
            pub const fn prev(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }

            /// Returns the number of steps of [`next`](Self::next) from `earlier` to `self` (wrapping).
            #[inline]
            pub const fn distance_from(self, earlier: Self) -> $int {
                self.0.wrapping_sub(earlier.0)
            }

            /// Returns whether `self` precedes `other`: `other` is 1 to half the space minus 1 steps ahead
            /// (RFC 1982 §3.2). Of two numbers exactly half the space apart, neither precedes the other.
            #[inline]
            pub const fn precedes(self, other: Self) -> bool {
                let ahead = other.0.wrapping_sub(self.0);
                ahead != 0 && ahead < 1 << (<$int>::BITS - 1)
            }

            /// Returns whether `self` is `other` or precedes it.
            #[inline]
            pub const fn precedes_or_is(self, other: Self) -> bool {
                other.0.wrapping_sub(self.0) < 1 << (<$int>::BITS - 1)
            }
        }

        impl Add<$int> for $name {
            type Output = Self;
            #[inline]
            fn add(self, steps: $int) -> Self {
                Self(self.0.wrapping_add(steps))
            }
        }

        impl AddAssign<$int> for $name {
            #[inline]
            fn add_assign(&mut self, steps: $int) {
                *self = *self + steps;
            }
        }

        impl Sub<$int> for $name {
            type Output = Self;
            #[inline]
            fn sub(self, steps: $int) -> Self {
                Self(self.0.wrapping_sub(steps))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

serial_number! {
    /// Transmission Sequence Number (RFC 9260 §3.3.1): one per DATA chunk, wraps at 2^32.
    Tsn(u32)
}
serial_number! {
    /// Stream Sequence Number (RFC 9260 §3.3.1): one per ordered message of a stream, wraps at 2^16.
    Ssn(u16)
}
serial_number! {
    /// Message Identifier (RFC 8260 §2.1): one per message of a stream, separate for ordered and unordered;
    /// wraps at 2^32.
    Mid(u32)
}
serial_number! {
    /// Re-configuration Request Sequence Number (RFC 6525 §4.1), copied into the response; wraps at 2^32.
    ReconfigSerial(u32)
}
serial_number! {
    /// Sequence Number of an ASCONF chunk (RFC 5061 §4.1.1), copied into its ASCONF-ACK; wraps at 2^32.
    AsconfSerial(u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wraps_at_the_end() {
        assert_eq!(Tsn::new(u32::MAX).next(), Tsn::new(0));
        assert_eq!(Tsn::new(0).prev(), Tsn::new(u32::MAX));
        assert_eq!(Ssn::new(u16::MAX).next(), Ssn::new(0));
        assert!(Tsn::new(u32::MAX).precedes(Tsn::new(0)));
        assert!(!Tsn::new(0).precedes(Tsn::new(u32::MAX)));
        assert_eq!(Tsn::new(3).distance_from(Tsn::new(u32::MAX)), 4);
    }

    #[test]
    fn half_the_space_apart_precedes_neither_way() {
        let (a, b) = (Ssn::new(5), Ssn::new(5 + 0x8000));
        assert!(!a.precedes(b) && !b.precedes(a));
        assert!(!a.precedes_or_is(b) && !b.precedes_or_is(a));
    }

    proptest! {
        #[test]
        fn order_agrees_with_distance(a: u32, step in 1u32..0x8000_0000) {
            let (a, b) = (Tsn::new(a), Tsn::new(a) + step);
            prop_assert!(a.precedes(b) && a.precedes_or_is(b) && !b.precedes(a) && !b.precedes_or_is(a));
            prop_assert_eq!(b.distance_from(a), step);
            prop_assert_eq!(b - step, a);
            prop_assert!(a.precedes_or_is(a) && !a.precedes(a));
        }
    }
}
