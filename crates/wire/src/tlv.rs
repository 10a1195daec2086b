//! Type-length-value framing of chunks, parameters and error causes (RFC 9260 §3.2, §3.2.1, §3.3.10).
//!
//! A 4-byte header, whose last 16 bits count header and value, then zero to three bytes of padding.

use core::fmt;
use core::iter::FusedIterator;

use crate::error::FramingError;
use crate::list::{Source, list_traits};
use crate::read::be16;

/// Length in bytes of the header of a chunk, parameter or cause.
pub(crate) const HEADER: usize = 4;

/// Returns `len` rounded up to the next multiple of 4 bytes.
#[inline]
pub(crate) const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// Appends zero bytes until `out`, counted from `start`, is a multiple of 4 long (RFC 9260 §3.2, §3.2.1).
#[inline]
pub(crate) fn pad(out: &mut Vec<u8>, start: usize) {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //# The implementation MUST pad the end of the data to a 4-byte boundary with all zero bytes.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //# A sender MUST never add more than 3 bytes of padding.
    match (start.wrapping_sub(out.len())) & 3 {
        0 => {}
        1 => out.push(0),
        2 => out.extend_from_slice(&[0; 2]),
        _ => out.extend_from_slice(&[0; 3]),
    }
}

/// A delimited item.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// Bytes of header and value without padding, at least 4.
    pub(crate) whole: &'a [u8],
    /// The bytes after the padding.
    pub(crate) rest: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Returns the first two bytes: type of a parameter, code of a cause.
    #[inline]
    pub(crate) fn typ(&self) -> u16 {
        be16(self.whole, 0)
    }

    /// Returns the value.
    #[inline]
    pub(crate) fn value(&self) -> &'a [u8] {
        &self.whole[HEADER..]
    }
}

/// Delimits the first item of `bytes`, which must not be empty.
///
/// Ignores the content of padding (RFC 9260 §3.2), and accepts a last item without padding. A chunk's Length
/// does not count the padding of its last parameter (§3.2), and a packet that lacks its last padding bytes is
/// still unambiguous.
#[inline]
pub(crate) fn split(bytes: &[u8]) -> Result<Frame<'_>, FramingError> {
    if bytes.len() < HEADER {
        return Err(FramingError::TruncatedHeader { left: bytes.len() });
    }
    let (typ, length) = (be16(bytes, 0), be16(bytes, 2));
    let len = usize::from(length);
    if len < HEADER {
        return Err(FramingError::LengthTooShort { typ, length });
    }
    if len > bytes.len() {
        return Err(FramingError::LengthTooLong { typ, length, left: bytes.len() });
    }
    let rest = bytes.get(padded(len)..).unwrap_or_default();
    Ok(Frame { whole: &bytes[..len], rest })
}

/// Appends a header with type `typ` for a value of `value_len` bytes.
///
/// The value must fit the Length field. [`PacketBuilder`](crate::PacketBuilder) ensures it: no packet is
/// that long.
#[inline]
pub(crate) fn write_header(out: &mut Vec<u8>, typ: u16, value_len: usize) {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
    //# Any padding MUST NOT be included in the Length field.
    let length = HEADER + value_len;
    debug_assert!(
        length <= usize::from(u16::MAX),
        "item of {length} bytes does not fit a 16-bit Length field"
    );
    let [t0, t1] = typ.to_be_bytes();
    let [l0, l1] = (length as u16).to_be_bytes();
    out.extend_from_slice(&[t0, t1, l0, l1]);
}

/// An item of a list of type-length-value items: a [`Param`](crate::Param) or a [`Cause`](crate::Cause).
pub trait Tlv<'a>: Copy + PartialEq + fmt::Debug {
    /// The error of [`parse`](Self::parse).
    type Error: Copy + PartialEq + fmt::Debug + From<FramingError>;

    /// Parses the first item of `bytes`; later bytes are ignored.
    ///
    /// # Errors
    /// If the bytes are badly framed, or the value breaks the rules of its type.
    fn parse(bytes: &'a [u8]) -> Result<Self, Self::Error>;

    /// Returns the length in bytes of header and value, without padding.
    fn encoded_len(&self) -> usize;

    /// Appends header and value, without padding. The value must fit the 16-bit Length field.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A list of parameters or causes, borrowed either from a received chunk or from a slice of values.
///
/// A list from the wire is encoded unchanged, with its unknown and malformed items.
#[derive(Clone, Copy)]
pub struct TlvList<'a, T>(Source<'a, T>);

impl<'a, T: Tlv<'a>> TlvList<'a, T> {
    /// The empty list.
    pub const EMPTY: Self = Self(Source::Values(&[]));

    /// Returns a view of `bytes`: items, each except the last one padded to a multiple of 4 bytes.
    #[inline]
    pub const fn from_wire(bytes: &'a [u8]) -> Self {
        Self(Source::Wire(bytes))
    }

    /// Iterates over the items; ends after a framing error.
    #[inline]
    pub fn iter(&self) -> TlvListIter<'a, T> {
        TlvListIter(self.0)
    }

    /// Returns the first `Some` of `pick` for a well-formed item.
    pub(crate) fn find<V>(&self, mut pick: impl FnMut(T) -> Option<V>) -> Option<V> {
        self.iter().find_map(|item| pick(item.ok()?))
    }

    /// Returns whether there is neither an item nor an error.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Source::Wire(bytes) => bytes.is_empty(),
            Source::Values(values) => values.is_empty(),
        }
    }

    /// Returns the length in bytes on the wire, without padding after the last item.
    pub fn encoded_len(&self) -> usize {
        match self.0 {
            Source::Wire(bytes) => bytes.len(),
            Source::Values(values) => values.iter().fold(0, |len, item| padded(len) + item.encoded_len()),
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self.0 {
            Source::Wire(bytes) => out.extend_from_slice(bytes),
            Source::Values(values) => {
                let start = out.len();
                for item in values {
                    pad(out, start);
                    item.encode(out);
                }
            }
        }
    }
}

list_traits!(TlvList, TlvListIter, Tlv<'a>, Result<T, T::Error>);

/// Iterator over the items of a [`TlvList`]. It yields at most one item per 4 bytes.
#[derive(Clone, Copy)]
pub struct TlvListIter<'a, T>(Source<'a, T>);

impl<'a, T> TlvListIter<'a, T> {
    /// Returns the unread received bytes, from the header of the next item on. Empty for a list of values.
    pub fn rest(&self) -> &'a [u8] {
        match self.0 {
            Source::Wire(bytes) => bytes,
            Source::Values(_) => &[],
        }
    }
}

impl<'a, T: Tlv<'a>> Iterator for TlvListIter<'a, T> {
    type Item = Result<T, T::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Wire([]) => None,
            Source::Wire(bytes) => match split(bytes) {
                Ok(frame) => {
                    *bytes = frame.rest;
                    Some(T::parse(frame.whole))
                }
                Err(error) => {
                    *bytes = &[];
                    Some(Err(error.into()))
                }
            },
            Source::Values(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                Some(Ok(*first))
            }
        }
    }
}

impl<'a, T: Tlv<'a>> FusedIterator for TlvListIter<'a, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_may_be_anything_and_the_last_may_be_missing() {
        let bytes = [0, 7, 0, 5, 1, 9, 9, 9, 0, 8, 0, 5, 2];
        let first = split(&bytes).unwrap();
        assert_eq!((first.typ(), first.value()), (7, &[1][..]));
        let second = split(first.rest).unwrap();
        assert_eq!((second.typ(), second.value(), second.rest), (8, &[2][..], &[][..]));
    }

    #[test]
    fn a_length_below_the_header_cannot_loop() {
        for length in 0..4 {
            let error = split(&[0, 1, 0, length, 0, 0, 0, 0]).err();
            assert_eq!(error, Some(FramingError::LengthTooShort { typ: 1, length: length.into() }));
        }
        assert_eq!(split(&[0, 1, 0]).err(), Some(FramingError::TruncatedHeader { left: 3 }));
        let error = FramingError::LengthTooLong { typ: 1, length: 9, left: 8 };
        assert_eq!(split(&[0, 1, 0, 9, 0, 0, 0, 0]).err(), Some(error));
    }
}
