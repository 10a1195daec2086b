//! [`UnknownChunk`]: a chunk of unknown type.

use core::fmt;

use super::{ChunkType, EncodeChunk, split};
use crate::error::ChunkError;
use crate::tlv::HEADER;
use crate::unknown::UnknownAction;

/// A well-framed chunk of any type, kept as bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnknownChunk<'a> {
    /// Bytes of header and value, which agree with the Length field.
    bytes: &'a [u8],
}

impl<'a> UnknownChunk<'a> {
    /// Returns the first chunk of `bytes`, of any type.
    ///
    /// # Errors
    /// If the bytes are badly framed.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        split(bytes).map(|frame| Self { bytes: frame.whole })
    }

    /// Wraps `whole`, a delimited chunk.
    pub(super) const fn from_whole(whole: &'a [u8]) -> Self {
        Self { bytes: whole }
    }

    /// Returns header and value without padding, as an 'Unrecognized Chunk Type' cause quotes them (RFC 9260
    /// §3.3.10.6).
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the Chunk Value.
    pub fn value(&self) -> &'a [u8] {
        &self.bytes[HEADER..]
    }

    /// Returns how a receiver treats the chunk (RFC 9260 §3.2, table 2).
    pub fn action(&self) -> UnknownAction {
        self.chunk_type().unknown_action()
    }
}

impl EncodeChunk for UnknownChunk<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType(self.bytes[0])
    }

    fn flags(&self) -> u8 {
        self.bytes[1]
    }

    fn value_len(&self) -> usize {
        self.bytes.len() - HEADER
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.value());
    }
}

impl fmt::Debug for UnknownChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnknownChunk")
            .field("typ", &self.chunk_type())
            .field("flags", &self.flags())
            .field("value", &self.value())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::{Chunk, FramingError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [0xd5, 0x7f, 0, 7, 1, 2, 3, 0];
        let chunk = UnknownChunk::new(&bytes).unwrap();
        check(&bytes, Chunk::Unknown(chunk));
        assert_eq!((chunk.value(), chunk.bytes()), (&[1, 2, 3][..], &bytes[..7]));
        assert_eq!(chunk.action(), UnknownAction { stop: false, report: true });
    }

    #[test]
    fn badly_framed_bytes_are_no_chunk() {
        let error = FramingError::LengthTooLong { typ: 0xd5, length: 7, left: 4 };
        assert_eq!(malformed(&[0xd5, 0x7f, 0, 7]), ChunkError::Framing(error));
        assert_eq!(UnknownChunk::new(&[0xd5, 0x7f, 0, 7]), Err(ChunkError::Framing(error)));
    }
}
