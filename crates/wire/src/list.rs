//! [`List`]: fixed-size entries, read lazily from wire bytes or encoded from a slice.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::codes::{CauseCode, ChunkType, ParamType};
use crate::error::Malformed;
use crate::ids::{CorrelationId, HmacId, KeyManagementId, Ppid, StreamId, VerificationTag};
use crate::serial::{AsconfSerial, Mid, ReconfigSerial, Ssn, Tsn};

/// An entry with a fixed number of bytes on the wire.
pub trait Item: Copy + PartialEq + fmt::Debug {
    /// Length of one entry in bytes.
    const SIZE: usize;
    /// Reads one entry from exactly [`SIZE`](Self::SIZE) bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Appends the entry.
    fn write(self, out: &mut Vec<u8>);
}

/// A list of entries, borrowed either from a received packet or from a slice of values.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Source<'a, T>);

/// The source of the entries of a [`List`] or [`TlvList`](crate::TlvList).
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, T> {
    /// Received bytes of whole entries, so that the length is a multiple of `T::SIZE`.
    Wire(&'a [u8]),
    /// A slice of values.
    Values(&'a [T]),
}

impl<'a, T: Item> List<'a, T> {
    /// The empty list.
    pub const EMPTY: Self = Self(Source::Values(&[]));

    /// Returns a view of `bytes`, which must be whole entries.
    ///
    /// # Errors
    /// [`Malformed::NotWhole`] when the last entry is incomplete.
    #[inline]
    pub fn from_wire(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len().is_multiple_of(T::SIZE) {
            Ok(Self(Source::Wire(bytes)))
        } else {
            Err(Malformed::NotWhole { len: bytes.len(), unit: T::SIZE })
        }
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Wire(bytes) => bytes.len() / T::SIZE,
            Source::Values(values) => values.len(),
        }
    }

    /// Returns whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the entry at `index`, if it exists.
    #[inline]
    pub fn at(&self, index: usize) -> Option<T> {
        match self.0 {
            Source::Wire(bytes) => {
                let start = index.checked_mul(T::SIZE)?;
                bytes.get(start..start.checked_add(T::SIZE)?).map(T::read)
            }
            Source::Values(values) => values.get(index).copied(),
        }
    }

    /// Returns the last entry, if there is one.
    #[inline]
    pub fn last(&self) -> Option<T> {
        self.at(self.len().checked_sub(1)?)
    }

    /// Returns the entries in order.
    #[inline]
    pub fn iter(&self) -> ListIter<'a, T> {
        ListIter(self.0)
    }

    /// Returns the length in bytes on the wire.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.len() * T::SIZE
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self.0 {
            Source::Wire(bytes) => out.extend_from_slice(bytes),
            Source::Values(values) => values.iter().for_each(|value| value.write(out)),
        }
    }
}

/// Implements construction, comparison, formatting and iteration of a list, given its bound on entries and
/// its items.
macro_rules! list_traits {
    ($list:ident, $iter:ident, $bound:path, $yield:ty) => {
        impl<'a, T> From<&'a [T]> for $list<'a, T> {
            #[inline]
            fn from(values: &'a [T]) -> Self {
                Self($crate::list::Source::Values(values))
            }
        }

        impl<'a, T, const N: usize> From<&'a [T; N]> for $list<'a, T> {
            #[inline]
            fn from(values: &'a [T; N]) -> Self {
                Self($crate::list::Source::Values(values))
            }
        }

        impl<T> Default for $list<'_, T> {
            fn default() -> Self {
                Self($crate::list::Source::Values(&[]))
            }
        }

        impl<'a, T: $bound> PartialEq for $list<'a, T> {
            fn eq(&self, other: &Self) -> bool {
                self.iter().eq(other.iter())
            }
        }

        impl<'a, T: $bound> core::fmt::Debug for $list<'a, T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }

        impl<'a, T: $bound> IntoIterator for $list<'a, T> {
            type Item = $yield;
            type IntoIter = $iter<'a, T>;
            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl<'a, T: $bound> IntoIterator for &$list<'a, T> {
            type Item = $yield;
            type IntoIter = $iter<'a, T>;
            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }
    };
}
pub(crate) use list_traits;

list_traits!(List, ListIter, Item, T);

impl<T: Item + Eq> Eq for List<'_, T> {}

/// Iterator over the entries of a [`List`].
#[derive(Clone, Copy)]
pub struct ListIter<'a, T>(Source<'a, T>);

impl<T: Item> Iterator for ListIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            Source::Wire(bytes) => {
                let (entry, rest) = bytes.split_at_checked(T::SIZE)?;
                *bytes = rest;
                Some(T::read(entry))
            }
            Source::Values(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                Some(*first)
            }
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = List(self.0).len();
        (len, Some(len))
    }
}

impl<T: Item> DoubleEndedIterator for ListIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        match &mut self.0 {
            Source::Wire(bytes) => {
                let (rest, entry) = bytes.split_at_checked(bytes.len().checked_sub(T::SIZE)?)?;
                *bytes = rest;
                Some(T::read(entry))
            }
            Source::Values(values) => {
                let (last, rest) = values.split_last()?;
                *values = rest;
                Some(*last)
            }
        }
    }
}

impl<T: Item> ExactSizeIterator for ListIter<'_, T> {}

/// Implements [`Item`] for big-endian numbers.
macro_rules! number_items {
    ($($int:ty),*) => {$(
        impl Item for $int {
            const SIZE: usize = size_of::<Self>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut number = [0; Self::SIZE];
                number.copy_from_slice(bytes);
                Self::from_be_bytes(number)
            }
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}
number_items!(u8, u16, u32, u64, u128);

/// Implements [`Item`] for a type that is a number on the wire, given the conversions from and to that
/// number.
macro_rules! item_as_number {
    ($item:ty, $int:ty, $from:expr, $to:expr) => {
        impl Item for $item {
            const SIZE: usize = size_of::<$int>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                $from(<$int as Item>::read(bytes))
            }
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                Item::write($to(self), out);
            }
        }
    };
}
item_as_number!(Ipv4Addr, u32, Self::from, u32::from);
item_as_number!(Ipv6Addr, u128, Self::from, u128::from);
// Entries of CHUNKS (RFC 4895 §3.2) and Supported Extensions (RFC 5061 §4.2.7).
item_as_number!(ChunkType, u8, Self, |typ: Self| typ.0);
item_as_number!(ParamType, u16, Self, |typ: Self| typ.0);
item_as_number!(CauseCode, u16, Self, |code: Self| code.0);

/// Implements [`Item`] for newtypes of one number.
macro_rules! newtype_items {
    ($($item:ident($int:ty)),* $(,)?) => {$(item_as_number!($item, $int, Self::new, Self::get);)*};
}
newtype_items!(
    StreamId(u16),
    Ppid(u32),
    VerificationTag(u32),
    CorrelationId(u32),
    HmacId(u16),
    KeyManagementId(u8),
    Tsn(u32),
    Ssn(u16),
    Mid(u32),
    ReconfigSerial(u32),
    AsconfSerial(u32)
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_equals_the_slice_it_encodes() {
        let values = [Tsn::new(1), Tsn::new(0x0203_0405)];
        let given = List::from(&values);
        let mut bytes = Vec::new();
        given.encode(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 4, 5]);
        let view = List::<Tsn>::from_wire(&bytes).unwrap();
        assert_eq!(view, given);
        assert_eq!((view.len(), view.last(), view.at(2)), (2, Some(values[1]), None));
        assert!(view.iter().rev().eq([values[1], values[0]]));
        assert!(given.iter().rev().eq([values[1], values[0]]));
        assert_eq!(List::<Tsn>::EMPTY.last(), None);
    }

    #[test]
    fn an_incomplete_entry_is_an_error() {
        let error = List::<Tsn>::from_wire(&[0; 6]).unwrap_err();
        assert_eq!(error, Malformed::NotWhole { len: 6, unit: 4 });
    }
}
