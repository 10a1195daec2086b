//! What both halves of data transfer count for stream credit (docs/internals/stream-credit.md). No state.

use crate::message::MIN_CHARGE;

/// Returns what a message counts against the limit of its stream. Both ends must agree on it: it is part of
/// the protocol.
///
/// A small message counts as much as it takes of the receive buffer, or a stream of them that nobody reads
/// would fill the buffer within its limit.
#[inline]
pub(crate) fn charge(len: u64) -> u64 {
    len.max(MIN_CHARGE)
}

/// Returns what a chunk of `len` user bytes counts: as a message if it is one, otherwise its bytes. A message
/// of several chunks is larger than [`MIN_CHARGE`].
#[inline]
pub(crate) fn chunk_charge(len: usize, whole: bool) -> u64 {
    if whole { charge(len as u64) } else { len as u64 }
}

/// Least receive buffer, in bytes, in which streams have limits of their own: a smaller one has no room for
/// messages of several streams.
pub(crate) const LEAST_BUFFER: u32 = 64 << 10;

/// Returns how much a stream may use whose reader has not shown itself, of a receive buffer, or of what is
/// left for all such streams.
pub(crate) fn first_limit(buffer: u64) -> u64 {
    buffer / 32
}

/// Returns how much of a stream's first bytes, up to its [`first_limit`], are among the next `charge` behind
/// `used`.
pub(crate) fn first_part(first_limit: u64, used: u64, charge: u64) -> u64 {
    (used + charge).min(first_limit) - used.min(first_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_count_what_they_take_of_the_buffer() {
        assert_eq!((charge(1), charge(5000)), (MIN_CHARGE, 5000));
        assert_eq!((chunk_charge(1, false), chunk_charge(1, true)), (1, MIN_CHARGE));
    }

    #[test]
    fn the_first_part_ends_at_the_first_limit() {
        assert_eq!(
            [(0, 60), (60, 60), (100, 60), (160, 1)].map(|(used, more)| first_part(100, used, more)),
            [60, 40, 0, 0]
        );
    }
}
