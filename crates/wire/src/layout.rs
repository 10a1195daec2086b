//! [`Value`]: reading and writing the value of a chunk, parameter or error cause; [`layout!`] derives it from
//! the fields.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::Malformed;
use crate::ids::{CorrelationId, HmacId, StreamId};
use crate::list::{Item, List};
use crate::read::{be16, exactly};
use crate::serial::{ReconfigSerial, Tsn};
use crate::tlv::{Tlv, TlvList};

/// The value of a chunk, parameter or error cause, or the end of one.
pub(crate) trait Value<'a>: Sized {
    /// Parses the value from exactly these bytes.
    fn parse(value: &'a [u8]) -> Result<Self, Malformed>;
    /// Returns the length in bytes on the wire.
    fn encoded_len(&self) -> usize;
    /// Appends the value.
    fn encode(&self, out: &mut Vec<u8>);
}

/// Splits one entry off the front of `bytes`, which must contain it.
#[inline]
pub(crate) fn take<T: Item>(bytes: &[u8]) -> (T, &[u8]) {
    let (entry, rest) = bytes.split_at(T::SIZE);
    (T::read(entry), rest)
}

/// Implements [`Value`] for a struct whose fields stand on the wire in order.
///
/// `{ a: A, b: B }` has fixed fields only. `{ a: A, ..rest }` ends with a [`Value`] that takes the remaining
/// bytes. `{ a: A, .. }` ignores the remaining bytes.
macro_rules! layout {
    ($value:ty { $($field:ident: $type:ty),* }) => {
        $crate::layout::layout!(@ $value, exactly, $($field: $type),*;);
    };
    ($value:ty { $($field:ident: $type:ty,)* .. }) => {
        $crate::layout::layout!(@ $value, at_least, $($field: $type),*;);
    };
    ($value:ty { $($field:ident: $type:ty,)* ..$last:ident }) => {
        $crate::layout::layout!(@ $value, at_least, $($field: $type),*; $last);
    };
    (@ $value:ty, $check_len:ident, $($field:ident: $type:ty),*; $($last:ident)?) => {
        impl<'a> $crate::layout::Value<'a> for $value {
            #[inline]
            fn parse(value: &'a [u8]) -> Result<Self, $crate::error::Malformed> {
                let _rest = $crate::read::$check_len(value, 0 $(+ <$type as $crate::list::Item>::SIZE)*)?;
                $(let ($field, _rest) = $crate::layout::take(_rest);)*
                $(let $last = $crate::layout::Value::parse(_rest)?;)?
                Ok(Self { $($field,)* $($last)? })
            }
            #[inline]
            fn encoded_len(&self) -> usize {
                0 $(+ <$type as $crate::list::Item>::SIZE)* $(+ $crate::layout::Value::encoded_len(&self.$last))?
            }
            #[inline]
            fn encode(&self, _out: &mut Vec<u8>) {
                $($crate::list::Item::write(self.$field, _out);)*
                $($crate::layout::Value::encode(&self.$last, _out);)?
            }
        }
    };
}
pub(crate) use layout;

/// The empty value of parameters and causes that have only a type.
impl Value<'_> for () {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        exactly(value, 0).map(|_| ())
    }
    fn encoded_len(&self) -> usize {
        0
    }
    fn encode(&self, _out: &mut Vec<u8>) {}
}

impl<'a> Value<'a> for &'a [u8] {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        Ok(value)
    }
    fn encoded_len(&self) -> usize {
        self.len()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// Implements [`Value`] for a single entry.
macro_rules! item_values {
    ($($item:ty),*) => {$(
        impl Value<'_> for $item {
            fn parse(value: &[u8]) -> Result<Self, Malformed> {
                exactly(value, Self::SIZE).map(Item::read)
            }
            fn encoded_len(&self) -> usize {
                Self::SIZE
            }
            fn encode(&self, out: &mut Vec<u8>) {
                self.write(out);
            }
        }
    )*};
}
item_values!(u32, u64, CorrelationId, HmacId, ReconfigSerial, Tsn, Ipv4Addr, Ipv6Addr);

/// Adds the 16 reserved bits of Invalid Stream Identifier (RFC 9260 §3.3.10.1), which are sent as zero and
/// ignored when received.
impl Value<'_> for StreamId {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        exactly(value, 4).map(|value| Self::new(be16(value, 0)))
    }
    fn encoded_len(&self) -> usize {
        4
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (u32::from(self.get()) << 16).write(out);
    }
}

impl<'a, T: Item> Value<'a> for List<'a, T> {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        List::from_wire(value)
    }
    fn encoded_len(&self) -> usize {
        List::encoded_len(self)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        List::encode(self, out);
    }
}

impl<'a, T: Tlv<'a>> Value<'a> for TlvList<'a, T> {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        Ok(Self::from_wire(value))
    }
    fn encoded_len(&self) -> usize {
        TlvList::encoded_len(self)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        TlvList::encode(self, out);
    }
}
