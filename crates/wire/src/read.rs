//! Big-endian reads for bytes whose length the caller has checked.

use crate::error::Malformed;

/// Returns the 16-bit number at `at`; `at + 2` must not be past the end.
#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the 32-bit number at `at`; `at + 4` must not be past the end.
#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns `value` if it has exactly `expected` bytes.
#[inline]
pub(crate) fn exactly(value: &[u8], expected: usize) -> Result<&[u8], Malformed> {
    if value.len() == expected {
        Ok(value)
    } else {
        Err(Malformed::WrongLength { len: value.len(), expected })
    }
}

/// Returns `value` if it has at least `min` bytes.
#[inline]
pub(crate) fn at_least(value: &[u8], min: usize) -> Result<&[u8], Malformed> {
    if value.len() >= min { Ok(value) } else { Err(Malformed::TooShort { len: value.len(), min }) }
}
