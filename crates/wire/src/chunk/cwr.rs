//! CWR (type reserved by RFC 9260 §3.2; layout of RFC 4960 Appendix A).

use super::chunk;
use crate::serial::Tsn;

/// Congestion window reduced: the answer to an ECNE.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 13   |  Chunk Flags  |           Length = 8          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Lowest TSN Number                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// RFC 9260 §3.2 reserves the type without a layout; this is RFC 4960 Appendix A's. Some stacks add a counter
/// after it, which is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cwr {
    /// Lowest TSN of the ECNE being answered.
    pub lowest_tsn: Tsn,
}

chunk!(Cwr = CWR { lowest_tsn: Tsn, .. });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let chunk = Cwr { lowest_tsn: Tsn::new(0x0102_0304) };
        check(&[13, 0, 0, 8, 1, 2, 3, 4], Chunk::Cwr(chunk));
    }

    #[test]
    fn longer_is_accepted_shorter_is_not() {
        let chunk = Cwr { lowest_tsn: Tsn::new(0x0102_0304) };
        let bytes = [13, 0, 0, 12, 1, 2, 3, 4, 0, 0, 0, 1];
        assert_eq!(Chunk::parse(&bytes), Ok(Chunk::Cwr(chunk)));
        let fault = Malformed::TooShort { len: 3, min: 4 };
        let error = ChunkError::Malformed { typ: ChunkType::CWR, fault };
        assert_eq!(malformed(&[13, 0, 0, 7, 1, 2, 3, 0]), error);
    }
}
