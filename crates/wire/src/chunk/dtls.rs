//! DTLS (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.2).

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::read::at_least;
use crate::tlv::HEADER;

/// The Restart indicator.
const R_BIT: u8 = 0x01;

/// Length in bytes of the Pre-Padding, which aligns the encrypted part of the record to 32 bits.
const PRE_PADDING: usize = 1;

/// The chunks of a whole packet, protected as one DTLS 1.3 record. Must be alone in its packet.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0x41   | reserved    |R|         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Pre-Padding   |                                               |
/// +-+-+-+-+-+-+-+-+                                               |
/// |                            Payload                            |
/// |                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                               |       Post-Padding            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// The reserved bits and the Pre-Padding are sent as zero and ignored when received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtls<'a> {
    /// R: a restart key context protects the chunk.
    pub restart: bool,
    /// Payload: one `DTLSCiphertext` (RFC 9147 §4).
    pub record: &'a [u8],
}

impl<'a> Dtls<'a> {
    /// Bytes from the start of the chunk to its record.
    pub const RECORD_OFFSET: usize = HEADER + PRE_PADDING;

    pub(super) fn parse(flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let record = &at_least(value, PRE_PADDING)?[PRE_PADDING..];
        Ok(Self { restart: flags & R_BIT != 0, record })
    }
}

impl EncodeChunk for Dtls<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::DTLS
    }

    fn flags(&self) -> u8 {
        u8::from(self.restart) * R_BIT
    }

    fn value_len(&self) -> usize {
        PRE_PADDING + self.record.len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; PRE_PADDING]);
        out.extend_from_slice(self.record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::{check, malformed};
    use crate::error::ChunkError;

    #[test]
    fn bytes_of_the_draft_layout() {
        let record = [0x2b, 0x12, 0x34, 0xaa, 0xbb];
        check(
            &[0x41, 1, 0, 10, 0, 0x2b, 0x12, 0x34, 0xaa, 0xbb, 0, 0],
            Chunk::Dtls(Dtls { restart: true, record: &record }),
        );
        check(
            &[0x41, 0, 0, 8, 0, 0x2b, 0x12, 0x34],
            Chunk::Dtls(Dtls { restart: false, record: &record[..3] }),
        );
    }

    #[test]
    fn the_encrypted_part_of_the_record_is_aligned() {
        // DTLSCiphertext begins with 3 bytes of unified header.
        assert!((Dtls::RECORD_OFFSET + 3).is_multiple_of(4));
    }

    #[test]
    fn reserved_bits_and_pre_padding_are_ignored() {
        let chunk = Chunk::Dtls(Dtls { restart: false, record: &[7] });
        assert_eq!(Chunk::parse(&[0x41, 0xfe, 0, 6, 0xff, 7]), Ok(chunk));
    }

    #[test]
    fn a_chunk_without_pre_padding_is_malformed() {
        let fault = Malformed::TooShort { len: 0, min: 1 };
        assert_eq!(malformed(&[0x41, 0, 0, 4]), ChunkError::Malformed { typ: ChunkType::DTLS, fault });
    }
}
