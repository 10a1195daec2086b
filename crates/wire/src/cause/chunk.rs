//! Unrecognized Chunk Type (RFC 9260 §3.3.10.6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 6        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                       Unrecognized Chunk                      /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let cause = Cause::UnrecognizedChunkType(&[0xd5, 0, 0, 5, 1]);
        check(&[0, 6, 0, 9, 0xd5, 0, 0, 5, 1, 0, 0, 0], cause);
    }
}
