//! Checks shared by the tests of all chunks.

use super::{Chunk, EncodeChunk};
use crate::error::ChunkError;
use crate::tlv;

/// Asserts that `bytes` (with padding) parse to `chunk`, and that `chunk` encodes to `bytes`.
///
/// Also asserts that every truncation and every Length gives a value or an error, and that every value
/// survives encoding and parsing.
pub(crate) fn check(bytes: &[u8], chunk: Chunk<'_>) {
    assert_eq!(Chunk::parse(bytes), Ok(chunk));
    let mut out = Vec::new();
    chunk.encode(&mut out);
    assert_eq!(out.len(), chunk.encoded_len());
    tlv::pad(&mut out, 0);
    assert_eq!(out.len(), chunk.padded_len());
    assert_eq!(out, bytes);

    for len in 0..chunk.encoded_len() {
        let error = Chunk::parse(&bytes[..len]).expect_err("a chunk cut short");
        assert!(matches!(error, ChunkError::Framing(_)), "{len}: {error}");
    }
    let mut altered = bytes.to_vec();
    for length in 0..=u16::MAX {
        altered[2..4].copy_from_slice(&length.to_be_bytes());
        if let Ok(chunk) = Chunk::parse(&altered) {
            assert!(usize::from(length) <= bytes.len());
            let mut again = Vec::new();
            chunk.encode(&mut again);
            assert_eq!(Chunk::parse(&again), Ok(chunk), "length {length}");
        }
    }
}

/// Returns the error of parsing `bytes`.
pub(crate) fn malformed(bytes: &[u8]) -> ChunkError {
    Chunk::parse(bytes).expect_err("malformed chunk")
}
