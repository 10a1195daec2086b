//! Layout of a record in its chunk, and truncation of sequence numbers.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 0x41   | reserved    |R|         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Pre-Padding   |0|0|1|0|1|0|E E|    16 bit Sequence Number     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /            the chunks of the packet, encrypted                /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | ContentType,  |                                               |
//! | encrypted     |      Authentication tag (16 bytes)            /
//! +-+-+-+-+-+-+-+-+               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /               |              Post-Padding (3 bytes)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use msctp_wire::chunk::Dtls;

use crate::suite::TAG_LEN;

/// Length of the record's header: flags and a sequence number of 16 bits, without connection ID and length
/// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.1).
pub(crate) const RECORD_HEADER: usize = 3;

/// Bytes in front of the protected chunks: the chunk header, the Pre-Padding and the record's header.
pub const HEADER_LEN: usize = Dtls::RECORD_OFFSET + RECORD_HEADER;

/// Bytes after the protected chunks: content type, tag, and padding to a multiple of 4.
pub const TRAILER_LEN: usize = (1 + TAG_LEN).next_multiple_of(4);

/// The flags of a record's header, without the epoch's two bits (RFC 9147 §4).
pub(crate) const FLAGS: u8 = 0b0010_1000;
pub(crate) const EPOCH_BITS: u8 = 0b0000_0011;

/// `application_data`, the content type of all protected chunks (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
pub(crate) const APPLICATION_DATA: u8 = 23;

/// The highest sequence number: 48 bits, as in unencrypted records (RFC 9147 §4).
pub(crate) const MAX_SEQUENCE_NUMBER: u64 = (1 << 48) - 1;

/// The epoch of the first key context (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.1).
pub const FIRST_EPOCH: u64 = 3;

/// The key context that protects a record (draft-ietf-tsvwg-sctp-dtls-chunk-04 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyContext {
    /// Protects the traffic of the association.
    Primary,
    /// The context for the restart of an association, and its traffic until new primary keys exist (R bit).
    Restart,
}

/// The error of key material for an epoch that is not the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("epoch {epoch} cannot be established: it must be {expected}")]
pub struct EpochError {
    /// The epoch.
    pub epoch: u64,
    /// The next epoch; in the restart context, the lowest one allowed.
    pub expected: u64,
}

/// Returns the number that ends with `low` and is closest to `next` (RFC 9147 §4.2.2).
pub(crate) fn reconstruct(next: u64, low: u16) -> u64 {
    const HALF: u64 = 1 << 15;
    const WHOLE: u64 = 1 << 16;
    let same = (next & !(WHOLE - 1)) | u64::from(low);
    if same + HALF <= next && same + WHOLE <= MAX_SEQUENCE_NUMBER {
        same + WHOLE
    } else if same > next + HALF && same >= WHOLE {
        same - WHOLE
    } else {
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_number_is_the_closest_that_ends_so() {
        assert_eq!(reconstruct(0, 0), 0);
        assert_eq!(reconstruct(0, 0xffff), 0xffff, "there is no lower one");
        assert_eq!(reconstruct(0x1_0000, 0xffff), 0xffff);
        assert_eq!(reconstruct(0xffff, 1), 0x1_0001);
        assert_eq!(reconstruct(0x1_8000, 0), 0x2_0000, "of two equally close ones the higher");
        assert_eq!(reconstruct(0x1_7fff, 0), 0x1_0000);
        assert_eq!(reconstruct(0xa82f_30eb, 0x9b32), 0xa82f_9b32, "RFC 9000 §A.3");
        assert_eq!(reconstruct(MAX_SEQUENCE_NUMBER, 0), MAX_SEQUENCE_NUMBER - 0xffff);
    }

    #[test]
    fn the_closest_of_all_candidates() {
        for next in (0..400_000).step_by(977) {
            for low in (0..=u16::MAX).step_by(1013) {
                let distance = |candidate: u64| candidate.abs_diff(next);
                let found = reconstruct(next, low);
                let best = (0..8).map(|high| (high << 16) + u64::from(low)).map(distance).min();
                assert_eq!(Some(distance(found)), best, "{next} {low}");
            }
        }
    }

    #[test]
    fn sizes_keep_the_protected_chunks_aligned() {
        assert_eq!((HEADER_LEN, TRAILER_LEN), (8, 20));
    }
}
